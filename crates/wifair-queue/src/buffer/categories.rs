use wifair_core::Ac;

use super::slots::{NONE, SlotId, Slots};

/// The order from head to tail within each access category: one list a category, through the slots.
#[derive(Clone, Debug)]
pub(super) struct ByCategory {
    ends: [Ends; 4],
    /// By slot: neighbours towards the head and towards the tail.
    links: Vec<[u32; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
}

impl ByCategory {
    pub fn new() -> ByCategory {
        ByCategory { ends: [Ends { head: NONE, tail: NONE }; 4], links: Vec::new() }
    }

    pub fn grow_slots(&mut self, slots: usize) {
        self.links.resize(slots, [NONE; 2]);
    }

    /// The packet of a category that is nearest to the head.
    pub fn head(&self, ac: Ac) -> Option<SlotId> {
        SlotId::from_link(self.ends[ac as usize].head)
    }

    /// A packet has come to the tail.
    pub fn push(&mut self, slots: &Slots, slot: SlotId) {
        let ac = slots.get(slot).ac;
        self.insert_after(ac, self.ends[ac as usize].tail, slot);
    }

    /// A packet is about to go.
    pub fn remove(&mut self, slots: &Slots, slot: SlotId) {
        let ac = slots.get(slot).ac;
        let [before, after] = self.links[slot.index()];
        let ends = &mut self.ends[ac as usize];
        match self.links.get_mut(before as usize) {
            Some(links) => links[1] = after,
            None => ends.head = after,
        }
        match self.links.get_mut(after as usize) {
            Some(links) => links[0] = before,
            None => ends.tail = before,
        }
    }

    /// A packet has come to a place in the middle where another stood: its neighbour is looked for, which takes as many steps
    /// as packets of other categories stand between them.
    pub fn insert(&mut self, slots: &Slots, slot: SlotId) {
        let ac = slots.get(slot).ac;
        let towards_head = std::iter::successors(slots.before(slot), |&other| slots.before(other));
        let before = towards_head.into_iter().find(|&other| slots.get(other).ac == ac);
        self.insert_after(ac, before.map_or(NONE, |before| before.0), slot);
    }

    fn insert_after(&mut self, ac: Ac, before: u32, slot: SlotId) {
        let ends = &mut self.ends[ac as usize];
        let after = match self.links.get_mut(before as usize) {
            Some(links) => std::mem::replace(&mut links[1], slot.0),
            None => std::mem::replace(&mut ends.head, slot.0),
        };
        match self.links.get_mut(after as usize) {
            Some(links) => links[0] = slot.0,
            None => ends.tail = slot.0,
        }
        self.links[slot.index()] = [before, after];
    }
}
