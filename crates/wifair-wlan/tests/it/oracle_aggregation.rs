//! The oracle's aggregation (docs/medium.md, section 12), held against a hand, a closed form, and what must hold whatever
//! happens.

use crate::oracle;

use oracle::agreement::{Event, Events};
use oracle::air;
use oracle::frame::{Kind, NodeId};
use oracle::mode::{Generation, Mode};
use oracle::random::aggregated_scenarios;
use oracle::record::{Decoded, GivenUp, Outcome, Record, Transmission};
use oracle::scenario::{Errors, Pattern, Scenario, Station, Stream};
use oracle::timing::{Aggregation, Category, Edca, Modern, Requests, Rules};
use oracle::{tell, validating};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use wifair_core::Rng;

const BEST_EFFORT: usize = 2;

/// 802.11n at 5 GHz, responses at 24 Mbps.
fn rules(cw_min: u32, txop_limit: u32, aggregation: Aggregation) -> Rules {
    let category = |aifsn| Category { cw_min, cw_max: cw_min, aifsn, txop_limit };
    let categories = [2, 2, 3, 7].map(category);
    let edca = Edca {
        ap: categories,
        stations: categories,
        dcf_countdown: false,
        internal_collision_retry: true,
        ap_shares_tx_queue: false,
        stations_share_tx_queue: false,
        controller: None,
    };
    Rules {
        control_rate: 240,
        overhead_bytes: 38,
        edca: Some(edca),
        aggregation: Some(aggregation),
        modern: Some(Modern {
            generation: Generation::Ht,
            band_ghz: 5.0,
            width_mhz: 40,
            basic_rates: None,
            has_dot11b: false,
        }),
        ..Rules::dot11a()
    }
}

/// No backoff has a slot, so that a timeline can be worked out by hand.
fn without_chance(aggregation: Aggregation) -> Rules {
    rules(0, 0, aggregation)
}

/// `burst` packets at 1008, a slot boundary.
fn burst(station: usize, up: bool, ip_bytes: u32, burst: u32) -> Stream {
    let pattern = Pattern::Every { first: 1008, gap: 1_000_000, burst };
    Stream { station, up, ip_bytes, category: BEST_EFFORT, pattern }
}

fn bss(rules: Rules, stations: usize, streams: Vec<Stream>) -> Scenario {
    Scenario {
        seed: 1,
        rules,
        stations: vec![Station::modern(Mode::ht(7)); stations],
        streams,
        changes: vec![],
        tx_queue_limit: 100,
        limit_counts_in_service: false,
        offered_until: 10_000,
    }
}

/// A scenario in which `node` draws these outcomes first, losses being true, where half of what comes to it is lost.
fn losing(mut scenario: Scenario, node: NodeId, losses: &[bool]) -> Scenario {
    let draws = |seed: &u64| {
        let mut channel = Rng::stream(*seed, &Scenario::label(node), "channel");
        losses.iter().all(|&loss| channel.chance(0.5) == loss)
    };
    scenario.seed = (0..).find(draws).expect("a seed that does");
    scenario
}

fn mpdus_lost_up() -> Errors {
    Errors { data_up: 0.5, ..Errors::default() }
}

/// When each exchange began, to whom, and which sequence numbers it had.
fn sent(record: &Record) -> Vec<(u64, NodeId, Vec<u16>)> {
    let seqs = |t: &Transmission| t.mpdus.iter().map(|mpdu| mpdu.seq).collect();
    record.transmissions.iter().map(|t| (t.at, t.to, seqs(t))).collect()
}

fn delivered(record: &Record) -> Vec<(u64, u32)> {
    record.deliveries.iter().map(|delivery| (delivery.at, delivery.id)).collect()
}

// By hand: MCS 7 at 20 MHz is 260 bits per symbol. 1500 IP bytes make an MPDU of 1538 and a subframe of 1544 bytes: one takes
// 36 + 48 · 4 = 228 µs, three (the last is not padded: 4630 bytes) 36 + 143 · 4 = 608 µs. An ACK takes 28 µs, a Block Ack
// and its request 32. SIFS 16, AIFS 43, EIFS 60 more, ACKTimeout 45.
const THREE: u64 = 608;
const ONE: u64 = 228;

