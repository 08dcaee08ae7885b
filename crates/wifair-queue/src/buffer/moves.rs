//! How packets enter and leave the store: each move updates the index, the counters and the journal.

use wifair_core::{Class, LogHistogram, StationId, Time};

use super::Buffer;
use super::departure::{Departure, Dequeued};
use super::ledger::{Books, Fate};
use super::passage::{Arrival, Placed};
use super::slots::{ASKED, Slot, SlotId};
use crate::journal::TxQueueEvent;
use crate::words::{Eviction, Grant, Refusal};

impl Buffer {
    /// Admits an arrival at the tail. Panics if the buffer is full.
    #[inline]
    pub fn append(&mut self, arrival: Arrival) -> Placed {
        assert!(!self.is_full(), "a scheme makes room before it places a packet");
        self.put_at_tail(arrival)
    }

    /// Admits an arrival at the tail if there is room, else drops it.
    #[inline]
    pub fn append_or_drop(&mut self, arrival: Arrival) -> Placed {
        if self.is_full() { self.refuse(arrival, Refusal::TailDrop) } else { self.put_at_tail(arrival) }
    }

    /// Evicts a queued packet and admits an arrival at the tail. The length is unchanged, so this is allowed at a full buffer,
    /// and at one above a lowered limit.
    #[inline]
    pub fn push_out(&mut self, slot: SlotId, reason: Eviction, arrival: Arrival) -> Placed {
        self.take_out(slot, reason);
        self.put_in(&arrival);
        Placed(())
    }

    /// Like [`Buffer::append`], in a buffer with an order of keys.
    #[inline]
    pub fn append_keyed(&mut self, arrival: Arrival, key: u64) -> Placed {
        assert!(!self.is_full(), "a scheme makes room before it places a packet");
        self.length_changes();
        let slot = self.put_in(&arrival);
        self.index.as_mut().expect(ASKED).insert_keyed(&self.slots, slot, key);
        Placed(())
    }

    /// Like [`Buffer::push_out`], in a buffer with an order of keys.
    #[inline]
    pub fn push_out_keyed(&mut self, slot: SlotId, reason: Eviction, arrival: Arrival, key: u64) -> Placed {
        self.take_out(slot, reason);
        let slot = self.put_in(&arrival);
        self.index.as_mut().expect(ASKED).insert_keyed(&self.slots, slot, key);
        Placed(())
    }

    /// Like [`Buffer::append`], for callers that have checked that there is room.
    #[inline]
    pub(crate) fn put_at_tail(&mut self, arrival: Arrival) -> Placed {
        self.length_changes();
        self.put_in(&arrival);
        Placed(())
    }

    #[inline]
    fn put_in(&mut self, arrival: &Arrival) -> SlotId {
        let slot = self.put_in_order(arrival);
        if let Some(index) = &mut self.index {
            index.insert(&self.slots, slot, None);
        }
        slot
    }

    #[inline]
    fn put_in_order(&mut self, arrival: &Arrival) -> SlotId {
        loop {
            match self.slots.push(arrival, self.now) {
                Some(slot) => return slot,
                None => self.grow_slots(),
            }
        }
    }

    /// There are never more slots than packets were queued at once, so the number of slots bounds the lengths to keep time for.
    #[cold]
    fn grow_slots(&mut self) {
        let slots = self.slots.grow();
        self.time_at_length.push(0);
        if let Some(index) = &mut self.index {
            index.grow_slots(slots);
        }
    }

    /// Like [`Buffer::push_out`], but the arrival takes the position of the evicted packet. The scheme is responsible for the
    /// order within the arrival's flow.
    #[inline]
    pub fn replace(&mut self, slot: SlotId, reason: Eviction, arrival: Arrival) -> Placed {
        let replaced = self.class(slot);
        if let Some(index) = &mut self.index {
            index.remove(&self.slots, slot);
        }
        self.count_out(slot, reason);
        self.slots.replace(slot, &arrival, self.now);
        if let Some(index) = &mut self.index {
            index.insert(&self.slots, slot, Some(replaced));
        }
        Placed(())
    }

