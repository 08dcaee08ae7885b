use std::iter::repeat_n;
use std::ops::Range;

use crate::{Counters, Time};

const SUB_BITS: u32 = 5;
/// Buckets per octave. Every value below twice this number has its own bucket.
const SUB: usize = 1 << SUB_BITS;

/// A histogram of unsigned integers with 32 buckets per octave.
///
/// A quantile is interpolated within its bucket, so it is off by at most 1/32 of its value, whatever the distribution.
///
/// Counts are cumulative integers, so a measurement is exactly the difference of two snapshots. Buckets are allocated from the
/// smallest value recorded to the largest, in whole octaves.
#[derive(Clone, Debug, Default)]
pub struct LogHistogram {
    /// Of the buckets from `first` on.
    counts: Box<[u64]>,
    first: usize,
    sum: u64,
}

impl LogHistogram {
    /// An empty histogram. It allocates nothing until the first value is recorded.
    pub fn new() -> LogHistogram {
        LogHistogram::default()
    }

    /// Counts `value` once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_weighted(value, 1);
    }

    /// Counts a duration in nanoseconds.
    #[inline]
    pub fn record_time(&mut self, value: Time) {
        self.record(value.as_ns());
    }

    /// Counts `value` with a weight, for example a queue length weighted by how long it lasted.
    #[inline]
    pub fn record_weighted(&mut self, value: u64, weight: u64) {
        let bucket = Self::bucket_of(value);
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count += weight,
            None => self.grow(bucket, weight),
        }
        self.sum = self.sum.wrapping_add(value.wrapping_mul(weight));
    }

    #[cold]
    fn grow(&mut self, bucket: usize, weight: u64) {
        self.cover(bucket..bucket + 1);
        self.counts[bucket - self.first] = weight;
    }

    /// Allocates the buckets of a range, too.
    fn cover(&mut self, buckets: Range<usize>) {
        let first = buckets.start / SUB * SUB;
        let mut counts = std::mem::take(&mut self.counts).into_vec();
        if counts.is_empty() {
            self.first = first;
        } else if first < self.first {
            counts.splice(..0, repeat_n(0, self.first - first));
            self.first = first;
        }
        let len = buckets.end.next_multiple_of(SUB) - self.first;
        counts.resize(len.max(counts.len()), 0);
        self.counts = counts.into_boxed_slice();
    }

    /// The allocated buckets with their counts.
    fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        (self.first..).zip(self.counts.iter().copied())
    }

    #[inline]
    fn bucket_of(value: u64) -> usize {
        // The leading bit of the shifted value equals SUB, which skips the buckets of lower octaves. Values below SUB are not
        // shifted, and each has a bucket.
        let shift = 63 - SUB_BITS - (value | SUB as u64).leading_zeros();
        ((shift as usize) << SUB_BITS) + (value >> shift) as usize
    }

    /// The value at a fraction `share` (0 to 1) of a bucket's width. A bucket for a single integer has that value throughout.
    fn value_at(bucket: usize, share: f64) -> f64 {
        if bucket < 2 * SUB {
            return bucket as f64;
        }
        let shift = (bucket >> SUB_BITS) - 1;
        let low = (SUB + (bucket & (SUB - 1))) as f64;
        (low + share) * (1_u64 << shift) as f64
    }

    /// Sum of all weights.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum of all values times their weights, modulo 2⁶⁴.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Exact weighted mean; `None` while empty.
    pub fn mean(&self) -> Option<f64> {
        let total = self.count();
        (total > 0).then(|| self.sum as f64 / total as f64)
    }

    /// The smallest value such that a fraction `q` of the weight lies at or below it; `None` while empty.
    ///
    /// The weight of a bucket is assumed to be spread evenly over it.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let rank = ((q * total as f64).ceil() as u64).clamp(1, total);
        let mut below = 0;
        for (bucket, count) in self.buckets() {
            if below + count >= rank {
                return Some(Self::value_at(bucket, ((rank - below) as f64 - 0.5) / count as f64));
            }
            below += count;
        }
        unreachable!("the counts add up to the total")
    }

    /// Iterates over the recorded values (the middle of each bucket) with their weights, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let counted = self.buckets().filter(|(_, count)| *count > 0);
        counted.map(|(bucket, count)| (Self::value_at(bucket, 0.5), count))
    }
}

