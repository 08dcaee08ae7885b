//! What a scheme is notified of besides its packets: ticks when it asked for them, and what its exchanges took.

use crate::support;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use support::{Logged, cell_b, cell_g, effort, external, packet_down, us};
use wifair_core::{Ac, FlowId, Rate, Rng, StationId, Time};
use wifair_queue::{
    Arrival, Buffer, Cx, DequeuedPacket, Exchange, Grant, Hooks, MpduOutcome, Outcome, Placed, Scheme,
    SchemeSpec, Transmission, TransmittedMpdu,
};
use wifair_wlan::{AggregationSpec, Bss, CategorySpec, EdcaSpec, HardwareSpec, Node, PhySpec};

const SLOT: Time = Time::from_us(20);
const DIFS: Time = Time::from_us(50);
/// 1500 bytes of IP at 11 Mbps, SIFS and MAC ACK.
const EXCHANGE: Time = Time::from_us(1_310 + 314);
const NS: Time = Time::from_ns(1);

/// When a scheme wants its ticks, one after the other.
type Wanted = Arc<Mutex<VecDeque<Time>>>;
/// Whose tick came, and when.
type Ticks = Arc<Mutex<Vec<(&'static str, Time)>>>;

/// Tail drop with a clock.
struct Ticking {
    name: &'static str,
    wanted: Wanted,
    ticks: Ticks,
}

impl Scheme for Ticking {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn hooks(&self) -> Hooks {
        Hooks { tick: true, moves_tick: true, ..Hooks::default() }
    }

    fn next_tick(&self) -> Option<Time> {
        self.wanted.lock().unwrap().front().copied()
    }

    fn on_tick(&mut self, _buffer: &mut Buffer, cx: &mut Cx) {
        self.wanted.lock().unwrap().pop_front();
        self.ticks.lock().unwrap().push((self.name, cx.now));
    }
}

fn ticking_at(at_us: &[u64]) -> Wanted {
    Wanted::new(Mutex::new(at_us.iter().map(|&at| us(at)).collect()))
}

fn ticking(name: &'static str, at_us: &[u64], ticks: &Ticks) -> (SchemeSpec, Wanted) {
    let wanted = ticking_at(at_us);
    let (ticks, shared) = (ticks.clone(), wanted.clone());
    let scheme = external(move || Ticking { name, wanted: shared.clone(), ticks: ticks.clone() });
    (scheme, wanted)
}

/// Each transmit queue has its own clock; what is due at the same instant goes by the transmit queues' numbers.
#[test]
fn every_tx_queue_gets_its_own_ticks() {
    let ticks = Ticks::default();
    let mut spec = cell_b(2);
    spec.ap.tx_queue.scheme = ticking("ap", &[30, 50, 60, 5_000], &ticks).0;
    spec.stations[0].tx_queue.scheme = ticking("sta-0", &[40, 60, 7_000], &ticks).0;
    spec.stations[1].tx_queue.scheme = ticking("sta-1", &[30], &ticks).0;
    let mut run = Logged::new(&spec, 1);
    run.down(0, 1, us(10));
    run.up(0, 1, us(10));
    run.up(1, 1, us(10));
    run.run();
    let (ap, first, second) = ("ap", "sta-0", "sta-1");
    let expected =
        [(ap, 30), (second, 30), (first, 40), (ap, 50), (ap, 60), (first, 60), (ap, 5_000), (first, 7_000)];
    assert_eq!(*ticks.lock().unwrap(), expected.map(|(name, at)| (name, us(at))));
}

/// The last word holds: after a packet the transmit queue is asked again.
#[test]
fn a_tick_may_be_moved_or_called_off() {
    for (then, expected) in [(None, None), (Some(700), Some(700)), (Some(9_000), Some(9_000))] {
        let ticks = Ticks::default();
        let mut spec = cell_b(1);
        let (scheme, wanted) = ticking("ap", &[1_000], &ticks);
        spec.ap.tx_queue.scheme = scheme;
        let mut run = Logged::new(&spec, 1);
        run.down(0, 1, us(10));
        run.run_before(us(500));
        *wanted.lock().unwrap() = then.into_iter().map(us).collect();
        run.down(0, 1, us(500));
        run.run();
        let expected: Vec<_> = expected.into_iter().map(|at| ("ap", us(at))).collect();
        assert_eq!(*ticks.lock().unwrap(), expected);
    }
}

/// Tail drop that is not work conserving: it releases a packet only at certain times.
struct Withholding {
    clock: Ticking,
    releases: &'static [Time],
    asked: Arc<Mutex<Vec<Time>>>,
}

impl Scheme for Withholding {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        self.clock.enqueue(arrival, buffer, cx)
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, cx: &mut Cx) -> Option<DequeuedPacket> {
        self.asked.lock().unwrap().push(cx.now);
        if self.releases.contains(&cx.now) { buffer.release_head(grant) } else { None }
    }

    fn hooks(&self) -> Hooks {
        self.clock.hooks()
    }

    fn next_tick(&self) -> Option<Time> {
        self.clock.next_tick()
    }

    fn on_tick(&mut self, buffer: &mut Buffer, cx: &mut Cx) {
        self.clock.on_tick(buffer, cx);
    }
}

