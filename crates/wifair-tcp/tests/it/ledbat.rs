//! `ledbat` at a bottleneck of fixed rate: what RFC 6817 promises of it, alone and in company.

use std::sync::Arc;

use wifair_core::{FiveTuple, Packet, Rate, Time};
use wifair_tcp::{LossDetectionSpec, RackSpec, RttSamples, Sender, TcpSpec};

use crate::network::{Arrivals, End, Network, Path};

const RATE: Rate = Rate::from_kbps(20_000);
/// One way.
const DELAY: Time = Time::from_ms(20);

/// A FIFO queue with tail drop.
struct Bottleneck {
    limit_packets: u64,
    free_at: Time,
    drops: u64,
    /// Time of each arrival and the queueing delay that it found, in seconds.
    delays: Vec<(Time, f64)>,
}

impl Path for Bottleneck {
    fn send(&mut self, _: usize, from: End, packet: &Packet, now: Time) -> Arrivals {
        if from == End::Receiver {
            return [Some(now + DELAY), None];
        }
        let delay = self.free_at.saturating_sub(now);
        self.delays.push((now, delay.as_secs_f64()));
        if delay / RATE.duration_of(1_500) >= self.limit_packets {
            self.drops += 1;
            return [None, None];
        }
        self.free_at = self.free_at.max(now) + RATE.duration_of(u64::from(packet.ip_bytes()));
        [Some(self.free_at + DELAY), None]
    }
}

fn spec(control: serde_json::Value) -> TcpSpec {
    let control = serde_json::from_value(control).unwrap();
    TcpSpec { congestion_control: control, receiver_window_segments: 1_000, ..TcpSpec::default() }
}

fn ledbat(target_ms: u32) -> TcpSpec {
    spec(serde_json::json!({ "name": "ledbat", "target_ms": target_ms }))
}

/// One connection of each of the specs.
fn network(specs: &[TcpSpec], limit_packets: u64) -> Network<Bottleneck> {
    let path = Bottleneck { limit_packets, free_at: Time::ZERO, drops: 0, delays: vec![] };
    let mut network = Network::new(&specs[0], specs.len(), path);
    for (flow, spec) in specs.iter().enumerate() {
        let tuple = FiveTuple { source_port: flow as u16, ..FiveTuple::default() };
        network.connections[flow].sender = Sender::new(&Arc::new(spec.clone()), tuple);
    }
    network
}

/// Shares of the capacity from now until `end`.
fn shares(network: &mut Network<Bottleneck>, end: Time) -> Vec<f64> {
    let delivered = |network: &Network<Bottleneck>| -> Vec<u64> {
        network.connections.iter().map(|c| c.receiver.stats().payload_bytes_delivered).collect()
    };
    let (start, before) = (network.now, delivered(network));
    network.run(end);
    let capacity = RATE.as_mbps() * 1e6 / 8.0 * 1460.0 / 1500.0 * (end - start).as_secs_f64();
    delivered(network).iter().zip(before).map(|(after, before)| (after - before) as f64 / capacity).collect()
}

/// Section 2.1: it uses the path, and the queueing delay is the target.
#[test]
fn alone_it_fills_the_path_and_the_queue_stands_at_the_target() {
    for target_ms in [10, 25, 60, 100] {
        let mut every_ack = ledbat(target_ms);
        every_ack.sack = Some(Default::default());
        every_ack.loss_detection = LossDetectionSpec::Rack(RackSpec::default());
        every_ack.rto.samples = RttSamples::EveryAck;
        for spec in [ledbat(target_ms), every_ack] {
            let samples = spec.rto.samples;
            let mut network = network(&[spec], 1_000);
            network.start(0, u64::MAX);
            network.run(Time::from_s(240));
            network.path.delays.clear();
            let share = shares(&mut network, Time::from_s(300))[0];
            let delays = &network.path.delays;
            let mean_ms = 1e3 * delays.iter().map(|(_, delay)| delay).sum::<f64>() / delays.len() as f64;
            println!("target {target_ms} ms, {samples:?}: {share:.4} of the capacity, delay {mean_ms:.2} ms");
            assert_eq!(network.path.drops, 0);
            assert!(share > 0.99, "target {target_ms} ms, {samples:?}: {share} of the capacity");
            // A round trip also has the transmission of the second segment that a delayed ACK waits for.
            let target = f64::from(target_ms);
            let near = 0.95 * target - 1.0..=target;
            assert!(near.contains(&mean_ms), "target {target_ms} ms, {samples:?}: a delay of {mean_ms} ms");
        }
    }
}

/// Section 2.1: it yields to a flow that fills a buffer beyond the target, and takes the path again afterwards.
#[test]
fn it_yields_to_newreno_and_returns() {
    let newreno = TcpSpec { receiver_window_segments: 1_000, ..TcpSpec::default() };
    let mut network = network(&[ledbat(25), newreno], 150);
    network.start(0, u64::MAX);
    network.run(Time::from_s(20));
    network.start(1, 200_000_000);
    network.run(Time::from_s(30));
    let together = shares(&mut network, Time::from_s(80));
    assert!(!network.connections[1].sender.is_closed(), "the transfer has ended within the measured time");
    network.run(Time::from_s(120));
    assert!(network.connections[1].sender.is_closed(), "the transfer goes on");
    let alone = shares(&mut network, Time::from_s(180));
    println!("with NewReno {together:.3?}, then {alone:.3?}");
    assert!(together[0] < 0.05, "{together:?}");
    assert!(together[1] > 0.93, "{together:?}");
    assert!(alone[0] > 0.98, "{alone:?}");
}

/// Section 2.4.2 and 2.5 (GAIN): where a queue never reaches the target, it is no more aggressive than standard TCP.
#[test]
fn with_a_buffer_below_the_target_it_takes_no_more_than_newreno() {
    let newreno = TcpSpec { receiver_window_segments: 1_000, ..TcpSpec::default() };
    let mut network = network(&[ledbat(100), newreno], 40);
    (0..2).for_each(|flow| network.start(flow, u64::MAX));
    network.run(Time::from_s(60));
    let shares = shares(&mut network, Time::from_s(360));
    println!("{shares:.3?}");
    assert!(shares[0] < 1.1 * shares[1], "{shares:?}");
    assert!(shares.iter().sum::<f64>() > 0.9, "{shares:?}");
}
