//! Traces change nothing and agree with the counters.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wifair_sim::{
    EventRow, Fingerprint, Network, PcapSpec, Plan, RunRecord, StationRow, Trace, TraceError, TraceSpec,
    fingerprint, run_traced, run_watched,
};

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder); // it may not be there
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A bit of everything: slow and lossy links, RTS, a small buffer, ECN, selective ACKs, transfers that end.
fn busy(scheme: &str) -> Value {
    let mut plan = common::symmetric(3, 3, scheme, 0.0, 10.0);
    plan["bss"]["stations"][1]["rate_mbps"] = json!(2.0);
    plan["bss"]["stations"][2]["frame_error_rate"] =
        json!({"data_up": 0.2, "ack_down": 0.1, "data_down": 0.1});
    plan["bss"]["mac"] = json!({"rts_threshold_bytes": 1000, "retry_limit_short": 4});
    plan["bss"]["ap"]["tx_queue"]["limit_packets"] = json!(15);
    for flow in plan["flows"].as_array_mut().unwrap() {
        flow["tcp"]["ecn"] = json!(true);
        flow["tcp"]["sack"] = json!({});
    }
    plan["flows"][4]["application"] = json!({"name": "transfers", "transfer_bytes": 20_000});
    plan
}

fn with_edca(mut plan: Value) -> Value {
    plan["bss"]["mac"] = json!({"edca": {"classify": "dscp"}, "retry_limit_short": 4});
    for (index, flow) in plan["flows"].as_array_mut().unwrap().iter_mut().enumerate() {
        flow["tcp"]["dscp"] = json!([48, 0, 32, 8][index % 4]);
    }
    plan
}

/// Links with Block Ack agreements, with losses, retries, Block Ack Requests and an RTS before long PPDUs, and a station that
/// has none.
fn with_aggregates(mut plan: Value, phy: Value, mac: Value) -> Value {
    plan["bss"]["phy"] = phy;
    plan["bss"]["mac"] = mac;
    plan["run"]["duration_s"] = json!(2.0);
    for (index, station) in plan["bss"]["stations"].as_array_mut().unwrap().iter_mut().enumerate() {
        station["rate_mbps"] = Value::Null;
        station["mcs"] = json!(index % 4 + 1);
        station["frame_error_rate"] =
            json!({"data_up": 0.2, "ack_down": 0.1, "data_down": 0.2, "ack_up": 0.1});
    }
    plan
}

/// A rate changes, packets above a lowered limit go, connections are forgotten, and somebody samples what the scheme says of
/// itself.
fn with_changes(mut plan: Value) -> Value {
    plan["events"] = json!([
        {"at_s": 3.0, "station": {"label": "up-1", "rate_mbps": 5.5}},
        {"at_s": 5.0, "ap": {"limit_packets": 4}},
        {"at_s": 7.0, "ap": {"limit_packets": 30}},
    ]);
    plan["bss"]["ap"]["tx_queue"]["lowered_limit"] = json!("evict");
    plan["bss"]["ap"]["flows"] = json!({"idle_timeout_s": 1.0});
    plan["run"]["sample_interval_s"] = json!(1.0);
    plan
}

/// Every scheme in the busy BSS: under DCF, with changes while it runs, under EDCA, and with one transmit queue for all
/// categories where that is possible.
fn plans() -> impl Iterator<Item = (String, Plan)> {
    common::schemes().into_iter().flat_map(|scheme| {
        let mut shared = with_edca(busy(scheme));
        shared["bss"]["mac"]["edca"]["share_tx_queue"] = json!("ap");
        let mut mixed = with_aggregates(
            busy(scheme),
            json!({"name": "802.11n"}),
            json!({"edca": {}, "rts_threshold_bytes": 20_000, "aggregation": {"max_attempts": 2}}),
        );
        mixed["bss"]["stations"][3]["phy"] = json!({"name": "802.11a"});
        mixed["bss"]["stations"][3]["mcs"] = Value::Null;
        let mut ahead = with_aggregates(
            busy(scheme),
            json!({"name": "802.11be", "band_ghz": 2.4, "erp_protection": "cts-to-self"}),
            json!({"edca": {"parameter_set": "openwrt"}, "aggregation": {"max_attempts": 3, "max_amsdu_bytes": 5000}}),
        );
        ahead["bss"]["ap"]["hardware"] = json!({"name": "ath9k"});
        [busy(scheme), with_changes(busy(scheme)), with_edca(busy(scheme)), shared, mixed, ahead]
            .into_iter()
            .enumerate()
            .filter_map(move |(i, plan)| {
                Some((format!("{scheme} {i}"), Plan::from_json(&plan.to_string()).ok()?))
            })
    })
}

