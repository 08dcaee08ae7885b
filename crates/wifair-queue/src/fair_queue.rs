//! The core of FQ-CoDel (RFC 8290): packets hashed into queues, deficit round robin over the queues, CoDel at each, and the
//! overflow policy. `fq-codel` has one instance; `mac80211` shares one among its stations.

use crate::ack_filter::{AckFilter, filter_queue};
use crate::buffer::{Arrival, Buffer, DequeuedPacket, Indexes, Placed, QueueId};
use crate::codel::{self, Codel, CodelSettings};
use crate::drr::{DeficitRoundRobin, Turns};
use crate::flow_hash::FlowHash;
use crate::scheme::Cx;
use crate::words::{Eviction, Grant, Refusal};

/// How much is dropped at once from the longest queue at overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropBatch {
    /// Packets until half of its bytes are dropped.
    HalfTheBytes,
    /// Half of its packets, at least one.
    HalfThePackets,
}

/// Parameters of a [`FairQueue`].
#[derive(Clone, Debug)]
pub(crate) struct FairQueueSettings {
    pub buckets: u32,
    pub quantum_bytes: u32,
    /// Maximum bytes of all packets, the arrival included.
    pub limit_bytes: u64,
    pub batch: DropBatch,
    /// Maximum number of packets dropped at once.
    pub batch_packets: u32,
    /// Whether CoDel counts overflow drops as signals.
    pub overflow_counts: bool,
    /// Whether the lists are Linux's in two details that hardly matter: of tins' fallback queues of equal length the one that
    /// was filled last is shortened, and a queue stays in its list if its only packet is dropped on arrival.
    pub as_linux: bool,
}

/// A user of the queues, numbered from 0. The queues of each tin take turns among themselves.
pub(crate) type Tin = usize;

const NO_TIN: u32 = u32::MAX;

/// See the module documentation.
///
/// Queues 0 to `buckets` - 1 are those of the hash. A bucket in use by one tin is closed to the others; their packets go to
/// the fallback queue of their tin, number `buckets` + tin.
pub(crate) struct FairQueue {
    settings: FairQueueSettings,
    hash: Option<FlowHash>,
    robin: DeficitRoundRobin,
    /// By tin.
    turns: Vec<Turns>,
    /// By tin: packets queued.
    backlogs: Vec<u32>,
    /// By queue: the tin whose turns include it.
    tins: Vec<u32>,
    /// By queue.
    codels: Vec<Codel>,
    /// By tin: the number of the filling of its fallback queue, from 1; with `as_linux`.
    filled: Vec<u64>,
    fillings: u64,
}

impl FairQueue {
    pub fn new(settings: FairQueueSettings) -> FairQueue {
        FairQueue {
            hash: None,
            robin: DeficitRoundRobin::new(settings.quantum_bytes),
            turns: Vec::new(),
            backlogs: Vec::new(),
            tins: vec![NO_TIN; settings.buckets as usize],
            codels: vec![Codel::default(); settings.buckets as usize],
            filled: Vec::new(),
            fillings: 0,
            settings,
        }
    }

    /// The indexes that it needs from the buffer with an ACK filter.
    pub fn needs(filter: AckFilter) -> Indexes {
        filter.needs(Indexes::NONE.queues())
    }

    #[cold]
    fn grow_tins(&mut self, tins: usize) {
        let queues = self.settings.buckets as usize + tins;
        self.turns.resize(tins, Turns::EMPTY);
        self.backlogs.resize(tins, 0);
        self.filled.resize(tins, 0);
        self.tins.resize(queues, NO_TIN);
        self.codels.resize(queues, Codel::default());
    }

    /// Returns the queue of an arrival for a tin. The first call draws the hash keys.
    fn classify(&mut self, arrival: &Arrival, tin: Tin, cx: &mut Cx) -> QueueId {
        if tin >= self.turns.len() {
            self.grow_tins(tin + 1);
        }
        let buckets = self.settings.buckets;
        let hash = self.hash.get_or_insert_with(|| FlowHash::new(cx.rng));
        let bucket = hash.bucket(&arrival.packet().tuple, buckets);
        let user = self.tins[bucket as usize];
        if user == NO_TIN || user as usize == tin { QueueId(bucket) } else { self.fallback(tin) }
    }

