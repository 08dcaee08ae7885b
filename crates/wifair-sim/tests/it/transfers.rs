//! Transfers one after the other: what is delivered, what is recorded, and how they end.

use crate::common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use proptest::prelude::*;
use serde_json::{Value, json};
use wifair_sim::{Network, Progress, RunRecord, TransferEnd, TransferRow, run};

fn record(plan: &Value, seed: u64) -> RunRecord {
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    run(&common::plan(plan), seed, &progress).unwrap().unwrap()
}

/// A BSS of `n` flows in one direction that transfer, each with its own station, and nothing else.
fn transferring(n: usize, direction: &str, application: &Value, duration_s: f64) -> Value {
    let (up, down) = if direction == "up" { (n, 0) } else { (0, n) };
    let mut plan = common::symmetric(up, down, "droptail", 0.0, duration_s);
    for flow in plan["flows"].as_array_mut().unwrap() {
        flow["application"] = application.clone();
        flow["group"] = json!("small");
    }
    plan
}

fn of_flow(record: &RunRecord, flow: u32) -> Vec<&TransferRow> {
    record.transfers.iter().filter(|row| row.flow == flow).collect()
}

#[test]
fn a_number_of_transfers_each_over_its_own_connection() {
    let application = json!({"name": "transfers", "transfer_bytes": 14_600, "count": 25});
    for direction in ["up", "down"] {
        for handshake in ["real", "none", "ns-2"] {
            let mut plan = transferring(2, direction, &application, 60.0);
            for flow in plan["flows"].as_array_mut().unwrap() {
                flow["tcp"]["handshake"] = json!(handshake);
            }
            let record = record(&plan, 1);
            for flow in 0..2 {
                let rows = of_flow(&record, flow);
                assert_eq!(rows.len(), 25, "{direction} {handshake}");
                assert!(rows.iter().enumerate().all(|(i, row)| row.index as usize == i));
                assert!(rows.iter().all(|row| row.end == TransferEnd::Complete && row.bytes == 14_600));
                assert!(rows.iter().all(|row| row.delivered_bytes == 14_600));
                // The next begins when the connection of the one before is closed: after its last byte, not long after.
                for pair in rows.windows(2) {
                    let over_s = pair[0].start_s + pair[0].transfer_s.unwrap();
                    assert!(pair[1].start_s > over_s && pair[1].start_s < over_s + 1.0, "{pair:?}");
                    assert!(
                        (pair[0].start_s + pair[0].closed_s.unwrap() - pair[1].start_s).abs() < 1e-8,
                        "{pair:?}"
                    );
                }
                let goodput_mbps = record.flows[flow as usize].goodput_mbps;
                assert!((goodput_mbps - 25.0 * 14_600.0 * 8e-6 / 60.0).abs() < 1e-12);
            }
            let [one, all] = record.transfer_groups.as_slice() else { panic!("one size, and all") };
            assert_eq!((one.bytes, all.bytes, all.completed), (Some(14_600.0), None, 50));
            let times: Vec<f64> = record.transfers.iter().map(|row| row.transfer_s.unwrap()).collect();
            let closed: Vec<f64> = record.transfers.iter().map(|row| row.closed_s.unwrap()).collect();
            for (of, mean_s, cov) in
                [(&times, all.mean_s, all.cov), (&closed, all.closed_mean_s, all.closed_cov)]
            {
                let mean = of.iter().sum::<f64>() / 50.0;
                let variance = of.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / 49.0;
                assert!((mean_s.unwrap() - mean).abs() < 1e-8, "{all:?} {mean}");
                assert!((cov.unwrap() - variance.sqrt() / mean).abs() < 1e-6, "{all:?}");
            }
            assert_eq!(all.max_s, times.iter().copied().reduce(f64::max));
        }
    }
}

