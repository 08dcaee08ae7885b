//! A sender with RACK-TLP (RFC 8985, `rack.rs`): its ACKs, timers and choice of segments.

use wifair_core::{Packet, Time};

use super::Sender;
use crate::rack::{Alarm, Probe};
use crate::seq;
use crate::spec::RttSamples;

impl Sender {
    /// Bytes sent and not acknowledged, lost ones included.
    pub(super) fn outstanding_bytes(&self) -> u32 {
        self.max.wrapping_sub(self.una)
    }

    /// True during fast recovery, and after a timeout until what was outstanding then is acknowledged.
    pub(super) fn is_repairing(&self) -> bool {
        seq::before(self.una, self.recovery.point())
    }

    /// Handles an ACK of a connection with RACK.
    pub(super) fn on_ack_by_rack(&mut self, packet: &Packet, may_grow: bool, now: Time) {
        self.check_application_limit();
        let (repaired_before, advances) = (self.is_repairing(), packet.ack != self.una);
        let acked = packet.ack.wrapping_sub(self.una);
        let duplicate = packet.sack.duplicate(packet.ack).is_some();
        self.stats.duplicates_told += u64::from(duplicate);
        let delivered = self.rack.as_mut().map(|rack| rack.on_ack(packet, self.max, now)).unwrap_or_default();
        if self.spec.rto.samples == RttSamples::EveryAck {
            self.timing = false;
            if let Some(sent) = delivered.timed {
                self.take_one_of_many_samples(sent, now);
            }
        }
        if advances {
            self.on_new_ack(packet.ack, delivered.bytes, may_grow, now);
        }
        let repairing = self.is_repairing();
        let Some(rack) = &mut self.rack else { return };
        if advances {
            rack.timeout_at = self.timer;
        }
        rack.adapt(duplicate, repaired_before && !repairing, self.una, self.max);
        if let Some(flight) = rack.settle_probe(packet, advances)
            && !repairing
            && !self.ecn.reduced
        {
            let reduces = self.loss_reduces(flight);
            self.control.on_loss(&mut self.window, reduces);
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
            self.ecn.note_reduction(self.max);
        }
        self.detect_losses(advances, delivered.bytes, now);
        self.update_model(acked, now);
    }

    /// Finds lost segments, responds to their loss and sets the timer; after an ACK that has delivered `delivered` bytes, if any.
    fn detect_losses(&mut self, advances: bool, delivered: u32, now: Time) {
        let repairing = self.is_repairing();
        let srtt = self.rto.srtt().unwrap_or(Time::ZERO);
        let flight = self.outstanding_bytes();
        let reduces = self.loss_reduces(self.flight_at_loss());
        let Some(rack) = &mut self.rack else { return };
        let found = rack.detect(repairing, srtt, now);
        if found.lost {
            rack.timeout_at = now + self.rto.timeout();
            let (window, control) = (&mut self.window, &mut self.control);
            if !repairing {
                rack.start_repair(now);
                rack.start_reduction(delivered);
                self.recovery.on_loss(self.max, reduces, self.ecn.reduced, window, control);
                self.start_fast_retransmit(now);
            } else if found.retransmission.is_some_and(|sent| rack.is_second_loss(sent)) {
                // RFC 5681, 4.3: "cwnd (and ssthresh) MUST be lowered twice in this case".
                rack.start_repair(now);
                control.on_loss(window, flight.min(window.cwnd));
                window.cwnd = window.cwnd.min(window.ssthresh);
            }
        }
        self.reduce_proportionally(delivered, advances && !found.lost, !repairing && found.lost);
        self.set_alarm(found.wait, advances, found.lost, now);
    }

