//! How schemes hand over aggregates: a series of grants for one station that gather.

use crate::common;

use common::{ack, cases, data, upward};
use proptest::prelude::*;
use wifair_core::{Ac, FlowId, Packet, Rate, StationId, Time};
use wifair_queue::{
    DequeuedPacket, Direction, Exchange, Flows, FlowsSpec, Grant, Link, MpduOutcome, Outcome, SchemeSpec,
    StationLimit, Transmission, TransmittedMpdu, TxQueue, TxQueueSpec, View,
};

const STATIONS: u16 = 3;

fn station_of(connection: u32) -> StationId {
    StationId((connection % u32::from(STATIONS)) as u16)
}

/// Connections with an odd number upload: their ACKs go down.
fn is_upload(connection: u32) -> bool {
    connection % 2 == 1
}

struct Ap {
    tx_queue: TxQueue,
    flows: Flows,
    links: [Link; STATIONS as usize],
    now: Time,
    serial: u32,
}

impl Ap {
    fn new(name: &str) -> Ap {
        let scheme: SchemeSpec = serde_json::from_value(serde_json::json!({ "name": name })).unwrap();
        let spec = TxQueueSpec { limit_packets: 10_000, scheme, ..TxQueueSpec::default() };
        Ap {
            tx_queue: TxQueue::new(&spec, 7, "ap"),
            flows: Flows::new(&FlowsSpec::default()),
            links: [Link::new(Rate::from_mbps(54.0)); STATIONS as usize],
            now: Time::from_ms(1),
            serial: 0,
        }
    }

    /// The next packet of a connection; each has its number as its window. Every second one arrives together with the last.
    fn offer(&mut self, connection: u32) {
        self.now += Time::from_ns(10 * u64::from(self.serial % 2));
        self.serial += 1;
        let number = 1 + 1460 * self.serial;
        let Ap { flows, tx_queue, now, links, serial } = self;
        if is_upload(connection) {
            flows
                .observe(&upward(data(connection, number)), Direction::Up, *now, |flow| tx_queue.holds(flow));
        }
        let packet = if is_upload(connection) { ack(connection, number) } else { data(connection, number) };
        let packet = Packet { window_bytes: *serial, ..packet };
        let flow = flows.observe(&packet, Direction::Down, *now, |flow| tx_queue.holds(flow));
        tx_queue
            .enqueue(Ac::BestEffort, &packet, flow, station_of(connection), *now, || View { flows, links });
    }

    /// The next packet under a grant, which is delivered without any airtime.
    fn take(&mut self, grant: &Grant) -> Option<Packet> {
        let view = View { flows: &self.flows, links: &self.links };
        let taken = self.tx_queue.dequeue(grant, self.now, || view).map(DequeuedPacket::from)?;
        let exchange = || Exchange {
            outcome: Outcome::Delivered,
            packets: std::slice::from_ref(&taken.packet),
            flow: taken.flow,
            station: taken.station,
            ac: grant.ac,
            rate: Rate::from_mbps(54.0),
            attempts: 1,
            airtime: Time::ZERO,
            overhead: Time::ZERO,
            service: Time::from_us(100),
        };
        self.tx_queue.complete(&taken, Outcome::Delivered, self.now, || view, exchange);
        Some(taken.packet)
    }

    /// All that it gives under a grant, at most `most`, by number.
    fn take_all(&mut self, grant: &Grant, most: usize) -> Vec<u32> {
        std::iter::from_fn(|| self.take(grant)).take(most).map(|packet| packet.window_bytes).collect()
    }
}

fn gathering(station: u16) -> Grant<'static> {
    Grant { station: Some(StationId(station)), gathers: true, ..Grant::ANY }
}

fn names() -> Vec<&'static str> {
    SchemeSpec::components().into_iter().map(|scheme| scheme.info.name).collect()
}

