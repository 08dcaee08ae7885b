use wifair_core::{Ac, Class, FlowId, Packet, Rng, StationId};

use super::acks::Acks;
use super::ages::Ages;
use super::arrival::Arrival;
use super::key_order::KeyOrder;
use super::pools::{Filter, POOLS, Pick, Pool};
use super::queues::Queues;
use super::random_set::RandomSet;
use super::slots::{SlotId, Slots, UNDECLARED};
use super::stored_flows::StoredFlows;
use super::sublists::Sublists;

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

    /// Keeps an order by keys, assigned to each packet on arrival: [`Arrival::with_key`].
    pub const fn keyed(mut self) -> Indexes {
        self.keyed = true;
        self
    }

    /// Keeps the order within each access category, which a transmit queue of several categories needs, whatever its scheme.
    pub(crate) const fn by_category(mut self) -> Indexes {
        self.by_category = true;
        self
    }

    /// Keeps queues, each in order of arrival, and their bytes: [`Arrival::to_queue`].
    pub const fn queues(mut self) -> Indexes {
        self.queues = true;
        self
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
    keyed: Option<KeyOrder>,
    categories: Option<Sublists>,
    queues: Option<Queues>,
    /// The order from head to tail per station, and within that per category if [`Indexes::by_category`]; kept from the first
    /// request of an aggregate on.
    stations: Option<Sublists>,
    /// Whether there is an order in addition to that from head to tail: one of the last four or, without pools, that of ACKs.
    has_orders: bool,
    /// Whether there is any other index. The order of ACKs is kept with these, since it says which ACKs are in their pool.
    has_pools: bool,
}

impl Index {
    /// The requested indexes, if any.
    pub fn boxed(wanted: Indexes) -> Option<Box<Index>> {
        (wanted != Indexes::NONE).then(|| Box::new(Index::new(wanted)))
    }

    pub fn new(wanted: Indexes) -> Index {
        let others = Indexes { keyed: false, by_category: false, queues: false, ..wanted };
        let has_pools = Indexes { acks: None, ..others } != Indexes::NONE;
        Index {
            random: wanted.random.map(|wanted| wanted.then(RandomSet::default)),
            ages: wanted.by_age.contains(&true).then(|| Ages::new(wanted.by_age)),
            low_priority: [wanted.random, wanted.by_age].iter().any(|of| of[Pool::LowPriorityData as usize]),
            acks: wanted.acks.map(Acks::new),
            stored: wanted.stored_flows.then(StoredFlows::default),
            keyed: wanted.keyed.then(KeyOrder::default),
            categories: wanted.by_category.then(|| Sublists::new(false, true)),
            queues: wanted.queues.then(Queues::default),
            stations: None,
            has_orders: wanted != others || wanted.acks.is_some() && !has_pools,
            has_pools,
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
        self.stored.iter_mut().for_each(|stored| stored.grow_flows(flows));
    }

    /// Clears the state of a flow that has gone, so that the next one with its id starts without history.
    pub fn retire(&mut self, flow: FlowId) {
        self.acks.iter_mut().for_each(|acks| acks.retire(flow));
    }

    /// Adds the arrival, which is now in `slot` and was appended at the tail or replaced one of the class `replaced`.
    #[inline]
    pub fn insert(&mut self, slots: &Slots, slot: SlotId, arrival: &Arrival, replaced: Option<Class>) {
        if self.has_orders {
            self.insert_into_orders(slots, slot, arrival, replaced);
        }
        if self.has_pools {
            self.insert_into_pools(slots, slot, replaced);
        }
    }

    // Not inlined, like its three siblings: they would slow down buffers without an index.
    #[inline(never)]
    fn insert_into_orders(
        &mut self,
        slots: &Slots,
        slot: SlotId,
        arrival: &Arrival,
        replaced: Option<Class>,
    ) {
        if let Some(categories) = &mut self.categories {
            categories.insert(slots, slot, replaced.is_some());
        }
        if let Some(stations) = &mut self.stations {
            stations.insert(slots, slot, replaced.is_some());
        }
        if let Some(keyed) = &mut self.keyed {
            keyed.insert(slot, arrival.key, arrival.station);
        }
        if let Some(queues) = &mut self.queues {
            queues.insert(slot, arrival.queue, arrival.packet.ip_bytes());
        }
        if arrival.class == Class::Ack
            && !self.has_pools
            && let Some(acks) = &mut self.acks
        {
            acks.insert(slots, slot);
        }
    }

    /// Keeps the order by station from now on. The first call walks over all packets.
    pub fn keep_stations(&mut self, slots: &Slots) {
        if self.stations.is_some() {
            return;
        }
        self.stations = Some(Sublists::by_station(slots, self.by_category()));
        self.has_orders = true;
    }

    /// Whether the order by station is the only one, and there is no pool.
    pub fn is_by_station(&self) -> bool {
        let orders = self.categories.is_some() || self.queues.is_some() || self.keyed.is_some();
        self.stations.is_some() && !(orders || self.has_pools || self.acks.is_some())
    }

    /// The order by station.
    pub fn stations_mut(&mut self) -> &mut Sublists {
        self.stations.as_mut().expect(UNDECLARED)
    }

    /// The order by station, and within that by category if there is one; `None` if it is not kept.
    pub fn stations(&self) -> Option<&Sublists> {
        self.stations.as_ref()
    }

    #[inline(never)]
    fn insert_into_pools(&mut self, slots: &Slots, slot: SlotId, replaced: Option<Class>) {
        let (flow, class) = (slots.get(slot).flow, slots.get(slot).class);
        if let Some(ages) = &mut self.ages {
            match replaced {
                None => ages.number(slots, slot),
                Some(other) if other == class => {} // the replacement inherits the number
                Some(_) => ages.renumber(slots, slot),
            }
        }
        if let Some(stored) = &mut self.stored {
            stored.insert(flow, class);
        }
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
        if let Some(keyed) = &mut self.keyed {
            keyed.remove(slot, slots.get(slot).station);
        }
        if let Some(categories) = &mut self.categories {
            categories.remove(slots, slot);
        }
        if let Some(stations) = &mut self.stations {
            stations.remove(slots, slot);
        }
        if let Some(queues) = &mut self.queues {
            queues.remove(slots, slot);
        }
        if let Some(acks) = &mut self.acks
            && !self.has_pools
            && slots.get(slot).class == Class::Ack
        {
            acks.remove(slots, slot);
        }
    }

    #[inline(never)]
    fn remove_from_pools(&mut self, slots: &Slots, slot: SlotId) {
        let (flow, class) = (slots.get(slot).flow, slots.get(slot).class);
        if let Some(stored) = &mut self.stored {
            stored.remove(flow, class);
        }
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
            Some(categories) => categories.first(StationId(0), ac),
        }
    }

