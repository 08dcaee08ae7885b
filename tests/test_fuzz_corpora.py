"""The kept inputs of the fuzz targets: one archive per target, the same for the same inputs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "fuzz"))

import corpora  # type: ignore[import-not-found]


@pytest.mark.whole
def test_every_target_has_an_archive_that_packs_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {target: (corpora.CORPUS / f"{target}.tar").read_bytes() for target in corpora.targets()}
    assert {path.stem for path in corpora.CORPUS.iterdir()} == set(kept)
    monkeypatch.setattr(corpora, "FUZZ", tmp_path)
    folders = {target: corpora.unpacked(target) for target in kept}
    monkeypatch.setattr(corpora, "CORPUS", tmp_path / "corpus")
    for target, folder in folders.items():
        corpora.pack(target, folder)
        assert (tmp_path / "corpus" / f"{target}.tar").read_bytes() == kept[target]


@pytest.mark.whole
def test_unpacking_leaves_nothing_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "FUZZ", tmp_path)
    folder = corpora.unpacked("plan")
    names = {path.name for path in folder.iterdir()}
    (folder / "stray").write_bytes(b"x")
    assert {path.name for path in corpora.unpacked("plan").iterdir()} == names
