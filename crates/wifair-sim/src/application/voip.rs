//! A telephone call: voice both ways in packets of constant size and interval (RTP, RFC 3550), without pauses.
//!
//! The defaults are G.711 in packets of 20 ms (RFC 3551, 4.5.14 and 4.2: 64 kbit/s, 20 ms by default): 160 bytes of voice, 12
//! of RTP, 8 of UDP, 20 of IP. Each direction is rated by the E-model ([`crate::e_model`]), with the loss that is left after
//! the listener's playout buffer and the delay from mouth to ear: packetisation, network and playout.
//!
//! Interpretation: a listener's buffer plays every packet a fixed time after it was sent; a packet that arrives later counts as
//! lost. Real buffers adapt: unless `playout_delay_ms` is given, that time is the one with the best rating over the whole
//! measurement, which is what adapting can reach at best where the delay's distribution does not change.
//!
//! Draws: one, the time by which the second direction starts later than the first, uniform within a packet's interval: two
//! hosts have no common clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use super::udp::{check_dscp, check_payload};
use super::{Arrivals, Datagrams, Law, Source, Transport};
use crate::check::check_range;
use crate::e_model::Codec;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "voip",
    source: "RFC 3550 and 3551 (RTP, G.711 in packets of 20 ms); ITU-T G.107 (E-model), G.113",
    idea: "Voice both ways, rated as a listener would: delay, and what is lost or comes too late to be played.",
};

/// Bytes of the RTP header (RFC 3550, 5.1).
const RTP_BYTES: u32 = 12;

/// Parameters of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Packet interval, in milliseconds: the duration of the voice in each packet.
    pub packet_ms: f64,
    /// Bytes of voice in each packet; G.711 has 8 per millisecond.
    pub voice_bytes: u32,
    /// Differentiated services code point (RFC 2474), 0 to 63; 46 is Expedited Forwarding, for telephony by
    /// RFC 4594. It selects the access category only if `mac.edca.classify` uses the DSCP.
    pub dscp: u8,
    /// Equipment impairment factor Ie of the codec (ITU-T G.113, Appendix I): 0 for G.711.
    pub equipment_impairment: f64,
    /// Packet-loss robustness factor Bpl of the codec (ITU-T G.113, Appendix I): 25.1 for G.711 with packet loss concealment,
    /// 4.3 without.
    pub loss_robustness: f64,
    /// Playout delay in milliseconds, from sending a packet to playing it. Without the key, the one with the
    /// best rating over the whole measurement.
    pub playout_delay_ms: Option<f64>,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            packet_ms: 20.0,
            voice_bytes: 160,
            dscp: 46,
            equipment_impairment: 0.0,
            loss_robustness: 25.1,
            playout_delay_ms: None,
        }
    }
}

impl Spec {
    /// Checks what the types cannot.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check_range(&format!("{path}.packet_ms"), self.packet_ms, 1.0, 1000.0, "ms")?;
        check_payload(&format!("{path}.voice_bytes"), self.voice_bytes.saturating_add(RTP_BYTES))?;
        check_dscp(path, self.dscp)?;
        let key = |name: &str| format!("{path}.{name}");
        check_range(&key("equipment_impairment"), self.equipment_impairment, 0.0, 94.0, "")?;
        check_range(&key("loss_robustness"), self.loss_robustness, 1.0, 100.0, "")?;
        match self.playout_delay_ms {
            Some(delay_ms) => check_range(&key("playout_delay_ms"), delay_ms, 0.0, 1e5, "ms"),
            None => Ok(()),
        }
    }

    /// Both directions of the call.
    pub fn build(&self) -> Datagrams {
        let source = |first_within| Source {
            arrivals: Arrivals::Renewal { first_within, interval_ms: Law::constant(self.packet_ms) },
            payload_bytes: Law::constant(f64::from(self.voice_bytes + RTP_BYTES)),
        };
        Datagrams {
            forward: source(Time::ZERO),
            back: Some(source(Time::from_secs_f64(self.packet_ms * 1e-3))),
            echoed: false,
            dscp: self.dscp,
            codec: Some(Codec {
                packet_ms: self.packet_ms,
                equipment_impairment: self.equipment_impairment,
                loss_robustness: self.loss_robustness,
                playout_delay_ms: self.playout_delay_ms,
            }),
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
