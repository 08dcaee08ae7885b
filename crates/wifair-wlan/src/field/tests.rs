//! The field against the shared medium, and against closed forms.

#[path = "../../tests/support/packets.rs"]
mod packets;

use std::collections::VecDeque;

use proptest::prelude::*;
use wifair_core::{ConnectionId, Packet, Rng, StationId, Time};
use wifair_queue::{Journal, JournalEntry, TxQueueEvent};

use packets::packet;

use super::reuse::SpatialReuse;
use super::{EifsAfter, Field, FieldEvent, FieldRules, FieldSpec, LinkWidth, Outgoing, Power, Surroundings};
use crate::aggregation::HardwareSpec;
use crate::beacons::{BeaconsSpec, TU};
use crate::bss::{Bss, Output};
use crate::contention::{Access, ArrivalWithinIfs, BackoffRange, ContentionRules};
use crate::edca::{Categories, CategorySpec, Classify, Countdown, EdcaSpec, ShareTxQueue};
use crate::mac::Mac;
use crate::node::{EdcafId, Node, Numbering};
use crate::phy::timing::BssTiming;
use crate::phy::{Modes, PhySpec, StationPhy};
use crate::ppdu::Ppdu;
use crate::records::{BssSnapshot, Usage};
use crate::spec::{BssSpec, StationSpec};

/// Power at which the nodes of these tests hear each other: 53 dB above the noise.
const LOUD_DBM: f64 = -40.0;
const NOISE_DBM: f64 = -93.6;

/// A packet in a queue of [`FieldRun`].
#[derive(Clone, Copy)]
struct Queued {
    to: usize,
    ip_bytes: u32,
}

/// A field whose nodes have a queue of packets each.
struct FieldRun {
    field: Field,
    phy: BssTiming,
    mac: Mac,
    modes: Modes,
    mbps: f64,
    queues: Vec<VecDeque<Queued>>,
    /// By node: failures without and with a CTS of the packet in service.
    retries: Vec<[u32; 2]>,
    events: Vec<FieldEvent>,
    starts: Vec<(Time, usize)>,
    received: Vec<(Time, usize)>,
    lost: u32,
}

impl FieldRun {
    /// As `spec` has it, with `rows` in place of "everybody hears everybody" and these bounds of CW, if given.
    fn new(spec: &BssSpec, seed: u64, labels: &[String], rows: Vec<Vec<(usize, Power)>>) -> FieldRun {
        let mbps = spec.stations[0].rate_mbps.unwrap();
        let phy = BssTiming::with(&spec.phy, false, "phy").unwrap();
        let mac = Mac::new(&spec.mac, &phy, "mac").unwrap();
        let modes = spec.phy.modes(&StationPhy::default(), "phy").unwrap();
        let modes = modes.map(|on_air| phy.in_bss(on_air, mac.rts_threshold));
        let contention = ContentionRules {
            slot: phy.slot,
            range: spec.mac.backoff_range,
            immediate_access: spec.mac.immediate_access,
            arrival_within_ifs: spec.mac.arrival_within_ifs,
            at_boundaries: false,
        };
        let spec = FieldSpec { eifs_after: EifsAfter::Energy, ..FieldSpec::default() };
        let rules = FieldRules::new(&spec, contention, &phy, &mac, NOISE_DBM);
        let access = Access { cw_min: phy.cw_min, cw_max: phy.cw_max, aifs: phy.difs };
        let contenders = labels.iter().map(|label| (access, Rng::stream(seed, label, "backoff")));
        FieldRun {
            field: Field::new(
                rules,
                Numbering::DCF,
                phy.clone(),
                &mac,
                contenders,
                Surroundings {
                    rows,
                    bss_of: vec![0; labels.len()],
                    reuse: SpatialReuse::default(),
                    channels: None,
                    beacons: vec![],
                },
            ),
            phy,
            mac,
            modes,
            mbps,
            queues: labels.iter().map(|_| VecDeque::new()).collect(),
            retries: vec![[0; 2]; labels.len()],
            events: Vec::new(),
            starts: Vec::new(),
            received: Vec::new(),
            lost: 0,
        }
    }

    fn offer(&mut self, from: usize, packet: Queued, now: Time) {
        self.queues[from].push_back(packet);
        if self.queues[from].len() == 1 {
            self.field.arrive(EdcafId::at(from), now);
        }
    }

