"""What was observed of a network: the model that every reader fills. Units are those of the names; *down* is from the access point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, Generic, Literal, TypeVar

from wifair.errors import InputError
from wifair.observed.bitrate import ANY, Bitrate

T = TypeVar("T")
S = TypeVar("S")
Origin = Literal["read", "given", "assumed", "unknown"]
Direction = Literal["down", "up"]


@dataclass(frozen=True)
class Value(Generic[T]):
    """A value with its origin: read from a file, given by the user, assumed from what was read, or unknown and replaced by a default.

    `what` names the field or the rule, the same for all stations. `place` is the line it was read from.
    """

    value: T
    origin: Origin
    what: str
    place: str = ""

    def of(self, value: S) -> Value[S]:
        """Another value of the same origin."""
        return Value(value, self.origin, self.what, self.place)

    def comment(self) -> str:
        """The origin in a comment."""
        return f"{self.origin}: {self.place + ', ' if self.place else ''}{self.what}"


def read(value: T, what: str, place: str) -> Value[T]:
    """A value that was read."""
    return Value(value, "read", what, place)


def given(value: T, option: str) -> Value[T]:
    """A value that the user gave with an option."""
    return Value(value, "given", option)


def assumed(value: T, what: str) -> Value[T]:
    """A value that follows from what was read by an assumption."""
    return Value(value, "assumed", what)


def unknown(value: T, what: str) -> Value[T]:
    """A default for what no file has."""
    return Value(value, "unknown", what)


@dataclass(frozen=True)
class Counters:
    """Counters of a station since it associated, or differences of them. Bytes include 802.11 headers, as mac80211 counts them."""

    elapsed_s: Value[float] | None = None
    down_bytes: Value[int] | None = None
    down_packets: Value[int] | None = None
    up_bytes: Value[int] | None = None
    up_packets: Value[int] | None = None
    retries: Value[int] | None = None
    failed: Value[int] | None = None
    down_airtime_us: Value[int] | None = None
    up_airtime_us: Value[int] | None = None

    @property
    def counted(self) -> frozenset[str]:
        """The names of what was counted. Files of one kind have the same ones."""
        return frozenset(each.name for each in fields(self) if getattr(self, each.name) is not None)

    def is_restarted_by(self, later: Counters) -> bool:
        """Whether counters of the same kind in a later file do not continue these, so that they count alone."""
        return bool(self.counted) and self.counted == later.counted and later.since(self) is None

    def since(self, before: Counters) -> Counters | None:
        """What was counted between two dumps; None if a counter has decreased, as after a new association."""
        found: dict[str, Value[Any] | None] = {}
        for each in fields(self):
            now, then = getattr(self, each.name), getattr(before, each.name)
            if now is None or then is None:
                found[each.name] = None
                continue
            if now.value < then.value:
                return None
            found[each.name] = read(now.value - then.value, f"difference of {now.what}", now.place)
        made = Counters(**found)
        return made if made.elapsed_s is None or made.elapsed_s.value > 0 else None


# Counters as files have them, each continuing the one before it.
Dumps = tuple[Counters, ...]


def _continued(mine: Dumps, later: Dumps) -> Dumps:
    """What is known with the counters of later files. Of files of different kinds, the counters with a time, else the more ones."""
    then, now = mine[-1], later[0]
    if then == Counters() or now == Counters():
        return later if then == Counters() else mine
    if (then.elapsed_s is None) != (now.elapsed_s is None):
        return later if now.elapsed_s else mine
    if then.counted != now.counted:
        return later if len(now.counted) > len(then.counted) else mine
    return mine + later if now.since(then) else later


# The application of a flow that has data at all times, by a rule.
BULK = "bulk"
# The station of a file without one.
CLIENT = "client"
# Applications without TCP.
DATAGRAMS = ("game", "ping", "udp", "voip")


@dataclass(frozen=True)
class Traffic:
    """Traffic that a file describes: the direction, the keys of a flow, and what was measured of it: its payload, the median round-trip time of a ping.

    `assumed` are keys that follow from what was read by an assumption.
    """

    direction: Direction
    keys: Value[Mapping[str, Any]]
    remark: str = ""
    mbps: float | None = None
    rtt_ms: float | None = None
    # Payload of what goes both ways in the other direction.
    back_mbps: float | None = None
    assumed: Mapping[str, Value[Any]] = field(default_factory=dict)
    delay: Delay | None = None


@dataclass(frozen=True)
class Delay:
    """Half the shortest round-trip time to a server. `has_wait`: whether the wait in the queue of the access point is part of it."""

    one_way_ms: Value[float]
    has_wait: bool


@dataclass(frozen=True)
class Documents:
    """Documents that come one after another, as a capture shows them: their number, mean size and standard deviation in bytes, connections side by side, and the mean time from one to the next in seconds."""

    count: int
    mean_bytes: float
    deviation_bytes: float
    connections: int
    think_mean_s: float
    # The median of their connections.
    delay: Delay | None = None


@dataclass(frozen=True)
class Change:
    """A direction of a link has another rate from a time on, in seconds since the file that shows it began."""

    at_s: float
    direction: Direction
    rate: Value[Bitrate]


@dataclass(frozen=True)
class Station:
    """One station. `key` identifies it among the files: its address, or its name."""

    key: str
    place: str
    name: str = ""
    down: Value[Bitrate] | None = None
    up: Value[Bitrate] | None = None
    # Changes of these rates, in the order of time.
    changes: tuple[Change, ...] = ()
    signal_dbm: Value[float] | None = None
    dumps: Dumps = (Counters(),)
    # Mean rates of payload, where a file has them instead of counters.
    down_mbps: Value[float] | None = None
    up_mbps: Value[float] | None = None
    traffic: tuple[Traffic, ...] = ()
    # What the connections that are not among these carry.
    documents: Mapping[Direction, Documents] = field(default_factory=dict)
    # The share of its frames that came with Retry.
    up_retries: Value[float] | None = None

    @property
    def counters(self) -> Counters:
        """What was counted between the first and the last file, or what the only one has."""
        first, last = self.dumps[0], self.dumps[-1]
        return (last.since(first) if len(self.dumps) > 1 else None) or last

    @property
    def intervals(self) -> list[Counters]:
        """What was counted from each file to the next."""
        found = (later.since(before) for before, later in pairwise(self.dumps))
        return [each for each in found if each is not None]

    @property
    def has_payload(self) -> bool:
        """Whether a file shows its payload, instead of counters."""
        return bool(self.traffic or self.down_mbps or self.up_mbps)

    def merged(self, later: Station) -> Station:
        """The station with what a later file has of it. If both show its payload, that of the later one counts: it may be the same payload."""
        payload = later if later.has_payload else self
        down, up = _more_exact(self.down, later.down), _more_exact(self.up, later.up)
        chosen = {"down": down, "up": up}
        changes = [
            each
            for file in (self, later)
            for each in file.changes
            if chosen[each.direction] is (file.down if each.direction == "down" else file.up)
        ]
        return replace(
            self,
            name=later.name or self.name,
            down=down,
            up=up,
            changes=tuple(changes),
            signal_dbm=later.signal_dbm or self.signal_dbm,
            dumps=_continued(self.dumps, later.dumps),
            down_mbps=payload.down_mbps,
            up_mbps=payload.up_mbps,
            traffic=payload.traffic,
            documents=payload.documents,
            up_retries=later.up_retries or self.up_retries,
        )


def _more_exact(one: Value[Bitrate] | None, two: Value[Bitrate] | None) -> Value[Bitrate] | None:
    """The later rate, but not one without a mode instead of one with a mode."""
    if not one or not two:
        return two or one
    return one if two.value.generation == ANY and one.value.generation != ANY else two


@dataclass(frozen=True)
class Survey:
    """How the access point's channel was used, in milliseconds since the survey began."""

    active_ms: Value[int] | None = None
    busy_ms: Value[int] | None = None
    receive_ms: Value[int] | None = None
    transmit_ms: Value[int] | None = None

    def since(self, before: Survey) -> Survey | None:
        """What happened between two surveys; None if a counter has decreased, as some drivers reset them, or if no time has passed."""
        found: dict[str, Value[int]] = {}
        for each in fields(self):
            late, early = getattr(self, each.name), getattr(before, each.name)
            if late is None or early is None:
                continue
            if late.value < early.value or (each.name == "active_ms" and late.value == early.value):
                return None
            found[each.name] = read(late.value - early.value, f"difference of {late.what}", late.place)
        return Survey(**found)


