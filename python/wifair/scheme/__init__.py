"""Schemes written in Python: the base class, and the types of its arguments and decisions.

    from wifair.scheme import Scheme

    class TailDrop(Scheme):
        def enqueue(self, arrival, buffer, cx):
            if buffer.is_full:
                buffer.refuse(arrival)
            else:
                buffer.append(arrival)

The class can be used wherever a scheme's name can: `Scenario(ap={"scheme": TailDrop}, …)`, `compare(scenario,
["droptail", TailDrop])`, and `--scheme my_file.py:TailDrop` on the command line.

Buffer, packets and context are valid during one call of a method. Only the buffer places and releases packets. An
invalid operation (placing a packet twice, using one that has left) raises `MisuseError`.
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
    PoliceAction,
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
    "PoliceAction",
    "Pool",
    "Reception",
    "Refusal",
    "Rng",
    "Scheme",
    "Transmission",
]


class Scheme:
    """A queue management scheme. Derive from it and write `enqueue`; the other methods are optional.

    The parameters of a scheme are the arguments of its constructor: numbers, strings, booleans, lists and dictionaries
    of these. Every transmit queue of every replication gets a separate instance with the same arguments. An instance passed in
    place of the class only supplies these arguments. The constructor may run more often than there are transmit queues, so it
    must not have effects outside the instance.

    A method that is not overridden is never called and costs nothing.
    """

    needs: Indexes = Indexes()
    """The indexes that the buffer keeps for this scheme, in addition to its order."""

    decides_on: Sequence[Kind] = ()
    """The kinds of packets that the scheme needs. It is rejected at a buffer that never gets one of them (an access category without the ACKs)."""

    enqueue_when: Literal["always", "full", "room"] = "always"
    """When `enqueue` is called. `"full"`: only at a full buffer, else an arrival joins at the tail. `"room"`: only while there is room, else an arrival is dropped. This avoids most calls into Python, which is most of the speed."""

    first_tick_ns: int | None = None
    """The time of the first `on_tick`, in nanoseconds since the start of the run; None: not before `Context.tick_at` sets one."""

    usual_limit_packets: ClassVar[int | None] = None
    """The limit of a transmit queue under this scheme if the scenario sets none, in packets; None: the scenario's `default_limit_packets`, or 100. A fair queue with a large buffer sets it, as `mac80211` does with 8,192."""

    # The constructor's arguments.
    _given: tuple[tuple[Any, ...], dict[str, Any]]
    # The text of the class's file when the class was created; None without a file.
    _text: ClassVar[str | None] = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Records the arguments, which are the scheme's parameters."""
        made = super().__new__(cls)
        made._given = (args, kwargs)
        return made

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Records the source, which is part of the key of stored results."""
        super().__init_subclass__(**kwargs)
        cls._text = _text_of(cls.__module__)

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        """Places or refuses an arriving packet with the buffer's `append`, `push_out`, `replace` or `refuse`.

        It may evict other packets before.
        """
        raise NotImplementedError

    def dequeue(self, grant: Grant, buffer: Buffer, cx: Context) -> None:
        """Releases the packet to send now with the buffer's `release` or `release_head`, or none.

        It is called again after an arrival, an exchange or a tick. If it releases nothing for 0.5 s although packets wait and
        no tick is due, the run ends with an error. Without this method the packet at the head leaves first.
        """
        raise NotImplementedError

    def on_exchange(self, exchange: Exchange, buffer: Buffer, cx: Context) -> None:
        """Called when the frame exchange of a packet from this buffer is over."""

    def on_transmission(self, transmission: Transmission, buffer: Buffer, cx: Context) -> None:
        """Called when the outcome of a PPDU (an A-MPDU or a single frame) is known.

        `on_exchange` follows for each packet that is delivered or given up.
        """

    def on_reception(self, reception: Reception, buffer: Buffer, cx: Context) -> None:
        """Called when the access point has received a data frame from a station."""

    def police(self, reception: Reception, buffer: Buffer, cx: Context) -> PoliceAction:
        """Returns whether a packet received from a station is forwarded, marked with CE or dropped.

        It is called after `on_reception`, at the scheme of the packet's access category.
        """
        return PoliceAction.FORWARD

    def on_queue_size(self, station: int, buffer: Buffer, cx: Context) -> None:
        """Called when a station's data frame has said how much the station has to send: `cx.queue_bytes(station)`."""

    def on_link_rate(self, station: int, buffer: Buffer, cx: Context) -> None:
        """Called when the data rate towards a station has changed; `cx.rate_mbps(station)` returns the new one."""

    def on_tick(self, buffer: Buffer, cx: Context) -> None:
        """Called at the time that `first_tick_ns` or `cx.tick_at` has set. The next tick must be set again."""

    def on_forgotten(self, flow: int) -> None:
        """Called when the flow monitor has removed a flow without packets. Its id may be reused for another flow."""

    def evict_excess(self, buffer: Buffer) -> None:
        """Evicts `buffer.excess` packets after the limit was lowered. By default the newest are evicted."""

    def gauges(self) -> Mapping[str, float]:
        """Names and current values of internal quantities to record in time series; read at each sample."""
        return {}


def _text_of(module: str) -> str | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    try:
        return Path(file).read_text(encoding="utf-8") if file else None
    except (OSError, UnicodeDecodeError):
        return None
