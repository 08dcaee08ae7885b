//! Marks in place of losses, from the AP's buffer to the senders and back.

use crate::common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use serde_json::{Value, json};
use wifair_sim::{Progress, QueueRow, RunRecord, run};

/// Two uplink and two downlink flows with windows that fill any buffer of 100 packets, once they have settled.
fn settled(scheme: &Value, ecn: bool) -> RunRecord {
    let mut plan = common::symmetric(2, 2, "droptail", 60.0, 60.0);
    plan["bss"]["ap"]["tx_queue"]["scheme"] = scheme.clone();
    plan["wire"]["one_way_delay_ms"] = json!(25.0);
    for flow in plan["flows"].as_array_mut().unwrap() {
        flow["tcp"]["ecn"] = json!(ecn);
    }
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    run(&common::plan(&plan), 1, &progress).unwrap().unwrap()
}

fn ap<'a>(record: &'a RunRecord, class: &str) -> &'a QueueRow {
    record.queues.iter().find(|row| row.node == "ap" && row.class == class).unwrap()
}

fn lost(record: &RunRecord) -> u64 {
    record
        .queues
        .iter()
        .map(|row| row.tail_drop_packets + row.aqm_drop_packets + row.retry_lost_packets)
        .sum()
}

#[test]
fn where_marking_suffices_no_sender_loses_a_packet() {
    for scheme in [
        json!({"name": "dqm"}),
        json!({"name": "pi", "signal": "mark-and-echo"}),
        json!({"name": "red", "signal": "mark-and-echo", "max_packets": 30}),
    ] {
        let marked = settled(&scheme, true);
        assert_eq!(lost(&marked), 0, "{scheme}");
        for flow in &marked.flows {
            assert_eq!((flow.retransmissions, flow.timeouts, flow.ap_lost_packets), (0, 0, 0), "{scheme}");
            assert!(flow.ecn_reductions > 0 && flow.ap_marked_packets > 0, "{scheme}: {flow:?}");
        }
        assert!(ap(&marked, "data").ce_marked_packets > 0);
        assert_eq!(ap(&marked, "data").ece_marked_packets, 0);
        assert!(ap(&marked, "ack").ece_marked_packets > 0);
        assert_eq!(ap(&marked, "ack").ce_marked_packets, 0, "no ECT on pure ACKs");

        let unmarked = settled(&scheme, false);
        assert!(lost(&unmarked) > 0, "{scheme}: without ECN these senders do lose packets");
        assert!(unmarked.flows.iter().any(|flow| flow.retransmissions > 0));
        assert!(unmarked.flows.iter().all(|flow| flow.ecn_reductions == 0));
    }
}

/// No scheme marks an ACK unless its parameters say so.
#[test]
fn ece_on_a_passing_ack_is_an_action_of_its_own() {
    for scheme in [json!({"name": "pi", "signal": "mark"}), json!({"name": "red", "signal": "mark"})] {
        let record = settled(&scheme, true);
        assert_eq!(ap(&record, "all").ece_marked_packets, 0);
        assert!(ap(&record, "data").ce_marked_packets > 0);
        assert!(ap(&record, "ack").aqm_drop_packets > 0, "an ACK has no ECN-capable transport");
    }
}

/// What the AP takes for its flows' channel time, against the engine's truth: the paper's estimate of uplink frames
/// knows no retries, so it is too low, by less than a tenth while few frames collide.
#[test]
fn the_ap_believes_what_it_can_know() {
    let run = settled(&json!({"name": "dqm"}), true).run;
    let ratio = |believed: Option<f64>, actual: Option<f64>| believed.unwrap() / actual.unwrap();
    let up = ratio(run.channel_time_up_believed_s, run.channel_time_up_s);
    let down = ratio(run.channel_time_down_believed_s, run.channel_time_down_s);
    assert!((0.90..1.0).contains(&up) && (0.90..1.0).contains(&down), "{up} {down}");
    assert!(up < down, "more of an uplink flow's frames come from the station");
    assert!(settled(&json!({"name": "pi"}), true).run.channel_time_up_s.is_none(), "nobody asked");
}
