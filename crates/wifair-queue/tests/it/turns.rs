//! What fair queues promise, on scripted traffic: a sparse flow waits two rounds at most, nobody starves.

use crate::common;

use common::{ack, cases, data, upward};
use proptest::prelude::*;
use wifair_core::{Ac, Ecn, FiveTuple, FlowId, Packet, Rate, StationId, Time, UDP};
use wifair_queue::{
    DequeuedPacket, Exchange, Flows, FlowsSpec, Grant, Link, Outcome, PoliceAction, Reception, TxQueue,
    TxQueueSpec, View,
};

const LINKS: [Link; 8] = [Link::new(Rate::from_kbps(11_000)); 8];

/// A transmit queue whose MAC takes one frame after the other.
struct Ap {
    tx_queue: TxQueue,
    flows: Flows,
    now: Time,
    serial: u32,
}

impl Ap {
    fn new(scheme: &str) -> Ap {
        let spec = TxQueueSpec {
            limit_packets: 5_000,
            scheme: serde_json::from_str(scheme).unwrap(),
            ..TxQueueSpec::default()
        };
        Ap {
            tx_queue: TxQueue::new(&spec, 3, "ap"),
            flows: Flows::new(&FlowsSpec::default()),
            now: Time::ZERO,
            serial: 0,
        }
    }

    fn offer(&mut self, flow: u32, station: u16, payload_bytes: u32) {
        self.serial += 1;
        let packet = Packet { window_bytes: self.serial, payload_bytes, ..data(flow, 1) };
        let view = View { flows: &self.flows, links: &LINKS };
        self.tx_queue.enqueue(Ac::BestEffort, &packet, FlowId(flow), StationId(station), self.now, || view);
    }

    /// Sends a frame, and says of which flow it is.
    fn send(&mut self, airtime: impl Fn(StationId) -> Time) -> Option<u32> {
        let view = View { flows: &self.flows, links: &LINKS };
        let departure = self.tx_queue.dequeue(&Grant::ANY, self.now, || view).map(DequeuedPacket::from)?;
        let airtime = airtime(departure.station);
        self.now += airtime;
        let told = || Exchange {
            outcome: Outcome::Delivered,
            packets: std::slice::from_ref(&departure.packet),
            flow: departure.flow,
            station: departure.station,
            ac: Ac::BestEffort,
            rate: Rate::from_mbps(11.0),
            attempts: 1,
            airtime,
            overhead: Time::ZERO,
            service: airtime,
        };
        self.tx_queue.complete(&departure, Outcome::Delivered, self.now, || view, told);
        Some(departure.flow.0)
    }

    /// Receives TCP data from a station.
    fn receive(&mut self, station: u16, airtime: Time) -> PoliceAction {
        self.receive_packet(station, airtime, &upward(data(90, 1)))
    }

    /// Receives a packet from a station, and says what becomes of it.
    fn receive_packet(&mut self, station: u16, airtime: Time, packet: &Packet) -> PoliceAction {
        let view = View { flows: &self.flows, links: &LINKS };
        let reception = Reception {
            packet,
            flow: FlowId(90),
            station: StationId(station),
            ac: Ac::BestEffort,
            airtime,
            overhead: Time::ZERO,
        };
        if self.tx_queue.hooks().reception {
            self.tx_queue.receive(&reception, self.now, view);
        }
        if !self.tx_queue.hooks().police {
            return PoliceAction::Forward;
        }
        self.tx_queue.police(&reception, self.now, view)
    }
}

/// Without CoDel's drops, which are not the point.
const PATIENT: [&str; 3] = [
    r#"{"name": "fq-codel", "interval_ms": 90000}"#,
    r#"{"name": "mac80211", "interval_ms": 90000}"#,
    r#"{"name": "air-share", "interval_ms": 90000}"#,
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(200)) })]
    /// Among `busy` flows that always have full-sized packets, each to a different station, another sends a packet of at most
    /// a quantum now and then: meanwhile each of the others has two turns at most, of at most two packets.
    #[test]
    fn a_sparse_flow_waits_two_rounds_at_most(
        scheme in prop::sample::select(&PATIENT),
        busy in 1u16..7,
        bytes in 20u32..260,
        gaps in prop::collection::vec(0u32..60, 5..30),
    ) {
        let mut ap = Ap::new(scheme);
        for flow in 0..busy {
            (0..20).for_each(|_| ap.offer(flow.into(), flow, 1460));
        }
        let airtime = |station: StationId| Time::from_us(if station.0 == 7 { 400 } else { 1_500 });
        for gap in gaps {
            for _ in 0..gap {
                let flow = ap.send(airtime).unwrap();
                prop_assert!(flow != 7);
                ap.offer(flow, flow as u16, 1460);
            }
            ap.offer(7, 7, bytes);
            let mut turns = vec![0; busy.into()];
            loop {
                match ap.send(airtime).unwrap() {
                    7 => break,
                    flow => {
                        turns[flow as usize] += 1;
                        ap.offer(flow, flow as u16, 1460);
                    }
                }
            }
            let packets_a_turn = if scheme.contains("fq-codel") { 2 } else { 1 };
            prop_assert!(turns.iter().all(|turns| *turns <= 2 * packets_a_turn), "{turns:?} before it");
        }
    }
}

