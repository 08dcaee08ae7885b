//! One saturated station from 802.11n on: `L · n / (AIFS + slot · backoff + PPDU + SIFS + response)` for every PHY, width,
//! number of streams, MCS, guard interval, coding and packet extension, with CCMP and without, and aggregates of 1 MPDU up to
//! the window. Durations and what fits are the oracle's, from `docs/medium.md` alone.
//!
//! With the draws of the backoff each exchange must begin and end at its nanosecond. With their mean, CWmin / 2, throughput is
//! met within 0.1 %, for which a run is as long as the standard error of its mean backoff asks for.

use crate::oracle;

use oracle::engine;
use oracle::mode::{Generation, Mode};
use oracle::record::Record;
use oracle::scenario::{Pattern, Scenario, Station, Stream};
use oracle::timing::{Aggregation, Category, Edca, Modern, Rules};
use oracle::{tell, validating};
use wifair_core::Rng;

const SEED: u64 = 1;
const BEST_EFFORT: usize = 2;
const CW_MIN: u32 = 15;
const AIFSN: u32 = 3;

/// Every mode that there is at 5 GHz (320 MHz: 6 GHz).
fn modes() -> Vec<Mode> {
    let mut all = vec![];
    for generation in [Generation::Ht, Generation::Vht, Generation::He, Generation::Eht] {
        let guards: &[(u32, &[u32])] = match generation {
            Generation::Ht | Generation::Vht => &[(800, &[2]), (400, &[2])],
            Generation::He => &[(800, &[1, 2, 4]), (1_600, &[2]), (3_200, &[4])],
            Generation::Eht => &[(800, &[2, 4]), (1_600, &[2]), (3_200, &[4])],
        };
        let paddings: &[u32] = match generation {
            Generation::Ht | Generation::Vht => &[0],
            Generation::He => &[0, 8, 16],
            Generation::Eht => &[0, 8, 16, 20],
        };
        for width_mhz in [20, 40, 80, 160, 320] {
            if width_mhz > generation.widest_mhz(if width_mhz == 320 { 6.0 } else { 5.0 }) {
                continue;
            }
            for streams in 1..=generation.most_streams() {
                for mcs in 0..generation.mcs_count() {
                    for &(guard_ns, ltfs) in guards {
                        for (&ltf, ldpc) in ltfs.iter().zip([false, true].into_iter().cycle()) {
                            // Codings and paddings take turns: each meets each MCS, width and number of streams somewhere.
                            let turn = (mcs + streams) as usize;
                            let padding_us = paddings[turn % paddings.len()];
                            let ldpc = ldpc != (turn / 2).is_multiple_of(2);
                            let mode =
                                Mode { generation, width_mhz, streams, mcs, guard_ns, ldpc, ltf, padding_us };
                            all.extend(Some(mode).filter(|mode| mode.exists()));
                        }
                    }
                }
            }
        }
    }
    all
}

fn rules(mode: Mode, max_mpdus: u32) -> Rules {
    let category = Category { cw_min: CW_MIN, cw_max: 1023, aifsn: AIFSN, txop_limit: 0 };
    let edca = Edca {
        ap: [category; 4],
        stations: [category; 4],
        dcf_countdown: false,
        internal_collision_retry: true,
        ap_shares_tx_queue: false,
        stations_share_tx_queue: false,
        controller: None,
    };
    let modern = Modern {
        generation: mode.generation,
        band_ghz: if mode.width_mhz == 320 { 6.0 } else { 5.0 },
        width_mhz: mode.width_mhz,
        basic_rates: Some(&[60, 120, 240]),
        has_dot11b: false,
    };
    let aggregation = Aggregation {
        window: 1_024,
        max_mpdus: Some(max_mpdus),
        max_ampdu_bytes: mode.generation.longest_psdu_bytes(),
        ccmp: (mode.mcs + mode.streams).is_multiple_of(2),
        ..Aggregation::ht()
    };
    let rules = Rules { overhead_bytes: 38, edca: Some(edca), modern: Some(modern), ..Rules::dot11a() };
    // Symbols from 802.11ax on take whole fifths of a µs.
    Rules { aggregation: Some(aggregation), ..rules }.in_steps(5)
}

