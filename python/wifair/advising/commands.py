"""The commands that make a change on a Linux access point, and those that undo it.

The interface is `wlan0`, the PHY `phy0`, and OpenWrt's radio `radio0`. Sources: `tc-pfifo(8)`, `tc-codel(8)`, `tc-fq_codel(8)`, `tc-pie(8)`; the
help of iw 5.19 (`phy set txq`); `aql_txq_limit_write` in `net/mac80211/debugfs.c` of Linux 6.12; hostapd's example `hostapd.conf`; OpenWrt's
`channel`, `txpower`, `hostapd_options` (radio) and `iw_qos_map_set` (interface) in `/etc/config/wireless`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any, Literal

from wifair.advising.channels import Channel

Tool = Literal["tc", "iw", "debugfs", "hostapd", "uci"]
# Equipment by the option `--has`.
Equipment = Literal["linux", "openwrt"]

DEVICE, PHY, RADIO = "wlan0", "phy0", "radio0"
HOSTAPD = "/etc/hostapd/hostapd.conf"
WIRELESS, SAVED = "/etc/config/wireless", "/root/wireless.before"
AQL = f"/sys/kernel/debug/ieee80211/{PHY}/aql_txq_limit"
# Names that a scenario does not have, each with the command that shows the right one.
ASSUMED = {
    DEVICE: "iw dev",
    PHY: "iw dev",
    RADIO: "uci show wireless",
    HOSTAPD: "ps ax | grep hostapd",
}
# The categories by their number in the kernel: voice, video, best effort, background.
CATEGORIES = range(4)


@dataclass(frozen=True)
class Commands:
    """Shell commands to make a change and to undo it. `lasting` says that the change survives a restart of the access point."""

    tool: Tool
    do: tuple[str, ...]
    undo: tuple[str, ...]
    lasting: bool = False

    @property
    def assumed(self) -> dict[str, str]:
        """The names in these commands that no scenario has, each with the command that shows the right one."""
        words = " ".join((*self.do, *self.undo))
        return {name: how for name, how in ASSUMED.items() if name in words}

    @property
    def restarts(self) -> bool:
        """Whether they start hostapd again, which disconnects all stations."""
        return self.tool in ("hostapd", "uci")


def qdisc(tx_queue: Mapping[str, Any]) -> str | None:
    """A transmit queue of a plan as arguments of `tc qdisc`; None if no qdisc is like it."""
    scheme, limit = tx_queue["scheme"], tx_queue["limit_packets"]
    name = scheme["name"]
    if tx_queue.get("limit_controller"):
        return None
    if name == "droptail":
        return f"pfifo limit {limit}"
    if scheme.get("signal") not in ("mark", "drop") or scheme.get("ack_filter", "off") != "off":
        return None
    ecn = "ecn" if scheme["signal"] == "mark" else "noecn"
    if name == "codel":
        return f"codel limit {limit} target {_ms(scheme['target_ms'])} interval {_ms(scheme['interval_ms'])} {ecn}"
    if name == "fq-codel":
        return (
            f"fq_codel limit {limit} flows {scheme['queues']} target {_ms(scheme['target_ms'])} "
            f"interval {_ms(scheme['interval_ms'])} quantum {scheme['quantum_bytes']} memory_limit {scheme['limit_bytes']} "
            f"drop_batch {scheme['drop_batch_packets']} {ecn}"
        )
    if name == "pie":
        return f"pie limit {limit} target {_ms(scheme['target_ms'])} tupdate {_ms(scheme['update_ms'])} {ecn}"
    return None


def _ms(value: float) -> str:
    return f"{round(value * 1000)}us" if value % 1 else f"{value:g}ms"


def replaced_qdisc(new: str, old: str | None) -> Commands:
    """Another root qdisc. The undoing command sets the former one, or the default."""
    undo = f"tc qdisc replace dev {DEVICE} root {old}" if old else f"tc qdisc del dev {DEVICE} root"
    return Commands("tc", (f"tc qdisc replace dev {DEVICE} root {new}",), (undo,))


def txq(field: Literal["limit", "quantum"], new: int, old: int) -> Commands:
    """Another limit or quantum of the queues of mac80211."""
    return Commands("iw", (f"iw phy {PHY} set txq {field} {new}",), (f"iw phy {PHY} set txq {field} {old}",))


def aql(new: tuple[float, float], old: tuple[float, float]) -> Commands:
    """Other airtime queue limits of a station, low and high in µs, for all categories."""

    def lines(limits: tuple[float, float]) -> tuple[str, ...]:
        return tuple(f"echo '{number} {limits[0]:.0f} {limits[1]:.0f}' > {AQL}" for number in CATEGORIES)

    return Commands("debugfs", lines(new), lines(old))


def hostapd(equipment: Equipment, settings: Mapping[str, str]) -> Commands:
    """Lines of hostapd's configuration of the radio. Of lines with the same key, hostapd takes the last."""
    lines = [f"{key}={value}" for key, value in settings.items()]
    if equipment == "openwrt":
        return _uci(
            [f"uci add_list wireless.{RADIO}.hostapd_options='{line}'" for line in lines],
            [f"uci del_list wireless.{RADIO}.hostapd_options='{line}'" for line in lines],
        )
    return _hostapd_conf(lines)


