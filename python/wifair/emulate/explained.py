"""What limited the flows of an emulated run, from the engine's counters and the packets' headers; and the run as a page.

Only the kernels know the states of the senders' TCP; `--test` samples them (`TCP_INFO`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wifair.emulate.verdict import INVALID, is_valid, verdict, word

if TYPE_CHECKING:
    from wifair.emulate.replay import Compared
    from wifair.emulate.session import Settings
    from wifair.report.parts import Report, Section

# Below this share of idle time the air is the bottleneck.
BUSY = 0.1


def sentences(report: Mapping[str, Any], most_flows: int = 6) -> list[str]:
    """The sentences: what limited the run, airtime by station, and the packets' fates for the largest flows."""
    if not report["measured_s"]:
        return []
    tables = report["tables"]
    idle = tables["runs"]["idle_share"][0]
    bottleneck = ", so the air was the bottleneck" if idle < BUSY else ""
    told = [f"The medium was idle for {idle:.0%} of the time{bottleneck}."]
    shares: dict[str, float] = {}
    for station, share in zip(tables["stations"]["station"], tables["stations"]["airtime_share"], strict=True):
        shares[station] = shares.get(station, 0.0) + share
    largest = sorted(shares, key=lambda station: -shares[station])[:3]
    if shares[largest[0]]:
        told.append("Airtime, both directions: " + ", ".join(f"{name} {shares[name]:.0%}" for name in largest) + ".")
    told += [sentence for node in ("ap", "stations") if (sentence := _buffer(tables["queues"], node))]
    data = [row for row in report["flows"] if row["payload_bytes"]]
    for row in sorted(data, key=lambda row: -row["payload_bytes"])[:most_flows]:
        told.append(_flow(row, report["flows"]))
    return told


def _buffer(queues: Mapping[str, Sequence[Any]], node: str) -> str:
    """The fates of a buffer's packets, as a sentence."""
    at = [i for i, of in enumerate(zip(queues["node"], queues["class"], strict=True)) if of == (node, "all")]
    if not at or not queues["offered_packets"][at[0]]:
        return ""
    count = {name: values[at[0]] for name, values in queues.items()}
    whose = "The AP's buffer" if node == "ap" else "The stations' buffers"
    lost = count["tail_drop_packets"] + count["evicted_packets"] + count["aqm_drop_packets"]
    marked = count["ce_marked_packets"] + count["ece_marked_packets"]
    sojourn_ms = count["sojourn_mean_ms"]
    return (
        f"{whose} dropped {lost / count['offered_packets']:.1%} of {count['offered_packets']} packets "
        f"({count['tail_drop_packets']} tail drops, {count['evicted_packets']} evicted, {count['aqm_drop_packets']} by AQM), filtered "
        f"{count['filtered_packets']} ACKs and marked {marked}"
        + (f"; mean sojourn time {sojourn_ms:.1f} ms." if sojourn_ms is not None else ".")
    )


def _flow(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """A sentence on one direction of a conversation."""
    lost = row["dropped"] + row["lost"]
    text = (
        f"{row['from']}:{row['from_port']} to {row['to']}:{row['to_port']} ({row['protocol']}): {row['goodput_mbps']:.3f} Mbps in {row['active_s']:.1f} s; "
        f"{lost / max(row['sent_packets'], 1):.1%} of {row['sent_packets']} packets lost ({row['dropped']} in buffers, {row['lost']} on "
        "air and wire)"
    )
    if row["protocol"] == "tcp":
        text += f", {row['retransmissions']} retransmissions"
        text += f", RTT {row['rtt_mean_ms']:.1f} ms" if row["rtt_mean_ms"] is not None else ""
        back = next(
            (other for other in rows if other["flow"] == row["flow"] and other["initiator"] != row["initiator"]), None
        )
        if back and (back["filtered"] or back["dropped"]):
            text += f"; of its ACKs {back['filtered']} were filtered and {back['dropped']} dropped"
    if row["marked"]:
        text += f"; {row['marked']} packets marked"
    return f"{text}."


def page(
    settings: Settings, reports: Sequence[Mapping[str, Any]], arguments: Sequence[str], rows: Sequence[Compared] = ()
) -> Report:
    """Emulated runs as a page; `rows` compare them with simulated ones. The first run is shown in detail."""
    from wifair.report.parts import Code, Details, Facts, Findings, Report, Section, Table, Text
    from wifair.report.provenance import command

    first = reports[0]
    headings = ("run", "verdict", "exchanges", "late", "late time, s", "median, µs", "99 %, µs", "most, µs")
    keys = ("exchanges", "late", "late_s", "p50_us", "p99_us", "max_us")
    late = [
        (number, word(report), *(report["lateness"][key] for key in keys)) for number, report in enumerate(reports, 1)
    ]
    invalid = [
        f"Run {number} of {len(reports)}: {verdict(report)}" if len(reports) > 1 else verdict(report)
        for number, report in enumerate(reports, 1)
        if not is_valid(report)
    ]
    mark = "" if is_valid(first) else f"{INVALID}. "
    about_flows = f"{mark}From the packets' headers, a row per direction of a conversation; rates over its active time."
    sections: list[Section] = [
        Section("Summary", [*([Text(invalid, "warning")] if invalid else []), Findings(sentences(first))]),
        Section(
            "Lateness", [Table.of(headings, late, "From the end of a data frame until its packets are handed over.")]
        ),
        Section("Flows", [_table(first["flows"], about_flows)]),
        Section("Stations", [_table(_rows(first["tables"]["stations"]))]),
        Section("Buffers", [_table(_rows(first["tables"]["queues"]))]),
    ]
    if rows:
        heads = ("", "kernel", "simulated", "difference")
        shown = [(row.metric, row.emulated, row.simulated, row.difference) for row in rows]
        about = f"{INVALID}: {len(invalid)} of {len(reports)} runs." if invalid else ""
        sections.insert(1, Section("Next to the simulation", [Table.of(heads, shown, about)]))
    facts = {"scheme": settings.plan["bss"]["ap"]["tx_queue"]["scheme"]["name"], "seed": f"{settings.seed}"}
    facts |= {
        "measured": f"{first['measured_s']:.1f} s",
        "runs": f"{len(reports)}; runs with real hosts are not repeatable",
    }
    plan = Details("The plan", [Code(json.dumps(settings.plan, indent=1))])
    sections.append(Section("How to run it again", [Code(command(arguments)), Facts(facts), plan]))
    return Report(settings.title, "Real hosts on the simulated air.", sections, kind="emulation")


def _rows(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _table(rows: Sequence[Mapping[str, Any]], caption: str = "") -> Any:
    """A table with a column per key, without empty columns."""
    from wifair.report.parts import Table

    keys = [key for key in (rows[0] if rows else ()) if key not in ("seed", "job") and any(row[key] for row in rows)]
    return Table.of(keys, [[row[key] for key in keys] for row in rows], caption, wide=True)
