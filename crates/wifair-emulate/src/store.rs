//! The bytes of the packets that are under way. The engine's packets carry a handle to them in `window_bytes`, a field that neither
//! buffers nor MAC read.

use std::collections::VecDeque;

use wifair_core::{Packet, Time};

use crate::address::Host;

/// Bits of a handle that say where the bytes lie; the others tell apart packets that lie there one after the other.
const INDEX_BITS: u32 = 20;
/// The most packets that may be under way.
pub const MAX_PACKETS: usize = 1 << INDEX_BITS;
/// How long a packet that the MAC is done with may still be delivered: a recipient may hold it for its reorder timeout.
const LIMBO: Time = Time::from_s(5);

/// Names stored bytes; outlives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u32);

impl Handle {
    /// The handle that a packet carries.
    pub fn of(packet: &Packet) -> Handle {
        Handle(packet.window_bytes)
    }

    /// The packet with this handle.
    pub fn on(self, packet: Packet) -> Packet {
        Packet { window_bytes: self.0, ..packet }
    }

    const fn index(self) -> usize {
        self.0 as usize & (MAX_PACKETS - 1)
    }
}

/// A packet as its sender wrote it.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The IP packet.
    pub bytes: Vec<u8>,
    /// Where its TCP header begins, if it has one.
    pub tcp_at: Option<u16>,
    /// Its conversation.
    pub conversation: u32,
    /// Whether the initiator of its conversation sent it.
    pub forward: bool,
    /// The host that it goes to.
    pub to: Host,
    /// When it entered.
    pub entered: Time,
}

/// See the module's head.
#[derive(Default)]
pub struct Store {
    slots: Vec<(u16, Option<Stored>)>,
    free: Vec<u32>,
    /// Packets that the MAC is done with, in order of time. Most of them have been delivered.
    limbo: VecDeque<(Time, Handle)>,
    /// Memory of packets that have left.
    spare: Vec<Vec<u8>>,
    count: usize,
}

impl Store {
    /// Packets under way.
    pub fn len(&self) -> usize {
        self.count
    }

    /// A copy of `bytes` in memory that was in use before.
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

    /// The packet leaves.
    pub fn remove(&mut self, handle: Handle) -> Option<Stored> {
        self.get(handle)?;
        let (generation, slot) = &mut self.slots[handle.index()];
        *generation = (*generation + 1) & ((1 << (32 - INDEX_BITS)) - 1);
        self.free.push(handle.index() as u32);
        self.count -= 1;
        slot.take()
    }

    /// The memory of a packet that has left is used again.
    pub fn recycle(&mut self, stored: Stored) {
        if self.spare.len() < 1024 {
            self.spare.push(stored.bytes);
        }
    }

    /// The MAC is done with the packet at `now`. If its receiver does not get it soon, it never will.
    pub fn finish(&mut self, handle: Handle, now: Time) {
        if self.get(handle).is_some() {
            self.limbo.push_back((now, handle));
        }
    }

    /// The next packet that was not delivered in time.
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