/// A scheme that released nothing is asked again at each arrival, at each of its ticks and at the end of each exchange, and at
/// no other time; nor is it asked while a packet is in service, or with none queued.
#[test]
fn a_scheme_that_holds_packets_back_is_asked_again() {
    static RELEASES: [Time; 2] = [Time::from_us(200), Time::from_us(9_000)];
    let asked: Arc<Mutex<Vec<Time>>> = Arc::default();
    let mut spec = cell_b(1);
    let (shared, wanted) = (Arc::clone(&asked), ticking_at(&[100, 200, 300, 7_000, 9_000, 20_000]));
    spec.ap.tx_queue.scheme = external(move || Withholding {
        clock: Ticking { name: "ap", wanted: wanted.clone(), ticks: Ticks::default() },
        releases: &RELEASES,
        asked: shared.clone(),
    });
    let mut run = Logged::new(&spec, 1);
    run.down(0, 1, us(10));
    run.down(0, 1, us(50));
    run.run_before(us(4_000));
    run.up(0, 1, us(4_000));
    run.run();
    let asked = asked.lock().unwrap();
    let first_end = asked[4];
    assert!(first_end >= us(200) + EXCHANGE && first_end < us(4_000), "{first_end}");
    assert_eq!(*asked, [us(10), us(50), us(100), us(200), first_end, us(7_000), us(9_000)]);
    assert_eq!(run.bss.ap_tx_queue().len(), 0);
}

/// Attempts, airtime and overhead of each exchange.
type Exchanges = Arc<Mutex<Vec<(u8, Time, Time)>>>;

/// Tail drop that keeps its exchanges.
struct Bookkeeper(Exchanges);

impl Scheme for Bookkeeper {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn hooks(&self) -> Hooks {
        Hooks { exchange: true, ..Hooks::default() }
    }

    fn on_exchange(&mut self, exchange: &Exchange, _buffer: &mut Buffer, _cx: &mut Cx) {
        self.0.lock().unwrap().push((exchange.attempts, exchange.airtime, exchange.overhead));
    }
}

/// A BSS whose AP keeps its exchanges.
fn kept(stations: usize, seed: u64) -> (Logged, Exchanges) {
    let exchanges = Exchanges::default();
    let mut spec = cell_b(stations);
    let shared = exchanges.clone();
    spec.ap.tx_queue.scheme = external(move || Bookkeeper(shared.clone()));
    (Logged::new(&spec, seed), exchanges)
}

/// The first backoff of a node with window `cw`.
fn backoff(seed: u64, label: &str, cw: u32) -> u64 {
    Rng::stream(seed, label, "backoff").below(cw + 1).into()
}

/// A frame comes while the counter of the one before runs, or is frozen because another transmits: it waits for a DIFS
/// and the slots that are left.
#[test]
fn what_is_left_of_a_post_backoff_is_charged() {
    let origin = us(100) + EXCHANGE + DIFS;
    let mut met = 0;
    for seed in 0..40 {
        let post = backoff(seed, "ap", 31);
        if post < 4 {
            continue;
        }
        met += 1;
        for another_transmits in [false, true] {
            let (mut run, exchanges) = kept(2, seed);
            run.down(0, 1, us(100));
            let at = origin + SLOT * 2 + NS;
            run.run_before(at);
            if another_transmits {
                run.up(1, 1, at);
                run.run_before(at + us(700));
                run.down(0, 1, at + us(700));
            } else {
                run.down(0, 1, at);
            }
            run.run();
            let second = exchanges.lock().unwrap()[1];
            assert_eq!(second, (1, EXCHANGE, DIFS + SLOT * (post - 2)), "seed {seed}, {another_transmits}");
        }
    }
    assert!(met > 20);
}

