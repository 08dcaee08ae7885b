//! Handling of arriving packets and of the timer by a sender.

use wifair_core::{Packet, TcpFlags, Time};

use super::tcb::Pending;
use super::{Sender, SenderState};
use crate::spec::Handshake;
use crate::{ecn, seq};

impl Sender {
    /// Handles a packet from the receiver.
    #[inline(always)] // into its two callers
    pub fn on_segment(&mut self, packet: &Packet, now: Time) {
        let acked = packet.ack.wrapping_sub(self.tcb.una);
        if self.tcb.ordinary
            && packet.flags == TcpFlags::ACK
            && acked.wrapping_sub(1) < self.tcb.sent_bytes() - 1
            && packet.window_bytes == self.tcb.peer_window
        {
            self.tcb.on_ordinary_ack(acked, now);
        } else {
            self.on_any_segment(packet, now);
        }
    }

    #[inline(never)]
    fn on_any_segment(&mut self, packet: &Packet, now: Time) {
        if packet.flags.intersects(TcpFlags::SYN | TcpFlags::FIN) && self.tcb.state != SenderState::Idle {
            self.on_control(packet, now);
        } else if packet.flags.contains(TcpFlags::ACK) {
            match self.tcb.state {
                SenderState::Idle => {}
                SenderState::SynSent => self.on_opening_ack(packet, now),
                _ => self.on_ack(packet, now),
            }
        }
        self.review();
    }

    fn on_ack(&mut self, packet: &Packet, now: Time) {
        let tcb = &mut self.tcb;
        if seq::before(packet.ack, tcb.una) || seq::after(packet.ack, tcb.max) {
            return; // old, or of data never sent (RFC 9293, 3.10.7.4)
        }
        let echo = tcb.ecn.on && packet.flags.contains(TcpFlags::ECE);
        if echo {
            tcb.on_congestion_echo(self.loss_recovery.total_delivered());
        }
        self.loss_recovery.on_ack(tcb, packet, !echo, now);
        if packet.window_bytes != tcb.peer_window {
            tcb.set_peer_window(packet.window_bytes);
        }
        if echo && tcb.ecn.paused {
            tcb.timer = now + tcb.rto.timeout();
        }
    }

    /// Handles SYN-ACK and FIN.
    #[cold]
    fn on_control(&mut self, packet: &Packet, now: Time) {
        if packet.flags.contains(TcpFlags::SYN | TcpFlags::ACK) {
            if self.tcb.state == SenderState::SynSent {
                self.on_syn_ack(packet, now);
            } else {
                self.tcb.pending = Pending::Ack; // ours was lost (RFC 9293, 3.10.7.4)
            }
            return;
        }
        let synchronised = !matches!(self.tcb.state, SenderState::SynSent | SenderState::Idle);
        if !packet.flags.contains(TcpFlags::FIN | TcpFlags::ACK) || !synchronised {
            return;
        }
        if seq::after(packet.ack, self.tcb.una) && !seq::after(packet.ack, self.tcb.max) {
            self.loss_recovery.on_ack(&mut self.tcb, packet, true, now);
        }
        if packet.seq == self.tcb.rcv_nxt {
            self.tcb.rcv_nxt = self.tcb.rcv_nxt.wrapping_add(1);
            self.tcb.peer_closed = true;
            if self.tcb.state == SenderState::FinWait2 {
                self.tcb.state = SenderState::TimeWait;
            }
        }
        self.tcb.pending = Pending::Ack; // the FIN's, or again for a repeated one
    }

    fn on_syn_ack(&mut self, packet: &Packet, now: Time) {
        let first = self.tcb.spec.initial_sequence.wrapping_add(1);
        if self.tcb.spec.handshake != Handshake::Real || packet.ack != first || self.tcb.max != first {
            return; // acknowledges something else, or a SYN not yet sent
        }
        self.tcb.una = first;
        self.tcb.rcv_nxt = packet.seq.wrapping_add(1);
        self.tcb.set_peer_window(packet.window_bytes);
        self.tcb.ecn.on = self.tcb.spec.ecn && ecn::is_setup_syn_ack(packet.flags);
        if self.tcb.spec.sack.is_some() && packet.sack.is_permitted() {
            self.use_sack();
        }
        self.tcb.state = SenderState::Established;
        self.tcb.pending = Pending::Ack;
        if let Some(rtt) = self.tcb.syn_acknowledged(now) {
            self.loss_recovery.on_sample(rtt, now);
        }
        if std::mem::replace(&mut self.tcb.timed_out, false) {
            self.tcb.window.cwnd = self.tcb.window.mss; // RFC 5681, 3.1: a SYN was lost
            self.tcb.rto.restart_after_lost_syn(&self.tcb.spec.rto);
        }
    }

    /// Handles the answer to the segment that opens a connection in ns-2. Effects of its loss on window and timeout remain.
    #[cold]
    fn on_opening_ack(&mut self, packet: &Packet, now: Time) {
        let first = self.tcb.spec.initial_sequence.wrapping_add(1);
        if self.tcb.spec.handshake != Handshake::Ns2 || packet.ack != first || self.tcb.max != first {
            return;
        }
        self.establish_as_configured(packet.window_bytes);
        if let Some(rtt) = self.tcb.syn_acknowledged(now) {
            self.loss_recovery.on_sample(rtt, now);
        }
        self.tcb.pending = Pending::Nothing; // a late answer makes the retransmission unnecessary
        self.tcb.timed_out = false;
        self.tcb.finish_without_fin();
    }

    /// Handles expired timers. Does nothing before [`Sender::deadline`].
    pub fn on_timer(&mut self, now: Time) {
        self.loss_recovery.check_application_limit(&self.tcb);
        if now >= self.tcb.timer && self.loss_recovery.is_timeout(&mut self.tcb, now) {
            let paused = std::mem::replace(&mut self.tcb.ecn.paused, false);
            if paused && self.tcb.una == self.tcb.max {
                self.tcb.timer = Time::MAX; // the pause is over; nothing is missing
            } else if self.tcb.on_timeout(now) {
                self.loss_recovery.on_timeout(&mut self.tcb, now);
            }
        }
        if let Some(shaper) = &mut self.tcb.shaper {
            shaper.wake(now);
        }
        if now >= self.poll_at {
            self.poll_at = Time::MAX;
            self.tcb.control.on_poll(&mut self.tcb.window, self.tcb.recovery.is_active());
        }
        self.review();
    }
}
