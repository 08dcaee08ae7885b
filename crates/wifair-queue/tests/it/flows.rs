//! The flow monitor against a map that remembers everything.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::{ack, cases, data, syn, tuple, upward};
use proptest::prelude::*;
use wifair_core::{ConnectionId, FlowId, Packet, TcpFlags, Time};
use wifair_queue::{Active, Direction, Flows, FlowsSpec};

const TIMEOUT: Time = Time::from_ms(160);
const GRANULE: Time = Time::from_ms(10);

fn spec(active: Active) -> FlowsSpec {
    FlowsSpec { idle_timeout_s: TIMEOUT.as_secs_f64(), active }
}

fn free(_: FlowId) -> bool {
    false
}

#[test]
fn both_directions_are_one_flow_and_payload_tells_which_way_it_goes() {
    let mut flows = Flows::new(&FlowsSpec::default());
    let now = Time::from_s(1);
    // The handshake of a download: its third packet is a pure ACK downwards, as those of an upload are.
    let syn_ack = Packet { flags: TcpFlags::SYN | TcpFlags::ACK, ..upward(syn(1)) };
    let first = flows.observe(&syn(1), Direction::Down, now, free);
    assert_eq!(flows.observe(&syn_ack, Direction::Up, now, free), first);
    assert_eq!(flows.observe(&ack(1, 1), Direction::Down, now, free), first);
    assert_eq!((flows.up(), flows.down()), (0, 0));
    flows.observe(&data(1, 1), Direction::Down, now, free);
    flows.observe(&upward(ack(1, 1461)), Direction::Up, now, free);
    assert_eq!((flows.up(), flows.down()), (0, 1));
    assert!(flows.carries(first, Direction::Down) && !flows.carries(first, Direction::Up));
    let second = flows.observe(&upward(data(2, 1)), Direction::Up, now, free);
    assert_ne!(first, second);
    assert_eq!((flows.up(), flows.down()), (1, 1));
    // As packets that go up carry it.
    assert_eq!(flows.tuple(first), tuple(1).reversed());
    assert_eq!(flows.tuple(second), tuple(2).reversed());
    // Payload both ways counts on both sides.
    flows.observe(&data(2, 1), Direction::Down, now, free);
    assert_eq!((flows.up(), flows.down()), (1, 2));
}

#[test]
fn teardown_ends_activity_at_once_or_not_at_all() {
    let fin = |packet: Packet| Packet { flags: TcpFlags::FIN | TcpFlags::ACK, payload_bytes: 0, ..packet };
    for (active, left) in [(Active::UntilTeardown, 0), (Active::UntilIdle, 2)] {
        let mut flows = Flows::new(&spec(active));
        let now = Time::ZERO;
        for n in [1, 2] {
            flows.observe(&data(n, 1), Direction::Down, now, free);
        }
        flows.observe(&fin(data(1, 2)), Direction::Down, now, free);
        assert_eq!(flows.down(), 2, "half closed is open");
        flows.observe(&fin(upward(data(1, 2))), Direction::Up, now, free);
        let reset = Packet { flags: TcpFlags::RST, payload_bytes: 0, ..upward(data(2, 2)) };
        flows.observe(&reset, Direction::Up, now, free);
        // Late packets of an ended connection do not bring it back.
        flows.observe(&data(1, 1), Direction::Down, now, free);
        assert_eq!(flows.down(), left, "{active:?}");
        // The same transmit queues again: a new connection.
        if active == Active::UntilTeardown {
            flows.observe(&syn(1), Direction::Down, now, free);
            flows.observe(&data(1, 1), Direction::Down, now, free);
            assert_eq!(flows.down(), 1);
        }
        // Forgotten, whether ended or not.
        flows.observe(&syn(9), Direction::Down, TIMEOUT + GRANULE, free);
        assert_eq!(flows.down(), 0);
    }
}

#[test]
fn stations_that_talk_to_servers_of_the_same_number_do_not_slow_the_table_down() {
    // The symmetric hash of all these connections is the same; a table on it would take 10^9 steps.
    let mut flows = Flows::new(&FlowsSpec::default());
    for round in 0..3 {
        for n in 0..50_000 {
            let id = flows.observe(&data(n, 1), Direction::Down, Time::from_ms(round), free);
            assert_eq!(id.index(), n as usize);
        }
    }
    assert_eq!(flows.down(), 50_000);
}

#[test]
fn bad_timeouts_are_refused() {
    for idle_timeout_s in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e6] {
        let error = FlowsSpec { idle_timeout_s, ..FlowsSpec::default() }.validate("ap.flows").unwrap_err();
        assert_eq!(error.key, "ap.flows.idle_timeout_s");
    }
    assert!(FlowsSpec::default().validate("ap.flows").is_ok());
}

