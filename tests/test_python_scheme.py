"""Schemes written in Python: the same as in Rust, in any number of processes, known by their source, wrong ones told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from wifair import InputError, Scenario, ScenarioError, Scheme, SchemeError, Store, Sweep, compare
from wifair.cli import execute
from wifair.errors import Interrupted
from wifair.python_scheme import load
from wifair.scheme import (
    Buffer,
    Context,
    Direction,
    Eviction,
    Exchange,
    Filter,
    Grant,
    Indexes,
    Kind,
    MisuseError,
    Packet,
    Pick,
    Pool,
    Reception,
    Refusal,
)
from wifair.study import Cell, Study, StudyInterrupted, run_studies

RUN = {"warmup_s": 1.0, "duration_s": 4.0}
MIXED: list[dict[str, Any]] = [{"count": 6, "direction": "up"}, {"count": 4, "direction": "down"}]
ADAPTIVE = ROOT / "examples" / "adaptive_pushout.py"


def scenario(scheme: Any, **settings: Any) -> Scenario:
    """A buffer that is full most of the time under `scheme`."""
    ap = {"limit_packets": 20, **settings.pop("ap", {}), "scheme": scheme}
    return Scenario(**{"run": RUN, "flows": MIXED, "ap": ap, **settings})


class TailDrop(Scheme):
    """Asked each time, and for each packet that leaves."""

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        if buffer.is_full:
            buffer.refuse(arrival)
        else:
            buffer.append(arrival)

    def dequeue(self, grant: Grant, buffer: Buffer, cx: Context) -> None:
        assert buffer.release_head()
        assert grant.station is None


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
    # A limit controller that wants to know when the buffer is idle has the port ask for everything.
    controlled = {"limit_packets": 30, "limit_controller": {"name": "alt"}}
    twin = scenario("adaptive-pushout", ap=controlled).fingerprint(5)
    assert scenario(adaptive, ap=controlled).fingerprint(5) == twin


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
    assert by_name.plan()["cell"]["ap"]["port"]["scheme"]["parameters"] == {}
    assert keyed.plan()["cell"]["ap"]["port"]["scheme"]["parameters"] == {"weight": 0.5, "max_p": 0.2}
    assert plain.fingerprint() != by_name.fingerprint()
    assert plain.override({"ap.scheme": Red}).plan_json == plain.plan_json  # as with any scheme: it is the same one
    assert plain.override({"ap.scheme.max_p": 0.1}).plan()["cell"]["ap"]["port"]["scheme"]["parameters"]["max_p"] == 0.1


def test_wrong_parameters_are_told() -> None:
    with pytest.raises(ScenarioError, match=r"ap\.scheme\.max_pp.*did you mean max_p"):
        scenario({"name": Red, "max_pp": 1})
    with pytest.raises(ScenarioError, match="cannot stand in a plan"):
        scenario(Red(max_p=object()))  # type: ignore[arg-type]
    with pytest.raises(SchemeError, match=r"Red failed in __init__:\n(.|\n)*weight is 2, allowed are 0 to 1"):
        scenario({"name": Red, "weight": 2})

    class Needy(TailDrop):
        def __init__(self, target_ms: float) -> None:
            self.target_ms = target_ms

    with pytest.raises(ScenarioError, match=r"ap\.scheme\.target_ms: 'test.*Needy' needs this parameter"):
        scenario(Needy)
    with pytest.raises(InputError, match="needs a method enqueue"):
        scenario(type("Nothing", (Scheme,), {}))
    with pytest.raises(ScenarioError, match="neither a name nor a table"):
        scenario(Path)


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
    station = {"port": {"scheme": Counted}}
    with_classes = scenario("droptail", ap=ap, station=station, **edca)
    made.clear()
    assert with_classes.fingerprint() == scenario("droptail", **edca).fingerprint()
    used = [count for count in made if count]
    assert len(used) >= 2 + 10  # two ports of the access point, one or more a station


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
    assert set(kinds["reception"]) == {0, 1, 2, 3}
    assert len(kinds["forgotten"]) == 1


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
    """A queue a flow, one packet of each in turn; the longest queue gives way. A fair queue in a dozen lines."""

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


def misusing(body: str, dequeue: str = "") -> type[Scheme]:
    """A scheme of which `enqueue` (and `dequeue`) does something wrong."""
    text = "class Wrong(Scheme):\n    needs = NEEDS\n    kept = []\n    def enqueue(self, arrival, buffer, cx):\n"
    text += textwrap.indent(textwrap.dedent(body), " " * 8)
    if dequeue:
        text += "\n    def dequeue(self, grant, buffer, cx):\n" + textwrap.indent(textwrap.dedent(dequeue), " " * 8)
    needs = Indexes().stored_flows().acks(Filter.SAFE)
    names = {"Scheme": Scheme, "NEEDS": needs, "Eviction": Eviction, "Pool": Pool, "Pick": Pick, "Kind": Kind}
    exec(text, names)
    made: type[Scheme] = names["Wrong"]  # type: ignore[assignment]
    return made


FIFO = "buffer.append(arrival) if not buffer.is_full else buffer.refuse(arrival)"

MISUSES = {
    "forgets to place": ("pass", "", "without placing or refusing"),
    "places twice": ("buffer.append(arrival)\nbuffer.append(arrival)", "", "placed or refused already"),
    "refuses what it has placed": ("buffer.append(arrival)\nbuffer.refuse(arrival)", "", "placed or refused already"),
    "does not make room": ("buffer.append(arrival)", "", "the buffer is full: make room"),
    "evicts the arrival": ("buffer.evict(arrival)", "", "this is the arrival"),
    "evicts twice": (FIFO + "\ntail = buffer.tail\nbuffer.evict(tail)\nbuffer.evict(tail)", "", "has left the buffer"),
    "looks at what has left": (FIFO + "\ntail = buffer.tail\nbuffer.evict(tail)\ntail.flow", "", "has left the buffer"),
    "releases in enqueue": (FIFO + "\nbuffer.release(buffer.head)", "", "released in dequeue and nowhere else"),
    "places a queued packet": (FIFO + "\nbuffer.append(buffer.tail)", "", "this packet is queued"),
    "releases twice": (
        FIFO,
        "buffer.release_head()\nif buffer:\n    buffer.release(buffer.head)",
        "a grant is for one",
    ),
    "places in dequeue": (FIFO + "\nself.kept.append(arrival)", "buffer.append(self.kept[0])", "an earlier call"),
    "keeps a packet": (
        "self.kept[:1] = self.kept[:1] or [buffer.head] * len(buffer)\n"
        + FIFO
        + "\nif self.kept and len(self.kept) > 0: self.kept[0].flow",
        "",
        "from an earlier call",
    ),
    "asks for an index that is not kept": ("buffer.pick(Pool.DATA, Pick.RANDOM)", "", "this index is not kept"),
    "queues where there are none": ("buffer.append_to(arrival, 3)", "", "this index is not kept"),
    "keys where there are none": ("buffer.append(arrival, 3)", "", "this index is not kept"),
    "looks at a station that is not there": ("cx.rate_mbps(77)", "", "there is no station 77"),
    "wants a tick in the past": ("cx.tick_at(cx.now_ns)", "", "does not lie in the future"),
    "draws from nothing": ("cx.rng.below(0)", "", "no number below 0"),
    "fails by itself": ("self.no_such_thing", "", "has no attribute 'no_such_thing'"),
}


@pytest.mark.parametrize(("body", "dequeue", "message"), MISUSES.values(), ids=list(MISUSES))
def test_misuse_is_told_and_does_no_harm(body: str, dequeue: str, message: str) -> None:
    with pytest.raises(
        SchemeError, match=r"^Wrong failed in (enqueue|dequeue) at \d+\.\d+ s of seed 1:\n(Traceback|wifair.scheme.M)"
    ) as caught:
        scenario(misusing(body, dequeue)).fingerprint()
    assert message in str(caught.value)
    assert isinstance(caught.value.__cause__, Exception)


def test_an_exception_that_the_scheme_handles_is_none() -> None:
    body = f"try:\n    buffer.release(buffer.head or arrival)\nexcept RuntimeError:\n    {FIFO}"
    assert scenario(misusing(body)).fingerprint() == scenario("droptail").fingerprint()


def test_what_is_lent_is_good_for_the_call_alone() -> None:
    kept: dict[str, Any] = {}

    class Leaky(TailDrop):
        def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
            kept.update(arrival=arrival, buffer=buffer, cx=cx, rng=cx.rng, flows=cx.flows)
            super().enqueue(arrival, buffer, cx)
            kept["tail"] = buffer.tail

    scenario(Leaky).fingerprint()
    uses: list[Callable[[], Any]] = [
        lambda: kept["arrival"].flow,
        lambda: kept["tail"].enqueued_at_ns,
        lambda: len(kept["buffer"]),
        lambda: kept["buffer"].append(kept["arrival"]),
        lambda: list(kept["buffer"]),
        lambda: kept["cx"].now_ns,
        kept["rng"].unit,
        lambda: kept["flows"].up,
    ]
    for use in uses:
        with pytest.raises(MisuseError, match="that call is over"):
            use()

    class Thief(TailDrop):
        """Reaches for another scheme's buffer while it has one of its own."""

        def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
            kept["buffer"].refuse(arrival)

    with pytest.raises(SchemeError, match="another scheme's"):
        scenario(Thief).fingerprint()


