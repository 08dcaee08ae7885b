//! A transmit queue of a scheme and the lists side by side, step by step.

use std::sync::OnceLock;

use proptest::prelude::*;
use wifair_core::{Ac, Ecn, FiveTuple, FlowId, Packet, Rate, StationId, TcpFlags, Time, UDP};
use wifair_queue::{
    DequeuedPacket, Exchange, Flows, FlowsSpec, Grant, Link, Outcome, Reception, SchemeSpec, TxQueue,
    TxQueueSpec, View,
};

use super::{Ns, Plain, Tally};
use crate::common::{ack, data, upward};

#[derive(Clone, Debug)]
pub enum Step {
    /// More data packets of a connection, at once.
    Data {
        connection: usize,
        packets: usize,
        capable: bool,
    },
    /// `more` is by how much it exceeds the connection's last.
    Ack {
        connection: usize,
        more: u32,
        echo: bool,
    },
    Take,
    /// So many packets for one station, as for an aggregate.
    Gather {
        station: usize,
        packets: usize,
        max_bytes: u32,
    },
    Finish {
        airtime_us: u64,
    },
    /// A number of [`uplink`] packets.
    Receive {
        station: usize,
        airtime_us: u64,
        packet: usize,
    },
    Wait {
        ms: u64,
    },
    Limit {
        packets: u32,
    },
}

/// Two connections a station.
fn station_of(connection: usize) -> usize {
    connection % 4
}

const RATES_MBPS: [f64; 4] = [54.0, 11.0, 24.0, 1.0];

fn links() -> [Link; 4] {
    RATES_MBPS.map(|mbps| Link::new(Rate::from_mbps(mbps)))
}

/// Packets from a station: data without ECN, with it, with CE; an ACK, a datagram.
pub fn uplink() -> [Packet; 5] {
    let data = upward(data(9, 1));
    let datagram = Packet::datagram(FiveTuple { protocol: UDP, ..data.tuple }, 1, 172, 46, Time::ZERO);
    [data, data.with_ecn(Ecn::Ect0), data.with_ecn(Ecn::Ce), upward(ack(9, 1)), datagram]
}

/// The parameters of `mac80211` whose queues and turns `air-share` has, and its own.
fn written(scheme: &SchemeSpec) -> serde_json::Value {
    let own = serde_json::to_value(scheme).unwrap();
    if own["name"] != "air-share" {
        return own;
    }
    let base: SchemeSpec =
        serde_json::from_str(r#"{"name": "mac80211", "ack_filter": "conservative"}"#).unwrap();
    let mut whole = serde_json::to_value(base).unwrap();
    let keys = own.as_object().unwrap().iter().filter(|(key, _)| *key != "name");
    whole.as_object_mut().unwrap().extend(keys.map(|(key, value)| (key.clone(), value.clone())));
    whole
}

/// By their serial numbers, which each packet has as its window.
fn queue(tx_queue: &TxQueue) -> Vec<Packet> {
    let buffer = tx_queue.buffer();
    std::iter::successors(buffer.head(), |&slot| buffer.after(slot)).map(|slot| buffer[slot].packet).collect()
}

fn tally(tx_queue: &TxQueue, now: Time) -> Tally {
    let classes = tx_queue.snapshot(now).classes;
    let sum = |of: fn(&wifair_queue::Ledger) -> u64| classes.iter().map(of).sum();
    Tally {
        refused: sum(|l| l.tail_dropped.packets),
        evicted: sum(|l| l.evicted.packets),
        aqm_evicted: sum(|l| l.aqm_evicted.packets),
        filtered: sum(|l| l.filtered.packets),
        ce: sum(|l| l.ce_marked.packets),
        ece: sum(|l| l.ece_marked.packets),
        policed: sum(|l| l.policed.packets),
        police_marked: sum(|l| l.police_marked.packets),
        police_dropped: sum(|l| l.police_dropped.packets),
    }
}

fn exchange<'a>(packet: &'a Packet, flow: FlowId, station: StationId, airtime: Time) -> Exchange<'a> {
    Exchange {
        outcome: Outcome::Delivered,
        packets: std::slice::from_ref(packet),
        flow,
        station,
        ac: Ac::BestEffort,
        rate: Rate::from_mbps(11.0),
        attempts: 1,
        airtime,
        overhead: Time::from_us(300),
        service: airtime,
    }
}

