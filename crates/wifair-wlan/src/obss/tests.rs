//! Several BSSs in one field, against one BSS and against closed forms.

use proptest::prelude::*;
use proptest::sample::select;
use wifair_core::{StationId, Time};
use wifair_queue::{Direction, Journal};

use super::Obss;
use crate::aggregation::{FirmwareSpec, HardwareSpec};
use crate::bss::Bss;
use crate::field::tests::{
    PacketAt, Trajectory, arrivals, arrive, beacons, by_tx_queue, cases, end_of_run, modern_plan, occupation,
    plan, plan_with_hardware, reception, spec, trajectory,
};
use crate::field::{EifsAfter, FieldSpec, PairGain};
use crate::mac::{MacSpec, WidthUse};
use crate::neighbours::{NeighbourSpec, ObssSpec};
use crate::phy::{Format, channel_numbers};
use crate::records::{StationUsage, Usage};
use crate::spec::{ApSpec, BssSpec, StationSpec};

/// What happens in each of several BSSs, at which these packets arrive.
fn trajectories(spec: &ObssSpec, seed: u64, arrivals: &[Vec<PacketAt>]) -> Vec<Trajectory> {
    let mut obss = Obss::new(spec, seed).unwrap();
    let journals: Vec<Journal> = arrivals.iter().map(|_| Journal::new()).collect();
    let mut starts = vec![Vec::new(); arrivals.len()];
    let (mut received, mut occupied) = (vec![Vec::new(); arrivals.len()], vec![Vec::new(); arrivals.len()]);
    for (bss, journal) in journals.iter().enumerate() {
        obss.turn(bss).keep_journal(journal);
    }
    let mut run = |obss: &mut Obss, limit: Time| {
        let mut began = |number: usize, bss: &Bss| {
            starts[number].extend(bss.transmissions().map(|ppdu| (ppdu.begins, ppdu.sender)));
        };
        while let Some((at, number, output)) = obss.advance_watched(limit, &mut began) {
            received[number].extend(reception(at, &output));
        }
    };
    let of_bss = |(bss, arrivals): (usize, _)| std::iter::repeat(bss).zip::<&Vec<PacketAt>>(arrivals);
    let mut all: Vec<(usize, &PacketAt)> = arrivals.iter().enumerate().flat_map(of_bss).collect();
    all.sort_by_key(|(_, (ns, ..))| *ns);
    for (bss, arrival) in all {
        let now = Time::from_ns(arrival.0);
        run(&mut obss, now);
        occupied[bss].push(occupation(&obss.snapshot(bss, now)));
        arrive(&mut obss.turn(bss), arrival);
    }
    let end = end_of_run(&spec.bss);
    run(&mut obss, end);
    let ends = (0..obss.count()).map(|bss| obss.snapshot(bss, end.min(Time::from_s(100))));
    let all = starts.into_iter().zip(received).zip(occupied).zip(&journals).zip(ends);
    all.map(|((((mut starts, received), occupied), journal), end)| {
        starts.sort_unstable();
        Trajectory { starts, received, occupied, queued: by_tx_queue(journal), end }
    })
    .collect()
}

