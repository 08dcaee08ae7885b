"""Tables of one scenario's flows, datagrams, transfers and warm-up on standard output."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import polars as pl

from wifair.analysis.check import listed
from wifair.analysis.warmup import QUANTITIES
from wifair.cli.output import print_table, say
from wifair.cli.printed import text_of
from wifair.cli.tables import columns
from wifair.results.delays import STREAM_UNITS
from wifair.results.quantiles import interval_of
from wifair.results.results import TRANSFER_UNITS
from wifair.stats import t_interval

if TYPE_CHECKING:
    from wifair.analysis.warmup import Check
    from wifair.results.results import Results

# The largest number of flows that are printed one by one without --verbose.
FEW_FLOWS = 12
# Headings for the columns of `STREAM_UNITS`; minor ones are left out if the table is too wide.
STREAMS = {
    "loss_ratio": "loss",
    "goodput_mbps": "Mbps",
    "delay_mean_ms": "delay, ms",
    "delay_p95_ms": "delay 95 %, ms",
    "delay_p99_ms": "delay 99 %, ms",
    "jitter_ms": "jitter, ms",
    "rtt_p50_ms": "RTT median, ms",
    "rtt_p95_ms": "RTT 95 %, ms",
    "mos": "opinion score",
}
MINOR = ("goodput_mbps", "delay_p99_ms", "jitter_ms", "rtt_p50_ms")
# With fewer transfers per replication their times mean little.
FEW_TRANSFERS = 5


def over(results: Results) -> str:
    """What the numbers of a table are."""
    return "means over the runs" if len(results.seeds) > 1 else "one run"


def print_flows(results: Results, verbose: bool = False) -> None:
    """Prints one line per flow, or per group if there are many."""
    of_tcp = results.flows.filter(pl.col("transport") == "tcp")
    if of_tcp.is_empty():
        return
    single = verbose or of_tcp["label"].n_unique() <= FEW_FLOWS
    keys = ["label" if single else "group", "direction"]
    rows = []
    for key, part in of_tcp.group_by(*keys, maintain_order=True):
        number = part["label"].n_unique()
        runs = part.group_by("seed", maintain_order=True).agg(
            pl.col("goodput_mbps", "rtt_mean_ms", "timeouts").mean(),
            least=pl.col("goodput_mbps").min(),
            most=pl.col("goodput_mbps").max(),
        )
        wanted = (
            ("goodput_mbps", "rtt_mean_ms", "timeouts")
            if single
            else ("goodput_mbps", "least", "most", "rtt_mean_ms", "timeouts")
        )
        found = [text_of(t_interval(runs[column].drop_nulls().to_numpy()), results) for column in wanted]
        rows.append((*map(str, key), *([] if single else [str(number)]), *found))
    mean = ("goodput, Mbps",) if single else ("flows", "goodput, Mbps", "least", "most")
    headings = (keys[0].replace("label", "flow"), "direction", *mean, "RTT, ms", "timeouts per run")
    note = "" if single else ": means over the flows of a group; --verbose shows every flow"
    print_table(f"Flows over TCP{note}", columns(headings, rows, left=2), keys=1)


def print_datagrams(results: Results) -> None:
    """Prints one line per non-TCP flow and direction, without empty columns."""
    if "datagrams" not in results.frames:
        return
    table = results.datagrams
    shown = [metric for metric in STREAM_UNITS if table[metric].count()]
    rows = []
    for (label, direction), part in table.group_by("label", "direction", maintain_order=True):
        found = [text_of(interval_of(metric, part[metric].drop_nulls().to_numpy()), results) for metric in shown]
        rows.append((f"{label} {direction}", *found))
    minor = [i for i, metric in enumerate(shown, 1) if metric in MINOR]
    title = f"Datagrams: {over(results)}; delays are one-way"
    print_table(title, columns(("flow", *(STREAMS[metric] for metric in shown)), rows, minor=minor))


def print_transfers(results: Results) -> None:
    """Prints one line per group of transfers."""
    if "transfer_groups" not in results.frames:
        return
    of_all_sizes = results.transfer_groups.filter(pl.col("bytes").is_null())
    names = {
        "completed": "completed",
        "mean_s": "mean, s",
        "cov": "coefficient of variation",
        "p50_s": "median, s",
        "p95_s": "95 %, s",
        "p99_s": "99 %, s",
    }
    rows = []
    few: dict[str, int] = {}
    for (group,), part in of_all_sizes.group_by("group", maintain_order=True):
        values = {metric: part[metric].drop_nulls().cast(pl.Float64).to_numpy() for metric in TRANSFER_UNITS}
        rows.append((str(group), *(text_of(interval_of(metric, found), results) for metric, found in values.items())))
        fewest = int(values["completed"].min())
        if fewest < FEW_TRANSFERS:
            few[str(group)] = fewest
    if few:
        say(f"warning: {listed([*few])}: {_completed(few.values())}; raise run.duration_s.")
    headings = ("group", *(names[metric] for metric in TRANSFER_UNITS))
    minor = [headings.index(names[metric]) for metric in ("cov", "p99_s")]
    print_table(f"Transfers of all sizes: {over(results)}", columns(headings, rows, minor=minor))


def _completed(fewest: Collection[int]) -> str:
    """How few transfers the runs of some groups completed."""
    low, high = min(fewest), max(fewest)
    many = f"{high} transfer{'' if high == 1 else 's'}"
    return f"a run completed only {many if low == high else f'{low} to {many}'}, too few for their times"


def print_checks(checks: list[Check]) -> None:
    """Prints one line per series whose warm-up was checked."""
    if not checks:
        return
    rows = []
    for found in checks:
        quantity = f"{found.course.quantity}, {QUANTITIES[found.course.quantity]}"
        settled = "–" if found.settled_s is None else f"{found.settled_s:g}"
        rows.append((quantity, f"{found.mean:.4g}", str(found.drift), f"{found.p:.2g}", settled, found.verdict))
    headings = ("quantity", "mean", "difference [95 % interval]", "p (Holm)", "settled at, s", "verdict")
    table = columns(headings, rows, prose=(0, 5))
    print_table("Warm-up: first tenth of the measurement minus its second half", table)
