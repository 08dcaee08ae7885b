//! The indexed packet store.

mod acks;
mod ages;
mod arrival;
mod bit_tree;
mod counters;
mod dequeued;
mod fifo;
mod indexes;
mod key_order;
mod lists;
mod longest;
mod marking;
mod moves;
mod observers;
mod pools;
mod queues;
mod random_set;
mod slots;
mod stored_flows;
mod sublists;

use std::ops;

use wifair_core::{Ac, Class, FlowId, Packet, Rng, StationId};

pub use arrival::{Arrival, Placed, QueueId};
pub use counters::Count;
pub(crate) use counters::{Counted, PacketCounters};
pub use dequeued::{DequeuedPacket, DequeuedSlot};
pub(crate) use fifo::Fifo;
use indexes::Index;
pub use indexes::Indexes;
pub use key_order::KeyOrder;
pub(crate) use lists::Lists;
pub(crate) use observers::Observers;
pub use observers::TxCompletion;
pub use pools::{Filter, Pick, Pool};
pub use queues::Queues;
use slots::UNDECLARED;
pub use slots::{QueuedPacket, SlotId};
pub use stored_flows::StoredFlows;

use crate::words::Grant;

/// The packet store of a transmit queue, with its counters. `buffer[slot]` is a queued packet.
///
/// Only the buffer places and releases packets, so no scheme can lose, invent or miscount one. It is always an ordered list
/// from head to tail from which any packet can be removed in O(1). Further [`Indexes`] exist only if requested.
///
/// At every instant, for each flow and class, in packets and in bytes: offered = refused + accepted;
/// accepted = dequeued + evicted + filtered + queued; dequeued = delivered + lost at the retry limit + in service.
#[derive(Clone, Debug)]
#[repr(C)] // as in `Fifo`
pub struct Buffer {
    fifo: Fifo,
    index: Option<Box<Index>>,
    /// Slot of the packet that a scheme has released last.
    released: SlotId,
    /// Who is notified of what happens to packets.
    pub(crate) observers: Observers,
}

impl ops::Index<SlotId> for Buffer {
    type Output = QueuedPacket;

    fn index(&self, slot: SlotId) -> &QueuedPacket {
        self.fifo.slots().get(slot)
    }
}

impl Buffer {
    pub(crate) fn new(limit_packets: u32, counts_in_service: bool, indexes: Indexes) -> Buffer {
        Buffer {
            fifo: Fifo::new(limit_packets, counts_in_service),
            index: Index::boxed(indexes),
            released: SlotId::default(),
            observers: Observers::default(),
        }
    }

    /// Its packets in order, and their counters.
    pub(crate) fn fifo(&self) -> &Fifo {
        &self.fifo
    }

    /// The same, to append and release directly in a buffer without an index.
    pub(crate) fn fifo_mut(&mut self) -> &mut Fifo {
        &mut self.fifo
    }

    /// Whether it has only its order and its counters: no index, and nobody observes it.
    pub(crate) fn is_plain(&self) -> bool {
        self.index.is_none() && self.observers.is_empty()
    }