def test_it_is_lent_to_one_thread() -> None:
    import threading

    found: list[BaseException | int] = []

    class Threaded(TailDrop):
        def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
            def look() -> None:
                try:
                    found.append(len(buffer))
                except MisuseError as error:
                    found.append(error)

            if not found:
                thread = threading.Thread(target=look)
                thread.start()
                thread.join()
            super().enqueue(arrival, buffer, cx)

    scenario(Threaded).fingerprint()
    assert isinstance(found[0], MisuseError)


def test_errors_come_back_from_other_processes_with_their_own_traceback() -> None:
    body = "if cx.now_ns > 2_000_000_000:\n    raise KeyError('the reason')\n" + FIFO
    messages = []
    for threads in (1, 2):
        with pytest.raises(SchemeError) as caught:
            scenario(misusing(body)).run(3, threads=threads)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "of seed 1:" in messages[0]
    assert messages[0].endswith("in enqueue\nKeyError: 'the reason'")
    assert "concurrent" not in messages[0]


def test_ctrl_c_stops_the_processes_and_keeps_what_is_finished() -> None:
    endless = scenario(TailDrop, run={"warmup_s": 0.0, "duration_s": 1e6})
    cells = [Cell("short", scenario(TailDrop)), Cell("long", endless)]
    passed: list[float] = []

    def press(share: float) -> None:
        passed.append(share)
        if share > 2e-5:
            raise KeyboardInterrupt

    for threads in (1, 2):
        passed.clear()
        with pytest.raises(StudyInterrupted) as caught:
            run_studies([Study(cells, 1)], threads=threads, progress=press)
        (results,) = caught.value.results
        assert results.missing >= 1
        assert results.runs.height + results.missing == 2
        if threads == 1:  # which come in order
            assert results.runs["scenario"].to_list() == ["short"]
        assert passed == sorted(passed)
    assert issubclass(StudyInterrupted, Interrupted)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., types.ModuleType]]:
    """Imports a module anew after its file, or a helper's, has been written."""
    monkeypatch.syspath_prepend(str(tmp_path))
    written: set[str] = set()

    def write(**files: str) -> types.ModuleType:
        import importlib

        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
            written.add(name)
        for name in written:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        sys.dont_write_bytecode = True
        return importlib.import_module("own_scheme")

    yield write
    sys.dont_write_bytecode = False
    for name in written:
        sys.modules.pop(name, None)