fn spec(folder: PathBuf) -> TraceSpec {
    let pcap = PcapSpec { stations: vec!["up-3".into()], servers: true, ..PcapSpec::default() };
    TraceSpec { folder, pcap: Some(pcap), events: true }
}

fn traced(plan: &Plan, folder: PathBuf) -> (RunRecord, Vec<EventRow>) {
    let rows = Arc::new(Mutex::new(vec![]));
    let sink = Arc::clone(&rows);
    let events = Box::new(move |new: Vec<EventRow>| {
        sink.lock().unwrap().extend(new);
        true
    });
    let record = run_traced(plan, 1, &spec(folder), events, &mut |_| true).unwrap().unwrap();
    let rows = std::mem::take(&mut *rows.lock().unwrap());
    (record, rows)
}

#[test]
fn the_course_is_the_same_with_traces() {
    let folder = folder("same-course");
    assert!(plans().count() > 3 * common::schemes().len());
    for (scheme, plan) in plans() {
        let trace = Trace::new(&spec(folder.clone()), &plan, 1, Box::new(|_| true)).unwrap();
        let mut network = Network::tapped(&plan, 1, (Fingerprint::new(), trace)).unwrap();
        network.run_until(wifair_core::Time::from_secs_f64(plan.run.duration_s));
        assert_eq!(network.tap().0.value(), fingerprint(&plan, 1).unwrap(), "{scheme}");
    }
}

/// Another scheme takes over in the warm-up and hands back, so that a record begins with what traces may have left.
#[test]
fn the_record_is_the_same_with_traces() {
    let folder = folder("same-record");
    for scheme in common::schemes() {
        for then in ["droptail", scheme] {
            let mut plan = busy(scheme);
            plan["run"] = json!({"warmup_s": 2.0, "duration_s": 2.0});
            plan["events"] = json!([
                {"at_s": 1.0, "ap": {"scheme": {"name": "droptail"}}},
                {"at_s": 1.5, "ap": {"scheme": {"name": then}}},
            ]);
            let plan = common::plan(&plan);
            let untraced = run_watched(&plan, 1, &mut |_| true).unwrap().unwrap();
            let (traced, _) = traced(&plan, folder.clone());
            assert_eq!(traced, untraced, "{scheme}, then {then}");
        }
    }
}

/// The event log and the transmit queues' counters count the same events independently.
#[test]
fn the_event_log_agrees_with_the_books() {
    let folder = folder("books");
    for (scheme, plan) in plans() {
        let (record, rows) = traced(&plan, folder.clone());
        assert!(rows.is_sorted_by_key(|row| row.time_ns), "{scheme}");
        if !record.series.is_empty() {
            let untraced = run_watched(&plan, 1, &mut |_| true).unwrap().unwrap();
            assert_eq!(record.series, untraced.series, "{scheme}");
        }
        let mut counts: BTreeMap<(bool, &str, &str, &str), u64> = BTreeMap::new();
        for row in &rows {
            *counts.entry((&*row.node == "ap", row.event, row.detail, row.class)).or_default() += 1;
        }
        for node in ["ap", "stations"] {
            for class in ["data", "ack", "other"] {
                let count = |event, detail| {
                    counts.get(&(node == "ap", event, detail, class)).copied().unwrap_or_default()
                };
                let of_node = record.queues.iter().filter(|row| row.node == node && row.class == class);
                let queue = of_node.clone().next().unwrap();
                let told = [
                    ("accepted", count("enqueue", ""), queue.accepted_packets),
                    ("tail drop", count("refuse", "tail-drop"), queue.tail_drop_packets),
                    ("aqm", count("refuse", "aqm") + count("evict", "aqm"), queue.aqm_drop_packets),
                    ("filtered", count("evict", "redundant"), queue.filtered_packets),
                    ("evicted", count("evict", "victim"), queue.evicted_packets),
                    ("ce", count("mark", "ce"), queue.ce_marked_packets),
                    ("ece", count("mark", "ece"), queue.ece_marked_packets),
                    ("dequeued", count("dequeue", ""), queue.dequeued_packets),
                    ("delivered", count("finish", "delivered"), queue.delivered_packets),
                    ("lost", count("finish", "lost-at-retry-limit"), queue.retry_lost_packets),
                ];
                for (what, events, books) in told {
                    assert_eq!(events, books, "{scheme} {node} {class} {what}");
                }
            }
        }
        the_medium_agrees(&record, &rows);
        lengths_follow_from_events(&rows);
    }
}

