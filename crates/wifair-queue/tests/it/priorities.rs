//! The schemes that put some packets before others: LAS, T-LAS, and SPM-AF with marks.
//!
//! LAS and T-LAS are compared with a list that is sorted at every dequeue, with keys computed from the whole history.

use crate::common;

use std::collections::BTreeMap;

use common::{ack, cases, data};
use proptest::prelude::*;
use serde_json::{Value, json};
use wifair_core::{Ac, Class, DSCP_HIGH_PRIORITY, FlowId, Packet, Rate, StationId, TcpFlags, Time};
use wifair_queue::{
    DequeuedPacket, Direction, Exchange, Flows, FlowsSpec, Grant, Outcome, SchemeSpec, TxQueue, TxQueueSpec,
    View,
};

#[derive(Clone, Debug)]
enum Step {
    /// Segment number `at` of the connection, or the next one.
    Data {
        connection: u32,
        again: u32,
        marked: bool,
    },
    /// Acknowledges `more` further segments of the connection.
    Ack {
        connection: u32,
        more: u32,
    },
    Take,
    Silence,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (0u32..4, prop_oneof![4 => Just(0), 1 => 1u32..6], any::<bool>())
            .prop_map(|(connection, again, marked)| Step::Data { connection, again, marked }),
        6 => (4u32..7, 0u32..4).prop_map(|(connection, more)| Step::Ack { connection, more }),
        9 => Just(Step::Take),
        1 => Just(Step::Silence),
    ]
}

/// A transmit queue with its flow monitor and a clock; every packet is unlike every other by its window.
struct Ap {
    tx_queue: TxQueue,
    flows: Flows,
    now: Time,
    serial: u32,
}

impl Ap {
    fn new(scheme: &Value, limit_packets: u32) -> Ap {
        let scheme: SchemeSpec = serde_json::from_value(scheme.clone()).unwrap();
        scheme.validate("scheme").unwrap();
        let spec = TxQueueSpec { limit_packets, scheme, ..TxQueueSpec::default() };
        let flows = Flows::new(&FlowsSpec { idle_timeout_s: 3.0, ..FlowsSpec::default() });
        Ap { tx_queue: TxQueue::new(&spec, 1, "ap"), flows, now: Time::from_ms(1), serial: 0 }
    }

    /// Offers a packet, and gives out its flow and the packet as it was offered. Flows that the monitor has forgotten go
    /// to `forget`.
    fn offer(&mut self, packet: Packet, mut forget: impl FnMut(FlowId)) -> (FlowId, Packet) {
        self.now += Time::from_us(10);
        self.serial += 1;
        let packet = Packet { window_bytes: self.serial, ..packet };
        let flow = self.flows.observe(&packet, Direction::Down, self.now, |flow| self.tx_queue.holds(flow));
        while let Some((gone, _)) = self.flows.pop_forgotten() {
            self.tx_queue.retire(gone);
            forget(gone);
        }
        self.tx_queue.enqueue(Ac::BestEffort, &packet, flow, StationId(0), self.now, || View {
            flows: &self.flows,
            links: &[],
        });
        (flow, packet)
    }

    /// Takes the next packet, which is delivered at once.
    fn take(&mut self) -> Option<Packet> {
        self.now += Time::from_us(10);
        let view = View { flows: &self.flows, links: &[] };
        let taken = self.tx_queue.dequeue(&Grant::ANY, self.now, || view).map(DequeuedPacket::from)?;
        let exchange = || Exchange {
            outcome: Outcome::Delivered,
            packets: std::slice::from_ref(&taken.packet),
            flow: taken.flow,
            station: taken.station,
            ac: Ac::BestEffort,
            rate: Rate::from_mbps(11.0),
            attempts: 1,
            airtime: Time::ZERO,
            overhead: Time::ZERO,
            service: Time::ZERO,
        };
        self.tx_queue.complete(&taken, Outcome::Delivered, self.now, || view, exchange);
        Some(taken.packet)
    }

