//! `red`, `pi` and `pie` against their papers' arithmetic over a list.

use crate::common;

use common::{ack, cases, data};
use proptest::prelude::*;
use wifair_core::{Ac, Class, Ecn, FlowId, Packet, Rng, StationId, TcpFlags, Time};
use wifair_queue::{DequeuedPacket, Flows, FlowsSpec, Grant, TxQueue, TxQueueSpec, View};

/// What an arrival meets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Enters,
    Signalled,
    Dropped,
    /// As a congestion signal, since its transport cannot be marked.
    Refused,
}

/// The 1993 paper's Fig. 2 with its variables, and the gentle slope.
struct Red {
    avg: f64,
    count: i64,
    q_time: f64,
}

impl Red {
    fn arrive(&mut self, spec: &serde_json::Value, q: usize, full: bool, ms: f64, rng: &mut Rng) -> Fate {
        let number = |key: &str| spec[key].as_f64().unwrap();
        let (min_th, max_th, max_p, w_q) =
            (number("min_packets"), number("max_packets"), number("max_probability"), number("weight"));
        if q > 0 {
            self.avg = (1.0 - w_q) * self.avg + w_q * q as f64;
        } else {
            let m = (ms - self.q_time) / number("idle_packet_ms");
            self.avg *= (1.0 - w_q).powf(m);
            self.q_time = ms;
        }
        if full {
            self.count = 0;
            return Fate::Dropped;
        }
        let forced = if spec["gentle"] == true { 2.0 * max_th } else { max_th };
        if self.avg < min_th {
            self.count = -1;
            return Fate::Enters;
        }
        if self.avg >= forced {
            self.count = 0;
            return Fate::Dropped;
        }
        self.count += 1;
        let p_b = if self.avg < max_th {
            max_p * (self.avg - min_th) / (max_th - min_th)
        } else {
            max_p + (1.0 - max_p) * (self.avg / max_th - 1.0)
        };
        let room = 1.0 - self.count as f64 * p_b;
        let p_a = if room > 0.0 { p_b / room } else { 1.0 };
        if rng.unit() < p_a {
            self.count = 0;
            Fate::Signalled
        } else {
            Fate::Enters
        }
    }
}

/// RFC 8033, Appendices A and B, with its variables; delays in seconds.
#[derive(Default)]
struct Pie {
    drop_prob: f64,
    burst_allowance: f64,
    qdelay_old: f64,
    current_qdelay: f64,
    accu_prob: f64,
}

impl Pie {
    fn drop_early(&mut self, spec: &serde_json::Value, queue_bytes: u64, rng: &mut Rng) -> bool {
        let number = |key: &str| spec[key].as_f64().unwrap();
        let u = rng.unit();
        let qdelay_ref = number("target_ms") / 1e3;
        if self.burst_allowance > 0.0 {
            return false;
        }
        if self.qdelay_old < qdelay_ref / 2.0 && self.drop_prob < 0.2 {
            return false;
        }
        if queue_bytes as f64 <= 2.0 * number("mean_packet_bytes") {
            return false;
        }
        if spec["derandomize"] == true {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += self.drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                self.accu_prob = 0.0;
                return true;
            }
        }
        if u < self.drop_prob {
            self.accu_prob = 0.0;
            return true;
        }
        false
    }

    fn calculate_drop_prob(&mut self, spec: &serde_json::Value) {
        let number = |key: &str| spec[key].as_f64().unwrap();
        let qdelay_ref = number("target_ms") / 1e3;
        let mut p = number("alpha_per_s") * (self.current_qdelay - qdelay_ref)
            + number("beta_per_s") * (self.current_qdelay - self.qdelay_old);
        if self.drop_prob < 0.000001 {
            p /= 2048.0;
        } else if self.drop_prob < 0.00001 {
            p /= 512.0;
        } else if self.drop_prob < 0.0001 {
            p /= 128.0;
        } else if self.drop_prob < 0.001 {
            p /= 32.0;
        } else if self.drop_prob < 0.01 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        } else if spec["cap_steps"] == true && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if self.current_qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = f64::max(0.0, self.burst_allowance - number("update_ms") / 1e3);
        if self.drop_prob == 0.0
            && self.current_qdelay < qdelay_ref / 2.0
            && self.qdelay_old < qdelay_ref / 2.0
        {
            self.burst_allowance = number("max_burst_ms") / 1e3;
        }
        self.qdelay_old = self.current_qdelay;
    }
}

