"""Likely mistakes in a scenario, found by arithmetic over its plan. Nothing is simulated.

Each rule is a function from a `Plan` to findings; `RULES` lists them. A finding names the key, the problem, and the
arithmetic with its values. A finding need not be a mistake: a study may do it on purpose.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from wifair.scenario.components import components, transport

if TYPE_CHECKING:
    from wifair.scenario.scenario import Scenario

# Least number of values that must lie beyond a quantile for it to be meaningful.
VALUES_BEYOND = 10

# Words in a group's name that say which way its data goes, or what it carries.
WAYS = {word: way for way in ("up", "down") for word in (way, f"{way}load", f"{way}loads", f"{way}link")}
CARRIED = {
    "ping": ("ping",),
    "game": ("game", "udp"),
    "voip": ("voip", "udp"),
    "call": ("voip", "udp"),
    "web": ("web", "transfers"),
    "pages": ("web", "transfers"),
    "reading": ("web", "transfers"),
    **dict.fromkeys(("upload", "uploads", "download", "downloads"), ("bulk", "transfers", "web", "udp")),
}


@dataclass(frozen=True)
class Finding:
    """A likely mistake in a scenario."""

    key: str
    finding: str
    arithmetic: str
    values: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The finding for JSON."""
        return {**asdict(self), "values": dict(self.values)}


class Plan:
    """A scenario's plan with the quantities that the rules use."""

    def __init__(self, scenario: Scenario) -> None:
        self.plan = scenario.plan()
        self.scenario = scenario
        self._airtimes: dict[int, dict[tuple[str, str], float]] = {}
        self.run = self.plan["run"]
        self.port = self.plan["cell"]["ap"]["port"]
        self.scheme: str = self.port["scheme"]["name"]
        self.limit: int = self.port["limit_packets"]
        self.edca: dict[str, Any] | None = self.plan["cell"]["mac"]["edca"]
        self.flows: list[dict[str, Any]] = self.plan["flows"]
        self.tcp = [flow for flow in self.flows if transport(flow["application"]["name"]) == "tcp"]
        self.end_s: float = self.run["warmup_s"] + self.run["duration_s"]

    def of(self, application: str) -> list[dict[str, Any]]:
        """The flows that carry an application."""
        return [flow for flow in self.flows if flow["application"]["name"] == application]

    def rate_mbps(self, ip_bytes: int, station: str, direction: str) -> float:
        """IP throughput of one sender to or from a station that is alone on the air, in Mbit/s."""
        return ip_bytes * 8 / self.airtimes(ip_bytes)[station, direction]

    def airtimes(self, ip_bytes: int) -> dict[tuple[str, str], float]:
        """The airtime of a frame without contention by station and direction, in microseconds."""
        if ip_bytes not in self._airtimes:
            self._airtimes[ip_bytes] = self.scenario.airtimes_us(ip_bytes)
        return self._airtimes[ip_bytes]

    def segment_bytes(self, flow: dict[str, Any]) -> int:
        """IP bytes of a full segment."""
        return int(flow["tcp"]["mss_bytes"] + flow["tcp"]["header_bytes"])

    def size_of(self, group: str) -> int:
        """The number of flows of a group."""
        return sum(flow["group"] == group for flow in self.flows)

    def delay_ms(self, flow: dict[str, Any]) -> float:
        """One-way delay of a flow's wire, in milliseconds."""
        own = flow["one_way_delay_ms"]
        return float(self.plan["wire"]["one_way_delay_ms"] if own is None else own)

    @property
    def downloads(self) -> list[dict[str, Any]]:
        """Downlink TCP flows: their data is queued at the AP."""
        return [flow for flow in self.tcp if flow["direction"] == "down"]

    @property
    def uploads(self) -> list[dict[str, Any]]:
        """Uplink TCP flows: their ACKs are queued at the AP."""
        return [flow for flow in self.tcp if flow["direction"] == "up"]

    def most_queued(self) -> tuple[int, str]:
        """The most TCP packets that the flows' windows allow in the AP's buffer, and the calculation in words."""
        data = sum(self.window_segments(flow) for flow in self.downloads)
        acks = sum(
            math.ceil(self.window_segments(flow) / flow["tcp"]["delayed_ack"]["segments"]) for flow in self.uploads
        )
        return data + acks, (
            f"windows of {len(self.downloads)} downlink flows: {data} segments; ACKs of the windows of "
            f"{len(self.uploads)} uplink flows: {acks}; together {data + acks}"
        )

    @staticmethod
    def window_segments(flow: dict[str, Any]) -> int:
        """The receive window in segments, summed over parallel connections."""
        return int(flow["tcp"]["receiver_window_segments"] * flow["application"].get("connections", 1))