    fn queue(&self) -> Vec<Packet> {
        let buffer = self.tx_queue.buffer();
        std::iter::successors(buffer.head(), |&slot| buffer.after(slot))
            .map(|slot| buffer[slot].packet)
            .collect()
    }
}

/// The segments that a source has sent so far, and the sequence number from which it counts (which wraps soon).
const MSS: u32 = 1460;
const ORIGIN: u32 = u32::MAX - 20 * MSS;

#[derive(Clone, Copy)]
struct Queued {
    packet: Packet,
    flow: FlowId,
    key: u64,
    serial: u32,
}

/// LAS by its description: service recounted from a flow's history.
struct Model {
    scheme: Value,
    /// By flow: what has come, what has been let in and not pushed out, what has been taken, each with its time.
    seen: BTreeMap<FlowId, Vec<(Packet, Time)>>,
    in_or_out: BTreeMap<FlowId, Vec<Packet>>,
    served: BTreeMap<FlowId, Vec<Packet>>,
    queue: Vec<Queued>,
}

impl Model {
    fn new(scheme: &Value) -> Model {
        // With its defaults filled in.
        let spec: SchemeSpec = serde_json::from_value(scheme.clone()).unwrap();
        Model {
            scheme: serde_json::to_value(spec).unwrap(),
            seen: BTreeMap::new(),
            in_or_out: BTreeMap::new(),
            served: BTreeMap::new(),
            queue: vec![],
        }
    }

    fn is(&self, parameter: &str, value: &str) -> bool {
        self.scheme[parameter] == value
    }

    fn forget(&mut self, flow: FlowId) {
        for history in [&mut self.in_or_out, &mut self.served] {
            history.remove(&flow);
        }
        self.seen.remove(&flow);
    }

    /// Distance from the first of some numbers, no farther apart than half of their range.
    fn distance(first: u32, number: u32) -> u64 {
        number.wrapping_sub(first).cast_signed().max(0) as u64
    }

    /// What some packets of one flow add up to.
    fn attained(&self, packets: &[Packet]) -> u64 {
        let acknowledged = self.is("acks", "acknowledged");
        let mut sum = 0;
        let mut acks = vec![];
        for packet in packets {
            if packet.class() == Class::Ack && acknowledged {
                acks.push(packet.ack);
            } else {
                sum += if self.is("unit", "bytes") { u64::from(packet.ip_bytes()) } else { u64::from(MSS) };
            }
        }
        let first = acks.first().copied().unwrap_or(0);
        sum + acks.iter().map(|&ack| Self::distance(first, ack)).max().unwrap_or(0)
    }

    fn key(&self, packet: &Packet, flow: FlowId) -> u64 {
        let none = vec![];
        let attained = if self.is("key", "sequence") {
            let seen = &self.seen[&flow];
            let sequence = Self::distance(seen[0].0.seq, packet.seq);
            match self.is("acks", "acknowledged") {
                true => sequence.max(Self::distance(seen[0].0.ack, packet.ack)),
                false => sequence,
            }
        } else {
            let history = if self.is("key", "served") { &self.served } else { &self.in_or_out };
            self.attained(history.get(&flow).unwrap_or(&none))
        };
        let bytes = self.is("unit", "bytes");
        let key = if bytes { attained } else { attained / u64::from(MSS) };
        match self.scheme["threshold_packets"].as_u64() {
            Some(packets) => key.min(packets * if bytes { u64::from(MSS) } else { 1 }),
            None => key,
        }
    }

    fn order(&self) -> Vec<Queued> {
        let mut sorted = self.queue.clone();
        sorted.sort_by_key(|queued| (queued.key, queued.serial));
        sorted
    }