#[test]
fn durations_of_802_11n() {
    let rules = without_chance(Aggregation::ht());
    let mode = Mode::ht(7);
    let ppdu = |mpdus| rules.ppdu(rules.psdu_bytes(&vec![1500; mpdus], mode), mode);
    assert_eq!((ppdu(1), ppdu(3)), (ONE as u32, THREE as u32));
    assert_eq!((rules.response(1, mode), rules.response(3, mode), rules.request(mode)), (28, 32, 32));
    let rates = |short_gi, forty_mhz, mcs: [u32; 4]| {
        let (guard_ns, width_mhz) = (if short_gi { 400 } else { 800 }, if forty_mhz { 40 } else { 20 });
        mcs.map(|mcs| Mode { guard_ns, width_mhz, ..Mode::ht(mcs) }.rate())
    };
    assert_eq!(rates(false, false, [0, 5, 7, 15]), [65, 520, 650, 1300]);
    assert_eq!(rates(true, false, [0, 5, 7, 15]), [72, 577, 722, 1444]);
    assert_eq!(rates(true, true, [0, 7, 15, 31]), [150, 1500, 3000, 6000]);
    // 48 short symbols of 3.6 µs fill 44 of 4 µs.
    assert_eq!(rules.ppdu(1538, Mode { guard_ns: 400, ..mode }), 36 + 44 * 4);
    // Two streams have two HT-LTFs, three and four have four; at 40 MHz four streams have two encoders.
    assert_eq!(rules.ppdu(1538, Mode::ht(15)), 40 + 24 * 4);
    assert_eq!(rules.ppdu(1538, Mode { width_mhz: 40, ..Mode::ht(31) }), 48 + 6 * 4);
    assert_eq!(rules.ppdu(267, Mode { width_mhz: 40, ..Mode::ht(31) }), 48 + 2 * 4); // 2136 + 16 + 12 bits: over 2160
}

#[test]
fn the_second_of_three_is_lost() {
    let mut scenario = bss(without_chance(Aggregation::ht()), 1, vec![burst(0, true, 1500, 3)]);
    scenario.stations[0].errors = mpdus_lost_up();
    let record = air::run(&losing(scenario, 0, &[false, true, false, false])).whole;
    // Three at 1008, Block Ack 1632..1664, AIFS; the second alone from 1707 on, its ACK 1951..1979.
    let (first, second) = (1008 + THREE, 1707 + ONE);
    assert_eq!(sent(&record), [(1008, 0, vec![0, 1, 2]), (1707, 0, vec![1])]);
    assert_eq!(delivered(&record), [(first, 0), (second, 1), (second, 2)]);
    let flags = |t: &Transmission| t.mpdus.iter().map(|m| (m.number, m.decoded, m.acknowledged)).collect();
    let flags: Vec<Vec<_>> = record.transmissions.iter().map(flags).collect();
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(flags, [vec![(1, yes, yes), (1, no, no), (1, yes, yes)], vec![(2, yes, yes)]]);
    assert_eq!(record.airtime.up, [1664 - 1008 + 1979 - 1707]);
}

#[test]
fn mpdus_may_be_received_each_at_its_own_end() {
    // Of 260 bits per symbol, 16 + 8 · 1542 fill 48 symbols, 16 + 8 · (1544 + 1542) 96 and 16 + 8 · (3088 + 1542) 143, the
    // last.
    let aggregation = Aggregation { delivers_mpdus: true, ..Aggregation::ht() };
    let mut scenario = bss(without_chance(aggregation), 1, vec![burst(0, true, 1500, 3)]);
    let ends = [48, 96, 143].map(|symbols| 1008 + 36 + 4 * symbols);
    let record = air::run(&scenario).whole;
    assert_eq!(delivered(&record), [(ends[0], 0), (ends[1], 1), (ends[2], 2)]);
    // The second is lost: the third is held from the end of the PPDU on.
    scenario.stations[0].errors = mpdus_lost_up();
    let record = air::run(&losing(scenario.clone(), 0, &[false, true, false, false])).whole;
    assert_eq!(delivered(&record), [(ends[0], 0), (1707 + ONE, 1), (1707 + ONE, 2)]);
    // The first is lost: the second is held from its own end on, so that is when its timeout starts.
    scenario.rules.aggregation.as_mut().unwrap().reorder_timeout = 600;
    let record = air::run(&losing(scenario, 0, &[true, false, false, true])).whole;
    assert_eq!(delivered(&record)[..2], [(ends[1] + 600, 1), (ends[1] + 600, 2)]);
}

#[test]
fn what_is_given_up_is_requested_away() {
    let aggregation = Aggregation { max_attempts: 1, ..Aggregation::ht() };
    let scenario = |aggregation| {
        let mut scenario = bss(without_chance(aggregation), 1, vec![burst(0, true, 1500, 3)]);
        scenario.stations[0].errors = mpdus_lost_up();
        losing(scenario, 0, &[false, true, false])
    };
    // The request of 1707..1739 passes the third on; its Block Ack ends at 1739 + 16 + 32.
    let record = air::run(&scenario(aggregation)).whole;
    assert_eq!(
        record.given_up,
        [GivenUp { at: 1664, from: 1, to: 0, category: BEST_EFFORT, seq: 1, packet: 1 }]
    );
    let request = &record.transmissions[1];
    assert_eq!((request.at, request.request, request.ended), (1707, Some(3), Some(1787)));
    assert_eq!(delivered(&record), [(1616, 0), (1739, 2)]);
    // Without it the third waits for its timeout.
    let record = air::run(&scenario(Aggregation { requests: Requests::Never, ..aggregation })).whole;
    assert_eq!((record.transmissions.len(), delivered(&record)), (1, vec![(1616, 0), (1616 + 100_000, 2)]));
}

