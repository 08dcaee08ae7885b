//! A scheme that the program which runs a plan brings along.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wifair_queue::{Arrival, Buffer, Cx, Maker, Placed, PortSpec, Refusal, Scheme, SchemeSpec};

const JSON: &str = r#"{"scheme": {"name": "external", "id": "refusal@1", "parameters": {"share": 0.5}}}"#;

/// Refuses everything.
struct Refusing;

impl Scheme for Refusing {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.refuse(arrival, Refusal::Aqm)
    }
}

#[test]
fn it_is_refused_unless_it_is_supplied() {
    let mut spec: PortSpec = serde_json::from_str(JSON).unwrap();
    let error = spec.validate("ap.port").unwrap_err();
    assert_eq!((error.key.as_str(), error.value.as_str()), ("ap.port.scheme", "refusal@1"));
    spec.scheme.supply(&mut |_| None);
    assert!(spec.validate("ap.port").is_err());

    let made = Arc::new(AtomicU32::new(0));
    spec.scheme.supply(&mut |external| {
        assert_eq!((external.id.as_str(), &external.parameters["share"]), ("refusal@1", &0.5.into()));
        let made = made.clone();
        Some(Maker::new(move || {
            made.fetch_add(1, Ordering::Relaxed);
            Box::new(Refusing)
        }))
    });
    assert!(spec.validate("ap.port").is_ok());
    assert!(spec.clone().scheme.build().decides_on().is_empty());
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[test]
fn it_is_written_as_it_was_read_and_stands_in_no_list() {
    let spec: PortSpec = serde_json::from_str(JSON).unwrap();
    let written = serde_json::to_value(&spec).unwrap();
    assert_eq!(written["scheme"], serde_json::from_str::<serde_json::Value>(JSON).unwrap()["scheme"]);
    assert_eq!(spec.scheme.name(), "external");
    assert!(SchemeSpec::components().iter().all(|scheme| scheme.info.name != "external"));
    let schema = serde_json::to_string(&schemars::schema_for!(PortSpec)).unwrap();
    assert!(schema.contains("droptail") && !schema.contains("external"));
}

#[test]
fn others_are_not_asked_for() {
    let mut spec = PortSpec::default();
    spec.scheme.supply(&mut |_| panic!("tail drop needs no supply"));
}
