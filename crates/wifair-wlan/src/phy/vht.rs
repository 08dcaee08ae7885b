//! `802.11ac`: VHT at 5 GHz, 20 to 160 MHz, 1 to 4 streams.
//!
//! Source: 802.11-2020, clause 21; MCS 0 to 9 (21.5), TXTIME by equations 21-108 and 21-109.
//!
//! Interpretations: BCC unless `coding = "ldpc"`, which is optional in VHT. 80+80 MHz is not distinguished from 160 MHz, whose
//! PPDUs last as long. 5 to 8 streams are refused: hardly any device had them.
//!
//! Deviations: none known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use super::channel::{Band, Capabilities, Operating, Requested, Setting, Waveform};
use super::contract::Phy;
use super::keys::{BandKeys, BssKeys, Coding, LinkKeys};
use super::mcs::{MCS, Mcs, training_fields};
use super::mode::{Format, OnAir};
use super::symbols::SymbolCount;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "802.11ac",
    source: "802.11-2020, clause 21",
    idea: "VHT at 5 GHz: MCS 0 to 9 on 1 to 4 streams, 20 to 160 MHz, long and short guard interval.",
};

const ABILITIES: Capabilities = Capabilities {
    name: INFO.name,
    widths_mhz: |band| match band {
        Band::Ghz5 => &[20, 40, 80, 160],
        Band::Ghz2_4 | Band::Ghz6 => &[],
    },
    default_width_mhz: 80,
    max_streams: 4,
    guard_intervals_ns: &[400, 800],
};

/// Data bits of a symbol that one BCC encoder takes: 600 Mbps with the short guard interval (21.5).
const BITS_PER_ENCODER: u32 = 2_160;

/// Keys of 802.11ac.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Keys of a link.
    #[serde(flatten)]
    pub link: LinkKeys,
    /// Band and basic rates.
    #[serde(flatten)]
    pub band: BandKeys,
    /// Keys of the BSS.
    #[serde(flatten)]
    pub bss: BssKeys,
}

impl Phy for Spec {
    fn keys(&self) -> &BssKeys {
        &self.bss
    }

    fn format(&self) -> Format {
        Format::Vht
    }

    fn chosen(&self) -> Option<Operating<'_>> {
        Some(Operating { capabilities: &ABILITIES, band: &self.band, link: &self.link })
    }

    fn link_mut(&mut self) -> Option<&mut LinkKeys> {
        Some(&mut self.link)
    }

    fn is_of_link(&self) -> bool {
        *self == Spec { link: self.link.clone(), ..Spec::default() }
    }

    fn modes(&self, requested: &Requested, path: &str) -> Result<Vec<Vec<OnAir>>, SpecError> {
        let ldpc = self.link.coding == Some(Coding::Ldpc);
        let of = |setting: &Setting| (0..10).filter_map(|mcs| mode(setting, mcs, ldpc)).collect();
        Ok(ABILITIES.settings(&self.link, requested, path)?.iter().map(of).collect())
    }
}

/// The mode of an MCS, unless the standard excludes it (21.5): a symbol carries a whole number of data bits, and each encoder a
/// whole number of them and of coded bits.
fn mode(setting: &Setting, mcs: u8, ldpc: bool) -> Option<OnAir> {
    let subcarriers = match setting.width_mhz {
        20 => 52,
        40 => 108,
        80 => 234,
        _ => 468,
    };
    let Mcs { bits, code, .. } = MCS[usize::from(mcs)];
    let coded = subcarriers * bits * u32::from(setting.streams);
    let data = code.data_of(coded);
    let encoders = encoders(setting, mcs, data);
    let is_whole = coded * code.data % code.coded == 0;
    if !is_whole || coded % encoders != 0 || data % encoders != 0 {
        return None;
    }
    let wave = Waveform {
        format: Format::Vht,
        mcs,
        ldpc,
        subcarriers,
        segment_subcarriers: 0,
        symbol_ns: 3_200,
        count: if ldpc { SymbolCount::VhtLdpc } else { SymbolCount::Whole },
        padding_us: 0,
        // Non-HT preamble, VHT-SIG-A, VHT-STF, VHT-LTFs, VHT-SIG-B.
        preamble: Time::from_us(20 + 8 + 4 + 4 * training_fields(setting.streams) + 4),
    };
    Some(setting.on_air(&wave, |_| encoders))
}

/// BCC encoders of a mode with `data_bits` a symbol (21.5). One of the tables' modes has more than its rate asks for, since its
/// bits cannot be divided among fewer.
fn encoders(setting: &Setting, mcs: u8, data_bits: u32) -> u32 {
    match (setting.width_mhz, setting.streams, mcs) {
        (160, 4, 7) => 6,
        _ => data_bits.div_ceil(BITS_PER_ENCODER),
    }
}
