"""What each ingredient of air-share does, into docs/air-share.md: `python docs/figures/air_share.py`, ten minutes on two cores.

Every variant is judged against mac80211 in the quick form of `wifair compare --all`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from wifair import Scenario
from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Contest
from wifair.everything.findings import Overview
from wifair.everything.scenarios import QUICK
from wifair.everything.verdict import Standing
from wifair.markdown import Marks, table
from wifair.stats import t_interval
from wifair.study.store import Store

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "air-share.md"
COMMAND = "docs/figures/air_share.py"
INGREDIENTS, HOSTS, MANY = (Marks(f"air-share {what}", COMMAND) for what in ("ingredients", "hosts", "stations"))
SCHEME = "air-share"
STANDINGS = (Standing.BETTER, Standing.EQUAL, Standing.TRADE, Standing.WORSE, Standing.OPEN, Standing.THRESHOLD)
IDEAL = ("ap.hardware=ideal",)
# By name: parameters, and settings of every scenario.
VARIANTS: Mapping[str, tuple[Mapping[str, float], tuple[str, ...]]] = {
    "as it is": ({}, ()),
    "as it is, nothing below the scheme": ({}, IDEAL),
    "no policing (`debt_ms = 10000`)": ({"debt_ms": 10_000.0}, ()),
    "no ACK filter (`ack_filter_below_mbps = 0`)": ({"ack_filter_below_mbps": 0.0}, ()),
    "the target of mac80211 (`target_ms = 20`)": ({"target_ms": 20.0}, ()),
    "`target_ms = 10`": ({"target_ms": 10.0}, ()),
    "`target_ms = 5`": ({"target_ms": 5.0}, ()),
    "`debt_ms = 10`": ({"debt_ms": 10.0}, ()),
    "`debt_ms = 40`": ({"debt_ms": 40.0}, ()),
    "`memory_ms = 250`": ({"memory_ms": 250.0}, ()),
    "`memory_ms = 1000`": ({"memory_ms": 1_000.0}, ()),
    "`interval_ms = 50`": ({"interval_ms": 50.0}, ()),
    "`interval_ms = 200`": ({"interval_ms": 200.0}, ()),
    "`ack_filter_below_mbps = 30`": ({"ack_filter_below_mbps": 30.0}, ()),
    "`ack_filter_below_mbps = 120`": ({"ack_filter_below_mbps": 120.0}, ()),
}
SEEDS = 8


def overview(parameters: Mapping[str, float], settings: tuple[str, ...], store: Store) -> tuple[Overview, str]:
    """The verdicts on a variant in all settings, and its name there."""
    scheme = {"name": SCHEME, **parameters} if parameters else SCHEME
    outcome = Contest.of(QUICK, (), [REFERENCE, scheme], None, settings).run(store=store)
    found = Overview(outcome.settings)
    (name,) = (name for name in found.contenders if name != REFERENCE)
    return found, name


def ingredients(store: Store) -> None:
    """Counts of settings by the standing of each variant against mac80211."""
    rows = []
    for about, (parameters, settings) in VARIANTS.items():
        found, name = overview(parameters, settings, store)
        record = found.record(name)
        counts = [f"{record.standings[standing]}" for standing in STANDINGS]
        lost = [j.setting.id for j in found.settings if j.verdict.standing(name, REFERENCE) in LOSING]
        rows.append([about, *counts, ", ".join(f"`{setting}`" for setting in lost)])
        print(*rows[-1], sep=" | ", flush=True)
    head = [SCHEME, *(standing.value for standing in STANDINGS), "worse or a trade in"]
    INGREDIENTS.write(PAGE, table(head, rows))


LOSING = (Standing.WORSE, Standing.TRADE)


def said(values: list[Any], decimals: int) -> str:
    """The mean with half its 95 % interval; a dash without a value in some run."""
    if None in values:
        return "–"
    found = t_interval(values)
    return f"{found.estimate:.{decimals}f} ± {(found.high or found.estimate) - found.estimate:.{decimals}f}"


def cell(phy: Mapping[str, Any], station: Mapping[str, Any], ups: int, downs: int, tcp: Mapping[str, Any]) -> Scenario:
    """Uploads and downloads of one station each, and a station with a call both ways."""
    ways = ["up"] * ups + ["down"] * downs
    stations = [{"name": f"s{n}", **station} for n in range(len(ways))]
    flows: list[dict[str, Any]] = [
        {"name": f"f{n}", "station": f"s{n}", "direction": way} for n, way in enumerate(ways)
    ]
    call = {"name": "udp", "rate_mbps": 0.064, "payload_bytes": 160}
    flows += [
        {"name": f"call-{way}", "station": "phone", "direction": way, "application": call} for way in ("up", "down")
    ]
    return Scenario.from_settings(
        {
            "run": {"warmup_s": 5, "duration_s": 20},
            "phy": phy,
            "tcp": tcp,
            "stations": [*stations, {"name": "phone", **station}],
            "flows": flows,
        }
    )


B = ({"name": "802.11b"}, {"rate_mbps": 11.0})
AX = ({"name": "802.11ax", "width_mhz": 20}, {"mcs": 7})
HARDWARE_OF: Mapping[str, Mapping[str, str]] = {"802.11b": {}, "802.11ax": {"ap.hardware": "firmware"}}
TCP: Mapping[str, Mapping[str, Any]] = {
    "CUBIC": {"profile": "today", "ecn": False},
    "CUBIC with ECN": {"profile": "today", "ecn": True},
    "Reno": {"profile": "today", "ecn": False, "congestion_control": "reno"},
    "BBR": {"profile": "today", "ecn": False, "congestion_control": "bbr"},
}
HEAD = ["scheme", "up, Mbps", "down, Mbps", "RTT of an upload, ms", "data marked", "data dropped", "datagrams lost"]


def measured(given: Scenario, seeds: int) -> list[str]:
    """Goodput by direction, round-trip time of the first upload, uplink data marked and dropped, datagrams lost."""
    results = given.run(seeds=seeds)
    policed = results.flows.filter(label="f0").sort("seed")
    data = sum(policed["ap_policed_packets"].to_list()) or 1
    shares = (sum(policed[f"ap_police_{what}_packets"].to_list()) / data for what in ("marked", "dropped"))
    ways = (results.metrics[f"{way}_mbps"].to_list() for way in ("up", "down"))
    lost = mean(results.metrics["datagram_loss_ratio"].to_list())
    return [
        *(said(values, 2) for values in ways),
        said(policed["rtt_mean_ms"].to_list(), 0),
        *(f"{100 * share:.2f} %" for share in shares),
        f"{100 * lost:.2f} %",
    ]


def under_both(about: str, given: Scenario, seeds: int) -> list[list[str]]:
    """A row for each scheme."""
    rows = [[about, f"`{name}`", *measured(given.override({"ap.scheme": name}), seeds)] for name in (REFERENCE, SCHEME)]
    for row in rows:
        print(*row, sep=" | ", flush=True)
    return rows


def hosts() -> None:
    """Five uploads and five downloads by kinds of hosts, and uploads without downloads."""
    rows = []
    for name, air in (("802.11b", B), ("802.11ax", AX)):
        for tcp in TCP:
            given = cell(*air, 5, 5, TCP[tcp]).override(HARDWARE_OF[name])
            rows += under_both(f"{name}, 5 up and 5 down, {tcp}", given, SEEDS)
        given = cell(*air, 10, 0, TCP["CUBIC"]).override(HARDWARE_OF[name])
        rows += under_both(f"{name}, 10 up, CUBIC", given, SEEDS)
    slow = cell(B[0], {"rate_mbps": 1.0}, 1, 0, TCP["CUBIC"])
    rows += under_both("802.11b at 1 Mbps, 1 up, CUBIC", slow, SEEDS)
    HOSTS.write(PAGE, table(["cell", *HEAD], rows))


def stations() -> None:
    """As many uploads as downloads, by the number of stations."""
    rows = []
    for count in (20, 200, 1_000):
        given = cell(*AX, count // 2, count // 2, TCP["CUBIC"]).override(HARDWARE_OF["802.11ax"])
        rows += under_both(f"{count}", given, 4)
    MANY.write(PAGE, table(["stations", *HEAD], rows))


def main() -> None:
    """Runs and writes all tables."""
    hosts()
    stations()
    ingredients(Store(ROOT / "results" / "air-share" / "store"))


if __name__ == "__main__":
    main()
