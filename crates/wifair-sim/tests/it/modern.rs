//! Today's access point in a whole BSS: the shares that its schemes promise.

use crate::common;

use std::sync::atomic::{AtomicBool, AtomicU64};

use serde_json::{Value, json};
use wifair_sim::{Progress, RunRecord, run};

fn record(plan: &Value, seed: u64) -> RunRecord {
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    run(&common::plan(plan), seed, &progress).unwrap().unwrap()
}

/// The symmetric BSS with the scheme's own limit and hosts of today: CUBIC, SACK, wide windows.
fn bss(n_up: usize, n_down: usize, scheme: &str, duration_s: f64) -> Value {
    let mut plan = common::symmetric(n_up, n_down, scheme, 10.0, duration_s);
    plan["bss"]["ap"]["tx_queue"].as_object_mut().unwrap().remove("limit_packets");
    for flow in plan["flows"].as_array_mut().unwrap() {
        flow["tcp"]["receiver_window_segments"] = json!(1_000);
        flow["tcp"]["window_scale"] = json!(7);
        flow["tcp"]["congestion_control"] = json!({"name": "cubic"});
        flow["tcp"]["sack"] = json!({});
    }
    plan
}

/// Ten equal downlink flows: none under 90 % of its share, by hosts with and without ECN.
#[test]
fn equal_downlink_flows_get_equal_shares() {
    for scheme in ["fq-codel", "mac80211", "air-share"] {
        for ecn in [false, true] {
            let mut plan = bss(0, 10, scheme, 40.0);
            for flow in plan["flows"].as_array_mut().unwrap() {
                flow["tcp"]["ecn"] = json!(ecn);
            }
            let record = record(&plan, 1);
            let rates: Vec<f64> = record.flows.iter().map(|flow| flow.goodput_mbps).collect();
            let share = rates.iter().sum::<f64>() / 10.0;
            let least = rates.iter().copied().fold(f64::MAX, f64::min);
            println!(
                "{scheme}, ecn {ecn}: the least has {:.3} of its share of {share:.3} Mbps",
                least / share
            );
            assert!(least >= 0.9 * share, "{scheme}: {rates:?}");
            assert!(share > 0.4, "{scheme}: {share} Mbps each");
        }
    }
}

/// By how much the station farthest from the mean airtime is off, for downloads by stations of these rates.
fn off(scheme: &Value, phy: &str, rates: &[f64], ecn: bool) -> f64 {
    let mut plan = bss(0, rates.len(), "droptail", 60.0);
    plan["bss"]["phy"]["name"] = json!(phy);
    plan["bss"]["ap"]["tx_queue"]["scheme"] = scheme.clone();
    for (station, mbps) in rates.iter().enumerate() {
        plan["bss"]["stations"][station]["rate_mbps"] = json!(mbps);
        plan["flows"][station]["tcp"]["ecn"] = json!(ecn);
    }
    let record = record(&plan, 1);
    let share = |label: &str| {
        record.stations.iter().filter(|row| row.station == label).map(|row| row.airtime_share).sum()
    };
    let shares: Vec<f64> = (1..=rates.len()).map(|n| share(&format!("down-{n}"))).collect();
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    let off = shares.iter().map(|share| (share / mean - 1.0).abs()).fold(0.0, f64::max);
    println!("{scheme}, {phy}, ecn {ecn}: airtime shares {shares:.4?}, {:.1} % off at most", 100.0 * off);
    off
}

/// Airtime within 5 % under mac80211 while every station's queue holds packets, far from it under tail drop and FQ-CoDel. With
/// CoDel's usual target queues run empty where frames are slow and losses are the congestion signal; with marks they do not.
#[test]
fn stations_of_different_rates_get_equal_airtime() {
    let patient = json!({"name": "mac80211", "target_ms": 1000});
    assert!(off(&patient, "802.11b", &[1.0, 2.0, 5.5, 11.0], false) < 0.05);
    let usual = json!({"name": "mac80211"});
    assert!(off(&usual, "802.11g", &[6.0, 12.0, 24.0, 54.0], true) < 0.05);
    for scheme in ["droptail", "fq-codel"] {
        assert!(off(&json!({"name": scheme}), "802.11g", &[6.0, 12.0, 24.0, 54.0], true) > 0.5);
    }
}

