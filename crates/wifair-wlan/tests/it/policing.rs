//! What the AP does with packets from stations (`docs/medium.md`, section 14): forward, mark, drop.

use crate::support;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use support::{cell_b, effort, external, packet, packet_down, us};
use wifair_core::{Class, Counters, Ecn, Packet, Rng, StationId, Time};
use wifair_queue::{
    Arrival, Buffer, Count, Cx, Eviction, Hooks, Journal, Ledger, Placed, PoliceAction, Reception, Scheme,
    Shortcuts, TxQueueEvent,
};
use wifair_wlan::{
    AggregationSpec, Bss, BssSpec, Delivery, EdcaSpec, FrameErrorRate, Node, Output, PhySpec, ShareTxQueue,
    StationSpec,
};

/// What the schemes saw: each call in order, with time and number of the packet.
type Calls = Arc<Mutex<Vec<(Time, u32, &'static str)>>>;

/// Tail drop that polices at random: one draw per packet. It also evicts the newest queued packet with every drop.
struct Policing {
    calls: Calls,
    weights: [u32; 3],
}

impl Scheme for Policing {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn shortcuts(&self) -> Shortcuts {
        Shortcuts::ALL
    }

    fn hooks(&self) -> Hooks {
        Hooks { reception: true, police: true, ..Hooks::default() }
    }

    fn on_reception(&mut self, reception: &Reception, _buffer: &mut Buffer, cx: &mut Cx) {
        self.calls.lock().unwrap().push((cx.now, reception.packet.seq, "received"));
    }

    fn police(&mut self, reception: &Reception, buffer: &mut Buffer, cx: &mut Cx) -> PoliceAction {
        assert!(cx.flows.tuple(reception.flow) == reception.packet.tuple, "the monitor has seen it");
        let [forward, mark, drop] = self.weights;
        let draw = cx.rng.below(forward + mark + drop);
        let (action, name) = match draw {
            draw if draw < forward => (PoliceAction::Forward, "forward"),
            draw if draw < forward + mark => (PoliceAction::Mark, "mark"),
            _ => (PoliceAction::Drop, "drop"),
        };
        if let (PoliceAction::Drop, Some(newest)) = (action, buffer.tail()) {
            buffer.evict(newest, Eviction::Aqm);
        }
        self.calls.lock().unwrap().push((cx.now, reception.packet.seq, name));
        action
    }
}

fn policed(mut spec: BssSpec, weights: [u32; 3]) -> (BssSpec, Calls) {
    let calls = Calls::default();
    let shared = calls.clone();
    spec.ap.tx_queue.scheme = external(move || Policing { calls: shared.clone(), weights });
    (spec, calls)
}

/// A packet of one of a station's flows: data, an ACK or a SYN, with any code point and in any category.
fn any_packet(station: u16, seq: u32, draws: &mut Rng) -> Packet {
    let mut packet = packet(station, seq, [40, 600, 1_500][draws.below(3) as usize]);
    packet.tuple.source_port += draws.below(3) as u16;
    if packet.payload_bytes == 0 && draws.below(2) == 0 {
        packet.flags = wifair_core::TcpFlags::SYN;
    }
    let dscp = [0, 8, 32, 48][draws.below(4) as usize];
    Packet { ds_field: dscp << 2 | draws.below(4) as u8, ..packet }
}

/// By flow (its source and transmit queue) and class.
type Counts = BTreeMap<(u32, u16, usize), Count>;

fn count(counts: &mut Counts, packet: &Packet) {
    let key = (packet.tuple.source, packet.tuple.source_port, packet.class() as usize);
    counts.entry(key).or_default().add(&Count { packets: 1, bytes: packet.ip_bytes().into() });
}

/// The cells: DCF, EDCA with a transmit queue per category and with a shared one, A-MPDUs.
fn cell(kind: usize, stations: usize, error: f64) -> BssSpec {
    let mut spec = match kind {
        0..=2 => cell_b(stations),
        _ => {
            let station = |i| StationSpec {
                rate_mbps: None,
                mcs: Some(5),
                ..StationSpec::new(format!("sta-{i}"), 6.0)
            };
            let mut spec = BssSpec::new((0..stations).map(station).collect());
            spec.phy = PhySpec::He(Default::default());
            spec.mac.aggregation = Some(AggregationSpec { max_amsdu_bytes: 3_000, ..Default::default() });
            spec
        }
    };
    let share_tx_queue = if kind == 2 { ShareTxQueue::Ap } else { ShareTxQueue::None };
    let classify = wifair_wlan::Classify::Dscp;
    spec.mac.edca = (kind > 0).then(|| EdcaSpec { share_tx_queue, classify, ..EdcaSpec::default() });
    for station in &mut spec.stations {
        station.tx_queue.limit_packets = 20;
        station.frame_error_rate = FrameErrorRate {
            data_up: error,
            data_down: error,
            ack_up: error,
            ack_down: error,
            by_rate: vec![],
        };
    }
    spec.ap.tx_queue.limit_packets = 10;
    spec
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40 * effort() as u32))]

    /// By flow and class: what the AP has received is forwarded or dropped, and what is marked is forwarded. Only
    /// packets with ECT get CE. No other bit changes.
    #[test]
    fn what_is_received_is_forwarded_or_dropped(
        kind in 0usize..4,
        stations in 1usize..4,
        error in prop::sample::select(vec![0.0, 0.1, 0.4]),
        weights in (1u32..5, 0u32..5, 0u32..5),
        seed: u64,
    ) {
        let (spec, calls) = policed(cell(kind, stations, error), [weights.0, weights.1, weights.2]);
        let mut bss = Bss::new(&spec, seed).unwrap();
        let journal = Journal::new();
        if seed % 2 == 0 {
            bss.keep_journal(&journal);
        }
        let mut draws = Rng::stream(seed, "test", "packets");
        let (mut sent, mut forwarded, mut marked) = (BTreeMap::new(), Counts::new(), Counts::new());
        let mut now = Time::ZERO;
        for seq in 0..300 {
            let station = draws.below(stations as u32) as u16;
            if draws.below(3) > 0 {
                let packet = any_packet(station, seq, &mut draws);
                sent.insert(seq, packet);
                bss.send_up(StationId(station), &packet, now);
            } else {
                bss.send_down(StationId(station), &packet_down(station, seq, 1_500), now);
            }
            let until = if seq < 299 { now + us(u64::from(draws.below(3_000))) } else { Time::MAX };
            while let Some((_, output)) = bss.advance_before(until) {
                if let Output::Delivery(Delivery { packet, to: Node::Ap }) = output {
                    let original = sent[&packet.seq];
                    count(&mut forwarded, packet);
                    if *packet != original {
                        prop_assert!(matches!(original.ecn(), Ecn::Ect0 | Ecn::Ect1));
                        prop_assert_eq!(*packet, original.with_ecn(Ecn::Ce));
                        count(&mut marked, packet);
                    }
                }
            }
            now = if until == Time::MAX { now } else { until };
        }

        // The counters of the flows, against what left and what the links count.
        let mut total = [Ledger::default(); 3];
        let mut flows: Vec<(u32, u16, usize, Ledger)> = vec![];
        let end = bss.next_event().min(Time::from_s(1_000));
        for (_, tx_queue) in bss.ap_tx_queues() {
            let snapshot = tx_queue.snapshot(end);
            total.add(&snapshot.classes);
            for flow in snapshot.flows {
                let tuple = bss.flows().tuple(flow.flow);
                for class in Class::ALL {
                    let ledger = flow.classes[class as usize];
                    flows.push((tuple.source, tuple.source_port, class as usize, ledger));
                }
            }
        }
        let sum = |of: fn(&Ledger) -> Count| {
            let mut sums = Counts::new();
            for (source, tx_queue, class, ledger) in &flows {
                sums.entry((*source, *tx_queue, *class)).or_default().add(&of(ledger));
            }
            sums.retain(|_, count| count.packets > 0);
            sums
        };
        prop_assert_eq!(sum(Ledger::forwarded), forwarded);
        prop_assert_eq!(sum(|ledger| ledger.police_marked), marked);
        let received: u64 = bss.snapshot(end).stations.iter().map(|station| station.up.delivered).sum();
        let of_total = |of: fn(&Ledger) -> Count| total.iter().map(|ledger| of(ledger).packets).sum::<u64>();
        prop_assert!(received > 0);
        prop_assert_eq!(of_total(|ledger| ledger.policed), received);

        // Each packet is policed once, right after all schemes have been notified of it.
        let calls = calls.lock().unwrap();
        let tx_queues = bss.ap_tx_queues().count().max(if kind == 1 || kind == 3 { 4 } else { 1 });
        prop_assert_eq!(calls.len() as u64, (tx_queues as u64 + 1) * received);
        for group in calls.chunks(tx_queues + 1) {
            let (at, seq, last) = group[tx_queues];
            prop_assert!(group[..tx_queues].iter().all(|call| *call == (at, seq, "received")));
            prop_assert!(last != "received");
        }
        let drops = calls.iter().filter(|(.., call)| *call == "drop").count() as u64;
        prop_assert_eq!(of_total(|ledger| ledger.police_dropped), drops);

        // The journal says the same.
        let mut actions = [0; 3];
        journal.take(|entry| if let TxQueueEvent::Policed(action) = entry.event {
            actions[action as usize] += 1;
        });
        if seed % 2 == 0 {
            let marks = of_total(|ledger| ledger.police_marked);
            prop_assert_eq!(actions, [received - marks - drops, marks, drops]);
        }
    }
}

