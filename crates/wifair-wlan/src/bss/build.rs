//! Construction of a BSS from its spec.

use wifair_core::{Ac, Packet, Rng, SpecError, StationId, Time};
use wifair_queue::{Direction, TxQueue, TxQueueSpec};

use super::exchanges::Exchanges;
use super::{Bss, controlled, field};
use crate::access_point::{LinkTable, Views};
use crate::aggregation::Aggregation;
use crate::beacons::{BACKOFF_PURPOSE, Beacons, BeaconsSpec};
use crate::channel::ChannelRecipe;
use crate::contention::{Access, Contention};
use crate::edca::Edca;
use crate::edcaf::{Edcaf, Role};
use crate::field::share::FieldShare;
use crate::link::{LinkRow, StationModes};
use crate::mac::Mac;
use crate::medium::Medium;
use crate::meter::Meter;
use crate::neighbours::ObssSpec;
use crate::node::{LinkId, Node, Numbering, RANKS};
use crate::nodes::{Nodes, SeparateSettings};
use crate::phy::timing::BssTiming;
use crate::phy::{Format, Modes, RateIndex, StationPhy};
use crate::rate::Start;
use crate::spec::{AP_LABEL, BssSpec, DOWN_KEYS, StationChange, StationSpec, UP_KEYS};

impl Bss {
    /// The BSS that `spec` describes, idle at time zero. Streams: (`seed`, node's label, `"backoff"`, `"channel"` and
    /// `"scheme"`); under EDCA `"backoff-voice"` and `"scheme-voice"` and so on. Rate adaptations: (`seed`, station's label,
    /// `"rate-up"` or `"rate-down"`).
    ///
    /// # Errors
    /// Returns the first invalid value of `spec`.
    pub fn new(spec: &BssSpec, seed: u64) -> Result<Bss, SpecError> {
        let (mut bss, functions) = Bss::assemble(spec, AP_LABEL, seed)?;
        field::refuse_reuse(&spec.ap)?;
        field::refuse_idle_shadowing(spec)?;
        if let Some(field) = &spec.field {
            let alone = ObssSpec {
                bss: spec.clone(),
                channel: None,
                primary: None,
                punctured: vec![],
                neighbours: vec![],
            };
            alone.refuse_idle_subchannels()?;
            let medium = field::build(&alone, field, std::slice::from_ref(&bss), functions, seed)?;
            bss.share().lend(medium);
            field::check_reach(&bss, AP_LABEL, &spec.stations, "")?;
        }
        Ok(bss)
    }

