"""The simulations of Sections 3, 5 and 7 and the measured scenarios of Section 4: grid and forms.

Simulations. The paper says ns-2, so the baseline is the `ns-2` dialect: NewReno, packets of 1500 bytes, an ACK for every
second segment, 20 packets of window ("by default in ns-2"), 11 Mbps. A transfer is a new one-way connection of ns-2
(window, timer and estimator restart, a 40-byte segment opens it), with a real handshake as another reading. What the paper does not say
is taken as follows, and read otherwise among the alternatives: RTS off; 5 ms of wire each way at 100 Mbps, as in the
set's other ns-2 paper (`adaptive-pushout`, Table I); 50 packets of buffer in Sections 5.2 and 7.2, ns-2's default
queue; FTP in the web case downloads, as the bulk of Section 5.2 does; no time to think. Flows start within one second,
so that their first windows do not meet in one instant.

SPM-AF changes the senders, too: marks below 4 packets of window, and growth by segments acknowledged without a limit.

"Until all large file transfers are finished" needs a limit for runs in which they never are: `CAP_S_PER_FILE`.

Measured part. Linux 2.4 at all ends: NewReno (SACK there), 64240 bytes of window (44 segments, what an unscaled window
holds), an ACK for every second segment and after 40 ms at the latest, initial window 2, a minimal timeout of 200 ms and
an initial one of 3 s; queues of 100 packets at the AP (a Linux laptop) and at the stations, Linux's default transmit
queue. A LAN: 1 ms each way at 100 Mbps. Long preambles, the mandatory ones of 802.11b. The far host's error rate is
fitted to its own throughput alone (`FAR_FRAME_ERROR_RATE`); the near host's is then predicted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wifair.papers.reproduction import Form
from wifair.scenario.scenario import Scenario
from wifair.study.job import Cell

TAIL_DROP = "droptail"
SPM_AF = "spm-af"
LAS = "las"
T_LAS = "t-las"
# SPM-AF without the senders' marks: its ACK filter alone, all data of low priority.
UNMARKED = "spm-af-unmarked"
# SPM-AF whose senders' windows grow by ACKs: the side effect of the filter that Section 6.1 counteracts.
BY_ACKS = "spm-af-by-acks"

# "The buffer size is varied from 10 packets to 150 packets", Section 5.1: in steps of 10.
BUFFERS = tuple(range(10, 151, 10))
# Statements on tail drop's unfairness end where the paper says that it ends (150 packets); from 110 on it fades.
UNFAIR_BUFFERS = tuple(b for b in BUFFERS if b <= 100)
# "20 packets by default in ns-2".
WINDOW = 20
# Five windows of 6 packets and five of 3 ACKs fit into 50 packets: a buffer of Fig. 6 with its losses turned off.
LOSS_FREE_BUFFER, LOSS_FREE_WINDOW = 50, 6
# Section 3.2.1 has N hosts with a flow in each direction: N = 5 has the ten flows of Section 5.1. A buffer that loses packets,
# and one that does not.
N_HOSTS, BOTH_WAYS_BUFFERS = 5, (50, 150)
# Buffers that lose ACKs of five uplink flows, which have up to 50 of them.
LOSING_ACKS = (10, 20, 30, 40)
# The share of a lone downlink flow's packets that is lost: about what tail drop loses with five flows each way at 60 packets.
LOST = 0.05
# Ten numbers of hosts; the paper says "from 2 to 40" and names 10 and 40. Half of them load large files, so they are even.
HOSTS = (2, 6, 10, 14, 20, 24, 28, 32, 36, 40)
SMALL_PACKETS, LARGE_PACKETS = 10, 1000
WEB_PACKETS = tuple(range(5, 26))
MSS_BYTES = 1460
# T-LAS is added to the paper's three, to show its threshold's cost with long flows.
UP_DOWN_SCHEMES = (TAIL_DROP, SPM_AF, LAS, T_LAS)
FILE_SCHEMES = (TAIL_DROP, SPM_AF, T_LAS)

# Simulated seconds for each large file, after which a run is cut. Tail drop takes 3 to 4 of them; what SPM-AF gives to
# small files makes it up to 7.
CAP_S_PER_FILE = 8.0

# Share of the frames to the far host that are lost, each attempt by itself, found by bisection so that its throughput
# next to the near host is the paper's 1.44 Mbps (seeds 101 to 120, which the study does not use).
FAR_FRAME_ERROR_RATE = 0.3685


@dataclass(frozen=True)
class Size(Form):
    """The size of a form: numbers of hosts, and large files per host."""

    hosts: tuple[int, ...] = ()
    files: int = 10


FORMS: Mapping[str, Size] = {
    # "Each experiment runs for 300 seconds"; "each of these hosts downloads 100 such large files": a tenth of them leaves time
    # for ten numbers of hosts and for the other readings, of which `hundred-files` is one.
    "full": Size(
        seeds=10,
        first_look=5,
        warmup_s=0.0,
        duration_s=300.0,
        figure_formats=("png", "pdf"),
        hosts=HOSTS,
        files=10,
    ),
    "quick": Size(seeds=3, first_look=0, warmup_s=0.0, duration_s=300.0, hosts=(2, 10, 20, 40), files=5),
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
        "receiver_window_segments": WINDOW,
        "delayed_ack": {"segments": 2},  # "one ACK for every two TCP data segments received"
    },
}
# 6.1: marks on "any packets sent when the congestion window is smaller than 4 packets"; growth "by counting how many
# segments are acknowledged", without a limit (as much as the window holds), each segment like a separate ACK.
SPM_SENDER: Mapping[str, Any] = {
    "priority_marking": {"below_segments": 4},
    "byte_counting": {"limit_segments": WINDOW, "limit_after_timeout_segments": WINDOW, "segment_by_segment": True},
}
MARKED: Mapping[str, Any] = {"name": SPM_AF, "variant": "sender-marking"}
SCHEME: Mapping[str, Any] = dict.fromkeys((SPM_AF, UNMARKED, BY_ACKS), MARKED)
SENDER: Mapping[str, Any] = {
    SPM_AF: SPM_SENDER,
    UNMARKED: {"byte_counting": SPM_SENDER["byte_counting"]},
    BY_ACKS: {"priority_marking": SPM_SENDER["priority_marking"]},
}
START: Mapping[str, Any] = {"start_spread_s": 1.0}


def simulated(
    scheme: str, buffer: int, title: str, run: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], hosts: int = 0
) -> Scenario:
    """One simulation of Sections 3, 5 and 7. Each flow has its own station, or is at one of `hosts` stations called `host`."""
    carried_by_tcp = any(flow.get("application") is not SATURATING for flow in flows)
    tcp = {"tcp": {**NS_2["tcp"], **SENDER.get(scheme, {})}} if carried_by_tcp else {}
    return Scenario.from_settings(
        {
            **{key: value for key, value in NS_2.items() if key != "tcp"},
            **tcp,
            "title": title,
            "ap": {"limit_packets": buffer, "scheme": SCHEME.get(scheme, scheme)},
            "run": {"record_transfers": False, **run},
            "stations": [{"name": "host", "count": hosts}] if hosts else [],
            "flows": [{**START, **flow} for flow in flows],
        }
    )


# Datagrams of 1500 bytes that always wait.
SATURATING: Mapping[str, Any] = {"name": "udp", "rate_mbps": 12.0, "payload_bytes": 1472}
UP_DOWN: Sequence[Mapping[str, Any]] = ({"direction": "up", "count": 5}, {"direction": "down", "count": 5})


def up_down(form: Form) -> list[Cell]:
    """Figs. 6, 9 and 10: five uplink and five downlink flows, every buffer, every scheme; SPM-AF without a part of it, too."""
    run = {"warmup_s": form.warmup_s, "duration_s": form.duration_s}
    buffers_of = {
        **dict.fromkeys(UP_DOWN_SCHEMES, BUFFERS),
        UNMARKED: UNFAIR_BUFFERS,
        BY_ACKS: UNFAIR_BUFFERS,
    }
    return [
        Cell(
            f"up-down/{scheme}/{buffer}",
            simulated(scheme, buffer, f"{scheme}, {buffer} packets", run, UP_DOWN),
            {"part": "up-down", "scheme": scheme, "buffer": buffer},
        )
        for scheme, buffers in buffers_of.items()
        for buffer in buffers
    ]


def causes(form: Form) -> list[Cell]:
    """Section 5.1's argument: the queue in a buffer with room for all windows, and the unfairness without losses."""
    run = {"warmup_s": form.warmup_s, "duration_s": form.duration_s}
    roomy = simulated(TAIL_DROP, 300, "room for 300 packets", {**run, "sample_interval_s": 0.05}, UP_DOWN)
    windows = {
        window: simulated(TAIL_DROP, LOSS_FREE_BUFFER, f"windows of {window} packets", run, UP_DOWN).override(
            {"tcp.receiver_window_segments": window}
        )
        for window in (LOSS_FREE_WINDOW, WINDOW)
    }
    return [
        Cell("queued", roomy, {"part": "queued"}),
        *(Cell(f"loss-free/{window}", s, {"part": "loss-free", "window": window}) for window, s in windows.items()),
    ]


