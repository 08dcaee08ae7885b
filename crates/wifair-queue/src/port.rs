use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{FlowId, LogHistogram, Packet, Rng, SpecError, StationId, Time};

use crate::snapshot::Ledger;
use crate::{
    Buffer, Count, Cx, Departure, Exchange, Grant, Hooks, Outcome, PortSnapshot, Reception, Refusal, Scheme,
    SchemeSpec,
};
use crate::{Shortcuts, View};

/// Parameters of a port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PortSpec {
    /// Greatest number of packets in the buffer, 1 to 100000.
    pub limit_packets: u32,
    /// Whether the limit counts the packet that the MAC is sending, as it does in ns-2.
    pub limit_counts_in_service: bool,
    /// Queue management scheme.
    pub scheme: SchemeSpec,
}

impl Default for PortSpec {
    fn default() -> PortSpec {
        PortSpec { limit_packets: 100, limit_counts_in_service: false, scheme: SchemeSpec::default() }
    }
}

impl PortSpec {
    /// Checks the values; `path` is where the component stands in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        if !(1..=100_000).contains(&self.limit_packets) {
            let key = format!("{path}.limit_packets");
            return Err(SpecError::new(key, self.limit_packets, "1 to 100000 packets"));
        }
        self.scheme.validate(&format!("{path}.scheme"))
    }
}

/// A buffer, a scheme and one random stream: what stands behind a MAC, at the access point and at stations alike.
///
/// Calls come in the order of time. A station, which has no flow monitor, gives all its packets the flow id 0 and an
/// idle [`Flows`](crate::Flows) as view.
pub struct Port {
    buffer: Buffer,
    scheme: Box<dyn Scheme>,
    hooks: Hooks,
    shortcuts: Shortcuts,
    rng: Rng,
}

impl Port {
    /// An empty port. `spec` is taken as valid; `label` names the node (as `"ap"`), its stream is that of
    /// (`seed`, `label`, `"scheme"`).
    pub fn new(spec: &PortSpec, seed: u64, label: &str) -> Port {
        Port::with_scheme(spec, spec.scheme.build(), seed, label)
    }

    /// As [`Port::new`], with a scheme that is not in the registry in place of the one that `spec` names.
    pub fn with_scheme(spec: &PortSpec, scheme: Box<dyn Scheme>, seed: u64, label: &str) -> Port {
        Port {
            buffer: Buffer::new(spec.limit_packets, spec.limit_counts_in_service, scheme.needs()),
            hooks: scheme.hooks(),
            shortcuts: scheme.shortcuts(),
            scheme,
            rng: Rng::stream(seed, label, "scheme"),
        }
    }

    /// A packet arrives for transmission to `station`.
    #[inline]
    pub fn offer(&mut self, packet: &Packet, flow: FlowId, station: StationId, now: Time, view: View) {
        self.buffer.advance(now);
        let arrival = self.buffer.arrival(packet, flow, station);
        let full = self.buffer.is_full();
        let _placed = if self.shortcuts.append && !full {
            self.buffer.put_at_tail(arrival)
        } else if self.shortcuts.tail_drop && full {
            self.buffer.refuse(arrival, Refusal::TailDrop)
        } else {
            let mut cx = Cx { now, rng: &mut self.rng, flows: view.flows, links: view.links };
            self.scheme.enqueue(arrival, &mut self.buffer, &mut cx)
        };
    }

    /// The MAC is free and takes the next packet into service. `None` may come with packets queued: ask again after
    /// an offer, an exchange or a tick.
    #[inline(always)]
    pub fn take(&mut self, grant: &Grant, now: Time, view: View) -> Option<Departure> {
        if self.buffer.is_empty() {
            return None;
        }
        self.buffer.advance(now);
        if self.shortcuts.release_head {
            return self.buffer.release_head(grant);
        }
        let mut cx = Cx { now, rng: &mut self.rng, flows: view.flows, links: view.links };
        self.scheme.dequeue(grant, &mut self.buffer, &mut cx)
    }

    /// The MAC is done with a packet, all its attempts included. `exchange` is asked only where the scheme looks at it.
    #[inline]
    pub fn finish<'a>(
        &mut self,
        departure: &Departure,
        outcome: Outcome,
        now: Time,
        view: View,
        exchange: impl FnOnce() -> Exchange<'a>,
    ) {
        self.buffer.finish(departure, outcome);
        if self.hooks.exchange {
            self.buffer.advance(now);
            let mut cx = Cx { now, rng: &mut self.rng, flows: view.flows, links: view.links };
            self.scheme.on_exchange(&exchange(), &mut self.buffer, &mut cx);
        }
    }

    /// The access point has received a data frame. For schemes with [`Hooks::reception`] alone.
    pub fn receive(&mut self, reception: &Reception, now: Time, view: View) {
        self.buffer.advance(now);
        let mut cx = Cx { now, rng: &mut self.rng, flows: view.flows, links: view.links };
        self.scheme.on_reception(reception, &mut self.buffer, &mut cx);
    }

    /// The optional methods of the scheme that are to be called.
    pub fn hooks(&self) -> Hooks {
        self.hooks
    }

    /// When the scheme wants [`Port::tick`] next; ask again after every call.
    #[inline]
    pub fn next_tick(&self) -> Option<Time> {
        if self.hooks.tick { self.scheme.next_tick() } else { None }
    }

    /// The time of [`Port::next_tick`] has come.
    pub fn tick(&mut self, now: Time, view: View) {
        self.buffer.advance(now);
        let mut cx = Cx { now, rng: &mut self.rng, flows: view.flows, links: view.links };
        self.scheme.on_tick(&mut self.buffer, &mut cx);
    }

    /// Whether a packet of the flow is queued or in service.
    #[inline]
    pub fn holds(&self, flow: FlowId) -> bool {
        self.buffer.holds(flow)
    }

    /// Packets queued.
    #[inline]
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether nothing is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The buffer, to look at.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Nanoseconds from enqueue to dequeue of each packet dequeued so far.
    pub fn sojourn(&self) -> &LogHistogram {
        self.buffer.sojourn()
    }

    /// Moves the buffer's limit; see [`Buffer::set_limit`].
    pub fn set_limit(&mut self, packets: u32) {
        self.buffer.set_limit(packets);
    }

    /// Inner quantities of the scheme that are worth recording.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.scheme.gauges(out);
    }

    /// Closes the books on a flow that the monitor has forgotten
    /// ([`Flows::pop_forgotten`](crate::Flows::pop_forgotten)) and gives out its ledger by class. Its counts stay in
    /// the port's totals. Panics while a packet of it is queued or in service.
    pub fn retire(&mut self, flow: FlowId) -> [Ledger; 3] {
        if self.hooks.forgotten {
            self.scheme.on_forgotten(flow);
        }
        self.buffer.retire(flow).map(|row| Ledger::of(&row, Count::default()))
    }

    /// All counters up to `now`.
    pub fn snapshot(&self, now: Time) -> PortSnapshot {
        PortSnapshot::of(&self.buffer, now)
    }
}