/// Most MPDUs that length, duration and window let into a PPDU, up to `most`.
fn fitting(rules: &Rules, mode: Mode, ip_bytes: u32, most: u32) -> u32 {
    let aggregation = rules.aggregation.expect("given");
    let fits = |&mpdus: &u32| {
        let psdu_bytes = rules.psdu_bytes(&vec![ip_bytes; mpdus as usize], mode);
        psdu_bytes <= rules.max_psdu_bytes(mode) && rules.ppdu(psdu_bytes, mode) <= aggregation.max_ppdu
    };
    // It fits or not whatever is beyond: a bisection.
    let (mut low, mut high) = (1, most.min(rules.window(mode)) + 1);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if fits(&middle) { low = middle } else { high = middle }
    }
    low
}

/// Packets of `ip_bytes` from the only station, all of them at the start.
fn run(seed: u64, rules: Rules, mode: Mode, ip_bytes: u32, packets: u32, until: u64) -> Record {
    let pattern = Pattern::Every { first: 0, gap: 2 * until, burst: packets };
    let scenario = Scenario {
        seed,
        rules,
        stations: vec![Station::modern(mode)],
        streams: vec![Stream { station: 0, up: true, ip_bytes, category: BEST_EFFORT, pattern }],
        changes: vec![],
        tx_queue_limit: packets as usize,
        limit_counts_in_service: false,
        offered_until: until,
    };
    engine::run_between(&scenario, 0, until)
}

/// Steps of an exchange of `mpdus` MPDUs, and from its end to the first slot of the next.
fn exchange(rules: &Rules, mode: Mode, ip_bytes: u32, mpdus: u32) -> (u32, u32) {
    let psdu_bytes = rules.psdu_bytes(&vec![ip_bytes; mpdus as usize], mode);
    let exchange = rules.ppdu(psdu_bytes, mode) + rules.sifs + rules.response(mpdus as usize, mode);
    (exchange, rules.sifs + AIFSN * rules.slot)
}

/// The first exchanges, to the nanosecond.
fn assert_exact(mode: Mode, ip_bytes: u32, most: u32) {
    const EXCHANGES: u32 = 4;
    let rules = rules(mode, most);
    let mpdus = fitting(&rules, mode, ip_bytes, most);
    let (length, ifs) = exchange(&rules, mode, ip_bytes, mpdus);
    let mut draws = Rng::stream(SEED, &Scenario::label(1), "backoff-best-effort");
    let mut at = 0;
    let mut expected = vec![];
    for _ in 0..EXCHANGES {
        expected.push((at, Some(at + u64::from(length)), mpdus as usize));
        at += u64::from(length + ifs + rules.slot * draws.below(CW_MIN + 1));
    }
    let record = run(SEED, rules, mode, ip_bytes, EXCHANGES * mpdus, at);
    let found: Vec<_> = record.transmissions.iter().map(|t| (t.at, t.ended, t.mpdus.len())).collect();
    assert_eq!(found, expected, "{mode:?}, up to {most} MPDUs of {ip_bytes} bytes");
    assert_eq!(record.deliveries.len(), (EXCHANGES * mpdus) as usize);
}

#[test]
fn every_exchange_begins_and_ends_at_its_nanosecond() {
    let modes = modes();
    let mut cases = 0;
    for (index, &mode) in modes.iter().enumerate() {
        let window = mode.generation.window();
        // Powers of two, those around them, and anything between.
        let mut counts: Vec<u32> =
            (0..=window.ilog2()).flat_map(|power| [1 << power, (1 << power) + 1]).collect();
        counts.extend([3, 7, 23, 42, 100, 500, window - 1]);
        counts.sort_unstable();
        counts.dedup();
        counts.retain(|&count| count <= window);
        for (nth, &count) in counts.iter().enumerate() {
            let ip_bytes = [1500, 40, 333][(index + nth) % 3];
            // The short form takes one of 211, a prime, so that it meets them all.
            if validating() || (index * counts.len() + nth).is_multiple_of(211) {
                assert_exact(mode, ip_bytes, count);
                cases += 1;
            }
        }
    }
    tell(&format!("{cases} cases in {} modes", modes.len()));
    assert!(cases > 200 && modes.len() > 3_000, "{cases} cases, {} modes", modes.len());
}

