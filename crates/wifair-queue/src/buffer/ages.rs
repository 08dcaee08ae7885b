use super::bit_tree::BitTree;
use super::pools::Pool;
use super::slots::{SlotId, Slots, UNDECLARED};

/// The member of a pool that is nearest to the head or the tail.
///
/// Packets get ascending numbers on arrival. A pool is a set of numbers, whose least and greatest members are found in two or
/// three steps. When the numbers run out, the queue is walked and renumbered. There are then at least sixteen numbers per
/// packet, so that costs O(1) per arrival on average. A sorted list would not work: an ACK becomes redundant long after its
/// arrival, in whatever order later ACKs arrive.
#[derive(Clone, Debug)]
pub(super) struct Ages {
    /// Whether packets of a class can belong to a pool, by [`Class`]: other packets have no number.
    numbered: [bool; 3],
    /// A packet's number, by slot.
    numbers: Vec<u32>,
    /// The slot of a number that is in use.
    slots: Vec<SlotId>,
    next: u32,
    pools: [Option<BitTree>; 4],
}

const LEAST_NUMBERS: usize = 256;
const NUMBERS_A_PACKET: usize = 16;

impl Ages {
    pub fn new(wanted: [bool; 4]) -> Ages {
        let [data, ack, redundant, low_priority_data] = wanted;
        Ages {
            numbered: [data || low_priority_data, ack || redundant, false],
            numbers: Vec::new(),
            slots: vec![SlotId(0); LEAST_NUMBERS],
            next: 0,
            pools: wanted.map(|wanted| wanted.then(|| BitTree::new(LEAST_NUMBERS))),
        }
    }

    pub fn grow_slots(&mut self, slots: usize) {
        self.numbers.resize(slots, 0);
    }

    /// Numbers a packet that has just been appended to `queue`.
    pub fn number(&mut self, queue: &Slots, slot: SlotId) {
        if !self.numbered[queue.get(slot).class as usize] {
            return;
        }
        if self.next as usize == self.slots.len() {
            return self.renumber(queue, slot);
        }
        self.numbers[slot.index()] = self.next;
        self.slots[self.next as usize] = slot;
        self.next += 1;
    }

    /// Renumbers the whole queue, in which `fresh` has no number yet.
    #[cold]
    pub fn renumber(&mut self, queue: &Slots, fresh: SlotId) {
        let room = (queue.len() as usize * NUMBERS_A_PACKET).next_power_of_two().max(LEAST_NUMBERS);
        let old = self.pools.clone();
        for pool in self.pools.iter_mut().flatten() {
            *pool = BitTree::new(room);
        }
        self.slots.clear();
        self.slots.resize(room, SlotId(0));
        self.next = 0;
        let mut at = queue.head();
        while let Some(slot) = at {
            at = queue.after(slot);
            if !self.numbered[queue.get(slot).class as usize] {
                continue;
            }
            let before = self.numbers[slot.index()];
            for (pool, old) in self.pools.iter_mut().zip(&old) {
                if let (Some(pool), Some(old)) = (pool, old)
                    && slot != fresh
                    && old.contains(before as usize)
                {
                    pool.insert(self.next as usize);
                }
            }
            self.numbers[slot.index()] = self.next;
            self.slots[self.next as usize] = slot;
            self.next += 1;
        }
    }

    pub fn insert(&mut self, pool: Pool, slot: SlotId) {
        if let Some(pool) = &mut self.pools[pool as usize] {
            pool.insert(self.numbers[slot.index()] as usize);
        }
    }

    pub fn remove(&mut self, pool: Pool, slot: SlotId) {
        if let Some(pool) = &mut self.pools[pool as usize] {
            pool.remove(self.numbers[slot.index()] as usize);
        }
    }

    /// The member nearest to the head.
    pub fn oldest(&self, pool: Pool) -> Option<SlotId> {
        self.pool(pool).first().map(|number| self.slots[number])
    }

    /// The member nearest to the tail.
    pub fn newest(&self, pool: Pool) -> Option<SlotId> {
        self.pool(pool).last().map(|number| self.slots[number])
    }

    fn pool(&self, pool: Pool) -> &BitTree {
        self.pools[pool as usize].as_ref().expect(UNDECLARED)
    }
}

#[cfg(test)]
mod tests {
    use wifair_core::{Ac, FiveTuple, FlowId, Packet, Rng, SackBlocks, StationId, TCP, TcpFlags, Time};

    use crate::buffer::{Buffer, Indexes, Pick, Pool};
    use crate::words::Eviction;

    /// Data has no number if only ACKs are picked by age: an ACK that replaces it must get one.
    #[test]
    fn an_ack_in_the_place_of_data_has_the_age_of_its_place() {
        let packet = |payload_bytes| Packet {
            connection: Default::default(),
            tuple: FiveTuple { protocol: TCP, ..FiveTuple::default() },
            seq: 0,
            ack: 0,
            window_bytes: 0,
            payload_bytes,
            header_bytes: 40,
            flags: TcpFlags::ACK,
            ds_field: 0,
            sack: SackBlocks::NONE,
        };
        let (flow, station) = (FlowId(0), StationId(0));
        let mut rng = Rng::stream(1, "test", "none drawn");
        let mut buffer = Buffer::new(10, false, Indexes::NONE.picking(Pool::Ack, Pick::Oldest));
        buffer.fifo_mut().advance(Time::ZERO);
        for payload_bytes in [0, 1460, 0] {
            let packet = packet(payload_bytes);
            let arrival = buffer.arrival(&packet, flow, station, Ac::BestEffort);
            let _placed = buffer.append(arrival);
        }
        let first = buffer.head().unwrap();
        let second = buffer.after(first).unwrap();
        let ack = packet(0);
        let arrival = buffer.arrival(&ack, flow, station, Ac::BestEffort);
        let _placed = buffer.replace(second, Eviction::Victim, arrival);
        assert_eq!(buffer.pick(Pool::Ack, Pick::Oldest, &mut rng), Some(first));
        buffer.evict(first, Eviction::Victim);
        assert_eq!(buffer.pick(Pool::Ack, Pick::Oldest, &mut rng), Some(second));
        buffer.evict(second, Eviction::Victim);
        assert_eq!(buffer.pick(Pool::Ack, Pick::Oldest, &mut rng), buffer.head());
    }
}