/// Two or three BSSs with one to three stations each, of which everybody hears everybody equally well, and what arrives at
/// each.
fn neighbours() -> impl Strategy<Value = (ObssSpec, Vec<Vec<PacketAt>>)> {
    let spec = prop_oneof![plan(), modern_plan(), plan_with_hardware()];
    (spec, prop::collection::vec(1_usize..=3, 2..=3)).prop_flat_map(|((mut bss, _), sizes)| {
        let kinds = bss.stations.clone();
        let station = |(index, kind): (usize, &StationSpec)| StationSpec {
            label: format!("sta-{index}"),
            ..kind.clone()
        };
        let mut stations = kinds.iter().cycle().enumerate().map(station);
        let mut bsss = sizes.iter().map(|&size| stations.by_ref().take(size).collect::<Vec<_>>());
        bss.stations = bsss.next().unwrap();
        let neighbour = |(index, stations)| NeighbourSpec {
            label: format!("ap-{index}"),
            channel: None,
            width_mhz: None,
            primary: None,
            punctured: vec![],
            ap: bss.ap.clone(),
            stations,
        };
        let neighbours: Vec<_> = bsss.enumerate().map(neighbour).collect();
        let aps: Vec<_> = std::iter::once("ap").chain(neighbours.iter().map(|of| &*of.label)).collect();
        let pairs = (0..aps.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let gains = pairs.map(|(a, b)| PairGain { between: [aps[a].into(), aps[b].into()], gain_db: -60.0 });
        bss.field =
            Some(FieldSpec { eifs_after: EifsAfter::Energy, gains: gains.collect(), ..FieldSpec::default() });
        (
            Just(ObssSpec { bss, channel: None, primary: None, punctured: vec![], neighbours }),
            sizes.into_iter().map(arrivals).collect::<Vec<_>>(),
        )
    })
}

/// The stations of all BSSs in one, on the shared medium.
fn united(spec: &ObssSpec) -> BssSpec {
    let neighbours = spec.neighbours.iter().flat_map(|neighbour| neighbour.stations.clone());
    let stations = spec.bss.stations.iter().cloned().chain(neighbours).collect();
    let mac = MacSpec { width: WidthUse::Static, ..spec.bss.mac.clone() };
    BssSpec { field: None, mac, stations, ..spec.bss.clone() }
}

/// A copy in which each BSS is 10 km away from the one before.
fn apart(spec: &ObssSpec) -> ObssSpec {
    let mut spec = spec.clone();
    spec.bss.field = Some(FieldSpec::default());
    let place = |ap: &mut ApSpec, stations: &mut [StationSpec], x: f64| {
        ap.position_m = [x, 0.0];
        stations.iter_mut().for_each(|station| station.position_m = Some([x + 3.0, 0.0]));
    };
    place(&mut spec.bss.ap, &mut spec.bss.stations, 0.0);
    for (neighbour, number) in spec.neighbours.iter_mut().zip(1..) {
        place(&mut neighbour.ap, &mut neighbour.stations, 1e4 * f64::from(number));
    }
    spec
}

/// A copy in which no node of the first BSS receives one of its neighbour, nor the other way round.
fn hidden(spec: &ObssSpec) -> ObssSpec {
    let mut spec = spec.clone();
    let names = |ap: &str, stations: &[StationSpec]| {
        let stations = stations.iter().map(|station| station.label.clone());
        std::iter::once(ap.to_owned()).chain(stations).collect::<Vec<_>>()
    };
    let neighbour = &spec.neighbours[0];
    let others = names(&neighbour.label, &neighbour.stations);
    let own = names("ap", &spec.bss.stations);
    let pairs = own.iter().flat_map(|a| others.iter().map(|b| [a.clone(), b.clone()])).collect();
    let field = spec.bss.field.take();
    spec.bss.field = field.map(|field| FieldSpec { gains: vec![], hidden: pairs, ..field });
    (spec.channel, spec.neighbours[0].channel) = (None, None);
    spec
}

/// A copy with two BSSs, each on another channel.
fn on_two_channels(spec: &ObssSpec) -> ObssSpec {
    let mut spec = spec.clone();
    let width_mhz = spec.bss.phy.width_mhz("phy").unwrap();
    let numbers = channel_numbers(spec.bss.phy.band(), width_mhz);
    spec.neighbours.truncate(1);
    let field = spec.bss.field.as_mut().unwrap();
    field.gains.truncate(1); // that of the two access points
    spec.channel = numbers.first().copied();
    spec.neighbours[0].channel = numbers.last().copied();
    spec
}

/// As [`neighbours`], of 802.11ax or be. Nodes of different BSSs receive each other with these gains.
fn weak_neighbours() -> impl Strategy<Value = (ObssSpec, Vec<Vec<PacketAt>>)> {
    let modern = neighbours().prop_filter("no colours", |(spec, _)| spec.bss.phy.format() >= Format::He);
    (modern, prop::collection::vec(-100.0..-75.0_f64, 8)).prop_map(|((mut spec, arrivals), gains)| {
        let bsss: Vec<Vec<String>> = (spec.each())
            .map(|(ap, bss)| {
                let stations = bss.stations.iter().map(|station| station.label.clone());
                std::iter::once(ap.to_owned()).chain(stations).collect()
            })
            .collect();
        let mut gains = gains.into_iter().cycle();
        let mut all = Vec::new();
        for (a, b) in (0..bsss.len()).flat_map(|b| (0..b).map(move |a| (a, b))) {
            let pairs = bsss[a].iter().flat_map(|one| bsss[b].iter().map(move |other| [one, other]));
            all.extend(pairs.map(|pair| PairGain {
                between: pair.map(String::clone),
                gain_db: gains.next().expect("they repeat"),
            }));
        }
        spec.bss.field.as_mut().expect("it is a field").gains = all;
        (spec, arrivals)
    })
}

/// A copy in which each access point has these keys.
fn with_reuse(spec: &ObssSpec, bss_color: Option<u8>, obss_pd_dbm: Option<f64>) -> ObssSpec {
    let mut spec = spec.clone();
    for ap in std::iter::once(&mut spec.bss.ap).chain(spec.neighbours.iter_mut().map(|bss| &mut bss.ap)) {
        (ap.bss_color, ap.obss_pd_dbm) = (bss_color, obss_pd_dbm);
    }
    spec
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases() / 2))]

    /// No preamble below the least OBSS PD level is detected, and no PPDU of the colour of a node's BSS is ignored.
    #[test]
    fn the_least_level_and_one_colour_ignore_nothing((spec, arrivals) in weak_neighbours(), seed in any::<u64>()) {
        let without = trajectories(&spec, seed, &arrivals);
        prop_assert_eq!(&without, &trajectories(&with_reuse(&spec, None, Some(-82.0)), seed, &arrivals));
        prop_assert_eq!(&without, &trajectories(&with_reuse(&spec, Some(7), Some(-62.0)), seed, &arrivals));
        prop_assert_eq!(&without, &trajectories(&with_reuse(&spec, Some(7), None), seed, &arrivals));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// BSSs on two channels, which would hear each other on one, have the trajectories of BSSs that do not receive each other.
    #[test]
    fn neighbours_on_other_channels_change_nothing(
        (mut spec, arrivals) in neighbours(),
        beacons in prop::option::of(beacons()),
        seed in any::<u64>(),
    ) {
        spec.bss.mac.beacons = beacons;
        let spec = on_two_channels(&spec);
        let own = trajectories(&spec, seed, &arrivals[..2]);
        prop_assert_eq!(own, trajectories(&hidden(&spec), seed, &arrivals[..2]));
    }

    /// BSSs that do not receive each other: each has the trajectory that it has alone, or with another.
    #[test]
    fn neighbours_out_of_reach_change_nothing(
        (mut spec, arrivals) in neighbours(),
        beacons in prop::option::of(beacons()),
        seed in any::<u64>(),
    ) {
        spec.bss.mac.beacons = beacons;
        let spec = apart(&spec);
        let together = trajectories(&spec, seed, &arrivals);
        prop_assert_eq!(&together[0], &trajectory(&spec.bss, seed, &arrivals[0]));
        for (number, neighbour) in (1..).zip(&spec.neighbours) {
            let two = ObssSpec { neighbours: vec![neighbour.clone()], ..spec.clone() };
            let arrivals = [Vec::new(), arrivals[number].clone()];
            prop_assert_eq!(&together[number], &trajectories(&two, seed, &arrivals)[1]);
        }
    }

    /// BSSs that hear each other equally well, of whose access points only the first sends: their stations do what those of one
    /// BSS do on the shared medium.
    #[test]
    fn neighbours_in_reach_share_the_medium((spec, mut arrivals) in neighbours(), seed in any::<u64>()) {
        shares_the_medium(&spec, seed, &mut arrivals)?;
    }

    /// The same in a field with subchannels, whatever `mac.width` is, if all nodes have the width of the channel: a node
    /// decodes no data frame wider than it is, and on the shared medium it does.
    #[test]
    fn neighbours_in_reach_share_the_medium_in_subchannels(
        (spec, mut arrivals) in wide_neighbours(),
        seed in any::<u64>(),
    ) {
        shares_the_medium(&spec, seed, &mut arrivals)?;
    }

    /// BSSs with subchannels on two channels have the trajectories of BSSs without them that do not receive each other.
    #[test]
    fn neighbours_on_other_channels_change_nothing_in_subchannels(
        (spec, arrivals) in wide_neighbours(),
        seed in any::<u64>(),
    ) {
        let spec = on_two_channels(&spec);
        let own = trajectories(&spec, seed, &arrivals[..2]);
        prop_assert_eq!(own, trajectories(&hidden(&without_subchannels(&spec)), seed, &arrivals[..2]));
    }
}

