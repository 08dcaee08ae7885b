//! Random fields of 3 to 8 nodes, with powers around every threshold.

use super::{
    add_floods, change, controller, count_from_the_arrival, edca, floods, meet, modern, rules_of, stream,
    trigger,
};
use crate::oracle::field::FieldScenario;
use crate::oracle::field::powers::{Keys, Split, threshold_db};
use crate::oracle::frame::NodeId;
use crate::oracle::mode::{Generation, Mode};
use crate::oracle::scenario::{Change, Errors, Modes, Pattern, Scenario, Station, Stream, Trigger};
use crate::oracle::timing::{Aggregation, Beacons, Modern, Phy, Rules, Tenths};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::collections::BTreeSet;
use std::ops::Range;

/// 802.11a or 802.11g; two to seven stations that the AP can receive, and that can receive it.
pub fn field_scenarios() -> impl Strategy<Value = FieldScenario> {
    rules().prop_flat_map(scenarios)
}

/// The same with EDCA.
pub fn edca_field_scenarios() -> impl Strategy<Value = FieldScenario> {
    let rules =
        rules().prop_flat_map(|rules| edca(rules).prop_map(move |edca| Rules { edca: Some(edca), ..rules }));
    rules.prop_flat_map(scenarios)
}

/// With EDCA, or with two and three BSSs, whose CWmin is controlled.
pub fn controlled_field_scenarios() -> impl Strategy<Value = FieldScenario> {
    let any = prop_oneof![edca_field_scenarios().boxed(), neighbour_scenarios().boxed()];
    let any = any.prop_filter("no EDCA", |field| field.base.rules.edca.is_some());
    (any, controller(), floods()).prop_map(|(mut field, controller, floods)| {
        for bss in std::iter::once(&mut field.base).chain(&mut field.neighbours) {
            controller.control(&mut bss.rules);
            add_floods(bss, &floods);
        }
        field
    })
}

fn rules() -> impl Strategy<Value = Rules> {
    let rules = prop_oneof![Just(Rules::dot11a()), Just(Rules::dot11g())].prop_flat_map(rules_of);
    rules.prop_map(|rules| Rules { adaptation: None, colliders_wait_eifs: false, ..rules })
}

fn scenarios(rules: Rules) -> impl Strategy<Value = FieldScenario> {
    let keys = (3usize..=8).prop_flat_map(|nodes| keys(vec![nodes]));
    let streams = prop::collection::vec(stream(rules), 2..=12);
    let changes = prop_oneof![
        1 => Just(Vec::new()),
        1 => prop::collection::vec((trigger(rules), change(rules)), 1..8),
    ];
    let rates = prop::collection::vec(any::<[Index; 2]>(), 8);
    let tx_queue = (1usize..30, any::<bool>());
    let parts = (any::<u64>(), keys, streams, changes, rates, tx_queue, 20_000u64..60_000);
    parts.prop_filter_map("out of reach", move |(seed, keys, streams, changes, rates, tx_queue, until)| {
        let rules = Rules { polices: seed.is_multiple_of(3), ..rules };
        let base = scenario(rules, &keys, 0..keys.positions_m.len(), streams, changes, &rates)?;
        let base = Scenario {
            seed,
            tx_queue_limit: tx_queue.0,
            limit_counts_in_service: tx_queue.1,
            offered_until: until,
            ..base
        };
        Some(FieldScenario { base, neighbours: vec![], keys, flaw: None })
    })
}

/// With rates at which each station and the AP, which are these nodes, receive each other; none, if a station has none.
fn scenario(
    rules: Rules,
    keys: &Keys,
    nodes: Range<NodeId>,
    mut streams: Vec<Stream>,
    changes: Vec<(Trigger, Change)>,
    rates: &[[Index; 2]],
) -> Option<Scenario> {
    let ap = nodes.start;
    let in_reach: Vec<[Vec<Tenths>; 2]> = (ap + 1..nodes.end)
        .map(|station| [(station, ap), (ap, station)].map(|(from, to)| in_reach(keys, from, to, &rules)))
        .collect();
    if in_reach.iter().flatten().any(Vec::is_empty) {
        return None;
    }
    let stations: Vec<Station> = in_reach
        .iter()
        .zip(rates)
        .map(|([up, down], [of_up, of_down])| Station {
            rate_up: *of_up.get(up),
            rate_down: *of_down.get(down),
            ..Station::clean(60)
        })
        .collect();
    let near = |rates: &[Tenths], wanted: Tenths| rates[wanted as usize % rates.len()];
    let changes = changes.into_iter().filter_map(|(trigger, change)| match change {
        Change::Station { station, rate: Some(wanted), rate_down, .. } => {
            let [up, down] = &in_reach[station % in_reach.len()];
            let change = Change::Station {
                station,
                rate: Some(near(up, wanted)),
                rate_down: Some(near(down, rate_down.unwrap_or(wanted))),
                errors: None::<Errors>,
                track: None,
            };
            Some((trigger, change))
        }
        Change::ApLimit(_) => Some((trigger, change)),
        _ => None,
    });
    let changes = changes.collect();
    count_from_the_arrival(&mut streams, &stations, &rules);
    Some(Scenario {
        seed: 0,
        rules,
        stations,
        streams,
        changes,
        tx_queue_limit: 1,
        limit_counts_in_service: false,
        offered_until: 0,
    })
}

