"""Whatever is damaged in a store, a study with it gives the results of a fresh one."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from wifair import Results, Scenario, Store
from wifair.results import segment
from wifair.study import Cell, Study
from wifair.study.prune import prune
from wifair.study.store import engines

Tables = dict[str, bytes]


def study() -> Study:
    flows: list[dict[str, Any]] = [{"direction": "up"}, {"direction": "down", "application": {"name": "ping"}}]
    run = {"warmup_s": 0.0, "duration_s": 0.2, "sample_interval_s": 0.1}
    return Study([Cell("one", Scenario(run=run, flows=flows))], 2, "damaged")


@cache
def fresh() -> Results:
    return study().run(threads=1)


@cache
def whole() -> bytes:
    """A segment with both replications."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        study().run(store=folder, threads=1)
        (path,) = Store(folder).mine.segments()
        return path.read_bytes()


def is_repaired(folder: Path, content: bytes) -> Store:
    """Runs the study with a store whose segment has that content; the results must be those of a fresh run."""
    segments = Store(folder).mine.segments_folder
    for path in segments.iterdir():
        path.unlink()
    (segments / f"damaged{segment.ENDING}").write_bytes(content)
    store = Store(folder)
    again = study().run(store=store, threads=1)
    assert set(again.frames) == set(fresh().frames)
    assert all(again.frames[name].equals(fresh().frames[name]) for name in again.frames)
    return store


# Where a ZIP archive says how an entry is kept: offsets in an entry's header and in the directory at the end.
LOCAL, DIRECTORY = b"PK\x03\x04", b"PK\x01\x02"
FIELDS = {
    "flags": (6, 8),
    "method": (8, 10),
    "checksum": (14, 16),
    "stored size": (18, 20),
    "size": (22, 24),
    "length of the name": (26, 28),
}


def heads(content: bytes, mark: bytes) -> list[int]:
    return [at for at in range(len(content)) if content.startswith(mark, at)]


