"""Findings on today's hosts with other systems at the stations, into docs/generations.md and docs/modern-ap.md.

`python docs/figures/systems.py`, a minute or two on two cores. A station's system decides how it uploads, and how it acknowledges
what it downloads. The servers are Linux.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wifair import Scenario, gallery
from wifair.markdown import Marks, table
from wifair.papers.generations.air import AC, AX, BE, PACKETS, Generation
from wifair.papers.generations.causes import CAUSES
from wifair.papers.generations.study import ADAPTIVE, AF, FORMS, TAIL_DROP, TEN_AND_TEN, Setting, scenario
from wifair.results import Results
from wifair.scenario.profiles import PROFILES
from wifair.stats import Values, plus_minus, ratio

DOCS = Path(__file__).resolve().parents[1]
COMMAND = "docs/figures/systems.py"
GENERATIONS = Marks("systems", COMMAND)
CAFE = Marks("systems in a cafe", COMMAND)
SERVERS = "linux"
SYSTEMS = ("linux", "windows", "apple")
SEEDS = 8
# What the receiver of a connection decides.
OF_RECEIVER = ("ecn", "mss_bytes", "header_bytes", "receiver_window_segments", "delayed_ack", "receive_offload")
MAC80211 = "mac80211"


def at_stations(given: Scenario, system: str) -> Scenario:
    """The scenario with a system at the stations."""
    received = {key: PROFILES[system][key] for key in OF_RECEIVER}
    flows: list[dict[str, Any]] = []
    for flow in given.settings()["flows"]:
        tcp = {"profile": system} if flow["direction"] == "up" else {"profile": SERVERS, **received}
        flows.append(flow if flow.get("application") == "ping" else {**flow, "tcp": tcp})
    return given.override({"tcp": {"profile": SERVERS}, "flows": flows})


def ten_and_ten(generation: Generation, scheme: str) -> Scenario:
    """Ten uploads and ten downloads of today's hosts, as in the study `generations`."""
    queues = scheme == MAC80211
    setting = Setting(TEN_AND_TEN, TAIL_DROP if queues else scheme, generation, PACKETS)
    (cause,) = (cause for cause in CAUSES if cause.id == ("today-queues-per-station" if queues else "today"))
    return scenario(setting, FORMS["full"]).override(cause.settings(setting))


def bias(results: Results) -> Values:
    """(up − down) / (up + down), by seed."""
    up, down = (results.metrics[way].to_numpy() for way in ("up_mbps", "down_mbps"))
    return ratio(up - down, up + down)


def of_generations(system: str) -> dict[str, str]:
    """The findings of docs/generations.md, by name."""
    found = {}
    for generation in (AC, AX, BE):
        runs = {
            scheme: at_stations(ten_and_ten(generation, scheme), system).run(seeds=SEEDS)
            for scheme in (TAIL_DROP, MAC80211, AF, ADAPTIVE)
        }
        index = {scheme: results.metrics["jain"].to_numpy() for scheme, results in runs.items()}
        found |= {
            f"bias under tail drop, {generation.name}": plus_minus(bias(runs[TAIL_DROP]), 3),
            f"bias under `mac80211`, {generation.name}": plus_minus(bias(runs[MAC80211]), 3),
            f"index gained by ACK filtering, {generation.name}": plus_minus(index[AF] - index[TAIL_DROP], 3),
            f"index gained by adaptive pushout, {generation.name}": plus_minus(index[ADAPTIVE] - index[TAIL_DROP], 3),
        }
    return dict(sorted(found.items(), key=lambda one: one[0].split(",")[0]))


def of_cafe(system: str) -> dict[str, str]:
    """The seconds of a page in the café of docs/modern-ap.md, by access point."""
    cafe = at_stations(Scenario.from_toml(gallery.file_of("cafe")), system)
    return {
        f"`{scheme}`, `{hardware}`": plus_minus(
            cafe.override({"ap.scheme": scheme, "ap.hardware": hardware})
            .run(seeds=SEEDS)
            .metrics["transfer_mean_s"]
            .to_numpy(),
            2,
        )
        for hardware in ("ideal", "firmware")
        for scheme in (TAIL_DROP, MAC80211)
    }


def main() -> None:
    """Runs all cells and writes both tables."""
    for page, marks, head, findings in (
        ("generations.md", GENERATIONS, "finding", of_generations),
        ("modern-ap.md", CAFE, "access point", of_cafe),
    ):
        found = {system: findings(system) for system in SYSTEMS}
        rows = [[name, *(found[system][name] for system in SYSTEMS)] for name in found[SERVERS]]
        text = table([head, *(f"`{system}`" for system in SYSTEMS)], rows)
        print(text, flush=True)
        marks.write(DOCS / page, text)


if __name__ == "__main__":
    main()