/// 802.11n to be, most with EDCA and so with A-MPDUs: three to six nodes. In half of them long A-MPDUs overlap in part.
pub fn modern_field_scenarios() -> impl Strategy<Value = FieldScenario> {
    (modern_rules().prop_flat_map(modern_scenarios), overlaps()).prop_map(|(scenario, overlaps)| {
        match overlaps {
            Some(overlaps) => overlaps.on(scenario),
            None => scenario,
        }
    })
}

fn modern_rules() -> impl Strategy<Value = Rules> {
    let rules = modern::rules().prop_filter("802.11b's receivers", |rules| rules.protection.is_none());
    let rules = rules.prop_flat_map(rules_of).prop_flat_map(modern::aggregation).prop_map(|mut rules| {
        (rules.adaptation, rules.colliders_wait_eifs) = (None, false);
        if let Some(aggregation) = &mut rules.aggregation {
            aggregation.delivers_mpdus = false;
        }
        rules
    });
    rules.prop_flat_map(|rules| {
        let table = edca(rules).prop_map(move |edca| Rules { edca: Some(edca), ..rules });
        if rules.aggregation.is_some() { table.boxed() } else { Just(rules).boxed() }
    })
}

fn modern_scenarios(rules: Rules) -> impl Strategy<Value = FieldScenario> {
    let modern = rules.modern.expect("rules of such a BSS");
    let keys = (3usize..=6).prop_flat_map(|nodes| keys(vec![nodes]));
    let kinds = prop::collection::vec(modern::kind(rules, modern), 5);
    let streams = prop::collection::vec(stream(rules), 2..=10);
    let tx_queue = (prop_oneof![1usize..30, 100usize..500], any::<bool>());
    let parts = (any::<u64>(), keys, kinds, streams, tx_queue, 10_000u64..40_000);
    parts.prop_filter_map("out of reach", move |(seed, keys, kinds, streams, tx_queue, until)| {
        let rules = Rules { polices: seed.is_multiple_of(3), ..rules };
        let stations = modern_stations(&keys, 0..keys.positions_m.len(), &kinds, &rules)?;
        let base = Scenario {
            seed,
            tx_queue_limit: tx_queue.0,
            limit_counts_in_service: tx_queue.1,
            offered_until: until,
            ..modern_scenario(rules, stations, streams)
        };
        Some(FieldScenario { base, neighbours: vec![], keys, flaw: None })
    })
}

fn modern_scenario(rules: Rules, stations: Vec<Station>, mut streams: Vec<Stream>) -> Scenario {
    count_from_the_arrival(&mut streams, &stations, &rules);
    Scenario {
        seed: 0,
        rules,
        stations,
        streams,
        changes: Vec::new(),
        tx_queue_limit: 1,
        limit_counts_in_service: false,
        offered_until: 0,
    }
}

/// Stations that are hidden from the first one, and bursts from all of them and to the first, where links aggregate in long
/// A-MPDUs, which so begin while another frame is on the air.
#[derive(Clone, Debug)]
struct Overlaps {
    highest_mcs: u32,
    /// To the first station, and from each: first, gap, packets, bytes of each.
    bursts: Vec<(u64, u64, u32, u32)>,
}

fn overlaps() -> impl Strategy<Value = Option<Overlaps>> {
    let bytes = prop_oneof![2 => Just(1500u32), 1 => 28u32..1500];
    let burst = (0u64..4_000, 4_000u64..20_000, 2u32..40, bytes);
    let overlaps = (1u32..7, prop::collection::vec(burst, 6))
        .prop_map(|(highest_mcs, bursts)| Overlaps { highest_mcs, bursts });
    prop::option::weighted(0.5, overlaps)
}

