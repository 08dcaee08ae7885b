//! The keys of a field, and the powers with which its nodes receive each other (`docs/medium.md`, section 16).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::SpecError;

use super::power::Power;
use super::propagation::{FloorsSpec, Propagation, WallSpec};
use super::shadowing::Shadowing;
use super::subchannels::OperatingChannel;
use crate::channel::ChannelSpec;
use crate::check;
use crate::phy::Format;

/// Maximum number of stations of a field.
const MAX_STATIONS: usize = 1_000;

/// Maximum received power, in dBm: the sum over all nodes is far from overflow.
const MAX_RECEIVED_DBM: f64 = -10.0;

/// Whether there is no shadowing, which canonical plans leave out.
fn is_zero(db: &f64) -> bool {
    *db == 0.0
}

/// Received power, in dBm, from which a PPDU makes a secondary channel busy (21.3.18.5.4).
const SECONDARY_DETECTION_DBM: f64 = -72.0;

/// Whether it is the default, which canonical plans leave out.
fn is_secondary_default(dbm: &f64) -> bool {
    *dbm == SECONDARY_DETECTION_DBM
}

/// What a node waits an EIFS after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EifsAfter {
    /// A frame that it was locked to and could not decode (10.3.2.3.7).
    #[default]
    Error,
    /// In addition, energy above `energy_detection_dbm` that it was not locked to.
    Energy,
}

/// Gain between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairGain {
    /// Two nodes: names of stations, `ap`, names of neighbours for their access points.
    pub between: [String; 2],
    /// Gain in dB, the same both ways: the path loss with a minus sign.
    pub gain_db: f64,
}

/// Which nodes receive which others, and with which power.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FieldSpec {
    /// Gain in dB between two nodes of which one has no position, unless `gains` or `hidden` has the pair.
    pub gain_db: f64,
    /// Gains of single pairs. They take precedence over positions.
    pub gains: Vec<PairGain>,
    /// Pairs that do not receive each other at all: names of two stations, or of nodes of two BSSs as in `gains`.
    pub hidden: Vec<[String; 2]>,
    /// Distance in metres up to which the path loss exponent is 2, as in free space; beyond, it is
    /// `channel.path_loss_exponent`. Without the key, that holds at all distances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breakpoint_m: Option<f64>,
    /// Walls between nodes that have positions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub walls: Vec<WallSpec>,
    /// Floors. Without the table, all nodes are on one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floors: Option<FloorsSpec>,
    /// Standard deviation, in dB, of the log-normal shadowing of the pairs whose gain follows from their positions; one draw
    /// per pair and seed. Links between an access point and its stations have none.
    #[serde(skip_serializing_if = "is_zero")]
    pub shadowing_db: f64,
    /// Received power, in dBm, below which a node does not receive another at all.
    pub floor_dbm: f64,
    /// Received power, in dBm, from which a preamble is detected (17.3.10.6).
    pub preamble_detection_dbm: f64,
    /// Received power, in dBm, from which the medium is busy whatever is on it (17.3.10.6).
    pub energy_detection_dbm: f64,
    /// Judge powers, energies and thresholds by channel of 20 MHz also where no channels overlap in part: a frame of
    /// 80 MHz then has a quarter of its power in each.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub subchannels: bool,
    /// Received power, in dBm, from which a PPDU of 20 or 40 MHz in a secondary channel makes that busy; 3 dB
    /// more for each doubling of its width (21.3.18.5.4). It has an effect only with subchannels.
    #[serde(skip_serializing_if = "is_secondary_default")]
    pub secondary_detection_dbm: f64,
    /// What a node waits an EIFS after: a frame that it could not decode (error), or also energy that it could
    /// not lock to (energy).
    pub eifs_after: EifsAfter,
}

impl Default for FieldSpec {
    fn default() -> FieldSpec {
        FieldSpec {
            gain_db: -60.0,
            gains: Vec::new(),
            hidden: Vec::new(),
            breakpoint_m: None,
            walls: Vec::new(),
            floors: None,
            shadowing_db: 0.0,
            floor_dbm: -100.0,
            preamble_detection_dbm: -82.0,
            energy_detection_dbm: -62.0,
            subchannels: false,
            secondary_detection_dbm: SECONDARY_DETECTION_DBM,
            eifs_after: EifsAfter::default(),
        }
    }
}

/// A node of a field, as its spec has it.
pub(crate) struct NodeOfField<'a> {
    /// Its key in the plan.
    pub key: String,
    pub label: &'a str,
    /// Number of its BSS.
    pub bss: usize,
    /// The channel of its BSS.
    pub channel: OperatingChannel,
    pub is_ap: bool,
    /// Of its data frames, where the other end has it too.
    pub format: Format,
    pub tx_power_dbm: f64,
    pub position_m: Option<[f64; 2]>,
    pub floor: i32,
}

