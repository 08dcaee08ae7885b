//! Beacons in closed form (`docs/medium.md`, section 13).

use crate::support;

use proptest::prelude::*;
use support::{cell_b, cell_g, packet, packet_down, us};
use wifair_core::{StationId, Time};
use wifair_wlan::{
    BeaconUsage, BeaconsSpec, Bss, BssSpec, ErpProtection, FrameKind, Output, PhySpec, Preamble,
    ProtectionKeys, erp,
};

const STATION: StationId = StationId(0);

fn with_beacons(spec: BssSpec, interval_tu: u32, bytes: u32) -> BssSpec {
    let mut spec = spec;
    spec.mac.beacons = Some(BeaconsSpec { interval_tu, bytes, ..BeaconsSpec::default() });
    spec
}

/// Starts and ends of all beacons before `end`, and what is delivered when.
fn run(bss: &mut Bss, end: Time) -> (Vec<(Time, Time)>, Vec<Time>) {
    let (mut beacons, mut delivered) = (vec![], vec![]);
    loop {
        let told = bss.advance_watched(end, |bss| {
            bss.frames(|frame| {
                if frame.kind == FrameKind::Beacon {
                    beacons.push((frame.begins, frame.ends));
                }
            });
        });
        match told {
            Some((now, Output::Delivery(_))) => delivered.push(now),
            Some(_) => {}
            None => return (beacons, delivered),
        }
    }
}

fn phy(name: &str) -> BssSpec {
    let mut spec = cell_g(1);
    spec.phy = serde_json::from_value(serde_json::json!({"name": name})).unwrap();
    if !["802.11a", "802.11g"].contains(&name) {
        spec.stations[0].rate_mbps = None;
    }
    spec
}

/// A BSS with these keys of its PHY, beacons at this rate and one station, 802.11b's if it `is_mixed`.
fn at_rate(keys: &str, is_mixed: bool, mbps: f64) -> BssSpec {
    let mut spec = cell_b(1);
    spec.phy = serde_json::from_str(keys).unwrap();
    spec.stations[0].phy = is_mixed.then(PhySpec::default);
    if !is_mixed && !keys.contains("\"802.11b\"") {
        spec.stations[0].rate_mbps = keys.contains("802.11g").then_some(54.0);
    }
    spec.mac.beacons = Some(BeaconsSpec { rate_mbps: Some(mbps), ..BeaconsSpec::default() });
    spec
}

/// A cell with nothing but beacons is occupied for one in each interval, and idle else.
#[test]
fn beacons_alone_take_their_share() {
    let protected = |preamble| {
        let mut spec = cell_g(1);
        let protection = ProtectionKeys {
            erp_protection: Some(ErpProtection::CtsToSelf),
            preamble: Some(preamble),
            ..ProtectionKeys::default()
        };
        spec.phy = PhySpec::Erp(erp::Spec { protection, ..erp::Spec::default() });
        spec
    };
    // 2,400 bits at 1 Mbps; 2,422 bits in 101 symbols at 6 Mbps, and the signal extension at 2.4 GHz.
    for (spec, duration) in [
        (cell_b(1), 192 + 2_400),
        (cell_g(1), 20 + 404 + 6),
        (protected(Preamble::Long), 192 + 2_400),
        (protected(Preamble::Short), 96 + 2_400),
        (phy("802.11a"), 20 + 404),
        (phy("802.11n"), 20 + 404),
        (phy("802.11ax"), 20 + 404),
    ] {
        let spec = with_beacons(spec, 100, 300);
        let mut bss = Bss::new(&spec, 1).unwrap();
        let interval = us(102_400);
        let (beacons, _) = run(&mut bss, interval * 51);
        let expected: Vec<_> = (1..=50).map(|k| (interval * k, interval * k + us(duration))).collect();
        assert_eq!(beacons, expected);
        let snapshot = bss.snapshot(interval * 51);
        let airtime = us(duration) * 50;
        assert_eq!(snapshot.beacons, BeaconUsage { sent: 50, collided: 0, airtime });
        assert_eq!((snapshot.idle, snapshot.exchanges), (interval * 51 - airtime, 50));
        let mut bss = Bss::new(&spec, 1).unwrap();
        run(&mut bss, interval + us(100));
        assert_eq!(bss.snapshot(interval + us(100)).beacons.airtime, us(100));
    }
}