#[test]
fn a_failed_exchange_is_sent_again_whole() {
    let mut scenario = bss(without_chance(Aggregation::ht()), 1, vec![burst(0, true, 1500, 3)]);
    // The Block Ack, 1632..1664, is noise to the station: an EIFS.
    scenario.stations[0].errors = Errors { ack_down: 0.5, ..Errors::default() };
    let record = air::run(&losing(scenario.clone(), 1, &[true, false])).whole;
    assert_eq!(sent(&record), [(1008, 0, vec![0, 1, 2]), (1664 + 60 + 43, 0, vec![0, 1, 2])]);
    assert_eq!(delivered(&record), [(1616, 0), (1616, 1), (1616, 2)]);
    assert_eq!((record.up[0].duplicates, record.up[0].failures), (3, 1));
    assert_eq!(record.transmissions[0].outcome, Some(Outcome::AckLost));
    // No MPDU was decoded: no response, a timeout.
    scenario.stations[0].errors = mpdus_lost_up();
    let record = air::run(&losing(scenario, 0, &[true, true, true, false, false, false])).whole;
    assert_eq!(sent(&record), [(1008, 0, vec![0, 1, 2]), (1616 + 45 + 43, 0, vec![0, 1, 2])]);
    assert_eq!(record.transmissions[0].outcome, Some(Outcome::DataLost));
}

/// What comes while a PPDU is tried again is not in it. MPDUs that failed in three tries are still sent once more.
#[test]
fn a_ppdu_is_tried_again_as_it_was_formed() {
    let run = |tries, max_attempts, losses: &[bool]| {
        let aggregation = Aggregation { tries, max_attempts, ..Aggregation::ht() };
        let later = Stream {
            pattern: Pattern::Every { first: 1_200, gap: 1_000_000, burst: 1 },
            ..burst(0, true, 1500, 1)
        };
        let mut scenario = bss(without_chance(aggregation), 1, vec![burst(0, true, 1500, 3), later]);
        scenario.stations[0].errors = Errors { ack_down: 0.5, ..Errors::default() };
        let record = air::run(&losing(scenario, 1, losses)).whole;
        let numbers = |t: &Transmission| t.mpdus.iter().map(|mpdu| mpdu.number).collect::<Vec<u32>>();
        let given_up = record.given_up.iter().map(|given_up| given_up.seq).collect::<Vec<u16>>();
        (record.transmissions.iter().map(numbers).collect::<Vec<_>>(), given_up)
    };
    // The fourth was offered while the first PPDU was on the air.
    assert_eq!(run(1, 7, &[true, false]).0, [vec![1, 1, 1], vec![2, 2, 2, 1]]);
    assert_eq!(run(2, 7, &[true, false, false]).0, [vec![1, 1, 1], vec![2, 2, 2], vec![1]]);
    assert_eq!(run(2, 7, &[true, true, false]).0, [vec![1, 1, 1], vec![2, 2, 2], vec![3, 3, 3, 1]]);
    // Before the PPDU of three tries they had not failed, before the next they had three times.
    let (numbers, given_up) = run(3, 2, &[true, true, true, true, true, true, false]);
    assert_eq!((&numbers[2], &numbers[5], given_up), (&vec![3, 3, 3], &vec![6, 6, 6, 3], vec![0, 1, 2]));
    assert_eq!(run(1, 2, &[true, true, false]).1, [0, 1, 2]);
}

#[test]
fn a_missed_block_ack_is_asked_for() {
    let aggregation = Aggregation { requests: Requests::Missed, ..Aggregation::ht() };
    let mut scenario = bss(without_chance(aggregation), 1, vec![burst(0, true, 1500, 3)]);
    // The Block Ack, 1632..1664, is noise to the station, which asks again after an EIFS, and learns that all were decoded.
    scenario.stations[0].errors = Errors { ack_down: 0.5, ..Errors::default() };
    let record = air::run(&losing(scenario.clone(), 1, &[true, false])).whole;
    let requests =
        |record: &Record| record.transmissions.iter().map(|t| (t.at, t.request)).collect::<Vec<_>>();
    assert_eq!(requests(&record), [(1008, None), (1664 + 60 + 43, Some(0))]);
    assert_eq!(record.transmissions[1].ended, Some(1767 + 32 + 16 + 32));
    assert_eq!((record.up[0].duplicates, delivered(&record).len()), (0, 3));
    // No MPDU was decoded: the request is sent after the timeout, at 1704, and is answered until 1784; then all are sent again.
    scenario.stations[0].errors = mpdus_lost_up();
    let record = air::run(&losing(scenario.clone(), 0, &[true, true, true, false, false, false])).whole;
    assert_eq!(requests(&record), [(1008, None), (1704, Some(0)), (1784 + 43, None)]);
    let numbers: Vec<u32> = record.transmissions[2].mpdus.iter().map(|mpdu| mpdu.number).collect();
    assert_eq!(numbers, [2, 2, 2]);
    // A missed ACK is not asked for, and neither is a Block Ack whose PPDU was never sent, since RTSs collided.
    scenario.streams = vec![burst(0, true, 1500, 1)];
    let record = air::run(&losing(scenario.clone(), 0, &[true, false])).whole;
    assert_eq!(requests(&record), [(1008, None), (1008 + ONE + 45 + 43, None)]);
    scenario.rules.rts_threshold_bytes = 2_000;
    scenario.rules.edca.as_mut().unwrap().stations[BEST_EFFORT].cw_max = 1;
    scenario.stations = vec![Station::modern(Mode::ht(7)); 2];
    scenario.streams = vec![burst(0, true, 1500, 3), burst(1, true, 1500, 3)];
    let record = air::run(&scenario).whole;
    assert!(record.collisions > 0 && record.transmissions.iter().all(|t| t.request.is_none()));
}

