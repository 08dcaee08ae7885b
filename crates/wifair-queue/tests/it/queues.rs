//! The queues within a buffer, as a scheme sees them, against a plain list of what waits.

use crate::common;

use common::{cases, data};
use proptest::prelude::*;
use wifair_core::{Ac, FlowId, Packet, StationId, Time};
use wifair_queue::{
    Arrival, Buffer, Cx, DequeuedPacket, Eviction, Flows, FlowsSpec, Grant, Indexes, Placed, QueueId, Scheme,
    SlotId, TxQueue, TxQueueSpec, View,
};

const QUEUES: u32 = 300;

/// Each flow has a queue. The longest one loses its last packet when there is no room, and the one that the grant asks for by
/// its station gives its first packet.
#[derive(Default)]
struct ByFlow {
    /// What waits, in the order of arrival: queue, IP length, serial number.
    waiting: Vec<(u32, u32, u32)>,
}

fn serial(slot: Option<SlotId>, buffer: &Buffer) -> Option<u32> {
    slot.map(|slot| buffer[slot].packet.window_bytes)
}

impl ByFlow {
    fn of(&self, queue: u32) -> impl DoubleEndedIterator<Item = &(u32, u32, u32)> {
        self.waiting.iter().filter(move |packet| packet.0 == queue)
    }

    fn bytes_of(&self, queue: u32) -> u32 {
        self.of(queue).map(|packet| packet.1).sum()
    }

    fn longest(&self) -> Option<QueueId> {
        let occupied = (0..QUEUES).filter(|&queue| self.bytes_of(queue) > 0);
        occupied.min_by_key(|&queue| (std::cmp::Reverse(self.bytes_of(queue)), queue)).map(QueueId)
    }

    fn forget(&mut self, slot: SlotId, buffer: &Buffer) {
        self.waiting.retain(|packet| packet.2 != buffer[slot].packet.window_bytes);
    }

    fn compare(&self, buffer: &Buffer) {
        assert_eq!(
            buffer.queues().total_bytes(),
            self.waiting.iter().map(|packet| u64::from(packet.1)).sum::<u64>()
        );
        let occupied = (0..QUEUES).filter(|&queue| self.of(queue).next().is_some()).map(QueueId);
        // No more than there can be, lest a walk that does not end takes all memory.
        let walked: Vec<QueueId> = buffer.queues().occupied().take(QUEUES as usize).collect();
        assert_eq!(walked, occupied.collect::<Vec<_>>());
        for queue in 0..QUEUES {
            let id = QueueId(queue);
            assert_eq!(buffer.queues().packets(id) as usize, self.of(queue).count());
            assert_eq!(buffer.queues().bytes(id), self.bytes_of(queue));
            assert_eq!(
                serial(buffer.queues().first(id), buffer),
                self.of(queue).next().map(|packet| packet.2)
            );
            assert_eq!(
                serial(buffer.queues().last(id), buffer),
                self.of(queue).next_back().map(|packet| packet.2)
            );
        }
    }
}

impl Scheme for ByFlow {
    fn needs(&self) -> Indexes {
        Indexes::NONE.queues()
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        if buffer.is_full() {
            let longest = buffer.longest_queue();
            assert_eq!(longest, self.longest());
            let last = longest.and_then(|queue| buffer.queues().last(queue)).expect("the buffer is full");
            self.forget(last, buffer);
            buffer.evict(last, Eviction::Victim);
            self.compare(buffer);
        }
        let (queue, packet) = (arrival.flow().0, *arrival.packet());
        let placed = buffer.append(arrival.to_queue(QueueId(queue)));
        self.waiting.push((queue, packet.ip_bytes(), packet.window_bytes));
        self.compare(buffer);
        placed
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, _cx: &mut Cx) -> Option<DequeuedPacket> {
        let first = buffer.queues().first(QueueId(grant.station?.0.into()))?;
        self.forget(first, buffer);
        let departure = buffer.release(first);
        self.compare(buffer);
        Some(departure)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn they_are_what_has_come_and_not_left(
        steps in prop::collection::vec(
            (prop::sample::select(vec![0u32, 1, 2, 62, 63, 64, 65, 127, 128, 299]), 1u32..4, any::<bool>()),
            1..120,
        ),
        limit_packets in 2u32..30,
    ) {
        let spec = TxQueueSpec { limit_packets, ..TxQueueSpec::default() };
        let mut tx_queue = TxQueue::with_scheme(&spec, Box::new(ByFlow::default()), 1, "ap");
        let flows = Flows::new(&FlowsSpec::default());
        let view = View { flows: &flows, links: &[] };
        for (serial, (queue, size, arrives)) in (0u32..).zip(steps) {
            let (now, station) = (Time::from_ns(u64::from(serial)), StationId(queue as u16));
            if arrives {
                let packet = Packet { window_bytes: serial, payload_bytes: 100 * size, ..data(queue, 1) };
                tx_queue.enqueue(Ac::BestEffort, &packet, FlowId(queue), station, now, || view);
            } else {
                let grant = Grant { station: Some(station), ..Grant::ANY };
                if let Some(departure) = tx_queue.dequeue(&grant, now, || view).map(DequeuedPacket::from) {
                    prop_assert_eq!(departure.flow, FlowId(queue));
                }
            }
        }
    }
}
