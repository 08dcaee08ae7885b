//! SPM-AF: selective packet marking with ACK filtering.
//!
//! Source: `adaptive-pushout` IV-A with its Remark 1 (variant `ap-only`), after `spm-af-las` 6.1.
//!
//! Idea: ACK filtering on every ACK arrival; besides, data has priority over ACKs: data that finds the buffer full
//! pushes a queued ACK out and joins at the tail. Without a queued ACK it is dropped.
//!
//! Interpretations:
//! - `displaced`: the papers say only that "one such packet is removed". `random` treats the uplink flows alike
//!   whatever the order of their ACKs, and is how `adaptive-pushout` itself chooses victims. `oldest` would cost an
//!   ACK that has nearly been served, `newest` the one that waited least.
//! - `place`, `filter`: as in `ack-filtering`.
//!
//! Deviations: none known. Packets that are neither data nor ACKs have no priority and are never pushed out. A
//! displaced ACK counts as a victim, hence as lost: nothing queued says what it said.
//!
//! Random draws: one for each displaced ACK under `random`, else none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Class, Info, SpecError};

use crate::ack_filter::filter_and_append;
use crate::{
    Arrival, Buffer, Cx, Eviction, Filter, Indexes, Pick, Place, Placed, Pool, Refusal, Scheme, Shortcuts,
};

pub(super) const INFO: Info = Info {
    name: "spm-af",
    source: "adaptive-pushout IV-A and Remark 1; spm-af-las 6.1",
    idea: "ACK filtering on every ACK arrival; data that finds the buffer full pushes a queued ACK out.",
};

/// Parameters of SPM-AF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Which paper's scheme.
    pub variant: Variant,
    /// Which queued ACK makes room for data.
    pub displaced: Pick,
    /// What makes a queued ACK redundant for an arriving one.
    pub filter: Filter,
    /// Where an arriving ACK stands when an earlier one has been removed for it.
    pub place: Place,
}

/// Whose SPM-AF it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// All data has priority over ACKs; senders mark nothing (`adaptive-pushout`, Remark 1).
    #[default]
    ApOnly,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            variant: Variant::default(),
            displaced: Pick::Random,
            filter: Filter::default(),
            place: Place::default(),
        }
    }
}

impl Spec {
    pub(super) fn build(&self) -> SpmAf {
        SpmAf { spec: self.clone() }
    }

    pub(super) fn validate(&self, _path: &str) -> Result<(), SpecError> {
        Ok(())
    }
}

pub(super) struct SpmAf {
    spec: Spec,
}

impl SpmAf {
    /// Whether the packet may push others out.
    fn has_priority(&self, arrival: &Arrival) -> bool {
        match self.spec.variant {
            Variant::ApOnly => arrival.class() == Class::Data,
        }
    }
}

impl Scheme for SpmAf {
    fn needs(&self) -> Indexes {
        Indexes::NONE.acks(self.spec.filter).picking(Pool::Ack, self.spec.displaced)
    }

    fn shortcuts(&self) -> Shortcuts {
        Shortcuts { release_head: true, ..Shortcuts::NONE }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        if arrival.class() == Class::Ack {
            return filter_and_append(arrival, self.spec.place, buffer);
        }
        if !buffer.is_full() || !self.has_priority(&arrival) {
            return buffer.append_or_drop(arrival);
        }
        match buffer.pick(Pool::Ack, self.spec.displaced, cx.rng) {
            Some(ack) => buffer.push_out(ack, Eviction::Victim, arrival),
            None => buffer.refuse(arrival, Refusal::TailDrop),
        }
    }
}