    /// Adds the time at the current length; called before every change of the length.
    #[inline]
    pub(super) fn length_changes(&mut self) {
        self.time_at_length[self.slots.len() as usize] += (self.now - self.length_since).as_ns();
        self.length_since = self.now;
    }

    /// Refuses an arrival.
    #[inline]
    pub fn refuse(&mut self, arrival: Arrival, reason: Refusal) -> Placed {
        if arrival.class == Class::Ack
            && let Some(index) = &mut self.index
        {
            index.refused(arrival.flow);
        }
        let fate = match reason {
            Refusal::TailDrop => Fate::Refused,
            Refusal::Aqm => Fate::AqmRefused,
        };
        self.books.row(arrival.flow.index(), arrival.class).book(fate, arrival.packet.ip_bytes());
        if let Some(journal) = &self.journal {
            journal.note(self.now, TxQueueEvent::Refused(reason), arrival.packet, arrival.station);
        }
        self.free(arrival.packet);
        Placed(())
    }

    /// Evicts a queued packet.
    #[inline]
    pub fn evict(&mut self, slot: SlotId, reason: Eviction) {
        self.length_changes();
        self.take_out(slot, reason);
    }

    #[inline(always)] // eviction goes deep enough
    fn take_out(&mut self, slot: SlotId, reason: Eviction) {
        self.count_out(slot, reason);
        if let Some(index) = &mut self.index {
            index.remove(&self.slots, slot);
        }
        self.slots.remove(slot);
    }

    #[inline]
    fn count_out(&mut self, slot: SlotId, reason: Eviction) {
        let old = self.slots.get(slot);
        let fate = match reason {
            Eviction::Redundant => Fate::Filtered,
            Eviction::Victim => Fate::Evicted,
            Eviction::Aqm => Fate::AqmEvicted,
        };
        self.books.row(old.flow.index(), old.class).book(fate, old.packet.ip_bytes());
        if self.journal.is_some() || self.freed.is_some() {
            self.tell_evicted(slot, reason);
        }
    }

    /// Notes an eviction for those who want to know.
    #[cold]
    #[inline(never)]
    fn tell_evicted(&mut self, slot: SlotId, reason: Eviction) {
        let old = self.slots.get(slot);
        let packet = old.packet;
        if let Some(journal) = &self.journal {
            let event = TxQueueEvent::Evicted { reason, enqueued_at: old.enqueued_at };
            journal.note(self.now, event, &packet, old.station);
        }
        self.free(&packet);
    }

    /// Like [`Buffer::append_or_drop`], for a plain buffer.
    #[inline(always)] // a call saves and restores more registers than the rest takes
    pub(crate) fn append_or_drop_plainly(&mut self, arrival: Arrival) {
        if self.is_full() {
            let row = self.books.row(arrival.flow.index(), arrival.class);
            return row.book(Fate::Refused, arrival.packet.ip_bytes());
        }
        self.length_changes();
        self.put_in_order(&arrival);
    }

    /// Like [`Buffer::append_or_drop`], for a buffer with an order by station alone.
    pub(crate) fn append_or_drop_by_station(&mut self, arrival: Arrival) {
        if self.is_full() {
            let row = self.books.row(arrival.flow.index(), arrival.class);
            return row.book(Fate::Refused, arrival.packet.ip_bytes());
        }
        self.length_changes();
        let slot = self.put_in_order(&arrival);
        self.index.as_mut().expect(ASKED).push_to_station(arrival.station, slot);
    }

