mod takeover;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Ac, Counters, Ecn, FlowId, LogHistogram, Packet, Rng, SpecError, StationId, Time};

use crate::buffer::{Buffer, Count, DequeuedPacket, DequeuedSlot, TxCompletion};
use crate::journal::{Journal, TxQueueEvent};
use crate::limit::LimitControl;
use crate::limit::Wants;
use crate::limits::LimitSpec;
use crate::policing::PolicingCounters;
use crate::scheme::{Cx, Hooks, Scheme, Shortcuts, View};
use crate::schemes::SchemeSpec;
use crate::snapshot::Ledger;
use crate::snapshot::TxQueueSnapshot;
use crate::words::{Exchange, Grant, Outcome, PoliceAction, Reception, Refusal, Transmission};

/// Parameters of a transmit queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "GivenTxQueue")]
pub struct TxQueueSpec {
    /// Limit in packets, 1 to 100000; with a limit controller, the initial limit.
    pub limit_packets: u32,
    /// Limit controller, which adjusts the limit during the run, with any scheme.
    pub limit_controller: Option<LimitSpec>,
    /// What happens to packets above a limit that a limit controller or an event lowers.
    pub lowered_limit: LoweredLimit,
    /// Whether the packets in service at the MAC count towards the limit, as in ns-2.
    pub limit_counts_in_service: bool,
    /// Queue management scheme.
    pub scheme: SchemeSpec,
}

/// [`TxQueueSpec`] as it is written: the limit may be left to the scheme.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct GivenTxQueue {
    /// Limit in packets, 1 to 100000; with a limit controller, the initial limit. By default 100, or what the scheme has in
    /// its reference implementation: 10240 for `fq-codel`, 8192 for `mac80211` and `air-share`.
    limit_packets: Option<u32>,
    /// Limit controller, which adjusts the limit during the run, with any scheme.
    limit_controller: Option<LimitSpec>,
    /// What happens to packets above a limit that a limit controller or an event lowers.
    lowered_limit: LoweredLimit,
    /// Whether the packets in service at the MAC count towards the limit, as in ns-2.
    limit_counts_in_service: bool,
    /// Queue management scheme.
    scheme: SchemeSpec,
}

impl Default for GivenTxQueue {
    fn default() -> GivenTxQueue {
        let TxQueueSpec { limit_controller, lowered_limit, limit_counts_in_service, scheme, .. } =
            TxQueueSpec::default();
        GivenTxQueue { limit_packets: None, limit_controller, lowered_limit, limit_counts_in_service, scheme }
    }
}

impl From<GivenTxQueue> for TxQueueSpec {
    fn from(given: GivenTxQueue) -> TxQueueSpec {
        let GivenTxQueue { limit_packets, limit_controller, lowered_limit, limit_counts_in_service, scheme } =
            given;
        // A scheme that cannot be built is refused later, whatever its limit.
        let limit_packets = limit_packets.unwrap_or_else(|| match scheme.validate("") {
            Ok(()) => scheme.build().usual_limit_packets(),
            Err(_) => TxQueueSpec::default().limit_packets,
        });
        TxQueueSpec { limit_packets, limit_controller, lowered_limit, limit_counts_in_service, scheme }
    }
}

/// What happens to packets above a limit that is lowered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoweredLimit {
    /// They remain; the buffer is full until it has drained.
    #[default]
    Drain,
    /// The excess is evicted at once, in reverse order of service.
    Evict,
}

impl Default for TxQueueSpec {
    fn default() -> TxQueueSpec {
        TxQueueSpec {
            limit_packets: 100,
            limit_controller: None,
            lowered_limit: LoweredLimit::default(),
            limit_counts_in_service: false,
            scheme: SchemeSpec::default(),
        }
    }
}

impl TxQueueSpec {
    /// Checks the values. `path` is the component's key in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        if !(1..=100_000).contains(&self.limit_packets) {
            let key = format!("{path}.limit_packets");
            return Err(SpecError::new(key, self.limit_packets, "1 to 100000 packets"));
        }
        if let Some(controller) = &self.limit_controller {
            controller.validate(&format!("{path}.limit_controller"))?;
            let bounds = controller.build().bounds();
            if !bounds.contains(&self.limit_packets) {
                let allowed =
                    format!("{} to {} packets, the limit controller's bounds", bounds.start(), bounds.end());
                return Err(SpecError::new(format!("{path}.limit_packets"), self.limit_packets, allowed));
            }
        }
        self.scheme.validate(&format!("{path}.scheme"))
    }
}

