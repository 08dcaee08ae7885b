/// A set of integers below a fixed bound. Finding the least or greatest member takes one step per factor 64 of the bound: words
/// of bits, above them the set of non-zero words, and so on up to a single word.
#[derive(Clone, Debug)]
pub(super) struct BitTree {
    words: Vec<u64>,
    above: Option<Box<BitTree>>,
}

impl BitTree {
    /// The empty set, for members below `bound`.
    pub fn new(bound: usize) -> BitTree {
        let words = bound.div_ceil(64);
        BitTree { words: vec![0; words], above: (words > 1).then(|| Box::new(BitTree::new(words))) }
    }

    pub fn contains(&self, member: usize) -> bool {
        self.words[member / 64] & 1 << (member % 64) != 0
    }

    pub fn insert(&mut self, member: usize) {
        let word = &mut self.words[member / 64];
        let before = *word;
        *word = before | 1 << (member % 64);
        if before == 0
            && let Some(above) = &mut self.above
        {
            above.insert(member / 64);
        }
    }

    pub fn remove(&mut self, member: usize) {
        let word = &mut self.words[member / 64];
        *word &= !(1 << (member % 64));
        if *word == 0
            && let Some(above) = &mut self.above
        {
            above.remove(member / 64);
        }
    }

    pub fn first(&self) -> Option<usize> {
        self.descend(|word| word.trailing_zeros())
    }

    pub fn last(&self) -> Option<usize> {
        self.descend(|word| 63 - word.leading_zeros())
    }

    fn descend(&self, bit_of: impl Fn(u64) -> u32 + Copy) -> Option<usize> {
        let at = match &self.above {
            None => 0,
            Some(above) => above.descend(bit_of)?,
        };
        let word = self.words[at];
        (word != 0).then(|| at * 64 + bit_of(word) as usize)
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
