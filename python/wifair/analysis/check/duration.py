"""Rules on the duration of a run: control loops, flows and samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wifair.analysis.check.finding import Finding
from wifair.analysis.check.plan import Plan

# Least number of values that must lie beyond a quantile for it to be meaningful.
VALUES_BEYOND = 10
# A silence up to this share of the measurement does not count: means are no more exact.
NEGLIGIBLE = 0.01


def sawtooth_s(plan: Plan, flow: dict[str, Any]) -> tuple[float, str]:
    """The period of a flow's window in seconds, from one loss at a full buffer to the next, and the calculation in words."""
    flows = max(1, len(plan.downloads))
    segment = plan.segment_bytes(flow)
    rate = min(plan.rate_mbps(flow), plan.wire_mbps(flow["direction"]))
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
    control = plan.tx_queue["limit_controller"]
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
        elif latest > warmup + NEGLIGIBLE * float(plan.run["duration_s"]):
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
