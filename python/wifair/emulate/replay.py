"""`wifair emulate --test`: the flows of a scenario over the kernel's TCP, side by side with the simulation of the same scenario."""

from __future__ import annotations

import json
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from wifair.emulate.session import SERVER, Settings, host_names, started
from wifair.errors import InputError, WifairError
from wifair.results.fairness import comparable
from wifair.scenario.scenario import Scenario
from wifair.stats import Interval, jain, t_interval

if TYPE_CHECKING:
    from wifair.results.results import Results

# The kernel's names of wifair's congestion controls. Its Reno recovers by SACK or as NewReno, as the connection allows.
KERNEL = {"reno": "reno", "newreno": "reno", "cubic": "cubic"}


@dataclass(frozen=True)
class Test:
    """A test: the applications whose flows it opens, and its default scenario."""

    applications: tuple[str, ...]
    scenario: str
    about: str


TESTS = {
    "tcp-up-down": Test(("bulk",), "plain", "greedy transfers over TCP, up and down"),
    "rrul": Test(("bulk", "ping"), "rrul", "greedy transfers over TCP and round trips of datagrams"),
    "voip": Test(("bulk", "voip"), "video-call", "calls and greedy transfers over TCP"),
    "web": Test(
        ("bulk", "ping", "web"), "cafe", "documents over HTTP, greedy transfers over TCP, round trips of datagrams"
    ),
}
# Applications over TCP.
OVER_TCP = ("bulk", "web")


def narrowed(scenario: Scenario, test: Test, name: str) -> Scenario:
    """The scenario with only the flows that the test opens."""
    settings = scenario.settings()
    application = scenario.settings().get("application", "bulk")

    def kind(flow: Mapping[str, Any]) -> str:
        given = flow.get("application", application)
        return given if isinstance(given, str) else given.get("name", "bulk")

    flows = [flow for flow in settings["flows"] if kind(flow) in test.applications]
    if not any(kind(flow) == test.applications[-1] for flow in flows):
        raise InputError(f"--test {name}: the scenario has no flow with the application {test.applications[-1]}.")
    return Scenario.from_settings(settings | {"flows": flows})


def sysctls(plan: Mapping[str, Any]) -> dict[str, str]:
    """The plan's TCP settings that a host sets for all its connections, as sysctls."""
    sack, ecn, timestamps = agreed(
        plan,
        "tcp.sack, tcp.ecn and tcp.header_bytes",
        OVER_TCP,
        lambda tcp: (bool(tcp["sack"]), bool(tcp["ecn"]), tcp["header_bytes"] > 40),
        (True, True, True),
    )
    return {
        "net.ipv4.tcp_sack": str(int(sack)),
        "net.ipv4.tcp_ecn": str(int(ecn)),
        "net.ipv4.tcp_timestamps": str(int(timestamps)),
    }


def route(plan: Mapping[str, Any]) -> dict[str, str]:
    """The plan's TCP settings that a host sets for its routes, as metrics."""
    found = {}
    initial = agreed(plan, "tcp.initial_window_segments", OVER_TCP, lambda tcp: tcp["initial_window_segments"], None)
    if initial:
        found["initcwnd"] = str(initial)
    # A document is received by curl, whose socket options cannot be set from here.
    window = agreed(
        plan, "their windows", ("web",), lambda tcp: tcp["mss_bytes"] * tcp["receiver_window_segments"], None
    )
    if window:
        found["window"] = str(window)
    return found


def agreed(
    plan: Mapping[str, Any],
    what: str,
    applications: Sequence[str],
    of: Callable[[Mapping[str, Any]], Any],
    default: Any,
) -> Any:
    """The common value of the flows with these applications. Raises `InputError` if they differ."""
    found = {of(flow["tcp"]) for flow in plan["flows"] if flow["application"]["name"] in applications}
    if len(found) > 1:
        raise InputError(f"--test: the flows must agree on {what}, which hosts set as a whole.")
    return found.pop() if found else default


