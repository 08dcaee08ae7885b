//! Another scheme takes over a transmit queue in use.

use crate::common;

use common::data;
use wifair_core::{Ac, Class, FlowId, StationId, Time};
use wifair_queue::{
    Arrival, Buffer, Cx, Flows, FlowsSpec, Ledger, Placed, Refusal, Scheme, SchemeSpec, TxQueue, TxQueueSpec,
    View,
};

/// Admits as many packets as it says, in turn a refusal by tail drop and one by AQM afterwards.
struct AtMost(usize);

impl Scheme for AtMost {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        if buffer.len() < self.0 {
            buffer.append(arrival)
        } else if arrival.packet().seq % 2 == 0 {
            buffer.refuse(arrival, Refusal::TailDrop)
        } else {
            buffer.refuse(arrival, Refusal::Aqm)
        }
    }
}

struct Ap {
    tx_queue: TxQueue,
    flows: Flows,
    seq: u32,
}

impl Ap {
    fn new(limit_packets: u32) -> Ap {
        let spec = TxQueueSpec { limit_packets, ..TxQueueSpec::default() };
        Ap { tx_queue: TxQueue::new(&spec, 1, "ap"), flows: Flows::new(&FlowsSpec::default()), seq: 0 }
    }

    fn offer(&mut self, packets: u32) {
        for _ in 0..packets {
            let Ap { tx_queue, flows, seq } = self;
            let view = View { flows, links: &[] };
            tx_queue.enqueue(
                Ac::BestEffort,
                &data(0, *seq),
                FlowId(0),
                StationId(0),
                Time::from_ms(u64::from(*seq)),
                || view,
            );
            *seq += 1;
        }
    }

    fn ledger(&self) -> Ledger {
        self.tx_queue.snapshot(Time::from_s(1)).flows[0].classes[Class::Data as usize]
    }
}

/// What the next scheme refuses had been admitted before: it is evicted. What had been refused earlier stays so.
#[test]
fn what_the_next_scheme_refuses_counts_as_evicted() {
    let mut ap = Ap::new(10);
    ap.offer(13);
    assert_eq!(ap.ledger().tail_dropped.packets, 3);
    let view = View { flows: &ap.flows, links: &[] };
    ap.tx_queue.change_scheme(Box::new(AtMost(4)), Time::from_ms(12), view);
    let after = ap.ledger();
    assert_eq!([after.queued, after.evicted].map(|count| count.packets), [4, 6]);
    assert_eq!([after.tail_dropped, after.aqm_refused].map(|count| count.packets), [3, 0]);
    assert_eq!(after.evicted.bytes, 6 * 1500);
    ap.offer(2);
    let later = ap.ledger();
    assert_eq!([later.tail_dropped, later.aqm_refused].map(|count| count.packets), [3 + 1, 1]);
    assert_eq!(later.evicted, after.evicted);
}

/// Every scheme with a clock has its next tick after it has come, not where its clock would be since time zero.
#[test]
fn a_clock_starts_when_its_scheme_comes() {
    let mut ticking = 0;
    for listed in SchemeSpec::components() {
        let spec: SchemeSpec =
            serde_json::from_value(serde_json::json!({ "name": listed.info.name })).unwrap();
        let at_zero = TxQueue::with_scheme(&TxQueueSpec::default(), spec.build(), 1, "ap").next_tick();
        let mut ap = Ap::new(10);
        let now = Time::from_s(7) + Time::from_ns(13);
        let view = View { flows: &ap.flows, links: &[] };
        ap.tx_queue.change_scheme(spec.build(), now, view);
        let name = listed.info.name;
        assert_eq!(ap.tx_queue.next_tick(), at_zero.map(|tick| now + tick), "{name}");
        ticking += u32::from(at_zero.is_some());
    }
    assert!(ticking >= 3, "pi, pie and dqm have clocks");
}
