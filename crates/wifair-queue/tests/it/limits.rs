//! Limit controllers: scripts of idle and busy time in, limits out; and that they go with every scheme.

use crate::common;

use common::{ack, cases, data};
use proptest::prelude::*;
use wifair_core::{Ac, Packet, Rate, StationId, Time};
use wifair_queue::{
    DequeuedPacket, Direction, Exchange, Flows, FlowsSpec, Grant, Ledger, Link, Outcome, SchemeSpec, TxQueue,
    TxQueueSpec, View,
};

/// A transmit queue behind a MAC that sends one packet at a time, and what an onlooker knows of its idle time.
struct Bench {
    tx_queue: TxQueue,
    flows: Flows,
    links: Vec<Link>,
    now: Time,
    in_service: Option<(DequeuedPacket, Time)>,
    /// In nanoseconds: no packet queued; none queued and none in service. Of the whole run.
    empty: u64,
    idle: u64,
}

impl Bench {
    fn new(tx_queue: &str) -> Bench {
        let spec: TxQueueSpec = serde_json::from_str(tx_queue).unwrap();
        spec.validate("ap.tx_queue").unwrap();
        Bench {
            tx_queue: TxQueue::new(&spec, 1, "ap"),
            flows: Flows::new(&FlowsSpec::default()),
            links: vec![Link::new(Rate::from_mbps(11.0))],
            now: Time::ZERO,
            in_service: None,
            empty: 0,
            idle: 0,
        }
    }

    fn limit(&self) -> u32 {
        self.tx_queue.buffer().limit()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let mut gauges = vec![];
        self.tx_queue.gauges(&mut |name, value| gauges.push((name, value)));
        gauges
    }

    /// Time passes; ticks come when they are due.
    fn wait(&mut self, time: Time) {
        let end = self.now + time;
        while let Some(at) = self.tx_queue.next_tick().filter(|at| *at <= end) {
            self.look(at);
            self.tx_queue.tick(at, View { flows: &self.flows, links: &self.links });
        }
        self.look(end);
    }

    fn look(&mut self, now: Time) {
        let passed = (now - self.now).as_ns();
        self.empty += passed * u64::from(self.tx_queue.is_empty());
        self.idle += passed * u64::from(self.tx_queue.is_empty() && self.in_service.is_none());
        self.now = now;
    }

    fn offer(&mut self, packet: Packet) {
        let flow = self.flows.observe(&packet, Direction::Down, self.now, |flow| self.tx_queue.holds(flow));
        self.tx_queue.enqueue(Ac::BestEffort, &packet, flow, StationId(0), self.now, || View {
            flows: &self.flows,
            links: &self.links,
        });
    }

    fn take(&mut self) {
        if self.in_service.is_none() {
            let view = View { flows: &self.flows, links: &self.links };
            self.in_service = self
                .tx_queue
                .dequeue(&Grant::ANY, self.now, || view)
                .map(DequeuedPacket::from)
                .map(|d| (d, self.now));
        }
    }

    fn finish(&mut self) {
        let Some((departure, since)) = self.in_service.take() else { return };
        let view = View { flows: &self.flows, links: &self.links };
        let now = self.now;
        self.tx_queue.complete(
            &departure,
            Outcome::Delivered,
            now,
            || view,
            || Exchange {
                outcome: Outcome::Delivered,
                packets: std::slice::from_ref(&departure.packet),
                flow: departure.flow,
                station: departure.station,
                ac: Ac::BestEffort,
                rate: Rate::from_mbps(11.0),
                attempts: 1,
                airtime: now - since,
                overhead: Time::ZERO,
                service: now - since,
            },
        );
    }
}

/// Of each interval the milliseconds with a packet queued and, of the rest, those with one in service; limits after it.
fn alt_course(tx_queue: &str, course: &[(u64, u64, u32)]) {
    let mut bench = Bench::new(tx_queue);
    for &(queued_ms, served_ms, limit) in course {
        bench.offer(data(1, 1));
        bench.wait(Time::from_ms(queued_ms));
        bench.take();
        bench.wait(Time::from_ms(served_ms));
        bench.finish();
        assert_eq!(bench.tx_queue.next_tick(), Some(Time::from_s(1 + bench.now.as_ns() / 1_000_000_000)));
        bench.wait(Time::from_ms(1000 - queued_ms - served_ms));
        assert_eq!(bench.limit(), limit, "at {}", bench.now);
    }
}

