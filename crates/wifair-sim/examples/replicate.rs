//! Runs one replication of the symmetric BSS and prints how many frame exchanges it had: what `make bench` counts
//! instructions of. Arguments: scheme, flows each way, simulated seconds; with `short` every flow is a row of transfers of
//! ten segments, each over its own connection, instead of a transfer without end; with `edca` the flows share out the four
//! access categories among them. With `schemes` alone it prints every scheme's name.

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use serde_json::json;
use wifair_sim::{Progress, run};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (scheme, flows, seconds, carried) = match arguments.as_slice() {
        [schemes] if schemes == "schemes" => {
            return common::schemes().iter().for_each(|name| println!("{name}"));
        }
        [scheme, flows, seconds] => (scheme, flows, seconds, ""),
        [scheme, flows, seconds, carried] if ["short", "edca"].contains(&carried.as_str()) => {
            (scheme, flows, seconds, carried.as_str())
        }
        _ => {
            eprintln!(
                "usage: replicate SCHEME FLOWS_EACH_WAY SIMULATED_SECONDS [short | edca], or replicate schemes"
            );
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
    if carried == "edca" {
        plan["cell"]["mac"] = json!({"edca": {"classify": "dscp"}});
    }
    for (index, flow) in plan["flows"].as_array_mut().expect("a list").iter_mut().enumerate() {
        if carried == "edca" {
            flow["tcp"]["dscp"] = json!([48, 32, 0, 8][index % 4]);
        } else if carried == "short" {
            flow["application"] = json!({"name": "transfers", "transfer_bytes": 14_600});
        }
    }
    let plan = common::plan(&plan);
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    let record = run(&plan, 1, &progress).expect("a valid plan").expect("nobody cancels");
    println!("{}", record.run.exchanges);
}
