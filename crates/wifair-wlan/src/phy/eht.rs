//! `802.11be`: EHT to a single user at 2.4, 5 and 6 GHz, 20 to 320 MHz, 1 to 8 streams.
//!
//! Source: 802.11be-2024, clause 36; MCS 0 to 13 (36.5), EHT MU PPDUs to one user over the whole width, padding and packet
//! extension by 36.3.13 and 36.3.14.
//!
//! Interpretations: as in `802.11ax`. EHT-SIG has two symbols, the 52 bits of one user at EHT-SIG-MCS 0. A punctured PPDU has
//! the subcarriers of its RUs (36.3.2).
//!
//! Deviations: no multi-link operation, OFDMA, MU-MIMO, and none of MCS 14 and 15.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use super::channel::{Band, Capabilities, Operating, Requested, Setting};
use super::contract::Phy;
use super::he::{GUARD_INTERVALS_NS, HeLtf, SingleUser, check_padding};
use super::keys::{BandKeys, BssKeys, LinkKeys, ProtectionKeys};
use super::mode::{Format, OnAir};

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "802.11be",
    source: "802.11be-2024, clause 36",
    idea: "EHT to a single user at 2.4, 5 and 6 GHz: MCS 0 to 13 on 1 to 8 streams, 20 to 320 MHz; one link.",
};

const ABILITIES: Capabilities = Capabilities {
    name: INFO.name,
    widths_mhz: |band| match band {
        Band::Ghz2_4 => &[20, 40],
        Band::Ghz5 => &[20, 40, 80, 160],
        Band::Ghz6 => &[20, 40, 80, 160, 320],
    },
    default_width_mhz: 80,
    max_streams: 8,
    guard_intervals_ns: &GUARD_INTERVALS_NS,
};

/// What a punctured PPDU may occupy, in MHz.
const PUNCTURED_MHZ: [u16; 6] = [60, 120, 140, 200, 240, 280];

/// Keys of 802.11be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Size of the EHT-LTFs: 2x or 4x with a guard interval of 800 ns, 2x with 1600 ns, 4x with 3200 ns.
    /// Without the key, 2x, or 4x with 3200 ns.
    pub he_ltf: Option<HeLtf>,
    /// Nominal packet padding in µs: 0, 8, 16 or 20. It sets the packet extension together with the fill of
    /// the last symbol (36.3.14).
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
        check_padding(self.packet_extension_us, &[0, 8, 16, 20], path)
    }
}

impl Phy for Spec {
    fn keys(&self) -> &BssKeys {
        &self.bss
    }

    fn protection(&self) -> Option<&ProtectionKeys> {
        Some(&self.protection)
    }

    fn format(&self) -> Format {
        Format::Eht
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
        let mut settings = ABILITIES.settings(&self.link, requested, path)?;
        let own = settings[0];
        let punctured = PUNCTURED_MHZ.into_iter().take_while(|width_mhz| *width_mhz < own.width_mhz);
        settings.extend(punctured.map(|width_mhz| Setting { width_mhz, ..own }));
        let ltfs: &[HeLtf] = match settings[0].guard_interval_ns {
            800 => &[HeLtf::Half, HeLtf::Whole],
            1_600 => &[HeLtf::Half],
            _ => &[HeLtf::Whole],
        };
        let single_user = SingleUser {
            name: INFO.name,
            format: Format::Eht,
            mcs: 14,
            // Non-HT preamble, RL-SIG, U-SIG, EHT-SIG, EHT-STF.
            preamble: Time::from_us(20 + 4 + 8 + 8 + 4),
            ltfs,
            ltf: self.he_ltf,
            padding_us: self.packet_extension_us,
            coding: self.link.coding,
        };
        settings.iter().map(|setting| single_user.modes(setting, path)).collect()
    }
}
