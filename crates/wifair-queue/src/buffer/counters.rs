use wifair_core::{Class, Counters, FlowId, counters};

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
pub(crate) enum Counted {
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

const COUNTED: usize = 10;

counters! {
    /// Running totals of one flow and class, by [`Counted`].
    ///
    /// Packets are counted from the middle downwards and bytes from the middle upwards, so the usual counters are close
    /// together. If packets and bytes of one were adjacent, the compiler would add to both in one vector operation, which takes
    /// six instructions instead of two.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct PacketCounters {
        totals: [u64; 2 * COUNTED],
    }
}

impl PacketCounters {
    /// Where packets and bytes are counted.
    fn places(counted: Counted) -> [usize; 2] {
        [COUNTED - 1 - counted as usize, COUNTED + counted as usize]
    }

    pub fn count(&mut self, counted: Counted, bytes: u32) {
        let [packets, at_bytes] = PacketCounters::places(counted);
        self.totals[packets] += 1;
        self.totals[at_bytes] += u64::from(bytes);
    }

    pub fn total(&self, counted: Counted) -> Count {
        let [packets, bytes] = PacketCounters::places(counted).map(|place| self.totals[place]);
        Count { packets, bytes }
    }

    /// Counts packets refused since `earlier` as evicted: they had been admitted before.
    pub fn refused_as_evicted(&mut self, earlier: &PacketCounters) {
        for counted in [Counted::Refused, Counted::AqmRefused] {
            let evicted = PacketCounters::places(Counted::Evicted);
            for (to, from) in evicted.into_iter().zip(PacketCounters::places(counted)) {
                self.totals[to] += self.totals[from] - earlier.totals[from];
                self.totals[from] = earlier.totals[from];
            }
        }
    }

    /// Everything that has left the queue.
    pub fn gone(&self) -> Count {
        let mut gone = self.total(Counted::Filtered);
        gone.add(&self.total(Counted::Evicted));
        gone.add(&self.total(Counted::AqmEvicted));
        gone.add(&self.total(Counted::Dequeued));
        gone
    }

    pub fn in_service(&self) -> Count {
        let left = self.total(Counted::Dequeued).since(&self.total(Counted::Delivered));
        left.since(&self.total(Counted::LostAtRetryLimit))
    }
}

/// The counters of one flow, by [`Class`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))] // the usual counters of data are in the second cache line
pub(crate) struct FlowCounters {
    /// How many flows had this id before.
    pub predecessors: u32,
    pub classes: [PacketCounters; 3],
}

/// The counters of a buffer: one set per known flow, and the sum of the retired ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferCounters {
    pub flows: Vec<FlowCounters>,
    pub retired: Box<[PacketCounters; 3]>,
}

impl BufferCounters {
    pub fn of(&mut self, flow: FlowId, class: Class) -> &mut PacketCounters {
        &mut self.flows[flow.index()].classes[class as usize]
    }

    /// Adds a flow's counters to the retired ones and clears them.
    pub fn retire(&mut self, flow: FlowId) -> [PacketCounters; 3] {
        let counters = &mut self.flows[flow.index()];
        let closed = std::mem::take(&mut counters.classes);
        counters.predecessors += 1;
        self.retired.add(&closed);
        closed
    }
}
