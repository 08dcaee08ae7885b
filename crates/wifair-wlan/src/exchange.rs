//! The current exchange or collision on the medium (`docs/medium.md`, section 3).

use wifair_core::{StationId, Time};

use crate::node::{EdcafId, LinkId};

/// Outcome of a data frame that does not collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceptionOutcome {
    /// All nodes decode data and MAC ACK.
    Decoded,
    /// Its receiver cannot decode it.
    DataLost,
    /// Its sender cannot decode the MAC ACK.
    AckLost,
}

/// The exchange of one PPDU, fully determined when it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OngoingExchange {
    /// The channel access function whose frame it is.
    pub sender: EdcafId,
    pub link: LinkId,
    pub outcome: ReceptionOutcome,
    /// End of its last frame.
    pub end: Time,
    /// Whether it follows another in its TXOP.
    pub follows: bool,
}

impl OngoingExchange {
    /// Placeholder before the first exchange.
    pub(crate) fn none() -> OngoingExchange {
        let link = LinkId::of(true, StationId(0));
        OngoingExchange {
            sender: EdcafId::FIRST,
            link,
            outcome: ReceptionOutcome::Decoded,
            end: Time::ZERO,
            follows: false,
        }
    }
}

/// A sender in a collision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collider {
    pub sender: EdcafId,
    pub link: LinkId,
    /// End of its frame, RTS or data.
    pub ends: Time,
    /// When it detects that no response was received.
    pub timeout: Time,
    /// Its frame has reached a retry limit.
    pub lost: bool,
    pub with_rts: bool,
    /// Number of MPDUs; 0 in a Block Ack Request.
    pub mpdus: u32,
}

/// A frame that its addressee captures from a collision (section 11). Its sender is in the current exchange; if it is answered
/// in vain, it is also the first of the colliders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captured {
    /// End of the colliding frame, RTS or data.
    pub ends: Time,
    /// End of the last of the other frames.
    pub others_end: Time,
    /// Whether another frame is still on the air when the response begins, so the response is not decoded.
    pub in_vain: bool,
    /// When the medium becomes idle.
    pub busy_until: Time,
}

/// Phase of the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Idle.
    Idle,
    /// A data frame is on the air; at its end it is delivered.
    Data,
    /// The data frame is delivered, or lost; the exchange has not ended.
    Ending,
    /// A data frame captured from a collision is on the air; at its end it is delivered.
    Captured,
    /// A collision, until the end of the longest frame or, if one is captured, of the rest of its exchange.
    Collision,
    /// A beacon is on the air, alone.
    Beacon,
    /// In a field (section 16), at all times: what is on the air is known there.
    Field,
}
