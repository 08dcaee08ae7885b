//! The parameters as a plan writes them: defaults, names, and what is refused.

use serde_json::json;
use wifair_tcp::{CongestionControlSpec, Handshake, TcpSpec};

fn parse(value: serde_json::Value) -> Result<TcpSpec, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[test]
fn an_empty_object_is_the_default() {
    let spec = parse(json!({})).unwrap();
    assert_eq!(spec, TcpSpec::default());
    spec.validate("tcp").unwrap();
    assert_eq!(spec.receiver_window_bytes(), 61_320);
    assert_eq!(spec.initial_window_bytes(), 3 * 1460);
    assert_eq!(spec.initial_ssthresh_bytes(), u32::MAX);
}

#[test]
fn a_spec_survives_the_round_trip() {
    let text = json!({
        "congestion_control": { "name": "newreno", "timer": "every-partial-ack", "exit_window": "ssthresh" },
        "initial_window_segments": 2,
        "delayed_ack": { "segments": 1 },
        "rto": { "initial_ms": 3000, "min_ms": 200 },
        "handshake": "ns-2",
    });
    let spec = parse(text).unwrap();
    assert_eq!(spec.handshake, Handshake::Ns2);
    assert_eq!((spec.rto.initial_ms, spec.rto.min_ms, spec.rto.max_ms), (3000, 200, 60_000));
    assert_eq!((spec.delayed_ack.segments, spec.delayed_ack.timeout_ms), (1, 100));
    assert_eq!(parse(serde_json::to_value(&spec).unwrap()).unwrap(), spec);
}

#[test]
fn every_registered_control_can_be_named() {
    for info in CongestionControlSpec::components().iter().map(|component| component.info) {
        let spec = parse(json!({ "congestion_control": { "name": info.name } })).unwrap();
        let back = serde_json::to_value(&spec.congestion_control).unwrap();
        assert_eq!(back["name"], info.name);
        assert!(!info.source.is_empty() && (1..=3).contains(&info.idea.lines().count()), "{}", info.name);
    }
    assert!(matches!(TcpSpec::default().congestion_control, CongestionControlSpec::NewReno(_)));
}

/// RFC 7323, 2.2 and 2.3: the field has 16 bits, the scale 14 steps; the window is rounded up to what can be said.
#[test]
fn windows_are_whole_units_of_their_scale() {
    for (segments, scale, expected) in [
        (42, json!(null), 61_320),
        (44, json!(null), 64_240),
        (45, json!(null), 65_700),
        (89, json!(null), 129_940),
        (91, json!(null), 132_860),
        (42, json!(4), 61_328),
        (4_096, json!(null), 5_980_160),
        (4_096, json!(14), 5_980_160),
        (735_428, json!(null), 1_073_725_440),
    ] {
        let spec = parse(json!({ "receiver_window_segments": segments, "window_scale": scale })).unwrap();
        spec.validate("tcp").unwrap();
        assert_eq!(spec.receiver_window_bytes(), expected, "{segments} segments, {scale}");
    }
    let all_of_the_field = parse(json!({ "receiver_window_segments": 255, "mss_bytes": 257 })).unwrap();
    assert_eq!(all_of_the_field.receiver_window_bytes(), 65_535);
}

#[test]
fn foreign_keys_and_names_are_refused() {
    for (value, word) in [
        (json!({ "mss": 1460 }), "mss"),
        (json!({ "congestion_control": { "name": "vegas" } }), "vegas"),
        (json!({ "congestion_control": { "name": "reno", "timer": "every-partial-ack" } }), "timer"),
        (
            json!({ "congestion_control": { "name": "newreno", "guard_after_timeout": true } }),
            "guard_after_timeout",
        ),
        (json!({ "congestion_control": {} }), "name"),
        (
            json!({ "congestion_control": { "name": "arf-aware", "window": { "name": "scaled", "growth": "aimd" } } }),
            "growth",
        ),
        (json!({ "delayed_ack": { "timeout_s": 1 } }), "timeout_s"),
        (json!({ "mss_bytes": -1 }), "-1"),
        (json!({ "handshake": "maybe" }), "maybe"),
    ] {
        let error = parse(value.clone()).expect_err(&value.to_string());
        assert!(error.contains(word), "{value} gave: {error}");
    }
}

