//! The tables of `docs/medium.md`, sections 4 and 11, a test a row: when counting resumes.
//!
//! Frames of 1500 IP bytes at 11 Mbps last 1310 µs, of 500 bytes 582 µs; MAC ACK 304, SIFS 10, DIFS 50, EIFS 364,
//! ACKTimeout 222, slot 20. A first packet at an idle medium is sent at once. The backoffs are the first draws of
//! each node's own stream.

use crate::support;

use support::{Logged, cell_b, packet, us};
use wifair_core::{Rng, StationId, Time};
use wifair_wlan::BssSpec;

const SEEDS: u64 = 300;
const SLOT: Time = Time::from_us(20);

/// The first backoff of a node with windows `cw` one after the other, the last of which counts.
fn backoff(seed: u64, label: &str, windows: &[u32]) -> u64 {
    let mut rng = Rng::stream(seed, label, "backoff");
    let draws: Vec<u32> = windows.iter().map(|cw| rng.below(cw + 1)).collect();
    u64::from(*draws.last().unwrap())
}

/// A node that counts: its name in the log, its origin, its slots, and how long its exchange lasts if it wins.
struct Counting {
    name: &'static str,
    origin: Time,
    slots: u64,
    lasts: Time,
}

impl Counting {
    fn start(&self) -> Time {
        self.origin + SLOT * self.slots
    }
}

/// The next two starts after those until `from`: the first of the counting nodes wins; if alone, the others resume a
/// DIFS after its exchange with the slots that they have left (the freeze rule).
fn check(log: &[(Time, String)], from: Time, mut nodes: Vec<Counting>, what: &str) {
    let starts = |at: Time| -> Vec<&str> {
        let here = log.iter().filter(|(t, name)| *t == at && name.starts_with("start"));
        here.map(|(_, name)| name.strip_prefix("start ").unwrap()).collect()
    };
    let next = |after: Time| log.iter().find(|(t, n)| *t > after && n.starts_with("start")).map(|(t, _)| *t);

    let first = nodes.iter().map(Counting::start).min().unwrap();
    assert_eq!(next(from), Some(first), "{what}: the first start");
    let winners: Vec<&str> = nodes.iter().filter(|n| n.start() == first).map(|n| n.name).collect();
    assert_eq!(starts(first), winners, "{what}: who starts first");
    if winners.len() > 1 {
        return;
    }
    let resume = first + nodes.iter().find(|n| n.name == winners[0]).unwrap().lasts + us(50);
    nodes.retain(|n| n.name != winners[0]);
    for node in &mut nodes {
        if first >= node.origin {
            node.slots -= (first - node.origin) / SLOT;
        }
        node.origin = resume;
    }
    let second = nodes.iter().map(Counting::start).min().unwrap();
    assert_eq!(next(first), Some(second), "{what}: the second start");
}

const EXCHANGE: Time = Time::from_us(1_310 + 10 + 304);

#[test]
fn a_decoded_exchange_puts_all_on_one_grid() {
    for seed in 0..SEEDS {
        let mut run = Logged::new(&cell_b(2), seed);
        run.up(0, 2, us(100));
        run.run_before(us(500));
        run.up(1, 1, us(500));
        run.down(0, 1, us(500));
        run.run();
        assert_eq!(run.times("delivered to ap")[0], us(1_410));
        let grid = us(100) + EXCHANGE + us(50);
        let node = |name, label| Counting {
            name,
            origin: grid,
            slots: backoff(seed, label, &[31]),
            lasts: EXCHANGE,
        };
        let nodes = vec![node("down 0", "ap"), node("up 0", "sta-0"), node("up 1", "sta-1")];
        check(&run.log, us(100), nodes, &format!("seed {seed}"));
    }
}

