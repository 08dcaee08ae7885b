//! Fields on the engine: the table `[field]` as it reads it, one BSS or several.

use super::spec::{QueueSizes, spec};
use super::{Engine, Side};
use crate::oracle::field::powers::{Keys, Split};
use crate::oracle::field::{FieldScenario, label};
use crate::oracle::frame::NodeId;
use crate::oracle::record::Record;
use wifair_core::Time;
use wifair_wlan::{
    ApSpec, Bss, BssSpec, ChannelSpec, EifsAfter, FieldSpec, FloorsSpec, MacSpec, NeighbourSpec, Obss,
    ObssSpec, PairGain, StationSpec, WallSpec, WidthUse,
};

/// A field with one BSS, or with several.
pub enum FieldEngine {
    One(Box<Engine>),
    Several { obss: Box<Obss>, sides: Vec<Side> },
}

impl FieldEngine {
    pub fn new(scenario: &FieldScenario) -> FieldEngine {
        let queue_sizes: Vec<QueueSizes> = scenario.bsss().map(|_| QueueSizes::default()).collect();
        let (spec, seed) = (spec_of(scenario, &queue_sizes), scenario.base.seed);
        let bsss = scenario.bsss().zip(queue_sizes);
        let mut sides: Vec<Side> = bsss.map(|(scenario, sizes)| Side::new(scenario, sizes)).collect();
        if scenario.neighbours.is_empty() {
            let bss = Bss::new(&spec.bss, seed).expect("the scenario is valid");
            return FieldEngine::One(Box::new(Engine { bss, side: sides.remove(0) }));
        }
        let obss = Box::new(Obss::new(&spec, seed).expect("the scenario is valid"));
        FieldEngine::Several { obss, sides }
    }

    /// Nothing will happen any more.
    pub fn is_at_rest(&self) -> bool {
        match self {
            FieldEngine::One(engine) => engine.is_at_rest(),
            FieldEngine::Several { obss, sides } => {
                sides.iter().all(Side::is_over) && obss.next_event() == Time::MAX
            }
        }
    }

    /// Handles all that happens before `until`.
    pub fn run_until(&mut self, until: u64) {
        match self {
            FieldEngine::One(engine) => engine.run_until(until),
            FieldEngine::Several { obss, sides } => run_until(obss, sides, until),
        }
    }

    /// All that happened before `now`, in each BSS.
    pub fn records(&mut self, now: u64) -> Vec<Record> {
        match self {
            FieldEngine::One(engine) => vec![engine.record(now)],
            FieldEngine::Several { obss, sides } => {
                let record = |(bss, side): (usize, &Side)| {
                    let record = side.record(&obss.turn(bss), now);
                    let until = side.log.step * now;
                    let usage = obss.field_usage(bss, until);
                    Record {
                        reuses: usage.spatial_reuses,
                        narrow_cts: usage.narrow_cts,
                        punctured: usage.punctured,
                        beacons_missed: usage.beacons_missed,
                        ..record
                    }
                };
                sides.iter().enumerate().map(record).collect()
            }
        }
    }
}

fn run_until(obss: &mut Obss, sides: &mut [Side], until: u64) {
    let until = sides[0].log.step * until;
    loop {
        let event = obss.next_event();
        let next = sides.iter().enumerate().map(|(bss, side)| (side.next_outside(), bss)).min();
        let (outside, bss) = next.expect("there are BSSs");
        if event.min(outside) >= until {
            return;
        }
        if outside <= event {
            sides[bss].act(&mut obss.turn(bss), outside);
            continue;
        }
        let told = obss.advance_watched(outside.min(until), |bss, state| sides[bss].log.exchange(state));
        let Some((now, bss, output)) = told else { continue };
        if let Some((packet, to)) = sides[bss].log.output(output, now) {
            sides[bss].deliver(&mut obss.turn(bss), &packet, to, now);
        }
    }
}

