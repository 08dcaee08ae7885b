"""Schemes written in Python that several tests use, and cells that keep them busy."""

from __future__ import annotations

from typing import Any

from conftest import ROOT
from wifair import Scenario, Scheme
from wifair.scheme import Buffer, Context, Grant, Packet

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


OWN = """
from helper import REASON
from wifair.scheme import Scheme
class Own(Scheme):
    def enqueue(self, arrival, buffer, cx):
        buffer.refuse(arrival) if buffer.is_full else buffer.append(arrival)
"""
