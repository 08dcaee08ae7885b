//! Loss recovery by RACK-TLP (RFC 8985, `rack.rs` of the crate): its ACKs, timers and choice of segments.

use wifair_core::{Packet, TcpFlags, Time};

use super::tcb::Tcb;
use crate::rack::{Alarm, Delivered, Probe, Rack};
use crate::spec::RttSamples;

impl Rack {
    /// Handles an ACK.
    pub(super) fn process_ack(&mut self, tcb: &mut Tcb, packet: &Packet, may_grow: bool, now: Time) {
        self.check_application_limit(tcb);
        let (repaired_before, advances) = (tcb.is_repairing(), packet.ack != tcb.una);
        let acked = packet.ack.wrapping_sub(tcb.una);
        let duplicate = packet.sack.duplicate(packet.ack).is_some();
        tcb.stats.duplicates_told += u64::from(duplicate);
        let delivered = match self.samples_acks {
            false => self.on_ack::<false>(packet, tcb.max, now),
            true => self.on_sampled_ack(tcb, packet, now),
        };
        if tcb.spec.rto.samples != RttSamples::OneSegment {
            tcb.timing = false;
            if let Some(sent) = delivered.timed {
                let rtt = tcb.take_one_of_many_samples(sent, packet.ack, now);
                self.on_sample(rtt, now);
            }
        }
        if advances {
            let lost = self.segments.lost_bytes();
            if let Some(rtt) = tcb.on_new_ack(packet.ack, delivered.bytes, lost, may_grow, now) {
                self.on_sample(rtt, now);
            }
            self.timeout_at = tcb.timer;
        }
        let repairing = tcb.is_repairing();
        self.adapt(duplicate, repaired_before && !repairing, tcb.una, tcb.max);
        if let Some(flight) = self.settle_probe(packet, advances)
            && !repairing
            && !tcb.ecn.reduced
        {
            let reduces = tcb.loss_reduces(flight);
            tcb.control.on_loss(&mut tcb.window, reduces);
            tcb.window.cwnd = tcb.window.cwnd.min(tcb.window.ssthresh);
            tcb.ecn.note_reduction(tcb.max);
        }
        self.detect_losses(tcb, advances, delivered.bytes, now);
        self.update_model(tcb, acked, now);
    }

    #[cold]
    #[inline(never)]
    fn on_sampled_ack(&mut self, tcb: &mut Tcb, packet: &Packet, now: Time) -> Delivered {
        let delivered = self.on_ack::<true>(packet, tcb.max, now);
        if let Some(rtt) = self.ack_rtt {
            tcb.report_ack_sample(packet.ack, rtt, now);
        }
        delivered
    }

    /// Finds lost segments, responds to their loss and sets the timer; after an ACK that has delivered `delivered` bytes, if
    /// any.
    fn detect_losses(&mut self, tcb: &mut Tcb, advances: bool, delivered: u32, now: Time) {
        let repairing = tcb.is_repairing();
        let srtt = tcb.rto.srtt().unwrap_or(Time::ZERO);
        let found = self.detect(repairing, srtt, now);
        if found.lost {
            self.timeout_at = now + tcb.rto.timeout();
            let (flight, reduces) = (tcb.outstanding_bytes(), tcb.loss_reduces(tcb.flight_at_loss()));
            let (window, control) = (&mut tcb.window, &mut tcb.control);
            if !repairing {
                self.start_repair(now);
                self.start_reduction(delivered);
                tcb.recovery.on_loss(tcb.max, reduces, tcb.ecn.reduced, window, control);
                tcb.start_fast_retransmit(now);
            } else if found.retransmission.is_some_and(|sent| self.is_second_loss(sent)) {
                // RFC 5681, 4.3: "cwnd (and ssthresh) MUST be lowered twice in this case".
                self.start_repair(now);
                control.on_loss(window, flight.min(window.cwnd));
                window.cwnd = window.cwnd.min(window.ssthresh);
            }
        }
        self.reduce_proportionally(tcb, delivered, advances && !found.lost, !repairing && found.lost);
        self.set_alarm(tcb, found.wait, advances, found.lost, now);
    }

    /// Sets the window of proportional rate reduction, at the start of the recovery also where no ACK starts it.
    fn reduce_proportionally(&mut self, tcb: &mut Tcb, delivered: u32, safe: bool, starts: bool) {
        if !tcb.recovery.is_active() {
            self.prr = None;
        }
        let pipe = self.segments.pipe();
        let Some(prr) = self.prr.as_mut().filter(|_| delivered > 0 || starts) else { return };
        let (ssthresh, mss) = (tcb.window.ssthresh, tcb.window.mss);
        tcb.window.cwnd = prr.on_ack(delivered, pipe, ssthresh, safe, mss);
    }

