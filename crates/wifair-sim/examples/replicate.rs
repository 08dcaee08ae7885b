//! Runs one replication of the symmetric cell and prints how many frame exchanges it had: what `make bench` counts
//! instructions of. Arguments: scheme, flows each way, simulated seconds; with `short` every flow is a row of transfers of
//! ten segments, each over its own connection, instead of a transfer without end.

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use serde_json::json;
use wifair_sim::{Progress, run};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (scheme, flows, seconds, short) = match arguments.as_slice() {
        [scheme, flows, seconds] => (scheme, flows, seconds, false),
        [scheme, flows, seconds, short] if short == "short" => (scheme, flows, seconds, true),
        _ => {
            eprintln!("usage: replicate SCHEME FLOWS_EACH_WAY SIMULATED_SECONDS [short]");
            std::process::exit(2);
        }
    };
    let (flows, seconds): (usize, f64) = match (flows.parse(), seconds.parse()) {
        (Ok(flows), Ok(seconds)) => (flows, seconds),
        _ => {
            eprintln!("flows and seconds must be numbers");
            std::process::exit(2);
        }
    };
    let mut plan = common::symmetric(flows, flows, scheme, 0.0, seconds);
    if short {
        for flow in plan["flows"].as_array_mut().expect("a list") {
            flow["application"] = json!({"name": "transfers", "transfer_bytes": 14_600});
        }
    }
    let plan = common::plan(&plan);
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    let record = run(&plan, 1, &progress).expect("a valid plan").expect("nobody cancels");
    println!("{}", record.run.exchanges);
}