/// With actions that have no effect the trajectory is that of a scheme without them.
#[test]
fn forwarding_all_changes_nothing() {
    for kind in 0..4 {
        let deliveries = |spec: &BssSpec| {
            let mut bss = Bss::new(spec, 7).unwrap();
            let mut log = vec![];
            for seq in 0..400 {
                let now = us(700 * u64::from(seq));
                while let Some((at, output)) = bss.advance_before(now) {
                    if let Output::Delivery(Delivery { packet, to }) = output {
                        log.push((at, *packet, to));
                    }
                }
                bss.send_up(StationId(seq as u16 % 2), &packet(seq as u16 % 2, seq, 1_500), now);
                bss.send_down(StationId(0), &packet_down(0, seq, 1_500), now);
            }
            log
        };
        let plain = cell(kind, 2, 0.2);
        let (watched, calls) = policed(plain.clone(), [1, 1, 0]); // no packet has ECT
        assert_eq!(deliveries(&watched), deliveries(&plain));
        assert!(calls.lock().unwrap().iter().any(|(.., call)| *call == "mark"));
    }
}

/// The station's MAC learns nothing of the decision.
#[test]
fn a_dropped_packet_is_acknowledged() {
    for kind in [0, 1, 3] {
        let (spec, _) = policed(cell(kind, 1, 0.0), [0, 0, 1]);
        let mut bss = Bss::new(&spec, 1).unwrap();
        (0..5).for_each(|seq| bss.send_up(StationId(0), &packet(0, seq, 1_500), us(10)));
        while let Some((_, output)) = bss.advance_before(Time::MAX) {
            assert!(!matches!(output, Output::Delivery(_)));
        }
        let now = Time::from_s(1);
        let station = bss.snapshot(now).stations[0].up;
        assert_eq!((station.delivered, station.retries), (5, 0));
        let tx_queue = bss.station_tx_queue(StationId(0)).snapshot(now);
        assert_eq!(tx_queue.class(Class::Data).delivered.packets, 5);
    }
}

