//! Powers as integers: sums are exact in any order, and an idle receiver has exactly zero (`docs/medium.md`, section 16).

use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::phy::{Format, Mode};

/// SINR, in dB, at which a preamble is detected.
const PREAMBLE_SINR_DB: f64 = 4.0;

/// A received power, in units of 10⁻²⁰ W.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Power(u64);

impl Power {
    pub(crate) const ZERO: Power = Power(0);
    /// The smallest of all.
    pub(crate) const UNIT: Power = Power(1);
    /// More than any sum of powers.
    pub(crate) const MAX: Power = Power(u64::MAX);

    /// The power of `dbm`, to the nearest unit.
    pub(crate) fn from_dbm(dbm: f64) -> Power {
        Power(libm::round(libm::pow(10.0, dbm / 10.0 + 17.0)) as u64)
    }

    /// What is left without `other`; none if that is more.
    #[inline]
    pub(crate) fn without(self, other: Power) -> Power {
        Power(self.0.saturating_sub(other.0))
    }

    /// The power of so many such signals.
    pub(super) fn times(self, count: u32) -> Power {
        Power(self.0 * u64::from(count))
    }

    /// In dBm, to show it.
    pub(crate) fn as_dbm(self) -> f64 {
        10.0 * (libm::log10(self.0 as f64) - 17.0)
    }
}

/// A power as a part of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PowerRatio {
    /// In 1/65,536.
    parts: u32,
    /// Of the subchannels that share it.
    subchannels: u32,
}

impl PowerRatio {
    /// All of it.
    pub(crate) const WHOLE: PowerRatio = PowerRatio { parts: 65_536, subchannels: 1 };

    /// A ratio of at most 0 dB, rounded down.
    pub(crate) fn from_db(db: f64) -> PowerRatio {
        let parts = libm::floor(65_536.0 * libm::pow(10.0, db / 10.0)) as u32;
        PowerRatio { parts, subchannels: 1 }
    }

    /// The same, of each of so many subchannels.
    pub(super) fn among(self, subchannels: u32) -> PowerRatio {
        PowerRatio { subchannels, ..self }
    }

    /// The other ratio, of each of as many subchannels.
    pub(super) fn reduced_to(self, other: PowerRatio) -> PowerRatio {
        PowerRatio { subchannels: self.subchannels, ..other }
    }

    /// That part of `power`, rounded down.
    pub(crate) fn of(self, power: Power) -> Power {
        let all = ((u128::from(power.0) * u128::from(self.parts)) >> 16) as u64;
        Power(if self.subchannels == 1 { all } else { all / u64::from(self.subchannels) })
    }
}

impl Add for Power {
    type Output = Power;

    fn add(self, other: Power) -> Power {
        Power(self.0 + other.0)
    }
}

impl Sub for Power {
    type Output = Power;

    fn sub(self, other: Power) -> Power {
        Power(self.0 - other.0)
    }
}

impl AddAssign for Power {
    fn add_assign(&mut self, other: Power) {
        *self = *self + other;
    }
}

impl SubAssign for Power {
    fn sub_assign(&mut self, other: Power) {
        *self = *self - other;
    }
}

/// SINR, in dB, at which a PSDU of 802.11n or later is decoded, by MCS.
const OF_MCS: [f64; 14] = [4.0, 7.0, 9.0, 12.0, 16.0, 20.0, 21.0, 22.0, 27.0, 29.0, 32.0, 34.0, 37.0, 40.0];

/// The same of OFDM, by rate in kbit/s.
const OF_RATE: [(u32, f64); 8] = [
    (6_000, 4.0),
    (9_000, 5.0),
    (12_000, 7.0),
    (18_000, 9.0),
    (24_000, 12.0),
    (36_000, 16.0),
    (48_000, 20.0),
    (54_000, 21.0),
];

/// A signal-to-interference-and-noise ratio (SINR) that a signal must have, in 1/65,536.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SinrThreshold {
    ratio: u64,
    /// 2⁶⁴ / ratio, rounded down: to divide by the ratio without a division.
    reciprocal: u64,
}

impl SinrThreshold {
    fn from_db(db: f64) -> SinrThreshold {
        let ratio = libm::round(65_536.0 * libm::pow(10.0, db / 10.0)) as u64;
        SinrThreshold { ratio, reciprocal: ((1 << 64) / u128::from(ratio)) as u64 }
    }

    /// At which a preamble is detected.
    pub(crate) fn of_preamble() -> SinrThreshold {
        SinrThreshold::from_db(PREAMBLE_SINR_DB)
    }

    /// Whether a `signal` with so much `noise` and `interference` reaches the threshold.
    #[inline]
    pub(crate) fn is_reached(self, signal: Power, noise: Power, interference: Power) -> bool {
        let disturbance = u128::from(noise.0) + u128::from(interference.0);
        u128::from(signal.0) << 16 >= u128::from(self.ratio) * disturbance
    }

    /// The greatest sum of noise and interference in which a `signal` reaches the threshold.
    pub(crate) fn tolerance(self, signal: Power) -> Power {
        Power(((u128::from(signal.0) << 16) / u128::from(self.ratio)) as u64)
    }

    /// A sum of noise and interference in which a `signal` certainly reaches the threshold: hardly less than
    /// [`SinrThreshold::tolerance`], and found without a division.
    #[inline]
    pub(crate) fn certain_tolerance(self, signal: Power) -> Power {
        let product = (u128::from(signal.0) << 16) * u128::from(self.reciprocal);
        Power((product >> 64) as u64)
    }
}

/// The SINR at which a PSDU is decoded, of all modes of a field: the receiver sensitivity at 20 MHz, less −101 dBm, 10 dB and
/// 5 dB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SinrThresholds {
    of_rate: [(u32, SinrThreshold); OF_RATE.len()],
    of_mcs: [SinrThreshold; OF_MCS.len()],
}

impl SinrThresholds {
    pub(crate) fn new() -> SinrThresholds {
        SinrThresholds {
            of_rate: OF_RATE.map(|(kbps, db)| (kbps, SinrThreshold::from_db(db))),
            of_mcs: OF_MCS.map(SinrThreshold::from_db),
        }
    }

    /// That of a mode.
    pub(crate) fn of(&self, mode: &Mode) -> SinrThreshold {
        let mcs = usize::from(mode.mcs);
        match mode.format {
            Format::Ofdm => {
                let rate = mode.rate.as_kbps();
                let found = self.of_rate.iter().find(|(kbps, _)| *kbps == rate);
                found.unwrap_or_else(|| unreachable!("OFDM has no rate of {rate} kbit/s")).1
            }
            Format::Ht => self.of_mcs[mcs % 8],
            Format::Vht | Format::He | Format::Eht => self.of_mcs[mcs],
            Format::Dsss => unreachable!("a field has no 802.11b stations"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_signal_tolerates_as_much_as_the_threshold_says(dbm in -110.0..-10.0, db in 4.0..40.0) {
            let (signal, threshold) = (Power::from_dbm(dbm), SinrThreshold::from_db(db));
            let (most, certain) = (threshold.tolerance(signal), threshold.certain_tolerance(signal));
            prop_assert!(threshold.is_reached(signal, most, Power::ZERO));
            prop_assert!(!threshold.is_reached(signal, most, Power::UNIT));
            prop_assert!(certain <= most && most.0 - certain.0 <= 1 + most.0 / 1_000_000);
        }
    }
}
