"""Error rates by retries and by the rates of uploads, against cells whose rates are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from wifair.observed import calibration
from wifair.observed.calibration import Calibrated, Present, Readings, Share, calibrated, upward

STATIONS = [f"station-{number}" for number in range(1, 7)]
# Of a cell full of uploads: the share of frames that collide without errors, by how much errors lower it, since windows and
# queues become smaller, and by how much they lower the logarithm of the rate of an upload.
COLLISIONS, FEWER, SLOWER = 0.28, 2.5, 12.0
NOISE = np.linspace(-0.01, 0.01, calibration.SEEDS)


class Cell:
    """What `calibrated` needs of a scenario: how many stations it has."""

    def __init__(self, found: Calibrated) -> None:
        self.errors = {name: found.errors_of(name, is_up=True) for name in STATIONS}

    def plan(self) -> dict[str, Any]:
        return {"bss": {"stations": STATIONS}}


def shares(errors: Mapping[str, float]) -> dict[str, float]:
    """The share of the frames up that come with Retry."""
    collide = COLLISIONS - FEWER * sum(errors.values()) / len(errors)
    return {name: 1 - (1 - collide) * (1 - error) for name, error in errors.items()}


def found_in(
    monkeypatch: pytest.MonkeyPatch, errors: Mapping[str, float], excess: Mapping[str, float], unknown: float = 0.0
) -> Calibrated:
    """What is found in a cell with these error rates up. `excess` is what chance adds to the logarithm of the rates in runs, `unknown` a share of retries that no run shows."""

    def shown(cell: Cell, readings: Readings, progress: object) -> Present:
        present = {upward(name): share + NOISE for name, share in shares(cell.errors).items()}
        rates = {name: SLOWER * (errors[name] - cell.errors[name]) + excess.get(name, 0.0) for name in readings.uploads}
        return Present(present, excess=rates)

    monkeypatch.setattr(calibration, "shown", shown)
    read = {upward(name): Share(share + unknown, 60.0) for name, share in shares(errors).items()}
    readings = Readings(read, uploads=dict.fromkeys(STATIONS, 10.0), alike=[[*read]])
    return calibrated(Cell, readings)  # type: ignore[arg-type]


def test_rates_of_uploads_are_no_errors_where_retries_show_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of uploads that were a little slower by chance in the minute that was captured than in runs."""
    found = found_in(monkeypatch, dict.fromkeys(STATIONS, 0.0), {"station-2": 0.13, "station-5": 0.4})
    assert [found.errors_of(name, is_up=True) for name in STATIONS] == [0.0] * len(STATIONS)


@pytest.mark.parametrize("error", [0.1, 0.15])
def test_retries_and_rates_of_uploads_tell_errors_from_fewer_collisions(
    error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With errors at all stations, frames collide less, so that the same retries are read; the uploads without errors are faster than with some."""
    errors = {name: error if name == "station-1" else 0.0 for name in STATIONS}
    found = found_in(monkeypatch, errors, {})
    for name in STATIONS:
        assert found.errors_of(name, is_up=True) == pytest.approx(errors[name], abs=0.025)


def test_uploads_that_are_as_fast_as_without_errors_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever makes more of their frames come with Retry, such as collisions with frames of others."""
    found = found_in(monkeypatch, dict.fromkeys(STATIONS, 0.0), {}, unknown=0.05)
    assert max(found.errors_of(name, is_up=True) for name in STATIONS) < 0.02
