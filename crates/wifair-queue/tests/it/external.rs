//! A scheme that the program which runs a plan brings along.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common;

use common::{ack, data};
use wifair_core::{Ac, Packet, StationId, Time};
use wifair_queue::{
    Arrival, Buffer, Cx, Direction, Filter, Flows, FlowsSpec, Indexes, Maker, Pick, Placed, Refusal, Scheme,
    SchemeSpec, TxQueue, TxQueueSpec, View,
};

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
    let mut spec: TxQueueSpec = serde_json::from_str(JSON).unwrap();
    let error = spec.validate("ap.tx_queue").unwrap_err();
    assert_eq!((error.key.as_str(), error.value.as_str()), ("ap.tx_queue.scheme", "refusal@1"));
    spec.scheme.supply(&mut |_| None);
    assert!(spec.validate("ap.tx_queue").is_err());

    let made = Arc::new(AtomicU32::new(0));
    spec.scheme.supply(&mut |external| {
        assert_eq!((external.id.as_str(), &external.parameters["share"]), ("refusal@1", &0.5.into()));
        let made = made.clone();
        Some(Maker::new(move || {
            made.fetch_add(1, Ordering::Relaxed);
            Box::new(Refusing)
        }))
    });
    assert!(spec.validate("ap.tx_queue").is_ok());
    assert!(spec.clone().scheme.build().decides_on().is_empty());
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[test]
fn it_is_written_as_it_was_read_and_stands_in_no_list() {
    let spec: TxQueueSpec = serde_json::from_str(JSON).unwrap();
    let written = serde_json::to_value(&spec).unwrap();
    assert_eq!(written["scheme"], serde_json::from_str::<serde_json::Value>(JSON).unwrap()["scheme"]);
    assert_eq!(spec.scheme.name(), "external");
    assert!(SchemeSpec::components().iter().all(|scheme| scheme.info.name != "external"));
    let schema = serde_json::to_string(&schemars::schema_for!(TxQueueSpec)).unwrap();
    assert!(schema.contains("droptail") && !schema.contains("external"));
}

#[test]
fn others_are_not_asked_for() {
    let mut spec = TxQueueSpec::default();
    spec.scheme.supply(&mut |_| panic!("tail drop needs no supply"));
}

/// Looks for a redundant ACK in a full buffer, and refuses the arrival all the same. Says whether it found one.
struct Hesitating(Arc<AtomicU32>);

impl Scheme for Hesitating {
    fn needs(&self) -> Indexes {
        Indexes::NONE.redundant(Filter::Paper, Pick::Oldest)
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        if !buffer.is_full() {
            return buffer.append(arrival);
        }
        if buffer.pick_redundant(&arrival, Pick::Oldest, cx.rng).is_some() {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        buffer.refuse(arrival, Refusal::TailDrop)
    }
}

/// An ACK that an arrival made redundant is needed again when that is refused.
#[test]
fn an_ack_that_is_refused_makes_no_other_redundant() {
    let found = Arc::new(AtomicU32::new(0));
    let spec = TxQueueSpec { limit_packets: 2, ..TxQueueSpec::default() };
    let mut tx_queue = TxQueue::with_scheme(&spec, Box::new(Hesitating(found.clone())), 1, "ap");
    let mut flows = Flows::new(&FlowsSpec::default());
    let mut offer = |packet: Packet| {
        let flow = flows.observe(&packet, Direction::Down, Time::ZERO, |flow| tx_queue.holds(flow));
        tx_queue.enqueue(Ac::BestEffort, &packet, flow, StationId(0), Time::ZERO, || View {
            flows: &flows,
            links: &[],
        });
        found.swap(0, Ordering::Relaxed)
    };
    assert_eq!([ack(0, 1000), data(1, 1)].map(&mut offer), [0, 0]);
    assert_eq!(offer(ack(0, 2000)), 1, "it makes the queued ACK redundant");
    assert_eq!(offer(data(1, 1461)), 0, "it was refused, so that is needed");
    assert_eq!(offer(ack(0, 2000)), 1);
}
