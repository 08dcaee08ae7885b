"""What commands print fits the terminal: at 80 columns and at 140 no line is longer, and no word or number is cut."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer
from conftest import ROOT, Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from wifair import gallery
from wifair.cli.app import app
from wifair.cli.schemes_of_files import schemes, split
from wifair.cli.tables import columns, lines, paragraph

SHORT = ["--set", "run.warmup_s=0.5", "--set", "run.duration_s=1", "--seeds", "2"]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """The commands of the README's code that print results and those of the help's examples, shortened; each once."""
    found = re.findall(
        r"^(wifair (?:new|check|run|compare|explain|schemes|keys|sweep).*?)(?:\s+#.*)?$", README, re.MULTILINE
    )
    inner = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    found += [line.removeprefix("Example: ") for c in inner.values() for line in (c.epilog or "").split("\n") if line]
    told = []
    for words in map(shlex.split, dict.fromkeys(found)):
        options = (
            {name for parameter in inner[words[1]].params for name in parameter.opts} if words[1] in inner else set()
        )
        if words[1] in ("check", "run", "compare", "explain", "schemes", "keys", "new"):
            told.append(words[1:] + (SHORT if "--seeds" in options else []))
    return told


def words_of(text: str) -> set[str]:
    return {word for word in text.split() if set(word) != {"-"}}


@pytest.mark.whole
@pytest.mark.parametrize("words", commands(), ids=[" ".join(words[:2]) for words in commands()])
def test_no_command_cuts_a_word_or_number(
    words: list[str], here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("scenarios", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(gallery.file_of("near-and-far"), tmp_path / "mine.toml")  # the scenario that `wifair import` writes
    monkeypatch.chdir(tmp_path)
    if "--measured" in words:
        assert here("run", "mine.toml", "--as-ap", "ap", *SHORT[:-1], "1").returncode == 0
        for name in ("station.txt", "survey.txt", "info.txt"):
            shutil.copy(tmp_path / "ap" / "seed-1" / name, tmp_path)
    if words[0] in ("run", "compare", "explain"):
        words = [*words, "--store", "store"]
    told = {}
    for wide in (80, 140):
        monkeypatch.setenv("COLUMNS", str(wide))
        done = here(*words) if words[0] != "new" else here("new")
        assert done.returncode == 0, done.stderr
        long = [line for line in done.stdout.splitlines() if len(line) > wide]
        assert long == []
        assert "…" not in done.stdout.replace("1, 2, …", "")
        told[wide] = done.stdout
    assert words_of(told[80]) == words_of(told[140])


@pytest.mark.parametrize("name", ["", *typer.main.get_command(app).commands])  # type: ignore[attr-defined]
def test_help_cuts_no_word(name: str, here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for wide in (80, 140):
        monkeypatch.setenv("COLUMNS", str(wide))
        done = here(*([name] if name else []), "--help")
        assert [line for line in done.stdout.splitlines() if len(line) > wide] == []
        assert not re.search(r"\w\.\.\.", done.stdout.replace("[ARGS]...", "").replace("ARGS...", ""))


def test_the_explanation_of_the_readmes_cell_is_short(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = here("explain", "paper:adaptive-pushout", *SHORT)
    assert len(done.stdout.splitlines()) <= 25
    everything = here("explain", "paper:adaptive-pushout", *SHORT, "--verbose").stdout
    assert all(f"{way}-{i} (bulk" in everything for way in ("up", "down") for i in range(1, 11))


cells = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)


@given(data=st.data(), width=st.integers(40, 140), turn=st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_table_fits_and_has_every_cell(data: st.DataObject, width: int, turn: bool) -> None:
    across, down = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 6))
    headings = data.draw(st.lists(cells, min_size=across, max_size=across))
    rows = data.draw(st.lists(st.lists(cells, min_size=across, max_size=across), min_size=down, max_size=down))
    told = list(lines(columns(headings, rows), width, turn=turn))
    assert all(len(line) <= width for line in told)
    assert {word for row in [headings, *rows] for word in row} <= set(" ".join(told).split())


@given(text=st.text(st.sampled_from("abc de-f.")), width=st.integers(20, 80))
def test_a_paragraph_has_every_word(text: str, width: int) -> None:
    assert " ".join(paragraph(text, width)).split() == text.split()


def test_schemes_with_parameters_are_named_as_results_name_them() -> None:
    assert split("a,b(c=1, d=[1,2]),e") == ["a", "b(c=1, d=[1,2])", "e"]
    assert schemes("las, mac80211(signal=drop, ack_filter=conservative)") == [
        "las",
        {"name": "mac80211", "signal": "drop", "ack_filter": "conservative"},
    ]


def test_every_name_that_compare_prints_is_accepted(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    names = "droptail,alt,mac80211(signal=drop),mac80211-2016,fq-codel-ack-filter"
    done = here("compare", "scenarios/five-lines.toml", "--schemes", names, *SHORT)
    assert done.returncode == 0, done.stderr
    for name in split(names):
        assert name in done.stdout


def test_compare_has_a_default(here: Cli) -> None:
    done = here("compare", "scenarios/five-lines.toml", *SHORT)
    assert all(name in done.stdout for name in ("droptail", "mac80211", "adaptive-pushout", "Scope: one BSS"))
