use wifair_core::{Ac, Class, FlowId, Packet, Rng, StationId};

use super::acks::Acks;
use super::ages::Ages;
use super::categories::ByCategory;
use super::keyed::Keyed;
use super::lists::Lists;
use super::pools::{Filter, POOLS, Pick, Pool};
use super::queues::Queues;
use super::random_set::RandomSet;
use super::slots::{ASKED, SlotId, Slots};

/// The indexes that a buffer keeps in addition to its order, as requested by a scheme. Indexes that are not requested have no
/// cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    random: [bool; POOLS],
    by_age: [bool; POOLS],
    acks: Option<Filter>,
    stored_flows: bool,
    keyed: bool,
    by_category: bool,
    queues: bool,
}

impl Indexes {
    /// No index: only the order from head to tail.
    pub const NONE: Indexes = Indexes {
        random: [false; POOLS],
        by_age: [false; POOLS],
        acks: None,
        stored_flows: false,
        keyed: false,
        by_category: false,
        queues: false,
    };

    /// Allows picks from a pool of packets. For redundant ACKs use [`Indexes::redundant`].
    pub const fn picking(mut self, pool: Pool, pick: Pick) -> Indexes {
        match pick {
            Pick::Random => self.random[pool as usize] = true,
            Pick::Oldest | Pick::Newest => self.by_age[pool as usize] = true,
        }
        self
    }

    /// Keeps the order of ACKs within each flow, for [`Buffer::superseded_by`](crate::Buffer::superseded_by).
    pub const fn acks(mut self, filter: Filter) -> Indexes {
        self.acks = Some(filter);
        self
    }

    /// Allows picks from the redundant ACKs.
    pub const fn redundant(self, filter: Filter, pick: Pick) -> Indexes {
        self.acks(filter).picking(Pool::Redundant, pick)
    }

    /// Counts stored packets by flow and class, and flows with stored packets by class.
    pub const fn stored_flows(mut self) -> Indexes {
        self.stored_flows = true;
        self
    }

    /// Keeps an order by keys, assigned to each packet on arrival: [`Buffer::append_keyed`](crate::Buffer::append_keyed).
    pub const fn keyed(mut self) -> Indexes {
        self.keyed = true;
        self
    }

    /// Keeps the order within each access category, which a transmit queue of several categories needs, whatever its scheme.
    pub(crate) const fn by_category(mut self) -> Indexes {
        self.by_category = true;
        self
    }

    /// Keeps queues, each in order of arrival, and their bytes: [`Buffer::append_to`](crate::Buffer::append_to).
    pub const fn queues(mut self) -> Indexes {
        self.queues = true;
        self
    }

    /// Whether any index is requested.
    pub(super) fn any(&self) -> bool {
        *self != Indexes::NONE
    }
}

/// The indexes requested by a scheme.
#[derive(Clone, Debug)]
pub(super) struct Index {
    random: [Option<RandomSet>; POOLS],
    ages: Option<Ages>,
    /// Whether [`Pool::LowPriorityData`] is kept.
    low_priority: bool,
    acks: Option<Acks>,
    stored: Option<StoredFlows>,
    keyed: Option<Keyed>,
    categories: Option<ByCategory>,
    queues: Option<Queues>,
    /// The order from head to tail per station, and within that per category if [`Indexes::by_category`]; kept from the first
    /// request of an aggregate on.
    stations: Option<Lists>,
    /// Whether there is an order in addition to that from head to tail: one of the last four.
    has_orders: bool,
    /// Whether there is any other index.
    has_pools: bool,
}

impl Index {
    pub fn new(wanted: Indexes) -> Index {
        let pools = Indexes { keyed: false, by_category: false, queues: false, ..wanted };
        Index {
            random: wanted.random.map(|wanted| wanted.then(RandomSet::default)),
            ages: wanted.by_age.contains(&true).then(|| Ages::new(wanted.by_age)),
            low_priority: [wanted.random, wanted.by_age].iter().any(|of| of[Pool::LowPriorityData as usize]),
            acks: wanted.acks.map(Acks::new),
            stored: wanted.stored_flows.then(StoredFlows::default),
            keyed: wanted.keyed.then(Keyed::default),
            categories: wanted.by_category.then(ByCategory::default),
            queues: wanted.queues.then(Queues::default),
            stations: None,
            has_orders: wanted != pools,
            has_pools: pools.any(),
        }
    }

