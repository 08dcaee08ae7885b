//! The journal of transmit queues: records what happens to every packet.
//!
//! A transmit queue without a journal has no overhead. The buffer itself notes only exceptional events (refusals, evictions,
//! marks); the rest is recorded by a scheme that wraps the transmit queue's scheme (`journaled.rs`).

use std::sync::{Arc, Mutex, MutexGuard};

use wifair_core::{Packet, Rate, StationId, Time};

use crate::words::{Eviction, Outcome, Refusal};

/// An event in a packet's stay at a transmit queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxQueueEvent {
    /// It was admitted.
    Enqueued,
    /// It was refused.
    Refused(Refusal),
    /// It was evicted.
    Evicted {
        /// The reason.
        reason: Eviction,
        /// When it had been admitted.
        enqueued_at: Time,
    },
    /// CE was set on it (RFC 3168).
    CeMarked,
    /// ECE was set on it, a pure ACK in the queue.
    EceMarked,
    /// It was handed to the MAC.
    Dequeued {
        /// When it had been admitted.
        enqueued_at: Time,
    },
    /// Its service by the MAC has ended.
    Finished {
        /// The outcome.
        outcome: Outcome,
        /// Data rate of the last attempt.
        rate: Rate,
        /// Number of transmissions.
        attempts: u8,
        /// Time for which the transmissions occupied the medium.
        airtime: Time,
        /// From head of line to the end of service.
        service: Time,
    },
}

/// An entry of a [`Journal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Time of the event.
    pub at: Time,
    /// The transmit queue's number, as assigned by its owner.
    pub port: u32,
    /// The event.
    pub event: TxQueueEvent,
    /// The packet after the event: with the mark, if it got one.
    pub packet: Packet,
    /// The station that the packet goes to or comes from.
    pub station: StationId,
    /// Packets queued at the transmit queue after the decision: an arrival and the packets evicted for it have the same number.
    pub queued_packets: u32,
}

/// Events at transmit queues in order, until they are taken. Clones share their entries; each clone writes for one transmit
/// queue.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    entries: Arc<Mutex<Vec<JournalEntry>>>,
    port: u32,
}

impl Journal {
    /// An empty journal.
    pub fn new() -> Journal {
        Journal::default()
    }

    /// Returns a handle to the same journal for the transmit queue of this number.
    pub fn of_port(&self, port: u32) -> Journal {
        Journal { entries: Arc::clone(&self.entries), port }
    }

    /// Passes all entries so far to `each`, in order, and removes them.
    pub fn take(&self, mut each: impl FnMut(&JournalEntry)) {
        let mut entries = self.entries();
        entries.iter().for_each(&mut each);
        entries.clear();
    }

    fn entries(&self) -> MutexGuard<'_, Vec<JournalEntry>> {
        self.entries.lock().expect("nobody panics while this is held")
    }

    /// Adds an entry. `queued_packets` is filled in after the decision.
    pub(crate) fn note(&self, at: Time, event: TxQueueEvent, packet: &Packet, station: StationId) {
        let port = self.port;
        self.entries().push(JournalEntry { at, port, event, packet: *packet, station, queued_packets: 0 });
    }

    /// Corrects the entries from `from` on after another scheme has taken over a queue at `now`, of which `queued` packets are
    /// left. Each was noted at its packet's enqueue time, and the packets that the scheme refused had been admitted before.
    pub(crate) fn settle_takeover(&self, from: usize, queued: usize, now: Time) {
        for entry in &mut self.entries()[from..] {
            if let TxQueueEvent::Refused(_) = entry.event {
                entry.event = TxQueueEvent::Evicted { reason: Eviction::Victim, enqueued_at: entry.at };
            }
            entry.at = now;
        }
        self.settle(from, queued);
    }

    /// Starts a decision: returns the index of its first entry.
    pub(crate) fn begin(&self) -> usize {
        self.entries().len()
    }

    /// Ends the decision whose entries begin at `from`, with `queued` packets.
    pub(crate) fn settle(&self, from: usize, queued: usize) {
        for entry in &mut self.entries()[from..] {
            entry.queued_packets = queued as u32;
        }
    }

    /// Like [`Journal::settle`], for an arrival that was noted as admitted. If it was refused, the refusal replaces that entry.
    pub(crate) fn settle_arrival(&self, from: usize, queued: usize) {
        let mut entries = self.entries();
        let refusal = entries[from..].iter().position(|e| matches!(e.event, TxQueueEvent::Refused(_)));
        if let Some(refusal) = refusal {
            entries[from] = entries.remove(from + refusal);
        }
        drop(entries);
        self.settle(from, queued);
    }
}