    /// Like [`Buffer::release_head`], for a buffer with an order by station alone and a grant for `station` that gathers and has no other
    /// limit.
    #[inline(always)] // as below
    pub(crate) fn release_of_station(&mut self, station: StationId, max_bytes: u32) -> Option<Dequeued<'_>> {
        let Buffer { slots, index, .. } = self;
        let fits = |slot| slots.get(slot).packet.ip_bytes() <= max_bytes;
        let slot = index.as_mut().expect(ASKED).pop_of_station(station, fits)?;
        self.length_changes();
        self.in_service += 1;
        let old = self.slots.remove(slot);
        count_departure(old, &mut self.books, &mut self.sojourn, self.now);
        Some(Dequeued(old))
    }

    /// Whether a grant admits the head of a plain buffer.
    #[inline(always)] // packets of an A-MPDU leave in a loop
    pub(crate) fn head_goes(&self, grant: &Grant) -> bool {
        self.slots.head().is_some_and(|head| self.fits(head, grant))
    }

    /// Like [`Buffer::release_head`], for a plain buffer whose head goes.
    #[inline(always)] // as above
    pub(crate) fn release_head_plainly(&mut self) -> Option<Dequeued<'_>> {
        let len = self.slots.len() as usize;
        let Buffer { now, .. } = *self;
        let old = self.slots.remove_head()?;
        self.time_at_length[len] += (now - self.length_since).as_ns();
        self.length_since = now;
        self.in_service += 1;
        count_departure(old, &mut self.books, &mut self.sojourn, now);
        Some(Dequeued(old))
    }

    /// The packet that has left a slot.
    #[inline]
    pub(crate) fn dequeued(&self, slot: SlotId) -> Dequeued<'_> {
        Dequeued(self.slots.former(slot))
    }

    /// The slot of the packet that a scheme has released last.
    pub(crate) fn released(&self) -> SlotId {
        self.released
    }

    /// Hands a queued packet to the MAC.
    #[inline]
    pub fn release(&mut self, slot: SlotId) -> Departure {
        self.depart(slot);
        self.released = slot;
        self.dequeued(slot).into()
    }

    #[inline]
    fn depart(&mut self, slot: SlotId) {
        self.length_changes();
        if let Some(index) = &mut self.index {
            index.remove(&self.slots, slot);
        }
        self.in_service += 1;
        count_departure(self.slots.remove(slot), &mut self.books, &mut self.sojourn, self.now);
    }

    /// Hands the packet at the head to the MAC if the grant admits it. If the transmit queue serves several access categories, that is
    /// the first packet of the grant's category.
    #[inline]
    pub fn release_head(&mut self, grant: &Grant) -> Option<Departure> {
        let slot = self.depart_head(grant)?;
        self.released = slot;
        Some(self.dequeued(slot).into())
    }

    /// [`Buffer::release_head`] that leaves the packet where it was.
    #[inline]
    pub(crate) fn depart_head(&mut self, grant: &Grant) -> Option<SlotId> {
        let head = match &self.index {
            None => self.slots.head()?,
            Some(index) => index.head(&self.slots, grant.ac)?,
        };
        if self.fits(head, grant) {
            self.depart(head);
            return Some(head);
        }
        if grant.gathers { self.depart_gathered(grant) } else { None }
    }

    /// Hands over the first packet for a station that the grant admits, wherever it is queued, if it fits.
    #[inline(never)]
    fn depart_gathered(&mut self, grant: &Grant) -> Option<SlotId> {
        if self.slots.head().is_some_and(|head| self.admits(head, grant)) {
            return None; // it is the first, and too long
        }
        if grant.station.is_some() {
            self.keep_stations();
        }
        let first = self.first_admitted(grant).filter(|&first| self.fits(first, grant))?;
        self.depart(first);
        Some(first)
    }
}

/// Counts a packet that leaves for the MAC.
#[inline(always)] // into the few places where packets leave
fn count_departure(old: &Slot, books: &mut Books, sojourn: &mut LogHistogram, now: Time) {
    books.row(old.flow.index(), old.class).book(Fate::Dequeued, old.packet.ip_bytes());
    sojourn.record_time(now - old.enqueued_at);
}