    pub fn grow_slots(&mut self, slots: usize) {
        self.random.iter_mut().flatten().for_each(|set| set.grow_slots(slots));
        self.ages.iter_mut().for_each(|ages| ages.grow_slots(slots));
        self.acks.iter_mut().for_each(|acks| acks.grow_slots(slots));
        self.keyed.iter_mut().for_each(|keyed| keyed.grow_slots(slots));
        self.queues.iter_mut().for_each(|queues| queues.grow_slots(slots));
    }

    pub fn grow_flows(&mut self, flows: usize) {
        self.acks.iter_mut().for_each(|acks| acks.grow_flows(flows));
        self.stored.iter_mut().for_each(|stored| stored.counts.resize(flows, [0; 3]));
    }

    /// Clears the state of a flow that has gone, so that the next one with its id starts without history.
    pub fn retire(&mut self, flow: FlowId) {
        self.acks.iter_mut().for_each(|acks| acks.retire(flow));
    }

    /// Adds the packet in `slot`, which was appended at the tail or replaced one of the class `replaced`.
    #[inline]
    pub fn insert(&mut self, slots: &Slots, slot: SlotId, replaced: Option<Class>) {
        if self.has_orders {
            self.insert_into_orders(slots, slot, replaced);
        }
        if self.has_pools {
            self.insert_into_pools(slots, slot, replaced);
        }
    }

    // Not inlined, like its three siblings: they would slow down buffers without an index.
    #[inline(never)]
    fn insert_into_orders(&mut self, slots: &Slots, slot: SlotId, replaced: Option<Class>) {
        if let Some(categories) = &mut self.categories {
            match replaced {
                None => categories.push(slots, slot),
                Some(_) => categories.insert(slots, slot),
            }
        }
        self.queues.iter_mut().for_each(|queues| queues.insert(slots, slot));
        if self.stations.is_some() {
            self.insert_into_stations(slots, slot, replaced.is_some());
        }
    }

    /// When a packet replaces another, its neighbour is searched for, as in [`ByCategory::insert`].
    fn insert_into_stations(&mut self, slots: &Slots, slot: SlotId, in_place: bool) {
        let list = self.station_list_of(slots, slot);
        let before = if in_place {
            let mut towards_head = std::iter::successors(slots.before(slot), |&other| slots.before(other));
            Some(towards_head.find(|&other| self.station_list_of(slots, other) == list))
        } else {
            None
        };
        let Some(stations) = &mut self.stations else { return };
        match before {
            None => stations.push(list, slot),
            Some(before) => stations.insert_after(list, before, slot),
        }
    }

    fn station_list(&self, station: StationId, ac: Ac) -> usize {
        4 * station.index() + if self.by_category() { ac as usize } else { 0 }
    }

    fn station_list_of(&self, slots: &Slots, slot: SlotId) -> usize {
        let slot = slots.get(slot);
        self.station_list(slot.station, slot.ac)
    }

    /// Keeps the order by station from now on. The first call walks over all packets.
    pub fn keep_stations(&mut self, slots: &Slots) {
        if self.stations.is_some() {
            return;
        }
        self.stations = Some(Lists::default());
        self.has_orders = true;
        for slot in std::iter::successors(slots.head(), |&slot| slots.after(slot)) {
            self.insert_into_stations(slots, slot, false);
        }
    }

    /// Whether the order by station is the only one, and there is no pool.
    pub fn is_by_station(&self) -> bool {
        let others = [self.categories.is_some(), self.queues.is_some(), self.keyed.is_some(), self.has_pools];
        self.stations.is_some() && others == [false; 4]
    }

    /// Adds a packet, admitted at the tail, if the order by station is the only one.
    pub fn push_to_station(&mut self, station: StationId, slot: SlotId) {
        self.stations.as_mut().expect(ASKED).push(4 * station.index(), slot);
    }

