use crate::congestion::{Control, Window};
use crate::recovery_rule::{ExitWindow, PartialAckTimer, RecoveryRule};
use crate::seq;

/// Duplicate ACKs that start a fast retransmit (RFC 5681, 3.2).
const DUPLICATE_THRESHOLD: u16 = 3;

/// Actions required after an ACK of new data.
pub(crate) struct AckActions {
    /// The ACK arrived outside of fast recovery: the window may grow.
    pub(crate) grow: bool,
    /// The ACK ended fast recovery.
    pub(crate) ended: bool,
    /// Retransmit the first unacknowledged segment now.
    pub(crate) retransmit: bool,
    /// Restart the retransmission timer (RFC 6298, 5.3).
    pub(crate) restart_timer: bool,
}

/// Fast retransmit and fast recovery: counts duplicate ACKs, determines when recovery starts and ends, inflates and deflates
/// the window. The congestion control determines the window reduction.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    rule: RecoveryRule,
    active: bool,
    partial_seen: bool,
    duplicates: u16,
    /// Duplicate ACKs of this number or an earlier one start no recovery; a NewReno recovery ends when everything before it is
    /// acknowledged. RFC 6582's `recover` plus one: the first byte that had not been sent.
    recover: u32,
    /// Bytes sent by limited transmit, which FlightSize must not count (RFC 5681, 3.2 step 2).
    limited_bytes: u32,
}

impl Recovery {
    /// `recover` starts before the first data byte.
    pub(crate) fn new(rule: RecoveryRule, initial_sequence: u32) -> Recovery {
        Recovery {
            rule,
            active: false,
            partial_seen: false,
            duplicates: 0,
            recover: initial_sequence,
            limited_bytes: 0,
        }
    }

    /// Switches to RFC 6675 after both ends have agreed on SACK.
    pub(crate) fn use_sack(&mut self) {
        self.rule = RecoveryRule::Selective;
    }

    /// True during fast recovery by RFC 6675.
    pub(crate) fn is_selective(&self) -> bool {
        self.active && self.rule == RecoveryRule::Selective
    }

    /// End of the data outstanding at the last timeout or at the start of the last recovery.
    pub(crate) fn point(&self) -> u32 {
        self.recover
    }