/// The MPDUs of a PPDU, as IP bytes of their packets, if all packets have `ip_bytes`: each joins the last MPDU while that may
/// grow.
fn filled(rules: &Rules, mode: Mode, ip_bytes: u32) -> Vec<Vec<u32>> {
    let aggregation = rules.aggregation.expect("given");
    let most = aggregation.max_mpdus.unwrap_or(u32::MAX).min(rules.window(mode)) as usize;
    let fits = |mpdus: &[Vec<u32>]| {
        let bytes: Vec<u32> = mpdus.iter().map(|packets| rules.bytes_with(packets)).collect();
        let psdu_bytes = match bytes[..] {
            [one] => rules.psdu_as_of_several(one),
            _ => rules.psdu_of(&bytes, mode),
        };
        psdu_bytes <= rules.max_psdu_bytes(mode) && rules.ppdu(psdu_bytes, mode) <= aggregation.max_ppdu
    };
    let mut mpdus = vec![vec![ip_bytes]];
    loop {
        let mut joined = mpdus.clone();
        let last = joined.last_mut().expect("never empty");
        last.push(ip_bytes);
        let continues_amsdu = rules.may_share(last, mode) && fits(&joined);
        let mut longer = mpdus.clone();
        longer.push(vec![ip_bytes]);
        mpdus = match continues_amsdu {
            true => joined,
            false if mpdus.len() < most && fits(&longer) => longer,
            false => return mpdus,
        };
    }
}

/// The same with A-MSDUs, whose MPDUs have the packets given here; all PPDUs but the last are alike.
#[test]
fn throughput_with_a_msdus_is_the_closed_form() {
    let wide = |width_mhz, mode: Mode| Mode { width_mhz, ..mode };
    let plain = Mode::plain;
    let (ht, vht, he, eht) = (Generation::Ht, Generation::Vht, Generation::He, Generation::Eht);
    for (mode, ip_bytes, max_mpdus, max_amsdu_bytes, of_first) in [
        (plain(ht, 1, 7), 1500, 64, 4_049, 2),
        (plain(ht, 1, 7), 1500, 1, 7_935, 5),
        (plain(ht, 1, 7), 40, 64, 4_049, 63),
        (plain(ht, 1, 0), 1500, 1, 3_839, 2),
        (wide(80, plain(vht, 2, 9)), 1500, 64, 11_408, 7),
        (wide(80, plain(he, 2, 11)), 1500, 256, 11_408, 7),
        (wide(80, plain(he, 1, 11)), 40, 256, 11_408, 178),
        (wide(160, plain(eht, 2, 13)), 1500, 4, 11_408, 7),
    ] {
        let mut rules = rules(mode, max_mpdus);
        if let Some(aggregation) = &mut rules.aggregation {
            aggregation.max_amsdu_bytes = max_amsdu_bytes;
        }
        let mpdus = filled(&rules, mode, ip_bytes);
        let count: usize = mpdus.iter().map(Vec::len).sum();
        tell(&format!("{mode:?}: {} MPDUs of {} packets, {count} in all", mpdus.len(), mpdus[0].len()));
        assert_eq!(mpdus[0].len(), of_first, "{mode:?}");
        let bytes: Vec<u32> = mpdus.iter().map(|packets| rules.bytes_with(packets)).collect();
        let length = rules.ppdu(rules.psdu_of(&bytes, mode), mode);
        let length = length + rules.sifs + rules.response(mpdus.len(), mode);
        let ifs = rules.sifs + AIFSN * rules.slot;
        let cycle = f64::from(length + ifs) + f64::from(rules.slot * CW_MIN) / 2.0;
        let deviation = f64::from(rules.slot) * (255.0f64 / 12.0).sqrt();
        let exchanges = (3.0 * deviation / cycle / 0.001).powi(2).ceil().max(50.0);
        let runs = (exchanges * count as f64 / 50_000.0).ceil();
        let of_run = (exchanges / runs).ceil() as u32;
        let (mut steps, mut delivered) = (0, 0);
        for seed in 0..runs as u64 {
            let until = (2.0 * cycle) as u64 * u64::from(of_run);
            let record = run(seed, rules, mode, ip_bytes, of_run * count as u32, until);
            assert_eq!(record.transmissions.len(), of_run as usize);
            for sent in &record.transmissions {
                let packets: Vec<usize> = sent.mpdus.iter().map(|mpdu| mpdu.packets.len()).collect();
                assert_eq!(packets, mpdus.iter().map(Vec::len).collect::<Vec<_>>(), "{mode:?}");
            }
            steps += record.transmissions[of_run as usize - 1].at - record.transmissions[0].at;
            delivered += (of_run as usize - 1) * count;
        }
        let ratio = delivered as f64 * cycle / count as f64 / steps as f64;
        tell(&format!("{mode:?}, A-MSDUs of {ip_bytes}-byte packets: {ratio:.5} of the closed form"));
        assert!((ratio - 1.0).abs() < 0.001, "{mode:?}: {ratio}");
    }
}

