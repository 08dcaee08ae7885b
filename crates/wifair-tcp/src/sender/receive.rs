//! Handling of arriving packets and of the retransmission timer by a sender.

use wifair_core::{Packet, TcpFlags, Time};

use super::{Pending, Sender, SenderState};
use crate::congestion::{Ack, RttSample, Window};
use crate::rack::Alarm;
use crate::spec::{Handshake, LossReduces};
use crate::{ecn, seq};

impl Sender {
    /// Handles a packet from the receiver.
    pub fn on_segment(&mut self, packet: &Packet, now: Time) {
        let acked = packet.ack.wrapping_sub(self.una);
        if self.ordinary
            && packet.flags == TcpFlags::ACK
            && acked.wrapping_sub(1) < self.sent_bytes() - 1
            && packet.window_bytes == self.peer_window
        {
            self.on_ordinary_ack(acked, now);
        } else {
            self.on_any_segment(packet, now);
        }
    }

    /// Fast path of [`Sender::on_new_ack`] while the sender is ordinary, for an ACK of part of the outstanding data.
    fn on_ordinary_ack(&mut self, acked: u32, now: Time) {
        self.una = self.una.wrapping_add(acked);
        if self.timing && !seq::before(self.una, self.timed_end) {
            self.take_sample(now);
        }
        self.stats.payload_bytes_acked += u64::from(acked);
        self.recovery.pull_along(self.una);
        self.report_ack(acked, self.sent_bytes() + acked, now);
        self.timer = now + self.rto.timeout();
    }

    #[inline(never)]
    fn on_any_segment(&mut self, packet: &Packet, now: Time) {
        if packet.flags.intersects(TcpFlags::SYN | TcpFlags::FIN) && self.state != SenderState::Idle {
            self.on_control(packet, now);
        } else if packet.flags.contains(TcpFlags::ACK) {
            match self.state {
                SenderState::Idle => {}
                SenderState::SynSent => self.on_opening_ack(packet, now),
                _ => self.on_ack(packet, now),
            }
        }
        self.review();
    }

    fn on_ack(&mut self, packet: &Packet, now: Time) {
        let ack = packet.ack;
        if seq::before(ack, self.una) || seq::after(ack, self.max) {
            return; // old, or of data never sent (RFC 9293, 3.10.7.4)
        }
        let echo = self.ecn.on && packet.flags.contains(TcpFlags::ECE);
        if echo {
            self.on_congestion_echo();
        }
        if self.rack.is_some() {
            self.on_ack_by_rack(packet, !echo, now);
        } else if self.scoreboard.is_some() {
            self.on_selective_ack(packet, !echo, now);
        } else if ack != self.una {
            self.on_new_ack(ack, ack.wrapping_sub(self.una), !echo, now);
        } else if self.max != self.una && packet.payload_bytes == 0 && packet.window_bytes == self.peer_window
        {
            // A duplicate ACK by RFC 5681, section 2: data is outstanding, no payload, no SYN or FIN, the highest
            // acknowledgement number seen, the window unchanged.
            let (reduces, known) = (self.loss_reduces(self.flight_at_loss()), self.ecn.reduced);
            let (window, control) = (&mut self.window, &mut self.control);
            if self.recovery.on_duplicate(self.una, self.max, reduces, known, window, control) {
                self.start_fast_retransmit(now);
            }
        }
        if packet.window_bytes != self.peer_window {
            self.set_peer_window(packet.window_bytes);
        }
        if echo && self.ecn.paused {
            self.timer = now + self.rto.timeout();
        }
    }

