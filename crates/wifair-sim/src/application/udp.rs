//! UDP one way: datagrams of one size at a constant rate, as a Poisson process, or at a constant rate in times on and off.
//!
//! Draws: none at a constant rate, one per datagram of a Poisson process. On and off: one before the first datagram, two per
//! datagram thereafter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use super::datagrams::MOST_PAYLOAD_BYTES;
use super::{Arrivals, Datagrams, Law, Source, Transport};
use crate::check::check_range;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "udp",
    source: "RFC 768; as `iperf -u` sends: one size, one interval",
    idea: "Datagrams of one size at a constant rate, at random times or on and off, whatever becomes of them: nobody\n\
           acknowledges, nothing slows down.",
};

/// When datagrams leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum ArrivalsSpec {
    /// At a constant interval.
    #[default]
    Constant,
    /// As a Poisson process: intervals are exponentially distributed, with the mean that `rate_mbps` gives.
    Poisson,
    /// At a constant interval in times on, not at all in times off. The times are exponentially distributed, as those of ns-2's
    /// `Application/Traffic/Exponential`. A time on begins with a datagram, so it has one at least.
    OnOff(OnOffSpec),
}

/// Parameters of times on and off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OnOffSpec {
    /// Mean time on, in milliseconds.
    pub on_ms: f64,
    /// Mean time off, in milliseconds.
    pub off_ms: f64,
}

impl Default for OnOffSpec {
    fn default() -> OnOffSpec {
        OnOffSpec { on_ms: 500.0, off_ms: 500.0 }
    }
}

/// Parameters of UDP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Sending rate of payload, in Mbit/s: the mean, or with `arrivals = "on-off"` that in times on.
    pub rate_mbps: f64,
    /// When datagrams leave.
    pub arrivals: ArrivalsSpec,
    /// UDP payload of each datagram, in bytes; 1472 fill an Ethernet MTU.
    pub payload_bytes: u32,
    /// Differentiated services code point (RFC 2474), 0 to 63.
    pub dscp: u8,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { rate_mbps: 1.0, arrivals: ArrivalsSpec::default(), payload_bytes: 1472, dscp: 0 }
    }
}

impl Spec {
    /// Checks what the types cannot.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check_payload(&format!("{path}.payload_bytes"), self.payload_bytes)?;
        check_dscp(path, self.dscp)?;
        check_range(&format!("{path}.rate_mbps"), self.rate_mbps, 1e-6, 1e4, "Mbps")?;
        if let ArrivalsSpec::OnOff(OnOffSpec { on_ms, off_ms }) = self.arrivals {
            check_range(&format!("{path}.arrivals.on_ms"), on_ms, 1e-3, 1e6, "ms")?;
            check_range(&format!("{path}.arrivals.off_ms"), off_ms, 1e-3, 1e6, "ms")?;
        }
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
        let interval_ms = bytes * 8e-3 / self.rate_mbps;
        let arrivals = match self.arrivals {
            ArrivalsSpec::Constant => Arrivals::every_ms(interval_ms),
            ArrivalsSpec::Poisson => Arrivals::Poisson { mean_ms: interval_ms },
            ArrivalsSpec::OnOff(OnOffSpec { on_ms, off_ms }) => {
                Arrivals::OnOff { interval_ms, on_ms, off_ms }
            }
        };
        Datagrams {
            forward: Source { arrivals, payload_bytes: Law::constant(bytes) },
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
