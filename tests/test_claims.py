"""The verdict rules as tables: evidence in, verdict out."""

from __future__ import annotations

import math

import pytest
from wifair.papers.claims import Claim, Effect, Number, Point, Relation, Verdict, judge
from wifair.stats import p_value

UP = [1.0, 1.1, 0.9, 1.0, 1.05]
UP_MORE = [9.0, 9.1, 8.9, 9.0, 9.05]
DOWN = [-1.0, -1.1, -0.9, -1.0, -1.05]
OPEN = [-1.0, 1.2, -0.8, 0.9, 0.1]
SAME = [0.0] * 5


def verdict(evidence: Relation | Number | Effect) -> tuple[Verdict, str]:
    claim: Claim[None] = Claim("x", "I", None, "A is above B.", "as it says", "index", lambda _: evidence)
    found = judge(claim, None)
    return found.verdict, found.why


def relation(*points: list[float]) -> Relation:
    return Relation([Point(f"point {i}", values) for i, values in enumerate(points)])


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([UP], Verdict.REPRODUCED),
        ([UP, UP_MORE], Verdict.REPRODUCED),
        ([DOWN], Verdict.NOT_REPRODUCED),
        ([UP, DOWN], Verdict.NOT_REPRODUCED),  # the mean over the points is zero
        ([UP_MORE, DOWN], Verdict.TREND_ONLY),  # reversed at one point, positive on the mean
        ([UP, OPEN], Verdict.UNDETERMINED),
        ([OPEN], Verdict.UNDETERMINED),
        ([OPEN, DOWN], Verdict.NOT_REPRODUCED),
        ([SAME], Verdict.NOT_REPRODUCED),
        ([SAME, UP], Verdict.REPRODUCED),
        ([SAME, DOWN], Verdict.NOT_REPRODUCED),
        ([[1.0]], Verdict.UNDETERMINED),  # a single run decides nothing
        ([[math.nan] * 5], Verdict.UNDETERMINED),
        ([[2.0] * 5], Verdict.REPRODUCED),  # identical runs with a margin
    ],
)
def test_relations(points: list[list[float]], expected: Verdict) -> None:
    assert verdict(relation(*points))[0] == expected


def test_identical_points_are_named() -> None:
    assert "identical" in verdict(relation(SAME, UP))[1]
    assert "point 0" in verdict(relation(SAME, UP))[1]


def test_the_p_value_is_that_of_the_point_with_the_smallest_margin() -> None:
    small_but_sure, large_but_noisy = [0.10, 0.11, 0.09, 0.10, 0.10], [9.0, 5.0, 14.0, 3.0, 11.0]
    _, why = verdict(relation(large_but_noisy, small_but_sure))
    sure = p_value(small_but_sure)
    assert sure < p_value(large_but_noisy) < 0.05
    assert why == f"smallest margin at point 1, p = {2 * sure:.2g} after Holm over 2"


def test_holm_makes_one_marginal_point_among_many_undecided() -> None:
    marginal = [0.1, 1.0, 0.9, 0.2, 1.3]  # p = 0.04 alone
    assert verdict(relation(marginal))[0] == Verdict.REPRODUCED
    assert verdict(relation(*[marginal] * 20))[0] == Verdict.UNDETERMINED


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([[1.0, 1.01, 0.99]], Verdict.REPRODUCED),
        ([[1.5, 1.51, 1.49]], Verdict.NOT_REPRODUCED),
        ([[1.08, 1.14, 1.05]], Verdict.UNDETERMINED),
        ([[1.0, 1.01, 0.99], [1.5, 1.51, 1.49]], Verdict.NOT_REPRODUCED),
        ([[0.85, 0.86, 0.84], [1.15, 1.16, 1.14]], Verdict.NOT_REPRODUCED),  # that their mean fits says nothing
        ([[1.0, 1.0, 1.0]], Verdict.REPRODUCED),
        ([[1.0]], Verdict.UNDETERMINED),
        ([], Verdict.UNDETERMINED),
    ],
)
def test_numbers(points: list[list[float]], expected: Verdict) -> None:
    evidence = Number([Point(f"point {i}", p) for i, p in enumerate(points)], target=1.0, tolerance=0.1)
    assert verdict(evidence)[0] == expected


