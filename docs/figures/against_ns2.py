"""The dialect `ns-2` next to ns-2.35, into docs/validation.md and docs/peers.md: `python docs/figures/against_ns2.py`.

The scenarios are those of tests/test_against_ns2.py, and the runs of ns-2 those of tests/data. `benches/peers/reference.py` makes the files
of the transfers and of the windows of 20 packets.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import polars as pl
from wifair.markdown import Marks, table
from wifair.stats import t_interval

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from test_against_ns2 import (  # noqa: E402
    SATURATED,
    TRANSFERS,
    WINDOW_20,
    reference,
    saturated,
    simulated,
    transfers,
    window_20,
)

COMMAND = "docs/figures/against_ns2.py"
SEEDS = 16
# Another recovery: a loss halves FlightSize, and the ACK that ends a recovery does not open the window.
OTHER_RECOVERY = {"loss_reduces": "flight", "recovery_end_grows": False}
# Exact arithmetic in place of a clock tick of 10 ms.
EXACT_TIMER = {"tick_ms": None}
FLOWS_EACH_WAY = (2, 10)
# Headings and factors of an outcome.
COLUMNS = (("index", 1.0), ("up, kbps", 1.0), ("down, kbps", 1.0), ("lost at the AP, %", 100.0))


def deviation(values: list[float], factor: float) -> str:
    """Mean ± standard deviation, which gets two digits."""
    scaled = [factor * value for value in values]
    centre, spread = mean(scaled), stdev(scaled)
    if spread == 0.0:
        return f"{centre:g}"
    decimals = max(0, 1 - math.floor(math.log10(spread)))
    return f"{centre:.{decimals}f} ± {spread:.{decimals}f}"


def schemes() -> str:
    """The symmetric cell of `adaptive-pushout`."""
    known = reference()
    rows = []
    for n in FLOWS_EACH_WAY:
        for scheme in dict.fromkeys(name for name, _ in known):
            sides = simulated(scheme, n, SEEDS), known[scheme, n]
            columns = [
                deviation([row[what] for row in side], factor)
                for what, (_, factor) in enumerate(COLUMNS)
                for side in sides
            ]
            rows.append([f"{n} + {n}", scheme, *columns])
    of_ns2 = {len(known[scheme, n]) for scheme, n in known if n in FLOWS_EACH_WAY}
    alone, alone_otherwise = (
        deviation([lost for *_, lost in simulated("droptail", 10, SEEDS, ("down",), **tcp)], 100.0)
        for tcp in ({}, OTHER_RECOVERY)
    )
    otherwise = {
        scheme: 100.0 * (mean(lost for *_, lost in simulated(scheme, 10, SEEDS, **OTHER_RECOVERY)) / of - 1.0)
        for scheme in dict.fromkeys(name for name, _ in known)
        if (of := mean(lost for *_, lost in known[scheme, 10]))
    }
    beyond = ", ".join(f"{excess:+.0f} % ({scheme})" for scheme, excess in otherwise.items())
    headings = ["flows", "scheme"]
    for heading, _ in COLUMNS:
        headings += [heading, "ns-2"]
    return (
        f"Mean ± standard deviation over {SEEDS} seeds in wifair and {' or '.join(map(str, sorted(of_ns2)))} in ns-2.\n\n"
        f"{table(headings, rows)}\n\nTen downlinks alone lose {alone} % under tail drop ({SEEDS} seeds). "
        f'With `tcp.loss_reduces = "flight"` and `tcp.recovery_end_grows = false` they lose {alone_otherwise} %, and with 10 + 10 flows '
        f"the losses differ from ns-2's by {beyond}."
    )


def causes() -> str:
    """What decides whether the two agree: wifair with the dialect, with one rule of it changed, and ns-2."""
    known = reference()

    def symmetric(
        rule: str, scheme: str, n: int, what: int, seeds: int = SEEDS, ns2: str | None = None, **changed: Any
    ) -> list[str]:
        heading, factor = COLUMNS[what]
        sides = simulated(scheme, n, seeds), simulated(scheme, n, seeds, **changed), known[scheme, n]
        columns = [t_interval([factor * row[what] for row in side]).short() for side in sides]
        return [rule, f"{scheme}, {n} + {n}: {heading}", *columns]

    rows = [
        symmetric("the oldest redundant ACK is removed, not a random one", "ack-pushout", 2, 0, redundant="oldest"),
        symmetric("exact retransmission timer, no `tcp.rto.tick_ms`", "ack-filtering", 2, 1, rto=EXACT_TIMER),
        symmetric("all flows start at 0, not within a second", "droptail", 10, 0, seeds=3 * SEEDS, start_spread_s=0.0),
    ]
    sides = (
        saturated("mixed", SEEDS),
        saturated("mixed", SEEDS, colliders_wait_eifs=False),
        pl.read_csv(SATURATED, comment_prefix="#").filter(pl.col("cell") == "mixed").drop("cell", "seed").to_numpy(),
    )
    for kind, first in (("long", 1), ("short", 2)):
        columns = [t_interval(side[:, first::2].sum(axis=1).tolist()).short() for side in sides]
        rows.append(["`mac.colliders_wait_eifs = false`", f"frames of two lengths: {kind} frames, kbps", *columns])
    return f"Means with 95 % intervals; {SEEDS} seeds in wifair, {3 * SEEDS} where flows start at 0.\n\n" + table(
        ["rule that is changed", "cell and quantity", "dialect", "changed", "ns-2"], rows
    )


def restarts() -> str:
    """What a fast retransmit that does not restart the timer changes."""
    counts = [
        t_interval(window_20(90, SEEDS, **rto)["timeouts"]).short()
        for rto in ({}, {"restarts_on_fast_retransmit": False})
    ]
    return (
        f"With a buffer of 90 packets a downlink flow has {counts[0]} timeouts in 280 s. With "
        f"`tcp.rto.restarts_on_fast_retransmit = false` it has {counts[1]}."
    )


def windows() -> str:
    """Bulk flows with a window of 20."""
    theirs = pl.read_csv(WINDOW_20, comment_prefix="#")
    rows = []
    for (buffer,), of_ns2 in theirs.group_by("buffer", maintain_order=True):
        ours = window_20(int(str(buffer)), SEEDS)
        sides = [
            t_interval(side).short()
            for what in ("up_kbps", "down_kbps")
            for side in (ours[what], of_ns2[what].to_list())
        ]
        rows.append([f"{buffer}", *sides])
    return table(["buffer", "up, kbps", "ns-2", "down, kbps", "ns-2"], rows)


def files() -> str:
    """Files of 10 packets beside files of 1,000."""
    theirs = pl.read_csv(TRANSFERS, comment_prefix="#")
    rows = []
    for (hosts,), of_ns2 in theirs.group_by("hosts", maintain_order=True):
        ours = transfers(int(str(hosts)), 4 * SEEDS)
        for kind in ("short", "long"):
            column = f"{kind}_mean_s"
            sides = [t_interval(side[column].to_list()).short() for side in (ours, of_ns2)]
            rows.append([f"{hosts}", kind, *sides])
    return table(["hosts", "files", "mean time, s", "ns-2, where nobody captures"], rows)


def main() -> None:
    """Writes the tables."""
    intervals = f"Means with 95 % intervals over {SEEDS} seeds of bulk flows and {4 * SEEDS} of transfers; ns-2: 6."
    Marks("schemes", COMMAND).write(ROOT / "docs" / "validation.md", f"{schemes()}\n")
    Marks("causes", COMMAND).write(ROOT / "docs" / "validation.md", f"{causes()}\n")
    text = f"{restarts()}\n\n{intervals}\n\n{windows()}\n\n{files()}\n"
    Marks("windows of 20", COMMAND).write(ROOT / "docs" / "peers.md", text)


if __name__ == "__main__":
    main()
