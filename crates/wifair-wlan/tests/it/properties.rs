//! What holds in every BSS, whatever arrives: accounting, airtime, order, determinism.

use crate::support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use support::{Logged, effort, packet, packet_down, us};
use wifair_core::{StationId, Time};
use wifair_queue::Ledger;
use wifair_wlan::{
    ArrivalWithinIfs, BackoffRange, Bss, BssSnapshot, BssSpec, FrameErrorRate, Node, Output, PhySpec,
    StationSpec,
};

/// A packet from outside.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Time,
    station: u16,
    up: bool,
    ip_bytes: u32,
}

fn arrivals(stations: u16) -> impl Strategy<Value = Vec<Arrival>> {
    // Gaps of nothing, of less than a slot, of a few frames and of silence.
    let gap = prop_oneof![3 => Just(0u64), 2 => 0u64..20_000, 3 => 0u64..5_000_000, 1 => Just(100_000_000)];
    let arrival = (gap, 0..stations, any::<bool>(), prop_oneof![Just(40u32), Just(1_500), 40u32..1_500]);
    prop::collection::vec(arrival, 1..120).prop_map(|list| {
        let mut at = Time::ZERO;
        let next = |(gap, station, up, ip_bytes)| {
            at += Time::from_ns(gap);
            Arrival { at, station, up, ip_bytes }
        };
        list.into_iter().map(next).collect()
    })
}

fn station() -> impl Strategy<Value = (usize, [f64; 4])> {
    let rate = prop_oneof![Just(0.0), Just(0.0), 0.0..0.9];
    (0..4usize, [rate.clone(), rate.clone(), rate.clone(), rate])
}

fn scenario() -> impl Strategy<Value = (BssSpec, u64, Vec<Arrival>)> {
    let mac = (
        prop_oneof![Just(None), Just(Some(200u32))],
        any::<(bool, bool, bool, bool)>(),
        prop_oneof![Just(None), Just(None), Just(Some(0.0)), Just(Some(318.0)), Just(Some(4_000.0))],
        1u32..8,
    );
    let stations = prop::collection::vec(station(), 1..6);
    (any::<bool>(), mac, stations, any::<u64>(), 2u32..20)
        .prop_map(
            |(ofdm, (rts, (eifs, access, backoff, exclusive), timeout, limit), stations, seed, buffer)| {
                let rates = if ofdm { [6.0, 12.0, 24.0, 54.0] } else { [1.0, 2.0, 5.5, 11.0] };
                let stations = stations.into_iter().enumerate().map(|(index, (rate, errors))| {
                    let mut station = StationSpec::new(format!("sta-{index}"), rates[rate]);
                    let [data_up, data_down, ack_up, ack_down] = errors;
                    station.frame_error_rate =
                        FrameErrorRate { data_up, data_down, ack_up, ack_down, by_rate: vec![] };
                    station.tx_queue.limit_packets = buffer;
                    station
                });
                let mut spec = BssSpec::new(stations.collect());
                if ofdm {
                    spec.phy = PhySpec::Erp(Default::default());
                }
                spec.ap.tx_queue.limit_packets = buffer;
                spec.mac.rts_threshold_bytes = rts;
                spec.mac.eifs = eifs;
                spec.mac.immediate_access = access;
                if backoff {
                    spec.mac.arrival_within_ifs = ArrivalWithinIfs::Backoff;
                }
                if exclusive {
                    spec.mac.backoff_range = BackoffRange::Exclusive;
                }
                spec.mac.ack_timeout_us = timeout;
                spec.mac.retry_limit_short = limit;
                (spec, seed)
            },
        )
        .prop_flat_map(|(spec, seed)| {
            let stations = spec.stations.len() as u16;
            (Just(spec), Just(seed), arrivals(stations))
        })
}

/// An event of the BSS, and when the next thing happens, in the BSS or outside.
struct Event {
    now: Time,
    next: Time,
    delivery: Option<(Node, u32)>,
}

