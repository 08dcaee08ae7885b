"""`wifair emulate --test`: the flows of a scenario over the kernel's TCP, side by side with the simulation of the same scenario."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wifair.emulate.session import SERVER, Settings, host_names, started
from wifair.errors import InputError, WifairError
from wifair.scenario.scenario import Scenario
from wifair.stats import Interval, jain, t_interval

# The kernel's names for congestion controls of ours. Its Reno recovers by SACK or as NewReno, as the connection allows.
KERNEL = {"reno": "reno", "newreno": "reno", "cubic": "cubic"}


@dataclass(frozen=True)
class Test:
    """A test of the catalogue: which flows of a scenario it opens, and a scenario to do so where none is given."""

    applications: tuple[str, ...]
    scenario: str
    about: str


TESTS = {
    "tcp-up-down": Test(("bulk",), "plain", "greedy transfers over TCP, up and down"),
    "rrul": Test(("bulk", "ping"), "rrul", "greedy transfers over TCP and round trips of datagrams"),
    "voip": Test(("bulk", "voip"), "video-call", "calls and greedy transfers over TCP"),
}


def narrowed(scenario: Scenario, test: Test, name: str) -> Scenario:
    """The scenario with the flows that the test opens and no others."""
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
    """What the plan says of TCP that a host sets for all its connections."""
    found = set()
    for flow in plan["flows"]:
        if flow["application"]["name"] == "bulk":
            tcp = flow["tcp"]
            found.add((bool(tcp["sack"]), bool(tcp["ecn"]), tcp["header_bytes"] > 40))
    if len(found) > 1:
        raise InputError(
            "--test: the flows must agree on tcp.sack, tcp.ecn and tcp.header_bytes, which hosts set as a whole."
        )
    sack, ecn, timestamps = found.pop() if found else (True, True, True)
    return {
        "net.ipv4.tcp_sack": str(int(sack)),
        "net.ipv4.tcp_ecn": str(int(ecn)),
        "net.ipv4.tcp_timestamps": str(int(timestamps)),
    }


def traffic(plan: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
    """What the generator opens for the flows of a plan."""
    draw = random.Random(seed)
    stations = [station["label"] for station in plan["cell"]["stations"]]
    names = dict(zip(stations, host_names(stations), strict=True))
    wanted = []
    for flow in plan["flows"]:
        for key in ("one_way_delay_ms", "wire_rate_mbps", "stop_s", "stop_after_group"):
            if flow[key] is not None:
                raise InputError(f"--test: flows.{key} has no effect on real hosts; leave it out.")
        ends = (names[flow["station"]], SERVER)
        source, destination = ends if flow["direction"] == "up" else ends[::-1]
        start_s = flow["start_s"] + draw.random() * flow["start_spread_s"]
        base = {"label": flow["label"], "from": source, "to": destination, "start_s": start_s}
        application, tcp = flow["application"], flow["tcp"]
        match application["name"]:
            case "bulk":
                control = tcp["congestion_control"]["name"]
                if control not in KERNEL:
                    known = ", ".join(KERNEL)
                    raise InputError(f"--test: the kernel has no {control}; allowed here: {known}.")
                greedy = {
                    "kind": "greedy",
                    "congestion_control": KERNEL[control],
                    "mss_bytes": tcp["mss_bytes"] + tcp["header_bytes"] - 40,  # the kernel takes its options out of it
                    "window_bytes": tcp["mss_bytes"] * tcp["receiver_window_segments"],
                    "dscp": tcp["dscp"],
                }
                wanted.append(base | greedy)
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
                    base | voice | {"label": f"{flow['label']}/back", "from": destination, "to": source},
                ]
            case other:
                raise InputError(f"--test: an application that the generator does not have: {other}.")
    return wanted


@dataclass
class Outcome:
    """One emulated run: the report of the engine, and what the generator has measured."""

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
        command=[sys.executable, "-m", "wifair.emulate.traffic"],
        host=SERVER,
        warmup_s=run["warmup_s"],
        sysctls=sysctls(plan) | settings.sysctls,
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


def totals(plan: Mapping[str, Any], goodput: Mapping[str, float]) -> dict[str, float]:
    """What a run is summed up by: goodput by direction in Mbps, and Jain's index over the flows over TCP."""
    tcp = [flow for flow in plan["flows"] if flow["label"] in goodput]
    up = sum(goodput[flow["label"]] for flow in tcp if flow["direction"] == "up")
    down = sum(goodput[flow["label"]] for flow in tcp if flow["direction"] == "down")
    index = float(jain(np.array([goodput[flow["label"]] for flow in tcp])))
    return {"up_mbps": up, "down_mbps": down, "total_mbps": up + down, "jain": index}


def of_kernel(plan: Mapping[str, Any], outcome: Outcome) -> dict[str, float]:
    """The same from the sockets of an emulated run."""
    return totals(plan, {row["label"]: row["goodput_mbps"] for row in outcome.measured if row["kind"] == "greedy"})


@dataclass(frozen=True)
class Compared:
    """A quantity, emulated and simulated, with 95 % intervals over the runs."""

    metric: str
    emulated: Interval
    simulated: Interval
    # The difference of the means: of a goodput as a share of the simulated total, of Jain's index as it is.
    difference: float


def compared(kernel: Sequence[Mapping[str, float]], simulated: Mapping[str, list[float]]) -> list[Compared]:
    """Compares emulated runs, each summed up by `of_kernel`, with simulated ones."""
    total = float(np.mean(simulated["total_mbps"]))
    rows = []
    for metric in METRICS:
        mine, other = t_interval(np.array([run[metric] for run in kernel])), t_interval(np.array(simulated[metric]))
        rows.append(
            Compared(metric, mine, other, (mine.estimate - other.estimate) / (1 if metric == "jain" else total))
        )
    return rows
