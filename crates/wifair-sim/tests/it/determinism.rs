//! The same plan and seed take the same course, bit for bit.

use crate::common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use serde_json::{Value, json};
use wifair_sim::{Batch, Progress, fingerprint, run};

#[test]
fn two_runs_of_one_seed_are_one_run_and_two_seeds_are_two() {
    for scheme in common::schemes() {
        let plan = common::plan(&common::symmetric(4, 4, scheme, 0.0, 10.0));
        let first = fingerprint(&plan, 1).unwrap();
        assert_eq!(first, fingerprint(&plan, 1).unwrap(), "{scheme}");
        assert_ne!(first, fingerprint(&plan, 2).unwrap(), "{scheme}");
    }
}

/// The courses of `trajectories/`, pinned: in each file a plan, and what its trajectory hashes to under each scheme at the
/// AP. The Python tests hold the same table against the release build. A change here is a change of behaviour: say in the
/// changelog which, and count results computed before as another engine's.
#[test]
fn every_course_is_the_one_that_it_always_was() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trajectories");
    let (mut pinned, mut found) = (BTreeMap::new(), BTreeMap::new());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let table: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for (scheme, hash) in table["hashes"].as_object().unwrap() {
            let mut plan = table["plan"].clone();
            plan["bss"]["ap"]["tx_queue"]["scheme"] = json!({"name": scheme});
            let course = fingerprint(&common::plan(&plan), table["seed"].as_u64().unwrap()).unwrap();
            found.insert(format!("{name} {scheme}"), format!("{course:016x}"));
            pinned.insert(format!("{name} {scheme}"), hash.as_str().unwrap().to_owned());
        }
    }
    assert!(pinned.len() >= 20, "{pinned:?}");
    assert_eq!(found, pinned);
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
            .filter(|row| {
                row.metric == "goodput_mbps" && *row.entity == *flow.label && row.time_s > 2.0 + 1e-9
            })
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
    with_guest["bss"]["stations"].as_array_mut().unwrap().push(json!({"label": "guest", "rate_mbps": 1.0}));
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
