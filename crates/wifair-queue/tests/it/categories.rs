//! One transmit queue for several access categories.

use crate::common;

use common::{ack, data};
use proptest::prelude::*;
use wifair_core::{Ac, FlowId, Packet, Rate, StationId, Time};
use wifair_queue::{
    Arrival, Buffer, Cx, DequeuedPacket, Eviction, Exchange, Flows, FlowsSpec, Grant, Link, Outcome, Placed,
    Scheme, SchemeSpec, TxQueue, TxQueueSpec, View,
};

const CATEGORIES: [Ac; 4] = [Ac::Voice, Ac::Video, Ac::BestEffort, Ac::Background];

fn spec(name: &str, limit_packets: u32) -> TxQueueSpec {
    let scheme: SchemeSpec = serde_json::from_value(serde_json::json!({ "name": name })).unwrap();
    TxQueueSpec { limit_packets, scheme, ..TxQueueSpec::default() }
}

/// What is queued, from head to tail.
fn queued(tx_queue: &TxQueue) -> Vec<(Ac, Packet)> {
    let buffer = tx_queue.buffer();
    let slots = std::iter::successors(buffer.head(), |&slot| buffer.after(slot));
    slots.map(|slot| (buffer[slot].ac, buffer[slot].packet)).collect()
}

fn sharing() -> Vec<&'static str> {
    let all = SchemeSpec::components().into_iter().map(|scheme| scheme.info.name);
    all.filter(|name| spec(name, 1).scheme.build().serves_categories()).collect()
}

#[test]
fn schemes_with_one_order_of_their_own_do_not_share() {
    let sharing = sharing();
    for name in [
        "droptail",
        "ack-filtering",
        "ack-pushout",
        "adaptive-pushout",
        "red",
        "pie",
        "mac80211",
        "air-share",
    ] {
        assert!(sharing.contains(&name), "{name}");
    }
    for name in ["las", "t-las", "dqm", "codel", "fq-codel"] {
        assert!(!sharing.contains(&name), "{name}");
    }
}

proptest! {
    /// Whatever arrives, is filtered or evicted: a grant for a category releases that category's packets in queue order and no
    /// others, and releases one if any is queued. mac80211 and air-share have a different order within each category.
    #[test]
    fn each_category_gets_its_own_in_order(
        which in any::<prop::sample::Index>(),
        limit in 1u32..12,
        steps in prop::collection::vec((0usize..4, 0u32..3, any::<bool>(), any::<bool>()), 1..200),
    ) {
        let sharing = sharing();
        let name = *which.get::<&str>(&sharing);
        let mut tx_queue = TxQueue::for_categories(&spec(name, limit), 7, "ap");
        let flows = Flows::new(&FlowsSpec::default());
        let view = View { flows: &flows, links: &[] };
        let mut seq = 0;
        for (step, (category, flow, is_ack, comes)) in steps.into_iter().enumerate() {
            let (now, ac) = (Time::from_us(step as u64), CATEGORIES[category]);
            if comes {
                seq += 1;
                let packet = if is_ack { ack(flow, seq) } else { data(flow, seq) };
                tx_queue.enqueue(ac, &packet, FlowId(flow), StationId(0), now, || view);
                prop_assert!(tx_queue.len() <= limit as usize);
                continue;
            }
            let before = queued(&tx_queue);
            let departure = tx_queue.dequeue(&Grant { ac, ..Grant::ANY }, now, || view).map(DequeuedPacket::from);
            let by_turns = ["mac80211", "air-share"].contains(&name);
            let gone = |packet: &Packet| !by_turns || departure.as_ref().is_some_and(|d| d.packet == *packet);
            let expected = before.iter().position(|(other, packet)| *other == ac && gone(packet));
            prop_assert_eq!(departure.is_some(), before.iter().any(|(other, _)| *other == ac));
            prop_assert_eq!(departure.as_ref().map(|d| d.packet), expected.map(|place| before[place].1));
            let mut left = before;
            if let (Some(departure), Some(place)) = (&departure, expected) {
                left.remove(place);
                tx_queue.complete(departure, Outcome::Delivered, now, || view, || Exchange {
                    outcome: Outcome::Delivered,
                    packets: std::slice::from_ref(&departure.packet),
                    flow: departure.flow,
                    station: departure.station,
                    ac,
                    rate: Rate::from_mbps(11.0),
                    attempts: 1,
                    airtime: Time::from_us(1),
                    overhead: Time::ZERO,
                    service: Time::from_us(1),
                });
            }
            prop_assert_eq!(queued(&tx_queue), left);
        }
    }
}

