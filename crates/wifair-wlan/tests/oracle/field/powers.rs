//! Who reaches whom, and how strongly.

use super::flaw::Flaw;
use crate::oracle::frame::NodeId;
use crate::oracle::mode::Mode;
use crate::oracle::timing::Tenths;
use wifair_core::Rng;

/// The table `[field]`, the transmit powers and the positions.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Of `[channel]`, and of nodes that have their own.
    pub tx_power_dbm: f64,
    pub own_tx_power_dbm: Vec<Option<f64>>,
    /// Of the AP and the stations.
    pub positions_m: Vec<Option<[f64; 2]>>,
    /// Channels of the nodes by number; empty: all are on one.
    pub channels: Vec<u16>,
    pub path_loss_exponent: f64,
    /// Metres up to which the exponent is 2.
    pub breakpoint_m: Option<f64>,
    /// Both ends in metres, and the loss in dB.
    pub walls: Vec<([f64; 2], [f64; 2], f64)>,
    /// Height in metres and loss in dB; and the floor of each node.
    pub floors: Option<(f64, f64)>,
    pub floor_of: Vec<i32>,
    pub reference_loss_db: f64,
    pub gain_db: f64,
    pub gains: Vec<(NodeId, NodeId, f64)>,
    pub hidden: Vec<(NodeId, NodeId)>,
    pub floor_dbm: f64,
    pub preamble_detection_dbm: f64,
    pub energy_detection_dbm: f64,
    pub noise_dbm: f64,
    pub eifs_after_energy: bool,
    /// Deviation of the shadowing in dB, the seed of the run, and the nodes: BSS and number there.
    pub shadowing_db: f64,
    pub seed: u64,
    pub homes: Vec<(usize, NodeId)>,
    /// What is to be known of channels of 20 MHz, if the field has them.
    pub split: Option<Split>,
    /// By BSS, if there are several: its colour, and its OBSS PD level in dBm.
    pub reuse: Vec<(Option<u8>, Option<f64>)>,
}

/// Channels that consist of channels of 20 MHz.
#[derive(Clone, Debug)]
pub struct Split {
    /// By BSS: number and width of its channel, and the number of its primary channel. Without numbers, all are on one.
    pub bsss: Vec<(Option<u16>, u32, Option<u16>)>,
    /// By BSS: channels of 20 MHz that it never uses.
    pub never: Vec<Vec<u16>>,
    /// The table says so, although it need not follow from the channels.
    pub is_said: bool,
    pub is_dynamic: bool,
    /// Then width is dynamic, too.
    pub is_punctured: bool,
    pub secondary_detection_dbm: f64,
}

impl Split {
    /// Those channels of 20 MHz that a BSS uses.
    fn used(&self, bss: usize, all: &[u16]) -> Vec<u16> {
        all.iter().copied().filter(|subchannel| !self.never[bss].contains(subchannel)).collect()
    }

    /// The channels of 20 MHz that a BSS uses.
    pub fn channel(&self, bss: usize) -> Vec<u16> {
        self.used(bss, &self.whole_channel(bss))
    }

    /// The channels of 20 MHz of a BSS, from the lowest on: each is the fourth after the one before it.
    pub fn whole_channel(&self, bss: usize) -> Vec<u16> {
        let (number, width_mhz, _) = self.bsss[bss];
        let half = width_mhz as u16 / 10; // of 5 MHz
        let centre = number.unwrap_or(half);
        (0..width_mhz as u16 / 20).map(|i| centre + 2 + 4 * i - half).collect()
    }

    /// What a BSS uses of its primary channel of `width_mhz`, or of all of its channel.
    pub fn primary(&self, bss: usize, width_mhz: u32) -> Vec<u16> {
        self.used(bss, &self.whole_primary(bss, width_mhz))
    }

    /// The primary channel of a BSS of `width_mhz`, or all of its channel.
    pub fn whole_primary(&self, bss: usize, width_mhz: u32) -> Vec<u16> {
        let all = self.whole_channel(bss);
        let of_20_mhz = self.bsss[bss].2.unwrap_or(all[0]);
        let mut parts = all.chunks(width_mhz as usize / 20);
        parts.find(|part| part.contains(&of_20_mhz)).expect("it is one of them").to_vec()
    }

    /// What a BSS uses of the other half of the primary channel of twice the width.
    pub fn secondary(&self, bss: usize, width_mhz: u32, flaw: Option<Flaw>) -> Vec<u16> {
        let own = self.whole_primary(bss, width_mhz);
        let mut other = self.whole_primary(bss, 2 * width_mhz);
        other.retain(|subchannel| !own.contains(subchannel));
        if flaw == Some(Flaw::SensesTheUnused) { other } else { self.used(bss, &other) }
    }