    fn offer(&mut self, packet: Packet, flow: FlowId, limit: usize, now: Time) {
        if let Some(after_s) = self.scheme["forget_after_s"].as_f64()
            && let Some(&(_, last)) = self.seen.get(&flow).and_then(|seen| seen.last())
            && now - last >= Time::from_secs_f64(after_s)
        {
            self.forget(flow);
        }
        self.seen.entry(flow).or_default().push((packet, now));
        let key = self.key(&packet, flow);
        let arrival = Queued { packet, flow, key, serial: packet.window_bytes };
        if self.queue.len() == limit {
            let last = *self.order().last().unwrap();
            if last.key <= key {
                return;
            }
            self.queue.retain(|queued| queued.serial != last.serial);
            // An ACK's news stays with the flow: the next one repeats it.
            if !(last.packet.class() == Class::Ack && self.is("acks", "acknowledged"))
                && let Some(history) = self.in_or_out.get_mut(&last.flow)
            {
                history.retain(|packet| packet.window_bytes != last.serial);
            }
        }
        self.in_or_out.entry(flow).or_default().push(packet);
        self.queue.push(arrival);
    }

    fn take(&mut self) -> Option<Packet> {
        let first = *self.order().first()?;
        self.queue.retain(|queued| queued.serial != first.serial);
        self.served.entry(first.flow).or_default().push(first.packet);
        Some(first.packet)
    }
}

fn las_variants() -> Vec<Value> {
    let mut variants = vec![];
    for key in ["sequence", "served", "arrived"] {
        for unit in ["packets", "bytes"] {
            for acks in ["acknowledged", "own"] {
                variants.push(json!({"name": "las", "key": key, "unit": unit, "acks": acks}));
                variants.push(
                    json!({"name": "t-las", "key": key, "unit": unit, "acks": acks, "threshold_packets": 5}),
                );
            }
        }
        variants.push(json!({"name": "las", "key": key, "forget_after_s": 0.5}));
    }
    variants
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(1000)) })]

    #[test]
    fn the_smallest_key_leaves_first_and_the_greatest_is_lost(
        scheme in prop::sample::select(las_variants()),
        limit in 1u32..20,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut ap = Ap::new(&scheme, limit);
        let mut model = Model::new(&scheme);
        let mut sent = [0u32; 7];
        let mut taken = vec![];
        for step in steps {
            let packet = match step {
                Step::Data { connection, again, .. } => {
                    let next = &mut sent[connection as usize];
                    let segment = next.saturating_sub(again);
                    *next = (*next).max(segment + 1);
                    Some(data(connection, ORIGIN.wrapping_add(segment * MSS)))
                }
                Step::Ack { connection, more } => {
                    sent[connection as usize] += more;
                    Some(ack(connection, ORIGIN.wrapping_add(sent[connection as usize] * MSS)))
                }
                Step::Take => None,
                Step::Silence => {
                    ap.now += Time::from_ms(800);
                    continue;
                }
            };
            match packet {
                Some(packet) => {
                    let (flow, offered) = ap.offer(packet, |gone| model.forget(gone));
                    model.offer(offered, flow, limit as usize, ap.now);
                }
                None => {
                    let (got, expected) = (ap.take(), model.take());
                    prop_assert_eq!(got, expected);
                    taken.extend(got);
                }
            }
            let mut queued: Vec<u32> = model.queue.iter().map(|queued| queued.serial).collect();
            queued.sort_unstable();
            let mut found: Vec<u32> = ap.queue().iter().map(|packet| packet.window_bytes).collect();
            found.sort_unstable();
            prop_assert_eq!(found, queued);
        }
    }

    #[test]
    fn spm_af_drops_nothing_marked_while_an_ack_or_unmarked_data_is_queued(
        displaced in prop::sample::select(vec!["oldest", "newest", "random"]),
        limit in 1u32..12,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut ap = Ap::new(&json!({"name": "spm-af", "variant": "sender-marking", "displaced": displaced}), limit);
        for step in steps {
            let packet = match step {
                Step::Data { connection, marked, .. } => {
                    let mark = if marked { DSCP_HIGH_PRIORITY << 2 } else { 0 };
                    Packet { ds_field: mark, ..data(connection, 1) }
                }
                Step::Ack { connection, more } => ack(connection, more),
                Step::Take => {
                    let head = ap.queue().first().copied();
                    prop_assert_eq!(ap.take(), head);
                    continue;
                }
                Step::Silence => continue,
            };
            let before = ap.queue();
            let (_, offered) = ap.offer(packet, |_| ());
            let after = ap.queue();
            let gone: Vec<&Packet> = before.iter().chain([&offered]).filter(|packet| !after.contains(packet)).collect();
            prop_assert!(gone.len() <= 1);
            for lost in gone {
                let acks = before.iter().any(|packet| packet.class() == Class::Ack);
                let unmarked = before.iter().any(|packet| packet.class() == Class::Data && !packet.is_high_priority());
                prop_assert!(!lost.is_high_priority() || !acks && !unmarked, "{lost:?} of {before:?}");
                if lost.class() == Class::Data && lost.window_bytes != offered.window_bytes {
                    prop_assert!(!acks, "an ACK is chosen where there is one");
                    prop_assert!(offered.is_high_priority());
                }
            }
        }
    }
}

