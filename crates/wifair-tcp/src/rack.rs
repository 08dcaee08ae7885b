//! RACK-TLP: RFC 8985, "The RACK-TLP Loss Detection Algorithm for TCP" (February 2021). Its names are in brackets.
//!
//! The idea: a segment is lost if one that was sent later has been delivered and the network has had some time to bring the
//! former, too. Time takes the place of counting, so the loss of a retransmission shows as that of any segment. If no ACK
//! comes, a probe asks for one before the retransmission timer expires.
//!
//! Interpretations:
//! - [RACK.rtt] is of the segment sent last among those that an ACK delivers and that pass the checks of section 6.2, step 2.
//! - [RACK.min_RTT] is the least over 5 to 10 minutes; Linux takes 5.
//! - The order of transmissions is exact, also of those at one time, so no tie is broken by number (step 2).
//! - The segments that an ACK delivers count in the order of their numbers (step 3).
//! - A lost retransmission reduces the window again (section 9.3), once for all those sent before that reduction, unless
//!   the rate is reduced proportionally.
//! - A probe repeats the last segment with data (7.3): no SACK block would cover a FIN alone.
//! - A probe is sent at the latest when the retransmission timer would expire; if none may be sent, that timer expires.
//! - The response to a loss that a probe has repaired (7.4.2) takes FlightSize as it was when the probe was sent.
//! - SACKed data stays so across a timeout, unless the receiver has discarded it (RFC 6675, 5.1).
//!
//! Deviations: no F-RTO (RFC 5682), which section 8 of the RFC names as complementary.

use wifair_core::{Packet, Time};

use crate::loss_detection::RackSpec;
use crate::prr::Prr;
use crate::segments::{Detected, Segment, Segments};
use crate::seq;

/// [DupThresh]
const DUPLICATE_THRESHOLD: u32 = 3;
/// Recoveries without D-SACK after which the reordering window is as small as at the beginning (6.2, step 4).
const PERSISTENCE: u8 = 16;
/// Half of the time for which a least RTT counts.
const MIN_RTT_PERIOD: Time = Time::from_s(300);

/// What the sender's timer is set for; it is set for one thing at a time (RFC 8985, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// A retransmission timeout.
    Retransmission,
    /// More segments are lost then.
    Reordering,
    /// A probe.
    Probe,
}

/// A tail loss probe that is not settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// [TLP.end_seq]
    pub(crate) end: u32,
    /// [TLP.is_retrans]
    pub(crate) is_retransmission: bool,
    /// FlightSize when it was sent.
    pub(crate) flight: u32,
}

/// The least RTT in the present period and in the one before.
#[derive(Clone, Copy, Debug)]
struct LeastRtt {
    present: Option<Time>,
    before: Option<Time>,
    ends: Time,
}

impl LeastRtt {
    fn add(&mut self, rtt: Time, now: Time) {
        if now >= self.ends {
            self.before = self.present.take();
            self.ends = now + MIN_RTT_PERIOD;
        }
        self.present = Some(self.present.map_or(rtt, |least| least.min(rtt)));
    }

    fn get(&self) -> Option<Time> {
        self.present.into_iter().chain(self.before).min()
    }
}

/// What an ACK delivers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivered {
    pub(crate) bytes: u32,
    /// When the first segment was sent that it acknowledges and that was not delivered before, unless one of them was sent
    /// twice.
    pub(crate) timed: Option<Time>,
}

