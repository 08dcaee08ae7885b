use super::ASKED;
use super::bit_tree::BitTree;
use super::indexes::Pool;
use super::slots::{SlotId, Slots};

/// Which member of a pool stands nearest to the head or the tail.
///
/// Packets get ascending numbers as they come in; a pool is a set of numbers, whose least and greatest member are
/// found in two or three steps. When the numbers run out, the queue is walked and numbered anew. As there are always
/// at least four numbers for each packet then, that costs O(1) an arrival on average. A sorted list would not do:
/// an ACK becomes redundant long after it came in, in whatever order later ACKs come.
#[derive(Clone, Debug)]
pub(super) struct Ages {
    /// A packet's number, by slot.
    numbers: Vec<u32>,
    /// The slot of a number that is in use.
    slots: Vec<SlotId>,
    next: u32,
    pools: [Option<BitTree>; 3],
}

const LEAST_NUMBERS: usize = 256;
const NUMBERS_A_PACKET: usize = 4;

impl Ages {
    pub fn new(wanted: [bool; 3]) -> Ages {
        Ages {
            numbers: Vec::new(),
            slots: vec![SlotId(0); LEAST_NUMBERS],
            next: 0,
            pools: wanted.map(|wanted| wanted.then(|| BitTree::new(LEAST_NUMBERS))),
        }
    }

    pub fn grow_slots(&mut self, slots: usize) {
        self.numbers.resize(slots, 0);
    }

    /// Numbers a packet that has just come to the tail of `queue`.
    #[inline]
    pub fn number(&mut self, queue: &Slots, slot: SlotId) {
        if self.next as usize == self.slots.len() {
            self.number_anew(queue, slot);
        }
        self.numbers[slot.index()] = self.next;
        self.slots[self.next as usize] = slot;
        self.next += 1;
    }

    #[cold]
    fn number_anew(&mut self, queue: &Slots, unnumbered: SlotId) {
        let room = (queue.len() as usize * NUMBERS_A_PACKET).next_power_of_two().max(LEAST_NUMBERS);
        let old = self.pools.clone();
        for pool in self.pools.iter_mut().flatten() {
            *pool = BitTree::new(room);
        }
        self.slots.clear();
        self.slots.resize(room, SlotId(0));
        self.next = 0;
        let mut at = queue.head();
        while let Some(slot) = at.filter(|&slot| slot != unnumbered) {
            let before = self.numbers[slot.index()];
            for (pool, old) in self.pools.iter_mut().zip(&old) {
                if let (Some(pool), Some(old)) = (pool, old)
                    && old.contains(before as usize)
                {
                    pool.insert(self.next as usize);
                }
            }
            self.numbers[slot.index()] = self.next;
            self.slots[self.next as usize] = slot;
            self.next += 1;
            at = queue.after(slot);
        }
    }

    #[inline]
    pub fn insert(&mut self, pool: Pool, slot: SlotId) {
        if let Some(pool) = &mut self.pools[pool as usize] {
            pool.insert(self.numbers[slot.index()] as usize);
        }
    }

    #[inline]
    pub fn remove(&mut self, pool: Pool, slot: SlotId) {
        if let Some(pool) = &mut self.pools[pool as usize] {
            pool.remove(self.numbers[slot.index()] as usize);
        }
    }

    /// The member nearest to the head.
    #[inline]
    pub fn oldest(&self, pool: Pool) -> Option<SlotId> {
        self.pool(pool).first().map(|number| self.slots[number])
    }

    /// The member nearest to the tail.
    #[inline]
    pub fn newest(&self, pool: Pool) -> Option<SlotId> {
        self.pool(pool).last().map(|number| self.slots[number])
    }

    fn pool(&self, pool: Pool) -> &BitTree {
        self.pools[pool as usize].as_ref().expect(ASKED)
    }
}
