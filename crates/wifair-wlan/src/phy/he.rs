//! `802.11ax`: HE to a single user at 2.4, 5 and 6 GHz, 20 to 160 MHz, 1 to 8 streams.
//!
//! Source: 802.11ax-2021, clause 27; MCS 0 to 11 (27.5), HE SU PPDUs over the whole width, TXTIME by equation 27-135, padding
//! and packet extension by 27.3.12 and 27.3.13.
//!
//! Interpretations: LDPC above 20 MHz, from MCS 10 on and with more than 4 streams, where HE has nothing else; BCC otherwise,
//! which every station supports there (`coding`). The size of the HE-LTFs follows from the guard interval (`he_ltf`). No
//! packet extension unless `packet_extension_us` gives the nominal packet padding, which a receiver chooses.
//!
//! Deviations: no OFDMA, MU-MIMO, dual carrier modulation, STBC, midambles or extended range.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use super::channel::{Band, Capabilities, Operating, Requested, Setting, Waveform, list};
use super::contract::Phy;
use super::keys::{BandKeys, BssKeys, Coding, LinkKeys, ProtectionKeys};
use super::mcs::training_fields;
use super::mode::{Format, OnAir};
use super::symbols::SymbolCount;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "802.11ax",
    source: "802.11ax-2021, clause 27",
    idea: "HE to a single user at 2.4, 5 and 6 GHz: MCS 0 to 11 on 1 to 8 streams, 20 to 160 MHz.",
};

const ABILITIES: Capabilities = Capabilities {
    name: INFO.name,
    widths_mhz: |band| match band {
        Band::Ghz2_4 => &[20, 40],
        Band::Ghz5 | Band::Ghz6 => &[20, 40, 80, 160],
    },
    default_width_mhz: 80,
    max_streams: 8,
    guard_intervals_ns: &GUARD_INTERVALS_NS,
};

pub(super) const GUARD_INTERVALS_NS: [u16; 3] = [800, 1_600, 3_200];

/// Size of a long training field: how much of its 12.8 µs is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HeLtf {
    /// 3.2 µs.
    #[serde(rename = "1x")]
    Quarter,
    /// 6.4 µs.
    #[serde(rename = "2x")]
    Half,
    /// 12.8 µs.
    #[serde(rename = "4x")]
    Whole,
}

impl HeLtf {
    fn ns(self) -> u64 {
        match self {
            HeLtf::Quarter => 3_200,
            HeLtf::Half => 6_400,
            HeLtf::Whole => 12_800,
        }
    }

    fn label(self) -> &'static str {
        match self {
            HeLtf::Quarter => "1x",
            HeLtf::Half => "2x",
            HeLtf::Whole => "4x",
        }
    }
}

/// Keys of 802.11ax.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Size of the HE-LTFs: 1x, 2x or 4x with a guard interval of 800 ns, 2x with 1600 ns, 4x with 3200 ns.
    /// Without the key, 2x, or 4x with 3200 ns.
    pub he_ltf: Option<HeLtf>,
    /// Nominal packet padding in µs: 0, 8 or 16. It sets the packet extension together with the fill of the
    /// last symbol (27.3.13).
    pub packet_extension_us: u8,
    /// Keys of a link.
    #[serde(flatten)]
    pub link: LinkKeys,
    /// Band and basic rates.
    #[serde(flatten)]
    pub band: BandKeys,
    /// Protection from 802.11b stations.
    #[serde(flatten)]
    pub protection: ProtectionKeys,
    /// Keys of the BSS.
    #[serde(flatten)]
    pub bss: BssKeys,
}

impl Spec {
    /// Checks what the types cannot; `path` is the key of the PHY in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check_padding(self.packet_extension_us, &[0, 8, 16], path)
    }
}

/// Refuses a nominal packet padding that is not among `allowed`.
pub(super) fn check_padding(padding_us: u8, allowed: &[u8], path: &str) -> Result<(), SpecError> {
    if allowed.contains(&padding_us) {
        return Ok(());
    }
    let allowed = format!("{}: the extension of a frame follows from it", list(allowed));
    Err(SpecError::new(format!("{path}.packet_extension_us"), padding_us, allowed))
}

impl Phy for Spec {
    fn keys(&self) -> &BssKeys {
        &self.bss
    }

    fn protection(&self) -> Option<&ProtectionKeys> {
        Some(&self.protection)
    }

    fn format(&self) -> Format {
        Format::He
    }

