use wifair_core::{Ac, Class, FlowId, Packet, StationId, Time};

use super::arrival::Arrival;

/// Message of the panic if a scheme uses an index that it has not declared.
pub(super) const UNDECLARED: &str = "a scheme declares in needs() the indexes that it uses";

/// Marks the end of a list.
pub(super) const NONE: u32 = u32::MAX;

/// The slot of a queued packet, valid while it is queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotId(pub(super) u32);

impl SlotId {
    /// Index into a caller's `Vec`. Slots are reused, so there are never more of them than packets were queued at once.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    pub(super) fn from_link(link: u32) -> Option<SlotId> {
        (link != NONE).then_some(SlotId(link))
    }
}

/// A queued packet, in the list from the first to leave (head) to the last (tail).
#[derive(Clone, Copy, Debug)]
pub struct QueuedPacket {
    /// The packet.
    pub packet: Packet,
    /// Its flow.
    pub flow: FlowId,
    /// When it was admitted.
    pub enqueued_at: Time,
    /// Link towards the head, out of date at the head; [`FREE`] in a free slot.
    before: u32,
    /// Link towards the tail; the next free slot in a free slot.
    after: u32,
    /// The station to which it goes.
    pub station: StationId,
    /// Its class.
    pub class: Class,
    /// Its access category; best effort where a transmit queue serves one category only.
    pub ac: Ac,
}

impl QueuedPacket {
    /// Field by field, so that the packet is copied only once.
    fn fill(&mut self, arrival: &Arrival, now: Time, before: u32, after: u32) {
        self.packet = *arrival.packet;
        self.flow = arrival.flow;
        self.enqueued_at = now;
        self.before = before;
        self.after = after;
        self.station = arrival.station;
        self.class = arrival.class;
        self.ac = arrival.ac;
    }
}

/// Marks a slot without a packet, in its link towards the head.
const FREE: u32 = u32::MAX - 1;

/// The packets in order, in reusable slots.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    slots: Vec<QueuedPacket>,
    head: u32,
    tail: u32,
    free: u32,
    len: u32,
}

impl Slots {
    pub fn new() -> Slots {
        Slots { slots: Vec::new(), head: NONE, tail: NONE, free: NONE, len: 0 }
    }

    pub fn len(&self) -> u32 {
        self.len
    }

    pub fn head(&self) -> Option<SlotId> {
        SlotId::from_link(self.head)
    }

    pub fn tail(&self) -> Option<SlotId> {
        SlotId::from_link(self.tail)
    }

    pub fn after(&self, id: SlotId) -> Option<SlotId> {
        SlotId::from_link(self.slots[id.index()].after)
    }

    /// From head to tail.
    pub fn iter(&self) -> impl Iterator<Item = SlotId> {
        std::iter::successors(self.head(), |&id| self.after(id))
    }

    pub fn before(&self, id: SlotId) -> Option<SlotId> {
        (id.0 != self.head).then(|| SlotId(self.slots[id.index()].before))
    }

    pub fn get(&self, id: SlotId) -> &QueuedPacket {
        let slot = &self.slots[id.index()];
        debug_assert!(slot.before != FREE, "a handle outlived its packet");
        slot
    }

    pub fn get_mut(&mut self, id: SlotId) -> &mut QueuedPacket {
        let slot = &mut self.slots[id.index()];
        assert!(slot.before != FREE, "a handle outlived its packet");
        slot
    }

    /// Appends at the tail, in a free slot; `None` if there is none.
    pub fn push(&mut self, arrival: &Arrival, now: Time) -> Option<SlotId> {
        let id = self.free;
        let slot = self.slots.get_mut(id as usize)?;
        self.free = slot.after;
        slot.fill(arrival, now, self.tail, NONE);
        Some(self.link_at_tail(id))
    }

    /// Adds a free slot; returns the number of slots.
    pub fn grow(&mut self) -> usize {
        self.slots.push(QueuedPacket {
            packet: Packet::default(),
            flow: FlowId::default(),
            enqueued_at: Time::ZERO,
            before: FREE,
            after: self.free,
            station: StationId(0),
            class: Class::Other,
            ac: Ac::BestEffort,
        });
        self.free = self.slots.len() as u32 - 1;
        self.slots.len()
    }

    fn link_at_tail(&mut self, id: u32) -> SlotId {
        match self.slots.get_mut(self.tail as usize) {
            Some(last) => last.after = id,
            None => self.head = id,
        }
        self.tail = id;
        self.len += 1;
        SlotId(id)
    }

    /// The packet that was in a slot, until the next packet is added.
    #[inline]
    pub fn former(&self, id: SlotId) -> &QueuedPacket {
        &self.slots[id.index()]
    }

    /// Like [`Slots::remove`], for the head, if there is one.
    #[inline]
    pub fn remove_head(&mut self) -> Option<&QueuedPacket> {
        let id = self.head;
        let vacant = self.slots.get_mut(id as usize)?;
        let after = vacant.after;
        vacant.before = FREE;
        vacant.after = self.free;
        self.free = id;
        self.len -= 1;
        self.head = after;
        if after == NONE {
            self.tail = NONE;
        }
        Some(vacant)
    }

    /// Removes a packet at any position. Its slot can be read until the next packet is added.
    #[inline(always)] // a call saves and restores more registers than the rest takes
    pub fn remove(&mut self, id: SlotId) -> &QueuedPacket {
        let vacant = &mut self.slots[id.index()];
        let (before, after) = (vacant.before, vacant.after);
        assert!(before != FREE, "a handle outlived its packet");
        vacant.before = FREE;
        vacant.after = self.free;
        self.free = id.0;
        self.len -= 1;
        if id.0 == self.head {
            self.head = after;
            if after == NONE {
                self.tail = NONE;
            }
        } else {
            self.slots[before as usize].after = after;
            match self.slots.get_mut(after as usize) {
                Some(slot) => slot.before = before,
                None => self.tail = before,
            }
        }
        &self.slots[id.index()]
    }

    /// Replaces a packet by another at the same position.
    pub fn replace(&mut self, id: SlotId, arrival: &Arrival, now: Time) {
        let slot = &mut self.slots[id.index()];
        assert!(slot.before != FREE, "a handle outlived its packet");
        slot.fill(arrival, now, slot.before, slot.after);
    }
}