#[test]
fn beyond_the_threshold_t_las_is_first_in_first_out() {
    let mut ap = Ap::new(&json!({"name": "t-las", "threshold_packets": 3}), 100);
    // Two flows with a common past of three packets each, then in turn.
    for segment in 0..3 {
        for connection in 0..2 {
            ap.offer(data(connection, 1 + segment * MSS), |_| ());
        }
    }
    while ap.take().is_some() {}
    let late: Vec<Packet> = (3..9)
        .flat_map(
            |segment| if segment < 5 { vec![(0, segment)] } else { vec![(1, segment - 2), (0, segment)] },
        )
        .map(|(connection, segment)| ap.offer(data(connection, 1 + segment * MSS), |_| ()).1)
        .collect();
    // A newcomer passes them all, but only with its first three.
    let new: Vec<Packet> = (0..5).map(|segment| ap.offer(data(2, 1 + segment * MSS), |_| ()).1).collect();
    let order: Vec<Packet> = std::iter::from_fn(|| ap.take()).collect();
    assert_eq!(order, [&new[..3], &late, &new[3..]].concat());
}

#[test]
fn under_las_a_newcomer_keeps_the_others_back_until_it_has_caught_up() {
    let mut ap = Ap::new(&json!({"name": "las"}), 100);
    for segment in 0..20 {
        ap.offer(data(0, 1 + segment * MSS), |_| ());
        if segment < 10 {
            ap.take();
        }
    }
    for segment in 0..12 {
        ap.offer(data(1, 1 + segment * MSS), |_| ());
    }
    let order: Vec<u32> = std::iter::from_fn(|| ap.take()).map(|packet| packet.tuple.source & 0xff).collect();
    assert_eq!(order[..10], [1; 10]);
    assert_eq!(order[10..14], [0, 1, 0, 1]); // equal keys: the old flow's packets came first
    assert_eq!(order[14..], [0; 8]);
}

#[test]
fn a_handshake_is_the_beginning_of_its_flow() {
    let mut ap = Ap::new(&json!({"name": "las"}), 100);
    for segment in 0..5 {
        ap.offer(data(0, 1 + segment * MSS), |_| ());
    }
    // Sequence numbers of no relation to the first flow's.
    let syn = Packet { flags: TcpFlags::SYN, payload_bytes: 0, ack: 0, seq: 77_777, ..data(1, 1) };
    let (_, syn) = ap.offer(syn, |_| ());
    let (_, first) = ap.offer(data(1, 77_778), |_| ());
    assert_eq!(ap.take().map(|packet| packet.seq), Some(1));
    assert_eq!([ap.take(), ap.take()], [Some(syn), Some(first)]);
}

#[test]
fn a_grant_that_is_too_small_for_the_first_packet_gives_nothing() {
    let mut ap = Ap::new(&json!({"name": "las"}), 100);
    ap.offer(data(0, 1), |_| ());
    ap.offer(ack(1, 1), |_| ());
    let small = Grant { max_bytes: 100, ..Grant::ANY };
    let view = View { flows: &ap.flows, links: &[] };
    assert!(ap.tx_queue.dequeue(&small, ap.now, || view).is_none());
    assert_eq!(ap.tx_queue.len(), 2);
}