fn spec_of(scenario: &FieldScenario, queue_sizes: &[QueueSizes]) -> ObssSpec {
    let keys = &scenario.keys;
    let mut nodes = 0;
    let mut bsss = scenario.bsss().zip(queue_sizes).enumerate().map(|(bss, (scenario, sizes))| {
        let first = nodes;
        nodes += 1 + scenario.stations.len();
        in_field(spec(scenario, sizes), keys, bss, first)
    });
    let homes = scenario.homes();
    let ap = |bss| homes.iter().position(|home| *home == (bss, 0)).expect("it has an access point");
    let channel = |bss: usize| match &keys.split {
        Some(split) => split.bsss[bss].0,
        None => keys.channels.get(ap(bss)).copied(),
    };
    let primary = |bss: usize| keys.split.as_ref().and_then(|split| split.bsss[bss].2);
    let never = |bss: usize| keys.split.as_ref().map(|split| split.never[bss].clone()).unwrap_or_default();
    let width_mhz = |bss: usize| keys.split.as_ref().map(|split| split.bsss[bss].1 as u16);
    let first = bsss.next().expect("there is a BSS");
    let neighbour = |(index, BssSpec { ap, stations, .. }): (usize, BssSpec)| NeighbourSpec {
        label: label(index + 1, 0),
        channel: channel(index + 1),
        width_mhz: width_mhz(index + 1).filter(|_| channel(0).is_some()),
        primary: primary(index + 1),
        punctured: never(index + 1),
        ap,
        stations,
    };
    let neighbours = bsss.enumerate().map(neighbour).collect();
    let width = match &keys.split {
        Some(Split { is_punctured: true, .. }) => WidthUse::Punctured,
        Some(Split { is_dynamic: true, .. }) => WidthUse::Dynamic,
        _ => WidthUse::Static,
    };
    let bss = BssSpec {
        mac: MacSpec { width, ..first.mac },
        field: Some(table(scenario)),
        channel: ChannelSpec {
            tx_power_dbm: keys.tx_power_dbm,
            path_loss_exponent: keys.path_loss_exponent,
            reference_loss_db: keys.reference_loss_db,
            noise_dbm: keys.noise_dbm,
            ..first.channel
        },
        ..first
    };
    ObssSpec { bss, channel: channel(0), primary: primary(0), punctured: never(0), neighbours }
}

fn table(scenario: &FieldScenario) -> FieldSpec {
    let (keys, homes) = (&scenario.keys, scenario.homes());
    let name = |node: NodeId| label(homes[node].0, homes[node].1);
    let names = |&a: &NodeId, &b: &NodeId| [name(a), name(b)];
    FieldSpec {
        gain_db: keys.gain_db,
        gains: keys
            .gains
            .iter()
            .map(|(a, b, gain_db)| PairGain { between: names(a, b), gain_db: *gain_db })
            .collect(),
        breakpoint_m: keys.breakpoint_m,
        walls: keys.walls.iter().map(|&(from_m, to_m, loss_db)| WallSpec { from_m, to_m, loss_db }).collect(),
        floors: keys.floors.map(|(height_m, loss_db)| FloorsSpec { height_m, loss_db }),
        hidden: keys.hidden.iter().map(|(a, b)| names(a, b)).collect(),
        shadowing_db: keys.shadowing_db,
        floor_dbm: keys.floor_dbm,
        preamble_detection_dbm: keys.preamble_detection_dbm,
        energy_detection_dbm: keys.energy_detection_dbm,
        subchannels: keys.split.as_ref().is_some_and(|split| split.is_said),
        secondary_detection_dbm: keys.split.as_ref().map_or(-72.0, |split| split.secondary_detection_dbm),
        eifs_after: if keys.eifs_after_energy { EifsAfter::Energy } else { EifsAfter::Error },
    }
}

/// The nodes of a BSS, the first of which has that number among all.
fn in_field(spec: BssSpec, keys: &Keys, bss: usize, first: NodeId) -> BssSpec {
    let station = |(index, station): (usize, StationSpec)| StationSpec {
        label: label(bss, index + 1),
        tx_power_dbm: keys.own_tx_power_dbm[first + index + 1],
        position_m: keys.positions_m[first + index + 1],
        floor: keys.floor_of[first + index + 1],
        ..station
    };
    let (bss_color, obss_pd_dbm) = keys.reuse.get(bss).copied().unwrap_or_default();
    BssSpec {
        ap: ApSpec {
            bss_color,
            obss_pd_dbm,
            tx_power_dbm: keys.own_tx_power_dbm[first],
            position_m: keys.positions_m[first].expect("an access point has a place"),
            floor: keys.floor_of[first],
            ..spec.ap
        },
        stations: spec.stations.into_iter().enumerate().map(station).collect(),
        ..spec
    }
}