    fn chosen(&self) -> Option<Operating<'_>> {
        Some(Operating { capabilities: &ABILITIES, band: &self.band, link: &self.link })
    }

    fn link_mut(&mut self) -> Option<&mut LinkKeys> {
        Some(&mut self.link)
    }

    fn is_of_link(&self) -> bool {
        let Spec { he_ltf, packet_extension_us, .. } = *self;
        *self == Spec { he_ltf, packet_extension_us, link: self.link.clone(), ..Spec::default() }
    }

    fn modes(&self, requested: &Requested, path: &str) -> Result<Vec<Vec<OnAir>>, SpecError> {
        let settings = ABILITIES.settings(&self.link, requested, path)?;
        let ltfs: &[HeLtf] = match settings[0].guard_interval_ns {
            800 => &[HeLtf::Half, HeLtf::Quarter, HeLtf::Whole],
            1_600 => &[HeLtf::Half],
            _ => &[HeLtf::Whole],
        };
        let single_user = SingleUser {
            name: INFO.name,
            format: Format::He,
            mcs: 12,
            // Non-HT preamble, RL-SIG, HE-SIG-A, HE-STF.
            preamble: Time::from_us(20 + 4 + 8 + 4),
            ltfs,
            ltf: self.he_ltf,
            padding_us: self.packet_extension_us,
            coding: self.link.coding,
        };
        settings.iter().map(|setting| single_user.modes(setting, path)).collect()
    }
}

/// What HE and EHT do not have in common when they send to one user over the whole width.
pub(super) struct SingleUser<'a> {
    pub name: &'static str,
    pub format: Format,
    /// How many MCSs there are.
    pub mcs: u8,
    /// All before the training fields.
    pub preamble: Time,
    /// Sizes that the training fields may have with the guard interval, the default first.
    pub ltfs: &'a [HeLtf],
    pub ltf: Option<HeLtf>,
    pub padding_us: u8,
    pub coding: Option<Coding>,
}

impl SingleUser<'_> {
    pub(super) fn modes(&self, setting: &Setting, path: &str) -> Result<Vec<OnAir>, SpecError> {
        let ltf = self.ltf.unwrap_or(self.ltfs[0]);
        if !self.ltfs.contains(&ltf) {
            let sizes = list(self.ltfs.iter().map(|ltf| ltf.label()));
            let allowed = format!(
                "{sizes} with {} and {path}.guard_interval_ns = {}",
                self.name, setting.guard_interval_ns
            );
            return Err(SpecError::new(format!("{path}.he_ltf"), ltf.label(), allowed));
        }
        let only_ldpc = setting.width_mhz > 20 || setting.streams > 4;
        if only_ldpc && self.coding == Some(Coding::Bcc) {
            let allowed = format!("ldpc above 20 MHz and with more than 4 streams with {}", self.name);
            return Err(SpecError::new(format!("{path}.coding"), "bcc", allowed));
        }
        let of = |mcs| {
            let only_ldpc = only_ldpc || mcs >= 10;
            let ldpc = match self.coding {
                Some(Coding::Bcc) if only_ldpc => return None,
                Some(coding) => coding == Coding::Ldpc,
                None => only_ldpc,
            };
            Some(self.mode(setting, mcs, ldpc, ltf))
        };
        Ok((0..self.mcs).filter_map(of).collect())
    }

    fn mode(&self, setting: &Setting, mcs: u8, ldpc: bool, ltf: HeLtf) -> OnAir {
        // Data subcarriers of the whole width, and of a segment of the last symbol (Table 27-48, 36.3.13).
        let (subcarriers, segment_subcarriers) = match setting.width_mhz {
            20 => (234, 60),
            40 => (468, 120),
            80 => (980, 240),
            160 => (1_960, 492),
            // Punctured: the sums of those of its RUs, of 242, 484 and 996 tones.
            60 => (702, 180),
            120 => (1_448, 360),
            140 => (1_682, 420),
            200 => (2_428, 612),
            240 => (2_940, 732),
            280 => (3_408, 852),
            _ => (3_920, 984),
        };
        let training = training_fields(setting.streams) * (ltf.ns() + u64::from(setting.guard_interval_ns));
        let wave = Waveform {
            format: self.format,
            mcs,
            ldpc,
            subcarriers,
            segment_subcarriers,
            symbol_ns: 12_800,
            count: SymbolCount::Segments { ldpc },
            padding_us: self.padding_us,
            preamble: self.preamble + Time::from_ns(training),
        };
        setting.on_air(&wave, |_| 1)
    }
}