    /// Packets queued for a tin.
    pub fn backlog(&self, tin: Tin) -> u32 {
        self.backlogs.get(tin).copied().unwrap_or(0)
    }

    /// Appends an arrival for a tin to its queue, after the ACK filter and making room. If the overflow drops from the longest
    /// queue would include the arrival, it is refused.
    pub fn enqueue(
        &mut self,
        arrival: Arrival,
        tin: Tin,
        filter: AckFilter,
        buffer: &mut Buffer,
        cx: &mut Cx,
    ) -> Placed {
        let queue = self.classify(&arrival, tin, cx);
        if let Some(left) = filter_queue(&arrival, queue, filter, buffer) {
            self.backlogs[self.tins[left.index()] as usize] -= 1;
        }
        if self.settings.as_linux
            && queue.0 >= self.settings.buckets
            && buffer.queues().first(queue).is_none()
        {
            self.fillings += 1;
            self.filled[tin] = self.fillings;
        }
        if self.lacks_room(&arrival, buffer) && !self.make_room(&arrival, queue, buffer) {
            if self.settings.as_linux && self.robin.arrive(&mut self.turns[tin], queue.0) {
                self.tins[queue.index()] = tin as u32;
            }
            return buffer.refuse(arrival, Refusal::TailDrop);
        }
        let placed = buffer.append_unchecked(&arrival.to_queue(queue));
        self.backlogs[tin] += 1;
        if self.robin.arrive(&mut self.turns[tin], queue.0) {
            self.tins[queue.index()] = tin as u32;
        }
        placed
    }

    fn lacks_room(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        buffer.is_full()
            || buffer.queues().total_bytes() + u64::from(arrival.packet().ip_bytes())
                > self.settings.limit_bytes
    }

    /// Drops from the heads of the longest queues until the arrival fits. Returns false if the arrival is among the drops.
    #[cold]
    fn make_room(&mut self, arrival: &Arrival, queue: QueueId, buffer: &mut Buffer) -> bool {
        let arriving = (queue, arrival.packet().ip_bytes());
        while self.lacks_room(arrival, buffer) {
            match self.longest(buffer, Some(arriving)) {
                Some(longest) if self.drop_from(longest, Some(arriving), buffer) => {}
                _ => return false,
            }
        }
        true
    }

    /// Drops from the head of a queue, counting an arrival as its last packet. Returns false if the arrival is among the drops.
    fn drop_from(&mut self, queue: QueueId, arriving: Option<(QueueId, u32)>, buffer: &mut Buffer) -> bool {
        let arriving = arriving.filter(|(to, _)| *to == queue);
        let packets = buffer.queues().packets(queue) + u32::from(arriving.is_some());
        let bytes = buffer.queues().bytes(queue) + arriving.map_or(0, |(_, bytes)| bytes);
        let FairQueueSettings { batch, batch_packets, overflow_counts, .. } = self.settings;
        let (mut dropped_packets, mut dropped_bytes) = (0, 0);
        let is_enough = |dropped_packets, dropped_bytes| match batch {
            DropBatch::HalfTheBytes => dropped_packets >= batch_packets || dropped_bytes >= bytes / 2,
            DropBatch::HalfThePackets => dropped_packets >= batch_packets.min(packets / 2),
        };
        let mut fits = true;
        loop {
            let Some(head) = buffer.queues().first(queue) else {
                fits = false;
                break;
            };
            dropped_packets += 1u32;
            dropped_bytes += buffer[head].packet.ip_bytes();
            buffer.evict(head, Eviction::Victim);
            if is_enough(dropped_packets, dropped_bytes) {
                break;
            }
        }
        if dropped_packets > 0 {
            self.backlogs[self.tins[queue.index()] as usize] -= dropped_packets;
        }
        if overflow_counts {
            self.codels[queue.index()].overflowed(dropped_packets + u32::from(!fits));
        }
        fits
    }

    /// Drops the excess over a lowered limit, as for an arrival.
    pub fn evict_excess(&mut self, buffer: &mut Buffer) {
        while buffer.excess() > 0 {
            let longest = self.longest(buffer, None).expect("the excess is queued");
            self.drop_from(longest, None, buffer);
        }
    }