/// By transmitter: the nodes that receive it, with the power, in order.
pub(crate) type Rows = Vec<Vec<(usize, Power)>>;

/// The powers with which the nodes of a field receive each other.
struct ReceivedPowers<'a> {
    nodes: &'a [NodeOfField<'a>],
    propagation: Propagation<'a>,
    /// Gains of pairs that are given one by one; `None` for a hidden pair.
    explicit: std::collections::BTreeMap<(usize, usize), Option<f64>>,
    /// Gain of pairs without positions.
    otherwise_db: f64,
    shadowing: Option<Shadowing>,
}

impl ReceivedPowers<'_> {
    /// The power with which one node receives another, in dBm, if it does at all.
    fn dbm(&self, from: usize, to: usize) -> Option<f64> {
        let (first, second) = (&self.nodes[from.min(to)], &self.nodes[from.max(to)]);
        if from == to || first.channel.all() & second.channel.all() == 0 {
            return None;
        }
        let gain =
            match (self.explicit.get(&(from.min(to), from.max(to))), first.position_m, second.position_m) {
                (Some(explicit), ..) => (*explicit)?,
                (None, Some(a), Some(b)) => self.propagation.gain_db((a, first.floor), (b, second.floor)),
                (None, ..) => self.otherwise_db,
            };
        Some(self.nodes[from].tx_power_dbm + gain)
    }

    /// What the power of a pair deviates by from that, in dB.
    fn offset_db(&self, from: usize, to: usize) -> f64 {
        let (a, b) = (&self.nodes[from], &self.nodes[to]);
        let is_link = a.bss == b.bss && (a.is_ap || b.is_ap);
        let has_positions = a.position_m.is_some() && b.position_m.is_some();
        let is_explicit = self.explicit.contains_key(&(from.min(to), from.max(to)));
        match &self.shadowing {
            Some(shadowing) if has_positions && !is_link && !is_explicit => {
                shadowing.offset_db(a.label, b.label)
            }
            _ => 0.0,
        }
    }

    /// The power with which one node receives another, with its offset.
    fn shadowed_dbm(&self, from: usize, to: usize) -> Option<f64> {
        let dbm = self.dbm(from, to)?;
        match self.offset_db(from, to) {
            0.0 => Some(dbm),
            offset_db => Some((dbm + offset_db).min(MAX_RECEIVED_DBM)),
        }
    }
}

impl FieldSpec {
    /// Whether it has another threshold of secondary channels than usual.
    pub(crate) fn has_secondary_detection(&self) -> bool {
        !is_secondary_default(&self.secondary_detection_dbm)
    }

    /// Who receives whom with which power, in a run with this seed.
    ///
    /// # Errors
    /// Returns the first value that is not allowed. `path` is the key of the field.
    pub(crate) fn rows(
        &self,
        nodes: &[NodeOfField],
        channel: &ChannelSpec,
        seed: u64,
        path: &str,
    ) -> Result<Rows, SpecError> {
        let stations = nodes.iter().filter(|node| !node.is_ap).count();
        if stations > MAX_STATIONS {
            let allowed = format!("1 to {MAX_STATIONS} stations in a field");
            return Err(SpecError::new("stations", stations, allowed));
        }
        check::number(path, "gain_db", self.gain_db, -300.0..=0.0, "dB")?;
        check::number(path, "floor_dbm", self.floor_dbm, -160.0..=-40.0, "dBm")?;
        check::number(path, "preamble_detection_dbm", self.preamble_detection_dbm, -160.0..=0.0, "dBm")?;
        check::number(path, "energy_detection_dbm", self.energy_detection_dbm, -160.0..=0.0, "dBm")?;
        check::number(path, "secondary_detection_dbm", self.secondary_detection_dbm, -160.0..=0.0, "dBm")?;
        let powers = self.received_powers(nodes, channel, seed, path)?;
        let mut rows: Rows = vec![Vec::new(); nodes.len()];
        for (from, row) in rows.iter_mut().enumerate() {
            for (to, other) in nodes.iter().enumerate() {
                let Some(dbm) = powers.dbm(from, to) else { continue };
                if dbm > MAX_RECEIVED_DBM {
                    let value = format!("{dbm} dBm from {:?} at {:?}", nodes[from].label, other.label);
                    let allowed = format!("a received power of at most {MAX_RECEIVED_DBM} dBm");
                    return Err(SpecError::new(path, value, allowed));
                }
                let Some(dbm) = powers.shadowed_dbm(from, to) else { continue };
                if dbm >= self.floor_dbm {
                    row.push((to, Power::from_dbm(dbm)));
                }
            }
        }
        Ok(rows)
    }

