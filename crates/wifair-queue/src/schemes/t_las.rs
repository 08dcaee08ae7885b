//! T-LAS: least attained service first, up to a threshold.
//!
//! Source: `spm-af-las` 6.2.
//!
//! Idea: as LAS for the first packets of a flow ("e.g., 50 packets"). Beyond them all flows are served first in, first out, so
//! a new long flow does not block the present ones.
//!
//! Interpretations: those of `las`. `threshold_packets`: a packet whose key is the threshold or more has no priority. It is
//! served after all packets with priority, and in order of arrival among those without. At a full buffer the last in that order
//! is lost: the arrival itself if it is beyond the threshold, so among long flows this is tail drop.
//!
//! Aggregates: as `las`.
//!
//! Deviations: none known. No random draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use super::las::{self, AckService, Las, LasKey, Unit};

pub const INFO: Info = Info {
    name: "t-las",
    source: "spm-af-las 6.2",
    idea: "LAS for the first packets of each flow, then FIFO; `threshold_packets` says how many.",
};

/// Parameters of T-LAS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Attained service up to which a flow has priority, in packets of `packet_bytes` if the unit is bytes.
    pub threshold_packets: u32,
    /// What a packet's position in the order of service depends on.
    pub key: LasKey,
    /// Unit of attained service.
    pub unit: Unit,
    /// How much attained service an ACK adds to its flow.
    pub acks: AckService,
    /// TCP payload per packet, in bytes, by which sequence and acknowledgement numbers are converted into packets.
    pub packet_bytes: u32,
    /// Silence after which a flow starts again from zero attained service, in seconds; never if absent.
    pub forget_after_s: Option<f64>,
}

impl Default for Spec {
    fn default() -> Spec {
        let las::Spec { key, unit, acks, packet_bytes, forget_after_s } = las::Spec::default();
        Spec { threshold_packets: 50, key, unit, acks, packet_bytes, forget_after_s }
    }
}

impl Spec {
    fn las(&self) -> las::Spec {
        let Spec { key, unit, acks, packet_bytes, forget_after_s, .. } = *self;
        las::Spec { key, unit, acks, packet_bytes, forget_after_s }
    }

    pub fn build(&self) -> Las {
        let unit = match self.unit {
            Unit::Packets => 1,
            Unit::Bytes => self.packet_bytes,
        };
        Las::with_threshold(&self.las(), u64::from(self.threshold_packets) * u64::from(unit))
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        if self.threshold_packets == 0 {
            return Err(SpecError::new(format!("{path}.threshold_packets"), 0, "1 packet or more"));
        }
        self.las().validate(path)
    }
}
