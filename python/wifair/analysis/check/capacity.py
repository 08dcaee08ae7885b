"""How much constant load the air carries: a fixed point of contention and aggregation.

Senders (channel access functions) contend as in Bianchi (IEEE JSAC 18(3), 2000), with finite retries and with zones of
different AIFS (Robinson and Randhawa, IEEE JSAC 22(5), 2004): an idle period is a race of slots, in each of which a sender
that may transmit does so with probability tau. A collision lasts as long as its longest frame.

An access brings one station all packets that have come for it since its last turn, up to the limits of PPDU, TXOP and
queue: the longer packets wait, the fewer accesses they need. A load fits if every sender gets the accesses that it needs
while its queue still holds what comes between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wifair.analysis.check.access import Access, Turn

# Iterations of the fixed point, each of which moves half of the way, and the relative step below which it has settled.
ITERATIONS = 80
SETTLED = 1e-4
# Bisections of the scale at which a load just fits, within a factor of two: to 0.1 %.
BISECTIONS = 10
# Standard deviations of the gap between two turns that a queue has to hold.
DEVIATIONS = 2.5
# By how much turns come sooner than packets need where a scheme gives each station its share: those with few packets waste
# theirs.
UNEVEN = 2.0


@dataclass(frozen=True)
class Link:
    """Packets for one receiver: how many come, and what an access carries of them."""

    packets_per_s: float
    access: Access


@dataclass(frozen=True)
class Sender:
    """A channel access function with its links and the packets that its queue holds."""

    name: str
    retry_limit: int
    queue_packets: float
    # Whether only packets that follow each other in the queue share a PPDU.
    in_order: bool
    # Whether stations with packets take turns, as in a scheme that shares airtime or bytes among queues.
    in_turns: bool
    links: Sequence[Link]

    @property
    def access(self) -> Access:
        """How it contends, whatever the link."""
        return self.links[0].access

    def tau(self, collisions: float) -> float:
        """Probability of transmission in a slot, if a transmission collides with probability `collisions`."""
        low, high = self.access.backoffs
        slots = attempts = 0.0
        for k in range(min(self.retry_limit, 20)):
            slots += collisions**k * (1 + max(min(low * 2**k, high) - 1, 0.01) / 2)
            attempts += collisions**k
        return attempts / slots


class _Contender:
    """A sender in the fixed point: how often it transmits, and how it spreads its packets over accesses."""

    def __init__(self, sender: Sender, scale: float) -> None:
        self.sender = sender
        self.rates = [scale * link.packets_per_s for link in sender.links]
        self.packets_per_s = sum(self.rates)
        self.most = [self._most(*pair) for pair in zip(self.rates, sender.links, strict=True)]
        self.least_turns_per_s = self.packets_per_s / sender.queue_packets
        self.turns_per_s = self.least_turns_per_s
        self.busy = 1.0
        self.tau = sender.tau(0.0)

    def _most(self, rate: float, link: Link) -> float:
        """The most packets of a link in an access."""
        most = min(link.access.full.packets, self.sender.queue_packets)
        others = 1 - rate / self.packets_per_s
        return min(most, 1 / others) if self.sender.in_order and others > 0 else most

    def accesses(self, turns_per_s: float) -> list[float]:
        """Accesses per second that each link needs, if each has so many turns per second."""
        if self.sender.in_turns:
            turns_per_s = max(turns_per_s, *(rate / most for rate, most in zip(self.rates, self.most, strict=True)))
        return [max(rate / most, min(rate, turns_per_s)) for rate, most in zip(self.rates, self.most, strict=True)]

    @property
    def need(self) -> float:
        """Accesses per second without which packets are lost."""
        return sum(self.accesses(self.least_turns_per_s))

    def mean_turn(self) -> Turn:
        """An access of the mean airtime."""
        visits = self.accesses(self.turns_per_s)
        total = sum(visits)
        turns = [
            link.access.turn(rate / visit)
            for visit, link, rate in zip(visits, self.sender.links, self.rates, strict=True)
        ]
        airtime = sum(visit * turn.airtime_us for visit, turn in zip(visits, turns, strict=True))
        exposed = sum(visit * turn.exposed_us for visit, turn in zip(visits, turns, strict=True))
        return Turn(self.packets_per_s / total, airtime / total, exposed / total)

    def follow(self, accesses_per_s: float, collisions: float) -> float:
        """Moves half of the way to where it has so many accesses while it has packets; returns the relative step."""
        before = self.busy * self.tau * self.turns_per_s
        self.busy = (self.busy + min(1.0, self.packets_per_s / accesses_per_s)) / 2
        self.tau = (self.tau + self.busy * self.sender.tau(collisions)) / 2
        turns_per_s = self.turns_per_s * accesses_per_s / sum(self.accesses(self.turns_per_s))
        turns_per_s = min(max(turns_per_s, self.least_turns_per_s), max(self.rates))
        self.turns_per_s = math.sqrt(self.turns_per_s * turns_per_s)
        return abs(self.busy * self.tau * self.turns_per_s / before - 1)


def utilisation(senders: Sequence[Sender], scale: float = 1.0) -> tuple[float, Sender]:
    """The largest ratio of the accesses that a sender needs to those that it gets, and that sender.

    Above 1 it loses packets. `scale` multiplies all loads.
    """
    contenders = [_Contender(sender, scale) for sender in senders]
    rates: list[float] = []
    for _ in range(ITERATIONS):
        turns = [contender.mean_turn() for contender in contenders]
        won, collisions = _race(contenders, turns)
        _spread(contenders, turns, won)
        rates = [rate / contender.busy for rate, contender in zip(won, contenders, strict=True)]
        state = zip(contenders, rates, collisions, strict=True)
        if max([contender.follow(rate, collided) for contender, rate, collided in state]) < SETTLED:
            break
    ratios = [contender.need / rate for contender, rate in zip(contenders, rates, strict=True)]
    worst = max(range(len(ratios)), key=lambda i: ratios[i])
    return ratios[worst], senders[worst]


def largest_scale(senders: Sequence[Sender]) -> float:
    """The factor by which all loads may be multiplied until one sender loses packets."""
    low = 1.0
    while utilisation(senders, 2 * low)[0] <= 1:
        low *= 2
    while utilisation(senders, low)[0] > 1:
        low /= 2
    high = 2 * low
    for _ in range(BISECTIONS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if utilisation(senders, middle)[0] <= 1 else (low, middle)
    return low


def _race(contenders: Sequence[_Contender], turns: Sequence[Turn]) -> tuple[list[float], list[float]]:
    """By contender: successful accesses per second, and the probability that a transmission collides."""
    of = [contender.sender.access for contender in contenders]
    first_ifs_us, slot_us = min(access.ifs_us for access in of), of[0].slot_us
    enters = [round((access.ifs_us - first_ifs_us) / slot_us) for access in of]
    won, tried = [0.0] * len(of), [0.0] * len(of)
    reached, idle_slots, collided_us = 1.0, 0.0, 0.0
    by_length = sorted(range(len(of)), key=lambda i: -turns[i].exposed_us)
    zones = sorted(set(enters))
    for zone, end in zip(zones, [*zones[1:], math.inf], strict=True):
        racing = [i for i in by_length if enters[i] <= zone]
        idle = math.prod(1 - contenders[i].tau for i in racing)
        slots = reached * (1 - idle ** (end - zone)) / (1 - idle)
        idle_slots += slots * idle
        none_longer = 1.0
        for i in racing:
            tau = contenders[i].tau
            alone = tau * idle / (1 - tau)
            won[i] += slots * alone
            tried[i] += slots * tau
            collided_us += slots * (none_longer * tau - alone) * (turns[i].exposed_us + of[i].eifs_lead_us)
            none_longer *= 1 - tau
        reached *= idle ** (end - zone)
    round_us = first_ifs_us + idle_slots * slot_us + collided_us
    round_us += sum(share * turn.airtime_us for share, turn in zip(won, turns, strict=True))
    collisions = [1 - share / attempts for share, attempts in zip(won, tried, strict=True)]
    return [share / round_us * 1e6 for share in won], collisions


def _spread(contenders: Sequence[_Contender], turns: Sequence[Turn], won: Sequence[float]) -> None:
    """Sets how often each contender needs a turn, so that its queue holds what comes even in long gaps.

    A gap is as long as what others send in it. The variance of their numbers of turns is half of what it would be if each
    access were independent of those before: backoffs count down.
    """
    loads = [(turn.airtime_us**2 * rate, turn.airtime_us**2 * rate**2) for turn, rate in zip(turns, won, strict=True)]
    linear, square = (sum(load[k] for load in loads) for k in (0, 1))
    for contender, rate, load in zip(contenders, won, loads, strict=True):
        variance = ((linear - load[0]) / rate + (square - load[1]) / rate**2) / 2
        deviation = math.sqrt(max(variance, 0.0)) * rate * 1e-6
        longer = 1 + DEVIATIONS * deviation
        if contender.sender.in_turns and len(contender.rates) > 1:
            longer *= UNEVEN
        contender.least_turns_per_s = longer * contender.packets_per_s / contender.sender.queue_packets
