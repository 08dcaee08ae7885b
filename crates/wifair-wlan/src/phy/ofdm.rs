//! `802.11a`: OFDM at 5 GHz in channels of 20 MHz.
//!
//! Source: 802.11-2020, clause 17. A PPDU lasts 20 µs of preamble and SIGNAL, and 4 µs for each OFDM symbol; in
//! addition to the PSDU the symbols carry 16 bits of SERVICE and 6 tail bits (17.4.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use super::channel::{Band, Requested};
use super::contract::{Characteristics, Phy};
use super::keys::BssKeys;
use super::mode::{Format, Mode, OnAir};
use crate::check;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "802.11a",
    source: "802.11-2020, clause 17",
    idea: "OFDM at 5 GHz, 20 MHz channels: 6, 9, 12, 18, 24, 36, 48, 54 Mbps.",
};

/// SERVICE and tail bits (17.3.2).
const EXTRA_BITS: u32 = 16 + 6;
/// Preamble and SIGNAL in µs (17.3.2).
pub(super) const PREAMBLE_US: f64 = 20.0;

/// Keys of 802.11a.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Preamble and SIGNAL in µs (17.3.2). Without the key, 20.
    pub plcp_us: Option<f64>,
    /// Keys of the BSS.
    #[serde(flatten)]
    pub bss: BssKeys,
}

impl Phy for Spec {
    fn keys(&self) -> &BssKeys {
        &self.bss
    }

    fn format(&self) -> Format {
        Format::Ofdm
    }

    fn characteristics(&self) -> Characteristics {
        Characteristics::of_ofdm(Band::Ghz5)
    }

    fn is_of_link(&self) -> bool {
        *self == Spec::default()
    }

    fn modes(&self, _wish: &Requested, path: &str) -> Result<Vec<Vec<OnAir>>, SpecError> {
        let plcp = check::micros(path, "plcp_us", self.plcp_us.unwrap_or(PREAMBLE_US))?;
        Ok(vec![modes(plcp, Time::ZERO)])
    }
}

/// The eight modes, with this much before and after the symbols.
pub(super) fn modes(preamble: Time, extension: Time) -> Vec<OnAir> {
    let on_air = |kbps| {
        let mode = Mode::before_ht(Format::Ofdm, kbps);
        OnAir::new(mode, EXTRA_BITS, kbps / 500 * 4, Time::from_us(4), preamble, extension)
    };
    [6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000].map(on_air).to_vec()
}
