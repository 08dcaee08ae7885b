//! Random BSSs from 802.11n on: PHYs, generations, limits of aggregates.

use super::DSSS_RATES;
use crate::oracle::mode::{Generation, Mode};
use crate::oracle::scenario::{Change, Errors, Modes, Pattern, Scenario, Station, Trigger};
use crate::oracle::timing::{
    ACK_BYTES, Aggregation, Form, Modern, Phy, Protection, RTS_BYTES, Requests, Rules, Tenths,
};
use Generation::{Eht, He, Ht, Vht};
use proptest::prelude::*;
use proptest::sample::select;

const BASIC_RATES: &[Option<&[Tenths]>] = &[
    Some(&[60, 120, 240]),
    Some(&[60, 120, 240]),
    Some(&[120, 240]),
    Some(&[60, 90, 540]),
    Some(&[60]),
    None,
];

/// PHY, band and protection.
pub fn rules() -> impl Strategy<Value = Rules> {
    let generation = select(vec![Ht, Ht, Ht, Vht, Vht, He, He, He, Eht, Eht, Eht]);
    let phy = generation.prop_flat_map(|generation| {
        let bands = match generation {
            Ht => vec![2.4, 5.0],
            Vht => vec![5.0],
            He | Eht => vec![2.4, 5.0, 6.0],
        };
        let band = select(bands);
        (Just(generation), band).prop_flat_map(|(generation, band_ghz)| {
            let widths = [20, 40, 80, 160, 320];
            let widths = widths.into_iter().filter(move |&width| width <= generation.widest_mhz(band_ghz));
            (Just(generation), Just(band_ghz), select(widths.collect::<Vec<u32>>()))
        })
    });
    let protection = (any::<bool>(), select(vec![96, 192]), select(DSSS_RATES))
        .prop_map(|(self_addressed, plcp, rate)| Protection { self_addressed, plcp, rate });
    let standard = Just(Protection { self_addressed: true, plcp: 192, rate: 10 });
    let protection =
        (prop_oneof![protection, standard], select(vec![(false, false), (true, false), (true, true)]));
    (phy, select(BASIC_RATES), protection).prop_map(
        |((generation, band_ghz, width_mhz), basic_rates, (protection, (protects, has_dot11b)))| {
            let is_low = band_ghz < 5.0;
            let base = if is_low { Rules::dot11g() } else { Rules::dot11a() };
            let has_dot11b = is_low && has_dot11b;
            let modern = Modern { generation, band_ghz, width_mhz, basic_rates, has_dot11b };
            Rules {
                slot: if has_dot11b { 20 } else { base.slot },
                overhead_bytes: 38,
                lowest_mandatory_rate: basic_rates.map_or(60, |rates| rates[0]),
                protection: (is_low && protects).then_some(protection),
                modern: Some(modern),
                ..base
            }
        },
    )
}

/// Limits so small that each of them counts, or so large that windows do.
pub fn aggregation(rules: Rules) -> impl Strategy<Value = Rules> {
    let modern = rules.modern.expect("rules of such a BSS");
    let mut windows = vec![1u32, 2, 3, 4, 6, 8, 16, 32, 64, 64, 64, 100];
    if modern.generation >= He {
        windows.extend([65, 128, 200, 256, 256, 300]);
    }
    if modern.generation >= Eht {
        windows.extend([257, 400, 512, 600, 1_024, 1_024]);
    }
    let most = modern.generation.longest_psdu_bytes();
    let limits = (
        select(windows),
        prop_oneof![5 => Just(None), 1 => (1u32..12).prop_map(Some), 1 => Just(Some(1))],
        prop_oneof![3 => Just(most), 1 => Just(65_535u32), 1 => 1_000u32..8_000],
        prop_oneof![3 => Just(5_484u32), 1 => 300u32..3_000],
        select(vec![0u32, 0, 1, 2, 4, 8, 16, 32, 64]),
        prop_oneof![4 => Just(0u32), 2 => 100u32..4_000, 1 => 4_000u32..12_000, 1 => Just(u32::MAX)],
    );
    let attempts = prop_oneof![1 => Just(7u32), 3 => 1u32..5];
    let tries = prop_oneof![2 => Just(1u32), 2 => 2u32..4, 1 => Just(10)];
    let reorder_timeout = prop_oneof![4 => 300u32..8_000, 1 => 8_000u32..20_000];
    let requests = select(vec![
        Requests::Never,
        Requests::GivenUp,
        Requests::GivenUp,
        Requests::Missed,
        Requests::Missed,
    ]);
    let flags = (any::<bool>(), requests, any::<bool>(), prop::bool::weighted(0.2));
    let has_it = prop::bool::weighted(5.0 / 6.0);
    (limits, (attempts, tries), reorder_timeout, flags, has_it).prop_map(
        move |(
            (window, max_mpdus, max_ampdu_bytes, max_ppdu, spacing, max_amsdu_bytes),
            (max_attempts, tries),
            timeout,
            flags,
            has_it,
        )| {
            let aggregation = Aggregation {
                window,
                max_mpdus,
                max_ampdu_bytes,
                max_amsdu_bytes,
                max_ppdu: max_ppdu * rules.steps,
                min_spacing_quarters: spacing,
                max_attempts,
                tries,
                head_run: flags.0,
                requests: flags.1,
                reorder_timeout: timeout * rules.steps,
                delivers_mpdus: flags.2,
                ccmp: flags.3,
            };
            within_limits(Rules { aggregation: has_it.then_some(aggregation), ..rules })
        },
    )
}

