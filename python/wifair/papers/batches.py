"""The runs of one reproduction: several batches of studies, with a common progress and store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from wifair.papers import Asked
from wifair.results.results import Results
from wifair.study.job import Cell
from wifair.study.study import Study, StudyInterrupted, run_studies

# A study of a batch: its name, cells and seeds.
Part: TypeAlias = tuple[str, Sequence[Cell], Sequence[int]]


class Batches:
    """Runs batches as the reproduction is asked for, and keeps what is finished."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._done = 0.0
        self.finished: list[Results] = []

    def report(self, share: float) -> None:
        """Reports that this share of the whole is done."""
        self._done = share
        if self._asked.progress:
            self._asked.progress(share)

    def run(self, parts: Sequence[Part], until: float) -> list[Results]:
        """Runs studies as one batch, after which the share `until` of the whole is done. An interruption has what earlier batches found, too."""
        title, began = self._asked.title, self._done
        studies = [Study(cells, seeds, title and f"{title}: {name}") for name, cells, seeds in parts]
        try:
            found = run_studies(
                studies,
                self._asked.threads,
                lambda share: self.report(began + share * (until - began)),
                self._asked.store,
            )
        except StudyInterrupted as interruption:
            raise StudyInterrupted([*self.finished, *interruption.results]) from None
        self.finished += found
        self._done = until
        return found
