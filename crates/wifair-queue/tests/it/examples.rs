//! Small examples, written out: the paper's Fig. 1 and one for each rule.

use crate::common;

use common::{ack, data, syn, upward};
use wifair_core::{Ac, Class, FlowId, Packet, SackBlocks, StationId, Time};
use wifair_queue::{
    DequeuedPacket, Direction, Flows, FlowsSpec, Grant, Outcome, SchemeSpec, TxQueue, TxQueueSpec, View,
};

/// A transmit queue of an access point with its flow monitor.
struct Ap {
    flows: Flows,
    tx_queue: TxQueue,
    now: Time,
}

impl Ap {
    fn new(limit_packets: u32, scheme: &str) -> Ap {
        let spec = TxQueueSpec { limit_packets, scheme: scheme_of(scheme), ..TxQueueSpec::default() };
        Ap {
            flows: Flows::new(&FlowsSpec::default()),
            tx_queue: TxQueue::new(&spec, 1, "ap"),
            now: Time::ZERO,
        }
    }

    fn offer(&mut self, packet: Packet) -> FlowId {
        self.now += Time::from_us(1);
        let flow = self.flows.observe(&packet, Direction::Down, self.now, |flow| self.tx_queue.holds(flow));
        let view = View { flows: &self.flows, links: &[] };
        self.tx_queue.enqueue(Ac::BestEffort, &packet, flow, StationId(0), self.now, || view);
        flow
    }

    fn offer_all(&mut self, packets: &[Packet]) {
        for &packet in packets {
            self.offer(packet);
        }
    }

    /// Lets the monitor see uplink data of connection `n`.
    fn uplink_data(&mut self, n: u32) {
        self.flows.observe(&upward(data(n, 1)), Direction::Up, self.now, |flow| self.tx_queue.holds(flow));
    }

    fn take(&mut self) -> Option<Packet> {
        let view = View { flows: &self.flows, links: &[] };
        self.tx_queue
            .dequeue(&Grant::ANY, self.now, || view)
            .map(DequeuedPacket::from)
            .map(|departure| departure.packet)
    }

    fn queue(&self) -> Vec<Packet> {
        let buffer = self.tx_queue.buffer();
        std::iter::successors(buffer.head(), |&slot| buffer.after(slot))
            .map(|slot| buffer[slot].packet)
            .collect()
    }
}

fn scheme_of(json: &str) -> SchemeSpec {
    serde_json::from_str(json).unwrap()
}