/// Stations 0 (1500 bytes) and 1 (500 bytes) collide at 100 µs, station 2 gets a packet meanwhile.
fn collide(spec: &BssSpec, seed: u64) -> Logged {
    let mut run = Logged::new(spec, seed);
    run.up(0, 1, us(100));
    run.bss.send_up(StationId(1), &packet(1, 0, 500), us(100));
    run.run_before(us(500));
    run.up(2, 1, us(500));
    run.run();
    assert_eq!((run.times("start up 0")[0], run.times("start up 1")[0]), (us(100), us(100)));
    assert_eq!((run.times("retry up 0")[0], run.times("retry up 1")[0]), (us(1_410), us(1_410)));
    run
}

#[test]
fn a_collision_leaves_a_grid_for_each() {
    type Change = fn(&mut BssSpec);
    let cases: [(&str, Change, [u64; 3]); 6] = [
        // The senders' timeouts come at 1410 + 222 and at 682 + 222, before the end of the longer frame.
        ("standard", |_| {}, [1_632 + 50, 1_410 + 50, 1_410 + 364]),
        ("no EIFS", |s| s.mac.eifs = false, [1_682, 1_460, 1_460]),
        ("EIFS and DIFS", |s| s.mac.eifs_plus_difs = true, [1_682, 1_460, 1_824]),
        // The shorter frame's sender hears the end of the longer, the longer's nothing after its own.
        ("colliders' EIFS", |s| s.mac.colliders_wait_eifs = true, [1_682, 1_774, 1_774]),
        ("timeout", |s| s.mac.ack_timeout_us = Some(800.0), [2_260, 1_532, 1_774]),
        // RTS: both end at 452; the timeout is its own.
        ("RTS", |s| s.mac.rts_threshold_bytes = Some(100), [674 + 50, 674 + 50, 452 + 364]),
    ];
    for (name, change, origins) in cases {
        for seed in 0..SEEDS {
            let mut spec = cell_b(3);
            change(&mut spec);
            let reserved = if name == "RTS" { us(352 + 304 + 20) } else { Time::ZERO };
            let mut run = Logged::new(&spec, seed);
            if name != "RTS" {
                run = collide(&spec, seed);
            } else {
                run.up(0, 1, us(100));
                run.bss.send_up(StationId(1), &packet(1, 0, 500), us(100));
                run.run_before(us(300));
                run.up(2, 1, us(300));
                run.run();
                assert_eq!(run.times("retry up 0")[0], us(452));
            }
            let node = |name, index: usize, label, windows: &[u32], data: u64| Counting {
                name,
                origin: us(origins[index]),
                slots: backoff(seed, label, windows),
                lasts: us(data + 314) + reserved,
            };
            let nodes = vec![
                node("up 0", 0, "sta-0", &[63], 1_310),
                node("up 1", 1, "sta-1", &[63], 582),
                node("up 2", 2, "sta-2", &[31], 1_310),
            ];
            check(&run.log, us(100), nodes, &format!("{name}, seed {seed}"));
        }
    }
}

/// Station 0 sends at 100 µs with an error rate of one; the AP and station 1 get a packet meanwhile.
fn undecodable(seed: u64, data: f64, ack: f64) -> Logged {
    let mut spec = cell_b(2);
    spec.phy.bss_mut().control_rate_mbps = Some(2.0); // MAC ACK of 248 µs, so that EIFS and NAV differ
    spec.stations[0].frame_error_rate.data_up = data;
    spec.stations[0].frame_error_rate.ack_down = ack;
    let mut run = Logged::new(&spec, seed);
    run.up(0, 1, us(100));
    run.run_before(us(500));
    run.up(1, 1, us(500));
    run.down(1, 1, us(500));
    run.run();
    run
}

#[test]
fn undecodable_data_splits_receiver_sender_and_bystander() {
    for seed in 0..SEEDS {
        let run = undecodable(seed, 1.0, 0.0);
        assert_eq!(run.times("retry up 0")[0], us(1_410));
        assert_eq!(run.times("delivered to ap").len(), 1, "only station 1's");
        let node = |name, label, origin, cw, lasts| Counting {
            name,
            origin: us(origin),
            slots: backoff(seed, label, &[cw]),
            lasts: us(lasts),
        };
        let nodes = vec![
            node("down 1", "ap", 1_410 + 364, 31, 1_568),
            node("up 0", "sta-0", 1_410 + 222 + 50, 63, 1_568),
            node("up 1", "sta-1", 1_410 + 10 + 248 + 50, 31, 1_568),
        ];
        let first = nodes.iter().min_by_key(|n| n.start()).unwrap();
        if first.name == "up 0" {
            assert_eq!(run.times("start up 0")[1], first.start());
        } else {
            check(&run.log, us(100), nodes, &format!("seed {seed}"));
        }
    }
}

