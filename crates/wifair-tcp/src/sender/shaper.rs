//! Traffic shaping by a sender: its pacing rate, whether it uses its window, and the next packet once `shaper.rs` of the crate
//! allows one.

use wifair_core::{Packet, Time};

use super::loss_recovery::LossRecovery;
use super::tcb::Tcb;
use super::{LimitedBy, Sender};
use crate::seq;

impl Tcb {
    /// See [`Sender::pacing_rate`].
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        self.shaper.as_ref()?;
        self.current_pacing_rate()
    }

    /// The rate at which data is paced, or would be by default, in bytes per second; `None` before the first RTT sample.
    pub(super) fn current_pacing_rate(&self) -> Option<u64> {
        if let Some(rate) = self.control.pacing_rate() {
            return Some(rate);
        }
        let pacing = self.shaper.as_ref().map(|shaper| shaper.pacing).unwrap_or_default();
        Some(pacing.rate(&self.window, self.outstanding_bytes(), self.rto.srtt()?))
    }

    /// Whether the window was used up within the last round trip, which an ACK of `acked` bytes ends or continues.
    pub(super) fn is_window_used_up(&mut self, acked: u32) -> bool {
        let before = self.una.wrapping_sub(acked);
        let Some(shaper) = &mut self.shaper else { return true };
        shaper.used_up = shaper.used_up.filter(|used_up| seq::before(before, *used_up));
        shaper.used_up.is_some()
    }

    /// Whether the window may grow by an ACK of `acked` bytes, which have been taken off: it is used, or nothing but the window
    /// limits the sender.
    pub(super) fn uses_window(&mut self, acked: u32) -> bool {
        if self.shaper.as_ref().is_none_or(|shaper| shaper.queue.is_none()) {
            return true;
        }
        let used_up = self.is_window_used_up(acked);
        let in_slow_start = self.window.cwnd < self.window.ssthresh;
        let outstanding = self.outstanding_bytes().saturating_add(acked);
        used_up || in_slow_start && self.window.cwnd < outstanding.saturating_mul(2)
    }

    fn host_queue_is_full(&self) -> bool {
        let Some(queue) = self.shaper.as_ref().and_then(|shaper| shaper.queue.as_ref()) else {
            return false;
        };
        let full_bytes = self.window.mss + u32::from(self.packet.header_bytes);
        self.outstanding_bytes() > self.window.mss
            && self.pacing_rate().is_some_and(|rate| queue.is_full(rate, full_bytes))
    }
}

impl Sender {
    /// The rate at which data is paced, or would be, in bytes per second; `None` if neither pacing nor TCP small queues are on,
    /// or if no RTT is known.
    pub fn pacing_rate(&self) -> Option<u64> {
        self.tcb.pacing_rate()
    }

    /// IP bytes of this connection in its host's queue, as far as `tcp.small_queue` counts them.
    pub fn queued_bytes(&self) -> u64 {
        let queue = self.tcb.shaper.as_ref().and_then(|shaper| shaper.queue.as_ref());
        queue.map_or(0, |queue| queue.queued_bytes)
    }

    /// Packets of this connection with `ip_bytes` bytes have left the host's queue: transmitted or dropped. To be called if
    /// `tcp.small_queue` is set, once for each packet.
    pub fn on_freed(&mut self, ip_bytes: u32) {
        if let Some(queue) = self.tcb.shaper.as_mut().and_then(|shaper| shaper.queue.as_mut()) {
            queue.queued_bytes = queue.queued_bytes.saturating_sub(u64::from(ip_bytes));
        }
    }

    /// Like [`LossRecovery::next_packet`], once pacing and the host's queue allow it.
    #[inline(never)]
    pub(super) fn poll_shaped(&mut self, now: Time) -> Option<Packet> {
        if self.tcb.host_queue_is_full() {
            return None;
        }
        let shaper = self.tcb.shaper.as_mut()?;
        if !shaper.pacer.as_mut().is_none_or(|pacer| pacer.allows(now)) {
            return None;
        }
        if let LossRecovery::Rack(rack) = &mut self.loss_recovery {
            rack.check_restart_from_idle(&mut self.tcb, now);
        }
        let Some(packet) = self.loss_recovery.next_packet(&mut self.tcb, now) else {
            if self.tcb.unsent > 0 && self.limited_by() == LimitedBy::CongestionWindow {
                self.tcb.shaper.as_mut()?.used_up = Some(self.tcb.max);
            }
            return None;
        };
        let (rate, mss) = (self.tcb.pacing_rate(), self.tcb.window.mss);
        if let Some(pacer) = &mut self.tcb.shaper.as_mut()?.pacer {
            pacer.sent(packet.payload_bytes, mss, rate, now);
        }
        Some(packet)
    }
}
