//! `ping`: ICMP echoes at an interval. No draws.
//!
//! The end at which the flow's data begins sends the requests: the station where `direction` is up, a host behind the access
//! point where it is down. The other end answers at once. Under load, the round-trip times are what is known as bufferbloat.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use super::udp::{check_dscp, check_payload};
use super::{Arrivals, Datagrams, Law, Source, Transport};
use crate::check::check_range;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "ping",
    source: "RFC 792, echo and echo reply",
    idea: "A small packet goes there and back: the round-trip time that others' traffic leaves to it, and its loss.",
};

/// Parameters of the echoes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Interval between requests, in milliseconds. Tests of bufferbloat (flent) use 200, the tool `ping`
    /// 1,000.
    pub interval_ms: f64,
    /// ICMP payload of each request, in bytes, as with `ping -s`.
    pub payload_bytes: u32,
    /// Differentiated services code point (RFC 2474), 0 to 63.
    pub dscp: u8,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { interval_ms: 200.0, payload_bytes: 56, dscp: 0 }
    }
}

impl Spec {
    /// Checks what the types cannot.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check_payload(&format!("{path}.payload_bytes"), self.payload_bytes)?;
        check_dscp(path, self.dscp)?;
        check_range(&format!("{path}.interval_ms"), self.interval_ms, 0.1, 1e6, "ms")
    }

    /// Requests in the direction of the flow.
    pub fn build(&self) -> Datagrams {
        Datagrams {
            forward: Source {
                arrivals: Arrivals::every_ms(self.interval_ms),
                payload_bytes: Law::constant(f64::from(self.payload_bytes)),
            },
            back: None,
            echoed: true,
            dscp: self.dscp,
            codec: None,
        }
    }

    /// What carries it.
    pub fn transport(&self) -> Transport {
        Transport::Icmp
    }

    /// Whether it comes to an end by itself.
    pub fn ends(&self) -> bool {
        false
    }
}
