"""Which BSSs are judged, one line per BSS, and what a change at one does to the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from wifair.analysis.comparison import against_first
from wifair.cli.output import print_lines, print_table, print_text, say
from wifair.cli.printed import heading, means, name_of, text_of, varying
from wifair.cli.printed_flows import FEW_FLOWS
from wifair.cli.tables import Column, columns
from wifair.everything.side_effects import present, sentences
from wifair.planned import bsss_of
from wifair.stats import t_interval

if TYPE_CHECKING:
    from wifair.results.results import Results

# BSSs that a hint names.
NAMED = 3


def say_judged(plan: Mapping[str, Any], bss: str) -> None:
    """Says whose flows are judged, if there are several BSSs and none is named."""
    names = list(bsss_of(plan))
    if len(names) > 1 and not bss:
        say(
            f"judged are the flows of all {len(names)} BSSs together; --bss {names[0]} judges those of {names[0]} alone."
        )


def of_shown(results: Results, bss: str, verbose: bool) -> Results:
    """The results whose flows are shown: those of a BSS; without a name those of all, or if these are many of the first."""
    if bss:
        return results.of_bss(bss)
    many = results.flows["label"].n_unique() > FEW_FLOWS
    return results.of_bss(results.bss_names[0]) if results.bss_names and many and not verbose else results


def say_shown(results: Results, shown: Results, bss: str) -> None:
    """Says whose flows were shown if they are not all, and how to see the others."""
    if shown is results:
        return
    if bss:
        say(f"the flows are those of {bss}.")
        return
    name, *others = results.bss_names
    more = ", …" if len(others) > NAMED else ""
    say(
        f"the flows are those of {name}; --bss NAME shows those of another BSS: {', '.join(others[:NAMED])}{more}; "
        "--verbose shows all."
    )


def print_side_effects(results: Results, bss: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints what the others get under each scenario, and who of them loses."""
    if not bss:
        return
    others, metrics = results.of_others(bss), present(results, bss)
    table = [Column(varying(results), tuple(name_of(cell) for cell in results.cells))]
    for metric in metrics:
        found = tuple(text_of(others.interval(cell.name, metric), results) for cell in results.cells)
        table.append(Column(heading(metric), found, right=True))
    count = len(others.bss_names)
    print_table(
        f"The others ({count} BSSs). {means((told for each in table[1:] for told in each.cells), results)}",
        table,
        turn=True,
    )
    names = {cell.name: name_of(cell) for cell in results.cells}
    for told in sentences(rows, against_first(results.cells), names):
        print_text(told, indent="  ", first="")
    print_lines([""])


def print_bsss(results: Results) -> None:
    """Prints one line per BSS, if there are several."""
    if "bsss" not in results.frames or results.bsss["bss"].n_unique() == 1:
        return
    rows = []
    has_channels = "channel" in results.bsss.columns
    for (name,), part in results.bsss.group_by("bss", maintain_order=True):
        lost = pl.col("lost_same_start", "lost_hidden").cast(pl.Float64) / pl.col("attempts")
        shares = part.select("busy_own_share", "busy_others_share", lost)
        found = [part["goodput_up_mbps"], part["goodput_down_mbps"], *shares]
        keys = [str(name), *([f"{part['channel'][0]}"] if has_channels else [])]
        rows.append(
            (*keys, *(text_of(t_interval(column.fill_nan(None).drop_nulls().to_numpy()), results) for column in found))
        )
    headings = (
        "BSS",
        *(["channel"] if has_channels else []),
        "up, Mbps",
        "down, Mbps",
        "air: own",
        "others",
        "lost per attempt: same start",
        "hidden",
    )
    title = "BSSs: goodput, share of the time in which frames are on the air, and frames lost"
    print_table(title, columns(headings, rows))