/// The connections' places in the order of their buckets, found by trial: of queues of equal length the first one loses a
/// packet.
fn buckets_in_order() -> Vec<usize> {
    static FOUND: OnceLock<Vec<usize>> = OnceLock::new();
    let find = || {
        let mut left: Vec<usize> = (0..8).collect();
        let mut places = vec![0; 8];
        while left.len() > 1 {
            let scheme = serde_json::from_str(r#"{"name": "fq-codel", "queues": 65536}"#).unwrap();
            let spec = TxQueueSpec { limit_packets: left.len() as u32 - 1, scheme, ..TxQueueSpec::default() };
            let mut tx_queue = TxQueue::new(&spec, 7, "ap");
            let flows = Flows::new(&FlowsSpec::default());
            let view = View { flows: &flows, links: &[] };
            for &n in &left {
                tx_queue.enqueue(
                    Ac::BestEffort,
                    &data(n as u32, 1),
                    FlowId(n as u32),
                    StationId(0),
                    Time::ZERO,
                    || view,
                );
            }
            let kept = queue(&tx_queue);
            let gone = left.iter().position(|n| !kept.contains(&data(*n as u32, 1))).unwrap();
            let gone = left.remove(gone);
            places[gone] = 7 - left.len();
        }
        places[left[0]] = 7;
        places
    };
    FOUND.get_or_init(find).clone()
}

/// Whether transmit queue and lists agree after every step.
pub fn run(
    spec: &serde_json::Value,
    limit: u32,
    shrink: bool,
    steps: Vec<Step>,
) -> Result<(), TestCaseError> {
    // With one queue all flows collide. With many none do: the stream is one in which these eight do not.
    let buckets = if spec["queues"] == 1 { vec![0; 8] } else { buckets_in_order() };
    let scheme: SchemeSpec = serde_json::from_value(spec.clone()).unwrap();
    let tx_queue_spec = TxQueueSpec { limit_packets: limit, scheme, ..TxQueueSpec::default() };
    let written = written(&tx_queue_spec.scheme);
    let mut tx_queue = TxQueue::new(&tx_queue_spec, 7, "ap");
    let mut plain = Plain::new(&written, limit as usize, buckets);
    let filters = written["ack_filter"].as_str().is_some_and(|filter| filter != "off");
    let flows = Flows::new(&FlowsSpec::default());
    let links = links();
    let view = View { flows: &flows, links: &links };
    let mut now: Ns = 1_000_000;
    let mut last_ack = [1_000u32; 8];
    let mut in_service = vec![];
    let mut serial = 0;
    // A first grant tells the transmit queue its category, as it does at an access point before anything is received.
    let first =
        [Step::Ack { connection: 0, more: 0, echo: false }, Step::Take, Step::Finish { airtime_us: 500 }];

    for step in first.into_iter().chain(steps) {
        now += 10_000;
        let at = Time::from_ns(now);
        let mut arrivals = vec![];
        match step {
            Step::Data { connection, packets, capable } => {
                let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
                let packet = data(connection as u32, 1).with_ecn(ecn);
                arrivals = vec![(connection, packet); packets];
            }
            Step::Ack { connection, more, echo } => {
                last_ack[connection] += more;
                let mut packet = ack(connection as u32, last_ack[connection]);
                if echo {
                    packet.flags |= TcpFlags::ECE;
                }
                arrivals.push((connection, packet));
            }
            Step::Take if in_service.is_empty() => {
                let got = tx_queue.dequeue(&Grant::ANY, at, || view).map(DequeuedPacket::from);
                let expected = plain.take(now, &RATES_MBPS);
                prop_assert_eq!(got.as_ref().map(|d| d.packet), expected.map(|item| item.packet));
                prop_assert_eq!(got.as_ref().map(|d| d.enqueued_at.as_ns()), expected.map(|item| item.at));
                prop_assert!(got.is_some() || tx_queue.is_empty(), "it keeps nothing back");
                in_service.extend(got);
            }
            Step::Gather { station, packets, max_bytes } => {
                let only = Some(StationId(station as u16));
                let grant = Grant { station: only, max_bytes, gathers: true, ..Grant::ANY };
                for _ in 0..packets {
                    let got = tx_queue.dequeue(&grant, at, || view).map(DequeuedPacket::from);
                    let expected = plain.gather(station, max_bytes, now, &RATES_MBPS);
                    prop_assert_eq!(got.as_ref().map(|d| d.packet), expected.map(|item| item.packet));
                    let Some(departure) = got else { break };
                    in_service.push(departure);
                }
            }
            Step::Finish { airtime_us } => {
                let Some(departure) = in_service.pop() else { continue };
                let airtime = Time::from_us(airtime_us);
                let told = exchange(&departure.packet, departure.flow, departure.station, airtime);
                tx_queue.complete(&departure, Outcome::Delivered, at, || view, || told);
                plain.in_service -= 1;
                plain.charge(departure.station.index(), airtime.as_ns(), true, now);
            }
            Step::Receive { station, airtime_us, packet } => {
                let packet = &uplink()[packet];
                let (airtime, overhead) = (Time::from_us(airtime_us), Time::ZERO);
                let (flow, to) = (FlowId(9), StationId(station as u16));
                // Of another category first, which is not this transmit queue's to charge.
                for ac in [Ac::Voice, Ac::BestEffort] {
                    let reception = Reception { packet, flow, station: to, ac, airtime, overhead };
                    if tx_queue.hooks().reception {
                        tx_queue.receive(&reception, at, view);
                    }
                }
                plain.charge(station, airtime.as_ns(), false, now);
                if tx_queue.hooks().police {
                    let ac = Ac::BestEffort;
                    let reception = Reception { packet, flow, station: to, ac, airtime, overhead };
                    prop_assert_eq!(
                        tx_queue.police(&reception, at, view),
                        plain.police(station, packet, airtime.as_ns(), now)
                    );
                }
            }
            Step::Wait { ms } => now += ms * 1_000_000,
            Step::Limit { packets } if shrink => {
                tx_queue.set_limit(packets, at);
                plain.limit = packets as usize;
            }
            Step::Take | Step::Limit { .. } => {}
        }
        for (connection, packet) in arrivals {
            serial += 1;
            let packet = Packet { window_bytes: serial, ..packet };
            let station = station_of(connection);
            tx_queue.enqueue(
                Ac::BestEffort,
                &packet,
                FlowId(connection as u32),
                StationId(station as u16),
                at,
                || view,
            );
            plain.arrive(packet, connection, station, now, &RATES_MBPS);
        }
        prop_assert_eq!(queue(&tx_queue), plain.packets());
        prop_assert_eq!(tally(&tx_queue, at), plain.tally);
        if filters {
            for connection in 0..8 {
                let oldest = tx_queue.buffer().oldest_redundant(FlowId(connection));
                let oldest = oldest.map(|slot| tx_queue.buffer()[slot].packet);
                prop_assert_eq!(oldest, plain.oldest_redundant(connection as usize));
            }
        }
        let bytes: u64 = queue(&tx_queue).iter().map(|packet| u64::from(packet.ip_bytes())).sum();
        prop_assert_eq!(tx_queue.buffer().queues().total_bytes(), bytes);
    }
    for ledger in tx_queue.snapshot(Time::from_ns(now + 20_000)).classes {
        let left = [ledger.dequeued, ledger.evicted, ledger.aqm_evicted, ledger.filtered, ledger.queued];
        prop_assert_eq!(ledger.accepted.packets, left.iter().map(|count| count.packets).sum::<u64>());
        prop_assert_eq!(ledger.accepted.bytes, left.iter().map(|count| count.bytes).sum::<u64>());
        prop_assert_eq!(ledger.offered.packets, ledger.accepted.packets + ledger.tail_dropped.packets);
        prop_assert_eq!(ledger.policed.packets, ledger.forwarded().packets + ledger.police_dropped.packets);
    }
    Ok(())
}