#[test]
fn a_transfer_takes_the_round_trips_that_slow_start_takes() {
    // Ten segments, initial window 2, an ACK for each: 2 + 4 + 4 after the handshake, so the last byte is there after
    // half a round trip for the SYN, half back, then 0.5, 1.5 and 2.5 round trips of 200 ms, and the air's time.
    let application = json!({"name": "transfers", "transfer_bytes": 14_600, "count": 1});
    let mut plan = transferring(1, "down", &application, 5.0);
    plan["wire"] = json!({"rate_mbps": 100.0, "one_way_delay_ms": 100.0});
    plan["flows"][0]["tcp"]["initial_window_segments"] = json!(2);
    let record = record(&plan, 1);
    let took_s = record.transfers[0].transfer_s.unwrap();
    assert!((0.7..0.75).contains(&took_s), "{took_s} s");
}

#[test]
fn small_ones_go_on_until_the_large_ones_are_done() {
    let mut plan = common::symmetric(0, 4, "droptail", 0.0, 120.0);
    for (i, flow) in plan["flows"].as_array_mut().unwrap().iter_mut().enumerate() {
        if i < 2 {
            flow["group"] = json!("large");
            flow["application"] = json!({"name": "transfers", "transfer_bytes": 1_460_000, "count": 5});
        } else {
            flow["group"] = json!("small");
            flow["application"] = json!({"name": "transfers", "transfer_bytes": 14_600});
            flow["stop_after_group"] = json!("large");
        }
    }
    let record = record(&plan, 1);
    let end_of = |row: &TransferRow| row.start_s + row.transfer_s.unwrap();
    let large: Vec<&TransferRow> = record.transfers.iter().filter(|row| row.flow < 2).collect();
    let small: Vec<&TransferRow> = record.transfers.iter().filter(|row| row.flow >= 2).collect();
    assert_eq!(large.len(), 10);
    let done_s = large.iter().map(|row| end_of(row)).fold(0.0, f64::max);
    assert!(small.len() > 50 && small.iter().all(|row| row.end == TransferEnd::Complete));
    let last_start_s = small.iter().map(|row| row.start_s).fold(0.0, f64::max);
    assert!(last_start_s < done_s + 0.5 && last_start_s > done_s - 2.0, "{last_start_s} {done_s}");
    assert_eq!(
        record.transfer_groups.iter().map(|row| row.group.as_str()).collect::<Vec<_>>(),
        ["large", "large", "small", "small"]
    );
}

#[test]
fn on_a_dead_link_transfers_end_with_the_reason() {
    let application = json!({"name": "transfers", "count": 3});
    let mut plan = transferring(1, "down", &application, 200.0);
    plan["bss"]["stations"][0]["frame_error_rate"] = json!({"data_down": 1.0, "data_up": 1.0});
    plan["flows"][0]["user_timeout_s"] = json!(30.0);
    let record = record(&plan, 1);
    assert_eq!(record.transfers.len(), 3);
    for row in &record.transfers {
        assert_eq!((row.end, row.transfer_s, row.delivered_bytes), (TransferEnd::TimedOut, None, 0));
        assert!(row.timeouts >= 4, "1, 2, 4, 8, 16 s: {row:?}");
    }
    assert_eq!(record.transfer_groups[0].timed_out, 3);
    // And what is under way at the end is said to be.
    plan["run"]["duration_s"] = json!(20.0);
    let cut = self::record(&plan, 1);
    assert_eq!(cut.transfers.iter().map(|row| row.end).collect::<Vec<_>>(), [TransferEnd::Horizon]);
    assert_eq!(cut.transfer_groups[0].unfinished, 1);
    assert_eq!((cut.transfer_groups[0].mean_s, cut.transfer_groups[0].mean_with_unfinished_s), (None, 20.0));
}

#[test]
fn stopping_ends_an_endless_flow_and_begins_no_further_transfer() {
    let mut plan = common::symmetric(1, 1, "droptail", 0.0, 60.0);
    plan["flows"][0]["stop_s"] = json!(10.0);
    plan["flows"][1]["stop_s"] = json!(10.0);
    plan["flows"][1]["application"] = json!({"name": "web", "think_mean_s": 0.05});
    let record = record(&plan, 1);
    assert!(record.transfers.iter().all(|row| row.end == TransferEnd::Complete && row.start_s < 10.0));
    assert!(record.transfers.len() > 10);
    assert!(record.flows[0].goodput_mbps > 0.3, "{:?}", record.flows[0]);
    assert!(record.run.idle_share > 0.75, "nothing is sent after 11 s: {}", record.run.idle_share);
}

