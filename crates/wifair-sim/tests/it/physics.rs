//! Bounds that no simulation of this BSS may break, whatever the scheme.

use crate::common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use proptest::prelude::*;
use serde_json::{Value, json};
use wifair_sim::{Progress, RunRecord, run};
use wifair_wlan::RateSpec;

fn record(plan: &Value, seed: u64) -> RunRecord {
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    run(&common::plan(plan), seed, &progress).unwrap().unwrap()
}

/// Shares of the air add up to one; every ledger balances; nobody gets more than was sent.
fn check(record: &RunRecord) {
    let run = &record.run;
    let total = run.airtime_up_share + run.airtime_down_share + run.collision_share;
    let total = total + run.beacon_share + run.idle_share;
    assert!((total - 1.0).abs() < 1e-9, "the air's shares add up to {total}");
    let of_stations: f64 = record.stations.iter().map(|row| row.airtime_share).sum();
    assert!((of_stations - run.airtime_up_share - run.airtime_down_share).abs() < 1e-9);
    for queue in &record.queues {
        assert!(queue.accepted_packets <= queue.offered_packets, "{queue:?}");
        assert!(queue.filtered_packets == 0 || queue.class != "data", "only ACKs are filtered: {queue:?}");
    }
    for node in ["ap", "stations"] {
        let of =
            |class: &str| record.queues.iter().find(|row| row.node == node && row.class == class).unwrap();
        let sum: u64 = ["data", "ack", "other"].iter().map(|class| of(class).offered_packets).sum();
        assert_eq!(sum, of("all").offered_packets);
    }
    for flow in &record.flows {
        // What came before the measurement may be delivered in it, once a gap is filled: a window (64 segments) at most.
        let held_mbps = 64.0 * 1460.0 * 8e-6 / run.duration_s;
        assert!(flow.goodput_mbps <= flow.throughput_ip_mbps + held_mbps, "{flow:?}");
        assert!(flow.retransmissions <= flow.segments_sent, "{flow:?}");
    }
    // 11 Mbps at best, less preambles and headers: 8 Mbps is out of reach for 1500-byte packets.
    let sum: f64 = record.flows.iter().map(|flow| flow.throughput_ip_mbps).sum();
    assert!(sum < 8.0, "{sum} Mbps through an 11 Mbps BSS");
}

#[test]
fn one_flow_alone_gets_what_the_timing_allows() {
    for (n_up, n_down) in [(1, 0), (0, 1)] {
        let record = record(&common::symmetric(n_up, n_down, "droptail", 10.0, 60.0), 1);
        check(&record);
        let goodput = record.flows[0].goodput_mbps;
        // Data and ACK alternate, each with its own access; ns-2 measures 4.26 (its own framing).
        assert!((4.0..4.9).contains(&goodput), "{goodput} Mbps");
        assert_eq!(record.flows[0].timeouts, 0);
    }
}

#[test]
fn the_cell_is_full_under_every_scheme() {
    for scheme in common::schemes() {
        let record = record(&common::symmetric(5, 5, scheme, 20.0, 60.0), 1);
        check(&record);
        let sum: f64 = record.flows.iter().map(|flow| flow.goodput_mbps).sum();
        assert!((4.0..5.8).contains(&sum), "{scheme}: {sum} Mbps");
        assert!(record.run.idle_share < 0.5, "{scheme}: {}", record.run.idle_share);
    }
}

