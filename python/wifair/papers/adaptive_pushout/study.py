"""The simulations of Section IV: scenarios, forms, and other readings of what the paper leaves open.

Baseline. The paper says ns-2 (version 2.34), so the baseline is the `ns-2` dialect with the values of Table I and
Section IV-A set explicitly (Table I has an LLC header, which ns-2 does not have; Table I wins). RTS is off in the baseline:
the paper lists no RTS threshold and no RTS or CTS duration in Table I, where it lists every other frame; ns-2's own
default, RTS on every frame, is run as a reading. The paper gives no start times: flows start at 0, as a reading apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from wifair.papers.readings import Alternative, Joint, Kind
from wifair.papers.reproduction import Form
from wifair.scenario.scenario import Scenario
from wifair.study.job import Cell

TAIL_DROP = "droptail"
AF = "ack-filtering"
SPM_AF = "spm-af"
ACK_PUSHOUT = "ack-pushout"
ADAPTIVE = "adaptive-pushout"
SCHEMES = (TAIL_DROP, AF, SPM_AF, ACK_PUSHOUT, ADAPTIVE)
# "AF (ACK filtering), SPM-AF, ACK pushout, and the adaptive pushout": the four that Section IV compares.
THE_FOUR = SCHEMES[1:]


class Mix(NamedTuple):
    """The numbers of flows by direction."""

    up: int
    down: int

    def __str__(self) -> str:
        """The paper's order: (n_down, n_up)."""
        return f"({self.down}, {self.up})"


SYMMETRIC = tuple(Mix(n, n) for n in range(1, 11))
TWENTY = Mix(10, 10)
# Table II, in the order in which Fig. 5 plots it: n_down rising.
TABLE_II = tuple(Mix(20 - n_down, n_down) for n_down in range(2, 20, 2))
FIG_6 = Mix(up=14, down=6)
# The text of IV-C has flows 1 to 6 as uplink flows, which would be this mix.
FIG_6_AS_TEXT = Mix(up=6, down=14)

MIXES_OF_FIGURE: Mapping[str, tuple[Mix, ...]] = {
    "3a": SYMMETRIC,
    "3b": SYMMETRIC,
    "4": (TWENTY,),
    "5a": TABLE_II,
    "5b": TABLE_II,
    "6": (FIG_6, FIG_6_AS_TEXT),
}
ALL_MIXES = tuple(dict.fromkeys((*SYMMETRIC, *TABLE_II)))
# Another x axis of Fig. 3, whose values are missing: 10, 20, 30 and 40 flows.
TEN_TO_FORTY = tuple(Mix(n, n) for n in (5, 10, 15, 20))


# IV-A: "The run time of each simulation was 600 s besides the initial bias (150 s)." Every form uses these times:
# fairness converges so slowly that shorter runs have another mean, not only a wider interval (`docs/validation.md`).
WARMUP_S, DURATION_S = 150.0, 600.0

FORMS = {
    "full": Form(10, 5, WARMUP_S, DURATION_S, figure_formats=("png", "pdf")),
    "quick": Form(3, 0, WARMUP_S, DURATION_S),
}

SECTION_IV_A: Mapping[str, Any] = {
    "dialect": "ns-2",
    "phy": {
        "name": "802.11b",
        "preamble": "long",
        "slot_us": 20.0,
        "sifs_us": 10.0,
        "plcp_us": 192.0,  # "PHY header 192 bits" at the basic rate of 1 Mbps
        "mac_header_bytes": 30,  # 240 bits
        "llc_bytes": 8,  # 64 bits
        "fcs_bytes": 4,  # 32 bits
        "control_rate_mbps": 1.0,  # "Basic rate"
    },
    "ap": {"limit_packets": 100},
    "station": {"rate_mbps": 11.0},
    "wire": {"rate_mbps": 100.0, "one_way_delay_ms": 5.0},
    "tcp": {
        "congestion_control": {"name": "reno"},
        "mss_bytes": 1460,  # "The size of TCP data packet was 1500 bytes"
        "header_bytes": 40,
        "receiver_window_segments": 42,
        "delayed_ack": {"segments": 1},  # "acknowledged each data packet with a TCP ACK"
    },
}


