//! Replacing the scheme of a transmit queue in use.

use wifair_core::Time;

use super::TxQueue;
use crate::scheme::{Cx, Scheme, View};

impl TxQueue {
    /// Replaces the scheme from `now` on. `scheme` is offered the queued packets in order, from head to tail, as arrivals that
    /// keep their enqueue times. Packets that it does not place count as evicted. Limit, counters, random stream, limit
    /// controller and journal are kept.
    pub fn change_scheme(&mut self, mut scheme: Box<dyn Scheme>, now: Time, view: View) {
        self.buffer.fifo_mut().advance(now);
        let before = self.buffer.fifo().counters().flows.clone();
        scheme.begin(now);
        for queued in self.buffer.drain(scheme.needs()) {
            self.buffer.fifo_mut().set_clock(queued.enqueued_at);
            let arrival = self.buffer.arrival(&queued.packet, queued.flow, queued.station, queued.ac);
            let mut cx = Cx { now, rng: &mut self.rng, flows: view.flows, links: view.links };
            let _placed = scheme.enqueue(arrival, &mut self.buffer, &mut cx);
        }
        self.buffer.fifo_mut().set_clock(now);
        self.buffer.fifo_mut().count_refused_as_evicted(&before);
        self.scheme = scheme;
        self.read_declarations();
        if let Some(journal) = &self.buffer.observers.journal {
            journal.settle_takeover(self.buffer.len(), now);
        }
        self.follow_up(now);
    }

    /// Stops the journal. Results do not change.
    pub fn stop_journal(&mut self) {
        self.buffer.observers.journal = None;
        self.read_declarations();
    }
}