#[test]
fn an_undecodable_mac_ack_holds_up_its_addressee_alone() {
    for seed in 0..SEEDS {
        let run = undecodable(seed, 0.0, 1.0);
        let end = 1_410 + 10 + 248;
        assert_eq!(run.times("delivered to ap").iter().filter(|&&t| t == us(1_410)).count(), 1);
        assert_eq!(run.times("retry up 0")[0], us(end));
        let collided = run.bss.snapshot(Time::from_s(1)).collisions as usize;
        assert!(run.times("duplicate up 0").len() + collided >= 6, "seven attempts, one delivered");
        assert_eq!(run.times("lost up 0").len(), 1);
        let node = |name, label, origin, cw| Counting {
            name,
            origin: us(origin),
            slots: backoff(seed, label, &[cw]),
            lasts: us(1_568),
        };
        let nodes = vec![
            node("down 1", "ap", end + 50, 31),
            node("up 0", "sta-0", end + 364, 63),
            node("up 1", "sta-1", end + 50, 31),
        ];
        let first = nodes.iter().min_by_key(|n| n.start()).unwrap();
        if first.name == "up 0" {
            assert_eq!(run.times("start up 0")[1], first.start());
        } else {
            check(&run.log, us(100), nodes, &format!("seed {seed}"));
        }
    }
}

#[test]
fn the_window_doubles_and_the_frame_is_lost_at_the_limit() {
    let cases = [
        (None, 7, 0, vec![63, 127, 255, 511, 1_023, 1_023, 31]),
        (Some(100), 4, 676, vec![63, 127, 255, 31]),
    ];
    for (threshold, limit, reserved, windows) in cases {
        let mut spec = cell_b(1);
        spec.mac.rts_threshold_bytes = threshold;
        spec.stations[0].frame_error_rate.data_up = 1.0;
        let mut run = Logged::new(&spec, 5);
        run.up(0, 2, us(100));
        run.run();
        let mut expected = vec![us(100)];
        for attempt in 0..limit {
            let failed = expected[attempt] + us(reserved + 1_310 + 222);
            if attempt + 1 == limit {
                assert_eq!(run.times("lost up 0")[0], failed);
            }
            expected.push(failed + us(50) + SLOT * backoff(5, "sta-0", &windows[..=attempt]));
        }
        assert_eq!(run.times("start up 0")[..=limit], expected);
        assert_eq!(run.times("lost up 0").len(), 2);
    }
}

#[test]
fn a_sender_that_waits_longer_than_a_busy_period_is_deaf_meanwhile() {
    // Timeouts at 6410; station 2 sends three frames of 1624 µs from 1774 on.
    let mut spec = cell_b(3);
    spec.mac.ack_timeout_us = Some(5_000.0);
    for seed in 0..SEEDS {
        let mut run = Logged::new(&spec, seed);
        run.up(0, 1, us(100));
        run.up(1, 1, us(100));
        run.run_before(us(500));
        run.up(2, 3, us(500));
        run.run();
        let colliders = ["sta-0", "sta-1"].map(|label| backoff(seed, label, &[63]));
        let ends: Vec<Time> = run.times("start up 2").iter().map(|&start| start + EXCHANGE).collect();
        // The last exchange that began before the timeout decides.
        let before = *ends.iter().rfind(|&&end| end < us(6_410) + EXCHANGE).unwrap();
        let retries: Vec<Time> = run
            .log
            .iter()
            .filter(|(t, n)| *t > us(1_000) && n.starts_with("start up") && !n.ends_with('2'))
            .map(|(t, _)| *t)
            .collect();
        assert!(retries[0] >= us(6_460), "seed {seed}");
        if ends[2] < us(6_410) {
            assert_eq!(retries[0], us(6_460) + SLOT * *colliders.iter().min().unwrap(), "seed {seed}");
        } else if ends[2] == before && ends[1] + us(50) <= us(6_410) {
            assert_eq!(retries[0], ends[2] + us(50) + SLOT * *colliders.iter().min().unwrap(), "seed {seed}");
        }
    }
}