OWN = """
from helper import REASON
from wifair.scheme import Scheme
class Own(Scheme):
    def enqueue(self, arrival, buffer, cx):
        buffer.refuse(arrival) if buffer.is_full else buffer.append(arrival)
"""


def test_the_store_knows_results_by_the_source(module: Callable[..., types.ModuleType], tmp_path: Path) -> None:
    def taken(made: types.ModuleType) -> int:
        store = Store(tmp_path / "store")
        scenario(made.Own).run(2, threads=1, store=store)
        return store.taken

    assert taken(module(helper="REASON = 1", own_scheme=OWN)) == 0
    assert taken(module(own_scheme=OWN)) == 2
    assert taken(module(own_scheme=OWN + "# another source")) == 0
    assert taken(module(helper="REASON = 2")) == 0  # what it imports from beside it is a part of it
    assert taken(module(helper="REASON = 1", own_scheme=OWN)) == 2


def test_a_file_that_changes_under_a_running_program_is_not_mistaken_for_its_class(
    module: Callable[..., types.ModuleType], tmp_path: Path
) -> None:
    made = module(helper="REASON = 1", own_scheme=OWN)
    (tmp_path / "own_scheme.py").write_text("it has been edited")
    edited = scenario(made.Own).plan_json
    assert edited == scenario(module(own_scheme=OWN).Own).plan_json


