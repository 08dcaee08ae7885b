//! Selections of a buffer's packets: pools, the pick within a pool, and which ACKs are redundant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::Class;

/// A set of queued packets from which a scheme picks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Pool {
    /// Every packet of [`Class::Data`].
    Data,
    /// Every packet of [`Class::Ack`].
    Ack,
    /// The redundant ACKs; see [`Filter`].
    Redundant,
    /// The packets of [`Class::Data`] that their senders have not marked as high priority.
    LowPriorityData,
}

pub(super) const POOLS: usize = 4;

impl Pool {
    /// All packets of a class.
    pub(super) fn of(class: Class) -> Option<Pool> {
        match class {
            Class::Data => Some(Pool::Data),
            Class::Ack => Some(Pool::Ack),
            Class::Other => None,
        }
    }
}

/// Which packet of a pool is picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// The packet nearest to the head.
    Oldest,
    /// The packet nearest to the tail.
    Newest,
    /// Any, with equal probability: one draw from the transmit queue's stream, none while the pool is empty.
    Random,
}

/// What makes a queued ACK redundant. Both profiles compare a queued pure ACK with the next one of its connection that
/// arrived at the same buffer and is still queued or just arriving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Filter {
    /// A later ACK exists, as in the papers. Duplicate ACKs and ECN echoes are redundant, too.
    #[default]
    Paper,
    /// Only ACKs without information that the later one lacks: the later ACK acknowledges more, or as much and selectively
    /// more; both agree in ECE and CWR; the earlier has no other flag than these and ACK, no D-SACK, no SACK block that the
    /// later does not cover, and it does not repeat the acknowledgement number before it (a duplicate ACK). After the filter of
    /// CAKE (Linux, `sch_cake.c`), which would let duplicate ACKs go once more is acknowledged, and keeps an ACK whose blocks
    /// the later one acknowledges in place of repeating them. No packet here has the timestamps that CAKE compares, or any
    /// option but SACK.
    Safe,
}