Rule = Callable[[Plan], Iterator[Finding]]


def check(scenario: Scenario) -> list[Finding]:
    """All findings, in the order of the rules."""
    plan = Plan(scenario)
    return [finding for rule in RULES for finding in rule(plan)]


def wire_slower_than_the_air(plan: Plan) -> Iterator[Finding]:
    """The wired link is the bottleneck: the queue is at the server's end of it, not at the AP, so the scheme has no effect."""
    shared = [flow for flow in plan.downloads if flow["wire_rate_mbps"] is None]
    if not shared:
        return
    wire = float(plan.plan["wire"]["rate_mbps"])
    rates = {flow["label"]: plan.rate_mbps(plan.segment_bytes(flow), flow["station"], "down") for flow in shared}
    slowest = min(rates, key=lambda label: rates[label])
    if wire < rates[slowest]:
        yield Finding(
            "wire.rate_mbps",
            "the wired link is slower than the air: downlink packets queue before it, without a limit, and never at the AP",
            f"{wire:g} Mbps against {rates[slowest]:.3g} Mbps that the AP alone sends to the station of {slowest}",
            {"wire_mbps": wire, "air_mbps": rates[slowest]},
        )


def window_never_fills_the_buffer(plan: Plan) -> Iterator[Finding]:
    """The flows' windows together are smaller than the AP's buffer: it never overflows, so its limit has no effect."""
    datagrams = [flow for flow in plan.flows if flow not in plan.tcp]
    many = [flow for flow in datagrams if flow["application"]["name"] == "udp"]
    most, how = plan.most_queued()
    if not many and plan.tcp and most < plan.limit:
        yield Finding(
            "ap.limit_packets",
            "the windows can never fill the AP's buffer: its limit is never reached, and no packet is dropped there",
            f"{how}, below the limit of {plan.limit} packets",
            {"most_packets": most, "limit_packets": plan.limit},
        )


def sawtooth_s(plan: Plan, flow: dict[str, Any]) -> tuple[float, str]:
    """The period of a flow's window in seconds, from one loss at a full buffer to the next, and the calculation in words."""
    flows = max(1, len(plan.downloads))
    segment = plan.segment_bytes(flow)
    rate = min(plan.rate_mbps(segment, flow["station"], "down"), float(plan.plan["wire"]["rate_mbps"]))
    packet_ms = segment * 8e-3 / rate
    room = min(plan.limit, plan.most_queued()[0])
    rtt_ms = 2 * plan.delay_ms(flow) + room * packet_ms
    window = min((room + 2 * plan.delay_ms(flow) / packet_ms) / flows, plan.window_segments(flow))
    control = flow["tcp"]["congestion_control"]["name"]
    if control == "cubic":
        # RFC 9438, equation 2: the window is back at its old value after K, and grows no slower than Reno's.
        c = flow["tcp"]["congestion_control"]["c"]
        k = (window * 0.3 / c) ** (1 / 3)
        reno = window * 0.3 / 0.53 * rtt_ms * 1e-3
        seconds = min(k, reno)
        how = f"K = ({window:.0f} · 0.3 / {c:g})^(1/3) = {k:.2g} s, Reno's line {reno:.2g} s"
    else:
        seconds = window / 2 * rtt_ms * 1e-3
        how = f"{window:.0f} / 2 round trips of {rtt_ms:.0f} ms"
    return seconds, f"{how} (window of {window:.0f} segments at a full queue of {room} packets)"


def run_shorter_than_the_slowest_loop(plan: Plan) -> Iterator[Finding]:
    """The slowest control loop has not converged: shares are transient, and a longer run changes the result."""
    duration, warmup = float(plan.run["duration_s"]), float(plan.run["warmup_s"])
    loops: list[tuple[float, str, str]] = []
    bulk = [flow for flow in plan.downloads if flow["application"]["name"] == "bulk"]
    if bulk:
        slowest = max(bulk, key=lambda flow: sawtooth_s(plan, flow)[0])
        seconds, how = sawtooth_s(plan, slowest)
        loops.append((seconds, f"one sawtooth of {slowest['label']}'s window", how))
    control = plan.port["limit_controller"]
    if control and control["name"] == "alt":
        low, high = control["min_packets"], control["max_packets"]
        rate = control["decrease_packets_per_s"]
        loops.append(
            (
                (high - low) / rate,
                "the limit of alt from its highest to its lowest value",
                f"({high} - {low}) packets / {rate:g} packets/s",
            )
        )
    for seconds, what, how in loops:
        if seconds > duration / 3:
            yield Finding(
                "run.duration_s",
                f"the measurement is shorter than three times the slowest control loop ({what}: {seconds:.3g} s)",
                f"{how} = {seconds:.3g} s; three of them take {3 * seconds:.3g} s, the measurement {duration:g} s",
                {"loop_s": seconds, "duration_s": duration},
            )
        if seconds > warmup:
            yield Finding(
                "run.warmup_s",
                f"the warm-up is shorter than the slowest control loop ({what}: {seconds:.3g} s)",
                f"{how} = {seconds:.3g} s against a warm-up of {warmup:g} s; `wifair run --check-warmup` looks whether it settled",
                {"loop_s": seconds, "warmup_s": warmup},
            )


