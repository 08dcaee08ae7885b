use wifair_core::Rng;

use super::slots::SlotId;

/// A set of slots with uniform random picks; all operations take O(1).
#[derive(Clone, Debug, Default)]
pub(super) struct RandomSet {
    members: Vec<SlotId>,
    /// A member's index in `members`, by slot.
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

    /// Removes a slot; the last member takes its position.
    pub fn remove(&mut self, slot: SlotId) {
        let position = self.positions[slot.index()];
        self.members.swap_remove(position as usize);
        if let Some(moved) = self.members.get(position as usize) {
            self.positions[moved.index()] = position;
        }
    }

    /// Picks a member: one draw, or none if the set is empty.
    pub fn pick(&self, rng: &mut Rng) -> Option<SlotId> {
        if self.members.is_empty() {
            return None;
        }
        Some(self.members[rng.below(self.members.len() as u32) as usize])
    }
}