    /// Sets the window of proportional rate reduction, at the start of the recovery also where no ACK starts it.
    fn reduce_proportionally(&mut self, delivered: u32, safe: bool, starts: bool) {
        let Some(rack) = &mut self.rack else { return };
        if !self.recovery.is_active() {
            rack.prr = None;
        }
        let pipe = rack.segments.pipe();
        let Some(prr) = rack.prr.as_mut().filter(|_| delivered > 0 || starts) else { return };
        let (ssthresh, mss) = (self.window.ssthresh, self.window.mss);
        self.window.cwnd = prr.on_ack(delivered, pipe, ssthresh, safe, mss);
    }

    /// Sets the timer after an ACK or a search for losses: for the end of the reordering window, for a probe, or for a timeout.
    fn set_alarm(&mut self, wait: Option<Time>, advances: bool, lost: bool, now: Time) {
        let repairing = self.is_repairing();
        let Some(rack) = &mut self.rack else { return };
        if self.una == self.max || self.ecn.paused {
            rack.alarm = Alarm::Retransmission; // the timer is off, or that of the pause
            return;
        }
        if rack.timeout_at <= now {
            rack.timeout_at = now + self.rto.timeout();
        }
        let expects_probe = rack.expects_probe(repairing) && !lost;
        (rack.alarm, self.timer) = match wait {
            Some(at) => (Alarm::Reordering, at),
            None if expects_probe && advances => {
                (Alarm::Probe, rack.timeout_at.min(now + rack.probe_timeout(self.rto.srtt())))
            }
            None if expects_probe && rack.alarm == Alarm::Probe => return,
            None => (Alarm::Retransmission, rack.timeout_at),
        };
    }

    /// Records the new segment that ends at `max`, perhaps with a FIN, and sets the timer.
    pub(super) fn note_segment(&mut self, fin: bool, now: Time) {
        let repairing = self.is_repairing();
        let Some(rack) = &mut self.rack else { return };
        let octets = rack.segments.sent(self.max, fin, now);
        if let Some(prr) = &mut rack.prr {
            prr.sent(octets);
        }
        if self.timer == Time::MAX {
            rack.timeout_at = now + self.rto.timeout();
            (rack.alarm, self.timer) = (Alarm::Retransmission, rack.timeout_at);
        }
        if rack.alarm != Alarm::Reordering
            && rack.expects_probe(repairing)
            && !rack.probe_due
            && !self.ecn.paused
        {
            rack.alarm = Alarm::Probe;
            self.timer = rack.timeout_at.min(now + rack.probe_timeout(self.rto.srtt()));
        }
    }

    /// True if the timer, which has expired, was set for a retransmission timeout, or if that is due as well.
    pub(super) fn is_timeout(&mut self, now: Time) -> bool {
        match &self.rack {
            Some(rack) if rack.alarm != Alarm::Retransmission => self.on_alarm(now),
            _ => true,
        }
    }

    /// The timer has expired, and not for a retransmission timeout. Returns whether that is due as well.
    fn on_alarm(&mut self, now: Time) -> bool {
        let repairing = self.is_repairing();
        let timeout = self.rto.timeout();
        let Some(rack) = &mut self.rack else { return true };
        let alarm = std::mem::replace(&mut rack.alarm, Alarm::Retransmission);
        rack.probe_due = alarm == Alarm::Probe && rack.may_probe(repairing);
        if rack.probe_due || alarm == Alarm::Reordering {
            rack.timeout_at = now + timeout;
        }
        self.timer = rack.timeout_at;
        if alarm == Alarm::Reordering {
            self.detect_losses(false, 0, now);
            self.update_model(0, now);
        }
        self.timer <= now
    }

    /// The next packet: a probe, a lost segment, new data or a FIN.
    #[cold]
    pub(super) fn transmit_by_rack(&mut self, now: Time) -> Option<Packet> {
        let allowance = self.window.allowance();
        let forced = std::mem::replace(&mut self.repair, false);
        if self.rack.as_ref()?.probe_due
            && let Some(probe) = self.transmit_probe(now)
        {
            return Some(probe);
        }
        let rack = self.rack.as_mut()?;
        if let Some(index) = rack.segments.next_lost() {
            let (start, end) = rack.segments.range(index);
            let fits = rack.segments.pipe() + end.wrapping_sub(start) <= allowance;
            return (forced || fits).then(|| self.retransmit_segment(index, now));
        }
        if self.unsent > 0 { self.transmit_new_data(now) } else { self.transmit_fin(now) }
    }

