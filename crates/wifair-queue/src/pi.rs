//! The PI controller shared by several schemes.

use wifair_core::{SpecError, Time};

use crate::check;

/// A proportional-integral controller of a queue's length, in its discrete form (Hollot, Misra, Towsley and Gong, "On
/// designing improved controllers for AQM routers supporting TCP flows", INFOCOM 2001; `dqm`, Algorithm 1, line 40).
///
/// At each update: p ← p + a (q − q_ref) − b (q_old − q_ref), then q_old ← q. p is clamped to 0 … 1, which the
/// formula needs and both papers assume. In a steady state q = q_old, so p grows by (a − b)(q − q_ref) per tick: only q = q_ref
/// keeps it constant.
#[derive(Clone, Debug)]
pub(crate) struct PiController {
    a: f64,
    b: f64,
    interval: Time,
    due: Time,
    probability: f64,
    old_packets: f64,
}

impl PiController {
    /// Starts at p = 0 with an empty queue. The first tick comes one interval after time zero.
    pub fn new(a: f64, b: f64, hz: f64) -> PiController {
        let interval = Time::from_secs_f64(1.0 / hz);
        PiController { a, b, interval, due: interval, probability: 0.0, old_packets: 0.0 }
    }

    /// Checks the parameters of a scheme that uses this controller.
    pub fn validate(path: &str, a: f64, b: f64, hz: f64) -> Result<(), SpecError> {
        check::within(path, "a", a, 0.0..=1.0, "per packet")?;
        check::within(path, "b", b, 0.0..=1.0, "per packet")?;
        if b > a {
            let allowed = "at most a: the integral gain a - b would be negative";
            return Err(SpecError::new(format!("{path}.b"), b, allowed));
        }
        check::within(path, "frequency_hz", hz, 0.001..=100_000.0, "Hz")
    }

    /// The probability with which to drop or mark.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Starts the clock at `now` instead of time zero.
    pub fn begin(&mut self, now: Time) {
        self.due = now + self.interval;
    }

    /// When [`PiController::update`] is due next.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Updates p for a queue of `packets` and its `reference`. With no reference known, only the time of the next tick
    /// advances.
    pub fn update(&mut self, packets: f64, reference: Option<f64>) {
        self.due += self.interval;
        if let Some(reference) = reference {
            let step = self.a * (packets - reference) - self.b * (self.old_packets - reference);
            self.probability = (self.probability + step).clamp(0.0, 1.0);
        }
        self.old_packets = packets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The queue jumps from 0 to 70 and stays; the reference is 20. Without saturation the difference equation sums to p(n) = a
    /// (q − r) + b r + (n − 1)(a − b)(q − r).
    #[test]
    fn a_step_is_answered_as_the_difference_equation_says() {
        let (a, b, q, r) = (1.822e-5, 1.816e-5, 70.0, 20.0);
        let mut pi = PiController::new(a, b, 160.0);
        assert_eq!(pi.due(), Time::from_us(6_250));
        for n in 1..=100_000_u32 {
            pi.update(q, Some(r));
            let p = a * (q - r) + b * r + f64::from(n - 1) * (a - b) * (q - r);
            assert!((pi.probability() - p).abs() <= 1e-12, "{n}: {} is not {p}", pi.probability());
        }
        assert_eq!(pi.due(), Time::from_us(6_250 * 100_001));
    }

    /// Compares random queue lengths with the equation evaluated over the whole history.
    #[test]
    fn any_course_is_followed_to_rounding() {
        let (a, b) = (3e-3, 2.5e-3);
        let mut pi = PiController::new(a, b, 160.0);
        let mut course = vec![0.0];
        let mut p: f64 = 0.0;
        for n in 1..5_000_u32 {
            let (q, r) = (f64::from(n * n % 101), 30.0 + f64::from(n % 17));
            pi.update(q, Some(r));
            p = (p + a * (q - r) - b * (course[course.len() - 1] - r)).clamp(0.0, 1.0);
            course.push(q);
            assert!((pi.probability() - p).abs() < 1e-15);
        }
    }

    #[test]
    fn it_stays_a_probability_and_waits_for_its_reference() {
        let mut pi = PiController::new(0.5, 0.1, 100.0);
        pi.update(90.0, None);
        assert_eq!((pi.probability(), pi.due()), (0.0, Time::from_ms(20)));
        pi.update(90.0, Some(10.0));
        assert_eq!(pi.probability(), 1.0);
        pi.update(0.0, Some(10.0));
        pi.update(0.0, Some(10.0));
        assert_eq!(pi.probability(), 0.0);
    }
}
