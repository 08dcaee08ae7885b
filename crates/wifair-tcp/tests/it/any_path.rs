//! Whatever the network loses, repeats and reorders, in both directions: every byte arrives once and in order, the
//! connection closes, and the invariants of both ends hold at every instant.

use crate::network;
use crate::stream;

use network::{Arrivals, End, Network, Path};
use proptest::prelude::*;
use stream::Arrived;
use wifair_core::{ConnectionId, Ecn, Packet, Rate, SackBlocks, TcpFlags, Time};
use wifair_tcp::{
    ByteCountingSpec, CongestionControlSpec, Handshake, LossDetectionSpec, PacingSpec, RackSpec, Receiver,
    RttSamples, SackSpec, Sender, TcpSpec,
};

/// What happens to one packet; delays in milliseconds, so that packets overtake each other.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Delivered(u64),
    Repeated(u64, u64),
    Lost,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => (1u64..60).prop_map(Fate::Delivered),
        1 => (1u64..300).prop_map(Fate::Delivered),
        1 => ((1u64..60), (1u64..300)).prop_map(|(first, second)| Fate::Repeated(first, second)),
        2 => Just(Fate::Lost),
    ]
}

fn spec() -> impl Strategy<Value = TcpSpec> {
    let unusual = [
        r#"{"name":"reno","guard_after_timeout":false}"#,
        r#"{"name":"newreno","timer":"every-partial-ack","exit_window":"ssthresh"}"#,
        r#"{"name":"cubic","c":10,"beta":0.3,"fast_convergence":false,"reno_friendly":false}"#,
        r#"{"name":"arf-aware","over":{"name":"cubic"},"restore":"slow-start"}"#,
        r#"{"name":"arf-aware","window":{"name":"own","growth":"capped"},"polling":{"period_ms":70}}"#,
        r#"{"name":"cubic","slow_start":{"name":"hystart","low_window_segments":2},"least_growth_percent":5}"#,
        r#"{"name":"cubic","slow_start":{"name":"hystart++"}}"#,
        r#"{"name":"arf-aware","over":{"name":"cubic","slow_start":{"name":"hystart","low_window_segments":2}}}"#,
    ];
    let unusual = unusual.map(|json| serde_json::from_str(json).unwrap());
    let control = prop::sample::select([CongestionControlSpec::all(), unusual.to_vec()].concat());
    let ssthresh = prop::option::of(1u32..30);
    let handshake = prop_oneof![Just(Handshake::Real), Just(Handshake::None), Just(Handshake::Ns2)];
    (
        control,
        1u16..2000,
        1u32..60,
        prop::option::of(1u32..12),
        ssthresh,
        1u8..4,
        any::<bool>(),
        handshake,
        any::<u32>(),
        (
            prop::option::of((1u32..60, 1u32..60, any::<bool>())),
            any::<bool>(),
            prop::option::of((1u8..=3, any::<bool>())),
            prop::option::of((any::<bool>(), any::<bool>(), any::<bool>())),
            prop::option::of((100u32..300, 0u32..20, 0u32..5_000, 1u32..4)),
        ),
    )
        .prop_map(
            |(
                control,
                mss,
                window,
                initial,
                ssthresh,
                segments,
                limited,
                handshake,
                isn,
                (counting, ecn, sack, rack, pacing),
            )| {
                let mut spec = TcpSpec {
                    congestion_control: control,
                    mss_bytes: mss,
                    receiver_window_segments: window,
                    initial_window_segments: initial,
                    initial_ssthresh_segments: ssthresh,
                    byte_counting: counting.map(
                        |(limit_segments, limit_after_timeout_segments, segment_by_segment)| {
                            ByteCountingSpec {
                                limit_segments,
                                limit_after_timeout_segments,
                                segment_by_segment,
                            }
                        },
                    ),
                    limited_transmit: limited,
                    ecn,
                    sack: sack.map(|(blocks, duplicates)| SackSpec { blocks, duplicates }),
                    loss_detection: match rack.filter(|_| sack.is_some()) {
                        None => LossDetectionSpec::default(),
                        Some((tail_loss_probe, proportional_rate_reduction, _)) => {
                            LossDetectionSpec::Rack(RackSpec {
                                tail_loss_probe,
                                proportional_rate_reduction,
                                ..RackSpec::default()
                            })
                        }
                    },
                    pacing: pacing.map(|(percent, unpaced_segments, burst_us, burst_segments)| PacingSpec {
                        slow_start_percent: percent,
                        avoidance_percent: percent,
                        unpaced_segments,
                        burst_us,
                        burst_segments,
                    }),
                    handshake,
                    initial_sequence: isn,
                    ..TcpSpec::default()
                };
                spec.delayed_ack.segments = segments;
                spec.delayed_ack.syn = handshake == Handshake::Ns2 && segments == 3;
                spec.rto.min_ms = 200;
                if spec.congestion_control.needs_rack() {
                    spec.sack.get_or_insert_default();
                    if spec.loss_detection == LossDetectionSpec::default() {
                        spec.loss_detection = LossDetectionSpec::Rack(RackSpec::default());
                    }
                }
                if spec.congestion_control.needs_rate_samples() {
                    spec.pacing = None;
                }
                if spec.loss_detection != LossDetectionSpec::default()
                    && rack.is_some_and(|(.., every)| every)
                {
                    spec.rto.samples = RttSamples::EveryAck;
                }
                spec
            },
        )
}

