//! `bbr` at a bottleneck of fixed rate, against closed forms, and its cycle.

use wifair_core::{Packet, Rate, Time};
use wifair_tcp::{LossDetectionSpec, RackSpec, Sender, TcpSpec};

use crate::network::{Arrivals, End, Network, Path};

const RATE: Rate = Rate::from_kbps(20_000);
/// One way; 41.3 ms there and back with the serialisation of a segment.
const DELAY: Time = Time::from_ms(20);
/// 20 Mbps for 40 ms: 100,000 bytes.
const BDP_PACKETS: f64 = 66.7;

/// A FIFO queue with tail drop.
struct Bottleneck {
    limit_packets: u64,
    free_at: Time,
    drops: u64,
    /// Time of each arrival and the queue in packets that it found.
    queue: Vec<(Time, u64)>,
    /// Each change of the state of the first sender.
    states: Vec<(Time, &'static str)>,
    now: Time,
}

impl Bottleneck {
    fn new(limit_packets: u64) -> Bottleneck {
        Bottleneck {
            limit_packets,
            free_at: Time::ZERO,
            drops: 0,
            queue: vec![],
            states: vec![],
            now: Time::ZERO,
        }
    }

    /// Mean queue in packets from `from` on.
    fn mean_queue(&self, from: Time) -> f64 {
        let late: Vec<u64> =
            self.queue.iter().filter(|(at, _)| *at >= from).map(|(_, queue)| *queue).collect();
        late.iter().sum::<u64>() as f64 / late.len() as f64
    }
}

impl Path for Bottleneck {
    fn send(&mut self, _: usize, from: End, packet: &Packet, now: Time) -> Arrivals {
        self.now = now;
        if from == End::Receiver {
            return [Some(now + DELAY), None];
        }
        let queued = self.free_at.saturating_sub(now) / RATE.duration_of(1_500);
        self.queue.push((now, queued));
        if queued >= self.limit_packets {
            self.drops += 1;
            return [None, None];
        }
        self.free_at = self.free_at.max(now) + RATE.duration_of(u64::from(packet.ip_bytes()));
        [Some(self.free_at + DELAY), None]
    }

