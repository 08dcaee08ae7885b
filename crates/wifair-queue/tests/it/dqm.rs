//! `dqm` against Algorithm 1 written out over two lists, and the properties that it must have whatever comes.

use crate::common;

use common::{ack, cases, data, syn, upward};
use proptest::prelude::*;
use wifair_core::{Ac, Class, Ecn, Packet, Rate, Rng, StationId, TcpFlags, Time};
use wifair_queue::{
    DequeuedPacket, Direction, Exchange, Flows, FlowsSpec, Grant, Link, Outcome, Reception, TxQueue,
    TxQueueSpec, View,
};

const RATES_KBPS: [u32; 4] = [11_000, 11_000, 2_000, 5_500];

#[derive(Clone, Debug)]
enum Step {
    Data { connection: u32, capable: bool },
    Ack { connection: u32 },
    Syn { connection: u32 },
    Received { connection: u32, data: bool, channel_us: u64 },
    Take,
    Finish { channel_us: u64, frozen_us: u64 },
    Wait { us: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let connection = || 0u32..4;
    prop_oneof![
        10 => (connection(), prop::bool::weighted(0.8))
            .prop_map(|(connection, capable)| Step::Data { connection, capable }),
        10 => connection().prop_map(|connection| Step::Ack { connection }),
        1 => connection().prop_map(|connection| Step::Syn { connection }),
        6 => (connection(), any::<bool>(), 500u64..3_000)
            .prop_map(|(connection, data, channel_us)| Step::Received { connection, data, channel_us }),
        10 => Just(Step::Take),
        10 => (500u64..5_000, 0u64..5_000)
            .prop_map(|(channel_us, frozen_us)| Step::Finish { channel_us, frozen_us }),
        6 => (100u64..20_000).prop_map(|us| Step::Wait { us }),
    ]
}

fn spec() -> impl Strategy<Value = serde_json::Value> {
    let one_of = |values: [&'static str; 2]| prop::sample::select(values.to_vec());
    (
        one_of(["service", "channel-time"]),
        prop::sample::select(vec!["carry", "carry-used", "clock", "used", "none"]),
        any::<bool>(),
        prop::sample::select(vec!["unbounded", "zero", "infinite"]),
        prop::sample::select(vec!["other", "wait", "poll"]),
        one_of(["ack", "less-time"]),
        one_of(["leave", "drop"]),
        one_of(["arrival", "nothing"]),
        0.01f64..1.0,
    )
        .prop_map(
            |(
                packet_time,
                window,
                opportunistic,
                no_active_flows,
                empty_turn,
                equal_rates,
                unmarkable,
                empty_pick,
                weight,
            )| {
                // A controller that reaches every probability within a test's few ticks.
                serde_json::json!({
                    "name": "dqm", "a": 0.05, "b": 0.04, "delay_ref_ms": 6.0, "packet_time_weight": weight,
                    "packet_time": packet_time, "window": window, "no_active_flows": no_active_flows,
                    "empty_turn": empty_turn, "equal_rates": equal_rates, "opportunistic": opportunistic, "unmarkable": unmarkable, "empty_pick": empty_pick,
                })
            },
        )
}

/// Algorithm 1 and Section III-B, in floating point and over lists.
struct Naive {
    spec: serde_json::Value,
    limit: usize,
    acks: Vec<Packet>,
    data: Vec<Packet>,
    q_prob: f64,
    q_old: f64,
    mean_t_pkt: Option<f64>,
    /// In whole microseconds, so that sums are exact and equal shares are equal.
    t: [f64; 2],
    /// Since when, how long (both in ms), and N_up and N_dn when it began.
    window: (f64, f64, [f64; 2]),
    n: [f64; 2],
    /// Whether the last turn was an empty queue's, and nothing has arrived or been sent since.
    waits: bool,
    rng: Rng,
}

impl Naive {
    fn is(&self, key: &str, value: &str) -> bool {
        self.spec[key] == value
    }

    fn number(&self, key: &str) -> f64 {
        self.spec[key].as_f64().unwrap()
    }

    fn now(&mut self, ms: f64, n: [f64; 2]) {
        self.n = n;
        let (mut since, length, of) = self.window;
        let by_use = self.is("window", "used") || self.is("window", "carry-used");
        let passed = if by_use { (self.t[0] + self.t[1]) * 1e-3 } else { ms - since };
        if self.is("window", "none") || passed < length - 1e-9 {
            return;
        }
        let mut subtract = || {
            for (t, n) in self.t.iter_mut().zip(of) {
                *t = (*t - 5_000.0 * n).max(0.0);
            }
        };
        match self.spec["window"].as_str() {
            Some("carry") => {
                while ms - since >= length - 1e-9 {
                    since += length;
                    subtract();
                }
            }
            Some("carry-used") => subtract(),
            _ => {
                self.t = [0.0; 2];
                since = ms;
            }
        }
        self.window = (since, 5.0 * (n[0] + n[1]).max(1.0), n);
    }

    fn per_flow(&self) -> [f64; 2] {
        [0, 1].map(|side| match self.t[side] / self.n[side] {
            _ if self.n[side] == 0.0 && self.is("no_active_flows", "infinite") => f64::INFINITY,
            _ if self.t[side] == 0.0 => 0.0,
            infinite if infinite.is_infinite() && self.is("no_active_flows", "zero") => 0.0,
            share => share,
        })
    }

    fn set(packet: &mut Packet) -> bool {
        if packet.class() == Class::Ack {
            packet.flags |= TcpFlags::ECE;
        } else if packet.ecn() != Ecn::NotEct {
            *packet = packet.with_ecn(Ecn::Ce);
        } else {
            return false;
        }
        true
    }

    fn enqueue(&mut self, mut packet: Packet) {
        self.waits = false;
        if self.acks.len() + self.data.len() >= self.limit {
            return;
        }
        if self.rng.unit() < self.q_prob {
            let [up, down] = self.per_flow();
            let drop = self.is("unmarkable", "drop");
            let queue = if up > down { &mut self.acks } else { &mut self.data };
            if let Some(head) = queue.first_mut() {
                if !Self::set(head) && drop {
                    queue.remove(0);
                }
            } else if self.is("empty_pick", "arrival") && !Self::set(&mut packet) && drop {
                return;
            }
        }
        if packet.class() == Class::Ack { self.acks.push(packet) } else { self.data.push(packet) }
    }

    fn dequeue(&mut self, links: &[Link]) -> Option<Packet> {
        let [up, down] = self.per_flow();
        let fair = |side: usize| self.t[side] < 5_000.0 * self.n[side];
        let rate = |packet: &Packet| match self.spec["opportunistic"].as_bool() {
            Some(true) => Some(links[station(packet).index()].rate),
            _ => None,
        };
        let acks = match (fair(0), fair(1)) {
            (true, true) => match (self.acks.first(), self.data.first()) {
                (Some(ack), Some(data)) if self.is("equal_rates", "less-time") && rate(data) == rate(ack) => {
                    up <= down
                }
                (Some(ack), Some(data)) => rate(data) <= rate(ack),
                (ack, _) => ack.is_some(),
            },
            (true, false) => true,
            (false, true) => false,
            (false, false) => up < down,
        };
        let [chosen, other] =
            if acks { [&mut self.acks, &mut self.data] } else { [&mut self.data, &mut self.acks] };
        let queue = if chosen.is_empty() && self.spec["empty_turn"] == "other" { other } else { chosen };
        self.waits = queue.is_empty() && self.spec["empty_turn"] == "wait";
        (!queue.is_empty()).then(|| queue.remove(0))
    }

    fn sample(&mut self, service: f64, channel: f64) {
        self.waits = false;
        let sample = if self.is("packet_time", "service") { service } else { channel };
        let weight = self.number("packet_time_weight");
        self.mean_t_pkt = Some(match self.mean_t_pkt {
            None => sample,
            Some(mean) => mean + weight * (sample - mean),
        });
    }

    fn tick(&mut self) {
        let q = (self.acks.len() + self.data.len()) as f64;
        if let Some(mean) = self.mean_t_pkt {
            let q_ref = self.number("delay_ref_ms") / mean;
            let (a, b) = (self.number("a"), self.number("b"));
            self.q_prob = (a * (q - q_ref) - b * (self.q_old - q_ref) + self.q_prob).clamp(0.0, 1.0);
        }
        self.q_old = q;
    }
}

fn station(packet: &Packet) -> StationId {
    StationId((packet.tuple.destination & 3) as u16)
}

fn gauge(tx_queue: &TxQueue, name: &str) -> Option<f64> {
    let mut found = None;
    tx_queue.gauges(&mut |gauge, value| found = found.or((gauge == name).then_some(value)));
    found
}

fn run(spec: &serde_json::Value, limit: u32, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let scheme = serde_json::from_value(spec.clone()).unwrap();
    let spec_of_tx_queue = TxQueueSpec { limit_packets: limit, scheme, ..TxQueueSpec::default() };
    let mut tx_queue = TxQueue::new(&spec_of_tx_queue, 7, "ap");
    let links = RATES_KBPS.map(|kbps| Link::new(Rate::from_kbps(kbps)));
    let mut flows = Flows::new(&FlowsSpec::default());
    let mut naive = Naive {
        spec: spec.clone(),
        limit: limit as usize,
        acks: vec![],
        data: vec![],
        q_prob: 0.0,
        q_old: 0.0,
        mean_t_pkt: None,
        t: [0.0; 2],
        window: (0.0, 5.0, [0.0; 2]),
        n: [0.0; 2],
        waits: false,
        rng: Rng::stream(7, "ap", "scheme"),
    };
    let mut now = Time::ZERO;
    let mut in_service = vec![];
    let mut next_ack = [0u32; 4];

    for (serial, step) in (1u32..).zip(steps) {
        now += Time::from_us(10);
        if let Step::Wait { us } = step {
            now += Time::from_us(us);
        }
        while let Some(at) = tx_queue.next_tick().filter(|at| *at <= now) {
            tx_queue.tick(at, View { flows: &flows, links: &links });
            naive.tick();
        }
        let tag = |packet: Packet| Packet { window_bytes: serial, ..packet };
        let ms = now.as_secs_f64() * 1e3;
        let arrival = match step {
            Step::Data { connection, capable } => {
                Some(tag(data(connection, 1)).with_ecn(if capable { Ecn::Ect0 } else { Ecn::NotEct }))
            }
            Step::Ack { connection } => {
                next_ack[connection as usize] += 1_000;
                Some(tag(ack(connection, next_ack[connection as usize])))
            }
            Step::Syn { connection } => Some(tag(syn(connection))),
            Step::Received { connection, data: with_data, channel_us } => {
                let packet = upward(if with_data { data(connection, 1) } else { ack(connection, 1) });
                let flow = flows.observe(&packet, Direction::Up, now, |flow| tx_queue.holds(flow));
                let reception = Reception {
                    packet: &packet,
                    flow,
                    station: StationId(connection as u16),
                    ac: Ac::BestEffort,
                    airtime: Time::from_us(channel_us - 300),
                    overhead: Time::from_us(300),
                };
                tx_queue.receive(&reception, now, View { flows: &flows, links: &links });
                naive.now(ms, [flows.up().into(), flows.down().into()]);
                naive.t[usize::from(!with_data)] += channel_us as f64;
                None
            }
            Step::Take => {
                let queued = tx_queue.len();
                let got = tx_queue
                    .dequeue(&Grant::ANY, now, || View { flows: &flows, links: &links })
                    .map(DequeuedPacket::from);
                if spec["empty_turn"] == "other" {
                    prop_assert_eq!(got.is_some(), queued > 0, "never idle with a packet queued");
                }
                let asks = queued > 0 && !naive.waits;
                if asks {
                    naive.now(ms, [flows.up().into(), flows.down().into()]);
                }
                let expected = if asks { naive.dequeue(&links) } else { None };
                prop_assert_eq!(got.as_ref().map(|got| got.packet), expected);
                in_service.extend(got);
                None
            }
            Step::Finish { channel_us, frozen_us } => {
                if let Some(departure) = in_service.pop() {
                    let packet = departure.packet;
                    let service = channel_us + frozen_us;
                    finish(&mut tx_queue, &departure, [channel_us, service], now, &flows, &links);
                    naive.sample(service as f64 * 1e-3, channel_us as f64 * 1e-3);
                    if packet.class() != Class::Other {
                        naive.now(ms, [flows.up().into(), flows.down().into()]);
                        naive.t[usize::from(packet.class() == Class::Data)] += channel_us as f64;
                    }
                }
                None
            }
            Step::Wait { .. } => None,
        };
        if let Some(packet) = arrival {
            let flow = flows.observe(&packet, Direction::Down, now, |flow| tx_queue.holds(flow));
            // The scheme looks at its windows only when it is about to mark or serve.
            if tx_queue.len() < limit as usize && naive.rng.clone().unit() < naive.q_prob {
                naive.now(ms, [flows.up().into(), flows.down().into()]);
            }
            tx_queue.enqueue(Ac::BestEffort, &packet, flow, station(&packet), now, || View {
                flows: &flows,
                links: &links,
            });
            naive.enqueue(packet);
        }

        let next = tx_queue.next_tick();
        prop_assert!(
            next.is_some_and(|at| now < at && at <= now + Time::from_us(6_250)),
            "160 ticks a second"
        );
        prop_assert!(tx_queue.len() <= limit as usize, "the limit is kept");
        let buffer = tx_queue.buffer();
        let queue: Vec<Packet> = std::iter::successors(buffer.head(), |&slot| buffer.after(slot))
            .map(|slot| buffer[slot].packet)
            .collect();
        let (acks, others): (Vec<Packet>, Vec<Packet>) =
            queue.iter().copied().partition(|p| p.class() == Class::Ack);
        prop_assert_eq!(&acks, &naive.acks);
        prop_assert_eq!(&others, &naive.data);
        prop_assert!((gauge(&tx_queue, "mark_probability").unwrap() - naive.q_prob).abs() < 1e-9);
        prop_assert_eq!(gauge(&tx_queue, "ack_queue_packets"), Some(acks.len() as f64));
        prop_assert_eq!(gauge(&tx_queue, "data_queue_packets"), Some(others.len() as f64));
    }
    Ok(())
}

fn finish(
    tx_queue: &mut TxQueue,
    departure: &DequeuedPacket,
    [channel_us, service_us]: [u64; 2],
    now: Time,
    flows: &Flows,
    links: &[Link],
) {
    let exchange = || Exchange {
        outcome: Outcome::Delivered,
        packets: std::slice::from_ref(&departure.packet),
        flow: departure.flow,
        station: departure.station,
        ac: Ac::BestEffort,
        rate: links[departure.station.index()].rate,
        attempts: 1,
        airtime: Time::from_us(channel_us - 360),
        overhead: Time::from_us(360),
        service: Time::from_us(service_us),
    };
    tx_queue.complete(departure, Outcome::Delivered, now, || View { flows, links }, exchange);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(800)) })]
    /// The ACKs of a flow leave in their order because each queue does.
    #[test]
    fn agrees_with_algorithm_1(
        spec in spec(),
        limit in 1u32..25,
        steps in prop::collection::vec(step(), 1..300),
    ) {
        run(&spec, limit, steps)?;
    }
}
