"""What limited each flow: where its packets were lost, who used the airtime, and the states of its TCP sender.

Every sentence carries the engine's counters behind it, as means over the replications.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from wifair.planned import RATES, bsss_of, channels_of, overlap, stations_of, widths_of, wire_of
from wifair.results.wire import LONG_WAIT_MS
from wifair.stats import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from wifair.results.results import Results
    from wifair.scenario.scenario import Scenario
    from wifair.study.job import Progress
    from wifair.study.store import Store

# Default sampling interval of the senders' states, in seconds: less than a round trip.
LOOK_S = 0.01

# A sender's state at a sample, in drawing order.
PHASES = {
    "avoidance": "congestion avoidance",
    "slow_start": "slow start",
    "recovery": "fast recovery",
    "timed_out": "waiting for a retransmission timeout",
    "idle": "idle",
}
# The AP's loss counters, and their names in sentences.
LOSSES = {
    "ap_tail_drop_packets": "dropped at the full buffer",
    "ap_evicted_packets": "evicted from it",
    "ap_aqm_drop_packets": "dropped by its active queue management",
    "ap_retry_lost_packets": "lost at the retry limit",
}
# The largest number of hidden pairs that are named.
NAMED_PAIRS = 3
# Links that change, and changes of each, that are named.
FEW = 3
# The share from which a limit is the main one, and the share from which timeouts are mentioned.
MOST, SOME = 0.5, 0.2


@dataclass(frozen=True)
class Sentence:
    """A statement about a flow (about all flows if `flow` is empty) and the counters behind it."""

    flow: str
    text: str
    counters: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The sentence for JSON."""
        return {"flow": self.flow or None, "sentence": self.text, "counters": self.counters}


def watched(scenario: Scenario) -> Scenario:
    """The scenario with sampling of the senders' states."""
    run = scenario.plan()["run"]
    looks = run["state_interval_s"] or min(LOOK_S, run["duration_s"])
    return scenario.override({"run.state_interval_s": looks})


def results_of(
    scenario: Scenario, seeds: int, threads: int | None, progress: Progress | None, store: Store | None
) -> Results:
    """Runs the scenario with sampling of the senders' states."""
    from wifair.study.job import Cell
    from wifair.study.study import Study

    return Study([Cell(scenario.title or "scenario", watched(scenario))], seeds).run(threads, progress, store)


def means(frame: pl.DataFrame, keys: Iterable[str]) -> pl.DataFrame:
    """One row per entity: its numbers averaged over the replications."""
    keys = list(keys)
    numbers = [name for name, kind in frame.schema.items() if kind.is_numeric() and name not in ("seed", *keys)]
    return frame.group_by(keys, maintain_order=True).agg(pl.col(name).cast(pl.Float64).mean() for name in numbers)


def explain(results: Results) -> list[Sentence]:
    """The sentences about the air, then about each flow."""
    flows = means(results.flows, ["flow", "label", "direction", "station", "application", "transport"])
    stations = means(results.stations, ["station", "direction"])
    air = stations.group_by("station", maintain_order=True).agg(pl.col("airtime_share").sum())
    waits_ms = wire_waits_ms(results)
    told = [*of_the_air(results, air), *of_bsss(results), *of_hidden_stations(results), *of_the_wire(waits_ms)]
    told += of_changing_links(results)
    states = means(results.frames["states"], ["label"]) if "states" in results.frames else None
    plans = {flow["label"]: flow for flow in results.cells[0].scenario.plan()["flows"]}
    whole = results.cells[0].scenario.plan()
    wires_ms = {
        station["label"]: float(wire_of(whole, station["label"])["one_way_delay_ms"]) for station in stations_of(whole)
    }
    of_tcp = flows.filter(pl.col("transport") == "tcp")
    equal = float(of_tcp["goodput_mbps"].sum()) / max(1, of_tcp.height)
    for flow in flows.iter_rows(named=True):
        plan = plans[flow["label"]]
        own_ms = plan["one_way_delay_ms"]
        told += of_share(flow, equal)
        told += of_losses(flow, stations, flows)
        told += of_air(flow, air)
        if states is not None and flow["transport"] == "tcp":
            state = states.row(by_predicate=pl.col("label") == flow["label"], named=True)
            told += of_phases(flow, state)
            waited_ms = sum(waits_ms.values()) if plan["wire_rate_mbps"] is None else 0.0
            told += of_limit(
                flow, state, plan, 2 * (wires_ms[flow["station"]] if own_ms is None else own_ms), waited_ms
            )
        if flow["transport"] != "tcp":
            rows = means(results.datagrams, ["label", "direction"]).filter(pl.col("label") == flow["label"])
            told += of_datagrams(flow, rows)
    return told