#[test]
fn the_window_waits_for_its_first_mpdu() {
    let aggregation = Aggregation { window: 2, ..Aggregation::ht() };
    let mut scenario = bss(without_chance(aggregation), 1, vec![burst(0, true, 1500, 5)]);
    scenario.stations[0].errors = mpdus_lost_up();
    let record = air::run(&losing(scenario, 0, &[true, false, false, false, false, false])).whole;
    let seqs: Vec<Vec<u16>> = sent(&record).into_iter().map(|(_, _, seqs)| seqs).collect();
    assert_eq!(seqs, [vec![0, 1], vec![0], vec![2, 3], vec![4]]);
    let order: Vec<u32> = delivered(&record).into_iter().map(|(_, id)| id).collect();
    assert_eq!(order, [0, 1, 2, 3, 4]);
}

#[test]
fn a_tx_queue_is_gathered_from_or_read_as_it_runs() {
    let streams = || [0, 1, 0, 1].map(|station| burst(station, false, 1500, 1)).to_vec();
    let run = |head_run| {
        let aggregation = Aggregation { head_run, ..Aggregation::ht() };
        let record = air::run(&bss(without_chance(aggregation), 2, streams())).whole;
        let to = |t: &Transmission| (t.to, t.mpdus.iter().flat_map(|mpdu| mpdu.packets.clone()).collect());
        record.transmissions.iter().map(to).collect::<Vec<(NodeId, Vec<u32>)>>()
    };
    assert_eq!(run(false), [(1, vec![0, 2]), (2, vec![1, 3])]);
    assert_eq!(run(true), [(1, vec![0]), (2, vec![1]), (1, vec![2]), (2, vec![3])]);
}

#[test]
fn links_take_turns() {
    // Station 1's second MPDU is lost. The transmit queue has something for station 2 first; the link that waits then comes
    // before the transmit queue's next packet, that was for station 2 too.
    let aggregation = Aggregation { max_mpdus: Some(2), ..Aggregation::ht() };
    let streams = vec![burst(0, false, 1500, 2), burst(1, false, 1500, 3)];
    let mut scenario = bss(without_chance(aggregation), 2, streams);
    scenario.stations[0].errors = Errors { data_down: 0.5, ..Errors::default() };
    let record = air::run(&losing(scenario, 1, &[false, true, false])).whole;
    let to: Vec<(NodeId, Vec<u16>)> = sent(&record).into_iter().map(|(_, to, seqs)| (to, seqs)).collect();
    assert_eq!(to, [(1, vec![0, 1]), (2, vec![0, 1]), (1, vec![1]), (2, vec![2])]);
}

#[test]
fn a_txop_limit_holds_for_what_follows() {
    // Two MPDUs: 3086 bytes, 96 symbols, 420 µs; an exchange of them 468. A second one ends 468 + 16 + 468 after the first
    // began.
    let run = |limit| {
        let aggregation = Aggregation { max_mpdus: Some(2), ..Aggregation::ht() };
        let record = air::run(&bss(rules(0, limit, aggregation), 1, vec![burst(0, true, 1500, 6)])).whole;
        sent(&record).into_iter().map(|(at, _, seqs)| (at, seqs.len())).collect::<Vec<_>>()
    };
    // What follows is formed at the end of what went before.
    assert_eq!(run(952), [(1008, 2), (1476, 2), (1476 + 484 + 43, 2)]);
    // One MPDU ends in time: 16 + 228 + 16 + 28.
    let next = 1476 + 16 + 228 + 16 + 28 + 43;
    assert_eq!(run(951), [(1008, 2), (1476, 1), (next, 2), (next + 468, 1)]);
    // The first is filled as the limit allows, too; its head goes whatever its length.
    assert_eq!(run(467)[..2], [(1008, 1), (1008 + 228 + 16 + 28 + 43, 1)]);
    assert_eq!(run(100)[..2], [(1008, 1), (1008 + 228 + 16 + 28 + 43, 1)]);
}

