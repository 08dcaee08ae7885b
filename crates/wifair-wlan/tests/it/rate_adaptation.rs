//! ARF and AARF against their published state machines, as scripts: successes and failures in, modes out; `ideal` against the
//! error rates that it receives; and, in a BSS, one state for each peer.

use crate::support;

use support::{Peer, cell_b, modes_of, packet, packet_down};
use wifair_core::{StationId, Time};
use wifair_queue::Direction;
use wifair_wlan::{
    Bss, BssSpec, EdcaSpec, FrameErrorRate, Output, PhySpec, RateIndex, RateSpec, StationSpec, aarf, arf,
    ideal,
};

/// An A-MPDU succeeds if half of its MPDUs do: ARF climbs to the fastest MCS of a link on which three in ten are lost, and
/// descends where seven in ten are.
#[test]
fn an_aggregate_counts_as_one_attempt() {
    for (data_up, rate_mbps) in [(0.0, 65.0), (0.3, 65.0), (0.7, 6.5)] {
        let mut station = StationSpec::with_mcs("sta", 3);
        station.tx_queue.limit_packets = 10_000;
        station.frame_error_rate.data_up = data_up;
        let mut spec = BssSpec::new(vec![station]);
        spec.phy = PhySpec::Ht(Default::default());
        spec.mac.edca = Some(EdcaSpec::default());
        spec.mac.rate_adaptation = RateSpec::Arf(arf::Spec::default());
        let mut bss = Bss::new(&spec, 1).unwrap();
        for seq in 0..6_000 {
            bss.send_up(StationId(0), &packet(0, seq, 1_500), Time::ZERO);
        }
        let (mut at_rate, mut samples) = (0, 0);
        for ms in 300..800 {
            while bss.next_event() < Time::from_ms(ms) {
                bss.advance(bss.next_event());
            }
            samples += 1;
            at_rate += u32::from(bss.link_rate(StationId(0), Direction::Up).as_mbps() == rate_mbps);
        }
        assert!(at_rate * 10 > samples * 8, "{data_up}: {at_rate} of {samples} at {rate_mbps}");
        let usage = bss.snapshot(Time::from_ms(799)).stations[0].up;
        assert!(usage.mpdus > 2 * usage.ppdus, "{usage:?}");
    }
}

/// Plays a script on an adaptation that begins at mode `first`: `10+ 2-` is ten successes, two failures, and `3*31/64` three
/// A-MPDUs of 64 of which 31 are acknowledged; `=3` asserts that the next attempt has mode 3, and that it had it since the last
/// assertion but for the last attempt.
fn play_on(phy: &str, spec: &RateSpec, first: u16, script: &str) {
    let mut peer = Peer::new(spec, &modes_of(phy), first, 1);
    for word in script.split_whitespace() {
        if let Some(expected) = word.strip_prefix('=') {
            assert_eq!(peer.next, RateIndex(expected.parse().unwrap()), "at {word} in {script}");
            continue;
        }
        let (count, (sent, acknowledged)) = match word.split_once('*') {
            Some((count, outcome)) => (count, outcome.split_once('/').map(|(a, s)| (s, a)).unwrap()),
            None => (&word[..word.len() - 1], if word.ends_with('+') { ("1", "1") } else { ("1", "0") }),
        };
        let before = peer.next;
        for attempt in 1..=count.parse::<u32>().unwrap() {
            assert_eq!(peer.next, before, "attempt {attempt} of {word} in {script}");
            peer.attempt(sent.parse().unwrap(), acknowledged.parse().unwrap());
            assert_eq!(peer.link, peer.next, "nothing is sampled");
        }
    }
}

/// On the four rates of 802.11b.
fn play(spec: &RateSpec, first: u16, script: &str) {
    play_on("802.11b", spec, first, script);
}

fn play_arf(first: u16, script: &str) {
    play(&RateSpec::Arf(arf::Spec::default()), first, script);
}

fn play_aarf(first: u16, script: &str) {
    play(&RateSpec::Aarf(aarf::Spec::default()), first, script);
}

/// The ladder of an 802.11n or later link has all its MCSs, and half of an A-MPDU is a success.
#[test]
fn ladders_of_mcs() {
    let climb =
        |top: u16| (0..=top).map(|mode| format!("10*32/64 ={} ", (mode + 1).min(top))).collect::<String>();
    for (phy, top) in [("802.11n", 7), ("802.11ac", 9), ("802.11ax", 11), ("802.11be", 13)] {
        for spec in [RateSpec::Arf(arf::Spec::default()), RateSpec::Aarf(aarf::Spec::default())] {
            play_on(phy, &spec, 0, &climb(top));
            play_on(phy, &spec, top, &format!("1*31/64 ={top} 1*31/64 ={} 2*0/64 ={}", top - 1, top - 2));
            // A probe of the next MCS that less than half survives is taken back.
            play_on(phy, &spec, 2, "10*64/64 =3 1*31/64 =2");
        }
        let thresholds = "10*64/64 =3 1*0/64 =2 20*64/64 =3 1*0/64 =2 40*64/64 =3";
        play_on(phy, &RateSpec::Aarf(aarf::Spec::default()), 2, thresholds);
    }
}

