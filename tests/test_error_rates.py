"""Error rates of several links that are drawn together: against what is known of such estimates, and by simulation."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wifair.observed.error_rates import drawn_together
from wifair.stats import Values

RATES = st.lists(st.tuples(st.floats(-0.5, 0.5), st.floats(1e-4, 0.1), st.integers(0, 3)), min_size=1, max_size=12)


def drawn(rows: list[tuple[float, float, int]]) -> Values:
    values, deviations, marks = zip(*rows, strict=True)
    return drawn_together(np.array(values), np.array(deviations) ** 2, marks)


@given(RATES)
def test_rates_lie_between_the_smallest_and_the_largest(rows: list[tuple[float, float, int]]) -> None:
    found = drawn(rows)
    assert min(row[0] for row in rows) - 1e-9 <= found.min()
    assert found.max() <= max(row[0] for row in rows) + 1e-9


@given(RATES, st.randoms())
def test_the_order_of_links_does_not_matter(rows: list[tuple[float, float, int]], random: Random) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)
    assert drawn([rows[at] for at in order]) == pytest.approx(drawn(rows)[order], abs=1e-9)


@given(st.floats(-0.5, 0.5), st.floats(1e-4, 0.1))
def test_a_link_alone_has_what_was_read(value: float, deviation: float) -> None:
    assert drawn([(value, deviation, 0)]) == pytest.approx([value])


def test_links_that_differ_by_chance_alone_have_their_mean() -> None:
    assert drawn([(0.1, 0.1, 0), (0.12, 0.1, 1), (0.08, 0.1, 2)]) == pytest.approx([0.1] * 3)


def test_links_that_differ_by_far_more_than_chance_keep_what_was_read() -> None:
    assert drawn([(0.0, 0.001, 0), (0.2, 0.001, 1), (0.1, 0.001, 2)]) == pytest.approx([0.0, 0.2, 0.1], abs=0.001)


def test_links_that_are_alike_have_the_mean_of_these() -> None:
    """Chance explains how they differ, but not how the two kinds do."""
    far, near = [(0.08 + step, 0.05, 0) for step in (-0.04, -0.01, 0.01, 0.04)] * 4, [(0.0, 0.05, 1)] * 16
    found = drawn([*far, *near])
    assert found[: len(far)] == pytest.approx([0.08] * len(far), abs=0.02)
    assert found[len(far) :] == pytest.approx([0.0] * len(near), abs=0.02)


def test_rates_are_nearer_to_the_true_ones_than_what_was_read() -> None:
    """True rates of up to a tenth, of which a minute shows each within 0.03: the error is less than by any link alone, and than by the mean of all."""
    rng = np.random.default_rng(1)
    errors = []
    for _ in range(300):
        true = rng.uniform(0, 0.1, 10)
        read = true + rng.normal(0, 0.03, 10)
        found = drawn_together(read, np.full(10, 0.03**2), range(10))
        errors.append([np.mean((each - true) ** 2) for each in (found, read, np.full(10, read.mean()))])
    own, alone, together = np.mean(errors, axis=0)
    assert own < 0.85 * min(alone, together)