def of_bsss(results: Results) -> list[Sentence]:
    """What each of several BSSs has of the air, and what it loses to the others."""
    if len(bsss_of(results.cells[0].scenario.plan())) == 1:
        return []
    told = []
    for row in means(results.bsss, ["bss"]).iter_rows(named=True):
        own, others = row["busy_own_share"], row["busy_others_share"]
        lost, attempts = row["lost_to_others"], row["attempts"]
        text = (
            f"{row['bss']}: its frames are on the air for {own:.0%} of the time, and for a further {others:.0%} its access point senses those "
            f"of other BSSs. Of {attempts:,.0f} attempts {row['lost_same_start']:,.0f} frames were lost to others that began at the same "
            f"instant and {row['lost_hidden']:,.0f} to hidden transmitters, {lost:,.0f} of them to other BSSs alone."
        )
        names = ["busy_own_share", "busy_others_share", "attempts", "lost_same_start", "lost_hidden", "lost_to_others"]
        if row.get("beacons"):
            text += (
                f" Its beacons take {row['beacon_share']:.1%} of the air; of {row['beacons']:,.0f}, {row['beacons_collided']:,.0f} "
                "were not decoded by all of its stations."
            )
            names += ["beacon_share", "beacons", "beacons_collided"]
        told.append(Sentence("", text, {f"{name} of {row['bss']}": row[name] for name in names}))
    return told


def of_the_air(results: Results, air: pl.DataFrame) -> list[Sentence]:
    """Airtime by station, collisions and idle time."""
    if len(bsss_of(results.cells[0].scenario.plan())) > 1:
        return []
    run = means(results.runs, ["scenario"]).row(0, named=True)
    shares = {row["station"]: row["airtime_share"] for row in air.iter_rows(named=True)}
    listed = sorted(shares.items(), key=lambda entry: -entry[1])
    names = ", ".join(f"{name} {share:.0%}" for name, share in listed[:5])
    more = f" and {len(listed) - 5} others {sum(share for _, share in listed[5:]):.0%}" if len(listed) > 5 else ""
    counters = {f"airtime_share of {name}": share for name, share in listed}
    counters |= {f"{what}_share": run[f"{what}_share"] for what in ("collision", "beacon", "idle")}
    beacons = f", beacons {run['beacon_share']:.1%}" if run["beacons"] else ""
    text = f"The air: {names}{more}; collisions {run['collision_share']:.0%}{beacons}, idle {run['idle_share']:.0%}."
    return [Sentence("", text, counters)]


