//! SPM-AF: selective packet marking with ACK filtering.
//!
//! Source: `spm-af-las` 6.1 (variant `sender-marking`); `adaptive-pushout` IV-A with its Remark 1 (variant `ap-only`).
//!
//! Idea: ACK filtering at every ACK arrival. A high-priority packet that finds the buffer full also evicts a queued ACK, or
//! else low-priority data, and is enqueued at the tail. It is dropped if there is neither, as other packets always are.
//!
//! Interpretations:
//! - `variant`: with `sender-marking` what the sender has marked (`tcp.priority_marking`: data that it sent with a small
//!   window) has high priority, and other data low; with `ap-only`, the default since it needs no change at the senders,
//!   all data has priority over ACKs and there is no low one.
//! - `displaced`: the papers say only that "one such packet is removed". `random` treats the uplink flows alike
//!   whatever the order of their ACKs, and is how `adaptive-pushout` itself chooses victims. `oldest` would cost an
//!   ACK that has nearly been served, `newest` the one that waited least.
//! - `place`, `filter`: as in `ack-filtering`.
//!
//! Aggregates: as `droptail`.
//!
//! Deviations: none known. Packets that are neither data nor ACKs have a priority only if they are marked, and are never
//! evicted. An ACK evicted for a high-priority packet counts as lost, since no queued ACK repeats its information.
//!
//! Random draws: one for each packet evicted for another under `random`, else none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Class, Info};

use crate::ack_filter::Place;
use crate::ack_filter::filter_and_append;
use crate::buffer::{Arrival, Buffer, Filter, Indexes, Pick, Placed, Pool, SlotId};
use crate::scheme::{Cx, Scheme, Shortcuts};
use crate::words::{Eviction, Refusal};

pub const INFO: Info = Info {
    name: "spm-af",
    source: "spm-af-las 6.1; adaptive-pushout IV-A and Remark 1",
    idea: "ACK filtering, and data pushes ACKs out of a full buffer; with `sender-marking` only marked data does, and pushes out unmarked data if there is no ACK.",
};

/// Parameters of SPM-AF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Whose packets have priority.
    pub variant: Variant,
    /// Which queued ACK, or else which low-priority data packet, is evicted for a packet with priority.
    pub displaced: Pick,
    /// What makes a queued ACK redundant for an arriving one.
    pub filter: Filter,
    /// Where an arriving ACK is enqueued if an earlier one has been removed for it.
    pub place: Place,
}

/// Whose SPM-AF it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Data has priority over ACKs; senders do not mark packets (`adaptive-pushout`, Remark 1).
    #[default]
    ApOnly,
    /// Packets marked by the sender have priority over ACKs and over other data (`spm-af-las`, 6.1).
    SenderMarking,
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
    pub fn build(&self) -> SpmAf {
        SpmAf { spec: self.clone() }
    }
}

pub struct SpmAf {
    spec: Spec,
}

impl SpmAf {
    /// Whether the packet may push out others.
    fn has_priority(&self, arrival: &Arrival) -> bool {
        match self.spec.variant {
            Variant::ApOnly => arrival.class() == Class::Data,
            Variant::SenderMarking => arrival.packet().is_high_priority(),
        }
    }

    /// The packet evicted for a packet of high priority.
    fn victim(&self, buffer: &Buffer, cx: &mut Cx) -> Option<SlotId> {
        let displaced = self.spec.displaced;
        let ack = buffer.pick(Pool::Ack, displaced, cx.rng);
        match self.spec.variant {
            Variant::SenderMarking if ack.is_none() => buffer.pick(Pool::LowPriorityData, displaced, cx.rng),
            _ => ack,
        }
    }
}

impl Scheme for SpmAf {
    fn needs(&self) -> Indexes {
        let Spec { variant, displaced, filter, .. } = self.spec;
        let needed = Indexes::NONE.acks(filter).picking(Pool::Ack, displaced);
        match variant {
            Variant::ApOnly => needed,
            Variant::SenderMarking => needed.picking(Pool::LowPriorityData, displaced),
        }
    }

    fn decides_on(&self) -> &'static [Class] {
        &[Class::Ack, Class::Data]
    }

    fn shortcuts(&self) -> Shortcuts {
        Shortcuts { release_head: true, ..Shortcuts::default() }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        if arrival.class() == Class::Ack {
            return filter_and_append(arrival, self.spec.place, buffer);
        }
        if !buffer.is_full() || !self.has_priority(&arrival) {
            return buffer.append_or_drop(arrival);
        }
        match self.victim(buffer, cx) {
            Some(victim) => buffer.push_out(victim, Eviction::Victim, arrival),
            None => buffer.refuse(arrival, Refusal::TailDrop),
        }
    }
}
