//! TCP small queues: how much a sender leaves in the queue of its host.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;
use wifair_core::{FiveTuple, Packet, TcpFlags, Time};
use wifair_tcp::{Handshake, PacingSpec, Sender, SmallQueueSpec, TcpSpec};

const MSS: u32 = 1_000;
const IP_BYTES: u64 = 1_040;

struct Host {
    sender: Sender,
    now: Time,
    /// Segments in its queue: their ends.
    queue: VecDeque<u32>,
    /// Segments on the way: when their ACK comes, and what it acknowledges.
    acks: VecDeque<(Time, u32)>,
    most_queued: u64,
}

impl Host {
    /// A sender that writes without end.
    fn new(spec: TcpSpec) -> Host {
        let spec = TcpSpec { handshake: Handshake::None, mss_bytes: MSS as u16, ..spec };
        spec.validate("tcp").unwrap();
        let mut sender = Sender::new(&Arc::new(spec), FiveTuple::default());
        sender.open(Time::ZERO);
        sender.write_unlimited();
        let (queue, acks) = (VecDeque::new(), VecDeque::new());
        Host { sender, now: Time::ZERO, queue, acks, most_queued: 0 }
    }

    /// Polls it dry; each segment is held against the rule.
    fn poll(&mut self, limit: &SmallQueueSpec) {
        loop {
            let (outstanding, queued) = (self.sender.flight_bytes(), self.sender.queued_bytes());
            let rate = self.sender.pacing_rate();
            assert_eq!(queued, self.queue.len() as u64 * IP_BYTES);
            let Some(packet) = self.sender.poll_transmit(self.now).copied() else { break };
            if let Some(rate) = rate.filter(|_| outstanding > MSS) {
                let carried = rate as f64 * f64::from(limit.limit_us) * 1e-6;
                let least = f64::from(limit.limit_segments) * IP_BYTES as f64;
                assert!((queued as f64) < carried.max(least), "{queued} bytes queued at {rate} bytes/s");
            }
            self.queue.push_back(packet.seq + packet.payload_bytes);
        }
        self.most_queued = self.most_queued.max(self.sender.queued_bytes());
    }

    /// The queue is served every `service`, the network takes `delay`; runs until `end`.
    fn run(&mut self, service: Time, delay: Time, end: Time, limit: &SmallQueueSpec) {
        let mut served_at = self.now + service;
        self.poll(limit);
        while self.now < end {
            let ack_at = self.acks.front().map_or(Time::MAX, |(at, _)| *at);
            self.now = served_at.min(ack_at).min(self.sender.deadline());
            if self.now == served_at {
                served_at += service;
                if let Some(end) = self.queue.pop_front() {
                    self.sender.on_freed(IP_BYTES as u32);
                    self.acks.push_back((self.now + delay, end));
                }
            } else if self.now == ack_at {
                let (_, ack) = self.acks.pop_front().unwrap();
                let window_bytes = 1_000 * MSS;
                let packet = Packet { ack, window_bytes, flags: TcpFlags::ACK, ..Packet::default() };
                self.sender.on_segment(&packet, self.now);
            } else {
                self.sender.on_timer(self.now);
            }
            self.poll(limit);
        }
    }
}

proptest! {
    /// Whatever the bottleneck, that is the host's own queue here: the limit holds, and the bottleneck is never idle for long.
    #[test]
    fn the_limit_holds_and_the_link_stays_busy(
        service_us in 50u64..5_000,
        delay_us in 100u64..30_000,
        (limit_us, limit_segments) in (0u32..20_000, 2u32..8),
        paced: bool,
    ) {
        let limit = SmallQueueSpec { limit_us, limit_segments };
        let mut host = Host::new(TcpSpec {
            small_queue: Some(limit),
            pacing: paced.then(PacingSpec::default),
            receiver_window_segments: 1_000,
            ..TcpSpec::default()
        });
        let (service, delay) = (Time::from_us(service_us), Time::from_us(delay_us));
        host.run(service, delay, Time::from_s(5), &limit);
        let acked = host.sender.stats().payload_bytes_acked;
        host.run(service, delay, Time::from_s(10), &limit);
        let rate = (host.sender.stats().payload_bytes_acked - acked) as f64 / 5.0;
        let capacity = f64::from(MSS) / service.as_secs_f64();
        prop_assert!(rate > 0.95 * capacity, "{rate} of {capacity} bytes/s");
    }
}

/// By hand: a link of 1,000 segments per second and 20 ms. In congestion avoidance 120 % of that for 7.8 ms are queued, and
/// two or three segments more for a window that grows a little beyond its use. In slow start the window grows to twice what is
/// outstanding at a time, and the smoothed RTT follows late. Without a limit the window waits in the queue.
#[test]
fn the_network_takes_all_but_some_milliseconds() {
    let queued = |initial_ssthresh_segments, limit: SmallQueueSpec| {
        let mut host = Host::new(TcpSpec {
            small_queue: Some(limit),
            receiver_window_segments: 1_000,
            initial_ssthresh_segments,
            ..TcpSpec::default()
        });
        host.run(Time::from_ms(1), Time::from_ms(20), Time::from_s(20), &limit);
        host.most_queued / IP_BYTES
    };
    let [avoidance, slow_start] = [Some(8), None].map(|ssthresh| queued(ssthresh, SmallQueueSpec::default()));
    assert!((9..=13).contains(&avoidance), "{avoidance} segments");
    assert!((28..=150).contains(&slow_start), "{slow_start} segments");
    let without = queued(None, SmallQueueSpec { limit_us: 1_000_000, limit_segments: 1_000 });
    assert!(without > 900, "{without} segments");
}

/// A window at its threshold is in congestion avoidance: an application that leaves a third of it unused keeps it as it is.
#[test]
fn an_unused_window_at_its_threshold_stays() {
    let spec = TcpSpec {
        initial_window_segments: Some(3),
        initial_ssthresh_segments: Some(3),
        small_queue: Some(SmallQueueSpec::default()),
        handshake: Handshake::None,
        mss_bytes: MSS as u16,
        ..TcpSpec::default()
    };
    let mut sender = Sender::new(&Arc::new(spec), FiveTuple::default());
    sender.open(Time::ZERO);
    for round in 0..20 {
        let now = Time::from_ms(10 * round);
        sender.write(2 * u64::from(MSS));
        let mut ack = 0;
        while let Some(packet) = sender.poll_transmit(now) {
            ack = packet.seq + packet.payload_bytes;
        }
        sender.on_freed(2 * IP_BYTES as u32);
        let packet = Packet { ack, window_bytes: 1_000 * MSS, flags: TcpFlags::ACK, ..Packet::default() };
        sender.on_segment(&packet, now + Time::from_ms(5));
        assert_eq!(sender.cwnd_bytes(), 3 * MSS, "round {round}");
    }
    assert_eq!(sender.stats().payload_bytes_acked, 40 * u64::from(MSS));
}