impl Overlaps {
    fn on(self, mut scenario: FieldScenario) -> FieldScenario {
        let FieldScenario { base, keys, .. } = &mut scenario;
        if let Some(aggregation) = &mut base.rules.aggregation {
            *aggregation = Aggregation {
                window: 64,
                max_mpdus: None,
                max_ampdu_bytes: 65_535,
                max_ppdu: 5_484 * base.rules.steps,
                ..*aggregation
            };
        }
        base.rules = modern::within_limits(Rules { rts_threshold_bytes: u32::MAX, ..base.rules });
        let slow =
            |mode: Mode| Mode { width_mhz: 20, streams: 1, ..mode }.with_mcs(mode.mcs.min(self.highest_mcs));
        for station in &mut base.stations {
            station.modes = station.modes.map(|Modes { up, down }| Modes { up: slow(up), down: slow(down) });
        }
        let hidden = (2..keys.positions_m.len()).map(|other| (1, other));
        keys.hidden.retain(|(a, _)| *a != 1);
        keys.hidden.extend(hidden);
        keys.gains.retain(|(a, ..)| *a != 1);
        let bursts = self.bursts.into_iter().take(1 + base.stations.len());
        base.streams.truncate(4);
        let category = if base.rules.edca.is_some() { 2 } else { 0 };
        base.streams.extend(bursts.enumerate().map(|(from, (first, gap, burst, ip_bytes))| Stream {
            station: from.saturating_sub(1),
            up: from > 0,
            ip_bytes,
            category,
            pattern: Pattern::Every { first, gap, burst },
        }));
        base.tx_queue_limit = base.tx_queue_limit.max(60);
        scenario
    }
}

/// Stations with the highest MCSs, up to those drawn, at which they and the AP, which are these nodes, receive each other;
/// none, if one has none.
fn modern_stations(
    keys: &Keys,
    nodes: Range<NodeId>,
    kinds: &[modern::Kind],
    rules: &Rules,
) -> Option<Vec<Station>> {
    let ap = nodes.start;
    let station = |(id, kind): (NodeId, &modern::Kind)| {
        let back = |from, to| keys.reaches(to, from, None, rules.lowest_mandatory_rate);
        let mut station = kind.of(Station::clean(60));
        let Some(Modes { up, down }) = station.modes else {
            let reach = |from, to| keys.reaches(from, to, None, 60) && back(from, to);
            return (reach(id, ap) && reach(ap, id)).then_some(station);
        };
        let highest = |mode: Mode, from, to| {
            let all = (0..=mode.mcs).rev().map(|mcs| mode.with_mcs(mcs));
            all.into_iter().find(|&mode| keys.reaches(from, to, Some(mode), 60) && back(from, to))
        };
        station.modes = Some(Modes { up: highest(up, id, ap)?, down: highest(down, ap, id)? });
        Some(station)
    };
    (ap + 1..nodes.end).zip(kinds).map(station).collect()
}

/// The nodes of BSSs with these numbers of nodes.
fn ranges(sizes: &[usize]) -> impl Iterator<Item = Range<NodeId>> {
    let ends = sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    ends.zip(sizes).map(|(end, size)| end - size..end)
}

/// Two and three BSSs, 4 to 9 nodes in all: 802.11a and 802.11g with DCF or EDCA, and 802.11n to be.
pub fn neighbour_scenarios() -> impl Strategy<Value = FieldScenario> {
    let with_edca =
        rules().prop_flat_map(|rules| edca(rules).prop_map(move |edca| Rules { edca: Some(edca), ..rules }));
    prop_oneof![rules().boxed(), with_edca.boxed(), modern_rules().boxed()].prop_flat_map(neighbours)
}

/// A field with beacons that all stations of a BSS receive, at whose target times packets often come.
fn with_beacons(fields: impl Strategy<Value = FieldScenario>) -> impl Strategy<Value = FieldScenario> {
    let interval_tu = prop_oneof![3 => 1u32..6, 1 => 6u32..20];
    let bytes = prop_oneof![1 => Just(300u32), 1 => 70u32..200, 1 => 70u32..=2_332];
    let meeting = (1u64..4, 0u64..4, 1u64..4, prop_oneof![4 => Just(0u64), 1 => 1..60u64]);
    let meetings = prop::collection::vec(prop::option::weighted(0.6, meeting), 12);
    let parts = (fields, interval_tu, bytes, prop::option::of(any::<Index>()), meetings);
    parts.prop_filter_map("out of reach", |(mut field, interval_tu, bytes, rate, meetings)| {
        let (homes, keys) = (field.homes(), Keys { homes: field.homes(), ..field.keys.clone() });
        let ap = |bss| homes.iter().position(|home| *home == (bss, 0)).expect("it has an access point");
        let reach = |rate| {
            let mut stations = (0..homes.len()).filter(|&node| homes[node].1 > 0);
            stations.all(|node| keys.reaches_in(ap(homes[node].0), node, None, rate, 20))
        };
        let rules = field.base.rules;
        let rates: Vec<Tenths> =
            Rules::dot11a().rates().iter().copied().filter(|&rate| reach(rate)).collect();
        if !reach(rules.lowest_form().rate) || rates.is_empty() {
            return None;
        }
        let beacons = Beacons { interval_tu, bytes, rate: rate.map(|rate| *rate.get(&rates)) };
        for bss in std::iter::once(&mut field.base).chain(&mut field.neighbours) {
            bss.rules.beacons = Some(beacons);
            meet(bss, &meetings);
        }
        Some(field)
    })
}

