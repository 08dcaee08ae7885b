//! Effects of marking on packets, counters and indexes.

use crate::common;

use std::collections::VecDeque;

use common::{ack, data, syn};
use wifair_core::{Ac, Class, Ecn, FlowId, Packet, StationId, TcpFlags, Time};
use wifair_queue::{
    Arrival, Buffer, Cx, Eviction, Filter, Flows, FlowsSpec, Indexes, Ledger, Pick, Placed, Pool, Refusal,
    Scheme, TxQueue, TxQueueSpec, View,
};

/// What the scheme below does with an arrival, once it is at the tail.
#[derive(Clone, Copy)]
enum Act {
    Pass,
    Mark,
    SetEce,
    Refuse,
    /// Evict the head.
    EvictHead,
}

struct Acts {
    acts: VecDeque<Act>,
    filter: Filter,
}

impl Scheme for Acts {
    fn needs(&self) -> Indexes {
        Indexes::NONE.redundant(self.filter, Pick::Oldest)
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        let act = self.acts.pop_front().unwrap();
        if let Act::Refuse = act {
            return buffer.refuse(arrival, Refusal::Aqm);
        }
        let (class, capable) = (arrival.class(), arrival.packet().ecn() != Ecn::NotEct);
        let placed = buffer.append(arrival);
        let tail = buffer.tail().unwrap();
        // The second time is for nothing.
        for _ in 0..2 {
            match act {
                Act::Mark => assert_eq!(buffer.mark(tail), capable),
                Act::SetEce => assert_eq!(buffer.set_ece(tail), class == Class::Ack),
                _ => {}
            }
        }
        if let Act::EvictHead = act {
            buffer.evict(buffer.head().unwrap(), Eviction::Aqm);
        }
        placed
    }
}

/// The transmit queue after these arrivals.
fn tx_queue(filter: Filter, arrivals: &[(Packet, Act)]) -> TxQueue {
    let acts = Acts { acts: arrivals.iter().map(|(_, act)| *act).collect(), filter };
    let mut tx_queue = TxQueue::with_scheme(&TxQueueSpec::default(), Box::new(acts), 1, "ap");
    let flows = Flows::new(&FlowsSpec::default());
    for (number, (packet, _)) in arrivals.iter().enumerate() {
        let now = Time::from_us(number as u64);
        tx_queue.enqueue(Ac::BestEffort, packet, FlowId(0), StationId(0), now, || View {
            flows: &flows,
            links: &[],
        });
    }
    tx_queue
}

fn queue(tx_queue: &TxQueue) -> Vec<Packet> {
    let buffer = tx_queue.buffer();
    std::iter::successors(buffer.head(), |&slot| buffer.after(slot)).map(|s| buffer[s].packet).collect()
}

fn counts(ledger: &Ledger) -> [u64; 6] {
    [
        ledger.offered.packets,
        ledger.accepted.packets,
        ledger.aqm_refused.packets,
        ledger.aqm_evicted.packets,
        ledger.ce_marked.packets,
        ledger.ece_marked.packets,
    ]
}

#[test]
fn ce_is_set_on_ecn_capable_packets_alone_and_counted_once() {
    let ect0 = data(1, 1).with_ecn(Ecn::Ect0);
    let ect1 = Packet { ds_field: 0xb8 | 1, ..data(1, 2) };
    let marked_before = data(1, 3).with_ecn(Ecn::Ce);
    let ect_ack = ack(1, 9).with_ecn(Ecn::Ect0);
    let plain = [data(1, 4), ack(1, 10), syn(1)];
    let arrivals = [&[ect0, ect1, marked_before, ect_ack], &plain[..]].concat();
    let tx_queue = tx_queue(Filter::Paper, &arrivals.iter().map(|&p| (p, Act::Mark)).collect::<Vec<_>>());
    let expected = [&[ect0, ect1, marked_before, ect_ack].map(|p| p.with_ecn(Ecn::Ce)), &plain[..]].concat();
    assert_eq!(queue(&tx_queue), expected);
    assert_eq!(queue(&tx_queue)[1].ds_field, 0xb8 | 3, "the DSCP stays");

    let snapshot = tx_queue.snapshot(Time::from_ms(1));
    assert_eq!(counts(snapshot.class(Class::Data)), [4, 4, 0, 0, 2, 0]);
    assert_eq!(snapshot.class(Class::Data).ce_marked.bytes, 3_000);
    assert_eq!(counts(snapshot.class(Class::Ack)), [2, 2, 0, 0, 1, 0]);
    assert_eq!(counts(snapshot.class(Class::Other)), [1, 1, 0, 0, 0, 0]);
}

#[test]
fn ece_is_set_on_pure_acks_alone_and_counted_once() {
    let echoed = Packet { flags: TcpFlags::ACK | TcpFlags::ECE, ..ack(1, 1) };
    let plain = [data(1, 1).with_ecn(Ecn::Ect0), syn(1)];
    let arrivals = [ack(1, 1), echoed, plain[0], plain[1]].map(|packet| (packet, Act::SetEce));
    let tx_queue = tx_queue(Filter::Paper, &arrivals);
    assert_eq!(queue(&tx_queue), [echoed, echoed, plain[0], plain[1]]);
    let snapshot = tx_queue.snapshot(Time::from_ms(1));
    assert_eq!(counts(snapshot.class(Class::Ack)), [2, 2, 0, 0, 0, 1]);
    assert_eq!(counts(snapshot.class(Class::Data)), [1, 1, 0, 0, 0, 0]);
}

#[test]
fn early_drops_are_losses_of_their_own_kind() {
    let arrivals = [Act::Pass, Act::Refuse, Act::EvictHead, Act::Pass].map(|act| (data(1, 1), act));
    let tx_queue = tx_queue(Filter::Paper, &arrivals);
    let ledger = *tx_queue.snapshot(Time::from_ms(1)).class(Class::Data);
    assert_eq!(counts(&ledger), [4, 3, 1, 1, 0, 0]);
    assert_eq!((ledger.lost_in_buffer().packets, ledger.queued.packets), (2, 2));
    assert_eq!((ledger.tail_dropped.packets, ledger.evicted.packets), (0, 0));
}

/// ECE on one of three ACKs makes it say something that its neighbours do not.
#[test]
fn redundancy_follows_the_flags() {
    let oldest_redundant = |filter, acts: [Act; 3]| {
        let tx_queue = tx_queue(filter, &[1, 2, 3].map(|n| (ack(1, 1_000 * n), acts[n as usize - 1])));
        let mut rng = wifair_core::Rng::stream(1, "test", "none drawn");
        let slot = tx_queue.buffer().pick(Pool::Redundant, Pick::Oldest, &mut rng);
        slot.map(|slot| tx_queue.buffer()[slot].packet.ack)
    };
    use Act::{Pass, SetEce};
    for (acts, safe) in [
        ([Pass, Pass, Pass], Some(1_000)),
        ([SetEce, Pass, Pass], Some(2_000)),
        ([Pass, SetEce, Pass], None),
        ([Pass, Pass, SetEce], Some(1_000)),
        ([SetEce, SetEce, Pass], Some(1_000)),
        ([SetEce, SetEce, SetEce], Some(1_000)),
        ([Pass, SetEce, SetEce], Some(2_000)),
    ] {
        assert_eq!(oldest_redundant(Filter::Safe, acts), safe);
        assert_eq!(oldest_redundant(Filter::Paper, acts), Some(1_000));
    }
}