/// A frame that comes within an IFS waits for its end alone; if somebody else starts before, it draws, and what it drew
/// is charged too.
#[test]
fn a_backoff_drawn_late_is_charged() {
    // Stations 0 and 1 collide until 1410 and continue at 1682; the AP's packet comes at 1420, in an EIFS until 1774.
    let mut met = [0; 2];
    for seed in 0..200 {
        let first = ["sta-0", "sta-1"].map(|label| us(1_682) + SLOT * backoff(seed, label, 63));
        let (mut run, exchanges) = kept(3, seed);
        run.up(0, 1, us(100));
        run.up(1, 1, us(100));
        run.run_before(us(1_420));
        run.down(2, 1, us(1_420));
        run.run();
        let (attempts, airtime, overhead) = exchanges.lock().unwrap()[0];
        if attempts > 1 {
            continue; // it collided, and drew again
        }
        let draws = first.iter().any(|&start| start < us(1_774));
        met[usize::from(draws)] += 1;
        let slots = if draws { backoff(seed, "ap", 31) } else { 0 };
        assert_eq!((airtime, overhead), (EXCHANGE, DIFS + SLOT * slots), "seed {seed}");
        let times = run.bss.snapshot(Time::from_s(1)).channel_time.unwrap();
        assert_eq!((times.actual.down, times.believed.down), (airtime + overhead, airtime + overhead));
    }
    assert!(met[0] > 20 && met[1] > 20, "{met:?}");
}

/// Airtime and overhead.
type Took = (Time, Time);

/// What a [`Watcher`] has heard.
#[derive(Default)]
struct Heard {
    /// Of each packet, by station and number: of its transmissions the outcomes, and what its shares add up to.
    packets: BTreeMap<(u16, u32), (Vec<MpduOutcome>, Took)>,
    /// Airtime of all transmissions, and MPDUs in them.
    airtime: Time,
    mpdus: u64,
    /// Packets that have joined the MPDU of another.
    joined: u64,
    transmissions: u64,
    exchanges: u64,
    /// By station: what each transmission was.
    seen: BTreeMap<u16, Vec<Seen>>,
}

/// Of a packet: number, place in an A-MSDU, flow, sequence number of its MPDU, outcome, transmissions, airtime.
type SeenMpdu = (u32, bool, FlowId, Option<u16>, MpduOutcome, u32, Time);

/// What an observer at the start of a transmission and its sender after it must agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    ac: Ac,
    rate: Rate,
    airtime: Time,
    mpdus: Vec<SeenMpdu>,
}

impl Seen {
    fn of(transmission: &Transmission) -> Seen {
        let &Transmission { ac, rate, airtime, ref mpdus, .. } = transmission;
        let mpdus = mpdus.iter().map(|mpdu| {
            let &TransmittedMpdu {
                packet, continues_amsdu, flow, sequence, outcome, attempts, airtime, ..
            } = mpdu;
            (packet.seq, continues_amsdu, flow, sequence, outcome, attempts, airtime)
        });
        Seen { ac, rate, airtime, mpdus: mpdus.collect() }
    }
}

/// Tail drop that compares transmissions with exchanges.
struct Watcher(Arc<Mutex<Heard>>);

impl Scheme for Watcher {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn hooks(&self) -> Hooks {
        Hooks { exchange: true, transmission: true, ..Hooks::default() }
    }

    fn on_transmission(&mut self, told: &Transmission, _buffer: &mut Buffer, _cx: &mut Cx) {
        let heard = &mut *self.0.lock().unwrap();
        let sum =
            |of: fn(&TransmittedMpdu) -> Time| told.mpdus.iter().fold(Time::ZERO, |sum, mpdu| sum + of(mpdu));
        if told.sent() > 0 {
            assert_eq!(sum(|mpdu| mpdu.airtime), told.airtime, "the shares add up to the airtime");
            assert_eq!(sum(|mpdu| mpdu.overhead), told.overhead, "the shares add up to the overhead");
        }
        assert!(told.by_mpdu().all(|mpdu| mpdu.iter().all(|packet| packet.outcome == mpdu[0].outcome)));
        heard.joined += told.mpdus.iter().filter(|mpdu| mpdu.continues_amsdu).count() as u64;
        for mpdu in &told.mpdus {
            let (outcomes, took) = heard.packets.entry((told.station.0, mpdu.packet.seq)).or_default();
            outcomes.push(mpdu.outcome);
            assert_eq!(outcomes.len() as u32, mpdu.attempts);
            *took = (took.0 + mpdu.airtime, took.1 + mpdu.overhead);
        }
        heard.airtime += told.airtime;
        heard.mpdus += u64::from(told.sent());
        heard.transmissions += 1;
        heard.seen.entry(told.station.0).or_default().push(Seen::of(told));
    }

