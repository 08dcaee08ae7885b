//! What has arrived of a stream of bytes: a plain account against which a receiver is held.

use std::collections::BTreeMap;

/// Ranges of offsets from the first byte, as they came.
#[derive(Default)]
pub struct Arrived {
    ranges: BTreeMap<u64, u64>,
}

impl Arrived {
    /// `start..end` has arrived.
    pub fn insert(&mut self, start: u64, end: u64) {
        let known = self.ranges.entry(start).or_insert(end);
        *known = (*known).max(end);
    }

    /// Whether all of a range has arrived.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        let mut reached = start;
        for (&from, &to) in self.ranges.range(..end) {
            if from <= reached {
                reached = reached.max(to);
            }
        }
        reached >= end
    }

    /// Up to where nothing is missing.
    pub fn prefix(&self) -> u64 {
        let mut prefix = 0;
        for (&start, &end) in &self.ranges {
            if start > prefix {
                break;
            }
            prefix = prefix.max(end);
        }
        prefix
    }
}
