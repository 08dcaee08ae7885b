"""What is full in a network, and which settings of its access point are worth trying: one sentence in front of an explanation.

The air or the line is *full* from 90 % of its time or rate on; the air also from 60 % on while packets wait. What is worth trying follows from what the runs show, by the thresholds below; none of it was run
with the change, so `wifair advise` says what a change is worth.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl

from wifair.analysis.explain import Sentence, means
from wifair.analysis.explain_groups import groups
from wifair.observed.calibration import NEIGHBOURS
from wifair.planned import bsss_of, stations_of, wire_of

if TYPE_CHECKING:
    from wifair.results.results import Results

# The share of the time, or of the line's rate, from which it is full. Single frames leave the air idle during backoff, so from
# the second share on the air is full if on average a packet or more waits at the access point.
FULL, FULL_WITH_BACKLOG = 0.9, 0.6
# The mean wait in the access point's buffer from which a shorter queue is worth trying, in ms.
LONG_WAIT_MS = 20.0
# The share of the used airtime from which uploads or other networks are named as what may be changed.
MOST, MUCH = 0.5, 0.1
# The share of a BSS's frames lost to other BSSs alone from which another channel is worth trying, whether or not the air is
# full. Their airtime is lost with them, and 5 % of goodput is what matters in comparisons.
LOST = 0.05
# What a packet with 1,448 bytes of payload has on the line, as a multiple of its payload.
HEADERS = 1500 / 1448
NOTHING = " These runs show no reason to change a setting of the access point; `wifair advise` tries each."


def conclusion(results: Results) -> Sentence:
    """The sentence, and the counters behind it. Of several BSSs that are judged together: at which access points the air is full."""
    names = results.bsss["bss"].unique(maintain_order=True).to_list() if results.bss_names else []
    if len(names) > 1:
        return _of_several({name: _shown(results.of_bss(name)) for name in names})
    shown = _shown(results)
    full = [words for name, words in _words(shown).items() if _is_full(shown, name)]
    tried = _worth_trying(shown)
    if full:
        told = f"{' and '.join(full)}."
        told = f"{told[:1].upper()}{told[1:]}"
    else:
        told = f"Neither the air nor the line is full: {'; '.join(_words(shown).values())}."
    if tried:
        told += f" Worth trying: {'; '.join(tried)}. `wifair advise` says what that is worth."
    elif full:
        told += NOTHING
    else:
        told += f"{_limits(results)}{NOTHING}"
    return Sentence("", told, {name: value for name, value in shown.items() if value is not None})


def _of_several(shown: dict[str, dict[str, float]]) -> Sentence:
    """At how many access points the air is full, and for how much of the time it is busy there and at the others."""
    full = [each["busy_share"] for each in shown.values() if _is_full(each, "busy_share")]
    rest = [each["busy_share"] for each in shown.values() if not _is_full(each, "busy_share")]
    count = len(full) or "none"
    told = f"The air is full at {count} of {len(shown)} access points: busy for {_range(full or rest)} of the time"
    told += f" there, and for {_range(rest)} at the rest." if full and rest else "."
    told += " With `--bss NAME` this line is about one BSS, and says what is worth trying there."
    return Sentence("", told, {f"busy_share of {name}": each["busy_share"] for name, each in shown.items()})


def _range(shares: list[float]) -> str:
    least, most = _percent(min(shares)), _percent(max(shares))
    return most if least == most else f"{least.removesuffix(' %')} to {most}"


def _is_full(shown: dict[str, float], name: str) -> bool:
    least = FULL_WITH_BACKLOG if name == "busy_share" and shown["length_mean_packets"] >= 1 else FULL
    return shown[name] >= least


def _limits(results: Results) -> str:
    """What limits TCP senders where nothing is full, the most frequent first."""
    limits = Counter[str]()
    for group in groups(results):
        if group.limit != "–":
            limits[group.limit] += group.flows
    listed = ", ".join(f"{limit} {count}" for limit, count in limits.most_common())
    return f" TCP flows by what limits them: {listed}." if listed else ""


def _shown(results: Results) -> dict[str, float]:
    plan: dict[str, Any] = results.cells[0].scenario.plan()
    found: dict[str, float] = {}
    if len(bsss_of(plan)) > 1:
        row = means(results.bsss, ["bss"]).row(0, named=True)
        found["busy_share"] = row["busy_own_share"] + row["busy_others_share"]
        found["others_share"] = row["busy_others_share"]
        found["lost_to_others_share"] = row["lost_to_others"] / row["attempts"] if row["attempts"] else 0.0
    else:
        run = means(results.runs, ["scenario"]).row(0, named=True)
        found["busy_share"] = 1.0 - run["idle_share"]
        found["collision_share"] = run["collision_share"]
    air = means(results.stations, ["station", "direction"])
    for way in ("up", "down"):
        mine = air.filter((pl.col("direction") == way) & (pl.col("station") != NEIGHBOURS))
        found[f"airtime_{way}_share"] = float(mine["airtime_share"].sum())
    found.setdefault("others_share", float(air.filter(station=NEIGHBOURS)["airtime_share"].sum()))
    flows = means(results.flows, ["flow", "station", "direction", "transport"]).filter(pl.col("station") != NEIGHBOURS)
    wire = wire_of(plan, stations_of(plan)[0]["label"])
    for way in ("up", "down"):
        mine = flows.filter(direction=way)
        found[f"flows_{way}"] = float(mine.height)
        found[f"tcp_{way}"] = float(mine.filter(transport="tcp").height)
        if wire["rate_mbps"]:
            found[f"line_{way}_share"] = HEADERS * float(mine["goodput_mbps"].sum()) / float(wire["rate_mbps"])
    queue = results.queues.filter((pl.col("node") == "ap") & (pl.col("class") == "all"))
    for name in ("sojourn_mean_ms", "length_mean_packets"):
        values = queue[name].drop_nulls()
        found[name] = float(values.mean()) if values.len() else 0.0  # type: ignore[arg-type]
    return found


def _words(shown: dict[str, float]) -> dict[str, str]:
    """What may be full, in words."""
    is_full = " is full:" if _is_full(shown, "busy_share") else " is"
    found = {"busy_share": f"the air{is_full} busy for {_percent(shown['busy_share'])} of the time{_users(shown)}"}
    for way in ("down", "up"):
        if shown.get(f"line_{way}_share", 0.0) >= 0.005:
            is_full = " is full: it" if _is_full(shown, f"line_{way}_share") else ""
            found[f"line_{way}_share"] = (
                f"the line{is_full} carries {_percent(shown[f'line_{way}_share'])} of its rate {way}"
            )
    return found


def _users(shown: dict[str, float]) -> str:
    parts = {
        "stations": shown["airtime_up_share"],
        "the access point": shown["airtime_down_share"],
        "other networks": shown["others_share"],
        "collisions": shown.get("collision_share", 0.0),
    }
    listed = sorted(((name, share) for name, share in parts.items() if share >= 0.005), key=lambda part: -part[1])
    told = ", ".join(f"{name} {_percent(share)}" for name, share in listed)
    return f" ({told})" if told else ""


def _worth_trying(shown: dict[str, float]) -> list[str]:
    tried = []
    is_full = _is_full(shown, "busy_share")
    used = shown["airtime_up_share"] + shown["airtime_down_share"]
    if is_full and shown["tcp_up"] and shown["flows_down"] and shown["airtime_up_share"] > MOST * used:
        share = _percent(shown["airtime_up_share"] / used)
        tried.append(f"EDCA parameters with which stations wait longer (they use {share} of this network's airtime)")
    if shown["sojourn_mean_ms"] >= LONG_WAIT_MS:
        tried.append(f"shorter queues (packets wait {shown['sojourn_mean_ms']:.3g} ms at the access point)")
    reasons = []
    if is_full and shown["others_share"] >= MUCH:
        reasons.append(f"other networks use {_percent(shown['others_share'])} of the time")
    if (lost := shown.get("lost_to_others_share", 0.0)) >= LOST:
        reasons.append(f"{_percent(lost)} of the frames are lost to other networks alone")
    if reasons:
        tried.append(f"another channel ({', and '.join(reasons)})")
    return tried


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
