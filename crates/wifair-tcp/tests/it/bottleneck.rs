//! Several flows at one bottleneck, and one flow under random loss: what a congestion control must do in company and
//! what theory says about it alone, each with physical bounds.

use std::collections::{BTreeMap, BTreeSet};

use crate::network;

use network::{Arrivals, End, Network, Path};
use proptest::prelude::*;
use wifair_core::{Ecn, Packet, Rate, Rng, Time};
use wifair_tcp::{CongestionControlSpec, LossDetectionSpec, RackSpec, SackSpec, SenderStats, TcpSpec};

const RTT: Time = Time::from_ms(60);
/// A packet of 1500 bytes takes 1.2 ms; the bandwidth-delay product is 50 packets.
const RATE: Rate = Rate::from_kbps(10_000);
const LIMIT_PACKETS: u64 = 50;

/// A FIFO queue with tail drop towards the receivers; a random time of up to one packet on the way back, without
/// which flows of exactly equal round trip lock each other out (phase effects, Floyd and Jacobson 1992).
struct Bottleneck {
    /// Mark what is ECN-capable and comes to more than [`MARK_ABOVE_PACKETS`].
    marks: bool,
    /// What the last packet found, in packets.
    backlog: u64,
    free_at: Time,
    last_ack: Vec<Time>,
    rng: Rng,
}

impl Path for Bottleneck {
    fn send(&mut self, flow: usize, from: End, packet: &Packet, now: Time) -> Arrivals {
        let service = RATE.duration_of(u64::from(packet.ip_bytes()));
        if from == End::Receiver {
            let jitter = Time::from_us(u64::from(self.rng.below(1200)));
            let arrival = (now + RTT + jitter).max(self.last_ack[flow]); // never overtaking
            self.last_ack[flow] = arrival;
            return [Some(arrival), None];
        }
        let backlog = self.free_at.saturating_sub(now);
        if backlog / RATE.duration_of(1500) >= LIMIT_PACKETS {
            return [None, None];
        }
        self.free_at = self.free_at.max(now) + service;
        self.backlog = backlog / RATE.duration_of(1500);
        [Some(self.free_at), None]
    }

    fn pass(&mut self, packet: Packet) -> Packet {
        let marked = self.marks && packet.ecn() != Ecn::NotEct && self.backlog > MARK_ABOVE_PACKETS;
        if marked { packet.with_ecn(Ecn::Ce) } else { packet }
    }
}

/// A control by name, `+sack` behind it with selective acknowledgement, `+rack` with RACK-TLP as well.
fn spec(control: &str) -> TcpSpec {
    let (name, with) = control.split_once('+').unwrap_or((control, ""));
    let mut spec: TcpSpec = serde_json::from_value(serde_json::json!({
        "congestion_control": { "name": name },
        "receiver_window_segments": 1000,
    }))
    .unwrap();
    spec.sack = (!with.is_empty()).then(SackSpec::default);
    if with == "rack" {
        spec.loss_detection = LossDetectionSpec::Rack(RackSpec::default());
    }
    spec
}

/// Goodput of each flow in bytes a second between 60 s and 360 s.
fn goodputs(control: &str, flows: usize, seed: u64) -> Vec<f64> {
    let rng = Rng::stream(seed, "bottleneck", "jitter");
    let path =
        Bottleneck { marks: false, backlog: 0, free_at: Time::ZERO, last_ack: vec![Time::ZERO; flows], rng };
    let mut network = Network::new(&spec(control), flows, path);
    for flow in 0..flows {
        network.start(flow, u64::MAX);
    }
    let delivered = |network: &Network<Bottleneck>| -> Vec<u64> {
        network.connections.iter().map(|c| c.receiver.stats().payload_bytes_delivered).collect()
    };
    network.run(Time::from_s(60));
    let before = delivered(&network);
    network.run(Time::from_s(360));
    let after = delivered(&network);
    after.iter().zip(before).map(|(after, before)| (after - before) as f64 / 300.0).collect()
}

