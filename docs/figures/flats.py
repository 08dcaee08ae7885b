"""What a resident of the house of `flats` can change, and what it does to him and to his neighbours, into docs/neighbours.md.

`python docs/figures/flats.py`, two minutes on two cores.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
from wifair import Results, load
from wifair.markdown import Marks, table
from wifair.stats import Values, plus_minus

PAGE = Path(__file__).resolve().parents[1] / "neighbours.md"
MARKS = Marks("flats", "docs/figures/flats.py")
SEEDS = 4
RUN = {"run.warmup_s": 4, "run.duration_s": 15}
MINE = "mine"
ONE = {"building.channels": "one"}
# What changes, by the name in the table.
CHANGES = {
    "as written": {},
    "my channel: 106": {"bss[0].channel": 106},
    "my scheme: `mac80211`": {"bss[0].ap.scheme": "mac80211"},
    "all on one channel": ONE,
    "the same, my scheme: `mac80211`": {**ONE, "bss[0].ap.scheme": "mac80211"},
    "the same, RTS from 500 bytes in the whole house": {**ONE, "mac.rts_threshold_bytes": 500},
}
HEADINGS = (
    "change",
    "my film, s",
    "my picture's delay, p95, ms",
    "air of others at my access point",
    "neighbours' film, s",
    "neighbours' picture's delay, p95, ms",
    "their frames lost to hidden ones",
)


def by_seed(frame: pl.DataFrame, value: pl.Expr) -> Values:
    """The mean of a value over the rows of each seed."""
    return frame.group_by("seed", maintain_order=True).agg(value.mean().alias("value"))["value"].to_numpy()


def row(name: str, results: Results) -> tuple[str, ...]:
    """A row of the table."""
    films = results.frames["transfer_groups"].filter(
        pl.col("group").str.ends_with("television-film") & (pl.col("completed") > 0)
    )
    pictures = results.datagrams.filter(pl.col("label").str.contains("phone-picture"))
    is_mine = {"film": pl.col("group") == "television-film", "picture": pl.col("label").str.starts_with("phone-")}
    others = results.bsss.filter(pl.col("bss") != MINE)
    lost = pl.col("lost_hidden").cast(pl.Float64) / pl.col("attempts")
    return (
        name,
        plus_minus(by_seed(films.filter(is_mine["film"]), pl.col("mean_s")), 2),
        plus_minus(by_seed(pictures.filter(is_mine["picture"]), pl.col("delay_p95_ms")), 1),
        plus_minus(by_seed(results.bsss.filter(pl.col("bss") == MINE), pl.col("busy_others_share")), 3),
        plus_minus(by_seed(films.filter(~is_mine["film"]), pl.col("mean_s")), 2),
        plus_minus(by_seed(pictures.filter(~is_mine["picture"]), pl.col("delay_p95_ms")), 1),
        plus_minus(by_seed(others, lost), 4),
    )


def main() -> None:
    """Writes the table into the page."""
    house = load("flats").override(RUN)
    rows = [row(name, house.override(change).run(seeds=SEEDS)) for name, change in CHANGES.items()]
    text = table(HEADINGS, rows)
    print(text)
    MARKS.write(PAGE, text)


if __name__ == "__main__":
    main()
