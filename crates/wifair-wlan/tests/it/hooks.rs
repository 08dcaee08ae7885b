//! What a scheme is told beside its packets: ticks when it asked for them, and what its exchanges took.

use crate::support;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use support::{Logged, cell_b, external, us};
use wifair_core::{Rng, Time};
use wifair_queue::{Arrival, Buffer, Cx, Exchange, Hooks, Placed, Scheme, SchemeSpec};

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
        Hooks { tick: true, ..Hooks::NONE }
    }

    fn next_tick(&self) -> Option<Time> {
        self.wanted.lock().unwrap().front().copied()
    }

    fn on_tick(&mut self, _buffer: &mut Buffer, cx: &mut Cx) {
        self.wanted.lock().unwrap().pop_front();
        self.ticks.lock().unwrap().push((self.name, cx.now));
    }
}

fn ticking(name: &'static str, at_us: &[u64], ticks: &Ticks) -> (SchemeSpec, Wanted) {
    let wanted = Wanted::new(Mutex::new(at_us.iter().map(|&at| us(at)).collect()));
    let (ticks, shared) = (ticks.clone(), wanted.clone());
    let scheme = external(move || Ticking { name, wanted: shared.clone(), ticks: ticks.clone() });
    (scheme, wanted)
}

/// Each port has its own clock; what is due at the same instant goes by the ports' numbers.
#[test]
fn every_port_gets_its_own_ticks() {
    let ticks = Ticks::default();
    let mut spec = cell_b(2);
    spec.ap.port.scheme = ticking("ap", &[30, 50, 60, 5_000], &ticks).0;
    spec.stations[0].port.scheme = ticking("sta-0", &[40, 60, 7_000], &ticks).0;
    spec.stations[1].port.scheme = ticking("sta-1", &[30], &ticks).0;
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

/// The last word holds: after a packet the port is asked anew.
#[test]
fn a_tick_may_be_moved_or_called_off() {
    for (then, expected) in [(None, None), (Some(700), Some(700)), (Some(9_000), Some(9_000))] {
        let ticks = Ticks::default();
        let mut spec = cell_b(1);
        let (scheme, wanted) = ticking("ap", &[1_000], &ticks);
        spec.ap.port.scheme = scheme;
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

/// Attempts, airtime and overhead of each exchange.
type Exchanges = Arc<Mutex<Vec<(u8, Time, Time)>>>;

/// Tail drop that keeps its exchanges.
struct Bookkeeper(Exchanges);

impl Scheme for Bookkeeper {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn hooks(&self) -> Hooks {
        Hooks { exchange: true, ..Hooks::NONE }
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
    spec.ap.port.scheme = external(move || Bookkeeper(shared.clone()));
    (Logged::new(&spec, seed), exchanges)
}

/// The first backoff of a node with window `cw`.
fn backoff(seed: u64, label: &str, cw: u32) -> u64 {
    Rng::stream(seed, label, "backoff").below(cw + 1).into()
}

/// A frame comes while the counter of the one before runs on, or stands because another transmits: it waits for a DIFS
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
    // Stations 0 and 1 collide until 1410 and go on at 1682; the AP's packet comes at 1420, in an EIFS until 1774.
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
