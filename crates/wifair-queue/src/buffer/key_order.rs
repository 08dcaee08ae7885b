use std::collections::BTreeSet;

use wifair_core::StationId;

use super::slots::{NONE, SlotId};
use crate::words::Grant;

/// Queued packets ordered by a key that each is given on arrival; first in, first out among equal keys.
///
/// A tournament tree over the slots. Each node has the first and the last packet of its part. An insertion or removal takes
/// O(log n), and usually a few steps, as an update stops where it changes nothing. Nothing is allocated once the buffer has
/// reached its maximum length.
#[derive(Clone, Debug, Default)]
pub struct KeyOrder {
    /// Key and order of arrival, by slot.
    keys: Vec<(u64, u64)>,
    /// Node 1 is the root, the children of `i` are `2 i` and `2 i + 1`, the leaves are the slots.
    nodes: Vec<Extremes>,
    arrivals: u64,
    /// By station: key, order of arrival and slot of its packets; kept from the first query on.
    stations: Option<Vec<BTreeSet<(u64, u64, u32)>>>,
}

/// The first and the last packet of a part of the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extremes {
    first: u32,
    last: u32,
}

const EMPTY: Extremes = Extremes { first: NONE, last: NONE };

impl KeyOrder {
    pub(super) fn grow_slots(&mut self, slots: usize) {
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

    pub(super) fn insert(&mut self, slot: SlotId, key: u64, station: StationId) {
        self.keys[slot.index()] = (key, self.arrivals);
        self.arrivals += 1;
        self.set_leaf(slot, Extremes { first: slot.0, last: slot.0 });
        self.join_station(slot, station);
    }

    pub(super) fn remove(&mut self, slot: SlotId, station: StationId) {
        self.set_leaf(slot, EMPTY);
        self.leave_station(slot, station);
    }

    #[inline(never)]
    fn leave_station(&mut self, slot: SlotId, station: StationId) {
        let Some(stations) = &mut self.stations else { return };
        let (key, arrival) = self.keys[slot.index()];
        stations[station.index()].remove(&(key, arrival, slot.0));
    }

    fn join_station(&mut self, slot: SlotId, station: StationId) {
        let Some(stations) = &mut self.stations else { return };
        if station.index() >= stations.len() {
            stations.resize(station.index() + 1, BTreeSet::new());
        }
        let (key, arrival) = self.keys[slot.index()];
        stations[station.index()].insert((key, arrival, slot.0));
    }

    /// The first packet in the order of keys that the grant admits. The first call builds the orders by station from `queued`,
    /// all packets. O(log n) if the grant names a station, else O(stations).
    pub(super) fn first_admitted(
        &mut self,
        grant: &Grant,
        queued: impl Iterator<Item = (SlotId, StationId)>,
    ) -> Option<SlotId> {
        if self.stations.is_none() {
            self.stations = Some(Vec::new());
            queued.for_each(|(slot, station)| self.join_station(slot, station));
        }
        let stations = self.stations.as_ref()?;
        let first = match grant.station {
            Some(station) => stations.get(station.index())?.first(),
            None => {
                let admitted = (0..).zip(stations).filter(|(station, _)| grant.admits(StationId(*station)));
                admitted.filter_map(|(_, packets)| packets.first()).min()
            }
        };
        first.map(|&(_, _, slot)| SlotId(slot))
    }

    /// The key of a queued packet.
    pub fn key(&self, slot: SlotId) -> u64 {
        self.keys[slot.index()].0
    }

    /// The packet with the smallest key; on a tie, the one that arrived first.
    pub fn first(&self) -> Option<SlotId> {
        SlotId::from_link(self.nodes.get(1)?.first)
    }

    /// The packet with the greatest key; on a tie, the one that arrived last.
    pub fn last(&self) -> Option<SlotId> {
        SlotId::from_link(self.nodes.get(1)?.last)
    }

    fn set_leaf(&mut self, slot: SlotId, ends: Extremes) {
        let mut node = self.nodes.len() / 2 + slot.index();
        self.nodes[node] = ends;
        while node > 1 {
            node /= 2;
            // A slot is empty before it is filled and after it is vacated. If the ends of a node are unchanged, the change is
            // not among them, and nothing changes above.
            let ends = self.ends_of(node);
            if self.nodes[node] == ends {
                return;
            }
            self.nodes[node] = ends;
        }
    }

    fn ends_of(&self, node: usize) -> Extremes {
        let (a, b) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
        if a.first == NONE {
            return b;
        }
        if b.first == NONE {
            return a;
        }
        let key = |slot: u32| self.keys[slot as usize];
        Extremes {
            first: if key(b.first) < key(a.first) { b.first } else { a.first },
            last: if key(b.last) > key(a.last) { b.last } else { a.last },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_core::Time;

    use super::*;
    use crate::words::StationLimit;

    fn station(slot: u32) -> StationId {
        StationId((slot % 3) as u16)
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(
            steps in prop::collection::vec((0u32..40, 0u64..6, any::<bool>()), 1..300),
            asked_from in 0usize..300,
        ) {
            let mut keyed = KeyOrder::default();
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
                        keyed.remove(SlotId(slot), station(slot));
                        plain.remove(position);
                    }
                    None => {
                        keyed.insert(SlotId(slot), key, station(slot));
                        plain.push((key, at, slot));
                    }
                }
                plain.sort_unstable();
                prop_assert_eq!(keyed.first(), plain.first().map(|entry| SlotId(entry.2)));
                prop_assert_eq!(keyed.last(), plain.last().map(|entry| SlotId(entry.2)));
                if at < asked_from {
                    continue;
                }
                let pending = [Time::ZERO, Time::from_ms(1), Time::from_ms(2)];
                for below in [1, 2, 3].map(Time::from_ms) {
                    let limit = StationLimit { pending: &pending, below };
                    let one = |only| Grant { station: Some(StationId(only)), ..Grant::ANY };
                    let grants = [one(0), one(1), one(7), Grant { station_limit: Some(limit), ..Grant::ANY }];
                    for grant in grants {
                        let queued = plain.iter().map(|entry| (SlotId(entry.2), station(entry.2)));
                        let first = plain.iter().find(|entry| grant.admits(station(entry.2)));
                        let expected = first.map(|entry| SlotId(entry.2));
                        prop_assert_eq!(keyed.first_admitted(&grant, queued), expected);
                    }
                }
            }
        }
    }
}
