//! The obvious model of a transmit queue: one list, scanned for every question, written from the schemes' descriptions.

pub mod against;

use std::collections::{BTreeMap, BTreeSet};

use proptest::test_runner::TestCaseError;
use wifair_core::{Class, Counters, FlowId, Packet, Rng, TcpFlags, Time};
use wifair_queue::{Count, FlowLedger, Flows, Ledger, TxQueueSpec};

#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub packet: Packet,
    pub flow: FlowId,
    pub at: Time,
    /// Order of arrival, which differs from the order in the queue where an ACK took another's place.
    serial: u64,
    duplicate: bool,
}

/// What must happen to an arrival.
#[derive(Clone, Debug)]
pub enum Verdict {
    Append(Item),
    Refuse(Item),
    Evict { arrival: Item, candidates: Vec<Packet>, redundant: bool, in_place: bool },
}

#[derive(Clone)]
pub struct Model {
    queue: Vec<Item>,
    in_service: Vec<Item>,
    pub limit: usize,
    counts_in_service: bool,
    scheme: serde_json::Value,
    pub rng: Rng,
    books: BTreeMap<FlowId, [Ledger; 3]>,
    retired: [Ledger; 3],
    predecessors: BTreeMap<FlowId, u32>,
    last_ack: BTreeMap<FlowId, u32>,
    serial: u64,
    changed: Time,
    length_integral: f64,
    sojourns: Vec<u64>,
}

impl Model {
    pub fn new(spec: &TxQueueSpec, rng: Rng) -> Model {
        Model {
            queue: Vec::new(),
            in_service: Vec::new(),
            limit: spec.limit_packets as usize,
            counts_in_service: spec.limit_counts_in_service,
            scheme: serde_json::to_value(&spec.scheme).unwrap(),
            rng,
            books: BTreeMap::new(),
            retired: Default::default(),
            predecessors: BTreeMap::new(),
            last_ack: BTreeMap::new(),
            serial: 0,
            changed: Time::ZERO,
            length_integral: 0.0,
            sojourns: Vec::new(),
        }
    }

    pub fn packets(&self) -> Vec<Packet> {
        self.queue.iter().map(|item| item.packet).collect()
    }

    pub fn holds(&self, flow: FlowId) -> bool {
        self.queue.iter().chain(&self.in_service).any(|item| item.flow == flow)
    }

    fn parameter(&self, key: &str) -> &str {
        self.scheme[key].as_str().unwrap_or("")
    }

    /// The next ACK of the flow after `item`, queued or arriving.
    fn next_ack(&self, item: &Item, arriving: &Item) -> Option<Packet> {
        let later = |other: &&Item| {
            other.flow == item.flow && other.packet.class() == Class::Ack && other.serial > item.serial
        };
        let next = self.queue.iter().chain([arriving]).filter(later).min_by_key(|other| other.serial);
        next.map(|other| other.packet)
    }

    fn is_redundant(&self, item: &Item, arriving: &Item) -> bool {
        if item.packet.class() != Class::Ack {
            return false;
        }
        let Some(next) = self.next_ack(item, arriving) else { return false };
        let echo =
            |packet: &Packet| (packet.flags.contains(TcpFlags::ECE), packet.flags.contains(TcpFlags::CWR));
        self.parameter("filter") == "paper"
            || ((next.ack.wrapping_sub(item.packet.ack) as i32) > 0
                && !item.duplicate
                && echo(&next) == echo(&item.packet))
    }

    /// In queue order.
    fn redundant(&self, arriving: &Item) -> Vec<Item> {
        self.queue.iter().filter(|item| self.is_redundant(item, arriving)).copied().collect()
    }

    fn of_class(&self, class: Class) -> Vec<Packet> {
        self.packets().into_iter().filter(|packet| packet.class() == class).collect()
    }

    /// From packets in queue order, those among which the pick falls. A random pick costs a draw.
    fn among(&mut self, pool: Vec<Packet>, pick: &str) -> Vec<Packet> {
        match pick {
            "oldest" => pool.first().copied().into_iter().collect(),
            "newest" => pool.last().copied().into_iter().collect(),
            "random" => {
                if !pool.is_empty() {
                    self.rng.unit();
                }
                pool
            }
            _ => unreachable!("{pick}"),
        }
    }

