use super::arrival::QueueId;
use super::longest::Longest;
use super::slots::{NONE, SlotId, Slots};

/// The queues into which a scheme has put packets, each in order of arrival, and their bytes.
#[derive(Clone, Debug, Default)]
pub struct Queues {
    queues: Vec<Queue>,
    /// By slot.
    links: Vec<QueueLink>,
    /// By queue, 64 to a word: whether it holds a packet.
    occupied: Vec<u64>,
    bytes: u64,
    /// The queues ranked by bytes; kept from the first query on.
    longest: Option<Longest>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
    packets: u32,
    bytes: u32,
}

const EMPTY: Queue = Queue { first: NONE, last: NONE, packets: 0, bytes: 0 };

#[derive(Clone, Copy, Debug)]
struct QueueLink {
    before: u32,
    after: u32,
    queue: u32,
}

impl Queues {
    pub(super) fn grow_slots(&mut self, slots: usize) {
        self.links.resize(slots, QueueLink { before: NONE, after: NONE, queue: NONE });
    }

    #[cold]
    fn grow_queues(&mut self, queues: usize) {
        self.queues.resize(queues, EMPTY);
        self.occupied.resize(queues.div_ceil(64), 0);
        if let Some(longest) = &mut self.longest {
            longest.grow_queues(queues);
        }
    }

    /// Appends an admitted packet of that many bytes to a queue.
    pub(super) fn insert(&mut self, slot: SlotId, id: QueueId, bytes: u32) {
        if id.index() >= self.queues.len() {
            self.grow_queues(id.index() + 1);
        }
        self.bytes += u64::from(bytes);
        let queue = &mut self.queues[id.index()];
        self.links[slot.index()] = QueueLink { before: queue.last, after: NONE, queue: id.0 };
        match self.links.get_mut(queue.last as usize) {
            Some(last) => last.after = slot.0,
            None => {
                queue.first = slot.0;
                self.occupied[id.index() / 64] |= 1 << (id.0 % 64);
            }
        }
        queue.last = slot.0;
        queue.packets += 1;
        queue.bytes += bytes;
        if let Some(longest) = &mut self.longest {
            longest.set(id.index(), queue.bytes);
        }
    }

    pub(super) fn remove(&mut self, slots: &Slots, slot: SlotId) {
        let bytes = slots.get(slot).packet.ip_bytes();
        self.bytes -= u64::from(bytes);
        let QueueLink { before, after, queue: id } = self.links[slot.index()];
        let queue = &mut self.queues[id as usize];
        queue.packets -= 1;
        queue.bytes -= bytes;
        if let Some(longest) = &mut self.longest {
            longest.set(id as usize, queue.bytes);
        }
        match self.links.get_mut(before as usize) {
            Some(link) => link.after = after,
            None => queue.first = after,
        }
        match self.links.get_mut(after as usize) {
            Some(link) => link.before = before,
            None => queue.last = before,
        }
        if queue.first == NONE {
            self.occupied[id as usize / 64] &= !(1 << (id % 64));
        }
    }

    /// IP bytes in all queues.
    pub fn total_bytes(&self) -> u64 {
        self.bytes
    }

    /// The queue that the packet in a slot is in.
    pub fn queue_of(&self, slot: SlotId) -> QueueId {
        QueueId(self.links[slot.index()].queue)
    }

    /// The queue with the most bytes, on a tie the one with the smallest number.
    pub(super) fn longest(&mut self) -> Option<QueueId> {
        let queues = &self.queues;
        let longest =
            self.longest.get_or_insert_with(|| Longest::new(queues.iter().map(|queue| queue.bytes)));
        longest.queue().map(|queue| QueueId(queue as u32))
    }

    fn queue(&self, id: QueueId) -> &Queue {
        self.queues.get(id.index()).unwrap_or(&EMPTY)
    }

    /// The first packet of a queue.
    pub fn first(&self, queue: QueueId) -> Option<SlotId> {
        SlotId::from_link(self.queue(queue).first)
    }

    /// The last packet of a queue.
    pub fn last(&self, queue: QueueId) -> Option<SlotId> {
        SlotId::from_link(self.queue(queue).last)
    }

    /// Number of packets in a queue.
    pub fn packets(&self, queue: QueueId) -> u32 {
        self.queue(queue).packets
    }

    /// IP bytes in a queue.
    pub fn bytes(&self, queue: QueueId) -> u32 {
        self.queue(queue).bytes
    }

    /// The queues that hold a packet, in order of number. Walks over all queues, so it is for rare events.
    pub fn occupied(&self) -> impl Iterator<Item = QueueId> + '_ {
        self.occupied.iter().enumerate().flat_map(|(at, &word)| {
            let rest = |word: &u64| Some(word & (word - 1)).filter(|rest| *rest != 0);
            let words = std::iter::successors((word != 0).then_some(word), rest);
            words.map(move |word| QueueId(at as u32 * 64 + word.trailing_zeros()))
        })
    }
}
