//! Random small scenarios, drawn so that rare coincidences are frequent.

mod field;
mod modern;

pub use field::{
    beacon_field_scenarios, beacon_neighbour_scenarios, controlled_field_scenarios, edca_field_scenarios,
    field_scenarios, modern_field_scenarios, neighbour_scenarios, reuse_scenarios, shadowed_scenarios,
    subchannel_scenarios,
};

use super::mode::Generation;
use super::radio::{Capture, Track};
use super::rate::Adaptation;
use super::scenario::{Change, Errors, Pattern, Scenario, Station, Stream, Trigger};
use super::timing::{
    ACK_BYTES, Beacons, Category, Controller, Edca, Form, NonHt, Protection, RTS_BYTES, Rules, Tenths,
};
use proptest::prelude::*;
use proptest::sample::select;

const DSSS_RATES: &[Tenths] = &[10, 20, 55, 110];

/// Scenarios of 1 to 8 stations; traffic is offered for 50,000 to 200,000 steps of the clock.
pub fn scenarios() -> impl Strategy<Value = Scenario> {
    rules().prop_flat_map(scenario)
}

/// The same with EDCA.
pub fn edca_scenarios() -> impl Strategy<Value = Scenario> {
    let rules =
        rules().prop_flat_map(|rules| edca(rules).prop_map(move |edca| Rules { edca: Some(edca), ..rules }));
    rules.prop_flat_map(scenario)
}

/// From 802.11n on: 1 to 6 stations, some of them older than the others; five of six scenarios have EDCA, and so aggregation.
pub fn modern_scenarios() -> impl Strategy<Value = Scenario> {
    let rules = modern::rules().prop_flat_map(rules_of).prop_flat_map(modern::aggregation);
    let rules = rules.prop_flat_map(|rules| {
        let table = edca(rules).prop_map(move |edca| Rules { edca: Some(edca), ..rules });
        if rules.aggregation.is_some() { table.boxed() } else { Just(rules).boxed() }
    });
    (rules.prop_flat_map(scenario), modern::deluge()).prop_map(|(scenario, deluge)| match deluge {
        Some(deluge) => deluge.on(scenario),
        None => scenario,
    })
}

/// Of these, those with aggregation.
pub fn aggregated_scenarios() -> impl Strategy<Value = Scenario> {
    modern_scenarios().prop_filter("no links with agreements", Scenario::aggregates)
}

/// All of these, but for those with capture, with beacons, at whose target times packets often come.
pub fn beacon_scenarios() -> impl Strategy<Value = Scenario> {
    let rate = prop::option::of(any::<prop::sample::Index>());
    let any = prop_oneof![scenarios().boxed(), edca_scenarios().boxed(), modern_scenarios().boxed()];
    let any = any.prop_filter("capture", |scenario| scenario.rules.capture.is_none());
    let interval_tu = prop_oneof![3 => 1u32..6, 1 => 6u32..40];
    let bytes = prop_oneof![1 => Just(300u32), 1 => 70u32..200, 1 => 70u32..=2_332];
    let meeting = (1u64..4, 0u64..4, 1u64..4, prop_oneof![4 => Just(0u64), 1 => 1..60u64]);
    let meetings = prop::collection::vec(prop::option::weighted(0.6, meeting), 12);
    (any, interval_tu, bytes, rate, meetings).prop_map(
        |(mut scenario, interval_tu, bytes, rate, meetings)| {
            let rate = rate.map(|rate| *rate.get(&scenario.rules.beacon_rates()));
            scenario.rules.beacons = Some(Beacons { interval_tu, bytes, rate });
            meet(&mut scenario, &meetings);
            scenario
        },
    )
}

/// The first target time that packets of a stream meet, how many come together, intervals between them, and a delay.
type Meeting = (u64, u64, u64, u64);

/// Packets of some streams come at target times of beacons, or shortly after.
fn meet(scenario: &mut Scenario, meetings: &[Option<Meeting>]) {
    let interval = scenario.rules.beacon_interval().expect("there are beacons");
    for (stream, meeting) in scenario.streams.iter_mut().zip(meetings) {
        if let (Pattern::Every { .. } | Pattern::Poisson { .. }, &Some((first, after, gap, late))) =
            (stream.pattern, meeting)
        {
            let first = first * interval + late * u64::from(scenario.rules.slot) / 20;
            stream.pattern = Pattern::Every { first, gap: gap * interval, burst: 1 + after as u32 };
        }
    }
}

