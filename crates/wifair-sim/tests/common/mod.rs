//! Plans that tests and benchmarks share.

use serde_json::{Value, json};
use wifair_queue::SchemeSpec;
use wifair_sim::Plan;

/// Every scheme by name, in the order of the registry.
#[allow(dead_code)] // not every test file needs them
pub fn schemes() -> Vec<&'static str> {
    SchemeSpec::all().iter().map(SchemeSpec::name).collect()
}

/// The symmetric BSS of `adaptive-pushout` (Section IV-A): `n_up` uplink and `n_down` downlink bulk flows of TCP Reno,
/// each at a separate station, 802.11b at 11 Mbps, 100 packets of buffer at the AP.
pub fn symmetric(n_up: usize, n_down: usize, scheme: &str, warmup_s: f64, duration_s: f64) -> Value {
    let labels: Vec<(String, &str)> = (1..=n_up)
        .map(|i| (format!("up-{i}"), "up"))
        .chain((1..=n_down).map(|i| (format!("down-{i}"), "down")))
        .collect();
    let stations: Vec<Value> =
        labels.iter().map(|(label, _)| json!({"label": label, "rate_mbps": 11.0})).collect();
    let flows: Vec<Value> = labels
        .iter()
        .map(|(label, direction)| {
            json!({
                "label": label, "station": label, "direction": direction,
                "tcp": {
                    "congestion_control": {"name": "reno"},
                    "receiver_window_segments": 42,
                    "delayed_ack": {"segments": 1},
                },
            })
        })
        .collect();
    json!({
        "run": {"warmup_s": warmup_s, "duration_s": duration_s},
        "bss": {
            "phy": {"name": "802.11b"},
            "ap": {"tx_queue": {"limit_packets": 100, "scheme": {"name": scheme}}},
            "stations": stations,
        },
        "wire": {"rate_mbps": 100.0},
        "flows": flows,
    })
}

/// The plan of a JSON value, which must be valid.
pub fn plan(value: &Value) -> Plan {
    Plan::from_json(&value.to_string()).unwrap_or_else(|error| panic!("{error}"))
}