#[test]
fn an_rts_goes_by_the_length_of_the_psdu() {
    let rules = Rules { rts_threshold_bytes: 2_000, ..without_chance(Aggregation::ht()) };
    // RTS and CTS take 28 µs each at 24 Mbps.
    let record = air::run(&bss(rules, 1, vec![burst(0, true, 1500, 3)])).whole;
    assert_eq!(delivered(&record)[0].0, 1008 + 28 + 16 + 28 + 16 + THREE);
    let record = air::run(&bss(rules, 1, vec![burst(0, true, 1500, 1)])).whole;
    assert_eq!(delivered(&record), [(1008 + ONE, 0)]);
}

#[test]
fn minimum_spacing_fills_short_subframes() {
    // 16 µs at 65 Mbps are 130 bytes, so two subframes of 132 and the last of 82: 346 bytes, 11 symbols.
    let aggregation = Aggregation { min_spacing_quarters: 64, ..Aggregation::ht() };
    let record = air::run(&bss(without_chance(aggregation), 1, vec![burst(0, true, 40, 3)])).whole;
    assert_eq!(delivered(&record)[0].0, 1008 + 36 + 11 * 4);
    // Without: 84, 84 and 82: 250 bytes, 8 symbols.
    let record = air::run(&bss(without_chance(Aggregation::ht()), 1, vec![burst(0, true, 40, 3)])).whole;
    assert_eq!(delivered(&record)[0].0, 1008 + 36 + 8 * 4);
}

#[test]
fn stations_without_agreement_get_single_frames() {
    let streams = [0, 1, 0, 1].map(|station| burst(station, false, 1500, 1)).to_vec();
    let mut scenario = bss(without_chance(Aggregation::ht()), 2, streams);
    scenario.stations[1] = Station::clean(540);
    let record = air::run(&scenario).whole;
    // Two MPDUs of 420 µs with their Block Ack of 48, then 1538 bytes at 54 Mbps: 252 µs, and 44 for the ACK.
    let single = 1008 + 468 + 43 + 252;
    let both = 1008 + 420;
    assert_eq!(delivered(&record), [(both, 0), (both, 2), (single, 1), (single + 44 + 43 + 252, 3)]);
    assert_eq!((record.transmissions.len(), record.attempts.len()), (1, 2));
}

// The closed form.

/// One station that has always packets of `ip_bytes` to send, `k` in each PPDU: its throughput in Mbps between its first
/// delivery and its last, the closed form, and the record.
fn saturated(mode: Mode, ip_bytes: u32, k: u32) -> (f64, f64, Record) {
    let cw_min = 15;
    let rules = rules(cw_min, 0, Aggregation { max_mpdus: Some(k), ..Aggregation::ht() });
    let ppdu = rules.ppdu(rules.psdu_bytes(&vec![ip_bytes; k as usize], mode), mode);
    assert!(ppdu <= 5_484, "{k} MPDUs of {ip_bytes} bytes take {ppdu} µs");
    let busy = ppdu + rules.sifs + rules.response(k as usize, mode) + rules.sifs + 3 * rules.slot;
    let cycle = f64::from(busy) + f64::from(rules.slot * cw_min) / 2.0;
    // The standard error of a mean backoff of 0 to 15 slots, 4.61 of them for one, is a third of 0.1 % of the cycle.
    let exchanges = (3.0 * 4.61 * f64::from(rules.slot) / cycle / 0.001).powi(2).max(300.0);
    let until = (exchanges * cycle) as u64;
    let scenario = Scenario {
        stations: vec![Station::modern(mode)],
        streams: vec![Stream {
            pattern: Pattern::Every { first: 0, gap: u64::from(busy * 100 / k), burst: 200 },
            ..burst(0, true, ip_bytes, 0)
        }],
        tx_queue_limit: 200,
        offered_until: until,
        ..bss(rules, 1, vec![])
    };
    let record = air::run_between(&scenario, 0, until);
    let (first, last) = (record.deliveries[0].at, record.deliveries[record.deliveries.len() - 1].at);
    let after_the_first = (record.deliveries.len() - k as usize) as f64 * 8.0 * f64::from(ip_bytes);
    let measured = after_the_first / (last - first) as f64;
    (measured, f64::from(8 * k * ip_bytes) / cycle, record)
}

