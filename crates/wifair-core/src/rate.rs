use std::fmt;

use crate::Time;

/// A bit rate in kbit/s. Exact for every rate of 802.11a/b/g. Rates of later PHYs are rounded; no duration is computed from
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u32);

impl Rate {
    /// A rate of `kbps` kbit/s. A rate of zero cannot carry anything; input is validated where it is read.
    pub const fn from_kbps(kbps: u32) -> Rate {
        Rate(kbps)
    }

    /// A rate of `mbps` Mbit/s, rounded to the nearest kbit/s.
    pub fn from_mbps(mbps: f64) -> Rate {
        Rate((mbps * 1e3).round() as u32)
    }

    /// The rate in kbit/s.
    pub const fn as_kbps(self) -> u32 {
        self.0
    }

    /// The rate in Mbit/s, for output.
    pub fn as_mbps(self) -> f64 {
        f64::from(self.0) * 1e-3
    }

    /// Returns the transmission time of `bytes` at this rate, rounded up to the nanosecond.
    pub const fn duration_of(self, bytes: u64) -> Time {
        Time::from_ns((bytes * 8 * 1_000_000).div_ceil(self.0 as u64))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbps", self.as_mbps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_round_up() {
        assert_eq!(Rate::from_mbps(1.0).duration_of(14), Time::from_us(112));
        assert_eq!(Rate::from_mbps(11.0).duration_of(1), Time::from_ns(728)); // 727.27
    }
}
