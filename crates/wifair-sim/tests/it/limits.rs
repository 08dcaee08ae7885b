//! Limit controllers under a step of load, and what is recorded of buffers and smoothed round-trip times.

use crate::common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use serde_json::{Value, json};
use wifair_sim::{Plan, Progress, RunRecord, run};

const STEP_S: f64 = 100.0;
const BACK_S: f64 = 200.0;

fn record(plan: &Value) -> RunRecord {
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    run(&common::plan(plan), 1, &progress).unwrap().unwrap()
}

/// Two downloads over 100 ms, and six uploads from 100 s to 200 s. A scheme that keeps ACKs from crowding the data out.
fn step_of_load(controller: Value) -> Value {
    let mut plan = common::symmetric(6, 2, "droptail", 0.0, 300.0);
    plan["run"]["sample_interval_s"] = json!(1.0);
    plan["wire"] = json!({"rate_mbps": 100.0, "one_way_delay_ms": 50.0});
    plan["bss"]["ap"]["tx_queue"] = json!({"limit_packets": 30, "limit_controller": controller});
    for flow in plan["flows"].as_array_mut().unwrap() {
        flow["tcp"]["receiver_window_segments"] = json!(44);
        if flow["direction"] == "up" {
            flow["start_s"] = json!(STEP_S);
            flow["stop_s"] = json!(BACK_S);
        }
    }
    plan
}

fn series(record: &RunRecord, metric: &str, from: f64, to: f64) -> Vec<f64> {
    let of_ap = record.series.iter().filter(|row| row.metric == metric && &*row.entity == "ap");
    of_ap.filter(|row| row.time_s > from + 0.1 && row.time_s < to + 0.1).map(|row| row.value).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Of the last half of a phase: mean and range of the limit.
fn settled(record: &RunRecord, end: f64) -> (f64, f64) {
    let limits = series(record, "limit_packets", end - 50.0, end);
    assert_eq!(limits.len(), 50, "samples up to {end} s");
    let (least, most) =
        (limits.iter().copied().fold(f64::MAX, f64::min), limits.iter().copied().fold(0.0, f64::max));
    (mean(&limits), most - least)
}

#[test]
fn ebdp_settles_after_a_step_of_load_and_back() {
    let record = record(&step_of_load(json!({"name": "ebdp"})));
    let [alone, crowded, again] = [STEP_S, BACK_S, 300.0].map(|end| settled(&record, end));
    // The AP shares the medium with six stations, and a packet waits for theirs: its service time is longer by as much.
    let service_ms = |from, to| mean(&series(&record, "service_time_ms", from, to));
    for ((limit, range), (from, to)) in
        [alone, crowded, again].into_iter().zip([(50.0, 100.0), (150.0, 200.0), (250.0, 300.0)])
    {
        let expected = 200.0 / service_ms(from, to) + 5.0;
        assert!((limit - expected).abs() < 1.0, "{limit} is not {expected}");
        assert!(range <= 0.25 * limit, "moves by {range} around {limit}");
    }
    assert!(crowded.0 < 0.6 * alone.0, "{crowded:?} after {alone:?}");
    assert!((again.0 - alone.0).abs() < 0.1 * alone.0, "{again:?} after {alone:?}");
}

#[test]
fn alt_settles_where_idle_and_busy_time_balance() {
    // Steps ten times as large as the paper's: it gets there in the time of a test.
    let controller = json!({"name": "alt", "min_packets": 2, "max_packets": 400, "increase_packets_per_s": 20.0,
        "decrease_packets_per_s": 2.0});
    let record = record(&step_of_load(controller));
    for (from, to) in [(50.0, STEP_S), (250.0, 300.0)] {
        let idle = mean(&series(&record, "buffer_idle_share", from, to));
        let limits = series(&record, "limit_packets", from, to);
        let moved = limits[limits.len() - 1] - limits[0];
        // a t_i - b t_b is what the limit has moved by.
        let expected = (2.0 + moved / (to - from)) / 22.0;
        assert!((idle - expected).abs() < 0.01, "{idle} is not {expected}");
    }
}

#[test]
fn the_books_on_idle_time_and_smoothed_rtt_agree_with_others() {
    let mut plan = common::symmetric(0, 1, "droptail", 10.0, 40.0);
    plan["run"]["sample_interval_s"] = json!(0.5);
    let record = record(&plan);
    let flow = &record.flows[0];
    let (mean_ms, max_ms) = (flow.srtt_mean_ms.unwrap(), flow.srtt_max_ms.unwrap());
    // The smoothed one has the same mean as its samples, less spread, and what the series shows is no more than its greatest.
    assert!((mean_ms / flow.rtt_mean_ms.unwrap() - 1.0).abs() < 0.02, "{flow:?}");
    assert!(mean_ms <= max_ms);
    let seen =
        record.series.iter().filter(|row| row.metric == "srtt_ms" && row.time_s > 10.0).map(|row| row.value);
    let greatest = seen.fold(0.0, f64::max);
    assert!(greatest <= max_ms && greatest > 0.9 * max_ms, "{greatest} of {max_ms}");
    // One flow with a window of 42 over a link with a buffer of 100: the buffer is empty now and then.
    let idle = mean(&series(&record, "buffer_idle_share", 10.0, 50.0));
    assert!((0.0..0.2).contains(&idle), "{idle}");
    assert!(series(&record, "limit_packets", 0.0, 50.0).iter().all(|limit| *limit == 100.0));
}

#[test]
fn the_greatest_smoothed_rtt_is_that_of_the_measurement() {
    let greatest = |warmup_s: f64| {
        let mut plan = common::symmetric(0, 1, "droptail", warmup_s, 40.0 - warmup_s);
        plan["events"] = json!([{"at_s": 10.0, "ap": {"limit_packets": 5}}]);
        record(&plan).flows[0].srtt_max_ms.unwrap()
    };
    let (whole, second_half) = (greatest(0.0), greatest(20.0));
    assert!(second_half < 0.5 * whole, "{second_half} of {whole} ms");
}

#[test]
fn an_event_does_not_move_a_limit_that_a_controller_moves() {
    let mut plan = step_of_load(json!({"name": "alt"}));
    plan["events"] = json!([{"at_s": 5.0, "ap": {"limit_packets": 50}}]);
    let error = Plan::from_json(&plan.to_string()).expect_err("two that move one limit");
    assert_eq!(error.key, "events[0].ap.limit_packets");
    assert!(error.allowed.contains("limit_controller"), "{error}");
}
