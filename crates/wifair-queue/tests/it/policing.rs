//! What is counted of packets from stations that a scheme polices: by flow and class, over forgotten flows and other schemes.

use crate::common;

use common::{ack, data, upward};
use wifair_core::{Ac, Class, Ecn, FlowId, Packet, StationId, Time};
use wifair_queue::{
    Arrival, Buffer, Count, Cx, Flows, FlowsSpec, Hooks, Journal, Ledger, Placed, PoliceAction, Reception,
    Scheme, SchemeSpec, TxQueue, TxQueueEvent, TxQueueSpec, View,
};

/// Tail drop with the action that a packet's acknowledgement number names.
struct AsTold;

impl Scheme for AsTold {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn hooks(&self) -> Hooks {
        Hooks { police: true, ..Hooks::default() }
    }

    fn police(&mut self, reception: &Reception, _buffer: &mut Buffer, _cx: &mut Cx) -> PoliceAction {
        [PoliceAction::Forward, PoliceAction::Mark, PoliceAction::Drop][reception.packet.ack as usize]
    }
}

struct Queue {
    queue: TxQueue,
    flows: Flows,
}

impl Queue {
    fn new() -> Queue {
        let queue = TxQueue::with_scheme(&TxQueueSpec::default(), Box::new(AsTold), 1, "ap");
        Queue { queue, flows: Flows::new(&FlowsSpec::default()) }
    }

    /// A packet of a flow with this action; returns that which has an effect.
    fn police(&mut self, flow: u32, packet: Packet, ecn: Ecn, action: u32) -> PoliceAction {
        let packet = upward(Packet { ack: action, ..packet.with_ecn(ecn) });
        let (station, ac, airtime, overhead) = (StationId(0), Ac::BestEffort, Time::ZERO, Time::ZERO);
        let reception = Reception { packet: &packet, flow: FlowId(flow), station, ac, airtime, overhead };
        let view = View { flows: &self.flows, links: &[] };
        self.queue.police(&reception, Time::ZERO, view)
    }

    fn change_scheme(&mut self, scheme: Box<dyn Scheme>) {
        let view = View { flows: &self.flows, links: &[] };
        self.queue.change_scheme(scheme, Time::ZERO, view);
    }
}

/// Policed, marked, dropped.
fn told(ledger: &Ledger) -> [Count; 3] {
    [ledger.policed, ledger.police_marked, ledger.police_dropped]
}

fn counts(packets: [u64; 3], bytes: u64) -> [Count; 3] {
    packets.map(|packets| Count { packets, bytes: packets * bytes })
}

#[test]
fn only_an_ect_code_point_becomes_ce() {
    let mut tx_queue = Queue::new();
    for (ecn, expected) in [
        (Ecn::NotEct, PoliceAction::Forward),
        (Ecn::Ect0, PoliceAction::Mark),
        (Ecn::Ect1, PoliceAction::Mark),
        (Ecn::Ce, PoliceAction::Forward),
    ] {
        assert_eq!(tx_queue.police(3, data(3, 0), ecn, 1), expected, "{ecn:?}");
        assert_eq!(tx_queue.police(3, data(3, 0), ecn, 2), PoliceAction::Drop);
        assert_eq!(tx_queue.police(3, data(3, 0), ecn, 0), PoliceAction::Forward);
    }
    let snapshot = tx_queue.queue.snapshot(Time::ZERO);
    assert_eq!(told(snapshot.class(Class::Data)), counts([12, 2, 4], 1_500));
    assert_eq!(snapshot.class(Class::Data).forwarded().packets, 8);
    assert_eq!(snapshot.class(Class::Data).offered, Count::default(), "they do not pass the buffer");
}

#[test]
fn counters_outlive_flows_and_schemes() {
    let mut tx_queue = Queue::new();
    tx_queue.police(0, data(0, 0), Ecn::Ect0, 1);
    tx_queue.police(2, data(2, 0), Ecn::Ect0, 2);
    tx_queue.police(2, ack(2, 0), Ecn::NotEct, 0);
    let flows = |tx_queue: &Queue| -> Vec<u32> {
        tx_queue.queue.snapshot(Time::ZERO).flows.iter().map(|flow| flow.flow.0).collect()
    };
    assert_eq!(flows(&tx_queue), [0, 2]);
    let before = tx_queue.queue.snapshot(Time::ZERO);

    // Another flow gets the number of a forgotten one.
    let closed = tx_queue.queue.retire(FlowId(2));
    assert_eq!(
        closed.each_ref().map(told),
        [counts([1, 0, 1], 1_500), counts([1, 0, 0], 40), counts([0; 3], 0)]
    );
    assert_eq!(flows(&tx_queue), [0]);
    tx_queue.police(2, data(2, 0), Ecn::NotEct, 1);
    let after = tx_queue.queue.snapshot(Time::ZERO);
    assert_eq!(told(after.class(Class::Data)), counts([3, 1, 1], 1_500));
    assert_eq!(told(&after.flows[1].classes[0]), counts([1, 0, 0], 1_500));
    let since = after.since(&before);
    assert_eq!(told(since.class(Class::Data)), counts([1, 0, 0], 1_500));
    assert_eq!(told(&since.flows[1].classes[0]), counts([1, 0, 0], 1_500));

    // A scheme without that operation takes over, and hands back.
    tx_queue.change_scheme(SchemeSpec::default().build());
    assert!(!tx_queue.queue.hooks().police);
    assert_eq!(tx_queue.queue.snapshot(Time::ZERO), after);
    tx_queue.change_scheme(Box::new(AsTold));
    tx_queue.police(2, data(2, 0), Ecn::Ect1, 1);
    assert_eq!(told(tx_queue.queue.snapshot(Time::ZERO).class(Class::Data)), counts([4, 2, 1], 1_500));
}

#[test]
fn the_journal_has_each_action_with_its_effect() {
    let mut tx_queue = Queue::new();
    let journal = Journal::new();
    tx_queue.queue.keep_journal(&journal);
    for (ecn, action) in [(Ecn::Ect0, 1), (Ecn::NotEct, 1), (Ecn::Ect0, 2), (Ecn::Ect0, 0)] {
        tx_queue.police(0, data(0, 0), ecn, action);
    }
    let mut entries = vec![];
    journal.take(|entry| entries.push((entry.event, entry.packet.ecn(), entry.queued_packets)));
    let expected = [
        (PoliceAction::Mark, Ecn::Ce),
        (PoliceAction::Forward, Ecn::NotEct),
        (PoliceAction::Drop, Ecn::Ect0),
        (PoliceAction::Forward, Ecn::Ect0),
    ];
    assert_eq!(entries, expected.map(|(action, ecn)| (TxQueueEvent::Policed(action), ecn, 0)));
}