/// Gives the first packets of each direction their fates and delivers the rest, and keeps an own, plain account of
/// what has arrived, against which both ends are held.
struct AnyPath {
    spec: TcpSpec,
    bytes: u64,
    fates: [Vec<Fate>; 2],
    next: [usize; 2],
    /// Payload that reached the receiver.
    arrived: Arrived,
    acked: u64,
    sent_up_to: u64,
    delivered: u64,
    link_period: u64,
    markable: u64,
    /// Everything that was sent, with sequence numbers relative to the initial one.
    log: Vec<(Time, End, u32, u32, u32, TcpFlags)>,
}

impl AnyPath {
    /// Offset of a sequence number; transfers in these tests are shorter than 2³¹ bytes.
    fn offset(&self, seq: u32) -> u64 {
        u64::from(seq.wrapping_sub(self.spec.initial_sequence).wrapping_sub(1))
    }
}

impl Path for AnyPath {
    fn send(&mut self, _: usize, from: End, packet: &Packet, now: Time) -> Arrivals {
        let isn = self.spec.initial_sequence;
        let ack = if packet.flags.contains(TcpFlags::ACK) { packet.ack.wrapping_sub(isn) } else { 0 };
        self.log.push((now, from, packet.seq.wrapping_sub(isn), ack, packet.payload_bytes, packet.flags));
        if from == End::Sender && packet.payload_bytes > 0 {
            let end = self.offset(packet.seq) + u64::from(packet.payload_bytes);
            assert!(end <= self.bytes, "sends what was never written");
            assert!(packet.payload_bytes <= u32::from(self.spec.mss_bytes));
            let fin = u64::from(packet.flags.contains(TcpFlags::FIN));
            let ect = if self.spec.ecn && end > self.sent_up_to { Ecn::Ect0 } else { Ecn::NotEct };
            assert_eq!(packet.ecn(), ect, "new data alone is ECN-capable");
            assert!(ect == Ecn::Ect0 || !packet.flags.contains(TcpFlags::CWR), "CWR on what is sent again");
            let window = u64::from(self.spec.receiver_window_bytes());
            assert!(end + fin - self.acked.min(end) <= window, "more in flight than the receiver's window");
            self.sent_up_to = self.sent_up_to.max(end);
        }
        if packet.payload_bytes == 0 {
            assert_eq!(packet.ds_field, 0, "a packet without data is marked");
        }
        if from == End::Receiver {
            // An ACK says exactly how far the data goes, the FIN apart.
            let acked = self.offset(packet.ack);
            assert!(acked == self.arrived.prefix() || acked == self.bytes + 1, "acknowledges {acked}");
            let duplicate = packet.sack.duplicate(packet.ack);
            assert!(self.spec.sack.is_some_and(|sack| sack.duplicates) || duplicate.is_none());
            for (start, end) in packet.sack.iter(packet.ack) {
                let (start, end) = (self.offset(start), self.offset(end));
                assert!(start < end && self.arrived.holds(start, end), "tells of {start}..{end}");
                assert!(start > acked || duplicate.is_some(), "tells of what is acknowledged");
            }
        }
        let index = &mut self.next[from as usize];
        let fate = self.fates[from as usize].get(*index).copied().unwrap_or(Fate::Delivered(10));
        *index += 1;
        let after = |ms| Some(now + Time::from_ms(ms));
        match fate {
            Fate::Delivered(ms) => [after(ms), None],
            Fate::Repeated(first, second) => [after(first), after(second)],
            Fate::Lost => [None, None],
        }
    }

    /// Every seventh packet that may be marked is.
    fn pass(&mut self, packet: Packet) -> Packet {
        if packet.ecn() == Ecn::NotEct {
            return packet;
        }
        self.markable += 1;
        if self.markable.is_multiple_of(7) { packet.with_ecn(Ecn::Ce) } else { packet }
    }

    fn arriving(&mut self, end: End, packet: &Packet) {
        if end == End::Receiver && packet.payload_bytes > 0 {
            let start = self.offset(packet.seq);
            let end = start + u64::from(packet.payload_bytes);
            self.arrived.insert(start, end);
        }
        if end == End::Sender && packet.ack.wrapping_sub(self.spec.initial_sequence) > 0 {
            self.acked = self.acked.max(self.offset(packet.ack));
        }
    }

