"""The simulations of Section 4: cases, the calibrated setting, forms.

The paper gives TCP NewReno, "delayed ACK option", 802.11b's rates, starts at 1 s and the rate changes; no packet size,
RTS threshold, preamble, direction, buffer, window, wired delay or run length. `calibration.py` runs the combinations of
all these except the delay; its criterion gives the setting `DOWNLINK`, in which ARF-aware TCP is then run unchanged.
`UPLINK` is nearer to the text and nearly fits Tables 1 to 3; it is another reading (`readings.py`).

Everything else is as in ns-2: `dialect = "ns-2"`, and the slow start threshold at the window. ns-2's cwnd_ grows beyond
window_, which affects the window that ARF-aware TCP divides.

The transfers are downlinks in the calibrated setting, but the paper's sender learns the rate from its own driver. So
the server learns the AP's link rate at once, which a real server cannot: `server_notified_of_link_rate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

from wifair.papers.arf_aware_tcp.published import ARF_AWARE, NEWRENO
from wifair.papers.reproduction import Form
from wifair.scenario.dialects import DIALECTS
from wifair.scenario.scenario import Scenario

CONTROLS = (ARF_AWARE, NEWRENO)
START_S = 1.0
CHANGE_S = 20.0
RECOVERY_S = 70.0
SAMPLE_S = 1.0


# "TCP uses arf_cwnd when in the arf mode, and also saves cwnd. [...] the saved cwnd value is used again": arf_cwnd is
# computed when the rate changes and bounds the window until the next change; cwnd stays constant meanwhile.
CAPPED = {"name": "own", "growth": "capped"}
# ARF-aware TCP divides the window of ns-2's NewReno, with which it is compared.
NS_2_NEWRENO = DIALECTS["ns-2"]["tcp"]["congestion_control"]
OVER_NEWRENO = {"name": ARF_AWARE, "over": NS_2_NEWRENO, "window": CAPPED}


class Case(NamedTuple):
    """A simulation: the sessions' rates from 20 s on, the time of the rates' return, and the run's length.

    `arf`: no script changes rates, but a slowed station's frames fail at every higher rate, and ARF moves the rates of all links.
    """

    id: str
    rates_mbps: tuple[float, ...]
    duration_s: float = 100.0
    back_at_s: float | None = None
    arf: bool = False
    wire_mbps: float = 100.0

    @property
    def sessions(self) -> tuple[str, ...]:
        """Labels of flows and stations."""
        return tuple(f"session-{i + 1}" for i in range(len(self.rates_mbps)))

    @property
    def slowed(self) -> tuple[str, ...]:
        """Sessions whose rate changes."""
        return tuple(name for name, rate in zip(self.sessions, self.rates_mbps, strict=True) if rate < 11.0)

    def slowed_in(self, span: tuple[float, float]) -> bool:
        """Whether the slowed sessions' rates are low in a span of time without rate changes."""
        return span[0] >= CHANGE_S and (self.back_at_s is None or span[1] <= self.back_at_s)


ANOMALY = Case("anomaly", (1.0, 11.0))
FAIR = Case("fair-share", (11.0, 11.0))
# Table 3 fits no run of 100 s; 200 s are the likeliest (`calibration.py`).
LOW = Case("low-rate", (1.0, 1.0), duration_s=200.0)
MULTI = Case("multi-session", (1.0, 11.0, 11.0, 11.0, 11.0))
# "All the five nodes changes to different operation rates": Table 5 lists four; the fifth has 11 Mbps, "so forth".
# Its likeliest length is 80 s in 60 replications; in 12 it is 100 s, and 80 s have 0.55 of that likelihood.
RATES = Case("multi-rate", (1.0, 2.0, 5.5, 11.0, 11.0), duration_s=80.0)
RATES_OF_FOUR = Case("multi-rate-of-four", (1.0, 2.0, 5.5, 11.0), duration_s=80.0)
RECOVERY = Case("recovery", (1.0, 11.0), back_at_s=RECOVERY_S)
# Not simulated in the paper: what its text says of rates that ARF moves, and of a bottleneck on the wire.
MOVED_BY_ARF = Case("moved-by-arf", (1.0, 11.0), arf=True)
WIRED = Case("wired-bottleneck", (1.0, 11.0), wire_mbps=0.8)
CASES = (ANOMALY, FAIR, LOW, MULTI, RATES, RECOVERY, MOVED_BY_ARF, WIRED)

