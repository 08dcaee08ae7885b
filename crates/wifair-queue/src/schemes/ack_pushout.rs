//! ACK pushout.
//!
//! Source: `adaptive-pushout` I, II and III-A, which describe the scheme of Shioda et al. 2010.
//!
//! Idea: an arrival that finds the buffer full removes one redundant ACK and enters; without a redundant ACK it is
//! dropped. An arriving ACK makes an earlier one of its connection redundant, so it enters if there is one.
//!
//! Interpretations:
//! - `redundant`: which of the redundant ACKs is evicted. "One of" is all that the text says, and it says "randomly" where it
//!   means that (III-A, of victims). `oldest` removes the ACK that the most later ACKs may repeat; `newest` and `random` are
//!   the alternatives.
//! - `filter`: `paper` counts every ACK with a later one behind it as redundant; `safe` keeps ACKs whose
//!   information no later one repeats.
//!
//! Aggregates: as `droptail`.
//!
//! Deviations: none known. "Full" is the state that the arrival finds, itself not counted. SYN, FIN, RST and non-TCP
//! packets enter like data and are never removed.
//!
//! Random draws: one for each removed ACK under `random`, else none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Class, Info};

use crate::buffer::{Arrival, Buffer, Filter, Indexes, Pick, Placed};
use crate::scheme::{Cx, Scheme, Shortcuts};
use crate::words::{Eviction, Refusal};

pub const INFO: Info = Info {
    name: "ack-pushout",
    source: "Shioda et al. 2010; adaptive-pushout I to III-A",
    idea: "A full buffer loses a redundant ACK, not the arrival; without a redundant ACK the arrival is dropped.",
};

/// Parameters of ACK pushout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Which redundant ACK is evicted at overflow.
    pub redundant: Pick,
    /// What makes a queued ACK redundant.
    pub filter: Filter,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { redundant: Pick::Oldest, filter: Filter::default() }
    }
}

impl Spec {
    pub fn build(&self) -> AckPushout {
        AckPushout { spec: self.clone() }
    }
}

pub struct AckPushout {
    spec: Spec,
}

impl Scheme for AckPushout {
    fn needs(&self) -> Indexes {
        Indexes::NONE.redundant(self.spec.filter, self.spec.redundant)
    }

    fn decides_on(&self) -> &'static [Class] {
        &[Class::Ack]
    }

    fn shortcuts(&self) -> Shortcuts {
        Shortcuts { append: true, release_head: true, ..Shortcuts::default() }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        if !buffer.is_full() {
            return buffer.append(arrival);
        }
        match buffer.pick_redundant(&arrival, self.spec.redundant, cx.rng) {
            Some(ack) => buffer.push_out(ack, Eviction::Redundant, arrival),
            None => buffer.refuse(arrival, Refusal::TailDrop),
        }
    }
}
