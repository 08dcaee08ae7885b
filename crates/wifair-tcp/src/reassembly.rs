use crate::seq;

/// A set of sequence numbers ahead of the cumulative acknowledgement, as disjoint intervals `[start, end)` in ascending order:
/// the data that a receiver holds beyond a hole, or a sender's view of that.
///
/// Usually empty. The allocation is kept, so a steady connection allocates nothing. Losses leave few holes, so a scan from the
/// end, where segments usually arrive, is short.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    held: Vec<Held>,
    /// Number of insertions since it was last empty.
    clock: u32,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    start: u32,
    end: u32,
    /// Time of the last insertion here, by `clock`.
    changed: u32,
}

impl Reassembly {
    /// True if nothing is held, so no earlier data is missing.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Number of intervals held.
    pub(crate) fn intervals(&self) -> usize {
        self.held.len()
    }

    /// The intervals, in ascending order.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> + ExactSizeIterator + '_ {
        self.held.iter().map(|held| (held.start, held.end))
    }

    /// The intervals that reach beyond `seq`, in ascending order.
    pub(crate) fn beyond(&self, seq: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let first = self.held.partition_point(|held| !seq::after(held.end, seq));
        self.held[first..].iter().map(|held| (held.start, held.end))
    }

    /// Writes the intervals with the latest insertions into `into`, the latest first, as many as fit; returns their number.
    pub(crate) fn latest(&self, into: &mut [(u32, u32)]) -> usize {
        let mut before = u32::MAX;
        for (count, place) in into.iter_mut().enumerate() {
            let older = self.held.iter().filter(|held| held.changed < before);
            let Some(held) = older.max_by_key(|held| held.changed) else { return count };
            *place = (held.start, held.end);
            before = held.changed;
        }
        into.len()
    }

    /// The first part of `[start, end)` that is held.
    pub(crate) fn overlap(&self, start: u32, end: u32) -> Option<(u32, u32)> {
        let (s, e) = self.beyond(start).next()?;
        let (s, e) = (seq::later(s, start), if seq::before(e, end) { e } else { end });
        seq::before(s, e).then_some((s, e))
    }

    /// Adds `[start, end)` and says whether any byte of it was new.
    pub(crate) fn insert(&mut self, start: u32, end: u32) -> bool {
        self.clock = if self.held.is_empty() { 0 } else { self.clock + 1 };
        let changed = self.clock;
        // `[first, last)` are the intervals that the new one overlaps or touches.
        let last = self.held.iter().rposition(|held| !seq::after(held.start, end)).map_or(0, |at| at + 1);
        let first =
            self.held[..last].iter().rposition(|held| seq::before(held.end, start)).map_or(0, |at| at + 1);
        if first == last {
            self.held.insert(first, Held { start, end, changed });
            return true;
        }
        let (low, high) = (self.held[first].start, self.held[last - 1].end);
        if last - first == 1 && !seq::before(start, low) && !seq::after(end, high) {
            self.held[first].changed = changed;
            return false;
        }
        let start = if seq::before(start, low) { start } else { low };
        self.held[first] = Held { start, end: seq::later(end, high), changed };
        self.held.drain(first + 1..last);
        true
    }

    /// Moves the cumulative acknowledgement from `next` past the held data that follows; returns the new value.
    pub(crate) fn advance(&mut self, mut next: u32) -> u32 {
        let reached = self.held.iter().take_while(|held| {
            let reached = !seq::after(held.start, next);
            if reached {
                next = seq::later(next, held.end);
            }
            reached
        });
        let count = reached.count();
        self.held.drain(..count);
        next
    }

    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain set of bytes, anywhere in sequence space.
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
            prop_assert!(reassembly.iter().is_sorted_by_key(|(start, _)| start.wrapping_sub(base)));
            let mut next = 1;
            while set.remove(&next) { next += 1; }
            set.retain(|&byte| byte > next);
            prop_assert_eq!(reassembly.advance(base.wrapping_add(1)), base.wrapping_add(next));
            let runs = set.iter().filter(|&&byte| !set.contains(&(byte - 1))).count();
            prop_assert_eq!(reassembly.intervals(), runs);
        }
    }
    #[test]
    fn the_latest_come_first() {
        let mut held = Reassembly::default();
        for start in [10, 30, 50, 70] {
            held.insert(start, start + 5);
        }
        held.insert(35, 40); // the second grows
        let mut latest = [(0, 0); 3];
        assert_eq!(held.latest(&mut latest), 3);
        assert_eq!(latest, [(30, 40), (70, 75), (50, 55)]);
        held.insert(51, 52); // nothing new, but the latest
        assert_eq!(held.latest(&mut latest), 3);
        assert_eq!(latest, [(50, 55), (30, 40), (70, 75)]);
        assert_eq!(held.advance(69), 69); // a hole of one byte before the last interval
        assert_eq!(held.latest(&mut latest), 1);
        assert_eq!(latest[0], (70, 75));
    }

    #[test]
    fn the_first_part_that_is_held() {
        let mut held = Reassembly::default();
        held.insert(10, 20);
        held.insert(30, 40);
        for (start, end, expected) in [
            (0, 10, None),
            (0, 11, Some((10, 11))),
            (12, 15, Some((12, 15))),
            (15, 35, Some((15, 20))),
            (20, 30, None),
            (20, 35, Some((30, 35))),
            (25, 50, Some((30, 40))),
            (40, 50, None),
        ] {
            assert_eq!(held.overlap(start, end), expected, "{start}..{end}");
        }
    }
}
