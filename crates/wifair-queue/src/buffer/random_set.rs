use wifair_core::Rng;

use super::slots::SlotId;

/// Slots from which one is picked with equal probability, everything in O(1).
#[derive(Clone, Debug, Default)]
pub(super) struct RandomSet {
    members: Vec<SlotId>,
    /// Where a member stands among them, by slot.
    positions: Vec<u32>,
}

impl RandomSet {
    pub fn grow_slots(&mut self, slots: usize) {
        self.positions.resize(slots, 0);
    }

    pub fn insert(&mut self, slot: SlotId) {
        self.positions[slot.index()] = self.members.len() as u32;
        self.members.push(slot);
    }

    /// The last member takes the place of the one that goes.
    pub fn remove(&mut self, slot: SlotId) {
        let position = self.positions[slot.index()];
        self.members.swap_remove(position as usize);
        if let Some(moved) = self.members.get(position as usize) {
            self.positions[moved.index()] = position;
        }
    }

    /// One draw, or none while there are no members.
    pub fn pick(&self, rng: &mut Rng) -> Option<SlotId> {
        if self.members.is_empty() {
            return None;
        }
        Some(self.members[rng.below(self.members.len() as u32) as usize])
    }
}
