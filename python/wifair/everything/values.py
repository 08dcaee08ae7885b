"""What a contest measured, run by run, as a file next to the page that quotes it. The page can be written from it, without a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from wifair.errors import InputError
from wifair.everything.contest import Contest, Judged, judged

# The columns; a row per setting, scheme and measure.
SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "setting": pl.String,
    "scheme": pl.String,
    "measure": pl.String,
    "values": pl.List(pl.Float32),
}


def beside(page: Path) -> Path:
    """The file of a page's values."""
    return page.parent / "values" / f"{page.stem}.parquet"


def write(path: Path, settings: Sequence[Judged]) -> None:
    """Writes what was measured in all settings; seeds count from 1."""
    path.parent.mkdir(exist_ok=True)
    pl.DataFrame(list(_rows(settings)), schema=SCHEMA, orient="row").write_parquet(path, compression="zstd")


def table(path: Path) -> pl.DataFrame:
    """The file as a table; seeds count from 1."""
    return pl.read_parquet(path)


def read(path: Path, contest: Contest) -> list[Judged]:
    """The verdicts on the contest's settings, from the values in the file.

    Raises `InputError` if a scheme of a setting has no values there.
    """
    found: dict[str, dict[str, dict[str, pl.Series]]] = {}
    for setting, scheme, measure, values in table(path).iter_rows():
        found.setdefault(setting, {}).setdefault(scheme, {})[measure] = pl.Series(values, dtype=pl.Float64)
    wanted = ((setting.id, name) for setting in contest.settings for name in setting.cells)
    if absent := {name for setting, name in wanted if name not in found.get(setting, {})}:
        names = ", ".join(sorted(absent))
        raise InputError(
            f"{path}: has no values of {names} in a setting of the contest. `make comparison` measures them."
        )
    return [
        judged(
            setting,
            {name: {what: each.to_numpy() for what, each in found[setting.id][name].items()} for name in setting.cells},
            len(contest.stages),
        )
        for setting in contest.settings
    ]


def _rows(settings: Sequence[Judged]) -> Iterator[tuple[str, str, str, list[float]]]:
    for each in settings:
        for scheme, own in each.measured.items():
            for measure, values in own.items():
                yield each.setting.id, scheme, measure, values.tolist()
