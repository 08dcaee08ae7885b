//! The oracle is held against what a hand, a closed form and an enumerated chain say, so that it can fail by itself.

mod oracle;

use oracle::air;
use oracle::chain::two_saturated_stations;
use oracle::frame::Kind;
use oracle::random::{edca_scenarios, scenarios};
use oracle::record::Delivery;
use oracle::scenario::{Pattern, Scenario, Station, Stream};
use oracle::timing::Rules;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use wifair_core::Rng;

/// 802.11b where every backoff is of no slots at all, so that a timeline can be worked out by hand.
fn without_chance() -> Rules {
    Rules { cw_min: 0, cw_max: 0, ..Rules::dot11b(true) }
}

fn once(station: usize, up: bool, ip_bytes: u32, at: u64) -> Stream {
    Stream {
        station,
        up,
        ip_bytes,
        category: 0,
        pattern: Pattern::Every { first: at, gap: 20_000, burst: 1 },
    }
}

fn cell(rules: Rules, stations: usize, streams: Vec<Stream>) -> Scenario {
    Scenario {
        seed: 1,
        rules,
        stations: vec![Station::clean(110); stations],
        streams,
        changes: vec![],
        port_limit: 10,
        limit_counts_in_service: false,
        offered_until: 10_000,
    }
}

/// When RTS and data frames start, and whose.
fn accesses(scenario: &Scenario) -> Vec<(u64, usize)> {
    let frames = air::run(scenario).whole.frames;
    let opens = |kind| matches!(kind, Kind::Rts | Kind::Data);
    frames.iter().filter(|frame| opens(frame.kind)).map(|frame| (frame.at, frame.from)).collect()
}

// 802.11b, 11 Mbps, long preamble: 100 IP bytes take 291 µs, 1,500 take 1,310, a MAC ACK 304. DIFS 50, EIFS 364,
// ACKTimeout 222.
const SHORT: u32 = 100;
const LONG: u32 = 1500;

#[test]
fn durations_of_the_standard() {
    let b = Rules::dot11b(true);
    assert_eq!((b.difs(), b.eifs(), b.ack(), b.ack_timeout()), (50, 364, 304, 222));
    assert_eq!((b.data(SHORT, 110), b.data(LONG, 110), b.rts()), (291, 1310, 352));
    // 24 + 8 + 4 + 1,500 bytes: 12,310 bits with service and tail, 57 symbols of 216 bits.
    let g = Rules::dot11g();
    assert_eq!((g.difs(), g.data(LONG, 540), g.ack(), g.eifs()), (28, 20 + 228 + 6, 50, 10 + 50 + 28));
    assert_eq!((Rules::dot11a().difs(), Rules::dot11a().ack()), (34, 44));
}

#[test]
fn an_idle_medium_is_taken_at_once_and_a_busy_one_after_difs() {
    // The second packet comes during the first frame. The first exchange ends at 1000 + 291 + 10 + 304.
    let scenario = cell(without_chance(), 2, vec![once(0, true, SHORT, 1000), once(1, true, SHORT, 1003)]);
    assert_eq!(accesses(&scenario), [(1000, 1), (1655, 2)]);
    let record = air::run(&scenario).whole;
    let at = |at, id| Delivery { at, id, to: 0 };
    assert_eq!(record.deliveries, [at(1291, 0), at(1946, 1)]);
    assert_eq!(record.airtime.up, [605, 605]);
}

#[test]
fn without_immediate_access_the_grid_starts_with_the_arrival() {
    let rules = Rules { immediate_access: false, ..without_chance() };
    let scenario = cell(rules, 2, vec![once(0, true, SHORT, 1007)]);
    assert_eq!(accesses(&scenario), [(1057, 1)]);
}

