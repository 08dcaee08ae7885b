//! A wheel of 1,024 virtual slots: as CW ≤ 1023, every expiry fits, so a bucket holds exactly one slot, and a tie is two
//! contenders in one bucket. Finding the next used slot takes two find-first-set operations, independent of the number of
//! contenders.

use crate::node::EdcafId;

/// Slots of the wheel.
const SLOTS: usize = 1_024;
const WORDS: usize = SLOTS / 64;
/// End of a list.
const NONE: EdcafId = EdcafId::NONE;

/// Lists of contenders by virtual slot. The links are stored with the contenders, so nothing is ever allocated.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// Bit `w` is set if `words[w]` is not zero.
    summary: u32,
    /// Bit `b` of word `w` is set if the bucket `64 w + b` has a contender.
    words: [u64; WORDS],
    heads: Box<[EdcafId; SLOTS]>,
}

impl Wheel {
    pub(crate) fn new() -> Wheel {
        Wheel { summary: 0, words: [0; WORDS], heads: Box::new([NONE; SLOTS]) }
    }

    /// Puts `contender` at the head of the slot's list and returns the previous head, to be its link.
    #[inline]
    pub(crate) fn push(&mut self, slot: u64, contender: EdcafId) -> EdcafId {
        let bucket = slot as usize % SLOTS;
        self.words[bucket / 64] |= 1 << (bucket % 64);
        self.summary |= 1 << (bucket / 64);
        std::mem::replace(&mut self.heads[bucket], contender)
    }

    /// The first used slot of the 1,024 from `from` on.
    #[inline]
    pub(crate) fn next(&self, from: u64) -> Option<u64> {
        let start = from as usize % SLOTS;
        let (word, bit) = (start / 64, start % 64);
        let here = self.words[word] >> bit;
        if here != 0 {
            return Some(from + u64::from(here.trailing_zeros()));
        }
        if self.summary == 0 {
            return None;
        }
        // The words after this one in circular order, this one last (its bits below `bit`).
        let turned = (self.summary | self.summary << WORDS) >> (word + 1);
        let ahead = turned.trailing_zeros() as usize + 1;
        let found = self.words[(word + ahead) % WORDS].trailing_zeros() as usize;
        Some(from + (ahead * 64 + found - bit) as u64)
    }

    /// The head of the slot's list.
    #[inline]
    pub(crate) fn head(&self, slot: u64) -> EdcafId {
        self.heads[slot as usize % SLOTS]
    }

    /// Empties the slot's list and returns its head.
    #[inline]
    pub(crate) fn take(&mut self, slot: u64) -> EdcafId {
        let bucket = slot as usize % SLOTS;
        self.words[bucket / 64] &= !(1 << (bucket % 64));
        if self.words[bucket / 64] == 0 {
            self.summary &= !(1 << (bucket / 64));
        }
        std::mem::replace(&mut self.heads[bucket], NONE)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_next_slot_is_the_smallest(from in 0u64..5_000, offsets in prop::collection::btree_set(0u64..1_024, 0..20)) {
            let mut wheel = Wheel::new();
            for (contender, offset) in offsets.iter().enumerate() {
                prop_assert_eq!(wheel.push(from + offset, EdcafId::at(contender)), NONE);
            }
            let mut left = offsets.clone();
            while let Some(first) = left.pop_first() {
                prop_assert_eq!(wheel.next(from), Some(from + first));
                prop_assert_ne!(wheel.take(from + first), NONE);
            }
            prop_assert_eq!(wheel.next(from), None);
        }
    }

    #[test]
    fn a_tie_is_one_list() {
        let mut wheel = Wheel::new();
        assert_eq!(wheel.push(1_030, EdcafId::at(4)), NONE);
        assert_eq!(wheel.push(1_030, EdcafId::at(7)), EdcafId::at(4));
        assert_eq!(wheel.take(1_030), EdcafId::at(7));
        assert_eq!(wheel.next(1_000), None);
    }
}
