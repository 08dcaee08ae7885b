//! Replacing the scheme of a buffer.

use wifair_core::Time;

use super::Buffer;
use super::indexes::{Index, Indexes};
use super::ledger::FlowRows;
use super::slots::{Slot, Slots};
use crate::journal::Journal;

impl Buffer {
    /// Empties the buffer and returns its packets from head to tail. The buffer then has the indexes that the next scheme
    /// needs. Counts do not change: each packet is to be admitted again at once ([`Buffer::stand_at`]) or counted as evicted
    /// ([`Buffer::settle_takeover`]).
    pub(crate) fn surrender(&mut self, needs: Indexes) -> Vec<Slot> {
        self.length_changes();
        let order = std::iter::successors(self.head(), |&slot| self.after(slot));
        let queued = order.map(|slot| *self.slots.get(slot)).collect();
        self.slots = Slots::new();
        self.index = needs.any().then(|| Box::new(Index::new(needs)));
        if let Some(index) = &mut self.index {
            index.grow_flows(self.books.flows.len());
        }
        queued
    }

    /// Sets the clock to `at`, the enqueue time of the next packet to admit. No time is added to any length until the clock is
    /// reset.
    pub(crate) fn stand_at(&mut self, at: Time) {
        (self.now, self.length_since) = (at, at);
    }

    /// Counts packets that the next scheme has refused since `before` as evicted, since they had been admitted.
    pub(crate) fn settle_takeover(&mut self, before: &[FlowRows]) {
        for (flow, earlier) in self.books.flows.iter_mut().zip(before) {
            for (row, earlier) in flow.rows.iter_mut().zip(&earlier.rows) {
                row.refused_as_evicted(earlier);
            }
        }
    }

    /// Stops the journal.
    pub(crate) fn stop_journal(&mut self) {
        self.journal = None;
    }

    /// The journal, if kept.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }
}