/// A BSS that captures: station 0 is near the AP, station 1 far away, station 2 nearer to station 1 than the AP. Nothing is
/// lost to noise.
fn capturing() -> BssSpec {
    let mut spec = cell_b(3);
    spec.mac.capture_db = Some(10.0);
    spec.channel.tx_power_dbm = 100.0;
    for (station, x) in spec.stations.iter_mut().zip([5.0, 20.0, 17.0]) {
        station.position_m = Some([x, 0.0]);
    }
    spec
}

/// Stations 0 and 1 send at 100 µs, frames of so many bytes, station 0 another `then`; station 2 gets a packet meanwhile.
fn collide_near_and_far(spec: &BssSpec, seed: u64, bytes: [u32; 2], then: u32) -> Logged {
    let mut run = Logged::new(spec, seed);
    for (station, bytes) in [(0, bytes[0]), (1, bytes[1])] {
        run.bss.send_up(StationId(station), &packet(station, 0, bytes), us(100));
    }
    run.up(0, then, us(100));
    run.run_before(us(500));
    run.up(2, 1, us(500));
    run.run();
    assert_eq!((run.times("start up 0")[0], run.times("start up 1")[0]), (us(100), us(100)));
    run
}

/// The near station's frame is received, the far one's is not.
#[test]
fn a_captured_frame_is_acknowledged_while_the_others_are_silent() {
    type Change = fn(&mut BssSpec);
    let cases: [(&str, Change, u32, [u64; 3]); 4] = [
        // Everybody hears the MAC ACK, which ends at 1410 + 10 + 304.
        ("alike", |_| {}, 1_500, [1_774, 1_774, 1_774]),
        ("the other is shorter", |_| {}, 500, [1_774, 1_774, 1_774]),
        // Who lost a frame waits an EIFS after it; the other sender has its timeout.
        ("EIFS and DIFS", |s| s.mac.eifs_plus_difs = true, 1_500, [1_774, 1_774, 1_824]),
        (
            "ns-2",
            |s| (s.mac.eifs_plus_difs, s.mac.colliders_wait_eifs) = (true, true),
            1_500,
            [1_824, 1_824, 1_824],
        ),
    ];
    for (name, change, bytes, origins) in cases {
        for seed in 0..SEEDS {
            let mut spec = capturing();
            change(&mut spec);
            let run = collide_near_and_far(&spec, seed, [1_500, bytes], 1);
            assert_eq!(run.times("delivered to ap")[0], us(1_410));
            assert_eq!(run.times("retry up 1")[0], us(1_724));
            let node = |name, index: usize, label, cw: u32, data: u64| Counting {
                name,
                origin: us(origins[index]),
                slots: backoff(seed, label, &[cw]),
                lasts: us(data + 314),
            };
            let nodes = vec![
                node("up 0", 0, "sta-0", 31, 1_310),
                node("up 1", 1, "sta-1", 63, if bytes == 500 { 582 } else { 1_310 }),
                node("up 2", 2, "sta-2", 31, 1_310),
            ];
            check(&run.log, us(100), nodes, &format!("{name}, seed {seed}"));
        }
    }
}

