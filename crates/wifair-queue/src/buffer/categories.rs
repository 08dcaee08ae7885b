use wifair_core::Ac;

use super::lists::Lists;
use super::slots::{SlotId, Slots};

/// The order from head to tail within each access category: one list per category.
#[derive(Clone, Debug, Default)]
pub(super) struct ByCategory {
    lists: Lists,
}

impl ByCategory {
    /// The packet of a category nearest to the head.
    pub fn head(&self, ac: Ac) -> Option<SlotId> {
        self.lists.first(ac as usize)
    }

    /// Adds a packet that has been appended at the tail.
    pub fn push(&mut self, slots: &Slots, slot: SlotId) {
        self.lists.push(slots.get(slot).ac as usize, slot);
    }

    /// Removes a packet that is about to leave.
    pub fn remove(&mut self, slots: &Slots, slot: SlotId) {
        self.lists.remove(slots.get(slot).ac as usize, slot);
    }

    /// Adds a packet that has replaced another in the middle. Finding its neighbour takes as many steps as there are packets of
    /// other categories between them.
    pub fn insert(&mut self, slots: &Slots, slot: SlotId) {
        let ac = slots.get(slot).ac;
        let mut towards_head = std::iter::successors(slots.before(slot), |&other| slots.before(other));
        let before = towards_head.find(|&other| slots.get(other).ac == ac);
        self.lists.insert_after(ac as usize, before, slot);
    }
}
