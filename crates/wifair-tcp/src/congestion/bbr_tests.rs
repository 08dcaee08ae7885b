//! The state machine of the draft, step by step: each sample is the one ACK of a round trip.

use super::*;

const MSS: u32 = 1_000;
const RTT: Time = Time::from_ms(100);

/// A control and the samples of its path.
struct Walk {
    bbr: Bbr,
    window: Window,
    now: Time,
    sample: RateSample,
    /// Whether the control has marked the connection as limited by the application.
    marked: bool,
}

impl Walk {
    fn new() -> Walk {
        let mut window = Window {
            cwnd: 10 * MSS,
            ssthresh: u32::MAX,
            mss: MSS,
            credit: 0,
            slow_start_limit: MSS,
            counting: super::super::Counting::Ack,
            divisor: 1,
        };
        let mut bbr = Spec {}.build();
        bbr.begin(&mut window, 7);
        bbr.on_rtt_sample(&RttSample { rtt: RTT, srtt: RTT, now: Time::ZERO });
        let sample = RateSample {
            delivery_rate: 0.0,
            delivered: 0,
            prior_delivered: 0,
            lost: 0,
            tx_in_flight: 0,
            is_app_limited: false,
            newly_acked: 0,
            rtt: Some(RTT),
            total_delivered: 0,
            in_flight: 1_000_000,
            is_cwnd_limited: false,
            is_repairing: false,
        };
        Walk { bbr, window, now: Time::ZERO, sample, marked: false }
    }

    /// A round trip at `rate` bytes per second, at the end of which `in_flight` bytes are in flight.
    fn round(&mut self, rate: f64, in_flight: u32) -> BbrState {
        let delivered = (rate * RTT.as_secs_f64()) as u64;
        self.now += RTT;
        self.sample = RateSample {
            delivery_rate: rate,
            delivered,
            newly_acked: delivered as u32,
            prior_delivered: self.sample.total_delivered,
            total_delivered: self.sample.total_delivered + delivered,
            in_flight,
            ..self.sample
        };
        let sample = RateSample { is_app_limited: self.sample.is_app_limited || self.marked, ..self.sample };
        self.marked = self.bbr.on_rate_sample(&mut self.window, &sample, self.now);
        self.bbr.0.state
    }

    /// Such round trips until `state`; in ProbeRTT with what it wants in flight. Returns their number.
    #[track_caller]
    fn until(&mut self, state: BbrState, rate: f64, in_flight: u32) -> u32 {
        for round in 1..300 {
            let few = self.bbr.0.state == BbrState::ProbeRtt;
            if self.round(rate, if few { in_flight.min(30_000) } else { in_flight }) == state {
                return round;
            }
        }
        panic!("it stays in {:?}", self.bbr.0.state);
    }

    /// A lost segment that was sent with `tx_in_flight` bytes in flight; `lost`: since then, itself included.
    fn lose(&mut self, start: u32, tx_in_flight: u32, lost: u64) {
        let total_delivered = self.sample.total_delivered;
        let packet =
            LostPacket { size: MSS, start, tx_in_flight, lost, is_app_limited: false, total_delivered };
        self.bbr.on_lost_packet(&mut self.window, &packet, self.now);
    }

    /// In ProbeBW_CRUISE at 1 MB/s: a BDP of 100 segments.
    fn cruising() -> Walk {
        let mut walk = Walk::new();
        (0..4).for_each(|_| _ = walk.round(1e6, 150_000));
        assert_eq!(walk.round(1e6, 90_000), BbrState::Cruise);
        walk
    }

    /// In ProbeBW_UP.
    fn probing() -> Walk {
        let mut walk = Walk::cruising();
        walk.until(BbrState::Refill, 1e6, 100_000);
        assert_eq!(walk.round(1e6, 100_000), BbrState::Up);
        walk
    }

    fn pacing_rate(&self) -> f64 {
        self.bbr.pacing_rate().unwrap() as f64
    }
}

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-3, "{value}, not {expected}");
}

/// 5.6.2 and 5.3.1.1
#[test]
fn startup_paces_at_2_77_times_the_rate_and_doubles() {
    let mut walk = Walk::new();
    near(walk.pacing_rate(), 2.77 * 10_000.0 / 0.1);
    for rate in [2e5, 4e5, 8e5] {
        assert_eq!(walk.round(rate, 50_000), BbrState::Startup);
        near(walk.pacing_rate(), 2.77 * 0.99 * rate);
    }
}

/// 5.3.1.2
#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut walk = Walk::new();
    for rate in [1e5, 1.25e5, 1.57e5, 1.9e5, 1.95e5] {
        assert_eq!(walk.round(rate, 1_000_000), BbrState::Startup, "{rate}");
    }
    walk.sample.is_app_limited = true; // says nothing
    assert_eq!(walk.round(1e5, 1_000_000), BbrState::Startup);
    walk.sample.is_app_limited = false;
    assert_eq!(walk.round(1.8e5, 1_000_000), BbrState::Drain);
    near(walk.pacing_rate(), 0.5 * 0.99 * 1.95e5);
}