def of_hidden_stations(results: Results) -> list[Sentence]:
    """Which stations do not sense each other's frames, in a field."""
    from wifair.scenario.scenario import Scenario

    scenario = results.cells[0].scenario
    plan = scenario.plan()
    if plan["bss"]["field"] is None or not isinstance(
        scenario, Scenario
    ):  # of a store's record the plan alone is known
        return []
    hidden, channels, widths = scenario.hidden_pairs(), channels_of(plan), widths_of(plan)
    on_channel: Counter[tuple[int, int]] = Counter()
    for name, own in bsss_of(plan).items():
        on_channel[channels[name] or 0, widths[name]] += len(own)
    pairs = sum(stations * (stations - 1) / 2 for stations in on_channel.values())
    pairs += sum(on_channel[a] * on_channel[b] for a, b in combinations(on_channel, 2) if overlap(a, b))
    counters = {"hidden_pairs": float(len(hidden)), "pairs_of_stations": pairs}
    if not hidden:
        on_one = " on one channel" if len(on_channel) > 1 else ""
        return [Sentence("", f"All stations{on_one} sense each other's frames.", counters)]
    if len(hidden) > NAMED_PAIRS:
        names = [name for pair in hidden for name in pair]
        most = max(names, key=names.count)
        counters |= {f"hidden_pairs of {most}": float(names.count(most))}
        text = (
            f"{len(hidden)} of {counters['pairs_of_stations']:.0f} pairs of stations do not sense each other's frames; "
        )
        return [Sentence("", f"{text}{names.count(most)} of these pairs contain {most}.", counters)]
    text = "; ".join(_hidden(pair, senses) for pair, senses in hidden.items())
    return [Sentence("", f"{text}.", counters)]


def _hidden(pair: tuple[str, str], senses: tuple[bool, bool]) -> str:
    """What two stations do not sense; `senses` as in `Scenario.hidden_pairs`."""
    if not any(senses):
        return f"{pair[0]} and {pair[1]} do not sense each other's frames"
    deaf = senses.index(False)
    return f"{pair[deaf]} does not sense the frames of {pair[1 - deaf]}"


def wire_waits_ms(results: Results) -> dict[str, float]:
    """The mean time that packets waited for the wire that all servers share, by direction."""
    found = {way: results.metrics[f"wire_{way}_wait_mean_ms"].mean() for way in ("down", "up")}
    return {way: waited for way, waited in found.items() if isinstance(waited, float)}


def of_the_wire(waits_ms: dict[str, float]) -> list[Sentence]:
    """The wait for the wire that all servers share."""
    if not waits_ms:
        return []
    parts = [f"{_ms(waited)} on the way {way}" for way, waited in waits_ms.items()]
    counters = {f"wire_{way}_wait_mean_ms": waited for way, waited in waits_ms.items()}
    return [Sentence("", f"The wire: packets waited for it {' and '.join(parts)}, on the mean.", counters)]


def of_changing_links(results: Results) -> list[Sentence]:
    """Links whose rates an event changes: what is said of them is the mean over all of the time. And how to explain the time before and after it alone."""
    times: dict[str, list[float]] = {}
    plan = results.cells[0].scenario.plan()
    for event in plan["events"]:
        station = event["station"]
        if station and any(station[key] is not None for key in RATES):
            times.setdefault(station["label"], []).append(event["at_s"])
    if not times:
        return []
    some = [f"{name} at {', '.join(f'{at_s:g}' for at_s in at[:FEW])} s" for name, at in list(times.items())[:FEW]]
    more = f", and {len(times) - FEW} more" if len(times) > FEW else ""
    text = f"Links have other rates from a time on: {'; '.join(some)}{more}. What follows is the mean over all of the time."
    begin_s = plan["run"]["warmup_s"]
    end_s = begin_s + plan["run"]["duration_s"]
    if within := [at_s for each in times.values() for at_s in each if begin_s < at_s < end_s]:
        first_s, last_s = min(within), max(within)
        text += (
            f" After the last change alone: `--set run.warmup_s={last_s:g} --set run.duration_s={end_s - last_s:g}`."
        )
        if first_s == min(event["at_s"] for event in plan["events"]):
            text += f" Before the first: `--set 'events=[]' --set run.duration_s={first_s - begin_s:g}`."
    return [Sentence("", text, {"changing_links": float(len(times))})]