@pytest.mark.parametrize(
    ("evidence", "by_its_rule"),
    [
        (Number([Point("p", [1.0, 1.01, 0.99])], 1.0, 0.1, fitted=True), "reproduced: within 0.9 to 1.1; p"),
        (Number([Point("p", [1.5, 1.51, 1.49])], 1.0, 0.1, fitted=True), "not reproduced: outside 0.9 to 1.1"),
        (Relation([Point("p", UP)], fitted=True), "reproduced: smallest margin at p"),
        (Relation([Point("p", DOWN)], fitted=True), "not reproduced: clearly reversed at p"),
        (Relation([Point("p", OPEN)], fitted=True), "undetermined: not clear of equality at p"),
    ],
)
def test_what_the_scenario_was_fitted_to_is_calibrated_whatever_its_rule_gives(
    evidence: Relation | Number, by_its_rule: str
) -> None:
    found, why = verdict(evidence)
    assert found == Verdict.CALIBRATED
    assert f"its rule gives {by_its_rule}" in why


def test_what_is_measured_is_the_deciding_point() -> None:
    claim: Claim[None] = Claim("x", "I", None, "A is above B.", "r", "index", lambda _: relation(UP_MORE, UP))
    found = judge(claim, None)
    assert found.measured == pytest.approx(1.01)
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ci_low < 1.01 < found.ci_high
    assert found.published is None
    assert found.to_dict()["verdict"] == "reproduced"


LARGE = [0.8, 0.82, 0.78, 0.8]


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (LARGE, LARGE, Verdict.SURVIVES),
        ([0.5, 0.52, 0.48, 0.5], LARGE, Verdict.SURVIVES),
        ([0.3, 0.32, 0.28, 0.3], LARGE, Verdict.FADES),
        ([0.05, 0.07, 0.06, 0.05], LARGE, Verdict.FADES),  # small, not negligible, and clearly positive
        ([0.4, 0.42, 0.38, 0.4], LARGE, Verdict.UNDETERMINED),  # half of it, within the interval
        ([0.01, 0.02, 0.0, 0.01], LARGE, Verdict.GONE),
        ([-0.01, -0.1, 0.0, -0.04], LARGE, Verdict.GONE),  # at most negligible, and not clearly reversed
        ([-0.3, -0.32, -0.28, -0.3], LARGE, Verdict.REVERSED),
        ([0.9, -0.8, 0.1, 0.3], LARGE, Verdict.UNDETERMINED),
        ([0.0] * 4, LARGE, Verdict.GONE),
        ([0.0] * 4, [0.0] * 4, Verdict.GONE),
        (LARGE, [0.0] * 4, Verdict.SURVIVES),  # where it was found it was not there
        ([-0.3, -0.32, -0.28, -0.3], [-0.3] * 4, Verdict.REVERSED),
        ([math.nan] * 4, LARGE, Verdict.UNDETERMINED),
        ([0.8, math.nan, math.nan, math.nan], LARGE, Verdict.UNDETERMINED),
    ],
)
def test_effects(here: list[float], there: list[float], expected: Verdict) -> None:
    found, why = verdict(Effect(Point("here", here), Point("on 802.11b", there), 0.05))
    assert found == expected, why
    assert "on 802.11b" in why or "nothing was measured" in why


@pytest.mark.parametrize(
    ("here", "room", "expected"),
    [
        ([0.01, 0.02, 0.0, 0.01], [0.01, 0.02, 0.015, 0.01], Verdict.NOTHING_TO_CURE),
        ([0.01, 0.02, 0.0, 0.01], [0.4, 0.42, 0.38, 0.4], Verdict.GONE),  # there is, and the cure fails
        ([0.01, 0.02, 0.0, 0.01], [0.03, 0.08, 0.04, 0.05], Verdict.GONE),  # there may be
        ([0.01, 0.02, 0.0, 0.01], [math.nan] * 4, Verdict.GONE),
        (
            [-0.3, -0.32, -0.28, -0.3],
            [0.01, 0.02, 0.015, 0.01],
            Verdict.REVERSED,
        ),  # a cure that harms where nothing is ill
        (LARGE, [0.8, 0.82, 0.78, 0.8], Verdict.SURVIVES),
    ],
)
def test_a_cure_that_has_nothing_to_cure_does_not_fail(here: list[float], room: list[float], expected: Verdict) -> None:
    found, why = verdict(Effect(Point("here", here), Point("on 802.11b", LARGE), 0.05, Point("to cure", room)))
    assert found == expected, why
    assert ("to cure" in why) == (found is Verdict.NOTHING_TO_CURE)
