use wifair_core::{Class, Counters, FlowId, LogHistogram, Time, counters};

use crate::buffer::{Count, Counted, Fifo, PacketCounters, QueuedPacket};
use crate::policing::{Policed, PolicingCounters};

counters! {
    /// Counters of the packets of a class, of one flow or of all: packets and IP bytes.
    ///
    /// offered = tail_dropped + aqm_refused + accepted; queued_before + accepted = dequeued + evicted + aqm_evicted + filtered
    /// + queued; in_service_before + dequeued = delivered + lost_at_retry_limit + in_service. Apart from these, policed =
    /// forwarded + police_dropped, of packets from stations.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Ledger |now, earlier| {
        /// Queued when counting began; nothing in a cumulative ledger.
        pub queued_before: Count = earlier.queued,
        /// In service when counting began; nothing in a cumulative ledger.
        pub in_service_before: Count = earlier.in_service,
        /// Arrivals.
        pub offered: Count,
        /// Arrivals admitted.
        pub accepted: Count,
        /// Lost: arrivals refused because the buffer was full.
        pub tail_dropped: Count,
        /// Lost: arrivals refused although there was room, as congestion signals.
        pub aqm_refused: Count,
        /// Lost: queued packets evicted for an arrival, or above a limit that was lowered.
        pub evicted: Count,
        /// Lost: queued packets dropped as congestion signals.
        pub aqm_evicted: Count,
        /// Not lost: redundant ACKs removed.
        pub filtered: Count,
        /// Handed to the MAC.
        pub dequeued: Count,
        /// Acknowledged by the MAC's peer.
        pub delivered: Count,
        /// Lost: given up at the retry limit.
        pub lost_at_retry_limit: Count,
        /// Marked with CE here, whether or not lost later.
        pub ce_marked: Count,
        /// Pure ACKs on which ECE was set here, whether or not lost later.
        pub ece_marked: Count,
        /// From stations, and policed here ([`Scheme::police`](crate::Scheme::police)).
        pub policed: Count,
        /// Of these, forwarded with a CE that was set here.
        pub police_marked: Count,
        /// Of these, lost: dropped here.
        pub police_dropped: Count,
        /// Still queued at the end.
        pub queued: Count = now.queued,
        /// At the MAC at the end.
        pub in_service: Count = now.in_service,
    }
}

impl Ledger {
    /// Packets lost before they were handed to the MAC, for any reason.
    pub fn lost_in_buffer(&self) -> Count {
        let mut lost = self.tail_dropped;
        lost.add(&self.aqm_refused);
        lost.add(&self.evicted);
        lost.add(&self.aqm_evicted);
        lost
    }

    /// Packets from stations that were policed and forwarded, marked ones included.
    pub fn forwarded(&self) -> Count {
        self.policed.since(&self.police_dropped)
    }

    /// Adds what was counted of packets from stations.
    pub(crate) fn add_policed(&mut self, policed: &Policed) {
        self.policed.add(&policed.received);
        self.police_marked.add(&policed.ce_marked);
        self.police_dropped.add(&policed.dropped);
    }

    /// Converts the totals of a flow and class, given what is queued. Admitted packets are not counted separately: each is
    /// still queued or was counted when it left.
    pub(crate) fn of(counters: &PacketCounters, queued: Count) -> Ledger {
        let mut accepted = queued;
        accepted.add(&counters.gone());
        let mut offered = accepted;
        offered.add(&counters.total(Counted::Refused));
        offered.add(&counters.total(Counted::AqmRefused));
        Ledger {
            queued_before: Count::default(),
            in_service_before: Count::default(),
            offered,
            accepted,
            tail_dropped: counters.total(Counted::Refused),
            aqm_refused: counters.total(Counted::AqmRefused),
            evicted: counters.total(Counted::Evicted),
            aqm_evicted: counters.total(Counted::AqmEvicted),
            filtered: counters.total(Counted::Filtered),
            dequeued: counters.total(Counted::Dequeued),
            delivered: counters.total(Counted::Delivered),
            lost_at_retry_limit: counters.total(Counted::LostAtRetryLimit),
            ce_marked: counters.total(Counted::CeMarked),
            ece_marked: counters.total(Counted::EceMarked),
            policed: Count::default(),
            police_marked: Count::default(),
            police_dropped: Count::default(),
            queued,
            in_service: counters.in_service(),
        }
    }
}

