//! TCP small queues: how much a sender leaves in the queue of its host. The scripts `small-queue-*` have the rules one by one.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;
use wifair_core::{FiveTuple, Packet, TcpFlags, Time};
use wifair_tcp::{Handshake, LossDetectionSpec, PacingSpec, Sender, SmallQueueSpec, TcpSpec};

const MSS: u32 = 1_000;
const IP_BYTES: u32 = 1_040;
const WINDOW: u32 = 1_000 * MSS;

struct Host {
    sender: Sender,
    spec: TcpSpec,
    now: Time,
    /// Segments in its queue: their ends.
    queue: VecDeque<u32>,
    /// Segments on the way: when their ACK comes, and what it acknowledges.
    acks: VecDeque<(Time, u32)>,
    /// Outstanding segments: their ends, and when they were sent.
    sent: VecDeque<(u32, Time)>,
    una: u32,
    max: u32,
    last_packet: u32,
    last_sent: Time,
    least_rtt: Time,
    most_queued: usize,
    /// How often a packet waited, and how often the limit held.
    waits: u32,
    full: u32,
}

impl Host {
    /// A sender that writes without end.
    fn new(spec: TcpSpec) -> Host {
        let spec = TcpSpec { handshake: Handshake::None, mss_bytes: MSS as u16, ..spec };
        spec.validate("tcp").unwrap();
        let mut sender = Sender::new(&Arc::new(spec.clone()), FiveTuple::default());
        sender.open(Time::ZERO);
        sender.write_unlimited();
        Host {
            sender,
            spec,
            now: Time::ZERO,
            queue: VecDeque::new(),
            acks: VecDeque::new(),
            sent: VecDeque::new(),
            una: 1,
            max: 1,
            last_packet: 0,
            last_sent: Time::ZERO,
            least_rtt: Time::MAX,
            most_queued: 0,
            waits: 0,
            full: 0,
        }
    }

    /// Segments that the sender should send now, by the description of the rules in `docs/tcp.md`.
    fn expected(&mut self) -> u32 {
        let limits = self.spec.small_queue.unwrap();
        let rack = matches!(self.spec.loss_detection, LossDetectionSpec::Rack(_));
        let window = self.sender.cwnd_bytes().min(WINDOW);
        let room = window.saturating_sub(self.max - self.una) / MSS;
        if room == 0 {
            return 0;
        }
        let carried = match self.sender.pacing_rate() {
            None => f64::INFINITY,
            Some(rate) => rate as f64 * f64::from(limits.limit_us) * 1e-6,
        };
        let halvings = self.least_rtt.as_ns() / 512_000;
        let near = if rack && halvings < 32 { f64::from(65_536 >> halvings) } else { 0.0 };
        let most = (((carried + near).min(65_536.0) / f64::from(MSS)) as u32).max(2);
        let most = most.min(limits.gso_max_segments);
        if let Some((_, first)) = self.sent.front()
            && rack
        {
            let srtt = self.sender.srtt().unwrap_or(Time::MAX);
            let soon = self.now + Time::from_ms(1).min(Time::from_ns(srtt.as_ns() / 2));
            let little = room < most && f64::from(room * MSS) < f64::from(window / 3);
            let recent = self.now.saturating_sub(self.last_sent) <= Time::from_ms(1);
            if little && recent && srtt != Time::MAX && *first + srtt <= soon {
                self.waits += 1;
                return 0;
            }
        }
        let segments = room.min(most).min((self.sender.cwnd_bytes() / MSS / 2).max(1));
        let memory = self.queue.len() as f64 * f64::from(MSS + 896);
        let limit = carried.max(2.0 * f64::from(segments * MSS + 896));
        let limit = if self.spec.pacing.is_some() { limit } else { limit.min(1_048_576.0) };
        let several = self.una != self.max && self.una < self.last_packet;
        if several && memory >= limit.floor() {
            self.full += 1;
            return 0;
        }
        segments
    }

    /// Polls it dry; each packet is held against the rules, except a tail loss probe.
    fn poll(&mut self) {
        loop {
            assert_eq!(self.sender.queued_bytes(), self.queue.len() as u64 * u64::from(IP_BYTES));
            let (mut expected, start) = (self.expected(), self.max);
            let mut sent = 0;
            loop {
                let probes = self.sender.loss_probes();
                let Some(packet) = self.sender.poll_transmit(self.now).copied() else {
                    let is_paced = self.spec.pacing.is_some() && sent == 0;
                    assert!(expected == 0 || is_paced, "{sent} of {expected} segments at {:?}", self.now);
                    self.most_queued = self.most_queued.max(self.queue.len());
                    return;
                };
                if self.sender.loss_probes() > probes {
                    assert_eq!(sent, 0, "a probe within a packet");
                    expected = 1;
                }
                assert!(sent < expected, "{packet:?} at {:?}, {} queued", self.now, self.queue.len());
                sent += 1;
                let end = packet.seq + packet.payload_bytes;
                self.queue.push_back(end);
                self.last_sent = self.now;
                if packet.seq == self.max {
                    self.max = end;
                    self.sent.push_back((end, self.now));
                } else {
                    self.sent.back_mut().unwrap().1 = self.now; // a probe repeats the last segment
                }
                if sent == expected {
                    break;
                }
            }
            if self.max != start {
                self.last_packet = start;
            }
        }
    }

