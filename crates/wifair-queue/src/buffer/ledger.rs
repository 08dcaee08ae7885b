use wifair_core::{Class, Counters, counters};

/// Why an arriving packet was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The buffer was full and nothing was evicted for it.
    TailDrop,
    /// There was room, but the scheme tells the sender of congestion by the loss.
    Aqm,
}

/// Why a queued packet was thrown out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// A redundant ACK: a later one says all that it says. Counted as filtered, which is not a loss.
    Redundant,
    /// Pushed out for the sake of an arrival, or above a limit that has been lowered: a loss.
    Victim,
    /// The scheme tells the sender of congestion by the loss.
    Aqm,
}

counters! {
    /// A number of packets and the IP bytes in them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Count {
        /// Packets.
        pub packets: u64,
        /// Their IP lengths together, in bytes.
        pub bytes: u64,
    }
}

/// What becomes of a packet, or is done to it, as far as it is counted. What else there is to know follows from the identities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fate {
    Refused,
    AqmRefused,
    Filtered,
    Evicted,
    AqmEvicted,
    Dequeued,
    Delivered,
    LostAtRetryLimit,
    CeMarked,
    EceMarked,
}

const FATES: usize = 10;

counters! {
    /// Running totals of one flow and class, by [`Fate`].
    ///
    /// Packets and bytes lie apart: side by side, the compiler adds to both in one vector operation, which takes six
    /// instructions in place of two.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Row {
        packets: [u64; FATES],
        bytes: [u64; FATES],
    }
}

impl Row {
    pub fn book(&mut self, fate: Fate, bytes: u32) {
        self.packets[fate as usize] += 1;
        self.bytes[fate as usize] += u64::from(bytes);
    }

    pub fn count(&self, fate: Fate) -> Count {
        Count { packets: self.packets[fate as usize], bytes: self.bytes[fate as usize] }
    }

    /// What was refused since `earlier` had been let in before: it counts as evicted.
    pub fn refused_as_evicted(&mut self, earlier: &Row) {
        for fate in [Fate::Refused, Fate::AqmRefused].map(|fate| fate as usize) {
            self.packets[Fate::Evicted as usize] += self.packets[fate] - earlier.packets[fate];
            self.bytes[Fate::Evicted as usize] += self.bytes[fate] - earlier.bytes[fate];
            (self.packets[fate], self.bytes[fate]) = (earlier.packets[fate], earlier.bytes[fate]);
        }
    }

    /// What has left the queue, one way or another.
    pub fn gone(&self) -> Count {
        let mut gone = self.count(Fate::Filtered);
        gone.add(&self.count(Fate::Evicted));
        gone.add(&self.count(Fate::AqmEvicted));
        gone.add(&self.count(Fate::Dequeued));
        gone
    }

    pub fn in_service(&self) -> Count {
        let left = self.count(Fate::Dequeued).since(&self.count(Fate::Delivered));
        left.since(&self.count(Fate::LostAtRetryLimit))
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
    pub fn row(&mut self, flow: usize, class: Class) -> &mut Row {
        &mut self.flows[flow].rows[class as usize]
    }

    /// Moves a flow's rows to those of the past.
    pub fn retire(&mut self, flow: usize) -> [Row; 3] {
        let rows = &mut self.flows[flow];
        let closed = std::mem::take(&mut rows.rows);
        rows.predecessors += 1;
        self.retired.add(&closed);
        closed
    }
}