    fn advance(&mut self) {
        let now = self.field.due();
        let on_air = self.modes.on_air(self.modes.rate_index(self.mbps, "rate").unwrap());
        let (queues, phy) = (&self.queues, &self.phy);
        let outgoing = |_, sender: EdcafId, _| {
            let Queued { to, ip_bytes } = queues[sender.index()][0];
            Outgoing { to, ppdu: Ppdu::of_frame(&on_air, phy.psdu_bytes(ip_bytes)), mpdus: Vec::new() }
        };
        let mut events = std::mem::take(&mut self.events);
        assert!(
            self.field.contend(now, |_, _| LinkWidth { mhz: 20, has_punctured: false }).is_empty(),
            "under DCF"
        );
        self.field.advance(now, outgoing, &mut events);
        for event in events.drain(..) {
            match event {
                FieldEvent::Started(sender) => self.starts.push((now, sender.index())),
                FieldEvent::Received(exchange) => self.received.push((now, exchange.sender.index())),
                FieldEvent::Ended { .. } | FieldEvent::Narrowed(_) | FieldEvent::Beacon(_) => {}
                FieldEvent::Acknowledged(exchange) => self.finish(exchange.sender.index()),
                FieldEvent::Failed(exchange) => {
                    let node = exchange.sender.index();
                    let [short, long] = &mut self.retries[node];
                    let is_lost = match exchange.has_cts() {
                        true => {
                            *short = 0;
                            *long += 1;
                            *long >= self.mac.retry_limit_long
                        }
                        false => {
                            *short += 1;
                            *short >= self.mac.retry_limit_short
                        }
                    };
                    self.lost += u32::from(is_lost);
                    if is_lost {
                        self.finish(node);
                    } else {
                        self.field.set_window(exchange.sender, false);
                        self.field.go_on(exchange.sender, true);
                    }
                }
            }
        }
        self.events = events;
    }

    /// The packet in service leaves.
    fn finish(&mut self, node: usize) {
        self.retries[node] = [0; 2];
        self.queues[node].pop_front();
        self.field.set_window(EdcafId::at(node), true);
        self.field.go_on(EdcafId::at(node), !self.queues[node].is_empty());
    }
}

/// Pairs that hear each other.
fn pairs(n: usize, pairs: &[(usize, usize)]) -> Vec<Vec<(usize, Power)>> {
    let hear = |a, b| pairs.contains(&(a, b)) || pairs.contains(&(b, a));
    let loud = Power::from_dbm(LOUD_DBM);
    (0..n).map(|from| (0..n).filter(|to| hear(from, *to)).map(|to| (to, loud)).collect()).collect()
}

fn labels(stations: usize) -> Vec<String> {
    std::iter::once("ap".into()).chain((0..stations).map(|i| format!("sta-{i}"))).collect()
}

/// 802.11a.
pub(crate) fn spec(stations: usize, mbps: f64) -> BssSpec {
    let stations = (0..stations).map(|i| StationSpec::new(format!("sta-{i}"), mbps)).collect();
    let phy: PhySpec = serde_json::from_value(serde_json::json!({"name": "802.11a"})).unwrap();
    BssSpec { phy, ..BssSpec::new(stations) }
}

/// A packet that arrives at a node: when, in ns, from which node; the AP's go to that station. Its length says its category.
pub(crate) type PacketAt = (u64, usize, usize, u32);

/// A DSCP of each category.
const CODE_POINTS: [u8; 4] = [48, 32, 0, 8];

/// What happens in a BSS.
#[derive(Debug, PartialEq)]
pub(crate) struct Trajectory {
    /// In order of time and channel access function.
    pub starts: Vec<(Time, u32)>,
    pub received: Vec<(Time, usize)>,
    /// Idle time, time in collisions, of beacons, and of stations up and down, at each arrival.
    pub occupied: Vec<Vec<Time>>,
    /// By transmit queue, in order.
    pub queued: Vec<JournalEntry>,
    pub end: BssSnapshot,
}

pub(crate) fn trajectory(spec: &BssSpec, seed: u64, arrivals: &[PacketAt]) -> Trajectory {
    let (mut bss, journal) = (Bss::new(spec, seed).unwrap(), Journal::new());
    bss.keep_journal(&journal);
    let (mut starts, mut received, mut occupied) = (Vec::new(), Vec::new(), Vec::new());
    let mut run = |bss: &mut Bss, limit: Time| {
        let mut began = |bss: &Bss| {
            starts.extend(bss.transmissions().map(|ppdu| (ppdu.begins, ppdu.sender)));
        };
        while let Some((at, output)) = bss.advance_watched(limit, &mut began) {
            received.extend(reception(at, &output));
        }
    };
    for arrival in arrivals {
        let now = Time::from_ns(arrival.0);
        run(&mut bss, now);
        occupied.push(occupation(&bss.snapshot(now)));
        arrive(&mut bss, arrival);
    }
    run(&mut bss, end_of_run(spec));
    starts.sort_unstable();
    Trajectory {
        starts,
        received,
        occupied,
        queued: by_tx_queue(&journal),
        end: bss.snapshot(end_of_run(spec).min(Time::from_s(100))),
    }
}

/// When a run is over in which packets arrive for a few milliseconds: never before all is done. With beacons, which never end,
/// a target time of the first BSS, so that none is on the air unless they follow each other.
pub(crate) fn end_of_run(spec: &BssSpec) -> Time {
    let Some(beacons) = &spec.mac.beacons else { return Time::MAX };
    let interval = TU * u64::from(beacons.interval_tu);
    interval * (Time::from_ms(500) / interval)
}

