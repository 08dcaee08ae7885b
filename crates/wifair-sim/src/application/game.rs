//! A fast multiplayer game: small packets at a tick in both directions, without congestion control.
//!
//! The defaults are the gaming traffic of 3GPP (TSG-RAN1 #48, R1-070674, Appendix B), a form of J. Färber's measurements of
//! Counter-Strike ("Network game traffic modelling", NetGames 2002): intervals and sizes by the largest extreme value
//! distribution with a location and a scale, the client's interval constant. Sizes are taken as payload of UDP, in whole bytes.
//! Newer games tick faster; the intervals are parameters.
//!
//! The server is at the end at which the flow's data begins: with `direction` down the station is a player, with up it hosts
//! the game for a player elsewhere.
//!
//! Draws: one for each end's first packet. Then two for each packet: its size, and the time to the next. Quantities
//! with a scale of 0 are not drawn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use super::udp::check_dscp;
use super::{Arrivals, Datagrams, Law, Source, Transport};
use crate::check::check_range;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "game",
    source: "3GPP TSG-RAN1 #48, R1-070674, Appendix B, after J. Färber, NetGames 2002",
    idea: "A server's ticks and a player's commands: small packets at short intervals, of no use when they come late.",
};

/// Parameters of the game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Location of the server's packet interval, in milliseconds.
    pub server_interval_ms: f64,
    /// Scale of the server's packet interval, in milliseconds; 0 for a constant tick.
    pub server_interval_scale_ms: f64,
    /// Location of the server's UDP payload, in bytes.
    pub server_payload_bytes: f64,
    /// Scale of the server's UDP payload, in bytes.
    pub server_payload_scale_bytes: f64,
    /// Location of the client's packet interval, in milliseconds.
    pub client_interval_ms: f64,
    /// Scale of the client's packet interval, in milliseconds; 0 for a constant tick.
    pub client_interval_scale_ms: f64,
    /// Location of the client's UDP payload, in bytes.
    pub client_payload_bytes: f64,
    /// Scale of the client's UDP payload, in bytes.
    pub client_payload_scale_bytes: f64,
    /// Differentiated services code point (RFC 2474), 0 to 63.
    pub dscp: u8,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            server_interval_ms: 55.0,
            server_interval_scale_ms: 6.0,
            server_payload_bytes: 120.0,
            server_payload_scale_bytes: 36.0,
            client_interval_ms: 40.0,
            client_interval_scale_ms: 0.0,
            client_payload_bytes: 45.0,
            client_payload_scale_bytes: 5.7,
            dscp: 0,
        }
    }
}

impl Spec {
    /// Checks what the types cannot.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        for (key, value, low, high, unit) in [
            ("server_interval_ms", self.server_interval_ms, 0.1, 1e6, "ms"),
            ("server_interval_scale_ms", self.server_interval_scale_ms, 0.0, 1e6, "ms"),
            ("server_payload_bytes", self.server_payload_bytes, 1.0, 65_507.0, "bytes"),
            ("server_payload_scale_bytes", self.server_payload_scale_bytes, 0.0, 65_507.0, "bytes"),
            ("client_interval_ms", self.client_interval_ms, 0.1, 1e6, "ms"),
            ("client_interval_scale_ms", self.client_interval_scale_ms, 0.0, 1e6, "ms"),
            ("client_payload_bytes", self.client_payload_bytes, 1.0, 65_507.0, "bytes"),
            ("client_payload_scale_bytes", self.client_payload_scale_bytes, 0.0, 65_507.0, "bytes"),
        ] {
            check_range(&format!("{path}.{key}"), value, low, high, unit)?;
        }
        check_dscp(path, self.dscp)
    }

    /// The server's datagrams in the direction of the flow, the client's against it.
    pub fn build(&self) -> Datagrams {
        let source = |interval_ms, interval_scale_ms, bytes, scale_bytes| Source {
            arrivals: Arrivals::Renewal {
                first_within: Time::from_secs_f64(interval_ms * 1e-3),
                interval_ms: Law { location: interval_ms, scale: interval_scale_ms },
            },
            payload_bytes: Law { location: bytes, scale: scale_bytes },
        };
        Datagrams {
            forward: source(
                self.server_interval_ms,
                self.server_interval_scale_ms,
                self.server_payload_bytes,
                self.server_payload_scale_bytes,
            ),
            back: Some(source(
                self.client_interval_ms,
                self.client_interval_scale_ms,
                self.client_payload_bytes,
                self.client_payload_scale_bytes,
            )),
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
