"""Schemes written in Python: the same as in Rust, in any number of processes, with all that a scheme is told and may ask for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from python_schemes import ADAPTIVE, RUN, TailDrop, scenario
from wifair import InputError, ScenarioError, Scheme, SchemeError, Sweep, compare
from wifair.scheme import (
    Buffer,
    Context,
    Direction,
    Eviction,
    Exchange,
    Grant,
    Indexes,
    Kind,
    Packet,
    PoliceAction,
    Reception,
    Refusal,
    Transmission,
)
from wifair.scheme.python import load
from wifair.study import Cell, Study


class Red(Scheme):
    """RED of a kind: parameters, random numbers, state, gauges, every kind of refusal."""

    def __init__(self, weight: float = 0.002, max_p: float = 0.1) -> None:
        if not 0 < weight <= 1:
            raise ValueError(f"weight is {weight}, allowed are 0 to 1")
        self.weight, self.max_p, self.mean = weight, max_p, 0.0

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        self.mean += self.weight * (len(buffer) - self.mean)
        if buffer.is_full:
            buffer.refuse(arrival)
        elif cx.rng.chance(min(self.max_p, self.mean / buffer.limit)):
            buffer.refuse(arrival, Refusal.AQM)
        else:
            buffer.append(arrival)

    def gauges(self) -> dict[str, float]:
        return {"mean_packets": self.mean}


class Broken(TailDrop):
    """Its constructor fails by a mistake, not by a parameter."""

    def __init__(self) -> None:
        self.limit = dict[str, int]()["nothing"]


@pytest.mark.parametrize(
    ("scheme", "twin", "seeds"),
    [(TailDrop, "droptail", (1, 2)), (load(f"{ADAPTIVE}:AdaptivePushout"), "adaptive-pushout", (1, 2, 3))],
)
def test_the_same_scheme_in_python_and_in_rust_gives_the_same_trajectory(
    scheme: Any, twin: str, seeds: tuple[int, ...]
) -> None:
    for seed in seeds:
        assert scenario(scheme).fingerprint(seed) == scenario(twin).fingerprint(seed)
    assert scenario(twin).fingerprint(1) != scenario("ack-pushout").fingerprint(1)


def test_short_cuts_change_nothing() -> None:
    adaptive = load(f"{ADAPTIVE}:AdaptivePushout").cls

    class Always(adaptive):  # type: ignore[valid-type, misc]
        enqueue_when = "always"

        def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
            if buffer.is_full:
                super().enqueue(arrival, buffer, cx)
            else:
                buffer.append(arrival)

        def dequeue(self, grant: Grant, buffer: Buffer, cx: Context) -> None:
            buffer.release_head()

    assert scenario(Always).fingerprint(5) == scenario(adaptive).fingerprint(5)
    # A limit controller that wants to know when the buffer is idle has the transmit queue ask for everything.
    controlled = {"limit_packets": 30, "limit_controller": {"name": "alt"}}
    twin = scenario("adaptive-pushout", ap=controlled).fingerprint(5)
    assert scenario(adaptive, ap=controlled).fingerprint(5) == twin


@pytest.mark.whole
def test_processes_and_this_process_give_the_same_tables_in_the_same_order() -> None:
    both = [Cell("python", scenario(Red(max_p=0.3))), Cell("rust", scenario("droptail"))]
    one, two = (Study(both, 4).run(threads=threads) for threads in (1, 2))
    assert set(one.frames) == set(two.frames)
    for name, frame in one.frames.items():
        assert frame.equals(two.frames[name]), name
    assert one.runs["scenario"].to_list() == ["python"] * 4 + ["rust"] * 4


def test_parameters_are_the_constructors_arguments() -> None:
    plain, keyed, by_name = (
        scenario(scheme) for scheme in (Red(0.5, max_p=0.2), {"name": Red, "weight": 0.5, "max_p": 0.2}, Red)
    )
    assert plain.plan_json == keyed.plan_json
    assert by_name.plan()["bss"]["ap"]["tx_queue"]["scheme"]["parameters"] == {}
    assert keyed.plan()["bss"]["ap"]["tx_queue"]["scheme"]["parameters"] == {"weight": 0.5, "max_p": 0.2}
    assert plain.fingerprint() != by_name.fingerprint()
    assert plain.override({"ap.scheme": Red}).plan_json == plain.plan_json  # as with any scheme: it is the same one
    assert (
        plain.override({"ap.scheme.max_p": 0.1}).plan()["bss"]["ap"]["tx_queue"]["scheme"]["parameters"]["max_p"] == 0.1
    )


def test_wrong_parameters_are_told() -> None:
    with pytest.raises(ScenarioError, match=r"ap\.scheme\.max_pp.*did you mean max_p"):
        scenario({"name": Red, "max_pp": 1})
    with pytest.raises(ScenarioError, match="cannot be part of a plan"):
        scenario(Red(max_p=object()))  # type: ignore[arg-type]
    refused = r"^ap\.scheme: 'Red' refuses weight = 2: weight is 2, allowed are 0 to 1\.$"
    with pytest.raises(ScenarioError, match=refused) as caught:
        scenario({"name": Red, "weight": 2})
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(SchemeError, match=r"Broken failed in __init__:\n(.|\n)*KeyError: 'nothing'"):
        scenario(Broken)

    class Needy(TailDrop):
        def __init__(self, target_ms: float) -> None:
            self.target_ms = target_ms

    with pytest.raises(ScenarioError, match=r"ap\.scheme\.target_ms: 'test.*Needy' needs this parameter"):
        scenario(Needy)
    with pytest.raises(InputError, match="needs a method enqueue"):
        scenario(type("Nothing", (Scheme,), {}))
    with pytest.raises(ScenarioError, match="neither a name nor a table"):
        scenario(Path)


class Typed(TailDrop):
    """Parameters of every kind, with and without annotations."""

    def __init__(  # type: ignore[no-untyped-def]
        self,
        max_p=0.1,
        most_ms=50,
        is_early=True,
        order="oldest",
        steps=(1, 2),
        anything=None,
        weight: float = 1,
        target_ms: float | None = None,
        kind: Literal["ack", "data"] = "ack",
        level: Literal[1, 2] = 1,
        shares: Sequence[float] = (),
        unknown: int | str = 0,
    ) -> None: ...


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("max_p", "abc", "'abc' is not a number."),
        ("max_p", True, "True is not a number."),
        ("most_ms", 2.5, "2.5 is not a whole number in milliseconds."),
        ("most_ms", False, "False is not a whole number in milliseconds."),
        ("is_early", "1;total=1", "'1;total=1' is not true or false."),
        ("is_early", 1, "1 is not true or false."),
        ("order", 3, "3 is not a text."),
        ("steps", 3, "3 is not a list."),
        ("weight", "heavy", "'heavy' is not a number."),
        ("target_ms", "soon", "'soon' is not a number in milliseconds."),
        ("kind", "dta", "'dta' is no choice; did you mean data? Allowed here: ack, data."),
        ("level", "1", "'1' is no choice; did you mean 1? Allowed here: 1, 2."),
        ("shares", [0.5, "x"], "'x' is not a number."),
        ("unknown", 0.5, "0.5 is not a whole number or a text."),
    ],
)
def test_a_parameter_of_another_type_than_its_annotation_or_default_is_refused(
    key: str, value: Any, message: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario({"name": Typed, key: value})
    assert caught.value.key.removesuffix("[1]") == f"ap.scheme.{key}"
    assert str(caught.value).endswith(f": {message}")


class ForCheckers(TailDrop):
    """One annotation has no meaning while it runs, so none of them is known."""

    def __init__(self, weight: float = 1, max_p=0.1, other: Nowhere = 1) -> None: ...  # type: ignore[no-untyped-def, name-defined] # noqa: F821


def test_without_the_meaning_of_annotations_only_defaults_without_one_are_known() -> None:
    scenario({"name": ForCheckers, "weight": 0.5, "other": "x"})
    with pytest.raises(ScenarioError, match="'x' is not a number"):
        scenario({"name": ForCheckers, "max_p": "x"})


def test_a_parameter_may_be_what_its_type_allows() -> None:
    given = {"max_p": 1, "most_ms": 1e3, "steps": [1.0, "x"], "anything": [None], "weight": 0.5, "target_ms": None}
    given |= {"kind": "data", "level": 2, "shares": [1, 0.5], "unknown": "x"}
    plan = scenario({"name": Typed, **given}).plan()
    assert plan["bss"]["ap"]["tx_queue"]["scheme"]["parameters"] == given


def test_a_scheme_without_a_constructor_has_no_parameters() -> None:
    with pytest.raises(ScenarioError, match=r"ap\.scheme\.max_p: unknown key \(value 1\) of 'TailDrop'\."):
        scenario({"name": TailDrop, "max_p": 1})


def test_gauges_go_into_the_time_series() -> None:
    results = scenario(Red, run={**RUN, "sample_interval_s": 1.0}).run(1)
    series = results.frames["series"].filter(metric="mean_packets")
    assert series["entity"].unique().to_list() == ["ap"]
    assert series["value"].max() > 1.0  # type: ignore[operator]


def test_compare_and_sweep_take_classes() -> None:
    results = compare(scenario("droptail"), ["droptail", TailDrop, Red(max_p=0.5)], seeds=2, threads=1)
    assert [cell.name for cell in results.cells] == ["droptail", "TailDrop", "Red(max_p=0.5)"]
    up = {name: results.values(name, "total_mbps").to_list() for name in ("droptail", "TailDrop")}
    assert up["droptail"] == up["TailDrop"]
    sweep = Sweep(
        scenario("droptail"), product={"ap.scheme": ["droptail", TailDrop], "ap.limit_packets": [5, 10]}, replications=2
    )
    assert sweep.run(threads=1).grid()["ap.scheme"].to_list() == ["droptail"] * 2 + ["TailDrop"] * 2
    with pytest.raises(InputError, match="none twice"):
        compare(scenario("droptail"), [TailDrop, TailDrop], threads=1)


def test_each_category_and_station_may_have_one_of_its_own() -> None:
    made: list[int] = []

    class Counted(TailDrop):
        def __init__(self) -> None:
            made.append(0)
            self.mine = len(made) - 1

        def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
            made[self.mine] += 1
            super().enqueue(arrival, buffer, cx)

    edca = {"mac": {"edca": {"tcp_acks": "voice"}}}
    ap = {"categories": {"voice": {"scheme": Counted}, "best_effort": {"scheme": Counted}}}
    station = {"tx_queue": {"scheme": Counted}}
    with_classes = scenario("droptail", ap=ap, station=station, **edca)
    made.clear()
    assert with_classes.fingerprint() == scenario("droptail", **edca).fingerprint()
    used = [count for count in made if count]
    assert len(used) >= 2 + 10  # two transmit queues of the access point, one or more a station


class Told(Scheme):
    """Notes what it is told; a tick every half second."""

    first_tick_ns = 500_000_000
    log: list[tuple[str, Any]] = []  # noqa: RUF012 -- shared on purpose: the test reads it

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        assert arrival.ip_bytes == arrival.payload_bytes + 40 or arrival.kind is not Kind.DATA
        if buffer.is_full:
            buffer.refuse(arrival)
        else:
            buffer.append(arrival)
            assert buffer.tail
            assert (arrival.flow, arrival.seq) == (buffer.tail.flow, buffer.tail.seq)

    def on_exchange(self, exchange: Exchange, buffer: Buffer, cx: Context) -> None:
        assert 0 < exchange.airtime_ns <= min(exchange.channel_time_ns, exchange.service_ns)
        self.log.append(("exchange", (exchange.delivered, exchange.rate_mbps)))

    def on_transmission(self, transmission: Transmission, buffer: Buffer, cx: Context) -> None:
        assert transmission.sent == len(transmission.mpdus) == 1
        assert transmission.acknowledged == (transmission.mpdus[0].outcome == "delivered")
        assert sum(mpdu.airtime_ns for mpdu in transmission.mpdus) == transmission.airtime_ns
        assert sum(mpdu.channel_time_ns for mpdu in transmission.mpdus) == transmission.channel_time_ns
        self.log.append(("transmission", transmission.mpdus[0].attempts))

    def on_reception(self, reception: Reception, buffer: Buffer, cx: Context) -> None:
        assert cx.flows.carries(reception.flow, Direction.UP) or reception.kind is not Kind.DATA
        self.log.append(("reception", reception.station))

    def on_link_rate(self, station: int, buffer: Buffer, cx: Context) -> None:
        self.log.append(("rate", (station, cx.rate_mbps(station))))

    def on_tick(self, buffer: Buffer, cx: Context) -> None:
        self.log.append(("tick", cx.now_ns))
        cx.tick_at(cx.now_ns + 500_000_000)

    def on_forgotten(self, flow: int) -> None:
        self.log.append(("forgotten", flow))


def test_a_scheme_is_told_what_it_asks_for() -> None:
    Told.log.clear()
    event = {"at_s": 2.0, "station": {"name": "down-2", "rate_mbps": 5.5}}
    short = {"direction": "up", "name": "short", "application": {"name": "bulk", "transfer_bytes": 3000}}
    told = scenario(
        Told,
        flows=[{"count": 2, "direction": "down"}, {"direction": "up"}, short],
        events=[event],
        ap={"flows": {"idle_timeout_s": 1.0}},
        run={"warmup_s": 0.0, "duration_s": 4.0},
    )
    told.run(1)
    kinds = {kind: [what for other, what in Told.log if other == kind] for kind, _ in Told.log}
    assert kinds["tick"] == [round(at * 5e8) for at in range(1, 8)]
    assert kinds["rate"] == [(1, 5.5)]
    assert {rate for _, rate in kinds["exchange"]} == {5.5, 11.0}
    assert len(kinds["transmission"]) > len(kinds["exchange"])
    assert kinds["transmission"].count(1) >= len(kinds["exchange"])
    assert set(kinds["reception"]) == {0, 1, 2, 3}
    assert len(kinds["forgotten"]) == 1


class Policing(Scheme):
    """Tail drop that marks or drops every hundredth data packet of each station."""

    enqueue_when = "room"

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        buffer.append(arrival)

    def police(self, reception: Reception, buffer: Buffer, cx: Context) -> PoliceAction:
        assert reception.category == "best-effort"
        if reception.kind is not Kind.DATA:
            return PoliceAction.FORWARD
        seen = self.seen[reception.station] = self.seen.get(reception.station, 0) + 1
        if seen % 100:
            return PoliceAction.FORWARD
        return PoliceAction.MARK if reception.ecn == 2 else PoliceAction.DROP


def test_a_scheme_marks_and_drops_what_comes_from_stations() -> None:
    flows = [{"direction": "up", "name": "ecn", "tcp": {"ecn": True}}, {"direction": "up", "name": "plain"}]
    policed = scenario(Policing, flows=[*flows, {"direction": "down"}], run={"warmup_s": 0.0, "duration_s": 4.0})
    results = policed.run([1], threads=1)
    by_name = {row["group"]: row for row in results.flows.to_dicts()}
    ecn, plain = by_name["ecn"], by_name["plain"]
    assert ecn["ap_police_marked_packets"] > 3
    assert ecn["ap_police_dropped_packets"] == plain["ap_police_marked_packets"] == 0
    assert plain["ap_police_dropped_packets"] > 3
    assert 0 < ecn["ecn_reductions"] <= ecn["ap_police_marked_packets"]
    assert plain["retransmissions"] >= plain["ap_police_dropped_packets"] - 1
    queues = [row for row in results.queues.to_dicts() if (row["node"], row["class"]) == ("ap", "all")]
    assert queues[0]["police_dropped_packets"] == plain["ap_police_dropped_packets"]


class Asking(Scheme):
    """Tail drop that notes the queue sizes of stations."""

    enqueue_when = "room"
    sizes: list[tuple[int, int | None, int | None]] = []  # noqa: RUF012 -- shared on purpose: the test reads it

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        buffer.append(arrival)

    def on_queue_size(self, station: int, buffer: Buffer, cx: Context) -> None:
        with pytest.raises(
            ValueError, match=r'category is "bulk"; allowed are "background", "best-effort", "video", "v'
        ):
            cx.queue_bytes(station, "bulk")
        self.sizes.append((station, cx.queue_bytes(station), cx.queue_bytes(station, "voice")))


def test_a_scheme_knows_how_much_stations_have_to_send() -> None:
    Asking.sizes.clear()
    flows = [{"direction": "up"}, {"direction": "down"}]
    scenario(Asking, flows=flows).run([1], threads=1)
    assert Asking.sizes == []  # DCF
    scenario(Asking, flows=flows, mac={"edca": {}}).run([1], threads=1)
    assert all(size is not None and size % 256 == 0 for _, size, _ in Asking.sizes)
    sizes = {station: [size or 0 for of, size, _ in Asking.sizes if of == station] for station in (0, 1)}
    assert max(sizes[0]) > 10_000 > max(sizes[1])  # data of a window, and ACKs
    assert {voice for _, _, voice in Asking.sizes} == {None}


class Undecided(Policing):
    """Returns what is no action."""

    def police(self, reception: Reception, buffer: Buffer, cx: Context) -> PoliceAction:
        return None  # type: ignore[return-value]


def test_what_is_no_action_is_refused_with_those_allowed() -> None:
    with pytest.raises(
        SchemeError, match=r"police has returned None; allowed are PoliceAction\.FORWARD, PoliceAction\.MARK and"
    ):
        scenario(Undecided).run([1], threads=1)


class Keeper(Scheme):
    """First in, first out by a list of its own: packets are kept between calls. Evicts the oldest of a lowered limit."""

    def __init__(self) -> None:
        self.queue: list[Packet] = []

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        if buffer.is_full:
            buffer.refuse(arrival)
            return
        buffer.append(arrival)
        assert buffer.tail
        self.queue.append(buffer.tail)

    def dequeue(self, grant: Grant, buffer: Buffer, cx: Context) -> None:
        assert list(buffer) == self.queue
        buffer.release(self.queue.pop(0))

    def evict_excess(self, buffer: Buffer) -> None:
        for _ in range(buffer.excess):
            buffer.evict(self.queue.pop())


def test_packets_may_be_kept_by_a_scheme_that_sees_them_leave() -> None:
    lowered = {"ap": {"lowered_limit": "evict"}, "events": [{"at_s": 2.0, "ap": {"limit_packets": 5}}]}
    assert scenario(Keeper, **lowered).fingerprint() == scenario("droptail", **lowered).fingerprint()


class Keyed(Scheme):
    """Last in, first out, by keys."""

    needs = Indexes().keyed()

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        key = 2**63 - cx.now_ns
        if not buffer.is_full:
            buffer.append(arrival, key)
        elif last := buffer.last_by_key:
            assert buffer.key(last) >= key
            buffer.push_out(last, Eviction.VICTIM, arrival, key)

    def dequeue(self, grant: Grant, buffer: Buffer, cx: Context) -> None:
        first = buffer.first_by_key
        if first and buffer.may_go(first):
            buffer.release(first)


def test_an_order_of_keys() -> None:
    results = scenario(Keyed).run(2, threads=1)
    assert all(mbps > 1 for mbps in results.values("scenario", "total_mbps"))


class Rounds(Scheme):
    """A queue per flow, one packet of each in turn; the longest queue gives way. A fair queue in a dozen lines."""

    needs = Indexes().queues()

    def __init__(self) -> None:
        self.last = 0

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        if buffer.is_full:
            longest = max(buffer.occupied_queues(), key=buffer.packets_of)
            victim = buffer.first_of(longest)
            assert victim
            assert buffer.packets_of(longest) > 0 < buffer.bytes_of(longest)
            buffer.evict(victim)
        buffer.append_to(arrival, arrival.flow)
        last = buffer.last_of(arrival.flow)
        assert last
        assert (last.flow, last) == (arrival.flow, buffer.tail)

    def dequeue(self, grant: Grant, buffer: Buffer, cx: Context) -> None:
        queues = buffer.occupied_queues()
        assert sum(map(buffer.packets_of, queues)) == len(buffer)
        assert sum(map(buffer.bytes_of, queues)) == sum(packet.ip_bytes for packet in buffer)
        self.last = min(queues, key=lambda queue: (queue <= self.last, queue))
        head = buffer.first_of(self.last)
        assert head
        buffer.release(head)


def test_queues_of_its_own() -> None:
    results = scenario(Rounds).run(2, threads=1)
    assert all(mbps > 1 for mbps in results.values("scenario", "total_mbps"))
