//! How packets enter and leave the store: each move updates the index and the counters, and notifies observers.

use wifair_core::{Class, StationId};

use super::Buffer;
use super::arrival::{Arrival, Placed};
use super::dequeued::{DequeuedPacket, DequeuedSlot};
use super::slots::{SlotId, UNDECLARED};
use crate::words::{Eviction, Grant, Refusal};

impl Buffer {
    /// Admits an arrival at the tail. Panics if the buffer is full.
    #[inline]
    pub fn append(&mut self, arrival: Arrival) -> Placed {
        assert!(!self.is_full(), "a scheme makes room before it places a packet");
        self.append_unchecked(&arrival)
    }

    /// Admits an arrival at the tail if there is room, else drops it.
    #[inline]
    pub fn append_or_drop(&mut self, arrival: Arrival) -> Placed {
        if self.is_full() {
            return self.refuse(arrival, Refusal::TailDrop);
        }
        self.append_unchecked(&arrival)
    }

    /// Evicts a queued packet and admits an arrival at the tail. The length is unchanged, so this is allowed at a full buffer,
    /// and at one above a lowered limit.
    #[inline]
    pub fn push_out(&mut self, slot: SlotId, reason: Eviction, arrival: Arrival) -> Placed {
        self.take_out(slot, reason);
        self.put_in(&arrival);
        Placed(())
    }

    /// Like [`Buffer::append`], for callers that have checked that there is room.
    #[inline]
    pub(crate) fn append_unchecked(&mut self, arrival: &Arrival) -> Placed {
        self.fifo.length_changes();
        self.put_in(arrival);
        Placed(())
    }

    #[inline]
    fn put_in(&mut self, arrival: &Arrival) {
        let slot = loop {
            match self.fifo.push(arrival) {
                Some(slot) => break slot,
                None => self.grow(),
            }
        };
        if let Some(index) = &mut self.index {
            index.insert(self.fifo.slots(), slot, arrival, None);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let slots = self.fifo.grow();
        if let Some(index) = &mut self.index {
            index.grow_slots(slots);
        }
    }

    /// Like [`Buffer::push_out`], but the arrival takes the position of the evicted packet. The scheme is responsible for the
    /// order within the arrival's flow.
    #[inline]
    pub fn replace(&mut self, slot: SlotId, reason: Eviction, arrival: Arrival) -> Placed {
        let replaced = self[slot].class;
        if let Some(index) = &mut self.index {
            index.remove(self.fifo.slots(), slot);
        }
        self.count_eviction(slot, reason);
        self.fifo.replace(slot, &arrival);
        if let Some(index) = &mut self.index {
            index.insert(self.fifo.slots(), slot, &arrival, Some(replaced));
        }
        Placed(())
    }

    /// Refuses an arrival.
    #[inline]
    pub fn refuse(&mut self, arrival: Arrival, reason: Refusal) -> Placed {
        if arrival.class == Class::Ack
            && let Some(index) = &mut self.index
        {
            index.refused(arrival.flow);
        }
        self.fifo.refuse(&arrival, reason);
        if !self.observers.is_empty() {
            self.observers.refused(&arrival, reason, self.fifo.now());
        }
        Placed(())
    }

    /// Evicts a queued packet.
    #[inline]
    pub fn evict(&mut self, slot: SlotId, reason: Eviction) {
        self.fifo.length_changes();
        self.take_out(slot, reason);
    }

    #[inline(always)] // eviction goes deep enough
    fn take_out(&mut self, slot: SlotId, reason: Eviction) {
        self.count_eviction(slot, reason);
        if let Some(index) = &mut self.index {
            index.remove(self.fifo.slots(), slot);
        }
        self.fifo.remove(slot);
    }

    #[inline]
    fn count_eviction(&mut self, slot: SlotId, reason: Eviction) {
        self.fifo.count_eviction(slot, reason);
        if !self.observers.is_empty() {
            self.observers.evicted(self.fifo.slots().get(slot), reason, self.fifo.now());
        }
    }

    /// Like [`Buffer::append_or_drop`], for a buffer with an order by station alone.
    pub(crate) fn append_or_drop_by_station(&mut self, arrival: &Arrival) {
        if let Some(slot) = self.fifo.append_or_drop(arrival) {
            self.index.as_mut().expect(UNDECLARED).stations_mut().push_to_station(arrival.station, slot);
        }
    }

    /// Like [`Buffer::release_head`], for a buffer with an order by station alone and a grant for `station` that gathers and
    /// has no other limit.
    #[inline(always)] // packets of an A-MPDU leave in a loop
    pub(crate) fn release_of_station(
        &mut self,
        station: StationId,
        max_bytes: u32,
    ) -> Option<DequeuedSlot<'_>> {
        let slots = self.fifo.slots();
        let fits = |slot| slots.get(slot).packet.ip_bytes() <= max_bytes;
        let slot = self.index.as_mut().expect(UNDECLARED).stations_mut().pop_of_station(station, fits)?;
        Some(self.fifo.release(slot))
    }

    /// Hands a queued packet to the MAC.
    #[inline]
    pub fn release(&mut self, slot: SlotId) -> DequeuedPacket {
        self.depart(slot);
        self.released = slot;
        self.fifo.dequeued(slot).into()
    }

    /// Hands the packet at the head to the MAC if the grant admits it. If the transmit queue serves several access categories,
    /// that is the first packet of the grant's category.
    #[inline]
    pub fn release_head(&mut self, grant: &Grant) -> Option<DequeuedPacket> {
        let slot = self.depart_head(grant)?;
        self.released = slot;
        Some(self.fifo.dequeued(slot).into())
    }

    /// The packet that a scheme has released last, in its former slot.
    pub(crate) fn released(&self) -> DequeuedSlot<'_> {
        self.fifo.dequeued(self.released)
    }

    #[inline]
    fn depart(&mut self, slot: SlotId) {
        if let Some(index) = &mut self.index {
            index.remove(self.fifo.slots(), slot);
        }
        let _dequeued = self.fifo.release(slot);
    }

    /// [`Buffer::release_head`] that leaves the packet where it was.
    #[inline]
    pub(crate) fn depart_head(&mut self, grant: &Grant) -> Option<SlotId> {
        let head = match &self.index {
            None => self.head()?,
            Some(index) => index.head(self.fifo.slots(), grant.ac)?,
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
        if self.head().is_some_and(|head| self.admits(head, grant)) {
            return None; // it is the first, and too long
        }
        self.keep_stations();
        let first = self.first_admitted(grant).filter(|&first| self.fits(first, grant))?;
        self.depart(first);
        Some(first)
    }
}