/// Each control fills the bottleneck, and flows of one control share it.
fn share_a_bottleneck(flows: usize) {
    let capacity = RATE.as_mbps() * 1e6 / 8.0 * 1460.0 / 1500.0;
    let controls = CongestionControlSpec::all();
    let each = |spec: &CongestionControlSpec| match (spec.name(), spec.needs_rack()) {
        (name, true) => vec![format!("{name}+rack")],
        (name, false) => vec![name.to_owned(), format!("{name}+sack"), format!("{name}+rack")],
    };
    for control in controls.iter().flat_map(each) {
        let rates = goodputs(&control, flows, 1);
        let sum: f64 = rates.iter().sum();
        let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
        let jain = sum * sum / (flows as f64 * squares);
        let used = sum / capacity;
        eprintln!("{control} {flows}: {used:.3} of the capacity, index {jain:.3}");
        // What was queued at the start may arrive within the measured time: at most the buffer.
        let slack = LIMIT_PACKETS as f64 * 1460.0 / 300.0 / capacity;
        assert!(used <= 1.0 + slack, "{control}, {flows} flows: {used} of the capacity");
        assert!(used >= 0.85, "{control}, {flows} flows: only {used} of the capacity");
        // A tenth of the BDP is less than the six segments that `bbr` keeps in flight at least: three bursts.
        let least = if control == "bbr+rack" && flows == 10 { 0.75 } else { 0.9 };
        assert!(
            jain >= least,
            "{control}, {flows} flows: Jain's index {jain}, at least {least}; \
             a control that is unfair by its source has a lower bound here, with the reason"
        );
    }
}

#[test]
fn one_flow_fills_a_bottleneck() {
    share_a_bottleneck(1);
}

#[test]
fn two_flows_share_a_bottleneck() {
    share_a_bottleneck(2);
}

#[test]
fn five_flows_share_a_bottleneck() {
    share_a_bottleneck(5);
}

#[test]
fn ten_flows_share_a_bottleneck() {
    share_a_bottleneck(10);
}

/// A queue that marks above this length.
const MARK_ABOVE_PACKETS: u64 = 30;

/// RFC 3168: where marking suffices, nobody loses a packet, and the link is as full as with losses.
#[test]
fn marks_take_the_place_of_losses() {
    for control in ["reno", "newreno", "cubic+sack", "cubic+rack"] {
        for flows in [1, 2, 5] {
            let mut spec = spec(control);
            spec.ecn = true;
            spec.initial_ssthresh_segments = Some(20);
            let rng = Rng::stream(1, "bottleneck", "jitter");
            let path = Bottleneck {
                marks: true,
                backlog: 0,
                free_at: Time::ZERO,
                last_ack: vec![Time::ZERO; flows],
                rng,
            };
            let mut network = Network::new(&spec, flows, path);
            for flow in 0..flows {
                network.start(flow, u64::MAX);
            }
            network.run(Time::from_s(100));
            let mut delivered = 0;
            for connection in &network.connections {
                let (sender, receiver) = (connection.sender.stats(), connection.receiver.stats());
                delivered += receiver.payload_bytes_delivered;
                assert_eq!(
                    (sender.segments_retransmitted, sender.timeouts),
                    (0, 0),
                    "{control}, {flows} flows"
                );
                assert!(sender.ecn_reductions > 10, "{control}, {flows} flows: {sender:?}");
                // Marks continue for a round trip, so there are more of them than reductions.
                assert!(sender.ecn_reductions < receiver.ce_segments_received);
            }
            let used = delivered as f64 * 1500.0 / 1460.0 / 100.0 / (RATE.as_mbps() * 1e6 / 8.0);
            eprintln!("{control} {flows}: {used:.3} of the capacity");
            assert!(used > 0.85, "{control}, {flows} flows: {used} of the capacity");
        }
    }
}

/// Fixed delay, each data segment lost with probability `p`.
struct Lossy {
    p: f64,
    rng: Rng,
}