/// L · k / (AIFS + slot · CWmin / 2 + PPDU + SIFS + response), within 0.1 %.
#[test]
fn one_saturated_station_is_its_closed_form() {
    let short = |mcs| Mode { guard_ns: 400, ..Mode::ht(mcs) };
    for (mode, ip_bytes, k) in [
        (Mode::ht(7), 1500, 1),
        (Mode::ht(7), 1500, 2),
        (Mode::ht(7), 1500, 28),
        (Mode::ht(0), 1500, 2),
        (short(3), 700, 16),
        (short(15), 500, 64),
        (Mode { width_mhz: 40, ..short(31) }, 900, 64),
    ] {
        let (measured, expected, record) = saturated(mode, ip_bytes, k);
        tell(&format!("{mode:?}, {k} MPDUs of {ip_bytes} bytes: {measured:.4} Mbps, expected {expected:.4}"));
        assert!((measured / expected - 1.0).abs() < 0.001, "{mode:?}, {k} MPDUs: {measured}, not {expected}");
        assert!(record.transmissions.iter().all(|t| t.mpdus.len() == k as usize));
        // Sequence numbers wrap.
        let seqs = record.transmissions.iter().flat_map(|t| &t.mpdus).map(|mpdu| mpdu.seq);
        assert!(seqs.enumerate().all(|(index, seq)| usize::from(seq) == index % 4096));
    }
}

// Whatever happens.

/// A transmitter, a receiver, a category.
type Link = (NodeId, NodeId, usize);

/// What is known of a link from the record alone.
#[derive(Default)]
struct Seen {
    /// Sent, and neither acknowledged nor given up: how often each has failed.
    outstanding: BTreeMap<u64, u32>,
    /// The PPDU that is not over: how often each of its MPDUs had failed before it, and how many of its tries have failed.
    tried: Option<(BTreeMap<u64, u32>, u32)>,
    next: u64,
    given_up: Vec<u64>,
    /// When each was decoded first.
    decoded: BTreeMap<u64, u64>,
    /// Requests that were decoded: when, and from where they start.
    requests: Vec<(u64, u64)>,
    owes_request: bool,
    /// When each was passed on.
    delivered: BTreeMap<u64, u64>,
}

impl Seen {
    /// The sequence number, counted on where those on the air wrap, that is next to the latest.
    fn unwrapped(&self, seq: u16) -> u64 {
        let ahead = (u64::from(seq) + 4096 - self.next % 4096) % 4096;
        if ahead < 2048 { self.next + ahead } else { self.next + ahead - 4096 }
    }
}