def traffic(plan: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
    """The generator's description of the flows of a plan."""
    draw = random.Random(seed)
    stations = [station["label"] for station in plan["bss"]["stations"]]
    names = dict(zip(stations, host_names(stations), strict=True))
    wanted = []
    for flow in plan["flows"]:
        for key in ("one_way_delay_ms", "wire_rate_mbps", "stop_s", "stop_after_group"):
            if flow[key] is not None:
                raise InputError(f"--test: flows.{key} has no effect on real hosts; leave it out.")
        ends = (names[flow["station"]], SERVER)
        source, destination = ends if flow["direction"] == "up" else ends[::-1]
        start_s = flow["start_s"] + draw.random() * flow["start_spread_s"]
        base = {
            "label": flow["label"],
            "group": flow["group"],
            "direction": flow["direction"],
            "from": source,
            "to": destination,
            "start_s": start_s,
        }
        application = flow["application"]
        match application["name"]:
            case "bulk":
                wanted.append(base | over_tcp(flow["tcp"]) | {"kind": "greedy"})
            case "web":
                if not shutil.which("curl"):
                    raise InputError("--test web: curl is not installed; it loads the documents.")
                sizes = {key: value for key, value in application.items() if key != "name"}
                draws = {"draws": f"{seed}, {flow['label']}"}
                wanted.append(base | over_tcp(flow["tcp"]) | sizes | draws | {"kind": "web"})
            case "ping":
                echo = {"interval_s": application["interval_ms"] * 1e-3, "payload_bytes": application["payload_bytes"]}
                wanted.append(base | echo | {"kind": "echo", "echo": True, "dscp": application["dscp"]})
            case "voip":
                # 12 bytes of RTP before the voice (RFC 3550).
                voice = {
                    "interval_s": application["packet_ms"] * 1e-3,
                    "payload_bytes": application["voice_bytes"] + 12,
                }
                voice |= {"kind": "voip", "echo": False, "dscp": application["dscp"]}
                wanted += [
                    base | voice,
                    base
                    | voice
                    | {
                        "label": f"{flow['label']}/back",
                        "direction": "down" if flow["direction"] == "up" else "up",
                        "from": destination,
                        "to": source,
                    },
                ]
            case other:
                raise InputError(f"--test: an application that the generator does not have: {other}.")
    return wanted


def over_tcp(tcp: Mapping[str, Any]) -> dict[str, Any]:
    """The socket options for a flow's TCP settings."""
    control = tcp["congestion_control"]["name"]
    if control not in KERNEL:
        raise InputError(f"--test: the kernel has no {control}; allowed here: {', '.join(KERNEL)}.")
    return {
        "congestion_control": KERNEL[control],
        "mss_bytes": tcp["mss_bytes"] + tcp["header_bytes"] - 40,  # the kernel subtracts its options
        "window_bytes": tcp["mss_bytes"] * tcp["receiver_window_segments"],
        "dscp": tcp["dscp"],
    }


@dataclass
class Outcome:
    """One emulated run: the engine's report and the generator's measurements."""

    report: dict[str, Any]
    measured: list[dict[str, Any]]


def emulated(settings: Settings, seed: int, each_second: Callable[[float], None] = lambda _: None) -> Outcome:
    """Runs the flows of a plan once with real hosts."""
    plan = settings.plan
    run = plan["run"]
    generator = {
        "warmup_s": run["warmup_s"],
        "duration_s": run["duration_s"],
        "flows": traffic(plan, seed),
    }
    settings = replace(
        settings,
        seed=seed,
        command=[sys.executable, "-P", "-m", "wifair.emulate.traffic"],
        host=SERVER,
        warmup_s=run["warmup_s"],
        congestion_control=None,
        sysctls=sysctls(plan) | settings.sysctls,
        route=route(plan) | settings.route,
        files={"traffic.json": json.dumps(generator)},
    )
    with started(settings) as session:
        session.go()
        report = session.wait(each_second)
        if report["status"] != 0:
            raise WifairError(f"the generator ended with status {report['status']}.")
        measured = json.loads((session.folder / "measured.json").read_text(encoding="utf-8"))
    return Outcome(report, measured)


METRICS = ("up_mbps", "down_mbps", "total_mbps", "jain")
# Columns of the table `datagrams`, with their quantiles.
DELAYS = {"delay_p50_ms": 0.5, "delay_p95_ms": 0.95}
ROUND_TRIPS = {"rtt_p50_ms": 0.5, "rtt_p95_ms": 0.95}
# Columns of the table `transfer_groups`, with their quantiles.
TIMES = {"p50_s": 0.5, "p95_s": 0.95}


def of_kernel(plan: Mapping[str, Any], outcome: Outcome) -> dict[str, float]:
    """The metrics of an emulated run.

    Goodput by direction in Mbps and Jain's index over the TCP flows; by group, delays of datagrams in milliseconds,
    their loss ratio, and times of documents in seconds.
    """
    goodput = {}
    for row in outcome.measured:
        if row["kind"] == "greedy":
            goodput[row["label"]] = row["goodput_mbps"]
        if row["kind"] == "web":
            answers = (flow for flow in outcome.report["flows"] if flow["from_port"] == row["port"])
            megabits = sum(answer["goodput_mbps"] * answer["active_s"] for answer in answers)
            goodput[row["label"]] = megabits / outcome.report["measured_s"]
    return totals(plan, goodput) | dict(_delays(outcome.measured)) | dict(_documents(outcome.measured))


def totals(plan: Mapping[str, Any], goodput: Mapping[str, float]) -> dict[str, float]:
    """Goodput by direction in Mbps, for directions with flows, their total, and Jain's index of the comparable."""
    of_tcp = [flow for flow in plan["flows"] if flow["label"] in goodput]
    if not of_tcp:
        return {}
    found: dict[str, float] = {}
    for direction in ("up", "down"):
        values = [goodput[flow["label"]] for flow in of_tcp if flow["direction"] == direction]
        if values:
            found[f"{direction}_mbps"] = sum(values)
    found["total_mbps"] = sum(found.values())
    shares = [goodput[of_tcp[i]["label"]] for i in comparable([flow["application"]["name"] for flow in of_tcp])]
    return found | ({"jain": jain(shares)} if shares else {})


def _delays(measured: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """Delays and loss ratio by group and direction, as means over the flows."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in measured:
        if "delays_ms" in row:
            groups.setdefault((row["group"], row["direction"]), []).append(row)
    for (group, direction), rows in groups.items():
        columns = ROUND_TRIPS if rows[0]["kind"] == "echo" else DELAYS
        for column, q in columns.items():
            found = [quantile(row["delays_ms"], q) for row in rows if row["delays_ms"]]
            if found:
                yield f"{group}.{direction}.{column}", float(np.mean(found))
        if columns is DELAYS:
            losses = [1 - row["received"] / row["sent"] for row in rows if row["sent"]]
            # Packets in flight at the ends of the measurement affect the difference.
            yield f"{group}.{direction}.loss_ratio", max(0.0, float(np.mean(losses)))


def _documents(measured: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    groups: dict[str, list[float]] = {}
    for row in measured:
        for document in row.get("documents", ()):
            groups.setdefault(row["group"], []).extend([document["seconds"]] if document["seconds"] else [])
    for group, times in groups.items():
        yield f"{group}.completed", float(len(times))
        for column, q in TIMES.items():
            if times:
                yield f"{group}.{column}", quantile(sorted(times), q)


def of_simulation(results: Results) -> dict[str, list[float]]:
    """The same metrics of simulated runs: one value per run, if every run has one."""
    found = {metric: results.metrics[metric].to_list() for metric in METRICS}
    if "datagrams" in results.frames:
        by = ["group", "direction", "seed"]
        columns = [*DELAYS, "loss_ratio", *ROUND_TRIPS]
        means = results.datagrams.group_by(by, maintain_order=True).agg(pl.col(columns).mean())
        for (group, direction), part in means.group_by("group", "direction", maintain_order=True):
            for column in columns:
                found[f"{group}.{direction}.{column}"] = part[column].to_list()
    if "transfer_groups" in results.frames:
        all_sizes = results.transfer_groups.filter(pl.col("bytes").is_null())
        for (group,), part in all_sizes.group_by("group", maintain_order=True):
            for column in ("completed", *TIMES):
                found[f"{group}.{column}"] = part[column].to_list()
    return {metric: values for metric, values in found.items() if None not in values}


def quantile(values: Sequence[float], q: float) -> float:
    """The `q` quantile of sorted values."""
    return values[min(int(q * len(values)), len(values) - 1)]


@dataclass(frozen=True)
class Compared:
    """A quantity, emulated and simulated, with 95 % intervals over the runs."""

    metric: str
    emulated: Interval
    simulated: Interval
    # The difference of the means: for goodput as a share of the simulated total, for Jain's index and loss absolute,
    # else as a share.
    difference: float

    def document(self) -> dict[str, Any]:
        """Itself as plain data."""
        intervals = {"emulated": self.emulated, "simulated": self.simulated}
        shown = {name: [of.estimate, of.low, of.high] for name, of in intervals.items()}
        return {"metric": self.metric, **shown, "difference": self.difference}


def is_absolute(metric: str) -> bool:
    """Whether the difference of this metric is absolute, not a share."""
    return metric == "jain" or metric.endswith(".loss_ratio")


def compared(kernel: Sequence[Mapping[str, float]], simulated: Mapping[str, Sequence[float]]) -> list[Compared]:
    """Compares emulated runs, each given by the metrics of `of_kernel`, with simulated ones."""
    rows = []
    for metric, values in simulated.items():
        if not all(metric in run for run in kernel):
            continue
        bounds = (0.0, 1.0) if metric == "jain" else None
        mine, other = (t_interval(of, bounds=bounds) for of in ([run[metric] for run in kernel], values))
        if is_absolute(metric):
            unit = 1.0
        else:
            unit = float(np.mean(simulated["total_mbps"])) if metric.endswith("_mbps") else other.estimate
        difference = (mine.estimate - other.estimate) / unit if unit else float("nan")
        rows.append(Compared(metric, mine, other, difference))
    return rows