    /// The BSS of [`Bss::new`], whose access point has this label, and its channel access functions. If it is in a field, it
    /// does not have that yet.
    ///
    /// # Errors
    /// Returns the first invalid value of `spec`.
    pub(crate) fn assemble(
        spec: &BssSpec,
        ap_label: &str,
        seed: u64,
    ) -> Result<(Bss, Vec<(Access, Rng)>), SpecError> {
        let is_dsss =
            |station: &StationSpec| station.phy.as_ref().is_some_and(|phy| phy.format() == Format::Dsss);
        let phy = BssTiming::with(&spec.phy, spec.stations.iter().any(is_dsss), "phy")?;
        let mac = Mac::new(&spec.mac, &phy, "mac")?;
        let modes = station_modes(spec, &phy, &mac)?;
        spec.validate(&modes)?;
        let rules = spec.mac.contention_rules(&phy);
        let edca = spec.mac.edca.as_ref().map(|edca| Edca::new(edca, &phy, "mac.edca")).transpose()?;
        let edca_controller = match (&edca, &spec.mac.edca) {
            (Some(edca), Some(keys)) => edca.controller(keys, "mac.edca")?,
            _ => None,
        };
        let numbering = if edca.is_some() { Numbering::EDCA } else { Numbering::DCF };
        let labels = || std::iter::once(ap_label).chain(spec.stations.iter().map(|s| s.label.as_str()));
        let categories: Vec<Option<Ac>> = match &edca {
            Some(_) => RANKS.map(Some).to_vec(),
            None => vec![None],
        };
        let each = || {
            let nodes = labels().enumerate().map(|(index, label)| (Node::at(index), label));
            nodes.flat_map(|(node, label)| categories.iter().map(move |ac| (node, label, *ac)))
        };
        let contender = |(node, label, ac): (Node, &str, Option<Ac>)| {
            let access = match (&edca, node) {
                (Some(edca), _) => edca.access(node, ac.unwrap_or(Ac::BestEffort)),
                (None, node) => {
                    let cw_min = match node {
                        Node::Ap => phy.cw_min,
                        Node::Station(station) => phy.cw_min_of(modes.of(station)),
                    };
                    Access { cw_min, cw_max: phy.cw_max, aifs: phy.difs }
                }
            };
            (access, Rng::stream(seed, label, &purpose("backoff", ac)))
        };
        field::check(spec, &phy)?;
        let shares_tx_queue = |node| edca.as_ref().is_some_and(|edca| edca.shares_tx_queue(node));
        let tx_queues = each().map(|(node, label, ac)| match shares_tx_queue(node) {
            false => {
                TxQueue::for_purpose(&spec.tx_queue(node.index(), ac), seed, label, &purpose("scheme", ac))
            }
            true if ac == Some(RANKS[0]) => {
                TxQueue::for_categories(spec.node_tx_queue(node.index()), seed, label)
            }
            true => TxQueue::new(&TxQueueSpec::default(), seed, label), // no packets ever arrive there
        });
        let edcafs = each().map(|(node, _, ac)| {
            let ac = ac.unwrap_or(Ac::BestEffort);
            let (tx_queue, txop_limit) = match &edca {
                Some(edca) => (edca.tx_queue_of(node, ac), edca.txop_limit(node, ac)),
                None => (numbering.edcaf(node, ac), Time::ZERO),
            };
            Edcaf::new(Role { is_ap: node.is_ap(), ac, tx_queue, txop_limit })
        });
        let own = |ac: &Option<Ac>| {
            let own = ac.map(|ac| spec.ap.categories.of(ac));
            SeparateSettings {
                limit: own.is_some_and(|own| own.limit_packets.is_some() || own.limit_controller.is_some()),
                scheme: own.is_some_and(|own| own.scheme.is_some()),
            }
        };

        let mut rows = Vec::new();
        for (index, station) in spec.stations.iter().enumerate() {
            let modes = modes.of(StationId(index as u16));
            for (purpose, first) in RATE_PURPOSES.into_iter().zip(rates(station, modes, index)?) {
                let first = spec.mac.rate_adaptation.first(first, modes);
                let start = Start { first, modes, rng: &mut Rng::stream(seed, &station.label, purpose) };
                rows.push(LinkRow::new(modes.shared(first), spec.mac.rate_adaptation.build(start)));
            }
        }
        let link_table = |direction: Direction| {
            let rows = rows[direction as usize..].iter().step_by(2);
            LinkTable::new(&spec.ap.flows, rows.map(|row| row.rate))
        };
        let own = categories.iter().map(own).collect();
        let beacons = spec
            .mac
            .beacons
            .as_ref()
            .map(|beacons| Beacons::new(beacons, &phy, numbering.after(labels().count()), "mac.beacons"));
        let beacons = beacons.transpose()?;
        let of_beacons = beacons
            .as_ref()
            .map(|_| (BeaconsSpec::access(&phy), Rng::stream(seed, ap_label, BACKOFF_PURPOSE)));
        let first_beacon = beacons.as_ref().map_or(Time::MAX, |beacons| beacons.interval);
        let functions: Vec<_> = each().map(contender).collect();
        let mut contention = Contention::new(rules, functions.iter().cloned(), of_beacons);
        if edca_controller.is_some() {
            contention.begin_generally(); // where stations adopt CWmin
        }
        let places: Vec<_> = tx_queues.zip(edcafs).collect();
        let views = Views::new(link_table(Direction::Down), link_table(Direction::Up));
        let mut nodes = Nodes::new(edca, numbering, places, own, views);
        if let Some((rules, hardware)) = spec.aggregation(&mac, &phy)? {
            for (link, _) in
                rows.iter().enumerate().filter(|(_, row)| row.on_air.mode.format.max_window() == 0)
            {
                let station = LinkId::at(link).station();
                let prefetches = |node: Node| hardware[node.index()].prefetches();
                let key = match (prefetches(Node::Ap), prefetches(Node::Station(station))) {
                    (true, _) if rules.driver_queue.is_some() => "mac.aggregation.fill".to_owned(),
                    (true, _) => "ap.hardware".to_owned(),
                    (_, true) => format!("stations[{}].hardware", station.index()),
                    _ => continue,
                };
                let label = &spec.stations[station.index()].label;
                let allowed = format!(
                    "no such key with station {label:?}, which is older than 802.11n: all links of a node with it must aggregate"
                );
                return Err(SpecError::new(key, "this key", allowed));
            }
            let links: Vec<_> = rows
                .iter()
                .map(|row| row.on_air.mode.format)
                .map(|format| (format.max_window(), rules.amsdu_of(format, spec.phy.band())))
                .collect();
            nodes.set_aggregation(Aggregation::new(rules, hardware, &links));
        }
        let mut bss = Bss {
            exchanges: Exchanges {
                medium: Medium::new(contention, numbering, beacons),
                field: spec.field.is_some().then(|| Box::new(FieldShare::new(numbering))),
                meter: Meter::wanted_by(nodes.tx_queues_of(Node::Ap)),
                marked: Packet::default(),
                queue_sizes: None,
                announced_cw_min: None,
                polices: false,
                is_ideal: false,
                serves_generally: false,
                nodes,
                links: rows,
                phy,
                modes,
                mac,
            },
            channel_recipe: ChannelRecipe {
                spec: spec.channel.clone(),
                ap_m: spec.ap.position_m,
                labels: labels().map(String::from).collect(),
                seed,
            },
            rate_adaptation: spec.mac.rate_adaptation.clone(),
            rate_change: None,
            completion: None,
            edca_controller,
            now: Time::ZERO,
        };
        let has_errors = |s: &StationSpec| !s.frame_error_rate.is_zero() || s.position_m.is_some();
        if bss.exchanges.field.is_some() {
            bss.exchanges.medium.leave_to_field();
        } else if spec.stations.iter().any(has_errors) {
            for (index, station) in spec.stations.iter().enumerate() {
                bss.set_channel(StationId(index as u16), &StationChange::of(station), Time::ZERO);
            }
        }
        bss.exchanges.follow_queue_sizes();
        bss.exchanges.nodes.deadlines.set_beacon(first_beacon, Time::ZERO);
        bss.exchanges.nodes.ask_ticks();
        if let Some(controller) = &bss.edca_controller {
            controlled::schedule(controller, &mut bss.exchanges, Time::ZERO);
        }
        Ok((bss, functions))
    }
}

