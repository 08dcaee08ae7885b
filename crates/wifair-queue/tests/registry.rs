//! Plans in, errors out; and what `wifair schemes` is told.

use wifair_queue::{ComponentInfo, LimitSpec, PortSpec, SchemeSpec, limit_controllers, schemes};

fn plan(json: &str) -> Result<PortSpec, String> {
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
        (r#"{"name": "mac80211", "aql": true}"#, "aql", "one frame at a time"),
        (r#"{"name": "pie", "mark_up_to": 2}"#, "mark_up_to", "0 to 1"),
    ] {
        let error = plan(&format!(r#"{{"scheme": {json}}}"#)).unwrap().validate("ap.port").unwrap_err();
        assert_eq!(error.key, format!("ap.port.scheme.{key}"));
        assert!(error.allowed.contains(allowed), "{error}");
    }
    for limit in [0, 100_001] {
        let error =
            plan(&format!(r#"{{"limit_packets": {limit}}}"#)).unwrap().validate("ap.port").unwrap_err();
        assert_eq!((error.key.as_str(), error.value), ("ap.port.limit_packets", limit.to_string()));
    }
    assert!(PortSpec::default().validate("ap.port").is_ok());
}

#[test]
fn every_scheme_describes_itself() {
    let schemes = schemes();
    let names: Vec<&str> = schemes.iter().map(|scheme| scheme.info.name).collect();
    let expected = "droptail ack-filtering spm-af ack-pushout adaptive-pushout las t-las red pi dqm codel fq-codel pie mac80211";
    assert_eq!(names.join(" "), expected);
    for scheme in &schemes {
        let spec: SchemeSpec =
            serde_json::from_value(serde_json::json!({ "name": scheme.info.name })).unwrap();
        assert_eq!(spec.name(), scheme.info.name);
        describes_itself(scheme, serde_json::to_value(&spec).unwrap());
    }
}

#[test]
fn every_limit_controller_describes_itself() {
    let controllers = limit_controllers();
    assert_eq!(controllers.iter().map(|c| c.info.name).collect::<Vec<_>>(), ["alt", "ebdp"]);
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
