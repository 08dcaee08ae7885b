//! T-LAS: least attained service first, up to a threshold.
//!
//! Source: `spm-af-las` 6.2.
//!
//! Idea: as LAS for the first packets of a flow ("e.g., 50 packets"); beyond them all flows are alike, first in, first out,
//! so that a newly arriving long flow does not block those that are there.
//!
//! Interpretations: those of `las`. `threshold_packets`: a packet whose key is the threshold or more has no priority left;
//! it stands behind every packet that has, and among its like in the order of arrival. At a full buffer the last in that
//! order is lost: the arrival itself if it is beyond the threshold, so that among long flows this is tail drop.
//!
//! Aggregates: as `las`.
//!
//! Deviations: none known. No random draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use super::las::{self, AckService, Key, Las, Unit};

pub const INFO: Info = Info {
    name: "t-las",
    source: "spm-af-las 6.2",
    idea: "LAS for the first packets of each flow, then FIFO; `threshold_packets` says how many.",
};

/// Parameters of T-LAS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Attained service up to which a flow has priority, in packets (of `packet_bytes` where the unit is bytes).
    pub threshold_packets: u32,
    /// What a packet's place in the order is taken from.
    pub key: Key,
    /// What service is counted in.
    pub unit: Unit,
    /// What an ACK stands for.
    pub acks: AckService,
    /// How many bytes of payload make a packet, where sequence and acknowledgement numbers are counted in packets.
    pub packet_bytes: u32,
    /// A flow of which nothing has come for this time, in seconds, starts from nothing; none for never.
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
