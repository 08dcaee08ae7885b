//! Random fields on the engine and on the oracle (`docs/medium.md`, section 16): hidden pairs, powers around every threshold.

use crate::oracle;
use crate::oracle_exact::{
    agree, cases, forget_what_the_engine_does_not_say, ignoring_the_future, notices_with, run_random,
};

use oracle::cell::Run;
use oracle::engine::field::FieldEngine;
use oracle::field::flaw::Flaw;
use oracle::field::powers::Keys;
use oracle::field::{FieldScenario, air};
use oracle::mode::{Generation, Mode};
use oracle::random::{
    beacon_field_scenarios, beacon_neighbour_scenarios, controlled_field_scenarios, edca_field_scenarios,
    field_scenarios, modern_field_scenarios, neighbour_scenarios, reuse_scenarios, shadowed_scenarios,
    subchannel_scenarios,
};
use oracle::record::{Attempt, Outcome, Record, Transmission};
use oracle::scenario::{Pattern, Scenario, Station, Stream};
use oracle::timing::{Category, Edca, Modern, Rules};
use oracle::{tell, validating};
use proptest::strategy::Strategy;
use std::cell::RefCell;

/// Runs both; an error says how they differ and what happened before. Returns the records of the BSSs.
fn compare(scenario: &FieldScenario) -> Result<Vec<Record>, String> {
    let mut oracle = air::run(scenario);
    let mut engine = FieldEngine::new(scenario);
    engine.run_until(oracle[0].half_way.end);
    let half_way = engine.records(oracle[0].half_way.end);
    engine.run_until(oracle[0].whole.end);
    let whole = engine.records(oracle[0].whole.end);
    // A controller always has a next sample, and an access point a next target time.
    let rules = &scenario.base.rules;
    let never_rests = rules.controller().is_some() || rules.beacons.is_some();
    let at_rest = if never_rests { oracle[0].at_rest } else { engine.is_at_rest() };
    let mut records = Vec::new();
    for (((mut oracle, bss), half_way), whole) in
        oracle.drain(..).zip(scenario.bsss()).zip(half_way).zip(whole)
    {
        let half_way = settle(&mut oracle.half_way, half_way, bss, false);
        let whole = settle(&mut oracle.whole, whole, bss, oracle.at_rest);
        records.push(agree(oracle, Run { half_way, whole, at_rest })?);
    }
    Ok(records)
}

/// The engine's record, both without what the other does not say.
fn settle(oracle: &mut Record, mut engine: Record, scenario: &Scenario, at_rest: bool) -> Record {
    if scenario.stations.iter().any(|station| station.modes.is_some()) {
        oracle.up.iter_mut().chain(&mut oracle.down).for_each(|tally| tally.rate_integral = 0);
    }
    if !scenario.aggregates() {
        return engine;
    }
    forget_what_the_engine_does_not_say(oracle);
    for record in [&mut *oracle, &mut engine] {
        record.transmissions.sort_by_key(|transmission| (transmission.at, transmission.from));
    }
    if at_rest { engine } else { ignoring_the_future(engine, oracle) }
}

/// What random fields have had to deal with.
#[derive(Debug, Default, PartialEq, PartialOrd)]
struct Seen {
    fields: u64,
    exchanges: u64,
    overlapping: u64,
    acknowledged: u64,
    /// Of data frames that were decoded.
    acks_lost: u64,
    given_up: u64,
    duplicates: u64,
    /// Internal collisions.
    internal: u64,
    /// Exchanges that follow another in a TXOP: a SIFS before the frame begins, at the end of the ACK.
    following: u64,
    /// PPDUs of which some MPDUs were decoded, and others not.
    partial: u64,
    /// Block Acks that their addressee did not decode.
    block_acks_lost: u64,
    /// Data frames and PPDUs that were lost although no other exchange of the BSS was on the air.
    disturbed: u64,
    /// How often a controller of CWmin has raised it, and lowered it.
    raised: u64,
    lowered: u64,
    /// Accesses won in a spatial reuse opportunity.
    reuses: u64,
    /// CTS that were narrower than their RTS.
    narrow_cts: u64,
    /// Accesses to exchanges that left out channels of 20 MHz.
    punctured: u64,
    /// Beacons sent, and those of them that a station of their BSS has not decoded.
    beacons: u64,
    beacons_collided: u64,
}

