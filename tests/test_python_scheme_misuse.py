"""Faulty schemes written in Python: the error has their traceback, and does no harm."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from python_schemes import TailDrop, scenario
from wifair import Scheme, SchemeError
from wifair.scheme import Buffer, Context, Eviction, Filter, Indexes, Kind, MisuseError, Packet, Pick, Pool


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
    "takes percent for a probability": ("cx.rng.chance(5)", "", "a probability is from 0 to 1, and 5 is none"),
    "has a chance of NaN": ("cx.rng.chance(float('nan'))", "", "a probability is from 0 to 1, and NaN is none"),
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


@pytest.mark.whole
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
