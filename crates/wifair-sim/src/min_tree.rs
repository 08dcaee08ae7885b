use wifair_core::Time;

/// The earliest of many instants, each at a fixed index: a tournament tree.
///
/// Setting an instant costs O(log n) at most and usually two or three steps, since an update stops where it no longer changes
/// the winner; reading the earliest is a field access. Ties are resolved to the lowest index, so the order of events never
/// depends on the order of insertion.
#[derive(Clone, Debug)]
pub struct MinTree {
    /// Node 1 is the root, the children of `i` are `2 i` and `2 i + 1`, the leaves start at `leaves`.
    nodes: Vec<Time>,
    leaves: usize,
    /// Value of the root.
    earliest: Time,
}

impl MinTree {
    /// `len` instants, all "never".
    pub fn new(len: usize) -> MinTree {
        let leaves = len.next_power_of_two();
        MinTree { nodes: vec![Time::MAX; 2 * leaves], leaves, earliest: Time::MAX }
    }

    /// The earliest instant; [`Time::MAX`] if there is none.
    pub fn earliest(&self) -> Time {
        self.earliest
    }

    /// The lowest index that holds the earliest instant. Meaningless while all are "never".
    pub fn earliest_index(&self) -> usize {
        let earliest = self.earliest;
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if self.nodes[node] != earliest {
                node += 1;
            }
        }
        node - self.leaves
    }

    /// The instant at `index`.
    #[cfg(test)]
    pub fn at(&self, index: usize) -> Time {
        self.nodes[self.leaves + index]
    }

    /// Sets the instant at `index`; [`Time::MAX`] for "never".
    #[inline(always)] // usually two or three steps
    pub fn set(&mut self, index: usize, time: Time) {
        let mut node = self.leaves + index;
        self.nodes[node] = time;
        while node > 1 {
            let winner = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            if self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
        }
        self.earliest = self.nodes[1];
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
                }
                prop_assert_eq!(tree.at(index % len), time);
            }
        }
    }
}