fn scenario(rules: Rules) -> impl Strategy<Value = Scenario> {
    let (least_stations, least_streams) = if rules.capture.is_some() { (2, 4) } else { (1, 1) };
    let most_stations = if rules.modern.is_some() { 6 } else { 8 };
    let stations = prop::collection::vec(station(rules), least_stations..=most_stations);
    let streams = prop::collection::vec(stream(rules), least_streams..=12);
    let changes = prop_oneof![
        1 => Just(Vec::new()),
        1 => prop::collection::vec((trigger(rules), change(rules)), 1..10),
    ];
    let few = if rules.aggregation.is_some() { 1usize..100 } else { 1..30 };
    let many = if rules.aggregation.is_some() { 1 } else { 0 };
    let tx_queue = (prop_oneof![3 => few, many => 100usize..1_500], any::<bool>());
    let offered_until = match (rules.modern, rules.steps) {
        (None, _) => 50_000u64..200_000,
        (Some(_), ..5) => 20_000..80_000,
        (Some(_), _) => 40_000..120_000,
    };
    (any::<u64>(), stations, streams, changes, tx_queue, offered_until).prop_map(
        move |(seed, mut stations, mut streams, mut changes, tx_queue, offered_until)| {
            modern::settle(&rules, &mut stations, &mut changes);
            count_from_the_arrival(&mut streams, &stations, &rules);
            Scenario {
                seed,
                rules: Rules { polices: seed.is_multiple_of(3), ..rules },
                stations,
                streams,
                changes,
                tx_queue_limit: tx_queue.0,
                limit_counts_in_service: tx_queue.1,
                offered_until,
            }
        },
    )
}

fn edca(rules: Rules) -> impl Strategy<Value = Edca> {
    let category = move |least_aifsn: u32| {
        let windows = select(vec![(0, 0), (0, 7), (1, 3), (3, 7), (7, 15), (15, 63), (15, 1023), (31, 31)]);
        // TXOP limits around what a few short frames take, exactly what a few frames take, and long ones.
        let us = move |us: u32| us * rules.steps;
        let exact =
            (select(vec![40, 1500]), rate(rules), 2u32..4).prop_map(move |(ip_bytes, rate, frames)| {
                let announces = rules.announces(rules.plain(rate));
                let announcement = if announces { rules.cts() + rules.sifs } else { 0 };
                let exchange = announcement + rules.data(ip_bytes, rate) + rules.sifs + rules.ack();
                frames * (exchange + rules.sifs) - rules.sifs
            });
        let exact = match rules.aggregation {
            None => exact.boxed(),
            Some(_) => prop_oneof![exact, modern::ppdus(rules)].boxed(),
        };
        let limit = prop_oneof![
            2 => Just(0u32),
            1 => (100u32..4_000).prop_map(us),
            1 => Just(us(8_000)),
            1 => exact,
        ];
        let aifsn = prop_oneof![3 => least_aifsn..4, 1 => 4u32..10];
        (windows, aifsn, limit).prop_map(|(windows, aifsn, txop_limit)| Category {
            cw_min: windows.0,
            cw_max: windows.1,
            aifsn,
            txop_limit,
        })
    };
    let four = move |least| prop::array::uniform4(category(least));
    let shares = select(vec![(false, false), (false, false), (true, false), (true, true)]);
    (four(1), four(2), any::<bool>(), prop::bool::weighted(0.3), prop::bool::weighted(0.7), shares).prop_map(
        |(ap, stations, alike, dcf_countdown, internal_collision_retry, shares)| Edca {
            ap: if alike { stations } else { ap },
            stations,
            dcf_countdown,
            internal_collision_retry,
            ap_shares_tx_queue: shares.0,
            stations_share_tx_queue: shares.1,
            controller: None,
        },
    )
}

/// Of those with EDCA, some with A-MPDUs, such whose CWmin is controlled; to many stations the AP sends much.
pub fn controlled_scenarios() -> impl Strategy<Value = Scenario> {
    let of_edca = prop_oneof![edca_scenarios().boxed(), modern_scenarios().boxed()];
    let of_edca = of_edca.prop_filter("no EDCA", |scenario| scenario.rules.edca.is_some());
    (of_edca, controller(), floods()).prop_map(|(mut scenario, controller, floods)| {
        controller.control(&mut scenario.rules);
        add_floods(&mut scenario, &floods);
        scenario
    })
}

