"""Schemes written in Python: the base class, and the words of their decisions.

    from wifair.scheme import Scheme

    class TailDrop(Scheme):
        def enqueue(self, arrival, buffer, cx):
            if buffer.is_full:
                buffer.refuse(arrival)
            else:
                buffer.append(arrival)

The class goes wherever a scheme's name goes: `Scenario(ap={"scheme": TailDrop}, …)`, `compare(scenario, ["droptail",
TailDrop])`, and `--scheme my_file.py:TailDrop` on the command line. `docs/own-scheme-in-python.md` shows how to write one.

Buffer, packets and context are lent for one call of a method. The buffer alone places and releases packets: what it does
not do (place a packet twice, use one that has left) raises `MisuseError`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from wifair._native import (
    Buffer,
    Context,
    Direction,
    Eviction,
    Exchange,
    Filter,
    Flows,
    Grant,
    Indexes,
    Kind,
    MisuseError,
    Mpdu,
    Packet,
    Pick,
    Pool,
    Reception,
    Refusal,
    Rng,
    Transmission,
)

__all__ = [
    "Buffer",
    "Context",
    "Direction",
    "Eviction",
    "Exchange",
    "Filter",
    "Flows",
    "Grant",
    "Indexes",
    "Kind",
    "MisuseError",
    "Mpdu",
    "Packet",
    "Pick",
    "Pool",
    "Reception",
    "Refusal",
    "Rng",
    "Scheme",
    "Transmission",
]


class Scheme:
    """A queue management scheme: derive from it and write `enqueue`; all else is optional.

    The parameters of a scheme are the arguments of its constructor: numbers, texts, truth values, lists and tables of
    these. Every port of every replication gets a separate instance, made with the same arguments, so an instance that
    is passed in place of the class stands for these and keeps nothing else. The constructor may run more often than there
    are ports: it must not do anything outside the instance.

    A method that is not overridden is never called and costs nothing.
    """

    needs: Indexes = Indexes()
    """The indexes that the buffer must keep for this scheme, in addition to its order."""

    decides_on: Sequence[Kind] = ()
    """The kinds of packets without which it has nothing to decide: at a buffer that never sees one of them (an access
    category from which ACKs are steered away) it is refused."""

    enqueue_when: Literal["always", "full", "room"] = "always"
    """When `enqueue` is asked. `"full"`: only at a full buffer, else an arrival joins at the tail. `"room"`: only while
    there is room, else an arrival is dropped. Most packets are never shown to Python then, which is most of the speed."""

    first_tick_ns: int | None = None
    """When `on_tick` is called first, in nanoseconds since the start of the run; None for not before `Context.tick_at`."""

    # The arguments that an instance was made with.
    _given: tuple[tuple[Any, ...], dict[str, Any]]
    # The text of the file of a class, as it was when the class was made; None without a file.
    _text: ClassVar[str | None] = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Notes the arguments: they are the scheme's parameters."""
        made = super().__new__(cls)
        made._given = (args, kwargs)
        return made

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Notes the source: stored results are known by it."""
        super().__init_subclass__(**kwargs)
        cls._text = _text_of(cls.__module__)

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        """Places or refuses an arriving packet, by one of `append`, `push_out`, `replace` and `refuse` of the buffer.

        It may evict others before.
        """
        raise NotImplementedError

    def dequeue(self, grant: Grant, buffer: Buffer, cx: Context) -> None:
        """Releases the packet to send now, by `release` or `release_head` of the buffer, or none.

        It is asked again after an arrival, an exchange or a tick. Without this method the packet at the head leaves first.
        """
        raise NotImplementedError

    def on_exchange(self, exchange: Exchange, buffer: Buffer, cx: Context) -> None:
        """A frame exchange of a packet from this buffer is over."""

    def on_transmission(self, transmission: Transmission, buffer: Buffer, cx: Context) -> None:
        """The outcome of a PPDU is known: of an A-MPDU, or of a single frame.

        `on_exchange` follows for each packet that is done.
        """

    def on_reception(self, reception: Reception, buffer: Buffer, cx: Context) -> None:
        """The access point has received a data frame from a station."""

    def on_link_rate(self, station: int, buffer: Buffer, cx: Context) -> None:
        """The data rate towards a station has changed; `cx.rate_mbps(station)` has the new one."""

    def on_tick(self, buffer: Buffer, cx: Context) -> None:
        """The time has come that `first_tick_ns` or `cx.tick_at` has named. The next tick must be named again."""

    def on_forgotten(self, flow: int) -> None:
        """The flow monitor has forgotten a flow, of which no packet is left: its id may be another flow's next."""

    def evict_excess(self, buffer: Buffer) -> None:
        """The limit has been lowered, and `buffer.excess` packets are to be evicted. By default the newest go."""

    def gauges(self) -> Mapping[str, float]:
        """Names and current values of inner quantities worth recording in time series; read at each sample."""
        return {}


def _text_of(module: str) -> str | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    try:
        return Path(file).read_text(encoding="utf-8") if file else None
    except (OSError, UnicodeDecodeError):
        return None
