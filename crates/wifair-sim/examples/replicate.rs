//! Runs one replication of the symmetric BSS and prints how many frame exchanges it had and how many packets they delivered:
//! what `make bench` counts instructions and processor time of. Arguments: scheme, flows each way, simulated seconds; with
//! `short` every flow is a row of transfers of ten segments, each over its own connection, instead of a transfer without end;
//! with `edca` the flows share out the four access categories among them; with `today` the hosts have the settings of that
//! profile; with `he80` the cell is 802.11ax at 80 MHz, MCS 7, with buffers of 1,000 packets; `he80-today` is both. With
//! `schemes` alone it prints every scheme's name.

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use serde_json::json;
use wifair_sim::{Progress, run};

const CARRIED: [&str; 5] = ["short", "edca", "today", "he80", "he80-today"];

/// TCP of the profile `today`; `tests/test_today.py` holds it equal to the profile.
const TODAY: &str = include_str!("../tests/common/today.json");

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (scheme, flows, seconds, carried) = match arguments.as_slice() {
        [schemes] if schemes == "schemes" => {
            return common::schemes().iter().for_each(|name| println!("{name}"));
        }
        [scheme, flows, seconds] => (scheme, flows, seconds, ""),
        [scheme, flows, seconds, carried] if CARRIED.contains(&carried.as_str()) => {
            (scheme, flows, seconds, carried.as_str())
        }
        _ => {
            let carried = CARRIED.join(" | ");
            eprintln!(
                "usage: replicate SCHEME FLOWS_EACH_WAY SIMULATED_SECONDS [{carried}], or replicate schemes"
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
    let is_he80 = carried.starts_with("he80");
    if is_he80 {
        let tx_queue = json!({"limit_packets": 1_000, "scheme": {"name": scheme}});
        plan["bss"]["phy"] = json!({"name": "802.11ax", "width_mhz": 80});
        plan["bss"]["mac"] = json!({"edca": {}});
        plan["bss"]["ap"]["tx_queue"] = tx_queue;
        for station in plan["bss"]["stations"].as_array_mut().expect("a list") {
            *station = json!({"label": station["label"], "mcs": 7, "tx_queue": {"limit_packets": 1_000}});
        }
    }
    if carried == "edca" {
        plan["bss"]["mac"] = json!({"edca": {"classify": "dscp"}});
    }
    for (index, flow) in plan["flows"].as_array_mut().expect("a list").iter_mut().enumerate() {
        if carried == "edca" {
            flow["tcp"]["dscp"] = json!([48, 32, 0, 8][index % 4]);
        } else if carried.ends_with("today") {
            flow["tcp"] = serde_json::from_str(TODAY).expect("a table");
        } else if is_he80 {
            flow["tcp"]["receiver_window_segments"] = json!(400);
        } else if carried == "short" {
            flow["application"] = json!({"name": "transfers", "transfer_bytes": 14_600});
        }
    }
    let plan = common::plan(&plan);
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    let record = run(&plan, 1, &progress).expect("a valid plan").expect("nobody cancels");
    let delivered: u64 = record.stations.iter().map(|station| station.frames_delivered).sum();
    println!("{} {delivered}", record.run.exchanges);
}