    /// What punctured PPDUs of a primary channel may occupy.
    pub fn patterns(&self, bss: usize, width_mhz: u32, flaw: Option<Flaw>) -> Vec<Vec<u16>> {
        let mut all = self.whole_patterns(bss, width_mhz, flaw);
        let is_used = |pattern: &Vec<u16>| pattern.iter().all(|one| !self.never[bss].contains(one));
        if flaw == Some(Flaw::PatternsAddUp) {
            let has_modes = |pattern: &Vec<u16>| ![5, 9, 11, 13, 15].contains(&pattern.len());
            all = all.iter().map(|pattern| self.used(bss, pattern)).filter(has_modes).collect();
        }
        all.retain(is_used);
        all
    }

    /// The same of a BSS that uses all of its channel.
    pub fn whole_patterns(&self, bss: usize, width_mhz: u32, flaw: Option<Flaw>) -> Vec<Vec<u16>> {
        let part = self.whole_primary(bss, width_mhz);
        let primary = self.primary(bss, 20)[0];
        let of = |mhz: usize| part.chunks(mhz / 20).map(<[u16]>::to_vec).collect::<Vec<_>>();
        let mut left_out = match width_mhz {
            80 => of(20),
            160 => [of(20), of(40)].concat(),
            320 => [of(40), of(80)].concat(),
            _ => vec![],
        };
        if width_mhz == 320 {
            let ends = [of(80)[0].clone(), of(80)[3].clone()];
            for end in ends {
                let outside = of(40).into_iter().filter(|part| !end.contains(&part[0]));
                left_out.extend(outside.map(|part| [end.clone(), part].concat()));
            }
        }
        if flaw == Some(Flaw::AnyPattern) && [80, 160].contains(&width_mhz) {
            let pairs = (0..part.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
            left_out.extend(pairs.map(|(a, b)| vec![part[a], part[b]]));
        }
        let without =
            |out: Vec<u16>| part.iter().copied().filter(|subchannel| !out.contains(subchannel)).collect();
        let mut all: Vec<Vec<u16>> = left_out.into_iter().map(without).collect();
        all.retain(|pattern| pattern.contains(&primary));
        all
    }
}

/// Units of 10⁻²⁰ W.
pub type Units = u64;

/// dBm as units: 1 mW is 10¹⁷ of them.
pub fn units(dbm: f64) -> Units {
    10f64.powf(dbm / 10.0 + 17.0).round() as Units
}

/// Whether the ratio of a power to what disturbs it is at least `db`.
pub fn is_at_least(db: f64, power: Units, disturbance: Units) -> bool {
    let threshold = (65_536.0 * 10f64.powf(db / 10.0)).round() as u128;
    65_536 * u128::from(power) >= threshold * u128::from(disturbance)
}

/// SINR, in dB, at which a preamble is detected.
pub const PREAMBLE_DB: f64 = 4.0;

/// SINR, in dB, at which a frame at this rate is decoded.
pub fn threshold_db(rate: Tenths) -> f64 {
    let table =
        [(60, 4.0), (90, 5.0), (120, 7.0), (180, 9.0), (240, 12.0), (360, 16.0), (480, 20.0), (540, 21.0)];
    table.iter().find(|(of, _)| *of == rate).expect("a rate of OFDM").1
}

/// The same of a frame in a mode of 802.11n or later, or else at a rate.
pub fn threshold_of(mode: Option<Mode>, rate: Tenths) -> f64 {
    let table = [4.0, 7.0, 9.0, 12.0, 16.0, 20.0, 21.0, 22.0, 27.0, 29.0, 32.0, 34.0, 37.0, 40.0];
    mode.map_or_else(|| threshold_db(rate), |mode| table[mode.mcs as usize])
}

/// Whether the line from `a` to `b` meets that from `c` to `d`: both points of the crossing are between their ends.
fn cross(a: [f64; 2], b: [f64; 2], c: [f64; 2], d: [f64; 2]) -> bool {
    let along = |from: [f64; 2], to: [f64; 2]| [to[0] - from[0], to[1] - from[1]];
    let (line, wall, gap) = (along(a, b), along(c, d), along(a, c));
    let determinant = line[0] * wall[1] - line[1] * wall[0];
    let on_line = (gap[0] * wall[1] - gap[1] * wall[0]) / determinant;
    let on_wall = (gap[0] * line[1] - gap[1] * line[0]) / determinant;
    on_line > 0.0 && on_line < 1.0 && (0.0..=1.0).contains(&on_wall)
}

impl Keys {
    /// All nodes reach each other with one power.
    pub fn equal(nodes: usize) -> Keys {
        Keys {
            tx_power_dbm: 15.0,
            own_tx_power_dbm: vec![None; nodes],
            positions_m: (0..nodes).map(|node| (node == 0).then_some([0.0, 0.0])).collect(),
            channels: Vec::new(),
            path_loss_exponent: 3.0,
            breakpoint_m: None,
            walls: Vec::new(),
            floors: None,
            floor_of: vec![0; nodes],
            reference_loss_db: 40.05,
            gain_db: -60.0,
            gains: Vec::new(),
            hidden: Vec::new(),
            floor_dbm: -100.0,
            preamble_detection_dbm: -82.0,
            energy_detection_dbm: -62.0,
            noise_dbm: -93.6,
            eifs_after_energy: false,
            shadowing_db: 0.0,
            seed: 0,
            homes: Vec::new(),
            split: None,
            reuse: Vec::new(),
        }
    }