/// Airtime of the exchanges that were not collisions is the stations'; except for an exchange in progress at the end.
fn the_medium_agrees(record: &RunRecord, rows: &[EventRow]) {
    let exchanges = || rows.iter().filter(|row| row.event == "exchange");
    let alone = exchanges().filter(|row| row.detail != "collided");
    let airtime: u64 = alone.map(|row| row.airtime_ns.unwrap()).sum();
    let stations: f64 = record.stations.iter().map(|row| row.airtime_s).sum();
    let longest = exchanges().map(|row| row.airtime_ns.unwrap()).max().unwrap();
    let beyond = airtime as f64 * 1e-9 - stations;
    assert!((-1e-9..=longest as f64 * 1e-9).contains(&beyond), "{beyond}");
    let attempts: u64 = record.stations.iter().map(|row| row.attempts).sum();
    assert_eq!(exchanges().count() as u64, attempts);

    // On links that aggregate: every PPDU with its MPDUs, whose shares are its airtime.
    let of_ppdus = |is_ppdu: fn(u64) -> bool| {
        exchanges().filter(move |row| row.mpdus.is_some_and(is_ppdu)).count() as u64
    };
    let mpdus = || rows.iter().filter(|row| row.event == "mpdu");
    let counted = |of: fn(&StationRow) -> u64| record.stations.iter().map(of).sum::<u64>();
    assert_eq!(of_ppdus(|mpdus| mpdus > 0), counted(|row| row.ppdus));
    assert_eq!(of_ppdus(|mpdus| mpdus == 0), counted(|row| row.block_ack_requests));
    let mut parts: BTreeMap<u64, (BTreeSet<u64>, u64)> = BTreeMap::new();
    for row in mpdus() {
        let (sequences, airtime) = parts.entry(row.ppdu.unwrap()).or_default();
        sequences.insert(row.sequence.unwrap());
        *airtime += row.airtime_ns.unwrap();
    }
    let sent: usize = parts.values().map(|(sequences, _)| sequences.len()).sum();
    assert_eq!(sent as u64, counted(|row| row.mpdus));
    for row in exchanges().filter(|row| row.mpdus.is_some_and(|mpdus| mpdus > 0)) {
        let (sequences, airtime) = &parts[&row.ppdu.unwrap()];
        assert_eq!((sequences.len() as u64, *airtime), (row.mpdus.unwrap(), row.airtime_ns.unwrap()));
    }
    // What is acknowledged is delivered by the MAC; but for what a Block Ack Request's answer acknowledges, and the end.
    let acknowledged = mpdus().filter(|row| row.detail == "acknowledged").count();
    let delivered = rows.iter().filter(|row| row.event == "finish" && row.detail == "delivered");
    let single = exchanges().filter(|row| row.mpdus.is_none() && row.detail == "acknowledged").count();
    let (by_mac, on_air) = (delivered.count(), acknowledged + single);
    let by_requests = counted(|row| row.block_ack_requests) as usize * 64;
    assert!(by_mac <= on_air + by_requests && on_air <= by_mac + 1_024, "{by_mac} {on_air} {by_requests}");
}

/// At each transmit queue the queue is as long as what came in and went out says.
fn lengths_follow_from_events(rows: &[EventRow]) {
    let mut lengths: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let length = lengths.entry((&row.node, row.category)).or_default();
        *length += match row.event {
            "enqueue" => 1,
            "dequeue" | "evict" => -1,
            _ => 0,
        };
        // What is decided together has the length after the last of it.
        let is_last =
            rows.get(index + 1).is_none_or(|next| (&next.node, next.time_ns) != (&row.node, row.time_ns));
        if let Some(told) = row.queued_packets.filter(|_| is_last) {
            assert_eq!(*length, told as i64, "{row:?}");
        }
    }
}

#[test]
fn errors_name_what_is_wrong() {
    let plan = common::plan(&common::symmetric(2, 1, "droptail", 0.0, 1.0));
    let error = |spec: TraceSpec| Trace::new(&spec, &plan, 1, Box::new(|_| true)).err().unwrap();
    let pcap = PcapSpec { stations: vec!["up-7".into()], ..PcapSpec::default() };
    let unknown = error(TraceSpec { folder: folder("errors"), pcap: Some(pcap), events: false });
    assert!(matches!(&unknown, TraceError::Spec(spec) if spec.allowed == "up-1, up-2, down-1"), "{unknown}");
    let nowhere = TraceSpec { folder: "/nowhere".into(), pcap: Some(PcapSpec::default()), events: false };
    assert!(error(nowhere).to_string().starts_with("/nowhere/ap-air.pcapng: cannot be written"));
    // A full disk is reported at the end.
    if Path::new("/dev/full").exists() {
        let folder = folder("full");
        std::os::unix::fs::symlink("/dev/full", folder.join("ap-wire.pcapng")).unwrap();
        let spec = TraceSpec { folder, pcap: Some(PcapSpec::default()), events: false };
        let failed = run_traced(&plan, 1, &spec, Box::new(|_| true), &mut |_| true).unwrap_err();
        assert!(failed.to_string().contains("ap-wire.pcapng: cannot be written: No space left"), "{failed}");
    }
}