/// 5.3.1.3
#[test]
fn startup_ends_after_a_round_with_six_losses_of_more_than_two_percent() {
    for (ranges, percent, state) in
        [(6, 3, BbrState::Drain), (5, 3, BbrState::Startup), (6, 2, BbrState::Startup)]
    {
        let mut walk = Walk::new();
        walk.round(2e5, 40_000);
        walk.round(4e5, 60_000);
        (0..ranges).for_each(|range| walk.lose(2 * range * MSS, 60_000, 0));
        walk.bbr.on_loss(&mut walk.window, 0);
        walk.sample =
            RateSample { is_repairing: true, lost: 100 * percent, tx_in_flight: 10_000, ..walk.sample };
        assert_eq!(walk.round(8e5, 60_000), state, "{ranges} ranges, {percent} %");
        if state == BbrState::Drain {
            near(walk.bbr.0.inflight_longterm, 80_000.0); // delivered in this round; the BDP is still half of it
        }
    }
}

/// 5.3.2
#[test]
fn drain_ends_with_a_bdp_in_flight_or_after_three_rounds() {
    let drained = |in_flight| {
        let mut walk = Walk::new();
        walk.until(BbrState::Drain, 1e6, 150_000);
        (0..10).take_while(|_| walk.round(1e6, in_flight) == BbrState::Drain).count()
    };
    assert_eq!((drained(100_000), drained(101_000)), (0, 3));
}

/// 5.3.3, 5.6.1
#[test]
fn a_cycle_cruises_refills_probes_and_drains() {
    let mut walk = Walk::cruising();
    near(walk.pacing_rate(), 0.99e6);
    let start = walk.now;
    walk.until(BbrState::Refill, 1e6, 100_000);
    let waited = (walk.now - start).as_secs_f64();
    assert!((1.9..3.1).contains(&waited), "{waited} s");
    near(walk.pacing_rate(), 0.99e6);
    assert_eq!(walk.round(1e6, 100_000), BbrState::Up);
    near(walk.pacing_rate(), 1.25 * 0.99e6);
    let extra_acked = walk.bbr.0.extra_acked.front().unwrap().1;
    let limit = 2.25 * 100_000.0 + extra_acked + 2.0 * f64::from(MSS);
    assert!(f64::from(walk.window.cwnd) <= limit && limit < 450_000.0, "{} of {limit}", walk.window.cwnd);
    for _ in 0..2 {
        assert_eq!(walk.round(1e6, 125_000), BbrState::Up);
    }
    assert_eq!(walk.round(1e6, 125_000), BbrState::Down, "the third round without growth");
    near(walk.pacing_rate(), 0.9 * 0.99e6);
    assert_eq!(walk.round(1e6, 101_000), BbrState::Down);
    assert_eq!(walk.round(1e6, 100_000), BbrState::Cruise);
}

/// 5.3.3.8: with a BDP of 20 segments every 20 round trips, one less by chance.
#[test]
fn a_small_bdp_is_probed_as_often_as_reno_would() {
    let mut walk = Walk::new();
    (0..5).for_each(|_| _ = walk.round(2e5, 15_000));
    if walk.bbr.0.state != BbrState::Cruise {
        walk.until(BbrState::Cruise, 2e5, 15_000);
    }
    let rounds = walk.until(BbrState::Refill, 2e5, 15_000);
    assert!((17..=20).contains(&rounds), "{rounds} rounds");
}

/// A higher rate in ProbeBW_UP is the rate from then on, and forgotten after the next probe (5.5.6).
#[test]
fn the_highest_rate_of_two_cycles_counts() {
    let mut walk = Walk::probing();
    walk.round(1.2e6, 125_000);
    near(walk.bbr.0.bw, 1.2e6);
    let mut cycles = 0;
    while walk.bbr.0.bw > 1.1e6 {
        let before = walk.bbr.0.state;
        let few = before == BbrState::ProbeRtt;
        let state = walk.round(1e6, if few { 30_000 } else { 90_000 });
        cycles += u32::from(state == BbrState::Up && before != BbrState::Up);
        assert!(walk.now < Time::from_s(60));
    }
    assert_eq!(cycles, 1);
}

/// 5.5.10.2: losses of 2 % of what was in flight end the probe.
#[test]
fn a_probe_that_loses_two_percent_bounds_what_is_in_flight() {
    let mut walk = Walk::probing();
    walk.lose(0, 130_000, 2_000); // 1.5 %
    assert_eq!(walk.bbr.0.state, BbrState::Up);
    walk.lose(5_000, 130_000, 3_000);
    assert_eq!(walk.bbr.0.state, BbrState::Down);
    // (0.02 · 129,000 − 2,000) / 0.98 = 592 of the lost segment fit.
    near(walk.bbr.0.inflight_longterm, 129_592.0);
    walk.round(1e6, 100_000);
    assert!(f64::from(walk.window.cwnd) <= 129_592.0);
    // 15 % of headroom while it cruises.
    walk.until(BbrState::Cruise, 1e6, 90_000);
    walk.round(1e6, 90_000);
    assert!(f64::from(walk.window.cwnd) <= 0.85 * 129_592.0);
    // 5.3.3.6: the next probe ends as soon as that much is in flight, and the one after follows at once if it has lost nothing.
    walk.until(BbrState::Up, 1e6, 90_000);
    assert_eq!(walk.round(1e6, 130_000), BbrState::Down);
    assert!(walk.bbr.0.prev_probe_precautionary);
    assert_eq!(walk.round(1e6, 130_000), BbrState::Refill);
}

