"""The study `neighbours`: its houses, what a resident changes, its rule for neighbours, and that it runs, draws and judges."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from wifair.analysis.comparison import Differences
from wifair.errors import InputError
from wifair.neighbours import study
from wifair.neighbours.claims import CLAIMS, losers
from wifair.neighbours.grid import adoption_cells, busy_cells, cells, names, paper_cells
from wifair.neighbours.houses import (
    ALONE,
    BUFFERS,
    BY_20_MHZ,
    CHANGE_IDS,
    CHANNELS,
    FORMS,
    MINE,
    ONE,
    PARTS,
    SHARES,
    THREE,
    WIDTH_IDS,
    Size,
    adopters,
    heard,
    house,
    quietest,
)
from wifair.neighbours.measured import Measured
from wifair.papers import Asked, find
from wifair.papers.claims import Verdict
from wifair.planned import channels_of

QUICK = FORMS["quick"]
SMALL = Size(2, 1, (2, 1), 5, 5.0, 2.0)
Table = dict[str, Any]


def test_claims_have_names_of_their_own_and_belong_to_figures() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert {study._figure(claim) for claim in CLAIMS} == set(find("neighbours").FIGURES)
    assert all(claim.reading and claim.statement.endswith(".") for claim in CLAIMS)


def test_alone_is_as_with_neighbours_on_other_channels() -> None:
    apart = house(1, THREE, SMALL).override({"building.channels": [42], f"bss[{MINE}].channel": 155})
    with_others = apart.run(seeds=1).of_bss(MINE)
    alone = house(1, ALONE, SMALL).run(seeds=1)
    for table, column in (("flows", "goodput_mbps"), ("datagrams", "delay_p95_ms"), ("stations", "airtime_s")):
        assert alone.frames[table][column].to_list() == with_others.frames[table][column].to_list()


def test_a_house_is_that_of_its_number_and_plans_change_channels_alone() -> None:
    one, three = house(3, ONE, QUICK).plan(), house(3, THREE, QUICK).plan()
    assert {neighbour["channel"] for neighbour in three["neighbours"]} == set(CHANNELS)
    assert {neighbour["channel"] for neighbour in one["neighbours"]} == {CHANNELS[0]}
    for plan in (one, three):
        plan.pop("bss_channel")
        for neighbour in plan["neighbours"]:
            neighbour.pop("channel")
    assert one == three
    assert house(4, ONE, QUICK).plan()["bss"]["stations"] != one["bss"]["stations"]


def differing(before: Any, after: Any, path: str = "") -> list[str]:
    """The paths at which two plans differ."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return [found for key in before for found in differing(before[key], after[key], f"{path}.{key}")]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [found for i in range(len(before)) for found in differing(before[i], after[i], f"{path}[{i}]")]
    return [] if before == after else [path]


@pytest.mark.parametrize("plan", [ONE, THREE])
def test_each_change_changes_what_it_says_at_one_access_point(plan: str) -> None:
    made = {str(cell.keys["change"]): cell.scenario.plan() for cell in cells(2, plan, QUICK)}
    before = made.pop("as-it-is")
    assert list(made) == [change for change in CHANGE_IDS if change not in WIDTH_IDS]
    for change, after in made.items():
        places = differing(before, after)
        allowed = {"channel": ".bss_channel", "rts": ".bss.mac"}.get(change, ".bss.ap")
        assert places
        assert all(place.startswith((allowed, ".neighbours")) for place in places), (change, places)
        if change != "rts":
            assert not any(place.startswith(".neighbours") for place in places), change


def test_a_narrower_flat_keeps_a_part_of_its_channel_with_the_primary_one_and_the_others_theirs() -> None:
    before, *narrow = (cell.scenario.plan() for cell in cells(2, BY_20_MHZ, QUICK))
    assert before["bss"]["field"]["subchannels"]
    assert (before["bss"]["phy"]["width_mhz"], before["bss_channel"], before.get("bss_primary")) == (80, 42, None)
    for after, (width, channel) in zip(narrow, PARTS.items(), strict=True):
        assert (after["bss"]["phy"]["width_mhz"], after["bss_channel"]) == (width, channel)
        assert {(other["channel"], other["width_mhz"]) for other in after["neighbours"]} == {(42, 80)}