    /// True during fast recovery.
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// True outside of fast recovery, with no duplicate ACKs since the last new one.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.active && self.duplicates == 0 && self.limited_bytes == 0
    }

    /// Bytes by which limited transmit may exceed the window: one segment for each of the first two duplicate ACKs (RFC 3042,
    /// section 2).
    pub(crate) fn limited_transmit_bytes(&self, mss: u32) -> u32 {
        if self.active { 0 } else { u32::from(self.duplicates.min(2)) * mss }
    }

    /// Bytes sent by limited transmit, which FlightSize must not count.
    pub(crate) fn bytes_beyond_window(&self) -> u32 {
        self.limited_bytes
    }

    /// Counts `bytes` sent by limited transmit.
    pub(crate) fn sent_beyond_window(&mut self, bytes: u32) {
        self.limited_bytes += bytes;
    }

    /// Handles a duplicate ACK of `una`, with data sent up to `max`. A loss reduces `reduces` bytes. If the window has been
    /// `reduced` since the segment at `una` was sent, it is not reduced again. Returns whether that segment is to be
    /// retransmitted.
    pub(crate) fn on_duplicate(
        &mut self,
        una: u32,
        max: u32,
        reduces: u32,
        reduced: bool,
        window: &mut Window,
        control: &mut Control,
    ) -> bool {
        self.duplicates = self.duplicates.saturating_add(1);
        if self.active {
            window.cwnd = window.cwnd.saturating_add(window.mss); // RFC 5681, 3.2 step 4
            return false;
        }
        if self.duplicates != DUPLICATE_THRESHOLD || !seq::after(una, self.recover) {
            return false;
        }
        // RFC 5681, 3.2 steps 2 and 3; RFC 6582, 3.2 step 2.
        if !reduced {
            control.on_loss(window, reduces);
        }
        window.cwnd = window.ssthresh + u32::from(DUPLICATE_THRESHOLD) * window.mss;
        self.active = true;
        self.partial_seen = false;
        if matches!(self.rule, RecoveryRule::NewReno { .. }) {
            self.recover = max;
        }
        true
    }

    /// Handles an ACK up to `una` that SACKs new data (RFC 6675, section 5). `first_lost`: whether IsLost() is true for the
    /// first segment. Returns whether that segment is to be retransmitted.
    #[expect(clippy::too_many_arguments)]
    pub(crate) fn on_selective_news(
        &mut self,
        una: u32,
        max: u32,
        reduces: u32,
        first_lost: bool,
        reduced: bool,
        window: &mut Window,
        control: &mut Control,
    ) -> bool {
        self.duplicates = self.duplicates.saturating_add(1);
        let lost = self.duplicates >= DUPLICATE_THRESHOLD || first_lost;
        if self.active || !lost || seq::before(una, self.recover) {
            return false;
        }
        self.on_loss(max, reduces, reduced, window, control);
        true
    }

    /// Starts recovery after a loss that RFC 6675 or RACK has found, with data sent up to `max`.
    pub(crate) fn on_loss(
        &mut self,
        max: u32,
        reduces: u32,
        reduced: bool,
        window: &mut Window,
        control: &mut Control,
    ) {
        if reduced {
            window.cwnd = window.cwnd.min(window.ssthresh);
        } else {
            control.on_loss(window, reduces);
            window.cwnd = window.ssthresh;
        }
        self.active = true;
        self.recover = max;
    }

    /// Handles an ACK up to `ack` of `acked` bytes, which leaves `flight` outstanding.
    pub(crate) fn on_new_ack(
        &mut self,
        ack: u32,
        acked: u32,
        flight: u32,
        window: &mut Window,
    ) -> AckActions {
        if self.active {
            return self.on_new_ack_in_recovery(ack, acked, flight, window);
        }
        self.forget_duplicates(ack);
        AckActions { grow: true, ended: false, retransmit: false, restart_timer: true }
    }

    #[cold]
    fn on_new_ack_in_recovery(
        &mut self,
        ack: u32,
        acked: u32,
        flight: u32,
        window: &mut Window,
    ) -> AckActions {
        match self.rule {
            RecoveryRule::NewReno { timer, .. } if seq::before(ack, self.recover) => {
                // Partial ACK (RFC 6582, 3.2 step 3): deflate by the bytes that have left the network, less the segment that
                // replaces them.
                let returned = if acked >= window.mss { window.mss } else { 0 };
                window.cwnd = (window.cwnd.saturating_sub(acked) + returned).max(window.mss);
                let first = !std::mem::replace(&mut self.partial_seen, true);
                let restart_timer = first || timer == PartialAckTimer::EveryPartialAck;
                return AckActions { grow: false, ended: false, retransmit: true, restart_timer };
            }
            RecoveryRule::Selective if seq::before(ack, self.recover) => {
                return AckActions { grow: false, ended: false, retransmit: false, restart_timer: true };
            }
            RecoveryRule::NewReno { exit_window: ExitWindow::Flight, .. } => {
                window.cwnd = window.ssthresh.min(flight.max(window.mss) + window.mss);
            }
            RecoveryRule::NewReno { exit_window: ExitWindow::Ssthresh, .. }
            | RecoveryRule::Reno { .. }
            | RecoveryRule::Selective => {
                window.cwnd = window.ssthresh; // RFC 5681, 3.2 step 6
            }
        }
        self.active = false;
        self.forget_duplicates(ack);
        AckActions { grow: false, ended: true, retransmit: false, restart_timer: true }
    }

    fn forget_duplicates(&mut self, ack: u32) {
        self.duplicates = 0;
        self.limited_bytes = 0;
        self.pull_along(ack);
    }

    /// Advances `recover` after `ack` has acknowledged new data outside of fast recovery.
    pub(crate) fn pull_along(&mut self, ack: u32) {
        if seq::after(ack, self.recover) {
            self.recover = ack.wrapping_sub(1); // otherwise it would be ahead again after 2³¹ bytes
        }
    }

    /// Handles a retransmission timeout with data sent up to `max` (RFC 6582, 3.2 step 4).
    pub(crate) fn on_timeout(&mut self, max: u32) {
        self.active = false;
        self.duplicates = 0;
        self.limited_bytes = 0;
        if !matches!(self.rule, RecoveryRule::Reno { guard_after_timeout: false }) {
            self.recover = max;
        }
    }
}
