//! Throughput and collision probability of a BSS over replications, with their standard errors.

use super::record::Record;
use super::scenario::{Scenario, Stream};
use std::fmt;

/// A mean over replications and its standard error.
#[derive(Clone, Copy, Debug)]
pub struct Mean {
    pub value: f64,
    pub error: f64,
}

impl fmt::Display for Mean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.5} ±{:.5}", self.value, self.error)
    }
}

impl Mean {
    fn of(samples: &[f64]) -> Mean {
        let n = samples.len() as f64;
        let value = samples.iter().sum::<f64>() / n;
        let variance = samples.iter().map(|x| (x - value).powi(2)).sum::<f64>() / (n - 1.0);
        Mean { value, error: (variance / n).sqrt() }
    }

    /// The ratio of two sums over replications; its error by the residuals (a ratio of each would be biased in short
    /// ones).
    fn of_ratio(samples: &[(f64, f64)]) -> Mean {
        let n = samples.len() as f64;
        let (above, below) = samples.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
        if below == 0.0 {
            return Mean { value: 0.0, error: 0.0 };
        }
        let value = above / below;
        let residuals: f64 = samples.iter().map(|(x, y)| (x - value * y).powi(2)).sum();
        Mean { value, error: (residuals / (n * (n - 1.0))).sqrt() / (below / n) }
    }

    /// Whether two means agree within `tolerance`, or within three standard errors of their difference where that
    /// is larger.
    pub fn agrees(&self, other: &Mean, tolerance: f64) -> bool {
        let allowed = tolerance.max(3.0 * self.error.hypot(other.error));
        (self.value - other.value).abs() <= allowed
    }
}

/// What a saturated or a lightly loaded BSS is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Mbps of IP bytes.
    pub throughput: Mean,
    /// Failures by attempt: on a channel without errors, the collision probability.
    pub collision: Mean,
    /// Exchanges, all replications together.
    pub exchanges: u64,
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbps, p {}, {} exchanges", self.throughput, self.collision, self.exchanges)
    }
}

/// A model of the medium: what happened between two instants (µs).
pub type Model = fn(&Scenario, u64, u64) -> Record;

/// Twenty replications of `total` µs altogether, each after a warm-up: at the start all stations have CWmin, and the
/// more there are the longer they take to find their windows. `scenario` makes a replication from a seed and the µs
/// for which it is offered traffic.
pub fn measure(model: Model, scenario: impl Fn(u64, u64) -> Scenario, seed: u64, total: u64) -> Measured {
    const REPLICATIONS: u64 = 20;
    const WARM_UP_PER_STATION: u64 = 20_000;
    let (mut throughput, mut collision, mut exchanges) = (Vec::new(), Vec::new(), 0);
    for replication in 0..REPLICATIONS {
        let stations = scenario(seed, 1).stations.len() as u64;
        let from = WARM_UP_PER_STATION * stations;
        let until = from + total / REPLICATIONS;
        let scenario = scenario(seed + replication, until);
        let record = model(&scenario, from, until);
        let bytes = |(tallies, up): (&[super::frame::Tally], bool)| -> u64 {
            let of_station = |station| {
                let stream = scenario.streams.iter().find(|s| s.station == station && s.up == up);
                stream.map_or(0, |s| u64::from(s.ip_bytes))
            };
            tallies.iter().enumerate().map(|(i, tally)| tally.delivered * of_station(i)).sum()
        };
        let delivered = bytes((&record.up, true)) + bytes((&record.down, false));
        throughput.push(8.0 * delivered as f64 / record.end as f64);
        collision.push((record.total(|t| t.failures) as f64, record.total(|t| t.attempts) as f64));
        exchanges += record.exchanges;
    }
    Measured { throughput: Mean::of(&throughput), collision: Mean::of_ratio(&collision), exchanges }
}

/// As [`measure`], for each class of a BSS by itself. A class is a set of streams that `class_of` gives the same number,
/// below `classes`; no two streams have a station and a direction in common.
pub fn measure_classes(
    model: Model,
    scenario: impl Fn(u64, u64) -> Scenario,
    class_of: impl Fn(&Stream) -> usize,
    classes: usize,
    seed: u64,
    total: u64,
) -> Vec<Measured> {
    const REPLICATIONS: u64 = 20;
    const WARM_UP: u64 = 100_000;
    let mut throughput = vec![Vec::new(); classes];
    let mut collision = vec![Vec::new(); classes];
    let mut exchanges = 0;
    for replication in 0..REPLICATIONS {
        let until = WARM_UP + total / REPLICATIONS;
        let scenario = scenario(seed + replication, until);
        let record = model(&scenario, WARM_UP, until);
        let mut bits = vec![0; classes];
        let mut failed = vec![(0.0, 0.0); classes];
        for stream in &scenario.streams {
            let tally = if stream.up { &record.up } else { &record.down }[stream.station];
            let class = class_of(stream);
            bits[class] += 8 * tally.delivered * u64::from(stream.ip_bytes);
            failed[class].0 += tally.failures as f64;
            failed[class].1 += tally.attempts as f64;
        }
        for class in 0..classes {
            throughput[class].push(bits[class] as f64 / record.end as f64);
            collision[class].push(failed[class]);
        }
        exchanges += record.exchanges;
    }
    let of = |(throughput, collision): (Vec<f64>, Vec<(f64, f64)>)| Measured {
        throughput: Mean::of(&throughput),
        collision: Mean::of_ratio(&collision),
        exchanges,
    };
    throughput.into_iter().zip(collision).map(of).collect()
}
