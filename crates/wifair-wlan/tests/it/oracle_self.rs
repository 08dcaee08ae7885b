//! The oracle is held against what a hand, a closed form and an enumerated chain say, so that it can fail by itself.

use crate::oracle;

use oracle::air;
use oracle::chain::two_saturated_stations;
use oracle::field::{self, FieldScenario};
use oracle::frame::Kind;
use oracle::radio::{Capture, Track};
use oracle::random::{
    aggregated_scenarios, beacon_neighbour_scenarios, controlled_field_scenarios, edca_scenarios,
    reuse_scenarios, scenarios, subchannel_scenarios,
};
use oracle::record::{Decoded, Delivery, Outcome};
use oracle::scenario::{Pattern, Scenario, Station, Stream};
use oracle::timing::Rules;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::fmt::Debug;
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

fn bss(rules: Rules, stations: usize, streams: Vec<Stream>) -> Scenario {
    Scenario {
        seed: 1,
        rules,
        stations: vec![Station::clean(110); stations],
        streams,
        changes: vec![],
        tx_queue_limit: 10,
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
    let scenario = bss(without_chance(), 2, vec![once(0, true, SHORT, 1000), once(1, true, SHORT, 1003)]);
    assert_eq!(accesses(&scenario), [(1000, 1), (1655, 2)]);
    let record = air::run(&scenario).whole;
    let at = |at, id| Delivery { at, id, to: 0, marked: false };
    assert_eq!(record.deliveries, [at(1291, 0), at(1946, 1)]);
    assert_eq!(record.airtime.up, [605, 605]);
}

#[test]
fn without_immediate_access_the_grid_starts_with_the_arrival() {
    let rules = Rules { immediate_access: false, ..without_chance() };
    let scenario = bss(rules, 2, vec![once(0, true, SHORT, 1007)]);
    assert_eq!(accesses(&scenario), [(1057, 1)]);
}

#[test]
fn colliders_of_unequal_frames_come_back_on_grids_of_their_own() {
    // Ends at 1291 and 2310. The short one's timeout is over before the long one's end: it may start at 2360. The
    // long one's timeout, 2532, falls into that exchange, which ends at 2965 and puts everybody on one grid.
    let streams = vec![once(0, true, SHORT, 1000), once(1, true, LONG, 1000)];
    let scenario = bss(without_chance(), 3, streams.clone());
    assert_eq!(accesses(&scenario), [(1000, 1), (1000, 2), (2360, 1), (3015, 2)]);

    // A bystander waits EIFS, so it meets the long one; or only DIFS, so it meets the short one.
    let with_bystander = [streams, vec![once(2, true, SHORT, 1100)]].concat();
    let scenario = bss(without_chance(), 3, with_bystander.clone());
    assert_eq!(accesses(&scenario)[2..5], [(2360, 1), (3015, 2), (3015, 3)]);
    let rules = Rules { eifs: false, ..without_chance() };
    assert_eq!(accesses(&bss(rules, 3, with_bystander))[2..4], [(2360, 1), (2360, 3)]);
}

#[test]
fn an_undecodable_data_frame_holds_each_listener_for_a_time_of_its_own() {
    // Station 1's frame of 1000..1291 is never received; two attempts, the second at 1291 + 222 + 50 = 1563.
    // The AP (EIFS) and station 2 (NAV, then DIFS) could both start at 1291 + 364 = 1655, too late; the second frame
    // ends at 1854, and both start at 1854 + 364 = 2218.
    let rules = Rules { short_limit: 2, ..without_chance() };
    let streams = vec![once(0, true, SHORT, 1000), once(1, true, SHORT, 1300), once(1, false, SHORT, 1301)];
    let mut scenario = bss(rules, 2, streams);
    scenario.stations[0].errors.data_up = 1.0;
    assert_eq!(accesses(&scenario)[..4], [(1000, 1), (1563, 1), (2218, 0), (2218, 2)]);
    let record = air::run(&scenario).whole;
    assert_eq!((record.up[0].lost, record.up[0].failures, record.collisions), (1, 2, 2));
}

#[test]
fn an_undecodable_mac_ack_makes_a_duplicate_that_nobody_delivers_twice() {
    // The MAC ACK ends at 1605 and is noise to station 1, which waits EIFS: 1969. Two attempts, one delivery.
    let rules = Rules { short_limit: 2, ..without_chance() };
    let mut scenario = bss(rules, 1, vec![once(0, true, SHORT, 1000)]);
    scenario.stations[0].errors.ack_down = 1.0;
    assert_eq!(accesses(&scenario), [(1000, 1), (1969, 1)]);
    let record = air::run(&scenario).whole;
    assert_eq!((record.up[0].delivered, record.up[0].duplicates, record.up[0].lost), (1, 1, 1));
}

#[test]
fn an_rts_that_collides_costs_no_more_than_itself() {
    // Both RTS end at 1352; CTSTimeout and DIFS later, at 1624, both start again, and again; after two, both give up.
    let rules = Rules { rts_threshold_bytes: 500, short_limit: 2, ..without_chance() };
    let scenario = bss(rules, 2, vec![once(0, true, LONG, 1000), once(1, true, LONG, 1000)]);
    assert_eq!(accesses(&scenario), [(1000, 1), (1000, 2), (1624, 1), (1624, 2)]);
    // Alone: RTS 352, CTS 304, data 1310, MAC ACK 304 and three SIFS.
    let scenario = bss(rules, 1, vec![once(0, true, LONG, 1000)]);
    let record = air::run(&scenario).whole;
    assert_eq!(
        record.deliveries,
        [Delivery { at: 1000 + 352 + 10 + 304 + 10 + 1310, id: 0, to: 0, marked: false }]
    );
    assert_eq!(record.airtime.up, [352 + 304 + 1310 + 304 + 30]);
}

#[test]
fn colliders_may_wait_eifs_for_what_ends_when_their_own_does_or_later() {
    // As above, ends at 1291 and 2310; the short one's sender now waits an EIFS after the long one: 2674. The long one's
    // sender heard nothing end: 2310 + 222 + 50 = 2582, and its MAC ACK ends at 2582 + 1310 + 314.
    let rules = Rules { colliders_wait_eifs: true, ..without_chance() };
    let streams = vec![once(0, true, SHORT, 1000), once(1, true, LONG, 1000)];
    assert_eq!(accesses(&bss(rules, 2, streams)), [(1000, 1), (1000, 2), (2582, 2), (4256, 1)]);
    // Alike they wait alike, 1291 + 364, twice.
    let rules = Rules { short_limit: 2, ..rules };
    let streams = vec![once(0, true, SHORT, 1000), once(1, true, SHORT, 1000)];
    assert_eq!(accesses(&bss(rules, 2, streams)), [(1000, 1), (1000, 2), (1655, 1), (1655, 2)]);
}

/// Stations at these distances from the AP, on one side of it, where 10 dB are a little more than twice the distance.
fn placed(rules: Rules, metres: &[f64], streams: Vec<Stream>) -> Scenario {
    let capture = Capture { db: 10.0, ap_m: [0.0; 2], path_loss_exponent: 3.0, update_interval_ms: 10 };
    let mut scenario = bss(Rules { capture: Some(capture), ..rules }, metres.len(), streams);
    for (station, &distance) in scenario.stations.iter_mut().zip(metres) {
        station.track = Some(Track { position_m: [distance, 0.0], velocity_m_per_s: [0.0; 2] });
    }
    scenario
}

#[test]
fn a_captured_frame_takes_its_course() {
    // Station 1's frame of 1000..2310 is captured, its MAC ACK ends at 2624. Station 2's ended at 1291, its timeout at 1513:
    // it is held by the MAC ACK alone, and so is a bystander: 1291 + 364 is long over.
    let streams = vec![once(0, true, LONG, 1000), once(1, true, SHORT, 1000)];
    let scenario = placed(without_chance(), &[1.0, 100.0], streams);
    assert_eq!(accesses(&scenario), [(1000, 1), (1000, 2), (2674, 2)]);
    let record = air::run(&scenario).whole;
    let at = |at, id| Delivery { at, id, to: 0, marked: false };
    assert_eq!(record.deliveries, [at(2310, 0), at(2965, 1)]);
    assert_eq!((record.exchanges, record.collisions), (2, 1));
    assert_eq!((record.airtime.up, record.airtime.collisions), (vec![1624, 605], 0));
    // By the AP's station too: the AP is at a metre from it, the other at 99. The latter goes again at 2624 + 50.
    let streams = vec![once(0, false, LONG, 1000), once(1, true, SHORT, 1000)];
    let scenario = placed(without_chance(), &[1.0, 100.0], streams);
    assert_eq!(accesses(&scenario), [(1000, 0), (1000, 2), (2674, 2)]);
    assert_eq!(air::run(&scenario).whole.airtime.down, [1624, 0]);
}

#[test]
fn who_lost_a_frame_waits_an_eifs_after_it_whatever_comes_later() {
    // Both end at 1291, and the MAC ACK at 11 Mbps at 1301 + 203 = 1504. Station 1's next: 1554. Station 2: its timeout, 1513,
    // and a DIFS, 1563. A bystander: 1291 + 364 = 1655.
    let rules = Rules { control_rate: 110, ..without_chance() };
    let streams = vec![once(0, true, SHORT, 1000), once(1, true, SHORT, 1000), once(2, true, SHORT, 1100)];
    let metres = [1.0, 100.0, 100.0];
    let scenario = placed(rules, &metres, streams.clone());
    // Station 2's second exchange ends at 1563 + 291 + 10 + 203.
    assert_eq!(accesses(&scenario), [(1000, 1), (1000, 2), (1563, 2), (2117, 3)]);
    // Where the senders wait as well, it meets the bystander.
    let rules = Rules { colliders_wait_eifs: true, short_limit: 2, ..rules };
    let scenario = placed(rules, &metres, streams);
    assert_eq!(accesses(&scenario)[2..4], [(1655, 2), (1655, 3)]);
}

#[test]
fn an_answer_amid_other_frames_is_for_nobody() {
    // 200 IP bytes take 364 µs. Station 1's frame ends at 1291, the other at 1364: the MAC ACK of 1301..1605 is drowned.
    // Senders come back at max(1513, 1605) + 50 and max(1586, 1605) + 50, so that it happens again: 1946, 2019, the MAC ACK
    // until 2260. Both give up, and the AP, whose packet came while it waited to answer, goes at 2260 + 364.
    let rules = Rules { short_limit: 2, ..without_chance() };
    let streams = vec![once(0, true, SHORT, 1000), once(1, true, 200, 1000), once(1, false, SHORT, 1295)];
    let scenario = placed(rules, &[1.0, 100.0], streams);
    assert_eq!(accesses(&scenario), [(1000, 1), (1000, 2), (1655, 1), (1655, 2), (2624, 0)]);
    let record = air::run(&scenario).whole;
    assert_eq!(
        record.deliveries,
        [
            Delivery { at: 1291, id: 0, to: 0, marked: false },
            Delivery { at: 2915, id: 2, to: 2, marked: false }
        ]
    );
    let up = record.up[0];
    assert_eq!((up.delivered, up.duplicates, up.lost, up.lost_after_delivery), (1, 1, 1, 1));
    assert_eq!((record.airtime.collisions, record.airtime.up), (2 * 605, vec![0, 0]));
    let decoded: Vec<_> = record.frames[..3].iter().map(|frame| (frame.at, frame.decoded.unwrap())).collect();
    assert_eq!(decoded, [(1000, Decoded::Addressee), (1000, Decoded::Nobody), (1301, Decoded::Nobody)]);
    let ends: Vec<_> = record.attempts[..2].iter().map(|attempt| (attempt.outcome, attempt.ended)).collect();
    assert_eq!(ends, [(Some(Outcome::AckLost), Some(1605)), (Some(Outcome::Collided), Some(1364))]);
}

#[test]
fn an_rts_is_captured_for_its_data_frame() {
    // RTS 1000..1352, CTS from 1362 on, data from 1676 to 2986, MAC ACK until 3300.
    let rules = Rules { rts_threshold_bytes: 500, ..without_chance() };
    let streams = vec![once(0, true, LONG, 1000), once(1, true, SHORT, 1000)];
    let mut scenario = placed(rules, &[1.0, 100.0], streams);
    assert_eq!(accesses(&scenario), [(1000, 1), (1000, 2), (1676, 1), (3350, 2)]);
    // At 1 Mbps station 2's frame ends at 1000 + 192 + 8 · 136 = 2280: nobody decodes the CTS. Station 1's next RTS is at
    // 2280 + 50, its data from 3006 to 4316, its MAC ACK until 4630; station 2's timeout was 2502.
    scenario.stations[1].rate_up = 10;
    assert_eq!(accesses(&scenario), [(1000, 1), (1000, 2), (2330, 1), (3006, 1), (4680, 2)]);
    let record = air::run(&scenario).whole;
    assert_eq!(record.attempts[0].outcome, Some(Outcome::Collided));
    assert_eq!((record.airtime.collisions, &record.airtime.up[..1]), (1280, &[2300][..]));
}

#[test]
fn what_is_captured_is_decided_by_the_powers() {
    let rules = Rules { short_limit: 1, ..without_chance() };
    let delivered = |scenario: &Scenario| air::run(scenario).whole.deliveries.len();
    let streams = vec![once(0, true, SHORT, 1000), once(1, true, SHORT, 1000)];
    // 30 log10 of 2.1 is 9.67 dB, of 2.2 10.27. Under a metre nobody is stronger.
    for (metres, count) in [([10.0, 21.0], 0), ([10.0, 22.0], 1), ([22.0, 10.0], 1), ([0.2, 0.9], 0)] {
        assert_eq!(delivered(&placed(rules, &metres, streams.clone())), count, "{metres:?}");
    }
    let mut scenario = placed(rules, &[10.0, 22.0], streams.clone());
    scenario.stations[0].errors.data_up = 1.0;
    assert_eq!(delivered(&scenario), 0, "the channel spoils it");
    scenario.stations[0] = Station::clean(110);
    assert_eq!(delivered(&scenario), 0, "nobody knows where station 1 is");

    // Station 2 walks away from 21 m by 150 m/s, past 10 dB after 4 ms. Looked at for the first time when they collide after
    // 9 ms, it is far enough; but not if its own frame after 2 ms has had it looked at in these 10 ms.
    let streams = vec![once(0, true, SHORT, 9000), once(1, true, SHORT, 9000)];
    let mut scenario = placed(rules, &[10.0, 21.0], streams);
    scenario.stations[1].track.as_mut().unwrap().velocity_m_per_s = [150.0, 0.0];
    assert_eq!(delivered(&scenario), 1);
    scenario.streams.push(once(1, true, SHORT, 2000));
    assert_eq!(delivered(&scenario), 1, "its own frame alone");
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
    let plain = air::run_every_step(scenario);
    assert_eq!(air::run(scenario), plain);
    let (half_way, end) = (plain.half_way.end, plain.whole.end);
    assert_eq!(air::run_between(scenario, 0, end), plain.whole);
    assert_eq!(air::run_between(scenario, half_way, end), plain.whole.since(&plain.half_way));
}

fn random_scenarios_skip(scenarios: impl Strategy<Value = Scenario>) {
    run_some(60, scenarios, assert_quiet_steps_do_nothing);
}

/// The same of fields, which pass quiet steps wherever they are compared with the engine.
fn random_fields_skip(fields: impl Strategy<Value = FieldScenario>) {
    run_some(20, fields, |scenario| {
        assert_eq!(field::air::run(scenario), field::air::run_every_step(scenario));
    });
}

/// Runs so many random scenarios, or more in the long form.
fn run_some<S: Debug>(few: u32, scenarios: impl Strategy<Value = S>, check: impl Fn(&S)) {
    let cases = if oracle::validating() { 2_000 } else { few };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[8; 32]);
    let outcome = TestRunner::new_with_rng(config, rng).run(&scenarios, |scenario| {
        check(&scenario);
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
fn quiet_steps_may_be_passed_at_once_under_aggregation() {
    random_scenarios_skip(aggregated_scenarios());
}

#[test]
fn quiet_steps_of_many_saturated_stations_may_be_passed_at_once() {
    let bytes: Vec<u32> = [1500, 40, 700].into_iter().cycle().take(50).collect();
    let scenario = Scenario::saturated_uplink(4, Rules::dot11b(true), &bytes, 110, 300_000);
    assert_quiet_steps_do_nothing(&scenario);
}

#[test]
fn quiet_steps_may_be_passed_at_once_in_a_field_with_a_controller() {
    random_fields_skip(controlled_field_scenarios());
}

#[test]
fn quiet_steps_may_be_passed_at_once_in_a_field_with_beacons() {
    random_fields_skip(beacon_neighbour_scenarios());
}

#[test]
fn quiet_steps_may_be_passed_at_once_in_a_field_with_obss_pd() {
    random_fields_skip(reuse_scenarios());
}

#[test]
fn quiet_steps_may_be_passed_at_once_in_a_field_with_subchannels() {
    random_fields_skip(subchannel_scenarios());
}
