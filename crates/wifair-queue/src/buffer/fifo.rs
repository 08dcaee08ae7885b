//! The packets of a buffer from head to tail, with their counters.

use wifair_core::{FlowId, LogHistogram, Time};

use super::arrival::Arrival;
use super::counters::{BufferCounters, Counted, FlowCounters, PacketCounters};
use super::dequeued::{DequeuedPacket, DequeuedSlot};
use super::slots::{QueuedPacket, SlotId, Slots};
use crate::words::{Eviction, Outcome, Refusal};

/// What every buffer has, whatever its scheme: an ordered list from which any packet can be removed in O(1), the limit, and
/// the counters. It knows no index, so only a buffer without one may append and release directly.
#[derive(Clone, Debug)]
#[repr(C)] // what every packet needs comes first, in three cache lines
pub(crate) struct Fifo {
    now: Time,
    limit: u32,
    in_service: u32,
    counts_in_service: bool,
    slots: Slots,
    /// When the length last changed.
    length_since: Time,
    /// Nanoseconds spent at each length, up to the last change of length.
    time_at_length: Vec<u64>,
    counters: BufferCounters,
    sojourn: LogHistogram,
}

impl Fifo {
    pub fn new(limit_packets: u32, counts_in_service: bool) -> Fifo {
        Fifo {
            now: Time::ZERO,
            limit: limit_packets,
            in_service: 0,
            counts_in_service,
            slots: Slots::new(),
            length_since: Time::ZERO,
            time_at_length: vec![0],
            counters: BufferCounters::default(),
            sojourn: LogHistogram::new(),
        }
    }

    /// Advances the clock; called before every operation.
    pub fn advance(&mut self, now: Time) {
        if now < self.now {
            backwards(now, self.now);
        }
        self.now = now;
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// The packets in order.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// A queued packet, to be marked.
    pub fn queued_mut(&mut self, slot: SlotId) -> &mut QueuedPacket {
        self.slots.get_mut(slot)
    }

    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Sets the limit. If it is below the current length, nothing is evicted: the buffer is full until it has drained.
    pub fn set_limit(&mut self, packets: u32) {
        self.limit = packets;
    }

    /// Packets that count towards the limit.
    fn occupancy(&self) -> u32 {
        self.slots.len() + self.in_service * u32::from(self.counts_in_service)
    }

    pub fn is_full(&self) -> bool {
        self.slots.len() >= self.limit || self.counts_in_service && self.occupancy() >= self.limit
    }

    pub fn excess(&self) -> u32 {
        self.occupancy().saturating_sub(self.limit).min(self.slots.len())
    }

    pub fn is_idle(&self) -> bool {
        self.slots.len() == 0 && self.in_service == 0
    }

    /// Adds the time at the current length; called before every change of the length.
    #[inline]
    pub fn length_changes(&mut self) {
        self.time_at_length[self.slots.len() as usize] += (self.now - self.length_since).as_ns();
        self.length_since = self.now;
    }

    /// Appends an arrival in a free slot; `None` if there is none.
    #[inline]
    pub fn push(&mut self, arrival: &Arrival) -> Option<SlotId> {
        self.slots.push(arrival, self.now)
    }

    /// Adds a free slot and returns the number of slots. There are never more slots than packets were queued at once, so the
    /// number of slots bounds the lengths to keep time for.
    #[cold]
    #[inline(never)]
    pub fn grow(&mut self) -> usize {
        self.time_at_length.push(0);
        self.slots.grow()
    }

    /// Appends an arrival if there is room, else drops it.
    #[inline(always)] // a call saves and restores more registers than the rest takes
    pub fn append_or_drop(&mut self, arrival: &Arrival) -> Option<SlotId> {
        if self.is_full() {
            self.refuse(arrival, Refusal::TailDrop);
            return None;
        }
        self.length_changes();
        loop {
            if let Some(slot) = self.push(arrival) {
                return Some(slot);
            }
            self.grow();
        }
    }

    /// Counts a refused arrival.
    #[inline]
    pub fn refuse(&mut self, arrival: &Arrival, reason: Refusal) {
        let counted = match reason {
            Refusal::TailDrop => Counted::Refused,
            Refusal::Aqm => Counted::AqmRefused,
        };
        self.counters.of(arrival.flow, arrival.class).count(counted, arrival.packet.ip_bytes());
    }

    /// Counts the eviction of a queued packet, which is removed or replaced next.
    #[inline]
    pub fn count_eviction(&mut self, slot: SlotId, reason: Eviction) {
        let counted = match reason {
            Eviction::Redundant => Counted::Filtered,
            Eviction::Victim => Counted::Evicted,
            Eviction::Aqm => Counted::AqmEvicted,
        };
        self.count(slot, counted);
    }

    /// Counts what happens to a queued packet.
    #[inline]
    pub fn count(&mut self, slot: SlotId, counted: Counted) {
        let queued = self.slots.get(slot);
        self.counters.of(queued.flow, queued.class).count(counted, queued.packet.ip_bytes());
    }

    #[inline(always)]
    pub fn remove(&mut self, slot: SlotId) {
        self.slots.remove(slot);
    }

    /// Replaces a packet by an arrival at the same position.
    #[inline]
    pub fn replace(&mut self, slot: SlotId, arrival: &Arrival) {
        self.slots.replace(slot, arrival, self.now);
    }

    /// Hands a packet to the MAC.
    #[inline(always)] // packets of an A-MPDU leave in a loop
    pub fn release(&mut self, slot: SlotId) -> DequeuedSlot<'_> {
        self.length_changes();
        self.in_service += 1;
        let old = self.slots.remove(slot);
        count_departure(old, &mut self.counters, &mut self.sojourn, self.now);
        DequeuedSlot(old)
    }