    /// Removes the first packet for a station if the order by station is the only one, and if the packet `fits`.
    pub fn pop_of_station(
        &mut self,
        station: StationId,
        fits: impl FnOnce(SlotId) -> bool,
    ) -> Option<SlotId> {
        let (list, stations) = (4 * station.index(), self.stations.as_mut().expect(ASKED));
        let first = stations.first(list).filter(|&first| fits(first))?;
        stations.pop(list);
        Some(first)
    }

    /// The packet for a station nearest to the head, of category `ac` if there is an order per category. `None` if the order by
    /// station is not kept.
    pub fn first_of_station(&self, station: StationId, ac: Ac) -> Option<Option<SlotId>> {
        self.stations.as_ref().map(|stations| stations.first(self.station_list(station, ac)))
    }

    #[inline(never)]
    fn insert_into_pools(&mut self, slots: &Slots, slot: SlotId, replaced: Option<Class>) {
        let (flow, class) = (slots.get(slot).flow, slots.get(slot).class);
        if let Some(ages) = &mut self.ages {
            match replaced {
                None => ages.number(slots, slot),
                Some(other) if other == class => {} // the replacement inherits the number
                Some(_) => ages.number_anew(slots, slot),
            }
        }
        self.stored.iter_mut().for_each(|stored| stored.insert(flow, class));
        let Some(pool) = Pool::of(class) else { return };
        self.join(pool, slot);
        if self.low_priority && is_low_priority_data(slots, slot) {
            self.join(Pool::LowPriorityData, slot);
        }
        if class == Class::Ack
            && let Some(acks) = &mut self.acks
            && let Some(redundant) = acks.insert(slots, slot)
        {
            self.join(Pool::Redundant, redundant);
        }
    }

    /// Removes the packet in `slot`, which is about to leave.
    #[inline]
    pub fn remove(&mut self, slots: &Slots, slot: SlotId) {
        if self.has_orders {
            self.remove_from_orders(slots, slot);
        }
        if self.has_pools {
            self.remove_from_pools(slots, slot);
        }
    }

    #[inline(never)]
    fn remove_from_orders(&mut self, slots: &Slots, slot: SlotId) {
        self.categories.iter_mut().for_each(|categories| categories.remove(slots, slot));
        self.keyed.iter_mut().for_each(|keyed| keyed.remove(slot, slots.get(slot).station));
        self.queues.iter_mut().for_each(|queues| queues.remove(slots, slot));
        if self.stations.is_some() {
            let list = self.station_list_of(slots, slot);
            self.stations.iter_mut().for_each(|stations| stations.remove(list, slot));
        }
    }

    #[inline(never)]
    fn remove_from_pools(&mut self, slots: &Slots, slot: SlotId) {
        let (flow, class) = (slots.get(slot).flow, slots.get(slot).class);
        self.stored.iter_mut().for_each(|stored| stored.remove(flow, class));
        let Some(pool) = Pool::of(class) else { return };
        self.part(pool, slot);
        if self.low_priority && is_low_priority_data(slots, slot) {
            self.part(Pool::LowPriorityData, slot);
        }
        if class == Class::Ack
            && let Some(acks) = &mut self.acks
        {
            let change = acks.remove(slots, slot);
            if change.was_redundant {
                self.part(Pool::Redundant, slot);
            }
            match change.changed {
                Some((older, true)) => self.join(Pool::Redundant, older),
                Some((older, false)) => self.part(Pool::Redundant, older),
                None => {}
            }
        }
    }

    /// Whether there is an order within each access category.
    pub fn by_category(&self) -> bool {
        self.categories.is_some()
    }

    /// The packet nearest to the head; where there is an order within each access category, of `ac`.
    pub fn head(&self, slots: &Slots, ac: Ac) -> Option<SlotId> {
        match &self.categories {
            None => slots.head(),
            Some(categories) => categories.head(ac),
        }
    }

    /// Adds an arrived packet to the order of keys.
    pub fn insert_keyed(&mut self, slots: &Slots, slot: SlotId, key: u64) {
        let station = slots.get(slot).station;
        self.keyed_mut().insert(slot, key, station);
    }

    /// The order of keys.
    pub fn keyed(&self) -> &Keyed {
        self.keyed.as_ref().expect(ASKED)
    }

    /// The order of keys, for queries by station.
    pub fn keyed_mut(&mut self) -> &mut Keyed {
        self.keyed.as_mut().expect(ASKED)
    }

