//! What fair queues promise, on scripted traffic: a sparse flow waits two rounds at most, nobody starves.

use crate::common;

use common::{cases, data};
use proptest::prelude::*;
use wifair_core::{Ac, FlowId, Packet, Rate, StationId, Time};
use wifair_queue::{
    DequeuedPacket, Exchange, Flows, FlowsSpec, Grant, Link, Outcome, Reception, TxQueue, TxQueueSpec, View,
};

const LINKS: [Link; 8] = [Link::new(Rate::from_kbps(11_000)); 8];

/// A port whose MAC takes one frame after the other.
struct Ap {
    port: TxQueue,
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
            port: TxQueue::new(&spec, 3, "ap"),
            flows: Flows::new(&FlowsSpec::default()),
            now: Time::ZERO,
            serial: 0,
        }
    }

    fn offer(&mut self, flow: u32, station: u16, payload_bytes: u32) {
        self.serial += 1;
        let packet = Packet { window_bytes: self.serial, payload_bytes, ..data(flow, 1) };
        let view = View { flows: &self.flows, links: &LINKS };
        self.port.enqueue(Ac::BestEffort, &packet, FlowId(flow), StationId(station), self.now, || view);
    }

    /// Sends a frame, and says of which flow it is.
    fn send(&mut self, airtime: impl Fn(StationId) -> Time) -> Option<u32> {
        let view = View { flows: &self.flows, links: &LINKS };
        let departure = self.port.dequeue(&Grant::ANY, self.now, || view).map(DequeuedPacket::from)?;
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
        self.port.complete(&departure, Outcome::Delivered, self.now, || view, told);
        Some(departure.flow.0)
    }

    fn receive(&mut self, station: u16, airtime: Time) {
        let packet = data(90, 1);
        let view = View { flows: &self.flows, links: &LINKS };
        let reception = Reception {
            packet: &packet,
            flow: FlowId(90),
            station: StationId(station),
            ac: Ac::BestEffort,
            airtime,
            overhead: Time::ZERO,
        };
        if self.port.hooks().reception {
            self.port.receive(&reception, self.now, view);
        }
    }
}

/// Without CoDel's drops, which are not the point.
const PATIENT: [&str; 2] =
    [r#"{"name": "fq-codel", "interval_ms": 90000}"#, r#"{"name": "mac80211", "interval_ms": 90000}"#];

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
            let packets_a_turn = if scheme.contains("mac80211") { 1 } else { 2 };
            prop_assert!(turns.iter().all(|turns| *turns <= 2 * packets_a_turn), "{turns:?} before it");
        }
    }
}

/// A station sends so much that its debt of airtime never ends, while downloads fill the rest: its ACKs still go, since who has
/// not been served for a while is not charged.
#[test]
fn a_station_in_debt_does_not_starve() {
    for quiet_ms in [0u64, 3] {
        let mut ap = Ap::new(r#"{"name": "mac80211", "interval_ms": 90000}"#);
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

/// Stations of different rates, always with packets, use the same airtime under mac80211; under FQ-CoDel they send as many
/// bytes.
#[test]
fn airtime_is_shared_where_bytes_were() {
    for (scheme, fair_in_time) in [(PATIENT[0], false), (PATIENT[1], true)] {
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