impl PartialEq for LogHistogram {
    /// Whether the counts are equal, whatever is allocated.
    fn eq(&self, other: &LogHistogram) -> bool {
        self.sum == other.sum && self.iter().eq(other.iter())
    }
}

impl Eq for LogHistogram {}

impl Counters for LogHistogram {
    fn since(&self, earlier: &LogHistogram) -> LogHistogram {
        let mut difference = self.clone();
        for (bucket, before) in earlier.buckets() {
            difference.counts[bucket - self.first] -= before;
        }
        difference.sum = self.sum.wrapping_sub(earlier.sum);
        difference
    }

    fn add(&mut self, other: &LogHistogram) {
        if !other.counts.is_empty() {
            self.cover(other.first..other.first + other.counts.len());
        }
        for (bucket, more) in other.buckets() {
            self.counts[bucket - self.first] += more;
        }
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn empty_has_no_quantile() {
        assert_eq!(LogHistogram::new().quantile(0.5), None);
        assert_eq!(LogHistogram::new().mean(), None);
    }

    #[test]
    fn extreme_values_have_a_bucket() {
        let mut histogram = LogHistogram::new();
        histogram.record(0);
        histogram.record(u64::MAX);
        assert_eq!(histogram.quantile(0.5), Some(0.0));
        assert!(histogram.quantile(1.0).unwrap() > 1.7e19);
    }

    #[test]
    fn small_integers_are_exact() {
        let mut histogram = LogHistogram::new();
        (0..64).for_each(|value| histogram.record(value));
        assert_eq!(histogram.quantile(0.5), Some(31.0));
        assert!(histogram.iter().map(|(value, _)| value).eq((0..64).map(f64::from)));
    }

    #[test]
    fn a_quantile_moves_within_its_bucket() {
        // All but the last are in the bucket from 999,424 to 1,015,808.
        let quantile = |values: [u64; 4], q| {
            let mut histogram = LogHistogram::new();
            values.into_iter().for_each(|value| histogram.record(value));
            histogram.quantile(q).unwrap()
        };
        let values = [1_000_000, 1_003_000, 1_008_000, 1_012_000];
        assert_eq!(quantile(values, 0.25), 999_424.0 + 16_384.0 / 8.0);
        assert_eq!(quantile(values, 1.0), 999_424.0 + 16_384.0 * 7.0 / 8.0);
        assert!(quantile([1_000_000, 1_003_000, 1_008_000, 2_000_000], 0.5) > quantile(values, 0.5));
    }

    proptest! {
        #[test]
        fn quantiles_of_a_smooth_distribution_are_nearer(start in 1_000_000u64..1_000_000_000, q in 0.05..=0.95f64) {
            // Evenly spread over an octave: the bucket's width hardly shows.
            let values: Vec<u64> = (0..10_000).map(|i| start + start * i / 10_000).collect();
            let mut histogram = LogHistogram::new();
            values.iter().for_each(|&value| histogram.record(value));
            let exact = values[((q * 1e4).ceil() as usize).clamp(1, 10_000) - 1] as f64;
            let got = histogram.quantile(q).unwrap();
            prop_assert!((got - exact).abs() <= exact / 1_000.0, "{got} for {exact}");
        }

        #[test]
        fn quantiles_are_within_a_32nd(mut values in prop::collection::vec(0u64..10_000_000_000, 1..200), q in 0.0..=1.0f64) {
            let mut histogram = LogHistogram::new();
            for &value in &values {
                histogram.record(value);
            }
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let got = histogram.quantile(q).unwrap();
            prop_assert!((got - exact).abs() <= exact / 32.0 + 1e-9, "{got} for {exact}");
        }

        #[test]
        fn a_difference_of_snapshots_is_what_came_between(
            first in prop::collection::vec(0u64..1_000_000, 0..50),
            second in prop::collection::vec(0u64..100_000_000, 0..50),
        ) {
            let mut all = LogHistogram::new();
            let mut only_second = LogHistogram::new();
            for &v in &first { all.record(v); }
            let snapshot = all.clone();
            for &v in &second { all.record(v); only_second.record(v); }
            let difference = all.since(&snapshot);
            prop_assert_eq!(difference.count(), only_second.count());
            prop_assert_eq!(difference.mean(), only_second.mean());
            prop_assert_eq!(difference.quantile(0.9), only_second.quantile(0.9));
        }
    }
}
