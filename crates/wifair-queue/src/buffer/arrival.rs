//! Arriving packets.

use wifair_core::{Ac, Class, FlowId, Packet, StationId};

/// A queue within a buffer, numbered by the scheme. Numbers should be dense: the buffer keeps a row for each up to the
/// greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub u32);

impl QueueId {
    /// Index into a `Vec` of queues.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet that a scheme must place or refuse.
///
/// It refers to the packet, which is copied only once, into its slot.
#[derive(Debug)]
#[must_use = "an arrival is placed or refused"]
pub struct Arrival<'a> {
    pub(super) packet: &'a Packet,
    pub(super) flow: FlowId,
    pub(super) station: StationId,
    pub(super) class: Class,
    pub(super) ac: Ac,
    pub(super) key: u64,
    pub(super) queue: QueueId,
}

impl<'a> Arrival<'a> {
    /// The same with a key, for a buffer with an order of keys; the key is 0 otherwise.
    #[inline(always)]
    pub fn with_key(mut self, key: u64) -> Arrival<'a> {
        self.key = key;
        self
    }

    /// The same for a queue, in a buffer with queues; it is queue 0 otherwise.
    #[inline(always)]
    pub fn to_queue(mut self, queue: QueueId) -> Arrival<'a> {
        self.queue = queue;
        self
    }

    /// The packet.
    pub fn packet(&self) -> &Packet {
        self.packet
    }

    /// Its flow.
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// The station to which it goes.
    pub fn station(&self) -> StationId {
        self.station
    }

    /// Its class.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Its access category; best effort where a transmit queue serves one category only.
    pub fn ac(&self) -> Ac {
        self.ac
    }
}

/// Proof that an arrival has been placed or refused. Only a [`Buffer`] can create it.
#[derive(Debug)]
#[must_use = "return it to the transmit queue"]
pub struct Placed(pub(super) ());
