//! `red` and `pi` against their papers' arithmetic over a list.

mod common;

use common::{ack, cases, data};
use proptest::prelude::*;
use wifair_core::{Class, Ecn, FlowId, Packet, Rng, StationId, TcpFlags, Time};
use wifair_queue::{Flows, FlowsSpec, Grant, Port, PortSpec, View};

/// What an arrival meets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Enters,
    Signalled,
    Dropped,
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

/// What becomes of a packet whose sender is told of congestion; `None`: dropped.
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
    let spec_of_port = PortSpec { limit_packets: limit, scheme, ..PortSpec::default() };
    let mut port = Port::new(&spec_of_port, 7, "ap");
    let mut rng = Rng::stream(7, "ap", "scheme");
    let flows = Flows::new(&FlowsSpec::default());
    let view = View { flows: &flows, links: &[] };
    let mut red = Red { avg: 0.0, count: -1, q_time: 0.0 };
    let (mut p, mut q_old) = (0.0f64, 0.0);
    let mut queue: Vec<Packet> = vec![];
    let [mut refused, mut marked, mut echoed] = [0u64; 3];
    let mut now = Time::ZERO;

    for (what, us) in steps {
        now += Time::from_us(u64::from(us));
        while let Some(at) = port.next_tick().filter(|at| *at <= now) {
            port.tick(at, view);
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
                let got = port.take(&Grant::ANY, now, view).map(|departure| departure.packet);
                prop_assert_eq!(got.is_some(), !queue.is_empty(), "never idle with a packet queued");
                if got.is_some() {
                    prop_assert_eq!(got, Some(queue.remove(0)));
                    if queue.is_empty() {
                        red.q_time = now.as_secs_f64() * 1e3;
                    }
                }
                continue;
            }
        };
        let full = queue.len() >= limit as usize;
        let ms = now.as_secs_f64() * 1e3;
        let fate = match spec["name"] == "red" {
            true => red.arrive(spec, queue.len(), full, ms, &mut rng),
            false if full => Fate::Dropped,
            false if rng.unit() < p => Fate::Signalled,
            false => Fate::Enters,
        };
        let enters = match fate {
            Fate::Enters => Some(packet),
            Fate::Signalled => signalled(&spec["signal"], packet),
            Fate::Dropped => None,
        };
        if let Some(enters) = enters {
            marked += u64::from(enters.ecn() != packet.ecn());
            echoed += u64::from(enters.flags != packet.flags);
        }
        refused += u64::from(enters.is_none() && !full);
        queue.extend(enters);
        port.offer(&packet, FlowId(0), StationId(0), now, view);
        prop_assert!(port.len() <= limit as usize, "the limit is kept");
        let buffer = port.buffer();
        let slots = std::iter::successors(buffer.head(), |&slot| buffer.after(slot));
        prop_assert_eq!(&slots.map(|slot| *buffer.packet(slot)).collect::<Vec<_>>(), &queue);
    }
    let classes = port.snapshot(now).classes;
    prop_assert_eq!(classes.iter().map(|ledger| ledger.aqm_refused.packets).sum::<u64>(), refused);
    prop_assert_eq!(classes.iter().map(|ledger| ledger.ce_marked.packets).sum::<u64>(), marked);
    prop_assert_eq!(classes.iter().map(|ledger| ledger.ece_marked.packets).sum::<u64>(), echoed);
    Ok(())
}

fn signal() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["drop", "mark", "mark-and-echo"])
}

fn red() -> impl Strategy<Value = serde_json::Value> {
    (signal(), any::<bool>(), 0.0f64..4.0, 0.5f64..8.0, 0.0f64..1.0, 0.01f64..0.8).prop_map(
        |(signal, gentle, min, more, max_probability, weight)| {
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

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(500)) })]
    #[test]
    fn agrees_with_the_paper(
        spec in prop_oneof![red(), pi()],
        limit in 1u32..30,
        steps in prop::collection::vec((any::<u8>(), 1u16..3_000), 1..300),
    ) {
        run(&spec, limit, steps)?;
    }
}