impl Seen {
    fn add(&mut self, bsss: &[Record]) {
        self.fields += 1;
        bsss.iter().for_each(|record| self.add_bss(record));
    }

    fn add_bss(&mut self, record: &Record) {
        let outcomes = |outcome| {
            record.attempts.iter().filter(|attempt| attempt.outcome == Some(outcome)).count() as u64
        };
        self.exchanges += record.exchanges;
        self.raised += record.announcements.0;
        self.lowered += record.announcements.1;
        self.overlapping += record.collisions;
        self.reuses += record.reuses;
        self.narrow_cts += record.narrow_cts;
        self.punctured += record.punctured;
        self.beacons += record.beacons.0;
        self.beacons_collided += record.beacons.1;
        self.acknowledged += outcomes(Outcome::Acknowledged);
        self.acks_lost += outcomes(Outcome::AckLost);
        self.given_up += record.total(|tally| tally.lost);
        self.duplicates += record.total(|tally| tally.duplicates);
        self.internal += record.total(|tally| tally.internal);
        let follows = |&at: &&Attempt| {
            let before = |before: &&Attempt| {
                before.outcome == Some(Outcome::Acknowledged)
                    && before.ended == Some(at.at)
                    && before.from == at.from
            };
            record.attempts.iter().any(|attempt| before(&attempt))
        };
        let is_partial = |transmission: &&Transmission| {
            let decoded = |is| transmission.mpdus.iter().any(|mpdu| mpdu.decoded == Some(is));
            decoded(true) && decoded(false)
        };
        self.partial += record.transmissions.iter().filter(is_partial).count() as u64;
        let all = &record.transmissions;
        let ppdus = |outcome| all.iter().filter(|sent| sent.outcome == Some(outcome)).count() as u64;
        self.acknowledged += ppdus(Outcome::Acknowledged);
        self.block_acks_lost += ppdus(Outcome::AckLost);
        self.disturbed += outcomes(Outcome::DataLost) + ppdus(Outcome::DataLost);
        self.following += record.attempts.iter().filter(follows).count() as u64;
    }
}

/// Compares random fields; returns what was in them.
fn compare_all(fields: impl Strategy<Value = FieldScenario>) -> Seen {
    compare_some(fields, cases(200, 20_000))
}

/// The same with so many.
fn compare_some(fields: impl Strategy<Value = FieldScenario>, cases: u32) -> Seen {
    let seen = RefCell::new(Seen::default());
    run_random(fields, cases, |scenario| {
        seen.borrow_mut().add(&compare(scenario)?);
        Ok(())
    });
    let seen = seen.into_inner();
    tell(&format!("{seen:?}"));
    seen
}

/// The same, which must be enough to say anything.
fn compare_random(fields: impl Strategy<Value = FieldScenario>) -> Seen {
    let seen = compare_all(fields);
    assert!(seen.exchanges > 5_000 && seen.overlapping > 1_000, "too quiet to say anything: {seen:?}");
    assert!(seen.acknowledged > 2_000 && seen.acks_lost > 50 && seen.given_up > 100, "{seen:?}");
    seen
}

#[test]
fn random_fields_are_equal_step_by_step() {
    compare_random(field_scenarios());
}

#[test]
fn random_fields_with_edca_are_equal_step_by_step() {
    let seen = compare_random(edca_field_scenarios());
    assert!(seen.internal > 100 && seen.following > 2_000, "{seen:?}");
}

#[test]
fn random_fields_with_ppdus_are_equal_step_by_step() {
    let seen = compare_all(modern_field_scenarios());
    assert!(seen.exchanges > 3_000 && seen.overlapping > 500, "too quiet to say anything: {seen:?}");
    assert!(seen.acknowledged > 1_000 && seen.acks_lost > 50 && seen.given_up > 100, "{seen:?}");
    assert!(seen.partial > 50 && seen.block_acks_lost > 50, "{seen:?}");
}