#[test]
fn the_sums_do_not_depend_on_the_single_records() {
    let application = json!({"name": "web"});
    let with = transferring(3, "down", &application, 20.0);
    let mut without = with.clone();
    without["run"]["record_transfers"] = json!(false);
    let (with, without) = (record(&with, 2), record(&without, 2));
    assert!(without.transfers.is_empty() && with.transfers.len() > 100);
    assert_eq!(with.transfer_groups, without.transfer_groups);
    let completed: u64 =
        with.transfer_groups.iter().filter(|row| row.bytes.is_some()).map(|row| row.completed).sum();
    let all = with.transfer_groups.last().unwrap();
    assert_eq!((all.bytes, all.completed), (None, completed));
    assert_eq!(all.completed + all.unfinished, with.transfers.len() as u64);
    assert!(all.unfinished > 0);
    let times = with.transfers.iter().map(|row| row.transfer_s.unwrap_or(20.0 - row.start_s));
    let mean = times.sum::<f64>() / with.transfers.len() as f64;
    assert!((all.mean_with_unfinished_s - mean).abs() < 1e-6, "{} {mean}", all.mean_with_unfinished_s);
}

#[test]
fn a_group_that_is_waited_for_must_come_to_an_end() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut plan = transferring(2, "down", &json!({"name": "transfers"}), 5.0);
        plan["flows"][0]["group"] = json!("large");
        plan["flows"][1]["stop_after_group"] = json!("large");
        change(&mut plan);
        wifair_sim::Plan::from_json(&plan.to_string()).err().map(|error| error.key)
    };
    let key = Some("flows[1].stop_after_group".to_string());
    assert_eq!(refused(&|_| {}), key);
    assert_eq!(refused(&|plan| plan["flows"][1]["stop_after_group"] = json!("huge")), key);
    assert_eq!(refused(&|plan| plan["flows"][0]["stop_s"] = json!(3.0)), None);
    assert_eq!(refused(&|plan| plan["flows"][0]["application"]["count"] = json!(3)), None);
}

/// BSSs in which much goes wrong: lossy wire, frame errors, small buffers, every kind of flow.
fn any_cell() -> impl Strategy<Value = (Value, u64)> {
    let scheme = prop::sample::select(vec![
        "droptail",
        "ack-filtering",
        "spm-af",
        "ack-pushout",
        "adaptive-pushout",
        "las",
        "t-las",
    ]);
    let handshake = prop::sample::select(vec!["real", "none", "ns-2"]);
    let flow = (any::<bool>(), 1u64..40_000, 1u64..6, 0.0..0.4f64, handshake, 1u32..3);
    (scheme, prop::collection::vec(flow, 1..6), 2u32..30, 0.0..0.08f64, any::<u64>()).prop_map(
        |(scheme, flows, limit, loss_rate, seed)| {
            let mut plan = common::symmetric(flows.len(), 0, scheme, 0.0, 20.0);
            plan["bss"]["ap"]["tx_queue"]["limit_packets"] = json!(limit);
            plan["wire"] = json!({"rate_mbps": 100.0, "loss_rate": loss_rate});
            for (i, (up, bytes, count, error, handshake, segments)) in flows.into_iter().enumerate() {
                let error = if i == 0 { error } else { error / 8.0 };
                plan["bss"]["stations"][i]["frame_error_rate"] =
                    json!({"data_up": error, "data_down": error});
                let flow = &mut plan["flows"][i];
                flow["direction"] = json!(if up { "up" } else { "down" });
                flow["tcp"]["handshake"] = json!(handshake);
                flow["tcp"]["delayed_ack"]["segments"] = json!(segments);
                flow["tcp"]["delayed_ack"]["syn"] = json!(handshake == "ns-2" && segments == 2);
                flow["user_timeout_s"] = json!(5.0);
                flow["application"] = json!({"name": "transfers", "transfer_bytes": bytes, "count": count});
            }
            (plan, seed)
        },
    )
}

