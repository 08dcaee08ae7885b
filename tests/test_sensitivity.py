"""What another reading does to the verdicts: who is judged at the first look, who goes on, and in which cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from wifair.errors import InputError
from wifair.papers.claims import Claim, Point, Relation
from wifair.papers.readings import Alternative, Joint, Kind, Reading, View, named
from wifair.papers.runs import CellRuns, Place, Runs, place_of
from wifair.papers.sensitivity import Trial
from wifair.scenario import Scenario
from wifair.stats import Values
from wifair.study import Cell

CLEAR = [1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.1, 0.9, 1.05, 0.95]
# Positive over all ten, but not after the first five, at 99.9 %.
WEAK = [0.9, 0.1, 0.8, 0.2, 0.5, 0.6, 0.4, 0.7, 0.3, 0.5]
OPEN = [-1.0, 1.2, -0.8, 0.9, 0.1, -0.2, 0.3, -0.5, 0.6, -0.1]


def cell_of(values: Sequence[float], first_seed: int = 1) -> CellRuns:
    rows = [{"seed": first_seed + i, "x": value} for i, value in enumerate(values)]
    return CellRuns({"runs": pl.DataFrame(rows)})


def place(name: str) -> Place:
    return frozenset({"name": name}.items())


def runs_of(first_seed: int = 1, **cells: Sequence[float]) -> Runs:
    return Runs({place(name): cell_of(values, first_seed) for name, values in cells.items()})


@dataclass
class Seen:
    runs: Runs
    sign: float = 1.0

    def of(self, name: str) -> Values:
        values: Values = self.sign * self.runs.cell(name=name).run("x")
        return values


def positive(name: str) -> Claim[Seen]:
    return Claim(name, "I", None, "It is positive.", "as it says", "1", lambda m: Relation([Point(name, m.of(name))]))


READING = Alternative("other", "Which?", "the other.", {})


def trial(claims: Sequence[Claim[Seen]], baseline: Runs, runs: Runs) -> Trial[Seen]:
    return Trial(READING, claims, Seen, baseline, runs)


def test_what_the_first_look_settles_is_not_run_on() -> None:
    found = trial([positive("a")], runs_of(a=[-x for x in CLEAR]), runs_of(a=CLEAR[:5]))
    assert not found.wanted
    outcome = found.sensitivity().outcomes["a"]
    assert (outcome.baseline, outcome.here, outcome.runs) == ("not reproduced", "reproduced", 5)
    assert outcome.before is not None
    assert outcome.before.estimate == pytest.approx(-1.0)
    assert outcome.change is not None
    assert outcome.change.estimate == pytest.approx(2.0)


def test_what_it_leaves_open_goes_on_in_its_own_cells_alone() -> None:
    claims = [positive("a"), positive("b")]
    found = trial(claims, runs_of(a=[-x for x in CLEAR], b=OPEN), runs_of(a=WEAK[:5], b=CLEAR[:5]))
    assert found.wanted == {place("a")}
    found.take(runs_of(6, a=WEAK[5:]))
    assert not found.wanted
    told = found.sensitivity()
    assert {name: (outcome.here, outcome.runs) for name, outcome in told.outcomes.items()} == {
        "a": ("reproduced", 10),
        "b": ("reproduced", 5),
    }
    assert list(told.changed) == ["a", "b"]


def test_a_claim_that_looks_elsewhere_the_second_time_gets_those_cells_too() -> None:
    def wandering(m: Seen) -> Relation:
        seen = m.of("a")
        return Relation([Point("a or b", m.of("b") if seen.size > 5 else seen)])

    claim: Claim[Seen] = Claim("w", "I", None, "It is positive.", "as it says", "1", wandering)
    found = trial([claim], runs_of(a=OPEN, b=OPEN), runs_of(a=WEAK[:5], b=WEAK[:5]))
    assert found.wanted == {place("a")}
    found.take(runs_of(6, a=WEAK[5:]))
    assert found.wanted == {place("b")}
    found.take(runs_of(6, b=WEAK[5:]))
    assert found.sensitivity().outcomes["w"].runs == 10


def test_claims_that_see_no_difference_are_not_listed_and_those_without_a_verdict_are_named() -> None:
    claims = [positive("a"), positive("b"), positive("c")]
    baseline = runs_of(a=CLEAR, b=OPEN, c=CLEAR)
    found = trial(claims, baseline, runs_of(a=CLEAR, b=OPEN[::-1])).sensitivity()
    assert list(found.outcomes) == ["b"]
    assert found.changed == {}
    assert found.open == ["b"]
    assert found.to_dict()["undetermined_in_both"] == ["b"]


def test_the_same_verdict_in_both_is_no_change() -> None:
    found = trial([positive("a")], runs_of(a=CLEAR), runs_of(a=[2 * x for x in CLEAR[:5]])).sensitivity()
    assert found.outcomes["a"].determined
    assert (found.changed, found.open) == ({}, [])
    told = found.to_dict()
    assert (told["changed_verdicts"], list(told["same_verdicts"])) == ({}, ["a"])
    assert told["same_verdicts"]["a"]["measured"]["mean"] == pytest.approx(2.0)


def test_another_view_of_the_same_runs_needs_no_others() -> None:
    view = View[Seen]("negative", "Which sign?", "the other.", lambda m: Seen(m.runs, -1.0))
    found = Trial(view, [positive("a")], Seen, runs_of(a=CLEAR), Runs({}))
    assert not found.wanted
    outcome = found.sensitivity().outcomes["a"]
    assert (outcome.baseline, outcome.here, outcome.runs) == ("reproduced", "not reproduced", 10)


def scenario_cell(scheme: str) -> Cell:
    settings = {"ap": {"scheme": scheme}, "flows": [{"count": 1, "direction": "up"}]}
    return Cell(f"x/{scheme}", Scenario.from_settings(settings), {"scheme": scheme})


SHORT = Alternative("short", "How long?", "short.", {"ap.limit_packets": 10})
LOSSY = Alternative("late", "How far?", "far.", {"wire.one_way_delay_ms": 99.0}, {"scheme": ("red",)}, Kind.ABLATION)
BOTH = Joint[Seen]("both", (SHORT, LOSSY))


def test_readings_together_each_change_what_they_concern() -> None:
    droptail, red = scenario_cell("droptail"), scenario_cell("red")
    assert BOTH.concerns(droptail)
    made = [BOTH.applied(cell).scenario.plan() for cell in (droptail, red)]
    assert [plan["bss"]["ap"]["tx_queue"]["limit_packets"] for plan in made] == [10, 10]
    assert [plan["wire"]["one_way_delay_ms"] for plan in made][1] == 99.0
    assert made[0]["wire"] == droptail.scenario.plan()["wire"]
    assert (BOTH.question, BOTH.choice, BOTH.kind) == ("How long? How far?", "short.; and far.", Kind.ABLATION)
    assert place_of(BOTH.applied(red)) == place_of(red)
    # Parts that make the same choice in different cells have one question.
    assert (Joint("twice", (SHORT, SHORT)).question, Joint("twice", (SHORT, SHORT)).choice) == ("How long?", "short.")


def test_readings_are_found_by_name_alone_or_joined() -> None:
    readings = (SHORT, LOSSY, BOTH)
    assert named("late", readings) is LOSSY
    joined = named("late+short", readings)
    assert isinstance(joined, Joint)
    assert joined.parts == (LOSSY, SHORT)
    with pytest.raises(InputError, match=r"no reading 'shirt'\. Did you mean short"):
        named("late+shirt", readings)
    with pytest.raises(InputError, match="twice"):
        named("late+late", readings)


def test_the_paired_change_has_the_interval_of_the_differences() -> None:
    shifted = [x + 0.5 for x in WEAK]
    found = trial([positive("a")], runs_of(a=WEAK), runs_of(a=shifted)).sensitivity().outcomes["a"]
    assert found.change is not None
    assert found.change.low is not None
    assert found.change.estimate == pytest.approx(0.5)
    assert np.isclose(found.change.low, 0.5)


def test_a_part_of_a_joint_reading_has_a_name_of_its_own() -> None:
    fast = Alternative("fast", "How fast?", "fast.", {})
    loud = Alternative("loud", "How loud?", "loud.", {})
    listed: list[Reading[Seen]] = [Joint("fast+loud", (fast, loud)), READING]
    assert named("loud", listed) is loud
    assert named("fast+loud", listed) is listed[0]
    assert named("loud+other", listed).choice == "loud.; and the other."