    /// Of a frame in a mode, or else of 20 MHz.
    pub fn noise(&self, mode: Option<Mode>, flaw: Option<Flaw>) -> Units {
        let mode = mode.filter(|_| self.split.is_none() || flaw == Some(Flaw::NoiseOfTheWidth));
        let width_mhz = match (flaw, mode) {
            (Some(Flaw::NoiseOf22Mhz), _) => 22.0,
            (Some(Flaw::NoiseOf20Mhz), _) | (_, None) => 20.0,
            (_, Some(mode)) => f64::from(mode.width_mhz),
        };
        units(self.noise_dbm + 10.0 * (width_mhz / 22.0).log10())
    }

    fn gain_db(&self, a: NodeId, b: NodeId, flaw: Option<Flaw>) -> Option<f64> {
        let is_pair = |c: NodeId, d: NodeId| (a, b) == (c, d) || (b, a) == (c, d);
        if self.hidden.iter().any(|&(c, d)| is_pair(c, d)) {
            return None;
        }
        if let Some(&(.., gain)) = self.gains.iter().find(|&&(c, d, _)| is_pair(c, d)) {
            return Some(gain);
        }
        let (Some(from), Some(to)) = (self.positions_m[a], self.positions_m[b]) else {
            return Some(self.gain_db);
        };
        let (height_m, floor_db) = self.floors.unwrap_or((0.0, 0.0));
        let floors = f64::from((self.floor_of[a] - self.floor_of[b]).abs());
        let up = if flaw == Some(Flaw::FlatHouse) { 0.0 } else { floors * height_m };
        let metres = ((from[0] - to[0]).powi(2) + (from[1] - to[1]).powi(2) + up.powi(2)).sqrt().max(1.0);
        let far = 10.0 * self.path_loss_exponent;
        let by_distance = match self.breakpoint_m {
            Some(point) if metres <= point && flaw != Some(Flaw::NoBreakpoint) => 20.0 * metres.log10(),
            Some(point) if flaw != Some(Flaw::NoBreakpoint) => {
                20.0 * point.log10() + far * (metres / point).log10()
            }
            _ => far * metres.log10(),
        };
        let by_floors = match floors {
            0.0 => 0.0,
            _ if flaw == Some(Flaw::FloorsAdd) => floor_db * floors,
            _ => floor_db * floors.powf((floors + 2.0) / (floors + 1.0) - 0.46),
        };
        let crossed = self.walls.iter().filter(|(one, other, _)| cross(from, to, *one, *other));
        let by_walls: f64 = crossed.map(|(.., db)| db).sum();
        let by_walls = if flaw == Some(Flaw::NoWalls) { 0.0 } else { by_walls };
        Some(-self.reference_loss_db - by_distance - by_floors - by_walls)
    }

    /// dBm; none: not at all.
    pub fn dbm(&self, from: NodeId, to: NodeId, flaw: Option<Flaw>) -> Option<f64> {
        Some(self.own_tx_power_dbm[from].unwrap_or(self.tx_power_dbm) + self.gain_db(from, to, flaw)?)
    }

