//! The journal of ports: records what happens to every packet.
//!
//! A port without a journal has no overhead. The buffer itself notes only exceptional events (refusals, evictions, marks); the
//! rest is recorded by a [`Scheme`] that wraps the port's scheme and forwards every call.

use std::sync::{Arc, Mutex, MutexGuard};

use wifair_core::{Ac, Class, FlowId, Packet, Rate, StationId, Time};

use crate::{
    Arrival, Buffer, Cx, Departure, Eviction, Exchange, Grant, Hooks, Indexes, Outcome, Placed, Reception,
    Refusal, Scheme, SchemeSpec, Transmission,
};

/// An event in a packet's stay at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortEvent {
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
pub struct Entry {
    /// Time of the event.
    pub at: Time,
    /// The port's number, as assigned by its owner.
    pub port: u32,
    /// The event.
    pub event: PortEvent,
    /// The packet after the event: with the mark, if it got one.
    pub packet: Packet,
    /// The station that the packet goes to or comes from.
    pub station: StationId,
    /// Packets queued at the port after the decision: an arrival and the packets evicted for it have the same number.
    pub queued_packets: u32,
}

/// Events at ports in order, until they are taken. Clones share their entries; each clone writes for one port.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    entries: Arc<Mutex<Vec<Entry>>>,
    port: u32,
}

impl Journal {
    /// An empty journal.
    pub fn new() -> Journal {
        Journal::default()
    }

    /// Returns a handle to the same journal for the port of this number.
    pub fn of_port(&self, port: u32) -> Journal {
        Journal { entries: Arc::clone(&self.entries), port }
    }

    /// Passes all entries so far to `each`, in order, and removes them.
    pub fn take(&self, mut each: impl FnMut(&Entry)) {
        let mut entries = self.entries();
        entries.iter().for_each(&mut each);
        entries.clear();
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().expect("nobody panics while this is held")
    }

    /// Adds an entry. `queued_packets` is filled in after the decision.
    pub(crate) fn note(&self, at: Time, event: PortEvent, packet: &Packet, station: StationId) {
        let port = self.port;
        self.entries().push(Entry { at, port, event, packet: *packet, station, queued_packets: 0 });
    }

    /// Corrects the entries from `from` on after another scheme has taken over the packets of `buffer` at `now`. Each was noted
    /// at its packet's enqueue time, and the packets that the scheme refused had been admitted before.
    pub(crate) fn settle_takeover(&self, from: usize, buffer: &Buffer, now: Time) {
        for entry in &mut self.entries()[from..] {
            if let PortEvent::Refused(_) = entry.event {
                entry.event = PortEvent::Evicted { reason: Eviction::Victim, enqueued_at: entry.at };
            }
            entry.at = now;
        }
        self.settle(from, buffer);
    }

    /// Starts a decision: returns the index of its first entry.
    pub(crate) fn begin(&self) -> usize {
        self.entries().len()
    }

    /// Ends the decision whose entries begin at `from`.
    fn settle(&self, from: usize, buffer: &Buffer) {
        for entry in &mut self.entries()[from..] {
            entry.queued_packets = buffer.len() as u32;
        }
    }

    /// Like [`Journal::settle`], for an arrival that was noted as admitted. If it was refused, the refusal replaces that entry.
    fn settle_arrival(&self, from: usize, buffer: &Buffer) {
        let mut entries = self.entries();
        let refusal = entries[from..].iter().position(|e| matches!(e.event, PortEvent::Refused(_)));
        if let Some(refusal) = refusal {
            entries[from] = entries.remove(from + refusal);
        }
        drop(entries);
        self.settle(from, buffer);
    }
}

/// A scheme that records in its port's journal and forwards every call.
pub(crate) struct Journaled {
    scheme: Box<dyn Scheme>,
    hooks: Hooks,
    journal: Journal,
}

impl Journaled {
    pub fn new(scheme: Box<dyn Scheme>, journal: Journal) -> Journaled {
        Journaled { hooks: scheme.hooks(), scheme, journal }
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
        self.journal.note(cx.now, PortEvent::Enqueued, arrival.packet(), arrival.station());
        let placed = self.scheme.enqueue(arrival, buffer, cx);
        self.journal.settle_arrival(from, buffer);
        placed
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, cx: &mut Cx) -> Option<Departure> {
        let from = self.journal.begin();
        let departure = self.scheme.dequeue(grant, buffer, cx);
        if let Some(departure) = &departure {
            let event = PortEvent::Dequeued { enqueued_at: departure.enqueued_at };
            self.journal.note(cx.now, event, &departure.packet, departure.station);
        }
        self.journal.settle(from, buffer);
        departure
    }

    fn arbitrates(&self) -> bool {
        self.scheme.arbitrates()
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

    /// The port tells a scheme with a journal about each exchange in any case.
    fn hooks(&self) -> Hooks {
        self.hooks
    }

    fn on_exchange(&mut self, exchange: &Exchange, buffer: &mut Buffer, cx: &mut Cx) {
        let from = self.journal.begin();
        let &Exchange { outcome, rate, attempts, airtime, service, .. } = exchange;
        for packet in exchange.packets {
            let event = PortEvent::Finished { outcome, rate, attempts, airtime, service };
            self.journal.note(cx.now, event, packet, exchange.station);
        }
        if self.hooks.exchange {
            self.scheme.on_exchange(exchange, buffer, cx);
        }
        self.journal.settle(from, buffer);
    }

    fn on_transmission(&mut self, transmission: &Transmission, buffer: &mut Buffer, cx: &mut Cx) {
        let from = self.journal.begin();
        self.scheme.on_transmission(transmission, buffer, cx);
        self.journal.settle(from, buffer);
    }

    fn on_reception(&mut self, reception: &Reception, buffer: &mut Buffer, cx: &mut Cx) {
        let from = self.journal.begin();
        self.scheme.on_reception(reception, buffer, cx);
        self.journal.settle(from, buffer);
    }

    fn on_link_rate(&mut self, station: StationId, buffer: &mut Buffer, cx: &mut Cx) {
        let from = self.journal.begin();
        self.scheme.on_link_rate(station, buffer, cx);
        self.journal.settle(from, buffer);
    }

    fn next_tick(&self) -> Option<Time> {
        self.scheme.next_tick()
    }

    fn on_tick(&mut self, buffer: &mut Buffer, cx: &mut Cx) {
        let from = self.journal.begin();
        self.scheme.on_tick(buffer, cx);
        self.journal.settle(from, buffer);
    }

    fn evict_excess(&mut self, buffer: &mut Buffer) {
        let from = self.journal.begin();
        self.scheme.evict_excess(buffer);
        self.journal.settle(from, buffer);
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
