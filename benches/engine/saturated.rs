//! Saturated uplink of `n` stations, 802.11b, tail drop: time of a frame exchange, this crate and the transmit queues alone.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use wifair_core::{FiveTuple, Packet, SackBlocks, StationId, TCP, TcpFlags, Time};
use wifair_wlan::{Bss, BssSpec, Node, Output, StationSpec};

const EXCHANGES: u64 = 10_000;

fn packet(station: u16) -> Packet {
    Packet {
        connection: Default::default(),
        tuple: FiveTuple {
            source: 1 + u32::from(station),
            destination: 0x0a00_0001,
            source_port: 1_000,
            destination_port: 80,
            protocol: TCP,
        },
        seq: 0,
        ack: 0,
        window_bytes: 65_535,
        payload_bytes: 1_460,
        header_bytes: 40,
        flags: TcpFlags::ACK,
        ds_field: 0,
        sack: SackBlocks::NONE,
    }
}

/// A BSS in which every station has something to send.
struct Saturated {
    bss: Bss,
    now: Time,
}

impl Saturated {
    fn new(stations: u16) -> Saturated {
        let specs = (0..stations).map(|i| StationSpec::new(format!("sta-{i}"), 11.0)).collect();
        let mut spec = BssSpec::new(specs);
        spec.mac.retry_limit_short = 1_000_000; // no frame is lost, so a delivery refills exactly
        let mut bss = Bss::new(&spec, 1).unwrap();
        // The stations join one after the other, as if they had been there for long: no collision of them all.
        let mut now = Time::ZERO;
        for station in 0..stations {
            now = Time::from_us(100 * u64::from(station));
            while bss.next_event() < now {
                let event = bss.next_event();
                bss.advance(event);
            }
            for _ in 0..2 {
                bss.send_up(StationId(station), &packet(station), now);
            }
        }
        let mut saturated = Saturated { bss, now };
        saturated.run(EXCHANGES);
        saturated
    }

    /// Three events are an exchange.
    fn run(&mut self, exchanges: u64) {
        for _ in 0..3 * exchanges {
            self.now = self.bss.next_event();
            if let Some(Output::Delivery(delivery)) = self.bss.advance(self.now) {
                debug_assert_eq!(delivery.to, Node::Ap);
                let station = delivery.packet.tuple.source as u16 - 1;
                self.bss.send_up(StationId(station), &packet(station), self.now);
            }
        }
    }
}

fn saturated(c: &mut Criterion) {
    let mut group = c.benchmark_group("saturated uplink");
    group.throughput(Throughput::Elements(EXCHANGES));
    for stations in [2, 20, 100, 1_000, 10_000] {
        let mut saturated = Saturated::new(stations);
        group.bench_function(BenchmarkId::from_parameter(stations), |b| {
            b.iter(|| black_box(&mut saturated).run(EXCHANGES));
        });
    }
    group.finish();
}

/// With `WIFAIR_COUNT=<stations>,<exchanges>` one plain run instead, for a counter of instructions around it.
fn count(arguments: &str) {
    let (stations, exchanges) = arguments.split_once(',').expect("WIFAIR_COUNT=stations,exchanges");
    let mut saturated = Saturated::new(stations.parse().expect("stations"));
    let before = saturated.bss.snapshot(saturated.now);
    saturated.run(exchanges.parse().expect("exchanges"));
    let run = saturated.bss.snapshot(saturated.now).since(&before);
    println!("{} exchanges, {} of them collisions", run.exchanges, run.collisions);
}

criterion_group!(benches, saturated);

fn main() {
    match std::env::var("WIFAIR_COUNT") {
        Ok(arguments) => count(&arguments),
        Err(_) => {
            benches();
            Criterion::default().configure_from_args().final_summary();
        }
    }
}