def test_without_a_source_nothing_is_stored_and_a_warning_says_so(tmp_path: Path) -> None:
    names: dict[str, Any] = {"Scheme": Scheme, "__name__": "nowhere"}
    exec(OWN.replace("from helper import REASON", "").replace("from wifair.scheme import Scheme", ""), names)
    for _ in range(2):
        store = Store(tmp_path / "store")
        with pytest.warns(UserWarning, match="Own: there is no source"):
            results = scenario(names["Own"]).run(2, threads=1, store=store)
        assert results.runs.height == 2
        assert store.taken == 0
        assert store.mine.replications().height == 0


def test_a_scheme_that_cannot_travel_is_told(tmp_path: Path) -> None:
    handle = (tmp_path / "open").open("w")

    class Anchored(TailDrop):
        def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
            handle.write("x")
            super().enqueue(arrival, buffer, cx)

    with pytest.raises(SchemeError, match="cannot be sent to other processes"):
        scenario(Anchored).run(2, threads=2)
    handle.close()


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def wifair(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process: the tests of the command line itself start one for each."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = execute([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return call


def test_the_command_line_takes_files(wifair: Run, short: Path, tmp_path: Path) -> None:
    own = f"{ADAPTIVE}:AdaptivePushout"
    few = ("--seeds", "2", "--set", "ap.limit_packets=5", "--threads", "1", "--json")
    status, out, err = wifair("compare", short, "--schemes", f"adaptive-pushout,{own}", *few)
    assert (status, err) == (0, "")
    differences = json.loads(out)["differences"]
    assert all(row["identical"] for row in differences)
    assert differences[0]["scenario"] == own
    _, chosen, _ = wifair("run", short, "--scheme", own, *few)
    _, set_by_key, _ = wifair("run", short, "--set", f"ap.scheme={own}", *few)
    _, twin, _ = wifair("run", short, "--scheme", "adaptive-pushout", *few)
    assert json.loads(chosen)["summary"] == json.loads(twin)["summary"]
    assert chosen == set_by_key
    study = tmp_path / "study.toml"
    study.write_text(f'scenario = "{short.name}"\nreplications = 2\n[product]\nap.limit_packets = [5, 20]\n')
    arguments = ("--schemes", f"droptail,{own}", "--store", tmp_path / "store", "--threads", "1", "--json")
    _, swept, _ = wifair("sweep", study, *arguments)
    assert {row["keys"]["ap.scheme"] for row in json.loads(swept)["scenarios"]} == {"droptail", own}
    assert "8 replications were in" in wifair("sweep", study, *arguments)[2]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.py:Own", "nowhere.py: cannot be read"),
        (f"{ADAPTIVE}:AdaptivePushuot", "Did you mean AdaptivePushout?"),
        (f"{ADAPTIVE}:share", "has no scheme 'share'"),
        (f"{ADAPTIVE}:", "expected FILE.py:CLASS"),
    ],
)
def test_wrong_names_on_the_command_line(wifair: Run, short: Path, name: str, message: str) -> None:
    status, out, err = wifair("run", short, "--scheme", name)
    assert (status, out) == (2, "")
    assert err.startswith("wifair: ")
    assert message in err
    assert "Traceback" not in err


