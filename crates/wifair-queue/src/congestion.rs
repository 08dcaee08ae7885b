use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Class, Ecn};

use crate::buffer::{Arrival, Buffer, Placed, SlotId};
use crate::words::Refusal;

/// How a scheme tells the sender of an arriving packet that there is congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// By dropping the packet.
    Drop,
    /// By CE on a packet whose transport is ECN-capable; others are dropped (RFC 3168, section 5).
    #[default]
    Mark,
    /// As `mark`, but a pure ACK gets ECE in place of being dropped, so that the sender of the data that it
    /// acknowledges backs off: no RFC provides for it.
    MarkAndEcho,
}

impl Signal {
    /// Signals congestion to the sender of a queued packet by a mark. Returns false and changes nothing if the packet cannot be
    /// marked: it is to be dropped.
    pub(crate) fn mark(self, slot: SlotId, buffer: &mut Buffer) -> bool {
        match self {
            Signal::Drop => false,
            Signal::Mark => buffer.mark(slot),
            Signal::MarkAndEcho => buffer.mark(slot) || buffer.set_ece(slot),
        }
    }

    /// Signals congestion on an arrival that finds room: marks and places it, or refuses it.
    pub(crate) fn give(self, arrival: Arrival, buffer: &mut Buffer) -> Placed {
        let capable = arrival.packet().ecn() != Ecn::NotEct;
        let echo = self == Signal::MarkAndEcho && arrival.class() == Class::Ack;
        if self == Signal::Drop || !(capable || echo) {
            return buffer.refuse(arrival, Refusal::Aqm);
        }
        let placed = buffer.append(arrival);
        let tail = buffer.tail().expect("it has just been appended");
        if capable {
            buffer.mark(tail);
        } else {
            buffer.set_ece(tail);
        }
        placed
    }
}