#[test]
fn colliders_of_unequal_frames_come_back_on_grids_of_their_own() {
    // Ends at 1291 and 2310. The short one's timeout is over before the long one's end: it may start at 2360. The
    // long one's timeout, 2532, falls into that exchange, which ends at 2965 and puts everybody on one grid.
    let streams = vec![once(0, true, SHORT, 1000), once(1, true, LONG, 1000)];
    let scenario = cell(without_chance(), 3, streams.clone());
    assert_eq!(accesses(&scenario), [(1000, 1), (1000, 2), (2360, 1), (3015, 2)]);

    // A bystander waits EIFS, so it meets the long one; or only DIFS, so it meets the short one.
    let with_bystander = [streams, vec![once(2, true, SHORT, 1100)]].concat();
    let scenario = cell(without_chance(), 3, with_bystander.clone());
    assert_eq!(accesses(&scenario)[2..5], [(2360, 1), (3015, 2), (3015, 3)]);
    let rules = Rules { eifs: false, ..without_chance() };
    assert_eq!(accesses(&cell(rules, 3, with_bystander))[2..4], [(2360, 1), (2360, 3)]);
}

#[test]
fn an_undecodable_data_frame_holds_each_listener_for_a_time_of_its_own() {
    // Station 1's frame of 1000..1291 never gets through; two attempts, the second at 1291 + 222 + 50 = 1563.
    // The AP (EIFS) and station 2 (NAV, then DIFS) could both start at 1291 + 364 = 1655, too late; the second frame
    // ends at 1854, and both start at 1854 + 364 = 2218.
    let rules = Rules { short_limit: 2, ..without_chance() };
    let streams = vec![once(0, true, SHORT, 1000), once(1, true, SHORT, 1300), once(1, false, SHORT, 1301)];
    let mut scenario = cell(rules, 2, streams);
    scenario.stations[0].errors.data_up = 1.0;
    assert_eq!(accesses(&scenario)[..4], [(1000, 1), (1563, 1), (2218, 0), (2218, 2)]);
    let record = air::run(&scenario).whole;
    assert_eq!((record.up[0].lost, record.up[0].failures, record.collisions), (1, 2, 2));
}

#[test]
fn an_undecodable_mac_ack_makes_a_duplicate_that_nobody_delivers_twice() {
    // The MAC ACK ends at 1605 and is noise to station 1, which waits EIFS: 1969. Two attempts, one delivery.
    let rules = Rules { short_limit: 2, ..without_chance() };
    let mut scenario = cell(rules, 1, vec![once(0, true, SHORT, 1000)]);
    scenario.stations[0].errors.ack_down = 1.0;
    assert_eq!(accesses(&scenario), [(1000, 1), (1969, 1)]);
    let record = air::run(&scenario).whole;
    assert_eq!((record.up[0].delivered, record.up[0].duplicates, record.up[0].lost), (1, 1, 1));
}

#[test]
fn an_rts_that_collides_costs_no_more_than_itself() {
    // Both RTS end at 1352; CTSTimeout and DIFS later, at 1624, both start again, and again; after two, both give up.
    let rules = Rules { rts_threshold_bytes: 500, short_limit: 2, ..without_chance() };
    let scenario = cell(rules, 2, vec![once(0, true, LONG, 1000), once(1, true, LONG, 1000)]);
    assert_eq!(accesses(&scenario), [(1000, 1), (1000, 2), (1624, 1), (1624, 2)]);
    // Alone: RTS 352, CTS 304, data 1310, MAC ACK 304 and three SIFS.
    let scenario = cell(rules, 1, vec![once(0, true, LONG, 1000)]);
    let record = air::run(&scenario).whole;
    assert_eq!(record.deliveries, [Delivery { at: 1000 + 352 + 10 + 304 + 10 + 1310, id: 0, to: 0 }]);
    assert_eq!(record.airtime.up, [352 + 304 + 1310 + 304 + 30]);
}

#[test]
fn one_station_alone_is_its_draws_added_up() {
    let rules = Rules::dot11b(true);
    let scenario = Scenario::saturated_uplink(9, rules, &[LONG], 110, 4_000_000);
    let record = air::run_between(&scenario, 0, 4_000_000);

    let mut draws = Rng::stream(9, &Scenario::label(1), "backoff");
    let mut start = 0;
    for delivery in &record.deliveries {
        assert_eq!(delivery.at, start + 1310);
        start = delivery.at + 10 + 304 + 50 + 20 * u64::from(draws.below(32));
    }

    // L / (DIFS + slot · CWmin / 2 + data + SIFS + ACK); a draw has a standard deviation of 9.2 slots.
    let expected: f64 = 4e6 / (50.0 + 20.0 * 15.5 + 1310.0 + 10.0 + 304.0);
    let measured = record.deliveries.len() as f64;
    let error = 3.0 * expected.sqrt() * 9.2 * 20.0 / 1984.0 + 1.0;
    assert!((measured - expected).abs() < error, "{measured} exchanges, {expected} expected");
}