    /// Hands the packet at the head to the MAC.
    #[inline(always)] // as above
    pub fn release_head(&mut self) -> Option<DequeuedSlot<'_>> {
        let (len, now) = (self.slots.len() as usize, self.now);
        let old = self.slots.remove_head()?;
        self.time_at_length[len] += (now - self.length_since).as_ns();
        self.length_since = now;
        self.in_service += 1;
        count_departure(old, &mut self.counters, &mut self.sojourn, now);
        Some(DequeuedSlot(old))
    }

    /// The packet that has left a slot.
    #[inline]
    pub fn dequeued(&self, slot: SlotId) -> DequeuedSlot<'_> {
        DequeuedSlot(self.slots.former(slot))
    }

    /// Ends a packet's service by the MAC.
    pub fn complete(&mut self, dequeued: &DequeuedPacket, outcome: Outcome) {
        let counted = match outcome {
            Outcome::Delivered => Counted::Delivered,
            Outcome::LostAtRetryLimit => Counted::LostAtRetryLimit,
        };
        self.counters.of(dequeued.flow, dequeued.class).count(counted, dequeued.packet.ip_bytes());
        self.in_service -= 1;
    }

    /// Whether there are counters of a flow.
    #[inline(always)]
    pub fn knows(&self, flow: FlowId) -> bool {
        flow.index() < self.counters.flows.len()
    }

    /// Creates the counters of a flow and of those before it.
    pub fn add_flow(&mut self, flow: FlowId) {
        self.counters.flows.resize(flow.index() + 1, FlowCounters::default());
    }

    /// Whether a packet of the flow is queued or in service. Walks the queue; rarely called.
    pub fn holds(&self, flow: FlowId) -> bool {
        let Some(counters) = self.counters.flows.get(flow.index()) else { return false };
        counters.classes.iter().any(|counters| counters.in_service().packets > 0)
            || self.slots.iter().any(|slot| self.slots.get(slot).flow == flow)
    }

    /// Closes the counters of a flow of which no packet is left.
    pub fn retire(&mut self, flow: FlowId) -> [PacketCounters; 3] {
        self.counters.retire(flow)
    }

    pub fn counters(&self) -> &BufferCounters {
        &self.counters
    }

    pub fn sojourn(&self) -> &LogHistogram {
        &self.sojourn
    }

    /// Total time for which nothing was queued up to `now`, since time zero.
    pub fn empty_time(&self, now: Time) -> Time {
        let now = if self.slots.len() == 0 { now - self.length_since } else { Time::ZERO };
        Time::from_ns(self.time_at_length[0]) + now
    }

    /// Histogram of queue lengths up to `now`, weighted by their duration in nanoseconds.
    pub fn length_histogram(&self, now: Time) -> LogHistogram {
        let mut histogram = LogHistogram::new();
        for (length, &time) in self.time_at_length.iter().enumerate() {
            if time > 0 {
                histogram.record_weighted(length as u64, time);
            }
        }
        if now > self.length_since {
            histogram.record_weighted(self.slots.len().into(), (now - self.length_since).as_ns());
        }
        histogram
    }

    /// Removes all packets and returns them from head to tail. Counters do not change: each packet is to be admitted again at
    /// once ([`Fifo::set_clock`]) or counted as evicted ([`Fifo::count_refused_as_evicted`]).
    pub fn drain(&mut self) -> Vec<QueuedPacket> {
        self.length_changes();
        let slots = std::mem::replace(&mut self.slots, Slots::new());
        slots.iter().map(|slot| *slots.get(slot)).collect()
    }

    /// Sets the clock to `at`, the enqueue time of the next packet to admit. No time is added to any length until the clock is
    /// reset.
    pub fn set_clock(&mut self, at: Time) {
        (self.now, self.length_since) = (at, at);
    }

    /// Counts packets that have been refused since `before` as evicted, since they had been admitted.
    pub fn count_refused_as_evicted(&mut self, before: &[FlowCounters]) {
        for (flow, earlier) in self.counters.flows.iter_mut().zip(before) {
            for (counters, earlier) in flow.classes.iter_mut().zip(&earlier.classes) {
                counters.refused_as_evicted(earlier);
            }
        }
    }
}

/// Counts a packet that leaves for the MAC.
#[inline(always)] // into the few places where packets leave
fn count_departure(old: &QueuedPacket, counters: &mut BufferCounters, sojourn: &mut LogHistogram, now: Time) {
    counters.of(old.flow, old.class).count(Counted::Dequeued, old.packet.ip_bytes());
    sojourn.record_time(now - old.enqueued_at);
}

#[cold]
fn backwards(now: Time, before: Time) -> ! {
    panic!("time runs backwards at a transmit queue: {now} after {before}")
}
