//! The journal of transmit queues: records what happens to every packet.
//!
//! A transmit queue without a journal has no overhead. The buffer notes exceptional events (refusals, evictions, marks), the
//! transmit queue the others around its calls to the scheme, for which a journal turns the scheme's shortcuts off.

use std::sync::{Arc, Mutex, MutexGuard};

use wifair_core::{Packet, Rate, StationId, Time};

use crate::words::{Eviction, Outcome, PoliceAction, Refusal};

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
    /// It came from a station, and the access point's scheme has decided about it: [`PoliceAction::Mark`] only if it got CE.
    Policed(PoliceAction),
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
    pub tx_queue: u32,
    /// The event.
    pub event: TxQueueEvent,
    /// The packet after the event: with the mark, if it got one.
    pub packet: Packet,
    /// The station that the packet goes to or comes from.
    pub station: StationId,
    /// Packets queued at the transmit queue after the decision: an arrival and the packets evicted for it have the same number.
    pub queued_packets: u32,
}

/// Number of queued packets of an entry whose decision is not over.
const UNSETTLED: u32 = u32::MAX;

/// Events at transmit queues in order, until they are taken. Clones share their entries; each clone writes for one transmit
/// queue.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    entries: Arc<Mutex<Vec<JournalEntry>>>,
    tx_queue: u32,
}

impl Journal {
    /// An empty journal.
    pub fn new() -> Journal {
        Journal::default()
    }

    /// Returns a handle to the same journal for the transmit queue of this number.
    pub fn of_tx_queue(&self, tx_queue: u32) -> Journal {
        Journal { entries: Arc::clone(&self.entries), tx_queue }
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
    #[cold]
    #[inline(never)]
    pub(crate) fn note(&self, at: Time, event: TxQueueEvent, packet: &Packet, station: StationId) {
        let tx_queue = self.tx_queue;
        self.entries().push(JournalEntry {
            at,
            tx_queue,
            event,
            packet: *packet,
            station,
            queued_packets: UNSETTLED,
        });
    }

    /// Ends the decision that noted the last entries, with `queued` packets. If it noted an arrival as admitted and then
    /// refused it, the refusal replaces that entry.
    pub(crate) fn settle(&self, queued: usize) {
        let mut entries = self.entries();
        let from = first_unsettled(&entries);
        let refusal = entries[from..].iter().position(|e| matches!(e.event, TxQueueEvent::Refused(_)));
        if let Some(refusal) = refusal
            && entries[from].event == TxQueueEvent::Enqueued
        {
            entries[from] = entries.remove(from + refusal);
        }
        entries[from..].iter_mut().for_each(|entry| entry.queued_packets = queued as u32);
    }

    /// Like [`Journal::settle`], after another scheme has taken over a queue at `now`. Each entry was noted at its packet's
    /// enqueue time, and the packets that the scheme refused had been admitted before.
    pub(crate) fn settle_takeover(&self, queued: usize, now: Time) {
        let mut entries = self.entries();
        let from = first_unsettled(&entries);
        for entry in &mut entries[from..] {
            if let TxQueueEvent::Refused(_) = entry.event {
                entry.event = TxQueueEvent::Evicted { reason: Eviction::Victim, enqueued_at: entry.at };
            }
            entry.at = now;
        }
        drop(entries);
        self.settle(queued);
    }
}

fn first_unsettled(entries: &[JournalEntry]) -> usize {
    entries.iter().rposition(|entry| entry.queued_packets != UNSETTLED).map_or(0, |last| last + 1)
}
