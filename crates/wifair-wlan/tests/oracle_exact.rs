//! Engine and oracle consume the same random draws, so every delivery, its instant and every counter must be equal.

mod oracle;

use oracle::air::{self, Delivery, Record, Start};
use oracle::engine::Engine;
use oracle::node::Tally;
use oracle::random::{edca_scenarios, scenarios};
use oracle::scenario::{Pattern, Scenario, Station, Stream};
use oracle::timing::Rules;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::fmt::{Debug, Write};

/// Runs both; an error says how they differ and what happened before.
fn compare(scenario: &Scenario) -> Result<Record, String> {
    let oracle = air::run(scenario);
    let (half_way, whole) = (&oracle.half_way, &oracle.whole);
    let mut engine = Engine::new(scenario);
    engine.run_until(half_way.end);
    let engine_half_way = ignoring_failures(engine.record(half_way.end), half_way);
    engine.run_until(whole.end);
    let mut engine_whole = engine.record(whole.end);
    if !oracle.at_rest {
        engine_whole = ignoring_failures(engine_whole, whole);
    }
    let mut report = String::new();
    differences(&mut report, "half-way", half_way, &engine_half_way);
    differences(&mut report, "at the end", whole, &engine_whole);
    if engine.is_at_rest() != oracle.at_rest {
        writeln!(report, "at the end, at rest: oracle {}, engine {}", oracle.at_rest, engine.is_at_rest())
            .unwrap();
    }
    if report.is_empty() {
        return Ok(oracle.whole);
    }
    explain(&mut report, &whole.deliveries, &engine_whole.deliveries, &oracle.starts);
    Err(report)
}

/// In the middle of things the engine has booked a failure with its exchange, of which the sender learns only at its
/// timeout: `engine` with the oracle's failures.
fn ignoring_failures(mut engine: Record, oracle: &Record) -> Record {
    let ours = oracle.up.iter().chain(&oracle.down);
    let theirs = engine.up.iter_mut().chain(&mut engine.down);
    ours.zip(theirs).for_each(|(ours, theirs)| theirs.failures = ours.failures);
    engine
}

fn differences(report: &mut String, when: &str, oracle: &Record, engine: &Record) {
    let mut differ = |what: &str, oracle: &dyn Debug, engine: &dyn Debug| {
        writeln!(report, "{when}, {what}:\n    oracle {oracle:?}\n    engine {engine:?}").unwrap();
    };
    let (ours, theirs) = (oracle.deliveries.len(), engine.deliveries.len());
    if ours != theirs {
        differ("number of deliveries", &ours, &theirs);
    }
    let mut tallies = |way: &str, oracle: &[Tally], engine: &[Tally]| {
        for (station, (a, b)) in oracle.iter().zip(engine).enumerate() {
            if a != b {
                differ(&format!("station {} {way}", station + 1), a, b);
            }
        }
    };
    tallies("up", &oracle.up, &engine.up);
    tallies("down", &oracle.down, &engine.down);
    if oracle.airtime != engine.airtime {
        differ("airtime", &oracle.airtime, &engine.airtime);
    }
    let exchanges = |r: &Record| (r.exchanges, r.collisions);
    if exchanges(oracle) != exchanges(engine) {
        differ("exchanges and collisions", &exchanges(oracle), &exchanges(engine));
    }
    if oracle.deliveries != engine.deliveries && ours == theirs {
        differ("deliveries", &"see below", &"see below");
    }
}

/// The first deliveries that differ, and what the oracle did before.
fn explain(report: &mut String, oracle: &[Delivery], engine: &[Delivery], starts: &[Start]) {
    let agreed = oracle.iter().zip(engine).take_while(|(a, b)| a == b).count();
    let show =
        |deliveries: &[Delivery]| deliveries.get(agreed).map_or("nothing more".into(), Delivery::to_string);
    writeln!(report, "the first {agreed} deliveries agree; then").unwrap();
    writeln!(report, "    oracle {}\n    engine {}", show(oracle), show(engine)).unwrap();
    let next = [oracle, engine].into_iter().filter_map(|d| d.get(agreed)).map(|d| d.at).max();
    let next = next.unwrap_or(u64::MAX);
    writeln!(report, "the oracle's frames before:").unwrap();
    let before: Vec<_> = starts.iter().filter(|s| s.at <= next).collect();
    for start in &before[before.len().saturating_sub(25)..] {
        writeln!(report, "    {start}").unwrap();
    }
}