CASES_OF_FIGURE: Mapping[str, tuple[Case, ...]] = {
    "2": (ANOMALY,),
    "4": (RATES,),
    "5": (RATES,),
    "6": (RATES,),
    "7": (RATES,),
    "8": (RECOVERY,),
    "9": (RECOVERY,),
    "tables": (ANOMALY, FAIR, LOW, MULTI, RATES, MOVED_BY_ARF, WIRED),
    "calibration": (),
}

FORMS = {
    "full": Form(20, 6, 0.0, 100.0, figure_formats=("png", "pdf")),
    "quick": Form(3, 0, 0.0, 100.0),
}


class Setting(NamedTuple):
    """The settings that the paper leaves open and the calibration fits. The defaults of RTS, size, preamble, buffer and window are ns-2's."""

    direction: str = "down"
    rts: bool = True
    packet_bytes: int = 1000
    preamble: str = "long"
    ack_every: int = 1
    buffer_packets: int = 50
    window_packets: int = 20

    @property
    def id(self) -> str:
        """Its name in the grid, such as `down, RTS, 1000 bytes, long preamble, ACK every 1, buffer 50, window 20`."""
        rts = "RTS" if self.rts else "no RTS"
        return (
            f"{self.direction}, {rts}, {self.packet_bytes} bytes, {self.preamble} preamble, ACK every {self.ack_every}, "
            f"buffer {self.buffer_packets}, window {self.window_packets}"
        )


DOWNLINK = Setting()
UPLINK = Setting("up", packet_bytes=512, preamble="short", ack_every=2)
CANDIDATES = (DOWNLINK, UPLINK)
CALIBRATED = DOWNLINK
SETTINGS = tuple(
    Setting(*choice)
    for choice in product(
        ("down", "up"), (True, False), (512, 1000, 1460), ("long", "short"), (1, 2), (50, 75, 100), (10, 20, 40)
    )
)


def scenario(case: Case, control: str, setting: Setting, duration_s: float, sample_s: float) -> Scenario:
    """One simulation."""
    return Scenario.from_settings(
        {
            "title": f"{case.id}, {control}",
            "dialect": "ns-2",
            "run": {"warmup_s": 0.0, "duration_s": duration_s, "sample_interval_s": sample_s},
            "phy": {"name": "802.11b", "preamble": setting.preamble},
            "mac": {
                **({"rts_threshold_bytes": 0} if setting.rts else {}),
                **({"rate_adaptation": {"name": "arf"}} if case.arf else {}),
            },
            "ap": {"limit_packets": setting.buffer_packets},
            "station": {"rate_mbps": 11.0, "tx_queue": {"limit_packets": setting.buffer_packets}},
            "wire": {"rate_mbps": case.wire_mbps, "one_way_delay_ms": 5.0},
            "tcp": {
                "congestion_control": {ARF_AWARE: OVER_NEWRENO, NEWRENO: NS_2_NEWRENO}[control],
                "mss_bytes": setting.packet_bytes,
                "header_bytes": 40,
                "receiver_window_segments": setting.window_packets,
                "initial_ssthresh_segments": setting.window_packets,
                "delayed_ack": {"segments": setting.ack_every},
            },
            "flows": [
                {
                    "name": "session",
                    "count": len(case.rates_mbps),
                    "direction": setting.direction,
                    "start_s": START_S,
                    "server_notified_of_link_rate": setting.direction == "down",
                }
            ],
            "events": events(case),
        }
    )


def events(case: Case) -> list[dict[str, Any]]:
    """The changes of rates, or of the errors at each rate."""
    if case.arf:
        return [
            {"at_s": CHANGE_S, "station": {"name": name, "frame_error_rate": {"by_rate": _only(rate)}}}
            for name, rate in zip(case.sessions, case.rates_mbps, strict=True)
            if name in case.slowed
        ]
    slowed = [
        {"at_s": CHANGE_S, "station": {"name": name, "rate_mbps": rate}}
        for name, rate in zip(case.sessions, case.rates_mbps, strict=True)
        if name in case.slowed
    ]
    if case.back_at_s is None:
        return slowed
    return slowed + [{"at_s": case.back_at_s, "station": {"name": name, "rate_mbps": 11.0}} for name in case.slowed]


def _only(mbps: float) -> list[dict[str, float]]:
    """Frame error rates of a link on which only data frames at `mbps` or less are received."""
    return [{"rate_mbps": rate, "data": 1.0} for rate in (2.0, 5.5, 11.0) if rate > mbps]