/// The comparison notices each rule of the field that the model breaks on purpose; in the short form a dozen.
#[test]
fn broken_rules_of_the_field_are_noticed() {
    let mut flaws = Flaw::ALL.to_vec();
    flaws.retain(|&flaw| !flaw.is_of_edca() && !flaw.is_of_ppdus() && !flaw.is_of_neighbours());
    flaws.retain(|&flaw| !flaw.is_of_beacons());
    flaws.retain(|&flaw| !flaw.is_of_reuse() && !flaw.is_of_shadowing() && !flaw.is_of_subchannels());
    // Below: random fields hardly ever meet these instants.
    flaws.retain(|&flaw| !matches!(flaw, Flaw::NavEndsBefore | Flaw::CtsInsteadOfData));
    let enough = if validating() { 0 } else { flaws.len() - 12 };
    notices(flaws, enough, field_scenarios());
}

/// The same of the rules of EDCA there; in the short form all but one.
#[test]
fn broken_rules_of_edca_in_the_field_are_noticed() {
    let flaws = Flaw::ALL.iter().copied().filter(|flaw| flaw.is_of_edca()).collect();
    notices(flaws, usize::from(!validating()), edca_field_scenarios());
}

#[test]
fn broken_rules_of_ppdus_in_the_field_are_noticed() {
    let mut flaws: Vec<Flaw> = Flaw::ALL.iter().copied().filter(|flaw| flaw.is_of_ppdus()).collect();
    flaws.retain(|&flaw| flaw != Flaw::NoiseOf20Mhz); // below: in random fields noise alone hardly ever decides
    notices(flaws, usize::from(!validating()), modern_field_scenarios());
}

/// Two and three BSSs.
#[test]
fn random_neighbours_are_equal_step_by_step() {
    let seen = compare_all(neighbour_scenarios());
    assert!(seen.exchanges > 5_000 && seen.overlapping > 500, "too quiet to say anything: {seen:?}");
    assert!(seen.acknowledged > 2_000 && seen.acks_lost > 50 && seen.given_up > 100, "{seen:?}");
    assert!(seen.disturbed > 100 && seen.internal > 50 && seen.following > 500, "{seen:?}");
}

/// While the AP, or each of several, changes CWmin at its stations.
#[test]
fn random_fields_with_a_controller_are_equal_step_by_step() {
    let seen = compare_some(controlled_field_scenarios(), cases(80, 20_000));
    assert!(seen.exchanges > 2_000 && seen.raised > 20 && seen.lowered > 10, "{seen:?}");
}

#[test]
fn random_fields_with_shadowing_are_equal_step_by_step() {
    let seen = compare_some(shadowed_scenarios(), cases(80, 20_000));
    assert!(seen.exchanges > 2_000 && seen.acknowledged > 1_000 && seen.given_up > 30, "{seen:?}");
}

#[test]
fn broken_rules_of_shadowing_are_noticed() {
    let flaws = Flaw::ALL.iter().copied().filter(|flaw| flaw.is_of_shadowing()).collect();
    notices(flaws, 0, shadowed_scenarios());
}

/// With BSS colours and OBSS PD levels.
#[test]
fn random_neighbours_with_obss_pd_are_equal_step_by_step() {
    let seen = compare_all(reuse_scenarios());
    assert!(seen.exchanges > 3_000 && seen.overlapping > 100, "too quiet to say anything: {seen:?}");
    assert!(seen.acknowledged > 1_000 && seen.given_up > 50 && seen.reuses > 150, "{seen:?}");
}

#[test]
fn broken_rules_of_obss_pd_are_noticed() {
    let flaws = Flaw::ALL.iter().copied().filter(|flaw| flaw.is_of_reuse()).collect();
    notices(flaws, if validating() { 0 } else { 2 }, reuse_scenarios());
}

#[test]
fn random_fields_with_beacons_are_equal_step_by_step() {
    let seen = compare_all(beacon_field_scenarios());
    assert!(seen.exchanges > 5_000 && seen.acknowledged > 1_000 && seen.internal > 50, "{seen:?}");
    assert!(seen.beacons > 1_000 && seen.beacons_collided > 100, "{seen:?}");
}