def flows_outside_the_measurement(plan: Plan) -> Iterator[Finding]:
    """A flow starts during the measurement, so its means include the time before, or stops before the measurement."""
    warmup = float(plan.run["warmup_s"])
    for flow in plan.flows:
        latest = float(flow["start_s"] + flow["start_spread_s"])
        stop = flow["stop_s"]
        values = {"start_s": latest, "warmup_s": warmup, "end_s": plan.end_s}
        if latest >= plan.end_s:
            text = "may start after the end of the run"
            yield Finding(
                f"{flow['label']}.start_s", f"{flow['label']} {text}", f"{latest:g} s against {plan.end_s:g} s", values
            )
        elif latest > warmup:
            text = "may start after the warm-up: its means count the silence before"
            yield Finding(
                f"{flow['label']}.start_s", f"{flow['label']} {text}", f"{latest:g} s against {warmup:g} s", values
            )
        if stop is not None and stop <= warmup:
            text = "stops before the measurement begins"
            values = {"stop_s": float(stop), "warmup_s": warmup}
            yield Finding(
                f"{flow['label']}.stop_s", f"{flow['label']} {text}", f"{stop:g} s against {warmup:g} s", values
            )


def acks_without_uploads(plan: Plan) -> Iterator[Finding]:
    """The scheme acts on ACKs, and no uplink TCP flow has ACKs in the AP's buffer."""
    of_acks = [scheme["name"] for scheme in components("schemes") if "ack" in scheme["decides_on"]]
    if plan.scheme in of_acks and not plan.uploads:
        yield Finding(
            "ap.scheme",
            f"{plan.scheme} works on the ACKs of uplink flows, and no flow of TCP goes up",
            f"0 of {len(plan.tcp)} flows of TCP go up",
            {"uplink_flows": 0, "tcp_flows": len(plan.tcp)},
        )


def marks_that_nobody_sets_or_hears(plan: Plan) -> Iterator[Finding]:
    """ECN needs both a buffer that marks and ECN-capable hosts; only one of them is configured."""
    listening = [flow for flow in plan.tcp if flow["tcp"]["ecn"]]
    marking = plan.scheme == "dqm" or plan.port["scheme"].get("signal", "drop") != "drop"
    values = {"ecn_flows": len(listening), "tcp_flows": len(plan.tcp)}
    if listening and not marking:
        text = f"{len(listening)} flows are ECN-capable, but {plan.scheme} never marks: ecn has no effect"
        yield Finding("tcp.ecn", text, f"{len(listening)} of {len(plan.tcp)} flows of TCP, 0 buffers that mark", values)
    if plan.tcp and not listening and marking:
        text = f"{plan.scheme} could mark, but no flow is ECN-capable: it drops instead"
        yield Finding("tcp.ecn", text, f"0 of {len(plan.tcp)} flows of TCP have ecn", values)


def priorities_that_nobody_looks_at(plan: Plan) -> Iterator[Finding]:
    """Packets have a DSCP, but the MAC does not map it to access categories."""
    marked = [flow["label"] for flow in plan.flows if flow["application"].get("dscp") or flow["tcp"]["dscp"]]
    if marked and (plan.edca is None or plan.edca["classify"] == "best-effort"):
        text = f'{", ".join(marked)}: marked with a DSCP that nobody looks at; mac.edca.classify = "rfc-8325" does'
        yield Finding("mac.edca", text, f"flows marked: {len(marked)}; categories: 1", {"marked_flows": len(marked)})


def more_than_the_air_carries(plan: Plan) -> Iterator[Finding]:
    """UDP flows offer more than the air can carry."""
    share, parts = 0.0, []
    for flow in plan.of("udp"):
        spec = flow["application"]
        ip_bytes = int(spec["payload_bytes"] + 28)
        offered = spec["rate_mbps"] * ip_bytes / spec["payload_bytes"]
        own = offered / plan.rate_mbps(ip_bytes, flow["station"], flow["direction"])
        share += own
        parts.append(f"{flow['label']} {own:.3g}")
    if share > 1:
        text = "the datagrams at constant rates take more than the air has: most of the rest is lost"
        yield Finding(
            "flows.application.rate_mbps", text, f"shares of the air: {' + '.join(parts)} = {share:.3g}", {"air": share}
        )