fn cases(usual: u32, validation: u32) -> u32 {
    if std::env::var_os("WIFAIR_VALIDATE").is_some() { validation } else { usual }
}

fn compare_random(scenarios: impl Strategy<Value = Scenario>, cases: u32, least: Seen) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    // The same scenarios in every run: a failure is a change of the engine, never of the weather.
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let seen = std::cell::Cell::new(Seen::default());
    let outcome = TestRunner::new_with_rng(config, rng).run(&scenarios, |scenario| {
        let record = compare(&scenario).map_err(proptest::test_runner::TestCaseError::fail)?;
        let mut sums = seen.get();
        sums.exchanges += record.exchanges;
        sums.collisions += record.collisions;
        sums.internal_collisions += record.total(|tally| tally.internal);
        seen.set(sums);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    let seen = seen.get();
    println!("{seen:?}");
    let enough = seen.exchanges >= least.exchanges
        && seen.collisions >= least.collisions
        && seen.internal_collisions >= least.internal_collisions;
    assert!(enough, "the scenarios are too quiet to say anything: {seen:?}");
}

/// What random scenarios have had to deal with.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    exchanges: u64,
    collisions: u64,
    internal_collisions: u64,
}

#[test]
fn random_scenarios_are_equal_to_the_microsecond() {
    let least = Seen { exchanges: 10_000, collisions: 1_000, internal_collisions: 0 };
    compare_random(scenarios(), cases(300, 10_000), least);
}

/// Four categories with windows and AIFSNs of their own, at the AP and at stations, internal collisions, TXOPs.
#[test]
fn random_edca_scenarios_are_equal_to_the_microsecond() {
    let least = Seen { exchanges: 10_000, collisions: 1_000, internal_collisions: 500 };
    compare_random(edca_scenarios(), cases(150, 10_000), least);
}

/// Far more stations than the random scenarios have, with frames of unequal length.
#[test]
fn a_hundred_saturated_stations_are_equal() {
    let bytes: Vec<u32> = [1500, 40, 700].into_iter().cycle().take(100).collect();
    for eifs in [true, false] {
        let rules = Rules { eifs, ..Rules::dot11b(true) };
        let scenario = Scenario::saturated_uplink(3, rules, &bytes, 110, 400_000);
        match compare(&scenario) {
            Ok(record) => assert!(record.collisions > 100, "only {} collisions", record.collisions),
            Err(report) => panic!("EIFS {eifs}: {report}"),
        }
    }
}

/// Runs a scenario under many seeds; each must be equal.
fn compare_under_many_seeds(scenario: &Scenario) {
    for seed in 0..50 {
        if let Err(report) = compare(&Scenario { seed, ..scenario.clone() }) {
            panic!("seed {seed}: {report}\n{scenario:#?}");
        }
    }
}

/// The AP collides, and while it waits for its MAC ACK station 2 sends it a frame that it cannot decode: it waits EIFS
/// after that, here a DIFS, and not the bystanders' NAV.
#[test]
fn a_waiting_sender_cannot_decode_what_it_receives() {
    let once = |station, up, ip_bytes, first| {
        let pattern = Pattern::Every { first, gap: 1_000_000, burst: 1 };
        Stream { station, up, ip_bytes, category: 0, pattern }
    };
    let deaf_ap = Station { data_error_up: 0.9, ..Station::clean(110) };
    compare_under_many_seeds(&Scenario {
        seed: 0,
        rules: Rules { eifs: false, cw_min: 1, cw_max: 3, ..Rules::dot11b(true) },
        stations: vec![Station::clean(110), deaf_ap, Station::clean(110)],
        streams: vec![
            once(0, false, 1500, 1000),
            once(0, true, 1500, 1000),
            once(1, true, 40, 1100),
            once(2, true, 40, 1200),
        ],
        port_limit: 10,
        limit_counts_in_service: false,
        offered_until: 10_000,
    });
}