    /// Sets the timer after an ACK or a search for losses: for the end of the reordering window, for a probe, or for a timeout.
    fn set_alarm(&mut self, tcb: &mut Tcb, wait: Option<Time>, advances: bool, lost: bool, now: Time) {
        if tcb.una == tcb.max || tcb.ecn.paused {
            self.alarm = Alarm::Retransmission; // the timer is off, or that of the pause
            return;
        }
        if self.timeout_at <= now {
            self.timeout_at = now + tcb.rto.timeout();
        }
        let expects_probe = self.expects_probe(tcb.is_repairing()) && !lost;
        (self.alarm, tcb.timer) = match wait {
            Some(at) => (Alarm::Reordering, at),
            None if expects_probe && advances => {
                (Alarm::Probe, self.timeout_at.min(now + self.probe_timeout(tcb.rto.srtt())))
            }
            None if expects_probe && self.alarm == Alarm::Probe => return,
            None => (Alarm::Retransmission, self.timeout_at),
        };
    }

    /// Records the new segment that has been sent, perhaps with a FIN, and sets the timer. `timer_was_off`: before it was sent.
    pub(super) fn record(&mut self, tcb: &mut Tcb, fin: bool, timer_was_off: bool, now: Time) {
        let octets = self.segments.sent(tcb.max, fin, now);
        if let Some(prr) = &mut self.prr {
            prr.sent(octets);
        }
        if timer_was_off {
            self.timeout_at = now + tcb.rto.timeout();
            (self.alarm, tcb.timer) = (Alarm::Retransmission, self.timeout_at);
        }
        if self.alarm != Alarm::Reordering
            && self.expects_probe(tcb.is_repairing())
            && !self.probe_due
            && !tcb.ecn.paused
        {
            self.alarm = Alarm::Probe;
            tcb.timer = self.timeout_at.min(now + self.probe_timeout(tcb.rto.srtt()));
        }
    }

    /// True if the timer, which has expired, was set for a retransmission timeout, or if that is due as well.
    pub(super) fn is_timeout(&mut self, tcb: &mut Tcb, now: Time) -> bool {
        self.alarm == Alarm::Retransmission || self.on_alarm(tcb, now)
    }

    /// The timer has expired, and not for a retransmission timeout. Returns whether that is due as well.
    fn on_alarm(&mut self, tcb: &mut Tcb, now: Time) -> bool {
        let alarm = std::mem::replace(&mut self.alarm, Alarm::Retransmission);
        self.probe_due = alarm == Alarm::Probe && self.may_probe(tcb.is_repairing());
        if self.probe_due || alarm == Alarm::Reordering {
            self.timeout_at = now + tcb.rto.timeout();
        }
        tcb.timer = self.timeout_at;
        if alarm == Alarm::Reordering {
            self.detect_losses(tcb, false, 0, now);
            self.update_model(tcb, 0, now);
        }
        tcb.timer <= now
    }

    /// Data is lost by a retransmission timeout: the first segment is retransmitted at once.
    pub(super) fn retransmission_timeout(&mut self, tcb: &mut Tcb, now: Time) {
        tcb.repair = true;
        self.on_timeout(tcb.rto.srtt().unwrap_or(Time::ZERO), now);
        (self.alarm, self.timeout_at) = (Alarm::Retransmission, tcb.timer);
        self.update_model(tcb, 0, now);
    }

    /// The next packet: a probe, a lost segment, new data or a FIN.
    #[cold]
    pub(super) fn next_packet(&mut self, tcb: &mut Tcb, now: Time) -> Option<Packet> {
        let allowance = tcb.window.allowance();
        let forced = std::mem::replace(&mut tcb.repair, false);
        if self.probe_due
            && let Some(probe) = self.transmit_probe(tcb, now)
        {
            return Some(probe);
        }
        if let Some(index) = self.segments.next_lost() {
            let (start, end) = self.segments.range(index);
            let fits = self.segments.pipe() + end.wrapping_sub(start) <= allowance;
            return (forced || fits).then(|| self.retransmit_segment(tcb, index, now));
        }
        let lost = self.segments.lost_bytes();
        let timer_was_off = tcb.timer == Time::MAX;
        let packet = match tcb.unsent {
            0 => tcb.transmit_fin(lost, now),
            _ => tcb.transmit_new_data(lost, |tcb| self.bytes_beyond_window(tcb), now),
        }?;
        self.record(tcb, packet.flags.contains(TcpFlags::FIN), timer_was_off, now);
        Some(packet)
    }

    /// Bytes that may be outstanding beyond the window: SACKed data, by limited transmit or during a repair.
    pub(super) fn bytes_beyond_window(&self, tcb: &Tcb) -> u32 {
        match tcb.spec.limited_transmit || tcb.is_repairing() {
            true => self.segments.sacked_bytes(),
            false => 0,
        }
    }