/// Puts every arrival in the place of the packet in the middle, once there are three.
struct InTheMiddle;

impl Scheme for InTheMiddle {
    fn serves_categories(&self) -> bool {
        true
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        if buffer.len() < 3 {
            return buffer.append(arrival);
        }
        let middle = buffer.after(buffer.head().unwrap()).unwrap();
        buffer.replace(middle, Eviction::Victim, arrival)
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, _cx: &mut Cx) -> Option<DequeuedPacket> {
        buffer.release_head(grant)
    }
}

/// A packet that takes the place of another category's has its place in its own category's order too.
#[test]
fn a_place_may_change_its_category() {
    let tx_queue =
        || TxQueue::for_categories_with_scheme(&TxQueueSpec::default(), Box::new(InTheMiddle), 1, "ap");
    let flows = Flows::new(&FlowsSpec::default());
    let view = View { flows: &flows, links: &[] };
    for first in CATEGORIES {
        for second in CATEGORIES {
            let mut tx_queue = tx_queue();
            let come = [(Ac::Voice, 1), (Ac::Video, 2), (Ac::Voice, 3), (first, 4), (second, 5)];
            for (ac, seq) in come {
                tx_queue.enqueue(ac, &data(0, seq), FlowId(0), StationId(0), Time::ZERO, || view);
            }
            let mut expected = vec![(Ac::Voice, 1), (second, 5), (Ac::Voice, 3)];
            assert_eq!(queued(&tx_queue).iter().map(|(ac, p)| (*ac, p.seq)).collect::<Vec<_>>(), expected);
            for ac in CATEGORIES {
                while let Some(departure) = tx_queue
                    .dequeue(&Grant { ac, ..Grant::ANY }, Time::ZERO, || view)
                    .map(DequeuedPacket::from)
                {
                    let place = expected.iter().position(|(other, _)| *other == ac).unwrap();
                    assert_eq!(departure.packet.seq, expected.remove(place).1);
                }
            }
            assert!(expected.is_empty());
        }
    }
}

/// A connection whose packets change category: the ACK that goes was another category's, and mac80211 counts both right.
#[test]
fn an_ack_may_make_one_of_another_category_redundant() {
    let scheme = serde_json::json!({ "name": "mac80211", "ack_filter": "conservative" });
    let scheme = serde_json::from_value(scheme).unwrap();
    let spec = TxQueueSpec { limit_packets: 10, scheme, ..TxQueueSpec::default() };
    let flows = Flows::new(&FlowsSpec::default());
    let links = [Link::new(Rate::from_mbps(11.0))];
    let view = View { flows: &flows, links: &links };
    for first in CATEGORIES {
        for second in CATEGORIES {
            let mut tx_queue = TxQueue::for_categories(&spec, 1, "ap");
            for (ac, number) in [(first, 1), (first, 1_461), (second, 2_921)] {
                tx_queue.enqueue(ac, &ack(0, number), FlowId(0), StationId(0), Time::ZERO, || view);
            }
            for (ac, number) in [(first, 1_461), (second, 2_921)] {
                let departure = tx_queue
                    .dequeue(&Grant { ac, ..Grant::ANY }, Time::ZERO, || view)
                    .map(DequeuedPacket::from);
                assert_eq!(
                    departure.map(|departure| departure.packet.ack),
                    Some(number),
                    "{first:?}, {second:?}"
                );
            }
            assert!(tx_queue.is_empty());
        }
    }
}
