//! What an access point does with packets from stations, from the scheme's decision to the sender's window.

use crate::common;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wifair_core::Class;
use wifair_queue::{Arrival, Buffer, Cx, Hooks, Maker, Placed, PoliceAction, Reception, Scheme};
use wifair_sim::{EventRow, Plan, QueueRow, RunRecord, TraceSpec, run_traced, run_watched};

/// Tail drop that gives every n-th packet of a class from stations a action, and forwards the others.
#[derive(Clone)]
struct EveryNth {
    n: u64,
    class: Class,
    action: PoliceAction,
    seen: u64,
}

impl Scheme for EveryNth {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn hooks(&self) -> Hooks {
        Hooks { police: true, ..Hooks::default() }
    }

    fn police(&mut self, reception: &Reception, _buffer: &mut Buffer, _cx: &mut Cx) -> PoliceAction {
        if reception.packet.class() != self.class {
            return PoliceAction::Forward;
        }
        self.seen += 1;
        if self.seen.is_multiple_of(self.n) { self.action } else { PoliceAction::Forward }
    }
}

/// Every n-th packet of a class.
fn every(n: u64, class: Class, action: PoliceAction) -> EveryNth {
    EveryNth { n, class, action, seen: 0 }
}

/// Two flows each way, the first of each with ECN, on 802.11b or, with A-MPDUs, on 802.11ax.
fn plan(scheme: EveryNth, aggregates: bool) -> Plan {
    let mut plan = common::symmetric(2, 2, "droptail", 0.0, 20.0);
    plan["bss"]["ap"]["tx_queue"]["scheme"] = json!({"name": "external", "id": "every-nth"});
    plan["wire"]["one_way_delay_ms"] = json!(10.0);
    for (index, flow) in plan["flows"].as_array_mut().unwrap().iter_mut().enumerate() {
        flow["tcp"]["ecn"] = json!(index % 2 == 0);
    }
    if aggregates {
        plan["run"]["duration_s"] = json!(3.0);
        plan["bss"]["phy"] = json!({"name": "802.11ax"});
        plan["bss"]["mac"] = json!({"edca": {}});
        for station in plan["bss"]["stations"].as_array_mut().unwrap() {
            station["rate_mbps"] = Value::Null;
            station["mcs"] = json!(3);
        }
    }
    let mut find = |_: &_| {
        let scheme = scheme.clone();
        Some(Maker::new(move || Box::new(scheme.clone())))
    };
    Plan::from_json_with(&plan.to_string(), &mut find).unwrap()
}

fn record(scheme: EveryNth, aggregates: bool) -> RunRecord {
    run_watched(&plan(scheme, aggregates), 1, &mut |_| true).unwrap().unwrap()
}

fn ap<'a>(record: &'a RunRecord, class: &str) -> &'a QueueRow {
    record.queues.iter().find(|row| row.node == "ap" && row.class == class).unwrap()
}

/// The receiver behind the AP echoes ECE, and the station's sender reduces its window without a loss; where the flow has no ECN
/// nothing is marked.
#[test]
fn a_sender_heeds_the_marks_of_the_access_point() {
    for aggregates in [false, true] {
        let marked = record(every(200, Class::Data, PoliceAction::Mark), aggregates);
        let [with, without] = [&marked.flows[0], &marked.flows[1]];
        assert!(with.ap_police_marked_packets > 2 && without.ap_police_marked_packets == 0);
        // Marks of a window are one reduction (RFC 3168, section 6.1.2), and the last may still be on its way back.
        assert!((1..=with.ap_police_marked_packets).contains(&with.ecn_reductions), "{with:?}");
        assert!(with.ce_segments > 0 && with.ce_segments <= with.ap_police_marked_packets);
        assert_eq!((without.ecn_reductions, without.ce_segments), (0, 0));
        assert!(marked.flows.iter().all(|flow| flow.ap_police_dropped_packets == 0));
        let data = ap(&marked, "data");
        assert_eq!(data.police_marked_packets, with.ap_police_marked_packets);
        assert_eq!(ap(&marked, "ack").police_marked_packets, 0);
    }
}