/// One BSS with beacons, under DCF, EDCA and from 802.11n on.
pub fn beacon_field_scenarios() -> impl Strategy<Value = FieldScenario> {
    let fields = prop_oneof![
        field_scenarios().boxed(),
        edca_field_scenarios().boxed(),
        modern_field_scenarios().boxed(),
    ];
    with_beacons(fields)
}

/// Two and three BSSs with beacons, some with OBSS PD or with channels that overlap in part.
pub fn beacon_neighbour_scenarios() -> impl Strategy<Value = FieldScenario> {
    let fields = prop_oneof![
        2 => neighbour_scenarios().boxed(),
        1 => reuse_scenarios().boxed(),
        1 => subchannel_scenarios().boxed(),
    ];
    with_beacons(fields)
}

/// One BSS, or two and three, whose nodes have positions: with shadowing.
pub fn shadowed_scenarios() -> impl Strategy<Value = FieldScenario> {
    let any = prop_oneof![field_scenarios().boxed(), neighbour_scenarios().boxed()];
    let any = any.prop_filter("no positions", |field| {
        field.keys.gains.is_empty() && field.keys.positions_m.iter().flatten().count() > 2
    });
    (any, 1.0..12.0f64).prop_map(|(mut field, shadowing_db)| {
        field.keys.shadowing_db = shadowing_db;
        field
    })
}

/// Two and three BSSs of 802.11ax and be with colours and OBSS PD levels, which overlap in part: their access points and the
/// stations of others receive each other around the levels.
pub fn reuse_scenarios() -> impl Strategy<Value = FieldScenario> {
    let rules = modern_rules().prop_filter("no colours", |rules| {
        rules.modern.is_some_and(|modern| modern.generation >= Generation::He)
    });
    let colour = prop_oneof![2 => Just(None), 1 => (1u8..3).prop_map(Some)];
    let level = prop_oneof![
        3 => Just(Some(-62.0)),
        2 => (-82.0..=-62.0f64).prop_map(Some),
        1 => Just(Some(-65.0)),
        1 => Just(None),
    ];
    let nears = prop::collection::vec(
        (any::<bool>(), prop_oneof![select(vec![-65.0, -68.01, -71.0, -78.0]), -81.0..-62.0f64,]),
        40,
    );
    (rules.prop_flat_map(neighbours), prop::collection::vec((colour, level), 3), nears).prop_map(
        |(mut field, mut reuse, nears)| {
            reuse.truncate(1 + field.neighbours.len());
            let (homes, keys) = (field.homes(), &mut field.keys);
            keys.reuse = reuse;
            keys.channels.clear();
            let nodes = homes.len();
            let pairs = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
            let others = pairs.filter(|&(a, b)| homes[a].0 != homes[b].0);
            for ((a, b), (is_near, dbm)) in others.zip(nears) {
                if is_near {
                    keys.hidden.retain(|&pair| pair != (a, b));
                    keys.gains.retain(|&(c, d, _)| (c, d) != (a, b));
                    keys.gains.push((a, b, dbm - keys.tx_power_dbm));
                }
            }
            field
        },
    )
}

/// A BSS in a channel that several share: how wide it is, which part of that channel it has, and which part of its own is its
/// primary channel.
type Place = (Index, Index, Option<Index>);

