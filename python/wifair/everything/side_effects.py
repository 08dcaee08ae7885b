"""What changes at one BSS do to the others: all of them together, and each alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wifair.analysis.comparison import Differences, Pair, against_first, paired
from wifair.everything.criteria import RATING_MATTERS, SHARE_MATTERS, THROUGHPUT_MATTERS
from wifair.keys import some_of
from wifair.results.results import BETTER, HEADINGS, UNITS
from wifair.stats import LEVEL, holm

if TYPE_CHECKING:
    from wifair.results.results import Results

# The BSS of rows about all others together.
OTHERS = "the others"
# What the others are judged by, where they have it.
METRICS = ("total_mbps", "transfer_mean_s", "delay_p95_ms", "ping_p95_ms", "mos_least")
# BSSs that a sentence names.
NAMED = 4


def side_effects(results: Results, bss: str, pairs: Iterable[Pair] | None = None) -> Differences:
    """The paired differences of the BSSs other than `bss`, by default of every scenario against the first one.

    Rows of all others together come first, with `bss` "the others"; then rows of each. Each of the two is one family of tests (Holm).
    `matters` is the smallest difference that matters: 10 % of a time or a delay, 5 % of the total, 0.1 of a score.
    """
    wanted = list(pairs if pairs is not None else against_first(results.cells))
    rows = _rows(results.of_others(bss), OTHERS, wanted)
    alone = [row for name in results.bss_names if name != bss for row in _rows(results.of_bss(name), name, wanted)]
    for row, adjusted in zip(alone, holm([row["p"] for row in alone]), strict=True):
        row["p_holm"] = adjusted
    return Differences([*rows, *alone])


def _rows(results: Results, bss: str, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    found = []
    for row in paired(results, pairs, METRICS):
        reference = results.interval(row["against"], row["metric"]).estimate
        share = THROUGHPUT_MATTERS if row["metric"] == "total_mbps" else SHARE_MATTERS
        matters = RATING_MATTERS if row["metric"] == "mos_least" else share * abs(reference)
        found.append({"bss": bss, **row, "reference": reference, "matters": matters})
    return found


def present(results: Results, bss: str) -> list[str]:
    """Those of `METRICS` that the others have."""
    metrics = results.of_others(bss).metrics
    return [metric for metric in METRICS if metrics[metric].count()]


def sentences(rows: Iterable[Mapping[str, Any]], pairs: Sequence[Pair], names: Mapping[str, str]) -> list[str]:
    """For each pair of scenarios what the others together get, and which BSSs are shown to lose or to gain.

    `names` are the scenarios' names in sentences.
    """
    listed_rows = list(rows)
    told = []
    for pair in pairs:
        mine = [row for row in listed_rows if (row["scenario"], row["against"]) == pair]
        if not mine:
            continue
        together = [_effect(row) for row in mine if row["bss"] == OTHERS]
        alone = [row for row in mine if row["bss"] != OTHERS]
        count = len({row["bss"] for row in alone})
        listed = [
            f"{verb}: {_named([row for row in alone if _shown(row) == sign])}"
            for sign, verb in ((-1, "lose"), (1, "gain"))
            if any(_shown(row) == sign for row in alone)
        ]
        each = "; ".join(listed) or (
            "one run cannot tell who loses"
            if alone and alone[0]["runs"] < 2
            else "none is shown to lose or to gain by what matters"
        )
        between = f"{names[pair[0]]} against {names[pair[1]]}"
        told.append(f"The others ({count} BSSs), {between}: {'; '.join(together)}. Of them {each}.")
    return told


def _named(rows: Sequence[Mapping[str, Any]]) -> str:
    by_bss: dict[str, list[str]] = {}
    for row in rows:
        by_bss.setdefault(row["bss"], []).append(_effect(row))
    shown = [f"{name} ({', '.join(effects)})" for name, effects in by_bss.items()]
    return some_of(shown, NAMED, ", ")


def _shown(row: Mapping[str, Any]) -> int:
    """1 if a gain is shown that matters, −1 if a loss is."""
    if row["ci_low"] is None or not row["p_holm"] < 1 - LEVEL or abs(row["difference"]) < row["matters"]:
        return 0
    is_more = row["difference"] > 0
    return 1 if is_more == (BETTER[row["metric"]] == "highest") else -1


def _effect(row: Mapping[str, Any]) -> str:
    unit = UNITS[row["metric"]].removesuffix(" of payload")
    unit = "" if unit[:1].isdigit() else f" {unit}"
    if row["identical"]:
        return f"{HEADINGS[row['metric']]} equal in every run"
    ends = "" if row["ci_low"] is None else f" [{row['ci_low']:+.3g}, {row['ci_high']:+.3g}]"
    return f"{HEADINGS[row['metric']]} {row['difference']:+.3g}{unit}{ends}"
