//! What a PHY implements.

use wifair_core::SpecError;

use super::channel::{Band, Operating, Requested};
use super::keys::{BssKeys, LinkKeys, Preamble, ProtectionKeys};
use super::mode::{Format, OnAir};

/// The interface of a PHY's file.
pub(crate) trait Phy {
    /// The scenario's overrides for the BSS.
    fn keys(&self) -> &BssKeys;

    /// The format of its data frames.
    fn format(&self) -> Format;

    /// The timing of a BSS that has this PHY. Since OFDM it depends on the band alone: control frames are 802.11a's or g's.
    fn characteristics(&self) -> Characteristics {
        // A band that the PHY does not have is rejected where the BSS's supported parameters are found.
        let band = self.chosen().and_then(|chosen| chosen.in_band());
        Characteristics::of_ofdm(band.unwrap_or(Band::Ghz5))
    }

    /// From 802.11n on: the capabilities of the PHY, and the scenario's choices among them.
    fn chosen(&self) -> Option<Operating<'_>> {
        None
    }

    /// From 802.11n on: the keys of a link.
    fn link_mut(&mut self) -> Option<&mut LinkKeys> {
        None
    }

    /// Keys of the frames that protect others from 802.11b stations, if the PHY has them.
    fn protection(&self) -> Option<&ProtectionKeys> {
        None
    }

    /// The preamble of its DSSS frames, if it has any.
    fn preamble(&self) -> Preamble {
        self.protection().and_then(|keys| keys.preamble).unwrap_or_default()
    }

    /// Number of streams of an MCS, if the MCS determines it.
    fn streams_of(&self, _mcs: u8) -> Option<u8> {
        None
    }

    /// Whether only keys are given that a station of another BSS may have, too.
    fn is_of_link(&self) -> bool;

    /// The groups of a link's modes, its own first (see [`Modes`](super::Modes)), each from the slowest on; `path` is the
    /// key of the PHY in the plan.
    fn modes(&self, requested: &Requested, path: &str) -> Result<Vec<Vec<OnAir>>, SpecError>;
}

/// The timing of a BSS with a PHY, from its clause.
pub(crate) struct Characteristics {
    pub band: Band,
    pub slot_us: f64,
    pub sifs_us: f64,
    /// aRxPHYStartDelay.
    pub rx_start_delay_us: f64,
    pub cw_min: u16,
    pub is_dsss: bool,
}

impl Characteristics {
    pub(crate) fn of_ofdm(band: Band) -> Characteristics {
        Characteristics {
            band,
            slot_us: 9.0,
            sifs_us: band.sifs_us(),
            rx_start_delay_us: 20.0,
            cw_min: 15,
            is_dsss: false,
        }
    }
}