def shares(form: Form) -> list[Cell]:
    """Section 3.1's argument: two downlink flows and an uplink flow of datagrams that always wait."""
    run = {"warmup_s": form.warmup_s, "duration_s": form.duration_s}
    flows: list[Mapping[str, Any]] = [{"direction": "down", "count": 2}, {"direction": "up"}]
    datagrams: list[Mapping[str, Any]] = [{**flow, "application": SATURATING} for flow in flows]
    return [
        Cell(
            "shares/datagrams",
            simulated(TAIL_DROP, 50, "2 down, 1 up, datagrams", run, datagrams),
            {"part": "shares", "transport": "datagrams"},
        )
    ]


def both_ways(form: Form) -> list[Cell]:
    """Section 3.2.1's argument: N hosts with an uplink and a downlink flow each, of datagrams that always wait and of TCP."""
    run = {"warmup_s": form.warmup_s, "duration_s": form.duration_s}
    flows: list[Mapping[str, Any]] = [
        {"direction": direction, "count": N_HOSTS, "station": "host"} for direction in ("up", "down")
    ]
    datagrams: list[Mapping[str, Any]] = [{**flow, "application": SATURATING} for flow in flows]
    return [
        Cell(
            f"both-ways/{transport}/{buffer}",
            simulated(TAIL_DROP, buffer, f"{N_HOSTS} hosts, both ways, {transport}", run, of, N_HOSTS),
            {"part": "both-ways", "transport": transport, "buffer": buffer},
        )
        for transport, of in (("datagrams", datagrams), ("tcp", flows))
        for buffer in BOTH_WAYS_BUFFERS
    ]