/// A station sends so much that its debt of airtime never ends, while downloads fill the rest: its ACKs still go, since who has
/// not been served for a while is not charged.
#[test]
fn a_station_in_debt_does_not_starve() {
    for (scheme, quiet_ms) in PATIENT[1..].iter().flat_map(|scheme| [(scheme, 0u64), (scheme, 3)]) {
        let mut ap = Ap::new(scheme);
        for flow in 0..3 {
            (0..1_500).for_each(|_| ap.offer(flow, flow as u16, 1460));
        }
        (0..60).for_each(|_| ap.offer(5, 5, 0));
        let mut last = Time::ZERO;
        let mut sent = 0;
        while sent < 50 {
            ap.receive(5, Time::from_us(1_500));
            ap.now += Time::from_us(1_500) + Time::from_ms(quiet_ms);
            if ap.send(|_| Time::from_us(1_500)) == Some(5) {
                assert!(ap.now - last < Time::from_ms(1_000), "{} without an ACK", ap.now - last);
                last = ap.now;
                sent += 1;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(200)) })]
    /// A station with packets queued waits for its turn until each other station has been sent at most 100 ms, two frames and
    /// two quanta of airtime: whatever it sends itself, and whichever stations come and go.
    #[test]
    fn the_wait_for_a_turn_is_bounded(
        scheme in prop::sample::select(&PATIENT[1..]),
        frames_us in prop::collection::vec(200u64..6_000, 6),
        steps in prop::collection::vec((0u16..6, 0u32..4, 0u64..6_000), 100..1_500),
    ) {
        let mut ap = Ap::new(scheme);
        for flow in 0..3 {
            (0..1_600).for_each(|_| ap.offer(flow, flow as u16, 1460));
        }
        let airtime = |station: StationId| Time::from_us(frames_us[station.index()]);
        let mut others = [[Time::ZERO; 6]; 3];
        for (station, packets, uplink_us) in steps {
            // Of the stations 3 to 5 the queues run empty.
            (0..packets).for_each(|_| ap.offer(3 + u32::from(station) % 3, 3 + station % 3, 1460));
            if uplink_us > 1_000 {
                ap.receive(station, Time::from_us(uplink_us));
                ap.now += Time::from_us(uplink_us);
            }
            let sent = StationId(ap.send(airtime).unwrap() as u16);
            for (waiting, used) in others.iter_mut().enumerate() {
                used[sent.index()] += airtime(sent);
                if waiting == sent.index() {
                    *used = [Time::ZERO; 6];
                }
                let longest = Time::from_us(6_000.max(uplink_us));
                let bound = Time::from_ms(100) + longest * 2 + Time::from_us(2 * 256);
                prop_assert!(used.iter().all(|used| *used <= bound), "station {waiting} waits: {used:?}");
            }
        }
    }
}

/// Stations of different rates, always with packets, use the same airtime under mac80211 and air-share; under FQ-CoDel they
/// send as many bytes.
#[test]
fn airtime_is_shared_where_bytes_were() {
    for (scheme, fair_in_time) in [(PATIENT[0], false), (PATIENT[1], true), (PATIENT[2], true)] {
        let mut ap = Ap::new(scheme);
        let airtime = |station: StationId| Time::from_us([1_500, 2_600, 6_500, 12_600][station.index()]);
        let mut sent = [0u64; 4];
        for flow in 0..4 {
            (0..1_200).for_each(|_| ap.offer(flow, flow as u16, 1460));
        }
        while ap.now < Time::from_s(2) {
            sent[ap.send(airtime).unwrap() as usize] += 1;
        }
        let used: Vec<f64> =
            (0..4).map(|s| sent[s] as f64 * airtime(StationId(s as u16)).as_secs_f64()).collect();
        let (least, most) =
            (used.iter().copied().fold(f64::MAX, f64::min), used.iter().copied().fold(0.0, f64::max));
        if fair_in_time {
            assert!(most / least < 1.05, "{used:?}");
        } else {
            assert!(sent.iter().max().unwrap() - sent.iter().min().unwrap() <= 2, "{sent:?}");
            assert!(most / least > 8.0, "{used:?}");
        }
    }
}

