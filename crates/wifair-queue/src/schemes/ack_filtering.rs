//! ACK filtering (AF).
//!
//! Source: Balakrishnan, Padmanabhan and Katz 1999, as described in `adaptive-pushout` II and `spm-af-las` 6.1.
//!
//! Idea: when an ACK arrives, all earlier ACKs of its connection are removed, whether the buffer is full or not,
//! since it repeats their information. Otherwise tail drop.
//!
//! Interpretations:
//! - `place`: both papers speak of a "newly stored" ACK that supersedes removed ones, so it comes to the `tail`; a
//!   busy connection's ACK may then never reach the head, which is the effect that `adaptive-pushout` IV-B blames
//!   for timeouts. `oldest-removed` keeps the connection's turn.
//! - `filter`: `paper` removes duplicate ACKs and ECN echoes too; `safe` keeps ACKs whose information no
//!   later one repeats.
//!
//! Aggregates: as `droptail`.
//!
//! Deviations: none. SYN, FIN and RST do not count as ACKs. No random draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Class, Info};

use crate::ack_filter::Place;
use crate::ack_filter::filter_and_append;
use crate::buffer::{Arrival, Buffer, Filter, Indexes, Placed};
use crate::scheme::{Cx, Scheme, Shortcuts};

pub const INFO: Info = Info {
    name: "ack-filtering",
    source: "Balakrishnan et al. 1999; adaptive-pushout II, spm-af-las 6.1",
    idea: "An arriving ACK removes older ACKs of its connection; it does so even if the buffer is not full; otherwise tail drop.",
};

/// Parameters of ACK filtering.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// What makes a queued ACK redundant.
    pub filter: Filter,
    /// Where an arriving ACK is enqueued if an earlier one has been removed for it.
    pub place: Place,
}

impl Spec {
    pub fn build(&self) -> AckFiltering {
        AckFiltering { spec: self.clone() }
    }
}

pub struct AckFiltering {
    spec: Spec,
}

impl Scheme for AckFiltering {
    fn needs(&self) -> Indexes {
        Indexes::NONE.acks(self.spec.filter)
    }

    fn decides_on(&self) -> &'static [Class] {
        &[Class::Ack]
    }

    fn shortcuts(&self) -> Shortcuts {
        Shortcuts { release_head: true, ..Shortcuts::default() }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        match arrival.class() {
            Class::Ack => filter_and_append(arrival, self.spec.place, buffer),
            Class::Data | Class::Other => buffer.append_or_drop(arrival),
        }
    }
}