def test_below_every_scheme_is_hardware_but_where_the_resident_has_none() -> None:
    made = {str(cell.keys["change"]): cell.scenario.plan() for cell in cells(1, ONE, SMALL)}
    for change, plan in made.items():
        mine, *others = (bss["ap"]["hardware"]["name"] for bss in (plan["bss"], *plan["neighbours"]))
        assert mine == ("ideal" if change == "ideal" else "firmware")
        assert set(others) == {"firmware"}


def test_the_quietest_channel_has_the_fewest_that_the_access_point_detects() -> None:
    assert quietest(1, ONE, QUICK).keys == {"channel": 106}
    for number in (1, 2, 3):
        plan = house(number, THREE, QUICK).plan()
        channel_of = channels_of(plan)
        there = [channel_of[name] for name in heard(number, QUICK)]
        chosen = quietest(number, THREE, QUICK).keys["channel"]
        assert chosen != plan["bss_channel"]
        assert all(there.count(chosen) <= there.count(c) for c in CHANNELS if c != plan["bss_channel"])


def test_adopters_are_at_least_the_share_and_stay_adopters() -> None:
    every = names(QUICK)
    of = [adopters(3, percent, every) for percent in SHARES]
    assert [len(found) for found in of] == [1, 2, 6, 12]
    for fewer, more in pairwise(of):
        assert set(fewer) < set(more)
    assert of[0] == (MINE,)
    whole = adoption_cells(3, "mac80211", QUICK)[-1].scenario.plan()
    aps = [bss["ap"] for bss in (whole["bss"], *whole["neighbours"])]
    assert {ap["tx_queue"]["scheme"]["name"] for ap in aps} == {"mac80211"}


def test_busy_and_papers_cells_have_endless_flows_at_the_resident_alone() -> None:
    for made in (*busy_cells(1, ONE, SMALL), *paper_cells(1, ONE, SMALL), *paper_cells(1, ALONE, SMALL)):
        plan = made.scenario.plan()
        own = {station["label"] for station in plan["bss"]["stations"]}
        endless = [flow for flow in plan["flows"] if flow["application"]["name"] == "bulk"]
        assert endless
        assert {flow["station"] for flow in endless} <= own
    assert len(busy_cells(1, ALONE, SMALL)) == 1 + len(BUFFERS)


def row(bss: str, difference: float, half: float, p_holm: float) -> Table:
    return {
        "scenario": "channel",
        "bss": bss,
        "metric": "delay_p95_ms",
        "difference": difference,
        "ci_low": difference - half,
        "ci_high": difference + half,
        "runs": 10,
        "p_holm": p_holm,
        "matters": 1.0,
    }


def test_a_neighbour_loses_if_it_is_significant_and_matters_and_not_if_all_that_may_be_is_less() -> None:
    rows = [
        row("the others", 9.0, 0.1, 0.001),
        row("loses", 3.0, 0.5, 0.001),
        row("gains", -3.0, 0.5, 0.001),
        row("hardly", 0.5, 0.1, 0.001),
        row("open", 3.0, 9.0, 0.9),
        row("not significant", 1.2, 0.5, 0.06),
    ]
    m = Measured({}, {}, "", Differences(rows), {})
    found = losers(m, "channel")
    assert (found.found, found.open, found.total) == (1, 2, 5)
    assert found.verdict is Verdict.FAILS
    assert losers(m, "strong").verdict is Verdict.UNDETERMINED


def test_what_the_study_does_not_have_is_refused() -> None:
    paper = find("neighbours")
    with pytest.raises(InputError, match="figure 'width' is not in this study; allowed here: ranking, neighbours"):
        paper.reproduce(Asked("quick", "width"))
    with pytest.raises(InputError, match="reading: 'ideal' is not allowed here"):
        paper.reproduce(Asked("quick", reading="ideal"))


@pytest.mark.whole
def test_small_houses_are_run_judged_and_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(FORMS, "quick", SMALL)
    shares: list[float] = []
    found = find("neighbours").reproduce(Asked("quick", progress=shares.append))
    assert [judgement.id for judgement in found.judgements] == [claim.id for claim in CLAIMS]
    assert found.conditions["best_scheme"] in {change.id for change in BUFFERS}
    drawn = found.draw(tmp_path)
    assert list(drawn) == list(find("neighbours").FIGURES)
    assert all(path.exists() for paths in drawn.values() for path in paths)
    assert "no difference that matters" in found.texts()["ranking"] or "undecided" in found.texts()["ranking"]
    assert shares == sorted(shares)
    assert 0.85 < shares[-1] <= 1.0
