//! What a scenario changes while it runs.

use crate::common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use serde_json::{Value, json};
use wifair_core::Time;
use wifair_sim::{Network, Plan, Progress, RunRecord, StationSeriesRow, fingerprint, run};

fn record(plan: &Value) -> RunRecord {
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    run(&common::plan(plan), 1, &progress).unwrap().unwrap()
}

/// Uplink flows, one a station, for `duration_s`, with these events.
fn bss(n_up: usize, duration_s: f64, events: Value) -> Value {
    let mut plan = common::symmetric(n_up, 0, "droptail", 0.0, duration_s);
    plan["events"] = events;
    plan
}

fn set_rate(at_s: f64, label: &str, mbps: f64) -> Value {
    json!({"at_s": at_s, "station": {"label": label, "rate_mbps": mbps}})
}

#[test]
fn a_rate_holds_from_its_event_on() {
    let mut plan = bss(1, 20.0, json!([set_rate(5.0, "up-1", 1.0)]));
    plan["run"]["sample_interval_s"] = json!(1.0);
    let record = record(&plan);
    let of = |metric: &str, from: f64, to: f64| {
        let rows =
            record.series.iter().filter(|row| row.metric == metric && row.time_s > from && row.time_s <= to);
        let values: Vec<f64> = rows.map(|row| row.value).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    assert!((of("link_rate_up_mbps", 0.0, 5.0) - 11.0).abs() < 1e-9);
    assert!((of("link_rate_up_mbps", 5.0, 20.0) - 1.0).abs() < 1e-9);
    assert!(of("goodput_mbps", 1.0, 5.0) > 4.0);
    let slow = of("goodput_mbps", 6.0, 20.0);
    assert!((0.7..1.0).contains(&slow), "{slow} Mbps");
    for row in &record.stations {
        assert!((row.link_rate_mbps - (5.0 * 11.0 + 15.0) / 20.0).abs() < 1e-9, "{row:?}");
    }
    let airtime: f64 = record.stations.iter().map(|row| row.airtime_share).sum();
    assert!((of("airtime_share", 0.0, 20.0) - airtime).abs() < 1e-9);
    assert_eq!(record.station_series.len(), 2 * 20);
    for whole in &record.stations {
        let parts: Vec<_> =
            record.station_series.iter().filter(|row| row.direction == whole.direction).collect();
        let sum = |of: fn(&StationSeriesRow) -> u64| parts.iter().map(|row| of(row)).sum::<u64>();
        assert_eq!(sum(|row| row.bytes_delivered), whole.bytes_delivered);
        assert_eq!(sum(|row| row.frames_delivered), whole.frames_delivered);
        assert_eq!(sum(|row| row.retries), whole.retries);
        assert_eq!(sum(|row| row.retry_lost), whole.retry_lost);
        let rates: Vec<f64> = parts.iter().map(|row| row.link_rate_end_mbps).collect();
        assert_eq!((rates[3], rates[5], rates[19]), (11.0, 1.0, 1.0));
        let airtime_s: f64 = parts.iter().map(|row| row.airtime_s).sum();
        assert!((airtime_s - whole.airtime_s).abs() < 1e-9);
    }
}

#[test]
fn up_and_down_change_together_unless_down_is_named() {
    let mut both = set_rate(10.0, "up-1", 2.0);
    both["station"]["rate_down_mbps"] = json!(5.5);
    let down = json!({"at_s": 5.0, "station": {"label": "up-1", "rate_down_mbps": 1.0}});
    let record = record(&bss(1, 20.0, json!([both, down])));
    let mean = |direction: &str| {
        record.stations.iter().find(|row| row.direction == direction).unwrap().link_rate_mbps
    };
    assert!((mean("up") - (11.0 + 2.0) / 2.0).abs() < 1e-9);
    assert!((mean("down") - (11.0 + 1.0 + 2.0 * 5.5) / 4.0).abs() < 1e-9);
}

#[test]
fn the_last_of_one_instant_counts() {
    let events = json!([set_rate(1.0, "up-1", 1.0), set_rate(1.0, "up-1", 5.5)]);
    let once = json!([set_rate(1.0, "up-1", 5.5)]);
    let course = |events: Value| fingerprint(&common::plan(&bss(2, 5.0, events)), 3).unwrap();
    assert_eq!(course(events), course(once));
}

#[test]
fn a_thousand_changes_a_second() {
    let rates = [11.0, 1.0, 5.5, 2.0];
    let events: Vec<Value> =
        (0..5_000).map(|i| set_rate(f64::from(i) * 1e-3, "up-1", rates[i as usize % 4])).collect();
    let plan = bss(2, 5.0, events.into());
    let first = record(&plan);
    assert_eq!(first, record(&plan));
    let row = &first.stations[0];
    assert!((row.link_rate_mbps - 4.875).abs() < 1e-6, "{row:?}");
    let goodput = |index: usize| first.flows[index].goodput_mbps;
    assert!((0.5..4.0).contains(&goodput(0)) && (0.5..4.0).contains(&goodput(1)), "{:?}", first.flows);
}

#[test]
fn an_error_rate_begins_and_ends() {
    let lossy = |at_s: f64, rate: f64| json!({"at_s": at_s, "station": {"label": "up-1", "frame_error_rate": {"data_up": rate}}});
    let retries = |events: Value| record(&bss(1, 10.0, events)).stations[0].retries;
    // Collisions of data with the AP's ACKs are retried in any case.
    let never = retries(json!([]));
    let some = retries(json!([lossy(4.0, 0.3), lossy(5.0, 0.0)]));
    let always = retries(json!([lossy(0.0, 0.3)]));
    assert!(never + 50 < some && some + 500 < always, "{never}, {some}, {always}");
    // Before the event, the course is that of a BSS without errors.
    let mut network = Network::new(&common::plan(&bss(2, 10.0, json!([lossy(4.0, 0.3)]))), 1).unwrap();
    let mut clean = Network::new(&common::plan(&bss(2, 10.0, json!([]))), 1).unwrap();
    for network in [&mut network, &mut clean] {
        network.run_until(Time::from_s(4));
    }
    assert_eq!(network.bss().snapshot(Time::from_s(4)), clean.bss().snapshot(Time::from_s(4)));
}

#[test]
fn a_lowered_limit_throws_nothing_out_and_a_raised_one_gives_room() {
    for scheme in ["droptail", "ack-filtering", "spm-af", "ack-pushout", "adaptive-pushout"] {
        let mut plan = common::symmetric(3, 8, scheme, 0.0, 40.0);
        plan["events"] = json!([
            {"at_s": 10.0, "ap": {"limit_packets": 10}},
            {"at_s": 20.0, "ap": {"limit_packets": 60}},
        ]);
        let mut network = Network::new(&common::plan(&plan), 1).unwrap();
        let tick = Time::from_us(500);
        let mut before = 0;
        let (mut longest, mut drained) = ([0; 3], false);
        while network.now() < Time::from_s(40) {
            network.run_until(network.now() + tick);
            let length = network.bss().ap_tx_queue().len();
            let now_s = network.now().as_secs_f64();
            if (10.001..20.0).contains(&now_s) {
                drained |= length <= 10;
                assert!(length <= before.max(10), "{scheme}: {before} to {length} at {now_s}");
                longest[1] = longest[1].max(if drained { length } else { 0 });
            } else {
                longest[if now_s < 20.0 { 0 } else { 2 }] =
                    longest[if now_s < 20.0 { 0 } else { 2 }].max(length);
            }
            before = length;
        }
        assert_eq!(longest, [100, 10, 60], "{scheme}");
        let ledger = network.bss().ap_tx_queue().snapshot(network.now()).classes;
        for class in ledger {
            let gone = class.dequeued.packets + class.evicted.packets + class.filtered.packets;
            assert!(gone <= class.accepted.packets, "{scheme}: {class:?}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let error = |event: Value| {
        let error = Plan::from_json(&bss(1, 10.0, json!([event])).to_string()).expect_err("it cannot be");
        (error.key.clone(), error.to_string())
    };
    let (key, text) = error(set_rate(1.0, "up-1", 7.0));
    assert_eq!(key, "events[0].station.rate_mbps");
    assert!(text.contains("1, 2, 5.5, 11"), "{text}");
    assert_eq!(error(set_rate(1.0, "up-2", 1.0)).0, "events[0].station.label");
    assert_eq!(error(set_rate(11.0, "up-1", 1.0)).0, "events[0].at_s");
    assert_eq!(error(set_rate(-1.0, "up-1", 1.0)).0, "events[0].at_s");
    assert_eq!(error(json!({"at_s": 1.0})).0, "events[0]");
    assert_eq!(error(json!({"at_s": 1.0, "station": {"label": "up-1"}})).0, "events[0].station");
    assert_eq!(error(json!({"at_s": 1.0, "ap": {"limit_packets": 0}})).0, "events[0].ap.limit_packets");
    let rates = json!({"at_s": 1.0, "station": {"label": "up-1", "frame_error_rate": {"ack_up": 1.5}}});
    assert_eq!(error(rates).0, "events[0].station.frame_error_rate.ack_up");
}