fn connection(packet: &Packet) -> u32 {
    packet.tuple.destination - 0x0a00_0000
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(600)) })]

    /// What a station gets for an aggregate is what it would get one by one, in that order; the others keep their order, too.
    #[test]
    fn an_aggregate_has_the_packets_of_its_station_in_the_order_of_the_scheme(
        name in prop::sample::select(names()),
        steps in prop::collection::vec((0u32..8, 0usize..3, any::<bool>()), 1..120),
        stations in prop::collection::vec((0..STATIONS, 1usize..60), 1..6),
    ) {
        let [mut one_by_one, mut aggregating] = [Ap::new(name), Ap::new(name)];
        for (connection, packets, take) in steps {
            for ap in [&mut one_by_one, &mut aggregating] {
                (0..=packets).for_each(|_| ap.offer(connection));
                if take {
                    ap.take(&Grant::ANY);
                }
            }
        }
        let of_packet: Vec<(u32, StationId)> = one_by_one
            .tx_queue
            .packets()
            .map(|packet| (packet.window_bytes, station_of(connection(packet))))
            .collect();
        let of = |station: u16, order: &[u32]| -> Vec<u32> {
            let is_for = |number: &u32| of_packet.contains(&(*number, StationId(station)));
            order.iter().copied().filter(is_for).collect()
        };
        let order = one_by_one.take_all(&Grant::ANY, usize::MAX);
        prop_assert_eq!(order.len(), of_packet.len(), "nothing is kept back");
        let mut left = order.clone();
        for (station, most) in stations {
            let got = aggregating.take_all(&gathering(station), most);
            let due = of(station, &left);
            prop_assert_eq!(&got[..], &due[..most.min(due.len())]);
            left.retain(|number| !got.contains(number));
        }
        let mut rest = aggregating.take_all(&Grant::ANY, usize::MAX);
        for station in 0..STATIONS {
            prop_assert_eq!(of(station, &rest), of(station, &left));
        }
        rest.sort_unstable();
        left.sort_unstable();
        prop_assert_eq!(rest, left);
    }

    /// Stations that may get no more are passed over, and the first packet of the others leaves.
    #[test]
    fn stations_with_enough_pending_are_passed_over(
        name in prop::sample::select(names()),
        connections in prop::collection::vec(0u32..8, 1..60),
        full in 0..STATIONS,
    ) {
        let [mut all, mut limited] = [Ap::new(name), Ap::new(name)];
        connections.iter().for_each(|&connection| all.offer(connection));
        connections.iter().for_each(|&connection| limited.offer(connection));
        let mut pending = [Time::ZERO; STATIONS as usize];
        pending[usize::from(full)] = Time::MAX;
        let limit = StationLimit { pending: &pending, below: Time::MAX };
        let grant = Grant { gathers: true, station_limit: Some(limit), ..Grant::ANY };
        let is_full = |number: &u32, ap: &Ap| {
            let of = ap.tx_queue.packets().find(|packet| packet.window_bytes == *number).map(connection);
            of.is_some_and(|connection| station_of(connection) == StationId(full))
        };
        let first: Vec<u32> = limited.tx_queue.packets().map(|packet| packet.window_bytes).collect();
        let closed: Vec<u32> = first.into_iter().filter(|number| is_full(number, &limited)).collect();
        let mut order = all.take_all(&Grant::ANY, usize::MAX);
        order.retain(|number| !closed.contains(number));
        let got = limited.take_all(&grant, usize::MAX);
        prop_assert_eq!(got, order);
        prop_assert_eq!(limited.tx_queue.len(), closed.len());
    }
}

/// A packet that does not fit ends the aggregate, whatever is behind it.
#[test]
fn a_packet_that_does_not_fit_ends_the_aggregate() {
    for name in names() {
        let mut ap = Ap::new(name);
        [1, 0, 2, 0, 1].into_iter().for_each(|connection| ap.offer(connection));
        let before = ap.tx_queue.len();
        assert_eq!(ap.take(&Grant { max_bytes: 1_000, ..gathering(0) }), None, "{name}");
        assert_eq!(ap.tx_queue.len(), before, "{name}");
    }
}

/// Flows share the bytes under fq-codel, however many of them a station has, though whole aggregates go to one station.
#[test]
fn what_a_queue_sends_before_its_turn_counts_in_its_turns() {
    let mut ap = Ap::new("fq-codel");
    let flows = [0, 2, 8, 14, 20, 4]; // one to station 0, four to station 2, one to station 1
    let mut got = [0u64; 24];
    for _ in 0..3_000 {
        for flow in flows {
            while ap.tx_queue.packets().filter(|packet| connection(packet) == flow).count() < 40 {
                ap.offer(flow);
            }
        }
        let first = ap.take(&Grant::ANY).unwrap();
        let station = station_of(connection(&first)).0;
        let more = std::iter::from_fn(|| ap.take(&gathering(station))).take(31);
        let packets: Vec<Packet> = std::iter::once(first).chain(more).collect();
        assert_eq!(packets.len(), 32);
        packets.iter().for_each(|packet| got[connection(packet) as usize] += 1);
    }
    let shares = flows.map(|flow| got[flow as usize]);
    let mean = shares.iter().sum::<u64>() / 6;
    // An aggregate of 32 packets is the most that one is ahead.
    assert!(shares.iter().all(|share| share.abs_diff(mean) <= 64), "{shares:?}");
}

