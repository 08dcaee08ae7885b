//! Which nodes receive a node at all: one bit per pair, so that the question costs less than a search in the row of powers.

use super::spec::Rows;

/// A bit per transmitter and receiver.
pub(super) struct Reached {
    /// Words per transmitter.
    words: usize,
    bits: Vec<u64>,
}

impl Reached {
    pub(super) fn new(rows: &Rows) -> Reached {
        let words = rows.len().div_ceil(64);
        let mut bits = vec![0; words * rows.len()];
        for (from, row) in rows.iter().enumerate() {
            for &(to, _) in row {
                bits[from * words + to / 64] |= 1 << (to % 64);
            }
        }
        Reached { words, bits }
    }

    /// Whether `to` receives `from`.
    pub(super) fn is_by(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }
}
