//! Plans in, errors out; and what `wifair schemes` lists.

use wifair_core::{Class, ComponentInfo};
use wifair_queue::{LimitSpec, SchemeSpec, TxQueueSpec};

fn plan(json: &str) -> Result<TxQueueSpec, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

#[test]
fn a_plan_is_read_with_defaults_and_written_in_full() {
    let spec = plan(r#"{"scheme": {"name": "adaptive-pushout", "redundant": "newest"}}"#).unwrap();
    assert_eq!((spec.limit_packets, spec.limit_counts_in_service), (100, false));
    assert_eq!(
        serde_json::to_value(&spec.scheme).unwrap(),
        serde_json::json!({
            "name": "adaptive-pushout",
            "redundant": "newest",
            "filter": "paper",
            "count_arrival": false,
            "tie": "data",
            "no_active_flows": "whole",
        })
    );
    assert_eq!(plan("{}").unwrap().scheme.name(), "droptail");
    for (json, limit) in [
        (r#"{"scheme": {"name": "fq-codel"}}"#, 10_240),
        (r#"{"scheme": {"name": "mac80211"}}"#, 8_192),
        (r#"{"scheme": {"name": "air-share"}}"#, 8_192),
        (r#"{"limit_packets": 50, "scheme": {"name": "mac80211"}}"#, 50),
    ] {
        assert_eq!(plan(json).unwrap().limit_packets, limit, "{json}");
    }
}

#[test]
fn what_does_not_belong_is_refused() {
    for (json, complaint) in [
        (r#"{"limit": 3}"#, "limit_packets"),
        (r#"{"limit_packets": -3}"#, "-3"),
        (r#"{"scheme": {"name": "tail-drop"}}"#, "droptail"),
        (r#"{"scheme": {"name": "droptail", "redundant": "oldest"}}"#, "redundant"),
        (r#"{"scheme": {"name": "ack-pushout", "place": "tail"}}"#, "place"),
        (r#"{"scheme": {"name": "ack-pushout", "redundant": "eldest"}}"#, "eldest"),
        (r#"{"scheme": {"name": "spm-af", "variant": "sender"}}"#, "sender-marking"),
        (r#"{"scheme": {"name": "las", "threshold_packets": 50}}"#, "threshold_packets"),
    ] {
        let error = plan(json).unwrap_err();
        assert!(error.contains(complaint), "{json}: {error}");
    }
    for (json, key, allowed) in [
        (r#"{"name": "pi", "b": 1e-4}"#, "b", "at most a"),
        (r#"{"name": "pi", "frequency_hz": 0}"#, "frequency_hz", "0.001 to 100000 Hz"),
        (r#"{"name": "red", "min_packets": 20}"#, "max_packets", "more than min_packets (20)"),
        (r#"{"name": "red", "weight": 1.5}"#, "weight", "0 to 1"),
        (r#"{"name": "dqm", "delay_ref_ms": -1}"#, "delay_ref_ms", "ms"),
        (r#"{"name": "dqm", "packet_time_weight": 0}"#, "packet_time_weight", "more than 0"),
        (r#"{"name": "codel", "target_ms": 0}"#, "target_ms", "ms"),
        (r#"{"name": "fq-codel", "queues": 0}"#, "queues", "1 to 65536"),
        (r#"{"name": "mac80211", "aql": true}"#, "aql", "ap.hardware"),
        (r#"{"name": "pie", "mark_up_to": 2}"#, "mark_up_to", "0 to 1"),
    ] {
        let error = plan(&format!(r#"{{"scheme": {json}}}"#)).unwrap().validate("ap.tx_queue").unwrap_err();
        assert_eq!(error.key, format!("ap.tx_queue.scheme.{key}"));
        assert!(error.allowed.contains(allowed), "{error}");
    }
    for limit in [0, 100_001] {
        let error =
            plan(&format!(r#"{{"limit_packets": {limit}}}"#)).unwrap().validate("ap.tx_queue").unwrap_err();
        assert_eq!((error.key.as_str(), error.value), ("ap.tx_queue.limit_packets", limit.to_string()));
    }
    assert!(TxQueueSpec::default().validate("ap.tx_queue").is_ok());
}

/// Scheme, key, the least and the greatest number that it takes, and one below and above.
const RANGES: &[(&str, &str, [f64; 2], [f64; 2])] = &[
    ("las", "packet_bytes", [1.0, 65_495.0], [0.0, 65_496.0]),
    ("las", "forget_after_s", [0.001, 86_400.0], [0.0, 86_401.0]),
    ("t-las", "packet_bytes", [1.0, 65_495.0], [0.0, 65_496.0]),
    ("t-las", "threshold_packets", [1.0, 1e9], [0.0, -1.0]),
    ("red", "min_packets", [0.0, 14.0], [-0.1, 100_001.0]),
    ("red", "max_packets", [5.1, 100_000.0], [5.0, 100_000.1]),
    ("red", "max_probability", [0.0, 1.0], [-0.1, 1.1]),
    ("red", "weight", [0.0, 1.0], [-0.1, 1.1]),
    ("red", "idle_packet_ms", [0.001, 10_000.0], [0.0, 10_001.0]),
    ("pi", "reference_packets", [0.0, 100_000.0], [-0.1, 100_001.0]),
    ("pi", "a", [0.5, 1.0], [-0.1, 1.1]),
    ("pi", "b", [0.0, 1e-9], [-0.1, 1.0]),
    ("pi", "frequency_hz", [0.001, 100_000.0], [0.0, 100_001.0]),
    ("dqm", "delay_ref_ms", [0.001, 100_000.0], [0.0, 100_001.0]),
    ("dqm", "fair_share_ms", [0.001, 100_000.0], [0.0, 100_001.0]),
    ("dqm", "packet_time_weight", [1e-9, 1.0], [0.0, 1.1]),
    ("codel", "target_ms", [0.001, 10_000.0], [0.0, 10_001.0]),
    ("codel", "interval_ms", [0.001, 100_000.0], [0.0, 100_001.0]),
    ("codel", "spared_bytes", [0.0, 1e9], [-1.0, 1e9 + 1.0]),
    ("fq-codel", "interval_ms", [0.001, 100_000.0], [0.0, 100_001.0]),
    ("mac80211", "interval_ms", [0.001, 100_000.0], [0.0, 100_001.0]),
    ("pie", "target_ms", [0.001, 10_000.0], [0.0, 10_001.0]),
    ("pie", "update_ms", [0.01, 10_000.0], [0.0, 10_001.0]),
    ("pie", "alpha_per_s", [0.0, 100.0], [-0.1, 100.1]),
    ("pie", "beta_per_s", [0.0, 100.0], [-0.1, 100.1]),
    ("pie", "max_burst_ms", [0.0, 10_000.0], [-0.1, 10_001.0]),
    ("pie", "mean_packet_bytes", [0.0, 65_535.0], [-1.0, 65_536.0]),
    ("pie", "mark_up_to", [0.0, 1.0], [-0.1, 1.1]),
    ("mac80211", "airtime_quantum_us", [1.0, 1e6], [0.9, 1e6 + 1.0]),
    ("mac80211", "active_for_ms", [0.0, 1e6], [-0.1, 1e6 + 1.0]),
    ("air-share", "target_ms", [0.001, 10_000.0], [0.0, 10_001.0]),
    ("air-share", "debt_ms", [0.001, 10_000.0], [0.0, 10_001.0]),
    ("air-share", "memory_ms", [0.001, 1e6], [0.0, 1e6 + 1.0]),
    ("air-share", "interval_ms", [0.001, 100_000.0], [0.0, 100_001.0]),
    ("air-share", "ack_filter_below_mbps", [0.0, 1e6], [-0.1, 1e6 + 1.0]),
];

#[test]
fn numbers_are_taken_up_to_their_bounds() {
    let of_both = ["fq-codel", "mac80211"].into_iter().flat_map(|scheme| {
        [
            (scheme, "queues", [1.0, 65_536.0], [0.0, 65_537.0]),
            (scheme, "quantum_bytes", [1.0, 1e6], [0.0, 1e6 + 1.0]),
            (scheme, "limit_bytes", [65_535.0, 1e9], [65_534.0, 1e9 + 1.0]),
            (scheme, "drop_batch_packets", [1.0, 1e5], [0.0, 1e5 + 1.0]),
        ]
    });
    for (scheme, key, inside, outside) in RANGES.iter().copied().chain(of_both) {
        // What is no whole number, or below zero where there is no sign, is refused as it is read.
        let refused = |value: f64| {
            let json = |value: &dyn std::fmt::Display| {
                format!(r#"{{"scheme": {{"name": "{scheme}", "{key}": {value}}}}}"#)
            };
            plan(&json(&value)).map_err(|_| key.to_owned()).and_then(|spec: TxQueueSpec| {
                spec.validate("ap.tx_queue")
                    .map_err(|error| error.key.trim_start_matches("ap.tx_queue.scheme.").to_owned())
            })
        };
        for value in inside {
            assert_eq!(refused(value), Ok(()), "{scheme}: {key} = {value}");
        }
        for value in outside {
            assert_eq!(refused(value), Err(key.to_owned()), "{scheme}: {key} = {value}");
        }
    }
}

/// At a buffer that never sees these a scheme is refused.
#[test]
fn who_removes_acks_decides_on_acks_and_who_weighs_them_against_data_on_both() {
    for scheme in SchemeSpec::components() {
        let name = scheme.info.name;
        let built = plan(&format!(r#"{{"scheme": {{"name": "{name}"}}}}"#)).unwrap().scheme.build();
        let expected: &[Class] = match name {
            "ack-filtering" | "ack-pushout" => &[Class::Ack],
            "spm-af" | "adaptive-pushout" | "dqm" => &[Class::Ack, Class::Data],
            _ => &[],
        };
        assert_eq!(built.decides_on(), expected, "{name}");
    }
}

#[test]
fn every_scheme_describes_itself() {
    let schemes = SchemeSpec::components();
    for scheme in &schemes {
        let spec: SchemeSpec =
            serde_json::from_value(serde_json::json!({ "name": scheme.info.name })).unwrap();
        assert_eq!(spec.name(), scheme.info.name);
        describes_itself(scheme, serde_json::to_value(&spec).unwrap());
    }
}

#[test]
fn every_limit_controller_describes_itself() {
    let controllers = LimitSpec::components();
    for controller in &controllers {
        let spec: LimitSpec =
            serde_json::from_value(serde_json::json!({ "name": controller.info.name })).unwrap();
        assert_eq!(spec.name(), controller.info.name);
        describes_itself(controller, serde_json::to_value(&spec).unwrap());
    }
}

/// Each parameter is explained, and its default in the schema is the one in force, in `values`.
fn describes_itself(component: &ComponentInfo, mut values: serde_json::Value) {
    let name = component.info.name;
    assert!(!component.info.source.is_empty() && !component.info.idea.is_empty());
    values.as_object_mut().unwrap().remove("name");
    let schema = serde_json::to_value(&component.parameters).unwrap();
    assert_eq!(schema["additionalProperties"], false, "{name}");
    let properties = schema.get("properties").cloned().unwrap_or_else(|| serde_json::json!({}));
    for (key, property) in properties.as_object().unwrap() {
        assert!(property.get("description").is_some(), "{name}.{key} has no description");
        assert_eq!(
            property.get("default"),
            values.as_object_mut().unwrap().remove(key).as_ref(),
            "{name}.{key}"
        );
    }
    assert_eq!(values, serde_json::json!({}), "{name}: not in the schema");
}
