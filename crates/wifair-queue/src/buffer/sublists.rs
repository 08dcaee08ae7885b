use wifair_core::{Ac, StationId};

use super::lists::Lists;
use super::slots::{SlotId, Slots};

/// The order from head to tail within parts of a queue: the packets of a category, of a station, or of both.
#[derive(Clone, Debug)]
pub(super) struct Sublists {
    lists: Lists,
    by_station: bool,
    by_category: bool,
    /// Whether times of arrival do not fall towards the tail: packets in place of others have later ones.
    by_time: bool,
}

impl Sublists {
    /// Without packets. What is false is not distinguished.
    pub fn new(by_station: bool, by_category: bool) -> Sublists {
        Sublists { lists: Lists::default(), by_station, by_category, by_time: true }
    }

    fn list(&self, station: StationId, ac: Ac) -> usize {
        usize::from(self.by_station) * 4 * station.index() + usize::from(self.by_category) * ac as usize
    }

    fn list_of(&self, slots: &Slots, slot: SlotId) -> usize {
        let queued = slots.get(slot);
        self.list(queued.station, queued.ac)
    }

    /// The packet for a station and of a category nearest to the head.
    pub fn first(&self, station: StationId, ac: Ac) -> Option<SlotId> {
        self.lists.first(self.list(station, ac))
    }

    /// The first packet of each station that has one, of a category.
    pub fn firsts(&self, ac: Ac) -> impl Iterator<Item = SlotId> {
        let first = self.list(StationId(0), ac);
        (first..self.lists.count()).step_by(4).filter_map(|list| self.lists.first(list))
    }

    /// Whether the packet that arrived earlier is nearer to the head.
    pub fn are_by_time(&self) -> bool {
        self.by_time
    }

    /// The order by station of all packets that are queued.
    pub fn by_station(slots: &Slots, by_category: bool) -> Sublists {
        let mut found = Sublists::new(true, by_category);
        slots.iter().for_each(|slot| found.insert(slots, slot, false));
        found.by_time = slots.iter().map(|slot| slots.get(slot).enqueued_at).is_sorted();
        found
    }

    /// Adds a packet: appended at the tail or, `in_place` of another, in the middle. Finding its neighbour there takes as many
    /// steps as there are packets of other parts between them.
    pub fn insert(&mut self, slots: &Slots, slot: SlotId, in_place: bool) {
        let list = self.list_of(slots, slot);
        if !in_place {
            return self.lists.push(list, slot);
        }
        self.by_time = false;
        let mut towards_head = std::iter::successors(slots.before(slot), |&other| slots.before(other));
        let before = towards_head.find(|&other| self.list_of(slots, other) == list);
        self.lists.insert_after(list, before, slot);
    }

    /// Removes a packet that is about to leave.
    pub fn remove(&mut self, slots: &Slots, slot: SlotId) {
        self.lists.remove(self.list_of(slots, slot), slot);
    }

    /// Adds a packet for a station at the tail, if only stations are distinguished.
    pub fn push_to_station(&mut self, station: StationId, slot: SlotId) {
        self.lists.push(4 * station.index(), slot);
    }

    /// Removes the first packet for a station if only stations are distinguished, and if the packet `fits`.
    pub fn pop_of_station(
        &mut self,
        station: StationId,
        fits: impl FnOnce(SlotId) -> bool,
    ) -> Option<SlotId> {
        let list = 4 * station.index();
        let first = self.lists.first(list).filter(|&first| fits(first))?;
        self.lists.pop(list);
        Some(first)
    }
}
