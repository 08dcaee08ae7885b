"""`wifair cite` prints what `CITATION.cff` says."""

from __future__ import annotations

import re

import pytest
import yaml  # type: ignore[import-untyped]
from conftest import ROOT
from wifair import _native, citation
from wifair.cli import execute


def test_the_entry_has_the_facts_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert execute(["cite"]) == 0
    printed = capsys.readouterr()
    fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", printed.out, re.MULTILINE))
    assert printed.out.startswith(f"@software{{wifair-{told['version']},\n")
    assert printed.out.endswith("\n}\n")
    assert fields["title"] == f"{{{told['title']}}}"
    assert fields["author"] == f"{{{told['authors'][0]['name']}}}"
    assert fields["version"] == told["version"] == _native.version()
    assert fields["license"] == "MIT OR Apache-2.0"
    assert told["message"] in printed.err


def test_persons_dates_and_special_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    authors = [{"family-names": "Doe & Co", "given-names": "Jo"}, {"name": "A_B"}]
    told = {"authors": authors, "title": "50 %", "version": 2, "date-released": "2026-01-02", "license": ["MIT"]}
    monkeypatch.setattr(citation, "facts", lambda: told | {"doi": "10.1/x", "repository-code": "https://example.org"})
    entry = citation.bibtex()
    assert "author = {Doe \\& Co, Jo and {A\\_B}}," in entry
    assert "title = {{50 \\%}}," in entry
    assert "date = {2026-01-02}," in entry
    assert "doi = {10.1/x}," in entry
    assert entry.count("{") == entry.count("}")
