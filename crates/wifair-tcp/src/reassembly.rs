use crate::seq;

/// Bytes that have arrived beyond a hole, as disjoint intervals `[start, end)` in ascending order.
///
/// Empty in the usual case, and its buffer is kept, so a steady connection allocates nothing. Losses come in few holes,
/// so a scan from the end, where segments usually arrive, is short.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    held: Vec<(u32, u32)>,
}

impl Reassembly {
    /// True where nothing is held, so nothing is missing before it either.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Number of intervals held.
    pub(crate) fn intervals(&self) -> usize {
        self.held.len()
    }

    /// Adds `[start, end)` and says whether any byte of it was new.
    pub(crate) fn insert(&mut self, start: u32, end: u32) -> bool {
        // `[first, last)` are the intervals that the new one overlaps or touches.
        let last = self.held.iter().rposition(|&(s, _)| !seq::after(s, end)).map_or(0, |at| at + 1);
        let first =
            self.held[..last].iter().rposition(|&(_, e)| seq::before(e, start)).map_or(0, |at| at + 1);
        if first == last {
            self.held.insert(first, (start, end));
            return true;
        }
        let (low, high) = (self.held[first].0, self.held[last - 1].1);
        if last - first == 1 && !seq::before(start, low) && !seq::after(end, high) {
            return false;
        }
        self.held[first] = (if seq::before(start, low) { start } else { low }, seq::later(end, high));
        self.held.drain(first + 1..last);
        true
    }

    /// Everything before `next` is in order: returns how far it is now, with what was held.
    pub(crate) fn advance(&mut self, mut next: u32) -> u32 {
        let reached = self.held.iter().take_while(|&&(start, end)| {
            let reached = !seq::after(start, next);
            if reached {
                next = seq::later(next, end);
            }
            reached
        });
        let count = reached.count();
        self.held.drain(..count);
        next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain set of bytes, at any place in sequence space.
        #[test]
        fn agrees_with_a_set_of_bytes(
            base: u32,
            pieces in prop::collection::vec((1u32..60, 1u32..12), 1..40),
        ) {
            let mut reassembly = Reassembly::default();
            let mut set = std::collections::BTreeSet::new();
            for (offset, length) in pieces {
                let new = (offset..offset + length).filter(|&byte| set.insert(byte)).count() > 0;
                let start = base.wrapping_add(offset);
                prop_assert_eq!(reassembly.insert(start, start.wrapping_add(length)), new);
                let runs = set.iter().filter(|&&byte| !set.contains(&(byte - 1))).count();
                prop_assert_eq!(reassembly.intervals(), runs);
            }
            let mut next = 1;
            while set.remove(&next) { next += 1; }
            set.retain(|&byte| byte > next);
            prop_assert_eq!(reassembly.advance(base.wrapping_add(1)), base.wrapping_add(next));
            let runs = set.iter().filter(|&&byte| !set.contains(&(byte - 1))).count();
            prop_assert_eq!(reassembly.intervals(), runs);
        }
    }
}
