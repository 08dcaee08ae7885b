//! The performance anomaly against its closed form (Heusse, Rousseau, Berger-Sabbatel and Duda, INFOCOM 2003): stations that
//! always have something to send all get the same throughput, whatever their rates, and the slow ones set it.

use crate::support;

use support::{cell_b, saturate};
use wifair_wlan::{BssSpec, BssTiming, StationPhy};

const IP_BYTES: u32 = 1_500;

/// Throughput in Mbps of each of the stations with these rates, by section III of the paper. With P_c = 1 − (1 −
/// 1/CWmin)^(N − 1), a turn of a station takes t_ov + frame / rate, where t_ov has DIFS, two PLCP headers, SIFS, MAC ACK and
/// t_cont = slot · (1 + P_c) / 2N · CWmin / 2; a collision, P_c of them a frame, lasts about as long as its slower frame.
///
/// Section III has one slow station; its t_jam, the mean over the pairs that may collide, is taken here over all pairs.
fn closed_form(spec: &BssSpec) -> f64 {
    let phy = BssTiming::new(&spec.phy, "phy").unwrap();
    let modes = spec.phy.modes(&StationPhy::default(), "phy").unwrap();
    let n = spec.stations.len() as f64;
    let cw_min = f64::from(phy.cw_min);
    let collision = 1.0 - (1.0 - 1.0 / cw_min).powf(n - 1.0);
    let contention = phy.slot.as_secs_f64() * (1.0 + collision) / (2.0 * n) * cw_min / 2.0;
    let overhead = (phy.difs + phy.sifs + phy.control_frames[0].ack.duration).as_secs_f64() + contention;
    let turns: Vec<f64> = spec
        .stations
        .iter()
        .map(|station| {
            let rate = modes.rate_index(station.rate_mbps.unwrap(), "rate").unwrap();
            overhead + modes.on_air(rate).duration(phy.psdu_bytes(IP_BYTES)).as_secs_f64()
        })
        .collect();
    let mut jams = vec![];
    for (index, one) in turns.iter().enumerate() {
        jams.extend(turns[..index].iter().map(|other| one.max(*other)));
    }
    let jam = if jams.is_empty() { 0.0 } else { jams.iter().sum::<f64>() / jams.len() as f64 };
    let round = turns.iter().sum::<f64>() + collision * jam * n;
    f64::from(IP_BYTES) * 8e-6 / round
}

/// Throughput in Mbps by station.
fn measured(spec: &BssSpec, exchanges: u64) -> Vec<f64> {
    let saturated = saturate(spec, 1, exchanges, IP_BYTES);
    let seconds = saturated.measured.elapsed.as_secs_f64();
    let mbps = |delivered: u64| (delivered * u64::from(IP_BYTES) * 8) as f64 / seconds * 1e-6;
    saturated.measured.stations.iter().map(|station| mbps(station.up.delivered)).collect()
}

fn bss(rates_mbps: &[f64]) -> BssSpec {
    let mut spec = cell_b(rates_mbps.len());
    for (station, rate) in spec.stations.iter_mut().zip(rates_mbps) {
        station.rate_mbps = Some(*rate);
    }
    spec.mac.retry_limit_short = 1_000; // the paper's stations never give a frame up
    spec
}

#[test]
fn equal_throughput_whatever_the_rate() {
    let mixes: &[&[f64]] = &[
        &[1.0],
        &[2.0],
        &[5.5],
        &[11.0],
        &[11.0, 1.0],
        &[11.0, 2.0],
        &[11.0, 5.5],
        &[5.5, 2.0],
        &[2.0, 1.0],
        &[11.0, 11.0, 11.0, 1.0],
        &[11.0, 5.5, 2.0, 1.0],
        &[11.0, 11.0, 5.5, 5.5, 2.0, 2.0, 1.0, 1.0],
        &[11.0, 11.0, 11.0, 11.0, 11.0, 11.0, 11.0, 11.0, 11.0, 1.0],
    ];
    for rates in mixes {
        let spec = bss(rates);
        let found = measured(&spec, 20_000 * rates.len() as u64);
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        // Not quite equal: of two that collide, the one with the longer frame learns of it an ACK timeout later than the
        // other, which is a head start for the fast. The closed form does not have it.
        for (mbps, rate) in found.iter().zip(*rates) {
            assert!((mbps / mean - 1.0).abs() < 0.12, "{rates:?}: {rate} Mbps has {mbps} of {mean}");
        }
        // The closed form is an approximation: its contention time is rough, and it has no longer backoff after a
        // collision.
        let expected = closed_form(&spec);
        assert!((mean / expected - 1.0).abs() < 0.08, "{rates:?}: {mean}, closed form {expected}");
    }
}

/// One slow station costs nine fast ones most of what they would have: the paper's point.
#[test]
fn one_slow_station_drags_everyone_down() {
    let all_fast = measured(&bss(&[11.0; 10]), 50_000).iter().sum::<f64>();
    let mut rates = [11.0; 10];
    rates[0] = 1.0;
    let one_slow = measured(&bss(&rates), 50_000).iter().sum::<f64>();
    assert!(one_slow < 0.6 * all_fast, "{one_slow} of {all_fast} Mbps");
    assert!(all_fast > 5.0, "{all_fast} Mbps");
}