def of_share(flow: dict[str, Any], equal: float) -> list[Sentence]:
    """The flow's goodput, and for TCP its ratio to an equal share."""
    counters = {"goodput_mbps": flow["goodput_mbps"]}
    text = f"{flow['label']} ({flow['application']}, {flow['direction']}) got {flow['goodput_mbps']:.3g} Mbps"
    if flow["transport"] == "tcp":
        counters["equal_share_mbps"] = equal
        text += f", {flow['goodput_mbps'] / equal:.0%} of an equal share among TCP flows" if equal else ""
    return [Sentence(flow["label"], text + ".", counters)]


def of_losses(flow: dict[str, Any], stations: pl.DataFrame, flows: pl.DataFrame) -> list[Sentence]:
    """The flow's losses: at the AP by reason, in its station's buffer, and at its station's retry limit."""
    what = "ACKs" if flow["direction"] == "up" and flow["transport"] == "tcp" else "packets"
    counters = {name: flow[name] for name in ("ap_offered_packets", "ap_lost_packets", *LOSSES, "ap_filtered_packets")}
    reasons = [f"{flow[name]:,.0f} {words}" for name, words in LOSSES.items() if flow[name] > 0]
    text = f"The AP lost {flow['ap_lost_packets']:,.0f} of its {flow['ap_offered_packets']:,.0f} {what}"
    told = [Sentence(flow["label"], f"{text}: {', '.join(reasons)}." if reasons else f"{text}.", counters)]
    if flow["ap_filtered_packets"] > 0:
        text = f"{flow['ap_filtered_packets']:,.0f} redundant ACKs were filtered, which is no loss."
        told.append(Sentence(flow["label"], text, {"ap_filtered_packets": flow["ap_filtered_packets"]}))
    own = stations.row(by_predicate=(pl.col("station") == flow["station"]) & (pl.col("direction") == "up"), named=True)
    lost = {"buffer_lost_packets": own["buffer_lost_packets"], "retry_lost": own["retry_lost"]}
    if any(lost.values()):
        sharing = flows.filter(pl.col("station") == flow["station"]).height
        whose = f" (of {sharing} flows together)" if sharing > 1 else ""
        text = (
            f"Its station{whose} lost {lost['buffer_lost_packets']:,.0f} of {own['buffer_offered_packets']:,.0f} packets in its own "
            f"buffer, and {lost['retry_lost']:,.0f} on the air."
        )
        told.append(Sentence(flow["label"], text, lost | {"buffer_offered_packets": own["buffer_offered_packets"]}))
    if flow["transport"] == "tcp" and flow["segments_sent"] > 0:
        text = f"Of {flow['segments_sent']:,.0f} segments {flow['retransmissions']:,.0f} were retransmissions, "
        text += f"with {flow['fast_retransmits']:,.0f} fast retransmits and {flow['timeouts']:,.0f} retransmission timeouts."
        names = ("segments_sent", "retransmissions", "fast_retransmits", "timeouts")
        told.append(Sentence(flow["label"], text, {name: flow[name] for name in names}))
    return told


def of_air(flow: dict[str, Any], air: pl.DataFrame) -> list[Sentence]:
    """The airtime share of the flow's station, both directions."""
    share = float(air.filter(pl.col("station") == flow["station"])["airtime_share"].item())
    text = f"Its station {flow['station']} used {share:.0%} of the air, both ways together."
    return [Sentence(flow["label"], text, {"airtime_share": share})]


def of_phases(flow: dict[str, Any], state: dict[str, Any]) -> list[Sentence]:
    """The share of time that the sender spent in each state."""
    shares = {name: state[name] / state["looks"] for name in PHASES}
    listed = sorted((name for name in shares if shares[name] >= 0.005), key=lambda name: -shares[name])
    text = "Its time: " + ", ".join(f"{PHASES[name]} {shares[name]:.0%}" for name in listed) + "."
    return [Sentence(flow["label"], text, {"looks": state["looks"], **{name: state[name] for name in PHASES}})]


