//! The bytes of the packets under way. The engine's packets carry a handle to them in `window_bytes`, a field that neither
//! buffers nor MAC read.

use std::collections::VecDeque;

use wifair_core::{Packet, Time};

use crate::address::Host;

/// Bits of a handle that are the index of the bytes; the others distinguish successive packets at one index.
const INDEX_BITS: u32 = 20;
/// Maximum number of packets under way.
pub const MAX_PACKETS: usize = 1 << INDEX_BITS;
/// How long a packet may still be delivered after the MAC is done with it: a recipient may hold it for its reorder timeout.
const LIMBO: Time = Time::from_s(5);

/// Identifies stored bytes; it may outlive them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(u32);

impl Handle {
    /// The handle that a packet carries.
    pub fn of(packet: &Packet) -> Handle {
        Handle(packet.window_bytes)
    }

    /// Returns the packet with this handle set.
    pub fn on(self, packet: Packet) -> Packet {
        Packet { window_bytes: self.0, ..packet }
    }

    const fn index(self) -> usize {
        self.0 as usize & (MAX_PACKETS - 1)
    }
}

/// A packet as sent by its host.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The IP packet.
    pub bytes: Vec<u8>,
    /// Offset of its TCP header, if it has one.
    pub tcp_at: Option<u16>,
    /// Its conversation.
    pub conversation: u32,
    /// Whether it was sent by the initiator of its conversation.
    pub forward: bool,
    /// Its destination.
    pub to: Host,
    /// When it entered.
    pub entered: Time,
}

/// See the module documentation.
#[derive(Default)]
pub struct Store {
    slots: Vec<(u16, Option<Stored>)>,
    free: Vec<u32>,
    /// Packets that the MAC is done with, in order of time. Most of them have been delivered.
    limbo: VecDeque<(Time, Handle)>,
    /// Memory of packets that have left, for reuse.
    spare: Vec<Vec<u8>>,
    count: usize,
}

impl Store {
    /// Number of packets under way.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Copies `bytes` to reused memory.
    pub fn copy(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(bytes);
        copy
    }

    /// Stores a packet; `None` if there is no room.
    pub fn insert(&mut self, stored: Stored) -> Option<Handle> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < MAX_PACKETS => {
                self.slots.push((0, None));
                self.slots.len() as u32 - 1
            }
            None => return None,
        };
        let (generation, slot) = &mut self.slots[index as usize];
        *slot = Some(stored);
        self.count += 1;
        Some(Handle(u32::from(*generation) << INDEX_BITS | index))
    }

    /// The packet, if it is still under way.
    pub fn get(&self, handle: Handle) -> Option<&Stored> {
        let (generation, slot) = self.slots.get(handle.index())?;
        slot.as_ref().filter(|_| u32::from(*generation) == handle.0 >> INDEX_BITS)
    }

    /// Removes the packet.
    pub fn remove(&mut self, handle: Handle) -> Option<Stored> {
        self.get(handle)?;
        let (generation, slot) = &mut self.slots[handle.index()];
        *generation = (*generation + 1) & ((1 << (32 - INDEX_BITS)) - 1);
        self.free.push(handle.index() as u32);
        self.count -= 1;
        slot.take()
    }

    /// Reuses the memory of a packet that has left.
    pub fn recycle(&mut self, stored: Stored) {
        if self.spare.len() < 1024 {
            self.spare.push(stored.bytes);
        }
    }

    /// Records that the MAC is done with the packet at `now`. It expires if its receiver does not get it soon.
    pub fn finish(&mut self, handle: Handle, now: Time) {
        if self.get(handle).is_some() {
            self.limbo.push_back((now, handle));
        }
    }

    /// Returns the next packet that was not delivered in time.
    pub fn expire(&mut self, now: Time) -> Option<Stored> {
        while let Some(&(at, handle)) = self.limbo.front() {
            if at + LIMBO > now {
                return None;
            }
            self.limbo.pop_front();
            if let Some(stored) = self.remove(handle) {
                return Some(stored);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(byte: u8) -> Stored {
        let bytes = vec![byte];
        let (tcp_at, conversation, forward) = (None, 0, true);
        Stored { bytes, tcp_at, conversation, forward, to: Host::Server, entered: Time::ZERO }
    }

    #[test]
    fn a_handle_outlives_its_packet_and_finds_no_other() {
        let mut store = Store::default();
        let first = store.insert(stored(1)).unwrap();
        assert_eq!(store.remove(first).unwrap().bytes, [1]);
        let second = store.insert(stored(2)).unwrap();
        assert_eq!(first.index(), second.index());
        assert!(store.get(first).is_none() && store.remove(first).is_none());
        assert_eq!(store.get(second).unwrap().bytes, [2]);
        assert_eq!(Handle::of(&second.on(Packet::default())), second);
        assert_eq!(store.len(), 1);
    }

    #[test]
    fn what_the_mac_has_given_up_expires_unless_it_was_delivered() {
        let mut store = Store::default();
        let [lost, delivered] = [1, 2].map(|byte| store.insert(stored(byte)).unwrap());
        store.finish(lost, Time::from_s(1));
        store.finish(delivered, Time::from_s(1));
        store.remove(delivered);
        assert!(store.expire(Time::from_s(2)).is_none());
        assert_eq!(store.expire(Time::from_s(6)).unwrap().bytes, [1]);
        assert!(store.expire(Time::from_s(9)).is_none());
        assert_eq!(store.len(), 0);
    }
}
