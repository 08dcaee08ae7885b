//! A frame in service and the exchange that is on the air (`docs/medium.md`, section 3).

use wifair_core::{Rate, StationId, Time};
use wifair_queue::Departure;

use crate::mac::Mac;
use crate::node::LinkId;
use crate::phy::{BssTiming, Format, Mode};

/// What a MAC has in service: a packet that it has taken from its port, until it is acknowledged or given up.
///
/// It lies with its sender and is written in place: a packet moves once, from the port.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Without it the MAC is free, and the rest has no meaning.
    pub departure: Option<Departure>,
    /// When the MAC took it.
    pub taken_at: Time,
    /// What its attempts have occupied.
    pub airtime: Time,
    /// What they took beside: the timeouts after those that failed and, where the BSS has a meter, the spaces and
    /// backoffs before them.
    pub overhead: Time,
    pub psdu_bytes: u32,
    pub attempts: u32,
    short_retries: u32,
    long_retries: u32,
    /// Of the last attempt.
    pub mode: Mode,
    /// Its receiver has it: another copy is a duplicate.
    pub delivered: bool,
}

impl Frame {
    /// A free MAC.
    pub(crate) fn none() -> Frame {
        Frame {
            departure: None,
            taken_at: Time::ZERO,
            airtime: Time::ZERO,
            overhead: Time::ZERO,
            psdu_bytes: 0,
            attempts: 0,
            short_retries: 0,
            long_retries: 0,
            mode: Mode { rate: Rate::from_kbps(0), format: Format::Dsss },
            delivered: false,
        }
    }

    /// Takes what the port gave, if anything; whether there is a packet in service now.
    #[inline]
    pub(crate) fn load(&mut self, departure: Option<Departure>, phy: &BssTiming, now: Time) -> bool {
        self.departure = departure;
        let Some(departure) = &self.departure else { return false };
        self.psdu_bytes = phy.psdu_bytes(departure.packet.ip_bytes());
        self.taken_at = now;
        self.airtime = Time::ZERO;
        self.overhead = Time::ZERO;
        self.attempts = 0;
        self.short_retries = 0;
        self.long_retries = 0;
        self.delivered = false;
        true
    }

    /// The packet in service, while the node transmits or waits for the outcome.
    #[inline]
    pub(crate) fn departure(&self) -> &Departure {
        self.departure.as_ref().expect("a frame is in service until it is acknowledged or given up")
    }

    /// Whether RTS and CTS go before it.
    #[inline]
    pub(crate) fn with_rts(&self, mac: &Mac) -> bool {
        self.psdu_bytes > mac.rts_threshold
    }

    /// Counts an attempt in `mode` that occupies the medium for `airtime`.
    #[inline]
    pub(crate) fn attempt(&mut self, mode: Mode, airtime: Time) {
        self.attempts += 1;
        self.mode = mode;
        self.airtime += airtime;
    }

    /// Counts a failure of the frame, or of its RTS if `cts` did not come, of which its sender knew after waiting for
    /// `timeout`; says whether a retry limit is reached (10.3.4.4).
    pub(crate) fn fail(&mut self, cts: bool, timeout: Time, mac: &Mac) -> bool {
        self.overhead += timeout;
        if cts {
            self.short_retries = 0;
            self.long_retries += 1;
            self.long_retries >= mac.retry_limit_long
        } else {
            self.short_retries += 1;
            self.short_retries >= mac.retry_limit_short
        }
    }
}

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
    pub sender: u32,
    pub link: LinkId,
    pub fate: Fate,
    /// End of its last frame.
    pub end: Time,
}

impl OngoingExchange {
    /// Of no meaning: what stands before the first exchange.
    pub(crate) fn none() -> OngoingExchange {
        let link = LinkId::of(true, StationId(0));
        OngoingExchange { sender: crate::node::AP, link, fate: Fate::Decoded, end: Time::ZERO }
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
}

/// A frame that its addressee captures from a collision (section 11). Whose it is lies in the exchange that goes on; if it is
/// answered in vain, it is the first of the colliders as well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Captured {
    /// When the frame that collides ends, RTS or data.
    pub ends: Time,
    /// When the last of the others does.
    pub others_end: Time,
    /// One of the others is still on the air when the answer begins, so nobody decodes that.
    pub in_vain: bool,
    /// When the medium falls idle.
    pub busy_until: Time,
}

/// What goes on on the medium; whose it is lies beside, in the cell.
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
