//! Error rates by rate, and what positions make of them (`docs/medium.md`, section 9).

use crate::support;

use support::{cell_b, packet};
use wifair_core::{StationId, Time};
use wifair_wlan::{
    Bss, BssSnapshot, BssSpec, FadingSpec, FrameErrorRate, Output, PhySpec, RateErrors, RateSpec,
    StationChange, StationSpec, aarf, ht,
};

/// Runs a saturated uplink of every station; tells of each change of a link rate with its time.
fn saturate(bss: &mut Bss, stations: u16, until: Time) -> (BssSnapshot, Vec<(Time, f64)>) {
    let mut told = vec![];
    let mut now = Time::ZERO;
    loop {
        for station in 0..stations {
            while bss.station_tx_queue(StationId(station)).len() < 2 {
                bss.send_up(StationId(station), &packet(station, 0, 1_500), now);
            }
        }
        now = bss.next_event();
        if now >= until {
            return (bss.snapshot(until), told);
        }
        if let Some(Output::LinkRate(change)) = bss.advance(now)
            && change.direction == wifair_queue::Direction::Up
        {
            told.push((now, change.rate.as_mbps()));
        }
    }
}

/// One station at `distance_m` and `mbps`: share of its data frames that failed.
fn failures_at(distance_m: f64, mbps: f64) -> f64 {
    let mut spec = cell_b(1);
    spec.stations[0].rate_mbps = Some(mbps);
    spec.stations[0].position_m = Some([0.0, distance_m]);
    spec.ap.position_m = [0.0, 0.0];
    spec.mac.retry_limit_short = 1_000;
    let mut bss = Bss::new(&spec, 1).unwrap();
    let used = saturate(&mut bss, 1, Time::from_s(20)).0.stations[0].up;
    used.retries as f64 / used.attempts as f64
}

#[test]
fn frames_fail_by_distance_and_rate() {
    // 11 Mbps needs some 8 dB, 1 Mbps some 0 dB: at 3 dB per doubling of the exponent's cube, 100 m and 200 m.
    assert_eq!(failures_at(20.0, 11.0), 0.0);
    let far: Vec<f64> = [1.0, 2.0, 5.5, 11.0].iter().map(|&mbps| failures_at(130.0, mbps)).collect();
    assert!(far.is_sorted(), "{far:?}");
    assert!(far[0] < 0.01 && far[3] > 0.5, "{far:?}");
    assert!(failures_at(100.0, 11.0) < failures_at(115.0, 11.0));
}

#[test]
fn a_table_by_rate_stands_for_the_channel() {
    let mut spec = cell_b(1);
    spec.mac.rate_adaptation = RateSpec::Aarf(aarf::Spec::default());
    let entry = RateErrors::at_rate;
    spec.stations[0].frame_error_rate =
        FrameErrorRate { by_rate: vec![entry(11.0, 1.0), entry(5.5, 1.0)], ..FrameErrorRate::default() };
    let end = Time::from_s(60);
    let (snapshot, told) = saturate(&mut Bss::new(&spec, 1).unwrap(), 1, end);
    assert_eq!(told.iter().take(2).map(|(_, mbps)| *mbps).collect::<Vec<_>>(), [5.5, 2.0]);
    assert!(told.iter().all(|(_, mbps)| [2.0, 5.5].contains(mbps)), "probes of 5.5 and back");
    // What fails is what was probed: once in 50 frames in the end.
    let used = snapshot.stations[0].up;
    let share = used.retries as f64 / used.attempts as f64;
    assert!((0.015..0.03).contains(&share), "{share}");
}

#[test]
fn a_table_by_mcs_stands_for_the_channel() {
    let retries = |mcs| {
        let station = StationSpec {
            frame_error_rate: FrameErrorRate {
                by_rate: vec![RateErrors { rate_mbps: None, mcs: Some(3), data: 0.5 }],
                ..FrameErrorRate::default()
            },
            ..StationSpec::with_mcs("sta-0", mcs)
        };
        let spec = BssSpec { phy: PhySpec::Ht(ht::Spec::default()), ..BssSpec::new(vec![station]) };
        saturate(&mut Bss::new(&spec, 1).unwrap(), 1, Time::from_s(1)).0.stations[0].up.retries
    };
    assert!(retries(3) > 100);
    assert_eq!(retries(4), 0);
}

#[test]
fn rates_follow_a_station_that_walks_away_and_back() {
    let mut spec = cell_b(1);
    spec.mac.rate_adaptation = RateSpec::Aarf(aarf::Spec::default());
    spec.stations[0].position_m = Some([20.0, 0.0]);
    spec.stations[0].velocity_m_per_s = Some([1.5, 0.0]);
    let mut bss = Bss::new(&spec, 1).unwrap();
    let turn = Time::from_s(120); // at 200 m
    let (_, away) = saturate(&mut bss, 1, turn);
    let first = |mbps: f64| away.iter().find(|(_, other)| *other == mbps).map(|(at, _)| at.as_secs_f64());
    let fell = [5.5, 2.0, 1.0].map(|mbps| first(mbps).expect("it falls that far"));
    assert!(fell.is_sorted() && fell[0] > 40.0 && fell[2] < 119.0, "{fell:?}");
    let back = StationChange { velocity_m_per_s: Some([-1.5, 0.0]), ..StationChange::new("sta-0") };
    bss.check_change(StationId(0), &back, "station").unwrap();
    bss.change_station(StationId(0), &back, turn);
    let (_, home) = saturate(&mut bss, 1, turn * 2);
    assert_eq!(home.last().map(|(_, mbps)| *mbps), Some(11.0));
}