#[test]
fn two_stations_are_their_markov_chain() {
    // Small windows, so that the chain can be enumerated. (CWmin, CWmax, retry limit)
    for (cw_min, cw_max, limit) in
        [(1, 1, None), (3, 3, None), (3, 15, None), (1, 7, Some(3)), (7, 15, Some(4))]
    {
        let rules = Rules {
            cw_min,
            cw_max,
            short_limit: limit.unwrap_or(u32::MAX),
            control_rate: 240,
            ..Rules::dot11g()
        };
        let mut windows = vec![cw_min];
        while limit.map_or(windows.last() != Some(&cw_max), |n| windows.len() < n as usize) {
            windows.push((2 * windows.last().unwrap() + 1).min(cw_max));
        }
        let chain = two_saturated_stations(&windows, limit.is_some());

        let until = 20_000_000;
        let scenario = Scenario::saturated_uplink(5, rules, &[SHORT, SHORT], 540, until);
        let record = air::run_between(&scenario, 0, until);
        let rounds = record.exchanges as f64;
        let ratio = record.collisions as f64 / rounds;
        let error = 4.0 * (chain.collision * (1.0 - chain.collision) / rounds).sqrt();
        assert!(
            (ratio - chain.collision).abs() < error,
            "CW {cw_min}..{cw_max}, limit {limit:?}: {ratio} of the rounds collide, the chain says {}, ±{error}",
            chain.collision
        );

        let data = f64::from(rules.data(SHORT, 540));
        let tail = f64::from(rules.sifs + rules.ack()) * (1.0 - chain.collision)
            + f64::from(rules.ack_timeout()) * chain.collision;
        let round = data + tail + f64::from(rules.difs()) + f64::from(rules.slot) * chain.idle_slots;
        let expected = until as f64 / round;
        assert!((rounds / expected - 1.0).abs() < 0.005, "{rounds} rounds, the chain says {expected}");

        let lost = (record.up[0].lost + record.up[1].lost) as f64;
        let error = 4.0 * lost.sqrt() * 2.0 + 2.0;
        assert!(
            (lost - chain.lost * rounds).abs() < error,
            "{lost} lost, the chain says {}",
            chain.lost * rounds
        );
    }
}

/// The clock put forward over quiet steps, from the start and again from the middle, against one that never is.
fn assert_quiet_steps_do_nothing(scenario: &Scenario) {
    let plain = air::run(scenario);
    let (half_way, end) = (plain.half_way.end, plain.whole.end);
    assert_eq!(air::run_between(scenario, 0, end), plain.whole);
    assert_eq!(air::run_between(scenario, half_way, end), plain.whole.since(&plain.half_way));
}

fn random_scenarios_skip(scenarios: impl Strategy<Value = Scenario>) {
    let cases = if std::env::var_os("WIFAIR_VALIDATE").is_some() { 2_000 } else { 60 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[8; 32]);
    let outcome = TestRunner::new_with_rng(config, rng).run(&scenarios, |scenario| {
        assert_quiet_steps_do_nothing(&scenario);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn quiet_steps_may_be_passed_at_once() {
    random_scenarios_skip(scenarios());
}

#[test]
fn quiet_steps_may_be_passed_at_once_under_edca() {
    random_scenarios_skip(edca_scenarios());
}

#[test]
fn quiet_steps_of_many_saturated_stations_may_be_passed_at_once() {
    let bytes: Vec<u32> = [1500, 40, 700].into_iter().cycle().take(50).collect();
    let scenario = Scenario::saturated_uplink(4, Rules::dot11b(true), &bytes, 110, 300_000);
    assert_quiet_steps_do_nothing(&scenario);
}