# The redundant ACK that is removed first.
NEWEST = Alternative(
    "redundant-newest",
    "Which redundant ACK goes?",
    "the newest",
    {"ap.scheme.redundant": "newest"},
    {"scheme": (ACK_PUSHOUT, ADAPTIVE)},
)
# The paper prints this one (III-A: data goes if nb_up / n_up <= nb_down / n_down), so it is no reading.
TIE_RANDOM = Alternative(
    "tie-random",
    "What goes if both directions have the same share?",
    "data or an ACK, by a fair coin, where the paper has data",
    {"ap.scheme.tie": "random"},
    {"scheme": (ADAPTIVE,)},
    Kind.EXPLORATION,
)

RTO_1_S = Alternative(
    "rto-1s",
    "What is TCP's minimum RTO?",
    "1 s, as in RFC 6298 and in ns-2 before 2006, not ns-2.34's 0.2 s",
    {"tcp.rto.min_ms": 1_000},
)
RANDOM = Alternative(
    "redundant-random",
    "Which redundant ACK goes?",
    "a random one",
    {"ap.scheme.redundant": "random"},
    {"scheme": (ACK_PUSHOUT, ADAPTIVE)},
)

# A subset of the eighteen mixes, to save time.
_SOME_MIXES: Mapping[str, tuple[object, ...]] = {"n_up": (2, 6, 10, 14, 18)}

# Not among them: the dialect, since the paper names its simulator, nor whether the buffer's 100 packets include the frame in
# service, since ns-2 has a rule for it. The stations' buffers have no effect: with a window of 42 packets no station ever
# queues more, and any limit from 42 on gives the same runs.
# Each part of a joint reading can be selected by its own name.
READINGS: tuple[Alternative | Joint[Any], ...] = (
    Joint(
        "rts+no-llc",
        (
            Alternative(
                "rts", "Are the parameters not in Table I ns-2's?", "RTS on every frame", {"mac.rts_threshold_bytes": 0}
            ),
            Alternative("no-llc", "Has Table I's LLC header been simulated?", "no, as in ns-2", {"phy.llc_bytes": 0}),
        ),
    ),
    RTO_1_S,
    Alternative(
        "starts-apart",
        "When do flows start?",
        "each at a random time within the first second, not all at 0",
        {"flows.0.start_spread_s": 1.0, "flows.1.start_spread_s": 1.0},
    ),
    NEWEST,
    RANDOM,
    Joint("rto-1s+redundant-random", (RTO_1_S, RANDOM)),
    Joint(
        "arrival-counted+idle-1s",
        (
            Alternative(
                "arrival-counted",
                "Does the arrival count in nb_up, nb_down?",
                "it does (2, 6, 10, 14 and 18 uplinks)",
                {"ap.scheme.count_arrival": True},
                {"scheme": (ADAPTIVE,), **_SOME_MIXES},
            ),
            Alternative(
                "idle-1s",
                "When does a flow stop being active?",
                "after 1 s of silence (2, 6, 10, 14 and 18 uplinks)",
                {"ap.flows.idle_timeout_s": 1.0},
                {"scheme": (ADAPTIVE,), **_SOME_MIXES},
            ),
        ),
    ),
    Alternative(
        "af-keeps-place",
        "Where is the newly stored ACK placed under AF?",
        "in the removed one's place",
        {"ap.scheme.place": "oldest-removed"},
        {"scheme": (AF, SPM_AF)},
    ),
    Alternative(
        "spm-oldest",
        "Which ACK does data displace under SPM-AF?",
        "the oldest (2, 6, 10, 14 and 18 uplinks)",
        {"ap.scheme.displaced": "oldest"},
        {"scheme": (SPM_AF,), **_SOME_MIXES},
    ),
    Joint("redundant-newest+tie-random", (NEWEST, TIE_RANDOM)),
)


def scenario(mix: Mix, scheme: str, form: Form) -> Scenario:
    """One simulation of Section IV."""
    return Scenario.from_settings(
        {
            **SECTION_IV_A,
            "title": f"{scheme}, (n_down, n_up) = {mix}",
            "ap": {**SECTION_IV_A["ap"], "scheme": scheme},
            "run": {"warmup_s": form.warmup_s, "duration_s": form.duration_s},
            "flows": [{"count": mix.up, "direction": "up"}, {"count": mix.down, "direction": "down"}],
        }
    )


def cells(form: Form, figure: str | None) -> list[Cell]:
    """The cells: every mix, or those of one figure, under every scheme."""
    return [
        Cell(
            f"{scheme}/{mix.up}+{mix.down}",
            scenario(mix, scheme, form),
            {"scheme": scheme, "n_up": mix.up, "n_down": mix.down},
        )
        for mix in (MIXES_OF_FIGURE[figure] if figure else ALL_MIXES)
        for scheme in SCHEMES
    ]