#[derive(Clone, Debug)]
struct Step {
    after: Time,
    connection: u32,
    payload: bool,
    down: bool,
    hold: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let pause = prop_oneof![8 => 0u64..5, 2 => 5u64..60, 1 => 100u64..400];
    (pause, 0u32..40, any::<bool>(), any::<bool>(), prop::bool::weighted(0.1)).prop_map(
        |(ms, connection, payload, down, hold)| Step {
            after: Time::from_ms(ms),
            connection,
            payload,
            down,
            hold,
        },
    )
}

/// What is known of a flow by someone who keeps everything.
#[derive(Clone, Copy, Debug)]
struct Known {
    id: FlowId,
    last_seen: Time,
    carries: [bool; 2],
    ever_held: bool,
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(300)) })]
    #[test]
    fn agrees_with_a_map(steps in prop::collection::vec(step(), 1..400), collect in any::<bool>()) {
        let mut flows = Flows::new(&spec(Active::UntilTeardown));
        let mut by_name = flows.clone();
        let mut model: BTreeMap<u32, Known> = BTreeMap::new();
        let mut held: BTreeSet<FlowId> = BTreeSet::new();
        let mut uncollected: BTreeSet<FlowId> = BTreeSet::new();
        let mut now = Time::ZERO;
        for step in steps {
            now += step.after;
            let down = data(step.connection, 1);
            let down = if step.payload { down } else { ack(step.connection, 1) };
            let (packet, direction) =
                if step.down { (down, Direction::Down) } else { (upward(down), Direction::Up) };
            let id = flows.observe(&packet, direction, now, |flow| held.contains(&flow));
            // Several connections share a slot, one after the other or in turn.
            let connection = ConnectionId::new(step.connection as usize / 3, step.connection % 3);
            let named = Packet { connection, ..packet };
            prop_assert_eq!(by_name.observe(&named, direction, now, |flow| held.contains(&flow)), id);
            prop_assert_eq!((by_name.up(), by_name.down()), (flows.up(), flows.down()));

            // Whom the monitor has forgotten: silent for the timeout, at most a granule (and the wait for the next
            // packet) longer, and not held.
            let mut gone = BTreeSet::new();
            while collect && let Some((flow, its_tuple)) = flows.pop_forgotten() {
                prop_assert_eq!(by_name.pop_forgotten(), Some((flow, its_tuple)));
                let whose = model.iter().find(|(_, known)| known.id == flow);
                prop_assert_eq!(whose.map(|(&n, _)| tuple(n).reversed()), Some(its_tuple));
                gone.insert(flow);
            }
            for (&n, known) in &model.clone() {
                let silent = now - known.last_seen;
                let here = n == step.connection && known.id == id;
                if collect {
                    let forgotten = gone.contains(&known.id);
                    if held.contains(&known.id) || silent < TIMEOUT {
                        prop_assert!(!forgotten);
                    }
                    if silent >= TIMEOUT + GRANULE && !known.ever_held {
                        prop_assert!(forgotten);
                    }
                    if forgotten {
                        model.remove(&n);
                        held.remove(&known.id);
                    } else {
                        prop_assert!(n != step.connection || here, "a known flow keeps its id");
                    }
                } else if n == step.connection && !here {
                    // Came back under another id: must have been silent long enough.
                    prop_assert!(silent >= TIMEOUT && !held.contains(&known.id));
                    model.remove(&n);
                    uncollected.insert(known.id);
                }
            }
            // An id belongs to one flow at a time, and comes back only when it has been collected.
            prop_assert!(model.iter().all(|(&n, known)| n == step.connection || known.id != id || !collect));
            prop_assert!(!uncollected.contains(&id));

            let known = model.entry(step.connection)
                .or_insert(Known { id, last_seen: now, carries: [false; 2], ever_held: false });
            known.last_seen = now;
            known.carries[direction as usize] |= step.payload;
            known.ever_held |= step.hold;
            prop_assert_eq!(known.id, id);
            prop_assert_eq!(known.carries[0], flows.carries(id, Direction::Up));
            prop_assert_eq!(known.carries[1], flows.carries(id, Direction::Down));
            prop_assert_eq!(flows.tuple(id), tuple(step.connection).reversed());
            if step.hold && !held.remove(&id) {
                held.insert(id);
            }
            if collect {
                let count = |d: usize| model.values().filter(|k| k.carries[d]).count() as u32;
                prop_assert_eq!((flows.up(), flows.down()), (count(0), count(1)));
                prop_assert!(flows.id_bound() <= 41, "ids are used again");
            }
        }
        // A long silence: all that no buffer holds is forgotten at the next packet.
        now += Time::from_s(10);
        let last = flows.observe(&data(99, 1), Direction::Down, now, |flow| held.contains(&flow));
        let expected = model.values().filter(|k| held.contains(&k.id) && k.carries[1]).count() as u32;
        if collect {
            prop_assert_eq!(flows.down(), expected + 1);
        }
        prop_assert!(!held.contains(&last));
    }
}
