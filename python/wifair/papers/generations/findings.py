"""The sentences on the findings in the study's page, with numbers from the runs."""

from __future__ import annotations

from collections.abc import Iterable

from wifair.papers.generations.air import AC, AX, BE, PACKETS, TIME, B, Generation, N
from wifair.papers.generations.claims import FINDINGS
from wifair.papers.generations.measured import Air, Measured
from wifair.papers.generations.study import DQM, FIVE_AND_FIVE, FIVE_AND_FIVE_ECN, LAS, SPM_AF, TAIL_DROP
from wifair.stats import ratio, t_interval

AGGREGATED, FAST = (N, AC, AX, BE), (AC, AX, BE)


def size(name: str, air: Air) -> float:
    """The mean size of a finding."""
    finding = next(finding for finding in FINDINGS if finding.id == name)
    return t_interval(finding.effect(air)).estimate


def kept(air: Air, scheme: str, part: str = FIVE_AND_FIVE) -> float:
    """The ratio of the goodput of five and five flows under a scheme to that under tail drop."""
    return t_interval(ratio(air.total_mbps(part, scheme), air.total_mbps(part, TAIL_DROP))).estimate


def between(values: Iterable[float], percent: bool = False, digits: int = 2) -> str:
    """The least and the greatest value in words; one value if both print alike."""
    form = "{:.0f} %" if percent else f"{{:.{digits}f}}"
    told = [form.format(100 * value if percent else value).replace("-", "−") for value in sorted(values)]
    if told[0] == told[-1]:
        return told[0]
    return f"{told[0].removesuffix(' %')} to {told[-1]}"


def findings(m: Measured) -> str:
    """One bullet per finding that a run explains."""

    def bias(generations: Iterable[Generation], scaling: str, cause: str = "") -> str:
        return between(size("directions", m.at(g, scaling).without(cause)) for g in generations)

    def lost(generation: Generation, cause: str = "") -> str:
        return between([size("anomaly-up", m.at(generation, TIME).without(cause))], percent=True)

    las = [between((kept(m.at(g, scaling), LAS) for g in AGGREGATED), percent=True) for scaling in (PACKETS, TIME)]
    alone = between((kept(m.at(g, PACKETS).without("single-frames"), LAS) for g in AGGREGATED), percent=True)
    sent = (t_interval(m.at(g, TIME).mpdus_per_ppdu(FIVE_AND_FIVE, LAS, "down")).estimate for g in AGGREGATED)
    mpdus = between(sent, digits=0)
    spm_af = between((kept(m.at(g, TIME), SPM_AF) for g in FAST), percent=True)

    def gained(finding: str, cause: str = "") -> str:
        return between(size(finding, m.at(g, PACKETS).without(cause)) for g in FAST)

    airs = [[m.at(g, TIME).without(cause) for g in FAST] for cause in ("", "slow-controller")]
    dqm = [between((kept(air, DQM, FIVE_AND_FIVE_ECN) for air in of), percent=True) for of in airs]
    fairer = [between(size("dqm", air) for air in of) for of in airs]
    bullets = (
        f"**Windows decide how bad it is.** The bias, (up − down) / (up + down), is {bias([B], PACKETS)} on 802.11b. With the printed windows "
        f"of 42 packets it is {bias([BE], PACKETS)} on 802.11be; with windows that last as long as at 11 Mbps "
        f"{bias([BE], PACKETS, 'open-windows')}, with today's hosts {bias([BE], PACKETS, 'today')}.",
        f"**Short ACKs in A-MPDUs help downloads.** With MPDUs that start 16 µs apart the printed cell has a bias of "
        f"{bias(FAST, PACKETS, 'long-acks')} on 802.11ac to be in place of {bias(FAST, PACKETS)}; with one MPDU per PPDU "
        f"{bias(FAST, PACKETS, 'single-frames')}.",
        f"**Queues per station are not enough where windows are large.** Scaled in time, `mac80211` leaves a bias of "
        f"{bias(FAST, TIME, 'queues-per-station')} on 802.11ac to be. An AP that goes first makes it {bias(FAST, TIME, 'ap-first')} behind "
        f"tail drop. With today's hosts `mac80211` leaves {bias([AC], PACKETS, 'today-queues-per-station')} on 802.11ac and "
        f"{bias([BE], PACKETS, 'today-queues-per-station')} on 802.11be.",
        f"**With today's hosts removing ACKs gains little.** On 802.11ac to be the index grows by {gained('ack-filtering', 'today')} with ACK "
        f"filtering in place of {gained('ack-filtering')}, and by {gained('adaptive-pushout', 'today')} with adaptive pushout in place of "
        f"{gained('adaptive-pushout')}.",
        f"**LAS aggregates.** It fills an A-MPDU with the station's packets in its own order, scaled in time {mpdus} MPDUs per PPDU. From "
        f"802.11n on it keeps {las[0]} of tail drop's goodput, scaled in time {las[1]}; where neither aggregates, {alone}. SPM-AF keeps "
        f"{spm_af} on 802.11ac to be, scaled in time.",
        f"**The anomaly moves.** Among downloads queues per station remove it: scaled in time a fast station then loses "
        f"{between((size('anomaly-down', m.at(g, TIME).without('queues-per-station')) for g in AGGREGATED), percent=True)} of its goodput. "
        f"Among uploads longer A-MPDUs reduce it: a fast station loses {lost(AC)} on 802.11ac and {lost(BE)} on 802.11be, where Block "
        f"Ack windows of 64 make it {lost(BE, 'window-64')}.",
        f"**DQM's controller is too fast for fast links.** Scaled in time DQM keeps {dqm[0]} of tail drop's goodput on 802.11ac to be, with a "
        f"tenth of its gains {dqm[1]}. The index grows by {fairer[0]} and by {fairer[1]}.",
    )
    return "".join(f"- {bullet}\n" for bullet in bullets)