#[test]
fn ideal_has_the_fastest_mode_under_its_target() {
    let error_rate =
        |mode: RateIndex, bytes: u32| f64::from(bytes) / 1_538.0 * [0.0, 0.05, 0.1, 0.3][usize::from(mode.0)];
    let chosen = |spec: ideal::Spec| {
        let mut peer = Peer::new(&RateSpec::Ideal(spec), &modes_of("802.11b"), 3, 1);
        assert_eq!(peer.next, RateIndex(3), "it begins where the scenario says");
        peer.attempt_on(1, 0, error_rate);
        peer.next.0
    };
    let with = |max_error_rate, mpdu_bytes| ideal::Spec { max_error_rate, mpdu_bytes };
    assert_eq!(chosen(ideal::Spec::default()), 2);
    assert_eq!([0.04, 0.09, 0.3].map(|target| chosen(with(target, 1_538))), [0, 1, 3]);
    assert_eq!(chosen(with(0.1, 400)), 3);
    assert_eq!(chosen(with(0.0, 3_000)), 0);
}

#[test]
fn both_go_up_after_ten_successes_in_a_row() {
    for script in ["9+ =0 1+ =1", "4+ 1- 9+ =0 1+ =1", "10+ =1 10+ =2 10+ =3 1000+ =3"] {
        play_arf(0, script);
        play_aarf(0, script);
    }
}

#[test]
fn both_go_up_when_the_timer_has_run_out() {
    // Every other frame fails: never two in a row, never ten successes; the 15th attempt is a success and goes up.
    let script = "1+ 1- 1+ 1- 1+ 1- 1+ 1- 1+ 1- 1+ 1- 1+ 1- =0 1+ =1";
    play_arf(0, script);
    play_aarf(0, script);
    // The timer never raises the rate on a failure.
    let script = "1- 1+ 1- 1+ 1- 1+ 1- 1+ 1- 1+ 1- 1+ 1- 1+ 1- =0 1+ =1";
    play_arf(0, script);
    play_aarf(0, script);
}

#[test]
fn both_go_down_after_two_failures_in_a_row() {
    for script in ["1- =3 1+ 1- =3 1- =2 1- =2 1- =1 2- =0 100- =0 10+ =1", "1- 1+ 1- 1+ 1- =3"] {
        play_arf(3, script);
        play_aarf(3, script);
    }
}

#[test]
fn the_first_failure_after_going_up_is_enough() {
    play_arf(1, "10+ =2 1- =1 10+ =2 1- =1 10+ =2 1+ 1- =2 1- =1");
    play_aarf(1, "10+ =2 1- =1");
    play_aarf(1, "10+ =2 1+ 1- =2 1- =1 10+ =2");
}

#[test]
fn aarf_doubles_its_thresholds_at_each_failed_probe_and_forgets_at_two_failures() {
    // 10, 20, 40, then 50 successes; the timer has 15, 30, 60, 120 frames.
    play_aarf(1, "10+ =2 1- =1 20+ =2 1- =1 40+ =2 1- =1 50+ =2 1- =1 50+ =2 1- =1");
    // Two failures in a row: back to 10.
    play_aarf(1, "10+ =2 1- =1 20+ =2 1- =1 2- =0 10+ =1");
    // A single failure in between keeps the doubled threshold.
    play_aarf(1, "10+ =2 1- =1 5+ 1- 19+ =1 1+ =2");
    // A probe that succeeds keeps it, too.
    play_aarf(1, "10+ =2 1- =1 20+ =2 20+ =3");
    // The timer: with a failure each 9 frames, 30 frames after one failed probe.
    play_aarf(1, "10+ =2 1- =1 9+ 1- 9+ 1- 9+ =1 1+ =2");
    let spec = aarf::Spec { success_threshold_max: 60, ..aarf::Spec::default() };
    play(&RateSpec::Aarf(spec), 1, "10+ =2 1- 20+ =2 1- 40+ =2 1- 60+ =2 1- 60+ =2");
}

#[test]
fn thresholds_are_parameters() {
    let spec = arf::Spec { success_threshold: 3, timer_frames: 4 };
    play(&RateSpec::Arf(spec), 0, "3+ =1 2+ 1- =1 1+ =2");
    let spec = aarf::Spec { factor: 3, success_threshold_max: 1_000, ..aarf::Spec::default() };
    play(&RateSpec::Aarf(spec), 0, "10+ =1 1- =0 30+ =1 1- =0 90+ =1");
}

