"""A run as its access point shows it: `wifair run SCENARIO --as-ap DIR` writes what `iw`, `tc` and debugfs would print.

The counters are those of the measurement, without the warm-up. With time series, the station dumps of all samples follow each other in one file. mac80211 counts packets that pass the radio, with the 802.11 header. A bit rate is that
of the last instant. The channel is one of the band, and addresses are locally administered. What results do not have is left out: signal, expected
throughput, inactive time, noise. A scheme that is no qdisc and not the queues of mac80211 has no file of its queues.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from wifair.observed import aql, bitrate, qdisc, queues
from wifair.observed.bitrate import GENERATIONS, PHYS, Bitrate
from wifair.observed.calibration import NEIGHBOURS, RETRIES
from wifair.observed.loads import DIRECTIONS, FRAME_BYTES
from wifair.results.bsss import TABLE as BSSS
from wifair.results.results import writable_folder

if TYPE_CHECKING:
    from wifair.results.results import Results
    from wifair.scenario.scenario import Scenario

DEVICE = "wlan0"
# The IPv4 address of the first station; a hardware address has the prefix 02:00 and the IPv4 address.
FIRST_STATION = 0x0A00_0001
# By band in GHz: a channel and its frequency in MHz.
CHANNELS = {2.4: (6, 2437), 5: (36, 5180), 6: (1, 5955)}
# PHYs without widths.
OLDER = GENERATIONS[: GENERATIONS.index("802.11n")]
Row = dict[str, Any]
# The rows of a run's stations by label and direction.
Sent = dict[tuple[str, str], Row]
STATION, SURVEY, INFO = "station.txt", "survey.txt", "info.txt"
AQM, AQL, AQL_OF_RADIO, QDISC = "aqm.txt", "aql.txt", "aql_txq_limit.txt", "qdisc.json"
# When stations associate, in milliseconds since 1970.
ASSOCIATED_MS = 1_000_000_000_000
# The time between two station dumps of a run, unless the scenario has an interval of time series.
DUMP_S = 1.0
SERIES = "station_series"
# What a station dump counts, of the tables `stations` and `station_series`.
COUNTED = ("airtime_s", "frames_delivered", "bytes_delivered", "retries", "retry_lost", "ppdus", "mpdus")
# Bytes of a packet that a qdisc counts and IP does not: Ethernet's header.
ETHERNET_BYTES = 14
# The first access point among the nodes of results; its categories follow after a slash.
FIRST_AP = "ap"


def sampled(scenario: Scenario, folder: Path | None = None) -> Scenario:
    """The scenario with time series, for a station dump per second if it is long enough. Raises `InputError` if `folder` is not writable."""
    if folder:
        writable_folder(folder)
    run = scenario.plan()["run"]
    is_short = run["warmup_s"] + run["duration_s"] < DUMP_S
    return scenario if run["sample_interval_s"] or is_short else scenario.override({"run.sample_interval_s": DUMP_S})


def write(results: Results, folder: str | Path) -> str:
    """Writes a folder per replication; returns a message that names the first. Raises `InputError` if it is not writable."""
    root = writable_folder(folder)
    made: list[Path] = []
    for cell in results.cells:
        plan = cell.scenario.plan()
        there = set(results.runs.filter(pl.col("scenario") == cell.name)["seed"])
        for seed in (seed for seed in results.seeds if seed in there):
            own = root / cell.name if len(results.cells) > 1 else root
            made.append(writable_folder(own / f"seed-{seed}"))
            shown = dict(chain(files(results, plan, cell.name, seed), files_of_queues(results, plan, cell.name, seed)))
            if series := "".join(dumps(results, plan, cell.name, seed)):
                shown[STATION] = series
            for name, content in shown.items():
                (made[-1] / name).write_text(content, encoding="utf-8")
    return f"as the access point shows it: {made[0]}" + (f" and {len(made) - 1} more" if made[1:] else "")


def files(results: Results, plan: Mapping[str, Any], scenario: str, seed: int) -> Iterator[tuple[str, str]]:
    """The name and the content of each file of a replication that has counters of stations, or the channel."""
    mine = {
        name: frame.filter((pl.col("scenario") == scenario) & (pl.col("seed") == seed))
        for name, frame in results.frames.items()
        if name in ("runs", BSSS, "stations")
    }
    mine["stations"] = mine["stations"].with_columns(mpdu_retries=RETRIES)
    rows = {name: frame.to_dicts() for name, frame in mine.items()}
    [run] = rows["runs"]
    frequency, width = _channel(plan)
    sent = {(row["station"], row["direction"]): row for row in rows["stations"]}
    yield STATION, _dump(sent, plan, plan["run"]["duration_s"])
    yield SURVEY, _survey(run, _busy_share(run, rows.get(BSSS, [])), frequency)
    number = next(channel for channel, mhz in CHANNELS.values() if mhz == frequency)
    centre = f", center1: {frequency + width // 2 - 10} MHz" if width > 20 else ""
    yield INFO, f"Interface {DEVICE}\n\ttype AP\n\tchannel {number} ({frequency} MHz), width: {width} MHz{centre}\n"


def dumps(results: Results, plan: Mapping[str, Any], scenario: str, seed: int) -> Iterator[str]:
    """The station dumps of a replication with time series: at the first sample of the measurement, which is when stations associate, and at each later one.

    None of a replication without two such samples.
    """
    if SERIES not in results.frames:
        return
    of = ["station", "direction"]
    mine = results.frames[SERIES].filter((pl.col("scenario") == scenario) & (pl.col("seed") == seed))
    mine = mine.filter(pl.col("time_s") >= plan["run"]["warmup_s"]).sort("time_s")
    if mine["time_s"].n_unique() < 2:
        return
    began_s = mine["time_s"][0]
    since = [(pl.col(name).cum_sum() - pl.col(name).first()).over(of) for name in COUNTED]
    # MPDUs of a PPDU on the air count as sent before they count as delivered: a sum of intervals alone has the right retries.
    counted = mine.with_columns(since).with_columns(mpdu_retries=RETRIES.cum_max().over(of))
    for (time_s,), rows in counted.group_by("time_s", maintain_order=True):
        sent = {(row["station"], row["direction"]): row for row in rows.to_dicts()}
        yield _dump(sent, plan, time_s - began_s)


def files_of_queues(results: Results, plan: Mapping[str, Any], scenario: str, seed: int) -> Iterator[tuple[str, str]]:
    """The name and the content of each file of a replication that has the queues of the access point."""
    ap = plan["bss"]["ap"]
    own = {
        number: ap["tx_queue"] | {key: value for key, value in ap["categories"][name].items() if value is not None}
        for number, name in enumerate(qdisc.CATEGORIES, 1)
    }
    if all(each == ap["tx_queue"] for each in own.values()) and queues.is_of_linux(ap["tx_queue"]):
        yield AQM, queues.aqm(ap["tx_queue"])
        yield QDISC, _json([{"kind": "noqueue", "handle": "0:", "root": True, "options": {}}])
    else:
        mine = results.queues.filter(scenario=scenario, seed=seed, **{"class": "all"}).to_dicts()
        entries = _qdiscs(ap["tx_queue"], own, {row["node"]: row for row in mine})
        if entries:
            yield QDISC, _json(entries)
    for name, content in ((AQL, aql.of_station), (AQL_OF_RADIO, aql.of_radio)):
        if limits := content(ap["hardware"]):
            yield name, limits


def _qdiscs(tx_queue: Row, own: Mapping[int, Row], rows: Mapping[str, Row]) -> list[Row]:
    """The qdiscs of an access point: one, or one for each category if there may be packets of several; none if a queue is like no qdisc."""
    used = [each for each in rows if each.startswith(f"{FIRST_AP}/")]
    if len(used) < 2:
        found = qdisc.options(own[qdisc.BEST_EFFORT] if used else tx_queue)
        return [_qdisc(*found, {"root": True}, rows[FIRST_AP])] if found else []
    shown = {number: qdisc.options(each) for number, each in own.items()}
    below = [
        _qdisc(
            *found, {"parent": f"1:{number}"}, rows.get(f"{FIRST_AP}/{qdisc.CATEGORIES[number - 1].replace('_', '-')}")
        )
        for number, found in reversed(shown.items())
        if found
    ]
    return [_qdisc("mq", {}, {"root": True}, rows[FIRST_AP]), *below] if len(below) == len(own) else []


def _qdisc(kind: str, options: Row, at: Row, row: Row | None) -> Row:
    """A qdisc as `tc -s` shows it, without what results do not have. A category without a row had no traffic."""
    handle = "0:" if "parent" in at else "1:"
    counted = {"bytes": 0, "packets": 0, "drops": 0, "overlimits": 0}
    if row:
        drops = row["tail_drop_packets"] + row["evicted_packets"] + row["aqm_drop_packets"]
        packets = row["dequeued_packets"]
        counted |= {"bytes": row["dequeued_bytes"] + ETHERNET_BYTES * packets, "packets": packets, "drops": drops}
    marked = {"ecn_mark": row["ce_marked_packets"] if row else 0} if "ecn" in options else {}
    return {"kind": kind, "handle": handle, **at, "options": options, **counted, **marked}


def _json(entries: list[Row]) -> str:
    return json.dumps(entries, separators=(",", ":"))


def _channel(plan: Mapping[str, Any]) -> tuple[int, int]:
    """Frequency and width in MHz."""
    phy = plan["bss"]["phy"]
    older = 2.4 if phy["name"] in ("802.11b", "802.11g") else 5
    return CHANNELS[phy.get("band_ghz") or older][1], _width(phy)


def _dump(sent: Sent, plan: Mapping[str, Any], elapsed_s: float) -> str:
    """A station dump so many seconds after the stations have associated."""
    numbered = enumerate(each["label"] for each in plan["bss"]["stations"])
    return "".join(_station(sent, plan, number, elapsed_s) for number, label in numbered if label != NEIGHBOURS)


def _station(sent: Sent, plan: Mapping[str, Any], number: int, elapsed_s: float) -> str:
    station = plan["bss"]["stations"][number]
    label = station["label"]
    own = {way: sent[label, way] for way in DIRECTIONS}
    size = {way: each["bytes_delivered"] + FRAME_BYTES * each["frames_delivered"] for way, each in own.items()}
    rate = {way: bitrate.text(mode_of(plan["bss"], station, own[way]["link_rate_end_mbps"], way)) for way in DIRECTIONS}
    down, up = own["down"], own["up"]
    fields = [
        ("rx bytes", f"{size['up']}"),
        ("rx packets", f"{up['frames_delivered']}"),
        ("tx bytes", f"{size['down']}"),
        ("tx packets", f"{down['frames_delivered']}"),
        ("tx retries", f"{down['mpdu_retries']}"),
        ("tx failed", f"{down['retry_lost']}"),
        ("tx bitrate", rate["down"]),
        ("tx duration", f"{round(down['airtime_s'] * 1e6)} us"),
        ("rx bitrate", rate["up"]),
        ("rx duration", f"{round(up['airtime_s'] * 1e6)} us"),
        ("authorized", "yes"),
        ("connected time", f"{int(elapsed_s)} seconds"),
        ("associated at", f"{ASSOCIATED_MS} ms"),
        ("current time", f"{ASSOCIATED_MS + round(elapsed_s * 1000)} ms"),
    ]
    address = ":".join(f"{byte:02x}" for byte in (2, 0, *(FIRST_STATION + number).to_bytes(4, "big")))
    return f"Station {address} (on {DEVICE})\n" + "".join(f"\t{name}:\t{told}\n" for name, told in fields)


def mode_of(bss: Mapping[str, Any], station: Mapping[str, Any], rate_mbps: float, way: str) -> Bitrate:
    """The mode of a link whose rate was `rate_mbps`: that with the nearest rate, of those that the keys leave open."""
    phy = {**bss["phy"], **{key: found for key, found in (station["phy"] or {}).items() if found is not None}}
    generation = phy["name"]
    if generation not in {name for name, _, _ in PHYS.values()}:
        return Bitrate(rate_mbps)
    mcs = station["mcs_down"] if way == "down" and station["mcs_down"] is not None else station["mcs"]
    is_ht, he = generation == "802.11n", GENERATIONS.index(generation) >= GENERATIONS.index("802.11ax")
    most = station["streams"] or phy.get("streams") or 1
    if is_ht and mcs is not None:
        most, mcs = max(most, mcs // 8 + 1), mcs % 8
    choices = product(
        range(10) if generation == "802.11ac" else range(8 if is_ht else 14 if generation == "802.11be" else 12),
        range(most, 0, -1),
        [_width(phy)],
        [phy["guard_interval_ns"]] if phy.get("guard_interval_ns") else bitrate.HE_GI_NS if he else (800, 400),
    )
    known = [Bitrate(bitrate.mbps(generation, *mode), generation, *mode) for mode in choices]
    found = min(known, key=lambda mode: (round(abs(mode.mbps - rate_mbps), 3), mode.mcs != mcs, -mode.streams))
    index = (found.mcs or 0) + (8 * (found.streams - 1) if is_ht else 0)
    return Bitrate(found.mbps, generation, index, found.streams, found.width_mhz, found.guard_interval_ns)


def _width(phy: Mapping[str, Any]) -> int:
    """The channel width in MHz, without the key the PHY's default."""
    is_narrow = phy["name"] in (*OLDER, "802.11n") or phy.get("band_ghz") == 2.4
    return phy.get("width_mhz") or (20 if is_narrow else 80)


def _busy_share(run: Row, bsss: list[Row]) -> float:
    """The share of time in which the first access point senses a busy medium: frames of its BSS, and of others if there are."""
    if not bsss:
        return float(1 - run["idle_share"])
    return float(bsss[0]["busy_own_share"] + bsss[0]["busy_others_share"])


def _survey(run: Row, busy: float, frequency: int) -> str:
    active_ms = round(run["duration_s"] * 1000)
    sent = run["airtime_down_share"] + run["beacon_share"]
    # The access point receives a collision with errors, or takes part in it: results have the sum.
    received = run["airtime_up_share"] + run["collision_share"]
    times = {"active": 1.0, "busy": busy, "receive": received, "transmit": sent}
    lines = [f"\tchannel {name} time:\t\t{round(share * active_ms)} ms\n" for name, share in times.items()]
    return f"Survey data from {DEVICE}\n\tfrequency:\t\t\t{frequency} MHz [in use]\n" + "".join(lines)