/// With an A-MSDU that the BSS may have.
pub fn within_limits(rules: Rules) -> Rules {
    let (Some(aggregation), Some(modern)) = (rules.aggregation, rules.modern) else { return rules };
    let max_amsdu_bytes = aggregation.max_amsdu_bytes.min(rules.longest_amsdu(modern.generation));
    Rules { aggregation: Some(Aggregation { max_amsdu_bytes, ..aggregation }), ..rules }
}

/// A mode of a generation, in a BSS.
fn mode(generation: Generation, modern: Modern, rules: Rules) -> impl Strategy<Value = Mode> {
    let widest = modern.width_mhz.min(generation.widest_mhz(modern.band_ghz));
    let widths = [20, 40, 80, 160, 320].into_iter().filter(move |&width| width <= widest);
    // MPDUs end with symbols, of which short ones take fifths of a µs.
    let ends_with_symbols = rules.aggregation.is_some_and(|aggregation| aggregation.delivers_mpdus);
    let guard_and_ltf = match generation {
        Ht | Vht if ends_with_symbols && !rules.steps.is_multiple_of(5) => vec![(800, 2)],
        Ht | Vht => vec![(400, 2), (800, 2)],
        He => vec![(800, 1), (800, 2), (800, 2), (800, 4), (1_600, 2), (3_200, 4)],
        Eht => vec![(800, 2), (800, 2), (800, 4), (1_600, 2), (3_200, 4)],
    };
    let paddings = match generation {
        Ht | Vht => vec![0],
        He => vec![0, 0, 8, 16],
        Eht => vec![0, 8, 16, 20],
    };
    let streams = prop_oneof![2 => 1u32..3, 1 => 1..=generation.most_streams()];
    let width = select(widths.collect::<Vec<u32>>());
    (width, streams, 0u32..14, select(guard_and_ltf), any::<bool>(), select(paddings)).prop_map(
        move |(width_mhz, streams, mcs, (guard_ns, ltf), ldpc, padding_us)| {
            Mode { generation, width_mhz, streams, mcs: 0, guard_ns, ldpc, ltf, padding_us }.with_mcs(mcs)
        },
    )
}

/// What a station of such a BSS is.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Modern(Modes),
    Ofdm,
    /// With the preamble of the BSS.
    Dsss {
        plcp: u32,
        rates: (Tenths, Tenths),
    },
}

impl Kind {
    pub fn of(self, station: Station) -> Station {
        match self {
            Kind::Modern(modes) => Station { modes: Some(modes), ..station },
            Kind::Ofdm => station,
            Kind::Dsss { plcp, rates } => {
                Station { phy: Some(Phy::Dsss { plcp }), rate_up: rates.0, rate_down: rates.1, ..station }
            }
        }
    }
}

/// Preamble and header of 802.11b in this BSS.
fn plcp(rules: &Rules) -> u32 {
    rules.protection.map_or(192, |protection| protection.plcp)
}

pub fn kind(rules: Rules, modern: Modern) -> impl Strategy<Value = Kind> {
    let there = move |generation: &Generation| match generation {
        Ht => modern.band_ghz < 5.5,
        Vht => modern.band_ghz == 5.0,
        He | Eht => true,
    };
    let older: Vec<Generation> = [Ht, Vht, He, Eht].into_iter().filter(|g| *g <= modern.generation).collect();
    let older = older.into_iter().filter(there).collect::<Vec<_>>();
    let generation = prop_oneof![2 => Just(modern.generation), 1 => select(older)];
    let of_mode = generation.prop_flat_map(move |generation| mode(generation, modern, rules));
    let modes = (of_mode, 0u32..14)
        .prop_map(|(mode, down)| Kind::Modern(Modes { up: mode, down: mode.with_mcs(down) }));
    let plcp = plcp(&rules);
    let dsss = (select(DSSS_RATES), select(DSSS_RATES))
        .prop_map(move |(up, down)| Kind::Dsss { plcp, rates: (up, down) });
    let ofdm = if modern.band_ghz > 5.5 { 0 } else { 1 };
    let dot11b = if modern.has_dot11b { 2 } else { 0 };
    prop_oneof![6 => modes, ofdm => Just(Kind::Ofdm), dot11b => dsss]
}