    /// What the positions of two nodes do not say, in dB.
    fn shadow_db(&self, from: NodeId, to: NodeId, flaw: Option<Flaw>) -> f64 {
        let ((bss_a, a), (bss_b, b)) = (self.homes[from], self.homes[to]);
        let is_link = bss_a == bss_b && (a == 0 || b == 0) && flaw != Some(Flaw::ShadowedLinks);
        let has_places = self.positions_m[from].is_some() && self.positions_m[to].is_some();
        let is_pair = |c: NodeId, d: NodeId| (from, to) == (c, d) || (to, from) == (c, d);
        let is_given = self.gains.iter().any(|&(c, d, _)| is_pair(c, d));
        if is_link || !has_places || is_given || flaw == Some(Flaw::NoShadows) {
            return 0.0;
        }
        let mut names = [super::label(bss_a, a), super::label(bss_b, b)];
        if flaw != Some(Flaw::ShadowsOfDirections) {
            names.sort();
        }
        let mut draws = Rng::stream(self.seed, &names.join("\0"), "shadowing");
        let (u, v) = (draws.unit(), draws.unit());
        self.shadowing_db * (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// The power with which a node reaches another.
    pub fn power(&self, from: NodeId, to: NodeId, flaw: Option<Flaw>) -> Units {
        let (from, to) = match flaw {
            Some(Flaw::OnePower) => (from.min(to), from.max(to)),
            _ => (from, to),
        };
        let is_apart = match &self.split {
            Some(split) => {
                let channel = |bss| match flaw {
                    Some(Flaw::SensesTheUnused) => split.whole_channel(bss),
                    _ => split.channel(bss),
                };
                let [a, b] = [from, to].map(|node| channel(self.homes[node].0));
                !a.iter().any(|subchannel| b.contains(subchannel))
            }
            None => !self.channels.is_empty() && self.channels[from] != self.channels[to],
        };
        if is_apart && flaw != Some(Flaw::HearsAllChannels) {
            return 0;
        }
        let floor = if flaw == Some(Flaw::NoFloor) { f64::NEG_INFINITY } else { self.floor_dbm };
        let dbm = self.dbm(from, to, flaw).map(|dbm| match self.shadowing_db {
            0.0 => dbm,
            _ => (dbm + self.shadow_db(from, to, flaw)).min(-10.0_f64.max(dbm)),
        });
        dbm.filter(|dbm| *dbm >= floor).map_or(0, units)
    }

    /// Whether a node of a BSS reads another colour than its own in PPDUs of another BSS.
    pub fn is_other_colour(&self, own: usize, other: usize) -> bool {
        let of_colour = |bss: usize| self.reuse[bss].0;
        own != other && (of_colour(own).is_none() || of_colour(own) != of_colour(other))
    }

    /// The power below which nodes of a BSS ignore PPDUs of `width_mhz` in a channel of `channel_mhz`; none: none.
    pub fn obss_pd(&self, bss: usize, width_mhz: u32, channel_mhz: u32, flaw: Option<Flaw>) -> Option<Units> {
        let level_dbm = self.reuse.get(bss)?.1?;
        let narrower = if flaw == Some(Flaw::OneLevel) { 1.0 } else { f64::from(channel_mhz / width_mhz) };
        Some(units(level_dbm - 10.0 * narrower.log10()))
    }

    /// What a node of a BSS sends with in an opportunity, in 65,536ths of its power.
    pub fn reduced(
        &self,
        node: NodeId,
        bss: usize,
        is_ap: bool,
        channel_mhz: u32,
        flaw: Option<Flaw>,
    ) -> u64 {
        let Some(level_dbm) = self.reuse[bss].1 else { return 65_536 };
        let of_width = match flaw {
            Some(Flaw::AllowsForNoWidth) => 0.0,
            _ => 10.0 * (f64::from(channel_mhz) / 20.0).log10(),
        };
        let above = level_dbm + 82.0 - of_width;
        let reference = if is_ap && flaw != Some(Flaw::OneReference) { 25.0 } else { 21.0 };
        let less = self.own_tx_power_dbm[node].unwrap_or(self.tx_power_dbm) - (reference - above);
        if above <= 0.0 || less <= 0.0 {
            return 65_536;
        }
        (65_536.0 * 10f64.powf(-less / 10.0)).floor() as u64
    }

    fn clear(&self) -> Keys {
        Keys { shadowing_db: 0.0, ..self.clone() }
    }

    /// Whether a node receives frames of another, in a mode or else at `rate`, while nobody else is on the air.
    pub fn reaches(&self, from: NodeId, to: NodeId, mode: Option<Mode>, rate: Tenths) -> bool {
        // Of a link, which has no shadowing.
        self.reaches_in(from, to, mode, rate, mode.map_or(20, |mode| mode.width_mhz))
    }

    /// The same, of an exchange of that width.
    pub fn reaches_in(
        &self,
        from: NodeId,
        to: NodeId,
        mode: Option<Mode>,
        rate: Tenths,
        width_mhz: u32,
    ) -> bool {
        let (power, noise) = (self.clear().power(from, to, None), self.noise(mode, None));
        let shares = if self.split.is_some() { u64::from(width_mhz / 20) } else { 1 };
        power / shares >= units(self.preamble_detection_dbm)
            && is_at_least(PREAMBLE_DB.max(threshold_of(mode, rate)), power / shares, noise)
    }
}