/// Two and three BSSs of 802.11n to be whose channels overlap in part, differ in their primary channels, or have channels of
/// 20 MHz because the table says so. Nodes receive each other around the thresholds of primary and secondary channels.
pub fn subchannel_scenarios() -> impl Strategy<Value = FieldScenario> {
    let rules = |wide_eht: bool| {
        modern_rules().prop_filter("one channel of 20 MHz", move |rules| {
            let is_wide_eht = |modern: Modern| modern.generation == Generation::Eht && modern.width_mhz >= 80;
            rules.modern.is_some_and(|modern| modern.width_mhz > 20 && (is_wide_eht(modern) || !wide_eht))
        })
    };
    let rules = prop_oneof![2 => rules(false).boxed(), 1 => rules(true).boxed()];
    let place = (any::<Index>(), any::<Index>(), prop::option::weighted(0.7, any::<Index>()));
    let level = select(vec![-53.0, -56.0, -59.0, -62.0, -62.0, -66.0, -69.0, -72.0, -72.0, -75.0, -82.0]);
    let near = (prop::bool::weighted(0.8), level, select(vec![0.0, 3.02, 6.03, 9.04]), -0.02..0.02f64);
    let flags = (
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.25),
        prop::bool::weighted(0.8),
    );
    let thresholds = prop_oneof![3 => Just(-72.0), 1 => -85.0..-55.0f64];
    let parts = (
        rules.prop_flat_map(neighbours),
        prop::collection::vec(place, 3),
        prop::collection::vec(near, 40),
        flags,
        thresholds,
        prop::collection::vec(prop::option::weighted(0.7, -75.0..=-62.0f64), 3),
        narrowing(),
        prop::collection::vec(prop::option::weighted(0.3, any::<Index>()), 3),
    );
    parts.prop_filter_map("out of reach", |parts| {
        let (field, places, nears, flags, threshold, levels, narrowing, never) = parts;
        let (is_dynamic, is_said, reuses, punctures) = flags;
        let mut field = field;
        let homes = field.homes();
        let widest = field.base.rules.modern.expect("rules of such a BSS");
        let bsss = 1 + field.neighbours.len();
        let punctures = punctures && widest.generation == Generation::Eht && widest.width_mhz >= 80;
        // One BSS has all, and others a few channels of 20 MHz of it.
        let widths = |bss: usize| match (punctures, bss) {
            (true, 0) => vec![widest.width_mhz],
            (true, _) => vec![20, 20, 40, 40, 80],
            (false, _) => [20, 40, 80, 160, 320].into_iter().filter(|&w| w <= widest.width_mhz).collect(),
        };
        let mut split = Split {
            bsss: (0..bsss).map(|bss| place_of(places[bss], &widest, &widths(bss))).collect(),
            never: vec![vec![]; bsss],
            is_said,
            is_dynamic: is_dynamic || punctures || narrowing.is_some(),
            is_punctured: false,
            secondary_detection_dbm: threshold,
        };
        for (bss, cell) in field.bsss().enumerate() {
            let (width_mhz, is_eht) = (split.bsss[bss].1, cell.stations.iter().all(is_eht));
            let patterns = split.patterns(bss, width_mhz, None);
            if let (Some(one), false, true) = (&never[bss], patterns.is_empty(), is_eht) {
                let used = one.get(&patterns);
                split.never[bss] = split.channel(bss).into_iter().filter(|one| !used.contains(one)).collect();
            }
        }
        let overlap = |a: usize, b: usize| split.channel(a).iter().any(|of| split.channel(b).contains(of));
        let alike = |a: usize, b: usize| {
            split.channel(a) == split.channel(b) && split.primary(a, 20) == split.primary(b, 20)
        };
        let differ = (0..bsss).any(|a| (0..a).any(|b| overlap(a, b) && !alike(a, b)));
        let is_wide = split.bsss.iter().any(|of| of.1 > 20);
        let any_never = split.never.iter().any(|never| !never.is_empty());
        if !is_wide || !(differ || is_said || any_never) {
            return None;
        }
        let keys = &mut field.keys;
        keys.channels.clear();
        (keys.homes, keys.split) = (homes.clone(), Some(split.clone()));
        if reuses && widest.generation >= Generation::He {
            keys.reuse = levels[..bsss].iter().map(|level| (None, *level)).collect();
        }
        let nodes = homes.len();
        let pairs = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
        let others = pairs.filter(|&(a, b)| homes[a].0 != homes[b].0);
        for ((a, b), (is_near, dbm, more, off)) in others.zip(nears) {
            if is_near {
                keys.hidden.retain(|&pair| pair != (a, b));
                keys.gains.retain(|&(c, d, _)| (c, d) != (a, b));
                keys.gains.push((a, b, (dbm + more + off - keys.tx_power_dbm).min(0.0)));
            }
        }
        let keys = field.keys.clone();
        let all = std::iter::once(&mut field.base).chain(&mut field.neighbours);
        for (bss, scenario) in all.enumerate() {
            let ap = homes.iter().position(|home| *home == (bss, 0)).expect("it has an access point");
            within(scenario, split.bsss[bss].1, ap, &keys)?;
        }
        let is_wide_eht = |station: &Station| {
            let up = station.modes.map(|modes| modes.up);
            up.is_some_and(|up| up.generation == Generation::Eht && up.width_mhz >= 80)
        };
        split.is_punctured = punctures && field.bsss().any(|bss| bss.stations.iter().any(is_wide_eht));
        field.keys.split = Some(split);
        if let Some(narrowing) = narrowing {
            narrowing.on(&mut field);
        }
        Some(field)
    })
}