    /// Dequeues a tin's next packet according to its queues' turns and CoDel. `None` if it has nothing queued or the grant
    /// does not admit the packet whose turn it is. A grant that gathers skips queues whose first packet is for another station;
    /// a queue that sends before its turn is charged for it.
    pub fn dequeue(
        &mut self,
        tin: Tin,
        settings: &CodelSettings,
        grant: &Grant,
        buffer: &mut Buffer,
        cx: &Cx,
    ) -> Option<DequeuedPacket> {
        loop {
            let queue = self.robin.next(self.turns.get_mut(tin)?)?;
            let departure = self.release(queue, tin, settings, grant, buffer, cx);
            if departure.is_some() {
                return departure;
            }
            match buffer.queues().first(QueueId(queue)) {
                Some(head) if grant.gathers && !buffer.admits(head, grant) => break,
                Some(_) => return None,
                None => self.end_turn(queue, tin),
            }
        }
        let is_admitted = |queue: u32, buffer: &Buffer| {
            buffer.queues().first(QueueId(queue)).is_some_and(|head| buffer.admits(head, grant))
        };
        loop {
            let queue = self.robin.first_of(&self.turns[tin], |queue| is_admitted(queue, buffer))?;
            let departure = self.release(queue, tin, settings, grant, buffer, cx);
            if departure.is_some() || is_admitted(queue, buffer) {
                return departure; // the packet, or it does not fit
            }
        }
    }

    /// Dequeues the next packet of a queue, subject to CoDel.
    fn release(
        &mut self,
        queue: u32,
        tin: Tin,
        settings: &CodelSettings,
        grant: &Grant,
        buffer: &mut Buffer,
        cx: &Cx,
    ) -> Option<DequeuedPacket> {
        let before = buffer.queues().packets(QueueId(queue));
        let codel = &mut self.codels[queue as usize];
        let departure = codel::release(codel, settings, QueueId(queue), grant, buffer, cx.now, |buffer| {
            buffer.queues().first(QueueId(queue))
        });
        self.backlogs[tin] -= before - buffer.queues().packets(QueueId(queue));
        if let Some(departure) = &departure {
            self.robin.charge(queue, departure.packet.ip_bytes());
        }
        departure
    }

    /// Ends the turn of a queue that has nothing to send.
    fn end_turn(&mut self, queue: u32, tin: Tin) {
        if self.robin.end_turn(&mut self.turns[tin]) {
            self.tins[queue as usize] = NO_TIN;
        }
    }

    /// Removes the queues of a tin with nothing queued from its turns, like a dequeue that finds nothing.
    pub fn deactivate(&mut self, tin: Tin) {
        let Some(turns) = self.turns.get_mut(tin) else { return };
        while let Some(queue) = self.robin.next(turns) {
            self.codels[queue as usize].found_empty();
            if self.robin.end_turn(turns) {
                self.tins[queue as usize] = NO_TIN;
            }
        }
    }

    /// The queue with the most bytes, counting an arrival in its queue; on a tie, the one with the smallest number.
    fn longest(&self, buffer: &mut Buffer, arriving: Option<(QueueId, u32)>) -> Option<QueueId> {
        let queued = buffer.longest_queue().map(|queue| (queue, buffer.queues().bytes(queue)));
        let joined = arriving.map(|(to, bytes)| (to, buffer.queues().bytes(to) + bytes));
        let most =
            queued.into_iter().chain(joined).max_by_key(|&(queue, bytes)| (bytes, std::cmp::Reverse(queue)));
        let (queue, most) = most?;
        if !self.settings.as_linux || queue.0 < self.settings.buckets {
            return Some(queue);
        }
        let bytes_of = |queue: QueueId| {
            buffer.queues().bytes(queue)
                + arriving.filter(|(to, _)| *to == queue).map_or(0, |(_, bytes)| bytes)
        };
        let fallbacks = (0..self.filled.len()).map(|tin| (tin, self.fallback(tin)));
        let longest = fallbacks.filter(|&(_, queue)| bytes_of(queue) == most);
        longest.max_by_key(|&(tin, _)| self.filled[tin]).map(|(_, queue)| queue)
    }

    fn fallback(&self, tin: Tin) -> QueueId {
        QueueId(self.settings.buckets + tin as u32)
    }
}
