//! `newreno`: RFC 6582, "The NewReno Modification to TCP's Fast Recovery Algorithm" (April 2012), over RFC 5681.
//!
//! The idea: an ACK during fast recovery that covers not all that was outstanding at its start (a partial ACK) means a
//! further loss: send that segment at once and stay in recovery. So a window with several losses needs one halving and
//! no timeout, at one loss per round trip.
//!
//! Interpretations:
//! - `recover` starts before the first data byte, as in BSD; by the letter (3.2 step 1, the initial sequence number) the
//!   loss of the very first data segment could not be repaired by fast retransmit.
//! - Duplicate ACKs start no recovery unless they acknowledge more than `recover` (step 2): the "careful" variant, as
//!   RFC 6582 has it. The heuristics of its section 4 (ACKs, timestamps) are not used.
//! - A timeout during recovery does not raise ssthresh. In a long recovery FlightSize grows by a window each round trip,
//!   because the receiver holds what it cannot acknowledge; half of it would send the next slow start far beyond what
//!   the path carried. RFC 5681's equation 4 is an upper bound.
//! - Step 3 offers two windows after a full ACK (`exit_window`) and section 3.2 two ways of the timer (`timer`).
//!
//! Deviations: none known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::Info;

use super::{Ack, CongestionControl, Window, reno};
use crate::recovery_rule::{ExitWindow, PartialAckTimer, RecoveryRule};

/// Description in the registry.
pub const INFO: Info = Info {
    name: "newreno",
    source: "RFC 6582",
    idea: "Reno that stays in fast recovery until all that was outstanding at its start is acknowledged\n\
           and repairs one further loss with each partial ACK.",
};

/// Parameters of [`NewReno`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// When a partial ACK restarts the retransmission timer (RFC 6582, 3.2 step 3 and section 4 of RFC 3782).
    pub timer: PartialAckTimer,
    /// The window after a full ACK (RFC 6582, 3.2 step 3).
    pub exit_window: ExitWindow,
}

impl Spec {
    /// Creates a control with these parameters.
    pub fn build(&self) -> NewReno {
        NewReno { timer: self.timer, exit_window: self.exit_window }
    }
}

/// The window policy of RFC 5681 on the recovery of RFC 6582.
#[derive(Clone, Debug)]
pub struct NewReno {
    timer: PartialAckTimer,
    exit_window: ExitWindow,
}

impl CongestionControl for NewReno {
    fn recovery(&self) -> RecoveryRule {
        RecoveryRule::NewReno { timer: self.timer, exit_window: self.exit_window }
    }

    fn on_ack(&mut self, window: &mut Window, ack: Ack) {
        reno::grow(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, flight_bytes: u32) {
        reno::halve(window, flight_bytes);
    }
}
