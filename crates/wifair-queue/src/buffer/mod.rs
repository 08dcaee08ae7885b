//! The indexed packet store.

mod acks;
mod ages;
mod bit_tree;
mod by_queue;
mod categories;
mod departure;
mod indexes;
mod keyed;
mod ledger;
mod lists;
mod longest;
mod marking;
mod moves;
mod passage;
mod pools;
mod queues;
mod random_set;
mod slots;
mod takeover;

use wifair_core::{Ac, Class, ConnectionId, FlowId, LogHistogram, Packet, Rng, StationId, Time};

pub use departure::{Departure, Dequeued};
use indexes::Index;
pub use indexes::Indexes;
pub use ledger::Count;
pub(crate) use ledger::{Books, Fate, FlowRows, Row};
pub(crate) use lists::Lists;
pub use passage::{Arrival, Placed};
pub use pools::{Filter, Pick, Pool};
pub use queues::QueueId;
pub use slots::SlotId;
use slots::{ASKED, Slots};

use crate::journal::Journal;
use crate::words::{Grant, Outcome};

/// The packet store of a transmit queue, with its counters.
///
/// Only the buffer places and releases packets, so no scheme can lose, invent or miscount one. It is always an ordered list
/// from head to tail from which any packet can be removed in O(1). Further [`Indexes`] exist only if requested.
///
/// At every instant, for each flow and class, in packets and in bytes: offered = refused + accepted;
/// accepted = dequeued + evicted + filtered + queued; dequeued = delivered + lost at the retry limit + in service.
#[derive(Clone, Debug)]
#[repr(C)] // what every packet needs comes first, in three cache lines
pub struct Buffer {
    now: Time,
    limit: u32,
    in_service: u32,
    counts_in_service: bool,
    slots: Slots,
    /// When the length last changed.
    length_since: Time,
    /// Nanoseconds spent at each length, up to the last change of length.
    time_at_length: Vec<u64>,
    books: Books,
    sojourn: LogHistogram,
    index: Option<Box<Index>>,
    /// Slot of the packet that a scheme has released last.
    released: SlotId,
    /// Journal of exceptional events, if kept.
    journal: Option<Journal>,
    /// Packets that are gone and have not been taken, if that is reported.
    freed: Option<Vec<Freed>>,
}

/// A packet of a host that is gone from its station: delivered, given up, or dropped on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// Its connection.
    pub connection: ConnectionId,
    /// Its length.
    pub ip_bytes: u32,
}

impl Buffer {
    pub(crate) fn new(limit_packets: u32, counts_in_service: bool, indexes: Indexes) -> Buffer {
        Buffer {
            slots: Slots::new(),
            index: indexes.any().then(|| Box::new(Index::new(indexes))),
            limit: limit_packets,
            counts_in_service,
            in_service: 0,
            now: Time::ZERO,
            books: Books::default(),
            time_at_length: vec![0],
            length_since: Time::ZERO,
            sojourn: LogHistogram::new(),
            released: SlotId::default(),
            journal: None,
            freed: None,
        }
    }

    /// Reports each packet that is gone from now on.
    pub(crate) fn report_freed(&mut self) {
        self.freed.get_or_insert_default();
    }

    /// Packets that are gone and have not been taken.
    pub(crate) fn freed_mut(&mut self) -> Option<&mut Vec<Freed>> {
        self.freed.as_mut()
    }

    /// Whether there are any.
    pub(crate) fn has_freed(&self) -> bool {
        self.freed.as_ref().is_some_and(|freed| !freed.is_empty())
    }

    /// Reports that a packet is gone.
    pub(crate) fn free(&mut self, packet: &Packet) {
        if let Some(freed) = &mut self.freed {
            freed.push(Freed { connection: packet.connection, ip_bytes: packet.ip_bytes() });
        }
    }

    pub(crate) fn keep_journal(&mut self, journal: Journal) {
        self.journal = Some(journal);
    }

    /// Whether it has only its order and its counters: quiet, without an index.
    pub(crate) fn is_plain(&self) -> bool {
        self.index.is_none() && self.is_quiet()
    }