fn cases() -> u32 {
    if std::env::var_os("WIFAIR_VALIDATE").is_some() { 5_000 } else { 150 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// A receiver counts each byte once and in order (it has no other way to count), so equal numbers mean that every
    /// byte came once and in order.
    #[test]
    fn every_finished_transfer_has_delivered_every_byte_once_and_in_order((plan, seed) in any_cell()) {
        let record = record(&plan, seed);
        for (flow, spec) in plan["flows"].as_array().unwrap().iter().enumerate() {
            let rows = of_flow(&record, flow as u32);
            let count = spec["application"]["count"].as_u64().unwrap() as usize;
            prop_assert!(rows.len() <= count);
            for row in &rows {
                prop_assert_eq!(row.bytes, spec["application"]["transfer_bytes"].as_u64().unwrap());
                prop_assert!(row.delivered_bytes <= row.bytes);
                prop_assert_eq!(row.end == TransferEnd::Complete, row.delivered_bytes == row.bytes);
                prop_assert_eq!(row.end == TransferEnd::Complete, row.transfer_s.is_some());
            }
            // Nothing hangs: either all ended, or the horizon cut the last one or the closing of its connection.
            let cut = rows.last().is_some_and(|row| row.start_s > 0.0 || row.closed_s.is_none());
            prop_assert!(rows.len() == count || cut);
            prop_assert!(rows.iter().rev().skip(1).all(|row| row.end != TransferEnd::Horizon));
            let delivered: u64 = rows.iter().map(|row| row.delivered_bytes).sum();
            let goodput_mbps = delivered as f64 * 8e-6 / 20.0;
            prop_assert!((record.flows[flow].goodput_mbps - goodput_mbps).abs() < 1e-9);
        }
        prop_assert_eq!(&record, &self::record(&plan, seed));
    }
}

/// As ns-2's packet types have it: what opens the connection is a data packet of 40 bytes, the answer an ACK; there is no FIN.
#[test]
fn a_connection_of_ns_2_is_data_and_acks() {
    let application = json!({"name": "transfers", "transfer_bytes": 14_600, "count": 1});
    for (direction, class, offered) in [("down", "data", (11, 10 * 1500 + 40)), ("up", "ack", (11, 11 * 40))]
    {
        let mut plan = transferring(1, direction, &application, 5.0);
        plan["wire"] = json!({"rate_mbps": 100.0, "one_way_delay_ms": 100.0});
        let tcp = json!({"handshake": "ns-2", "initial_window_segments": 2, "delayed_ack": {"segments": 1}});
        plan["flows"][0]["tcp"] = tcp;
        let record = record(&plan, 1);
        let took_s = record.transfers[0].transfer_s.unwrap();
        assert!(
            (0.7..0.75).contains(&took_s),
            "{took_s} s: a round trip for the answer, as with a handshake"
        );
        for row in record.queues.iter().filter(|row| row.node == "ap") {
            let expected = if row.class == class || row.class == "all" { offered } else { (0, 0) };
            assert_eq!((row.offered_packets, row.offered_bytes), expected, "{direction} {}", row.class);
        }
    }
}

#[test]
fn the_network_keeps_nothing_of_finished_connections() {
    let plan = transferring(6, "down", &json!({"name": "transfers", "transfer_bytes": 1460}), 400.0);
    let mut plan = common::plan(&plan);
    plan.bss.ap.flows.idle_timeout_s = 5.0;
    let mut network = Network::new(&plan, 1).unwrap();
    let mut known_flows = vec![];
    let mut finished = 0;
    for second in 1..=100 {
        network.run_until(wifair_core::Time::from_s(second));
        finished += network.finished_transfers().count();
        known_flows.push(network.bss().ap_tx_queue().snapshot(network.now()).flows.len());
    }
    assert!(finished > 5_000, "{finished} transfers");
    let (early, late) = (known_flows[20..40].iter().max(), known_flows[80..].iter().max());
    assert!(late.unwrap() < &(early.unwrap() * 11 / 10), "{early:?} {late:?}");
    assert_eq!(network.finished_transfers().count(), 0);
}
