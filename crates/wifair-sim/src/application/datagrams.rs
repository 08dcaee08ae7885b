use wifair_core::{Rng, Time};

use crate::e_model::Codec;

/// A quantity drawn for each datagram: the largest extreme value distribution (Gumbel's), by its location and scale; a scale of
/// 0 makes it constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// The mode. The mean lies 0.577 scales above it.
    pub location: f64,
    /// The scale; the standard deviation is 1.28 times it.
    pub scale: f64,
}

impl Law {
    /// A constant value.
    pub const fn constant(value: f64) -> Law {
        Law { location: value, scale: 0.0 }
    }

    /// Draws a value: one draw, none if it is constant.
    fn draw(&self, rng: &mut Rng) -> f64 {
        if self.scale == 0.0 {
            return self.location;
        }
        // The inverse of the distribution at 1 − u, which is never 0; where it is 1 the limit value is used.
        let u = (1.0 - rng.unit()).min(1.0 - f64::EPSILON);
        self.location - self.scale * libm::log(-libm::log(u))
    }
}

/// An endless source of datagrams at one end: their intervals and sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// The first datagram is delayed by a time drawn uniformly from 0 to this: one draw, none if it is zero.
    pub first_within: Time,
    /// Interval to the next datagram in milliseconds.
    pub interval_ms: Law,
    /// Bytes after the UDP or ICMP echo header.
    pub payload_bytes: Law,
}

/// Maximum payload of a UDP datagram over IPv4, in bytes.
pub(super) const MOST_PAYLOAD_BYTES: u32 = 65_507;

impl Source {
    /// Time from the start of the flow to the first datagram.
    pub(crate) fn delay(&self, rng: &mut Rng) -> Time {
        if self.first_within == Time::ZERO {
            return Time::ZERO;
        }
        Time::from_secs_f64(self.first_within.as_secs_f64() * rng.unit())
    }

    /// Returns the size of the next datagram in whole bytes, at least 1, and the time from it to the one after, at least a
    /// microsecond.
    pub(crate) fn next(&self, rng: &mut Rng) -> (u32, Time) {
        let bytes = self.payload_bytes.draw(rng).clamp(1.0, f64::from(MOST_PAYLOAD_BYTES));
        let interval = Time::from_secs_f64(self.interval_ms.draw(rng).max(1e-3) * 1e-3);
        (bytes as u32, interval)
    }
}

/// The traffic of an application without connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagrams {
    /// Datagrams in the direction of the flow.
    pub forward: Source,
    /// Datagrams in the opposite direction.
    pub back: Option<Source>,
    /// Whether each datagram is answered at once by one of the same size (ICMP echo).
    pub echoed: bool,
    /// Differentiated services code point of all of them (RFC 2474).
    pub dscp: u8,
    /// Codec, if the datagrams are voice.
    pub codec: Option<Codec>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_has_its_mean_and_spread() {
        let mut rng = Rng::stream(1, "test", "law");
        let law = Law { location: 120.0, scale: 36.0 };
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|_| law.draw(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        // Euler's constant, and π/√6; within 4 standard errors.
        assert!((mean - (120.0 + 0.577_216 * 36.0)).abs() < 0.6, "{mean}");
        assert!((variance.sqrt() - 1.282_550 * 36.0).abs() < 0.8, "{}", variance.sqrt());
    }

    #[test]
    fn a_constant_takes_no_draw() {
        let mut rng = Rng::stream(1, "test", "law");
        let mut untouched = rng.clone();
        let source = Source {
            first_within: Time::ZERO,
            interval_ms: Law::constant(20.0),
            payload_bytes: Law::constant(172.0),
        };
        assert_eq!((source.delay(&mut rng), source.next(&mut rng)), (Time::ZERO, (172, Time::from_ms(20))));
        assert_eq!(rng.below(1 << 31), untouched.below(1 << 31));
    }
}
