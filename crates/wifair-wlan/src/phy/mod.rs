//! PHYs: the timing of a BSS ([`BssTiming`]) and the modes of its links ([`Modes`]). Durations are as in `docs/medium.md`,
//! section 2.
//!
//! To add one, write its file here and a line in the registry below.

mod keys;
mod mode;
mod timing;

use wifair_core::SpecError;

pub use keys::{BssKeys, ErpProtection};
pub use mode::{Format, Mode, Modes, OnAir, RateIndex};
pub use timing::BssTiming;
pub(crate) use timing::{ACK_BYTES, contention_window};

wifair_core::registry! {
    /// A PHY by name, with its keys and those of the BSS.
    PhySpec, matched by each;
    #[serde(rename = "802.11b")]
    Dsss => dsss,
    #[serde(rename = "802.11g")]
    Erp => erp,
    #[serde(rename = "802.11a")]
    Ofdm => ofdm,
}

/// What a PHY's file says.
pub(crate) trait Phy {
    /// What the scenario sets otherwise for the BSS.
    fn keys(&self) -> &BssKeys;

    /// The timing of a BSS that has this PHY.
    fn characteristics(&self) -> Characteristics;

    /// The modes of a link, the slowest first, which is mandatory; `path` is where the PHY stands in the plan.
    fn modes(&self, path: &str) -> Result<Vec<OnAir>, SpecError>;

    /// How data frames are announced to 802.11b receivers.
    fn protection(&self) -> Option<timing::Protection> {
        None
    }
}

/// The timing of a BSS that has a PHY, as its clause gives it.
pub(crate) struct Characteristics {
    pub slot_us: f64,
    pub sifs_us: f64,
    /// aRxPHYStartDelay.
    pub rx_start_delay_us: f64,
    pub cw_min: u16,
    pub is_dsss: bool,
}

impl Default for PhySpec {
    fn default() -> PhySpec {
        PhySpec::Dsss(Default::default())
    }
}

impl PhySpec {
    fn phy(&self) -> &dyn Phy {
        each!(PhySpec: self, spec => spec)
    }

    /// Its rates in Mbps, the slowest first.
    ///
    /// # Errors
    /// As [`Modes::new`].
    pub fn rates_mbps(&self) -> Result<Vec<f64>, SpecError> {
        Ok(Modes::new(self, "phy")?.rates().map(|rate| rate.as_mbps()).collect())
    }

    /// Keys of the BSS, to set.
    pub fn bss_mut(&mut self) -> &mut BssKeys {
        each!(PhySpec: self, spec => &mut spec.bss)
    }
}

#[cfg(test)]
mod tests;