    /// Whether it has only its order, an order by station and its counters.
    pub(crate) fn is_by_station(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.is_by_station()) && self.is_quiet()
    }

    /// Whether it has no journal and no reports, and any packet may leave first, whatever its category.
    pub(crate) fn is_quiet(&self) -> bool {
        self.journal.is_none() && self.freed.is_none() && !self.serves_categories()
    }

    /// Packets queued.
    pub fn len(&self) -> usize {
        self.slots.len() as usize
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        self.slots.len() == 0
    }

    /// The maximum number of packets; see [`TxQueueSpec`](crate::TxQueueSpec) for what counts.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Sets the limit. If it is below the current length, nothing is evicted: the buffer is full until it has drained.
    pub fn set_limit(&mut self, packets: u32) {
        self.limit = packets;
    }

    /// Packets that count towards the limit.
    fn occupancy(&self) -> u32 {
        self.slots.len() + self.in_service * u32::from(self.counts_in_service)
    }

    /// Whether an arrival finds no room.
    pub fn is_full(&self) -> bool {
        self.slots.len() >= self.limit || self.counts_in_service && self.occupancy() >= self.limit
    }

    /// Number of queued packets above a limit that has been lowered.
    pub fn excess(&self) -> u32 {
        self.occupancy().saturating_sub(self.limit).min(self.slots.len())
    }

    /// Whether nothing is queued or in service.
    pub fn is_idle(&self) -> bool {
        self.is_empty() && self.in_service == 0
    }

    /// Total time for which nothing was queued up to `now`, since time zero.
    pub(crate) fn empty_time(&self, now: Time) -> Time {
        let now = if self.is_empty() { now - self.length_since } else { Time::ZERO };
        Time::from_ns(self.time_at_length[0]) + now
    }

    /// The packet at the head.
    pub fn head(&self) -> Option<SlotId> {
        self.slots.head()
    }

    /// The packet at the tail.
    pub fn tail(&self) -> Option<SlotId> {
        self.slots.tail()
    }

    /// The packet after another, towards the tail.
    pub fn after(&self, slot: SlotId) -> Option<SlotId> {
        self.slots.after(slot)
    }

    /// A queued packet.
    pub fn packet(&self, slot: SlotId) -> &Packet {
        &self.slots.get(slot).packet
    }

    /// A queued packet's flow.
    pub fn flow(&self, slot: SlotId) -> FlowId {
        self.slots.get(slot).flow
    }

    /// A queued packet's class.
    pub fn class(&self, slot: SlotId) -> Class {
        self.slots.get(slot).class
    }

    /// A queued packet's station.
    pub fn station(&self, slot: SlotId) -> StationId {
        self.slots.get(slot).station
    }

    /// A queued packet's access category; best effort where a transmit queue serves one category only.
    pub fn ac(&self, slot: SlotId) -> Ac {
        self.slots.get(slot).ac
    }

    /// Enqueue time of a queued packet.
    pub fn enqueued_at(&self, slot: SlotId) -> Time {
        self.slots.get(slot).enqueued_at
    }

    /// Picks a packet of the pool; `None` if it is empty. A random pick takes one draw unless the pool is empty.
    pub fn pick(&self, pool: Pool, pick: Pick, rng: &mut Rng) -> Option<SlotId> {
        self.index().pick(pool, pick, rng)
    }

    /// Picks a redundant ACK, including the one that the arrival makes redundant. An ACK is redundant if a newer one of its
    /// connection is queued or just arriving.
    pub fn pick_redundant(&mut self, arrival: &Arrival, pick: Pick, rng: &mut Rng) -> Option<SlotId> {
        let index = self.index.as_mut().expect(ASKED);
        if arrival.class == Class::Ack {
            index.announce(&self.slots, arrival.flow, arrival.packet);
        }
        index.pick(Pool::Redundant, pick, rng)
    }

    /// The newest queued ACK of the arrival's flow, if the arrival is an ACK that makes it redundant.
    pub fn superseded_by(&self, arrival: &Arrival) -> Option<SlotId> {
        if arrival.class != Class::Ack {
            return None;
        }
        self.index().superseded_by(&self.slots, arrival.flow, arrival.packet)
    }

    /// The oldest queued ACK of a flow that is redundant.
    pub fn oldest_redundant(&self, flow: FlowId) -> Option<SlotId> {
        self.index().oldest_redundant(flow)
    }

    /// Queued packets of a flow and class.
    pub fn stored_packets(&self, flow: FlowId, class: Class) -> u32 {
        self.index().stored().packets(flow, class)
    }

    /// Number of flows with packets of a class queued.
    pub fn stored_flows(&self, class: Class) -> u32 {
        self.index().stored().flows(class)
    }

    fn index(&self) -> &Index {
        self.index.as_ref().expect(ASKED)
    }

    /// The packet with the smallest key; on a tie, the one that arrived first.
    pub fn first_by_key(&self) -> Option<SlotId> {
        self.index().keyed().first()
    }

    /// The packet with the smallest key among those that a grant admits ([`Buffer::admits`]); on a tie, the one that arrived
    /// first. O(log n) for a grant that names its station. The first call walks the queue.
    pub fn first_admitted_by_key(&mut self, grant: &Grant) -> Option<SlotId> {
        let slots = &self.slots;
        let queued = std::iter::successors(slots.head(), |&slot| slots.after(slot));
        let queued = queued.map(|slot| (slot, slots.get(slot).station));
        self.index.as_mut().expect(ASKED).keyed_mut().first_admitted(grant, queued)
    }

    /// The packet with the greatest key; on a tie, the one that arrived last.
    pub fn last_by_key(&self) -> Option<SlotId> {
        self.index().keyed().last()
    }

    /// The key of a queued packet.
    pub fn key(&self, slot: SlotId) -> u64 {
        self.index().keyed().key(slot)
    }

    /// Whether a grant allows a queued packet to leave.
    pub fn may_go(&self, slot: SlotId, grant: &Grant) -> bool {
        self.fits(slot, grant) && (self.ac(slot) == grant.ac || !self.serves_categories())
    }

    /// Whether a grant admits the station and the category of a queued packet, whatever its length.
    pub fn admits(&self, slot: SlotId, grant: &Grant) -> bool {
        self.may_go(slot, &Grant { max_bytes: u32::MAX, ..*grant })
    }

    /// Makes [`Buffer::first_admitted`] O(1) for grants that name their station, from now on.
    pub(crate) fn keep_stations(&mut self) {
        let index = self.index.get_or_insert_with(|| Box::new(Index::new(Indexes::NONE)));
        index.keep_stations(&self.slots);
    }

    /// The packet nearest to the head that a grant admits. Walks the queue unless the grant names its station and an order by
    /// station is kept.
    pub fn first_admitted(&self, grant: &Grant) -> Option<SlotId> {
        if let (Some(station), Some(index)) = (grant.station, &self.index)
            && let Some(first) = index.first_of_station(station, grant.ac)
        {
            return first.filter(|&slot| self.admits(slot, grant));
        }
        let mut queued = std::iter::successors(self.head(), |&slot| self.after(slot));
        queued.find(|&slot| self.admits(slot, grant))
    }

    /// Like `may_go`, for a packet whose category is known to match.
    fn fits(&self, slot: SlotId, grant: &Grant) -> bool {
        let slot = self.slots.get(slot);
        slot.packet.ip_bytes() <= grant.max_bytes && grant.admits(slot.station)
    }

    /// Whether the buffer serves several access categories, each granted access separately.
    pub fn serves_categories(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.by_category())
    }

    /// Advances the clock; called before every operation.
    pub(crate) fn advance(&mut self, now: Time) {
        if now < self.now {
            backwards(now, self.now);
        }
        self.now = now;
    }

    pub(crate) fn arrival<'a>(
        &mut self,
        packet: &'a Packet,
        flow: FlowId,
        station: StationId,
        ac: Ac,
    ) -> Arrival<'a> {
        if flow.index() >= self.books.flows.len() {
            self.grow_flows(flow);
        }
        Arrival { packet, flow, station, class: packet.class(), ac }
    }

    #[cold]
    fn grow_flows(&mut self, flow: FlowId) {
        self.books.flows.resize(flow.index() + 1, FlowRows::default());
        if let Some(index) = &mut self.index {
            index.grow_flows(flow.index() + 1);
        }
    }

    pub(crate) fn finish(&mut self, departure: &Departure, outcome: Outcome) {
        let fate = match outcome {
            Outcome::Delivered => Fate::Delivered,
            Outcome::LostAtRetryLimit => Fate::LostAtRetryLimit,
        };
        self.books.row(departure.flow.index(), departure.class).book(fate, departure.packet.ip_bytes());
        self.in_service -= 1;
    }

    /// Walks the queue; rarely called.
    pub(crate) fn holds(&self, flow: FlowId) -> bool {
        let Some(books) = self.books.flows.get(flow.index()) else { return false };
        let queued = std::iter::successors(self.head(), |&slot| self.after(slot));
        books.rows.iter().any(|row| row.in_service().packets > 0)
            || queued.map(|slot| self.flow(slot)).any(|f| f == flow)
    }

    pub(crate) fn retire(&mut self, flow: FlowId) -> [Row; 3] {
        assert!(!self.holds(flow), "a flow is retired only when no packet of it is left");
        if flow.index() >= self.books.flows.len() {
            self.grow_flows(flow);
        }
        if let Some(index) = &mut self.index {
            index.retire(flow);
        }
        self.books.retire(flow.index())
    }

    pub(crate) fn books(&self) -> &Books {
        &self.books
    }

    pub(crate) fn sojourn(&self) -> &LogHistogram {
        &self.sojourn
    }

    /// Histogram of queue lengths up to `now`, weighted by their duration in nanoseconds.
    pub(crate) fn length_histogram(&self, now: Time) -> LogHistogram {
        let mut histogram = LogHistogram::new();
        for (length, &time) in self.time_at_length.iter().enumerate() {
            if time > 0 {
                histogram.record_weighted(length as u64, time);
            }
        }
        if now > self.length_since {
            histogram.record_weighted(self.len() as u64, (now - self.length_since).as_ns());
        }
        histogram
    }
}

#[cold]
fn backwards(now: Time, before: Time) -> ! {
    panic!("time runs backwards at a port: {now} after {before}")
}