/// DQM serves ACKs first where both go at the same rate: within an aggregate, those of its station.
#[test]
fn under_dqm_an_aggregate_has_both_queues_packets() {
    let mut ap = Ap::new("dqm");
    for connection in [0, 1, 3, 6, 0, 3, 9, 2] {
        ap.offer(connection);
    }
    // Uplink connections 3 and 9 and downlink connections 0 and 6 are station 0's.
    let numbers: Vec<u32> = ap.take_all(&gathering(0), usize::MAX);
    assert_eq!(numbers.len(), 6);
    let mut apart = numbers.clone();
    apart.sort_by_key(|number| ![3, 6, 7].contains(number));
    assert!(numbers == apart || numbers.iter().rev().eq(apart.iter().rev()), "{numbers:?}");
    assert_eq!(ap.tx_queue.len(), 2);
}

#[test]
fn without_gathering_an_aggregate_ends_at_another_stations_packet() {
    for name in ["droptail", "codel", "fq-codel", "las", "t-las", "dqm"] {
        let gives = |which: u16| {
            let mut ap = Ap::new(name);
            [0, 0, 2, 2].into_iter().for_each(|connection| ap.offer(connection));
            let first = ap.take(&Grant::ANY).unwrap();
            let station = (station_of(connection(&first)).0 + which) % 4; // 0 or 2
            ap.take(&Grant { gathers: false, ..gathering(station) }).is_some()
        };
        assert!(gives(0) != gives(2), "{name}");
    }
}

/// The station whose turn it is, of those with packets that the grant admits or with retransmissions.
#[test]
fn the_station_to_send_to_is_one_that_has_something() {
    let mut ap = Ap::new("mac80211");
    let choose = |ap: &mut Ap, grant: &Grant, pending: &[u16]| {
        let view = View { flows: &ap.flows, links: &ap.links };
        ap.tx_queue.choose_station(grant, &|station| pending.contains(&station.0), ap.now, view)
    };
    assert!(ap.tx_queue.arbitrates());
    assert_eq!(choose(&mut ap, &Grant::ANY, &[]), None);
    ap.offer(4); // a download of station 1
    assert_eq!(choose(&mut ap, &Grant::ANY, &[]), Some(StationId(1)));
    assert_eq!(choose(&mut ap, &gathering(2), &[]), None);
    ap.take(&gathering(1)).unwrap();
    assert_eq!(choose(&mut ap, &Grant::ANY, &[]), None);
    let Ap { tx_queue, flows, links, now, .. } = &mut ap;
    tx_queue.hold_pending(StationId(2), Grant::ANY.ac, *now, View { flows, links });
    assert_eq!(choose(&mut ap, &Grant::ANY, &[2]), Some(StationId(2)));
}

/// Packets of an A-MSDU share one MPDU and its outcome.
#[test]
fn a_transmission_counts_mpdus_and_not_packets() {
    let packet = data(0, 1);
    let mpdu = |outcome, continues_amsdu| TransmittedMpdu {
        packet: &packet,
        continues_amsdu,
        flow: FlowId(0),
        sequence: None,
        outcome,
        attempts: 1,
        airtime: Time::ZERO,
        overhead: Time::ZERO,
    };
    let mpdus = vec![
        mpdu(MpduOutcome::Delivered, false),
        mpdu(MpduOutcome::Delivered, true),
        mpdu(MpduOutcome::ToRetry, false),
        mpdu(MpduOutcome::ToRetry, true),
        mpdu(MpduOutcome::GivenUp, false),
        mpdu(MpduOutcome::Delivered, false),
    ];
    let transmission = Transmission {
        station: StationId(0),
        ac: Grant::ANY.ac,
        rate: Rate::from_mbps(54.0),
        mpdus,
        airtime: Time::from_us(3),
        overhead: Time::from_us(2),
    };
    assert_eq!((transmission.sent(), transmission.acknowledged()), (4, 2));
    assert_eq!(transmission.channel_time(), Time::from_us(5));
}