    fn on_exchange(&mut self, exchange: &Exchange, _buffer: &mut Buffer, _cx: &mut Cx) {
        let heard = &mut *self.0.lock().unwrap();
        heard.exchanges += 1;
        let key = (exchange.station.0, exchange.packets[0].seq);
        let (outcomes, took) = heard.packets.remove(&key).expect("a packet that was transmitted");
        assert_eq!(took, (exchange.airtime, exchange.overhead), "a packet's shares add up to what it took");
        assert_eq!(outcomes.len(), usize::from(exchange.attempts));
        let (last, before) = outcomes.split_last().expect("it was transmitted");
        assert!(before.iter().all(|outcome| *outcome == MpduOutcome::ToRetry));
        match exchange.outcome {
            Outcome::LostAtRetryLimit => assert_eq!(*last, MpduOutcome::GivenUp),
            // What the response to a Block Ack Request acknowledges had failed.
            Outcome::Delivered => assert_ne!(*last, MpduOutcome::GivenUp),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60 * effort() as u32, ..ProptestConfig::default() })]

    /// The split of airtime and overhead adds up exactly, by PPDU and by packet, for single frames and A-MPDUs, with errors,
    /// collisions, RTS and TXOPs; without collisions it adds up to the airtime that is charged to the stations.
    #[test]
    fn shares_of_transmissions_add_up(
        (kind, collides, uses_rts, has_txop, (bar, own_ends)) in (0..4, any::<bool>(), any::<bool>(), any::<bool>(), (0..3, any::<bool>())),
        errors in [0.0..0.6, 0.0..0.3, 0.0..0.6, 0.0..0.3],
        (attempts, max_amsdu_bytes) in (1u32..4, prop_oneof![Just(0u32), 1_000u32..4_000]),
        bursts in prop::collection::vec((0u64..4_000, 0u16..2, 1u32..30), 1..25),
        seed in any::<u64>(),
    ) {
        let mut spec = if kind == 0 { cell_b(2) } else { cell_g(2) };
        if kind > 1 {
            spec.phy = PhySpec::Ht(Default::default());
            for station in &mut spec.stations {
                (station.mcs, station.rate_mbps) = (Some(kind as u8 + 1), None);
            }
            use wifair_wlan::MpduDelivery;
            use wifair_wlan::Requests::{GivenUp, Missed, Never};
            let bar = [Never, GivenUp, Missed][bar as usize];
            let delivery = if own_ends { MpduDelivery::Mpdu } else { MpduDelivery::Ppdu };
            let aggregation = AggregationSpec {
                max_attempts: Some(attempts),
                bar,
                delivery,
                max_amsdu_bytes,
                ..AggregationSpec::default()
            };
            spec.mac.aggregation = Some(aggregation);
        }
        if kind > 0 {
            let txop_limit_us = has_txop.then_some(3_000.0);
            let best_effort = CategorySpec { txop_limit_us, ..CategorySpec::default() };
            spec.mac.edca = Some(EdcaSpec { best_effort, ..EdcaSpec::default() });
        }
        spec.mac.retry_limit_short = attempts;
        spec.mac.rts_threshold_bytes = uses_rts.then_some(800);
        for station in &mut spec.stations {
            let [data_up, ack_up, data_down, ack_down] = errors;
            let rates = wifair_wlan::FrameErrorRate { data_up, data_down, ack_up, ack_down, by_rate: vec![] };
            station.frame_error_rate = rates;
        }
        let heard = Arc::<Mutex<Heard>>::default();
        let shared = heard.clone();
        spec.ap.tx_queue.scheme = external(move || Watcher(shared.clone()));
        let mut run = Logged::new(&spec, seed);
        let (mut now, mut number) = (Time::ZERO, 0);
        let mut begun = BTreeMap::<u16, Vec<Seen>>::new();
        let mut began = |bss: &Bss| {
            for ppdu in bss.transmissions().filter(|ppdu| ppdu.from == Node::Ap) {
                let of_station = begun.entry(ppdu.transmission.station.0).or_default();
                of_station.push(Seen::of(&ppdu.transmission));
            }
        };
        for (gap_us, station, packets) in bursts {
            now += us(gap_us);
            while run.bss.advance_watched(now + NS, &mut began).is_some() {}
            for _ in 0..packets {
                number += 1;
                run.bss.send_down(StationId(station), &packet_down(station, number, 1_500 - number % 1_000), now);
            }
            if collides {
                run.up(1 - station, packets.div_ceil(3), now);
            }
        }
        while run.bss.advance_watched(Time::MAX, &mut began).is_some() {}
        let end = now + Time::from_s(100);
        let heard = heard.lock().unwrap();
        prop_assert_eq!(&heard.seen, &begun, "observers see what the sender is notified of");
        prop_assert!(heard.packets.is_empty(), "what is transmitted ends");
        prop_assert!(heard.joined == 0 || kind > 1 && max_amsdu_bytes > 0);
        prop_assert_eq!(heard.exchanges, run.bss.ap_tx_queue().snapshot(end).sojourn.count());
        let down = run.bss.snapshot(end).stations.iter().fold((0, Time::ZERO), |sum, station| {
            (sum.0 + station.down.attempts, sum.1 + station.down.airtime)
        });
        prop_assert_eq!(heard.transmissions, down.0, "each is reported once");
        if !collides {
            prop_assert_eq!(heard.airtime, down.1);
        }
    }
}

