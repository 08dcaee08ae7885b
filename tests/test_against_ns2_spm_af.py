"""SPM-AF held against ns-2.35 with the same rule: five uplink and five downlink flows of `spm-af-las`, Section 5.1.

`data/ns2-spm-af.csv`: its head says what was run. `benches/peers/ns2_spm_af.cc` is the scheme and the sender for ns-2.
"""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

import pytest
from wifair.papers.spm_af_las.study import FORMS, SPM_AF, TAIL_DROP, up_down
from wifair.scenario import Scenario
from wifair.stats import jain

DATA = Path(__file__).parent / "data" / "ns2-spm-af.csv"
VALIDATE = "WIFAIR_VALIDATE" in os.environ
SEEDS = 10 if VALIDATE else 4
BUFFERS = (10, 20, 30, 50, 80, 100, 150) if VALIDATE else (10, 50)
# How far the two may lie apart beyond three standard errors of their difference: Jain's index; share of the sum of throughputs.
INDEX, SHARE = 0.03, 0.03
# What "growth" of the table is here.
SETTINGS = {"segments": {}, "acks": {"tcp.byte_counting": None}, "none": {}}


def reference() -> dict[tuple[str, int], list[tuple[float, float, float]]]:
    rows = defaultdict(list)
    with DATA.open(newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            flows = [float(row[f"kbps_{i}"]) for i in range(10)]
            rows[row["growth"], int(row["buffer"])].append((jain(flows), sum(flows[:5]), sum(flows[5:])))
    return rows


def simulated(growth: str, buffer: int) -> list[tuple[float, float, float]]:
    scheme = TAIL_DROP if growth == "none" else SPM_AF
    (cell,) = [c for c in up_down(FORMS["full"]) if (c.keys["scheme"], c.keys["buffer"]) == (scheme, buffer)]
    scenario = cell.scenario.override(SETTINGS[growth])
    assert isinstance(scenario, Scenario)
    flows = scenario.run(seeds=SEEDS).flows
    found = []
    for _, of_seed in flows.group_by("seed", maintain_order=True):
        kbps = [1e3 * value for value in of_seed["goodput_mbps"]]
        found.append((jain(kbps), sum(kbps[:5]), sum(kbps[5:])))
    return found


@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("growth", SETTINGS)
def test_spm_af_gives_what_ns2_gives(growth: str, buffer: int) -> None:
    theirs, ours = reference()[growth, buffer], simulated(growth, buffer)
    total = mean(up + down for _, up, down in theirs)
    for what, allowed in ((0, INDEX), (1, SHARE * total), (2, SHARE * total)):
        a, b = [row[what] for row in ours], [row[what] for row in theirs]
        standard_error = (stdev(a) ** 2 / len(a) + stdev(b) ** 2 / len(b)) ** 0.5
        assert abs(mean(a) - mean(b)) <= allowed + 3 * standard_error, (what, mean(a), mean(b), standard_error)
