//! How a sender finds out that a segment is lost, as a parameter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::SpecError;

/// How a sender detects that a segment is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum LossDetectionSpec {
    /// Three duplicate ACKs (RFC 5681, 3.2) or, with `sack`, what the receiver holds above it (RFC 6675). The loss of a
    /// retransmission shows in a timeout.
    DuplicateAcks(DuplicateAcksSpec),
    /// RACK-TLP (RFC 8985): a segment, also a retransmission, is lost once one that was sent later has been delivered and a
    /// reordering window has passed; a probe at the end of the data replaces a timeout. Needs `sack`.
    Rack(RackSpec),
}

/// `duplicate-acks` has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DuplicateAcksSpec {}

/// Parameters of RACK-TLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RackSpec {
    /// Whether a probe is sent when no ACK has arrived for about two round trips (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// Extra wait of a probe if one segment is outstanding, whose ACK may be delayed, in milliseconds (RFC 8985, 7.2,
    /// TLP.max_ack_delay; Linux: 200).
    pub max_ack_delay_ms: u32,
    /// Whether fast recovery sends what proportional rate reduction allows (RFC 9937), as RFC 8985, 9.3 recommends. Otherwise
    /// it sends up to the reduced window at once, and the loss of a retransmission reduces the window once more.
    pub proportional_rate_reduction: bool,
}

impl Default for LossDetectionSpec {
    fn default() -> LossDetectionSpec {
        LossDetectionSpec::DuplicateAcks(DuplicateAcksSpec {})
    }
}

impl Default for RackSpec {
    fn default() -> RackSpec {
        RackSpec { tail_loss_probe: true, max_ack_delay_ms: 200, proportional_rate_reduction: true }
    }
}

impl LossDetectionSpec {
    /// Checks every value. `path` is the key of this spec in the plan; `sack`: whether the connection has SACK.
    pub(crate) fn validate(&self, path: &str, sack: bool) -> Result<(), SpecError> {
        let LossDetectionSpec::Rack(rack) = self else { return Ok(()) };
        if !sack {
            return Err(SpecError::new(
                path,
                "rack",
                r#""duplicate-acks" without tcp.sack, which "rack" needs"#,
            ));
        }
        if rack.max_ack_delay_ms > 500 {
            let key = format!("{path}.max_ack_delay_ms");
            return Err(SpecError::new(key, rack.max_ack_delay_ms, "0 to 500 ms (RFC 1122, 4.2.3.2)"));
        }
        Ok(())
    }
}
