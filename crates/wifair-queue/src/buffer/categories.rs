use wifair_core::Ac;

use super::lists::Lists;
use super::slots::{SlotId, Slots};

/// The order from head to tail within each access category: one list per category.
#[derive(Clone, Debug, Default)]
pub(super) struct ByCategory {
    lists: Lists,
}

impl ByCategory {
    /// The packet of a category that is nearest to the head.
    pub fn head(&self, ac: Ac) -> Option<SlotId> {
        self.lists.first(ac as usize)
    }

    /// A packet has come to the tail.
    pub fn push(&mut self, slots: &Slots, slot: SlotId) {
        self.lists.push(slots.get(slot).ac as usize, slot);
    }

    /// A packet is about to go.
    pub fn remove(&mut self, slots: &Slots, slot: SlotId) {
        self.lists.remove(slots.get(slot).ac as usize, slot);
    }

    /// A packet has come to a place in the middle where another stood: its neighbour is looked for, which takes as many steps
    /// as packets of other categories stand between them.
    pub fn insert(&mut self, slots: &Slots, slot: SlotId) {
        let ac = slots.get(slot).ac;
        let mut towards_head = std::iter::successors(slots.before(slot), |&other| slots.before(other));
        let before = towards_head.find(|&other| slots.get(other).ac == ac);
        self.lists.insert_after(ac as usize, before, slot);
    }
}
