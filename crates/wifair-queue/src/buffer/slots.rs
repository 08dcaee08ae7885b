use wifair_core::{Class, FlowId, Packet, StationId, Time};

/// No slot, in a list.
pub(super) const NONE: u32 = u32::MAX;

/// A queued packet's place, valid as long as the packet is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotId(pub(super) u32);

impl SlotId {
    #[inline]
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(super) fn from_link(link: u32) -> Option<SlotId> {
        (link != NONE).then_some(SlotId(link))
    }
}

/// A queued packet, in the list from the first to leave (head) to the last (tail).
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub packet: Packet,
    pub flow: FlowId,
    pub enqueued_at: Time,
    /// Towards the head; in a free slot: [`FREE`].
    pub before: u32,
    /// Towards the tail; in a free slot the next free one.
    pub after: u32,
    pub station: StationId,
    pub class: Class,
}

/// What stands for the link towards the head in a slot that holds no packet.
const FREE: u32 = u32::MAX - 1;

/// The packets in their order, in slots that are used again.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    head: u32,
    tail: u32,
    free: u32,
    len: u32,
}

impl Slots {
    pub fn new() -> Slots {
        Slots { slots: Vec::new(), head: NONE, tail: NONE, free: NONE, len: 0 }
    }

    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub fn head(&self) -> Option<SlotId> {
        SlotId::from_link(self.head)
    }

    #[inline]
    pub fn after(&self, id: SlotId) -> Option<SlotId> {
        SlotId::from_link(self.slots[id.index()].after)
    }

    #[inline]
    pub fn get(&self, id: SlotId) -> &Slot {
        let slot = &self.slots[id.index()];
        debug_assert!(slot.before != FREE, "a handle outlived its packet");
        slot
    }

    /// Adds at the tail.
    #[inline]
    pub fn push(&mut self, mut slot: Slot) -> SlotId {
        slot.before = self.tail;
        slot.after = NONE;
        let id = if self.free != NONE {
            let id = self.free;
            self.free = self.slots[id as usize].after;
            self.slots[id as usize] = slot;
            id
        } else {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        };
        match self.slots.get_mut(self.tail as usize) {
            Some(last) => last.after = id,
            None => self.head = id,
        }
        self.tail = id;
        self.len += 1;
        SlotId(id)
    }

    /// Takes a packet out, wherever it stands.
    #[inline]
    pub fn remove(&mut self, id: SlotId) -> Slot {
        let slot = self.slots[id.index()];
        assert!(slot.before != FREE, "a handle outlived its packet");
        match self.slots.get_mut(slot.before as usize) {
            Some(before) => before.after = slot.after,
            None => self.head = slot.after,
        }
        match self.slots.get_mut(slot.after as usize) {
            Some(after) => after.before = slot.before,
            None => self.tail = slot.before,
        }
        let vacant = &mut self.slots[id.index()];
        vacant.before = FREE;
        vacant.after = self.free;
        self.free = id.0;
        self.len -= 1;
        slot
    }

    /// Puts another packet where one stands; gives back the one that stood there.
    pub fn replace(&mut self, id: SlotId, mut slot: Slot) -> Slot {
        let old = self.slots[id.index()];
        assert!(old.before != FREE, "a handle outlived its packet");
        (slot.before, slot.after) = (old.before, old.after);
        self.slots[id.index()] = slot;
        old
    }
}
