//! Selective packet marking (SPM): `spm-af-las`, Section 6.1, after its reference [27]. Packets whose loss would cause a
//! timeout, because too few segments are in flight for three duplicate ACKs, carry
//! [`DSCP_HIGH_PRIORITY`](wifair_core::DSCP_HIGH_PRIORITY), for a buffer that uses it.
//!
//! The paper: "the TCP source [...] sets the priority level for each output data packet based on the congestion window size",
//! high for "any packets sent when the congestion window is smaller than 4 packets". It says no more, hence the parameters of
//! [`PriorityMarkingSpec`]. A pure ACK, the last of the handshake included, is never marked: it is not a data packet, and the
//! paper's buffer has a separate rule for ACKs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::DSCP_HIGH_PRIORITY;

/// Which packets of a sender are marked as high priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PriorityMarkingSpec {
    /// Packets sent while the congestion window is smaller than this are marked, in segments. The paper has 4, the smallest
    /// window in which the loss of one segment leaves three to answer with duplicate ACKs.
    pub below_segments: u32,
    /// When SYN and FIN are marked. By the window, as the paper says of "any packets": in ns-2, which it uses, the SYN is a
    /// segment like others. Always: the loss of either ends in a timeout at any window.
    pub control: Marked,
    /// When retransmissions are marked. By the window, as the paper says of "any packets". Always: the loss of one ends in a
    /// timeout at any window.
    pub retransmissions: Marked,
    /// Which window counts during fast recovery.
    pub window_in_recovery: WindowInRecovery,
}

/// When a kind of packet is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Marked {
    /// While the window is small, like data.
    #[default]
    ByWindow,
    /// At any window.
    Always,
    /// Never.
    Never,
}

/// The congestion window during fast recovery, as the marking sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowInRecovery {
    /// Without the segments that have left the network: ssthresh. The variable is so in ns-2, which the paper uses, and
    /// with SACK (RFC 6675).
    #[default]
    Deflated,
    /// As RFC 5681, 3.2 has it, with them.
    Inflated,
}

impl Default for PriorityMarkingSpec {
    fn default() -> PriorityMarkingSpec {
        PriorityMarkingSpec {
            below_segments: 4,
            control: Marked::default(),
            retransmissions: Marked::default(),
            window_in_recovery: WindowInRecovery::default(),
        }
    }
}

/// Kind of a packet for the marking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    NewData,
    Retransmission,
    /// SYN, or FIN without data.
    Control,
}

impl PriorityMarkingSpec {
    /// The DS field of a packet that is sent with a window of `cwnd` bytes; `recovery` is `ssthresh` in fast recovery.
    pub(crate) fn ds_field(&self, kind: Kind, cwnd: u32, recovery: Option<u32>, mss: u32) -> u8 {
        let window = match (recovery, self.window_in_recovery) {
            (Some(ssthresh), WindowInRecovery::Deflated) => cwnd.min(ssthresh),
            _ => cwnd,
        };
        let marked = match kind {
            Kind::NewData => Marked::ByWindow,
            Kind::Retransmission => self.retransmissions,
            Kind::Control => self.control,
        };
        let high = match marked {
            Marked::ByWindow => window < self.below_segments * mss,
            Marked::Always => true,
            Marked::Never => false,
        };
        if high { DSCP_HIGH_PRIORITY << 2 } else { 0 }
    }
}
