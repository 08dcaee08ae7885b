use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// An instant or a duration in integer nanoseconds; the origin is the start of the replication.
///
/// 64 bits hold 584 years. Arithmetic is plain integer arithmetic: it overflows (and panics in debug builds)
/// rather than rounds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The origin, or an empty duration.
    pub const ZERO: Time = Time(0);
    /// The latest possible time, used as "never" by functions that return the time of the next event.
    pub const MAX: Time = Time(u64::MAX);

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns)
    }

    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Time {
        Time(us * 1_000)
    }

    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Time {
        Time(ms * 1_000_000)
    }

    /// `s` whole seconds.
    pub const fn from_s(s: u64) -> Time {
        Time(s * 1_000_000_000)
    }

    /// `s` seconds, rounded to the nearest nanosecond; negative or NaN becomes zero (input is validated where it
    /// enters).
    pub fn from_secs_f64(s: f64) -> Time {
        Time((s * 1e9).round() as u64)
    }

    /// Nanoseconds since the origin, or in the duration.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Seconds as a float, for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Returns `self - other`, or zero if `other` is later.
    pub const fn saturating_sub(self, other: Time) -> Time {
        Time(self.0.saturating_sub(other.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

impl SubAssign for Time {
    fn sub_assign(&mut self, other: Time) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, n: u64) -> Time {
        Time(self.0 * n)
    }
}

impl Div for Time {
    /// How many times `other` fits, rounded down.
    type Output = u64;
    fn div(self, other: Time) -> u64 {
        self.0 / other.0
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self)
    }
}

impl fmt::Display for Time {
    /// Microseconds with three decimals, exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} us", self.0 / 1_000, self.0 % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Time::from_secs_f64(0.1), Time::from_ms(100));
        assert_eq!(Time::from_secs_f64(1e-9 * 0.6), Time::from_ns(1));
        assert_eq!(Time::from_s(600).as_secs_f64(), 600.0);
    }

    #[test]
    fn whole_slots_are_counted_down() {
        assert_eq!(Time::from_ns(19_999) / Time::from_us(20), 0);
        assert_eq!(Time::from_ns(20_000) / Time::from_us(20), 1);
    }
}
