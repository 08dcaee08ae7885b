//! `802.11g`: OFDM at 2.4 GHz.
//!
//! Source: 802.11-2020, clause 18. The rates and PPDUs are 802.11a's; after each PPDU the medium rests for 6 µs, the signal
//! extension, so that decoders have the time that a SIFS of 16 µs would give them (18.3.2.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use super::dsss::Preamble;
use super::mode::OnAir;
use super::timing::Protection;
use super::{BssKeys, Characteristics, ErpProtection, Phy, ofdm};
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
    /// Whether the slot is 9 µs (18.3.5): true. False gives 20 µs.
    pub short_slot: bool,
    /// Preamble and SIGNAL in µs: 20.
    pub plcp_us: Option<f64>,
    /// Silence in µs that ends each frame (18.3.2.4): 6.
    pub signal_extension_us: Option<f64>,
    /// Protection of data frames from 802.11b receivers, cts-to-self or rts-cts; none by default. Who is there that needs it
    /// has no short slot either: see `short_slot`.
    pub erp_protection: Option<ErpProtection>,
    /// Rate of the frames that protect, one of 802.11b's: 1.
    pub protection_rate_mbps: Option<f64>,
    /// Preamble of the frames that protect, 802.11b's long or short (16.2.2): long.
    pub preamble: Option<Preamble>,
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
            erp_protection: None,
            protection_rate_mbps: None,
            preamble: None,
            bss: BssKeys::default(),
        }
    }
}

impl Spec {
    /// Checks what the types cannot; `path` is where the PHY stands in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        let given = [
            ("preamble", self.preamble.is_some()),
            ("protection_rate_mbps", self.protection_rate_mbps.is_some()),
        ];
        for (key, is_given) in given {
            if is_given && self.erp_protection.is_none() {
                let allowed = format!(
                    "no such key without {path}.erp_protection: it is of the 802.11b frames that protect"
                );
                return Err(SpecError::new(format!("{path}.{key}"), "this key", allowed));
            }
        }
        Ok(())
    }
}

impl Phy for Spec {
    fn keys(&self) -> &BssKeys {
        &self.bss
    }

    fn characteristics(&self) -> Characteristics {
        let slot_us = if self.short_slot { 9.0 } else { 20.0 };
        Characteristics { slot_us, sifs_us: 10.0, rx_start_delay_us: 20.0, cw_min: 15, is_dsss: false }
    }

    fn modes(&self, path: &str) -> Result<Vec<OnAir>, SpecError> {
        let us = |key, given: Option<f64>, default| check::micros(path, key, given.unwrap_or(default));
        let plcp = us("plcp_us", self.plcp_us, ofdm::PREAMBLE_US)?;
        Ok(ofdm::modes(plcp + us("signal_extension_us", self.signal_extension_us, 6.0)?))
    }

    fn protection(&self) -> Option<Protection> {
        let preamble = self.preamble.unwrap_or_default();
        self.erp_protection.map(|how| Protection { how, preamble, rate_mbps: self.protection_rate_mbps })
    }
}