/// State of RACK-TLP.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    pub(crate) spec: RackSpec,
    pub(crate) segments: Segments,
    /// The last transmission among those of delivered segments [RACK.xmit_ts, RACK.end_seq].
    latest: Option<u32>,
    /// [RACK.rtt]
    rtt: Time,
    least_rtt: LeastRtt,
    /// One past the highest number delivered [RACK.fack].
    highest: u32,
    reordering_seen: bool,
    /// End of the data that was outstanding when a D-SACK widened the window [RACK.dsack_round].
    dsack_round: Option<u32>,
    /// [RACK.reo_wnd_mult]
    multiple: u32,
    /// [RACK.reo_wnd_persist]
    persist: u8,
    /// The window has been reduced for all retransmissions sent up to this time.
    reduced_at: Time,
    /// Present in fast recovery with proportional rate reduction.
    pub(crate) prr: Option<Prr>,
    pub(crate) alarm: Alarm,
    /// When the retransmission timer expires.
    pub(crate) timeout_at: Time,
    pub(crate) probe: Option<Probe>,
    /// Number of probes sent.
    pub(crate) probes: u32,
    /// A probe is to be sent now.
    pub(crate) probe_due: bool,
    /// An RTT was measured since the last probe.
    rtt_since_probe: bool,
    /// The congestion control needs the RTT that each ACK gives ([`AckSample`](crate::congestion::AckSample)).
    pub(crate) samples_acks: bool,
    /// The RTT that the last ACK gave, if the control needs it.
    pub(crate) ack_rtt: Option<Time>,
}

impl Rack {
    /// The first sequence number of data is `una`.
    pub(crate) fn new(spec: RackSpec, una: u32) -> Rack {
        Rack {
            spec,
            segments: Segments::new(una),
            latest: None,
            rtt: Time::ZERO,
            least_rtt: LeastRtt { present: None, before: None, ends: Time::ZERO },
            highest: una,
            reordering_seen: false,
            dsack_round: None,
            multiple: 1,
            persist: 0,
            reduced_at: Time::ZERO,
            prr: None,
            alarm: Alarm::Retransmission,
            timeout_at: Time::MAX,
            probe: None,
            probes: 0,
            probe_due: false,
            rtt_since_probe: false,
            samples_acks: false,
            ack_rtt: None,
        }
    }

    /// True if nothing is lost or selectively acknowledged and no probe is due: new data may follow, and nothing else.
    pub(crate) fn is_quiet(&self) -> bool {
        self.segments.lost_bytes() == 0 && self.segments.sacked_bytes() == 0 && !self.probe_due
    }

    /// The least RTT of the last minutes [RACK.min_RTT].
    pub(crate) fn least_rtt(&self) -> Option<Time> {
        self.least_rtt.get()
    }

    /// Takes note of a sample of the RTT estimator.
    pub(crate) fn on_sample(&mut self, rtt: Time, now: Time) {
        self.least_rtt.add(rtt, now);
        self.rtt_since_probe = true;
    }

    /// Steps 1 to 3 of section 6.2 for an ACK, with data sent up to `max`. `SAMPLED`: the congestion control needs the RTT that
    /// the ACK gives; a parameter of the type because keeping it costs every other sender 10 % of this function.
    pub(crate) fn on_ack<const SAMPLED: bool>(&mut self, packet: &Packet, max: u32, now: Time) -> Delivered {
        let ack = packet.ack;
        if let Some(sampler) = &mut self.segments.sampler {
            sampler.begin(now);
        }
        let undelivered = self.segments.undelivered_bytes();
        let mut newest: Option<Segment> = None; // the segment sent last, among those that are valid
        let Rack { segments, least_rtt, highest, reordering_seen, .. } = self;
        let mut delivered = |segment: Segment| {
            let rtt = now - segment.sent;
            if !segment.retransmitted {
                least_rtt.add(rtt, now);
            }
            // The ACK of a retransmission that comes too soon is of an earlier transmission (step 2).
            let valid = !segment.retransmitted || least_rtt.get().is_none_or(|least| rtt >= least);
            if valid && newest.is_none_or(|newest| seq::after(segment.transmission, newest.transmission)) {
                newest = Some(segment);
            }
            if seq::after(segment.end, *highest) {
                *highest = segment.end;
            } else if segment.end != *highest && !segment.retransmitted {
                *reordering_seen = true;
            }
        };
        let (mut timed, mut repeated) = (None, false);
        segments.acknowledge(ack, |segment| {
            timed = timed.or(Some(segment.sent));
            repeated |= segment.retransmitted;
            delivered(segment);
        });
        if !packet.sack.is_empty() {
            // A block that is not above the ACK and below `max` is a D-SACK, old or invalid.
            let valid = |&(start, end): &(u32, u32)| {
                seq::after(start, ack) && seq::before(start, end) && !seq::after(end, max)
            };
            let mut blocks = [(0, 0); wifair_core::SackBlocks::MAX_BLOCKS];
            let mut count = 0;
            for block in packet.sack.iter(ack).filter(valid) {
                blocks[count] = block;
                count += 1;
            }
            let blocks = &mut blocks[..count];
            blocks.sort_unstable_by_key(|&(start, _)| start.wrapping_sub(ack));
            for &(start, end) in blocks.iter() {
                segments.select(start, end, &mut delivered);
            }
        }
        if SAMPLED {
            let gives_rtt = |s: &Segment| !s.retransmitted && (!repeated || seq::after(s.end, ack));
            self.ack_rtt = newest.filter(gives_rtt).map(|s| now - s.sent);
        }
        if let Some(newest) = newest {
            self.rtt = now - newest.sent;
            let number = newest.transmission;
            self.latest = Some(self.latest.map_or(number, |latest| seq::later(latest, number)));
        }
        let bytes = undelivered - self.segments.undelivered_bytes();
        Delivered { bytes, timed: timed.filter(|_| !repeated) }
    }

