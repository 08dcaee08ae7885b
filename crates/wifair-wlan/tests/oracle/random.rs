//! Random small scenarios, drawn so that rare coincidences are frequent.

use super::scenario::{Pattern, Scenario, Station, Stream};
use super::timing::{Category, Edca, Phy, Protection, Rules, Tenths};
use proptest::prelude::*;
use proptest::sample::select;

const DSSS_RATES: &[Tenths] = &[10, 20, 55, 110];
const OFDM_RATES: &[Tenths] = &[60, 90, 120, 180, 240, 360, 480, 540];

/// Scenarios of 1 to 8 stations; traffic is offered for 50 to 200 ms.
pub fn scenarios() -> impl Strategy<Value = Scenario> {
    rules().prop_flat_map(scenario)
}

/// The same with EDCA.
pub fn edca_scenarios() -> impl Strategy<Value = Scenario> {
    let rules = (rules(), edca()).prop_map(|(rules, edca)| Rules { edca: Some(edca), ..rules });
    rules.prop_flat_map(scenario)
}

fn scenario(rules: Rules) -> impl Strategy<Value = Scenario> {
    let stations = prop::collection::vec(station(rules), 1..=8);
    let streams = prop::collection::vec(stream(rules), 1..=12);
    let port = (1usize..30, any::<bool>());
    (any::<u64>(), stations, streams, port, 50_000u64..200_000).prop_map(
        move |(seed, stations, streams, port, offered_until)| Scenario {
            seed,
            rules,
            stations,
            streams,
            port_limit: port.0,
            limit_counts_in_service: port.1,
            offered_until,
        },
    )
}

fn edca() -> impl Strategy<Value = Edca> {
    let category = |least_aifsn: u32| {
        let windows = select(vec![(0, 0), (0, 7), (1, 3), (3, 7), (7, 15), (15, 63), (15, 1023), (31, 31)]);
        // TXOP limits around what a few short frames take, and long ones.
        let limit = prop_oneof![2 => Just(0u32), 1 => 100u32..4_000, 1 => Just(8_000)];
        let aifsn = prop_oneof![3 => least_aifsn..4, 1 => 4u32..10];
        (windows, aifsn, limit).prop_map(|(windows, aifsn, txop_limit)| Category {
            cw_min: windows.0,
            cw_max: windows.1,
            aifsn,
            txop_limit,
        })
    };
    let four = move |least| prop::array::uniform4(category(least));
    (four(1), four(2), any::<bool>(), prop::bool::weighted(0.3), prop::bool::weighted(0.7)).prop_map(
        |(ap, stations, alike, dcf_countdown, internal_collision_retry)| {
            let ap = if alike { stations } else { ap };
            Edca { ap, stations, dcf_countdown, internal_collision_retry }
        },
    )
}

fn rules() -> impl Strategy<Value = Rules> {
    let protection = (any::<bool>(), select(vec![96, 192]), select(DSSS_RATES))
        .prop_map(|(self_addressed, plcp, rate)| Protection { self_addressed, plcp, rate });
    let base = prop_oneof![
        Just(Rules::dot11b(true)),
        Just(Rules::dot11b(false)),
        Just(Rules::dot11g()),
        Just(Rules::dot11a()),
        protection.prop_map(|protection| Rules { protection: Some(protection), ..Rules::dot11g() }),
    ];
    let control_rate = (0usize..3).prop_map(|i| [[10, 20, 110], [60, 120, 240]].map(|rates| rates[i]));
    // Small windows collide often.
    let windows = select(vec![None, None, Some((1, 3)), Some((3, 7)), Some((7, 255)), Some((15, 15))]);
    let rts = prop_oneof![3 => Just(u32::MAX), 1 => Just(0), 2 => 40u32..1600];
    let limits = prop_oneof![Just((7, 4)), Just((7, 4)), Just((255, 255)), (1u32..5, 1u32..5)];
    let eifs = select(vec![(true, false), (true, false), (true, true), (false, false)]);
    // Longer than the standard's, as in ns-2, or much shorter.
    let timeout = || prop_oneof![3 => Just(None), 1 => Just(Some(20)), 2 => (0u32..320).prop_map(Some)];
    let flags = (prop::bool::weighted(0.3), prop::bool::weighted(0.3), prop::bool::weighted(0.3));
    (base, control_rate, windows, rts, limits, eifs, (timeout(), timeout()), flags).prop_map(
        |(base, control_rate, windows, rts, limits, eifs, timeouts, flags)| {
            let ofdm = matches!(base.phy, Phy::Ofdm { .. });
            let (cw_min, cw_max) = windows.unwrap_or((base.cw_min, base.cw_max));
            Rules {
                cw_min,
                cw_max,
                control_rate: control_rate[usize::from(ofdm)],
                rts_threshold_bytes: rts,
                short_limit: limits.0,
                long_limit: limits.1,
                eifs: eifs.0,
                eifs_plus_difs: eifs.1,
                // A timeout reaches past the SIFS and one slot after which the answer begins.
                ack_timeout: timeouts.0.map(|us: u32| us + base.sifs + base.slot),
                cts_timeout: timeouts.1.map(|us: u32| us + base.sifs + base.slot),
                exclusive_backoff: flags.0,
                immediate_access: !flags.1,
                backoff_within_ifs: flags.2,
                ..base
            }
        },
    )
}

fn rate(rules: Rules) -> impl Strategy<Value = Tenths> {
    select(if matches!(rules.phy, Phy::Ofdm { .. }) { OFDM_RATES } else { DSSS_RATES })
}

fn station(rules: Rules) -> impl Strategy<Value = Station> {
    let error = || prop_oneof![3 => Just(0.0), 1 => 0.01..0.5f64];
    (rate(rules), rate(rules), [error(), error(), error(), error()]).prop_map(|(up, down, errors)| Station {
        rate_up: up,
        rate_down: down,
        data_error_up: errors[0],
        data_error_down: errors[1],
        ack_error_up: errors[2],
        ack_error_down: errors[3],
    })
}

fn stream(rules: Rules) -> impl Strategy<Value = Stream> {
    let ip_bytes = prop_oneof![Just(40u32), Just(1500), 28u32..1500];
    (0usize..8, any::<bool>(), ip_bytes, 0usize..4, pattern(rules)).prop_map(
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
    prop_oneof![
        3 => regular.prop_map(|(first, gap, burst)| Pattern::Every { first, gap, burst }),
        3 => (300u64..30_000).prop_map(|mean| Pattern::Poisson { mean }),
        3 => (0usize..12, coincidence(rules)).prop_map(|(stream, delay)| Pattern::After { stream, delay }),
    ]
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