    fn retransmit_segment(&mut self, index: usize, now: Time) -> Packet {
        let (mut start, mut octets) = (self.una, 0);
        if let Some(rack) = &mut self.rack {
            let (from, end) = rack.segments.range(index);
            (start, octets) = (from, end.wrapping_sub(from));
            rack.segments.sent_again(index, now);
            if let Some(prr) = &mut rack.prr {
                prr.sent(octets);
            }
        }
        let fin = self.fin_sent && start.wrapping_add(octets) == self.max;
        self.retransmit(start, octets - u32::from(fin), fin, now)
    }

    /// TLP_send_probe() (RFC 8985, 7.3): new data if there is any and the receiver has room for it, otherwise the last segment.
    fn transmit_probe(&mut self, now: Time) -> Option<Packet> {
        let flight = self.outstanding_bytes();
        let payload = u64::from(self.window.mss).min(self.unsent) as u32;
        let is_new = payload > 0 && flight + payload <= self.peer_window;
        let last = self.rack.as_ref().and_then(|rack| rack.segments.last());
        let packet = match last {
            Some(_) if is_new => {
                if flight + payload > self.window.allowance() {
                    self.recovery.sent_beyond_window(payload);
                }
                Some(self.transmit_unsent(payload, flight + payload, now))
            }
            Some(last) => Some(self.retransmit_segment(last, now)),
            None => None, // everything was acknowledged in the meantime
        };
        let rack = self.rack.as_mut()?;
        rack.probe_due = false;
        if packet.is_some() {
            rack.probe_sent(Probe { end: self.max, is_retransmission: !is_new, flight });
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use wifair_core::{FiveTuple, SackBlocks, TcpFlags};

    use super::*;
    use crate::{Handshake, LossDetectionSpec, RackSpec, TcpSpec};

    proptest! {
        /// Whatever ACKs say and whenever timers expire, what is assumed to be in the network stays within the window, but for a
        /// probe, and for the first repair of a recovery or after a timeout.
        #[test]
        fn no_more_is_in_the_network_than_the_window_allows(
            proportional_rate_reduction: bool,
            limited_transmit: bool,
            steps in prop::collection::vec((0u8..16, 0u32..40, 1u32..6, 0u64..60_000), 1..150),
        ) {
            let rack = RackSpec { proportional_rate_reduction, ..RackSpec::default() };
            let spec = TcpSpec {
                sack: Some(Default::default()),
                loss_detection: LossDetectionSpec::Rack(rack),
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
                    let exempt = sender.repair || sender.rack.as_ref().is_some_and(|rack| rack.probe_due);
                    if sender.poll_transmit(now).is_none() {
                        break;
                    }
                    let pipe = sender.rack.as_ref().map_or(0, |rack| rack.segments.pipe());
                    prop_assert!(exempt || pipe <= sender.window.allowance(), "{pipe} in the network");
                }
                now += Time::from_us(us);
                prop_assert!(sender.una != sender.max && sender.deadline() != Time::MAX, "no timer runs");
                if what == 0 {
                    now = now.max(sender.deadline());
                    sender.on_timer(now);
                    continue;
                }
                let (una, mss) = (sender.una, sender.window.mss);
                let segments = sender.outstanding_bytes() / mss;
                let ack = una.wrapping_add(if what < 6 { number % (segments + 1) * mss } else { 0 });
                let start = ack.wrapping_add((1 + number % segments.max(1)) * mss);
                let end = start.wrapping_add(count * mss);
                let blocks = [(start, if seq::after(end, sender.max) { sender.max } else { end })];
                let told = what > 3 && seq::before(start, sender.max);
                let packet = Packet {
                    ack,
                    window_bytes: sender.peer_window,
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