#[test]
fn alt_follows_equation_1() {
    // q + 10 t_i - 1 (1 - t_i): of 100 ms queued and 300 ms served t_i is 0.9 s, so + 8.9; the fraction is kept.
    let alt = r#"{"limit_packets": 100, "limit_controller": {"name": "alt"}}"#;
    alt_course(alt, &[(100, 300, 108), (100, 300, 117), (999, 0, 116), (500, 500, 121), (0, 0, 131)]);
    // Served time is busy time: t_i is 0.6 s, so + 5.6.
    let serving = r#"{"limit_packets": 100, "limit_controller": {"name": "alt", "idle": "nothing-to-send"}}"#;
    alt_course(serving, &[(100, 300, 105), (100, 300, 111), (999, 0, 110), (500, 500, 109), (0, 0, 119)]);
    // At rest where a t_i = b t_b.
    let rest =
        r#"{"limit_packets": 100, "limit_controller": {"name": "alt", "increase_packets_per_s": 4.0}}"#;
    alt_course(rest, &[(800, 0, 100), (800, 100, 100), (800, 200, 100)]);
}

#[test]
fn alt_stays_between_its_bounds() {
    let alt = r#"{"limit_packets": 31, "limit_controller": {"name": "alt", "max_packets": 40}}"#;
    alt_course(alt, &[(1000, 0, 30), (1000, 0, 30), (0, 0, 40), (0, 0, 40), (1000, 0, 39)]);
}

#[test]
fn ebdp_follows_the_mean_service_time() {
    let mut bench = Bench::new(
        r#"{"limit_packets": 50, "limit_controller": {"name": "ebdp", "service_weight": 0.25, "max_packets": 60}}"#,
    );
    assert_eq!((bench.limit(), bench.tx_queue.next_tick()), (50, None));
    assert_eq!(bench.gauges(), []);
    // The mean is 8 ms, then 8 + (4 - 8) / 4 = 7, 7 + (11 - 7) / 4 = 8, 8 + (0.8 - 8) / 4 = 6.2, ... ms.
    let mut mean_ms = 8.0;
    for (service_us, limit) in
        [(8_000, 30), (4_000, 33), (11_000, 30), (800, 37), (100, 47), (100, 60), (100, 60), (1_000_000, 5)]
    {
        bench.offer(data(1, 1));
        bench.wait(Time::from_ms(3)); // waiting is not service
        bench.take();
        bench.wait(Time::from_us(service_us));
        bench.finish();
        assert_eq!(bench.limit(), limit, "after a service time of {service_us} us");
        mean_ms += (service_us as f64 * 1e-3 - mean_ms) / 4.0;
        let [(name, value)] = bench.gauges()[..] else { panic!("one gauge") };
        assert_eq!(name, "service_time_ms");
        assert!((value - mean_ms).abs() < 1e-9, "{value} ms, not {mean_ms} ms");
    }
}

#[test]
fn above_a_lowered_limit_packets_stay_or_go() {
    for (rule, lengths) in [("drain", [9, 9, 9]), ("evict", [7, 6, 5])] {
        let mut bench = Bench::new(&format!(
            r#"{{"limit_packets": 9, "lowered_limit": "{rule}", "limit_controller":
                {{"name": "alt", "min_packets": 5, "max_packets": 20, "decrease_packets_per_s": 2.0, "interval_s": 0.5}}}}"#
        ));
        for seq in 0..9 {
            bench.offer(data(1, seq));
        }
        bench.wait(Time::from_ms(500));
        let mut seen = vec![];
        for _ in 0..3 {
            bench.wait(Time::from_ms(500));
            bench.offer(data(1, 100));
            seen.push(bench.tx_queue.len());
        }
        assert_eq!(seen, lengths, "{rule}");
        let head = bench.tx_queue.buffer().head().expect("packets are queued");
        assert_eq!(bench.tx_queue.buffer()[head].packet.seq, 0, "the newest go first");
    }
}

