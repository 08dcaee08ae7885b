//! A scheme that records what another does in the journal of its transmit queue.

use wifair_core::{Ac, Class, FlowId, StationId, Time};

use crate::buffer::{Arrival, Buffer, DequeuedPacket, Indexes, Placed};
use crate::journal::{Journal, TxQueueEvent};
use crate::scheme::{Cx, Hooks, Scheme};
use crate::schemes::SchemeSpec;
use crate::words::{Exchange, Grant, Reception, Transmission};

/// A scheme that records in its transmit queue's journal and forwards every call.
pub(crate) struct Journaled {
    scheme: Box<dyn Scheme>,
    hooks: Hooks,
    journal: Journal,
}

impl Journaled {
    pub fn new(scheme: Box<dyn Scheme>, journal: Journal) -> Journaled {
        Journaled { hooks: scheme.hooks(), scheme, journal }
    }

    /// Calls the scheme and completes the entries that the buffer adds meanwhile.
    fn settled(&mut self, buffer: &mut Buffer, call: impl FnOnce(&mut dyn Scheme, &mut Buffer)) {
        let from = self.journal.begin();
        call(&mut *self.scheme, buffer);
        self.journal.settle(from, buffer.len());
    }
}

impl Scheme for Journaled {
    fn needs(&self) -> Indexes {
        self.scheme.needs()
    }

    fn decides_on(&self) -> &'static [Class] {
        self.scheme.decides_on()
    }

    fn usual_limit_packets(&self) -> u32 {
        self.scheme.usual_limit_packets()
    }

    fn serves_categories(&self) -> bool {
        self.scheme.serves_categories()
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        let from = self.journal.begin();
        self.journal.note(cx.now, TxQueueEvent::Enqueued, arrival.packet(), arrival.station());
        let placed = self.scheme.enqueue(arrival, buffer, cx);
        self.journal.settle_arrival(from, buffer.len());
        placed
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, cx: &mut Cx) -> Option<DequeuedPacket> {
        let from = self.journal.begin();
        let departure = self.scheme.dequeue(grant, buffer, cx);
        if let Some(departure) = &departure {
            let event = TxQueueEvent::Dequeued { enqueued_at: departure.enqueued_at };
            self.journal.note(cx.now, event, &departure.packet, departure.station);
        }
        self.journal.settle(from, buffer.len());
        departure
    }

    fn choose_station(
        &mut self,
        grant: &Grant,
        is_pending: &dyn Fn(StationId) -> bool,
        buffer: &mut Buffer,
        cx: &mut Cx,
    ) -> Option<StationId> {
        self.scheme.choose_station(grant, is_pending, buffer, cx)
    }

    fn on_pending(&mut self, station: StationId, ac: Ac, cx: &mut Cx) {
        self.scheme.on_pending(station, ac, cx);
    }

    /// The transmit queue tells a scheme with a journal about each exchange in any case.
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn on_exchange(&mut self, exchange: &Exchange, buffer: &mut Buffer, cx: &mut Cx) {
        let from = self.journal.begin();
        let &Exchange { outcome, rate, attempts, airtime, service, .. } = exchange;
        for packet in exchange.packets {
            let event = TxQueueEvent::Finished { outcome, rate, attempts, airtime, service };
            self.journal.note(cx.now, event, packet, exchange.station);
        }
        if self.hooks.exchange {
            self.scheme.on_exchange(exchange, buffer, cx);
        }
        self.journal.settle(from, buffer.len());
    }

    fn on_transmission(&mut self, transmission: &Transmission, buffer: &mut Buffer, cx: &mut Cx) {
        self.settled(buffer, |scheme, buffer| scheme.on_transmission(transmission, buffer, cx));
    }

    fn on_reception(&mut self, reception: &Reception, buffer: &mut Buffer, cx: &mut Cx) {
        self.settled(buffer, |scheme, buffer| scheme.on_reception(reception, buffer, cx));
    }

    fn on_link_rate(&mut self, station: StationId, buffer: &mut Buffer, cx: &mut Cx) {
        self.settled(buffer, |scheme, buffer| scheme.on_link_rate(station, buffer, cx));
    }

    fn next_tick(&self) -> Option<Time> {
        self.scheme.next_tick()
    }

    fn on_tick(&mut self, buffer: &mut Buffer, cx: &mut Cx) {
        self.settled(buffer, |scheme, buffer| scheme.on_tick(buffer, cx));
    }

    fn evict_excess(&mut self, buffer: &mut Buffer) {
        self.settled(buffer, |scheme, buffer| scheme.evict_excess(buffer));
    }

    fn on_forgotten(&mut self, flow: FlowId) {
        self.scheme.on_forgotten(flow);
    }

    fn begin(&mut self, now: Time) {
        self.scheme.begin(now);
    }

    fn take_inner(&mut self) -> Option<Box<dyn Scheme>> {
        Some(std::mem::replace(&mut self.scheme, SchemeSpec::default().build()))
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.scheme.gauges(out);
    }
}
