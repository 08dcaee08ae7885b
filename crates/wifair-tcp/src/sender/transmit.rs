//! The choice of what a sender sends next: SYN or a bare ACK, then what its loss recovery chooses, data or a FIN.

use wifair_core::{Packet, Time};

use super::loss_recovery::LossRecovery;
use super::tcb::Pending;
use super::{Sender, SenderState};

impl Sender {
    /// Returns the next packet to send, if there is one now.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<&Packet> {
        let payload = self.tcb.window.mss;
        if !self.tcb.ordinary || self.tcb.unsent <= u64::from(payload) {
            return self.poll_generally(now);
        }
        if self.tcb.sent_bytes() + payload > self.tcb.window.cwnd.min(self.tcb.peer_window) {
            return None;
        }
        Some(self.tcb.send_full_segment(now))
    }

    #[inline(never)]
    fn poll_generally(&mut self, now: Time) -> Option<&Packet> {
        let payload = self.tcb.window.mss;
        if self.tcb.ordinary_by_rack && self.tcb.unsent > u64::from(payload) {
            if self.tcb.sent_bytes() + payload > self.tcb.window.cwnd.min(self.tcb.peer_window) {
                return None;
            }
            self.tcb.send_full_segment(now);
            if let LossRecovery::Rack(rack) = &mut self.loss_recovery {
                rack.record(&mut self.tcb, false, false, now);
            }
            return Some(&self.tcb.packet);
        }
        let packet = self.poll_all(now);
        self.review();
        self.tcb.packet = packet?;
        if let Some(shaper) = &mut self.tcb.shaper {
            shaper.count(&self.tcb.packet);
        }
        Some(&self.tcb.packet)
    }

    /// Returns the next packet of any kind.
    fn poll_all(&mut self, now: Time) -> Option<Packet> {
        if self.tcb.pending != Pending::Nothing {
            return Some(self.tcb.transmit_pending(now));
        }
        if !matches!(self.tcb.state, SenderState::Established | SenderState::FinWait1) {
            return None;
        }
        if self.tcb.shaper.is_some() {
            self.poll_shaped(now)
        } else {
            self.loss_recovery.next_packet(&mut self.tcb, now)
        }
    }
}
