//! UDP at a constant rate, one way. No draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use super::datagrams::MOST_PAYLOAD_BYTES;
use super::{Datagrams, Law, Source, Transport};
use crate::check::check_range;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "udp",
    source: "RFC 768; as `iperf -u` sends: one size, one interval",
    idea: "Datagrams of one size at a constant rate, whatever becomes of them: nobody acknowledges, nothing slows down.",
};

/// Parameters of UDP at a constant rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Sending rate of payload, in Mbit/s.
    pub rate_mbps: f64,
    /// UDP payload of each datagram, in bytes; 1472 fill an Ethernet MTU.
    pub payload_bytes: u32,
    /// Differentiated services code point (RFC 2474), 0 to 63.
    pub dscp: u8,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { rate_mbps: 1.0, payload_bytes: 1472, dscp: 0 }
    }
}

impl Spec {
    /// Checks what the types cannot.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check_payload(&format!("{path}.payload_bytes"), self.payload_bytes)?;
        check_dscp(path, self.dscp)?;
        check_range(&format!("{path}.rate_mbps"), self.rate_mbps, 1e-6, 1e4, "Mbps")?;
        // A packet spacing below a microsecond is out of range for this cell.
        check_range(
            &format!("{path}.rate_mbps"),
            self.rate_mbps,
            0.0,
            f64::from(self.payload_bytes) * 8.0,
            "Mbps",
        )
    }

    /// Datagrams in the direction of the flow.
    pub fn build(&self) -> Datagrams {
        let bytes = f64::from(self.payload_bytes);
        Datagrams {
            forward: Source {
                first_within: Time::ZERO,
                interval_ms: Law::constant(bytes * 8e-3 / self.rate_mbps),
                payload_bytes: Law::constant(bytes),
            },
            back: None,
            echoed: false,
            dscp: self.dscp,
            codec: None,
        }
    }

    /// What carries it.
    pub fn transport(&self) -> Transport {
        Transport::Udp
    }

    /// Whether it comes to an end by itself.
    pub fn ends(&self) -> bool {
        false
    }
}

pub(super) fn check_payload(key: &str, bytes: u32) -> Result<(), SpecError> {
    if (1..=MOST_PAYLOAD_BYTES).contains(&bytes) {
        return Ok(());
    }
    Err(SpecError::new(key, bytes, format!("1 to {MOST_PAYLOAD_BYTES} bytes")))
}

pub(super) fn check_dscp(path: &str, dscp: u8) -> Result<(), SpecError> {
    if dscp > 63 { Err(SpecError::new(format!("{path}.dscp"), dscp, "0 to 63")) } else { Ok(()) }
}