/// Runs the BSS with every station and the AP towards it always having something to send.
fn saturate(spec: &BssSpec, until: Time) -> Bss {
    let mut bss = Bss::new(spec, 1).unwrap();
    let stations = spec.stations.len() as u16;
    for station in 0..stations {
        for seq in 0..2 {
            bss.send_up(StationId(station), &packet(station, seq, 1_500), Time::ZERO);
            bss.send_down(StationId(station), &packet_down(station, seq, 1_500), Time::ZERO);
        }
    }
    while bss.next_event() < until {
        let now = bss.next_event();
        bss.advance(now);
        for station in 0..stations {
            while bss.station_tx_queue(StationId(station)).len() < 2 {
                bss.send_up(StationId(station), &packet(station, 0, 1_500), now);
            }
        }
        // The AP serves its stations in turn.
        while bss.ap_tx_queue().len() < 2 * usize::from(stations) {
            let station = (bss.snapshot(now).exchanges % u64::from(stations)) as u16;
            bss.send_down(StationId(station), &packet_down(station, 0, 1_500), now);
        }
    }
    bss
}

#[test]
fn one_bad_station_does_not_lower_anothers_rate() {
    for name in ["arf", "aarf"] {
        let adaptation: RateSpec = serde_json::from_value(serde_json::json!({"name": name})).unwrap();
        let means = |bad: bool| {
            let mut spec = cell_b(2);
            spec.mac.rate_adaptation = adaptation.clone();
            if bad {
                spec.stations[0].frame_error_rate =
                    FrameErrorRate { data_up: 0.9, data_down: 0.9, ..FrameErrorRate::default() };
            }
            let end = Time::from_s(60);
            let snapshot = saturate(&spec, end).snapshot(end);
            let mbps = |integral: u128| integral as f64 * 1e-12 / end.as_secs_f64();
            snapshot
                .stations
                .iter()
                .map(|s| (mbps(s.up.rate_integral), mbps(s.down.rate_integral)))
                .collect::<Vec<_>>()
        };
        let (clean, mixed) = (means(false), means(true));
        // Every rate fails alike for the bad station, so it falls to the bottom; collisions pull at all others a little.
        assert!(mixed[0].0 < 2.0 && mixed[0].1 < 2.0, "{name}: {mixed:?}");
        for (with, without) in [(mixed[1].0, clean[1].0), (mixed[1].1, clean[1].1)] {
            assert!(with > without - 0.5 && with > 8.0, "{name}: {clean:?} {mixed:?}");
        }
    }
}

#[test]
fn up_and_down_have_a_state_each() {
    let mut spec = cell_b(1);
    spec.mac.rate_adaptation = RateSpec::Aarf(aarf::Spec::default());
    spec.stations[0].frame_error_rate = FrameErrorRate { data_up: 1.0, ..FrameErrorRate::default() };
    let mut bss = Bss::new(&spec, 1).unwrap();
    for seq in 0..4 {
        bss.send_up(StationId(0), &packet(0, seq, 1_500), Time::ZERO);
        bss.send_down(StationId(0), &packet_down(0, seq, 1_500), Time::from_ns(0));
    }
    let mut told = vec![];
    while bss.next_event() < Time::MAX {
        if let Some(Output::LinkRate(change)) = bss.advance(bss.next_event()) {
            told.push((change.direction, change.rate.as_mbps()));
        }
    }
    let end = bss.snapshot(Time::from_s(1)).stations[0];
    assert_eq!((end.up.lost_at_retry_limit, end.down.delivered), (4, 4));
    use wifair_queue::Direction::{Down, Up};
    let up: Vec<f64> = told.iter().filter(|(way, _)| *way == Up).map(|(_, mbps)| *mbps).collect();
    assert_eq!(up, [5.5, 2.0, 1.0]);
    assert!(told.iter().filter(|(way, _)| *way == Down).count() <= 2, "{told:?}"); // collisions at the most
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let error = |json: serde_json::Value| {
        let mut spec = cell_b(1);
        spec.mac.rate_adaptation = serde_json::from_value(json).unwrap();
        Bss::new(&spec, 1).err().unwrap().key
    };
    let of = |key: &str| format!("mac.rate_adaptation.{key}");
    assert_eq!(error(serde_json::json!({"name": "arf", "success_threshold": 0})), of("success_threshold"));
    assert_eq!(error(serde_json::json!({"name": "arf", "timer_frames": 0})), of("timer_frames"));
    let low = serde_json::json!({"name": "aarf", "success_threshold_max": 9});
    assert_eq!(error(low), of("success_threshold_max"));
    assert_eq!(error(serde_json::json!({"name": "aarf", "factor": 0})), of("factor"));
    let ideal = serde_json::json!({"name": "ideal", "max_error_rate": 1.5});
    assert_eq!(error(ideal), of("max_error_rate"));
    assert_eq!(error(serde_json::json!({"name": "ideal", "mpdu_bytes": 0})), of("mpdu_bytes"));
    for (key, value) in [
        ("update_interval_ms", serde_json::json!(0.5)),
        ("sample_interval_ms", serde_json::json!(20_000)),
        ("chain", serde_json::json!(5)),
        ("max_attempts", serde_json::json!(0)),
        ("segment_us", serde_json::json!(-1)),
    ] {
        let mut minstrel = serde_json::json!({"name": "minstrel-ht"});
        minstrel[key] = value;
        assert_eq!(error(minstrel), of(key));
    }
}
