//! A transmit queue of a scheme and the model of it side by side, step by step.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use wifair_core::{Ac, Class, DSCP_HIGH_PRIORITY, Packet, Rate, Rng, StationId, TcpFlags, Time};
use wifair_queue::{
    Arrival, Buffer, Cx, DequeuedPacket, Direction, Exchange, Flows, FlowsSpec, Grant, Hooks, Indexes,
    Outcome, Placed, Scheme, SchemeSpec, Shortcuts, TxQueue, TxQueueSpec, View,
};

use super::{Model, Verdict};
use crate::common::{ack, data, syn, upward};

/// A scheme as it is, but its random stream can be seen.
struct Watched {
    scheme: Box<dyn Scheme>,
    rng: Arc<Mutex<Option<Rng>>>,
    /// Whether the transmit queue may take the decisions that it need not ask for.
    shortcuts: bool,
}

impl Scheme for Watched {
    fn needs(&self) -> Indexes {
        self.scheme.needs()
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        let placed = self.scheme.enqueue(arrival, buffer, cx);
        *self.rng.lock().unwrap() = Some(cx.rng.clone());
        placed
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, cx: &mut Cx) -> Option<DequeuedPacket> {
        self.scheme.dequeue(grant, buffer, cx)
    }

    fn shortcuts(&self) -> Shortcuts {
        if self.shortcuts { self.scheme.shortcuts() } else { Shortcuts::default() }
    }

    fn hooks(&self) -> Hooks {
        self.scheme.hooks()
    }
}

#[derive(Clone, Debug)]
pub enum Step {
    /// To the station. `more` is by how much an ACK exceeds its connection's last.
    Data {
        connection: u32,
        marked: bool,
    },
    Ack {
        connection: u32,
        more: u32,
        echo: bool,
    },
    Syn {
        connection: u32,
    },
    /// From the station, past the monitor only.
    UplinkData {
        connection: u32,
    },
    Reset {
        connection: u32,
    },
    Take,
    Finish {
        delivered: bool,
    },
    Limit {
        packets: u32,
    },
    Silence,
}

/// Every scheme with every value of every parameter, though not every combination.
pub const SCHEMES: &[&str] = &[
    r#"{"name": "droptail"}"#,
    r#"{"name": "ack-filtering"}"#,
    r#"{"name": "ack-filtering", "filter": "safe"}"#,
    r#"{"name": "ack-filtering", "place": "oldest-removed"}"#,
    r#"{"name": "ack-filtering", "place": "oldest-removed", "filter": "safe"}"#,
    r#"{"name": "spm-af"}"#,
    r#"{"name": "spm-af", "displaced": "oldest", "place": "oldest-removed"}"#,
    r#"{"name": "spm-af", "displaced": "newest", "filter": "safe"}"#,
    r#"{"name": "spm-af", "variant": "sender-marking"}"#,
    r#"{"name": "spm-af", "variant": "sender-marking", "displaced": "oldest"}"#,
    r#"{"name": "spm-af", "variant": "sender-marking", "displaced": "newest", "place": "oldest-removed"}"#,
    r#"{"name": "ack-pushout"}"#,
    r#"{"name": "ack-pushout", "filter": "safe"}"#,
    r#"{"name": "ack-pushout", "redundant": "newest"}"#,
    r#"{"name": "ack-pushout", "redundant": "newest", "filter": "safe"}"#,
    r#"{"name": "ack-pushout", "redundant": "random"}"#,
    r#"{"name": "ack-pushout", "redundant": "random", "filter": "safe"}"#,
    r#"{"name": "adaptive-pushout"}"#,
    r#"{"name": "adaptive-pushout", "filter": "safe", "redundant": "newest"}"#,
    r#"{"name": "adaptive-pushout", "redundant": "random", "count_arrival": true}"#,
    r#"{"name": "adaptive-pushout", "tie": "ack", "no_active_flows": "none"}"#,
    r#"{"name": "adaptive-pushout", "tie": "random", "no_active_flows": "unbounded", "filter": "safe"}"#,
];