/// As [`neighbours`], in a field with subchannels, with each use of width; all stations are as wide as the channel, and no node
/// forms PPDUs ahead.
fn wide_neighbours() -> impl Strategy<Value = (ObssSpec, Vec<Vec<PacketAt>>)> {
    let wide = neighbours().prop_filter("a channel or a station of 20 MHz", |(spec, _)| {
        let of_one_width = |(_, bss): (_, BssSpec)| bss.stations.iter().all(|station| station.phy.is_none());
        spec.bss.phy.width_mhz("phy").is_ok_and(|width_mhz| width_mhz > 20) && spec.each().all(of_one_width)
    });
    let any_use = select(vec![WidthUse::Static, WidthUse::Dynamic, WidthUse::Punctured]);
    (wide, any_use).prop_map(|((mut spec, arrivals), width)| {
        spec.bss.field.as_mut().expect("it is a field").subchannels = true;
        let is_wide = spec.bss.phy.width_mhz("phy").is_ok_and(|width_mhz| width_mhz >= 80);
        let may_puncture = is_wide && spec.bss.phy.format() == Format::Eht;
        spec.bss.mac.width =
            if width == WidthUse::Punctured && !may_puncture { WidthUse::Dynamic } else { width };
        form_at_access(&mut spec.bss.ap, &mut spec.bss.stations);
        for NeighbourSpec { ap, stations, .. } in &mut spec.neighbours {
            form_at_access(ap, stations);
        }
        (spec, arrivals)
    })
}

