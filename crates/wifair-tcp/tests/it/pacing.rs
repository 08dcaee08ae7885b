//! Pacing: never faster than the rate, and nothing else changes.

use std::sync::Arc;

use proptest::prelude::*;
use wifair_core::{FiveTuple, Packet, SackBlocks, TcpFlags, Time};
use wifair_tcp::{Handshake, LossDetectionSpec, PacingSpec, RackSpec, Sender, TcpSpec};

use crate::network::{Arrivals, End, Network, Path};

/// A segment that has left: when, its payload, and the rate in bytes per second.
type Left = (Time, u64, u64);

/// Bytes that may leave at once at `rate`, by the description of [`PacingSpec`].
fn burst(spec: &PacingSpec, rate: u64, mss: u64) -> u64 {
    let carried = (rate as f64 * f64::from(spec.burst_us) * 1e-6).min(65_536.0);
    ((carried / mss as f64) as u64).max(u64::from(spec.burst_segments)) * mss
}

proptest! {
    /// Whatever the ACKs say: between any two segments no more leaves than the highest rate allows, and a burst.
    #[test]
    fn never_faster_than_the_rate(
        rack: bool,
        (mss, unpaced, burst_us, burst_segments) in (100u16..1500, 0u32..20, 0u32..5_000, 1u32..5),
        (slow_start_percent, avoidance_percent) in (100u32..300, 100u32..300),
        ssthresh in prop::option::of(2u32..60),
        steps in prop::collection::vec((0u8..16, 0u32..40, 1u64..60_000), 1..150),
    ) {
        let pacing = PacingSpec {
            slow_start_percent, avoidance_percent, unpaced_segments: unpaced, burst_us, burst_segments,
        };
        let mut spec = TcpSpec {
            pacing: Some(pacing),
            mss_bytes: mss,
            handshake: Handshake::None,
            initial_window_segments: Some(10),
            initial_ssthresh_segments: ssthresh,
            ..TcpSpec::default()
        };
        if rack {
            spec.sack = Some(Default::default());
            spec.loss_detection = LossDetectionSpec::Rack(RackSpec::default());
        }
        let mss = u32::from(mss);
        let mut sender = Sender::new(&Arc::new(spec), FiveTuple::default());
        let (mut now, mut una, mut max) = (Time::ZERO, 1u32, 1u32);
        let mut left: Vec<Left> = vec![];
        let mut segments = 0;
        sender.open(now);
        sender.write_unlimited();
        let mut poll = |sender: &mut Sender, now: Time, max: &mut u32| {
            while let Some(packet) = sender.poll_transmit(now).copied() {
                *max = (*max).max(packet.seq + packet.payload_bytes);
                segments += 1;
                match sender.pacing_rate() {
                    Some(rate) if segments >= unpaced.max(1) => {
                        left.push((now, u64::from(packet.payload_bytes), rate));
                    }
                    _ => left.clear(),
                }
            }
        };
        poll(&mut sender, now, &mut max);
        for (what, number, us) in steps {
            let until = now + Time::from_us(us);
            while sender.deadline() <= until {
                now = sender.deadline();
                sender.on_timer(now);
                poll(&mut sender, now, &mut max);
                prop_assert!(sender.deadline() > now, "a timer stays due");
            }
            now = until;
            let outstanding = (max - una) / mss;
            let ack = una + if what < 12 { number % (outstanding + 1) * mss } else { 0 };
            let start = ack + (1 + number % 3) * mss;
            let told = [(start, start + mss)];
            let blocks: &[(u32, u32)] = if rack && what > 8 && start + mss <= max { &told } else { &[] };
            let packet = Packet {
                ack,
                window_bytes: 42 * mss,
                flags: TcpFlags::ACK,
                sack: SackBlocks::new(ack, blocks),
                ..Packet::default()
            };
            una = una.max(ack);
            sender.on_segment(&packet, now);
            poll(&mut sender, now, &mut max);
        }
        for (first, &(from, ..)) in left.iter().enumerate() {
            let (mut bytes, mut rate) = (0, 0);
            for &(at, payload, at_rate) in &left[first..] {
                bytes += payload;
                rate = rate.max(at_rate);
                let allowed = rate as f64 * (at - from).as_secs_f64() + 1e-6;
                let burst = burst(&pacing, rate, u64::from(mss));
                prop_assert!(bytes as f64 <= allowed + burst as f64, "{bytes} bytes from {from} to {at} at {rate}");
            }
        }
    }
}

/// A fixed delay and no bottleneck.
struct Delay {
    sent: Vec<Time>,
}

impl Path for Delay {
    fn send(&mut self, _: usize, from: End, packet: &Packet, now: Time) -> Arrivals {
        if from == End::Sender && packet.payload_bytes > 0 {
            self.sent.push(now);
        }
        [Some(now + Time::from_ms(20)), None]
    }
}

/// The window alone limits a flow, paced or not, so both are equally fast; the paced one sends evenly.
#[test]
fn a_window_leaves_evenly() {
    let run = |pacing| {
        let spec = TcpSpec {
            pacing,
            receiver_window_segments: 40,
            initial_ssthresh_segments: Some(20),
            ..TcpSpec::default()
        };
        let mut network = Network::new(&spec, 1, Delay { sent: vec![] });
        network.start(0, u64::MAX);
        network.run(Time::from_s(20));
        let delivered = network.connections[0].receiver.stats().payload_bytes_delivered;
        let late = network.path.sent.iter().filter(|at| **at >= Time::from_s(10));
        let gaps: Vec<u64> = late.clone().zip(late.skip(1)).map(|(a, b)| (*b - *a).as_ns()).collect();
        (delivered as f64, gaps.iter().filter(|gap| **gap > 0).count() as f64 / gaps.len() as f64)
    };
    let (plain, plain_bursts) = run(None);
    let (paced, paced_bursts) = run(Some(PacingSpec::default()));
    assert!((paced / plain - 1.0).abs() < 0.02, "{paced} bytes, {plain} without");
    assert!(
        paced_bursts > 0.4 && plain_bursts < 0.3,
        "bursts per segment: {paced_bursts}, {plain_bursts} without"
    );
}
