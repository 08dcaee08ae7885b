//! `docs/medium.md`, section 5, a test a rule: a packet that arrives at an empty MAC. Durations as in `origins.rs`.

use crate::support;

use support::{Logged, cell_b, us};
use wifair_core::{Rng, Time};
use wifair_wlan::{ArrivalWithinIfs, BackoffRange};

const SEEDS: u64 = 200;
const SLOT: Time = Time::from_us(20);
/// End of an exchange that begins at 100 µs, and the origin after it.
const END: Time = Time::from_us(100 + 1_310 + 10 + 304);
const ORIGIN: Time = Time::from_us(100 + 1_310 + 10 + 304 + 50);
const NS: Time = Time::from_ns(1);

fn draws(seed: u64, label: &str, windows: &[u32]) -> Vec<u64> {
    let mut rng = Rng::stream(seed, label, "backoff");
    windows.iter().map(|cw| u64::from(rng.below(cw + 1))).collect()
}

/// One station sends at 100 µs and gets its second packet at `at(its first backoff)`; when the second is sent.
fn second_start(seed: u64, at: impl Fn(u64) -> Time) -> (u64, Time) {
    let post = draws(seed, "sta-0", &[31])[0];
    let mut run = Logged::new(&cell_b(1), seed);
    run.up(0, 1, us(100));
    run.run_before(at(post));
    run.up(0, 1, at(post));
    run.run();
    (post, run.times("start up 0")[1])
}

#[test]
fn rule_1_a_running_post_backoff_goes_on() {
    for seed in 0..SEEDS {
        for at in [us(1_000), END + NS, ORIGIN - NS] {
            let (post, start) = second_start(seed, |_| at);
            assert_eq!(start, ORIGIN + SLOT * post, "seed {seed}, arrival at {at}");
        }
        if draws(seed, "sta-0", &[31])[0] > 0 {
            let (post, start) = second_start(seed, |post| ORIGIN + SLOT * post - NS);
            assert_eq!(start, ORIGIN + SLOT * post, "seed {seed}");
        }
    }
}

#[test]
fn rule_2_at_a_busy_medium_a_spent_counter_draws() {
    for seed in 0..SEEDS {
        // Within the data frame, the SIFS gap, the MAC ACK, and at its last instant.
        for at in [us(100) + NS, us(1_415), us(1_500), END] {
            let mut run = Logged::new(&cell_b(2), seed);
            run.up(0, 1, us(100));
            run.run_before(at);
            run.up(1, 1, at);
            run.run();
            let start = ORIGIN + SLOT * draws(seed, "sta-1", &[31])[0];
            assert_eq!(run.times("start up 1"), [start], "seed {seed}, arrival at {at}");
        }
    }
}

#[test]
fn rule_2_a_nav_is_a_busy_medium() {
    // Station 0's data cannot be decoded and ends at 1410; station 1's NAV ends at 1724.
    let mut spec = cell_b(2);
    spec.stations[0].frame_error_rate.data_up = 1.0;
    for seed in 0..SEEDS {
        let retry = us(1_410 + 222 + 50) + SLOT * draws(seed, "sta-0", &[63])[0];
        for at in [us(1_410), us(1_411), us(1_724)] {
            let start = us(1_774) + SLOT * draws(seed, "sta-1", &[31])[0];
            if retry <= start {
                continue;
            }
            let mut run = Logged::new(&spec, seed);
            run.up(0, 1, us(100));
            run.run_before(at);
            run.up(1, 1, at);
            run.run();
            assert_eq!(run.times("start up 1")[0], start, "seed {seed}, arrival at {at}");
        }
        // After its NAV it is within a DIFS (rule 4): it is sent at the origin.
        if retry > us(1_774) {
            let mut run = Logged::new(&spec, seed);
            run.up(0, 1, us(100));
            run.run_before(us(1_724) + NS);
            run.up(1, 1, us(1_724) + NS);
            run.run();
            assert_eq!(run.times("start up 1")[0], us(1_774), "seed {seed}");
        }
    }
}

#[test]
fn rule_3_immediate_access_is_off_the_grid() {
    for seed in 0..SEEDS {
        // Exactly when the post-backoff runs out, and long after.
        for after in [Time::ZERO, NS, Time::from_ns(7_777_777)] {
            let (post, start) = second_start(seed, |post| ORIGIN + SLOT * post + after);
            assert_eq!(start, ORIGIN + SLOT * post + after, "seed {seed}");
        }
        // Others have used the whole slots that passed.
        let counting = draws(seed, "sta-0", &[31])[0];
        if counting < 3 {
            continue;
        }
        let mut run = Logged::new(&cell_b(2), seed);
        run.up(0, 2, us(100));
        let at = ORIGIN + us(59);
        run.run_before(at);
        run.up(1, 1, at);
        run.run();
        assert_eq!(run.times("start up 1")[0], at);
        let resumed = at + us(1_310 + 314 + 50) + SLOT * (counting - 2);
        assert_eq!(run.times("start up 0")[1], resumed, "seed {seed}");
    }
}

