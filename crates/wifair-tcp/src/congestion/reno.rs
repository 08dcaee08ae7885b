//! `reno`: RFC 5681, "TCP Congestion Control" (September 2009).
//!
//! The idea: double the window every round trip until the slow start threshold, then add one segment per round trip;
//! three duplicate ACKs halve it without emptying the pipe (fast retransmit, fast recovery); a timeout starts over from
//! one segment.
//!
//! Interpretations:
//! - Growth counts at most one segment per ACK (3.1, equation 2), in congestion avoidance too, unless `tcp.byte_counting`
//!   says otherwise. In congestion avoidance the window grows by a whole segment when the count reaches it, which is what
//!   equation 3 adds up to, without its division, and what RFC 3465, 2.1 has.
//! - Fast recovery ends with the first ACK of new data, whatever it covers (3.2, step 6).
//! - After a timeout the receiver's answers to segments that it already had look like duplicate ACKs. RFC 5681 does
//!   not say what to do; `guard_after_timeout` does what RFC 6582, 3.2 step 4 says, as ns-2's `bugFix_` does.
//!
//! Deviations: none known. Growth stops at the receiver's window, beyond which cwnd has no effect
//! (`cwnd_beyond_receiver_window`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::Info;

use super::{Ack, CongestionControl, Counting, Window};
use crate::recovery_rule::RecoveryRule;

/// Description in the registry.
pub const INFO: Info = Info {
    name: "reno",
    source: "RFC 5681",
    idea: "Slow start, congestion avoidance, fast retransmit and fast recovery;\n\
           recovery ends with the first new ACK, so several losses in a window often end in a timeout.",
};

/// Parameters of [`Reno`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Whether no fast retransmit follows a timeout until what was sent before it is acknowledged (RFC 6582, 3.2 step 4).
    pub guard_after_timeout: bool,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { guard_after_timeout: true }
    }
}

impl Spec {
    /// Creates a control with these parameters.
    pub fn build(&self) -> Reno {
        Reno { guard_after_timeout: self.guard_after_timeout }
    }
}

/// The window policy of RFC 5681.
#[derive(Clone, Debug)]
pub struct Reno {
    guard_after_timeout: bool,
}

impl CongestionControl for Reno {
    fn recovery(&self) -> RecoveryRule {
        RecoveryRule::Reno { guard_after_timeout: self.guard_after_timeout }
    }

    fn on_ack(&mut self, window: &mut Window, ack: Ack) {
        grow(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, flight_bytes: u32) {
        halve(window, flight_bytes);
    }
}

/// Slow start and congestion avoidance (RFC 5681, 3.1).
pub(super) fn grow(window: &mut Window, ack: Ack) {
    let rest = slow_start(window, ack.bytes);
    if rest == 0 {
        return;
    }
    window.credit += rest.min(window.avoidance_limit());
    if window.credit >= window.cwnd {
        window.credit -= window.cwnd;
        window.cwnd += window.mss;
        while window.counting == Counting::Segments && window.credit >= window.cwnd {
            window.credit -= window.cwnd;
            window.cwnd += window.mss;
        }
    }
}

/// Slow start (RFC 5681, 3.1). Returns the rest, which counts in congestion avoidance.
pub(super) fn slow_start(window: &mut Window, acked_bytes: u32) -> u32 {
    if window.cwnd >= window.ssthresh {
        return acked_bytes;
    }
    // At most what is acknowledged: a receiver that splits ACKs gains nothing (equation 2).
    let counted = acked_bytes.min(window.slow_start_limit);
    if window.counting != Counting::Segments {
        window.cwnd += counted;
        return 0;
    }
    let segments_to_threshold = (window.ssthresh - window.cwnd).div_ceil(window.mss);
    let added = counted.min(segments_to_threshold.saturating_mul(window.mss));
    window.cwnd += added;
    counted - added
}

/// The threshold after a loss (RFC 5681, 3.1, equation 4).
pub(super) fn halve(window: &mut Window, flight_bytes: u32) {
    window.ssthresh = (flight_bytes / 2).max(2 * window.mss);
    window.credit = 0;
}
