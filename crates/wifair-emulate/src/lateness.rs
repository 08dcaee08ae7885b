//! Lateness of real time relative to model time, and the validity of a run.

use serde::{Deserialize, Serialize};
use wifair_core::{LogHistogram, Time};

/// When a run is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// An exchange is late if all its packets are delivered more than this time after the end of its data frame, in
    /// milliseconds.
    pub late_ms: f64,
    /// Maximum share of late exchanges in a valid run.
    pub share: f64,
}

/// Lateness of exchanges.
#[derive(Clone, Debug)]
pub struct Lateness {
    tolerance: Tolerance,
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
    /// Whether the share of late exchanges is within the tolerance.
    pub valid: bool,
    /// When an exchange is late, and the maximum share of late ones.
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
    /// Creates an empty record.
    pub fn new(tolerance: Tolerance) -> Lateness {
        let (histogram, late, greatest, last) = (LogHistogram::new(), 0, Time::ZERO, None);
        Lateness { tolerance, histogram, late, greatest, last }
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
            self.late += u64::from(lateness.as_ns() as f64 > self.tolerance.late_ms * 1e6);
        }
    }

    /// Returns the report.
    pub fn report(mut self) -> LatenessReport {
        self.close();
        let quantile_us = |q| self.histogram.quantile(q).map(|ns| ns * 1e-3);
        let exchanges = self.histogram.count();
        LatenessReport {
            exchanges,
            late: self.late,
            valid: self.late as f64 <= exchanges as f64 * self.tolerance.share,
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

    #[test]
    fn the_last_packet_of_an_exchange_counts_and_the_share_decides() {
        for (late, valid) in [(1, true), (2, false)] {
            let mut lateness = Lateness::new(Tolerance { late_ms: 1.0, share: 0.01 });
            for n in 0..100 {
                let due = Time::from_ms(10 * n);
                lateness.record(due, due + Time::from_us(15));
                lateness.record(due, due + if n < late { Time::from_ms(3) } else { Time::from_us(30) });
            }
            let report = lateness.report();
            assert_eq!((report.exchanges, report.late, report.valid), (100, late, valid));
            assert!((report.p50_us.unwrap() - 30.0).abs() < 1.0, "{:?}", report.p50_us);
            assert_eq!(report.max_us, 3000.0);
            assert_eq!(report.histogram, [(50.0, 100 - late), (5e3, late)]);
        }
    }
}
