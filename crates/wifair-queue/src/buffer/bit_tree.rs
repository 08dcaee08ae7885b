/// A set of integers below a fixed bound, with its least and greatest member in one step for each factor 64 of the
/// bound: words of bits, above them words that say which of those are not zero, and so on up to a single word.
#[derive(Clone, Debug)]
pub(super) struct BitTree {
    levels: Vec<Vec<u64>>,
}

impl BitTree {
    /// The empty set, for members below `bound`.
    pub fn new(bound: usize) -> BitTree {
        let mut levels = Vec::new();
        let mut words = bound;
        loop {
            words = words.div_ceil(64);
            levels.push(vec![0; words]);
            if words <= 1 {
                return BitTree { levels };
            }
        }
    }

    #[inline]
    pub fn contains(&self, member: usize) -> bool {
        self.levels[0][member / 64] & 1 << (member % 64) != 0
    }

    #[inline]
    pub fn insert(&mut self, member: usize) {
        let mut at = member;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            let was_empty = *word == 0;
            *word |= 1 << (at % 64);
            if !was_empty {
                return;
            }
            at /= 64;
        }
    }

    #[inline]
    pub fn remove(&mut self, member: usize) {
        let mut at = member;
        for level in &mut self.levels {
            let word = &mut level[at / 64];
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    #[inline]
    pub fn first(&self) -> Option<usize> {
        self.descend(|word| word.trailing_zeros())
    }

    #[inline]
    pub fn last(&self) -> Option<usize> {
        self.descend(|word| 63 - word.leading_zeros())
    }

    #[inline]
    fn descend(&self, bit_of: impl Fn(u64) -> u32) -> Option<usize> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level[at];
            if word == 0 {
                return None; // only the topmost word can be zero on the way
            }
            at = at * 64 + bit_of(word) as usize;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_an_ordered_set(
            bound in prop::sample::select(vec![1usize, 64, 65, 4096, 5000, 300_000]),
            steps in prop::collection::vec((any::<u32>(), any::<bool>()), 1..200),
        ) {
            let (mut tree, mut model) = (BitTree::new(bound), BTreeSet::new());
            for (value, add) in steps {
                // Few distinct values, so that removals hit.
                let member = (value % 17) as usize * 7919 % bound;
                if add {
                    tree.insert(member);
                    model.insert(member);
                } else {
                    tree.remove(member);
                    model.remove(&member);
                }
                prop_assert_eq!(tree.first(), model.first().copied());
                prop_assert_eq!(tree.last(), model.last().copied());
                prop_assert_eq!(tree.contains(member), model.contains(&member));
            }
        }
    }
}