fn any_plan() -> impl Strategy<Value = (Value, u64)> {
    let scheme = prop::sample::select(common::schemes());
    let station = (prop::sample::select(vec![1.0, 2.0, 5.5, 11.0]), 0.0..0.3f64, 1u32..60);
    let flow = (any::<bool>(), 1u32..3, 1u32..64, 0.0..20.0f64, 0.0..1.0f64, any::<bool>());
    (
        scheme,
        prop::collection::vec((station, flow), 1..7),
        1u32..120,
        any::<bool>(),
        prop::option::of(0u32..1500),
        prop_oneof![Just(0.0), 0.0..0.05f64],
        any::<u64>(),
    )
        .prop_map(|(scheme, nodes, limit, counts_in_service, rts_threshold, loss_rate, seed)| {
            let stations: Vec<Value> = nodes
                .iter()
                .enumerate()
                .map(|(i, ((rate, error, limit), _))| {
                    json!({
                        "label": format!("s{i}"), "rate_mbps": rate, "tx_queue": {"limit_packets": limit},
                        "frame_error_rate": {"data_up": error, "data_down": error, "ack_up": error / 4.0, "ack_down": error / 4.0},
                    })
                })
                .collect();
            let flows: Vec<Value> = nodes
                .iter()
                .enumerate()
                .map(|(i, (_, (up, segments, window, delay_ms, start_s, newreno)))| {
                    json!({
                        "label": format!("f{i}"), "station": format!("s{i}"),
                        "direction": if *up { "up" } else { "down" },
                        "start_s": start_s, "one_way_delay_ms": delay_ms,
                        "tcp": {
                            "ecn": i % 3 > 0,
                            "congestion_control": {"name": if *newreno { "newreno" } else { "reno" }},
                            "delayed_ack": {"segments": segments},
                            "receiver_window_segments": window,
                        },
                    })
                })
                .collect();
            let plan = json!({
                "run": {"warmup_s": 0.5, "duration_s": 2.5},
                "bss": {
                    "phy": {"name": "802.11b"},
                    "mac": {"rts_threshold_bytes": rts_threshold},
                    "ap": {"tx_queue": {
                        "limit_packets": limit, "limit_counts_in_service": counts_in_service,
                        "scheme": {"name": scheme},
                    }},
                    "stations": stations,
                },
                "wire": {"rate_mbps": 100.0, "loss_rate": loss_rate},
                "flows": flows,
            });
            (plan, seed)
        })
}

/// As [`any_plan`], with rates that adapt, stations with positions, some moving, ARF-aware senders, and events.
fn any_changing_plan() -> impl Strategy<Value = (Value, u64)> {
    let event = (
        0.0..3.0f64,
        0usize..7,
        prop::option::of(prop::sample::select(vec![1.0, 2.0, 5.5, 11.0])),
        prop::option::of(0.0..1.0f64),
        prop::option::of((0.0..250.0f64, -50.0..50.0f64)),
        prop::option::of(1u32..120),
    );
    let adaptation = prop::sample::select(RateSpec::all());
    (any_plan(), adaptation, prop::collection::vec(event, 1..40), any::<bool>()).prop_map(
        |((mut plan, seed), adaptation, events, fading)| {
            plan["bss"]["mac"]["rate_adaptation"] = json!(adaptation);
            if fading {
                plan["bss"]["channel"] = json!({"fading": {"sigma_db": 8.0, "coherence_time_s": 0.3}});
            }
            for flow in plan["flows"].as_array_mut().unwrap().iter_mut().step_by(2) {
                flow["tcp"]["congestion_control"] = json!({"name": "arf-aware"});
                flow["server_notified_of_link_rate"] = json!(flow["direction"] == "down");
            }
            let stations = plan["flows"].as_array().unwrap().len();
            let events: Vec<Value> = events
                .into_iter()
                .map(|(at_s, station, rate, error, place, limit)| {
                    let mut change = json!({"label": format!("s{}", station % stations)});
                    if let Some(rate) = rate {
                        change["rate_mbps"] = json!(rate);
                    }
                    if let Some(error) = error {
                        change["frame_error_rate"] = json!({"data_down": error / 2.0, "by_rate": [{"rate_mbps": 11.0, "data": error}]});
                    }
                    if let Some((x, speed)) = place {
                        change["position_m"] = json!([x, 10.0]);
                        change["velocity_m_per_s"] = json!([speed, 0.0]);
                    }
                    let mut event = json!({"at_s": at_s, "ap": {"limit_packets": limit.unwrap_or(50)}});
                    if change.as_object().unwrap().len() > 1 {
                        event["station"] = change;
                    }
                    event
                })
                .collect();
            plan["events"] = json!(events);
            (plan, seed)
        },
    )
}

fn cases() -> u32 {
    if std::env::var_os("WIFAIR_VALIDATE").is_some() { 5_000 } else { 300 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_random_cell_breaks_a_bound((plan, seed) in any_plan()) {
        let first = record(&plan, seed);
        check(&first);
        prop_assert_eq!(first, record(&plan, seed), "the same seed, another course");
    }

    #[test]
    fn no_random_cell_that_changes_breaks_a_bound((mut plan, seed) in any_changing_plan()) {
        let first = record(&plan, seed);
        check(&first);
        for row in &first.stations {
            prop_assert!((0.999..=11.001).contains(&row.link_rate_mbps), "{row:?}");
        }
        // Looking at it, which also runs it in pieces, changes nothing.
        plan["run"]["sample_interval_s"] = json!(0.07);
        let watched = record(&plan, seed);
        prop_assert!(!watched.series.is_empty());
        prop_assert_eq!(first, RunRecord { series: vec![], station_series: vec![], ..watched });
    }
}