/// What holds between stations, changes and rules that were drawn by themselves.
pub fn settle(rules: &Rules, stations: &mut [Station], changes: &mut Vec<(Trigger, Change)>) {
    let Some(modern) = rules.modern else { return };
    if modern.has_dot11b && !stations.iter().any(Station::is_dot11b) {
        let dsss = Kind::Dsss { plcp: plcp(rules), rates: (110, 20) };
        stations[0] = dsss.of(Station { modes: None, ..stations[0].clone() });
    }
    for (_, change) in changes.iter_mut() {
        if let Change::Station { station, rate, rate_down, .. } = change {
            let station = &stations[*station % stations.len()];
            for rate in [rate, rate_down] {
                let place = |rate: Tenths| rules.rates().iter().position(|&one| one == rate);
                *rate = match station.modes {
                    Some(_) => None,
                    None if station.is_dot11b() => rate.and_then(place).map(|place| DSSS_RATES[place % 4]),
                    None => *rate,
                };
            }
        }
    }
    let changes_nothing = |change: &Change| {
        matches!(change, Change::Station { rate: None, rate_down: None, errors: None, track: None, .. })
    };
    changes.retain(|(_, change)| !changes_nothing(change));
}

/// Exactly what two PPDUs of some MPDUs take, or one with its RTS.
pub fn ppdus(rules: Rules) -> impl Strategy<Value = u32> {
    let modern = rules.modern.expect("rules of such a BSS");
    let mode = mode(modern.generation, modern, rules);
    (mode, select(vec![40, 1500]), 1usize..8, 1usize..8).prop_map(move |(mode, ip_bytes, first, second)| {
        let form = Form::Mode(mode);
        let reservation = |bytes| rules.control(bytes, rules.reservation_form(form)) + rules.sifs;
        let exchange = |mpdus: usize| {
            let announcement = if rules.announces(form) { reservation(ACK_BYTES) } else { 0 };
            let psdu_bytes = rules.psdu_bytes(&vec![ip_bytes; mpdus], mode);
            let response = rules.sifs + rules.response(mpdus, mode);
            (announcement + rules.ppdu(psdu_bytes, mode) + response, rules.uses_rts(form, psdu_bytes))
        };
        match (exchange(first), exchange(second)) {
            ((first, true), _) => reservation(RTS_BYTES) + reservation(ACK_BYTES) + first,
            ((first, false), (second, _)) => first + rules.sifs + second,
        }
    })
}

/// So many short packets one way that sequence numbers wrap.
#[derive(Clone, Copy, Debug)]
pub struct Deluge {
    ip_bytes: u32,
    error: f64,
    window: u32,
}

pub fn deluge() -> impl Strategy<Value = Option<Deluge>> {
    let error = prop_oneof![1 => Just(0.0), 2 => 0.01..0.25f64];
    let deluge = (28u32..60, error, select(vec![64, 1_024, 1_024, 1_024]))
        .prop_map(|(ip_bytes, error, window)| Deluge { ip_bytes, error, window });
    prop::option::weighted(0.2, deluge)
}

impl Deluge {
    pub fn on(self, mut scenario: Scenario) -> Scenario {
        let steps = u64::from(scenario.rules.steps);
        let stations = scenario.stations.len();
        let Some(aggregation) = &mut scenario.rules.aggregation else { return scenario };
        let modern = |(_, station): &(usize, &mut Station)| station.modes.is_some();
        let Some((index, station)) = scenario.stations.iter_mut().enumerate().find(modern) else {
            return scenario;
        };
        let modes = station.modes.expect("chosen so");
        let fast = |mode: Mode| {
            let streams = mode.streams.max(2);
            Mode { streams, padding_us: 0, ..mode }.with_mcs(7)
        };
        station.modes = Some(Modes { up: fast(modes.up), down: fast(modes.down) });
        station.errors = Errors { data_up: self.error, data_down: self.error, ..Errors::default() };
        *aggregation = Aggregation {
            window: self.window,
            max_mpdus: None,
            max_ampdu_bytes: 65_535,
            max_amsdu_bytes: aggregation.max_amsdu_bytes.min(300),
            max_ppdu: 5_484 * scenario.rules.steps,
            min_spacing_quarters: 0,
            ..*aggregation
        };
        scenario.rules.rts_threshold_bytes = u32::MAX;
        let stream = &mut scenario.streams[0];
        stream.station = index % stations;
        stream.ip_bytes = self.ip_bytes;
        stream.category = 2;
        stream.pattern = Pattern::Every { first: 0, gap: 2_000 * steps, burst: 1_000 };
        scenario.changes.clear();
        scenario.streams.truncate(2);
        scenario.tx_queue_limit = 2_000;
        scenario.offered_until = 20_000 * steps;
        scenario
    }
}