/// A firmware in place of `ath9k`.
fn form_at_access(ap: &mut ApSpec, stations: &mut [StationSpec]) {
    let of_stations = stations.iter_mut().map(|station| &mut station.hardware);
    for hardware in std::iter::once(&mut ap.hardware).chain(of_stations) {
        if matches!(hardware, HardwareSpec::Ath9k(_)) {
            *hardware = HardwareSpec::Firmware(FirmwareSpec::default());
        }
    }
}

/// A copy with the channel as a whole.
fn without_subchannels(spec: &ObssSpec) -> ObssSpec {
    let mut spec = spec.clone();
    spec.bss.field.as_mut().expect("it is a field").subchannels = false;
    spec.bss.mac.width = WidthUse::Static;
    spec
}

/// Fails unless BSSs, of whose access points only the first sends, do together what their stations do in one on the shared
/// medium.
fn shares_the_medium(
    spec: &ObssSpec,
    seed: u64,
    arrivals: &mut [Vec<PacketAt>],
) -> Result<(), TestCaseError> {
    arrivals[1..].iter_mut().for_each(|arrivals| arrivals.retain(|(_, from, ..)| *from > 0));
    let together = trajectories(spec, seed, arrivals);
    let bits = if spec.bss.mac.edca.is_some() { 2 } else { 0 };
    let (mut starts, mut received, mut usages, mut all) = (vec![], vec![], vec![], vec![]);
    let mut before = 0;
    for (own, arrivals) in together.iter().zip(&*arrivals) {
        let node = |local: usize| if local == 0 { 0 } else { local + before };
        let sender = |number: u32| ((node((number >> bits) as usize) as u32) << bits) + number % (1 << bits);
        starts.extend(own.starts.iter().map(|&(at, number)| (at, sender(number))));
        received.extend(own.received.iter().map(|&(at, from)| (at, node(from))));
        all.extend(arrivals.iter().map(|&(at, from, to, bytes)| (at, node(from), to, bytes)));
        usages.extend(own.end.stations.iter().map(without_airtime));
        before += own.end.stations.len();
    }
    starts.sort_unstable();
    received.sort_unstable();
    all.sort_by_key(|(at, ..)| *at);
    let mut one = trajectory(&united(spec), seed, &all);
    one.received.sort_unstable();
    prop_assert_eq!(starts, one.starts);
    prop_assert_eq!(received, one.received);
    prop_assert_eq!(usages, one.end.stations.iter().map(without_airtime).collect::<Vec<_>>());
    Ok(())
}

/// Without the times, which each BSS counts by itself.
fn without_airtime(usage: &StationUsage) -> StationUsage {
    let of = |usage: Usage| Usage { airtime: Time::ZERO, ..usage };
    StationUsage { up: of(usage.up), down: of(usage.down) }
}

