//! How a sender finds out that a segment is lost, as a parameter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::SpecError;

/// How a sender finds out that a segment is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum LossDetectionSpec {
    /// By three duplicate ACKs (RFC 5681, 3.2) or, with `sack`, by what the receiver holds above (RFC 6675). The loss of a
    /// retransmission shows in a timeout.
    DuplicateAcks(DuplicateAcksSpec),
    /// RACK-TLP (RFC 8985): a segment is lost once one sent later has been delivered and a reordering window has passed, also if it
    /// is a retransmission; a probe at the end of the data takes the place of a timeout. Needs `sack`.
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
    /// Send a probe when no ACK has come for about two round trips (RFC 8985, section 7). Off: RACK alone.
    pub tail_loss_probe: bool,
    /// What a probe waits longer in milliseconds if one segment is outstanding, whose ACK may be delayed: TLP.max_ack_delay of RFC
    /// 8985, 7.2. Linux: 200.
    pub max_ack_delay_ms: u32,
    /// Send in fast recovery what proportional rate reduction (RFC 9937) allows, as RFC 8985, 9.3 recommends. Off: up to the reduced
    /// window at once, and the loss of a retransmission reduces it once more.
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