def test_a_file_that_fails_is_told_with_its_own_traceback(wifair: Run, short: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import wifair.scheme\nraise OSError('no licence')\n")
    status, _, err = wifair("run", short, "--scheme", f"{bad}:Own")
    assert status == 1
    assert err.startswith(f"wifair: {bad} failed while it was loaded:\nTraceback")
    assert err.endswith("bad.py\", line 2, in <module>\n    raise OSError('no licence')\nOSError: no licence\n")
    bad.write_text("def :\n")
    assert "is no Python" in wifair("run", short, "--scheme", f"{bad}:Own")[2]


def test_a_scenario_file_never_has_code_run(wifair: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("raise SystemExit('it has been run')\n")
    Path("cell.toml").write_text('[ap]\nscheme = "own.py:Own"\n[[flows]]\ndirection = "up"\n')
    status, _, err = wifair("run", "cell.toml")
    assert status == 2
    assert "a scenario file never makes anything run its code" in err
    base = 'scenario = { flows = [{ direction = "up" }] }\n'
    Path("study.toml").write_text(base + '[product]\nap.scheme = ["droptail", "own.py:Own"]\n')
    assert "never makes anything run its code" in wifair("sweep", "study.toml")[2]
    external = '[ap]\nscheme = {name = "external", id = "Own@1"}\n[[flows]]\ndirection = "up"\n'
    Path("cell.toml").write_text(external)
    assert "unknown name 'external'" in wifair("run", "cell.toml")[2]


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Worker processes do not run the program again that started them."""
    script = tmp_path / "study.py"
    script.write_text(
        OWN.replace("from helper import REASON", "print('once')")
        + "from wifair import Scenario\n"
        + "cell = Scenario(ap={'scheme': Own}, flows=[{'direction': 'down'}], run={'warmup_s': 1, 'duration_s': 1})\n"
        + "print(cell.run(seeds=3, threads=2).runs.height)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("once\n3\n", 0), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_ctrl_c_in_a_terminal_reaches_all_processes_and_only_the_study_speaks(tmp_path: Path) -> None:
    """A terminal sends it to every process of the group, the workers that have just been started included."""
    cell = tmp_path / "long.toml"
    cell.write_text('[run]\nwarmup_s = 0\nduration_s = 1000000\n[[flows]]\ndirection = "up"\n')
    arguments = ["run", str(cell), "--scheme", f"{ADAPTIVE}:AdaptivePushout", "--seeds", "2", "--threads", "2"]
    command = [sys.executable, "-c", "from wifair.cli import main; main()", *arguments]
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )

    def group() -> int:
        def member(pid: str) -> bool:
            try:
                return os.getpgid(int(pid)) == process.pid
            except ProcessLookupError:
                return False

        return sum(member(pid) for pid in os.listdir("/proc") if pid.isdigit())

    while process.poll() is None and group() < 4:  # the study, its two workers, what keeps track of their resources
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert (process.returncode, stderr.count("\n")) == (130, 1), stderr
    assert "0 of 2 replications were finished" in stderr
