//! Thresholds and intervals of a field (`docs/medium.md`, section 16).

use wifair_core::Time;

use super::power::{Power, SinrThreshold, SinrThresholds};
use super::spec::{EifsAfter, FieldSpec};
use crate::contention::ContentionRules;
use crate::mac::Mac;
use crate::phy::Mode;
use crate::phy::timing::BssTiming;

/// Width, in MHz, that `noise_dbm` is given for.
const NOISE_WIDTH_MHZ: f64 = 22.0;

/// Thresholds and intervals of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldRules {
    pub contention: ContentionRules,
    pub sifs: Time,
    /// EIFS minus DIFS.
    pub eifs_lead: Time,
    /// Whether energy that the node was not locked to counts for EIFS.
    pub eifs_after_energy: bool,
    /// Power from which a preamble is detected.
    pub preamble_detection: Power,
    /// Energy from which the medium is busy.
    pub energy_detection: Power,
    /// SINR at which a preamble is detected.
    pub(super) preamble: SinrThreshold,
    thresholds: SinrThresholds,
    /// By width, 20 MHz and its doubles.
    noises: [Power; 5],
}

impl FieldRules {
    pub(crate) fn new(
        spec: &FieldSpec,
        contention: ContentionRules,
        phy: &BssTiming,
        mac: &Mac,
        noise_dbm: f64,
    ) -> FieldRules {
        FieldRules {
            contention,
            sifs: phy.sifs,
            eifs_lead: mac.eifs_lead,
            eifs_after_energy: spec.eifs_after == EifsAfter::Energy,
            preamble_detection: Power::from_dbm(spec.preamble_detection_dbm),
            energy_detection: Power::from_dbm(spec.energy_detection_dbm),
            preamble: SinrThreshold::of_preamble(),
            thresholds: SinrThresholds::new(),
            noises: [20.0, 40.0, 80.0, 160.0, 320.0]
                .map(|width| Power::from_dbm(noise_dbm + 10.0 * libm::log10(width / NOISE_WIDTH_MHZ))),
        }
    }

    /// The noise that a frame is received with whose width has this number.
    pub(super) fn noise(&self, width: u8) -> Power {
        self.noises[usize::from(width)]
    }

    /// The number of a width, 20 MHz and its doubles.
    pub(super) fn width(width_mhz: u16) -> u8 {
        (width_mhz / 20).ilog2() as u8
    }

    /// The SINR at which a frame in `mode` is decoded.
    pub(super) fn threshold(&self, mode: &Mode) -> SinrThreshold {
        self.thresholds.of(mode)
    }
}