    /// Whether it has an order by station in addition, which does not distinguish categories.
    pub(crate) fn is_by_station(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.is_by_station()) && self.observers.is_empty()
    }

    /// Packets queued.
    pub fn len(&self) -> usize {
        self.fifo.slots().len() as usize
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The maximum number of packets; see [`TxQueueSpec`](crate::TxQueueSpec) for what counts.
    pub fn limit(&self) -> u32 {
        self.fifo.limit()
    }

    /// Whether an arrival finds no room.
    pub fn is_full(&self) -> bool {
        self.fifo.is_full()
    }

    /// Number of queued packets above a limit that has been lowered.
    pub fn excess(&self) -> u32 {
        self.fifo.excess()
    }

    /// Whether nothing is queued or in service.
    pub fn is_idle(&self) -> bool {
        self.fifo.is_idle()
    }

    /// The packet at the head.
    pub fn head(&self) -> Option<SlotId> {
        self.fifo.slots().head()
    }

    /// The packet at the tail.
    pub fn tail(&self) -> Option<SlotId> {
        self.fifo.slots().tail()
    }

    /// The packet after another, towards the tail.
    pub fn after(&self, slot: SlotId) -> Option<SlotId> {
        self.fifo.slots().after(slot)
    }

    /// The queued packets from head to tail.
    pub fn slots(&self) -> impl Iterator<Item = SlotId> + '_ {
        self.fifo.slots().iter()
    }

    /// Picks a packet of the pool; `None` if it is empty. A random pick takes one draw unless the pool is empty.
    pub fn pick(&self, pool: Pool, pick: Pick, rng: &mut Rng) -> Option<SlotId> {
        self.declared().pick(pool, pick, rng)
    }

    /// Picks a redundant ACK, including the one that the arrival makes redundant. An ACK is redundant if a newer one of its
    /// connection is queued or just arriving.
    pub fn pick_redundant(&mut self, arrival: &Arrival, pick: Pick, rng: &mut Rng) -> Option<SlotId> {
        let index = self.index.as_mut().expect(UNDECLARED);
        if arrival.class == Class::Ack {
            index.announce(self.fifo.slots(), arrival.flow, arrival.packet);
        }
        index.pick(Pool::Redundant, pick, rng)
    }

    /// The newest queued ACK of the arrival's flow, if the arrival is an ACK that makes it redundant.
    pub fn superseded_by(&self, arrival: &Arrival) -> Option<SlotId> {
        if arrival.class != Class::Ack {
            return None;
        }
        self.declared().superseded_by(self.fifo.slots(), arrival.flow, arrival.packet)
    }

    /// Like [`Buffer::superseded_by`], for an arrival that is then placed or refused: the ACK counts as redundant at once.
    pub(crate) fn announce(&mut self, arrival: &Arrival) -> Option<SlotId> {
        if arrival.class != Class::Ack {
            return None;
        }
        let index = self.index.as_mut().expect(UNDECLARED);
        index.announce(self.fifo.slots(), arrival.flow, arrival.packet)
    }

    /// The oldest queued ACK of a flow that is redundant.
    pub fn oldest_redundant(&self, flow: FlowId) -> Option<SlotId> {
        self.declared().oldest_redundant(flow)
    }

    /// The queued packets counted by flow, for schemes that request [`Indexes::stored_flows`].
    pub fn stored_flows(&self) -> &StoredFlows {
        self.declared().stored()
    }

    /// The order of keys, for schemes that request [`Indexes::keyed`].
    pub fn keys(&self) -> &KeyOrder {
        self.declared().keys()
    }

    /// The queues, for schemes that request [`Indexes::queues`]. Every packet is in the queue of its arrival
    /// ([`Arrival::to_queue`]).
    pub fn queues(&self) -> &Queues {
        self.declared().queues()
    }

    fn declared(&self) -> &Index {
        self.index.as_ref().expect(UNDECLARED)
    }

    /// The packet with the smallest key among those that a grant admits ([`Buffer::admits`]); on a tie, the one that arrived
    /// first. O(log n) for a grant that names its station. The first call walks the queue.
    pub fn first_admitted_by_key(&mut self, grant: &Grant) -> Option<SlotId> {
        let slots = self.fifo.slots();
        let queued = slots.iter().map(|slot| (slot, slots.get(slot).station));
        self.index.as_mut().expect(UNDECLARED).keys_mut().first_admitted(grant, queued)
    }

    /// The queue with the most bytes, on a tie the one with the smallest number. O(log n). The first call walks over all
    /// queues; after it, every arrival and departure updates the ranking.
    pub fn longest_queue(&mut self) -> Option<QueueId> {
        self.index.as_mut().expect(UNDECLARED).queues_mut().longest()
    }

    /// Whether a grant allows a queued packet to leave.
    pub fn may_go(&self, slot: SlotId, grant: &Grant) -> bool {
        self.fits(slot, grant) && (self[slot].ac == grant.ac || !self.serves_categories())
    }

    /// Whether a grant admits the station and the category of a queued packet, whatever its length.
    pub fn admits(&self, slot: SlotId, grant: &Grant) -> bool {
        self.may_go(slot, &Grant { max_bytes: u32::MAX, ..*grant })
    }

    /// Like `may_go`, for a packet whose category is known to match.
    pub(crate) fn fits(&self, slot: SlotId, grant: &Grant) -> bool {
        self[slot].packet.ip_bytes() <= grant.max_bytes && grant.admits(self[slot].station)
    }

    /// Makes [`Buffer::first_admitted`] O(1) for grants that name their station, from now on, and O(stations) for others.
    pub(crate) fn keep_stations(&mut self) {
        let index = self.index.get_or_insert_with(|| Box::new(Index::new(Indexes::NONE)));
        index.keep_stations(self.fifo.slots());
    }

    /// The packet nearest to the head that a grant admits. Walks the queue unless an order by station is kept.
    pub fn first_admitted(&self, grant: &Grant) -> Option<SlotId> {
        let walked = || self.slots().find(|&slot| self.admits(slot, grant));
        let Some(stations) = self.index.as_ref().and_then(|index| index.stations()) else { return walked() };
        if let Some(station) = grant.station {
            return stations.first(station, grant.ac).filter(|&slot| self.admits(slot, grant));
        }
        let admitted = || stations.firsts(grant.ac).filter(|&slot| self.admits(slot, grant));
        let earliest = admitted().min_by_key(|&slot| self[slot].enqueued_at)?;
        let mut as_early = admitted().filter(|&slot| self[slot].enqueued_at == self[earliest].enqueued_at);
        match stations.are_by_time() && as_early.nth(1).is_none() {
            true => Some(earliest),
            false => walked(),
        }
    }

    /// Whether the buffer serves several access categories, each granted access separately.
    fn serves_categories(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.by_category())
    }

    pub(crate) fn arrival<'a>(
        &mut self,
        packet: &'a Packet,
        flow: FlowId,
        station: StationId,
        ac: Ac,
    ) -> Arrival<'a> {
        if !self.fifo.knows(flow) {
            self.add_flow(flow);
        }
        Arrival { packet, flow, station, class: packet.class(), ac, key: 0, queue: QueueId(0) }
    }

    /// Creates the counters of a flow, if there are none.
    pub(crate) fn expect_flow(&mut self, flow: FlowId) {
        if !self.fifo.knows(flow) {
            self.add_flow(flow);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_flow(&mut self, flow: FlowId) {
        self.fifo.add_flow(flow);
        if let Some(index) = &mut self.index {
            index.grow_flows(flow.index() + 1);
        }
    }

    /// Closes the counters of a flow and returns them, by class. Panics while a packet of it is queued or in service.
    pub(crate) fn retire(&mut self, flow: FlowId) -> [PacketCounters; 3] {
        assert!(!self.fifo.holds(flow), "a flow is retired only when no packet of it is left");
        self.expect_flow(flow);
        if let Some(index) = &mut self.index {
            index.retire(flow);
        }
        self.fifo.retire(flow)
    }

    /// Removes all packets and returns them from head to tail ([`Fifo::drain`]). The buffer then has the indexes that the next
    /// scheme needs.
    pub(crate) fn drain(&mut self, needs: Indexes) -> Vec<QueuedPacket> {
        self.index = Index::boxed(needs);
        if let Some(index) = &mut self.index {
            index.grow_flows(self.fifo.counters().flows.len());
        }
        self.fifo.drain()
    }
}
