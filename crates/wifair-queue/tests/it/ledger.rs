//! The ledger's arithmetic, field by field: the sum of two transmit queues, and the difference of two snapshots.

use crate::common;

use common::data;
use wifair_core::{Ac, Counters, FlowId, StationId, Time};
use wifair_queue::{Count, Flows, FlowsSpec, Ledger, TxQueue, TxQueueSpec, View};

fn count(k: u64) -> Count {
    Count { packets: k, bytes: 100 * k }
}

/// Every field another number; without `..`, so that a new field has to be added here.
fn ledger(k: u64) -> Ledger {
    Ledger {
        queued_before: count(2 * k),
        in_service_before: count(3 * k),
        offered: count(5 * k),
        accepted: count(7 * k),
        tail_dropped: count(11 * k),
        aqm_refused: count(13 * k),
        evicted: count(17 * k),
        aqm_evicted: count(19 * k),
        filtered: count(23 * k),
        dequeued: count(29 * k),
        delivered: count(31 * k),
        lost_at_retry_limit: count(37 * k),
        ce_marked: count(41 * k),
        ece_marked: count(43 * k),
        policed: count(59 * k),
        police_marked: count(61 * k),
        police_dropped: count(67 * k),
        queued: count(47 * k),
        in_service: count(53 * k),
    }
}

#[test]
fn the_ledgers_of_two_tx_queues_add_up() {
    let mut both = ledger(4);
    both.add(&ledger(3));
    assert_eq!(both, ledger(7));
}

#[test]
fn between_two_looks_is_the_difference_and_what_waits_is_what_waits_now() {
    let between = ledger(7).since(&ledger(4));
    let expected = Ledger {
        queued_before: ledger(4).queued,
        in_service_before: ledger(4).in_service,
        queued: ledger(7).queued,
        in_service: ledger(7).in_service,
        ..ledger(3)
    };
    assert_eq!(between, expected);
}

#[test]
fn between_two_looks_each_flow_is_counted_by_itself() {
    let mut tx_queue = TxQueue::new(&TxQueueSpec { limit_packets: 1, ..TxQueueSpec::default() }, 1, "ap");
    let flows = Flows::new(&FlowsSpec::default());
    let offer = |tx_queue: &mut TxQueue, packets: [u32; 6]| {
        let view = View { flows: &flows, links: &[] };
        for (flow, packets) in (0u32..).zip(packets) {
            for seq in 0..packets {
                tx_queue.enqueue(
                    Ac::BestEffort,
                    &data(flow, seq),
                    FlowId(flow),
                    StationId(0),
                    Time::ZERO,
                    || view,
                );
            }
        }
    };
    offer(&mut tx_queue, [9, 8, 7, 6, 5, 0]);
    let earlier = tx_queue.snapshot(Time::ZERO);
    // Flow 1 is forgotten; flow 3 is, too, and another one has its id.
    tx_queue.retire(FlowId(1));
    tx_queue.retire(FlowId(3));
    offer(&mut tx_queue, [4, 0, 0, 3, 2, 1]);
    let between = tx_queue.snapshot(Time::ZERO).since(&earlier);
    let offered: Vec<(u32, u64)> = between
        .flows
        .iter()
        .map(|flow| (flow.flow.0, flow.classes.iter().map(|ledger| ledger.offered.packets).sum()))
        .collect();
    assert_eq!(offered, [(0, 4), (2, 0), (3, 3), (4, 2), (5, 1)]);
}