/// Within 0.1 % of the closed form with the mean backoff, where three standard errors are as much.
#[test]
fn throughput_is_the_closed_form() {
    let short = |mode: Mode| Mode { guard_ns: 400, ..mode };
    let wide = |width_mhz, mode: Mode| Mode { width_mhz, ..mode };
    let plain = Mode::plain;
    let (ht, vht, he, eht) = (Generation::Ht, Generation::Vht, Generation::He, Generation::Eht);
    let cells = [
        (plain(ht, 1, 7), 1500, 64),
        (short(wide(40, plain(ht, 2, 7))), 1500, 64),
        (wide(80, plain(vht, 2, 9)), 1500, 64),
        (wide(80, plain(he, 2, 11)), 1500, 256),
        (wide(320, plain(eht, 2, 13)), 1500, 1_024),
        (plain(ht, 1, 7), 1500, 1),
        (plain(ht, 1, 7), 40, 64),
        (wide(80, plain(he, 1, 11)), 40, 256),
        (wide(80, plain(vht, 1, 9)), 1500, 1),
        (wide(160, plain(eht, 2, 13)), 1500, 16),
    ];
    let cells = if validating() { &cells[..] } else { &cells[..5] };
    for &(mode, ip_bytes, most) in cells {
        let rules = rules(mode, most);
        let mpdus = fitting(&rules, mode, ip_bytes, most);
        let (length, ifs) = exchange(&rules, mode, ip_bytes, mpdus);
        let cycle = f64::from(length + ifs) + f64::from(rules.slot * CW_MIN) / 2.0;
        // The standard deviation of 0 to 15 slots.
        let deviation = f64::from(rules.slot) * (255.0f64 / 12.0).sqrt();
        let exchanges = (3.0 * deviation / cycle / 0.001).powi(2).ceil().max(100.0);
        // All packets at once would be as many as a run has exchanges: runs of some thousand MPDUs, one after the other.
        let runs = (exchanges * f64::from(mpdus) / 50_000.0).ceil();
        let of_run = (exchanges / runs).ceil() as u32;
        let (mut steps, mut delivered) = (0, 0u64);
        for seed in 0..runs as u64 {
            let until = (2.0 * cycle) as u64 * u64::from(of_run);
            let record = run(seed, rules, mode, ip_bytes, of_run * mpdus, until);
            let first = record.transmissions.first().expect("it sends").at;
            let last = record.transmissions.last().expect("it sends").at;
            steps += last - first;
            delivered += u64::from((of_run - 1) * mpdus);
        }
        let ratio = delivered as f64 * cycle / f64::from(mpdus) / steps as f64;
        let error = deviation / cycle / exchanges.sqrt();
        tell(&format!(
            "{mode:?}, {mpdus} MPDUs of {ip_bytes} bytes: {ratio:.5} of the closed form, standard error {error:.5}"
        ));
        assert!((ratio - 1.0).abs() < 0.001, "{mode:?}, {mpdus} MPDUs of {ip_bytes} bytes: {ratio}");
    }
}