/// Air-share over downloads to `downloads` stations and a station 7 that uploads all the time and has ACKs queued. Returns when
/// its packets were policed, in ms, and how, over `seconds`.
fn policed(downloads: u16, seconds: u64, packet: &Packet) -> Vec<(f64, PoliceAction)> {
    let mut ap = Ap::new(r#"{"name": "air-share", "target_ms": 9000}"#);
    let mut policed = vec![];
    while ap.now < Time::from_s(seconds) {
        for flow in 0..downloads {
            ap.offer(flow.into(), flow, 1460);
        }
        ap.offer(7, 7, 0);
        ap.now += Time::from_us(1_500);
        match ap.receive_packet(7, Time::from_us(1_500), packet) {
            PoliceAction::Forward => {}
            action => policed.push((ap.now.as_secs_f64() * 1e3, action)),
        }
        ap.send(|station| Time::from_us(if station.0 == 7 { 400 } else { 1_500 }));
    }
    policed
}

/// An upload that takes half of the air of nine stations: signals come as CoDel's do, by a mark where the transport bears it.
#[test]
fn an_upload_above_its_share_gets_signals_by_the_control_law() {
    let packet = upward(data(90, 1));
    for (ecn, action) in [(Ecn::NotEct, PoliceAction::Drop), (Ecn::Ect0, PoliceAction::Mark)] {
        let policed = policed(8, 5, &packet.with_ecn(ecn));
        assert!(policed.iter().all(|(_, found)| *found == action), "{policed:?}");
        assert!(policed.len() > 100, "{policed:?}");
        // A debt of 20 ms takes 55 ms at first. A packet comes every 3 ms.
        let (mut due, mut slack) = (150.0, 20.0);
        for (n, (at, _)) in (1u32..).zip(&policed) {
            assert!((due..due + slack).contains(at), "signal {n} at {at} ms, due at {due}");
            (due, slack) = (at + 100.0 / f64::from(n).sqrt(), 3.6);
        }
    }
}

#[test]
fn air_that_nobody_else_wants_is_free() {
    assert_eq!(policed(0, 5, &upward(data(90, 1))), []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(100)) })]
    /// Whatever a station sends and owes, its calls and its ACKs are forwarded, and so is the data of a station that uses less
    /// air than each other one with packets queued.
    #[test]
    fn calls_acks_and_stations_below_their_share_are_never_policed(
        downloads in 1u16..4,
        upload_us in 300u64..6_000,
        modest_us in 10u64..250,
        seconds in 1u64..4,
    ) {
        let datagram = |tuple: FiveTuple| Packet::datagram(FiveTuple { protocol: UDP, ..tuple }, 1, 172, 46, Time::ZERO);
        let segment = upward(data(90, 1));
        let [call, segment_acked] = [datagram(segment.tuple), upward(ack(90, 1))];
        let mut ap = Ap::new(r#"{"name": "air-share", "target_ms": 9000}"#);
        let mut dropped = 0;
        while ap.now < Time::from_s(seconds) {
            for flow in 0..downloads {
                ap.offer(flow.into(), flow, 1460);
            }
            for flow in [6, 7] {
                ap.offer(flow.into(), flow, 0);
            }
            ap.now += Time::from_us(upload_us + modest_us);
            prop_assert_eq!(ap.receive(6, Time::from_us(modest_us)), PoliceAction::Forward);
            dropped += u32::from(ap.receive(7, Time::from_us(upload_us)) == PoliceAction::Drop);
            for packet in [&call, &segment_acked] {
                prop_assert_eq!(ap.receive_packet(7, Time::from_us(20), packet), PoliceAction::Forward);
            }
            ap.send(|station| Time::from_us(if station.0 > 5 { 40 } else { 1_500 }));
        }
        prop_assert!(dropped > 0 || upload_us < 3_000, "station 7 is policed");
    }
}
