//! `802.11n`: HT at 2.4 and 5 GHz, 20 and 40 MHz, 1 to 4 streams, in mixed format.
//!
//! Source: 802.11-2020, clause 19; MCS 0 to 31 (equal modulation, 19.5), TXTIME by equations 19-90 and 19-91. MCS 8 to 15 are
//! MCS 0 to 7 with two streams, and so on.
//!
//! Interpretations: BCC unless `coding = "ldpc"`, which is optional in HT. HT-greenfield, MCS 32 and unequal modulation
//! are not modelled: hardly any device used them.
//!
//! Deviations: none known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use super::channel::{Band, Capabilities, Operating, Requested, Setting, Waveform};
use super::contract::Phy;
use super::keys::{BandKeys, BssKeys, Coding, LinkKeys, ProtectionKeys};
use super::mcs::training_fields;
use super::mode::{Format, OnAir};
use super::symbols::SymbolCount;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "802.11n",
    source: "802.11-2020, clause 19",
    idea: "HT at 2.4 and 5 GHz: MCS 0 to 31 on 1 to 4 streams, 20 and 40 MHz, long and short guard interval.",
};

const ABILITIES: Capabilities = Capabilities {
    name: INFO.name,
    widths_mhz: |band| match band {
        Band::Ghz2_4 | Band::Ghz5 => &[20, 40],
        Band::Ghz6 => &[],
    },
    default_width_mhz: 20,
    max_streams: 4,
    guard_intervals_ns: &[400, 800],
};

/// Data bits of a symbol that one BCC encoder takes: 300 Mbps with the short guard interval (19.5).
const BITS_PER_ENCODER: u32 = 1_080;

/// Keys of 802.11n.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
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

impl Phy for Spec {
    fn keys(&self) -> &BssKeys {
        &self.bss
    }

    fn protection(&self) -> Option<&ProtectionKeys> {
        Some(&self.protection)
    }

    fn format(&self) -> Format {
        Format::Ht
    }

    fn chosen(&self) -> Option<Operating<'_>> {
        Some(Operating { capabilities: &ABILITIES, band: &self.band, link: &self.link })
    }

    fn streams_of(&self, mcs: u8) -> Option<u8> {
        Some(mcs / 8 + 1)
    }

    fn link_mut(&mut self) -> Option<&mut LinkKeys> {
        Some(&mut self.link)
    }

    fn is_of_link(&self) -> bool {
        *self == Spec { link: self.link.clone(), ..Spec::default() }
    }

    fn modes(&self, requested: &Requested, path: &str) -> Result<Vec<Vec<OnAir>>, SpecError> {
        let ldpc = self.link.coding == Some(Coding::Ldpc);
        let of = |setting: &Setting| {
            let first = 8 * (setting.streams - 1);
            (first..first + 8).map(|mcs| mode(setting, mcs, ldpc)).collect()
        };
        Ok(ABILITIES.settings(&self.link, requested, path)?.iter().map(of).collect())
    }
}

fn mode(setting: &Setting, mcs: u8, ldpc: bool) -> OnAir {
    let wave = Waveform {
        format: Format::Ht,
        mcs,
        ldpc,
        subcarriers: if setting.width_mhz == 20 { 52 } else { 108 },
        segment_subcarriers: 0,
        symbol_ns: 3_200,
        count: if ldpc { SymbolCount::HtLdpc } else { SymbolCount::Whole },
        padding_us: 0,
        // Non-HT preamble, HT-SIG, HT-STF, HT-LTFs.
        preamble: Time::from_us(20 + 8 + 4 + 4 * training_fields(setting.streams)),
    };
    setting.on_air(&wave, |data_bits| data_bits.div_ceil(BITS_PER_ENCODER))
}