/// BSSs of one station each, which has always something to send; only stations that `conflicts` names receive each other.
fn conflict_graph(bsss: usize, conflicts: &[(usize, usize)]) -> ObssSpec {
    const CW: u16 = 1_023;
    let ap = |bss: usize| if bss == 0 { "ap".to_string() } else { format!("ap-{bss}") };
    let station = |bss: usize| format!("sta-{bss}");
    let one = |bss: usize| {
        let mut own = StationSpec::new(station(bss), 6.0);
        own.tx_queue.limit_packets = 100_000;
        vec![own]
    };
    let mut first = spec(0, 6.0);
    first.stations = one(0);
    first.mac.eifs = false;
    first.mac.retry_limit_short = 1_000_000;
    first.phy =
        serde_json::from_value(serde_json::json!({"name": "802.11a", "cw_min": CW, "cw_max": CW})).unwrap();
    let pairs = || (0..bsss).flat_map(|b| (0..b).map(move |a| (a, b)));
    let of_aps = pairs().flat_map(|(a, b)| [[ap(a), ap(b)], [ap(a), station(b)], [station(a), ap(b)]]);
    let apart = pairs().filter(|pair| !conflicts.contains(pair)).map(|(a, b)| [station(a), station(b)]);
    first.field = Some(FieldSpec { hidden: of_aps.chain(apart).collect(), ..FieldSpec::default() });
    let neighbour = |bss| NeighbourSpec {
        label: ap(bss),
        channel: None,
        width_mhz: None,
        primary: None,
        punctured: vec![],
        ap: first.ap.clone(),
        stations: one(bss),
    };
    let neighbours = (1..bsss).map(neighbour).collect();
    ObssSpec { bss: first, channel: None, primary: None, punctured: vec![], neighbours }
}

/// Shares of the time that the exchanges of each BSS take, until there have been so many; and the duration of one, in units of
/// a DIFS and a mean backoff.
fn shares(spec: &ObssSpec, exchanges: usize) -> (Vec<f64>, f64) {
    const IP_BYTES: u32 = 4_000;
    let bsss = 1 + spec.neighbours.len();
    let mut obss = Obss::new(spec, 1).unwrap();
    for bss in 0..bsss {
        for _ in 0..exchanges.min(100_000) {
            arrive(&mut obss.turn(bss), &(0, 1, 0, IP_BYTES));
        }
    }
    let (mut counts, mut end) = (vec![0_usize; bsss], Time::ZERO);
    while counts.iter().sum::<usize>() < exchanges {
        let (now, bss, _) = obss.advance_watched(Time::MAX, |_, _| ()).unwrap();
        counts[bss] += 1;
        end = now;
    }
    let access = obss.turn(0).access(StationId(0), Direction::Up, IP_BYTES, 0);
    let exchange = access.one.airtime.as_secs_f64();
    let backoff = f64::from(access.backoffs[0] - 1) / 2.0 * access.slot.as_secs_f64();
    let share = |count| count as f64 * exchange / end.as_secs_f64();
    (counts.into_iter().map(share).collect(), exchange / (access.ifs.as_secs_f64() + backoff))
}

/// Boorstyn and others 1987: the share of a flow is the sum over the independent sets that contain it of θ^|S|, over the sum
/// over all.
fn product_form(bsss: usize, conflicts: &[(usize, usize)], theta: f64) -> Vec<f64> {
    let is_independent = |set: &u32| conflicts.iter().all(|(a, b)| set >> a & set >> b & 1 == 0);
    let sets: Vec<u32> = (0..1 << bsss).filter(is_independent).collect();
    let weight = |set: &u32| theta.powi(set.count_ones() as i32);
    let all: f64 = sets.iter().map(weight).sum();
    let with = |bss: usize| sets.iter().filter(|set| *set >> bss & 1 == 1).map(weight).sum::<f64>() / all;
    (0..bsss).map(with).collect()
}

#[test]
fn neighbours_have_the_shares_of_their_conflict_graph() {
    let line = |bsss: usize| (1..bsss).map(|b| (b - 1, b)).collect::<Vec<_>>();
    let ring = |bsss: usize| line(bsss).into_iter().chain([(0, bsss - 1)]).collect();
    let star = |bsss: usize| (1..bsss).map(|b| (0, b)).collect();
    let graphs = [
        ("line of 3", 3, line(3)),
        ("line of 4", 4, line(4)),
        ("line of 5", 5, line(5)),
        ("ring of 4", 4, ring(4)),
        ("ring of 5", 5, ring(5)),
        ("star of 4", 4, star(4)),
    ];
    for (name, bsss, conflicts) in graphs {
        let (measured, theta) = shares(&conflict_graph(bsss, &conflicts), 150_000);
        let expected = product_form(bsss, &conflicts, theta);
        println!("{name}, θ {theta:.3}: {measured:.4?}, product form {expected:.4?}");
        for (measured, expected) in measured.iter().zip(&expected) {
            assert!((measured / expected - 1.0).abs() < 0.02, "{name}: {measured} instead of {expected}");
        }
    }
}
