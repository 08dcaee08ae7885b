//! `802.11b`: DSSS and HR-DSSS at 2.4 GHz.
//!
//! Source: 802.11-2020, clauses 15 and 16. All frames of a BSS use one preamble (16.2.2). A PPDU lasts its preamble and
//! header and, in whole microseconds, the bits of the PSDU at the data rate (16.3.4).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use super::channel::{Band, Requested};
use super::contract::{Characteristics, Phy};
use super::keys::{BssKeys, Preamble};
use super::mode::{Format, Mode, OnAir};
use crate::check;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "802.11b",
    source: "802.11-2020, clauses 15 and 16",
    idea: "DSSS and HR-DSSS at 2.4 GHz: 1, 2, 5.5, 11 Mbps.",
};

/// Keys of 802.11b.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Preamble: long or short (16.2.2).
    pub preamble: Preamble,
    /// PLCP preamble and header in µs. Without the key, 192 (long) or 96 (short).
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
        Format::Dsss
    }

    fn characteristics(&self) -> Characteristics {
        Characteristics {
            slot_us: 20.0,
            sifs_us: 10.0,
            rx_start_delay_us: self.preamble.us(),
            cw_min: 31,
            band: Band::Ghz2_4,
            is_dsss: true,
        }
    }

    fn preamble(&self) -> Preamble {
        self.preamble
    }

    fn is_of_link(&self) -> bool {
        *self == Spec::default()
    }

    fn modes(&self, requested: &Requested, path: &str) -> Result<Vec<Vec<OnAir>>, SpecError> {
        let plcp = check::micros(path, "plcp_us", self.plcp_us.unwrap_or(requested.supported.preamble.us()))?;
        let on_air = |kbps| {
            let mode = Mode::before_ht(Format::Dsss, kbps);
            OnAir::new(mode, 0, kbps / 500, Time::from_us(1), plcp, Time::ZERO)
        };
        Ok(vec![[1_000, 2_000, 5_500, 11_000].map(on_air).to_vec()])
    }
}