/// A packet after a congestion signal; `None` if it is dropped.
fn signalled(signal: &serde_json::Value, packet: Packet) -> Option<Packet> {
    match signal.as_str().unwrap() {
        "drop" => None,
        _ if packet.ecn() != Ecn::NotEct => Some(packet.with_ecn(Ecn::Ce)),
        "mark-and-echo" if packet.class() == Class::Ack => {
            Some(Packet { flags: packet.flags | TcpFlags::ECE, ..packet })
        }
        _ => None,
    }
}

fn run(spec: &serde_json::Value, limit: u32, steps: Vec<(u8, u16)>) -> Result<(), TestCaseError> {
    let scheme = serde_json::from_value(spec.clone()).unwrap();
    let spec_of_tx_queue = TxQueueSpec { limit_packets: limit, scheme, ..TxQueueSpec::default() };
    let mut tx_queue = TxQueue::new(&spec_of_tx_queue, 7, "ap");
    let mut rng = Rng::stream(7, "ap", "scheme");
    let flows = Flows::new(&FlowsSpec::default());
    let view = View { flows: &flows, links: &[] };
    let mut red = Red { avg: 0.0, count: -1, q_time: 0.0 };
    let burst_allowance = spec["max_burst_ms"].as_f64().unwrap_or(0.0) / 1e3;
    let mut pie = Pie { burst_allowance, ..Pie::default() };
    let mut arrived: Vec<Time> = vec![];
    let (mut p, mut q_old) = (0.0f64, 0.0);
    let mut queue: Vec<Packet> = vec![];
    let [mut refused, mut marked, mut echoed] = [0u64; 3];
    let mut now = Time::ZERO;

    for (what, us) in steps {
        now += Time::from_us(u64::from(us));
        while let Some(at) = tx_queue.next_tick().filter(|at| *at <= now) {
            tx_queue.tick(at, view);
            if spec["name"] == "pie" {
                pie.calculate_drop_prob(spec);
                continue;
            }
            let q = queue.len() as f64;
            let number = |key: &str| spec[key].as_f64().unwrap();
            let q_ref = number("reference_packets");
            p = (p + number("a") * (q - q_ref) - number("b") * (q_old - q_ref)).clamp(0.0, 1.0);
            q_old = q;
        }
        let packet = match what % 5 {
            0 => data(1, now.as_ns() as u32).with_ecn(Ecn::Ect0),
            1 => data(2, now.as_ns() as u32),
            2 => ack(3, now.as_ns() as u32),
            _ => {
                let got = tx_queue
                    .dequeue(&Grant::ANY, now, || view)
                    .map(DequeuedPacket::from)
                    .map(|departure| departure.packet);
                prop_assert_eq!(got.is_some(), !queue.is_empty(), "never idle with a packet queued");
                if got.is_some() {
                    prop_assert_eq!(got, Some(queue.remove(0)));
                    let waited = (now - arrived.remove(0)).as_secs_f64();
                    pie.current_qdelay = if queue.is_empty() { 0.0 } else { waited };
                    if queue.is_empty() {
                        red.q_time = now.as_secs_f64() * 1e3;
                    }
                }
                continue;
            }
        };
        let full = queue.len() >= limit as usize;
        let ms = now.as_secs_f64() * 1e3;
        let queue_bytes = queue.iter().map(|packet| u64::from(packet.ip_bytes())).sum();
        let fate = match spec["name"].as_str().unwrap() {
            "red" => red.arrive(spec, queue.len(), full, ms, &mut rng),
            _ if full => {
                pie.accu_prob = 0.0;
                Fate::Dropped
            }
            "pie" if !pie.drop_early(spec, queue_bytes, &mut rng) => Fate::Enters,
            "pie" if pie.drop_prob > spec["mark_up_to"].as_f64().unwrap() => Fate::Refused,
            "pie" => Fate::Signalled,
            _ if rng.unit() < p => Fate::Signalled,
            _ => Fate::Enters,
        };
        let enters = match fate {
            Fate::Enters => Some(packet),
            Fate::Signalled => signalled(&spec["signal"], packet),
            Fate::Dropped | Fate::Refused => None,
        };
        if let Some(enters) = enters {
            marked += u64::from(enters.ecn() != packet.ecn());
            echoed += u64::from(enters.flags != packet.flags);
        }
        refused += u64::from(enters.is_none() && !full);
        queue.extend(enters);
        arrived.extend(enters.map(|_| now));
        tx_queue.enqueue(Ac::BestEffort, &packet, FlowId(0), StationId(0), now, || view);
        prop_assert!(tx_queue.len() <= limit as usize, "the limit is kept");
        let buffer = tx_queue.buffer();
        let slots = std::iter::successors(buffer.head(), |&slot| buffer.after(slot));
        prop_assert_eq!(&slots.map(|slot| buffer[slot].packet).collect::<Vec<_>>(), &queue);
    }
    let classes = tx_queue.snapshot(now).classes;
    prop_assert_eq!(classes.iter().map(|ledger| ledger.aqm_refused.packets).sum::<u64>(), refused);
    prop_assert_eq!(classes.iter().map(|ledger| ledger.ce_marked.packets).sum::<u64>(), marked);
    prop_assert_eq!(classes.iter().map(|ledger| ledger.ece_marked.packets).sum::<u64>(), echoed);
    Ok(())
}

