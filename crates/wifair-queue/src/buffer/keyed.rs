use super::slots::{NONE, SlotId};

/// Queued packets in the order of a key that each was given as it came in; first in, first out among equal keys.
///
/// A tournament tree over the slots, each node with the first and the last packet of its part: a packet comes or goes in
/// O(log n), and as a rule in few steps, as an update ends where it changes nothing. Nothing is allocated once the buffer
/// has been as long as it gets.
#[derive(Clone, Debug, Default)]
pub(super) struct Keyed {
    /// Key and order of arrival, by slot.
    keys: Vec<(u64, u64)>,
    /// Node 1 is the root, the children of `i` are `2 i` and `2 i + 1`, the leaves are the slots.
    nodes: Vec<Ends>,
    arrivals: u64,
}

/// The first and the last packet of a part of the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    first: u32,
    last: u32,
}

const EMPTY: Ends = Ends { first: NONE, last: NONE };

impl Keyed {
    pub fn grow_slots(&mut self, slots: usize) {
        let old_leaves = self.nodes.len() / 2;
        self.keys.resize(slots, (0, 0));
        if slots <= old_leaves {
            return;
        }
        let leaves = slots.next_power_of_two().max(16);
        let mut nodes = vec![EMPTY; 2 * leaves];
        nodes[leaves..leaves + old_leaves].copy_from_slice(&self.nodes[old_leaves..]);
        self.nodes = nodes;
        for node in (1..leaves).rev() {
            self.nodes[node] = self.ends_of(node);
        }
    }

    pub fn insert(&mut self, slot: SlotId, key: u64) {
        self.keys[slot.index()] = (key, self.arrivals);
        self.arrivals += 1;
        self.set_leaf(slot, Ends { first: slot.0, last: slot.0 });
    }

    pub fn remove(&mut self, slot: SlotId) {
        self.set_leaf(slot, EMPTY);
    }

    pub fn key(&self, slot: SlotId) -> u64 {
        self.keys[slot.index()].0
    }

    pub fn first(&self) -> Option<SlotId> {
        SlotId::from_link(self.nodes.get(1)?.first)
    }

    pub fn last(&self) -> Option<SlotId> {
        SlotId::from_link(self.nodes.get(1)?.last)
    }

    fn set_leaf(&mut self, slot: SlotId, ends: Ends) {
        let mut node = self.nodes.len() / 2 + slot.index();
        self.nodes[node] = ends;
        while node > 1 {
            node /= 2;
            // A slot is empty before it is filled and after it is vacated: where the ends are what they were, the change
            // is not among them, and further up nothing changes either.
            let ends = self.ends_of(node);
            if self.nodes[node] == ends {
                return;
            }
            self.nodes[node] = ends;
        }
    }

    fn ends_of(&self, node: usize) -> Ends {
        let (a, b) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        if a.first == NONE {
            return b;
        }
        if b.first == NONE {
            return a;
        }
        let key = |slot: u32| self.keys[slot as usize];
        Ends {
            first: if key(b.first) < key(a.first) { b.first } else { a.first },
            last: if key(b.last) > key(a.last) { b.last } else { a.last },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(steps in prop::collection::vec((0u32..40, 0u64..6, any::<bool>()), 1..300)) {
            let mut keyed = Keyed::default();
            let mut plain: Vec<(u64, usize, u32)> = vec![];
            let mut slots = 0;
            for (at, (slot, key, grow)) in steps.into_iter().enumerate() {
                if grow && slots < 40 {
                    slots += 1;
                    keyed.grow_slots(slots);
                }
                if slot as usize >= slots {
                    continue;
                }
                match plain.iter().position(|entry| entry.2 == slot) {
                    Some(position) => {
                        prop_assert_eq!(keyed.key(SlotId(slot)), plain[position].0);
                        keyed.remove(SlotId(slot));
                        plain.remove(position);
                    }
                    None => {
                        keyed.insert(SlotId(slot), key);
                        plain.push((key, at, slot));
                    }
                }
                plain.sort_unstable();
                prop_assert_eq!(keyed.first(), plain.first().map(|entry| SlotId(entry.2)));
                prop_assert_eq!(keyed.last(), plain.last().map(|entry| SlotId(entry.2)));
            }
        }
    }
}
