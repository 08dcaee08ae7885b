"""The kernel's TCP and the simulator's under the same losses, for docs/emulate.md: `.venv/bin/python docs/figures/same_losses.py`, two minutes.

One download at 802.11b. The AP loses the downlink data packets with given numbers and no others: the emulation by number, the
simulation by a scheme. The kernel's congestion window is that of `TCP_INFO`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
from wifair import Scenario
from wifair.emulate import replay
from wifair.emulate.session import Settings
from wifair.plots import STYLES, figure
from wifair.scheme import Kind, Scheme

IMAGE = Path(__file__).parent.parent / "images" / "emulate-same-losses.png"
# One packet, a burst of four, every other one of eight, a packet and its first retransmission.
LOST = (400, *range(1500, 1504), *range(3000, 3016, 2), 5000, 5001)
DURATION_S = 24
# The kernel's threshold while there is none.
UNSET = 1 << 30
Course = tuple[list[float], list[float]]


class Scripted(Scheme):
    """Tail drop that also refuses the data packets with the numbers of `LOST`."""

    def __init__(self) -> None:
        self.count = 0

    def enqueue(self, arrival: Any, buffer: Any, cx: Any) -> None:
        """Appends an arrival, or refuses it."""
        if arrival.kind == Kind.DATA:
            self.count += 1
        if buffer.is_full or (arrival.kind == Kind.DATA and self.count in LOST):
            buffer.refuse(arrival)
        else:
            buffer.append(arrival)


def scenario(control: str) -> Scenario:
    """A download whose buffer never overflows: the windows are smaller."""
    return Scenario(
        title=control,
        run={"warmup_s": 0, "duration_s": DURATION_S, "sample_interval_s": 0.05},
        phy={"name": "802.11b"},
        ap={"limit_packets": 1000},
        wire={"rate_mbps": 100, "one_way_delay_ms": 20},
        tcp={"profile": "today", "congestion_control": control, "receiver_window_segments": 200},
        flows=[{"direction": "down", "start_spread_s": 0}],
    )


def emulated(control: str) -> tuple[Course, int]:
    """Time in seconds and congestion window in segments, as the kernel reports them, and the first slow-start threshold."""
    settings = Settings(scenario(control).plan(), control, [], realtime=os.geteuid() == 0, drops=list(LOST))
    [row] = replay.emulated(settings, 1).measured
    samples = row["tcp_info"]
    thresholds = (sample[2] for sample in samples if sample[2] < UNSET)
    return ([sample[0] for sample in samples], [sample[1] for sample in samples]), next(thresholds)


def simulated(control: str, also: Mapping[str, object]) -> Course:
    """The same of the simulator's sender; `also` changes the scenario."""
    series = scenario(control).override({"ap.scheme": Scripted, **also}).run([1]).frames["series"]
    found = series.filter(pl.col("metric") == "cwnd_segments").sort("time_s")
    return found["time_s"].to_list(), found["value"].to_list()


def main() -> None:
    """Runs both and draws."""
    made, axes = figure(2, width=4.6, height=3.0)
    controls = ("reno", "cubic")
    with ThreadPoolExecutor(len(controls)) as pool:
        kernel = list(pool.map(emulated, controls))
    for panel, control, (linux, threshold) in zip(axes, controls, kernel, strict=True):
        # What of the difference has a switch: the window of Linux grows beyond the receiver's, and HyStart ends slow start early.
        name, switch = {
            "reno": ("cwnd beyond the receive window", {"tcp.cwnd_beyond_receiver_window": True}),
            "cubic": (f"ssthresh {threshold} as by HyStart", {"tcp.initial_ssthresh_segments": threshold}),
        }[control]
        courses = {
            "Linux": linux,
            "simulated": simulated(control, {}),
            f"simulated, {name}": simulated(control, switch),
        }
        for (label, (times, windows)), style in zip(courses.items(), STYLES, strict=False):
            panel.plot(times, windows, label=label, linewidth=1.2, **{**style, "marker": None})
        panel.set_title(control, fontsize="medium")
        panel.set_xlabel("Time [s]")
        panel.set_ylabel("Congestion window [segments]")
        panel.set_xlim(0, DURATION_S)
        panel.set_ylim(0, 430)
        panel.grid(alpha=0.25)
        panel.legend(fontsize="small")
    made.savefig(IMAGE)


if __name__ == "__main__":
    main()