    /// The queues.
    pub fn queues(&self) -> &Queues {
        self.queues.as_ref().expect(ASKED)
    }

    /// The queues, to select the one that the next packet joins.
    pub fn queues_mut(&mut self) -> &mut Queues {
        self.queues.as_mut().expect(ASKED)
    }

    /// Marks the queued ACK that an arriving ACK supersedes, if any, as redundant.
    pub fn announce(&mut self, slots: &Slots, flow: FlowId, ack: &Packet) {
        let acks = self.acks.as_mut().expect(ASKED);
        if let Some(redundant) = acks.announce(slots, flow, ack) {
            self.join(Pool::Redundant, redundant);
        }
    }

    /// Undoes [`Index::announce`] after the arriving ACK has been refused.
    #[inline(never)]
    pub fn refused(&mut self, flow: FlowId) {
        if let Some(acks) = &mut self.acks
            && let Some(needed) = acks.refused(flow)
        {
            self.part(Pool::Redundant, needed);
        }
    }

    /// Handles a change of a queued ACK's flags.
    pub fn ack_changed(&mut self, slots: &Slots, slot: SlotId) {
        let Some(acks) = &mut self.acks else { return };
        for (ack, redundant) in acks.changed(slots, slot).into_iter().flatten() {
            if redundant {
                self.join(Pool::Redundant, ack);
            } else {
                self.part(Pool::Redundant, ack);
            }
        }
    }

    /// The newest queued ACK of `flow`, if the arriving `ack` supersedes it.
    pub fn superseded_by(&self, slots: &Slots, flow: FlowId, ack: &Packet) -> Option<SlotId> {
        self.acks.as_ref().expect(ASKED).superseded_by(slots, flow, ack)
    }

    /// See [`Acks::oldest_redundant`].
    pub fn oldest_redundant(&self, flow: FlowId) -> Option<SlotId> {
        self.acks.as_ref().expect(ASKED).oldest_redundant(flow)
    }

    pub fn pick(&self, pool: Pool, pick: Pick, rng: &mut Rng) -> Option<SlotId> {
        match pick {
            Pick::Random => self.random[pool as usize].as_ref().expect(ASKED).pick(rng),
            Pick::Oldest => self.ages.as_ref().expect(ASKED).oldest(pool),
            Pick::Newest => self.ages.as_ref().expect(ASKED).newest(pool),
        }
    }

    pub fn stored(&self) -> &StoredFlows {
        self.stored.as_ref().expect(ASKED)
    }

    #[inline(always)]
    fn join(&mut self, pool: Pool, slot: SlotId) {
        if let Some(set) = &mut self.random[pool as usize] {
            set.insert(slot);
        }
        self.ages.iter_mut().for_each(|ages| ages.insert(pool, slot));
    }

    #[inline(always)]
    fn part(&mut self, pool: Pool, slot: SlotId) {
        if let Some(set) = &mut self.random[pool as usize] {
            set.remove(slot);
        }
        self.ages.iter_mut().for_each(|ages| ages.remove(pool, slot));
    }
}

fn is_low_priority_data(slots: &Slots, slot: SlotId) -> bool {
    let queued = slots.get(slot);
    queued.class == Class::Data && !queued.packet.is_high_priority()
}

/// How many packets each flow has stored, and how many flows have any, by class.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredFlows {
    counts: Vec<[u32; 3]>,
    flows: [u32; 3],
}

impl StoredFlows {
    fn insert(&mut self, flow: FlowId, class: Class) {
        let count = &mut self.counts[flow.index()][class as usize];
        self.flows[class as usize] += u32::from(*count == 0);
        *count += 1;
    }

    fn remove(&mut self, flow: FlowId, class: Class) {
        let count = &mut self.counts[flow.index()][class as usize];
        *count -= 1;
        self.flows[class as usize] -= u32::from(*count == 0);
    }

    /// Stored packets of a flow and class; 0 for an unknown flow.
    pub fn packets(&self, flow: FlowId, class: Class) -> u32 {
        self.counts.get(flow.index()).map_or(0, |counts| counts[class as usize])
    }

    /// Number of flows with stored packets of a class.
    pub fn flows(&self, class: Class) -> u32 {
        self.flows[class as usize]
    }
}