/// Packets that the AP sends to a station: which, their bytes, and how often two come, in 50 µs.
type Flood = (prop::sample::Index, u32, u64);

fn floods() -> impl Strategy<Value = Vec<Flood>> {
    prop::collection::vec((any::<prop::sample::Index>(), select(vec![40u32, 400, 1500]), 1u64..60), 0..4)
}

fn add_floods(scenario: &mut Scenario, floods: &[Flood]) {
    for (to, ip_bytes, gap) in floods {
        let gap = 50 * gap * u64::from(scenario.rules.steps);
        let pattern = Pattern::Every { first: gap, gap, burst: 2 };
        let station = to.index(scenario.stations.len());
        let flood = Stream { station, up: false, ip_bytes: *ip_bytes, category: BEST_EFFORT, pattern };
        scenario.streams.push(flood);
    }
}

/// A controller of CWmin that may double it so often.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    interval_tu: u32,
    samples: u32,
    doublings: u32,
}

fn controller() -> impl Strategy<Value = Drawn> {
    let interval_tu = prop_oneof![4 => Just(1u32), 1 => 2u32..4];
    let samples = prop_oneof![3 => 1u32..4, 1 => 4u32..20];
    (interval_tu, samples, 0u32..6).prop_map(|(interval_tu, samples, doublings)| Drawn {
        interval_tu,
        samples,
        doublings,
    })
}

impl Drawn {
    /// Gives it to rules with EDCA.
    fn control(&self, rules: &mut Rules) {
        let edca = rules.edca.as_mut().expect("rules with EDCA");
        let Category { cw_min, cw_max, .. } = edca.stations[BEST_EFFORT];
        let max_cw_min = cw_max.min(((cw_min + 1) << self.doublings) - 1);
        edca.controller =
            Some(Controller { interval_tu: self.interval_tu, samples: self.samples, max_cw_min });
    }
}

/// Best effort among the categories.
const BEST_EFFORT: usize = 2;

/// One of three has capture, and so 802.11b.
fn rules() -> impl Strategy<Value = Rules> {
    let dot11b = prop_oneof![Just(Rules::dot11b(true)), Just(Rules::dot11b(false))];
    let captures = (dot11b, capture()).prop_map(|(base, capture)| Rules { capture: Some(capture), ..base });
    prop_oneof![2 => any_base(), 1 => captures].prop_flat_map(rules_of)
}

/// 802.11g with protection for 802.11b.
fn protected() -> impl Strategy<Value = Rules> {
    let protection = (any::<bool>(), select(vec![96, 192]), select(DSSS_RATES))
        .prop_map(|(self_addressed, plcp, rate)| Protection { self_addressed, plcp, rate });
    protection.prop_map(|protection| Rules { protection: Some(protection), ..Rules::dot11g() })
}

fn any_base() -> impl Strategy<Value = Rules> {
    prop_oneof![
        Just(Rules::dot11b(true)),
        Just(Rules::dot11b(false)),
        Just(Rules::dot11g()),
        Just(Rules::dot11a()),
        protected(),
    ]
}

fn rules_of(base: Rules) -> impl Strategy<Value = Rules> {
    let control_rate = (0usize..3).prop_map(|i| [[10, 20, 110], [60, 120, 240]].map(|rates| rates[i]));
    // Small windows collide often.
    let windows = select(vec![None, None, Some((1, 3)), Some((3, 7)), Some((7, 255)), Some((15, 15))]);
    let rts = prop_oneof![3 => Just(u32::MAX), 1 => Just(0), 2 => 40u32..1600];
    let limits = prop_oneof![Just((7, 4)), Just((255, 255)), (1u32..5, 1u32..5), (2u32..4, 2u32..5)];
    let eifs = select(vec![(true, false), (true, false), (true, true), (false, false)]);
    // Longer than the standard's, as in ns-2, or much shorter.
    let timeout = || prop_oneof![3 => Just(None), 1 => Just(Some(20)), 2 => (0u32..320).prop_map(Some)];
    let flags = (prop::bool::weighted(0.3), prop::bool::weighted(0.3), prop::bool::weighted(0.3));
    let more = (clock(), adaptation(), prop::bool::weighted(0.3));
    (control_rate, windows, rts, limits, eifs, (timeout(), timeout()), flags, more).prop_map(
        move |(control_rate, windows, rts, limits, eifs, timeouts, flags, more)| {
            let (clock, adaptation, colliders_wait_eifs) = more;
            let base = clock.of(base);
            // The engine has no threshold where all frames are protected.
            let rts = if base.protection.is_some() { u32::MAX } else { rts };
            let control_rate = match base.modern.and_then(|modern| modern.basic_rates) {
                Some(rates) => rates[rates.len() - 1],
                None => control_rate[usize::from(!base.phy.is_dsss())],
            };
            let (cw_min, cw_max) = windows.unwrap_or((base.cw_min, base.cw_max));
            Rules {
                cw_min,
                cw_max,
                control_rate,
                rts_threshold_bytes: rts,
                short_limit: limits.0,
                long_limit: limits.1,
                eifs: eifs.0,
                eifs_plus_difs: eifs.1,
                // A timeout reaches past the SIFS and one slot after which the answer begins.
                ack_timeout: timeouts.0.map(|us: u32| us * base.steps + base.sifs + base.slot),
                cts_timeout: timeouts.1.map(|us: u32| us * base.steps + base.sifs + base.slot),
                exclusive_backoff: flags.0,
                immediate_access: !flags.1,
                backoff_within_ifs: flags.2,
                colliders_wait_eifs: colliders_wait_eifs && eifs.0,
                adaptation,
                ..base
            }
        },
    )
}

