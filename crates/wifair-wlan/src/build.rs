//! How a BSS is made from what a scenario says of it.

use std::collections::VecDeque;

use wifair_core::{Ac, Rng, SpecError, StationId, Time};
use wifair_queue::{Direction, Flows, Link, Port, PortSpec};

use crate::bss::{Bss, Sender, Sides, Surroundings};
use crate::contention::{Access, Contention, Rules};
use crate::edca::{CATEGORY_BITS, Countdown, Edca, RANKS};
use crate::exchange::{Frame, OngoingExchange, Phase};
use crate::link::LinkRow;
use crate::mac::Mac;
use crate::meter::Meter;
use crate::phy::{BssTiming, Modes, RateIndex};
use crate::spec::{AP_LABEL, BssSpec, StationChange, StationSpec};

impl Bss {
    /// The BSS that `spec` describes, idle at time zero. Streams: (`seed`, node's label, `"backoff"`, `"channel"` and
    /// `"scheme"`); under EDCA `"backoff-voice"` and `"scheme-voice"` and so on.
    ///
    /// # Errors
    /// The first value of `spec` that is not allowed.
    pub fn new(spec: &BssSpec, seed: u64) -> Result<Bss, SpecError> {
        let phy = BssTiming::new(&spec.phy, "phy")?;
        let modes = Modes::new(&spec.phy, "phy")?.after(phy.announcement());
        spec.validate(&phy, &modes)?;
        let mac = Mac::new(&spec.mac, &phy, "mac")?;
        let rules = Rules {
            slot: phy.slot,
            range: spec.mac.backoff_range,
            immediate_access: spec.mac.immediate_access,
            arrival_within_ifs: spec.mac.arrival_within_ifs,
            at_boundaries: spec.mac.edca.as_ref().is_some_and(|edca| edca.countdown == Countdown::Edca),
        };
        let edca = spec.mac.edca.as_ref().map(|edca| Edca::new(edca, &phy, "mac.edca")).transpose()?;
        let category_bits = if edca.is_some() { CATEGORY_BITS } else { 0 };
        let labels = || std::iter::once(AP_LABEL).chain(spec.stations.iter().map(|s| s.label.as_str()));
        let categories: Vec<Option<Ac>> = match &edca {
            Some(_) => RANKS.map(Some).to_vec(),
            None => vec![None],
        };
        let each = || {
            labels().enumerate().flat_map(|(node, label)| categories.iter().map(move |ac| (node, label, *ac)))
        };
        let entities = each().enumerate().map(|(sender, (_, label, ac))| {
            let access = match &edca {
                Some(edca) => edca.access(sender as u32),
                None => Access { cw_min: phy.cw_min, cw_max: phy.cw_max, aifs: phy.difs },
            };
            (access, Rng::stream(seed, label, &purpose("backoff", ac)))
        });
        let shares_port = |node| edca.as_ref().is_some_and(|edca| edca.shares_port(node as u32));
        let senders = each().map(|(node, label, ac)| Sender {
            port: match shares_port(node) {
                false => Port::for_purpose(&spec.port(node, ac), seed, label, &purpose("scheme", ac)),
                true if ac == Some(RANKS[0]) => Port::for_categories(spec.node_port(node), seed, label),
                true => Port::new(&PortSpec::default(), seed, label), // nothing will ever come there
            },
            frame: Frame::none(),
        });
        let own_limit = |ac: &Option<Ac>| {
            let own = ac.map(|ac| spec.ap.categories.of(ac));
            own.is_some_and(|own| own.limit_packets.is_some() || own.limit_controller.is_some())
        };

        let mut rows = Vec::new();
        for (index, station) in spec.stations.iter().enumerate() {
            for rate in rates(station, &modes, index)? {
                rows.push(LinkRow::new(
                    modes.on_air(rate),
                    spec.mac.rate_adaptation.build(rate, modes.count()),
                ));
            }
        }
        let surroundings = |direction: Direction| Surroundings {
            flows: Flows::new(&spec.ap.flows),
            links: rows[direction as usize..]
                .iter()
                .step_by(2)
                .map(|row| Link { rate: row.on_air.rate() })
                .collect(),
        };
        let mut bss = Bss {
            contention: Contention::new(rules, edca.is_some(), entities),
            senders: senders.collect(),
            category_bits,
            own_limits: categories.iter().map(own_limit).collect(),
            sides: Sides { ap: surroundings(Direction::Down), stations: surroundings(Direction::Up) },
            links: rows,
            channel: None,
            channel_spec: spec.channel.clone(),
            ap_position_m: spec.ap.position_m,
            rate_adaptation: spec.mac.rate_adaptation.clone(),
            seed,
            labels: labels().map(String::from).collect(),
            phase: Phase::Idle,
            phase_began: Time::ZERO,
            single: OngoingExchange::none(),
            due: Time::MAX,
            colliders: Vec::new(),
            captured: None,
            losses: Vec::new(),
            next_loss: Time::MAX,
            tickers: Vec::new(),
            next_tick: Time::MAX,
            rate_changes: VecDeque::new(),
            rare: Time::MAX,
            now: Time::ZERO,
            meter: None,
            edca,
            exchanges: 0,
            collisions: 0,
            collision_airtime: Time::ZERO,
            phy,
            modes,
            mac,
        };
        let has_errors = |s: &StationSpec| !s.frame_error_rate.is_zero() || s.position_m.is_some();
        if spec.stations.iter().any(has_errors) {
            for (index, station) in spec.stations.iter().enumerate() {
                bss.set_channel(StationId(index as u16), &StationChange::of(station), Time::ZERO);
            }
        }
        bss.meter = Meter::wanted_by(bss.ap_ports().map(|(_, port)| port), &bss.phy);
        for port in 0..bss.senders.len() as u32 {
            bss.ask_tick(port, bss.senders[port as usize].port.next_tick());
        }
        Ok(bss)
    }
}

/// The name of a random stream.
fn purpose(what: &str, category: Option<Ac>) -> String {
    match category {
        None => what.into(),
        Some(ac) => format!("{what}-{}", ac.name()),
    }
}

/// The data rates of a station, up and down.
fn rates(station: &StationSpec, modes: &Modes, index: usize) -> Result<[RateIndex; 2], SpecError> {
    let up = modes.rate_index(station.rate_mbps, &format!("stations[{index}].rate_mbps"))?;
    let down = match station.rate_down_mbps {
        Some(mbps) => modes.rate_index(mbps, &format!("stations[{index}].rate_down_mbps"))?,
        None => up,
    };
    Ok([up, down])
}