/// Feeds the arrivals, calls `each` after every event, until nothing is left to happen.
fn run(spec: &BssSpec, seed: u64, arrivals: &[Arrival], mut each: impl FnMut(&Bss, Event)) -> Bss {
    let mut bss = Bss::new(spec, seed).unwrap();
    let mut outside = arrivals.iter().enumerate().peekable();
    loop {
        let due = outside.next_if(|(_, arrival)| arrival.at <= bss.next_event());
        match due {
            Some((seq, a)) if a.up => {
                bss.send_up(StationId(a.station), &packet(a.station, seq as u32, a.ip_bytes), a.at);
            }
            Some((seq, a)) => {
                bss.send_down(StationId(a.station), &packet_down(a.station, seq as u32, a.ip_bytes), a.at);
            }
            None if bss.next_event() == Time::MAX => return bss,
            None => {
                let now = bss.next_event();
                let delivery = match bss.advance(now) {
                    Some(Output::Delivery(d)) => Some((d.to, d.packet.seq)),
                    _ => None,
                };
                let next = outside.peek().map_or(Time::MAX, |(_, arrival)| arrival.at).min(bss.next_event());
                each(&bss, Event { now, next, delivery });
            }
        }
    }
}

fn occupied(snapshot: &BssSnapshot) -> Time {
    let of_no_station = snapshot.collision_airtime + snapshot.beacons.airtime;
    snapshot.stations.iter().fold(of_no_station, |sum, s| sum + s.up.airtime + s.down.airtime)
}

fn total(ledgers: &[Ledger; 3], count: impl Fn(&Ledger) -> u64) -> u64 {
    ledgers.iter().map(count).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300 * effort() as u32))]

    #[test]
    fn time_is_occupied_once_or_idle((spec, seed, arrivals) in scenario()) {
        let mut before: Option<BssSnapshot> = None;
        run(&spec, seed, &arrivals, |bss, Event { now, next, .. }| {
            // At the event, and half-way to the next one.
            let half = Time::from_ns(if next == Time::MAX { 0 } else { (next - now).as_ns() / 2 });
            for at in [now, now + half] {
                let snapshot = bss.snapshot(at);
                assert_eq!(snapshot.elapsed, snapshot.idle + occupied(&snapshot));
                if let Some(before) = &before {
                    let passed = snapshot.since(before);
                    assert_eq!(passed.elapsed, passed.idle + occupied(&passed));
                    // Between two events the medium is occupied throughout or idle throughout.
                    assert!(passed.idle == Time::ZERO || passed.idle == passed.elapsed);
                    // An exchange starts only where none was in progress.
                    assert!(passed.exchanges <= 1);
                    assert!(passed.exchanges == 0 || passed.idle == passed.elapsed);
                }
                before = Some(snapshot);
            }
        });
    }

    #[test]
    fn every_packet_is_delivered_lost_or_refused_once((spec, seed, arrivals) in scenario()) {
        let mut deliveries: BTreeMap<u32, Node> = BTreeMap::new();
        let mut last: BTreeMap<(u16, bool), u32> = BTreeMap::new();
        let bss = run(&spec, seed, &arrivals, |_, event| {
            let Some((to, seq)) = event.delivery else { return };
            let arrival = arrivals[seq as usize];
            let expected = if arrival.up { Node::Ap } else { Node::Station(StationId(arrival.station)) };
            assert_eq!(to, expected);
            assert!(deliveries.insert(seq, to).is_none(), "delivered twice");
            // First in, first out, and a MAC sends one frame at a time: order is kept.
            let before = last.insert((arrival.station, arrival.up), seq);
            assert!(before.is_none_or(|before| before < seq), "overtaken");
        });
        let snapshot = bss.snapshot(Time::from_s(1_000_000));
        let mut ap = [0; 2];
        for (index, usage) in snapshot.stations.iter().enumerate() {
            let tx_queue = bss.station_tx_queue(StationId(index as u16)).snapshot(snapshot.at);
            let up = &usage.up;
            prop_assert_eq!(total(&tx_queue.classes, |l| l.offered.packets), arrivals.iter().filter(|a| a.up && usize::from(a.station) == index).count() as u64);
            prop_assert_eq!(total(&tx_queue.classes, |l| l.dequeued.packets), up.delivered + up.lost_at_retry_limit - up.lost_after_delivery);
            prop_assert_eq!(total(&tx_queue.classes, |l| l.lost_at_retry_limit.packets), up.lost_at_retry_limit);
            prop_assert_eq!(total(&tx_queue.classes, |l| l.queued.packets + l.in_service.packets), 0);
            ap[0] += usage.down.delivered - usage.down.lost_after_delivery;
            ap[1] += usage.down.lost_at_retry_limit;
            for usage in [&usage.up, &usage.down] {
                // Each attempt succeeds, is repeated or is the last of a frame given up.
                let succeeded = usage.delivered - usage.lost_after_delivery;
                prop_assert_eq!(usage.attempts, succeeded + usage.retries + usage.lost_at_retry_limit);
            }
        }
        let tx_queue = bss.ap_tx_queue().snapshot(snapshot.at);
        prop_assert_eq!(total(&tx_queue.classes, |l| l.delivered.packets), ap[0]);
        prop_assert_eq!(total(&tx_queue.classes, |l| l.lost_at_retry_limit.packets), ap[1]);
        prop_assert_eq!(total(&tx_queue.classes, |l| l.queued.packets + l.in_service.packets), 0);
        let delivered: u64 = snapshot.stations.iter().map(|s| s.up.delivered + s.down.delivered).sum();
        prop_assert_eq!(delivered, deliveries.len() as u64);
    }

    #[test]
    fn the_same_seed_gives_the_same_run((spec, seed, arrivals) in scenario()) {
        let trace = || {
            let mut trace = Vec::new();
            run(&spec, seed, &arrivals, |bss, event| trace.push((event.now, event.delivery, bss.snapshot(event.now))));
            trace
        };
        prop_assert_eq!(trace(), trace());
    }
}