    pub fn arrive(&mut self, packet: Packet, flow: FlowId, flows: &Flows, now: Time) -> Verdict {
        self.pass_time(now);
        self.serial += 1;
        let duplicate = packet.class() == Class::Ack && self.last_ack.get(&flow) == Some(&packet.ack);
        let arrival = Item { packet, flow, at: now, serial: self.serial, duplicate };
        let occupied = self.queue.len() + if self.counts_in_service { self.in_service.len() } else { 0 };
        let full = occupied >= self.limit;
        let evict =
            |candidates, redundant| Verdict::Evict { arrival, candidates, redundant, in_place: false };
        let name = self.parameter("name").to_owned();

        if matches!(name.as_str(), "ack-filtering" | "spm-af") && packet.class() == Class::Ack {
            let earlier = self.redundant(&arrival);
            let earlier: Vec<Packet> =
                earlier.iter().filter(|item| item.flow == flow).map(|item| item.packet).collect();
            assert!(earlier.len() <= 1, "earlier ones went with earlier arrivals");
            if !earlier.is_empty() {
                let in_place = self.parameter("place") == "oldest-removed";
                return Verdict::Evict { arrival, candidates: earlier, redundant: true, in_place };
            }
            return if full { Verdict::Refuse(arrival) } else { Verdict::Append(arrival) };
        }
        if !full {
            return Verdict::Append(arrival);
        }
        if name == "spm-af" && packet.class() == Class::Data {
            let displaced = self.parameter("displaced").to_owned();
            let marking = self.parameter("variant") == "sender-marking";
            if marking && !packet.is_high_priority() {
                return Verdict::Refuse(arrival);
            }
            let mut displaceable = self.of_class(Class::Ack);
            if marking && displaceable.is_empty() {
                displaceable = self.of_class(Class::Data);
                displaceable.retain(|packet| !packet.is_high_priority());
            }
            let victims = self.among(displaceable, &displaced);
            return if victims.is_empty() { Verdict::Refuse(arrival) } else { evict(victims, false) };
        }
        if matches!(name.as_str(), "ack-pushout" | "adaptive-pushout") {
            let pick = self.parameter("redundant").to_owned();
            let redundant = self.redundant(&arrival).iter().map(|item| item.packet).collect();
            let redundant = self.among(redundant, &pick);
            if !redundant.is_empty() {
                return evict(redundant, true);
            }
        }
        if name == "adaptive-pushout" {
            let victims = self.victims(&arrival, flows);
            let victims = self.among(victims, "random");
            if !victims.is_empty() {
                return evict(victims, false);
            }
        }
        Verdict::Refuse(arrival)
    }

    /// The share of a direction's active flows that have packets stored.
    fn share(&self, class: Class, active: u32, arrival: &Item) -> f64 {
        let of_class = self.queue.iter().filter(|item| item.packet.class() == class);
        let mut stored: BTreeSet<FlowId> = of_class.map(|item| item.flow).collect();
        if self.scheme["count_arrival"] == true && arrival.packet.class() == class {
            stored.insert(arrival.flow);
        }
        match (stored.len(), active, self.parameter("no_active_flows")) {
            (0, _, _) | (_, 0, "none") => 0.0,
            (_, 0, "whole") => 1.0,
            (_, 0, "unbounded") => f64::INFINITY,
            (stored, active, _) => stored as f64 / f64::from(active),
        }
    }

    fn victims(&mut self, arrival: &Item, flows: &Flows) -> Vec<Packet> {
        let up = self.share(Class::Ack, flows.up(), arrival);
        let down = self.share(Class::Data, flows.down(), arrival);
        let (data, acks) = (self.of_class(Class::Data), self.of_class(Class::Ack));
        let data_goes = match self.parameter("tie") {
            "data" => up <= down,
            "ack" => up < down,
            "random" if up != down => up < down,
            "random" => {
                self.rng.unit();
                return [data, acks].concat(); // the coin may show either side
            }
            other => unreachable!("{other}"),
        };
        let (first, second) = if data_goes { (data, acks) } else { (acks, data) };
        if first.is_empty() { second } else { first }
    }

    /// Does what the verdict says, with `gone` as the packet evicted.
    pub fn settle(&mut self, verdict: &Verdict, gone: Option<Packet>) {
        let (Verdict::Append(arrival) | Verdict::Refuse(arrival) | Verdict::Evict { arrival, .. }) = *verdict;
        self.book(&arrival, |ledger| &mut ledger.offered);
        match *verdict {
            Verdict::Refuse(_) => {
                self.book(&arrival, |ledger| &mut ledger.tail_dropped);
                return;
            }
            Verdict::Append(_) => self.queue.push(arrival),
            Verdict::Evict { redundant, in_place, .. } => {
                let at = self.queue.iter().position(|item| Some(item.packet) == gone).unwrap();
                let old = self.queue.remove(at);
                match redundant {
                    true => self.book(&old, |ledger| &mut ledger.filtered),
                    false => self.book(&old, |ledger| &mut ledger.evicted),
                }
                self.queue.insert(if in_place { at } else { self.queue.len() }, arrival);
            }
        }
        self.book(&arrival, |ledger| &mut ledger.accepted);
        if arrival.packet.class() == Class::Ack {
            self.last_ack.insert(arrival.flow, arrival.packet.ack);
        }
    }

    pub fn take(&mut self, now: Time) -> Option<Item> {
        self.pass_time(now);
        if self.queue.is_empty() {
            return None;
        }
        let item = self.queue.remove(0);
        self.book(&item, |ledger| &mut ledger.dequeued);
        self.sojourns.push((now - item.at).as_ns());
        self.in_service.push(item);
        Some(item)
    }

    pub fn finish(&mut self, delivered: bool) -> Option<(Packet, FlowId)> {
        let item = self.in_service.pop()?;
        match delivered {
            true => self.book(&item, |ledger| &mut ledger.delivered),
            false => self.book(&item, |ledger| &mut ledger.lost_at_retry_limit),
        }
        Some((item.packet, item.flow))
    }

