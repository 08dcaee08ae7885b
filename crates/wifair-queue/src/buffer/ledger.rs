use std::ops::{AddAssign, Sub};

use wifair_core::Class;

/// Why an arriving packet was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The buffer was full and nothing was evicted for it.
    TailDrop,
}

/// Why a queued packet was thrown out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// A redundant ACK: a later one says all that it says. Counted as filtered, which is not a loss.
    Redundant,
    /// Pushed out for the sake of an arrival: a loss.
    Victim,
}

/// A number of packets and the IP bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Their IP lengths together, in bytes.
    pub bytes: u64,
}

impl Count {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl Sub for Count {
    type Output = Count;
    fn sub(self, other: Count) -> Count {
        Count { packets: self.packets - other.packets, bytes: self.bytes - other.bytes }
    }
}

/// Running totals of one flow and class. What else there is to know follows from the identities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    pub accepted: Count,
    pub dequeued: Count,
    pub delivered: Count,
    pub lost_at_retry_limit: Count,
    pub refused: Count,
    pub filtered: Count,
    pub evicted: Count,
}

impl Row {
    pub fn queued(&self) -> Count {
        self.accepted - self.dequeued - self.filtered - self.evicted
    }

    pub fn in_service(&self) -> Count {
        self.dequeued - self.delivered - self.lost_at_retry_limit
    }

    /// Whether a packet is queued or in service.
    #[inline]
    pub fn holds(&self) -> bool {
        let gone = self.delivered.packets
            + self.lost_at_retry_limit.packets
            + self.filtered.packets
            + self.evicted.packets;
        self.accepted.packets != gone
    }
}

impl AddAssign<&Row> for Row {
    fn add_assign(&mut self, other: &Row) {
        self.accepted += other.accepted;
        self.dequeued += other.dequeued;
        self.delivered += other.delivered;
        self.lost_at_retry_limit += other.lost_at_retry_limit;
        self.refused += other.refused;
        self.filtered += other.filtered;
        self.evicted += other.evicted;
    }
}

/// The rows of one flow, by [`Class`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowRows {
    pub rows: [Row; 3],
    /// How many flows had this id before.
    pub predecessors: u32,
}

/// The books of a buffer: a row for every flow now known, and the sum of those retired.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    pub flows: Vec<FlowRows>,
    pub retired: [Row; 3],
}

impl Books {
    #[inline]
    pub fn row(&mut self, flow: usize, class: Class) -> &mut Row {
        &mut self.flows[flow].rows[class as usize]
    }

    /// All flows that ever were, by class.
    pub fn totals(&self) -> [Row; 3] {
        let mut totals = self.retired;
        for flow in &self.flows {
            for (total, row) in totals.iter_mut().zip(&flow.rows) {
                *total += row;
            }
        }
        totals
    }
}