/// Without ECN only a loss signals congestion: the sender retransmits each segment that the AP drops.
#[test]
fn a_sender_retransmits_what_the_access_point_drops() {
    for aggregates in [false, true] {
        let dropped = record(every(200, Class::Data, PoliceAction::Drop), aggregates);
        let untouched = record(every(u64::MAX, Class::Data, PoliceAction::Drop), aggregates);
        for (flow, before) in dropped.flows.iter().zip(&untouched.flows).take(2) {
            assert!(flow.ap_police_dropped_packets > 3, "{flow:?}");
            assert!(flow.retransmissions + 1 >= flow.ap_police_dropped_packets, "{flow:?}");
            assert!(flow.fast_retransmits > 0 && flow.ecn_reductions == 0);
            assert_eq!((before.ap_police_dropped_packets, before.ap_policed_packets > 100), (0, true));
        }
        assert!(dropped.flows[2..].iter().all(|flow| flow.ap_police_dropped_packets == 0));
    }
}

/// By flow and class, the event log counts what the tables count, and what is forwarded is what crosses the wire.
#[test]
fn tables_and_the_event_log_agree() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("uplink");
    for (scheme, aggregates, has_effect) in [
        (every(50, Class::Data, PoliceAction::Mark), false, true),
        (every(50, Class::Data, PoliceAction::Drop), true, true),
        (every(7, Class::Ack, PoliceAction::Drop), false, true),
        (every(7, Class::Ack, PoliceAction::Mark), true, false), // a pure ACK has no ECT
    ] {
        let plan = plan(scheme, aggregates);
        let rows = Arc::new(Mutex::new(vec![]));
        let sink = Arc::clone(&rows);
        let events = Box::new(move |new: Vec<EventRow>| {
            sink.lock().unwrap().extend(new);
            true
        });
        let spec = TraceSpec { folder: folder.clone(), pcap: None, events: true };
        let traced = run_traced(&plan, 1, &spec, events, &mut |_| true).unwrap().unwrap();
        assert_eq!(traced, run_watched(&plan, 1, &mut |_| true).unwrap().unwrap(), "traces change nothing");

        let rows = rows.lock().unwrap();
        let police = || rows.iter().filter(|row| row.event == "police");
        assert!(police().all(|row| &*row.node == "ap" && row.queued_packets.is_some()));
        let mut by_class: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
        let mut by_flow: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for row in police() {
            let (packets, bytes) = by_class.entry((row.class, row.detail)).or_default();
            (*packets, *bytes) = (*packets + 1, *bytes + row.ip_bytes.unwrap());
            *by_flow.entry((&row.flow, row.detail)).or_default() += 1;
        }
        for class in ["data", "ack", "other"] {
            let [forward, ce, drop] = ["forward", "ce", "drop"]
                .map(|detail| by_class.get(&(class, detail)).copied().unwrap_or_default());
            let row = ap(&traced, class);
            assert_eq!((row.police_marked_packets, row.police_marked_bytes), ce, "{class}");
            assert_eq!((row.police_dropped_packets, row.police_dropped_bytes), drop, "{class}");
            let all = (forward.0 + ce.0 + drop.0, forward.1 + ce.1 + drop.1);
            assert_eq!((row.policed_packets, row.policed_bytes), all, "{class}");
        }
        for flow in &traced.flows {
            let count = |detail| by_flow.get(&(&*flow.label, detail)).copied().unwrap_or_default();
            let told =
                [flow.ap_police_marked_packets, flow.ap_police_dropped_packets, flow.ap_policed_packets];
            let [ce, drop] = [count("ce"), count("drop")];
            assert_eq!(told, [ce, drop, count("forward") + ce + drop], "{}", flow.label);
        }
        let all = ap(&traced, "all");
        assert_eq!(all.police_marked_packets + all.police_dropped_packets > 0, has_effect);
        let up = traced.wire.iter().find(|row| row.direction == "up").unwrap();
        assert_eq!(up.packets, all.policed_packets - all.police_dropped_packets);
    }
}
