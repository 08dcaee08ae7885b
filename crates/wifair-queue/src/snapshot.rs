use std::ops::AddAssign;

use wifair_core::{Class, FlowId, LogHistogram, Time};

use crate::buffer::{Buffer, Count, Fate, Row};

/// What happened to the packets of a class, of one flow or of all: packets and IP bytes.
///
/// offered = tail_dropped + aqm_refused + accepted;
/// queued_before + accepted = dequeued + evicted + aqm_evicted + filtered + queued; in_service_before + dequeued = delivered + lost_at_retry_limit + in_service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Queued when counting began; nothing in a cumulative ledger.
    pub queued_before: Count,
    /// In service when counting began; nothing in a cumulative ledger.
    pub in_service_before: Count,
    /// Arrivals.
    pub offered: Count,
    /// Arrivals let in.
    pub accepted: Count,
    /// Lost: arrivals kept out because the buffer was full.
    pub tail_dropped: Count,
    /// Lost: arrivals kept out although there was room, to tell their senders of congestion.
    pub aqm_refused: Count,
    /// Lost: queued packets pushed out for the sake of an arrival, or above a limit that was lowered.
    pub evicted: Count,
    /// Lost: queued packets thrown out to tell their senders of congestion.
    pub aqm_evicted: Count,
    /// Not lost: redundant ACKs taken out.
    pub filtered: Count,
    /// Handed to the MAC.
    pub dequeued: Count,
    /// Acknowledged by the MAC's peer.
    pub delivered: Count,
    /// Lost: given up at the retry limit.
    pub lost_at_retry_limit: Count,
    /// Marked with CE here, whatever became of them.
    pub ce_marked: Count,
    /// Pure ACKs on which ECE was set here, whatever became of them.
    pub ece_marked: Count,
    /// Still queued at the end.
    pub queued: Count,
    /// At the MAC at the end.
    pub in_service: Count,
}

impl Ledger {
    /// Packets lost before the MAC took them, for whatever reason.
    pub fn lost_in_buffer(&self) -> Count {
        let mut lost = self.tail_dropped;
        lost += self.aqm_refused;
        lost += self.evicted;
        lost += self.aqm_evicted;
        lost
    }

    /// Of a row of the books and of what is queued. The buffer does not count what it lets in: it has it still, or
    /// has counted how it went.
    pub(crate) fn of(row: &Row, queued: Count) -> Ledger {
        let mut accepted = queued;
        accepted += row.gone();
        let mut offered = accepted;
        offered += row.count(Fate::Refused);
        offered += row.count(Fate::AqmRefused);
        Ledger {
            queued_before: Count::default(),
            in_service_before: Count::default(),
            offered,
            accepted,
            tail_dropped: row.count(Fate::Refused),
            aqm_refused: row.count(Fate::AqmRefused),
            evicted: row.count(Fate::Evicted),
            aqm_evicted: row.count(Fate::AqmEvicted),
            filtered: row.count(Fate::Filtered),
            dequeued: row.count(Fate::Dequeued),
            delivered: row.count(Fate::Delivered),
            lost_at_retry_limit: row.count(Fate::LostAtRetryLimit),
            ce_marked: row.count(Fate::CeMarked),
            ece_marked: row.count(Fate::EceMarked),
            queued,
            in_service: row.in_service(),
        }
    }

    /// What was counted between `earlier`, an earlier ledger of the same packets, and this one.
    pub fn since(&self, earlier: &Ledger) -> Ledger {
        Ledger {
            queued_before: earlier.queued,
            in_service_before: earlier.in_service,
            offered: self.offered - earlier.offered,
            accepted: self.accepted - earlier.accepted,
            tail_dropped: self.tail_dropped - earlier.tail_dropped,
            aqm_refused: self.aqm_refused - earlier.aqm_refused,
            evicted: self.evicted - earlier.evicted,
            aqm_evicted: self.aqm_evicted - earlier.aqm_evicted,
            filtered: self.filtered - earlier.filtered,
            dequeued: self.dequeued - earlier.dequeued,
            delivered: self.delivered - earlier.delivered,
            lost_at_retry_limit: self.lost_at_retry_limit - earlier.lost_at_retry_limit,
            ce_marked: self.ce_marked - earlier.ce_marked,
            ece_marked: self.ece_marked - earlier.ece_marked,
            queued: self.queued,
            in_service: self.in_service,
        }
    }
}