/// A buffer, a scheme, optionally a limit controller, and one random stream: the queue above a MAC, at the access point and at
/// stations alike.
///
/// Calls come in order of time. A station has no flow monitor: all its packets have flow id 0, and it passes an idle
/// [`Flows`](crate::Flows) as view.
#[repr(C)] // as in `Buffer`
pub struct TxQueue {
    /// True if every decision is a shortcut, nothing is observed, and the buffer has only its order and its counters: the short
    /// paths apply. Recomputed by [`TxQueue::review`], like the next two.
    plain: bool,
    /// The same with an order by station as the only index.
    by_station: bool,
    /// Whether anything observes what becomes of packets, or calls may move the tick.
    observed: bool,
    /// Whether the scheme or the limit controller observes exchanges.
    observes_exchanges: bool,
    /// Whether calls to the scheme are followed up: for a journal, or to measure idle times.
    watches: bool,
    hooks: Hooks,
    shortcuts: Shortcuts,
    lowered_limit: LoweredLimit,
    buffer: Buffer,
    scheme: Box<dyn Scheme>,
    control: Option<Box<LimitControl>>,
    rng: Rng,
    /// Nanoseconds from dequeue to first transmission, on links that aggregate.
    wait_below: LogHistogram,
    /// Counters of the packets from stations, once a scheme polices them.
    policing: Option<Box<PolicingCounters>>,
}

impl TxQueue {
    /// Creates an empty transmit queue. `spec` must be valid. `label` names the node (such as `"ap"`); the random stream is
    /// that of (`seed`, `label`, `"scheme"`).
    pub fn new(spec: &TxQueueSpec, seed: u64, label: &str) -> TxQueue {
        TxQueue::for_purpose(spec, seed, label, "scheme")
    }

    /// Like [`TxQueue::new`], with the stream of (`seed`, `label`, `purpose`): one of several transmit queues of a node.
    pub fn for_purpose(spec: &TxQueueSpec, seed: u64, label: &str, purpose: &str) -> TxQueue {
        TxQueue {
            rng: Rng::stream(seed, label, purpose),
            ..TxQueue::with_scheme(spec, spec.scheme.build(), seed, label)
        }
    }

    /// Like [`TxQueue::new`], for several access categories: a packet leaves to a grant for its category. For schemes with
    /// [`Scheme::serves_categories`].
    pub fn for_categories(spec: &TxQueueSpec, seed: u64, label: &str) -> TxQueue {
        TxQueue::for_categories_with_scheme(spec, spec.scheme.build(), seed, label)
    }

    /// Like [`TxQueue::for_categories`], with a scheme that is not in the registry.
    pub fn for_categories_with_scheme(
        spec: &TxQueueSpec,
        scheme: Box<dyn Scheme>,
        seed: u64,
        label: &str,
    ) -> TxQueue {
        assert!(scheme.serves_categories(), "a scheme that gives each category its own");
        let needs = scheme.needs().by_category();
        let mut queue = TxQueue::with_scheme(spec, scheme, seed, label);
        queue.buffer = Buffer::new(spec.limit_packets, spec.limit_counts_in_service, needs);
        queue.review();
        queue
    }

    /// Like [`TxQueue::new`], with `scheme` instead of the one that `spec` names. It need not be in the registry.
    pub fn with_scheme(spec: &TxQueueSpec, scheme: Box<dyn Scheme>, seed: u64, label: &str) -> TxQueue {
        let controller = spec.limit_controller.as_ref().map(|controller| controller.build());
        let mut queue = TxQueue {
            buffer: Buffer::new(spec.limit_packets, spec.limit_counts_in_service, scheme.needs()),
            hooks: Hooks::default(),
            shortcuts: Shortcuts::default(),
            lowered_limit: spec.lowered_limit,
            observes_exchanges: false,
            watches: false,
            control: controller.map(|controller| Box::new(LimitControl::new(controller, spec.limit_packets))),
            scheme,
            rng: Rng::stream(seed, label, "scheme"),
            wait_below: LogHistogram::new(),
            policing: None,
            plain: false,
            by_station: false,
            observed: true,
        };
        queue.read_declarations();
        queue
    }

