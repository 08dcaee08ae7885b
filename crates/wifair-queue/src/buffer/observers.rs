//! Who is notified of what happens to packets in a buffer.

use wifair_core::{ConnectionId, Packet, Time};

use super::arrival::Arrival;
use super::slots::QueuedPacket;
use crate::journal::{Journal, TxQueueEvent};
use crate::words::{Eviction, Refusal};

/// Packets of a host that have left its station's transmit queue and MAC at one time: delivered, given up, or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxCompletion {
    /// Their connection.
    pub connection: ConnectionId,
    /// Their number.
    pub packets: u32,
    /// Their length.
    pub ip_bytes: u32,
}

/// A journal of exceptional events and the transmit completions not yet taken, if kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observers {
    pub journal: Option<Journal>,
    pub completions: Option<Vec<TxCompletion>>,
}

impl Observers {
    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.journal.is_none() && self.completions.is_none()
    }

    /// Whether there are completions that have not been taken.
    pub fn has_completions(&self) -> bool {
        self.completions.as_ref().is_some_and(|completions| !completions.is_empty())
    }

    /// Reports that a packet has left.
    #[inline(never)] // few queues report completions
    pub fn complete(&mut self, packet: &Packet) {
        if let Some(completions) = &mut self.completions {
            let Packet { connection, .. } = *packet;
            completions.push(TxCompletion { connection, packets: 1, ip_bytes: packet.ip_bytes() });
        }
    }

    pub fn refused(&mut self, arrival: &Arrival, reason: Refusal, now: Time) {
        if let Some(journal) = &self.journal {
            journal.note(now, TxQueueEvent::Refused(reason), arrival.packet, arrival.station);
        }
        self.complete(arrival.packet);
    }

    #[cold]
    #[inline(never)]
    pub fn evicted(&mut self, old: &QueuedPacket, reason: Eviction, now: Time) {
        if let Some(journal) = &self.journal {
            let event = TxQueueEvent::Evicted { reason, enqueued_at: old.enqueued_at };
            journal.note(now, event, &old.packet, old.station);
        }
        self.complete(&old.packet);
    }

    pub fn marked(&self, queued: &QueuedPacket, event: TxQueueEvent, now: Time) {
        if let Some(journal) = &self.journal {
            journal.note(now, event, &queued.packet, queued.station);
        }
    }
}