/// When a packet is received, and from which node. Of an uplink packet the number says which station has sent it.
pub(crate) fn reception(at: Time, output: &Output) -> Option<(Time, usize)> {
    let Output::Delivery(delivery) = output else { return None };
    Some((at, if delivery.to == Node::Ap { delivery.packet.seq as usize } else { 0 }))
}

/// Idle time, time in collisions, of beacons, and of stations up and down.
pub(crate) fn occupation(snapshot: &BssSnapshot) -> Vec<Time> {
    let BssSnapshot { idle, collision_airtime, stations, .. } = snapshot;
    let of_stations = stations.iter().flat_map(|station| [station.up.airtime, station.down.airtime]);
    [*idle, *collision_airtime, snapshot.beacons.airtime].into_iter().chain(of_stations).collect()
}

pub(crate) fn arrive(bss: &mut Bss, &(ns, from, station, bytes): &PacketAt) {
    let ds_field = CODE_POINTS[bytes as usize % 4] << 2;
    let (packet, now) = (Packet { ds_field, ..packet(0, from as u32, bytes) }, Time::from_ns(ns));
    match Node::at(from) {
        Node::Ap => bss.send_down(StationId(station as u16), &packet, now),
        Node::Station(station) => bss.send_up(station, &packet, now),
    }
}

/// The entries of each transmit queue in order. At one instant what an access point does with a packet that it has received
/// comes first: it makes no difference whether that is before or after one of its timeouts, and no rule says so. An entry that
/// comes first for this has the length that the queue had before the instant.
pub(crate) fn by_tx_queue(journal: &Journal) -> Vec<JournalEntry> {
    let mut entries = Vec::new();
    journal.take(|entry| entries.push(*entry));
    let is_policed = |entry: &JournalEntry| matches!(entry.event, TxQueueEvent::Policed(_));
    entries.sort_by_key(|entry| (entry.tx_queue, entry.at));
    for of_queue in entries.chunk_by_mut(|a, b| a.tx_queue == b.tx_queue) {
        let mut before = 0;
        for instant in of_queue.chunk_by_mut(|a, b| a.at == b.at) {
            let after = instant[instant.len() - 1].queued_packets;
            let later = instant.iter_mut().skip_while(|entry| is_policed(entry));
            later.filter(|entry| is_policed(entry)).for_each(|entry| entry.queued_packets = before);
            instant.sort_by_key(|entry| !is_policed(entry));
            before = after;
        }
    }
    entries
}

/// The same BSS as a field.
fn as_field(spec: &BssSpec, field: FieldSpec) -> BssSpec {
    BssSpec { field: Some(field), ..spec.clone() }
}

pub(crate) fn arrivals(stations: usize) -> impl Strategy<Value = Vec<PacketAt>> {
    // Multiples of a microsecond, so that arrivals meet starts, ends and slot boundaries, and others.
    let at = prop_oneof![0_u64..4_000_000, (0_u64..4_000).prop_map(|us| us * 1_000), Just(0)];
    let one = (at, 0..=stations, 0..stations, 40_u32..=1_500);
    prop::collection::vec(one, 1..40).prop_map(|mut arrivals| {
        arrivals.sort();
        arrivals
    })
}

pub(crate) fn plan() -> impl Strategy<Value = (BssSpec, Vec<PacketAt>)> {
    let keys = (any::<[bool; 6]>(), 40_u32..=1_600, 0_usize..4, 1_u32..=7);
    (1_usize..=6, keys).prop_flat_map(|(stations, (flags, threshold, rate, limit))| {
        let mut spec = spec(stations, [6.0, 12.0, 24.0, 54.0][rate]);
        let [immediate, within, exclusive, rts, eifs, longer] = flags;
        spec.mac.immediate_access = immediate;
        spec.mac.retry_limit_short = limit;
        spec.mac.eifs = eifs;
        if within {
            spec.mac.arrival_within_ifs = ArrivalWithinIfs::Backoff;
        }
        if exclusive {
            spec.mac.backoff_range = BackoffRange::Exclusive;
        }
        if rts {
            spec.mac.rts_threshold_bytes = Some(threshold);
        }
        if longer {
            spec.mac.ack_timeout_us = Some(400.0);
        }
        (Just(spec), arrivals(stations))
    })
}

/// Channel access parameters of a category, with an AIFSN of at least so much: windows that collide often, TXOPs of one frame
/// and of several.
fn category(least_aifsn: u8) -> impl Strategy<Value = CategorySpec> {
    let windows = prop::sample::select(vec![(0, 0), (0, 7), (1, 3), (3, 7), (7, 15), (15, 1_023)]);
    let limit = prop_oneof![Just(0.0), (100_u32..4_000).prop_map(f64::from)];
    (windows, least_aifsn..8, limit).prop_map(|((cw_min, cw_max), aifsn, limit)| CategorySpec {
        aifsn: Some(aifsn),
        cw_min: Some(cw_min),
        cw_max: Some(cw_max),
        txop_limit_us: Some(limit),
    })
}