fn signal() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["drop", "mark", "mark-and-echo"])
}

fn red() -> impl Strategy<Value = serde_json::Value> {
    let switches = (signal(), any::<bool>(), any::<bool>());
    (switches, 0.0f64..4.0, 0.5f64..8.0, 0.0f64..1.0, 0.01f64..0.8).prop_map(
        |((signal, gentle, whole), min, more, max_probability, weight)| {
            // In whole packets, without memory, the average meets the thresholds exactly.
            let (min, more, weight) =
                if whole { (min.floor(), more.ceil(), 1.0) } else { (min, more, weight) };
            serde_json::json!({
                "name": "red", "signal": signal, "gentle": gentle, "min_packets": min,
                "max_packets": min + more, "max_probability": max_probability, "weight": weight,
                "idle_packet_ms": 1.5,
            })
        },
    )
}

fn pi() -> impl Strategy<Value = serde_json::Value> {
    (signal(), 0.0f64..10.0, 0.01f64..0.2, 0.0f64..1.0).prop_map(|(signal, reference, a, part)| {
        serde_json::json!({
            "name": "pi", "signal": signal, "reference_packets": reference, "a": a, "b": a * part,
            "frequency_hz": 160.0,
        })
    })
}

fn pie() -> impl Strategy<Value = serde_json::Value> {
    let switches = (signal(), any::<bool>(), any::<bool>(), 0.0f64..0.6);
    let numbers = (1.0f64..20.0, 1.0f64..20.0, 0.0f64..30.0, 0.0f64..20.0, 0.0f64..60.0, 0u32..1_600);
    (switches, numbers).prop_map(
        |((signal, derandomize, cap_steps, mark_up_to), (target, update, alpha, beta, burst, mean))| {
            serde_json::json!({
                "name": "pie", "signal": signal, "derandomize": derandomize, "cap_steps": cap_steps,
                "mark_up_to": mark_up_to, "target_ms": target, "update_ms": update, "alpha_per_s": alpha,
                "beta_per_s": beta, "max_burst_ms": burst, "mean_packet_bytes": mean,
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(500)) })]
    #[test]
    fn agrees_with_the_paper(
        spec in prop_oneof![red(), pi(), pie()],
        limit in 1u32..30,
        steps in prop::collection::vec((any::<u8>(), 1u16..3_000), 1..300),
    ) {
        run(&spec, limit, steps)?;
    }
}