#[test]
fn fading_neither_depends_on_traffic_nor_on_others() {
    let fading = |stations: usize, busy: u16| {
        let mut spec = cell_b(stations);
        spec.channel.fading = Some(FadingSpec { sigma_db: 6.0, coherence_time_s: 2.0 });
        spec.mac.rate_adaptation = RateSpec::Aarf(aarf::Spec::default());
        spec.stations[0].position_m = Some([100.0, 0.0]);
        let mut bss = Bss::new(&spec, 5).unwrap();
        let (snapshot, told) = saturate(&mut bss, busy, Time::from_s(100));
        (snapshot.stations[0].up, told.len())
    };
    let (alone, changes) = fading(1, 1);
    assert_eq!(alone, fading(2, 1).0, "an idle station changes nothing");
    assert!(changes > 40, "{changes}: the rate follows the fading");
    let steady = {
        let mut spec = cell_b(1);
        spec.stations[0].position_m = Some([100.0, 0.0]);
        spec.mac.rate_adaptation = RateSpec::Aarf(aarf::Spec::default());
        saturate(&mut Bss::new(&spec, 5).unwrap(), 1, Time::from_s(100)).0.stations[0].up
    };
    assert_ne!(alone, steady);
}

#[test]
fn a_position_near_the_ap_changes_no_course() {
    let course = |position_m| {
        let mut spec = cell_b(3);
        spec.stations[1].position_m = position_m;
        saturate(&mut Bss::new(&spec, 2).unwrap(), 3, Time::from_s(5)).0
    };
    assert_eq!(course(None), course(Some([3.0, 4.0])));
}

#[test]
fn errors_of_both_kinds_are_independent() {
    // 0.3 by the scenario and p by distance: 0.3 + p − 0.3 p.
    let by_distance = failures_at(112.0, 11.0);
    let mut spec = cell_b(1);
    spec.stations[0].position_m = Some([112.0, 0.0]);
    spec.stations[0].frame_error_rate = FrameErrorRate { data_up: 0.3, ..FrameErrorRate::default() };
    spec.mac.retry_limit_short = 1_000;
    let used = saturate(&mut Bss::new(&spec, 1).unwrap(), 1, Time::from_s(60)).0.stations[0].up;
    let both = used.retries as f64 / used.attempts as f64;
    assert!((0.02..0.9).contains(&by_distance), "{by_distance}");
    assert!((both - (0.3 + 0.7 * by_distance)).abs() < 0.02, "{both} with {by_distance}");
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let error = |edit: &dyn Fn(&mut BssSpec)| {
        let mut spec = cell_b(1);
        edit(&mut spec);
        Bss::new(&spec, 1).err().unwrap().key
    };
    let table = |entries: &[(f64, f64)]| FrameErrorRate {
        by_rate: entries.iter().map(|&(rate_mbps, data)| RateErrors::at_rate(rate_mbps, data)).collect(),
        ..FrameErrorRate::default()
    };
    let first = "stations[0].frame_error_rate.by_rate[0]";
    assert_eq!(
        error(&|s| s.stations[0].frame_error_rate = table(&[(7.0, 0.1)])),
        format!("{first}.rate_mbps")
    );
    assert_eq!(error(&|s| s.stations[0].frame_error_rate = table(&[(1.0, 1.1)])), format!("{first}.data"));
    let twice = error(&|s| s.stations[0].frame_error_rate = table(&[(1.0, 0.1), (1.0, 0.2)]));
    assert_eq!(twice, "stations[0].frame_error_rate.by_rate[1].rate_mbps");
    assert_eq!(error(&|s| s.stations[0].velocity_m_per_s = Some([1.0, 0.0])), "stations[0].velocity_m_per_s");
    assert_eq!(error(&|s| s.stations[0].position_m = Some([f64::NAN, 0.0])), "stations[0].position_m[0]");
    assert_eq!(error(&|s| s.ap.position_m = [0.0, 1e9]), "ap.position_m[1]");
    assert_eq!(error(&|s| s.channel.path_loss_exponent = -1.0), "channel.path_loss_exponent");
    assert_eq!(error(&|s| s.channel.update_interval_s = 0.0), "channel.update_interval_s");
    let fading = FadingSpec { sigma_db: -1.0, coherence_time_s: 1.0 };
    assert_eq!(error(&|s| s.channel.fading = Some(fading.clone())), "channel.fading.sigma_db");
    let bss = Bss::new(&cell_b(1), 1).unwrap();
    let moves = StationChange { velocity_m_per_s: Some([1.0, 0.0]), ..StationChange::new("sta-0") };
    assert_eq!(
        bss.check_change(StationId(0), &moves, "station").unwrap_err().key,
        "station.velocity_m_per_s"
    );
}

/// Share of the data frames of a saturated station of 802.11g at 54 Mbps that fail at a distance.
fn failures_of_802_11g(distance_m: f64) -> f64 {
    let mut spec = support::cell_g(1);
    spec.stations[0].position_m = Some([distance_m, 0.0]);
    support::saturate(&spec, 1, 2_000, 1_500).failures()
}

/// 64-QAM 3/4 needs an SNR of about 21 dB, which 15 dBm reach at 38 m; with the noise of 20 MHz in place of 22 at 40 m.
#[test]
fn ofdm_frames_fail_beyond_their_reach() {
    assert_eq!(failures_of_802_11g(20.0), 0.0);
    assert!(failures_of_802_11g(80.0) > 0.9);
}