    /// Handles an ACK of a connection with SACK (RFC 6675, section 5).
    fn on_selective_ack(&mut self, packet: &Packet, may_grow: bool, now: Time) {
        if packet.ack != self.una {
            self.on_new_ack(packet.ack, packet.ack.wrapping_sub(self.una), may_grow, now);
        }
        let Some(scoreboard) = &mut self.scoreboard else { return };
        let news = scoreboard.update(packet, self.max);
        let mss = self.window.mss;
        if packet.sack.duplicate(packet.ack).is_some() {
            self.stats.duplicates_told += 1;
        }
        if self.nxt != self.max {
            self.nxt = scoreboard.skip(self.nxt); // after a timeout: SACKed data need not be sent again
        }
        if self.recovery.is_active() {
            scoreboard.set_pipe(self.una, self.max, mss);
        } else if news {
            let first_lost = scoreboard.is_first_lost(self.una, mss);
            let (reduces, known) = (self.loss_reduces(self.flight_at_loss()), self.ecn.reduced);
            let (window, control) = (&mut self.window, &mut self.control);
            if self
                .recovery
                .on_selective_news(self.una, self.max, reduces, first_lost, known, window, control)
            {
                self.start_fast_retransmit(now);
            }
        }
    }

    /// Starts a fast retransmit: the first unacknowledged segment is lost.
    pub(super) fn start_fast_retransmit(&mut self, now: Time) {
        self.window.slow_start_limit = self.spec.counted_bytes().slow_start;
        self.ecn.note_reduction(self.max);
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.start_recovery(self.una); // nothing yet: the repair may have to wait, and an ACK may overtake it
        }
        self.repair = true;
        if self.spec.rto.restarts_on_fast_retransmit {
            self.timer = now + self.rto.timeout();
        }
        self.stats.fast_retransmits += 1;
    }

    /// Handles an ECN echo: the window is reduced as after a loss, but nothing is retransmitted (RFC 3168, 6.1.2).
    #[cold]
    fn on_congestion_echo(&mut self) {
        if self.recovery.is_active() || self.ecn.reduced {
            return;
        }
        if self.control.needs_rate_samples() {
            self.report_mark();
        } else {
            let reduces = self.loss_reduces(self.sent_bytes());
            self.control.on_loss(&mut self.window, reduces);
            // The minimum of the threshold is two segments (RFC 5681, equation 4), that of the window one. For half a segment per
            // round trip the timer is used.
            let Window { cwnd, ssthresh, mss, .. } = self.window;
            self.ecn.paused |= cwnd <= mss;
            self.window.cwnd = if ssthresh < cwnd { ssthresh } else { (cwnd / 2).max(mss) };
        }
        self.ecn.note_reduction(self.max);
        self.stats.ecn_reductions += 1;
    }

    /// Handles an ACK of everything before `ack`; the window grows if it `may_grow`.
    pub(super) fn on_new_ack(&mut self, ack: u32, counted: u32, may_grow: bool, now: Time) {
        let acked = ack.wrapping_sub(self.una);
        self.una = ack;
        self.nxt = seq::later(self.nxt, ack);
        self.timed_out = false;
        if self.ecn.on {
            self.ecn.advance(ack);
        }
        if self.timing && !seq::before(ack, self.timed_end) {
            self.take_sample(now);
        }
        let all_acked = ack == self.max;
        let fin_acked = self.fin_sent && all_acked;
        self.stats.payload_bytes_acked += u64::from(acked - u32::from(fin_acked));

        let flight = self.flight_bytes();
        let progress = self.recovery.on_new_ack(ack, acked, flight, &mut self.window);
        let grow = progress.grow || progress.ended && self.spec.recovery_end_grows;
        if grow && may_grow && (self.uses_window(acked) || self.control.shrinks_on_ack()) {
            self.report_ack(counted, flight + acked, now);
        }
        self.repair = progress.retransmit;
        if all_acked {
            if !self.ecn.paused {
                self.timer = Time::MAX; // RFC 6298, 5.2
            }
            if fin_acked {
                self.state = if self.peer_closed { SenderState::TimeWait } else { SenderState::FinWait2 };
            }
            self.finish_without_fin();
        } else if progress.restart_timer {
            self.timer = now + self.rto.timeout(); // RFC 6298, 5.3
        }
    }

    /// Reports an ACK of `bytes` to the congestion control, with `flight_bytes` outstanding before it.
    fn report_ack(&mut self, bytes: u32, flight_bytes: u32, now: Time) {
        if self.window.cwnd < self.reported_below {
            let ack = Ack { bytes, flight_bytes, is_application_limited: self.unsent == 0, now };
            self.control.on_ack(&mut self.window, ack);
        }
    }

    fn take_sample(&mut self, now: Time) {
        self.timing = false;
        self.rto.sample(self.timed_at, now, &self.spec.rto);
        self.note_sample(now - self.timed_at, now);
    }

    /// Takes a sample of a segment sent at `sent`, one of several per round trip.
    pub(super) fn take_one_of_many_samples(&mut self, sent: Time, now: Time) {
        self.timing = false;
        let expected = self.sent_bytes().div_ceil(2 * self.window.mss).max(1);
        self.rto.sample_of(u64::from(expected), sent, now, &self.spec.rto);
        self.note_sample(now - sent, now);
    }

    fn note_sample(&mut self, rtt: Time, now: Time) {
        if let Some(rack) = &mut self.rack {
            rack.on_sample(rtt, now);
        }
        self.stats.rtt.record_time(rtt);
        let srtt = self.rto.srtt().unwrap_or(rtt);
        self.control.on_rtt_sample(&RttSample { rtt, srtt, now });
        self.stats.srtt_sum_ns += srtt.as_ns();
        self.stats.srtt_max = self.stats.srtt_max.max(srtt);
    }

    /// Handles SYN-ACK and FIN.
    #[cold]
    fn on_control(&mut self, packet: &Packet, now: Time) {
        if packet.flags.contains(TcpFlags::SYN | TcpFlags::ACK) {
            if self.state == SenderState::SynSent {
                self.on_syn_ack(packet, now);
            } else {
                self.pending = Pending::Ack; // ours was lost (RFC 9293, 3.10.7.4)
            }
            return;
        }
        let synchronised = !matches!(self.state, SenderState::SynSent | SenderState::Idle);
        if !packet.flags.contains(TcpFlags::FIN | TcpFlags::ACK) || !synchronised {
            return;
        }
        if seq::after(packet.ack, self.una) && !seq::after(packet.ack, self.max) {
            match (&self.rack, &self.scoreboard) {
                (Some(_), _) => self.on_ack_by_rack(packet, true, now),
                (None, Some(_)) => self.on_selective_ack(packet, true, now),
                (None, None) => self.on_new_ack(packet.ack, packet.ack.wrapping_sub(self.una), true, now),
            }
        }
        if packet.seq == self.rcv_nxt {
            self.rcv_nxt = self.rcv_nxt.wrapping_add(1);
            self.peer_closed = true;
            if self.state == SenderState::FinWait2 {
                self.state = SenderState::TimeWait;
            }
        }
        self.pending = Pending::Ack; // the FIN's, or again for a repeated one
    }

    fn on_syn_ack(&mut self, packet: &Packet, now: Time) {
        let first = self.spec.initial_sequence.wrapping_add(1);
        if self.spec.handshake != Handshake::Real || packet.ack != first || self.max != first {
            return; // acknowledges something else, or a SYN not yet sent
        }
        self.una = first;
        self.rcv_nxt = packet.seq.wrapping_add(1);
        self.set_peer_window(packet.window_bytes);
        self.ecn.on = self.spec.ecn && ecn::is_setup_syn_ack(packet.flags);
        if self.spec.sack.is_some() && packet.sack.is_permitted() {
            self.use_sack();
        }
        self.state = SenderState::Established;
        self.pending = Pending::Ack;
        self.syn_acknowledged(now);
        if std::mem::replace(&mut self.timed_out, false) {
            self.window.cwnd = self.window.mss; // RFC 5681, 3.1: a SYN was lost
            self.rto.restart_after_lost_syn(&self.spec.rto);
        }
    }

    /// Handles the answer to the segment that opens a connection in ns-2. Effects of its loss on window and timeout remain.
    #[cold]
    fn on_opening_ack(&mut self, packet: &Packet, now: Time) {
        let first = self.spec.initial_sequence.wrapping_add(1);
        if self.spec.handshake != Handshake::Ns2 || packet.ack != first || self.max != first {
            return;
        }
        self.establish_as_configured(packet.window_bytes);
        self.syn_acknowledged(now);
        self.pending = Pending::Nothing; // a late answer makes the retransmission unnecessary
        self.timed_out = false;
        self.finish_without_fin();
    }

    /// Stops the timer and takes an RTT sample, if it is known which SYN was answered.
    fn syn_acknowledged(&mut self, now: Time) {
        self.timer = Time::MAX;
        if self.timing {
            self.take_sample(now);
        }
    }

    /// Handles expired timers. Does nothing before [`Sender::deadline`].
    pub fn on_timer(&mut self, now: Time) {
        self.check_application_limit();
        if now >= self.timer && self.is_timeout(now) {
            let paused = std::mem::replace(&mut self.ecn.paused, false);
            if paused && self.una == self.max {
                self.timer = Time::MAX; // the pause is over; nothing is missing
            } else {
                self.on_timeout(now);
            }
        }
        if let Some(throttle) = &mut self.throttle {
            throttle.wake(now);
        }
        if now >= self.poll_at {
            self.poll_at = Time::MAX;
            self.control.on_poll(&mut self.window, self.recovery.is_active());
        }
        self.review();
    }

    #[cold]
    fn on_timeout(&mut self, now: Time) {
        self.stats.timeouts += 1;
        self.timing = false; // Karn's algorithm (RFC 6298, 3)
        self.rto.back_off(&self.spec.rto);
        self.timer = now + self.rto.timeout(); // RFC 6298, 5.6
        if self.state == SenderState::SynSent {
            self.pending = Pending::Syn;
            if self.spec.handshake == Handshake::Real {
                self.timed_out = true;
                return;
            }
        }
        // RFC 5681, 3.1: the threshold is kept if the timer expires again for the same segment.
        if !self.timed_out || self.spec.repeated_timeout_lowers_ssthresh {
            let before = self.window.ssthresh;
            let reduces = self.loss_reduces(self.sent_bytes());
            // An ECN echo may already have lowered the threshold for this window (RFC 3168, 6.1.2).
            if self.recovery.is_active() || !self.ecn.reduced {
                self.control.on_timeout(&mut self.window, reduces);
            }
            if self.recovery.is_active() {
                // The losses are those that started this recovery and have already lowered the threshold. FlightSize has grown
                // since by everything that the receiver holds beyond the hole; RFC 5681's equation 4 is an upper bound ("no
                // more than").
                self.window.ssthresh = self.window.ssthresh.min(before);
            }
            if self.spec.loss_reduces == LossReduces::Window {
                self.window.ssthresh -= self.window.ssthresh % self.window.mss;
            }
            self.timed_out = true;
        }
        self.window.cwnd = self.window.mss; // the loss window
        self.window.slow_start_limit = self.spec.counted_bytes().after_timeout; // until fast recovery or idleness
        self.recovery.on_timeout(self.max);
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.forget();
        }
        self.ecn.note_reduction(self.max);
        self.repair = self.rack.is_some();
        match &mut self.rack {
            Some(rack) => {
                rack.on_timeout(self.rto.srtt().unwrap_or(Time::ZERO), now);
                (rack.alarm, rack.timeout_at) = (Alarm::Retransmission, self.timer);
            }
            None => self.nxt = self.una, // everything outstanding is retransmitted, as the window allows
        }
        self.update_model(0, now);
    }
}