/// Every exchange begins with an RTS, width is dynamic, and nodes of other BSSs that one end of a link receives are hidden from
/// its other end: the addressee finds channels busy that the sender found idle. Long A-MPDUs do not fit what is left.
#[derive(Clone, Debug)]
struct Narrowing {
    /// Pairs of nodes of different BSSs in turn: whether they are hidden from each other.
    hidden: Vec<bool>,
    /// Links in turn: first, gap, packets, bytes of each.
    bursts: Vec<(u64, u64, u32, u32)>,
}

fn narrowing() -> impl Strategy<Value = Option<Narrowing>> {
    let bytes = prop_oneof![2 => Just(1500u32), 1 => 28u32..1500];
    let burst = (0u64..4_000, 2_000u64..20_000, 2u32..60, bytes);
    let narrowing = (prop::collection::vec(any::<bool>(), 40), prop::collection::vec(burst, 12))
        .prop_map(|(hidden, bursts)| Narrowing { hidden, bursts });
    prop::option::weighted(0.4, narrowing)
}

impl Narrowing {
    fn on(self, field: &mut FieldScenario) {
        let homes = field.homes();
        let pairs = (0..homes.len()).flat_map(|a| (a + 1..homes.len()).map(move |b| (a, b)));
        let others = pairs.filter(|&(a, b)| homes[a].0 != homes[b].0);
        for ((a, b), is_hidden) in others.zip(self.hidden) {
            if is_hidden && !field.keys.hidden.contains(&(a, b)) {
                field.keys.gains.retain(|&(c, d, _)| (c, d) != (a, b));
                field.keys.hidden.push((a, b));
            }
        }
        let mut bursts = self.bursts.into_iter();
        for bss in std::iter::once(&mut field.base).chain(&mut field.neighbours) {
            bss.rules.rts_threshold_bytes = 0;
            if let Some(aggregation) = &mut bss.rules.aggregation {
                (aggregation.max_mpdus, aggregation.max_ppdu) = (None, 5_484 * bss.rules.steps);
                (aggregation.window, aggregation.max_ampdu_bytes) = (64, 65_535);
            }
            bss.rules = modern::within_limits(bss.rules);
            bss.streams.truncate(3);
            let links = (0..bss.stations.len()).flat_map(|station| [(station, false), (station, true)]);
            let category = if bss.rules.edca.is_some() { 2 } else { 0 };
            let streams = links.zip(&mut bursts).map(|((station, up), (first, gap, burst, ip_bytes))| {
                let pattern = Pattern::Every { first, gap, burst };
                Stream { station, up, ip_bytes, category, pattern }
            });
            bss.streams.extend(streams);
            bss.tx_queue_limit = bss.tx_queue_limit.max(60);
        }
    }
}

/// Whether all frames of a station have modes of 802.11be.
fn is_eht(station: &Station) -> bool {
    let is_eht = |modes: Modes| [modes.up, modes.down].iter().all(|mode| mode.generation == Generation::Eht);
    station.modes.is_some_and(is_eht)
}

/// Number and width, one of these, of the channel of a BSS, and the number of its primary channel.
fn place_of(
    (width, part, primary): Place,
    widest: &Modern,
    widths_mhz: &[u32],
) -> (Option<u16>, u32, Option<u16>) {
    let lowest = match widest.band_ghz {
        low if low < 5.0 => 1,
        low if low < 5.5 => 36,
        _ => 1,
    };
    let all: Vec<u16> = (0..widest.width_mhz as u16 / 20).map(|i| lowest + 4 * i).collect();
    let width_mhz = *width.get(widths_mhz);
    let parts: Vec<&[u16]> = all.chunks(width_mhz as usize / 20).collect();
    let own = *part.get(&parts);
    let number = (own[0] + own[own.len() - 1]) / 2;
    (Some(number), width_mhz, primary.map(|primary| *primary.get(own)))
}

/// The stations of a BSS of that width have modes up to it at which they and the AP receive each other; none, if one has none.
fn within(scenario: &mut Scenario, width_mhz: u32, ap: NodeId, keys: &Keys) -> Option<()> {
    if let Some(modern) = &mut scenario.rules.modern {
        modern.width_mhz = width_mhz;
    }
    if let Some(aggregation) = &mut scenario.rules.aggregation {
        aggregation.tries = 1;
    }
    let lowest = scenario.rules.lowest_mandatory_rate;
    for (index, station) in scenario.stations.iter_mut().enumerate() {
        let id = ap + 1 + index;
        let back = |from, to, width_mhz| keys.reaches_in(to, from, None, lowest, width_mhz);
        let Some(Modes { up, down }) = station.modes else {
            let reach = |from, to| keys.reaches_in(from, to, None, 60, 20) && back(from, to, 20);
            if !(reach(id, ap) && reach(ap, id)) {
                return None;
            }
            continue;
        };
        let highest = |mode: Mode, from, to| {
            let narrow = Mode { width_mhz: mode.width_mhz.min(width_mhz), ..mode };
            let all = (0..=mode.mcs).rev().map(|mcs| narrow.with_mcs(mcs));
            all.into_iter()
                .find(|&mode| keys.reaches(from, to, Some(mode), 60) && back(from, to, mode.width_mhz))
        };
        station.modes = Some(Modes { up: highest(up, id, ap)?, down: highest(down, ap, id)? });
    }
    Some(())
}