/// A scheme with a clock that is moved by receptions and actions.
struct Winding {
    at: Option<Time>,
    in_police: bool,
    ticks: Arc<Mutex<Vec<Time>>>,
}

impl Scheme for Winding {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn hooks(&self) -> Hooks {
        Hooks { reception: true, police: true, tick: true, moves_tick: true, ..Hooks::default() }
    }

    fn on_reception(&mut self, _reception: &Reception, _buffer: &mut Buffer, cx: &mut Cx) {
        if !self.in_police {
            self.at = Some(cx.now + us(5_000));
        }
    }

    fn police(&mut self, _reception: &Reception, _buffer: &mut Buffer, cx: &mut Cx) -> PoliceAction {
        if self.in_police {
            self.at = Some(cx.now + us(5_000));
        }
        PoliceAction::Forward
    }

    fn next_tick(&self) -> Option<Time> {
        self.at
    }

    fn on_tick(&mut self, _buffer: &mut Buffer, cx: &mut Cx) {
        self.at = None;
        self.ticks.lock().unwrap().push(cx.now);
    }
}

/// A tick that is set while a packet from a station is handled comes at its time, although the AP's transmit queue has nothing
/// to do.
#[test]
fn a_tick_set_at_a_reception_comes_at_its_time() {
    for in_police in [false, true] {
        let ticks = Arc::<Mutex<Vec<Time>>>::default();
        let shared = ticks.clone();
        let mut spec = cell_b(1);
        spec.ap.tx_queue.scheme = external(move || Winding { at: None, in_police, ticks: shared.clone() });
        let mut bss = Bss::new(&spec, 1).unwrap();
        bss.send_up(StationId(0), &packet(0, 1, 1_500), us(10));
        let mut delivered = None;
        while let Some((at, output)) = bss.advance_before(Time::MAX) {
            if let Output::Delivery(_) = output {
                delivered = Some(at);
            }
        }
        assert_eq!(*ticks.lock().unwrap(), [delivered.unwrap() + us(5_000)]);
    }
}
