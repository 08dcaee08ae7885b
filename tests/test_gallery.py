"""The papers' cells in the gallery are those of the papers' studies, and can be named as outputs name them."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT, Cli
from wifair import Scenario, gallery
from wifair.everything.scenarios import FULL, OF_PAPERS, PaperCell
from wifair.papers import paper_ids

sys.path.insert(0, str(ROOT / "packaging"))

import paper_cells  # type: ignore[import-not-found]


@pytest.mark.whole
def test_the_files_are_as_written() -> None:
    """`python packaging/paper_cells.py` brings them up to date."""
    assert {path: path.read_text(encoding="utf-8") for path in gallery.PAPERS.rglob("*.toml")} == paper_cells.files()


@pytest.mark.parametrize("cell", OF_PAPERS, ids=[cell.id for cell in OF_PAPERS])
def test_a_cell_is_that_of_the_study(cell: PaperCell) -> None:
    for senders in cell.senders:
        mine = Scenario.from_toml(f"{cell.id}/{senders.id}")
        assert mine.plan() == senders.applied(cell.scenario(FULL)).plan()
    assert Scenario.from_toml(cell.id).plan() == Scenario.from_toml(f"{cell.id}/paper").plan()


def test_every_paper_has_a_main_cell() -> None:
    assert sorted(gallery.MAIN_CELLS) == paper_ids()
    for paper, cell in gallery.MAIN_CELLS.items():
        assert gallery.path_of(f"paper:{paper}") == gallery.path_of(cell)
        assert next(each.paper for each in OF_PAPERS if each.id == cell) == paper


def test_names() -> None:
    assert all(gallery.path_of(name) for name in gallery.known())
    assert gallery.path_of("cafe/today") == gallery.path_of("cafe")
    assert [gallery.path_of(name) for name in ("cafe/paper", "ten-and-ten/tomorrow", "paper:x", "x", "")] == [None] * 5


def test_new_writes_a_cell(here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert here("new", "paper:adaptive-pushout").returncode == 0
    assert here("new", "ten-and-ten/today").returncode == 0
    written = tomllib.loads((tmp_path / "adaptive-pushout.toml").read_text(encoding="utf-8"))
    assert written["dialect"] == "ns-2"
    assert (tmp_path / "ten-and-ten-today.toml").exists()


def test_a_name_has_a_report(here: Cli, tmp_path: Path) -> None:
    brief = ["--seeds", "2", "--set", "run.warmup_s=0.5", "--set", "run.duration_s=1"]
    done = here("report", "ten-and-ten", *brief, "--out", tmp_path / "report.html")
    assert done.returncode == 0, done.stderr
    assert "ten uploads and ten downloads" in (tmp_path / "report.html").read_text(encoding="utf-8")