/// Flows 1 to 3 are uplink, 4 to 6 downlink; all have been seen.
fn fig_1(queued: &[Packet]) -> Ap {
    let mut ap = Ap::new(queued.len() as u32, r#"{"name": "adaptive-pushout"}"#);
    for n in 1..=3 {
        ap.uplink_data(n);
    }
    for n in 4..=6 {
        // Downlink data on its way through the monitor; what is queued is set up below.
        ap.flows.observe(&data(n, 1), Direction::Down, ap.now, |_| false);
    }
    assert_eq!((ap.flows.up(), ap.flows.down()), (3, 3));
    ap.offer_all(queued);
    assert_eq!(ap.queue(), queued);
    ap
}

#[test]
fn fig_1a_three_uplink_flows_stored_and_two_downlink_an_ack_goes() {
    let queued = [ack(1, 10), data(4, 1), ack(2, 10), data(5, 1), data(4, 2), ack(3, 10)];
    for arrival in [data(6, 1), data(4, 3)] {
        let mut ap = fig_1(&queued);
        ap.offer(arrival);
        let acks = ap.queue().iter().filter(|p| p.class() == Class::Ack).count();
        assert_eq!((acks, ap.queue().len()), (2, 6));
        assert_eq!(ap.queue().last(), Some(&arrival));
        let snapshot = ap.tx_queue.snapshot(ap.now);
        assert_eq!(snapshot.class(Class::Ack).evicted.packets, 1);
        assert_eq!(snapshot.class(Class::Data).evicted.packets, 0);
    }
}

#[test]
fn fig_1b_two_uplink_flows_stored_and_three_downlink_a_data_segment_goes() {
    let queued = [ack(1, 10), data(4, 1), data(5, 1), ack(2, 10), data(6, 1)];
    for arrival in [ack(3, 10), data(4, 3)] {
        let mut ap = fig_1(&queued);
        ap.offer(arrival);
        let snapshot = ap.tx_queue.snapshot(ap.now);
        assert_eq!(snapshot.class(Class::Data).evicted.packets, 1);
        assert_eq!(snapshot.class(Class::Ack).evicted.packets, 0);
        assert_eq!(ap.queue().last(), Some(&arrival));
    }
}

#[test]
fn adaptive_pushout_prefers_a_redundant_ack_to_a_victim() {
    let mut ap = fig_1(&[ack(1, 10), data(4, 1), data(5, 1), ack(1, 20), data(6, 1)]);
    ap.offer(data(4, 2));
    assert_eq!(ap.queue(), [data(4, 1), data(5, 1), ack(1, 20), data(6, 1), data(4, 2)]);
}

#[test]
fn adaptive_pushout_counts_the_arrival_only_if_told_to() {
    // Stored: two uplink flows of two, one downlink flow of two. With the arriving second one, a tie: data goes.
    for (count_arrival, gone) in [(false, Class::Ack), (true, Class::Data)] {
        let json = format!(r#"{{"name": "adaptive-pushout", "count_arrival": {count_arrival}}}"#);
        let mut ap = Ap::new(3, &json);
        ap.uplink_data(1);
        ap.uplink_data(2);
        ap.flows.observe(&data(4, 0), Direction::Down, ap.now, |_| false);
        ap.offer_all(&[ack(1, 10), ack(2, 10), data(3, 1)]);
        ap.offer(data(4, 1));
        assert_eq!(
            ap.tx_queue.snapshot(ap.now).class(gone).evicted.packets,
            1,
            "count_arrival = {count_arrival}"
        );
    }
}

#[test]
fn adaptive_pushout_with_acks_stored_and_no_uplink_flow_active() {
    // One downlink flow of two is stored, so its share is a half: more than none, less than whole.
    for (rule, gone) in [("whole", Class::Ack), ("none", Class::Data), ("unbounded", Class::Ack)] {
        let mut ap = Ap::new(2, &format!(r#"{{"name": "adaptive-pushout", "no_active_flows": "{rule}"}}"#));
        ap.flows.observe(&data(5, 0), Direction::Down, ap.now, |_| false);
        ap.offer_all(&[ack(1, 10), data(4, 1)]);
        assert_eq!((ap.flows.up(), ap.flows.down()), (0, 2));
        ap.offer(syn(9));
        assert_eq!(ap.tx_queue.snapshot(ap.now).class(gone).evicted.packets, 1, "{rule}");
    }
}

#[test]
fn ack_pushout_lets_an_ack_in_only_for_another_of_its_connection() {
    let mut ap = Ap::new(2, r#"{"name": "ack-pushout"}"#);
    ap.offer_all(&[data(4, 1), ack(1, 10)]);
    ap.offer_all(&[data(4, 2), ack(2, 10), syn(3)]);
    assert_eq!(ap.queue(), [data(4, 1), ack(1, 10)]);
    ap.offer(ack(1, 20));
    assert_eq!(ap.queue(), [data(4, 1), ack(1, 20)]);
    let snapshot = ap.tx_queue.snapshot(ap.now);
    let acks = snapshot.class(Class::Ack);
    assert_eq!((acks.filtered.packets, acks.evicted.packets, acks.tail_dropped.packets), (1, 0, 1));
    assert_eq!(snapshot.class(Class::Data).tail_dropped.packets, 1);
    assert_eq!(snapshot.class(Class::Other).tail_dropped.packets, 1);
}

#[test]
fn ack_pushout_picks_by_place_in_the_queue_not_by_when_an_ack_became_redundant() {
    // Connection 2's first ACK becomes redundant before connection 1's, which is nearer to the head.
    let queued = [ack(1, 10), ack(2, 10), ack(2, 20), ack(1, 20)];
    for (redundant, left) in [
        ("oldest", [ack(2, 10), ack(2, 20), ack(1, 20), data(4, 1)]),
        ("newest", [ack(1, 10), ack(2, 20), ack(1, 20), data(4, 1)]),
    ] {
        let mut ap = Ap::new(4, &format!(r#"{{"name": "ack-pushout", "redundant": "{redundant}"}}"#));
        ap.offer_all(&queued);
        ap.offer(data(4, 1));
        assert_eq!(ap.queue(), left, "{redundant}");
    }
}

#[test]
fn ack_filtering_works_below_the_limit_and_the_newcomer_has_two_possible_places() {
    for (place, expected) in
        [("tail", [data(4, 1), ack(1, 20)]), ("oldest-removed", [ack(1, 20), data(4, 1)])]
    {
        let mut ap = Ap::new(100, &format!(r#"{{"name": "ack-filtering", "place": "{place}"}}"#));
        ap.offer_all(&[ack(1, 10), data(4, 1), ack(1, 20)]);
        assert_eq!(ap.queue(), expected, "{place}");
        assert_eq!(ap.take(), Some(expected[0]));
    }
}

#[test]
fn spm_af_data_displaces_an_ack_and_is_dropped_without_one() {
    let mut ap = Ap::new(3, r#"{"name": "spm-af", "variant": "ap-only", "displaced": "oldest"}"#);
    ap.offer_all(&[data(4, 1), ack(1, 10), ack(2, 10)]);
    ap.offer_all(&[data(4, 2), ack(3, 10), data(4, 3), data(4, 4)]);
    assert_eq!(ap.queue(), [data(4, 1), data(4, 2), data(4, 3)]);
}

#[test]
fn the_safe_profile_spares_duplicates_and_congestion_echoes() {
    use wifair_core::TcpFlags;
    let echo = Packet { flags: TcpFlags::ACK | TcpFlags::ECE, ..ack(1, 30) };
    let acks = [ack(1, 10), ack(1, 10), ack(1, 10), ack(1, 20), echo, ack(1, 40), ack(1, 50)];
    let mut ap = Ap::new(100, r#"{"name": "ack-filtering", "filter": "safe"}"#);
    ap.offer_all(&acks);
    // Only the ACK of 40 goes: 50 says more and both echo nothing. Those of 10 count duplicates; at 20 and 30
    // the echo starts and ends.
    assert_eq!(ap.queue(), [acks[0], acks[1], acks[2], acks[3], acks[4], acks[6]]);
    let mut ap = Ap::new(100, r#"{"name": "ack-filtering"}"#);
    ap.offer_all(&acks);
    assert_eq!(ap.queue(), [acks[6]]);
}

#[test]
fn the_safe_profile_spares_what_only_a_selective_acknowledgement_tells() {
    let sack = |number, blocks| Packet { sack: SackBlocks::new(number, blocks), ..ack(1, number) };
    let told = sack(10, &[(12, 14)]);
    let duplicate = sack(20, &[(8, 10)]);
    let acks = [told, ack(1, 12), sack(13, &[(20, 22)]), sack(14, &[(20, 22)]), duplicate, ack(1, 30)];
    let mut ap = Ap::new(100, r#"{"name": "ack-filtering", "filter": "safe"}"#);
    ap.offer_all(&acks);
    // 12 does not cover 12 to 14, 13 adds nothing to 14, 20 does not cover 20 to 22, and a D-SACK is sent once.
    assert_eq!(ap.queue(), [acks[0], acks[3], duplicate, acks[5]]);
    let mut ap = Ap::new(100, r#"{"name": "ack-filtering"}"#);
    ap.offer_all(&acks);
    assert_eq!(ap.queue(), [acks[5]]);
}

#[test]
fn sequence_numbers_wrap_in_the_safe_profile() {
    let mut ap = Ap::new(100, r#"{"name": "ack-filtering", "filter": "safe"}"#);
    ap.offer_all(&[ack(1, u32::MAX - 5), ack(1, 10)]);
    assert_eq!(ap.queue(), [ack(1, 10)]);
    ap.offer(ack(1, u32::MAX - 5)); // from before: acknowledges less
    assert_eq!(ap.queue().len(), 2);
}

#[test]
fn the_limit_may_count_the_packet_in_service() {
    for (counts, accepted) in [(false, 2), (true, 1)] {
        let spec =
            TxQueueSpec { limit_packets: 2, limit_counts_in_service: counts, ..TxQueueSpec::default() };
        let mut ap = Ap::new(2, r#"{"name": "droptail"}"#);
        ap.tx_queue = TxQueue::new(&spec, 1, "ap");
        ap.offer(data(1, 1));
        let view = View { flows: &ap.flows, links: &[] };
        let departure = ap
            .tx_queue
            .dequeue(&Grant::ANY, ap.now, || view)
            .map(DequeuedPacket::from)
            .expect("a packet is queued");
        ap.offer_all(&[data(1, 2), data(1, 3)]);
        assert_eq!(ap.tx_queue.len(), accepted);
        let view = View { flows: &ap.flows, links: &[] };
        ap.tx_queue.complete(
            &departure,
            Outcome::LostAtRetryLimit,
            ap.now,
            || view,
            || unreachable!("tail drop never asks"),
        );
        ap.offer(data(1, 4));
        assert_eq!(ap.tx_queue.len(), 2);
        assert_eq!(ap.tx_queue.snapshot(ap.now).class(Class::Data).lost_at_retry_limit.packets, 1);
    }
}

#[test]
fn a_lowered_limit_throws_nothing_out() {
    let mut ap = Ap::new(4, r#"{"name": "droptail"}"#);
    ap.offer_all(&[data(1, 1), data(1, 2), data(1, 3)]);
    ap.tx_queue.set_limit(1, ap.now);
    ap.offer(data(1, 4));
    assert_eq!(ap.tx_queue.len(), 3);
    for _ in 0..3 {
        ap.take();
    }
    ap.offer_all(&[data(1, 5), data(1, 6)]);
    assert_eq!(ap.tx_queue.len(), 1);
}

#[test]
fn a_grant_for_one_station_or_a_short_packet_is_kept() {
    let mut ap = Ap::new(4, r#"{"name": "droptail"}"#);
    ap.offer(data(1, 1));
    let view = View { flows: &ap.flows, links: &[] };
    let other = Grant { station: Some(StationId(1)), ..Grant::ANY };
    assert!(ap.tx_queue.dequeue(&other, ap.now, || view).is_none());
    assert!(ap.tx_queue.dequeue(&Grant { max_bytes: 1499, ..Grant::ANY }, ap.now, || view).is_none());
    assert!(ap.tx_queue.dequeue(&Grant { max_bytes: 1500, ..Grant::ANY }, ap.now, || view).is_some());
}

#[test]
#[should_panic(expected = "time runs backwards")]
fn time_does_not_run_backwards() {
    let mut ap = Ap::new(4, r#"{"name": "droptail"}"#);
    ap.offer(data(1, 1));
    ap.now = Time::ZERO;
    ap.take();
}