/// What is drawn for a BSS.
type Drawn = (Vec<modern::Kind>, Vec<Stream>, Vec<[Index; 2]>, usize, bool);

fn neighbours(rules: Rules) -> impl Strategy<Value = FieldScenario> {
    let sizes = prop_oneof![prop::collection::vec(2usize..=4, 2), prop::collection::vec(2usize..=3, 3)];
    let kinds = match rules.modern {
        Some(modern) => prop::collection::vec(modern::kind(rules, modern), 3).boxed(),
        None => Just(vec![]).boxed(),
    };
    let rates = prop::collection::vec(any::<[Index; 2]>(), 3);
    let bss = (kinds, prop::collection::vec(stream(rules), 1..=6), rates, 1usize..40, any::<bool>());
    let with_keys = sizes.prop_flat_map(|sizes| (Just(sizes.clone()), keys(sizes)));
    let channels = prop::option::weighted(0.25, prop::array::uniform3(0usize..2));
    let parts = (any::<u64>(), with_keys, channels, prop::collection::vec(bss, 3), 10_000u64..40_000);
    parts.prop_filter_map("out of reach", move |(seed, (sizes, mut keys), channels, drawn, until)| {
        if let Some(channels) = channels {
            let two = two_channels(&rules);
            let of_bss = sizes.iter().zip(channels);
            keys.channels = of_bss.flat_map(|(&size, which)| std::iter::repeat_n(two[which], size)).collect();
        }
        let rules = Rules { polices: seed.is_multiple_of(3), ..rules };
        let bss = |(nodes, (kinds, streams, rates, tx_queue_limit, counts)): (_, Drawn)| {
            let base = match rules.modern {
                None => scenario(rules, &keys, nodes, streams, vec![], &rates)?,
                Some(_) => modern_scenario(rules, modern_stations(&keys, nodes, &kinds, &rules)?, streams),
            };
            Some(Scenario {
                seed,
                tx_queue_limit,
                limit_counts_in_service: counts,
                offered_until: until,
                ..base
            })
        };
        let mut bsss = ranges(&sizes).zip(drawn).map(bss).collect::<Option<Vec<_>>>()?;
        let base = bsss.remove(0);
        Some(FieldScenario { base, neighbours: bsss, keys: keys.clone(), flaw: None })
    })
}

/// Two channels of the band and the width that do not overlap.
fn two_channels(rules: &Rules) -> [u16; 2] {
    let of_older = if matches!(rules.phy, Phy::Ofdm { extension: 6 }) { 2.4 } else { 5.0 };
    let (band_ghz, width_mhz) =
        rules.modern.map_or((of_older, 20), |modern| (modern.band_ghz, modern.width_mhz));
    match (band_ghz, width_mhz) {
        (2.4, 20) => [1, 6],
        (2.4, _) => [3, 11],
        (5.0, 20) => [36, 149],
        (5.0, 40) => [46, 54],
        (5.0, 80) => [42, 155],
        (5.0, _) => [50, 163],
        (_, 20) => [1, 233],
        (_, 40) => [3, 11],
        (_, 80) => [7, 23],
        (_, 160) => [15, 207],
        _ => [31, 95],
    }
}

/// Rates at which `to` receives `from`, which receives its responses at the lowest.
fn in_reach(keys: &Keys, from: NodeId, to: NodeId, rules: &Rules) -> Vec<Tenths> {
    let rates = rules.rates().iter().copied();
    rates.filter(|&rate| keys.reaches(from, to, None, rate) && keys.reaches(to, from, None, 60)).collect()
}