#[test]
fn impossible_values_name_their_key() {
    for (value, key) in [
        (json!({ "mss_bytes": 0 }), "tcp.mss_bytes"),
        (json!({ "mss_bytes": 65_500 }), "tcp.mss_bytes"),
        (json!({ "header_bytes": 39 }), "tcp.header_bytes"),
        (json!({ "header_bytes": 121 }), "tcp.header_bytes"),
        (json!({ "receiver_window_segments": 0 }), "tcp.receiver_window_segments"),
        (json!({ "receiver_window_segments": 735_429 }), "tcp.receiver_window_segments"),
        (json!({ "window_scale": 15 }), "tcp.window_scale"),
        (json!({ "window_scale": 0, "receiver_window_segments": 45 }), "tcp.window_scale"),
        (json!({ "sack": { "blocks": 0 } }), "tcp.sack.blocks"),
        (json!({ "sack": { "blocks": 4 } }), "tcp.sack.blocks"),
        (json!({ "sack": {}, "receiver_window_segments": 11_492 }), "tcp.receiver_window_segments"),
        (json!({ "loss_detection": { "name": "rack" } }), "tcp.loss_detection"),
        (
            json!({ "sack": {}, "loss_detection": { "name": "rack", "max_ack_delay_ms": 501 } }),
            "tcp.loss_detection.max_ack_delay_ms",
        ),
        (json!({ "initial_window_segments": 0 }), "tcp.initial_window_segments"),
        (json!({ "initial_ssthresh_segments": 0 }), "tcp.initial_ssthresh_segments"),
        (json!({ "byte_counting": { "limit_segments": 0 } }), "tcp.byte_counting.limit_segments"),
        (
            json!({ "byte_counting": { "limit_after_timeout_segments": 735_429 } }),
            "tcp.byte_counting.limit_after_timeout_segments",
        ),
        (
            json!({ "congestion_control": { "name": "arf-aware", "max_rate_mbps": 0.0 } }),
            "tcp.congestion_control.max_rate_mbps",
        ),
        (
            json!({ "congestion_control": { "name": "arf-aware", "over": { "name": "arf-aware" } } }),
            "tcp.congestion_control.over.name",
        ),
        (
            json!({ "congestion_control": { "name": "arf-aware", "polling": { "period_ms": 0 } } }),
            "tcp.congestion_control.polling.period_ms",
        ),
        (
            json!({ "congestion_control": { "name": "arf-aware", "polling": { "phase_ms": 1000 } } }),
            "tcp.congestion_control.polling.phase_ms",
        ),
        (json!({ "congestion_control": { "name": "cubic", "c": 0 } }), "tcp.congestion_control.c"),
        (
            json!({ "congestion_control": { "name": "arf-aware", "over": { "name": "cubic", "beta": 1.0 } } }),
            "tcp.congestion_control.over.beta",
        ),
        (
            json!({ "congestion_control": { "name": "cubic", "least_growth_percent": 51 } }),
            "tcp.congestion_control.least_growth_percent",
        ),
        (
            json!({
                "congestion_control": { "name": "cubic", "slow_start": { "name": "hystart", "ack_delta_us": 0 } },
            }),
            "tcp.congestion_control.slow_start.ack_delta_us",
        ),
        (
            json!({ "congestion_control": { "name": "cubic", "slow_start": { "name": "hystart" } }, "sack": {} }),
            "tcp.congestion_control",
        ),
        (
            json!({
                "congestion_control": {
                    "name": "arf-aware", "over": { "name": "cubic", "slow_start": { "name": "hystart++" } },
                },
            }),
            "tcp.congestion_control",
        ),
        (json!({ "priority_marking": { "below_segments": 0 } }), "tcp.priority_marking.below_segments"),
        (json!({ "delayed_ack": { "segments": 0 } }), "tcp.delayed_ack.segments"),
        (json!({ "delayed_ack": { "segments": 65 } }), "tcp.delayed_ack.segments"),
        (json!({ "delayed_ack": { "timeout_ms": 0 } }), "tcp.delayed_ack.timeout_ms"),
        (json!({ "delayed_ack": { "timeout_ms": 501 } }), "tcp.delayed_ack.timeout_ms"),
        (json!({ "delayed_ack": { "syn": true } }), "tcp.delayed_ack.syn"),
        (json!({ "delayed_ack": { "syn": true }, "handshake": "none" }), "tcp.delayed_ack.syn"),
        (
            json!({ "delayed_ack": { "syn": true, "segments": 1 }, "handshake": "ns-2" }),
            "tcp.delayed_ack.syn",
        ),
        (json!({ "pacing": { "slow_start_percent": 99 } }), "tcp.pacing.slow_start_percent"),
        (json!({ "pacing": { "avoidance_percent": 1_001 } }), "tcp.pacing.avoidance_percent"),
        (json!({ "pacing": { "burst_us": 100_001 } }), "tcp.pacing.burst_us"),
        (json!({ "pacing": { "burst_segments": 0 } }), "tcp.pacing.burst_segments"),
        (json!({ "congestion_control": { "name": "bbr" }, "sack": {} }), "tcp.congestion_control"),
        (
            json!({
                "congestion_control": { "name": "bbr" }, "sack": {}, "loss_detection": { "name": "rack" }, "pacing": {},
            }),
            "tcp.pacing",
        ),
        (
            json!({ "congestion_control": { "name": "arf-aware", "over": { "name": "bbr" } } }),
            "tcp.congestion_control.over.name",
        ),
        (json!({ "small_queue": { "limit_us": 1_000_001 } }), "tcp.small_queue.limit_us"),
        (json!({ "small_queue": { "gso_max_segments": 0 } }), "tcp.small_queue.gso_max_segments"),
        (json!({ "rto": { "samples": "every-ack" } }), "tcp.rto.samples"),
        (
            json!({ "sack": {}, "loss_detection": { "name": "rack" }, "rto": { "samples": "every-ack", "tick_ms": 10 } }),
            "tcp.rto.samples",
        ),
        (json!({ "sack": {}, "rto": { "samples": "linux" } }), "tcp.rto.samples"),
        (json!({ "rto": { "max_ms": 0 } }), "tcp.rto.max_ms"),
        (json!({ "rto": { "max_ms": 999 } }), "tcp.rto.initial_ms"),
        (json!({ "rto": { "min_ms": 0 } }), "tcp.rto.min_ms"),
        (json!({ "rto": { "granularity_ms": 60_001 } }), "tcp.rto.granularity_ms"),
    ] {
        let error = parse(value.clone()).unwrap().validate("tcp").expect_err(&value.to_string());
        assert_eq!(error.key, key, "{value} gave: {error}");
    }
    for value in [
        json!({ "mss_bytes": 65_495 , "receiver_window_segments": 1 }),
        json!({ "receiver_window_segments": 735_428 }),
        json!({ "receiver_window_segments": 44, "window_scale": 0 }),
        json!({ "receiver_window_segments": 11_491, "sack": { "blocks": 1 } }),
        json!({ "delayed_ack": { "segments": 64, "timeout_ms": 500 } }),
        json!({ "delayed_ack": { "syn": true }, "handshake": "ns-2" }),
        json!({ "rto": { "initial_ms": 1, "min_ms": 1, "max_ms": 1, "granularity_ms": 1 } }),
    ] {
        parse(value).unwrap().validate("tcp").unwrap();
    }
}