/// The steps of the controller with the RFC's constants, worked out by hand: a packet that has waited for 30 ms leaves before
/// the third, where 15 ms is the target.
#[test]
fn the_steps_of_pie_by_hand() {
    let scheme = serde_json::from_str(r#"{"name": "pie"}"#).unwrap();
    let mut tx_queue = TxQueue::new(&TxQueueSpec { scheme, ..TxQueueSpec::default() }, 1, "ap");
    let flows = Flows::new(&FlowsSpec::default());
    let view = View { flows: &flows, links: &[] };
    let probability = |tx_queue: &TxQueue| {
        let mut found = f64::NAN;
        tx_queue.gauges(&mut |name, value| {
            if name == "mark_probability" {
                found = value;
            }
        });
        found
    };
    // Step 1, at 15 ms, with a delay of 0: 0.125 * -0.015 < 0, so the probability stays 0.
    let step = |tx_queue: &mut TxQueue, n: u64| {
        assert_eq!(tx_queue.next_tick(), Some(Time::from_ms(15 * n)));
        tx_queue.tick(Time::from_ms(15 * n), view);
        probability(tx_queue)
    };
    assert_eq!(step(&mut tx_queue, 1), 0.0);
    for number in 0..2 {
        tx_queue.enqueue(
            Ac::BestEffort,
            &data(1, number),
            FlowId(0),
            StationId(0),
            Time::from_ms(15),
            || view,
        );
    }
    assert_eq!(step(&mut tx_queue, 2), 0.0);
    let departure = tx_queue
        .dequeue(&Grant::ANY, Time::from_ms(45) - Time::from_us(1), || view)
        .map(DequeuedPacket::from)
        .unwrap();
    let delay = (Time::from_ms(45) - Time::from_us(1) - departure.enqueued_at).as_secs_f64();
    let third = (0.125 * (delay - 0.015) + 1.25 * delay) / 2048.0;
    assert!((step(&mut tx_queue, 3) - third).abs() < 1e-15);
    // 1.9e-5: steps are divided by 128 there. No trend any more.
    assert!((1.8e-5..2e-5).contains(&third));
    let fourth = third + 0.125 * (delay - 0.015) / 128.0;
    assert!((step(&mut tx_queue, 4) - fourth).abs() < 1e-15);
    let fifth = fourth + 0.125 * (delay - 0.015) / 128.0;
    assert!((step(&mut tx_queue, 5) - fifth).abs() < 1e-15);
    // The last packet leaves: the delay is nothing, and the trend is down.
    let _departure =
        tx_queue.dequeue(&Grant::ANY, Time::from_ms(80), || view).map(DequeuedPacket::from).unwrap();
    assert_eq!(step(&mut tx_queue, 6), 0.0);
}

/// RFC 8033, 4.1: nothing is signalled while the delay was *below* half the target at the last step.
#[test]
fn pie_acts_from_half_the_target_on() {
    for (before_last_step, acts) in [(Time::from_ms(8), true), (Time::from_ms(8) - Time::from_us(1), false)] {
        let json = r#"{"name": "pie", "target_ms": 16.0, "alpha_per_s": 1.0, "beta_per_s": 0.0,
            "max_burst_ms": 0.0, "mean_packet_bytes": 0, "derandomize": false}"#;
        let spec = TxQueueSpec {
            limit_packets: 1_000,
            scheme: serde_json::from_str(json).unwrap(),
            ..TxQueueSpec::default()
        };
        let mut tx_queue = TxQueue::new(&spec, 1, "ap");
        let flows = Flows::new(&FlowsSpec::default());
        let view = View { flows: &flows, links: &[] };
        // One step with a delay of 300 s makes the probability 0.15, and the one after takes little away.
        let long = Time::from_s(300);
        for (number, at) in [Time::ZERO, long, long].into_iter().enumerate() {
            tx_queue.enqueue(Ac::BestEffort, &data(1, number as u32), FlowId(0), StationId(0), at, || view);
        }
        let now = long + before_last_step;
        for at in [long, now] {
            let _departure = tx_queue.dequeue(&Grant::ANY, at, || view).map(DequeuedPacket::from).unwrap();
            tx_queue.tick(at, view);
        }
        for number in 0..200 {
            tx_queue.enqueue(Ac::BestEffort, &data(1, number), FlowId(0), StationId(0), now, || view);
        }
        let refused: u64 =
            tx_queue.snapshot(now).classes.iter().map(|ledger| ledger.aqm_refused.packets).sum();
        assert_eq!(refused > 0, acts, "{refused} refused after {before_last_step}");
    }
}
