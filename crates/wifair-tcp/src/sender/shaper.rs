//! Traffic shaping by a sender: its pacing rate, whether it uses its window, and the next packet once `shaper.rs` of the crate
//! allows one.

use wifair_core::{Packet, Time};

use super::loss_recovery::LossRecovery;
use super::tcb::Tcb;
use super::{LimitedBy, Sender};
use crate::congestion::Window;
use crate::seq;
use crate::small_queue::{Moment, SendDecision};

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

    /// Whether the window may grow: it is used, or nothing but the window limits the sender.
    pub(super) fn uses_window(&self) -> bool {
        let Window { cwnd, ssthresh, .. } = self.window;
        let queue = self.shaper.as_ref().and_then(|shaper| shaper.queue.as_ref());
        queue.is_none_or(|queue| queue.uses(cwnd, cwnd < ssthresh))
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
        queue.map_or(0, |queue| queue.queued_bytes())
    }

    /// So many packets of this connection, with `ip_bytes` bytes, have left the host's queue: transmitted or dropped. To be
    /// called if `tcp.small_queue` is set. Returns whether the sender is to be polled.
    pub fn on_freed(&mut self, packets: u32, ip_bytes: u32) -> bool {
        let queue = self.tcb.shaper.as_mut().and_then(|shaper| shaper.queue.as_mut());
        queue.is_some_and(|queue| queue.freed(packets, ip_bytes))
    }

    /// What TCP small queues say to what would be sent next, if they are on.
    fn ask_queue(&mut self, now: Time) -> Option<SendDecision> {
        self.tcb.shaper.as_ref()?.queue.as_ref()?;
        if self.tcb.una == self.tcb.max && self.tcb.unsent > 0 {
            self.tcb.restart_after_idleness(now);
        }
        let next = self.loss_recovery.next(&self.tcb);
        let (tcb, srtt) = (&self.tcb, self.tcb.rto.srtt());
        let shaper = tcb.shaper.as_ref()?;
        let moment = Moment {
            now,
            next,
            rate: self.pacing_rate(),
            paces: shaper.paces(),
            least_segments: shaper.pacing.burst_segments,
            mss: tcb.window.mss,
            header_bytes: u32::from(tcb.packet.header_bytes),
            cwnd: tcb.window.allowance(),
            peer_window: tcb.peer_window,
            una: tcb.una,
            max: tcb.max,
            unsent: tcb.unsent,
            is_repairing: tcb.is_repairing(),
            last_sent: tcb.last_sent_at,
            least_rtt: self.loss_recovery.least_rtt(),
            due: self.loss_recovery.first_sent().zip(srtt).map(|(sent, srtt)| (sent + srtt, srtt)),
        };
        self.tcb.shaper.as_mut()?.queue.as_mut().map(|queue| queue.decide(&moment))
    }

    /// Like [`LossRecovery::next_packet`], once pacing and the host's queue allow it.
    #[inline(never)]
    pub(super) fn poll_shaped(&mut self, now: Time) -> Option<Packet> {
        match self.next_shaped(now) {
            Ok(packet) => Some(packet),
            Err(is_used) => {
                let (una, max) = (self.tcb.una, self.tcb.max);
                let shaper = self.tcb.shaper.as_mut()?;
                if is_used {
                    shaper.used_up = Some(max);
                }
                if let Some(queue) = &mut shaper.queue {
                    queue.judge(is_used, una, max);
                }
                None
            }
        }
    }

    /// The next packet; an error if none may be sent now: whether the window is used up.
    fn next_shaped(&mut self, now: Time) -> Result<Packet, bool> {
        let pacer = self.tcb.shaper.as_mut().and_then(|shaper| shaper.pacer.as_mut());
        if !pacer.is_none_or(|pacer| pacer.allows(now)) {
            return Err(false);
        }
        let decision = self.ask_queue(now);
        if decision == Some(SendDecision::Full) {
            return Err(false);
        }
        if let LossRecovery::Rack(rack) = &mut self.loss_recovery {
            rack.check_restart_from_idle(&mut self.tcb, now);
        }
        let (max, waits) = (self.tcb.max, decision == Some(SendDecision::Wait));
        let packet = if waits { None } else { self.loss_recovery.next_packet(&mut self.tcb, now) };
        let Some(packet) = packet else {
            if let Some(queue) = self.tcb.shaper.as_mut().and_then(|shaper| shaper.queue.as_mut()) {
                queue.rest();
            }
            let is_limited = self.tcb.unsent > 0 && self.limited_by() == LimitedBy::CongestionWindow;
            return Err(waits || is_limited);
        };
        let (rate, mss) = (self.tcb.pacing_rate(), self.tcb.window.mss);
        let Some(shaper) = &mut self.tcb.shaper else { return Ok(packet) };
        let burst = match decision {
            Some(SendDecision::Send(bytes)) => Some(bytes),
            _ => None,
        };
        if let (Some(queue), Some(bytes)) = (&mut shaper.queue, burst)
            && packet.seq == max
        {
            queue.sent_new(packet.seq, packet.payload_bytes, bytes);
        }
        if let Some(pacer) = &mut shaper.pacer {
            pacer.sent(packet.payload_bytes, burst, mss, rate, now);
        }
        Ok(packet)
    }
}