/// Tail drop that adds up service times, up to the last exchange.
struct Served(Arc<Mutex<(Time, Time)>>);

impl Scheme for Served {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn hooks(&self) -> Hooks {
        Hooks { exchange: true, ..Hooks::default() }
    }

    fn on_exchange(&mut self, exchange: &Exchange, _buffer: &mut Buffer, cx: &mut Cx) {
        let mut served = self.0.lock().unwrap();
        *served = (served.0 + exchange.service, cx.now);
    }
}

/// The service times of an AP that always has something to send add up to the time that has passed, whatever the aggregates:
/// with collisions and errors, in TXOPs, and where PPDUs are formed ahead.
#[test]
fn service_times_of_aggregates_add_up_to_the_time() {
    for (seed, (ahead, uses_rts, txop_limit_us)) in
        (1..).zip([(false, false, 0.0), (false, true, 3_000.0), (true, false, 0.0), (true, true, 5_000.0)])
    {
        let mut spec = cell_g(3);
        spec.phy = PhySpec::Ht(Default::default());
        for station in &mut spec.stations {
            (station.mcs, station.rate_mbps) = (Some(4), None);
            station.frame_error_rate.data_down = 0.2;
            station.frame_error_rate.ack_down = 0.05;
        }
        spec.mac.aggregation =
            Some(AggregationSpec { max_attempts: Some(1_000), ..AggregationSpec::default() });
        let best_effort = CategorySpec { txop_limit_us: Some(txop_limit_us), ..CategorySpec::default() };
        spec.mac.edca = Some(EdcaSpec { best_effort, ..EdcaSpec::default() });
        spec.mac.rts_threshold_bytes = uses_rts.then_some(800);
        if ahead {
            spec.ap.hardware = HardwareSpec::Ath9k(Default::default());
        }
        let served = Arc::<Mutex<(Time, Time)>>::default();
        let shared = served.clone();
        spec.ap.tx_queue.scheme = external(move || Served(shared.clone()));
        spec.ap.tx_queue.limit_packets = 1_000;
        let mut run = Logged::new(&spec, seed);
        for number in 0..900 {
            let station = number as u16 % 2;
            run.bss.send_down(StationId(station), &packet_down(station, number, 1_500), Time::ZERO);
        }
        run.up(2, 400, Time::ZERO);
        run.run();
        let usage = run.bss.snapshot(Time::from_s(100));
        assert!(usage.collisions > 0 && usage.stations[0].down.retries > 0, "{}", usage.collisions);
        let (sum, last) = *served.lock().unwrap();
        assert_eq!(sum, last, "{ahead} {uses_rts} {txop_limit_us}");
    }
}

/// Channel times are counted where the AP's scheme is notified of exchanges or receptions, and nowhere else.
#[test]
fn channel_times_are_for_schemes_that_ask() {
    let is_metered = |hooks: Hooks| {
        let mut spec = cell_b(1);
        spec.ap.tx_queue.scheme = external(move || Asking(hooks));
        Bss::new(&spec, 1).unwrap().snapshot(Time::ZERO).channel_time.is_some()
    };
    assert!(is_metered(Hooks { exchange: true, ..Hooks::default() }));
    assert!(is_metered(Hooks { transmission: true, ..Hooks::default() }));
    assert!(is_metered(Hooks { reception: true, ..Hooks::default() }));
    assert!(!is_metered(Hooks { tick: true, link_rate: true, ..Hooks::default() }));
}

/// Tail drop with hooks.
struct Asking(Hooks);

impl Scheme for Asking {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn hooks(&self) -> Hooks {
        self.0
    }

    fn next_tick(&self) -> Option<Time> {
        None
    }
}
