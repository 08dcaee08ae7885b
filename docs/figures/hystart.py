"""Where HyStart ends slow start, the kernel's and wifair's, into docs/tcp.md: `python docs/figures/hystart.py`, a minute.

One download to a station. The kernel's sender runs under `wifair emulate`; its window is that of `TCP_INFO`. Receivers acknowledge every
segment on both sides, because the kernel's acknowledges the first ones of a connection at once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from wifair import Scenario
from wifair.emulate import replay
from wifair.emulate.session import Settings
from wifair.markdown import Marks, table

PAGE = Path(__file__).resolve().parents[1] / "tcp.md"
MARKS = Marks("hystart", "docs/figures/hystart.py")
CELLS = (("802.11b", 40), ("802.11b", 200), ("802.11g", 40), ("802.11g", 100))
EMULATED, SEEDS = 6, 12


def scenario(phy: str, rtt_ms: int) -> Scenario:
    """A download whose buffer does not overflow within 5 s."""
    return Scenario(
        run={"warmup_s": 0, "duration_s": 5, "sample_interval_s": 0.01},
        phy={"name": phy},
        ap={"limit_packets": 2000},
        wire={"rate_mbps": 1000, "one_way_delay_ms": rtt_ms / 2},
        tcp={"profile": "linux", "delayed_ack": {"segments": 1}, "receive_offload": False},
        flows=[{"direction": "down", "start_spread_s": 0}],
    )


def exit_window(times: Sequence[float], windows: Sequence[float], rtt_s: float) -> int:
    """The window from which it grows by less than 20 % in 1.5 round trips, which is where slow start ended."""
    samples = list(zip(times, windows, strict=True))
    for time, window in samples:
        after = [later for at, later in samples if time <= at <= time + 1.5 * rtt_s]
        if window >= 16 and len(after) > 3 and after[-1] < 1.2 * window:
            return round(window)
    raise SystemExit("slow start did not end")


def emulated(cell: Scenario, rtt_s: float) -> list[int]:
    """Of the kernel's sender, run by run."""
    found = []
    for _ in range(EMULATED):
        settings = Settings(cell.plan(), "HyStart", [], realtime=os.geteuid() == 0, route={"quickack": "1"})
        [row] = replay.emulated(settings, 1).measured
        found.append(exit_window([at[0] for at in row["tcp_info"]], [at[1] for at in row["tcp_info"]], rtt_s))
    return sorted(found)


def simulated(cell: Scenario, rtt_s: float) -> list[int]:
    """Of wifair's sender, seed by seed."""
    series = cell.run(seeds=SEEDS).frames["series"].filter(metric="cwnd_segments").sort("time_s")
    found = []
    for _, rows in series.group_by("seed"):
        found.append(exit_window(rows["time_s"].to_list(), rows["value"].to_list(), rtt_s))
    return sorted(found)


def main() -> None:
    """Runs both and writes the table."""
    rows = []
    for phy, rtt_ms in CELLS:
        cell = scenario(phy, rtt_ms)
        both = (emulated(cell, rtt_ms / 1e3), simulated(cell, rtt_ms / 1e3))
        rows.append([phy, f"{rtt_ms} ms", *(", ".join(map(str, windows)) for windows in both)])
        print(*rows[-1], sep=" | ", flush=True)
    MARKS.write(
        PAGE,
        table(
            ["cell", "RTT without queues", "Linux: window at the end of slow start, by run", "wifair, by seed"], rows
        ),
    )


if __name__ == "__main__":
    main()
