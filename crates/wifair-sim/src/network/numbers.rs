//! Which numbers the slots and stations of a network have in the plan that it is a part of: addresses are made of those.

use wifair_core::StationId;

/// See the module documentation.
pub(crate) struct Numbers {
    /// By slot, in order.
    slots: Vec<u32>,
    /// By station.
    stations: Vec<StationId>,
}

impl Numbers {
    /// By slot and by station: the number in the plan.
    pub(crate) fn new(slots: Vec<u32>, stations: Vec<StationId>) -> Numbers {
        Numbers { slots, stations }
    }

    /// The numbers in the plan of a slot and a station.
    pub(super) fn in_plan(&self, slot: usize, station: StationId) -> (u32, StationId) {
        (self.slots[slot], self.stations[station.index()])
    }

    /// The slot that has this number in the plan.
    pub(super) fn own_slot(&self, in_plan: usize) -> usize {
        self.slots.binary_search(&(in_plan as u32)).expect("the slot is in this part of the plan")
    }
}