impl AddAssign<&Ledger> for Ledger {
    /// Two ledgers as one, as of several ports together.
    fn add_assign(&mut self, other: &Ledger) {
        self.queued_before += other.queued_before;
        self.in_service_before += other.in_service_before;
        self.offered += other.offered;
        self.accepted += other.accepted;
        self.tail_dropped += other.tail_dropped;
        self.aqm_refused += other.aqm_refused;
        self.evicted += other.evicted;
        self.aqm_evicted += other.aqm_evicted;
        self.filtered += other.filtered;
        self.dequeued += other.dequeued;
        self.delivered += other.delivered;
        self.lost_at_retry_limit += other.lost_at_retry_limit;
        self.ce_marked += other.ce_marked;
        self.ece_marked += other.ece_marked;
        self.queued += other.queued;
        self.in_service += other.in_service;
    }
}

/// The ledger of one flow, by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLedger {
    /// Its id; [`Flows::tuple`](crate::Flows::tuple) names it.
    pub flow: FlowId,
    /// How many flows had this id before.
    pub predecessors: u32,
    /// By [`Class`].
    pub classes: [Ledger; 3],
}

/// All counters of a port at an instant, since its beginning or, after [`PortSnapshot::since`], since another.
#[derive(Clone, Debug, PartialEq)]
pub struct PortSnapshot {
    /// The instant.
    pub at: Time,
    /// All flows together, those since forgotten included, by [`Class`].
    pub classes: [Ledger; 3],
    /// Each flow now known that has offered a packet.
    pub flows: Vec<FlowLedger>,
    /// Queue length in packets (without the one in service), weighted by nanoseconds. Its mean is exact.
    pub length: LogHistogram,
    /// Nanoseconds from enqueue to dequeue of each packet dequeued.
    pub sojourn: LogHistogram,
}

impl PortSnapshot {
    pub(crate) fn of(buffer: &Buffer, now: Time) -> PortSnapshot {
        let books = buffer.books();
        let mut queued = vec![[Count::default(); 3]; books.flows.len()];
        let mut slot = buffer.head();
        while let Some(at) = slot {
            let count = &mut queued[buffer.flow(at).index()][buffer.class(at) as usize];
            *count += Count { packets: 1, bytes: buffer.packet(at).ip_bytes().into() };
            slot = buffer.after(at);
        }

        let mut totals = books.retired;
        let mut queued_in_all = [Count::default(); 3];
        let mut flows = Vec::new();
        for (id, (flow, queued)) in books.flows.iter().zip(&queued).enumerate() {
            for class in Class::ALL.map(|class| class as usize) {
                totals[class] += &flow.rows[class];
                queued_in_all[class] += queued[class];
            }
            let classes =
                Class::ALL.map(|class| Ledger::of(&flow.rows[class as usize], queued[class as usize]));
            if classes.iter().any(|ledger| ledger.offered.packets > 0) {
                flows.push(FlowLedger { flow: FlowId(id as u32), predecessors: flow.predecessors, classes });
            }
        }
        PortSnapshot {
            at: now,
            classes: Class::ALL
                .map(|class| Ledger::of(&totals[class as usize], queued_in_all[class as usize])),
            flows,
            length: buffer.length_histogram(now),
            sojourn: buffer.sojourn().clone(),
        }
    }

    /// The ledger of a class over all flows.
    pub fn class(&self, class: Class) -> &Ledger {
        &self.classes[class as usize]
    }

    /// The measurement between `earlier`, a snapshot of the same port, and this one. A flow that was forgotten in
    /// between is in `classes` only.
    pub fn since(&self, earlier: &PortSnapshot) -> PortSnapshot {
        let mut classes = self.classes;
        for (class, before) in classes.iter_mut().zip(&earlier.classes) {
            *class = class.since(before);
        }
        let mut flows = self.flows.clone();
        let mut before = earlier.flows.iter().peekable();
        for flow in &mut flows {
            while before.next_if(|b| b.flow < flow.flow).is_some() {}
            // Another flow under the same id starts from nothing.
            let same = before.next_if(|b| b.flow == flow.flow && b.predecessors == flow.predecessors);
            let Some(same) = same else { continue };
            for (class, before) in flow.classes.iter_mut().zip(&same.classes) {
                *class = class.since(before);
            }
        }
        PortSnapshot {
            at: self.at,
            classes,
            flows,
            length: self.length.since(&earlier.length),
            sojourn: self.sojourn.since(&earlier.sojourn),
        }
    }
}
