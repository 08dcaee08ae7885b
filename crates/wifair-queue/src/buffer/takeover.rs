//! What a buffer does when another scheme takes it over.

use wifair_core::Time;

use super::indexes::Index;
use super::ledger::FlowRows;
use super::slots::{Slot, Slots};
use super::{Buffer, Indexes};

impl Buffer {
    /// Gives out the packets from head to tail and is empty then, with the indexes that the next scheme asks for. No count
    /// changes: the packets are to come back at once ([`Buffer::stand_at`]), or to be counted as evicted
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

    /// The next packet to come in has been queued since `at`. No length lasts any time until the clock is set right again.
    pub(crate) fn stand_at(&mut self, at: Time) {
        (self.now, self.length_since) = (at, at);
    }

    /// What the next scheme has refused since the counts were `before` counts as evicted: it had been let in.
    pub(crate) fn settle_takeover(&mut self, before: &[FlowRows]) {
        for (flow, earlier) in self.books.flows.iter_mut().zip(before) {
            for (row, earlier) in flow.rows.iter_mut().zip(&earlier.rows) {
                row.refused_as_evicted(earlier);
            }
        }
    }

    /// Nothing is written down any more.
    pub(crate) fn stop_journal(&mut self) {
        self.journal = None;
    }

    /// The journal that is kept.
    pub(crate) fn journal(&self) -> Option<&crate::journal::Journal> {
        self.journal.as_ref()
    }
}
