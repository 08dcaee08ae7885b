"""How the command line calls schemes written in Python, and where it offers them."""

from __future__ import annotations

from pathlib import Path

from conftest import ROOT, Cli

SCHEME = f"{ROOT / 'examples' / 'adaptive_pushout.py'}:AdaptivePushout"
SHORT = ("--seeds", "1", "--threads", "1", "--set", "run.warmup_s=0.1", "--set", "run.duration_s=0.1")


def test_a_run_names_the_class(here: Cli) -> None:
    done = here("run", "plain", "--scheme", SCHEME, *SHORT)
    assert done.returncode == 0, done.stderr
    assert "AdaptivePushout at the AP" in done.stdout
    assert "external" not in done.stdout


def test_an_unknown_scheme_offers_a_file(here: Cli, tmp_path: Path) -> None:
    assert "or on the command line FILE.py:CLASS" in here("run", "plain", "--scheme", "gentel").stderr
    assert "FILE.py:CLASS" in here("compare", "plain", "--schemes", "gentel").stderr