    fn observe(&mut self, sender: &Sender, _: &wifair_tcp::Receiver) {
        let state = sender.control_state().unwrap();
        if self.states.last().is_none_or(|(_, last)| *last != state) {
            self.states.push((self.now, state));
        }
    }
}

fn spec() -> TcpSpec {
    TcpSpec {
        sack: Some(Default::default()),
        loss_detection: LossDetectionSpec::Rack(RackSpec::default()),
        receiver_window_segments: 1_000,
        initial_window_segments: Some(10),
        ..serde_json::from_value(serde_json::json!({"congestion_control": {"name": "bbr"}})).unwrap()
    }
}

fn run(flows: usize, limit_packets: u64, start: Time, end: Time) -> (Vec<f64>, Network<Bottleneck>) {
    let mut network = Network::new(&spec(), flows, Bottleneck::new(limit_packets));
    (0..flows).for_each(|flow| network.start(flow, u64::MAX));
    let delivered = |network: &Network<Bottleneck>| -> Vec<u64> {
        network.connections.iter().map(|c| c.receiver.stats().payload_bytes_delivered).collect()
    };
    network.run(start);
    let before = delivered(&network);
    network.run(end);
    let capacity = RATE.as_mbps() * 1e6 / 8.0 * 1460.0 / 1500.0 * (end - start).as_secs_f64();
    let shares =
        delivered(&network).into_iter().zip(before).map(|(after, before)| (after - before) as f64 / capacity);
    (shares.collect(), network)
}

/// Its rate but for what ProbeRTT (5.3.4.2: 2 %) and the margin of pacing (1 %) take, with next to no queue, whatever the
/// buffer.
#[test]
fn one_flow_fills_the_path_without_a_queue() {
    for limit in [20, 70, 1_000] {
        let (shares, network) = run(1, limit, Time::from_s(5), Time::from_s(65));
        let path = &network.path;
        let queue = path.mean_queue(Time::from_s(5));
        println!("{limit} packets: {shares:?}, mean queue {queue:.1} packets, {} drops", path.drops);
        assert!((0.95..=1.0).contains(&shares[0]), "{limit} packets: {shares:?}");
        assert!(queue < 0.1 * BDP_PACKETS, "{limit} packets: {queue}");
        // ProbeBW_UP has up to 2.25 BDPs in flight (5.3.3.5).
        let most = path.queue.iter().filter(|(at, _)| *at > Time::from_s(5)).map(|(_, queue)| *queue).max();
        assert!((most.unwrap() as f64) < 1.25 * BDP_PACKETS, "{limit} packets: {most:?}");
    }
}

/// The states follow each other as the draft's diagram has them (5.1.1) and in its times: a probe for bandwidth 2 to 3 s after
/// the last (5.3.3.8), one for the RTT after 5 s (5.3.4), of 200 ms and up to two round trips.
#[test]
fn the_states_come_in_order_and_in_time() {
    let (_, network) = run(1, 70, Time::from_s(5), Time::from_s(125));
    let states = &network.path.states;
    let mut visits = std::collections::BTreeMap::new();
    let mut cycle_began = None;
    for pair in states.windows(2) {
        let [(from_at, from), (at, to)] = [pair[0], pair[1]];
        *visits.entry(to).or_insert(0) += 1;
        let follows: &[&str] = match from {
            "startup" => &["drain"],
            "drain" => &["probe-bw-down", "probe-bw-cruise"],
            "probe-bw-down" => &["probe-bw-cruise", "probe-bw-refill", "probe-rtt"],
            "probe-bw-cruise" => &["probe-bw-refill", "probe-rtt"],
            "probe-bw-refill" => &["probe-bw-up", "probe-rtt"],
            "probe-bw-up" => &["probe-bw-down", "probe-bw-cruise", "probe-rtt"],
            _ => &["probe-bw-cruise"],
        };
        assert!(follows.contains(&to), "{from} to {to} at {at}");
        let lasted = (at - from_at).as_secs_f64();
        match (from, to) {
            ("probe-rtt", _) => assert!((0.2..0.3).contains(&lasted), "{from} for {lasted} s"),
            ("probe-bw-refill", "probe-bw-up") => {
                assert!((0.04..0.05).contains(&lasted), "{lasted} s of refill")
            }
            (_, "probe-bw-refill") => {
                let waited = cycle_began.map_or(2.5, |began| (at - began).as_secs_f64());
                assert!((2.0..3.1).contains(&waited), "a probe after {waited} s");
            }
            _ => {}
        }
        if to == "probe-bw-down" || from == "probe-rtt" {
            cycle_began = Some(at);
        }
    }
    assert!((22..=25).contains(&visits["probe-rtt"]), "{visits:?}");
    assert!((30..=60).contains(&visits["probe-bw-up"]), "{visits:?}");
    assert_eq!((visits["drain"], visits.get("startup")), (1, None));
}

/// Shares converge, and the queue stays within the draft's aim of 1.5 BDPs (3.2).
#[test]
fn flows_converge() {
    for flows in [2, 4] {
        for limit in [35, 70, 1_000] {
            let (shares, network) = run(flows, limit, Time::from_s(20), Time::from_s(140));
            let queue = network.path.mean_queue(Time::from_s(20));
            println!(
                "{flows} flows, {limit} packets: {shares:.3?}, mean queue {queue:.1} packets, {} drops",
                network.path.drops
            );
            let sum: f64 = shares.iter().sum();
            let jain = sum * sum / (flows as f64 * shares.iter().map(|share| share * share).sum::<f64>());
            assert!((0.95..=1.0).contains(&sum), "{shares:?}");
            assert!(jain > 0.93, "index {jain}: {shares:?}");
            assert!(queue < 1.5 * BDP_PACKETS, "{queue} packets");
        }
    }
}