#[test]
fn rule_3_without_immediate_access_every_frame_backs_off() {
    let mut spec = cell_b(1);
    spec.mac.immediate_access = false;
    for (range, slots) in [(BackoffRange::Inclusive, 32), (BackoffRange::Exclusive, 31)] {
        spec.mac.backoff_range = range;
        for seed in 0..SEEDS {
            let mut run = Logged::new(&spec, seed);
            run.up(0, 1, us(12_345));
            run.run();
            let backoff = u64::from(Rng::stream(seed, "sta-0", "backoff").below(slots));
            assert_eq!(run.times("start up 0"), [us(12_345 + 50) + SLOT * backoff]);
        }
    }
}

#[test]
fn rule_4_within_a_difs_it_waits_for_the_origin() {
    for seed in 0..SEEDS {
        for option in [ArrivalWithinIfs::Transmit, ArrivalWithinIfs::Backoff] {
            let mut spec = cell_b(2);
            spec.mac.arrival_within_ifs = option;
            for at in [END + NS, ORIGIN - NS] {
                let mut run = Logged::new(&spec, seed);
                run.up(0, 1, us(100));
                run.run_before(at);
                run.up(1, 1, at);
                run.run();
                let slots = match option {
                    ArrivalWithinIfs::Transmit => 0,
                    ArrivalWithinIfs::Backoff => draws(seed, "sta-1", &[31])[0],
                };
                assert_eq!(run.times("start up 1"), [ORIGIN + SLOT * slots], "seed {seed}");
            }
        }
    }
}

#[test]
fn rule_4_it_draws_when_somebody_is_first() {
    // Stations 0 and 1 collide until 1410 and resume at 1682; station 2's packet comes at 1420 within its EIFS.
    for seed in 0..SEEDS {
        let colliders = ["sta-0", "sta-1"].map(|label| us(1_682) + SLOT * draws(seed, label, &[63])[0]);
        let mut run = Logged::new(&cell_b(3), seed);
        run.up(0, 1, us(100));
        run.up(1, 1, us(100));
        run.run_before(us(1_420));
        run.up(2, 1, us(1_420));
        run.run();
        let first = *colliders.iter().min().unwrap();
        let start = run.times("start up 2")[0];
        if first >= us(1_774) {
            assert_eq!(start, us(1_774), "seed {seed}");
        } else if colliders[0] != colliders[1] {
            let other = *colliders.iter().max().unwrap();
            let grid = first + us(1_310 + 314 + 50);
            let left = ((other - us(1_682)) / SLOT) - ((first - us(1_682)) / SLOT);
            let drawn = draws(seed, "sta-2", &[31])[0];
            if drawn <= left {
                assert_eq!(start, grid + SLOT * drawn, "seed {seed}");
            }
        }
    }
}

#[test]
fn a_post_backoff_that_runs_out_as_another_starts_has_run_out() {
    for seed in 0..SEEDS {
        let backoffs = draws(seed, "sta-0", &[31, 31]);
        let at = ORIGIN + SLOT * backoffs[0];
        let mut run = Logged::new(&cell_b(2), seed);
        run.up(0, 1, us(100));
        run.run_before(at);
        run.up(1, 1, at);
        run.run_before(at + us(500));
        run.up(0, 1, at + us(500));
        run.run();
        assert_eq!(run.times("start up 1"), [at]);
        assert_eq!(run.times("start up 0")[1], at + us(1_310 + 314 + 50) + SLOT * backoffs[1], "seed {seed}");
    }
}

#[test]
fn a_post_backoff_whose_origin_is_not_reached_has_not_run_out() {
    // Station 0 gives up its frame when its MAC ACK is lost at END; it waits an EIFS, the AP a DIFS. A counter of
    // zero, too, waits for its origin.
    let mut spec = cell_b(2);
    spec.mac.retry_limit_short = 1;
    spec.stations[0].frame_error_rate.ack_down = 1.0;
    let mut zeros = 0;
    for seed in 0..2_000 {
        let (mine, ap) = (draws(seed, "sta-0", &[31])[0], draws(seed, "ap", &[31])[0]);
        let start = ORIGIN + SLOT * ap;
        if start >= END + us(364) {
            continue;
        }
        zeros += u64::from(mine == 0);
        let mut run = Logged::new(&spec, seed);
        run.up(0, 1, us(100));
        run.run_before(us(500));
        run.down(1, 1, us(500));
        run.run_before(start + us(100));
        run.up(0, 1, start + us(100));
        run.run();
        assert_eq!(run.times("start down 1"), [start]);
        assert_eq!(run.times("start up 0")[1], start + us(1_310 + 314 + 50) + SLOT * mine, "seed {seed}");
    }
    assert!(zeros > 10);
}

#[test]
fn what_arrives_at_the_instant_of_a_start_collides() {
    for seed in 0..SEEDS {
        let at = ORIGIN + SLOT * draws(seed, "sta-0", &[31])[0];
        let mut run = Logged::new(&cell_b(2), seed);
        run.up(0, 2, us(100));
        run.run_before(at);
        run.up(1, 1, at);
        run.run();
        assert_eq!((run.times("start up 0")[1], run.times("start up 1")[0]), (at, at));
        assert!(run.bss.snapshot(Time::from_s(1)).collisions >= 1);
    }
}
