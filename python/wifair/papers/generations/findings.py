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
    told = [word.removeprefix("−") if not word.strip("−0. %") else word for word in told]
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
    slowed = [size("anomaly-down", m.at(g, TIME).without("queues-per-station")) for g in AGGREGATED]
    anomaly_down = [between([value], percent=True) for value in slowed]
    bullets = (
        f"**The senders' windows decide how large the bias is.** The bias is (up − down) / (up + down). On 802.11b it is {bias([B], PACKETS)}. "
        f"On 802.11be it is {bias([BE], PACKETS)} with the printed windows of 42 packets, {bias([BE], PACKETS, 'open-windows')} with windows "
        f"that last as long as at 11 Mbps, and {bias([BE], PACKETS, 'today')} with today's hosts.",
        f"**A-MPDUs help downloads where ath9k feeds them from one queue.** With packets as printed, the bias on 802.11n is {bias([N], PACKETS)}, "
        f"and {bias([N], PACKETS, 'single-frames')} with one MPDU per PPDU. It is {bias([N], PACKETS, 'long-acks')} if MPDUs start at least 16 "
        f"µs apart, so that an ACK takes as long as data. From 802.11ac on, behind a firmware, it is {bias(FAST, PACKETS)}.",
        f"**Queues per station are not enough where windows are large.** Scaled in time, `mac80211` leaves a bias of "
        f"{bias(FAST, TIME, 'queues-per-station')} on 802.11ac through 802.11be. If the AP has priority in channel access, tail drop has a bias "
        f"of {bias(FAST, TIME, 'ap-first')}. With today's hosts `mac80211` leaves {bias([AC], PACKETS, 'today-queues-per-station')} on "
        f"802.11ac and {bias([BE], PACKETS, 'today-queues-per-station')} on 802.11be.",
        f"**With today's hosts ACK filtering gains nothing behind a firmware.** On 802.11ac through 802.11be it changes the fairness index by "
        f"{gained('ack-filtering', 'today')} with today's hosts, and by {gained('ack-filtering')} with the papers'. Adaptive pushout changes it "
        f"by {gained('adaptive-pushout', 'today')} and {gained('adaptive-pushout')}.",
        f"**LAS still aggregates.** It takes packets for one station in LAS order. Scaled in time, a PPDU carries {mpdus} MPDUs. From 802.11n "
        f"on LAS has {las[0]} of the goodput of tail drop, and {las[1]} scaled in time. If neither of the two aggregates, it has {alone}. Scaled "
        f"in time, SPM-AF has {spm_af} of it on 802.11ac through 802.11be.",
        f"**One slow station still slows down the others.** Among downloads, scaled in time, a fast station "
        f"loses {anomaly_down[0]} of its goodput on 802.11n, {anomaly_down[1]} on 802.11ac, {anomaly_down[2]} on 802.11ax and {anomaly_down[3]} "
        f"on 802.11be, although `mac80211` has a queue per station. Among uploads it loses {lost(AC)} on 802.11ac and {lost(BE)} on 802.11be. "
        f"With Block Ack windows of 64 it loses {lost(BE, 'window-64')} on 802.11be.",
        f"**DQM costs no goodput behind a firmware.** Scaled in time, DQM has {dqm[0]} of the goodput of tail drop on 802.11ac through 802.11be, "
        f"and {dqm[1]} with a tenth of its controller's gains. It raises the fairness index by {fairer[0]}, and by {fairer[1]} with a tenth of "
        f"the gains.",
    )
    return "".join(f"- {bullet}\n" for bullet in bullets)