/// The near station's frame is received, but its MAC ACK, from 692 to 996, is not: the far station sends until 1410.
#[test]
fn a_captured_frame_is_acknowledged_in_vain_while_another_is_on_the_air() {
    for seed in 0..SEEDS {
        let run = collide_near_and_far(&capturing(), seed, [500, 1_500], 0);
        assert_eq!(run.times("delivered to ap")[0], us(682));
        assert!(!run.times("duplicate up 0").is_empty());
        assert_eq!(run.times("retry up 0")[0], us(1_410));
        assert_eq!(run.times("retry up 1")[0], us(1_410));
        let node = |name, origin, label, cw: u32, data: u64| Counting {
            name,
            origin: us(origin),
            slots: backoff(seed, label, &[cw]),
            lasts: us(data + 314),
        };
        let nodes = vec![
            node("up 0", 1_410 + 50, "sta-0", 63, 582),
            node("up 1", 1_410 + 222 + 50, "sta-1", 63, 1_310),
            node("up 2", 1_410 + 364, "sta-2", 31, 1_310),
        ];
        check(&run.log, us(100), nodes, &format!("seed {seed}"));
    }
}

/// Who is stronger where: 30 dB a decade by default, so 10 dB are a factor of 2.15 in distance.
#[test]
fn the_addressee_captures_what_is_strong_enough_there() {
    // Positions of stations 0 and 1, whether the AP sends and not station 0, and what arrives from the collision.
    type Case = ([Option<f64>; 2], bool, Option<&'static str>);
    let (from_stations, from_ap) = (Some("delivered to ap"), Some("delivered to 0"));
    let cases: [Case; 7] = [
        ([Some(5.0), Some(10.8)], false, from_stations),
        ([Some(5.0), Some(10.7)], false, None),
        ([Some(-5.0), Some(20.0)], false, from_stations),
        ([Some(5.0), None], false, None),
        // To station 0 from the AP, while station 1 sends: 5 m against 15 m, then 10 m.
        ([Some(5.0), Some(20.0)], true, from_ap),
        ([Some(5.0), Some(15.0)], true, None),
        ([Some(5.0), Some(-15.0)], true, from_ap),
    ];
    for (positions, ap_sends, delivered) in cases {
        let mut spec = capturing();
        for (station, x) in spec.stations.iter_mut().zip(positions) {
            station.position_m = x.map(|x| [x, 0.0]);
        }
        let mut run = Logged::new(&spec, 1);
        if ap_sends {
            run.down(0, 1, us(100));
        } else {
            run.up(0, 1, us(100));
        }
        run.up(1, 1, us(100));
        run.run_before(us(1_500));
        let found: Vec<_> = run.log.iter().filter(|(_, what)| what.starts_with("delivered")).collect();
        let expected = delivered.map(|what| (us(1_410), what.to_owned()));
        assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{positions:?}");
        assert_eq!(run.bss.snapshot(us(1_500)).collisions, 1);
    }
}

/// The AP takes one packet of those it could: who sends to the AP while it sends itself is not heard.
#[test]
fn nobody_captures_while_it_transmits() {
    let mut run = Logged::new(&capturing(), 1);
    run.down(1, 1, us(100)); // to a far station
    run.up(0, 1, us(100)); // from a near one
    run.run_before(us(1_500));
    assert!(run.times("delivered to ap").is_empty());
    assert!(run.times("delivered to 1").is_empty(), "20 m from the AP, 15 m from station 0");
}

/// Three stations; a captured RTS, and the data frame after it.
#[test]
fn a_captured_rts_is_answered() {
    for seed in 0..SEEDS {
        let mut spec = capturing();
        spec.mac.rts_threshold_bytes = Some(100);
        let run = collide_near_and_far(&spec, seed, [1_500, 1_500], 1);
        // RTS 352, SIFS, CTS 304, SIFS, data 1310, SIFS, MAC ACK 304.
        let end = 100 + 352 + 10 + 304 + 10 + 1_310;
        assert_eq!(run.times("delivered to ap")[0], us(end));
        assert_eq!(run.times("retry up 1")[0], us(end + 314));
        let node = |name, label, cw: u32| Counting {
            name,
            origin: us(end + 314 + 50),
            slots: backoff(seed, label, &[cw]),
            lasts: us(352 + 304 + 20 + 1_310 + 314),
        };
        let nodes = vec![node("up 0", "sta-0", 31), node("up 1", "sta-1", 63), node("up 2", "sta-2", 31)];
        check(&run.log, us(100), nodes, &format!("seed {seed}"));
    }
}
