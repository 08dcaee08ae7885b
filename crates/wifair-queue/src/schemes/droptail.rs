//! Tail drop.
//!
//! Source: what every first-in first-out interface queue does; the baseline "tail drop" of `adaptive-pushout` IV-B.
//!
//! Idea: an arrival that finds the buffer full is dropped. Nothing else ever is.
//!
//! Aggregates: the packet at the head names the station of a PPDU, which is filled with that station's packets in the order of
//! the queue (`mac.aggregation.fill`).
//!
//! No random draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::Info;

use crate::buffer::{Arrival, Buffer, Placed};
use crate::scheme::{Cx, Scheme, Shortcuts};

pub const INFO: Info = Info {
    name: "droptail",
    source: "common practice; adaptive-pushout IV-B, \"tail drop\"",
    idea: "An arrival that finds the buffer full is dropped; nothing else ever is.",
};

/// Tail drop has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {}

impl Spec {
    pub fn build(&self) -> Droptail {
        Droptail
    }
}

pub struct Droptail;

impl Scheme for Droptail {
    fn shortcuts(&self) -> Shortcuts {
        Shortcuts::ALL
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }
}
