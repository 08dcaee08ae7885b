//! Senders are notified of their link's rate.

use crate::common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use serde_json::{Value, json};
use wifair_sim::{Plan, Progress, RunRecord, run};

fn record(plan: &Value) -> RunRecord {
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    run(&common::plan(plan), 1, &progress).unwrap().unwrap()
}

/// A slow and a fast station, one flow each, all of them ARF-aware or none.
fn pair(direction: &str, control: &str, edit: impl FnOnce(&mut Value)) -> Vec<f64> {
    let (n_up, n_down) = if direction == "up" { (2, 0) } else { (0, 2) };
    let mut plan = common::symmetric(n_up, n_down, "droptail", 5.0, 40.0);
    for flow in plan["flows"].as_array_mut().unwrap() {
        flow["tcp"]["congestion_control"] = json!({"name": control});
    }
    plan["bss"]["stations"][0]["rate_mbps"] = json!(1.0);
    edit(&mut plan);
    record(&plan).flows.iter().map(|flow| flow.goodput_mbps).collect()
}

#[test]
fn a_station_hears_of_its_own_rate_from_the_start() {
    let plain = pair("up", "newreno", |_| {});
    let aware = pair("up", "arf-aware", |_| {});
    assert!((plain[0] / plain[1] - 1.0).abs() < 0.25, "the anomaly: {plain:?}");
    assert!(aware[1] > 2.5 * aware[0] && aware[1] > 1.5 * plain[1], "{aware:?}");
}

#[test]
fn a_station_hears_of_a_change() {
    let change = |control: &str| {
        pair("up", control, |plan| {
            plan["bss"]["stations"][0]["rate_mbps"] = json!(11.0);
            plan["events"] = json!([{"at_s": 5.0, "station": {"label": "up-1", "rate_mbps": 1.0}}]);
        })
    };
    let (plain, aware) = (change("newreno"), change("arf-aware"));
    assert!((plain[0] / plain[1] - 1.0).abs() < 0.25 && aware[1] > 2.5 * aware[0], "{plain:?} {aware:?}");
}

#[test]
fn a_server_does_not_unless_it_is_told() {
    let plain = pair("down", "newreno", |_| {});
    assert_eq!(plain, pair("down", "arf-aware", |_| {}), "the server knows nothing of the air");
    let told = pair("down", "arf-aware", |plan| {
        for flow in plan["flows"].as_array_mut().unwrap() {
            flow["server_notified_of_link_rate"] = json!(true);
        }
    });
    assert!(told[1] > 2.0 * told[0] && told[1] > 1.5 * plain[1], "{told:?} {plain:?}");
}

#[test]
fn a_sender_that_asks_hears_later() {
    let polled = |period_ms: u32, phase_ms: u32, start_s: f64| {
        pair("up", "arf-aware", |plan| {
            for flow in plan["flows"].as_array_mut().unwrap() {
                let polling = json!({"period_ms": period_ms, "phase_ms": phase_ms});
                flow["tcp"]["congestion_control"]["polling"] = polling;
                flow["start_s"] = json!(start_s);
            }
        })
    };
    let aware = pair("up", "arf-aware", |_| {});
    for start_s in [0.0, 1.5] {
        let soon = polled(100, 1, start_s);
        assert!((soon[1] / aware[1] - 1.0).abs() < 0.05, "{soon:?} {aware:?}");
    }
    let late = polled(100_000, 25_000, 0.0); // at 25 s, in the middle of the measurement
    assert!(late[1] < 0.9 * aware[1] && late[1] > 0.5 * aware[1], "{late:?} {aware:?}");
}

#[test]
fn each_connection_of_a_flow_hears_anew() {
    let files = |control: &str| {
        pair("up", control, |plan| {
            for flow in plan["flows"].as_array_mut().unwrap() {
                flow["application"] = json!({"name": "transfers", "transfer_bytes": 400_000});
            }
        })
    };
    let (plain, aware) = (files("newreno"), files("arf-aware"));
    assert!((plain[0] / plain[1] - 1.0).abs() < 0.3 && aware[1] > 2.0 * aware[0], "{plain:?} {aware:?}");
}

#[test]
fn an_uplink_flow_needs_no_such_key() {
    let mut plan = common::symmetric(1, 0, "droptail", 0.0, 1.0);
    plan["flows"][0]["server_notified_of_link_rate"] = json!(true);
    assert_eq!(Plan::from_json(&plan.to_string()).unwrap_err().key, "flows[0].server_notified_of_link_rate");
}