/// The schema is what the Python side and `wifair schemes` read: each field is described, and unknown keys are not
/// allowed.
#[test]
fn the_schema_describes_every_field() {
    let schema = serde_json::to_value(schemars::schema_for!(TcpSpec)).unwrap();
    let properties = schema["properties"].as_object().unwrap();
    assert_eq!(properties.len(), 25);
    for (name, property) in properties {
        assert!(property["description"].as_str().is_some_and(|text| text.len() > 20), "{name}: {property}");
        assert!(property.get("default").is_some(), "{name} has no default");
    }
    assert_eq!(schema["additionalProperties"], false);
    let text = schema["$defs"]["CongestionControlSpec"].to_string();
    for info in CongestionControlSpec::components().iter().map(|component| component.info) {
        assert!(text.contains(&format!("\"const\":\"{}\"", info.name)), "{text}");
    }
}

#[test]
fn a_code_point_has_six_bits_and_is_not_beside_marks_of_priority() {
    let refused = |value| parse(value).unwrap().validate("tcp").map_err(|error| error.key);
    assert_eq!(refused(json!({ "dscp": 63 })), Ok(()));
    assert_eq!(refused(json!({ "dscp": 64 })), Err("tcp.dscp".into()));
    assert_eq!(refused(json!({ "dscp": 46, "priority_marking": {} })), Err("tcp.dscp".into()));
    assert_eq!(refused(json!({ "dscp": 0, "priority_marking": {} })), Ok(()));
}