#[test]
fn impossible_limits_are_refused() {
    let complaint = |tx_queue: &str| {
        let spec: TxQueueSpec = serde_json::from_str(tx_queue).unwrap();
        let error = spec.validate("ap.tx_queue").unwrap_err();
        (error.key, error.allowed)
    };
    for (keys, key, allowed) in [
        (r#""limit_packets": 401, "limit_controller": {"name": "alt"}"#, "limit_packets", "30 to 400"),
        (r#""limit_packets": 29, "limit_controller": {"name": "alt"}"#, "limit_packets", "30 to 400"),
        (r#""limit_packets": 401, "limit_controller": {"name": "ebdp"}"#, "limit_packets", "1 to 400"),
        (
            r#""limit_controller": {"name": "alt", "min_packets": 401}"#,
            "limit_controller.max_packets",
            "401 to 100000",
        ),
        (
            r#""limit_controller": {"name": "alt", "min_packets": 0}"#,
            "limit_controller.min_packets",
            "1 packet",
        ),
        (r#""limit_controller": {"name": "alt", "interval_s": 0}"#, "limit_controller.interval_s", "0.001"),
        (
            r#""limit_controller": {"name": "ebdp", "spare_packets": 0}"#,
            "limit_controller.spare_packets",
            "1 to max_packets (400)",
        ),
        (
            r#""limit_controller": {"name": "ebdp", "service_weight": 0}"#,
            "limit_controller.service_weight",
            "more than 0",
        ),
    ] {
        let (at, says) = complaint(&format!("{{{keys}}}"));
        assert_eq!(at, format!("ap.tx_queue.{key}"), "{keys}");
        assert!(says.contains(allowed), "{keys}: {says}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Data { connection: u32 },
    Ack { connection: u32, more: u32 },
    Take,
    Finish,
    Wait { us: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u32..6).prop_map(|connection| Step::Data { connection }),
        6 => (6u32..12, 0u32..3).prop_map(|(connection, more)| Step::Ack { connection, more: more * 1460 }),
        6 => Just(Step::Take),
        6 => Just(Step::Finish),
        6 => (1u64..40_000).prop_map(|us| Step::Wait { us }),
    ]
}

const CONTROLLERS: &[(&str, u32, u32)] = &[
    (
        r#"{"name": "alt", "min_packets": 2, "max_packets": 12, "interval_s": 0.03, "increase_packets_per_s": 60.0,
            "decrease_packets_per_s": 40.0}"#,
        2,
        12,
    ),
    (
        r#"{"name": "alt", "min_packets": 2, "max_packets": 12, "interval_s": 0.03, "increase_packets_per_s": 60.0,
            "decrease_packets_per_s": 40.0, "idle": "nothing-to-send"}"#,
        2,
        12,
    ),
    (
        r#"{"name": "ebdp", "max_packets": 12, "spare_packets": 1, "max_delay_ms": 80.0, "service_weight": 0.5}"#,
        1,
        12,
    ),
];

fn identities(ledger: &Ledger) -> Result<(), TestCaseError> {
    let of = |count: wifair_queue::Count| count.packets;
    let refused = of(ledger.tail_dropped) + of(ledger.aqm_refused);
    prop_assert_eq!(of(ledger.offered), refused + of(ledger.accepted));
    let out = of(ledger.evicted) + of(ledger.aqm_evicted) + of(ledger.filtered) + of(ledger.dequeued);
    prop_assert_eq!(of(ledger.accepted), out + of(ledger.queued));
    prop_assert_eq!(of(ledger.dequeued), of(ledger.delivered) + of(ledger.in_service));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(600)) })]
    /// Every controller with every scheme: the limit keeps its bounds and, under ALT, is what a model computes; no
    /// scheme admits more than the limit allows; the counters balance.
    #[test]
    fn a_controller_goes_with_every_scheme(
        scheme in prop::sample::select(SchemeSpec::components().iter().map(|s| s.info.name).collect::<Vec<_>>()),
        controller in prop::sample::select(CONTROLLERS),
        evict in any::<bool>(),
        counts_in_service in any::<bool>(),
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let (controller, least, most) = controller;
        let mut bench = Bench::new(&format!(
            r#"{{"limit_packets": 6, "limit_counts_in_service": {counts_in_service}, "lowered_limit": "{}",
                "scheme": {{"name": "{scheme}"}}, "limit_controller": {controller}}}"#,
            if evict { "evict" } else { "drain" },
        ));
        let mut last_ack = [1u32; 12];
        for step in steps {
            let counted = |bench: &Bench| usize::from(counts_in_service && bench.in_service.is_some());
            let before = bench.tx_queue.len() + counted(&bench);
            match step {
                Step::Data { connection } => bench.offer(data(connection, 1)),
                Step::Ack { connection, more } => {
                    last_ack[connection as usize] += more;
                    bench.offer(ack(connection, last_ack[connection as usize]));
                }
                Step::Take => bench.take(),
                Step::Finish => bench.finish(),
                Step::Wait { us } => bench.wait(Time::from_us(us)),
            }
            let limit = bench.limit();
            prop_assert!((least..=most).contains(&limit), "{limit}");
            let held = bench.tx_queue.len() + counted(&bench);
            let held_before = if evict { 0 } else { before };
            prop_assert!(held <= held_before.max(limit as usize), "{held} of {limit}");
        }
        prop_assert_eq!(bench.tx_queue.empty_time(bench.now).as_ns(), bench.empty);
        for ledger in &bench.tx_queue.snapshot(bench.now).classes {
            identities(ledger)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(200)) })]
    #[test]
    fn alt_is_what_an_onlooker_computes(
        serving in any::<bool>(),
        scheme in prop::sample::select(vec!["droptail", "las", "adaptive-pushout"]),
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let idle = if serving { "nothing-to-send" } else { "empty-buffer" };
        let mut bench = Bench::new(&format!(
            r#"{{"limit_packets": 6, "scheme": {{"name": "{scheme}"}}, "limit_controller": {{"name": "alt",
                "idle": "{idle}", "min_packets": 2, "max_packets": 12, "interval_s": 0.03,
                "increase_packets_per_s": 60.0, "decrease_packets_per_s": 40.0}}}}"#,
        ));
        let interval = Time::from_ms(30);
        let (mut q, mut due, mut idle_before) = (6.0_f64, interval, 0);
        for step in steps {
            match step {
                Step::Data { connection } => bench.offer(data(connection, 1)),
                Step::Ack { connection, more } => bench.offer(ack(connection, 1 + more)),
                Step::Take => bench.take(),
                Step::Finish => bench.finish(),
                Step::Wait { us } => {
                    let end = bench.now + Time::from_us(us);
                    while due <= end {
                        bench.wait(due - bench.now);
                        let idle = if serving { bench.idle } else { bench.empty };
                        let idle_s = (idle - idle_before) as f64 * 1e-9;
                        q = (q + 60.0 * idle_s - 40.0 * (0.03 - idle_s)).clamp(2.0, 12.0);
                        // What rounding may decide is left out.
                        if (q - q.round()).abs() > 1e-6 {
                            prop_assert_eq!(bench.limit(), q as u32, "at {}", bench.now);
                        }
                        (due, idle_before) = (due + interval, idle);
                    }
                    bench.wait(end - bench.now);
                }
            }
        }
    }
}

/// In real time a clock is late; what was idle then counts, and no interval is busy for less than nothing.
#[test]
fn alt_bears_a_late_tick() {
    let mut bench = Bench::new(r#"{"limit_packets": 40, "limit_controller": {"name": "alt"}}"#);
    bench.look(Time::from_s(5));
    for _ in 0..5 {
        bench.tx_queue.tick(bench.now, View { flows: &bench.flows, links: &bench.links });
    }
    assert_eq!(bench.limit(), 40 + 5 * 10 - 4);
}