#[test]
fn an_idle_station_changes_nothing_for_the_others() {
    // A station in front and one behind: other ids, the same labels and streams.
    let trajectory = |spec: &BssSpec, first: u16| {
        let mut run = Logged::new(spec, 9);
        for station in 0..3 {
            run.up(first + station, 20, us(100));
            run.down(first + station, 20, us(100));
        }
        run.run();
        run.log.iter().map(|(at, _)| *at).collect::<Vec<_>>()
    };
    let few = support::cell_b(3);
    let mut many = few.clone();
    many.stations.insert(0, StationSpec::new("idle-a", 1.0));
    many.stations.push(StationSpec::new("idle-b", 1.0));
    assert_eq!(trajectory(&few, 0), trajectory(&many, 1));
}

#[test]
fn bad_cells_are_refused_by_key() {
    let error = |change: fn(&mut BssSpec)| {
        let mut spec = support::cell_b(2);
        change(&mut spec);
        Bss::new(&spec, 1).map(|_| ()).unwrap_err().key
    };
    assert_eq!(error(|s| s.stations.clear()), "stations");
    assert_eq!(error(|s| s.stations = support::stations(20_001, 11.0)), "stations");
    assert_eq!(error(|s| s.stations[1].label = "sta-0".into()), "stations[1].label");
    assert_eq!(error(|s| s.stations[1].label = "ap".into()), "stations[1].label");
    assert_eq!(error(|s| s.stations[1].rate_mbps = Some(54.0)), "stations[1].rate_mbps");
    assert_eq!(error(|s| s.stations[0].rate_down_mbps = Some(-1.0)), "stations[0].rate_down_mbps");
    assert_eq!(error(|s| s.stations[0].frame_error_rate.ack_up = 1.5), "stations[0].frame_error_rate.ack_up");
    assert_eq!(error(|s| s.stations[0].tx_queue.limit_packets = 0), "stations[0].tx_queue.limit_packets");
    assert_eq!(error(|s| s.ap.tx_queue.limit_packets = 0), "ap.tx_queue.limit_packets");
    assert_eq!(error(|s| s.mac.retry_limit_short = 0), "mac.retry_limit_short");
    assert_eq!(error(|s| s.mac.ack_timeout_us = Some(-5.0)), "mac.ack_timeout_us");
    assert_eq!(
        error(|s| {
            s.mac.eifs = false;
            s.mac.eifs_plus_difs = true;
        }),
        "mac.eifs_plus_difs"
    );
}

#[test]
fn a_plan_reads_as_documented() {
    let plan = r#"{
        "phy": {"name": "802.11b", "preamble": "short", "control_rate_mbps": 2},
        "mac": {"rts_threshold_bytes": 500, "backoff_range": "exclusive", "arrival_within_ifs": "backoff",
                "rate_adaptation": {"name": "fixed"}},
        "stations": [{"label": "near", "rate_mbps": 11, "frame_error_rate": {"data_up": 0.1}}]
    }"#;
    let spec: BssSpec = serde_json::from_str(plan).unwrap();
    assert!(Bss::new(&spec, 1).is_ok());
    let again: BssSpec = serde_json::from_str(&serde_json::to_string(&spec).unwrap()).unwrap();
    assert_eq!(spec, again);
    for wrong in ["{\"stations\": [], \"colour\": 1}", r#"{"phy": {"slot": 9}, "stations": []}"#] {
        assert!(serde_json::from_str::<BssSpec>(wrong).is_err());
    }
}