def quantiles_of_too_few(plan: Plan) -> Iterator[Finding]:
    """A run has too few pings for a 95 % quantile: of twenty values it would be the second largest."""
    duration = float(plan.run["duration_s"])
    for flow in plan.of("ping"):
        interval_ms = flow["application"]["interval_ms"]
        number = duration * 1e3 / interval_ms
        if number * 0.05 < VALUES_BEYOND:
            yield Finding(
                f"{flow['label']}.application.interval_ms",
                f"{flow['label']} sends too few requests for a 95 % quantile in each run",
                f"{duration:g} s / {interval_ms:g} ms = {number:.0f} requests, of which {number * 0.05:.3g} lie beyond it",
                {"requests": number, "beyond": number * 0.05},
            )


def a_slow_station_holds_the_air(plan: Plan) -> Iterator[Finding]:
    """With an equal number of packets per station, the slow station uses most of the air (performance anomaly)."""
    carrying = {(flow["station"], flow["direction"]) for flow in plan.tcp}
    times = {way: plan.airtimes(1500)[way] for way in carrying}
    if len(times) < 2:
        return
    slowest, total = max(times, key=lambda way: times[way]), sum(times.values())
    if times[slowest] > 3 * min(times.values()):
        yield Finding(
            "station.rate_mbps",
            f"{slowest[0]} is slow: with as many packets as the others it holds {times[slowest] / total:.0%} of the air",
            f"{times[slowest]:.0f} µs a packet of 1500 bytes, {min(times.values()):.0f} µs for the fastest; "
            f"{times[slowest]:.0f} of {total:.0f} µs for one each of {len(times)}",
            {"slowest_us": times[slowest], "fastest_us": min(times.values()), "share": times[slowest] / total},
        )


def stations_without_flows(plan: Plan) -> Iterator[Finding]:
    """Stations that no flow uses take no part."""
    labels = [station["label"] for station in plan.plan["cell"]["stations"]]
    used = {flow["station"] for flow in plan.flows}
    if idle := [label for label in labels if label not in used]:
        yield Finding(
            "flows.station",
            f"no flow uses {_listed(idle)}; first_station places a group's flows at other stations than the first ones",
            f"{len(used)} of {len(labels)} stations have flows",
            {"stations": len(labels), "idle_stations": len(idle)},
        )


def pings_of_stations_that_upload(plan: Plan) -> Iterator[Finding]:
    """A ping from a station that uploads waits in that station's own buffer, not only where all wait."""
    for flow in plan.of("ping"):
        if uploads := [other["label"] for other in plan.uploads if other["station"] == flow["station"]]:
            yield Finding(
                f"{flow['label']}.station",
                f"{flow['label']} is sent by a station that uploads: it waits behind the upload in the station's own buffer",
                f"{flow['station']} has {_listed(uploads)} too",
                {"uploads": len(uploads)},
            )


def names_that_contradict(plan: Plan) -> Iterator[Finding]:
    """A group of flows is called after a direction or an application that it does not have."""
    for flow in {flow["group"]: flow for flow in plan.flows}.values():
        group, way, carried = flow["group"], flow["direction"], flow["application"]["name"]
        for word in re.findall("[a-z]+", group.lower()):
            if WAYS.get(word, way) != way:
                yield Finding(
                    f"{group}.direction",
                    f"{group} goes {way}",
                    f'its name says "{word}"',
                    {"flows": plan.size_of(group)},
                )
            if carried not in CARRIED.get(word, (carried,)):
                text = f"{group} carries {carried}"
                values = {"flows": plan.size_of(group)}
                yield Finding(f"{group}.application", text, f'its name says "{word}"', values)


def _listed(labels: Sequence[str], most: int = 6) -> str:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more


RULES: tuple[Rule, ...] = (
    stations_without_flows,
    pings_of_stations_that_upload,
    names_that_contradict,
    wire_slower_than_the_air,
    window_never_fills_the_buffer,
    run_shorter_than_the_slowest_loop,
    flows_outside_the_measurement,
    acks_without_uploads,
    marks_that_nobody_sets_or_hears,
    priorities_that_nobody_looks_at,
    more_than_the_air_carries,
    quantiles_of_too_few,
    a_slow_station_holds_the_air,
)
