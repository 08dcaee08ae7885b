"""Emulated runs in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wifair.cli.output import print_table, print_text
from wifair.cli.tables import columns
from wifair.emulate import replay
from wifair.emulate.verdict import INVALID, is_valid, verdict


def print_emulation(report: Mapping[str, Any], verbose: bool) -> None:
    """The verdict on a run, its flows and the AP's buffer; all flows and the histogram of lateness with `verbose`."""
    print_text(verdict(report))
    if not report["measured_s"]:
        return
    flows = sorted(report["flows"], key=lambda row: -row["payload_bytes"])
    shown = [row for row in flows if row["payload_bytes"]]
    limit = len(shown) if verbose else 20
    rows = []
    for row in shown[:limit]:
        rtt = row["rtt_mean_ms"] if row["protocol"] == "tcp" else None
        times = ["–" if value is None else f"{value:.1f}" for value in (rtt, row["delay_p95_ms"])]
        ends = (f"{row['from']}:{row['from_port']}", f"{row['to']}:{row['to_port']}", row["protocol"])
        counts = [str(row["retransmissions"]), str(row["dropped"] + row["lost"]), str(row["marked"])]
        rows.append((*ends, f"{row['goodput_mbps']:.3f}", *times, *counts))
    if rows:
        headings = ("from", "to", "", "goodput, Mbps", "RTT, ms", "95 % delay, ms", "resent", "drops", "marks")
        note = "" if len(shown) <= limit else f": the {limit} largest of {len(shown)}; --verbose shows all"
        print_table(
            f"{_mark([report])}Flows, from their packets, in {report['measured_s']:.1f} s; goodput over their active time{note}",
            columns(headings, rows, left=3),
            3,
        )
    queues = report["tables"]["queues"]
    ap = queues["class"].index("all")
    run = report["tables"]["runs"]
    print_text(
        f"AP: {queues['offered_packets'][ap]} packets offered, {queues['tail_drop_packets'][ap]} tail drops, "
        f"{queues['evicted_packets'][ap]} evicted, {queues['aqm_drop_packets'][ap]} AQM drops; "
        f"mean sojourn {queues['sojourn_mean_ms'][ap] or 0:.1f} ms; medium idle for {run['idle_share'][0]:.0%} of the time"
    )
    if verbose:
        histogram = [(f"{bound:g}", str(count)) for bound, count in report["lateness"]["histogram"]]
        print_table("Lateness of exchanges", columns(("below, µs", "exchanges"), histogram, left=0))
        uncarried = ", ".join(
            f"{count} {what}" for what, count in {**report["uncarried"], "refused by hosts": report["refused"]}.items()
        )
        print_text(f"not carried: {uncarried}; the engine used {report['processor_share']:.0%} of a processor")


def print_comparison(
    title: str, reports: Sequence[Mapping[str, Any]], simulated: int, rows: Sequence[replay.Compared]
) -> None:
    """The verdicts on the emulated runs, and their means next to those of so many simulated ones."""
    for number, report in enumerate(reports, 1):
        print_text(f"run {number}: {verdict(report)}")
    table = [
        (
            row.metric,
            row.emulated.short(),
            row.simulated.short(),
            f"{row.difference:+.3f}" if replay.is_absolute(row.metric) else f"{row.difference:+.1%}",
        )
        for row in rows
    ]
    runs = "1 run" if len(reports) == 1 else f"{len(reports)} runs"
    heading = (
        f"{_mark(reports)}{title}: {runs} with the kernel's TCP, {simulated} simulated; differences of goodput are shares of "
        "the total, of delays and times shares of the simulated ones"
    )
    print_table(heading, columns(("", "kernel", "simulated", "difference"), table))


def _mark(reports: Sequence[Mapping[str, Any]]) -> str:
    """What a table of these runs begins with if some of them are invalid."""
    invalid = sum(not is_valid(report) for report in reports)
    runs = f" ({invalid} of {len(reports)} runs)" if len(reports) > 1 else ""
    return f"{INVALID}{runs}: " if invalid else ""