def limit_of(flow: dict[str, Any], state: dict[str, Any], plan: dict[str, Any]) -> tuple[str, str, dict[str, float]]:
    """What limited the flow: as a short name, as a sentence, and the counters behind it."""
    active = state["looks"] - state["idle"]
    if active == 0:
        return "application", "It was limited by its application: it had nothing to send.", {}
    waiting = state["timed_out"] / active
    window = state["limited_by_receiver_window"] / active
    application = state["limited_by_application"] / active
    if state["idle"] / state["looks"] > MOST:
        idle = state["idle"] / state["looks"]
        return (
            "application",
            f"It was limited by its application: it had nothing to send for {idle:.0%} of the time.",
            {},
        )
    if application > MOST:
        text = (
            f"It was limited by its application: everything to send was in flight in {application:.0%} of the samples."
        )
        return "application", text, {}
    if waiting > SOME:
        text = (
            f"It was limited by losses: for {waiting:.0%} of the time it waited for a retransmission timeout, of which it "
            f"had {flow['timeouts']:,.0f}."
        )
        return "timeouts", text, {"timeouts": flow["timeouts"]}
    if window > MOST:
        segments = plan["tcp"]["receiver_window_segments"]
        text = f"It was limited by the receive window of {segments} segments in {window:.0%} of the samples"
        counters: dict[str, float] = {}
        if flow["rtt_mean_ms"]:
            most = segments * plan["tcp"]["mss_bytes"] * 8e-3 / flow["rtt_mean_ms"]
            text += f": one window per round trip of {flow['rtt_mean_ms']:.0f} ms is {most:.3g} Mbps"
            counters = {"rtt_mean_ms": flow["rtt_mean_ms"], "receiver_window_segments": segments}
        return "receive window", f"{text}.", counters
    reductions = flow["fast_retransmits"] + flow["ecn_reductions"] + flow["timeouts"]
    held = state["limited_by_congestion_window"] / active
    text = f"It was limited by its congestion window in {held:.0%} of the samples: losses and marks cut it {reductions:,.0f} times."
    return "congestion window", text, {name: flow[name] for name in ("fast_retransmits", "ecn_reductions", "timeouts")}


def of_limit(
    flow: dict[str, Any], state: dict[str, Any], plan: dict[str, Any], wire_rtt_ms: float, wire_waits_ms: float
) -> list[Sentence]:
    """What limited the flow, and the parts of its round-trip time."""
    names = (
        "limited_by_application",
        "limited_by_receiver_window",
        "limited_by_congestion_window",
        "timed_out",
        "idle",
        "looks",
    )
    _, text, more = limit_of(flow, state, plan)
    told = [Sentence(flow["label"], text, {name: state[name] for name in names} | more)]
    if flow["rtt_mean_ms"] and state["idle"] < state["looks"]:
        beyond = flow["rtt_mean_ms"] - wire_rtt_ms
        text = f"A round trip took {flow['rtt_mean_ms']:.0f} ms, {wire_rtt_ms:.0f} ms of it on the wire and {beyond:.0f} ms in queues and on the air."
        counters = {"rtt_mean_ms": flow["rtt_mean_ms"], "wire_rtt_ms": wire_rtt_ms}
        if wire_waits_ms >= LONG_WAIT_MS:
            text += f" Packets waited {wire_waits_ms:.0f} ms before the wire, both ways together."
            counters["wire_waits_ms"] = wire_waits_ms
        told.append(Sentence(flow["label"], text, counters))
    return told


