"""Goals in a user's words: what each word measures, and the units in which a bound may be given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from wifair.results.metric import Better, Metric

# The largest payload of a packet of a call, in bytes, where calls are plain datagrams, as `wifair import` has them.
CALL_BYTES = 400
# Factors to the unit of a metric, by that unit.
UNITS: Mapping[str, Mapping[str, float]] = {
    "ms": {"ms": 1, "s": 1000},
    "s": {"s": 1, "ms": 0.001},
    "Mbps of payload": {"Mbps": 1, "kbps": 0.001, "Gbps": 1000},
    "index": {"": 1},
    "1 to 4.5": {"": 1},
}


@dataclass(frozen=True)
class Word:
    """What a word measures: a metric of results, or one of these words alone (`own`).

    `needs` are the applications, of which the scenario must have one. `probe` is the application that can be added to a scenario without
    them, since it hardly loads the network.
    """

    metric: str
    better: Better
    about: str
    own: Metric | None = None
    needs: tuple[str, ...] = ()
    probe: str = ""


def _datagrams(run: Any, column: str, *applications: str) -> float | None:
    """The largest value of a column among the streams of these applications."""
    if "datagrams" not in run.frames:
        return None
    found = run.datagrams.filter(pl.col("application").is_in(applications))[column].max()
    return None if found is None else float(found)


def _calls(run: Any) -> float | None:
    spoken = _datagrams(run, "delay_p95_ms", "voip")
    return spoken if spoken is not None else _datagrams_named(run, calls(run.cells[0].scenario.plan()))


def _datagrams_named(run: Any, labels: Sequence[str]) -> float | None:
    if "datagrams" not in run.frames or not labels:
        return None
    found = run.datagrams.filter(pl.col("label").is_in(labels))["delay_p95_ms"].max()
    return None if found is None else float(found)


def calls(plan: Mapping[str, Any]) -> list[str]:
    """The labels of flows that are calls without a codec: datagrams of small packets in both directions of a station."""
    small: dict[str, dict[str, list[str]]] = {}
    for flow in plan["flows"]:
        told = flow["application"]
        if told["name"] == "udp" and told["payload_bytes"] <= CALL_BYTES:
            small.setdefault(flow["station"], {}).setdefault(flow["direction"], []).append(flow["label"])
    return [label for ways in small.values() if len(ways) == 2 for labels in ways.values() for label in labels]


def _rtt(run: Any) -> float | None:
    found = run.flows.filter(pl.col("application") == "bulk")["rtt_mean_ms"].drop_nulls().mean()
    return None if found is None else float(found)


def _completion(application: str) -> Any:
    """The mean time of an application's transfers, unfinished ones until the end, each flow counting alike."""

    def of(run: Any) -> float | None:
        if "transfer_groups" not in run.frames:
            return None
        flows = run.flows.filter(pl.col("application") == application).group_by("group").len()
        times = run.transfer_groups.filter(pl.col("bytes").is_null()).join(flows, on="group")
        times = times.drop_nulls("mean_with_unfinished_s")
        weight = times["len"].sum()
        return float((times["mean_with_unfinished_s"] * times["len"]).sum() / weight) if weight else None

    return of


def _delay(name: str, of: Any) -> Metric:
    return Metric(name, of, unit="ms", better="lowest")


_RATING = ("voip",)
WORDS: Mapping[str, Word] = {
    "fair shares": Word("jain", "highest", "Jain's index of the goodput of comparable flows"),
    "fair airtime": Word("jain_airtime", "highest", "Jain's index of the airtime of their stations"),
    "total": Word("total_mbps", "highest", "goodput of all TCP flows"),
    "downloads": Word("down_mbps", "highest", "goodput of all TCP flows to stations"),
    "uploads": Word("up_mbps", "highest", "goodput of all TCP flows from stations"),
    "calls": Word(
        "call_delay_p95_ms",
        "lowest",
        "95 % quantile of the one-way delay of calls, of the worst stream",
        _delay("call_delay_p95_ms", _calls),
        ("voip", "udp"),
        "voip",
    ),
    "call rating": Word(
        "mos_least", "highest", "opinion score of the worst stream of a call", None, _RATING, _RATING[0]
    ),
    "games": Word(
        "game_delay_p95_ms",
        "lowest",
        "95 % quantile of the one-way delay of games, of the worst stream",
        _delay("game_delay_p95_ms", lambda run: _datagrams(run, "delay_p95_ms", "game")),
        ("game",),
        "game",
    ),
    "pings": Word("ping_p95_ms", "lowest", "95 % quantile of the round-trip time of pings", None, ("ping",), "ping"),
    "round trips": Word(
        "bulk_rtt_ms", "lowest", "mean round-trip time of bulk TCP flows", _delay("bulk_rtt_ms", _rtt), ("bulk",)
    ),
    "pages": Word(
        "page_s",
        "lowest",
        "mean time of a page, unfinished ones until the end of the run",
        Metric("page_s", _completion("web"), unit="s", better="lowest"),
        ("web",),
    ),
    "files": Word(
        "file_s",
        "lowest",
        "mean time of a file, unfinished ones until the end of the run",
        Metric("file_s", _completion("transfers"), unit="s", better="lowest"),
        ("transfers",),
    ),
}
# Before a bound, by the better direction.
BOUNDS: Mapping[Better, tuple[str, ...]] = {
    "lowest": ("below", "under", "at most"),
    "highest": ("above", "over", "at least"),
}
