//! What is on the air, and what a node counts of it.

use super::mode::Mode;
use super::timing::{NonHt, Tenths};
use std::collections::BTreeSet;

/// The AP is node 0, station `i` is node `i + 1`.
pub type NodeId = usize;

/// What an upper layer hands down: who it is for, how long it is, and its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    pub id: u32,
    pub stream: usize,
    pub to: NodeId,
    pub ip_bytes: u32,
    /// Rank of the access category; 0 under DCF.
    pub category: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Rts,
    Cts,
    /// A CTS-to-self before a data frame.
    Announcement,
    /// A single frame, or a PPDU of MPDUs under an agreement.
    Data,
    Ack,
    /// Answers a PPDU of several MPDUs, or a request.
    BlockAck,
    /// Block Ack Request.
    Request,
    /// For all.
    Beacon,
}

impl Kind {
    /// What ends an exchange.
    pub fn is_response(self) -> bool {
        matches!(self, Kind::Ack | Kind::BlockAck)
    }

    /// What comes a SIFS after a frame of its receiver.
    pub fn is_answer(self) -> bool {
        self.is_response() || self == Kind::Cts
    }
}

/// An MPDU under an agreement. Sequence numbers do not wrap here: they count from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Mpdu {
    pub seq: u64,
    /// Several in an A-MSDU.
    pub packets: Vec<Packet>,
    /// Which transmission of it this is, from 1.
    pub number: u32,
}

impl Mpdu {
    pub fn ip_bytes(&self) -> Vec<u32> {
        self.packets.iter().map(|packet| packet.ip_bytes).collect()
    }
}

/// What an exchange is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A frame of a link without agreement, and which transmission of that packet it is, from 1.
    Single { packet: Packet, number: u32 },
    /// In the order of their sequence numbers.
    Mpdus(Vec<Mpdu>),
    /// A request with its starting sequence number.
    Request { start: u64 },
    /// What a Block Ack says: all that its sender has ever decoded.
    Decoded(BTreeSet<u64>),
    /// Of a beacon.
    Nothing,
}

impl Content {
    /// The packet that a frame is named by: of several MPDUs the first.
    pub fn packet(&self) -> Option<u32> {
        match self {
            Content::Single { packet, .. } => Some(packet.id),
            Content::Mpdus(mpdus) => mpdus.first().map(|mpdu| mpdu.packets[0].id),
            Content::Request { .. } | Content::Decoded(_) | Content::Nothing => None,
        }
    }
}

/// A frame that a node wants to put on the air now. All times in steps of the clock.
#[derive(Clone, Debug)]
pub struct Frame {
    pub kind: Kind,
    pub from: NodeId,
    /// Of a beacon its sender.
    pub to: NodeId,
    /// Rank of the access category; 0 under DCF.
    pub category: usize,
    pub content: Content,
    /// Of a data frame: bytes of the MSDUs of its category that its sender has (section 15).
    pub queued: u32,
    /// Rate of the exchange's data frame.
    pub data_rate: Tenths,
    /// Of a data frame from 802.11n on: its mode.
    pub mode: Option<Mode>,
    /// How what answers that is sent, and a request.
    pub response: NonHt,
    /// How RTS, CTS and CTS-to-self of the exchange are sent.
    pub reservation: NonHt,
    /// How long it is on the air.
    pub length: u32,
    /// Of a PPDU: when its MPDUs end, from its start, if each is received at its own end.
    pub mpdu_ends: Vec<u32>,
    /// The Duration field: what its exchange still needs after the frame's end.
    pub duration_field: u32,
    /// False for a MAC ACK, a CTS, and a data frame after a CTS, a CTS-to-self or another of its TXOP: these follow a SIFS
    /// after what came before.
    pub opens_exchange: bool,
}

impl Frame {
    /// The station that it comes from or goes to, counted from 0. Beacons have none.
    pub fn station(&self) -> usize {
        self.from.max(self.to) - 1
    }

    /// The rate that it is itself sent at.
    pub fn rate(&self) -> Tenths {
        match self.kind {
            Kind::Data => self.data_rate,
            Kind::Ack | Kind::BlockAck | Kind::Request | Kind::Beacon => self.response.rate,
            Kind::Rts | Kind::Cts | Kind::Announcement => self.reservation.rate,
        }
    }
}

/// What happened to the frames of one sender on one link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Exchanges opened (RTS or data).
    pub attempts: u64,
    /// Attempts that failed, for whatever reason.
    pub failures: u64,
    /// Frames given up at a retry limit.
    pub lost: u64,
    /// Of these, frames that their receiver had delivered.
    pub lost_after_delivery: u64,
    /// Internal collisions that its frames lost.
    pub internal: u64,
    /// Frames that reached the receiver's upper layer, and their IP bytes.
    pub delivered: u64,
    pub delivered_bytes: u64,
    /// Frames that reached the receiver again.
    pub duplicates: u64,
    /// Sum of the link rate over all steps of the clock.
    pub rate_integral: u64,
}

impl Tally {
    pub fn since(&self, earlier: &Tally) -> Tally {
        Tally {
            attempts: self.attempts - earlier.attempts,
            failures: self.failures - earlier.failures,
            lost: self.lost - earlier.lost,
            lost_after_delivery: self.lost_after_delivery - earlier.lost_after_delivery,
            internal: self.internal - earlier.internal,
            delivered: self.delivered - earlier.delivered,
            delivered_bytes: self.delivered_bytes - earlier.delivered_bytes,
            duplicates: self.duplicates - earlier.duplicates,
            rate_integral: self.rate_integral - earlier.rate_integral,
        }
    }
}

/// What one node counts by peer.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub attempts: u64,
    pub failures: u64,
    /// Packets given up.
    pub lost: Vec<u32>,
    pub internal: u64,
    /// Data frames from the peer, decoded the first time.
    pub received: u64,
    /// IP bytes of these.
    pub received_bytes: u64,
    /// Data frames from the peer, decoded again.
    pub received_again: u64,
}

impl Counts {
    pub fn receive(&mut self, packets: &[Packet]) {
        self.received += packets.len() as u64;
        self.received_bytes += packets.iter().map(|packet| u64::from(packet.ip_bytes)).sum::<u64>();
    }
}

/// What a node tells the world after it has heard a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// It decoded the frame.
    Decoded,
    /// It decoded a frame for its upper layer: which of its MPDUs, and what it passes on, in order.
    Receives { decoded: Vec<bool>, passed_on: Vec<Packet> },
    /// The channel spoilt the frame for it.
    Garbled,
}
