"""Pages that quote the numbers of runs: they are what their file of values gives, and this checkout's runs give these values.

Three replications are drawn by the commit, and run again.
"""

from __future__ import annotations

import hashlib
import random
import re
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from wifair import _native
from wifair.errors import InputError
from wifair.everything import values
from wifair.everything.contest import Contest, Setting
from wifair.everything.criteria import EXCHANGES, UNFINISHED, measured
from wifair.everything.findings import Overview
from wifair.everything.page import COMPARISON, FINDINGS, SCREEN, texts
from wifair.papers.runs import Runs
from wifair.study import Study

PAGE = ROOT / "docs" / "comparison.md"
COMMAND = re.compile(
    r"`(wifair compare --all --full[^`]*)` makes these numbers: .*?; (\d+(?: to \d+)?) replications of each"
)
# A replication with fewer frame exchanges runs within a second or so.
FEW_EXCHANGES = 1_000_000
DRAWN = 3


def draw() -> random.Random:
    """A generator that the commit seeds; outside a checkout always the same."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return random.Random(hashlib.sha256(done.stdout.encode()).digest())


@cache
def contest() -> Contest:
    """The contest that the page's command runs."""
    found = COMMAND.search(SCREEN.between(PAGE) or "")
    assert found, f"{PAGE.name} does not name the command that makes its numbers"
    words = found[1].split()
    scenarios = words[words.index("--scenarios") + 1].split(",") if "--scenarios" in words else []
    assert set(words[4:]) <= {"--scenarios", ",".join(scenarios)}
    return Contest.of("full", scenarios)


def without_engine(text: str) -> str:
    return re.sub(r"Engine `\w+`", "Engine", text).strip()


@pytest.mark.whole
def test_the_pages_are_what_their_values_give() -> None:
    """Every number, every sentence and the number of replications."""
    overview = Overview(values.read(values.beside(PAGE), contest()))
    written = texts(contest(), overview, f"values/{values.beside(PAGE).name}")
    for page, marks in ((PAGE, SCREEN), (PAGE, COMPARISON), (ROOT / "README.md", FINDINGS)):
        quoted = marks.between(page)
        assert quoted is not None, f"{page.name} has no marks for {marks.what}"
        assert without_engine(quoted) == without_engine(written[marks]), f"{page.name}: `make comparison` writes it"


@pytest.mark.whole
def test_a_scheme_without_values_is_named(tmp_path: Path) -> None:
    path = tmp_path / "page.parquet"
    values.table(values.beside(PAGE)).remove(scheme="red").write_parquet(path)
    with pytest.raises(InputError, match="has no values of red in a setting of the contest"):
        values.read(path, contest())


@pytest.mark.whole
def test_drawn_replications_give_the_values_again() -> None:
    table = values.table(values.beside(PAGE))
    cheap = [
        (setting, scheme, seed)
        for setting, scheme, measure, found in table.iter_rows()
        if measure == EXCHANGES
        for seed, exchanges in enumerate(found, 1)
        if exchanges <= FEW_EXCHANGES
    ]
    settings = {setting.id: setting for setting in contest().settings}
    for setting, scheme, seed in draw().sample(cheap, DRAWN):
        mine = table.filter(setting=setting, scheme=scheme)
        rows = zip(mine["measure"], mine["values"], strict=True)
        kept = {measure: found[seed - 1] for measure, found in rows if not measure.startswith(UNFINISHED)}
        again = rerun(settings[setting], scheme, seed)
        told = f"{setting}, {scheme}, seed {seed}, engine {_native.engine()}: the page's values are not this checkout's"
        assert {name: again[name] for name in kept} == pytest.approx(kept, rel=0, abs=0, nan_ok=True), told


def rerun(setting: Setting, scheme: str, seed: int) -> dict[str, float]:
    """What one replication measures. The share of transfers that do not end is of all replications, so it is left out."""
    cell = setting.cells[scheme]
    runs = Runs.of(Study([cell], [seed]).run(1)).cell(**cell.keys)
    return {name: float(np.ravel(found)[0]) for name, found in measured(setting.plan, runs).items()}
