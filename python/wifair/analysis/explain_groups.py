"""What limited groups of like flows: at most three sentences, and one row per group.

The sentences report counters and do not claim causes; a cause takes two runs (`wifair compare`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from wifair.analysis.explain import (
    Sentence,
    limit_of,
    means,
    of_bsss,
    of_changing_links,
    of_hidden_stations,
    wire_waits_ms,
)
from wifair.planned import part
from wifair.results.wire import LONG_WAIT_MS

if TYPE_CHECKING:
    from wifair.results.results import Results

# The ratio from which two goodputs count as different.
DIFFERENT = 1.1
# With more BSSs than this only the first has a sentence.
FEW_BSSS = 4
# A station is named if its airtime is at least this multiple of the mean.
HOG = 1.5


@dataclass(frozen=True)
class Group:
    """A group of flows of the scenario: means over flows and replications."""

    name: str
    flows: int
    direction: str
    application: str
    transport: str
    stations: tuple[str, ...]
    goodput_mbps: float
    # Share of the packets offered to the AP's buffer.
    lost_share: float | None
    # Reductions of the congestion window, and retransmission timeouts, per flow and replication.
    cuts: float
    timeouts: float
    rtt_ms: float | None
    airtime_share: float
    limit: str
    datagram_loss: float | None = None
    delay_p95_ms: float | None = None

    @property
    def at_the_ap(self) -> str:
        """What the group has in the AP's buffer: ACKs for TCP uploads, else packets."""
        return "ACKs" if self.direction == "up" and self.transport == "tcp" else "packets"


def groups(results: Results) -> list[Group]:
    """The groups, in the order of the scenario."""
    keys = ["flow", "label", "group", "direction", "station", "application", "transport"]
    flows = means(results.flows, keys)
    air = means(results.stations, ["station", "direction"]).group_by("station").agg(pl.col("airtime_share").sum())
    shares = dict(air.iter_rows())
    states = (
        {row["label"]: row for row in means(results.frames["states"], ["label"]).iter_rows(named=True)}
        if "states" in results.frames
        else {}
    )
    plans = {flow["label"]: flow for flow in results.cells[0].scenario.plan()["flows"]}
    streams = means(results.datagrams, ["label", "direction"]) if "datagrams" in results.frames else None
    found = []
    for (name, direction), own_rows in flows.group_by("group", "direction", maintain_order=True):
        rows = list(own_rows.iter_rows(named=True))
        limits = [
            limit_of(row, states[row["label"]], plans[row["label"]])[0]
            for row in rows
            if row["label"] in states and row["transport"] == "tcp"
        ]
        stations = tuple(dict.fromkeys(row["station"] for row in rows))
        offered = float(own_rows["ap_offered_packets"].sum())
        own = (
            streams.filter(pl.col("label").is_in(own_rows["label"].to_list()))
            if streams is not None and rows[0]["transport"] != "tcp"
            else None
        )
        sent = float(own["sent_packets"].sum()) if own is not None else 0.0
        found.append(
            Group(
                str(name),
                len(rows),
                str(direction),
                rows[0]["application"],
                rows[0]["transport"],
                stations,
                _mean(own_rows["goodput_mbps"]) or 0.0,
                float(own_rows["ap_lost_packets"].sum()) / offered if offered else None,
                _mean(own_rows["fast_retransmits"] + own_rows["ecn_reductions"] + own_rows["timeouts"]) or 0.0,
                _mean(own_rows["timeouts"]) or 0.0,
                _mean(own_rows["rtt_mean_ms"]),
                sum(shares[station] for station in stations),
                max(set(limits), key=limits.count) if limits else "–",
                float(own["lost_packets"].sum()) / sent if own is not None and sent else None,
                _most(own["delay_p95_ms"] if own["delay_p95_ms"].count() else own["rtt_p95_ms"])
                if own is not None
                else None,
            )
        )
    return found


def _mean(values: pl.Series) -> float | None:
    there = values.drop_nulls()
    return float(there.mean()) if there.len() else None  # type: ignore[arg-type]


