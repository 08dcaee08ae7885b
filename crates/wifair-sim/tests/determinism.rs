//! The same plan and seed take the same course, bit for bit.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use serde_json::json;
use wifair_sim::{Batch, Progress, fingerprint, run};

#[test]
fn two_runs_of_one_seed_are_one_run_and_two_seeds_are_two() {
    for scheme in common::SCHEMES {
        let plan = common::plan(&common::symmetric(4, 4, scheme, 0.0, 10.0));
        let first = fingerprint(&plan, 1).unwrap();
        assert_eq!(first, fingerprint(&plan, 1).unwrap(), "{scheme}");
        assert_ne!(first, fingerprint(&plan, 2).unwrap(), "{scheme}");
    }
}

/// The course that each scheme takes, pinned. A change here is a change of behaviour: say in the changelog which, and
/// count results computed before as another engine's.
#[test]
fn the_course_is_the_one_that_it_always_was() {
    let golden = [
        "c4be38d043b0af1e", // droptail
        "95ff16c8e90f009b", // ack-filtering
        "4417a5d70cccc0ed", // spm-af
        "988f2b97b689413e", // ack-pushout
        "f7c317ce95e3859c", // adaptive-pushout
        "957d809030be550f", // las
        "38639abbd3f8b279", // t-las
        "21acb5d17259814a", // red
        "91452eff9b1d9c4f", // pi
        "8e31ad428bfd747e", // dqm
        "0b33db953c6c6974", // codel
        "39dd3762298fd866", // fq-codel
        "66cfcb064caefc71", // pie
        "9e0e4980c56212b2", // mac80211
    ];
    let found = common::SCHEMES.map(|scheme| {
        let mut plan = common::symmetric(4, 4, scheme, 0.0, 20.0);
        plan["cell"]["stations"][1]["rate_mbps"] = json!(2.0);
        plan["cell"]["stations"][2]["frame_error_rate"] = json!({"data_up": 0.1, "ack_down": 0.05});
        plan["cell"]["mac"] = json!({"rts_threshold_bytes": 1000});
        fingerprint(&common::plan(&plan), 1).unwrap()
    });
    assert_eq!(found.map(|hash| format!("{hash:016x}")), golden);
}

#[test]
fn what_is_recorded_does_not_change_the_trajectory() {
    let bare = common::symmetric(3, 3, "adaptive-pushout", 2.0, 8.0);
    let mut sampled = bare.clone();
    sampled["run"]["sample_interval_s"] = json!(0.1);
    let progress = || (AtomicBool::new(false), AtomicU64::new(0));
    let record = |value| {
        let (cancelled, simulated_ms) = progress();
        let progress = Progress { cancelled: &cancelled, simulated_ms: &simulated_ms };
        run(&common::plan(value), 5, &progress).unwrap().unwrap()
    };
    let (without, with) = (record(&bare), record(&sampled));
    assert_eq!(without.flows, with.flows);
    assert_eq!(without.queues, with.queues);
    assert!(without.series.is_empty() && !with.series.is_empty());
    // A series holds what the totals hold: goodput in the intervals after the warm-up adds up to the flow's.
    for flow in &with.flows {
        let sum: f64 = with
            .series
            .iter()
            .filter(|row| row.metric == "goodput_mbps" && row.entity == flow.label && row.time_s > 2.0 + 1e-9)
            .map(|row| row.value * 0.1)
            .sum();
        assert!((sum / 8.0 - flow.goodput_mbps).abs() < 1e-9, "{} {}", sum / 8.0, flow.goodput_mbps);
    }
}

#[test]
fn threads_do_not_matter() {
    let plan = common::symmetric(3, 2, "ack-pushout", 1.0, 5.0).to_string();
    let jobs: Vec<(String, u64)> = (1..=6).map(|seed| (plan.clone(), seed)).collect();
    let records = |threads| {
        let batch = Batch::start(&jobs, threads).unwrap();
        while batch.wait(Duration::from_secs(1)) < batch.total() {}
        batch.take()
    };
    assert_eq!(records(1), records(2));
}

#[test]
fn adding_an_idle_station_shifts_nobodys_draws() {
    let plan = common::symmetric(2, 2, "droptail", 0.0, 5.0);
    let mut with_guest = plan.clone();
    with_guest["cell"]["stations"].as_array_mut().unwrap().push(json!({"label": "guest", "rate_mbps": 1.0}));
    assert_eq!(
        fingerprint(&common::plan(&plan), 3).unwrap(),
        fingerprint(&common::plan(&with_guest), 3).unwrap()
    );
}

#[test]
fn a_cancelled_batch_keeps_what_is_finished() {
    let short = common::symmetric(1, 1, "droptail", 0.0, 1.0).to_string();
    let long = common::symmetric(10, 10, "droptail", 0.0, 900_000.0).to_string();
    let jobs = vec![(short, 1), (long, 1)];
    let batch = Batch::start(&jobs, 1).unwrap();
    while batch.wait(Duration::from_millis(100)) < 1 {}
    batch.cancel();
    let records = batch.take();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].0, 0);
}
