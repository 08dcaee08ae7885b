//! Flows without TCP: nothing is lost but with a reason, nothing is faster than light, and nobody else's draws move.

use crate::common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use proptest::prelude::*;
use serde_json::{Value, json};
use wifair_sim::application::{ApplicationSpec, Transport};
use wifair_sim::{DatagramRow, Plan, Progress, RunRecord, fingerprint, run};

fn record(plan: &Value, seed: u64) -> RunRecord {
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    run(&common::plan(plan), seed, &progress).unwrap().unwrap()
}

/// `n_up` + `n_down` bulk flows, and one station more for each of `applications`, which go in the direction given.
fn with(n_up: usize, n_down: usize, applications: &[(&str, Value)], warmup_s: f64, duration_s: f64) -> Value {
    let mut plan = common::symmetric(n_up, n_down, "droptail", warmup_s, duration_s);
    for (index, (direction, application)) in applications.iter().enumerate() {
        let label = format!("guest-{index}");
        plan["bss"]["stations"].as_array_mut().unwrap().push(json!({"label": label, "rate_mbps": 11.0}));
        plan["flows"].as_array_mut().unwrap().push(json!({
            "label": label, "station": label, "direction": direction, "application": application,
        }));
    }
    plan
}

fn all_kinds() -> Vec<(&'static str, Value)> {
    ApplicationSpec::all()
        .iter()
        .filter(|spec| spec.transport() != Transport::Tcp)
        .flat_map(|spec| [("up", json!({"name": spec.name()})), ("down", json!({"name": spec.name()}))])
        .collect()
}

fn row<'a>(record: &'a RunRecord, label: &str, direction: &str) -> &'a DatagramRow {
    let mut rows = record.datagrams.iter();
    rows.find(|row| row.label == label && row.direction == direction).unwrap()
}

/// A packet of `ip_bytes` alone on idle media at 11 Mbps, wire included: payload at the rate of each, PLCP, propagation.
fn least_ms(ip_bytes: f64) -> f64 {
    5.0 + ip_bytes * 8.0 / 100e3 + 0.192 + (ip_bytes + 36.0) * 8.0 / 11e3
}

#[test]
fn alone_a_datagram_takes_what_physics_wants() {
    for (direction, application) in all_kinds() {
        let plan = with(0, 0, &[(direction, application.clone())], 1.0, 10.0);
        let record = record(&plan, 1);
        for row in &record.datagrams {
            assert_eq!((row.lost_packets, row.loss_ratio), (0, Some(0.0)), "{row:?}");
            assert!(row.received_packets > 40, "{row:?}");
            let (ip_bytes, most_ms) = match row.application.as_str() {
                "udp" => (1500.0, 0.0),
                "voip" => (200.0, 3.0),
                "ping" => (84.0, 0.0),
                _ => (28.0, 5.0), // of some size, from two ends that now and then wait for each other
            };
            let least = least_ms(ip_bytes);
            if row.application == "ping" {
                let Some(rtt) = row.rtt_mean_ms else {
                    assert_ne!(row.direction, direction, "the replies' row alone has none");
                    continue;
                };
                // Two packets, each with MAC access and at most a microsecond of rounding.
                assert!((2.0 * least..2.0 * least + 1.0).contains(&rtt), "{rtt} ms for {least} ms each way");
            }
            let mean = row.delay_mean_ms.unwrap();
            assert!((least..=least + most_ms + 0.002).contains(&mean), "{mean} for {least}: {row:?}");
            assert!(row.jitter_ms.unwrap() < 1.0, "{row:?}");
            if row.application == "voip" {
                assert!(row.mos.unwrap() > 4.35, "{row:?}");
                assert!((row.mouth_to_ear_ms.unwrap() - 20.0 - mean).abs() < 2.0, "{row:?}");
            } else {
                assert_eq!((row.mos, row.rating), (None, None));
            }
        }
    }
}