/// Two and three BSSs with beacons.
#[test]
fn random_neighbours_with_beacons_are_equal_step_by_step() {
    let seen = compare_all(beacon_neighbour_scenarios());
    assert!(seen.exchanges > 5_000 && seen.acknowledged > 1_000, "{seen:?}");
    assert!(seen.beacons > 2_000 && seen.beacons_collided > 300 && seen.reuses > 20, "{seen:?}");
}

#[test]
fn broken_rules_of_beacons_in_the_field_are_noticed() {
    let flaws = Flaw::ALL.iter().copied().filter(|flaw| flaw.is_of_beacons()).collect();
    notices(flaws, 0, beacon_neighbour_scenarios());
}

/// With channels that overlap in part.
#[test]
fn random_neighbours_with_subchannels_are_equal_step_by_step() {
    let seen = compare_all(subchannel_scenarios());
    assert!(seen.exchanges > 3_000 && seen.overlapping > 100, "too quiet to say anything: {seen:?}");
    assert!(seen.acknowledged > 1_000 && seen.given_up > 50 && seen.partial > 20, "{seen:?}");
    assert!(seen.narrow_cts > 100 && seen.punctured > 100, "{seen:?}");
}

#[test]
fn broken_rules_of_subchannels_are_noticed() {
    let flaws = Flaw::ALL.iter().copied().filter(|flaw| flaw.is_of_subchannels()).collect();
    notices(flaws, if validating() { 0 } else { 4 }, subchannel_scenarios());
}

#[test]
fn broken_rules_of_neighbours_are_noticed() {
    let flaws = Flaw::ALL.iter().copied().filter(|flaw| flaw.is_of_neighbours()).collect();
    notices(flaws, 0, neighbour_scenarios());
}

/// Breaks rules until all but `enough` have been noticed.
fn notices(flaws: Vec<Flaw>, enough: usize, scenarios: impl Strategy<Value = FieldScenario>) {
    notices_with(flaws, enough, scenarios, |scenario, flaw| {
        compare(&FieldScenario { flaw: Some(flaw), ..scenario.clone() }).is_err()
    });
}

/// A frame of 40 MHz from station 1, into which station 2 sends, which does not receive it. Its SINR is 0.3 dB below the
/// threshold of its MCS; with the noise of 20 MHz it would be 0.3 dB above.
#[test]
fn the_noise_of_its_width_decides_about_a_frame() {
    let modern = Modern {
        generation: Generation::Ht,
        band_ghz: 5.0,
        width_mhz: 40,
        basic_rates: None,
        has_dot11b: false,
    };
    let rules = Rules { overhead_bytes: 38, modern: Some(modern), ..Rules::dot11a() };
    let once = |station, first| {
        let pattern = Pattern::Every { first, gap: 1_000_000, burst: 1 };
        Stream { station, up: true, ip_bytes: 1500, category: 0, pattern }
    };
    let station = |mcs| Station::modern(Mode { width_mhz: 40, ..Mode::ht(mcs) });
    let scenario = |flaw| FieldScenario {
        base: Scenario {
            seed: 1,
            rules,
            stations: vec![station(4), station(0)],
            streams: vec![once(0, 0), once(1, 50)],
            changes: vec![],
            tx_queue_limit: 10,
            limit_counts_in_service: false,
            offered_until: 10_000,
        },
        neighbours: vec![],
        keys: Keys {
            gains: vec![(0, 1, -84.8), (0, 2, -101.9)],
            hidden: vec![(1, 2)],
            preamble_detection_dbm: -92.0,
            noise_dbm: -93.6,
            ..Keys::equal(3)
        },
        flaw,
    };
    let records = compare(&scenario(None)).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(records[0].attempts[0].outcome, Some(Outcome::Collided));
    assert!(compare(&scenario(Some(Flaw::NoiseOf20Mhz))).is_err());
}