    /// Asks the scheme and the limit controller what they are to be asked and notified of.
    fn read_declarations(&mut self) {
        let wants = self.control.as_ref().map_or(Wants::default(), |control| control.wants());
        self.hooks = self.scheme.hooks();
        if self.hooks.police {
            self.policing.get_or_insert_default();
        }
        self.watches = wants.idle || self.buffer.observers.journal.is_some();
        self.shortcuts = if self.watches { Shortcuts::default() } else { self.scheme.shortcuts() };
        self.observes_exchanges = self.hooks.exchange || wants.exchange || self.watches;
        self.review();
    }

    /// Recomputes which paths apply. Called after every change of what the transmit queue must ask before it acts.
    fn review(&mut self) {
        self.observed = self.observes_exchanges
            || self.hooks.transmission
            || self.hooks.moves_tick
            || self.buffer.observers.completions.is_some();
        let asks_nobody = self.shortcuts == Shortcuts::ALL && !self.observed;
        self.plain = asks_nobody && self.buffer.is_plain();
        self.by_station = asks_nobody && self.buffer.is_by_station();
    }

    /// Also records every event here in `journal` from now on. Results do not change.
    pub fn keep_journal(&mut self, journal: &Journal) {
        self.buffer.observers.journal = Some(journal.clone());
        self.read_declarations();
    }

    /// Reports each packet that is gone from now on, see [`TxQueue::take_completions`]. Results do not change.
    pub fn report_completions(&mut self) {
        self.buffer.observers.completions.get_or_insert_default();
        self.review();
    }

    /// Passes the packets that are gone since the last call to `each`, if that is reported. Ask after every call.
    pub fn take_completions(&mut self, each: impl FnMut(TxCompletion)) {
        if let Some(completions) = &mut self.buffer.observers.completions {
            completions.drain(..).for_each(each);
        }
    }

    /// Whether calls may have consequences for their caller, to be looked for after each: they may change
    /// [`TxQueue::next_tick`], [`TxQueue::take_completions`] may pass packets, or times of exchanges and transmissions are to
    /// be computed.
    #[inline(always)]
    pub fn is_observed(&self) -> bool {
        self.observed
    }

    /// Whether the last call has consequences for its caller, other than reports.
    pub fn has_news(&self) -> bool {
        self.observed && (self.hooks.moves_tick || self.buffer.observers.has_completions())
    }