#[test]
fn udp_has_the_rate_that_was_asked_for() {
    let udp = json!({"name": "udp", "rate_mbps": 2.0, "payload_bytes": 1000});
    let record = record(&with(0, 0, &[("down", udp)], 1.0, 20.0), 1);
    let row = row(&record, "guest-0", "down");
    assert_eq!(row.sent_packets, 20 * 250);
    assert!((row.goodput_mbps - 2.0).abs() < 1e-3, "{}", row.goodput_mbps);
    let flow = &record.flows[0];
    assert!((flow.goodput_mbps - 2.0).abs() < 1e-3 && (flow.throughput_ip_mbps - 2.056).abs() < 2e-3);
    assert_eq!((flow.application.as_str(), flow.transport.as_str()), ("udp", "udp"));
    assert_eq!(flow.segments_sent, 0);
}

/// A wire of 5 Mbps that random datagrams fill by 70 % is an M/D/1 queue: they wait for ρ / (2 (1 - ρ)) times the time of one
/// (Pollaczek and Khinchine). On and off at twice the rate for half of the time they fill it as much and wait for longer; at a
/// constant rate none waits.
#[test]
fn random_datagrams_wait_as_theory_says() {
    let (load, ip_bytes) = (0.7, 1028.0);
    let waits = |arrivals: Value, share: f64| {
        let rate_mbps = load * 5.0 * 1000.0 / ip_bytes / share;
        let udp = json!({"name": "udp", "rate_mbps": rate_mbps, "payload_bytes": 1000, "arrivals": arrivals});
        let mut plan = with(0, 0, &[("down", udp)], 1.0, 400.0);
        plan["wire"] = json!({"rate_mbps": 5.0});
        let record = record(&plan, 1);
        let row = record.wire.iter().find(|row| row.direction == "down").unwrap();
        let sent = row.packets as f64 / (400.0 * load * 5e6 / 8.0 / ip_bytes);
        (sent, row.wait_mean_ms.unwrap())
    };
    let service_ms = ip_bytes * 8.0 / 5e3;
    assert_eq!(waits(json!({"name": "constant"}), 1.0).1, 0.0);
    let (sent, wait_ms) = waits(json!({"name": "poisson"}), 1.0);
    assert!((sent - 1.0).abs() < 4.0 / 170_000f64.sqrt(), "{sent} of the load");
    let expected = load / (2.0 * (1.0 - load)) * service_ms;
    assert!((wait_ms / expected - 1.0).abs() < 0.04, "{wait_ms} ms, by theory {expected}");
    let (sent, longer_ms) = waits(json!({"name": "on-off", "on_ms": 100.0, "off_ms": 100.0}), 0.5);
    // Times on of 85 datagrams: 4 standard errors of 2,000 of them, and the datagram with which each begins.
    assert!((sent - 1.0).abs() < 0.1, "{sent} of the load");
    assert!(longer_ms > 5.0 * expected, "{longer_ms} ms");
}

#[test]
fn too_much_udp_is_lost_where_the_queue_is() {
    let udp = json!({"name": "udp", "rate_mbps": 20.0});
    let record = record(&with(0, 0, &[("down", udp)], 1.0, 10.0), 1);
    let row = row(&record, "guest-0", "down");
    let ap = record.queues.iter().find(|row| row.node == "ap" && row.class == "other").unwrap();
    assert!(row.loss_ratio.unwrap() > 0.5);
    assert_eq!(row.lost_packets, ap.tail_drop_packets);
    assert_eq!(record.flows[0].ap_lost_packets, ap.tail_drop_packets);
    // A hundred packets wait before each, at about 1.9 ms each.
    assert!((150.0..250.0).contains(&row.delay_mean_ms.unwrap()), "{row:?}");
}

#[test]
fn load_shows_in_ping_and_call() {
    let guests = [("down", json!({"name": "ping"})), ("down", json!({"name": "voip"}))];
    let idle = record(&with(0, 0, &guests, 5.0, 20.0), 1);
    let loaded = record(&with(0, 4, &guests, 5.0, 20.0), 1);
    let ping = |record: &RunRecord| row(record, "guest-0", "down").rtt_p50_ms.unwrap();
    assert!(ping(&idle) < 15.0 && ping(&loaded) > 100.0, "{} {}", ping(&idle), ping(&loaded));
    let call = |record: &RunRecord| row(record, "guest-1", "down").mos.unwrap();
    assert!(call(&idle) > 4.3 && call(&loaded) < 3.8, "{} {}", call(&idle), call(&loaded));
    // The flows' table has the same round trip.
    let flow = loaded.flows.iter().find(|flow| flow.label == "guest-0").unwrap();
    assert_eq!(flow.rtt_p50_ms, Some(ping(&loaded)));
}

