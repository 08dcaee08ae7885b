use super::longest::Longest;
use super::slots::{NONE, SlotId, Slots};
use super::{ASKED, Arrival, Buffer, Placed};

/// A queue within a buffer, numbered by the scheme. Numbers should be dense: the buffer keeps a row for each up to the
/// greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub u32);

impl QueueId {
    /// Index into a `Vec` of queues.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The queues into which a scheme has put packets, each in order of arrival, and their bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    queues: Vec<Queue>,
    /// By slot.
    links: Vec<Link>,
    /// By queue, 64 to a word: whether it holds a packet.
    occupied: Vec<u64>,
    bytes: u64,
    /// The queues ranked by bytes; kept from the first query on.
    longest: Option<Longest>,
    /// The queue that the next admitted packet joins.
    joined: QueueId,
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
struct Link {
    before: u32,
    after: u32,
    queue: u32,
}

impl Queues {
    pub fn grow_slots(&mut self, slots: usize) {
        self.links.resize(slots, Link { before: NONE, after: NONE, queue: NONE });
    }

    #[cold]
    fn grow_queues(&mut self, queues: usize) {
        self.queues.resize(queues, EMPTY);
        self.occupied.resize(queues.div_ceil(64), 0);
        if let Some(longest) = &mut self.longest {
            longest.grow_queues(queues);
        }
    }

    /// Appends an admitted packet to the queue that it was to join.
    pub fn insert(&mut self, slots: &Slots, slot: SlotId) {
        let id = std::mem::take(&mut self.joined);
        if id.index() >= self.queues.len() {
            self.grow_queues(id.index() + 1);
        }
        let bytes = slots.get(slot).packet.ip_bytes();
        self.bytes += u64::from(bytes);
        let queue = &mut self.queues[id.index()];
        self.links[slot.index()] = Link { before: queue.last, after: NONE, queue: id.0 };
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

    pub fn remove(&mut self, slots: &Slots, slot: SlotId) {
        let bytes = slots.get(slot).packet.ip_bytes();
        self.bytes -= u64::from(bytes);
        let Link { before, after, queue: id } = self.links[slot.index()];
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

    fn queue(&self, id: QueueId) -> &Queue {
        self.queues.get(id.index()).unwrap_or(&EMPTY)
    }

    /// The queues that hold a packet, in the order of their numbers.
    fn occupied(&self) -> impl Iterator<Item = QueueId> + '_ {
        self.occupied.iter().enumerate().flat_map(|(at, &word)| {
            let rest = |word: &u64| Some(word & (word - 1)).filter(|rest| *rest != 0);
            let words = std::iter::successors((word != 0).then_some(word), rest);
            words.map(move |word| QueueId(at as u32 * 64 + word.trailing_zeros()))
        })
    }
}

/// For schemes that request [`Indexes::queues`](crate::Indexes::queues). Every packet is in a queue: number 0 unless it was
/// admitted by [`Buffer::append_to`].
impl Buffer {
    /// Like [`Buffer::append`], and appends the packet to a queue.
    pub fn append_to(&mut self, arrival: Arrival, queue: QueueId) -> Placed {
        self.index.as_mut().expect(ASKED).queues_mut().joined = queue;
        self.append(arrival)
    }

    /// The first packet of a queue.
    pub fn first_of(&self, queue: QueueId) -> Option<SlotId> {
        SlotId::from_link(self.index().queues().queue(queue).first)
    }

    /// The last packet of a queue.
    pub fn last_of(&self, queue: QueueId) -> Option<SlotId> {
        SlotId::from_link(self.index().queues().queue(queue).last)
    }

    /// The queue that a queued packet is in.
    pub fn queue_of(&self, slot: SlotId) -> QueueId {
        QueueId(self.index().queues().links[slot.index()].queue)
    }

    /// Number of packets in a queue.
    pub fn packets_of(&self, queue: QueueId) -> u32 {
        self.index().queues().queue(queue).packets
    }

    /// IP bytes in a queue.
    pub fn bytes_of(&self, queue: QueueId) -> u32 {
        self.index().queues().queue(queue).bytes
    }

    /// IP bytes in all queues.
    pub fn bytes(&self) -> u64 {
        self.index().queues().bytes
    }

    /// The queue with the most bytes, on a tie the one with the smallest number. O(log n). The first call walks over all
    /// queues; after it, every arrival and departure updates the ranking.
    pub fn longest_queue(&mut self) -> Option<QueueId> {
        let Queues { queues, longest, .. } = self.index.as_mut().expect(ASKED).queues_mut();
        let longest = longest.get_or_insert_with(|| Longest::new(queues.iter().map(|queue| queue.bytes)));
        longest.queue().map(|queue| QueueId(queue as u32))
    }

    /// The queues that hold a packet, in order of number. Walks over all queues, so it is for rare events.
    pub fn occupied_queues(&self) -> impl Iterator<Item = QueueId> + '_ {
        self.index().queues().occupied()
    }
}