/// Station 2 does not receive station 1, to which the AP sends in TXOPs. Its RTS begins where an ACK of station 1 ends and is
/// as long as the SIFS, so the AP has decoded it when the next data frame of its TXOP is due.
#[test]
fn an_rts_is_not_answered_where_the_next_frame_of_a_txop_is_due() {
    let category = |cw_min, txop_limit| Category { cw_min, cw_max: 1_023, aifsn: 2, txop_limit };
    let edca = Edca {
        ap: [category(1, 8_000); 4],
        stations: [category(1, 0); 4],
        dcf_countdown: true,
        internal_collision_retry: true,
        ap_shares_tx_queue: false,
        stations_share_tx_queue: false,
        controller: None,
    };
    let rules = Rules {
        sifs: 24,
        slot: 4,
        control_rate: 540,
        rts_threshold_bytes: 0,
        cts_timeout: Some(25),
        edca: Some(edca),
        ..Rules::dot11a()
    };
    let burst = |station, up| {
        let pattern = Pattern::Every { first: 0, gap: 20_000, burst: 4 };
        Stream { station, up, ip_bytes: 1500, category: 2, pattern }
    };
    let (mut unanswered, mut noticed) = (0, 0);
    for seed in 0..200 {
        let scenario = FieldScenario {
            base: Scenario {
                seed,
                rules,
                stations: vec![Station::clean(540); 2],
                streams: vec![burst(0, false), burst(1, true)],
                changes: vec![],
                tx_queue_limit: 10,
                limit_counts_in_service: false,
                offered_until: 100_000,
            },
            neighbours: vec![],
            keys: Keys { hidden: vec![(1, 2)], ..Keys::equal(3) },
            flaw: None,
        };
        let records = compare(&scenario).unwrap_or_else(|report| panic!("{report}"));
        let acknowledged = |node| {
            let of_node = records[0].attempts.iter().filter(move |attempt| attempt.from == node);
            of_node.filter(|attempt| attempt.outcome == Some(Outcome::Acknowledged))
        };
        let ends: Vec<u64> = acknowledged(0).filter_map(|attempt| attempt.ended).collect();
        let meets = |attempt: &&Attempt| attempt.from == 2 && ends.contains(&attempt.at);
        unanswered += records[0].attempts.iter().filter(meets).count();
        assert_eq!((acknowledged(0).count(), acknowledged(2).count()), (20, 20), "with seed {seed}");
        let flawed = FieldScenario { flaw: Some(Flaw::CtsInsteadOfData), ..scenario };
        noticed += usize::from(compare(&flawed).is_err());
    }
    assert!(noticed > 5, "the rule mattered {noticed} times");
    assert!(unanswered > 5, "the instant was met {unanswered} times");
}

/// Stations 2 and 3 send an RTS at once. The AP decodes neither; station 1, which does not receive station 3, decodes that of
/// station 2. Then the AP sends station 1 an RTS that ends with this NAV, or a step later.
#[test]
fn a_nav_that_ends_with_the_rts_keeps_the_cts_back() {
    let rules = Rules { short_limit: 1, rts_threshold_bytes: 0, ..Rules::dot11a() };
    let once = |station, up, first| {
        let pattern = Pattern::Every { first, gap: 1_000_000, burst: 1 };
        Stream { station, up, ip_bytes: 1500, category: 0, pattern }
    };
    let exchange = rules.rts() + rules.cts() + rules.data(1500, 60) + rules.ack() + 3 * rules.sifs;
    let scenario = |late| FieldScenario {
        base: Scenario {
            seed: 1,
            rules,
            stations: vec![Station::clean(60); 3],
            streams: vec![
                once(1, true, 0),
                once(2, true, 0),
                once(0, false, u64::from(exchange - rules.rts()) + late),
            ],
            changes: vec![],
            tx_queue_limit: 10,
            limit_counts_in_service: false,
            offered_until: 10_000,
        },
        neighbours: vec![],
        keys: Keys { hidden: vec![(1, 3)], ..Keys::equal(4) },
        flaw: None,
    };
    let of_ap = |scenario: &FieldScenario| {
        let records = compare(scenario).unwrap_or_else(|report| panic!("{report}"));
        records[0].attempts.iter().find(|attempt| attempt.from == 0).expect("it has sent").outcome
    };
    assert_eq!(of_ap(&scenario(0)), Some(Outcome::Collided));
    assert_eq!(of_ap(&scenario(1)), Some(Outcome::Acknowledged));
    assert!(compare(&FieldScenario { flaw: Some(Flaw::NavEndsBefore), ..scenario(0) }).is_err());
}
