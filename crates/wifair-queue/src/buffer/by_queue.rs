//! What a scheme reads of its queues.

use super::Buffer;
use super::passage::{Arrival, Placed};
use super::queues::QueueId;
use super::slots::{ASKED, SlotId};

/// For schemes that request [`Indexes::queues`](crate::Indexes::queues). Every packet is in a queue: number 0 unless it was
/// admitted by [`Buffer::append_to`].
impl Buffer {
    /// Like [`Buffer::append`], and appends the packet to a queue.
    pub fn append_to(&mut self, arrival: Arrival, queue: QueueId) -> Placed {
        self.index.as_mut().expect(ASKED).queues_mut().join_next(queue);
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
        self.index().queues().queue_of(slot)
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
        self.index().queues().bytes()
    }

    /// The queue with the most bytes, on a tie the one with the smallest number. O(log n). The first call walks over all
    /// queues; after it, every arrival and departure updates the ranking.
    pub fn longest_queue(&mut self) -> Option<QueueId> {
        self.index.as_mut().expect(ASKED).queues_mut().longest()
    }

    /// The queues that hold a packet, in order of number. Walks over all queues, so it is for rare events.
    pub fn occupied_queues(&self) -> impl Iterator<Item = QueueId> + '_ {
        self.index().queues().occupied()
    }
}
