//! The exchange or collision that is on the air (`docs/medium.md`, section 3).

use wifair_core::{StationId, Time};

use crate::node::{AP, LinkId};

/// What becomes of a data frame that does not collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Everybody decodes data and MAC ACK.
    Decoded,
    /// Its receiver cannot decode it.
    DataLost,
    /// Its sender cannot decode the MAC ACK.
    AckLost,
}

/// The exchange of one data frame. All of it is known when it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OngoingExchange {
    /// The channel access function whose frame it is.
    pub sender: u32,
    pub link: LinkId,
    /// The control frames that go with the data frame: an index into those of the BSS.
    pub handshake: u8,
    pub fate: Fate,
    /// End of its last frame.
    pub end: Time,
    /// Whether it follows another of its TXOP.
    pub follows: bool,
    /// Whether it is of a link with a Block Ack agreement.
    pub is_ppdu: bool,
}

impl OngoingExchange {
    /// Of no meaning: what stands before the first exchange.
    pub(crate) fn none() -> OngoingExchange {
        let link = LinkId::of(true, StationId(0));
        OngoingExchange {
            sender: AP,
            link,
            handshake: 0,
            fate: Fate::Decoded,
            end: Time::ZERO,
            follows: false,
            is_ppdu: false,
        }
    }
}

/// One of those that transmit in a collision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Collider {
    pub sender: u32,
    pub link: LinkId,
    /// When its frame does, RTS or data.
    pub ends: Time,
    /// When it knows that nothing came back.
    pub timeout: Time,
    /// Its frame reached a retry limit.
    pub lost: bool,
    pub with_rts: bool,
    /// Whether its link has a Block Ack agreement.
    pub is_ppdu: bool,
    /// Number of MPDUs; none in a Block Ack Request.
    pub mpdus: u32,
}

/// A frame that its addressee captures from a collision (section 11). Whose it is lies in the exchange that goes on; if it is
/// answered in vain, it is the first of the colliders as well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captured {
    /// When the frame that collides ends, RTS or data.
    pub ends: Time,
    /// When the last of the others does.
    pub others_end: Time,
    /// One of the others is still on the air when the answer begins, so the answer is not decoded.
    pub in_vain: bool,
    /// When the medium falls idle.
    pub busy_until: Time,
}

/// What goes on on the medium; whose it is lies beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing.
    Idle,
    /// The data frame is yet to end; then it is delivered.
    Data,
    /// Delivered, or never to be: the exchange is yet to end.
    Ending,
    /// A data frame that is captured from a collision is yet to end; then it is delivered.
    Captured,
    /// A collision, until the end of the longest frame or, where one is captured, of what follows it.
    Collision,
}