    /// The order of keys.
    pub fn keys(&self) -> &KeyOrder {
        self.keyed.as_ref().expect(UNDECLARED)
    }

    /// The order of keys, for queries by station.
    pub fn keys_mut(&mut self) -> &mut KeyOrder {
        self.keyed.as_mut().expect(UNDECLARED)
    }

    /// The queues.
    pub fn queues(&self) -> &Queues {
        self.queues.as_ref().expect(UNDECLARED)
    }

    /// The queues, to select the one that the next packet joins.
    pub fn queues_mut(&mut self) -> &mut Queues {
        self.queues.as_mut().expect(UNDECLARED)
    }

    /// Marks the queued ACK that an arriving ACK supersedes, if any, as redundant, and returns it.
    #[inline]
    pub fn announce(&mut self, slots: &Slots, flow: FlowId, ack: &Packet) -> Option<SlotId> {
        let redundant = self.acks.as_mut().expect(UNDECLARED).announce(slots, flow, ack)?;
        self.join(Pool::Redundant, redundant);
        Some(redundant)
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
        self.acks.as_ref().expect(UNDECLARED).superseded_by(slots, flow, ack)
    }

    /// See [`Acks::oldest_redundant`].
    pub fn oldest_redundant(&self, flow: FlowId) -> Option<SlotId> {
        self.acks.as_ref().expect(UNDECLARED).oldest_redundant(flow)
    }

    pub fn pick(&self, pool: Pool, pick: Pick, rng: &mut Rng) -> Option<SlotId> {
        match pick {
            Pick::Random => self.random[pool as usize].as_ref().expect(UNDECLARED).pick(rng),
            Pick::Oldest => self.ages.as_ref().expect(UNDECLARED).oldest(pool),
            Pick::Newest => self.ages.as_ref().expect(UNDECLARED).newest(pool),
        }
    }

    pub fn stored(&self) -> &StoredFlows {
        self.stored.as_ref().expect(UNDECLARED)
    }

    #[inline(always)]
    fn join(&mut self, pool: Pool, slot: SlotId) {
        if let Some(set) = &mut self.random[pool as usize] {
            set.insert(slot);
        }
        if let Some(ages) = &mut self.ages {
            ages.insert(pool, slot);
        }
    }

    #[inline(always)]
    fn part(&mut self, pool: Pool, slot: SlotId) {
        if let Some(set) = &mut self.random[pool as usize] {
            set.remove(slot);
        }
        if let Some(ages) = &mut self.ages {
            ages.remove(pool, slot);
        }
    }
}

fn is_low_priority_data(slots: &Slots, slot: SlotId) -> bool {
    let queued = slots.get(slot);
    queued.class == Class::Data && !queued.packet.is_high_priority()
}