    fn received_powers<'a>(
        &'a self,
        nodes: &'a [NodeOfField<'a>],
        channel: &'a ChannelSpec,
        seed: u64,
        path: &str,
    ) -> Result<ReceivedPowers<'a>, SpecError> {
        let deviation_db = check::number(path, "shadowing_db", self.shadowing_db, 0.0..=30.0, "dB")?;
        let shadowing = (deviation_db > 0.0).then_some(Shadowing { deviation_db, seed });
        let (breakpoint_m, walls, floors) = (self.breakpoint_m, &*self.walls, self.floors.as_ref());
        let propagation = Propagation { channel, breakpoint_m, walls, floors };
        propagation.check(path)?;
        self.check_floors(nodes)?;
        let explicit = self.explicit(nodes, path)?;
        Ok(ReceivedPowers { nodes, propagation, explicit, otherwise_db: self.gain_db, shadowing })
    }

    /// By BSS: the lowest number of a BSS that it is connected with. Two BSSs are if a node of one receives one of the other,
    /// or both are connected with a third.
    ///
    /// # Errors
    /// As [`FieldSpec::rows`].
    pub(crate) fn components(
        &self,
        nodes: &[NodeOfField],
        channel: &ChannelSpec,
        seed: u64,
        path: &str,
    ) -> Result<Vec<usize>, SpecError> {
        let powers = self.received_powers(nodes, channel, seed, path)?;
        let bsss = nodes.last().map_or(0, |last| last.bss + 1);
        let of_bss = |bss| (0..nodes.len()).filter(move |&node| nodes[node].bss == bss);
        let members: Vec<Vec<usize>> = (0..bsss).map(|bss| of_bss(bss).collect()).collect();
        let receives =
            |from: usize, to: usize| powers.shadowed_dbm(from, to).is_some_and(|dbm| dbm >= self.floor_dbm);
        let mut components: Vec<usize> = (0..bsss).collect();
        for (a, b) in (0..bsss).flat_map(|a| (a + 1..bsss).map(move |b| (a, b))) {
            let [first, second] = [a, b].map(|bss| components[bss]);
            let mut pairs = members[a].iter().flat_map(|&i| members[b].iter().map(move |&j| (i, j)));
            if first != second && pairs.any(|(i, j)| receives(i, j) || receives(j, i)) {
                let (kept, gone) = (first.min(second), first.max(second));
                components.iter_mut().filter(|of| **of == gone).for_each(|of| *of = kept);
            }
        }
        Ok(components)
    }

    /// Checks that no node is on a floor where there are none.
    fn check_floors(&self, nodes: &[NodeOfField]) -> Result<(), SpecError> {
        match nodes.iter().find(|node| node.floor != 0 && self.floors.is_none()) {
            Some(node) => {
                let allowed = "no such key without the table field.floors";
                Err(SpecError::new(format!("{}.floor", node.key), node.floor, allowed))
            }
            None => Ok(()),
        }
    }

    /// The gains of pairs that are given one by one; `None` for a hidden pair.
    fn explicit(
        &self,
        nodes: &[NodeOfField],
        path: &str,
    ) -> Result<std::collections::BTreeMap<(usize, usize), Option<f64>>, SpecError> {
        let index: std::collections::BTreeMap<&str, usize> =
            nodes.iter().enumerate().map(|(index, node)| (node.label, index)).collect();
        let gains = self
            .gains
            .iter()
            .enumerate()
            .map(|(i, gain)| (format!("{path}.gains[{i}].between"), &gain.between, Some(gain.gain_db)));
        let hidden =
            self.hidden.iter().enumerate().map(|(i, pair)| (format!("{path}.hidden[{i}]"), pair, None));
        let mut explicit = std::collections::BTreeMap::new();
        for (key, pair, gain) in gains.chain(hidden) {
            let find = |label: &String| {
                index.get(label.as_str()).copied().ok_or_else(|| {
                    let allowed = "the name of a station or neighbour, or \"ap\"";
                    SpecError::new(&key, format!("{label:?}"), allowed)
                })
            };
            let (a, b) = (find(&pair[0])?, find(&pair[1])?);
            let value = format!("{:?} and {:?}", pair[0], pair[1]);
            if a == b {
                return Err(SpecError::new(key, value, "two different nodes"));
            }
            match gain {
                Some(gain) => {
                    let entry = key.trim_end_matches(".between");
                    check::number(entry, "gain_db", gain, -300.0..=0.0, "dB")?;
                }
                None if nodes[a].bss == nodes[b].bss && (nodes[a].is_ap || nodes[b].is_ap) => {
                    let allowed = "two stations: the access point has to receive all stations, and they it";
                    return Err(SpecError::new(key, value, allowed));
                }
                None => {}
            }
            if explicit.insert((a.min(b), a.max(b)), gain).is_some() {
                return Err(SpecError::new(key, value, "each pair once, in gains or in hidden"));
            }
        }
        Ok(explicit)
    }
}