/// Replays what the record says of each link with an agreement.
fn links(scenario: &Scenario, record: &Record) -> BTreeMap<Link, Seen> {
    let rules = scenario.rules.aggregation.expect("a scenario with aggregation");
    let mut links: BTreeMap<Link, Seen> = BTreeMap::new();
    let mut numbers: BTreeMap<u32, (Link, u64)> = BTreeMap::new();
    let mut received: BTreeMap<u32, u64> = BTreeMap::new();
    for mpdu in &record.received {
        received.entry(mpdu.packet).or_insert(mpdu.at);
    }
    for t in &record.transmissions {
        let key = (t.from, t.to, t.category);
        let link = links.entry(key).or_default();
        let start = link.outstanding.keys().next().copied().unwrap_or(link.next);
        let seqs: Vec<u64> = t.mpdus.iter().map(|mpdu| link.unwrapped(mpdu.seq)).collect();
        let ended = t.ended.unwrap_or(record.end);
        // When the PPDU or the request itself ended, if it came so far.
        let mut frames = record.frames.iter().skip(record.frames.partition_point(|frame| frame.at < t.at));
        let frame = frames.find(|f| f.from == t.from && matches!(f.kind, Kind::Data | Kind::Request));
        let end = frame.filter(|frame| frame.ends <= ended).map(|frame| frame.ends);
        if t.ended.is_none() {
            // The run ends before its response does.
            let mpdus = t.mpdus.iter().zip(&seqs).filter(|(mpdu, _)| mpdu.decoded == Some(true));
            for (mpdu, &seq) in mpdus {
                link.decoded.entry(seq).or_insert(received[&mpdu.packets[0]]);
            }
            if let (Some(request), Some(end)) = (t.request, end)
                && frame.is_some_and(|frame| frame.decoded == Some(Decoded::Everybody))
            {
                link.requests.push((end, link.unwrapped(request)));
            }
            continue;
        }
        let mut failed = seqs.clone();
        if let Some(request) = t.request.map(|request| link.unwrapped(request)) {
            assert!(link.owes_request, "nothing was given up or missed before {t:?}");
            assert_eq!(request, start, "{t:?}");
            if t.outcome == Some(Outcome::Acknowledged) {
                link.outstanding.retain(|seq, _| !link.decoded.contains_key(seq));
                link.owes_request = false;
            }
            if matches!(t.outcome, Some(Outcome::Acknowledged | Outcome::AckLost)) {
                link.requests.push((end.expect("it was answered"), request));
            }
        } else {
            let expected: Vec<u64> = match &link.tried {
                Some((formed, _)) => formed.keys().copied().collect(),
                None => link.outstanding.keys().copied().chain(link.next..).take(seqs.len()).collect(),
            };
            assert_eq!(seqs, expected, "{t:?}");
            assert!(seqs[seqs.len() - 1] < seqs[0] + window(scenario, key), "{t:?}");
            assert!(rules.max_mpdus.is_none_or(|most| seqs.len() <= most as usize), "{t:?}");
            for (mpdu, &seq) in t.mpdus.iter().zip(&seqs) {
                let failures = link.outstanding.entry(seq).or_default();
                assert_eq!(mpdu.number, *failures + 1, "{t:?}");
                numbers.extend(mpdu.packets.iter().map(|&packet| (packet, (key, seq))));
                link.next = link.next.max(seq + 1);
                if mpdu.decoded == Some(true) {
                    let at = *link.decoded.entry(seq).or_insert(received[&mpdu.packets[0]]);
                    let end = end.expect("what was decoded was sent");
                    assert!(mpdu.number > 1 || rules.delivers_mpdus && at <= end || at == end, "{t:?}");
                }
            }
            let before = |seq: &u64| (*seq, link.outstanding[seq]);
            link.tried.get_or_insert_with(|| (seqs.iter().map(before).collect(), 0));
            if t.outcome == Some(Outcome::Acknowledged) {
                for (mpdu, seq) in t.mpdus.iter().zip(&seqs) {
                    let has = link.decoded.contains_key(seq);
                    assert_eq!(mpdu.acknowledged, Some(has), "{t:?}");
                    if has {
                        link.outstanding.remove(seq);
                    }
                }
            }
        }
        failed.retain(|seq| link.outstanding.contains_key(seq));
        for seq in failed {
            *link.outstanding.get_mut(&seq).expect("it is") += 1;
        }
        let (mut ends, mut gone) = (false, Vec::new());
        if let Some((formed, failed)) = &mut link.tried {
            *failed += 1;
            ends = t.outcome == Some(Outcome::Acknowledged) || *failed == rules.tries;
            let is_gone = |&(seq, before): &(&u64, &u32)| {
                ends && before + 1 >= rules.max_attempts && link.outstanding.contains_key(seq)
            };
            gone = formed.iter().filter(is_gone).map(|(seq, _)| *seq).collect();
        }
        if ends {
            link.tried = None;
        }
        link.outstanding.retain(|seq, _| !gone.contains(seq));
        // The transmitter knows at the end of a response, or at its timeout.
        let known = ended + longest_timeout(&scenario.rules);
        let of_link = record.given_up.iter().filter(|g| (g.from, g.to, g.category) == key);
        let told = of_link.skip(link.given_up.len()).take(gone.len());
        let told = told.filter(|g| (ended..=known).contains(&g.at));
        let told: Vec<u64> = told.map(|g| link.unwrapped(g.seq)).collect();
        // The run may end before it knows.
        let expected = if known < record.end { &gone[..] } else { &gone[..told.len().min(gone.len())] };
        assert_eq!(expected, told, "given up after {t:?}");
        let missed = !matches!(t.outcome, Some(Outcome::Acknowledged)) && t.mpdus.len() > 1;
        // After an RTS that came to nothing there is no PPDU in the record.
        let missed = missed && ends && end.is_some() && rules.requests == Requests::Missed;
        link.owes_request |= missed || rules.requests != Requests::Never && !gone.is_empty();
        link.given_up.extend(gone);
    }
    let given_up: usize = links.values().map(|link| link.given_up.len()).sum();
    assert!(record.given_up.len() <= given_up, "given up for no reason: {:?}", record.given_up);
    let mut passed_on = BTreeSet::new();
    for delivery in &record.deliveries {
        if let Some((key, seq)) = numbers.get(&delivery.id) {
            assert!(passed_on.insert(delivery.id), "{delivery:?} a second time");
            let delivered = &mut links.get_mut(key).expect("sent").delivered;
            let at = *delivered.entry(*seq).or_insert(delivery.at);
            assert_eq!(at, delivery.at, "{delivery:?} without the rest of its MPDU");
        }
    }
    links
}

/// The window of a link.
fn window(scenario: &Scenario, (from, to, _): Link) -> u64 {
    let modes = scenario.stations[from.max(to) - 1].modes.expect("a link with an agreement");
    scenario.rules.window(modes.up).into()
}

/// The timeout after frames of OFDM, or of 802.11b, whichever is longer.
fn longest_timeout(rules: &Rules) -> u64 {
    rules.ack_timeout().max(rules.cts_timeout()).into()
}

