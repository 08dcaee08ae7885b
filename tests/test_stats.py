from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference
from wifair.stats import (
    Interval,
    bootstrap_quantile,
    holm,
    jain,
    mser,
    p_value,
    paired_difference,
    plus_minus,
    prediction_half_width,
    running_mean,
    seeds_needed,
    t_interval,
)

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


@given(st.lists(NUMBERS, min_size=2, max_size=30), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_t_interval_is_scipys(values: list[float], level: float) -> None:
    found = t_interval(values, level)
    if found.identical:
        assert len(set(values)) == 1
        return
    spread = reference.sem(values)
    if spread == 0:  # underflow of a tiny variance
        return
    low, high = reference.t.interval(level, len(values) - 1, np.mean(values), spread)
    assert found.low == pytest.approx(low, rel=1e-9, abs=1e-9)
    assert found.high == pytest.approx(high, rel=1e-9, abs=1e-9)


def test_the_text_of_a_mean_has_half_its_interval() -> None:
    assert plus_minus([1.0, 2.0, 3.0], 2) == "2.00 ± 2.48"  # 4.303 / √3
    assert plus_minus([2.0, 2.0], 1) == "2.0 ± 0.0"


@given(st.lists(NUMBERS, min_size=3, max_size=30), NUMBERS)
def test_the_p_value_is_scipys(values: list[float], null: float) -> None:
    if np.std(values) < 1e-6:
        return
    assert p_value(values, null) == pytest.approx(reference.ttest_1samp(values, null).pvalue, rel=1e-6, abs=1e-12)


def test_a_single_run_has_no_interval() -> None:
    found = t_interval([3.0])
    assert found == Interval(3.0, None, None, 1)
    assert "no interval" in str(found)


def test_identical_runs_are_said_to_be_identical() -> None:
    found = t_interval([0.5, 0.5, 0.5])
    assert found.identical
    assert (found.low, found.high) == (0.5, 0.5)
    assert "identical" in str(found)
    assert p_value([0.0, 0.0]) == 1.0
    assert p_value([0.5, 0.5]) == 0.0


def test_values_that_do_not_exist_are_left_out() -> None:
    assert t_interval([1.0, math.nan, 3.0]).n == 2
    assert t_interval([math.nan]).n == 0


def test_paired_differences() -> None:
    first = np.array([10.0, 20.0, 30.0, 40.0])
    found = paired_difference(first + np.array([1.0, 1.1, 0.9, 1.0]), first)
    assert found.difference.estimate == pytest.approx(1.0)
    assert found.difference.low is not None
    assert found.difference.low > 0.8  # unpaired, the spread of 10 to 40 would drown it
    assert found.correlation == pytest.approx(1.0, abs=1e-3)
    assert paired_difference([1.0, 1.0], [2.0, 3.0]).correlation is None
    with pytest.raises(ValueError, match="same seeds"):
        paired_difference([1.0, 2.0], [1.0])


def test_holm_against_an_example_worked_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, made monotone.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_between_no_correction_and_bonferroni(p_values: list[float]) -> None:
    for raw, adjusted in zip(p_values, holm(p_values), strict=True):
        assert raw <= adjusted <= min(1.0, len(p_values) * raw) + 1e-12 or adjusted == pytest.approx(
            max(holm(p_values))
        )
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(holm(p_values))[order]) >= 0).all()


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=50))
def test_jain_lies_between_one_over_n_and_one(shares: list[float]) -> None:
    found = jain(shares)
    if sum(x * x for x in shares) == 0:
        assert math.isnan(found)
    else:
        assert 1 / len(shares) - 1e-9 <= found <= 1 + 1e-9


def test_jain_of_known_shares() -> None:
    assert jain([1, 1, 1, 1]) == 1.0
    assert jain([1, 0, 0, 0]) == 0.25
    assert jain([1, 2, 3]) == pytest.approx(36 / (3 * 14))


def test_bootstrap_of_a_quantile() -> None:
    values = np.random.default_rng(7).normal(size=200)
    found = bootstrap_quantile(values, 0.5)
    peer = reference.bootstrap((values,), np.median, method="percentile", rng=3, n_resamples=5000).confidence_interval
    assert found.estimate == np.median(values)
    assert found.low == pytest.approx(peer.low, abs=0.03)
    assert found.high == pytest.approx(peer.high, abs=0.03)
    assert found == bootstrap_quantile(values, 0.5)
    assert bootstrap_quantile([1.0, 1.0], 0.9).identical
    assert bootstrap_quantile([1.0], 0.9).low is None
    with pytest.raises(ValueError, match="0 to 1"):
        bootstrap_quantile(values, 1.5)


@given(st.lists(NUMBERS, min_size=2, max_size=30), st.floats(1e-3, 1e6))
def test_the_seeds_that_there_are_suffice_if_the_interval_is_narrow(values: list[float], half_width: float) -> None:
    found = t_interval(values)
    assert found.high is not None
    needed = seeds_needed(values, half_width)
    assert needed is not None
    assert needed >= len(values)
    half = found.high - found.estimate
    if half < half_width * (1 - 1e-9):
        assert needed == len(values)
    elif half > half_width * (1 + 1e-9):
        assert needed > len(values)


def test_seeds_needed_by_hand() -> None:
    # s = 1, t(0.975, 2) = 4.302653: (4.302653 / 0.5)^2 = 74.05.
    assert seeds_needed([1.0, 2.0, 3.0], 0.5) == 75
    assert seeds_needed([1.0, 1.0], 0.5) == 2
    assert seeds_needed([1.0], 0.5) is None
    with pytest.raises(ValueError, match="above 0"):
        seeds_needed([1.0, 2.0], 0.0)


def test_as_many_seeds_as_are_needed_cover_the_truth() -> None:
    # Stein: the mean of all, ± the half-width, covers the true mean in at least 95 of 100 studies.
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(2000):
        pilot = rng.normal(7.0, 2.0, size=10)
        total = seeds_needed(pilot, 0.8)
        assert total is not None
        whole = np.concatenate([pilot, rng.normal(7.0, 2.0, size=total - 10)])
        covered += abs(whole.mean() - 7.0) <= 0.8
    assert covered / 2000 > 0.95 - 3 * (0.05 * 0.95 / 2000) ** 0.5


def test_running_means() -> None:
    assert running_mean([[1.0, 3.0, 5.0], [2.0, 2.0, 2.0]]).tolist() == [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]]


def test_mser_cuts_the_transient() -> None:
    rng = np.random.default_rng(5)
    course = rng.normal(10.0, 0.1, size=400)
    course[:60] += np.linspace(8.0, 0.0, 60)
    assert 50 <= mser(course) <= 70
    assert mser(np.full(50, 3.0)) == 0
    assert mser([1.0, 2.0]) == 0
    rising = np.arange(100.0)
    assert mser(rising) == 50  # it never settles: the most that may be cut


@pytest.mark.parametrize("runs", [0.5, 1.0, 8.0])
def test_a_prediction_interval_covers_further_means(runs: float) -> None:
    rng, trials = np.random.default_rng(5), 4000
    covered = sum(
        abs(rng.normal(3.0, 2.0 / math.sqrt(runs)) - values.mean()) <= prediction_half_width(values, runs, level=0.9)
        for values in rng.normal(3.0, 2.0, (trials, 6))
    )
    assert covered / trials == pytest.approx(0.9, abs=0.02)
    assert prediction_half_width([1.0, 1.0], 1.0, least_deviation=2.0) == pytest.approx(
        2 * prediction_half_width([0.0, math.sqrt(2)], 1.0)
    )