/// The names of the random streams of a station's rate adaptations, up and down.
pub(super) const RATE_PURPOSES: [&str; 2] = ["rate-up", "rate-down"];

/// The name of a random stream.
fn purpose(what: &str, category: Option<Ac>) -> String {
    match category {
        None => what.into(),
        Some(ac) => format!("{what}-{}", ac.name()),
    }
}

/// The data rates of a station, up and down.
fn rates(station: &StationSpec, modes: &Modes, index: usize) -> Result<[RateIndex; 2], SpecError> {
    let path = format!("stations[{index}]");
    let up = modes.chosen(station.rate_mbps, station.mcs, &path, UP_KEYS)?;
    let down = match (station.rate_down_mbps, station.mcs_down) {
        (None, None) => up,
        (mbps, mcs) => modes.chosen(mbps, mcs, &path, DOWN_KEYS)?,
    };
    Ok([up, down])
}

/// The modes of all stations; stations with equal specs share them.
fn station_modes(spec: &BssSpec, timing: &BssTiming, mac: &Mac) -> Result<StationModes, SpecError> {
    let mut kinds: Vec<(&StationSpec, Modes)> = Vec::new();
    let mut of_station = Vec::with_capacity(spec.stations.len());
    for (index, station) in spec.stations.iter().enumerate() {
        let same = |other: &StationSpec| {
            (&other.phy, other.streams, other.mcs) == (&station.phy, station.streams, station.mcs)
        };
        let kind = match kinds.iter().position(|(other, _)| same(other)) {
            Some(kind) => kind,
            None => {
                let path = format!("stations[{index}]");
                let own = StationPhy {
                    phy: station.phy.as_ref(),
                    streams: station.streams,
                    mcs: station.mcs,
                    path: &path,
                };
                let modes = spec.phy.modes(&own, "phy")?;
                kinds.push((station, modes.map(|on_air| timing.in_bss(on_air, mac.rts_threshold))));
                kinds.len() - 1
            }
        };
        of_station.push(kind as u16);
    }
    Ok(StationModes::new(kinds.into_iter().map(|(_, modes)| modes).collect(), of_station))
}
