"""The simulations of Sections 5 and 7 and the measured scenarios of Section 4: grid, forms, and other readings.

Simulations. The paper says ns-2, so the baseline is the `ns-2` dialect: NewReno, packets of 1500 bytes, an ACK for every
second segment, 20 packets of window ("by default in ns-2"), 11 Mbps. A transfer is a new one-way connection of ns-2
(window, timer and estimator start anew; no SYN), with a real handshake as another reading. What the paper does not say
is taken as follows, and read otherwise among the alternatives: RTS off; 5 ms of wire each way at 100 Mbps, as in the
set's other ns-2 paper (`adaptive-pushout`, Table I); 50 packets of buffer in Sections 5.2 and 7.2, ns-2's default
queue; FTP in the web case downloads, as the bulk of Section 5.2 does; no time to think. Flows start within one second,
so that their first windows do not meet in one instant.

SPM-AF changes the senders, too: marks below 4 packets of window, and growth by segments acknowledged without a limit.

"Until all large file transfers are finished" needs an end where they never do: `CAP_S_PER_FILE`.

Measured part. Linux 2.4 at all ends: NewReno (SACK there), 64240 bytes of window (44 segments, what an unscaled window
holds), an ACK for every second segment and after 40 ms at the latest, initial window 2, a minimal timeout of 200 ms and
an initial one of 3 s; queues of 100 packets at the AP (a Linux laptop) and at the stations, Linux's default transmit
queue. A LAN: 1 ms each way at 100 Mbps. Long preambles, the mandatory ones of 802.11b. The far host's error rate is
fitted to its own throughput alone (`FAR_FRAME_ERROR_RATE`); the near host's is then predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wifair.papers.readings import Alternative
from wifair.papers.reproduction import Form
from wifair.scenario import Scenario
from wifair.study import Cell

TAIL_DROP = "droptail"
SPM_AF = "spm-af"
LAS = "las"
T_LAS = "t-las"

# "The buffer size is varied from 10 packets to 150 packets", Section 5.1: in steps of 10.
BUFFERS = tuple(range(10, 151, 10))
SMALL_PACKETS, LARGE_PACKETS = 10, 1000
WEB_PACKETS = tuple(range(5, 26))
MSS_BYTES = 1460
# T-LAS stands beside the paper's three, to see what its threshold costs among long flows.
UP_DOWN_SCHEMES = (TAIL_DROP, SPM_AF, LAS, T_LAS)
FILE_SCHEMES = (TAIL_DROP, SPM_AF, T_LAS)

# Simulated seconds for each large file, after which a run is cut. Tail drop takes 3 to 4 of them; what SPM-AF gives to
# small files makes it up to 7.
CAP_S_PER_FILE = 8.0

# Share of the frames to the far host that are lost, each attempt by itself, found by bisection so that its throughput
# beside the near host is the paper's 1.44 Mbps (seeds 101 to 120, which the study does not use).
FAR_FRAME_ERROR_RATE = 0.3685


@dataclass(frozen=True)
class Size(Form):
    """What a form runs of the grid: numbers of hosts, and large files that each host loads."""

    hosts: tuple[int, ...] = ()
    files: int = 100


FORMS: Mapping[str, Size] = {
    # "Each experiment runs for 300 seconds"; "each of these hosts downloads 100 such large files".
    "full": Size(
        seeds=10,
        first_look=5,
        warmup_s=0.0,
        duration_s=300.0,
        figure_formats=("png", "pdf"),
        hosts=(2, 6, 10, 20, 40),
        files=100,
    ),
    "quick": Size(seeds=3, first_look=0, warmup_s=0.0, duration_s=300.0, hosts=(2, 10, 20, 40), files=20),
}

NS_2: Mapping[str, Any] = {
    "dialect": "ns-2",
    "phy": {"name": "802.11b", "preamble": "long", "control_rate_mbps": 1.0},
    "station": {"rate_mbps": 11.0},  # "fixed at 11 Mbps"
    "wire": {"rate_mbps": 100.0, "one_way_delay_ms": 5.0},
    "tcp": {
        "congestion_control": {"name": "newreno"},
        "mss_bytes": MSS_BYTES,  # "fixed-size 1500-byte packets"
        "header_bytes": 40,
        "receiver_window_segments": 20,
        "delayed_ack": {"segments": 2},  # "one ACK for every two TCP data segments received"
    },
}
# 6.1: marks on "any packets sent when the congestion window is smaller than 4 packets"; growth "by counting how many
# segments are acknowledged", without a limit: as much as the window holds.
SPM_SENDER: Mapping[str, Any] = {
    "priority_marking": {"below_segments": 4},
    "byte_counting": {"limit_segments": 20, "limit_after_timeout_segments": 20},
}
SCHEME: Mapping[str, Any] = {SPM_AF: {"name": SPM_AF, "variant": "sender-marking"}}
START: Mapping[str, Any] = {"start_spread_s": 1.0}


def simulated(
    scheme: str, buffer: int, title: str, run: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]
) -> Scenario:
    """One simulation of Sections 5 and 7."""
    tcp = {**NS_2["tcp"], **(SPM_SENDER if scheme == SPM_AF else {})}
    return Scenario.from_settings(
        {
            **NS_2,
            "title": title,
            "tcp": tcp,
            "ap": {"limit_packets": buffer, "scheme": SCHEME.get(scheme, scheme)},
            "run": {"record_transfers": False, **run},
            "flows": [{**START, **flow} for flow in flows],
        }
    )


def up_down(form: Form) -> list[Cell]:
    """Figs. 6, 9 and 10: five uplink and five downlink flows, every buffer, every scheme."""
    run = {"warmup_s": form.warmup_s, "duration_s": form.duration_s}
    flows = [{"direction": "up", "count": 5}, {"direction": "down", "count": 5}]
    return [
        Cell(
            f"up-down/{scheme}/{buffer}",
            simulated(scheme, buffer, f"{scheme}, {buffer} packets", run, flows),
            {"part": "up-down", "scheme": scheme, "buffer": buffer},
        )
        for scheme in UP_DOWN_SCHEMES
        for buffer in BUFFERS
    ]


def newcomer() -> list[Cell]:
    """Section 6.2's warning: four long downlink flows, and a fifth that begins at 100 s; measured for 20 s from there.

    The buffer of 150 packets holds all windows, so that the schemes differ in their order alone.
    """
    run = {"warmup_s": 100.0, "duration_s": 20.0}
    flows = [
        {"name": "old", "direction": "down", "count": 4},
        {"name": "new", "direction": "down", "start_s": 100.0, "start_spread_s": 0.0},
    ]
    return [
        Cell(
            f"newcomer/{scheme}",
            simulated(scheme, 150, f"{scheme}, a new long flow", run, flows),
            {"part": "newcomer", "scheme": scheme},
        )
        for scheme in (TAIL_DROP, LAS, T_LAS)
    ]


def small(count: int) -> dict[str, Any]:
    """Hosts that load 10-packet files over and over."""
    transfers = {"name": "transfers", "transfer_bytes": SMALL_PACKETS * MSS_BYTES}
    return {"name": "small", "direction": "down", "count": count, "application": transfers}


def large(count: int, files: int) -> dict[str, Any]:
    """Hosts that load a number of 1000-packet files each."""
    transfers = {"name": "transfers", "transfer_bytes": LARGE_PACKETS * MSS_BYTES, "count": files}
    return {"name": "large", "direction": "down", "count": count, "application": transfers}


def files(form: Size) -> list[Cell]:
    """Figs. 7, 8, 11 and 12: hosts that load small and large files, and, for comparison, all small or all large."""
    cells = []
    for hosts in form.hosts:
        until_s = CAP_S_PER_FILE * form.files * hosts
        mixed_until_s = until_s / 2  # half of the hosts load large files
        mixed = [large(hosts // 2, form.files), {**small(hosts // 2), "stop_after_group": "large"}]
        cases = [(scheme, "mixed", mixed, mixed_until_s) for scheme in FILE_SCHEMES]
        cases += [
            (TAIL_DROP, "small only", [small(hosts)], form.duration_s),
            (TAIL_DROP, "large only", [large(hosts, form.files)], until_s),
        ]
        cells += [
            Cell(
                f"files/{scheme}/{mix}/{hosts}",
                simulated(scheme, 50, f"{scheme}, {mix}, {hosts} hosts", {"warmup_s": 0.0, "duration_s": s}, flows),
                {"part": "files", "scheme": scheme, "mix": mix, "hosts": hosts},
            )
            for scheme, mix, flows, s in cases
        ]
    return cells


def web() -> list[Cell]:
    """Fig. 13: ten hosts with Web documents beside ten with FTP, 500 s; and twenty with Web documents alone."""
    http = {"name": "http", "direction": "down", "application": {"name": "web"}}
    ftp = {"name": "ftp", "direction": "down", "count": 10}
    cases = [(scheme, "ftp", [{**http, "count": 10}, ftp]) for scheme in FILE_SCHEMES]
    cases.append((TAIL_DROP, "none", [{**http, "count": 20}]))
    return [
        Cell(
            f"web/{scheme}/{background}",
            simulated(scheme, 50, f"Web, {scheme}, background {background}", {"warmup_s": 0, "duration_s": 500}, flows),
            {"part": "web", "scheme": scheme, "background": background},
        )
        for scheme, background, flows in cases
    ]


MEASURED_FROM_S, MEASURED_S = 20.0, 300.0
LINUX_2_4: Mapping[str, Any] = {
    "phy": {"name": "802.11b", "preamble": "long"},
    "ap": {"limit_packets": 100},
    "station": {"rate_mbps": 11.0, "port": {"limit_packets": 100}},
    "wire": {"rate_mbps": 100.0, "one_way_delay_ms": 1.0},
    "tcp": {
        "congestion_control": {"name": "newreno"},
        "receiver_window_segments": 44,
        "initial_window_segments": 2,
        "delayed_ack": {"segments": 2, "timeout_ms": 40},
        "rto": {"initial_ms": 3_000, "min_ms": 200},
    },
    "run": {"warmup_s": MEASURED_FROM_S, "duration_s": MEASURED_S, "sample_interval_s": 1.0},
}
FAR = {"rate_mbps": 11.0, "frame_error_rate": {"data_down": FAR_FRAME_ERROR_RATE}}
# Flow 1 "started 8 seconds earlier".
FLOW_1: Mapping[str, Any] = {"name": "flow-1", "direction": "down"}
FLOW_2: Mapping[str, Any] = {"name": "flow-2", "direction": "down", "start_s": 8.0}
MEASURED: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "near and far": [FLOW_1, {**FLOW_2, "station": FAR}],
    "both near": [FLOW_1, FLOW_2],
    "1 up, 1 down": [{**START, "direction": "up"}, {**START, "direction": "down"}],
    "2 up, 2 down": [{**START, "direction": "up", "count": 2}, {**START, "direction": "down", "count": 2}],
}


# Another reading of the far host's channel: its frames are lost in bursts, all of them for a while and none otherwise.
# The interval is fitted to the same throughput of 1.44 Mbps.
BURST_S, BURST_INTERVAL_S = 0.05, 2.3
BURSTS = [
    {
        "at_s": round(i * BURST_INTERVAL_S + at, 3),
        "station": {"name": "flow-2", "frame_error_rate": {"data_down": rate}},
    }
    for i in range(int((MEASURED_FROM_S + MEASURED_S) / BURST_INTERVAL_S))
    for at, rate in ((0.0, 1.0), (BURST_S, 0.0))
]


def measured() -> list[Cell]:
    """Figs. 2, 3 and 4: the experiments of Section 4 as scenarios."""
    return [
        Cell(
            f"measured/{case}",
            Scenario.from_settings({**LINUX_2_4, "title": case, "flows": list(flows)}),
            {"part": "measured", "case": case},
        )
        for case, flows in MEASURED.items()
    ]


# What each figure needs of the grid, by coordinates.
CELLS_OF_FIGURE: Mapping[str, Mapping[str, Sequence[object]]] = {
    "2": {"part": ("measured",), "case": ("near and far", "both near")},
    "3": {"part": ("measured",), "case": ("1 up, 1 down",)},
    "4": {"part": ("measured",), "case": ("2 up, 2 down",)},
    "6": {"part": ("up-down",), "scheme": (TAIL_DROP,)},
    "7": {"part": ("files",), "scheme": (TAIL_DROP,)},
    "8": {"part": ("files",), "scheme": (TAIL_DROP,), "mix": ("mixed",)},
    "9a": {"part": ("up-down",)},
    "9b": {"part": ("up-down",)},
    "10": {"part": ("up-down",)},
    "11": {"part": ("files",)},
    "12": {"part": ("files",), "mix": ("mixed",)},
    "13": {"part": ("web",)},
}


PARTS: Mapping[str, Callable[[Size], list[Cell]]] = {
    "up-down": up_down,
    "newcomer": lambda _: newcomer(),
    "files": files,
    "web": lambda _: web(),
    "measured": lambda _: measured(),
}


def cells(form: Form, figure: str | None) -> list[Cell]:
    """The whole grid, or what one figure needs of it."""
    assert isinstance(form, Size)
    wanted = CELLS_OF_FIGURE[figure] if figure else {}
    grid = [cell for part in wanted.get("part", PARTS) for cell in PARTS[str(part)](form)]
    return [cell for cell in grid if all(cell.keys.get(name) in values for name, values in wanted.items())]


SIMULATED: Mapping[str, Sequence[object]] = {"part": ("up-down", "newcomer", "files", "web")}
SHORT_AND_LONG: Mapping[str, Sequence[object]] = {"part": ("files", "web")}

ALTERNATIVES: tuple[Alternative, ...] = (
    Alternative(
        "standard", "Whose MAC and TCP?", "802.11 and the RFCs instead of ns-2's", {"dialect": "standard"}, SIMULATED
    ),
    Alternative(
        "rts", "Are MAC parameters at ns-2's default?", "RTS on every frame", {"mac.rts_threshold_bytes": 0}, SIMULATED
    ),
    Alternative("wire-50ms", "How long is the wire?", "50 ms each way", {"wire.one_way_delay_ms": 50.0}, SIMULATED),
    Alternative(
        "buffer-20",
        "How large is the buffer in Sections 5.2 and 7.2?",
        "20 packets",
        {"ap.limit_packets": 20},
        SHORT_AND_LONG,
    ),
    Alternative(
        "buffer-100",
        "How large is the buffer in Sections 5.2 and 7.2?",
        "100 packets",
        {"ap.limit_packets": 100},
        SHORT_AND_LONG,
    ),
    Alternative(
        "handshake", "Is a transfer's connection opened?", "SYN and FIN", {"tcp.handshake": "real"}, SHORT_AND_LONG
    ),
    Alternative(
        "think-1s",
        "Is there time to think between Web documents?",
        "1 s on average",
        {"flows[0].application.think_mean_s": 1.0},
        {"part": ("web",)},
    ),
    Alternative(
        "las-served",
        "What does LAS key a packet by?",
        "packets of its flow that were served",
        {"ap.scheme.key": "served"},
        {"scheme": (LAS, T_LAS)},
    ),
    Alternative(
        "las-arrived",
        "What does LAS key a packet by?",
        "packets of its flow that arrived",
        {"ap.scheme.key": "arrived"},
        {"scheme": (LAS, T_LAS)},
    ),
    Alternative(
        "las-own-acks",
        "What service does an ACK stand for under LAS?",
        "itself: one packet",
        {"ap.scheme.key": "served", "ap.scheme.acks": "own"},
        {"part": ("up-down",), "scheme": (LAS, T_LAS)},
    ),
    Alternative(
        "spm-oldest",
        "Which packet makes room under SPM-AF?",
        "the oldest",
        {"ap.scheme.displaced": "oldest"},
        {"scheme": (SPM_AF,)},
    ),
    Alternative(
        "spm-newest",
        "Which packet makes room under SPM-AF?",
        "the newest",
        {"ap.scheme.displaced": "newest"},
        {"scheme": (SPM_AF,)},
    ),
    Alternative(
        "spm-limit-2",
        "May an ACK of SPM-AF's senders open the window by more than RFC 3465 allows?",
        "L = 2, and 1 after a timeout",
        {"tcp.byte_counting.limit_segments": 2, "tcp.byte_counting.limit_after_timeout_segments": 1},
        {"scheme": (SPM_AF,)},
    ),
    Alternative(
        "far-in-bursts",
        "How are the far host's frames lost?",
        "all of them for 50 ms, every 2.3 s",
        {"flows": [FLOW_1, FLOW_2], "events": BURSTS},
        {"part": ("measured",), "case": ("near and far",)},
    ),
    Alternative("sack", "Does the measured TCP use SACK?", "it does", {"tcp.sack": {}}, {"part": ("measured",)}),
    Alternative(
        "short-preamble",
        "Which preamble had the measured network?",
        "the short one",
        {"phy.preamble": "short"},
        {"part": ("measured",)},
    ),
)