def losses(form: Form) -> list[Cell]:
    """Section 3.2.1 on losses: five uplink flows alone, of which the AP's buffer can only lose ACKs, and one downlink flow with losses."""
    run = {"warmup_s": form.warmup_s, "duration_s": form.duration_s}
    down = [{"direction": "down"}]
    return [
        *(
            Cell(
                f"uplinks/{buffer}",
                simulated(TAIL_DROP, buffer, f"5 up, {buffer} packets", run, UP_DOWN[:1]),
                {"part": "uplinks", "buffer": buffer},
            )
            for buffer in (*LOSING_ACKS, BUFFERS[-1])
        ),
        *(
            Cell(
                f"downlink/{lost}",
                simulated(TAIL_DROP, 50, f"1 down, {lost:.0%} lost", run, down).override({"wire.loss_rate": lost}),
                {"part": "downlink", "lost": lost},
            )
            for lost in (0.0, LOST)
        ),
    ]


def newcomer() -> list[Cell]:
    """Section 6.2's warning: four long downlink flows, and a fifth that begins at 100 s; measured for 20 s from there.

    The buffer of 150 packets holds all windows, so the schemes differ only in their order of service.
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
    """A group of hosts that repeatedly load 10-packet files."""
    transfers = {"name": "transfers", "transfer_bytes": SMALL_PACKETS * MSS_BYTES}
    return {"name": "small", "direction": "down", "count": count, "application": transfers}


def large(count: int, files: int) -> dict[str, Any]:
    """A group of hosts that each load a number of 1000-packet files."""
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
    """Fig. 13: ten hosts with Web documents next to ten with FTP, 500 s; and twenty with Web documents alone."""
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
    "station": {"rate_mbps": 11.0, "tx_queue": {"limit_packets": 100}},
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
    "1 down": [{**START, "direction": "down"}],
    "near and far": [FLOW_1, {**FLOW_2, "station": FAR}],
    "both near": [FLOW_1, FLOW_2],
    "1 up, 1 down": [{**START, "direction": "up"}, {**START, "direction": "down"}],
    "2 up, 2 down": [{**START, "direction": "up", "count": 2}, {**START, "direction": "down", "count": 2}],
}


# The server of the WAN is at another university, 500 km away; the paper gives no round trip.
WAN_DELAY_MS = 10.0


def measured() -> list[Cell]:
    """Figs. 2, 3 and 4: the experiments of Section 4 as scenarios, with LAN and WAN variants where the paper has both."""
    lan = {
        case: Scenario.from_settings({**LINUX_2_4, "title": case, "flows": list(of)}) for case, of in MEASURED.items()
    }
    wan = {
        f"{case}, WAN": lan[case].override({"wire.one_way_delay_ms": WAN_DELAY_MS})
        for case in ("1 down", "1 up, 1 down", "2 up, 2 down")
    }
    return [Cell(f"measured/{case}", s, {"part": "measured", "case": case}) for case, s in {**lan, **wan}.items()]


# The cells of each figure, by coordinates.
CELLS_OF_FIGURE: Mapping[str, Mapping[str, Sequence[object]]] = {
    "2": {"part": ("measured",), "case": ("near and far", "both near")},
    "3": {"part": ("measured",), "case": ("1 up, 1 down",)},
    "4": {"part": ("measured",), "case": ("2 up, 2 down",)},
    "6": {"part": ("up-down", "queued", "loss-free"), "scheme": (TAIL_DROP, None)},
    "7": {"part": ("files",), "scheme": (TAIL_DROP,)},
    "8": {"part": ("files",), "scheme": (TAIL_DROP,), "mix": ("mixed",)},
    "9a": {"part": ("up-down",)},
    "9b": {"part": ("up-down",)},
    "10": {"part": ("up-down",)},
    "11": {"part": ("files",)},
    "12": {"part": ("files",), "mix": ("mixed",)},
    "13": {"part": ("web",)},
}


def cells(form: Form, figure: str | None) -> list[Cell]:
    """The whole grid, or the cells of one figure."""
    assert isinstance(form, Size)
    wanted = CELLS_OF_FIGURE[figure] if figure else {}
    argued = (shares(form), both_ways(form), losses(form))
    parts = (*argued, up_down(form), causes(form), newcomer(), files(form), web(), measured())
    grid = [cell for part in parts for cell in part]
    return [cell for cell in grid if all(cell.keys.get(name) in values for name, values in wanted.items())]
