//! Access categories from the senders' code points to the results.

use crate::common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use serde_json::json;
use wifair_sim::{Progress, RunRecord, run};

/// A downlink and an uplink flow in each category, by code point.
const CATEGORIES: [(&str, u8); 4] =
    [("ap/voice", 48), ("ap/video", 32), ("ap/best-effort", 0), ("ap/background", 8)];

fn record(edca: serde_json::Value) -> RunRecord {
    let mut plan = common::symmetric(4, 4, "droptail", 0.0, 5.0);
    plan["bss"]["phy"]["name"] = json!("802.11g");
    plan["bss"]["mac"] = json!({ "edca": edca });
    for station in plan["bss"]["stations"].as_array_mut().unwrap() {
        station["rate_mbps"] = json!(54.0);
    }
    for (index, flow) in plan["flows"].as_array_mut().unwrap().iter_mut().enumerate() {
        flow["tcp"]["dscp"] = json!(CATEGORIES[index % 4].1);
        flow["stop_s"] = json!(4.0); // so that FINs are among the packets
    }
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    run(&common::plan(&plan), 1, &progress).unwrap().unwrap()
}

fn offered(record: &RunRecord, node: &str, class: &str) -> Option<u64> {
    record.queues.iter().find(|row| row.node == node && row.class == class).map(|row| row.offered_packets)
}

#[test]
fn every_packet_of_a_flow_is_in_the_category_of_its_code_point() {
    let record = record(json!({ "classify": "dscp" }));
    let mut all = 0;
    for (index, (node, _)) in CATEGORIES.iter().enumerate() {
        let flows = [index, index + 4].map(|flow| record.flows[flow].ap_offered_packets);
        assert_eq!(offered(&record, node, "all"), Some(flows[0] + flows[1]), "{node}");
        all += flows[0] + flows[1];
    }
    assert_eq!(offered(&record, "ap", "all"), Some(all));
    let goodput = |flow: usize| record.flows[flow].goodput_mbps;
    assert!(goodput(0) > 3.0 * goodput(2) && goodput(2) > goodput(3), "the higher category has more");
}

#[test]
fn acks_go_where_they_are_steered_to_and_nothing_else_does() {
    let record = record(json!({ "tcp_acks": "voice" }));
    let of = |node, class| offered(&record, node, class);
    assert_eq!((of("ap/voice", "data"), of("ap/voice", "other")), (Some(0), Some(0)));
    assert_eq!(of("ap/best-effort", "ack"), Some(0));
    assert!(of("ap/voice", "ack") > Some(100) && of("ap/best-effort", "data") > Some(100));
    assert_eq!(of("ap/video", "all"), None, "nothing can come there");
}
