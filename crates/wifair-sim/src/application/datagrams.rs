use wifair_core::{Rng, Time};

use crate::e_model::Codec;

/// A quantity of a datagram that is drawn anew for each: the largest extreme value distribution (Gumbel's), by its location
/// and scale; a scale of 0 makes it constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// The mode. The mean lies 0.577 scales above it.
    pub location: f64,
    /// How widely it spreads: the standard deviation is 1.28 of it.
    pub scale: f64,
}

impl Law {
    /// Always the same.
    pub const fn constant(value: f64) -> Law {
        Law { location: value, scale: 0.0 }
    }

    /// One draw, and none where it is constant.
    fn draw(&self, rng: &mut Rng) -> f64 {
        if self.scale == 0.0 {
            return self.location;
        }
        // The inverse of the distribution at 1 − u, which is never 0; where it is 1 the size is that of the limit.
        let u = (1.0 - rng.unit()).min(1.0 - f64::EPSILON);
        self.location - self.scale * libm::log(-libm::log(u))
    }
}

/// Datagrams of one end, without end: how far apart, how large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// The first is put off by a time drawn uniformly from 0 to this: one draw, and none where it is zero.
    pub first_within: Time,
    /// From one to the next, in milliseconds.
    pub interval_ms: Law,
    /// What follows the UDP header or that of the echo, in bytes.
    pub payload_bytes: Law,
}

/// The most that a UDP datagram over IPv4 holds, in bytes.
pub(super) const MOST_PAYLOAD_BYTES: u32 = 65_507;

impl Source {
    /// From the start of the flow to the first datagram.
    pub(crate) fn delay(&self, rng: &mut Rng) -> Time {
        if self.first_within == Time::ZERO {
            return Time::ZERO;
        }
        Time::from_secs_f64(self.first_within.as_secs_f64() * rng.unit())
    }

    /// The size of the next datagram in whole bytes, 1 at least, and the time from it to the one after, a microsecond at least.
    pub(crate) fn next(&self, rng: &mut Rng) -> (u32, Time) {
        let bytes = self.payload_bytes.draw(rng).clamp(1.0, f64::from(MOST_PAYLOAD_BYTES));
        let interval = Time::from_secs_f64(self.interval_ms.draw(rng).max(1e-3) * 1e-3);
        (bytes as u32, interval)
    }
}

/// What an application without connections sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagrams {
    /// In the direction of the flow.
    pub forward: Source,
    /// Against it.
    pub back: Option<Source>,
    /// Whether each datagram is answered at once by one of the same size (ICMP echo).
    pub echoed: bool,
    /// Differentiated services code point of all of them (RFC 2474).
    pub dscp: u8,
    /// What makes a voice of them.
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