/// How time is cut, and which slot and SIFS occur in addition to the standard's.
#[derive(Clone, Copy, Debug)]
struct Clock {
    steps: u32,
    long_slot: bool,
    /// Steps that slot and SIFS are longer.
    slot_more: u32,
    sifs_more: u32,
}

impl Clock {
    fn of(self, rules: Rules) -> Rules {
        // Symbols from 802.11ax on take whole fifths of a µs.
        let in_fifths = rules.modern.is_some_and(|modern| modern.generation >= Generation::He);
        let steps = match self.steps {
            8 if in_fifths => 10,
            _ if in_fifths => 5,
            steps => steps,
        };
        let rules = rules.in_steps(steps);
        let slot = if self.long_slot { 20 * rules.steps } else { rules.slot };
        Rules { slot: slot + self.slot_more, sifs: rules.sifs + self.sifs_more, ..rules }
    }
}

fn clock() -> impl Strategy<Value = Clock> {
    let more = || prop_oneof![3 => Just(0u32), 1 => 1u32..12];
    let steps = select(vec![1, 1, 1, 1, 4, 5, 8]);
    (steps, prop::bool::weighted(0.2), more(), more())
        .prop_map(|(steps, long_slot, slot_more, sifs_more)| Clock { steps, long_slot, slot_more, sifs_more })
}

fn adaptation() -> impl Strategy<Value = Option<Adaptation>> {
    let thresholds = prop_oneof![1 => Just((10u32, 15u32)), 2 => (1u32..8, 1u32..12)];
    let adaptive = prop_oneof![Just(None), (1u32..4, 0u32..20).prop_map(Some)];
    let some = (thresholds, adaptive).prop_map(|((successes, timer), adaptive)| Adaptation {
        successes,
        timer,
        adaptive: adaptive.map(|(factor, more)| (factor, successes + more)),
    });
    prop_oneof![3 => Just(None), 2 => some.prop_map(Some)]
}

fn rate(rules: Rules) -> impl Strategy<Value = Tenths> {
    select(rules.rates())
}

fn station(rules: Rules) -> impl Strategy<Value = Station> {
    // Where frames are captured, more that are of one rate and end almost together.
    let alike = if rules.capture.is_some() { 2 } else { 0 };
    let rate = || prop_oneof![1 => rate(rules), alike => Just(110)];
    let station =
        (rate(), rate(), errors(rules), track(rules)).prop_map(|(rate_up, rate_down, errors, track)| {
            Station { rate_up, rate_down, errors, track, ..Station::clean(rate_up) }
        });
    match rules.modern {
        None => station.boxed(),
        Some(modern) => {
            (station, modern::kind(rules, modern)).prop_map(|(station, kind)| kind.of(station)).boxed()
        }
    }
}

fn errors(rules: Rules) -> impl Strategy<Value = Errors> {
    if rules.modern.is_none() {
        return errors_of_frames(rules).boxed();
    }
    let of_mpdus = || prop_oneof![1 => Just(0.0), 2 => 0.02..0.7f64];
    let of_responses = || prop_oneof![2 => Just(0.0), 1 => 0.02..0.6f64];
    (of_mpdus(), of_mpdus(), of_responses(), of_responses())
        .prop_map(|(data_up, data_down, ack_up, ack_down)| Errors {
            data_up,
            data_down,
            ack_up,
            ack_down,
            by_rate: Vec::new(),
        })
        .boxed()
}