    fn retransmit_segment(&mut self, tcb: &mut Tcb, index: usize, now: Time) -> Packet {
        let (start, end) = self.segments.range(index);
        let octets = end.wrapping_sub(start);
        self.segments.sent_again(index, now);
        if let Some(prr) = &mut self.prr {
            prr.sent(octets);
        }
        let fin = tcb.fin_sent && end == tcb.max;
        tcb.retransmit(start, octets - u32::from(fin), fin, now)
    }

    /// TLP_send_probe() (RFC 8985, 7.3): new data if there is any and the receiver has room for it, otherwise the last segment.
    fn transmit_probe(&mut self, tcb: &mut Tcb, now: Time) -> Option<Packet> {
        let flight = tcb.outstanding_bytes();
        let payload = u64::from(tcb.window.mss).min(tcb.unsent) as u32;
        let is_new = payload > 0 && flight + payload <= tcb.peer_window;
        let packet = match self.segments.last() {
            Some(_) if is_new => {
                if flight + payload > tcb.window.allowance() {
                    tcb.recovery.sent_beyond_window(payload);
                }
                let timer_was_off = tcb.timer == Time::MAX;
                let packet = tcb.transmit_unsent(payload, flight + payload, now);
                self.record(tcb, packet.flags.contains(TcpFlags::FIN), timer_was_off, now);
                Some(packet)
            }
            Some(last) => Some(self.retransmit_segment(tcb, last, now)),
            None => None, // everything was acknowledged in the meantime
        };
        self.probe_due = false;
        if packet.is_some() {
            self.probe_sent(Probe { end: tcb.max, is_retransmission: !is_new, flight });
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use wifair_core::{FiveTuple, SackBlocks, TcpFlags};

    use super::super::Sender;
    use super::super::loss_recovery::LossRecovery;
    use super::*;
    use crate::{Handshake, LossDetectionSpec, RackSpec, TcpSpec, seq};

    fn rack(sender: &Sender) -> &Rack {
        let LossRecovery::Rack(rack) = &sender.loss_recovery else { panic!("no RACK") };
        rack
    }

    proptest! {
        /// Whatever ACKs say and whenever timers expire, what is assumed to be in the network stays within the window, but for
        /// a probe, and for the first repair of a recovery or after a timeout.
        #[test]
        fn no_more_is_in_the_network_than_the_window_allows(
            proportional_rate_reduction: bool,
            limited_transmit: bool,
            steps in prop::collection::vec((0u8..16, 0u32..40, 1u32..6, 0u64..60_000), 1..150),
        ) {
            let spec = RackSpec { proportional_rate_reduction, ..RackSpec::default() };
            let spec = TcpSpec {
                sack: Some(Default::default()),
                loss_detection: LossDetectionSpec::Rack(spec),
                handshake: Handshake::None,
                limited_transmit,
                initial_window_segments: Some(10),
                ..TcpSpec::default()
            };
            let mut sender = Sender::new(&Arc::new(spec), FiveTuple::default());
            let mut now = Time::ZERO;
            sender.open(now);
            sender.write_unlimited();
            for (what, number, count, us) in steps {
                loop {
                    let exempt = sender.tcb.repair || rack(&sender).probe_due;
                    if sender.poll_transmit(now).is_none() {
                        break;
                    }
                    let pipe = rack(&sender).segments.pipe();
                    prop_assert!(exempt || pipe <= sender.tcb.window.allowance(), "{pipe} in the network");
                }
                now += Time::from_us(us);
                prop_assert!(sender.tcb.una != sender.tcb.max && sender.deadline() != Time::MAX, "no timer runs");
                if what == 0 {
                    now = now.max(sender.deadline());
                    sender.on_timer(now);
                    continue;
                }
                let (una, mss) = (sender.tcb.una, sender.tcb.window.mss);
                let segments = sender.tcb.outstanding_bytes() / mss;
                let ack = una.wrapping_add(if what < 6 { number % (segments + 1) * mss } else { 0 });
                let start = ack.wrapping_add((1 + number % segments.max(1)) * mss);
                let end = start.wrapping_add(count * mss);
                let blocks = [(start, if seq::after(end, sender.tcb.max) { sender.tcb.max } else { end })];
                let told = what > 3 && seq::before(start, sender.tcb.max);
                let packet = Packet {
                    ack,
                    window_bytes: sender.tcb.peer_window,
                    flags: TcpFlags::ACK,
                    sack: SackBlocks::new(ack, if told { &blocks } else { &[] }),
                    ..Packet::default()
                };
                sender.on_timer(now);
                sender.on_segment(&packet, now);
            }
        }
    }
}
