use crate::Time;

const FAN: usize = 8;

/// A node: the earliest instants of its children, or instants. As long as a line of a processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct TreeNode([Time; FAN]);

impl TreeNode {
    const NEVER: TreeNode = TreeNode([Time::MAX; FAN]);

    fn earliest(&self) -> Time {
        self.0.iter().fold(Time::MAX, |earliest, &time| earliest.min(time))
    }

    /// The first child that has `time`. Looks at all of them: which one it is nobody can predict.
    fn first(&self, time: Time) -> usize {
        let mask = self.0.iter().rev().fold(0u32, |mask, &child| mask << 1 | u32::from(child == time));
        mask.trailing_zeros() as usize
    }
}

/// The earliest of many instants, each at a fixed index: a tournament tree.
///
/// Setting an instant costs O(log n) at most and usually a step or two, since an update stops where it does not change the
/// winner; reading the earliest is a field access. Ties are resolved to the lowest index, so the order of events never depends
/// on the order of insertion.
#[derive(Clone, Debug)]
pub struct MinTree {
    /// Node 0 is the root, the children of `i` begin at `8 i + 1`, the instants are in the nodes from `first_leaf` on.
    nodes: Vec<TreeNode>,
    first_leaf: usize,
    earliest: Time,
}

impl MinTree {
    /// Creates a tree of `len` instants, all [`Time::MAX`].
    pub fn new(len: usize) -> MinTree {
        let leaves = len.div_ceil(FAN).max(1);
        let (mut first_leaf, mut width) = (0, 1);
        while width < leaves {
            first_leaf += width;
            width *= FAN;
        }
        MinTree { nodes: vec![TreeNode::NEVER; first_leaf + leaves], first_leaf, earliest: Time::MAX }
    }

    /// The earliest instant; [`Time::MAX`] if there is none.
    pub fn earliest(&self) -> Time {
        self.earliest
    }

    /// The lowest index that holds the earliest instant. Meaningless while all are "never".
    pub fn earliest_index(&self) -> usize {
        let mut node = 0;
        loop {
            let child = self.nodes[node].first(self.earliest);
            if node >= self.first_leaf {
                return (node - self.first_leaf) * FAN + child;
            }
            node = node * FAN + 1 + child;
        }
    }

    /// Adds all indexes that hold the earliest instant to `found`, in order; none while all are "never".
    pub fn earliest_indexes(&self, found: &mut Vec<usize>) {
        if self.earliest < Time::MAX {
            self.indexes_below(0, found);
        }
    }

    fn indexes_below(&self, node: usize, found: &mut Vec<usize>) {
        for child in (0..FAN).filter(|&child| self.nodes[node].0[child] == self.earliest) {
            match node.checked_sub(self.first_leaf) {
                Some(leaf) => found.push(leaf * FAN + child),
                None => self.indexes_below(node * FAN + 1 + child, found),
            }
        }
    }

    /// The instant at `index`.
    pub fn at(&self, index: usize) -> Time {
        self.nodes[self.first_leaf + index / FAN].0[index % FAN]
    }

    /// Sets the instant at `index`; [`Time::MAX`] for "never".
    #[inline]
    pub fn set(&mut self, index: usize, time: Time) {
        let (mut node, mut child, mut time) = (self.first_leaf + index / FAN, index % FAN, time);
        loop {
            let before = std::mem::replace(&mut self.nodes[node].0[child], time);
            let above = node.checked_sub(1).map(|at| (at / FAN, at % FAN));
            let winner = above.map_or(self.earliest, |(node, child)| self.nodes[node].0[child]);
            if time >= winner {
                if before != winner {
                    return; // it did not win and does not now
                }
                time = self.nodes[node].earliest();
                if time == winner {
                    return;
                }
            }
            match above {
                Some(above) => (node, child) = above,
                None => {
                    self.earliest = time;
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_scan(len in 1usize..40, updates in prop::collection::vec((0usize..40, 0u64..20), 1..200)) {
            let mut tree = MinTree::new(len);
            let mut plain = vec![Time::MAX; len];
            for (index, t) in updates {
                let time = if t == 19 { Time::MAX } else { Time::from_ns(t) };
                tree.set(index % len, time);
                plain[index % len] = time;
                let earliest = *plain.iter().min().unwrap();
                prop_assert_eq!(tree.earliest(), earliest);
                if earliest != Time::MAX {
                    prop_assert_eq!(tree.earliest_index(), plain.iter().position(|&t| t == earliest).unwrap());
                    let mut found = Vec::new();
                    tree.earliest_indexes(&mut found);
                    let expected: Vec<usize> = (0..len).filter(|&index| plain[index] == earliest).collect();
                    prop_assert_eq!(found, expected);
                }
                prop_assert_eq!(tree.at(index % len), time);
            }
        }
    }
}