@pytest.mark.whole
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_damaged_segment_is_computed_again(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    content = bytearray(whole())
    if data.draw(st.booleans(), "a header"):
        field = data.draw(st.sampled_from(sorted(FIELDS)), "field")
        for mark, offset in zip((LOCAL, DIRECTORY), FIELDS[field], strict=True):
            at = data.draw(st.sampled_from(heads(bytes(content), mark)), "entry")
            content[at + offset] ^= data.draw(st.integers(0, 255), "bits")
    for _ in range(data.draw(st.integers(0, 3), "flips")):
        content[data.draw(st.integers(0, len(content) - 1), "place")] ^= data.draw(st.integers(1, 255), "bits")
    if data.draw(st.booleans(), "truncated"):
        content = content[: data.draw(st.integers(0, len(content)), "length")]
    is_repaired(tmp_path_factory.mktemp("store"), bytes(content))


def rewritten(change: Callable[[Tables], None], how: int = zipfile.ZIP_STORED) -> bytes:
    """The segment with other tables, complete and with good checksums."""
    with zipfile.ZipFile(io.BytesIO(whole())) as archive:
        tables = {name: archive.read(name) for name in archive.namelist()}
    change(tables)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as archive:
        for name, content in tables.items():
            archive.writestr(name, content)
    return made.getvalue()


def altered(table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Callable[[Tables], None]:
    def apply(tables: Tables) -> None:
        made = io.BytesIO()
        change(pl.read_parquet(io.BytesIO(tables[f"{table}.parquet"]))).write_parquet(made)
        tables[f"{table}.parquet"] = made.getvalue()

    return apply


def renamed(tables: Tables) -> None:
    tables["serious.parquet"] = tables.pop("series.parquet")


def removed(tables: Tables) -> None:
    del tables["flows.parquet"]


ALTERED: dict[str, Callable[[Tables], None]] = {
    "a missing table": removed,
    "a table of another name": renamed,
    "no Parquet": lambda tables: tables.update({"flows.parquet": b"PAR1 and more PAR1"}),
    "a missing column": altered("flows", lambda table: table.drop("goodput_mbps")),
    "a column of another type": altered("series", lambda table: table.with_columns(pl.col("value").cast(pl.String))),
    "a column more": altered("queues", lambda table: table.with_columns(more=1)),
    "jobs as text": altered("replications", lambda table: table.with_columns(pl.col("job").cast(pl.String))),
    "a missing replication": altered("runs", lambda table: table.head(1)),
    "a replication twice": altered("runs", lambda table: pl.concat([table.head(1), table.head(1)])),
    "rows of no replication": altered("flows", lambda table: table.with_columns(job=table["job"] + 7)),
    "a replication without a seed": altered(
        "replications", lambda table: table.with_columns(seed=pl.lit(None, pl.UInt64))
    ),
    "another plan": altered("plans", lambda table: table.with_columns(json=pl.lit("{}"))),
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_segment_is_computed_again(name: str, tmp_path: Path) -> None:
    store = is_repaired(tmp_path, rewritten(ALTERED[name]))
    assert any("damaged" in remark for remark in store.remarks())
    assert prune(tmp_path).files == 1


def test_a_compressed_entry_is_damage(tmp_path: Path) -> None:
    """What is no larger than it looks cannot be a bomb."""

    def bomb(tables: Tables) -> None:
        tables["series.parquet"] = bytes(50_000_000)

    store = is_repaired(tmp_path, rewritten(bomb, zipfile.ZIP_DEFLATED))
    assert any("compressed or encrypted" in remark for remark in store.remarks())


def test_a_table_that_takes_more_memory_than_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wifair.results.segment.most_bytes", lambda: 10_000)
    long = altered("series", lambda table: pl.concat([table] * 1000))
    store = is_repaired(tmp_path, rewritten(long))
    assert any("MB of memory" in remark for remark in store.remarks())
    assert prune(tmp_path, dry=True).files == 0  # another machine may have more


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_what_is_no_file_is_damage(tmp_path: Path) -> None:
    segments = Store(tmp_path).mine.segments_folder
    os.mkfifo(segments / f"pipe{segment.ENDING}")
    (segments / f"device{segment.ENDING}").symlink_to("/dev/zero")
    (segments / f"folder{segment.ENDING}").mkdir()
    (Store(tmp_path).mine.studies_folder / "pipe.json").symlink_to("/dev/zero")
    store = Store(tmp_path)
    assert study().run(store=store, threads=1).missing == 0
    assert len(store.mine.damaged) == 3
    assert [known.title for known in engines(tmp_path)[0].studies()] == ["damaged"]


RECORDS = [
    "",
    "[]",
    "{}",
    '{"title": "a", "seeds": 3, "cells": []}',
    '{"title": [], "seeds": [1], "cells": []}',
    "[" * 9999,
]
RECORDS += ['{"title": "a", "seeds": [1], "cells": ["x"]}', '{"title": "a", "seeds": [1], "cells": [{"name": "n"}]}']
RECORDS += ['{"title": "a", "seeds": ["1"], "cells": [{"name": "n", "keys": {"k": []}, "plan": "p"}]}', "\udcff"]


@pytest.mark.parametrize("text", RECORDS)
def test_a_malformed_study_stops_no_list(text: str, tmp_path: Path, here: Cli) -> None:
    study().run(store=tmp_path, threads=1)
    path = Store(tmp_path).mine.studies_folder / "bad.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = here("results", "list", "--store", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    (engine,) = json.loads(done.stdout)["engines"]
    assert [known["title"] for known in engine["studies"]] == ["damaged"]
    assert f"{path} is damaged" in done.stderr
    assert here("results", "export", "damaged", "--store", tmp_path, "--out", tmp_path / "out").returncode == 0
    assert prune(tmp_path).files == 1
    assert not path.exists()