fn edca() -> impl Strategy<Value = EdcaSpec> {
    let four = |least| {
        prop::array::uniform4(category(least)).prop_map(|[voice, video, best_effort, background]| {
            Categories { voice, video, best_effort, background }
        })
    };
    let share = prop::sample::select(vec![ShareTxQueue::None, ShareTxQueue::Ap, ShareTxQueue::All]);
    (four(1), four(2), any::<[bool; 2]>(), share).prop_map(|(ap, stations, [dcf, retry], share_tx_queue)| {
        EdcaSpec {
            ap,
            stations,
            countdown: if dcf { Countdown::Dcf } else { Countdown::Edca },
            internal_collision_retry: retry,
            classify: Classify::Dscp,
            share_tx_queue,
            ..EdcaSpec::default()
        }
    })
}

/// 802.11n to be with EDCA: stations of one width, PPDUs of one MPDU and of several, single frames where an older station is.
pub(crate) fn modern_plan() -> impl Strategy<Value = (BssSpec, Vec<PacketAt>)> {
    let phy =
        prop::sample::select(vec![("802.11n", 20), ("802.11ac", 80), ("802.11ax", 40), ("802.11be", 80)]);
    let aggregation = (
        prop::sample::select(vec!["never", "given-up", "missed"]),
        prop_oneof![Just(None), (1_u32..6).prop_map(Some)],
        prop::sample::select(vec![0_u32, 3_000]),
        (any::<bool>(), 1_u32..5, prop::sample::select(vec![0.0, 4.0])),
    );
    let aggregation =
        aggregation.prop_map(|(bar, max_mpdus, max_amsdu_bytes, (run, attempts, spacing_us))| {
            serde_json::from_value(serde_json::json!({
                "bar": bar,
                "max_mpdus": max_mpdus,
                "max_amsdu_bytes": max_amsdu_bytes,
                "fill": if run { "head-run" } else { "gather" },
                "max_attempts": attempts,
                "min_mpdu_spacing_us": spacing_us,
                "reorder_timeout_ms": 1.0,
            }))
            .unwrap()
        });
    let mcs = prop::collection::vec(0_u8..8, 6);
    let older = prop::option::weighted(0.2, 0_usize..6);
    (plan(), phy, edca(), aggregation, mcs, older).prop_map(
        |((mut spec, arrivals), (name, width_mhz), edca, aggregation, mcs, older)| {
            spec.phy =
                serde_json::from_value(serde_json::json!({"name": name, "width_mhz": width_mhz})).unwrap();
            spec.mac.edca = Some(edca);
            spec.mac.aggregation = Some(aggregation);
            for (index, (station, mcs)) in spec.stations.iter_mut().zip(mcs).enumerate() {
                match older == Some(index) {
                    true => {
                        let phy = serde_json::json!({"name": "802.11a"});
                        station.phy = Some(serde_json::from_value(phy).unwrap());
                    }
                    false => (station.rate_mbps, station.mcs) = (None, Some(mcs)),
                }
            }
            (spec, arrivals)
        },
    )
}

/// What lies below the transmit queues of a node.
fn hardware() -> impl Strategy<Value = HardwareSpec> {
    let kinds = prop::sample::select(vec!["ideal", "ath9k", "firmware", "ath10k", "hwsim"]);
    (kinds, any::<bool>()).prop_map(|(kind, is_tight)| {
        let mut told = serde_json::json!({"name": kind});
        match kind {
            "ath9k" if is_tight => told["max_ppdu_us"] = 500.0.into(),
            "firmware" | "ath10k" | "hwsim" if is_tight => {
                told["aql_low_us"] = 100.0.into();
                told["aql_high_us"] = 400.0.into();
                told["aql_total_us"] = 300.0.into();
            }
            _ => {}
        }
        serde_json::from_value(told).unwrap()
    })
}

/// A plan with hardware below the transmit queues of all nodes.
pub(crate) fn plan_with_hardware() -> impl Strategy<Value = (BssSpec, Vec<PacketAt>)> {
    let scheme = prop::sample::select(vec!["droptail", "mac80211", "air-share"]);
    (modern_plan(), hardware(), prop::collection::vec(hardware(), 6), scheme).prop_map(
        |((mut spec, arrivals), of_ap, of_stations, scheme)| {
            spec.ap.hardware = of_ap;
            spec.ap.tx_queue.scheme = serde_json::from_value(serde_json::json!({"name": scheme})).unwrap();
            for (station, hardware) in spec.stations.iter_mut().zip(of_stations) {
                station.hardware = hardware;
                if station.phy.take().is_some() {
                    (station.rate_mbps, station.mcs) = (None, Some(0)); // all links of such a node aggregate
                }
            }
            (spec, arrivals)
        },
    )
}

