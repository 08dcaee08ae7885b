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

/// When datagrams leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// At intervals by a law.
    Renewal {
        /// The first datagram is delayed by a time drawn uniformly from 0 to this: one draw, none if it is zero.
        first_within: Time,
        /// Interval to the next datagram in milliseconds, at least a microsecond.
        interval_ms: Law,
    },
    /// As a Poisson process. One draw before each datagram.
    Poisson {
        /// Mean interval in milliseconds.
        mean_ms: f64,
    },
    /// At a constant interval while the source is on. The times on and off are exponentially distributed; a time on begins with
    /// a datagram, the flow begins with a time off. One draw before the first datagram and two before each other one.
    OnOff {
        /// Interval in times on, in milliseconds.
        interval_ms: f64,
        /// Mean time on, in milliseconds.
        on_ms: f64,
        /// Mean time off, in milliseconds.
        off_ms: f64,
    },
}

impl Arrivals {
    /// At a constant interval, the first datagram at once.
    pub const fn every_ms(interval_ms: f64) -> Arrivals {
        Arrivals::Renewal { first_within: Time::ZERO, interval_ms: Law::constant(interval_ms) }
    }

    /// Time from the start of the flow to the first datagram.
    fn first(&self, rng: &mut Rng) -> Time {
        match *self {
            Arrivals::Renewal { first_within: Time::ZERO, .. } => Time::ZERO,
            Arrivals::Renewal { first_within, .. } => {
                Time::from_secs_f64(first_within.as_secs_f64() * rng.unit())
            }
            Arrivals::Poisson { mean_ms: mean } | Arrivals::OnOff { off_ms: mean, .. } => {
                from_ms(exponential(mean, rng))
            }
        }
    }

    /// Time from one datagram to the next.
    fn interval(&self, rng: &mut Rng) -> Time {
        from_ms(match *self {
            Arrivals::Renewal { interval_ms, .. } => interval_ms.draw(rng).max(1e-3),
            Arrivals::Poisson { mean_ms } => exponential(mean_ms, rng),
            Arrivals::OnOff { interval_ms, on_ms, off_ms } => {
                // What is left of a time on is distributed as the whole, so no state is needed.
                let (on, off) = (exponential(on_ms, rng), exponential(off_ms, rng));
                if on >= interval_ms { interval_ms } else { on + off }
            }
        })
    }
}

/// Draws from the exponential distribution: one draw.
fn exponential(mean: f64, rng: &mut Rng) -> f64 {
    -mean * libm::log(1.0 - rng.unit())
}

fn from_ms(ms: f64) -> Time {
    Time::from_secs_f64(ms * 1e-3)
}

/// An endless source of datagrams at one end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Source {
    /// When they leave.
    pub arrivals: Arrivals,
    /// Bytes after the UDP or ICMP echo header.
    pub payload_bytes: Law,
}

/// Maximum payload of a UDP datagram over IPv4, in bytes.
pub(super) const MOST_PAYLOAD_BYTES: u32 = 65_507;

impl Source {
    /// Time from the start of the flow to the first datagram.
    pub(crate) fn delay(&self, rng: &mut Rng) -> Time {
        self.arrivals.first(rng)
    }