/// Whether transmit queue and model agree after every step.
pub fn run(
    scheme: &str,
    limit: u32,
    counts_in_service: bool,
    shrink: bool,
    steps: Vec<Step>,
    collect: bool,
    shortcuts: bool,
) -> Result<(), TestCaseError> {
    let scheme: SchemeSpec = serde_json::from_str(scheme).unwrap();
    let spec = TxQueueSpec {
        limit_packets: limit,
        limit_counts_in_service: counts_in_service,
        scheme,
        ..TxQueueSpec::default()
    };
    let rng = Arc::new(Mutex::new(Some(Rng::stream(7, "ap", "scheme"))));
    let watched = Watched { scheme: spec.scheme.build(), rng: rng.clone(), shortcuts };
    let mut tx_queue = TxQueue::with_scheme(&spec, Box::new(watched), 7, "ap");
    let mut model = Model::new(&spec, Rng::stream(7, "ap", "scheme"));
    let mut flows = Flows::new(&FlowsSpec { idle_timeout_s: 1.0, ..FlowsSpec::default() });
    let mut last_ack = [u32::MAX - 4000; 6]; // wraps soon
    let mut now = Time::from_ms(3);
    let middle = steps.len() / 2;
    let mut in_service = vec![];
    let mut earlier = None;

    // The serial number makes every packet unlike every other.
    for (serial, step) in (1u32..).zip(steps) {
        now += Time::from_us(u64::from(serial % 7) * 100);
        if serial as usize == middle {
            earlier = Some((tx_queue.snapshot(now), model.clone()));
        }
        let tag = |packet: Packet| Packet { window_bytes: serial, ..packet };
        let arrival = match step {
            Step::Data { connection, marked } => {
                let mark = if marked { DSCP_HIGH_PRIORITY << 2 } else { 0 };
                Some(Packet { ds_field: mark, ..tag(data(connection, 1)) })
            }
            Step::Syn { connection } => Some(tag(syn(connection))),
            Step::Ack { connection, more, echo } => {
                let last = &mut last_ack[connection as usize];
                *last = last.wrapping_add(more);
                let mut packet = tag(ack(connection, *last));
                if echo {
                    packet.flags |= TcpFlags::ECE;
                }
                Some(packet)
            }
            Step::UplinkData { connection } => {
                flows.observe(&upward(data(connection, 1)), Direction::Up, now, |flow| tx_queue.holds(flow));
                None
            }
            Step::Reset { connection } => {
                let reset = Packet { flags: TcpFlags::RST, ..upward(syn(connection)) };
                flows.observe(&reset, Direction::Up, now, |flow| tx_queue.holds(flow));
                None
            }
            Step::Take => {
                let got = tx_queue
                    .dequeue(&Grant::ANY, now, || View { flows: &flows, links: &[] })
                    .map(DequeuedPacket::from);
                let expected = model.take(now);
                prop_assert_eq!(got.as_ref().map(|d| d.packet), expected.map(|item| item.packet));
                if let (Some(got), Some(expected)) = (&got, expected) {
                    prop_assert_eq!((got.flow, got.enqueued_at), (expected.flow, expected.at));
                }
                in_service.extend(got);
                None
            }
            Step::Finish { delivered } => {
                if let Some((packet, flow)) = model.finish(delivered) {
                    let outcome = if delivered { Outcome::Delivered } else { Outcome::LostAtRetryLimit };
                    let departure = in_service.pop().expect("the model has a packet in service");
                    prop_assert_eq!((departure.packet, departure.flow), (packet, flow));
                    let exchange = || Exchange {
                        outcome,
                        packets: std::slice::from_ref(&departure.packet),
                        flow,
                        station: StationId(0),
                        ac: Ac::BestEffort,
                        rate: Rate::from_mbps(11.0),
                        attempts: 1,
                        airtime: Time::ZERO,
                        overhead: Time::ZERO,
                        service: Time::ZERO,
                    };
                    tx_queue.complete(
                        &departure,
                        outcome,
                        now,
                        || View { flows: &flows, links: &[] },
                        exchange,
                    );
                }
                None
            }
            Step::Limit { packets } => {
                if shrink {
                    tx_queue.set_limit(packets, now);
                    model.limit = packets as usize;
                }
                None
            }
            Step::Silence => {
                now += Time::from_ms(600);
                None
            }
        };

        if let Some(packet) = arrival {
            let flow = flows.observe(&packet, Direction::Down, now, |flow| tx_queue.holds(flow));
            while collect && let Some((gone, _)) = flows.pop_forgotten() {
                let closed = tx_queue.retire(gone);
                prop_assert_eq!(closed, model.retire(gone));
            }
            let verdict = model.arrive(packet, flow, &flows, now);
            tx_queue.enqueue(Ac::BestEffort, &packet, flow, StationId(0), now, || View {
                flows: &flows,
                links: &[],
            });
            if let Verdict::Evict { candidates, .. } = &verdict {
                let left = queue(&tx_queue);
                let gone: Vec<Packet> = model.packets().into_iter().filter(|p| !left.contains(p)).collect();
                prop_assert_eq!(gone.len(), 1, "one arrival pushes one packet out");
                prop_assert!(candidates.contains(&gone[0]), "{:?} is not among {:?}", gone[0], candidates);
                model.settle(&verdict, Some(gone[0]));
            } else {
                model.settle(&verdict, None);
            }
            prop_assert_eq!(
                format!("{:?}", rng.lock().unwrap().as_ref().unwrap()),
                format!("{:?}", model.rng)
            );
            if !shrink {
                prop_assert!(tx_queue.len() <= limit as usize);
            }
        }

        prop_assert_eq!(queue(&tx_queue), model.packets());
        for connection in 0..6 {
            let acks = queue(&tx_queue).into_iter().filter(|p| p.tuple == ack(connection, 0).tuple);
            let acks = acks.filter(|p| p.class() == Class::Ack).map(|p| p.window_bytes);
            prop_assert!(acks.is_sorted(), "the ACKs of a flow stay in order");
        }
        prop_assert_eq!(tx_queue.len(), model.packets().len());
        let snapshot = tx_queue.snapshot(now);
        prop_assert_eq!(&snapshot.classes, &model.classes());
        prop_assert_eq!(&snapshot.flows, &model.flow_ledgers());
        for flow in &snapshot.flows {
            prop_assert_eq!(tx_queue.holds(flow.flow), model.holds(flow.flow));
        }
    }

    now += Time::from_ms(1);
    let snapshot = tx_queue.snapshot(now);
    let (length, sojourn) = model.length_and_sojourn(now);
    prop_assert_eq!(snapshot.length.count(), now.as_ns());
    prop_assert!((snapshot.length.mean().unwrap() - length).abs() < 1e-9);
    prop_assert_eq!(snapshot.sojourn.mean(), sojourn);
    if let Some((earlier, then)) = earlier {
        let measured = snapshot.since(&earlier);
        prop_assert_eq!(measured.classes, model.classes_since(&then));
        for ledger in measured.classes.iter().chain(measured.flows.iter().flat_map(|f| &f.classes)) {
            super::check_identities(ledger)?;
        }
    }
    Ok(())
}

/// What is queued, in order.
pub fn queue(tx_queue: &TxQueue) -> Vec<Packet> {
    let buffer = tx_queue.buffer();
    std::iter::successors(buffer.head(), |&slot| buffer.after(slot)).map(|slot| buffer[slot].packet).collect()
}