@dataclass
class Observed:
    """A network as observed: readers add to it, in the order of the files."""

    stations: dict[str, Station] = field(default_factory=dict)
    frequency_mhz: Value[int] | None = None
    width_mhz: Value[int] | None = None
    # By the configuration of the access point.
    band_ghz: Value[float] | None = None
    generation: Value[str] | None = None
    # Each continues the one before it.
    surveys: list[Survey] = field(default_factory=list)
    # Traffic of a station that the file does not name.
    traffic: list[Traffic] = field(default_factory=list)
    # Keys of the scenario that a file gives directly, by their path.
    keys: dict[str, Value[Any]] = field(default_factory=dict)
    # Such keys by the qdisc of the access point.
    qdisc: dict[str, Value[Any]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    # Places of stations and surveys that count alone, since they do not continue those of an earlier file.
    alone: list[str] = field(default_factory=list)
    # Places of stations whose payload takes the place of that of an earlier file, each once.
    instead: dict[str, None] = field(default_factory=dict)
    # The length of a capture.
    captured_s: Value[float] | None = None
    # What was read and has no place in a scenario.
    remarks: list[str] = field(default_factory=list)

    @property
    def survey(self) -> Survey | None:
        """What happened between the first and the last survey, or what the only one has."""
        if len(self.surveys) < 2:
            return self.surveys[0] if self.surveys else None
        return self.surveys[-1].since(self.surveys[0])

    def add(self, station: Station) -> None:
        """Adds a station, or what a further file has of it."""
        there = self.stations.get(station.key)
        if there and there.dumps[-1].is_restarted_by(station.dumps[0]):
            self.alone.append(station.place)
        if there and there.has_payload and station.has_payload:
            self.instead[station.place] = None
        self.stations[station.key] = there.merged(station) if there else station


def with_traffic(observed: Observed) -> dict[str, Station]:
    """The stations. Traffic without a station is that of the only one, or of one that no other file has."""
    if not observed.traffic:
        return observed.stations
    if len(observed.stations) > 1:
        raise InputError(
            f"{', '.join(observed.files)}: which of {len(observed.stations)} stations has the flows of flent is unknown; allowed here: a "
            "dump of that station alone, or none."
        )
    there = [*observed.stations.values()] or [Station(CLIENT, "", name=CLIENT)]
    return {each.key: replace(each, traffic=(*each.traffic, *observed.traffic)) for each in there}