/// No loss, no duplicate and no gap but by what section 12 allows.
fn assert_in_order(scenario: &Scenario, key: Link, link: &Seen, at_rest: bool) {
    let rules = scenario.rules.aggregation.expect("a scenario with aggregation");
    let (window, timeout) = (window(scenario, key), u64::from(rules.reorder_timeout));
    // Whether the recipient could know at `now` that it need not wait for `seq`.
    let skipped = |seq: u64, now: u64| {
        let requested = link.requests.iter().any(|&(at, start)| at <= now && start > seq);
        let decoded = || link.decoded.iter().filter(|&(&later, _)| later > seq);
        let beyond = decoded().any(|(&l, &at)| at <= now && l >= seq + window);
        requested || beyond || decoded().any(|(_, &at)| at + timeout <= now)
    };
    let mut latest = 0;
    for (&seq, &at) in &link.delivered {
        assert!(at >= latest, "{seq} was passed on before one that precedes it");
        latest = at;
        assert!(link.decoded.get(&seq).is_some_and(|&decoded| decoded <= at), "{seq} from nowhere");
    }
    for missing in (0..link.next).filter(|seq| !link.delivered.contains_key(seq)) {
        // Those that follow are passed on no sooner.
        if let Some((seq, &at)) = link.delivered.range(missing..).next() {
            assert!(skipped(missing, at), "{seq} was passed on at {at} without {missing}");
        }
    }
    for (&seq, &decoded) in &link.decoded {
        match link.delivered.get(&seq) {
            // Held no longer than by the timeout, or what it waits for.
            Some(&at) => {
                assert!(at <= decoded + timeout, "{seq} was held from {decoded} to {at}");
                let waits_for = |before: u64| link.delivered.get(&before).is_none_or(|&then| then == at);
                let waited = at == decoded || (0..seq).any(waits_for);
                assert!(waited, "{seq} was held for nothing from {decoded} to {at}");
            }
            None if at_rest => {
                let later = link.delivered.range(seq..).any(|(_, &at)| at <= decoded);
                assert!(later, "{seq}, decoded at {decoded}, is lost");
            }
            None => {}
        }
    }
    if at_rest {
        assert!(link.outstanding.is_empty(), "at rest, with {:?} outstanding", link.outstanding);
        let given_up: BTreeSet<u64> = link.given_up.iter().copied().collect();
        let known = |seq: u64| link.decoded.contains_key(&seq) || given_up.contains(&seq);
        assert!((0..link.next).all(known), "neither decoded nor given up");
    }
}

/// What random scenarios have had to deal with.
#[derive(Debug, Default)]
struct Account {
    scenarios: u64,
    transmissions: u64,
    mpdus: u64,
    single_frames: u64,
    collided: u64,
    data_lost: u64,
    responses_lost: u64,
    /// MPDUs that a Block Ack acknowledges though they were not decoded this time.
    acknowledged_of_old: u64,
    given_up_after_delivery: u64,
    changes: u64,
    events: Events,
}

impl Account {
    fn add(&mut self, scenario: &Scenario, record: &Record) {
        let of = |outcome| record.transmissions.iter().filter(|t| t.outcome == Some(outcome)).count() as u64;
        let mpdus = || record.transmissions.iter().flat_map(|t| &t.mpdus);
        let of_old =
            |mpdu: &&oracle::record::Sent| (mpdu.decoded, mpdu.acknowledged) == (Some(false), Some(true));
        self.scenarios += 1;
        self.transmissions += record.transmissions.len() as u64;
        self.mpdus += mpdus().count() as u64;
        self.single_frames += record.attempts.len() as u64;
        self.collided += of(Outcome::Collided);
        self.data_lost += of(Outcome::DataLost);
        self.responses_lost += of(Outcome::AckLost);
        self.acknowledged_of_old += mpdus().filter(of_old).count() as u64;
        self.given_up_after_delivery += record.total(|tally| tally.lost_after_delivery);
        self.changes += scenario.changes.len() as u64;
        self.events.add(&record.events);
    }

    fn covers(&self, least: u64) -> bool {
        let counts = [
            self.single_frames,
            self.collided,
            self.data_lost,
            self.responses_lost,
            self.acknowledged_of_old,
            self.given_up_after_delivery,
            self.changes,
        ];
        counts.iter().all(|&count| count >= least) && self.events.covers_all(least)
    }
}

#[test]
fn agreements_keep_their_order_and_lose_nothing() {
    let cases = if validating() { 5_000 } else { 300 };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 30, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]);
    let account = RefCell::new(Account::default());
    let outcome = TestRunner::new_with_rng(config, rng).run(&aggregated_scenarios(), |mut scenario| {
        scenario.rules.polices = false; // a link delivers what the AP drops then
        let run = air::run(&scenario);
        let record = &run.whole;
        for (&key, link) in &links(&scenario, record) {
            assert_in_order(&scenario, key, link, run.at_rest);
        }
        let airtime = &record.airtime;
        let occupied: u64 = airtime.up.iter().chain(&airtime.down).sum();
        assert_eq!(occupied + airtime.collisions + airtime.idle, record.end);
        account.borrow_mut().add(&scenario, record);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    let account = account.into_inner();
    tell(&format!("{account:?}"));
    assert!(account.covers(3), "the scenarios are too quiet to say anything: {account:?}");
    assert!(account.events.count(Event::Several) > 1_500, "too few PPDUs have several MPDUs: {account:?}");
}