/// Five uploads and five downloads: air-share signals congestion to uploads alone, by the mark that their transport bears, or
/// else by drops; downloads get at least twice as much of an upload's goodput as under mac80211.
#[test]
fn uploads_get_signals_under_air_share() {
    let of = |scheme: &str, ecn: bool| {
        let mut plan = bss(5, 5, scheme, 30.0);
        for flow in plan["flows"].as_array_mut().unwrap() {
            flow["tcp"]["ecn"] = json!(ecn);
        }
        let record = record(&plan, 1);
        let goodput = |way: &str| -> f64 {
            let flows = record.flows.iter().filter(|flow| flow.label.starts_with(way));
            flows.map(|flow| flow.goodput_mbps).sum()
        };
        let policed = |of: fn(&wifair_sim::QueueRow) -> u64| -> u64 {
            record.queues.iter().filter(|row| row.node == "ap" && row.class == "data").map(of).sum()
        };
        let counts = [
            policed(|row| row.policed_packets),
            policed(|row| row.police_marked_packets),
            policed(|row| row.police_dropped_packets),
        ];
        println!("{scheme}, ecn {ecn}: down/up {:.3}, policed {counts:?}", goodput("down") / goodput("up"));
        (goodput("down") / goodput("up"), goodput("down") + goodput("up"), counts)
    };
    for ecn in [false, true] {
        let (before, total_before, [asked, ..]) = of("mac80211", ecn);
        let (ratio, total, [policed, marked, dropped]) = of("air-share", ecn);
        assert_eq!(asked, 0);
        assert!(ratio > 2.0 * before, "{ratio} for {before}");
        assert!(total > 0.9 * total_before, "{total} for {total_before} Mbps");
        let (signals, others) = if ecn { (marked, dropped) } else { (dropped, marked) };
        assert!(signals > 20 && signals < policed / 20, "{signals} of {policed}");
        assert!(others <= signals / 10, "{others} of the other kind, {signals}");
    }
}

/// With generic receive offload a station answers each A-MPDU with one ACK, or one for each 65,535 bytes of it; without with
/// one for every second segment. Nothing else changes for a single download.
#[test]
fn receive_offload_answers_an_aggregate_with_one_ack() {
    let per_ppdu = |receive_offload: bool| {
        let mut plan = bss(0, 1, "droptail", 3.0);
        plan["run"]["warmup_s"] = json!(1.0);
        plan["bss"]["phy"] = json!({"name": "802.11ax", "width_mhz": 80});
        plan["bss"]["mac"] = json!({"edca": {}});
        plan["wire"] = json!({"rate_mbps": 10_000.0});
        plan["bss"]["ap"]["tx_queue"]["limit_packets"] = json!(1_000);
        plan["bss"]["stations"][0] = json!({"label": "down-1", "mcs": 11});
        plan["flows"][0]["tcp"]["delayed_ack"] = json!({"segments": 2});
        plan["flows"][0]["tcp"]["receive_offload"] = if receive_offload { json!({}) } else { json!(null) };
        let record = record(&plan, 1);
        let queued = |node: &str, class: &str| {
            let rows = record.queues.iter().filter(|row| row.node == node && row.class == class);
            rows.map(|row| row.offered_packets).sum::<u64>() as f64
        };
        let ppdus: u64 =
            record.stations.iter().filter(|row| row.direction == "down").map(|row| row.ppdus).sum();
        let (data, acks) = (queued("ap", "data"), queued("stations", "ack"));
        println!("offload {receive_offload}: {data} segments in {ppdus} PPDUs, {acks} ACKs");
        assert!(data / ppdus as f64 > 30.0);
        (data, acks, acks / (ppdus as f64 + data / 44.0))
    };
    let (data, acks, _) = per_ppdu(false);
    assert!((acks / data - 0.5).abs() < 0.05);
    let (with, _, per_burst) = per_ppdu(true);
    assert!((0.5..1.1).contains(&per_burst), "{per_burst}");
    assert!(with > 0.9 * data);
}
