//! Powers as integers: sums are exact in any order, and an idle receiver has exactly zero (`docs/medium.md`, section 16).

use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use crate::phy::{Format, Mode};

/// SINR, in dB, at which a preamble is detected.
const PREAMBLE_SINR_DB: f64 = 4.0;

/// A received power, in units of 10⁻²⁰ W.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Power(u64);

impl Power {
    pub(crate) const ZERO: Power = Power(0);

    /// The power of `dbm`, to the nearest unit.
    pub(crate) fn from_dbm(dbm: f64) -> Power {
        Power(libm::round(libm::pow(10.0, dbm / 10.0 + 17.0)) as u64)
    }

    /// In dBm, to show it.
    pub(crate) fn as_dbm(self) -> f64 {
        10.0 * (libm::log10(self.0 as f64) - 17.0)
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

impl Sum for Power {
    fn sum<I: Iterator<Item = Power>>(powers: I) -> Power {
        powers.fold(Power::ZERO, Power::add)
    }
}

/// SINR, in dB, at which a PSDU of 802.11n or later is decoded, by MCS.
const OF_MCS: [f64; 14] = [4.0, 7.0, 9.0, 12.0, 16.0, 20.0, 21.0, 22.0, 27.0, 29.0, 32.0, 34.0, 37.0, 40.0];

/// The same of OFDM, by rate.
fn of_rate(kbps: u32) -> f64 {
    match kbps {
        6_000 => 4.0,
        9_000 => 5.0,
        12_000 => 7.0,
        18_000 => 9.0,
        24_000 => 12.0,
        36_000 => 16.0,
        48_000 => 20.0,
        54_000 => 21.0,
        _ => unreachable!("OFDM has no rate of {kbps} kbit/s"),
    }
}

/// A signal-to-interference-and-noise ratio (SINR) that a signal must have, in 1/65,536.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SinrThreshold(u64);

impl SinrThreshold {
    fn from_db(db: f64) -> SinrThreshold {
        SinrThreshold(libm::round(65_536.0 * libm::pow(10.0, db / 10.0)) as u64)
    }

    /// At which a preamble is detected.
    pub(crate) fn of_preamble() -> SinrThreshold {
        SinrThreshold::from_db(PREAMBLE_SINR_DB)
    }

    /// At which a PSDU in `mode` is decoded: the receiver sensitivity at 20 MHz, less −101 dBm, 10 dB and 5 dB.
    pub(crate) fn of_mode(mode: &Mode) -> SinrThreshold {
        let mcs = usize::from(mode.mcs);
        SinrThreshold::from_db(match mode.format {
            Format::Ofdm => of_rate(mode.rate.as_kbps()),
            Format::Ht => OF_MCS[mcs % 8],
            Format::Vht | Format::He | Format::Eht => OF_MCS[mcs],
            Format::Dsss => unreachable!("a field has no 802.11b stations"),
        })
    }

    /// Whether a `signal` with so much `noise` and `interference` reaches the threshold.
    pub(crate) fn is_reached(self, signal: Power, noise: Power, interference: Power) -> bool {
        let disturbance = u128::from(noise.0) + u128::from(interference.0);
        u128::from(signal.0) << 16 >= u128::from(self.0) * disturbance
    }
}