/// The ledger of one flow, by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLedger {
    /// The flow's id; [`Flows::tuple`](crate::Flows::tuple) returns its 5-tuple.
    pub flow: FlowId,
    /// How many flows had this id before.
    pub predecessors: u32,
    /// By [`Class`].
    pub classes: [Ledger; 3],
}

/// All counters of a transmit queue at an instant, since the start or, after [`TxQueueSnapshot::since`], since an earlier
/// snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct TxQueueSnapshot {
    /// The instant.
    pub at: Time,
    /// Totals over all flows, including forgotten ones, by [`Class`].
    pub classes: [Ledger; 3],
    /// Each currently known flow that has offered a packet, or had one policed.
    pub flows: Vec<FlowLedger>,
    /// Queue length in packets (without the one in service), weighted by nanoseconds. Its mean is exact.
    pub length: LogHistogram,
    /// Nanoseconds from enqueue to dequeue of each packet dequeued.
    pub sojourn: LogHistogram,
    /// Nanoseconds from dequeue to first transmission of each packet, on links with a Block Ack agreement.
    pub wait_below: LogHistogram,
}

impl TxQueueSnapshot {
    pub(crate) fn of(fifo: &Fifo, policing: Option<&PolicingCounters>, now: Time) -> TxQueueSnapshot {
        let counters = fifo.counters();
        let mut queued = vec![[Count::default(); 3]; counters.flows.len()];
        for slot in fifo.slots().iter() {
            let QueuedPacket { packet, flow, class, .. } = fifo.slots().get(slot);
            let count = &mut queued[flow.index()][*class as usize];
            count.add(&Count { packets: 1, bytes: packet.ip_bytes().into() });
        }

        let mut totals = *counters.retired;
        let mut queued_in_all = [Count::default(); 3];
        let mut flows = Vec::new();
        for (id, (flow, queued)) in counters.flows.iter().zip(&queued).enumerate() {
            for class in Class::ALL.map(|class| class as usize) {
                totals[class].add(&flow.classes[class]);
                queued_in_all[class].add(&queued[class]);
            }
            let mut classes =
                Class::ALL.map(|class| Ledger::of(&flow.classes[class as usize], queued[class as usize]));
            if let Some(policed) = policing.and_then(|policing| policing.of(FlowId(id as u32))) {
                classes.iter_mut().zip(policed).for_each(|(ledger, policed)| ledger.add_policed(policed));
            }
            if classes.iter().any(|ledger| ledger.offered.packets + ledger.policed.packets > 0) {
                flows.push(FlowLedger { flow: FlowId(id as u32), predecessors: flow.predecessors, classes });
            }
        }
        let mut classes =
            Class::ALL.map(|class| Ledger::of(&totals[class as usize], queued_in_all[class as usize]));
        if let Some(policing) = policing {
            classes
                .iter_mut()
                .zip(&policing.total())
                .for_each(|(ledger, policed)| ledger.add_policed(policed));
        }
        TxQueueSnapshot {
            at: now,
            classes,
            flows,
            length: fifo.length_histogram(now),
            sojourn: fifo.sojourn().clone(),
            wait_below: LogHistogram::new(),
        }
    }

    /// The ledger of a class over all flows.
    pub fn class(&self, class: Class) -> &Ledger {
        &self.classes[class as usize]
    }

    /// Returns the difference from `earlier`, a snapshot of the same transmit queue. A flow that was forgotten in between is in
    /// `classes` only.
    pub fn since(&self, earlier: &TxQueueSnapshot) -> TxQueueSnapshot {
        let mut flows = self.flows.clone();
        let mut before = earlier.flows.iter().peekable();
        for flow in &mut flows {
            while before.next_if(|b| b.flow < flow.flow).is_some() {}
            // Another flow under the same id starts from zero.
            let same = before.next_if(|b| b.flow == flow.flow && b.predecessors == flow.predecessors);
            if let Some(same) = same {
                flow.classes = flow.classes.since(&same.classes);
            }
        }
        TxQueueSnapshot {
            at: self.at,
            classes: self.classes.since(&earlier.classes),
            flows,
            length: self.length.since(&earlier.length),
            sojourn: self.sojourn.since(&earlier.sojourn),
            wait_below: self.wait_below.since(&earlier.wait_below),
        }
    }
}