def _most(values: pl.Series) -> float | None:
    there = values.drop_nulls()
    return float(there.max()) if there.len() else None  # type: ignore[arg-type]


def lead(results: Results, found: list[Group]) -> list[Sentence]:
    """Links that change, goodput, losses at the AP with window reductions, hidden stations in a field, and airtime or waiting times."""
    bulk = [group for group in found if group.application == "bulk" and group.transport == "tcp"]
    told = []
    if bulk:
        best, worst = (pick(bulk, key=lambda group: group.goodput_mbps) for pick in (max, min))
        told.append(_shares(best, worst))
        told.append(_losses(best, worst))
    third = _charged(results, found) or _slow(results) or _queue(results)
    hidden = [sentence for sentence in of_hidden_stations(results) if sentence.counters["hidden_pairs"]]
    of_each = of_bsss(results)
    changing = of_changing_links(results)
    return [*changing, *told, *(of_each if len(of_each) <= FEW_BSSS else of_each[:1]), *hidden, third]


def _shares(best: Group, worst: Group) -> Sentence:
    counters = {f"goodput_mbps of {group.name}": group.goodput_mbps for group in (best, worst)}
    each = "each " if best.flows > 1 else ""
    if best is worst:
        return Sentence("", f"{each.capitalize()}{best.name} gets {best.goodput_mbps:.3g} Mbps.", counters)
    ratio = best.goodput_mbps / worst.goodput_mbps if worst.goodput_mbps else float("inf")
    much, little = (_plain(group.goodput_mbps) for group in (best, worst))
    if ratio < DIFFERENT:
        told = f"Goodputs are about equal: {_one(best)} gets {much} Mbps, {_one(worst)} {little} Mbps."
        return Sentence("", told, counters)
    than = (
        f"{_two_digits(ratio)} times as much as {_one(worst)} ({little} Mbps)"
        if worst.goodput_mbps
        else f"{_one(worst)} nothing"
    )
    told = f"{_one(best)} gets {much} Mbps, {than}."
    return Sentence("", f"{told[:1].upper()}{told[1:]}", counters)


def _one(group: Group) -> str:
    """A flow of the group, as a sentence names it."""
    return f"each {group.name} flow" if group.flows > 1 else group.name


def _plain(value: float) -> str:
    """Three digits, without an exponent."""
    return f"{value:.3g}" if value >= 1e-4 or not value else f"{float(f'{value:.2g}'):.12f}".rstrip("0")


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,g}"


def _losses(best: Group, worst: Group) -> Sentence:
    pair = [worst] if best is worst else [worst, best]
    lost = " and ".join(f"{_percent(group.lost_share)} of the {group.at_the_ap} of {group.name}" for group in pair)
    cut = ", ".join(
        f"{'that' if i else 'the window'} of {_one(group)} {group.cuts:.2g} times" for i, group in enumerate(pair)
    )
    counters = {
        f"{name} of {group.name}": getattr(group, name) or 0.0 for group in pair for name in ("lost_share", "cuts")
    }
    mixed = {group.at_the_ap for group in pair} == {"ACKs", "packets"}
    acks = " (a lost ACK cuts none: the next one covers it)" if mixed else ""
    told = f"The AP loses {lost}; losses and marks cut {cut} per run{acks}."
    return Sentence("", told, counters)


def _charged(results: Results, found: list[Group]) -> Sentence | None:
    """Under mac80211: airtime of a station's uploads that is charged to its downloads."""
    if (
        part(results.cells[0].scenario.plan(), results.bss_names)["bss"]["ap"]["tx_queue"]["scheme"]["name"]
        != "mac80211"
    ):
        return None
    shares = _airtimes(results, "up")
    for upload in (group for group in found if group.direction == "up" and group.transport == "tcp"):
        for other in found:
            both = [station for station in upload.stations if station in other.stations]
            if other is upload or not both or (other.direction == "up" and other.transport == "tcp"):
                continue
            share = sum(shares[station] for station in both)
            delay = (
                "" if other.delay_p95_ms is None else f"; 95 % of its packets arrive within {other.delay_p95_ms:.3g} ms"
            )
            told = (
                f"{upload.name} and {other.name} share {', '.join(both[:3])}: mac80211 charges the {_percent(share)} of the air that "
                f"{upload.name} uses to that station, so {other.name} gets fewer turns{delay}."
            )
            return Sentence("", told, {"airtime_share": share})
    return None