    /// A link that changes its rate every 64 ms.
    fn link_rate(&mut self, now: Time) -> Option<Rate> {
        let period = now.as_ns() >> 26;
        (period != std::mem::replace(&mut self.link_period, period)).then(|| {
            let index = period.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 62;
            Rate::from_kbps([1_000, 2_000, 5_500, 11_000][index as usize])
        })
    }

    fn observe(&mut self, sender: &Sender, receiver: &Receiver) {
        let delivered = receiver.stats().payload_bytes_delivered;
        assert_eq!(delivered, self.arrived.prefix(), "delivered is not what has arrived in order");
        assert!(delivered >= self.delivered && delivered <= self.bytes);
        self.delivered = delivered;
        assert!(sender.cwnd_bytes() >= u32::from(self.spec.mss_bytes), "cwnd below a segment");
        assert!(sender.ssthresh_bytes() >= u32::from(self.spec.mss_bytes));
        assert!(sender.stats().payload_bytes_acked <= delivered, "acknowledged before it was delivered");
        let idle = sender.flight_bytes() == 0 && sender.is_all_acknowledged();
        assert!(
            idle || sender.is_closed() || sender.deadline() != Time::MAX,
            "outstanding data without a timer"
        );
    }
}

/// Runs a whole transfer and returns what it did.
fn transfer(spec: &TcpSpec, bytes: u64, fates: [Vec<Fate>; 2]) -> AnyPath {
    let path = AnyPath {
        spec: spec.clone(),
        bytes,
        fates,
        next: [0; 2],
        arrived: Arrived::default(),
        acked: 0,
        sent_up_to: 0,
        delivered: 0,
        link_period: 0,
        markable: 0,
        log: Vec::new(),
    };
    let mut network = Network::new(spec, 1, path);
    network.start(0, bytes);
    let quiet = network.run(Time::from_s(1_000_000));
    assert!(quiet, "does not come to an end");
    let connection = &network.connections[0];
    assert_eq!(connection.receiver.stats().payload_bytes_delivered, bytes);
    assert_eq!(connection.sender.stats().payload_bytes_acked, bytes);
    assert!(connection.sender.is_closed(), "sender in {:?}", connection.sender.state());
    assert!(connection.receiver.is_closed() || spec.handshake != Handshake::Real);
    assert_eq!(connection.receiver.held_intervals(), 0);
    let marked = connection.receiver.stats().ce_segments_received > 0;
    assert!(marked || connection.sender.stats().ecn_reductions == 0, "reduced without a mark");
    let stats = connection.sender.stats();
    assert_eq!(stats.payload_bytes_sent - stats.payload_bytes_retransmitted, bytes);
    network.path
}