    /// The queue is served every `service`, the network takes `delay`; runs until `end`. An ACK acknowledges `every` segments.
    fn run(&mut self, service: Time, delay: Time, every: usize, end: Time) {
        let mut served_at = self.now + service;
        self.poll();
        while self.now < end {
            let ack_at = self.acks.get(every - 1).map_or(Time::MAX, |(at, _)| *at);
            self.now = served_at.min(ack_at).min(self.sender.deadline());
            if self.now == served_at {
                served_at += service;
                if let Some(end) = self.queue.pop_front() {
                    self.acks.push_back((self.now + delay, end));
                    if self.sender.on_freed(1, IP_BYTES) {
                        self.poll();
                    }
                }
            } else if self.now == ack_at {
                let (_, ack) = self.acks.drain(..every).next_back().unwrap();
                if ack <= self.una {
                    continue; // of a probe
                }
                while let Some((end, at)) = self.sent.front().copied()
                    && end <= ack
                {
                    self.least_rtt = self.least_rtt.min(self.now - at);
                    self.sent.pop_front();
                }
                self.una = ack;
                let packet = Packet { ack, window_bytes: WINDOW, flags: TcpFlags::ACK, ..Packet::default() };
                self.sender.on_segment(&packet, self.now);
                self.poll();
            } else {
                self.sender.on_timer(self.now);
                self.poll();
            }
        }
    }
}

fn rack() -> TcpSpec {
    TcpSpec {
        sack: Some(Default::default()),
        loss_detection: LossDetectionSpec::Rack(Default::default()),
        ..TcpSpec::default()
    }
}

proptest! {
    /// Whatever the bottleneck, that is the host's own queue here: the sender sends what the rules say, and neither more nor
    /// less, and the bottleneck is never idle for long.
    #[test]
    fn the_rules_hold_and_the_link_stays_busy(
        service_us in 50u64..5_000,
        delay_us in 100u64..30_000,
        (limit_us, gso_max_segments) in (0u32..20_000, prop_oneof![Just(1u32), 2u32..65_535]),
        every in 1usize..3,
        (with_rack, paced) in any::<(bool, bool)>(),
    ) {
        let mut host = Host::new(TcpSpec {
            small_queue: Some(SmallQueueSpec { limit_us, gso_max_segments }),
            pacing: paced.then(PacingSpec::default),
            receiver_window_segments: 1_000,
            ..if with_rack { rack() } else { TcpSpec::default() }
        });
        let (service, delay) = (Time::from_us(service_us), Time::from_us(delay_us));
        host.run(service, delay, every, Time::from_s(5));
        let acked = host.sender.stats().payload_bytes_acked;
        host.run(service, delay, every, Time::from_s(10));
        let rate = (host.sender.stats().payload_bytes_acked - acked) as f64 / 5.0;
        let capacity = f64::from(MSS) / service.as_secs_f64();
        prop_assert!(rate > 0.95 * capacity, "{rate} of {capacity} bytes/s");
    }
}

/// By hand: a link of 1,000 segments per second and 20 ms, in congestion avoidance. The window of a sender that passes single
/// segments down grows to 29 segments: the rate of 120 % of 29 segments in 26 ms carries 10,456 bytes in 7.8 ms, which are 5.5
/// segments of 1,896 bytes of memory, so 6 are queued, and the RTT is 26 ms. With packets of M segments up to
/// 2 (M + 0.9) / 1.9 are queued when M more follow: the window grows to 73 segments in 39 ms, M is 17, and 18 + 17 are queued.
/// Without a limit the window waits in the queue.
#[test]
fn the_network_takes_all_but_some_milliseconds() {
    let run = |limit_us, gso_max_segments| {
        let small_queue = Some(SmallQueueSpec { limit_us, gso_max_segments });
        let spec = TcpSpec { receiver_window_segments: 1_000, initial_ssthresh_segments: Some(8), ..rack() };
        let mut host = Host::new(TcpSpec { small_queue, ..spec });
        for seconds in [19, 20] {
            host.most_queued = 0;
            host.run(Time::from_ms(1), Time::from_ms(20), 1, Time::from_s(seconds));
        }
        (host.sender.cwnd_bytes() / MSS, host.most_queued)
    };
    assert_eq!(run(7_812, 1), (29, 6));
    assert_eq!(run(7_812, 65_535), (73, 35));
    let (cwnd, queued) = run(1_000_000, 65_535);
    assert!(cwnd > 100 && queued > cwnd as usize - 30, "a window of {cwnd}, {queued} queued");
}

/// The test above exercises all rules.
#[test]
fn packets_wait_and_the_limit_holds() {
    let small_queue = Some(SmallQueueSpec::default());
    let mut host = Host::new(TcpSpec { small_queue, receiver_window_segments: 1_000, ..rack() });
    host.run(Time::from_us(300), Time::from_ms(20), 2, Time::from_s(10));
    assert!(host.waits > 10 && host.full > 10, "{} and {}", host.waits, host.full);
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
        sender.on_freed(2, 2 * IP_BYTES);
        let packet = Packet { ack, window_bytes: WINDOW, flags: TcpFlags::ACK, ..Packet::default() };
        sender.on_segment(&packet, now + Time::from_ms(5));
        assert_eq!(sender.cwnd_bytes(), 3 * MSS, "round {round}");
    }
    assert_eq!(sender.stats().payload_bytes_acked, 40 * u64::from(MSS));
}