fn errors_of_frames(rules: Rules) -> impl Strategy<Value = Errors> {
    let error = || prop_oneof![3 => Just(0.0), 1 => 0.01..0.5f64];
    // Rates above some of them fail often, as far from an access point; or all as it comes.
    let of_rate = prop_oneof![2 => Just(None), 1 => Just(Some(0.0)), 1 => (0.2..1.0f64).prop_map(Some)];
    let by_rate = prop::collection::vec(of_rate, rules.rates().len());
    let listed = prop_oneof![2 => Just(Vec::new()), 1 => by_rate];
    (error(), error(), error(), error(), listed).prop_map(
        move |(data_up, data_down, ack_up, ack_down, listed)| {
            let by_rate = rules.rates().iter().zip(listed);
            Errors {
                data_up,
                data_down,
                ack_up,
                ack_down,
                by_rate: by_rate.filter_map(|(&rate, error)| Some((rate, error?))).collect(),
            }
        },
    )
}

fn capture() -> impl Strategy<Value = Capture> {
    let ap_m = prop_oneof![Just([0.0, 0.0]), Just([-20.0, 7.5])];
    (prop_oneof![Just(10.0), 0.5..15.0f64], ap_m, 2.0..4.0f64, select(vec![1, 7, 100])).prop_map(
        |(db, ap_m, path_loss_exponent, update_interval_ms)| Capture {
            db,
            ap_m,
            path_loss_exponent,
            update_interval_ms,
        },
    )
}

/// Under a metre from the origin to a hundred away, as often near as far; most stay.
fn track(rules: Rules) -> impl Strategy<Value = Option<Track>> {
    let track = (-1.0..4.6f64, 0.0..360.0f64, any::<bool>(), prop::array::uniform2(-300.0..300.0f64))
        .prop_map(|(ln_distance, degrees, moves, velocity)| {
            let (sine, cosine) = degrees.to_radians().sin_cos();
            Track {
                position_m: [ln_distance.exp() * cosine, ln_distance.exp() * sine],
                velocity_m_per_s: if moves { velocity } else { [0.0, 0.0] },
            }
        });
    prop::option::weighted(0.98, track).prop_map(move |track| track.filter(|_| rules.capture.is_some()))
}

fn change(rules: Rules) -> impl Strategy<Value = Change> {
    let rates = (prop::option::of(rate(rules)), prop::option::of(rate(rules)));
    let track = prop_oneof![Just(None), track(rules)];
    let of_station = (0usize..8, rates, errors(rules), track).prop_flat_map(
        |(station, (rate, rate_down), errors, track)| {
            let is_needed = rate.is_none() && rate_down.is_none() && track.is_none();
            any::<bool>().prop_map(move |has_errors| Change::Station {
                station,
                rate,
                rate_down,
                errors: (has_errors || is_needed).then(|| errors.clone()),
                track,
            })
        },
    );
    let change = prop_oneof![5 => of_station, 1 => (1usize..30).prop_map(Change::ApLimit)];
    if rules.modern.is_none() {
        return change.boxed();
    }
    let of_mcs =
        (0usize..8, 0u32..14, 0u32..14).prop_map(|(station, up, down)| Change::Mcs { station, up, down });
    prop_oneof![1 => change, 2 => of_mcs].boxed()
}

/// At any time, or when something else is likely to happen.
fn trigger(rules: Rules) -> impl Strategy<Value = Trigger> {
    prop_oneof![
        1 => (0u64..200_000).prop_map(Trigger::At),
        2 => (0usize..12, 0u32..40, coincidence(rules))
            .prop_map(|(stream, nth, delay)| Trigger::After { stream, nth, delay: delay.max(1) }),
    ]
}

fn stream(rules: Rules) -> impl Strategy<Value = Stream> {
    let alike = if rules.capture.is_some() { 2 } else { 0 };
    let almost_40 = select(vec![40u32, 46, 53, 54, 55, 56]); // 10 µs more is 54 at 11 Mbps
    let ip_bytes = prop_oneof![2 => Just(40u32), 2 => Just(1500), 2 => 28u32..1500, 2 * alike => almost_40];
    let category = match rules.modern {
        None => (0usize..4).boxed(),
        Some(_) => select(vec![0, 1, 2, 2, 2, 3]).boxed(),
    };
    (0usize..8, any::<bool>(), ip_bytes, category, pattern(rules)).prop_map(
        move |(station, up, ip_bytes, category, pattern)| Stream {
            station,
            up,
            ip_bytes,
            category: if rules.edca.is_some() { category } else { 0 },
            pattern,
        },
    )
}