    /// Step 4: adapts the reordering window to D-SACKs. `ends`: this ACK ends a recovery.
    pub(crate) fn adapt(&mut self, duplicate: bool, ends: bool, una: u32, max: u32) {
        if self.dsack_round.is_some_and(|end| !seq::before(una, end)) {
            self.dsack_round = None;
        }
        if duplicate && self.dsack_round.is_none() {
            self.dsack_round = Some(max);
            self.multiple = self.multiple.saturating_add(1);
            self.persist = PERSISTENCE;
        } else if ends {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.multiple = 1;
            }
        }
    }

    /// The reordering window (step 4). `repairing`: during fast recovery or after a timeout.
    fn reordering_window(&self, repairing: bool, srtt: Time) -> Time {
        let enough = repairing || self.segments.sacked_segments() >= DUPLICATE_THRESHOLD;
        if !self.reordering_seen && enough {
            return Time::ZERO;
        }
        let quarter = self.least_rtt.get().unwrap_or(Time::ZERO).as_ns() / 4;
        Time::from_ns(quarter.saturating_mul(u64::from(self.multiple))).min(srtt)
    }

    /// Step 5: finds lost segments.
    pub(crate) fn detect(&mut self, repairing: bool, srtt: Time, now: Time) -> Detected {
        let Some(latest) = self.latest else { return Detected::default() };
        let patience = self.rtt + self.reordering_window(repairing, srtt);
        self.segments.detect(latest, patience, now)
    }

    /// Marks what is lost at a timeout (section 6.3).
    pub(crate) fn on_timeout(&mut self, srtt: Time, now: Time) {
        let patience = self.rtt + self.reordering_window(true, srtt);
        self.segments.lose_on_timeout(patience, now);
        self.prr = None;
        self.start_repair(now);
    }

    /// The window is reduced: for a loss, or once more for that of a retransmission.
    pub(crate) fn start_repair(&mut self, now: Time) {
        self.reduced_at = now;
        (self.probe, self.probe_due) = (None, false);
    }

    /// True if the loss of the retransmission sent at `sent` reduces the window once more.
    pub(crate) fn is_second_loss(&self, sent: Time) -> bool {
        !self.spec.proportional_rate_reduction && sent >= self.reduced_at
    }

    /// Starts proportional rate reduction, if it is on, at an ACK that has delivered `delivered` bytes.
    pub(crate) fn start_reduction(&mut self, delivered: u32) {
        let flight = self.segments.undelivered_bytes() + delivered;
        self.prr = self.spec.proportional_rate_reduction.then(|| Prr::new(flight));
    }

    /// True if the timer may be set for a probe (7.2).
    pub(crate) fn expects_probe(&self, repairing: bool) -> bool {
        self.spec.tail_loss_probe && !repairing && self.segments.sacked_segments() == 0
    }

    /// True if a probe may be sent (7.3).
    pub(crate) fn may_probe(&self, repairing: bool) -> bool {
        self.expects_probe(repairing)
            && self.probe.is_none()
            && self.rtt_since_probe
            && self.segments.count() > 0
    }

    /// TLP_calc_PTO() (7.2), without the bound by the retransmission timer.
    pub(crate) fn probe_timeout(&self, srtt: Option<Time>) -> Time {
        let Some(srtt) = srtt else { return Time::from_s(1) };
        let delayed = if self.segments.count() == 1 { u64::from(self.spec.max_ack_delay_ms) } else { 0 };
        (srtt * 2 + Time::from_ms(delayed)).max(Time::from_ns(1))
    }

    /// Records that a probe was sent.
    pub(crate) fn probe_sent(&mut self, probe: Probe) {
        self.probe = Some(probe);
        self.probes += 1;
        self.rtt_since_probe = false;
    }

    /// TLP_process_ack() (7.4.2): settles the probe. Returns FlightSize at the probe if it has repaired a loss, to which the
    /// congestion control responds. `advances`: the ACK acknowledges new data.
    pub(crate) fn settle_probe(&mut self, packet: &Packet, advances: bool) -> Option<u32> {
        let probe = self.probe?;
        let ack = packet.ack;
        if seq::before(ack, probe.end) {
            return None;
        }
        let told = packet.sack.duplicate(ack).is_some_and(|(_, end)| end == probe.end);
        let is_duplicate_ack = !advances && packet.sack.is_empty() && packet.payload_bytes == 0;
        let repaired = probe.is_retransmission && !told && seq::after(ack, probe.end);
        if repaired || told || !probe.is_retransmission || is_duplicate_ack {
            self.probe = None;
        }
        repaired.then_some(probe.flight)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_core::SackBlocks;

    use super::*;

    const MSS: u32 = 1_000;
    const SRTT: Time = Time::from_ms(40);

    /// A segment as the pseudocode of RFC 8985 has it, and whether it is delivered.
    #[derive(Clone, Copy, Debug)]
    struct Plain {
        end: u32,
        xmit_ts: Time,
        order: usize,
        retransmitted: bool,
        lost: bool,
        sacked: bool,
        acked: bool,
    }

    /// The pseudocode of section 6, segment by segment, with numbers from 0 and without wrapping.
    struct Pseudocode {
        segments: Vec<Plain>,
        /// The last transmission of a delivered segment, by its place among all.
        latest: Option<usize>,
        transmissions: usize,
        rtt: Time,
        min_rtt: Option<Time>,
        fack: u32,
        reordering_seen: bool,
        dsack_round: Option<u32>,
        reo_wnd_mult: u32,
        reo_wnd_persist: i32,
    }

    impl Pseudocode {
        fn una(&self) -> u32 {
            self.segments.iter().filter(|s| s.acked).map(|s| s.end).max().unwrap_or(0)
        }

        fn max(&self) -> u32 {
            self.segments.last().map_or(0, |segment| segment.end)
        }

        fn on_ack(&mut self, ack: u32, told: &[(u32, u32)], now: Time) {
            let mut newest: Option<(usize, Time)> = None;
            for segment in &mut self.segments {
                let Plain { end, xmit_ts, order, retransmitted, .. } = *segment;
                let (acked, sacked) = (end <= ack, told.iter().any(|&(s, e)| s < end && end <= e));
                let new = (acked || sacked) && !segment.acked && !segment.sacked;
                segment.acked |= acked;
                segment.sacked |= sacked;
                if !new {
                    continue;
                }
                segment.lost = false;
                let rtt = now - xmit_ts;
                if !retransmitted {
                    self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
                }
                if end > self.fack {
                    self.fack = end;
                } else if !retransmitted {
                    self.reordering_seen = true;
                }
                if retransmitted && self.min_rtt.is_some_and(|least| rtt < least) {
                    continue;
                }
                newest = newest.max(Some((order, xmit_ts)));
            }
            if let Some((order, xmit_ts)) = newest {
                self.rtt = now - xmit_ts;
                self.latest = self.latest.max(Some(order));
            }
        }

        fn reo_wnd(&self, in_recovery: bool) -> Time {
            let sacked = self.segments.iter().filter(|s| s.sacked && !s.acked).count();
            if !self.reordering_seen && (in_recovery || sacked >= 3) {
                return Time::ZERO;
            }
            let quarter = self.min_rtt.unwrap_or(Time::ZERO).as_ns() / 4;
            Time::from_ns(quarter * u64::from(self.reo_wnd_mult)).min(SRTT)
        }

        fn detect(&mut self, in_recovery: bool, now: Time) -> (bool, Option<Time>) {
            let patience = self.rtt + self.reo_wnd(in_recovery);
            let (mut found, mut wait) = (false, None);
            let Some(latest) = self.latest else { return (false, None) };
            for segment in &mut self.segments {
                let out = !segment.acked && !segment.sacked && !segment.lost;
                if out && latest > segment.order {
                    if segment.xmit_ts + patience <= now {
                        segment.lost = true;
                        found = true;
                    } else {
                        wait = wait.max(Some(segment.xmit_ts + patience));
                    }
                }
            }
            (found, wait)
        }

        fn lost(&self) -> Vec<usize> {
            (0..self.segments.len()).filter(|&index| self.segments[index].lost).collect()
        }
    }

    fn ack_of(number: u32, blocks: &[(u32, u32)]) -> Packet {
        Packet { ack: number, sack: SackBlocks::new(number, blocks), ..Packet::default() }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_the_pseudocode_of_the_rfc(
            base: u32,
            steps in prop::collection::vec((0u8..16, 0usize..40, 1usize..6, 0u64..30), 1..120),
        ) {
            let at = |number: u32| base.wrapping_add(number);
            let mut rack = Rack::new(RackSpec::default(), base);
            let mut plain = Pseudocode {
                segments: vec![], latest: None, transmissions: 0, rtt: Time::ZERO, min_rtt: None, fack: 0,
                reordering_seen: false, dsack_round: None, reo_wnd_mult: 1, reo_wnd_persist: 0,
            };
            let mut holds: Vec<bool> = vec![];
            let (mut now, mut recovery_point) = (Time::ZERO, 0u32);
            for (what, which, count, ms) in steps {
                now += Time::from_ms(ms);
                match what {
                    0..=4 => for _ in 0..count {
                        let end = plain.max() + MSS;
                        let new = Plain {
                            end, xmit_ts: now, order: plain.transmissions, retransmitted: false, lost: false,
                            sacked: false, acked: false,
                        };
                        plain.transmissions += 1;
                        plain.segments.push(new);
                        holds.push(false);
                        rack.segments.sent(at(end), false, now);
                    },
                    5..=8 if !holds.is_empty() => {
                        // Some segments arrive, and one ACK reports what is there around one of them.
                        let was_repairing = plain.una() < recovery_point;
                        let first = which % holds.len();
                        let last = (first + count).min(holds.len());
                        let told_again = holds[first];
                        holds[first..last].fill(true);
                        let ack = holds.iter().take_while(|&&held| held).count() as u32 * MSS;
                        let mut blocks = vec![];
                        if told_again {
                            blocks.push((first as u32 * MSS, (first as u32 + 1) * MSS));
                        }
                        if first as u32 * MSS > ack {
                            let start = first - holds[..first].iter().rev().take_while(|&&held| held).count();
                            let end = last + holds[last..].iter().take_while(|&&held| held).count();
                            blocks.push((start as u32 * MSS, end as u32 * MSS));
                        }
                        let told: Vec<_> = blocks.iter().filter(|block| block.0 > ack).copied().collect();
                        plain.on_ack(ack, &told, now);
                        let blocks: Vec<_> = blocks.iter().map(|&(s, e)| (at(s), at(e))).collect();
                        let packet = ack_of(at(ack), &blocks);
                        rack.on_ack::<true>(&packet, at(plain.max()), now);

                        let una = plain.una();
                        let ends = was_repairing && una >= recovery_point;
                        let duplicate = packet.sack.duplicate(packet.ack).is_some();
                        if plain.dsack_round.is_some_and(|round| una >= round) {
                            plain.dsack_round = None;
                        }
                        if plain.dsack_round.is_none() && duplicate {
                            plain.dsack_round = Some(plain.max());
                            plain.reo_wnd_mult += 1;
                            plain.reo_wnd_persist = 16;
                        } else if ends {
                            plain.reo_wnd_persist -= 1;
                            if plain.reo_wnd_persist <= 0 {
                                plain.reo_wnd_mult = 1;
                            }
                        }
                        rack.adapt(duplicate, ends, at(una), at(plain.max()));
                    },
                    9..=11 => if let Some(index) = plain.lost().first().copied() {
                        let offset = plain.segments.iter().filter(|segment| segment.acked).count();
                        prop_assert_eq!(rack.segments.next_lost(), Some(index - offset));
                        let segment = &mut plain.segments[index];
                        (segment.lost, segment.retransmitted, segment.xmit_ts) = (false, true, now);
                        segment.order = plain.transmissions;
                        plain.transmissions += 1;
                        rack.segments.sent_again(index - offset, now);
                    },
                    12 if plain.una() < plain.max() => {
                        let patience = plain.rtt + plain.reo_wnd(true);
                        let first = plain.segments.iter().position(|segment| !segment.acked);
                        for (index, segment) in plain.segments.iter_mut().enumerate() {
                            let old = segment.xmit_ts + patience <= now || Some(index) == first;
                            segment.lost |= !segment.acked && !segment.sacked && old;
                        }
                        rack.on_timeout(SRTT, now);
                        recovery_point = plain.max();
                    },
                    _ => {}
                }
                let repairing = plain.una() < recovery_point;
                let (found, wait) = plain.detect(repairing, now);
                let detected = rack.detect(repairing, SRTT, now);
                prop_assert_eq!((detected.lost, detected.wait), (found, wait));
                if found && !repairing {
                    recovery_point = plain.max();
                }
                let out: u32 = plain.segments.iter().filter(|s| !s.acked && !s.sacked && !s.lost).count() as u32;
                prop_assert_eq!(rack.segments.pipe(), out * MSS);
                prop_assert_eq!(rack.segments.lost_bytes(), plain.lost().len() as u32 * MSS);
                let sacked = plain.segments.iter().filter(|s| s.sacked && !s.acked).count() as u32;
                prop_assert_eq!(rack.segments.sacked_bytes(), sacked * MSS);
                prop_assert_eq!(rack.segments.sacked_segments(), sacked);
                let first = plain.segments.iter().filter(|segment| segment.acked).count();
                let next = plain.lost().first().map(|&index| index - first);
                prop_assert_eq!(rack.segments.next_lost(), next);
            }
        }
    }

    #[test]
    fn the_least_rtt_is_of_the_last_minutes() {
        let mut least = LeastRtt { present: None, before: None, ends: Time::ZERO };
        let ms = Time::from_ms;
        least.add(ms(10), Time::ZERO);
        least.add(ms(30), Time::from_s(299));
        assert_eq!(least.get(), Some(ms(10)));
        least.add(ms(20), Time::from_s(301));
        assert_eq!(least.get(), Some(ms(10)));
        least.add(ms(25), Time::from_s(700));
        assert_eq!(least.get(), Some(ms(20)));
    }
}