    /// Offers a packet of access category `ac` for transmission to `station`. `view` is called if the scheme is asked. Returns
    /// [`TxQueue::is_observed`].
    #[inline(always)] // into the two callers through which all packets arrive
    pub fn enqueue<'v>(
        &mut self,
        ac: Ac,
        packet: &Packet,
        flow: FlowId,
        station: StationId,
        now: Time,
        view: impl FnOnce() -> View<'v>,
    ) -> bool {
        if self.plain {
            self.buffer.fifo_mut().advance(now);
            let arrival = self.buffer.arrival(packet, flow, station, ac);
            self.buffer.fifo_mut().append_or_drop(&arrival);
            return false;
        }
        if self.by_station {
            self.enqueue_by_station(ac, packet, flow, station, now);
            return false;
        }
        self.enqueue_generally(ac, packet, flow, station, now, view());
        self.observed
    }

    #[inline(never)]
    fn enqueue_by_station(&mut self, ac: Ac, packet: &Packet, flow: FlowId, station: StationId, now: Time) {
        self.buffer.fifo_mut().advance(now);
        let arrival = self.buffer.arrival(packet, flow, station, ac);
        self.buffer.append_or_drop_by_station(&arrival);
    }

    #[inline(never)]
    fn enqueue_generally(
        &mut self,
        ac: Ac,
        packet: &Packet,
        flow: FlowId,
        station: StationId,
        now: Time,
        view: View,
    ) {
        self.buffer.fifo_mut().advance(now);
        let arrival = self.buffer.arrival(packet, flow, station, ac);
        if self.shortcuts.append && !self.buffer.is_full() {
            let _placed = self.buffer.append_unchecked(&arrival);
        } else if self.shortcuts.tail_drop && self.buffer.is_full() {
            let _placed = self.buffer.refuse(arrival, Refusal::TailDrop);
        } else {
            let _placed = self.ask(now, view, |scheme, buffer, cx| {
                if let Some(journal) = &buffer.observers.journal {
                    journal.note(now, TxQueueEvent::Enqueued, packet, station);
                }
                scheme.enqueue(arrival, buffer, cx)
            });
        }
    }

    /// Whether a grant admits the head of a plain buffer.
    #[inline(always)] // packets of an A-MPDU leave in a loop
    fn head_fits(&self, grant: &Grant) -> bool {
        self.buffer.head().is_some_and(|head| self.buffer.fits(head, grant))
    }

    /// Hands the next packet to the MAC. May return `None` with packets queued: ask again after an arrival, an exchange or a
    /// tick.
    #[inline(always)] // the packet is copied once
    pub fn dequeue<'v>(
        &mut self,
        grant: &Grant,
        now: Time,
        view: impl FnOnce() -> View<'v>,
    ) -> Option<DequeuedSlot<'_>> {
        let grant = *grant; // only a function that is called needs it in memory
        if self.plain && (grant.is_any() || self.head_fits(&grant)) {
            self.buffer.fifo_mut().advance(now);
            return self.buffer.fifo_mut().release_head();
        }
        if self.by_station
            && grant.gathers
            && grant.station_limit.is_none()
            && let Some(station) = grant.station
        {
            self.buffer.fifo_mut().advance(now);
            return self.buffer.release_of_station(station, grant.max_bytes);
        }
        self.dequeue_generally(&{ grant }, now, view())
    }

    #[inline(never)]
    fn dequeue_generally(&mut self, grant: &Grant, now: Time, view: View) -> Option<DequeuedSlot<'_>> {
        self.buffer.fifo_mut().advance(now);
        if self.buffer.is_empty() && (grant.rounds.is_none() || !self.arbitrates()) {
            return None;
        }
        if self.shortcuts.release_head {
            let slot = self.buffer.depart_head(grant);
            if self.plain {
                self.review(); // an order by station may be kept from now on
            }
            return slot.map(|slot| self.buffer.fifo().dequeued(slot));
        }
        let dequeued = self.ask(now, view, |scheme, buffer, cx| {
            let dequeued = scheme.dequeue(grant, buffer, cx)?;
            if let Some(journal) = &buffer.observers.journal {
                let event = TxQueueEvent::Dequeued { enqueued_at: dequeued.enqueued_at };
                journal.note(now, event, &dequeued.packet, dequeued.station);
            }
            Some(dequeued)
        });
        dequeued.map(|_| self.buffer.released())
    }

    /// Ends a packet's service by the MAC, all its attempts included. `exchange` is called only if something observes
    /// exchanges.
    #[inline(always)]
    pub fn complete<'a, 'v>(
        &mut self,
        departure: &DequeuedPacket,
        outcome: Outcome,
        now: Time,
        view: impl FnOnce() -> View<'v>,
        exchange: impl FnOnce() -> Exchange<'a>,
    ) {
        let observed = self.observed;
        self.buffer.fifo_mut().complete(departure, outcome);
        if observed {
            self.buffer.observers.complete(&departure.packet);
            if self.observes_exchanges {
                self.notify(&exchange(), now, view());
            }
        }
    }

    /// Calls the scheme at the buffer's time.
    #[inline(always)]
    fn ask<R>(
        &mut self,
        now: Time,
        View { flows, links }: View,
        ask: impl FnOnce(&mut dyn Scheme, &mut Buffer, &mut Cx) -> R,
    ) -> R {
        let mut cx = Cx { now, rng: &mut self.rng, flows, links };
        let answer = ask(&mut *self.scheme, &mut self.buffer, &mut cx);
        self.follow_up(now);
        answer
    }

    /// Whether the scheme selects the station to which the MAC sends next.
    pub fn arbitrates(&self) -> bool {
        self.hooks.choose_station
    }

    /// Returns the station to which the MAC sends next, see [`Scheme::choose_station`].
    pub fn choose_station(
        &mut self,
        grant: &Grant,
        is_pending: &dyn Fn(StationId) -> bool,
        now: Time,
        view: View,
    ) -> Option<StationId> {
        self.buffer.fifo_mut().advance(now);
        self.ask(now, view, |scheme, buffer, cx| scheme.choose_station(grant, is_pending, buffer, cx))
    }

    /// Notes that the MAC has retransmissions pending for a station. For schemes that arbitrate.
    pub fn hold_pending(&mut self, station: StationId, ac: Ac, now: Time, view: View) {
        self.buffer.fifo_mut().advance(now);
        self.ask(now, view, |scheme, _, cx| scheme.on_pending(station, ac, cx));
    }

    /// Records how long that many dequeued packets waited below the buffer for their first transmission.
    pub fn record_wait_below(&mut self, wait: Time, packets: u64) {
        self.wait_below.record_weighted(wait.as_ns(), packets);
    }

    #[inline(always)]
    fn follow_up(&mut self, now: Time) {
        if self.watches {
            self.watch(now);
        }
    }

    /// Completes the journal's last entries, and updates the idle time of the limit controller.
    #[cold]
    #[inline(never)]
    fn watch(&mut self, now: Time) {
        self.settle_journal();
        self.control.iter_mut().for_each(|control| control.watch(&self.buffer, now));
    }

    fn settle_journal(&self) {
        if let Some(journal) = &self.buffer.observers.journal {
            journal.settle(self.buffer.len());
        }
    }

    /// Whether the scheme, the limit controller or a journal observes exchanges.
    pub fn observes_exchanges(&self) -> bool {
        self.observes_exchanges
    }

    /// Notifies the limit controller first, so the scheme acts under the new limit.
    #[inline(never)]
    fn notify(&mut self, exchange: &Exchange, now: Time, view: View) {
        self.buffer.fifo_mut().advance(now);
        if let Some(control) = &mut self.control
            && control.wants().exchange
        {
            control.on_exchange(exchange);
            self.follow_limit();
        }
        if let Some(journal) = &self.buffer.observers.journal {
            let &Exchange { outcome, rate, attempts, airtime, service, .. } = exchange;
            for packet in exchange.packets {
                let event = TxQueueEvent::Finished { outcome, rate, attempts, airtime, service };
                journal.note(now, event, packet, exchange.station);
            }
        }
        if self.hooks.exchange {
            self.ask(now, view, |scheme, buffer, cx| scheme.on_exchange(exchange, buffer, cx));
        } else {
            self.follow_up(now);
        }
    }

    /// Applies the controller's limit to the buffer.
    fn follow_limit(&mut self) {
        let Some(control) = &self.control else { return };
        let packets = control.limit_packets();
        if packets != self.buffer.limit() {
            self.move_limit(packets);
        }
    }

    fn move_limit(&mut self, packets: u32) {
        self.buffer.fifo_mut().set_limit(packets);
        if self.lowered_limit == LoweredLimit::Evict && self.buffer.excess() > 0 {
            self.scheme.evict_excess(&mut self.buffer);
            self.settle_journal();
        }
    }

    /// Reports the outcome of a transmission. For schemes with [`Hooks::transmission`] only.
    pub fn transmitted(&mut self, transmission: &Transmission, now: Time, view: View) {
        self.buffer.fifo_mut().advance(now);
        self.ask(now, view, |scheme, buffer, cx| scheme.on_transmission(transmission, buffer, cx));
    }

    /// Reports a data frame received by the access point. For schemes with [`Hooks::reception`] only.
    pub fn receive(&mut self, reception: &Reception, now: Time, view: View) {
        self.buffer.fifo_mut().advance(now);
        self.ask(now, view, |scheme, buffer, cx| scheme.on_reception(reception, buffer, cx));
    }

    /// Decides about a packet that the access point has received from a station, and counts it. Returns [`PoliceAction::Mark`]
    /// only for a packet that is to get CE. For schemes with [`Hooks::police`] only.
    pub fn police(&mut self, reception: &Reception, now: Time, view: View) -> PoliceAction {
        let &Reception { packet, flow, station, .. } = reception;
        self.buffer.fifo_mut().advance(now);
        self.buffer.expect_flow(flow);
        let action = self.ask(now, view, |scheme, buffer, cx| scheme.police(reception, buffer, cx));
        let policing = self.policing.as_mut().expect("the scheme polices");
        let action = policing.count(packet, flow, packet.class(), action);
        if let Some(journal) = &self.buffer.observers.journal {
            let marked = packet.with_ecn(Ecn::Ce);
            let packet = if action == PoliceAction::Mark { &marked } else { packet };
            journal.note(now, TxQueueEvent::Policed(action), packet, station);
            self.settle_journal();
        }
        action
    }

    /// Reports that the access point has read a station's queue size. For schemes with [`Hooks::queue_size`] only.
    pub fn queue_size(&mut self, station: StationId, ac: Ac, now: Time, view: View) {
        self.buffer.fifo_mut().advance(now);
        self.ask(now, view, |scheme, buffer, cx| scheme.on_queue_size(station, ac, buffer, cx));
    }

    /// Reports a change of the data rate towards a station. For schemes with [`Hooks::link_rate`] only.
    pub fn link_rate(&mut self, station: StationId, now: Time, view: View) {
        self.buffer.fifo_mut().advance(now);
        self.ask(now, view, |scheme, buffer, cx| scheme.on_link_rate(station, buffer, cx));
    }

    /// The optional methods of the scheme that are to be called, whether or not a journal is kept.
    pub fn hooks(&self) -> Hooks {
        self.hooks
    }

    /// When [`TxQueue::tick`] is due for the scheme or the limit controller. Ask again after a tick, after a change of scheme
    /// and after every call that [`TxQueue::has_news`].
    pub fn next_tick(&self) -> Option<Time> {
        let of_scheme = if self.hooks.tick { self.scheme.next_tick() } else { None };
        let of_limit = self.control.as_ref().and_then(|control| control.next_tick());
        match (of_scheme, of_limit) {
            (Some(scheme), Some(limit)) => Some(scheme.min(limit)),
            (one, other) => one.or(other),
        }
    }

    /// The time returned by [`TxQueue::next_tick`] has been reached. The limit controller goes first if both are due.
    pub fn tick(&mut self, now: Time, view: View) {
        self.buffer.fifo_mut().advance(now);
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        if let Some(control) = &mut self.control
            && is_due(control.next_tick())
        {
            control.on_tick(&self.buffer, now);
            self.follow_limit();
        }
        if self.hooks.tick && is_due(self.scheme.next_tick()) {
            self.ask(now, view, |scheme, buffer, cx| scheme.on_tick(buffer, cx));
        } else {
            self.follow_up(now);
        }
    }

    /// Whether a packet of the flow is queued or in service.
    pub fn holds(&self, flow: FlowId) -> bool {
        self.buffer.fifo().holds(flow)
    }

    /// Packets queued.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The packets queued, the oldest first.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.buffer.slots().map(|slot| &self.buffer[slot].packet)
    }

    /// What is queued of an access category. Walks the queue.
    pub fn queued(&self, ac: Ac) -> Count {
        let mut queued = Count::default();
        for packet in self.buffer.slots().map(|slot| &self.buffer[slot]).filter(|packet| packet.ac == ac) {
            queued.add(&Count { packets: 1, bytes: packet.packet.ip_bytes().into() });
        }
        queued
    }

    /// The buffer, read-only.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Nanoseconds from enqueue to dequeue of each packet dequeued so far.
    pub fn sojourn(&self) -> &LogHistogram {
        self.buffer.fifo().sojourn()
    }

    /// Whether a limit controller moves the limit.
    pub fn has_limit_controller(&self) -> bool {
        self.control.is_some()
    }

    /// Sets the buffer's limit, for transmit queues without a limit controller. [`TxQueueSpec::lowered_limit`] governs the
    /// packets above it.
    pub fn set_limit(&mut self, packets: u32, now: Time) {
        self.buffer.fifo_mut().advance(now);
        self.move_limit(packets);
    }

    /// Total time for which nothing was queued up to `now`, since time zero.
    pub fn empty_time(&self, now: Time) -> Time {
        self.buffer.fifo().empty_time(now)
    }

    /// Reports internal quantities of the scheme and of the limit controller that are worth recording.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.scheme.gauges(out);
        if let Some(control) = &self.control {
            control.gauges(out);
        }
    }

    /// Closes the counters of a flow that the monitor has forgotten ([`Flows::pop_forgotten`](crate::Flows::pop_forgotten)) and
    /// returns its ledger by class. The transmit queue's totals keep its counts. Panics while a packet of it is queued or in
    /// service.
    pub fn retire(&mut self, flow: FlowId) -> [Ledger; 3] {
        if self.hooks.forgotten {
            self.scheme.on_forgotten(flow);
        }
        let mut classes = self.buffer.retire(flow).map(|counters| Ledger::of(&counters, Count::default()));
        if let Some(policing) = &mut self.policing {
            classes
                .iter_mut()
                .zip(&policing.retire(flow))
                .for_each(|(ledger, policed)| ledger.add_policed(policed));
        }
        classes
    }

    /// All counters up to `now`.
    pub fn snapshot(&self, now: Time) -> TxQueueSnapshot {
        TxQueueSnapshot {
            wait_below: self.wait_below.clone(),
            ..TxQueueSnapshot::of(self.buffer.fifo(), self.policing.as_deref(), now)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_core::{Ecn, FiveTuple, Rate, TCP, TcpFlags};

    use super::*;
    use crate::flows::{Flows, FlowsSpec};
    use crate::words::{Direction, Link, StationLimit};

    proptest! {
        /// A transmit queue decides the same whether or not it takes the scheme's shortcuts.
        #[test]
        fn shortcuts_are_what_the_scheme_decides(
            scheme in prop::sample::select(SchemeSpec::components()),
            limit_packets in 1u32..12,
            steps in prop::collection::vec((0u8..8, 0u32..6, any::<bool>(), 0u64..30_000), 1..300),
        ) {
            let scheme = serde_json::from_value(serde_json::json!({ "name": scheme.info.name })).unwrap();
            let spec = TxQueueSpec { limit_packets, scheme, ..TxQueueSpec::default() };
            let mut queues = [(); 2].map(|()| TxQueue::new(&spec, 1, "ap"));
            queues[1].shortcuts = Shortcuts::default();
            queues[1].review();
            let mut flows = Flows::new(&FlowsSpec::default());
            let links = [54.0, 11.0, 1.0].map(|mbps| Link::new(Rate::from_mbps(mbps)));
            let mut in_service: Vec<[DequeuedPacket; 2]> = vec![];
            let mut now = Time::ZERO;
            for (what, connection, is_ack, us) in steps {
                now += Time::from_us(us);
                for queue in &mut queues {
                    while queue.next_tick().is_some_and(|tick| tick <= now) {
                        let tick = queue.next_tick().unwrap();
                        queue.tick(tick, View { flows: &flows, links: &links });
                    }
                }
                match what {
                    0..=3 => {
                        let tuple = FiveTuple { protocol: TCP, source_port: connection as u16, ..FiveTuple::default() };
                        let payload_bytes = if is_ack { 0 } else { 1_460 };
                        let flags = TcpFlags::ACK;
                        let packet = Packet { tuple, payload_bytes, flags, ack: us as u32, ..Packet::default() };
                        let packet = if us % 2 == 0 { packet.with_ecn(Ecn::Ect0) } else { packet };
                        let flow = flows.observe(&packet, Direction::Down, now, |_| true);
                        let station = StationId(connection as u16 % 3);
                        let view = View { flows: &flows, links: &links };
                        for queue in &mut queues {
                            queue.enqueue(Ac::BestEffort, &packet, flow, station, now, || view);
                        }
                    }
                    4 | 5 => {
                        let station = (what == 5).then_some(StationId(connection as u16 % 3));
                        let grant = Grant { station, gathers: is_ack, ..Grant::ANY };
                        let view = View { flows: &flows, links: &links };
                        let [short, asked] = queues.each_mut().map(|queue| queue.dequeue(&grant, now, || view).map(DequeuedPacket::from));
                        prop_assert_eq!(format!("{short:?}"), format!("{asked:?}"));
                        in_service.extend(short.zip(asked).map(|(short, asked)| [short, asked]));
                    }
                    6 => {
                        for (queue, departure) in queues.iter_mut().zip(in_service.pop().iter().flatten()) {
                            let exchange = || Exchange {
                                outcome: Outcome::Delivered,
                                packets: std::slice::from_ref(&departure.packet),
                                flow: departure.flow,
                                station: departure.station,
                                ac: Ac::BestEffort,
                                rate: links[departure.station.index()].rate,
                                attempts: 1,
                                airtime: Time::from_us(us),
                                overhead: Time::from_us(100),
                                service: Time::from_us(us + 100),
                            };
                            let view = View { flows: &flows, links: &links };
                            queue.complete(departure, Outcome::Delivered, now, || view, exchange);
                        }
                    }
                    _ => queues.iter_mut().for_each(|queue| queue.set_limit(connection + 1, now)),
                }
                let [short, asked] = queues.each_ref().map(|queue| queue.packets().copied().collect::<Vec<_>>());
                prop_assert_eq!(short, asked);
                prop_assert_eq!(queues[0].snapshot(now), queues[1].snapshot(now));
            }
        }

        #[test]
        fn the_short_paths_do_what_the_general_one_does(
            limit_packets in 1u32..8,
            moved in 1u32..8,
            limit_counts_in_service in any::<bool>(),
            steps in prop::collection::vec((0u8..8, 0u32..3, 0u32..3_000, 0u64..1_000), 1..200),
        ) {
            let spec = TxQueueSpec { limit_packets, limit_counts_in_service, ..TxQueueSpec::default() };
            let mut tx_queues = [(); 2].map(|()| TxQueue::new(&spec, 1, "ap"));
            prop_assert!(tx_queues[0].plain);
            (tx_queues[1].plain, tx_queues[1].observed) = (false, true);
            let flows = Flows::new(&FlowsSpec::default());
            let view = View { flows: &flows, links: &[] };
            let mut in_service: Vec<[DequeuedPacket; 2]> = vec![];
            let mut now = Time::ZERO;
            for (what, flow, size, us) in steps {
                now += Time::from_us(us);
                match what {
                    0..=3 => {
                        let tuple = FiveTuple { protocol: TCP, ..FiveTuple::default() };
                        let (flags, is_ack) = (TcpFlags::from_bits(us as u8), size < 1_000);
                        let payload_bytes = if is_ack { 0 } else { size };
                        let packet = Packet { tuple, payload_bytes, flags, ..Packet::default() };
                        for tx_queue in &mut tx_queues {
                            tx_queue.enqueue(Ac::BestEffort, &packet, FlowId(flow), StationId(flow as u16), now, || view);
                        }
                    }
                    4 | 5 => {
                        let pending = [Time::from_us(us); 3];
                        let grant = Grant {
                            station: (us % 2 == 0).then_some(StationId(flow as u16)),
                            max_bytes: if what == 4 { u32::MAX } else { size },
                            gathers: us % 4 == 0,
                            station_limit: (us % 5 == 0)
                                .then_some(StationLimit { pending: &pending, below: Time::from_us(500) }),
                            ..Grant::ANY
                        };
                        let grant = if us % 3 == 0 { Grant::ANY } else { grant };
                        let [short, general] = tx_queues.each_mut().map(|tx_queue| tx_queue.dequeue(&grant, now, || view).map(DequeuedPacket::from));
                        prop_assert_eq!(format!("{short:?}"), format!("{general:?}"));
                        in_service.extend(short.zip(general).map(|(short, general)| [short, general]));
                    }
                    6 => {
                        for (tx_queue, departure) in tx_queues.iter_mut().zip(in_service.pop().iter().flatten()) {
                            tx_queue.complete(departure, Outcome::Delivered, now, || view, || unreachable!());
                        }
                    }
                    _ => tx_queues.iter_mut().for_each(|tx_queue| tx_queue.set_limit(moved, now)),
                }
                let [short, general] = tx_queues.each_ref().map(|tx_queue| format!("{:?}", tx_queue.buffer));
                prop_assert_eq!(short, general);
                prop_assert!(tx_queues[0].plain || tx_queues[0].by_station);
                prop_assert!(!tx_queues[1].plain && !tx_queues[1].by_station);
            }
        }
    }
}