fn pattern(rules: Rules) -> impl Strategy<Value = Pattern> {
    let saturated = (0u64..3_000, 5_000u64..30_000, 5u32..40);
    let periodic = (0u64..200, 20u64..400, 1u32..3).prop_map(move |(first, gap, burst)| {
        let slot = u64::from(rules.slot);
        (first * slot, gap * slot, burst)
    });
    let regular = prop_oneof![saturated, periodic];
    let often = if rules.capture.is_some() { 12 } else { 3 }; // a capture takes a collision
    // As many as a long window takes.
    let torrents = if rules.aggregation.is_some_and(|aggregation| aggregation.window > 64) { 3 } else { 0 };
    let torrent = (0u64..3_000, 5_000u64..40_000, 100u32..1_500);
    prop_oneof![
        torrents => torrent.prop_map(|(first, gap, burst)| Pattern::Every { first, gap, burst }),
        often => regular.prop_map(|(first, gap, burst)| Pattern::Every { first, gap, burst }),
        3 => (300u64..30_000).prop_map(|mean| Pattern::Poisson { mean }),
        3 => (0usize..12, coincidence(rules)).prop_map(|(stream, delay)| Pattern::After { stream, delay }),
        2 => (0usize..12, end_of_exchange(rules)).prop_map(|(stream, delay)| Pattern::Beside { stream, delay }),
    ]
}

/// Delays after the end of a frame at which something of its exchange ends, or would.
fn end_of_exchange(rules: Rules) -> impl Strategy<Value = u64> {
    let (acknowledged, difs) = (rules.sifs + rules.ack(), rules.difs());
    let moments = vec![
        0,
        acknowledged,
        acknowledged + difs,
        rules.ack_timeout(),
        rules.ack_timeout() + difs,
        rules.eifs(),
    ];
    let off_by = prop_oneof![4 => Just(0i64), 1 => -1..=1i64];
    (select(moments), off_by).prop_map(|(moment, off_by)| (i64::from(moment) + off_by).max(0) as u64)
}

/// From the end of the frame that the delays of [`Pattern::Beside`] are drawn for, to its packet's arrival at an idle medium.
fn count_from_the_arrival(streams: &mut [Stream], stations: &[Station], rules: &Rules) {
    let before = streams.to_vec();
    for beside in streams {
        if let Pattern::Beside { stream, delay } = &mut beside.pattern {
            let of = before[*stream % before.len()];
            let station = &stations[of.station % stations.len()];
            let form = match station.modes {
                Some(modes) => Form::Mode(if of.up { modes.up } else { modes.down }),
                None => Form::NonHt(NonHt {
                    phy: station.phy.unwrap_or(rules.phy),
                    rate: if of.up { station.rate_up } else { station.rate_down },
                }),
            };
            let reservation = |bytes| rules.control(bytes, rules.reservation_form(form)) + rules.sifs;
            let mut before = 0;
            if rules.uses_rts(form, rules.mpdu_bytes(of.ip_bytes)) {
                before += reservation(RTS_BYTES) + reservation(ACK_BYTES);
            }
            if rules.announces(form) {
                before += reservation(ACK_BYTES);
            }
            *delay += u64::from(before + rules.data_frame(of.ip_bytes, form));
        }
    }
}

/// Delays after a delivery at which something else is likely to happen.
fn coincidence(rules: Rules) -> impl Strategy<Value = u64> {
    let (sifs, ack, difs) = (rules.sifs, rules.ack(), rules.difs());
    let end = sifs + ack;
    let moments = vec![
        0,
        sifs,
        end,
        difs,
        end + difs,
        rules.eifs(),
        end + rules.eifs(),
        rules.ack_timeout(),
        rules.ack_timeout() + difs,
        end + difs + rules.data(40, rules.control_rate),
    ];
    (select(moments), 0u32..8, prop_oneof![4 => Just(0i64), 1 => -1..=1i64], prop::bool::weighted(0.3))
        .prop_map(move |(moment, slots, off_by, at_random)| {
            let us = i64::from(moment + slots * rules.slot) + off_by;
            let us = us.max(0) as u64;
            if at_random { us * 7 % 5_000 } else { us }
        })
}
