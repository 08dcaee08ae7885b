//! Packets that leave for the MAC.

use wifair_core::{Class, FlowId, Packet, StationId, Time};

use super::slots::QueuedPacket;

/// A packet that has left the buffer for the MAC. Only a [`Buffer`] can create it.
#[derive(Debug)]
#[must_use = "the packet has left the buffer: send it"]
#[repr(C)] // the packet comes first, so that it moves in one piece
pub struct DequeuedPacket {
    /// The packet.
    pub packet: Packet,
    /// Its flow.
    pub flow: FlowId,
    /// When it was admitted.
    pub enqueued_at: Time,
    /// The station to which it goes.
    pub station: StationId,
    /// Its class.
    pub class: Class,
    /// Prevents other modules from creating one.
    pub(super) _seal: Seal,
}

#[derive(Debug)]
pub(super) struct Seal;

/// A packet that has left the buffer, in its former slot until the next packet is queued.
#[derive(Debug)]
#[must_use = "the packet has left the buffer: send it"]
pub struct DequeuedSlot<'a>(pub(super) &'a QueuedPacket);

impl From<DequeuedSlot<'_>> for DequeuedPacket {
    /// Copies the packet out of its former slot.
    #[inline(always)] // into the place that it is sent from
    fn from(DequeuedSlot(old): DequeuedSlot) -> DequeuedPacket {
        let &QueuedPacket { packet, flow, enqueued_at, station, class, .. } = old;
        DequeuedPacket { packet, flow, enqueued_at, station, class, _seal: Seal }
    }
}