def qos_map(equipment: Equipment, value: str) -> Commands:
    """The QoS Map of the BSS (802.11, 9.4.2.94): user priorities by DSCP."""
    if equipment == "openwrt":
        key = f"wireless.default_{RADIO}.iw_qos_map_set"
        return _uci([f"uci set {key}='{value}'"], [f"uci delete {key}"])
    return _hostapd_conf([f"qos_map_set={value}"])


def channel(equipment: Equipment, phy: str, chosen: Channel) -> Commands:
    """Another channel of the same width. The undoing commands restore the former file, since a scenario does not have its primary channel."""
    if equipment == "openwrt":
        return _saved_uci(f"uci set wireless.{RADIO}.channel='{chosen.primary}'")
    lines = [f"channel={chosen.primary}"]
    generations = {"802.11ac": 1, "802.11ax": 2, "802.11be": 3}
    of = ("vht", "he", "eht")[: generations.get(phy, 0)] if chosen.width_mhz >= 80 else ()
    lines += [
        f"{each}_oper_centr_freq_seg0_idx={chosen.number}" for each in of if each != "vht" or chosen.band_ghz == 5.0
    ]
    lines += ["ieee80211d=1", "ieee80211h=1"] if chosen.has_radar else []
    return _hostapd_conf(lines)


def power(equipment: Equipment, new_dbm: float, old_dbm: float) -> Commands:
    """Another transmit power of the access point. iw has it in hundredths of a dBm."""
    if equipment == "openwrt":
        return _saved_uci(f"uci set wireless.{RADIO}.txpower='{new_dbm:.0f}'")
    do, undo = (f"iw dev {DEVICE} set txpower fixed {100 * dbm:.0f}" for dbm in (new_dbm, old_dbm))
    return Commands("iw", (do,), (undo,))


def _saved(file: str, saved: str) -> str:
    """The file as it was before the first change is kept, also if the commands are run again."""
    return f"[ -e {saved} ] || cp {file} {saved}"


def _saved_uci(line: str) -> Commands:
    do = (_saved(WIRELESS, SAVED), line, "uci commit wireless", "wifi reload")
    return Commands("uci", do, (f"mv {SAVED} {WIRELESS}", "wifi reload"), lasting=True)


def _uci(do: Sequence[str], undo: Sequence[str]) -> Commands:
    applied = ("uci commit wireless", "wifi reload")
    return Commands("uci", (*do, *applied), (*undo, *applied), lasting=True)


def _hostapd_conf(lines: Sequence[str]) -> Commands:
    restart = "systemctl restart hostapd"
    saved = f"{HOSTAPD}.before"
    do = (_saved(HOSTAPD, saved), *(f"echo '{line}' >> {HOSTAPD}" for line in lines), restart)
    return Commands("hostapd", do, (f"mv {saved} {HOSTAPD}", restart), lasting=True)


def announced(category: str, cw_min: int | None = None, aifsn: int | None = None) -> dict[str, str]:
    """EDCA parameters that the access point announces to stations. hostapd has the exponent of a contention window."""
    found = {}
    if cw_min is not None:
        found[f"wmm_ac_{category}_cwmin"] = f"{log2(cw_min + 1):.0f}"
    if aifsn is not None:
        found[f"wmm_ac_{category}_aifs"] = f"{aifsn}"
    return found


def at_ap(
    queue: int, cw_min: int | None = None, aifsn: int | None = None, txop_us: float | None = None
) -> dict[str, str]:
    """EDCA parameters of the access point itself. hostapd has the contention window, and the TXOP limit in ms with one digit."""
    found = {}
    if aifsn is not None:
        found[f"tx_queue_data{queue}_aifs"] = f"{aifsn}"
    if cw_min is not None:
        found[f"tx_queue_data{queue}_cwmin"] = f"{cw_min}"
    if txop_us is not None:
        found[f"tx_queue_data{queue}_burst"] = f"{txop_us / 1000:.1f}"
    return found
