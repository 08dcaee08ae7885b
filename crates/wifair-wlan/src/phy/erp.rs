//! `802.11g`: OFDM at 2.4 GHz.
//!
//! Source: 802.11-2020, clause 18. The rates and PPDUs are 802.11a's; after each PPDU the medium rests for 6 µs, the signal
//! extension, so that decoders have the time that a SIFS of 16 µs would give them (18.3.2.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use super::channel::{Band, Requested};
use super::contract::{Characteristics, Phy};
use super::keys::{BssKeys, ProtectionKeys};
use super::mode::{Format, OnAir};
use super::ofdm;
use crate::check;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "802.11g",
    source: "802.11-2020, clause 18",
    idea: "ERP-OFDM at 2.4 GHz: 6, 9, 12, 18, 24, 36, 48, 54 Mbps; protection from 802.11b stations by option.",
};

/// Keys of 802.11g.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Use the short slot of 9 µs (18.3.5), not 20 µs.
    pub short_slot: bool,
    /// Preamble and SIGNAL in µs. Without the key, 20.
    pub plcp_us: Option<f64>,
    /// Signal extension in µs, the silence at the end of each frame (18.3.2.4). Without the key, 6.
    pub signal_extension_us: Option<f64>,
    /// Protection from 802.11b stations.
    #[serde(flatten)]
    pub protection: ProtectionKeys,
    /// Keys of the BSS.
    #[serde(flatten)]
    pub bss: BssKeys,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            short_slot: true,
            plcp_us: None,
            signal_extension_us: None,
            protection: ProtectionKeys::default(),
            bss: BssKeys::default(),
        }
    }
}

impl Phy for Spec {
    fn keys(&self) -> &BssKeys {
        &self.bss
    }

    fn format(&self) -> Format {
        Format::Ofdm
    }

    fn characteristics(&self) -> Characteristics {
        let slot_us = if self.short_slot { 9.0 } else { 20.0 };
        Characteristics { slot_us, ..Characteristics::of_ofdm(Band::Ghz2_4) }
    }

    fn modes(&self, _wish: &Requested, path: &str) -> Result<Vec<Vec<OnAir>>, SpecError> {
        let us = |key, given: Option<f64>, default| check::micros(path, key, given.unwrap_or(default));
        let plcp = us("plcp_us", self.plcp_us, ofdm::PREAMBLE_US)?;
        Ok(vec![ofdm::modes(plcp, us("signal_extension_us", self.signal_extension_us, 6.0)?)])
    }

    fn protection(&self) -> Option<&ProtectionKeys> {
        Some(&self.protection)
    }

    fn is_of_link(&self) -> bool {
        *self == Spec::default()
    }
}