    /// Returns the size of the next datagram in whole bytes, at least 1, and the time from it to the one after.
    pub(crate) fn next(&self, rng: &mut Rng) -> (u32, Time) {
        let bytes = self.payload_bytes.draw(rng).clamp(1.0, f64::from(MOST_PAYLOAD_BYTES));
        (bytes as u32, self.arrivals.interval(rng))
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

    const N: usize = 100_000;

    /// Intervals in milliseconds.
    fn intervals(arrivals: Arrivals) -> Vec<f64> {
        let mut rng = Rng::stream(1, "test", "arrivals");
        (0..N).map(|_| arrivals.interval(&mut rng).as_secs_f64() * 1e3).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// Whether values are distributed by `distribution`: Kolmogorov's statistic √n D, which exceeds 2.2 once in 8,000 samples.
    fn fits(mut values: Vec<f64>, distribution: impl Fn(f64) -> f64) -> bool {
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let distance = |(i, &value): (usize, &f64)| {
            let p = distribution(value);
            (p - i as f64 / n).abs().max((p - (i + 1) as f64 / n).abs())
        };
        values.iter().enumerate().map(distance).fold(0.0, f64::max) * n.sqrt() < 2.2
    }

    /// The mean is within 4 standard errors, intervals are exponentially distributed, and the numbers of arrivals in windows
    /// have a variance equal to their mean (index of dispersion, standard error √(2/(n - 1))).
    #[test]
    fn a_poisson_process_is_one() {
        let found = intervals(Arrivals::Poisson { mean_ms: 3.0 });
        assert!((mean(&found) / 3.0 - 1.0).abs() < 4.0 / (N as f64).sqrt(), "{}", mean(&found));
        assert!(fits(found.clone(), |x| 1.0 - (-x / 3.0).exp()));
        assert!(!fits(found.clone(), |x| 1.0 - (-x / 3.1).exp()), "another mean is told apart");
        let windows = N * 3 / 50 - 100;
        let mut counts = vec![0.0; windows];
        let mut now = 0.0;
        for interval in found {
            now += interval;
            if let Some(count) = counts.get_mut((now / 50.0) as usize) {
                *count += 1.0;
            }
        }
        let expected = mean(&counts);
        let variance =
            counts.iter().map(|count| (count - expected).powi(2)).sum::<f64>() / (windows as f64 - 1.0);
        let error = (2.0 / (windows as f64 - 1.0)).sqrt();
        assert!((variance / expected - 1.0).abs() < 4.0 * error, "{}", variance / expected);
    }

    /// A time on has 1 + ⌊time / interval⌋ datagrams, geometrically distributed; a cycle of a time on and a time off is
    /// distributed as their sum; the mean rate follows from both.
    #[test]
    fn times_on_and_off_are_exponential() {
        let (interval_ms, on_ms, off_ms) = (2.0, 10.0, 30.0);
        let found = intervals(Arrivals::OnOff { interval_ms, on_ms, off_ms });
        let goes_on = (-interval_ms / on_ms).exp();
        let (mut cycles, mut now, mut sizes, mut size) = (vec![], 0.0, vec![], 1.0);
        for interval in &found {
            now += interval;
            if *interval == interval_ms {
                size += 1.0;
            } else {
                cycles.push(std::mem::take(&mut now));
                sizes.push(std::mem::replace(&mut size, 1.0));
            }
        }
        let n = (cycles.len() as f64).sqrt();
        let expected = 1.0 / (1.0 - goes_on);
        let deviation = goes_on.sqrt() / (1.0 - goes_on);
        assert!((mean(&sizes) - expected).abs() < 4.0 * deviation / n, "{} datagrams", mean(&sizes));
        for k in [1.0, 2.0, 5.0, 10.0] {
            let share = sizes.iter().filter(|size| **size > k).count() as f64 / sizes.len() as f64;
            let p = goes_on.powf(k);
            assert!(
                (share - p).abs() < 4.0 * (p * (1.0 - p)).sqrt() / n,
                "{share} have more than {k}, not {p}"
            );
        }
        let sum =
            |t: f64| 1.0 - (on_ms * (-t / on_ms).exp() - off_ms * (-t / off_ms).exp()) / (on_ms - off_ms);
        assert!(fits(cycles.clone(), sum));
        let spread = on_ms.hypot(off_ms);
        assert!((mean(&cycles) - on_ms - off_ms).abs() < 4.0 * spread / n, "{} ms", mean(&cycles));
    }

    /// The number of draws does not depend on what is drawn.
    #[test]
    fn arrivals_take_the_draws_that_they_say() {
        let poisson = Arrivals::Poisson { mean_ms: 3.0 };
        let on_off = Arrivals::OnOff { interval_ms: 2.0, on_ms: 3.0, off_ms: 5.0 };
        for (arrivals, first, each) in [(Arrivals::every_ms(1.0), 0, 0), (poisson, 1, 1), (on_off, 1, 2)] {
            let mut rng = Rng::stream(1, "test", "draws");
            let mut counted = rng.clone();
            let mut draw = |draws| (0..draws).for_each(|_| _ = counted.unit());
            arrivals.first(&mut rng);
            draw(first);
            for _ in 0..1_000 {
                arrivals.interval(&mut rng);
                draw(each);
            }
            assert_eq!(rng.unit(), counted.unit(), "{arrivals:?}");
        }
    }

    #[test]
    fn a_constant_takes_no_draw() {
        let mut rng = Rng::stream(1, "test", "law");
        let mut untouched = rng.clone();
        let source = Source { arrivals: Arrivals::every_ms(20.0), payload_bytes: Law::constant(172.0) };
        assert_eq!((source.delay(&mut rng), source.next(&mut rng)), (Time::ZERO, (172, Time::from_ms(20))));
        assert_eq!(rng.below(1 << 31), untouched.below(1 << 31));
    }
}
