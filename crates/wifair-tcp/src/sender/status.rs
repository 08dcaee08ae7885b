//! The state of a sender, as it is reported.

use wifair_core::Time;

use super::loss_recovery::LossRecovery;
use super::{LimitedBy, Sender, SenderPhase, SenderState};
use crate::congestion::Window;
use crate::stats::SenderStats;

impl Sender {
    /// The sender's state.
    pub fn state(&self) -> SenderState {
        self.tcb.state
    }

    /// True from the end of the handshake until the sender's FIN is sent.
    pub fn is_established(&self) -> bool {
        self.tcb.state == SenderState::Established
    }

    /// True once both directions are closed (TIME-WAIT) or, if no FIN is sent, once everything is acknowledged.
    pub fn is_closed(&self) -> bool {
        matches!(self.tcb.state, SenderState::TimeWait | SenderState::Closed)
    }

    /// True if every byte that was written is acknowledged (also if none was).
    pub fn is_all_acknowledged(&self) -> bool {
        self.tcb.is_all_acknowledged()
    }

    /// Bytes sent and not acknowledged (RFC 5681's FlightSize). Data outstanding at a timeout counts as lost until it is
    /// retransmitted; with RACK what is found to be lost.
    pub fn flight_bytes(&self) -> u32 {
        self.tcb.sent_bytes() - self.loss_recovery.lost_bytes()
    }

    /// Congestion window in bytes, inflated during fast recovery.
    pub fn cwnd_bytes(&self) -> u32 {
        self.tcb.window.cwnd
    }

    /// Slow start threshold in bytes; `u32::MAX` means "arbitrarily high".
    pub fn ssthresh_bytes(&self) -> u32 {
        self.tcb.window.ssthresh
    }

    /// The sender's phase.
    pub fn phase(&self) -> SenderPhase {
        let Window { cwnd, ssthresh, .. } = self.tcb.window;
        match self.tcb.state {
            SenderState::Idle | SenderState::TimeWait | SenderState::Closed => SenderPhase::Idle,
            _ if self.tcb.timed_out => SenderPhase::TimedOut,
            SenderState::SynSent => SenderPhase::SlowStart,
            _ if self.tcb.unsent == 0 && self.tcb.una == self.tcb.max => SenderPhase::Idle,
            _ if self.tcb.recovery.is_active() => SenderPhase::Recovery,
            _ if cwnd < ssthresh => SenderPhase::SlowStart,
            _ => SenderPhase::Avoidance,
        }
    }

    /// What limits the sender, once it has been polled.
    pub fn limited_by(&self) -> LimitedBy {
        if self.tcb.unsent == 0 && self.tcb.una.wrapping_add(self.flight_bytes()) == self.tcb.max {
            return LimitedBy::Application;
        }
        let full = self.flight_bytes() + self.tcb.window.mss > self.tcb.peer_window;
        if full && self.tcb.peer_window <= self.tcb.window.allowance() && !self.tcb.recovery.is_active() {
            return LimitedBy::ReceiverWindow;
        }
        LimitedBy::CongestionWindow
    }

    /// True during fast recovery.
    pub fn is_in_recovery(&self) -> bool {
        self.tcb.recovery.is_active()
    }

    /// Smoothed round-trip time (RFC 6298); `None` before the first sample.
    pub fn srtt(&self) -> Option<Time> {
        self.tcb.rto.srtt()
    }

    /// Current retransmission timeout, backoff included (RFC 6298).
    pub fn retransmission_timeout(&self) -> Time {
        self.tcb.rto.timeout()
    }

    /// The state of a congestion control that is a state machine.
    pub fn control_state(&self) -> Option<&'static str> {
        self.tcb.control.state()
    }

    /// Number of tail loss probes that this connection has sent (RFC 8985, 7.3).
    pub fn loss_probes(&self) -> u32 {
        match &self.loss_recovery {
            LossRecovery::Rack(rack) => rack.probes,
            _ => 0,
        }
    }

    /// Resets the maxima among the counters at the start of a measurement.
    pub fn forget_greatest(&mut self) {
        self.tcb.stats.srtt_max = Time::ZERO;
    }

    /// The counters.
    pub fn stats(&self) -> &SenderStats {
        &self.tcb.stats
    }
}