fn cases(quick: u32) -> ProptestConfig {
    let factor = if std::env::var("WIFAIR_VALIDATE").is_ok_and(|on| on == "1") { 50 } else { 1 };
    ProptestConfig { cases: quick * factor, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn every_byte_arrives_once_and_in_order(
        spec in spec(),
        segments in 0u64..150,
        rest in 0u64..2000,
        there in prop::collection::vec(fate(), 0..150),
        back in prop::collection::vec(fate(), 0..100),
    ) {
        let bytes = segments * u64::from(spec.mss_bytes) + rest.min(u64::from(spec.mss_bytes) - 1);
        transfer(&spec, bytes, [there, back]);
    }
}

proptest! {
    #![proptest_config(cases(500))]

    /// The place in sequence space changes nothing: the same packets at the same times.
    #[test]
    fn sequence_numbers_wrap_unnoticed(
        spec in spec(),
        segments in 1u64..100,
        before_the_wrap in 0u32..100_000,
        there in prop::collection::vec(fate(), 0..100),
        back in prop::collection::vec(fate(), 0..60),
    ) {
        let bytes = segments * u64::from(spec.mss_bytes);
        let low = TcpSpec { initial_sequence: 0, ..spec.clone() };
        let high = TcpSpec { initial_sequence: 0u32.wrapping_sub(before_the_wrap), ..spec };
        let fates = [there, back];
        prop_assert_eq!(transfer(&low, bytes, fates.clone()).log, transfer(&high, bytes, fates).log);
    }
}

/// An ACK that overtakes a fast retransmit held back by pacing leaves a recovery in which nothing was sent again.
#[test]
fn an_ack_overtakes_a_paced_repair_before_the_wrap_as_after_it() {
    let low: TcpSpec = serde_json::from_value(serde_json::json!({
        "congestion_control": { "name": "reno" },
        "mss_bytes": 1,
        "receiver_window_segments": 7,
        "delayed_ack": { "segments": 3, "timeout_ms": 100, "syn": true },
        "pacing": {
            "slow_start_percent": 141,
            "avoidance_percent": 141,
            "unpaced_segments": 7,
            "burst_us": 0,
            "burst_segments": 1,
        },
        "rto": { "min_ms": 200, "granularity_ms": 1 },
        "sack": { "blocks": 1, "duplicates": false },
        "handshake": "ns-2",
    }))
    .unwrap();
    let high = TcpSpec { initial_sequence: 0u32.wrapping_sub(9), ..low.clone() };
    let there = [1, 4, 1, 7, 7, 50, 1, 1, 1].map(Fate::Delivered);
    let back = [Fate::Delivered(34), Fate::Lost, Fate::Lost]
        .into_iter()
        .chain([54, 1, 1, 19, 1].map(Fate::Delivered));
    let fates = [there.to_vec(), back.collect()];
    assert_eq!(transfer(&low, 9, fates.clone()).log, transfer(&high, 9, fates).log);
}

/// A connection that carries more than 2³² bytes: a loss after that is repaired by fast retransmit, not by a timeout.
#[test]
fn recovery_still_works_after_the_whole_space() {
    struct LateLoss {
        sent: u64,
    }
    impl Path for LateLoss {
        fn send(&mut self, _: usize, from: End, packet: &Packet, now: Time) -> Arrivals {
            if from == End::Sender && packet.payload_bytes > 0 {
                self.sent += 1;
            }
            // Two losses, 2.5 GB and 5 GB into the transfer.
            let lost = from == End::Sender && (self.sent == 40_000 || self.sent == 80_000);
            [(!lost).then(|| now + Time::from_ms(5)), None]
        }
    }
    for control in ["reno", "newreno"] {
        let spec: TcpSpec = serde_json::from_value(serde_json::json!({
            "congestion_control": { "name": control }, "mss_bytes": 62_500,
        }))
        .unwrap();
        let mut network = Network::new(&spec, 1, LateLoss { sent: 0 });
        network.start(0, 6_000_000_000);
        assert!(network.run(Time::from_s(1_000)));
        let stats = network.connections[0].sender.stats();
        assert_eq!(
            (stats.fast_retransmits, stats.timeouts, stats.segments_retransmitted),
            (2, 0, 2),
            "{control}"
        );
        assert!(network.connections[0].receiver.is_closed());
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    /// Packets that no sane peer would send: no panic, no deadline in the past, cwnd at least a segment, and an end of
    /// sending.
    #[test]
    fn arbitrary_segments_break_nothing(
        spec in spec(),
        packets in prop::collection::vec((0u32..200_000, 0u32..200_000, 0u32..3000, any::<u8>(), 0u64..500, any::<bool>()), 1..80),
    ) {
        let spec = std::sync::Arc::new(spec);
        let isn = spec.initial_sequence;
        let tuple = Default::default();
        let (mut sender, mut receiver) = (Sender::new(&spec, tuple), Receiver::new(&spec, tuple));
        sender.open(Time::ZERO);
        sender.write(100_000);
        sender.close();
        while sender.poll_transmit(Time::ZERO).is_some() {}
        let mut now = Time::ZERO;
        for (seq, ack, payload_bytes, bits, wait, spread) in packets {
            now += Time::from_ms(wait);
            let near = |offset: u32| isn.wrapping_add(if spread { offset } else { offset % 3 });
            let mut flags = TcpFlags::NONE;
            for (bit, flag) in [TcpFlags::FIN, TcpFlags::SYN, TcpFlags::RST, TcpFlags::PSH].into_iter().enumerate() {
                if bits >> bit & 1 == 1 {
                    flags |= flag;
                }
            }
            if bits & 0x70 != 0 {
                flags |= TcpFlags::ACK;
            }
            let packet = Packet {
                tuple,
                connection: ConnectionId::NONE,
                seq: near(seq),
                ack: near(ack),
                window_bytes: if bits & 0x80 == 0 { spec.receiver_window_bytes() } else { ack },
                payload_bytes,
                header_bytes: 40,
                flags,
                ds_field: 0,
                sack: SackBlocks::NONE,
            };
            sender.on_timer(now);
            sender.on_segment(&packet, now);
            let sent = std::iter::from_fn(|| sender.poll_transmit(now).copied()).take(10_000).count();
            prop_assert!(sent < 10_000);
            prop_assert!(sender.deadline() > now);
            prop_assert!(sender.cwnd_bytes() >= u32::from(spec.mss_bytes));
            receiver.on_timer(now);
            receiver.on_segment(&packet, now);
            prop_assert!(std::iter::from_fn(|| receiver.poll_transmit(now).copied()).take(10).count() < 3);
            prop_assert!(receiver.deadline() > now);
        }
    }
}
