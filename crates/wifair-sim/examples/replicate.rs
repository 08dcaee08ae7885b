//! Runs one replication of the symmetric cell and prints how many frame exchanges it had: what `make bench` counts
//! instructions of. Arguments: scheme, flows each way, simulated seconds.

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use wifair_sim::{Progress, run};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scheme, flows, seconds] = arguments.as_slice() else {
        eprintln!("usage: replicate SCHEME FLOWS_EACH_WAY SIMULATED_SECONDS");
        std::process::exit(2);
    };
    let (flows, seconds): (usize, f64) = match (flows.parse(), seconds.parse()) {
        (Ok(flows), Ok(seconds)) => (flows, seconds),
        _ => {
            eprintln!("flows and seconds must be numbers");
            std::process::exit(2);
        }
    };
    let plan = common::plan(&common::symmetric(flows, flows, scheme, 0.0, seconds));
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    let record = run(&plan, 1, &progress).expect("a valid plan").expect("nobody cancels");
    println!("{}", record.run.exchanges);
}