#[test]
fn voice_goes_first_where_the_cell_looks_at_dscp() {
    let guests = [("down", json!({"name": "voip"}))];
    let mut plan = with(0, 4, &guests, 5.0, 20.0);
    let behind = record(&plan, 1);
    plan["bss"]["mac"] = json!({"edca": {"classify": "rfc-8325"}});
    let ahead = record(&plan, 1);
    let call = |record: &RunRecord| row(record, "guest-0", "down").clone();
    assert!(call(&ahead).mos.unwrap() > 4.3, "{:?}", call(&ahead));
    assert!(call(&ahead).delay_p99_ms.unwrap() < call(&behind).delay_p50_ms.unwrap() / 3.0);
    let voice = ahead.queues.iter().find(|row| row.node == "ap/voice" && row.class == "other").unwrap();
    assert_eq!(voice.offered_packets, 20 * 50);
}

#[test]
fn flows_stop_and_others_after_them() {
    let mut plan =
        with(0, 0, &[("down", json!({"name": "udp"})), ("up", json!({"name": "ping"}))], 0.0, 10.0);
    plan["flows"][0]["stop_s"] = json!(4.0);
    plan["flows"][0]["group"] = json!("first");
    plan["flows"][1]["start_s"] = json!(1.0);
    plan["flows"][1]["stop_after_group"] = json!("first");
    let record = record(&plan, 1);
    let interval_s = 1472.0 * 8e-6_f64;
    assert_eq!(row(&record, "guest-0", "down").sent_packets, (4.0 / interval_s).ceil() as u64);
    assert_eq!(row(&record, "guest-1", "up").sent_packets, 15);
    assert_eq!(row(&record, "guest-1", "down").received_packets, 15);
}

#[test]
fn what_tcp_alone_has_is_refused() {
    let base = with(0, 0, &[("down", json!({"name": "voip"}))], 0.0, 1.0);
    for (key, value) in [
        ("tcp", json!({"ecn": true})),
        ("user_timeout_s", json!(5.0)),
        ("server_notified_of_link_rate", json!(true)),
    ] {
        let mut plan = base.clone();
        plan["flows"][0][key] = value;
        let error = Plan::from_json(&plan.to_string()).unwrap_err();
        assert_eq!(error.key, format!("flows[0].{key}"));
    }
    for (name, key, value) in [
        ("udp", "rate_mbps", json!(0.0)),
        ("udp", "payload_bytes", json!(70_000)),
        ("udp", "arrivals.on_ms", json!({"name": "on-off", "on_ms": 0.0})),
        ("voip", "loss_robustness", json!(0.0)),
        ("ping", "interval_ms", json!(0.0)),
        ("game", "client_interval_ms", json!(-1.0)),
        ("game", "dscp", json!(64)),
        ("web", "connections", json!(0)),
    ] {
        let application = json!({"name": name, key.split('.').next().unwrap(): value});
        let plan = with(0, 0, &[("down", application)], 0.0, 1.0);
        let error = Plan::from_json(&plan.to_string()).unwrap_err();
        assert_eq!(error.key, format!("flows[0].application.{key}"));
    }
}

