use wifair_core::{Class, Counters, counters};

counters! {
    /// A number of packets and the IP bytes in them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Count {
        /// Packets.
        pub packets: u64,
        /// Total IP length in bytes.
        pub bytes: u64,
    }
}

/// Counted outcomes and marks of a packet, the usual ones near the top. All other counts follow from the identities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fate {
    CeMarked,
    Dequeued,
    Delivered,
    Refused,
    Filtered,
    Evicted,
    LostAtRetryLimit,
    AqmRefused,
    AqmEvicted,
    EceMarked,
}

const FATES: usize = 10;

counters! {
    /// Running totals of one flow and class, by [`Fate`].
    ///
    /// Packets are counted from the middle downwards and bytes from the middle upwards, so the usual fates are close together.
    /// If packets and bytes of one were adjacent, the compiler would add to both in one vector operation, which takes six
    /// instructions instead of two.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Row {
        totals: [u64; 2 * FATES],
    }
}

impl Row {
    /// Where packets and bytes of a fate are counted.
    fn places(fate: Fate) -> [usize; 2] {
        [FATES - 1 - fate as usize, FATES + fate as usize]
    }

    pub fn book(&mut self, fate: Fate, bytes: u32) {
        let [packets, at_bytes] = Row::places(fate);
        self.totals[packets] += 1;
        self.totals[at_bytes] += u64::from(bytes);
    }

    pub fn count(&self, fate: Fate) -> Count {
        let [packets, bytes] = Row::places(fate).map(|place| self.totals[place]);
        Count { packets, bytes }
    }

    /// Counts packets refused since `earlier` as evicted: they had been admitted before.
    pub fn refused_as_evicted(&mut self, earlier: &Row) {
        for fate in [Fate::Refused, Fate::AqmRefused] {
            for (to, from) in Row::places(Fate::Evicted).into_iter().zip(Row::places(fate)) {
                self.totals[to] += self.totals[from] - earlier.totals[from];
                self.totals[from] = earlier.totals[from];
            }
        }
    }

    /// Everything that has left the queue.
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
#[repr(C, align(64))] // the usual fates of data are in the second cache line
pub(crate) struct FlowRows {
    /// How many flows had this id before.
    pub predecessors: u32,
    pub rows: [Row; 3],
}

/// The counters of a buffer: a row per known flow, and the sum of the retired ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Books {
    pub flows: Vec<FlowRows>,
    pub retired: Box<[Row; 3]>,
}

impl Books {
    pub fn row(&mut self, flow: usize, class: Class) -> &mut Row {
        &mut self.flows[flow].rows[class as usize]
    }

    /// Adds a flow's rows to the retired ones and clears them.
    pub fn retire(&mut self, flow: usize) -> [Row; 3] {
        let rows = &mut self.flows[flow];
        let closed = std::mem::take(&mut rows.rows);
        rows.predecessors += 1;
        self.retired.add(&closed);
        closed
    }
}