/// At another rate than the default they last what 2,400 bits take there, in BSSs without 802.11b stations and with one.
#[test]
fn beacons_at_another_rate_take_its_share() {
    for (keys, is_mixed, mbps, duration) in [
        (r#"{"name": "802.11b"}"#, false, 2.0, 192 + 1_200),
        (r#"{"name": "802.11n", "band_ghz": 2.4}"#, false, 1.0, 192 + 2_400),
        (r#"{"name": "802.11ax", "band_ghz": 2.4}"#, false, 5.5, 192 + 437),
        (r#"{"name": "802.11be", "band_ghz": 2.4}"#, false, 24.0, 20 + 104 + 6),
        (r#"{"name": "802.11ax", "band_ghz": 2.4}"#, true, 2.0, 192 + 1_200),
        (r#"{"name": "802.11g", "erp_protection": "rts-cts", "preamble": "short"}"#, false, 11.0, 96 + 219),
        (r#"{"name": "802.11n"}"#, false, 54.0, 20 + 48),
        (r#"{"name": "802.11ax", "band_ghz": 6}"#, false, 24.0, 20 + 104),
    ] {
        let mut bss = Bss::new(&at_rate(keys, is_mixed, mbps), 1).unwrap();
        let interval = us(102_400);
        run(&mut bss, interval * 51);
        let usage = BeaconUsage { sent: 50, collided: 0, airtime: us(duration) * 50 };
        assert_eq!(bss.snapshot(interval * 51).beacons, usage, "{keys} at {mbps} Mbps");
    }
}

/// Longer than their interval they follow each other after a PIFS: at most one waits.
#[test]
fn beacons_that_wait_are_replaced() {
    let mut bss = Bss::new(&with_beacons(cell_b(1), 1, 2_332), 1).unwrap();
    let (duration, pifs) = (us(192 + 8 * 2_332), us(10 + 20));
    let (beacons, _) = run(&mut bss, us(1_000_000));
    for (k, beacon) in (0..).zip(&beacons) {
        let begins = us(1_024) + (duration + pifs) * k;
        assert_eq!(*beacon, (begins, begins + duration));
    }
    assert_eq!(beacons.len(), 53);
}

/// A beacon costs a saturated station its duration, and from a PIFS to a DIFS and a slot: the draws are the same.
#[test]
fn a_beacon_costs_its_duration_and_an_interframe_space() {
    for (spec, duration, slot, difs) in
        [(cell_b(1), 2_592, 20, 50), (cell_g(1), 430, 9, 28), (phy("802.11a"), 424, 9, 34)]
    {
        for bytes_up in [40, 1_000, 1_500] {
            let deliveries = |spec: &BssSpec| {
                let mut spec = spec.clone();
                spec.stations[0].tx_queue.limit_packets = 20_000;
                let mut bss = Bss::new(&spec, 5).unwrap();
                (0..4_000).for_each(|seq| bss.send_up(STATION, &packet(0, seq, bytes_up), Time::ZERO));
                let (beacons, delivered) = run(&mut bss, us(60_000_000));
                let end = *delivered.last().unwrap();
                let snapshot = bss.snapshot(us(60_000_000));
                (beacons.into_iter().filter(|(begins, _)| *begins < end).count() as u64, delivered, snapshot)
            };
            let (_, without, _) = deliveries(&spec);
            // Target times off the microseconds of all else, so that nothing collides.
            let spec = with_beacons(spec.clone(), 7, 300);
            let (beacons, with, snapshot) = deliveries(&spec);
            assert_eq!((with.len(), without.len()), (4_000, 4_000));
            assert!(beacons > 100, "{beacons} beacons");
            let collided = snapshot.beacons.collided;
            assert!(collided * 50 <= beacons, "{collided} of {beacons} collided");
            if collided > 0 {
                continue;
            }
            let cost = *with.last().unwrap() - *without.last().unwrap();
            let (least, most) = (us(duration + difs - slot) * beacons, us(duration + difs + slot) * beacons);
            assert!((least..=most).contains(&cost), "{bytes_up} bytes: {least} {cost} {most}");
        }
    }
}

/// Where voice of the AP would transmit after each exchange, with AIFSN 1 and no backoff, each beacon precedes it.
#[test]
fn a_beacon_precedes_the_aps_voice() {
    let edca = serde_json::json!({
        "classify": "dscp",
        "ap": {"voice": {"aifsn": 1, "cw_min": 0, "cw_max": 0, "txop_limit_us": 0}},
    });
    let mut spec = with_beacons(cell_g(1), 10, 300);
    spec.mac.edca = Some(serde_json::from_value(edca).unwrap());
    spec.ap.tx_queue.limit_packets = 20_000;
    let mut bss = Bss::new(&spec, 1).unwrap();
    for seq in 0..4_000 {
        let mut voice = packet_down(0, seq, 1_500);
        voice.ds_field = 48 << 2;
        bss.send_down(STATION, &voice, Time::ZERO);
    }
    let end = us(1_000_000);
    let (beacons, delivered) = run(&mut bss, end);
    assert!(*delivered.last().unwrap() > us(990_000), "the AP has always something to send");
    // 1,536 bytes at 54 Mbps last 254 µs, the MAC ACK at 6 Mbps 50.
    let exchange = us(254 + 10 + 50);
    for (k, (begins, _)) in (1..).zip(&beacons) {
        let target = us(10_240) * k;
        assert!((target..=target + exchange + us(10 + 9)).contains(begins), "{target} {begins}");
    }
    let snapshot = bss.snapshot(end);
    assert_eq!(beacons.len() as u64, end / us(10_240));
    let usage = &snapshot.stations[0].down;
    assert!(usage.internal_collisions * 10 > snapshot.beacons.sent * 9, "{usage:?}");
    assert_eq!((snapshot.collisions, usage.lost_at_retry_limit), (0, 0));
}

proptest! {
    /// A packet that comes at a target time: that of the AP loses an internal collision, that of a station collides.
    #[test]
    fn at_a_target_time_the_ap_yields_and_a_station_collides(k in 1u64..20, bytes in 70u32..2_000, seed: u64) {
        let spec = with_beacons(cell_b(1), 100, bytes);
        let (target, duration) = (us(102_400) * k, us(192 + 8 * u64::from(bytes)));
        let mut bss = Bss::new(&spec, seed).unwrap();
        run(&mut bss, target);
        bss.send_down(STATION, &packet_down(0, 0, 1_500), target);
        let (beacons, delivered) = run(&mut bss, target + us(50_000));
        prop_assert_eq!(beacons, vec![(target, target + duration)]);
        prop_assert!(delivered[0] >= target + duration + us(50 + 1_310));
        let snapshot = bss.snapshot(target + us(50_000));
        prop_assert_eq!((snapshot.collisions, snapshot.stations[0].down.internal_collisions), (0, 1));

        let mut bss = Bss::new(&spec, seed).unwrap();
        run(&mut bss, target);
        bss.send_up(STATION, &packet(0, 0, 1_500), target);
        let (beacons, delivered) = run(&mut bss, target + us(100_000));
        prop_assert_eq!(beacons, vec![(target, target + duration)]);
        prop_assert_eq!(delivered.len(), 1);
        let snapshot = bss.snapshot(target + us(100_000));
        prop_assert_eq!((snapshot.collisions, snapshot.beacons.sent, snapshot.beacons.collided), (1, k, 1));
        prop_assert_eq!(snapshot.collision_airtime, duration.max(us(1_310)));
        prop_assert_eq!(snapshot.beacons.airtime, duration * (k - 1));
        prop_assert_eq!(snapshot.stations[0].up.attempts, 2);
    }
}

#[test]
fn what_is_out_of_range_is_refused_by_its_key() {
    for (interval_tu, bytes, key) in [
        (0, 300, "mac.beacons.interval_tu"),
        (65_536, 300, "mac.beacons.interval_tu"),
        (100, 69, "mac.beacons.bytes"),
        (100, 2_333, "mac.beacons.bytes"),
    ] {
        let Err(error) = Bss::new(&with_beacons(cell_b(1), interval_tu, bytes), 1) else { panic!("{key}") };
        assert!(error.to_string().starts_with(key), "{error}");
    }
    let (dsss, ofdm) = ("1, 2, 5.5, 11 Mbps at 2.4 GHz", "6, 9, 12, 18, 24, 36, 48, 54 Mbps at");
    let both = "1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48, 54 Mbps at 2.4 GHz";
    for (keys, is_mixed, mbps, allowed) in [
        (r#"{"name": "802.11b"}"#, false, 6.0, dsss),
        (r#"{"name": "802.11ax", "band_ghz": 2.4}"#, true, 6.0, "11 Mbps at 2.4 GHz with 802.11b stations"),
        (r#"{"name": "802.11ax", "band_ghz": 2.4}"#, false, 3.0, both),
        (r#"{"name": "802.11g"}"#, false, 0.0, both),
        (r#"{"name": "802.11ax"}"#, false, 1.0, ofdm),
        (r#"{"name": "802.11ax", "band_ghz": 6}"#, false, 5.5, "54 Mbps at 6 GHz"),
    ] {
        let Err(error) = Bss::new(&at_rate(keys, is_mixed, mbps), 1) else { panic!("{keys}") };
        assert_eq!(error.key, "mac.beacons.rate_mbps");
        assert!(error.allowed.contains(allowed), "{error}");
    }
    let mut spec = with_beacons(cell_b(1), 100, 300);
    spec.mac.capture_db = Some(10.0);
    let Err(error) = Bss::new(&spec, 1) else { panic!("capture beside beacons") };
    assert!(error.to_string().contains("mac.capture_db"), "{error}");
}