#[test]
fn new_flows_shift_nobodys_draws() {
    // The flows start when the run is over: whatever they are, the course of the others is the same.
    let plan = common::symmetric(2, 2, "droptail", 0.0, 5.0);
    let mut guests = all_kinds();
    guests.push(("down", json!({"name": "web", "connections": 6})));
    let mut more = with(2, 2, &guests, 0.0, 5.0);
    for flow in &mut more["flows"].as_array_mut().unwrap()[4..] {
        flow["start_s"] = json!(100.0);
    }
    assert_eq!(fingerprint(&common::plan(&plan), 3).unwrap(), fingerprint(&common::plan(&more), 3).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Sent = received + lost + under way, with the losses where the transmit queues and the wire say that they are; delays are
    /// physical; two runs in a row are one.
    #[test]
    fn datagrams_are_conserved(
        (n_up, n_down, seed) in (0usize..3, 0usize..3, 1u64..1000),
        chosen in prop::collection::vec((0usize..all_kinds().len(), 0.2f64..6.0), 1..5),
        (wire_loss, frame_errors, limit) in (0.0f64..0.05, 0.0f64..0.2, 3u32..60),
        warmup_s in 0.0f64..2.0,
        scheme in prop::sample::select(common::schemes()),
        arrivals in prop::sample::select(vec!["constant", "poisson", "on-off"]),
    ) {
        let kinds = all_kinds();
        let guests: Vec<(&str, Value)> = chosen
            .iter()
            .map(|&(kind, rate_mbps)| {
                let (direction, mut application) = kinds[kind].clone();
                if application["name"] == "udp" {
                    application["rate_mbps"] = json!(rate_mbps);
                    application["arrivals"] = json!({"name": arrivals});
                }
                (direction, application)
            })
            .collect();
        let mut plan = with(n_up, n_down, &guests, warmup_s, 3.0);
        plan["wire"] = json!({"rate_mbps": 100.0, "loss_rate": wire_loss});
        if seed % 2 == 0 {
            plan["wire"]["rate_up_mbps"] = json!(1.0);
            plan["wire"]["limit_packets"] = json!(2);
        }
        plan["bss"]["ap"]["tx_queue"] =
            json!({"limit_packets": limit, "scheme": {"name": scheme}});
        for station in plan["bss"]["stations"].as_array_mut().unwrap() {
            station["frame_error_rate"] = json!({"data_up": frame_errors, "ack_up": frame_errors / 2.0});
            station["tx_queue"] = json!({"limit_packets": limit});
        }
        let whole = record(&plan, seed);
        prop_assert_eq!(&whole, &record(&plan, seed));

        let sum = |of: fn(&DatagramRow) -> u64| whole.datagrams.iter().map(of).sum::<u64>();
        let at = |node: &str| {
            let mut rows = whole.queues.iter();
            rows.find(|row| row.node == node && row.class == "other").unwrap()
        };
        // SYN and FIN are the same class; bulk flows that began before the measurement have none of them in it.
        if n_up + n_down == 0 {
            let in_tx_queues: u64 = ["ap", "stations"]
                .iter()
                .map(|node| {
                    let row = at(node);
                    row.tail_drop_packets + row.evicted_packets + row.aqm_drop_packets + row.retry_lost_packets
                })
                .sum();
            let lost = sum(|row| row.lost_packets);
            // A frame given up after its receiver had got it counts at the transmit queue and not at the flow.
            let on_wire = whole.run.wire_lost_packets + whole.run.wire_dropped_packets;
            prop_assert!(lost <= in_tx_queues + on_wire, "{} {}", lost, in_tx_queues);
            if frame_errors == 0.0 {
                prop_assert_eq!(lost, in_tx_queues + on_wire);
            }
        }
        for row in &whole.datagrams {
            prop_assert!(row.received_packets + row.lost_packets <= row.sent_packets + 1_000);
            if let (Some(p50), Some(p95), Some(p99)) = (row.delay_p50_ms, row.delay_p95_ms, row.delay_p99_ms) {
                prop_assert!(p50 <= p95 && p95 <= p99);
                let smallest: f64 = match row.application.as_str() {
                    "udp" => 1500.0,
                    "voip" => 200.0,
                    "ping" => 84.0,
                    _ => 28.0,
                };
                prop_assert!(p50 >= least_ms(smallest) * 31.0 / 32.0, "{:?}", row);
            }
            if let Some(mos) = row.mos {
                prop_assert!((1.0..4.42).contains(&mos));
            }
        }
    }
}