impl Path for Lossy {
    fn send(&mut self, _: usize, from: End, packet: &Packet, now: Time) -> Arrivals {
        let lost = from == End::Sender && packet.payload_bytes > 0 && self.rng.chance(self.p);
        [(!lost).then(|| now + Time::from_ms(50)), None]
    }
}

/// Mean rate in segments a round trip of 100 ms, over 1,000 s.
fn segments_per_rtt(control: &str, p: f64, ack_every: u8) -> f64 {
    let mut spec = spec(control);
    spec.delayed_ack.segments = ack_every;
    spec.rto.min_ms = 200; // timeouts are not part of the law: keep them cheap
    let path = Lossy { p, rng: Rng::stream(7, "path", "loss") };
    let mut network = Network::new(&spec, 1, path);
    network.start(0, u64::MAX);
    network.run(Time::from_s(1_000));
    network.connections[0].receiver.stats().payload_bytes_delivered as f64 / 1460.0 / 10_000.0
}

/// Mathis et al. 1997: the mean window is sqrt(3 / (2 b p)) segments, b segments an ACK. The law knows no timeouts and
/// takes losses to be periodic; with random ones the sawtooth is irregular.
#[test]
fn random_loss_gives_the_square_root_law() {
    for control in ["reno", "newreno", "newreno+sack", "newreno+rack"] {
        for ack_every in [1, 2] {
            let mut measured = Vec::new();
            for p in [0.0005, 0.002, 0.008] {
                let law = (1.5 / (f64::from(ack_every) * p)).sqrt();
                let rate = segments_per_rtt(control, p, ack_every);
                eprintln!("{control}, ACK every {ack_every}, p {p}: {rate:.2}, law {law:.2}");
                assert!((0.7..1.2).contains(&(rate / law)), "{control}, p = {p}: {rate} segments, law {law}");
                measured.push(rate);
            }
            // Sixteen times the loss, a quarter of the rate.
            let ratio = measured[0] / measured[2];
            assert!((3.2..5.0).contains(&ratio), "{control}: {ratio} instead of 4");
        }
    }
}

/// A path of 100 ms there and back that loses some segments of the first window, counted from 1, once.
struct Losing {
    sent: u64,
    lost: fn(u64) -> bool,
}

impl Path for Losing {
    fn send(&mut self, _: usize, from: End, packet: &Packet, now: Time) -> Arrivals {
        self.sent += u64::from(packet.payload_bytes > 0);
        let lost = from == End::Sender && packet.payload_bytes > 0 && (self.lost)(self.sent);
        [(!lost).then(|| now + Time::from_ms(50)), None]
    }
}

/// What a transfer of 300 segments that starts with a window of 100 has done after `time`: sender's counters, segments
/// delivered.
fn transfer(control: &str, lost: fn(u64) -> bool, time: Time) -> (SenderStats, u64) {
    let mut spec = spec(control);
    spec.initial_window_segments = Some(100);
    let mut network = Network::new(&spec, 1, Losing { sent: 0, lost });
    network.start(0, 300 * 1460);
    network.run(time);
    let connection = &network.connections[0];
    (connection.sender.stats().clone(), connection.receiver.stats().payload_bytes_delivered / 1460)
}

/// Thirty segments of a window of 100 are lost. RFC 6675 repairs them in one recovery without a timeout, in few round
/// trips; RFC 6582 needs a round trip each, or a timeout.
#[test]
fn thirty_losses_are_one_recovery() {
    let in_a_row = |n| (11..=40).contains(&n);
    let every_third = |n| n <= 90 && n % 3 == 1;
    let every_second = |n| (21..=80).contains(&n) && n % 2 == 1;
    let at_the_end = |n| (70..100).contains(&n);
    for control in ["reno", "newreno", "cubic"] {
        for lost in [in_a_row, every_third, every_second, at_the_end] as [fn(u64) -> bool; 4] {
            // The handshake, the first window, two round trips for the repair, three for the other 200 segments.
            let time = Time::from_ms(750);
            for with in ["sack", "rack"] {
                let (stats, delivered) = transfer(&format!("{control}+{with}"), lost, time);
                let repairs = (stats.fast_retransmits, stats.timeouts, stats.segments_retransmitted);
                assert_eq!((repairs, delivered), ((1, 0, 30), 300), "{control}+{with}");
            }
            let (without, delivered) = transfer(control, lost, time);
            assert!(delivered < 150, "{control} repairs without SACK: {delivered} segments, {without:?}");
        }
    }
}

