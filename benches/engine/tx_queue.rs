//! Time a packet takes through a transmit queue: 20 flows, half of them uplink (ACKs are queued), half downlink, in the
//! proportions of a busy access point.
//!
//! `roomy`: one packet in, one out, the buffer never full. `full`: two in, one out, so every second arrival finds the
//! buffer full. Both hand the outcome of the frame exchange back. `flows`: the monitor alone.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wifair_core::{
    Ac, ConnectionId, FiveTuple, FlowId, Packet, Rate, SackBlocks, StationId, TCP, TcpFlags, Time,
};
use wifair_queue::{
    DequeuedPacket, Direction, Exchange, Flows, FlowsSpec, Grant, Outcome, SchemeSpec, TxQueue, TxQueueSpec,
    View,
};

const FLOWS: u32 = 20;

/// Even flows are uplink: to the station goes an ACK.
fn packet(n: u32, number: u32) -> Packet {
    let flow = n % FLOWS;
    let tuple = FiveTuple {
        source: 1000 + flow,
        destination: 2000 + flow,
        source_port: 80,
        destination_port: 5000,
        protocol: TCP,
    };
    let payload_bytes = if flow.is_multiple_of(2) { 0 } else { 1460 };
    Packet {
        tuple,
        connection: ConnectionId::NONE,
        seq: number,
        ack: number,
        window_bytes: 65_535,
        payload_bytes,
        header_bytes: 40,
        flags: TcpFlags::ACK,
        ds_field: 0,
        sack: SackBlocks::NONE,
    }
}

struct Bench {
    flows: Flows,
    tx_queue: TxQueue,
    now: Time,
    number: u32,
    arrivals: Vec<Packet>,
}

impl Bench {
    fn new(scheme: &str, queued: u32) -> Bench {
        let scheme: SchemeSpec = serde_json::from_str(scheme).expect("a scheme of the registry");
        let spec = TxQueueSpec { scheme, ..TxQueueSpec::default() };
        let mut flows = Flows::new(&FlowsSpec::default());
        for n in 0..FLOWS {
            let (packet, direction) = (packet(n, 1), Direction::Down);
            flows.observe(&packet, direction, Time::ZERO, |_| false);
            if packet.payload_bytes == 0 {
                let up = Packet { tuple: packet.tuple.reversed(), payload_bytes: 1460, ..packet };
                flows.observe(&up, Direction::Up, Time::ZERO, |_| false);
            }
        }
        // In no regular order, so that branches are as hard to foresee as in life: a fixed congruential sequence.
        let order = (0..4096u32).scan(1u32, |x, _| {
            *x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some(*x >> 16)
        });
        let arrivals = order.map(|n| packet(n, n)).collect();
        let mut bench =
            Bench { flows, tx_queue: TxQueue::new(&spec, 1, "ap"), now: Time::ZERO, number: 0, arrivals };
        for _ in 0..queued {
            bench.offer();
        }
        bench
    }

    #[inline]
    fn offer(&mut self) {
        self.number = self.number.wrapping_add(1);
        self.now += Time::from_us(100);
        let mut packet = self.arrivals[self.number as usize % 4096];
        packet.ack = self.number.wrapping_mul(1460);
        let flow = FlowId((packet.tuple.source - 1000) % FLOWS);
        let view = View { flows: &self.flows, links: &[] };
        self.tx_queue.enqueue(Ac::BestEffort, &packet, flow, StationId(0), self.now, || view);
    }

    #[inline]
    fn serve(&mut self) {
        self.now += Time::from_us(100);
        let view = View { flows: &self.flows, links: &[] };
        let departure = self
            .tx_queue
            .dequeue(&Grant::ANY, self.now, || view)
            .map(DequeuedPacket::from)
            .expect("something is queued");
        let exchange = || Exchange {
            outcome: Outcome::Delivered,
            packets: std::slice::from_ref(&departure.packet),
            flow: departure.flow,
            station: departure.station,
            ac: Ac::BestEffort,
            rate: Rate::from_kbps(11_000),
            attempts: 1,
            airtime: Time::from_us(1000),
            overhead: Time::ZERO,
            service: Time::from_us(1000),
        };
        self.tx_queue.complete(&departure, black_box(Outcome::Delivered), self.now, || view, exchange);
    }
}

const SCHEMES: [&str; 8] = [
    r#"{"name": "droptail"}"#,
    r#"{"name": "ack-filtering"}"#,
    r#"{"name": "spm-af"}"#,
    r#"{"name": "ack-pushout"}"#,
    r#"{"name": "ack-pushout", "redundant": "random"}"#,
    r#"{"name": "adaptive-pushout"}"#,
    r#"{"name": "adaptive-pushout", "redundant": "random"}"#,
    r#"{"name": "adaptive-pushout", "filter": "safe"}"#,
];

fn tx_queues(c: &mut Criterion) {
    let mut group = c.benchmark_group("tx_queue");
    group.throughput(Throughput::Elements(1));
    for scheme in SCHEMES {
        group.bench_function(format!("roomy {scheme}"), |b| {
            let mut bench = Bench::new(scheme, 0);
            b.iter(|| {
                bench.offer();
                bench.serve();
            });
        });
        group.bench_function(format!("full {scheme}"), |b| {
            let mut bench = Bench::new(scheme, 1000);
            b.iter(|| {
                bench.offer();
                bench.offer();
                bench.serve();
            });
        });
    }
    group.finish();
}

fn monitor(c: &mut Criterion) {
    for flows_known in [20u32, 2000] {
        c.bench_function(&format!("flows {flows_known}"), |b| {
            let mut flows = Flows::new(&FlowsSpec::default());
            let mut now = Time::ZERO;
            let mut n = 0u32;
            b.iter(|| {
                n = n.wrapping_add(7);
                now += Time::from_us(300);
                let mut packet = packet(1, n);
                packet.tuple.source = n % flows_known;
                black_box(flows.observe(&packet, Direction::Down, now, |_| false))
            });
        });
    }
}

criterion_group!(benches, tx_queues, monitor);
criterion_main!(benches);
