"""Claims of Tables 1 to 5, one per printed number."""

from __future__ import annotations

from collections.abc import Callable

from wifair.papers.arf_aware_tcp.measured import Measured
from wifair.papers.arf_aware_tcp.published import COLUMNS, NEWRENO, Column
from wifair.papers.arf_aware_tcp.study import CASES, Case
from wifair.papers.claims import Claim, Formerly, Number, Point
from wifair.stats import Values

CASE_OF: dict[str, Case] = {case.id: case for case in CASES}
NAMES = {"newreno": "TCP newReno", "arf-aware": "ARF-aware TCP"}


def _number(
    column: Column,
    name: str,
    line: str,
    reading: str,
    unit: str,
    target: float,
    tolerance: float,
    of: Callable[[Measured], Values],
    formerly: str = "",
) -> Claim[Measured]:
    fitted = column.control == NEWRENO

    def evidence(m: Measured, fitted: bool = fitted) -> Number:
        return Number([Point(column.case, of(m))], target, tolerance, fitted)

    as_any_other = "Judged like any number; before that, the whole column counted as fitted."
    return Claim(
        f"{column.id}-{name}",
        f"4, Table {column.table}",
        None,
        f"{line}, {NAMES[column.control]}: {target:g}",
        reading,
        unit,
        evidence,
        target,
        Formerly(formerly, as_any_other, lambda m: evidence(m, fitted=False)) if formerly else None,
    )


def _session(column: Column, i: int) -> Claim[Measured]:
    case, kbps = CASE_OF[column.case], column.sessions_kbps[i]
    return _number(
        column,
        f"session-{i + 1}",
        f"Throughput of Session{i + 1} [kbps]",
        f"Payload over {case.duration_s:g} s, within 10 %.",
        "kbps",
        kbps,
        0.1 * kbps,
        lambda m: m.sessions(case, column.control)[:, i],
    )


def _claims(column: Column) -> list[Claim[Measured]]:
    case, printed = CASE_OF[column.case], len(column.sessions_kbps)
    was = "reproduced" if column.control == NEWRENO else ""
    index_was = "undetermined" if was and column.table == 5 else was
    return [
        *(_session(column, i) for i in range(printed)),
        _number(
            column,
            "index",
            "Fairness Index",
            f"Equations 1 to 3 over the {printed} sessions that the table prints, within 0.02.",
            "index",
            column.fairness,
            0.02,
            lambda m: m.index(case, column.control, printed),
            index_was,
        ),
        _number(
            column,
            "aggregate",
            "Aggregated throughput [kbps]",
            f"Sum over the {printed} sessions that the table prints, within 10 %.",
            "kbps",
            column.aggregate_kbps,
            0.1 * column.aggregate_kbps,
            lambda m: m.aggregate(case, column.control, printed),
            was,
        ),
    ]


CLAIMS: tuple[Claim[Measured], ...] = tuple(claim for column in COLUMNS for claim in _claims(column))