/// A path of 100 ms there and back that loses transmissions of data: which of them, counted from 0, and which segment it is the
/// how manieth transmission of.
struct LosingThese<F> {
    sent: usize,
    times: BTreeMap<u32, usize>,
    lost: F,
}

impl<F: Fn(usize, u32, usize) -> bool> Path for LosingThese<F> {
    fn send(&mut self, _: usize, from: End, packet: &Packet, now: Time) -> Arrivals {
        let mut lost = false;
        if from == End::Sender && packet.payload_bytes > 0 {
            let times = self.times.entry(packet.seq).or_default();
            *times += 1;
            lost = (self.lost)(self.sent, packet.seq / 1460, *times);
            self.sent += 1;
        }
        [(!lost).then(|| now + Time::from_ms(50)), None]
    }
}

/// The same for a transfer of 300 segments that starts with a window of 100, or without end for 20 s.
fn losing(control: &str, endless: bool, lost: impl Fn(usize, u32, usize) -> bool) -> SenderStats {
    let mut spec = spec(control);
    spec.initial_window_segments = Some(100);
    let mut network = Network::new(&spec, 1, LosingThese { sent: 0, times: BTreeMap::new(), lost });
    network.start(0, if endless { u64::MAX } else { 300 * 1460 });
    network.run(Time::from_s(20));
    network.connections[0].sender.stats().clone()
}

/// Ten segments of a window of 100 are lost, and the repairs of five of them. RACK finds those as well, without a timeout.
#[test]
fn lost_repairs_need_no_timeout_with_rack() {
    let lost = |_, segment, times| matches!((segment, times), (21..=30, 1) | (21..=25, 2));
    for control in ["reno", "newreno", "cubic"] {
        let stats = losing(&format!("{control}+rack"), false, lost);
        let repairs = (stats.fast_retransmits, stats.timeouts, stats.segments_retransmitted);
        assert_eq!((repairs, stats.payload_bytes_acked), ((1, 0, 15), 300 * 1460), "{control}");
        let without = losing(&format!("{control}+sack"), false, lost);
        assert_eq!(without.timeouts, 1, "{control}");
    }
}

/// The last segments are lost: a probe finds that out before the timer of 1 s expires.
#[test]
fn a_lost_tail_needs_no_timeout_with_rack() {
    for tail in [1, 2, 10] {
        let lost = move |_, segment, times| segment >= 300 - tail && times == 1;
        let stats = losing("cubic+rack", false, lost);
        assert_eq!((stats.timeouts, stats.payload_bytes_acked), (0, 300 * 1460), "{tail}");
        assert!(stats.segments_retransmitted >= u64::from(tail), "{tail}: {stats:?}");
        assert_eq!(losing("cubic+sack", false, lost).timeouts, 1, "{tail}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whichever transmissions are lost, of data or repairs, as long as four others arrive between them, so that ACKs come: no
    /// timeout.
    #[test]
    fn rack_needs_no_timeout_while_acks_come(
        control in prop::sample::select(vec!["reno+rack", "newreno+rack", "cubic+rack"]),
        gaps in prop::collection::vec(5usize..60, 1..60),
    ) {
        let lost: BTreeSet<usize> = gaps.iter().scan(10, |at, gap| { *at += gap; Some(*at) }).collect();
        let stats = losing(control, true, |sent, _, _| lost.contains(&sent));
        prop_assert_eq!(stats.timeouts, 0);
        prop_assert!((1..=lost.len() as u64).contains(&stats.segments_retransmitted));
    }
}