/// A plan with a rate adaptation, perhaps with retries of a PPDU in modes of their own.
fn adapting_plan() -> impl Strategy<Value = (BssSpec, Vec<PacketAt>)> {
    let name = prop::sample::select(vec!["arf", "aarf", "minstrel-ht"]);
    let parameters = (1_u32..4, 1_u32..6);
    (prop_oneof![plan(), modern_plan()], name, parameters, prop::option::of(2_u32..8)).prop_map(
        |((mut spec, arrivals), name, (successes, timer), tries)| {
            let told = match name {
                // It counts by time, and learns of collisions at other instants: no interval ends in the run.
                "minstrel-ht" => {
                    serde_json::json!({"name": name, "update_interval_ms": 1e4, "sample_interval_ms": 1e4})
                }
                _ => serde_json::json!({"name": name, "success_threshold": successes, "timer_frames": timer}),
            };
            spec.mac.rate_adaptation = serde_json::from_value(told).unwrap();
            if let Some(aggregation) = &mut spec.mac.aggregation {
                aggregation.tries = tries;
            }
            (spec, arrivals)
        },
    )
}

/// Beacons that often meet what arrives.
pub(crate) fn beacons() -> impl Strategy<Value = BeaconsSpec> {
    let rate = prop::sample::select(vec![None, Some(6.0), Some(24.0)]);
    (1_u32..4, 70_u32..600, rate).prop_map(|(interval_tu, bytes, rate_mbps)| BeaconsSpec {
        interval_tu,
        bytes,
        rate_mbps,
    })
}

