use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rule of loss recovery, as selected by a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryRule {
    /// RFC 5681, 3.2.
    Reno {
        /// See [`crate::congestion::reno::Spec`].
        guard_after_timeout: bool,
    },
    /// RFC 6582.
    NewReno {
        /// See [`PartialAckTimer`].
        timer: PartialAckTimer,
        /// See [`ExitWindow`].
        exit_window: ExitWindow,
    },
    /// RFC 6675 or, with RACK, RFC 8985, if both ends have agreed on SACK.
    Selective,
}

/// Which partial ACKs restart the retransmission timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialAckTimer {
    /// Only the first of a recovery ("impatient"): many losses in a window end in a timeout, which is then the quicker
    /// repair. RFC 6582, 3.2 step 3 specifies this.
    #[default]
    FirstPartialAck,
    /// Each ("slow-but-steady"): one segment per round trip, however long that takes.
    EveryPartialAck,
}

/// The congestion window when recovery ends with a full ACK (RFC 6582, 3.2 step 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExitWindow {
    /// min(ssthresh, max(FlightSize, SMSS) + SMSS): no burst when little is outstanding.
    #[default]
    Flight,
    /// ssthresh, as ns-2 has it: may send a burst.
    Ssthresh,
}
