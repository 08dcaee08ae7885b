"""`benches/closed_loop.py`: rows are kept, further networks are run in a fixed order until enough have a predicted gain, and advice to change nothing is checked."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest
from wifair.advising.yardsticks import yardsticks
from wifair.everything.verdict import Standing
from wifair.tuning.goals import parsed

from benches import closed_loop
from benches.closed_loop import ENOUGH, GALLERY, NETWORKS, Network, Outcome, drawn, marks_of, rows, standing, summary


def given(folder: Path, *only: int) -> argparse.Namespace:
    return argparse.Namespace(
        only=list(only), kept=False, as_imported=False, seed=None, rows=folder, store=folder / "store", threads=1
    )


def test_networks_are_run_in_order_until_enough_have_a_gain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the gallery every second one has a gain here, and of the drawn ones every one. What is kept is not run again but with `--only`."""
    asked: list[int] = []

    def outcome(network: Network, *_: object) -> Outcome:
        number = NETWORKS.index(network) + 1
        asked.append(number)
        has_gain = number > len(GALLERY) or number % 2 == 0
        return Outcome((network.about,), holds=True if has_gain else None, is_left=None if has_gain else number != 1)

    monkeypatch.setattr(closed_loop, "outcome", outcome)
    assert [each.row for each in rows(given(tmp_path, 3))] == [(NETWORKS[2].about,)]
    kept = given(tmp_path)
    kept.kept = True
    assert [each.row for each in rows(kept)] == [(NETWORKS[2].about,)]
    found = list(rows(given(tmp_path)))
    last = len(GALLERY) + ENOUGH - len(GALLERY) // 2
    assert [each.row for each in found] == [(network.about,) for network in NETWORKS[:last]]
    assert sorted(asked) == list(range(1, last + 1))
    assert list(rows(given(tmp_path))) == found
    assert len(list(rows(given(tmp_path, 4)))) == last
    assert asked[last:] == [4]
    assert summary(found).startswith(f"Of {ENOUGH} predicted gains, {ENOUGH} hold")
    assert "In 4 of the 5 networks that are left as they are" in summary(found)
    assert "--measured" not in summary(found)


def test_networks_of_another_seed_are_run_alone_and_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed_loop, "outcome", lambda network, *_: Outcome((network.name,), holds=True))
    asked = given(tmp_path)
    asked.seed, asked.as_imported = 8, True
    assert [each.row for each in rows(asked)] == [(each.name,) for each in drawn(8, 3)[:ENOUGH]]
    assert len(list((tmp_path / "as-imported" / "seed-8").iterdir())) == ENOUGH
    assert marks_of(asked).what == "closed-loop-as-imported-seed-8"
    ours, theirs = (each[0].scenario() for each in (drawn(8, 1), NETWORKS[len(GALLERY) :]))
    assert ours.settings() != theirs.settings()


def test_wrong_advice_is_set_against_what_differs_from_the_measurement() -> None:
    kinds = [
        (Outcome((), holds=True, differs=False), 3),
        (Outcome((), holds=True, differs=True), 1),
        (Outcome((), holds=False, differs=True), 2),
        (Outcome((), is_left=False, differs=False), 1),
        (Outcome((), differs=True), 5),  # neither a prediction nor the advice to change nothing
    ]
    told = summary([each for each, count in kinds for _ in range(count)])
    assert "of 2 of the 3 where the prediction or the advice is wrong" in told
    assert told.endswith("and of 1 of the 4 others.")


def test_changes_that_make_the_network_worse_are_counted() -> None:
    """Also where the prediction holds, since its interval may have both signs."""
    made = [Outcome((), holds=True, stands=each.value) for each in Standing if each is not Standing.UNFINISHED]
    assert " 1 of 6 advised changes make it better by its goal, and 1 worse" in summary(made)
    assert "make it better" not in summary([Outcome((), holds=True), Outcome((), is_left=True)])


def test_drawn_networks_are_the_same_in_every_run() -> None:
    networks = NETWORKS[len(GALLERY) :]
    assert [(each.name, each.want) for each in networks[:5]] == [
        ("home-001", "fair shares"),
        ("cafe-001", "round trips"),
        ("office-001", "total"),
        ("classroom-001", "fair shares"),
        ("home-002", "round trips"),
    ]
    settings = networks[0].scenario().settings()
    assert (settings["ap"]["hardware"], settings["run"]["duration_s"]) == ("firmware", 60)


def test_a_network_is_wrongly_left_if_the_change_gains_more_than_matters() -> None:
    [goal] = yardsticks(NETWORKS[0].scenario().plan(), parsed(["total"]))
    rng = np.random.default_rng(1)
    without = 100 + rng.normal(size=24)
    for factor, expected in ((1.2, Standing.BETTER), (1.02, Standing.EQUAL), (0.8, Standing.WORSE)):
        with_it = factor * (100 + rng.normal(size=24))
        assert standing(goal.criterion, with_it, without) is expected
