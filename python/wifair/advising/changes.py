"""The changes that are tried: what a Linux access point can set today, and schemes that no command sets.

A change of the queue depends on where the access point's queue is. With the queues of mac80211 (`ap.scheme = "mac80211"`), a qdisc above
them never fills, so only their limits change. With any other scheme the queue is a qdisc, which `tc` replaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wifair.advising.channels import candidates
from wifair.advising.commands import (
    Commands,
    Equipment,
    announced,
    aql,
    at_ap,
    channel,
    hostapd,
    power,
    qdisc,
    qos_map,
    replaced_qdisc,
    txq,
)
from wifair.errors import InputError
from wifair.everything.contenders import REFERENCE, Contender, contenders, with_defaults
from wifair.keys import nearest
from wifair.planned import part, primaries_of, punctured_of
from wifair.scenario.scenario import Scenario

# What `--has` may be. With "any", schemes that no command sets are tried as well.
HAS = ("openwrt", "linux", "any")

LIMITS_PACKETS = (1024, 256)
QUANTUM_BYTES = 1514
# Airtime queue limits of a station, low and high in µs. Linux has 5,000 and 12,000.
AQL_US = ((2_500, 6_000), (1_250, 3_000), (10_000, 24_000))
POWER_STEPS_DB = (-3.0, -6.0, 3.0)
STATIONS_CW_MIN = (31, 63)
AP_TXOP_US = (2_000.0, 4_000.0)
# Qdiscs by scheme, with the limits in packets that are tried. fq_codel has its default, the others Linux's queue length.
QDISCS: Mapping[str, Sequence[int]] = {"droptail": (1000, 100), "codel": (1000,), "fq-codel": (10_240,), "pie": (1000,)}
# User priorities by DSCP that RFC 8325, section 4, has in another category than the upper three bits; then the ranges of these.
RFC_8325 = {10: 0, 12: 0, 14: 0, 16: 0, 18: 3, 20: 3, 22: 3, 24: 4, 26: 4, 28: 4, 30: 4, 44: 6, 46: 6}
QOS_MAP = ",".join(
    [
        *(f"{dscp},{priority}" for dscp, priority in RFC_8325.items()),
        *(f"{low},{low + 7}" for low in range(0, 64, 8)),
    ]
)


@dataclass(frozen=True)
class Change:
    """A change: settings of the scenario by key, or a contender of `wifair compare`, and the commands that make it, if there are any."""

    name: str
    about: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    commands: Commands | None = None
    contender: Contender | None = None
    # The BSS of the contender, of several.
    bss: str = ""

    def applied(self, scenario: Scenario) -> Scenario:
        """The scenario with this change. Raises `InputError` if they do not go together."""
        if self.contender is not None:
            return self.contender.applied(scenario if self.bss else with_defaults(scenario), bss=self.bss)
        return scenario.override(self.settings)


def equipment(has: str) -> Equipment:
    """The form of commands for `--has`."""
    if has not in HAS:
        hint = nearest(has, HAS)
        asked = f"; did you mean {hint}?" if hint else "."
        raise InputError(f"--has: unknown equipment {has!r}{asked} Allowed here: {', '.join(HAS)}.")
    return "openwrt" if has == "openwrt" else "linux"


def settable(scenario: Scenario, has: str, bss: str = "") -> list[Change]:
    """The changes that commands can make in this scenario, of several BSSs at the access point of the named one.

    Of several, those of keys that hold for all of them are left out, and channels and powers are added.
    """
    plan, form = scenario.plan(), equipment(has)
    own = part(plan, [bss]) if bss else plan
    found = [change for make in MAKERS for change in make(own["bss"], own["flows"], form)]
    if bss:
        at = [
            _at(change, scenario.bss_key(bss))
            for change in found
            if all(key.startswith("ap.") for key in change.settings)
        ]
        found = [*at, *_channels(scenario, bss, form), *_powers(own["bss"], scenario.bss_key(bss), form)]
    return _distinct(scenario, found)


def _at(change: Change, bss_key: str) -> Change:
    """The change at the access point of one BSS."""
    return replace(change, settings={f"{bss_key}.{key}": value for key, value in change.settings.items()})


def unsettable(scenario: Scenario, has: str, among: Sequence[Change], bss: str = "") -> list[Change]:
    """The schemes that no command sets here; none unless the equipment is "any". `among` are the settable changes."""
    if has != "any":
        return []
    plan = scenario.plan()
    own = (part(plan, [bss]) if bss else plan)["bss"]["ap"]["tx_queue"]["scheme"]["name"]
    taken = {own, *(change.settings.get(scenario.scheme_key(bss)) for change in among)}
    found = [
        Change(each.name, each.about, contender=each, bss=bss)
        for each in contenders()
        if type(each) is Contender and not each.tcp and each.name not in taken
    ]
    return _distinct(scenario, found)


def _distinct(scenario: Scenario, found: Sequence[Change]) -> list[Change]:
    """Without changes that the engine refuses here, and without those that change nothing or the same as another one."""
    plans = {scenario.plan_json}
    kept = []
    for change in found:
        try:
            plan = change.applied(scenario).plan_json
        except InputError:
            continue
        if plan not in plans:
            plans.add(plan)
            kept.append(change)
    return kept


Bss = Mapping[str, Any]
Flows = Sequence[Mapping[str, Any]]


def _qdiscs(bss: Bss, flows: Flows, form: Equipment) -> Iterator[Change]:
    tx_queue = bss["ap"]["tx_queue"]
    if tx_queue["scheme"]["name"] == REFERENCE:
        return
    old = qdisc(tx_queue)
    for name, limits in QDISCS.items():
        for limit in limits:
            settings = {"ap.scheme": name, "ap.limit_packets": limit}
            new = qdisc(_tx_queue(settings))
            assert new
            title = f"{new.split()[0]}, {limit} packets"
            yield Change(title, f"the qdisc {new.split()[0]}", settings, replaced_qdisc(new, old))


def _tx_queue(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """A transmit queue of a plan under a scheme with its defaults."""
    found: Mapping[str, Any] = (
        Scenario(flows=[{"direction": "down"}]).override(settings).plan()["bss"]["ap"]["tx_queue"]
    )
    return found


def _queues_of_mac80211(bss: Bss, flows: Flows, form: Equipment) -> Iterator[Change]:
    tx_queue = bss["ap"]["tx_queue"]
    if tx_queue["scheme"]["name"] != REFERENCE:
        return
    old = tx_queue["limit_packets"]
    for limit in LIMITS_PACKETS:
        about = "limit of mac80211's queues"
        yield Change(f"{limit} packets", about, {"ap.limit_packets": limit}, txq("limit", limit, old))
    old = tx_queue["scheme"]["quantum_bytes"]
    about = "bytes that a flow may send per turn"
    settings = {"ap.scheme.quantum_bytes": QUANTUM_BYTES}
    yield Change(f"quantum of {QUANTUM_BYTES} bytes", about, settings, txq("quantum", QUANTUM_BYTES, old))


def _airtime_queue_limits(bss: Bss, flows: Flows, form: Equipment) -> Iterator[Change]:
    hardware = bss["ap"]["hardware"]
    if "aql_low_us" not in hardware or bss["ap"]["tx_queue"]["scheme"]["name"] != REFERENCE:
        return
    old = (hardware["aql_low_us"], hardware["aql_high_us"])
    for low, high in AQL_US:
        settings = {"ap.hardware.aql_low_us": low, "ap.hardware.aql_high_us": high}
        about = "airtime that may wait below the queues, per station"
        yield Change(f"AQL of {low / 1000:g} to {high / 1000:g} ms", about, settings, aql((low, high), old))


def _edca(bss: Bss, flows: Flows, form: Equipment) -> Iterator[Change]:
    if bss["mac"]["edca"] is None:
        return
    best_effort = 2
    at = "mac.edca.stations.best_effort"
    for cw_min in STATIONS_CW_MIN:
        lines = announced("be", cw_min=cw_min)
        about = "stations wait longer before best effort"
        yield Change(f"stations' CWmin {cw_min}", about, {f"{at}.cw_min": cw_min}, hostapd(form, lines))
    about = "stations wait longer before best effort, and leave the access point first"
    yield Change(
        "stations' AIFSN 7 and CWmin 31",
        about,
        {f"{at}.cw_min": 31, f"{at}.aifsn": 7},
        hostapd(form, announced("be", cw_min=31, aifsn=7)),
    )
    at = "mac.edca.ap.best_effort"
    about = "the access point waits less before best effort"
    settings: dict[str, float] = {f"{at}.aifsn": 2, f"{at}.cw_min": 7}
    lines = at_ap(best_effort, cw_min=7, aifsn=2)
    yield Change("AP's AIFSN 2 and CWmin 7", about, settings, hostapd(form, lines))
    for limit_us in AP_TXOP_US:
        about = "best effort of the access point may keep the medium for this long"
        settings = {f"{at}.txop_limit_us": limit_us}
        lines = at_ap(best_effort, txop_us=limit_us)
        yield Change(f"AP's TXOP of {limit_us / 1000:g} ms", about, settings, hostapd(form, lines))


def _qos_map(bss: Bss, flows: Flows, form: Equipment) -> Iterator[Change]:
    """Only flows with a DSCP are classified differently."""
    edca = bss["mac"]["edca"]
    marked = any(flow["application"].get("dscp") or (flow.get("tcp") or {}).get("dscp") for flow in flows)
    if edca is None or edca["classify"] == "rfc-8325" or not marked:
        return
    about = "categories by RFC 8325: calls with DSCP EF are voice. Linux 6.8 and later classify so without it"
    yield Change("QoS Map of RFC 8325", about, {"mac.edca.classify": "rfc-8325"}, qos_map(form, QOS_MAP))


def _channels(scenario: Scenario, bss: str, form: Equipment) -> Iterator[Change]:
    """The channels of other BSSs, and the first one of nobody that goes together with them."""
    plan = scenario.plan()
    key, moves_primary = scenario.bss_key(bss), primaries_of(plan)[bss] is not None
    uses_all: dict[str, Any] = {f"{key}.punctured": []} if punctured_of(plan)[bss] else {}
    for each in candidates(plan, bss):
        there = (
            f"{len(each.others)} BSS{'s' if len(each.others) > 1 else ''} there"
            if each.others
            else "no BSS of the scenario there"
        )
        about = f"another channel; {there}"
        about += (
            ", and the access point first listens for radar, which needs the country to be set"
            if each.has_radar
            else ""
        )
        about += "; hostapd's ht_capab needs [HT40+]" if each.width_mhz > 20 and form == "linux" else ""
        keys = {f"{key}.channel": each.number, **uses_all}
        keys |= {f"{key}.primary": each.primary} if moves_primary else {}
        change = Change(f"channel {each.number}", about, keys, channel(form, plan["bss"]["phy"]["name"], each))
        if _distinct(scenario, [change]):
            yield change
            if not each.others:
                return


def _powers(bss: Bss, bss_key: str, form: Equipment) -> Iterator[Change]:
    own_dbm = bss["ap"]["tx_power_dbm"]
    old_dbm = bss["channel"]["tx_power_dbm"] if own_dbm is None else own_dbm
    for step_db in POWER_STEPS_DB:
        new_dbm = old_dbm + step_db
        about = "transmit power of the access point; stations keep their rates in the model"
        about += ", and the country may not allow it" if step_db > 0 else ""
        yield Change(f"{new_dbm:g} dBm", about, {f"{bss_key}.ap.tx_power_dbm": new_dbm}, power(form, new_dbm, old_dbm))


MAKERS: Sequence[Callable[[Bss, Flows, Equipment], Iterator[Change]]] = (
    _qdiscs,
    _queues_of_mac80211,
    _airtime_queue_limits,
    _edca,
    _qos_map,
)
