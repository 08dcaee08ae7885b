use super::slots::{NONE, SlotId};

/// Doubly linked lists of queued packets, by number, linked through their slots. Insertion and removal take O(1); a packet is
/// in at most one list. Numbers should be dense: there is a row for each up to the greatest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    ends: Vec<ListEnds>,
    /// By slot: neighbours towards the first and towards the last.
    links: Vec<[u32; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct ListEnds {
    first: u32,
    last: u32,
}

const EMPTY: ListEnds = ListEnds { first: NONE, last: NONE };

impl Lists {
    fn ends(&self, list: usize) -> ListEnds {
        self.ends.get(list).copied().unwrap_or(EMPTY)
    }

    /// One more than the greatest number of a list that has had a packet.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The first packet of a list.
    pub fn first(&self, list: usize) -> Option<SlotId> {
        SlotId::from_link(self.ends(list).first)
    }

    /// The last packet of a list.
    pub fn last(&self, list: usize) -> Option<SlotId> {
        SlotId::from_link(self.ends(list).last)
    }

    /// The packet after another in its list.
    pub fn after(&self, slot: SlotId) -> Option<SlotId> {
        SlotId::from_link(self.links[slot.index()][1])
    }

    /// Appends a packet to a list.
    pub fn push(&mut self, list: usize, slot: SlotId) {
        if list >= self.ends.len() || slot.index() >= self.links.len() {
            return self.insert_after(list, self.last(list), slot); // there is no room for its links yet
        }
        let ends = &mut self.ends[list];
        let before = std::mem::replace(&mut ends.last, slot.0);
        match self.links.get_mut(before as usize) {
            Some(links) => links[1] = slot.0,
            None => ends.first = slot.0,
        }
        self.links[slot.index()] = [before, NONE];
    }

    /// Removes the first packet of a list that is not empty.
    pub fn pop(&mut self, list: usize) {
        let ends = &mut self.ends[list];
        let [_, after] = self.links[ends.first as usize];
        ends.first = after;
        match self.links.get_mut(after as usize) {
            Some(links) => links[0] = NONE,
            None => ends.last = NONE,
        }
    }

    /// Inserts a packet into a list after another, or as the first.
    pub fn insert_after(&mut self, list: usize, before: Option<SlotId>, slot: SlotId) {
        if list >= self.ends.len() {
            self.ends.resize(list + 1, EMPTY);
        }
        if slot.index() >= self.links.len() {
            self.links.resize(slot.index() + 1, [NONE; 2]);
        }
        let ends = &mut self.ends[list];
        let before = before.map_or(NONE, |before| before.0);
        let after = match self.links.get_mut(before as usize) {
            Some(links) => std::mem::replace(&mut links[1], slot.0),
            None => std::mem::replace(&mut ends.first, slot.0),
        };
        match self.links.get_mut(after as usize) {
            Some(links) => links[0] = slot.0,
            None => ends.last = slot.0,
        }
        self.links[slot.index()] = [before, after];
    }

    /// Removes a packet from its list.
    pub fn remove(&mut self, list: usize, slot: SlotId) {
        let [before, after] = self.links[slot.index()];
        let ends = &mut self.ends[list];
        match self.links.get_mut(before as usize) {
            Some(links) => links[1] = after,
            None => ends.first = after,
        }
        match self.links.get_mut(after as usize) {
            Some(links) => links[0] = before,
            None => ends.last = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_vectors(steps in prop::collection::vec((0u32..30, 0usize..4, 0usize..8), 1..300)) {
            let mut lists = Lists::default();
            let mut plain: Vec<Vec<u32>> = vec![vec![]; 4];
            for (slot, list, place) in steps {
                match plain.iter().position(|list| list.contains(&slot)) {
                    Some(list) => {
                        match plain[list][0] == slot {
                            true => lists.pop(list),
                            false => lists.remove(list, SlotId(slot)),
                        }
                        plain[list].retain(|other| *other != slot);
                    }
                    None => {
                        let place = place.min(plain[list].len());
                        let before = place.checked_sub(1).map(|place| SlotId(plain[list][place]));
                        match place == plain[list].len() {
                            true => lists.push(list, SlotId(slot)),
                            false => lists.insert_after(list, before, SlotId(slot)),
                        }
                        plain[list].insert(place, slot);
                    }
                }
                for (list, plain) in plain.iter().enumerate() {
                    let listed = std::iter::successors(lists.first(list), |&slot| lists.after(slot));
                    prop_assert_eq!(listed.map(|slot| slot.0).collect::<Vec<_>>(), plain.clone());
                    prop_assert_eq!(lists.last(list).map(|slot| slot.0), plain.last().copied());
                }
            }
        }
    }
}
