//! Lateness of real time relative to model time, and the validity of a run.

use serde::{Deserialize, Serialize};
use wifair_core::{LogHistogram, Time};

/// When a run is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// An exchange is late if all its packets are delivered more than this time after the end of its data frame, in
    /// milliseconds. Time is late if the engine is behind by more than this.
    pub late_ms: f64,
    /// Maximum share of late exchanges and of late time in a valid run.
    pub share: f64,
}

/// Lateness of exchanges, and the time for which the engine was behind. While it stands still, TCP senders soon wait for ACKs,
/// so that a long standstill delays few exchanges.
#[derive(Clone, Debug)]
pub struct Lateness {
    tolerance: Tolerance,
    start: Time,
    /// Time for which the engine was behind, and the instant up to which it is counted.
    late_time: Time,
    counted: Time,
    histogram: LogHistogram,
    late: u64,
    greatest: Time,
    /// The last recorded exchange, and its lateness: several packets may belong to one.
    last: Option<(Time, Time)>,
}

/// Report of the lateness.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatenessReport {
    /// Number of exchanges.
    pub exchanges: u64,
    /// Number of late exchanges.
    pub late: u64,
    /// Seconds for which the engine was behind.
    pub late_s: f64,
    /// Their share of the measured time.
    pub late_time_share: f64,
    /// Whether there were exchanges, and the late shares of exchanges and of time are within the tolerance.
    pub valid: bool,
    /// What is late, and the maximum share of it.
    pub tolerance: Tolerance,
    /// Median, in microseconds.
    pub p50_us: Option<f64>,
    /// 99 % quantile, in microseconds.
    pub p99_us: Option<f64>,
    /// Maximum, in microseconds.
    pub max_us: f64,
    /// Numbers of exchanges by lateness: (upper bound in microseconds, exchanges).
    pub histogram: Vec<(f64, u64)>,
}

impl Lateness {
    /// Creates an empty record of a measurement that begins at `start`.
    pub fn new(tolerance: Tolerance, start: Time) -> Lateness {
        let (histogram, late, greatest, last) = (LogHistogram::new(), 0, Time::ZERO, None);
        Lateness { tolerance, start, late_time: Time::ZERO, counted: start, histogram, late, greatest, last }
    }

    /// Records that what was due at `due` is handled at `now`.
    pub fn handled(&mut self, due: Time, now: Time) {
        if now > due && self.is_late(now - due) {
            let from = due.max(self.counted).min(now);
            self.late_time += now - from;
            self.counted = now;
        }
    }

    fn is_late(&self, lateness: Time) -> bool {
        lateness.as_ns() as f64 > self.tolerance.late_ms * 1e6
    }

    /// Records at `now` that a packet of the exchange whose data frame ended at `due` has been processed. The last packet of an
    /// exchange counts.
    pub fn record(&mut self, due: Time, now: Time) {
        let lateness = if now > due { now - due } else { Time::ZERO };
        match &mut self.last {
            Some((exchange, latest)) if *exchange == due => *latest = lateness,
            _ => {
                self.close();
                self.last = Some((due, lateness));
            }
        }
    }

    /// Ends the last recorded exchange.
    fn close(&mut self) {
        if let Some((_, lateness)) = self.last.take() {
            self.histogram.record_time(lateness);
            self.greatest = self.greatest.max(lateness);
            self.late += u64::from(self.is_late(lateness));
        }
    }

    /// Returns the report of a measurement that ended at `end`.
    pub fn report(mut self, end: Time) -> LatenessReport {
        self.close();
        let late_s = self.late_time.as_secs_f64();
        let late_time_share = late_s / (end - self.start).as_secs_f64().max(1e-9);
        let quantile_us = |q| self.histogram.quantile(q).map(|ns| ns * 1e-3);
        let exchanges = self.histogram.count();
        LatenessReport {
            exchanges,
            late: self.late,
            late_s,
            late_time_share,
            valid: exchanges > 0
                && self.late as f64 <= exchanges as f64 * self.tolerance.share
                && late_time_share <= self.tolerance.share,
            tolerance: self.tolerance,
            p50_us: quantile_us(0.5),
            p99_us: quantile_us(0.99),
            max_us: self.greatest.as_ns() as f64 * 1e-3,
            histogram: self.decades(),
        }
    }

    /// The histogram with limits of 1, 2 and 5 in each decade.
    fn decades(&self) -> Vec<(f64, u64)> {
        let bounds = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 1e5, 1e9];
        let mut counts = bounds.map(|bound| (bound, 0));
        for (ns, count) in self.histogram.iter() {
            let place = bounds.iter().position(|bound| ns * 1e-3 < *bound).unwrap_or(bounds.len() - 1);
            counts[place].1 += count;
        }
        counts.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: Tolerance = Tolerance { late_ms: 1.0, share: 0.01 };

    #[test]
    fn a_standstill_makes_a_run_invalid_however_few_exchanges_are_late() {
        for (stands_still_s, valid) in [(0, true), (3, false)] {
            let mut lateness = Lateness::new(TOLERANCE, Time::from_s(2));
            for n in 0..10_000 {
                let due = Time::from_ms(2_000 + n);
                lateness.handled(due, due + Time::from_us(100));
                lateness.record(due, due + Time::from_us(100));
            }
            let (last, awake) = (Time::from_s(12), Time::from_s(12 + stands_still_s));
            for due in [last, last + Time::from_ms(5)] {
                lateness.handled(due, awake.max(due));
                lateness.record(due, awake.max(due));
            }
            let report = lateness.report(Time::from_s(52));
            assert_eq!((report.late, report.late_s), (if valid { 0 } else { 2 }, stands_still_s as f64));
            assert!((report.late_time_share - report.late_s / 50.0).abs() < 1e-12);
            assert_eq!(report.valid, valid);
        }
    }

    #[test]
    fn late_time_is_counted_once_and_from_the_start_of_the_measurement() {
        let mut lateness = Lateness::new(TOLERANCE, Time::from_ms(100));
        // Due at, handled at: before the start, overlapping, in time, behind again.
        for (due, now) in [(80, 110), (90, 115), (115, 116), (130, 135)] {
            lateness.handled(Time::from_ms(due), Time::from_ms(now));
        }
        assert_eq!(lateness.report(Time::from_ms(200)).late_s, 0.020);
    }

    #[test]
    fn a_run_without_an_exchange_is_not_valid() {
        assert!(!Lateness::new(TOLERANCE, Time::ZERO).report(Time::from_s(1)).valid);
        assert!(!Lateness::new(TOLERANCE, Time::ZERO).report(Time::ZERO).valid);
    }

    #[test]
    fn the_last_packet_of_an_exchange_counts_and_the_share_decides() {
        for (late, valid) in [(1, true), (2, false)] {
            let mut lateness = Lateness::new(TOLERANCE, Time::ZERO);
            for n in 0..100 {
                let due = Time::from_ms(10 * n);
                lateness.record(due, due + Time::from_us(15));
                lateness.record(due, due + if n < late { Time::from_ms(3) } else { Time::from_us(30) });
            }
            let report = lateness.report(Time::from_s(1));
            assert_eq!((report.exchanges, report.late, report.valid), (100, late, valid));
            assert!((report.p50_us.unwrap() - 30.0).abs() < 1.0, "{:?}", report.p50_us);
            assert_eq!(report.max_us, 3000.0);
            assert_eq!(report.histogram, [(50.0, 100 - late), (5e3, late)]);
        }
    }
}