    pub fn retire(&mut self, flow: FlowId) -> [Ledger; 3] {
        let closed = self.books.remove(&flow).unwrap_or_default();
        for (total, ledger) in self.retired.iter_mut().zip(&closed) {
            *total = sum(total, ledger);
        }
        *self.predecessors.entry(flow).or_default() += 1;
        self.last_ack.remove(&flow);
        closed
    }

    fn pass_time(&mut self, now: Time) {
        self.length_integral += (now - self.changed).as_ns() as f64 * self.queue.len() as f64;
        self.changed = now;
    }

    /// Mean queue length, and mean sojourn time in nanoseconds.
    pub fn length_and_sojourn(&mut self, now: Time) -> (f64, Option<f64>) {
        self.pass_time(now);
        let n = self.sojourns.len();
        let mean = (n > 0).then(|| self.sojourns.iter().sum::<u64>() as f64 / n as f64);
        (self.length_integral / now.as_ns() as f64, mean)
    }

    fn book(&mut self, item: &Item, entry: impl Fn(&mut Ledger) -> &mut Count) {
        let ledgers = self.books.entry(item.flow).or_default();
        let count = entry(&mut ledgers[item.packet.class() as usize]);
        count.packets += 1;
        count.bytes += u64::from(item.packet.ip_bytes());
    }

    /// With what is in the lists now.
    fn filled(&self, flow: FlowId, ledgers: &[Ledger; 3]) -> [Ledger; 3] {
        let mut filled = *ledgers;
        for (ledger, class) in filled.iter_mut().zip(Class::ALL) {
            let count = |items: &[Item]| {
                let mine = items.iter().filter(|i| i.flow == flow && i.packet.class() == class);
                mine.fold(Count::default(), |sum, i| Count {
                    packets: sum.packets + 1,
                    bytes: sum.bytes + u64::from(i.packet.ip_bytes()),
                })
            };
            ledger.queued = count(&self.queue);
            ledger.in_service = count(&self.in_service);
        }
        filled
    }

    pub fn flow_ledgers(&self) -> Vec<FlowLedger> {
        let ledger = |(&flow, ledgers): (&FlowId, &[Ledger; 3])| FlowLedger {
            flow,
            predecessors: self.predecessors.get(&flow).copied().unwrap_or(0),
            classes: self.filled(flow, ledgers),
        };
        self.books.iter().map(ledger).collect()
    }

    pub fn classes(&self) -> [Ledger; 3] {
        let mut totals = self.retired;
        for flow in self.flow_ledgers() {
            for (total, ledger) in totals.iter_mut().zip(&flow.classes) {
                *total = sum(total, ledger);
            }
        }
        totals
    }

    pub fn classes_since(&self, then: &Model) -> [Ledger; 3] {
        let (mut now, mut then) = (self.classes(), then.classes());
        for (now, then) in now.iter_mut().zip(&mut then) {
            for (a, b) in counts(now).into_iter().zip(counts(then)) {
                a.packets -= b.packets;
                a.bytes -= b.bytes;
            }
            now.queued_before = then.queued;
            now.in_service_before = then.in_service;
        }
        now
    }
}

/// Everything that only ever grows.
fn counts(ledger: &mut Ledger) -> [&mut Count; 12] {
    [
        &mut ledger.offered,
        &mut ledger.accepted,
        &mut ledger.tail_dropped,
        &mut ledger.aqm_refused,
        &mut ledger.evicted,
        &mut ledger.aqm_evicted,
        &mut ledger.filtered,
        &mut ledger.dequeued,
        &mut ledger.delivered,
        &mut ledger.lost_at_retry_limit,
        &mut ledger.ce_marked,
        &mut ledger.ece_marked,
    ]
}

fn sum(a: &Ledger, b: &Ledger) -> Ledger {
    let (mut a, mut b) = (*a, *b);
    for (to, from) in counts(&mut a).into_iter().zip(counts(&mut b)) {
        to.add(from);
    }
    a.queued.add(&b.queued);
    a.in_service.add(&b.in_service);
    a
}

/// The identities of a measurement.
pub fn check_identities(ledger: &Ledger) -> Result<(), TestCaseError> {
    for of in [|count: Count| count.packets, |count: Count| count.bytes] {
        proptest::prop_assert_eq!(
            of(ledger.offered),
            of(ledger.tail_dropped) + of(ledger.aqm_refused) + of(ledger.accepted)
        );
        proptest::prop_assert_eq!(
            of(ledger.queued_before) + of(ledger.accepted),
            of(ledger.dequeued)
                + of(ledger.evicted)
                + of(ledger.aqm_evicted)
                + of(ledger.filtered)
                + of(ledger.queued)
        );
        proptest::prop_assert_eq!(
            of(ledger.in_service_before) + of(ledger.dequeued),
            of(ledger.delivered) + of(ledger.lost_at_retry_limit) + of(ledger.in_service)
        );
    }
    Ok(())
}