/// For BSSs with these numbers of nodes.
fn keys(sizes: Vec<usize>) -> impl Strategy<Value = Keys> {
    let nodes: usize = sizes.iter().sum();
    let ap_of: Vec<NodeId> =
        ranges(&sizes).flat_map(|range| std::iter::repeat_n(range.start, range.len())).collect();
    let pairs = nodes * (nodes - 1) / 2;
    let thresholds = (
        select(vec![-93.6, -90.0, -97.0]),
        prop_oneof![3 => Just(-82.0), 1 => -92.0..-60.0f64],
        prop_oneof![3 => Just(-62.0), 1 => -85.0..-40.0f64],
        prop_oneof![2 => Just(-100.0), 1 => Just(-80.0), 1 => Just(-70.0)],
    );
    let powers = (
        prop::collection::vec(prop::option::weighted(0.3, select(vec![12.0, 18.0, 20.0, 23.0])), nodes),
        any::<bool>(),
    );
    let places = prop_oneof![
        3 => Just(None),
        1 => (prop::collection::vec(prop::option::weighted(0.9, prop::array::uniform2(-45.0..45.0f64)), nodes), 2.5..4.0f64, house(nodes))
            .prop_map(Some),
    ];
    let of_pairs = (
        prop::collection::vec((any::<Index>(), any::<Index>(), select(vec![-0.02, 0.0, 0.02])), pairs),
        // How near: at the thresholds of the AP's links, or all far above them.
        any::<[bool; 2]>(),
    );
    (thresholds, powers, places, of_pairs, any::<bool>()).prop_map(
        move |(thresholds, (own, has_own), places, (pairs, [strong, hides]), energy)| {
            let (noise_dbm, preamble_detection_dbm, energy_detection_dbm, floor_dbm) = thresholds;
            let mut keys = Keys {
                own_tx_power_dbm: if has_own { own } else { vec![None; nodes] },
                floor_dbm,
                preamble_detection_dbm,
                energy_detection_dbm,
                noise_dbm,
                eifs_after_energy: energy,
                ..Keys::equal(nodes)
            };
            let aps = ap_of.iter().copied().collect::<BTreeSet<_>>();
            let place = |ap: NodeId| Some([3.0 + 7.0 * ap as f64, -1.0]);
            if let Some((places, exponent, house)) = places {
                (keys.breakpoint_m, keys.walls, keys.floors, keys.floor_of) = house;
                keys.path_loss_exponent = exponent;
                keys.positions_m = places;
                aps.iter().for_each(|&ap| keys.positions_m[ap] = place(ap));
                return keys;
            }
            aps.iter().skip(1).for_each(|&ap| keys.positions_m[ap] = place(ap));
            let all = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
            for ((a, b), (kind, which, off)) in all.zip(&pairs) {
                let is_link = ap_of[b] == a;
                let candidates = match is_link {
                    true if strong => vec![-40.0, -45.0, -50.0, -55.0],
                    true => of_links(&keys),
                    false => of_others(&keys, &aps),
                };
                let dbm = which.get(&candidates) + off;
                match kind.index(8) {
                    0 | 1 if !is_link && hides => keys.hidden.push((a, b)),
                    2 => {} // `gain_db`
                    _ => keys.gains.push((a, b, (dbm - keys.tx_power_dbm).clamp(-300.0, 0.0))),
                }
            }
            keys
        },
    )
}

/// Breakpoint, walls, floors, and the floor of each node.
type House = (Option<f64>, Vec<([f64; 2], [f64; 2], f64)>, Option<(f64, f64)>, Vec<i32>);

/// Of so many nodes.
fn house(nodes: usize) -> impl Strategy<Value = House> {
    let end = || prop::array::uniform2(-45.0..45.0f64);
    let walls = prop::collection::vec((end(), end(), 0.0..12.0f64), 0..5);
    let floors = prop::option::of((2.5..6.0f64, 0.0..20.0f64, prop::collection::vec(-1..3i32, nodes)));
    (prop::option::of(1.0..20.0f64), walls, floors).prop_map(
        move |(breakpoint_m, walls, floors)| match floors {
            Some((height_m, loss_db, floor_of)) => (breakpoint_m, walls, Some((height_m, loss_db)), floor_of),
            None => (breakpoint_m, walls, None, vec![0; nodes]),
        },
    )
}

/// Received powers, in dBm, around the thresholds of rates.
fn of_links(keys: &Keys) -> Vec<f64> {
    let rates = [60, 90, 120, 180, 240, 360, 480, 540];
    let noise = keys.noise_dbm - 0.4;
    rates.iter().map(|rate| noise + threshold_db(*rate) + 0.1).chain([-70.0, -60.0, -50.0]).collect()
}

/// Received powers of stations at stations, in dBm, around the thresholds of CCA and those of what APs send there.
fn of_others(keys: &Keys, aps: &BTreeSet<NodeId>) -> Vec<f64> {
    let (pd, ed) = (keys.preamble_detection_dbm, keys.energy_detection_dbm);
    let mut all = vec![pd, ed, ed - 3.0, ed - 4.8, pd - 5.0, keys.floor_dbm, -40.0, -55.0];
    for (_, _, gain) in keys.gains.iter().filter(|(a, ..)| aps.contains(a)) {
        let signal = keys.tx_power_dbm + gain;
        all.extend([4.0, 7.0, 12.0, 21.0].map(|threshold| signal - threshold));
        all.push(signal - 24.0); // two of them are 21 dB below
        all.push(signal + 4.0);
    }
    all
}
