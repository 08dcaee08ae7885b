"""Causes of differences between the simulators: each is turned off in one of them, and the difference is measured again.

A chain makes wifair like a peer (or a peer like wifair) step by step; every step includes the ones before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import table
from cases import AIRS, Case
from peers import Native, Outcome, Peer
from wifair.markdown import table as markdown_table
from wifair.stats import Interval

Changes = Mapping[str, object]


@dataclass(frozen=True)
class Step:
    """A cause: the settings that give it to wifair, or remove it from the peer."""

    cause: str
    wifair: Changes = field(default_factory=dict)
    native: Changes = field(default_factory=dict)

    def where(self, peer: str) -> str:
        told = {"wifair": self.wifair, peer: self.native}
        return "; ".join(
            f"{name}: " + ", ".join(f"`{key}` = {value}" for key, value in changes.items())
            for name, changes in told.items()
            if changes
        )


@dataclass(frozen=True)
class Chain:
    """Steps for one peer in one case, at these sizes."""

    peer: str
    case: str
    sizes: tuple[int, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Explained:
    """A difference before and after one step."""

    case: str
    size: int
    metric: table.Metric
    peer: str
    step: Step
    before: Interval
    after: Interval

    def row(self) -> dict[str, object]:
        """For JSON."""
        ends = {
            name: [found.estimate, found.low, found.high]
            for name, found in (("before", self.before), ("after", self.after))
        }
        place = {"case": self.case, "size": self.size, "metric": self.metric.name, "unit": self.metric.unit}
        return {
            **place,
            "peer": self.peer,
            "cause": self.step.cause,
            "turned_off_in": self.step.where(self.peer),
            **ends,
        }


# Of ns-2's MAC; together with the timeouts they are those of wifair's dialect `ns-2`.
FRAME = Step("34 bytes round an IP packet, not 36", {"phy.mac_header_bytes": 30, "phy.llc_bytes": 0})
BACKOFF = Step(
    "every frame backs off, and from 0 to CW − 1",
    {"mac.immediate_access": False, "mac.arrival_within_ifs": "backoff", "mac.backoff_range": "exclusive"},
)
WAITS = Step(
    "after a collision all wait EIFS and a DIFS, but who sent the longest frame alone 318 µs",
    {"mac.eifs_plus_difs": True, "mac.colliders_wait_eifs": True, "mac.ack_timeout_us": 268.0},
)
# Neighbours on the circle are nearer to each other than to the AP. Who captures a frame sets a NAV for the other, and an EIFS
# after it, to the next whole microsecond: then it counts slots of its own.
ROUNDING = Step(
    "bystanders that capture round their NAV to 1 µs (frames of whole µs)",
    {"flows[0].application.payload_bytes": 1467},
    {"ip_bytes": 1495},
)
CAPTURE = Step("bystanders that capture round their NAV to 1 µs (nobody captures)", native={"capture_db": 90})
TIMER = Step(
    "the sender is Reno's, its timer counts in ticks of 10 ms and starts at 3 s",
    {"tcp.congestion_control.name": "reno", "tcp.rto.tick_ms": 10, "tcp.rto.initial_ms": 3000},
)
REDUCED = Step(
    "a loss halves the window, not FlightSize, and the end of a recovery lets cwnd grow",
    {"tcp.loss_reduces": "window", "tcp.recovery_end_grows": True},
)
LIMITED = Step("limited transmit asks for room in the advertised window as well", {"tcp.limited_transmit": False})
# Of ns-3.
EIGHT = Step("a limit of 7 allows 8 attempts", {"mac.retry_limit_short": 8})
UNLIMITED = Step("attempts have a limit", {"mac.retry_limit_short": 255}, {"ns3::WifiMac::FrameRetryLimit": 255})
AT_ONCE = Step("who answers a frame before its MAC ACK is sent need not back off", native={"host_delay_us": 20})
RTO = Step(
    "timeouts come too early where the least is 200 ms",
    {"tcp.rto.min_ms": 1000},
    {"ns3::TcpSocketBase::MinRto": "1s"},
)
SACK = Step("recovery without SACK", {"tcp.sack": {}}, {"ns3::TcpSocketBase::Sack": 1})
QOS = Step("a QoS header has 26 bytes, not 24", {"phy.mac_header_bytes": 26})
EIFS = Step("an EIFS is as long as the MAC ACK takes at 1 Mbps, not 6", {"mac.eifs": False}, {"preamble_detection": 1})
# wifair's 10 + 50 µs, where ns-3's are 10 + 304 µs.
ACK_AT_6 = Step("an EIFS allows for a MAC ACK at 1 Mbps, not 6", native={"eifs_lead_us": 60})
NO_EIFS = Step("an EIFS after lost frames", {"mac.eifs": False})
NO_EIFS_EITHER = Step("an EIFS after lost frames, in both", native={"eifs_lead_us": 0})
# Of ns-3, with A-MPDUs. Its CW starts over after 8 failures in a row. It counts an MPDU's failures only where no Block Ack
# comes, and repeats a Block Ack Request until one is answered.
REQUESTS = Step(
    "a BAR has no limit of attempts, and CW starts over after 8 failures, not 7",
    {"mac.retry_limit_short": 8},
    {"bar_attempts": 8},
)
# With so high a limit ns-3's CW starts over after 32 failures: it shifts a 32-bit number by their count.
NO_LIMIT = Step(
    "an MPDU's failures count only where no Block Ack comes (no limit in either)",
    {"mac.retry_limit_short": 32, "mac.aggregation.max_attempts": 10_000},
    {"ns3::WifiMac::FrameRetryLimit": 10_000},
)
NO_LIMIT_EITHER = Step("what a limit of attempts leads to (none in either)", NO_LIMIT.wifair, NO_LIMIT.native)
SENSING = Step("a node senses a frame 4 µs after its start", native={"sense_us": 0.2})
DELIVERY = Step("a packet goes up at the end of its MPDU, not of the PPDU", native={"deliver_at_end": 1})
# On one channel wifair has ns-3's rule. If ns-3's is changed instead, hosts answer all MPDUs before the MAC ACK, and need not
# back off.
DELIVERY_IN_BOTH = Step(DELIVERY.cause, {"mac.aggregation.delivery": "mpdu"})
# With preamble detection ns-3 misses both of two frames that start together, and nobody waits an EIFS after them.
OVERLAP = Step(
    "in a collision an A-MPDU keeps the MPDUs that no shorter frame overlaps (no EIFS in either)",
    {"mac.eifs": False},
    {"preamble_detection": 1},
)

CHAINS = (
    Chain("ns-2", "symmetric", (2, 10, 20), (FRAME, BACKOFF, WAITS, TIMER, REDUCED, LIMITED, CAPTURE)),
    Chain("ns-2", "saturated", (5, 10, 20, 50), (FRAME, BACKOFF, WAITS, ROUNDING)),
    Chain("ns-3", "symmetric", (2, 10), (AT_ONCE, RTO, SACK)),
    Chain("ns-3", "saturated", (50,), (EIGHT, UNLIMITED)),
    Chain("ns-3", "alt", (2, 10), (QOS, AT_ONCE, EIFS)),
    Chain("ns-3", "alt-steady", (10,), (QOS, ACK_AT_6, NO_EIFS, NO_EIFS_EITHER)),
    # The order is that of the fields; what was found last is last.
    *(Chain("ns-3", f"udp-up-{air.name}", (5, 20), (EIGHT, NO_LIMIT_EITHER)) for air in AIRS),
    *(Chain("ns-3", f"udp-both-{air.name}", (5,), (EIGHT, NO_LIMIT_EITHER, SENSING)) for air in AIRS),
    *(Chain("ns-3", f"tcp-{air.name}", (1, 10), (DELIVERY_IN_BOTH, AT_ONCE, SENSING, OVERLAP)) for air in AIRS),
    Chain("ns-3", "two-udp", (2,), (NO_LIMIT_EITHER, SENSING)),
    Chain("ns-3", "two-tcp", (2,), (DELIVERY, AT_ONCE, SENSING)),
    Chain("ns-3", "line-udp", (3,), (NO_LIMIT_EITHER, SENSING)),
    Chain("ns-3", "line-tcp", (3,), (DELIVERY, AT_ONCE, SENSING)),
    Chain("ns-3", "hidden-udp", (1,), (REQUESTS, NO_LIMIT)),
    Chain("ns-3", "hidden-tcp", (1,), (DELIVERY, REQUESTS)),
    Chain("ns-3", "hidden-rts-udp", (1,), (NO_LIMIT_EITHER,)),
    Chain("ns-3", "hidden-rts-tcp", (1,), (DELIVERY, NO_LIMIT_EITHER)),
    Chain("ns-3", "ten-tcp", (10,), (DELIVERY,)),
)


def explain(
    cases: Sequence[Case], peers: Sequence[Peer], found: table.Found, seeds: int, progress: Callable[[str], None]
) -> list[Explained]:
    """Every step of every chain whose simulators are here, for each number of which the difference was or is clear."""
    by_name = {peer.name: peer for peer in peers}
    explained: list[Explained] = []
    for chain in CHAINS:
        case = next((case for case in cases if case.name == chain.case), None)
        if case is None or not {chain.peer, table.REFERENCE} <= by_name.keys():
            continue
        for size in chain.sizes:
            progress(f"causes: {case.name}, {size}, {chain.peer}")
            explained += _along(chain, case, size, by_name, found, seeds)
    return explained


def _along(
    chain: Chain, case: Case, size: int, by_name: Mapping[str, Peer], found: table.Found, seeds: int
) -> list[Explained]:
    mine, theirs = found[case.name, size, table.REFERENCE], found[case.name, size, chain.peer]
    told: dict[str, dict[str, object]] = {"wifair": {}, "native": {}}
    explained = []
    for step in chain.steps:
        before = {metric: _difference(theirs, mine, metric) for metric in table.metrics(case)}
        if step.wifair:
            told["wifair"] |= step.wifair
            mine = by_name[table.REFERENCE].outcomes(case, size, seeds, told["wifair"], case.measured_s)
        if step.native:
            told["native"] |= step.native
            theirs = _native(by_name[chain.peer], case, size, seeds, told["native"])
        for metric, was in before.items():
            now = _difference(theirs, mine, metric)
            if table.beyond(was) or table.beyond(now):
                explained.append(Explained(case.name, size, metric, chain.peer, step, was, now))
    return explained


def _native(peer: Peer, case: Case, size: int, seeds: int, changed: Changes) -> list[Outcome]:
    if not isinstance(peer, Native):
        raise TypeError(f"{peer.name} has no program of its own")
    return peer.outcomes(case, size, seeds, changed, case.measured_s)


def _difference(theirs: Sequence[Outcome], mine: Sequence[Outcome], metric: table.Metric) -> Interval:
    values = (table.in_unit(metric.values(of), metric) for of in (theirs, mine))
    return table.difference(*values)


def markdown(explained: Sequence[Explained]) -> str:
    """The table of causes."""
    rows = [
        (
            f"{one.case}, {one.size}: {one.metric.title}, {one.peer} − {table.REFERENCE}",
            one.step.cause,
            one.step.where(one.peer),
            table.told(one.before),
            table.told(one.after),
        )
        for one in explained
    ]
    return "### Causes\n\n" + markdown_table(("difference", "cause", "turned off in", "before", "after"), rows)
