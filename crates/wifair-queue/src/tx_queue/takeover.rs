//! Replacing the scheme of a transmit queue in use.

use wifair_core::Time;

use super::TxQueue;
use crate::limit::Wants;
use crate::scheme::{Cx, Scheme, Shortcuts, View};

impl TxQueue {
    /// Replaces the scheme from `now` on. `scheme` is offered the queued packets in order, from head to tail, as arrivals that
    /// keep their enqueue times. Packets that it does not place count as evicted. Limit, counters, random stream, limit
    /// controller and journal are kept.
    pub fn change_scheme(&mut self, mut scheme: Box<dyn Scheme>, now: Time, view: View) {
        self.buffer.advance(now);
        let before = self.buffer.books().flows.clone();
        let journal = self.buffer.journal().cloned();
        let from = journal.as_ref().map_or(0, |journal| journal.begin());
        scheme.begin(now);
        for queued in self.buffer.surrender(scheme.needs()) {
            self.buffer.stand_at(queued.enqueued_at);
            let arrival = self.buffer.arrival(&queued.packet, queued.flow, queued.station, queued.ac);
            let mut cx = Cx { now, rng: &mut self.rng, flows: view.flows, links: view.links };
            let _placed = scheme.enqueue(arrival, &mut self.buffer, &mut cx);
        }
        self.buffer.stand_at(now);
        self.buffer.settle_takeover(&before);
        self.adopt(scheme);
        if let Some(journal) = journal {
            journal.settle_takeover(from, self.buffer.len(), now);
            self.keep_journal(&journal);
        }
        self.watch(now);
    }

    /// Stops the journal. Results do not change.
    pub fn stop_journal(&mut self) {
        if let Some(scheme) = self.scheme.take_inner() {
            self.adopt(scheme);
            self.buffer.stop_journal();
            self.review();
        }
    }

    /// Installs `scheme` in the transmit queue.
    fn adopt(&mut self, scheme: Box<dyn Scheme>) {
        let wants = self.control.as_ref().map_or(Wants::default(), |control| control.wants());
        self.hooks = scheme.hooks();
        self.shortcuts = if wants.idle { Shortcuts::NONE } else { scheme.shortcuts() };
        self.looks_at_exchanges = self.hooks.exchange || wants.exchange || wants.idle;
        self.scheme = scheme;
        self.review();
    }
}