/// The bound is at least 0.7 of the BDP.
#[test]
fn a_probe_never_bounds_below_beta() {
    let mut walk = Walk::probing();
    walk.lose(0, 50_000, 10_000);
    near(walk.bbr.0.inflight_longterm, 70_000.0);
}

/// 5.3.3.5: it grows by 1, 2, 4 segments per round trip where it is the limit.
#[test]
fn the_bound_grows_ever_faster_while_it_is_used_up() {
    let mut walk = Walk::probing();
    walk.lose(0, 100_000, 5_000);
    walk.until(BbrState::Up, 1e6, 90_000);
    walk.bbr.0.prev_probe_too_high = false;
    let mut grown = vec![];
    for _ in 0..3 {
        let before = walk.bbr.0.inflight_longterm;
        walk.window.cwnd = before as u32;
        walk.sample.is_cwnd_limited = true;
        // A window is acknowledged per round trip.
        walk.round(before * 10.0, 90_000);
        grown.push(((walk.bbr.0.inflight_longterm - before) / f64::from(MSS)).round() as u32);
    }
    assert_eq!(grown, [1, 2, 4]);
}

/// 5.5.10.3: once per round trip down to what is delivered, but not by more than 0.7.
#[test]
fn losses_while_cruising_bound_the_short_term() {
    let mut walk = Walk::cruising();
    let mut with_a_loss = |rate| {
        walk.lose(0, 100_000, 1_000);
        walk.round(rate, 90_000);
        walk.bbr.0.bw_shortterm
    };
    near(with_a_loss(9e5), 1e6); // the round trip has begun with the rate before
    near(with_a_loss(9e5), 9e5);
    near(with_a_loss(1e5), 9e5);
    near(with_a_loss(1e5), 0.7 * 9e5);
    near(walk.bbr.0.bw, 0.7 * 9e5);
    walk.round(1e5, 90_000);
    near(walk.bbr.0.bw, 0.7 * 9e5);
    walk.until(BbrState::Refill, 1e5, 60_000);
    assert!(walk.bbr.0.bw_shortterm.is_infinite() && walk.bbr.0.inflight_shortterm.is_infinite());
}

/// 5.3.4
#[test]
fn probe_rtt_halves_what_is_in_flight_for_200_ms_every_5_s() {
    let mut walk = Walk::new();
    let mut last = Time::ZERO;
    for _ in 0..3 {
        walk.until(BbrState::ProbeRtt, 1e6, 100_000);
        walk.sample.rtt = Some(RTT + Time::from_ms(1));
        let since = (walk.now - last).as_secs_f64();
        assert!((5.0..5.3).contains(&since), "{since} s");
        let before = walk.bbr.0.prior_cwnd;
        assert_eq!(f64::from(walk.window.cwnd), (walk.bbr.0.bdp().unwrap() / 2.0).floor());
        assert_eq!(walk.round(1e6, 80_000), BbrState::ProbeRtt, "more than that is in flight");
        let start = walk.now;
        walk.until(BbrState::Cruise, 1e6, 40_000);
        let lasted = (walk.now - start).as_secs_f64();
        assert!(
            (0.3..0.55).contains(&lasted),
            "{lasted} s: a round trip to drain, 200 ms and the round trip in which they end"
        );
        assert!(walk.window.cwnd > 100_000 && before > 100_000, "restored");
        last = walk.now;
    }
}

/// 5.5.7.2: the least RTT of 10 s.
#[test]
fn the_rtt_of_ten_seconds_counts() {
    let mut walk = Walk::cruising();
    walk.sample.rtt = Some(RTT * 2);
    while walk.bbr.0.min_rtt == Some(RTT) && walk.now < Time::from_s(30) {
        let few = walk.bbr.0.state == BbrState::ProbeRtt;
        walk.round(1e6, if few { 30_000 } else { 90_000 });
    }
    assert_eq!(walk.bbr.0.min_rtt, Some(RTT * 2));
    let at = walk.now.as_secs_f64();
    assert!((10.0..10.8).contains(&at), "{at} s");
}

/// 5.6.4.4
#[test]
fn a_timeout_leaves_four_segments_and_the_window_comes_back() {
    let mut walk = Walk::cruising();
    let before = walk.window.cwnd;
    walk.bbr.on_timeout(&mut walk.window, 0);
    walk.window.cwnd = MSS;
    walk.sample.is_repairing = true;
    walk.sample.delivery_rate = 0.0;
    walk.round(0.0, 1_000);
    assert_eq!(walk.window.cwnd, 4 * MSS);
    walk.sample.is_repairing = false;
    walk.round(1e6, 1_000);
    assert!(walk.window.cwnd >= before.min(200_000), "{} of {before}", walk.window.cwnd);
}