def of_datagrams(flow: dict[str, Any], rows: pl.DataFrame) -> list[Sentence]:
    """Loss, delay and voice quality (MOS) by direction."""
    told = []
    for row in rows.iter_rows(named=True):
        names = (
            "sent_packets",
            "lost_packets",
            "delay_mean_ms",
            "delay_p95_ms",
            "jitter_ms",
            "rtt_p50_ms",
            "rtt_p95_ms",
            "mos",
        )
        counters = {name: row[name] for name in names if row[name] is not None}
        text = f"{row['direction'].capitalize()}: {row['lost_packets']:,.0f} of {row['sent_packets']:,.0f} datagrams were lost"
        if row["delay_mean_ms"] is not None:
            text += f"; one-way delay {_ms(row['delay_mean_ms'])}, 95 % within {_ms(row['delay_p95_ms'])}"
        if row["rtt_p50_ms"] is not None:
            text += f"; round trip {_ms(row['rtt_p50_ms'])}, 95 % within {_ms(row['rtt_p95_ms'])}"
        if row["mos"] is not None:
            text += f"; opinion score {row['mos']:.2f}"
        told.append(Sentence(flow["label"], text + ".", counters))
    return told


def draw(results: Results, path: str | Path) -> Path:
    """Draws three panels with a bar per flow or station: sender states, losses at the AP, airtime.

    The bars of the last two have 95 % intervals over the replications.
    """
    from wifair.plots import figure, save

    flows = means(results.flows, ["flow", "label", "station", "transport"])
    stations = means(results.stations, ["station", "direction"])
    height = 2.2 + 0.24 * max(flows.height, stations.height // 2)
    made, axes = figure(3, width=5.4, height=height)

    states = means(results.frames["states"], ["label"]) if "states" in results.frames else pl.DataFrame({"label": []})
    parts = {
        words: [row[name] / row["looks"] for row in states.iter_rows(named=True)] for name, words in PHASES.items()
    }
    _stacked(axes[0], states["label"].to_list(), parts, "share of the time", "What TCP senders did")

    lost = {words: flows[name].to_list() for name, words in LOSSES.items()}
    lost["redundant ACKs filtered (no loss)"] = flows["ap_filtered_packets"].to_list()
    _stacked(axes[1], flows["label"].to_list(), lost, "packets per run", "What the AP lost or filtered")
    _intervals(axes[1], results.flows, "label", pl.col("ap_lost_packets") + pl.col("ap_filtered_packets"))

    labels = stations["station"].unique(maintain_order=True).to_list()
    ways = {
        f"{words} the station": stations.filter(pl.col("direction") == way)["airtime_share"].to_list()
        for way, words in (("up", "from"), ("down", "to"))
    }
    _stacked(axes[2], labels, ways, "share of the time", "Who used the air")
    _intervals(axes[2], results.stations, "station", pl.col("airtime_share"))
    path = Path(path)
    return save(made, path.parent, path.stem, (path.suffix.removeprefix("."),))[0]


# Colour-blind safe (Okabe, Ito 2008); the hatching distinguishes them in greyscale.
BARS = (("#0072B2", ""), ("#E69F00", "//"), ("#D55E00", "xx"), ("#000000", ".."), ("#CCCCCC", "\\\\"))


def _intervals(axes: Axes, frame: pl.DataFrame, entity: str, quantity: pl.Expr) -> None:
    """The 95 % interval of each bar's length over the replications."""
    totals = frame.group_by(entity, "seed", maintain_order=True).agg(total=quantity.sum())
    for (name,), part in totals.group_by(entity, maintain_order=True):
        found = t_interval(part["total"].to_numpy())
        if found.low is not None and found.high is not None:
            reach = [[found.estimate - found.low], [found.high - found.estimate]]
            axes.errorbar([found.estimate], [str(name)], xerr=reach, color="black", capsize=3, linewidth=1)
    axes.set_xlim(left=0)


def _stacked(axes: Axes, labels: list[str], parts: dict[str, list[float]], unit: str, title: str) -> None:
    left = [0.0] * len(labels)
    for (words, values), (grey, hatch) in zip(parts.items(), BARS, strict=False):
        axes.barh(labels, values, left=left, color=grey, hatch=hatch, edgecolor="white", label=words)
        left = [before + value for before, value in zip(left, values, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.set_title(title)
    axes.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)


def _ms(value: float) -> str:
    """Milliseconds with three digits, without an exponent."""
    return f"{value:.0f} ms" if value >= 100 else f"{value:.3g} ms"