def _slow(results: Results) -> Sentence | None:
    """A station with a slow link that uses far more than the mean airtime."""
    rows = means(results.stations, ["station", "direction"])
    stations = rows.group_by("station", maintain_order=True).agg(
        pl.col("airtime_share").sum(), pl.col("link_rate_mbps").max()
    )
    shares = dict(stations.select("station", "airtime_share").iter_rows())
    rates = {name: rate for name, rate in stations.select("station", "link_rate_mbps").iter_rows() if rate}
    name = max(shares, key=lambda station: shares[station])
    rate, highest = rates.get(name), max(rates.values(), default=0.0)
    if rate is None or rate >= highest or shares[name] < HOG * sum(shares.values()) / len(shares):
        return None
    told = f"{name} uses {_percent(shares[name])} of the air: its link rate is {rate:.3g} Mbps, the highest is {highest:.3g}."
    return Sentence("", told, {"airtime_share": shares[name], "link_rate_mbps": rate})


def _queue(results: Results) -> Sentence:
    """The mean sojourn time at the AP, and the airtime share of collisions."""
    queue = results.queues.filter((pl.col("node") == "ap") & (pl.col("class") == "all"))
    waited, collisions = _mean(queue["sojourn_mean_ms"]) or 0.0, _mean(results.runs["collision_share"]) or 0.0
    told = f"Packets wait {waited:.3g} ms in the AP's buffer on average; collisions take {_percent(collisions)} of the air."
    counters = {"sojourn_mean_ms": waited, "collision_share": collisions}
    for way, waited_ms in wire_waits_ms(results).items():
        counters[f"wire_{way}_wait_mean_ms"] = waited_ms
        if waited_ms >= LONG_WAIT_MS:
            told += f" They wait {waited_ms:.3g} ms for the wire {way}."
    return Sentence("", told, counters)


def _airtimes(results: Results, direction: str) -> dict[str, float]:
    rows = means(results.stations, ["station", "direction"]).filter(pl.col("direction") == direction)
    return {row["station"]: row["airtime_share"] for row in rows.iter_rows(named=True)}


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def rows(found: list[Group]) -> list[tuple[str, ...]]:
    """The cells of the table, one row per group."""

    def number(value: float | None, form: str = ".3g") -> str:
        return "–" if value is None else f"{value:{form}}"

    return [
        (
            group.name,
            f"{group.flows}",
            number(group.goodput_mbps),
            _percent(group.lost_share if group.transport == "tcp" else group.datagram_loss),
            number(group.cuts) if group.transport == "tcp" else "–",
            f"{group.rtt_ms:.0f}" if group.rtt_ms is not None else number(group.delay_p95_ms, ".0f"),
            _percent(group.airtime_share),
            group.limit,
        )
        for group in found
    ]


HEADINGS: tuple[str, ...] = ("group", "flows", "Mbps each", "lost", "window cuts", "RTT, ms", "airtime", "limited by")


def note(found: list[Group]) -> str:
    """What the columns are, as far as these groups need it."""
    told = "Means over flows and runs. Lost: packets at the AP"
    told += "; for datagrams, on the whole way. " if any(group.datagram_loss is not None for group in found) else ". "
    if any(group.rtt_ms is None and group.delay_p95_ms is not None for group in found):
        told += "RTT: the mean; of datagrams without a response, the 95 % quantile of the one-way delay of the worst stream. "
    stations = [station for group in found for station in group.stations]
    if len(stations) > len(set(stations)):
        told += "Airtime: that of the stations, all of their flows together. "
    return told.rstrip()


def to_dict(group: Group) -> dict[str, Any]:
    """The group for JSON."""
    from dataclasses import asdict

    return asdict(group)