/// Number of random plans.
pub(crate) fn cases() -> u32 {
    if std::env::var_os("WIFAIR_VALIDATE").is_some() { 20_000 } else { 1_000 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Everybody hears everybody equally well: the shared medium's trajectory, to the nanosecond.
    #[test]
    fn a_field_of_equals_is_the_shared_medium((spec, arrivals) in plan(), seed in any::<u64>()) {
        let field = as_field(&spec, FieldSpec { eifs_after: EifsAfter::Energy, ..FieldSpec::default() });
        prop_assert_eq!(trajectory(&spec, seed, &arrivals), trajectory(&field, seed, &arrivals));
    }

    /// The same with EDCA.
    #[test]
    fn a_field_of_equals_has_the_shared_mediums_categories(
        (mut spec, arrivals) in plan(),
        edca in edca(),
        seed in any::<u64>(),
    ) {
        spec.mac.edca = Some(edca);
        let field = as_field(&spec, FieldSpec { eifs_after: EifsAfter::Energy, ..FieldSpec::default() });
        prop_assert_eq!(trajectory(&spec, seed, &arrivals), trajectory(&field, seed, &arrivals));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// The same with A-MPDUs.
    #[test]
    fn a_field_of_equals_has_the_shared_mediums_ppdus((spec, arrivals) in modern_plan(), seed in any::<u64>()) {
        let field = as_field(&spec, FieldSpec { eifs_after: EifsAfter::Energy, ..FieldSpec::default() });
        prop_assert_eq!(trajectory(&spec, seed, &arrivals), trajectory(&field, seed, &arrivals));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// The same with what lies below the transmit queues.
    #[test]
    fn a_field_of_equals_has_the_shared_mediums_hardware(
        (spec, arrivals) in plan_with_hardware(),
        seed in any::<u64>(),
    ) {
        let field = as_field(&spec, FieldSpec { eifs_after: EifsAfter::Energy, ..FieldSpec::default() });
        prop_assert_eq!(trajectory(&spec, seed, &arrivals), trajectory(&field, seed, &arrivals));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// The same with beacons.
    #[test]
    fn a_field_of_equals_has_the_shared_mediums_beacons(
        (mut spec, arrivals) in prop_oneof![2 => plan(), 1 => modern_plan(), 1 => plan_with_hardware()],
        edca in prop::option::of(edca()),
        beacons in beacons(),
        seed in any::<u64>(),
    ) {
        spec.mac.edca = spec.mac.edca.or(edca);
        spec.mac.beacons = Some(beacons);
        let field = as_field(&spec, FieldSpec { eifs_after: EifsAfter::Energy, ..FieldSpec::default() });
        prop_assert_eq!(trajectory(&spec, seed, &arrivals), trajectory(&field, seed, &arrivals));
    }
}

/// Without what depends on when in a collision a rate adaptation receives its outcome: rates over time.
fn without_rates(mut trajectory: Trajectory) -> Trajectory {
    for usage in trajectory.end.stations.iter_mut().flat_map(|station| [&mut station.up, &mut station.down]) {
        (usage.rate_integral, usage.rate_kbps) = (0, 0);
    }
    trajectory
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// The same with a rate adaptation, which receives the outcome of a collision when its sender knows it.
    #[test]
    fn a_field_of_equals_has_the_shared_mediums_modes((spec, arrivals) in adapting_plan(), seed in any::<u64>()) {
        let field = as_field(&spec, FieldSpec { eifs_after: EifsAfter::Energy, ..FieldSpec::default() });
        let [shared, field] = [&spec, &field].map(|spec| without_rates(trajectory(spec, seed, &arrivals)));
        prop_assert_eq!(shared, field);
    }
}

#[test]
fn what_an_internal_collision_loses_leaves_a_shared_tx_queue_before_the_ppdu_is_formed() {
    let mut spec = spec(2, 24.0);
    spec.phy = serde_json::from_value(serde_json::json!({"name": "802.11n"})).unwrap();
    spec.stations[0].phy = Some(serde_json::from_value(serde_json::json!({"name": "802.11a"})).unwrap());
    (spec.stations[1].rate_mbps, spec.stations[1].mcs) = (None, Some(4));
    spec.mac.retry_limit_short = 1;
    spec.mac.edca =
        Some(EdcaSpec { classify: Classify::Dscp, share_tx_queue: ShareTxQueue::Ap, ..EdcaSpec::default() });
    let (voice, best_effort) = (400, 402);
    let arrivals = [(1, voice), (0, best_effort), (1, voice), (0, best_effort)];
    let arrivals = arrivals.map(|(station, bytes)| (0, 0, station, bytes));
    let field = as_field(&spec, FieldSpec { eifs_after: EifsAfter::Energy, ..FieldSpec::default() });
    let shared = trajectory(&spec, 1, &arrivals);
    assert_eq!(shared.end.stations[0].down.internal_collisions, 1);
    assert_eq!(trajectory(&field, 1, &arrivals), shared);
}

/// What begins when, if two stations lose a frame of best effort in a collision at time zero, and the host of the first sends a
/// frame of voice as soon as it is notified, at the timeout.
fn starts_after_a_loss(spec: &BssSpec, seed: u64) -> Vec<(Time, u32)> {
    let mut bss = Bss::new(spec, seed).unwrap();
    bss.report_completions(StationId(0));
    let of = |dscp: u8| {
        let connection = ConnectionId::new(0, 0);
        Packet { connection, ds_field: dscp << 2, ..packet(0, 0, 1_500) }
    };
    for station in [0, 1] {
        bss.send_up(StationId(station), &of(CODE_POINTS[2]), Time::ZERO);
    }
    let (mut starts, mut has_sent) = (Vec::new(), false);
    let mut began = |bss: &Bss| starts.extend(bss.transmissions().map(|ppdu| (ppdu.begins, ppdu.sender)));
    while let Some((at, output)) = bss.advance_watched(Time::MAX, &mut began) {
        if matches!(output, Output::TxCompletion(_)) && !std::mem::replace(&mut has_sent, true) {
            bss.send_up(StationId(0), &of(CODE_POINTS[0]), at);
        }
    }
    starts.sort_unstable();
    starts
}

#[test]
fn what_arrives_at_the_timeout_of_another_category_backs_off() {
    let mut spec = spec(2, 24.0);
    spec.mac.retry_limit_short = 1;
    let cw = Some(1_023);
    let voice = CategorySpec { cw_min: cw, cw_max: cw, ..CategorySpec::default() };
    spec.mac.edca = Some(EdcaSpec { voice, classify: Classify::Dscp, ..EdcaSpec::default() });
    let field = as_field(&spec, FieldSpec { eifs_after: EifsAfter::Energy, ..FieldSpec::default() });
    for seed in 0..20 {
        let starts = starts_after_a_loss(&spec, seed);
        assert_eq!(starts.len(), 3, "{starts:?}");
        assert_eq!(starts_after_a_loss(&field, seed), starts, "seed {seed}");
    }
}

/// Probability that two uniform draws from `w` values differ by at most `k`.
fn within(w: u32, k: u32) -> f64 {
    f64::from(w * (2 * k + 1) - k * (k + 1)) / f64::from(w * w)
}

/// Two stations that do not receive each other.
fn hidden_pair(spec: &BssSpec) -> BssSpec {
    let hidden = vec![["sta-0".into(), "sta-1".into()]];
    as_field(spec, FieldSpec { hidden, ..FieldSpec::default() })
}

/// Share of runs in which two stations that do not receive each other overlap in their first attempts: the second starts before
/// it could sense the answer to the first.
fn overlaps(spec: &BssSpec, with_rts: bool) -> f64 {
    const RUNS: u64 = 60_000;
    let spec = hidden_pair(spec);
    let run = FieldRun::new(&spec, 0, &labels(2), pairs(3, &[(0, 1), (0, 2)]));
    let on_air = run.modes.on_air(run.modes.rate_index(run.mbps, "rate").unwrap());
    let first = match with_rts {
        true => run.phy.control(&on_air).rts.duration,
        false => Ppdu::of_frame(&on_air, run.phy.psdu_bytes(1_500)).airtime,
    };
    let mut overlapping = 0_u32;
    for seed in 0..RUNS {
        let mut bss = Bss::new(&spec, seed).unwrap();
        for station in [0, 1] {
            bss.send_up(StationId(station), &packet(0, 0, 1_500), Time::ZERO);
        }
        let mut begins = [None; 2];
        while begins.contains(&None) {
            let next = bss.next_event();
            bss.advance_watched(next + Time::from_ns(1), |bss| {
                for ppdu in bss.transmissions() {
                    begins[ppdu.from.index() - 1].get_or_insert(ppdu.begins);
                }
            });
        }
        let [a, b] = begins.map(Option::unwrap);
        overlapping += u32::from(a.max(b) - a.min(b) <= first + run.phy.sifs);
    }
    f64::from(overlapping) / RUNS as f64
}

#[test]
fn a_hidden_pair_overlaps_as_often_as_its_backoffs_are_close() {
    // An RTS at 24 Mbps lasts 28 µs, at 6 Mbps 52 µs; with the SIFS up to 4 and 7 slots of 9 µs.
    for (mbps, slots) in [(24.0, 4), (6.0, 7)] {
        let mut spec = spec(2, mbps);
        spec.mac.rts_threshold_bytes = Some(0);
        spec.mac.immediate_access = false;
        spec.phy = serde_json::from_value(serde_json::json!({"name": "802.11a", "control_rate_mbps": mbps}))
            .unwrap();
        let (expected, measured) = (within(16, slots), overlaps(&spec, true));
        println!("RTS at {mbps} Mbps: {measured:.4}, closed form {expected:.4}");
        assert!((measured / expected - 1.0).abs() < 0.01, "{mbps} Mbps: {measured} instead of {expected}");
    }
    // A frame without RTS lasts longer than all backoffs.
    let mut spec = spec(2, 24.0);
    spec.mac.immediate_access = false;
    assert_eq!(overlaps(&spec, false), 1.0);
}

/// Successful exchanges per sender of a line of three flows: nodes 1, 3, 5 send to 0, 2, 4. Only neighbours among the senders
/// hear each other.
fn line_of_three(cw: u16, exchanges: usize) -> ([f64; 3], Time) {
    let mut spec = spec(5, 6.0);
    spec.mac.eifs = false;
    spec.mac.retry_limit_short = 1_000_000;
    spec.phy =
        serde_json::from_value(serde_json::json!({"name": "802.11a", "cw_min": cw, "cw_max": cw})).unwrap();
    let rows = pairs(6, &[(1, 0), (3, 2), (5, 4), (1, 3), (3, 5)]);
    let mut run = FieldRun::new(&spec, 1, &labels(5), rows);
    for node in [1, 3, 5] {
        for _ in 0..exchanges {
            run.offer(node, Queued { to: node - 1, ip_bytes: 4_000 }, Time::ZERO);
        }
    }
    while run.received.len() < exchanges {
        run.advance();
    }
    let of = |node| run.received.iter().filter(|(_, from)| *from == node).count() as f64;
    ([1, 3, 5].map(of), run.field.due())
}

#[test]
fn a_line_of_three_has_the_shares_of_its_conflict_graph() {
    // Boorstyn and others 1987: the share of a flow is the sum over the independent sets that contain it of θ^|S|, over the sum
    // over all. θ is the ratio of an exchange to DIFS and mean backoff.
    let ([left, middle, right], end) = line_of_three(1_023, 60_000);
    let spec = spec(5, 6.0);
    let phy = BssTiming::with(&spec.phy, false, "phy").unwrap();
    let modes = spec.phy.modes(&StationPhy::default(), "phy").unwrap();
    let modes = modes.map(|on_air| phy.in_bss(on_air, u32::MAX));
    let on_air = modes.on_air(modes.rate_index(6.0, "rate").unwrap());
    let ppdu = Ppdu::of_frame(&on_air, phy.psdu_bytes(4_000));
    let exchange = (ppdu.airtime + ppdu.response).as_secs_f64();
    let theta = exchange / (phy.difs.as_secs_f64() + 511.5 * phy.slot.as_secs_f64());
    let all = 1.0 + 3.0 * theta + theta * theta;
    let (outer, inner) = ((theta + theta * theta) / all, theta / all);
    let share = |count: f64| count * exchange / end.as_secs_f64();
    println!(
        "θ {theta:.3}: {:.4} {:.4} {:.4}, product form {outer:.4} {inner:.4}",
        share(left),
        share(middle),
        share(right)
    );
    for (count, expected) in [(left, outer), (middle, inner), (right, outer)] {
        let measured = share(count);
        assert!((measured / expected - 1.0).abs() < 0.02, "{measured} instead of {expected}");
    }
}

#[test]
fn the_flow_in_the_middle_starves() {
    let ([left, middle, right], _) = line_of_three(15, 20_000);
    println!("{left} {middle} {right}");
    assert!(middle < 0.1 * left.min(right), "{middle} of {left} and {right}");
    assert!((left / right - 1.0).abs() < 0.05, "{left} and {right}");
}

#[test]
fn a_cts_sets_the_nav_of_a_station_that_does_not_receive_the_data() {
    let mut spec = spec(2, 24.0);
    spec.mac.rts_threshold_bytes = Some(0);
    let alone = trajectory(&hidden_pair(&spec), 1, &[(0, 1, 0, 1_500)]);
    let [(_, first)] = alone.starts[..] else { panic!("{:?}", alone.starts) };
    assert_eq!(first, 1);
    let run = FieldRun::new(&spec, 1, &labels(2), pairs(3, &[(0, 1), (0, 2)]));
    let on_air = run.modes.on_air(run.modes.rate_index(run.mbps, "rate").unwrap());
    let ppdu = Ppdu::of_frame(&on_air, run.phy.psdu_bytes(1_500));
    let reservation = run.mac.waits[usize::from(ppdu.control)].reservation;
    let end = reservation + ppdu.airtime + ppdu.response;
    // While the data frame is on the air, and in the SIFS before and after it, the other station senses nothing.
    let quiet = [
        reservation - run.phy.sifs + Time::from_ns(1),
        reservation,
        reservation + Time::from_ns(ppdu.airtime.as_ns() / 2),
    ];
    for at in quiet.into_iter().chain([reservation + ppdu.airtime + Time::from_ns(1)]) {
        let both = trajectory(&hidden_pair(&spec), 1, &[(0, 1, 0, 1_500), (at.as_ns(), 2, 0, 1_500)]);
        let [(_, 1), (second, 2)] = both.starts[..] else { panic!("at {at}: {:?}", both.starts) };
        assert!(second >= end + run.phy.difs, "it arrived at {at} and started at {second}");
        assert_eq!(both.end.collisions, 0);
    }
}

#[test]
fn without_an_rts_a_hidden_station_sends_into_the_data() {
    let both = trajectory(&hidden_pair(&spec(2, 24.0)), 1, &[(0, 1, 0, 1_500), (100_000, 2, 0, 1_500)]);
    assert_eq!(both.starts[..2], [(Time::ZERO, 1), (Time::from_us(100), 2)]);
    assert!(both.end.collisions > 0);
}

#[test]
fn times_of_overlapping_exchanges_add_up() {
    let arrivals: Vec<PacketAt> = (0..80).map(|i| (i * 50_000, 1 + i as usize % 2, 0, 1_500)).collect();
    let end = trajectory(&hidden_pair(&spec(2, 24.0)), 1, &arrivals).end;
    let airtime = end.stations.iter().fold(Time::ZERO, |sum, s| sum + s.up.airtime + s.down.airtime);
    assert!(end.collisions > 0 && end.collision_airtime > Time::ZERO && airtime > Time::ZERO);
    assert_eq!(airtime + end.collision_airtime + end.idle, end.elapsed);
    let up = |of: fn(&Usage) -> u64| end.stations.iter().map(|station| of(&station.up)).sum::<u64>();
    let (attempts, retries) = (up(|usage| usage.attempts), up(|usage| usage.retries));
    let (delivered, lost) = (up(|usage| usage.delivered), up(|usage| usage.lost_at_retry_limit));
    assert_eq!(attempts, 80 + retries);
    assert_eq!(delivered + lost, 80);
}

#[test]
fn a_station_whose_nav_is_set_sends_no_cts() {
    // Stations 0 and 2 send an RTS at once. The AP decodes neither; station 1, which does not receive station 0, decodes that
    // of station 2, and its NAV is set when the AP sends it an RTS, although nobody transmits.
    let mut spec = spec(3, 24.0);
    spec.mac.rts_threshold_bytes = Some(0);
    let hidden = vec![["sta-0".into(), "sta-1".into()], ["sta-0".into(), "sta-2".into()]];
    let spec = as_field(&spec, FieldSpec { hidden, ..FieldSpec::default() });
    let run = FieldRun::new(&spec, 1, &labels(3), pairs(4, &[(0, 1), (0, 2), (0, 3), (2, 3)]));
    let on_air = run.modes.on_air(run.modes.rate_index(run.mbps, "rate").unwrap());
    let at = run.phy.control(&on_air).rts.duration + run.phy.difs + Time::from_us(1);
    let down = (at.as_ns(), 0, 1, 1_500);
    let starts_of_ap = |arrivals: &[PacketAt]| {
        let starts = trajectory(&spec, 1, arrivals).starts;
        starts.into_iter().filter(|(_, node)| *node == 0).map(|(start, _)| start).collect::<Vec<_>>()
    };
    assert_eq!(starts_of_ap(&[down]), [at]);
    let with_nav = starts_of_ap(&[(0, 1, 0, 1_500), (0, 3, 0, 1_500), down]);
    assert!(with_nav.len() > 1 && with_nav[0] == at, "{with_nav:?}");
}
