//! The core of FQ-CoDel (RFC 8290): packets hashed into queues, deficit round robin over these, CoDel at each, and what is
//! dropped when there is no room. `fq-codel` has one of it; `mac80211` shares one among its stations.

use crate::ack_filter::{Thinning, thin};
use crate::codel::{self, Codel, CodelSettings};
use crate::drr::{DeficitRoundRobin, Turns};
use crate::flow_hash::FlowHash;
use crate::{Arrival, Buffer, Cx, Departure, Eviction, Grant, Indexes, Placed, QueueId, Refusal};

/// How much goes at once from the longest queue when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batch {
    /// Until half of its bytes are gone.
    HalfTheBytes,
    /// Half of its packets, one at least.
    HalfThePackets,
}

/// Parameters of a [`FairQueue`].
#[derive(Clone, Debug)]
pub(crate) struct FairQueueSettings {
    pub buckets: u32,
    pub quantum_bytes: u32,
    /// Bytes of all packets together, the arrival included, above which there is no room.
    pub limit_bytes: u64,
    pub batch: Batch,
    /// Packets that go at once at most.
    pub batch_packets: u32,
    /// Whether CoDel counts what goes for want of room.
    pub overflow_counts: bool,
    pub ack_filter: Thinning,
}

/// Who shares the queues, by number from 0: each has its own round of turns.
pub(crate) type Member = usize;

const NOBODY: u32 = u32::MAX;

/// See the module's head.
///
/// Queues 0 to `buckets` - 1 are the hash's. A bucket that one member uses is closed to the others; their packets go to a
/// queue of their own, number `buckets` + member.
pub(crate) struct FairQueue {
    settings: FairQueueSettings,
    hash: Option<FlowHash>,
    robin: DeficitRoundRobin,
    /// By member.
    turns: Vec<Turns>,
    /// By member: packets queued.
    backlogs: Vec<u32>,
    /// By queue: the member in whose turns it is.
    members: Vec<u32>,
    /// By queue.
    codels: Vec<Codel>,
}

impl FairQueue {
    pub fn new(settings: FairQueueSettings) -> FairQueue {
        FairQueue {
            hash: None,
            robin: DeficitRoundRobin::new(settings.quantum_bytes),
            turns: Vec::new(),
            backlogs: Vec::new(),
            members: vec![NOBODY; settings.buckets as usize],
            codels: vec![Codel::default(); settings.buckets as usize],
            settings,
        }
    }

    /// What it asks of the buffer.
    pub fn needs(&self) -> Indexes {
        self.settings.ack_filter.needs(Indexes::NONE.queues())
    }

    #[cold]
    fn grow_members(&mut self, members: usize) {
        let queues = self.settings.buckets as usize + members;
        self.turns.resize(members, Turns::EMPTY);
        self.backlogs.resize(members, 0);
        self.members.resize(queues, NOBODY);
        self.codels.resize(queues, Codel::default());
    }

    /// The queue of an arrival for a member. The first call draws the hash's keys.
    fn classify(&mut self, arrival: &Arrival, member: Member, cx: &mut Cx) -> QueueId {
        if member >= self.turns.len() {
            self.grow_members(member + 1);
        }
        let buckets = self.settings.buckets;
        let hash = self.hash.get_or_insert_with(|| FlowHash::new(cx.rng));
        let bucket = hash.bucket(&arrival.packet().tuple, buckets);
        let user = self.members[bucket as usize];
        QueueId(if user == NOBODY || user as usize == member { bucket } else { buckets + member as u32 })
    }

    /// Packets queued for a member.
    pub fn backlog(&self, member: Member) -> u32 {
        self.backlogs.get(member).copied().unwrap_or(0)
    }

    /// Places an arrival for a member at the end of its queue, making room first. If the longest queue loses so much that
    /// the arrival is part of it, it is refused.
    pub fn enqueue(&mut self, arrival: Arrival, member: Member, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        let queue = self.classify(&arrival, member, cx);
        if let Some(left) = thin(&arrival, queue, self.settings.ack_filter, buffer) {
            self.backlogs[self.members[left.index()] as usize] -= 1;
        }
        if self.lacks_room(&arrival, buffer) && !self.make_room(&arrival, queue, buffer) {
            return buffer.refuse(arrival, Refusal::TailDrop);
        }
        let placed = buffer.append_to(arrival, queue);
        self.backlogs[member] += 1;
        if self.robin.arrive(&mut self.turns[member], queue.0) {
            self.members[queue.index()] = member as u32;
        }
        placed
    }

    fn lacks_room(&self, arrival: &Arrival, buffer: &Buffer) -> bool {
        buffer.is_full()
            || buffer.bytes() + u64::from(arrival.packet().ip_bytes()) > self.settings.limit_bytes
    }

    /// Drops from the heads of the longest queues until the arrival fits; false if it is itself among what goes.
    #[cold]
    fn make_room(&mut self, arrival: &Arrival, queue: QueueId, buffer: &mut Buffer) -> bool {
        let arriving = (queue, arrival.packet().ip_bytes());
        while self.lacks_room(arrival, buffer) {
            match longest(buffer, Some(arriving)) {
                Some(longest) if self.shorten(longest, Some(arriving), buffer) => {}
                _ => return false,
            }
        }
        true
    }

    /// Drops from the head of a queue, counting an arrival as its last packet; false if that is among what goes.
    fn shorten(&mut self, queue: QueueId, arriving: Option<(QueueId, u32)>, buffer: &mut Buffer) -> bool {
        let arriving = arriving.filter(|(to, _)| *to == queue);
        let packets = buffer.packets_of(queue) + u32::from(arriving.is_some());
        let bytes = buffer.bytes_of(queue) + arriving.map_or(0, |(_, bytes)| bytes);
        let FairQueueSettings { batch, batch_packets, overflow_counts, .. } = self.settings;
        let (mut gone_packets, mut gone_bytes) = (0, 0);
        let is_enough = |gone_packets, gone_bytes| match batch {
            Batch::HalfTheBytes => gone_packets >= batch_packets || gone_bytes >= bytes / 2,
            Batch::HalfThePackets => gone_packets >= batch_packets.min(packets / 2),
        };
        let mut spared = true;
        loop {
            let Some(head) = buffer.first_of(queue) else {
                spared = false;
                break;
            };
            gone_packets += 1u32;
            gone_bytes += buffer.packet(head).ip_bytes();
            buffer.evict(head, Eviction::Victim);
            if is_enough(gone_packets, gone_bytes) {
                break;
            }
        }
        if gone_packets > 0 {
            self.backlogs[self.members[queue.index()] as usize] -= gone_packets;
        }
        if overflow_counts {
            self.codels[queue.index()].overflowed(gone_packets + u32::from(!spared));
        }
        spared
    }

    /// The limit has been lowered: what is above it goes as if for an arrival.
    pub fn evict_excess(&mut self, buffer: &mut Buffer) {
        while buffer.excess() > 0 {
            let longest = longest(buffer, None).expect("the excess is queued");
            self.shorten(longest, None, buffer);
        }
    }

    /// The next packet of a member, as its queues' turns and CoDel have it. `None` with nothing queued for it, or where the
    /// grant does not allow the packet whose turn it is. A grant that gathers passes over queues whose first packet is for another
    /// station; a queue that sends before its turn pays for that with its deficit.
    pub fn dequeue(
        &mut self,
        member: Member,
        settings: &CodelSettings,
        grant: &Grant,
        buffer: &mut Buffer,
        cx: &Cx,
    ) -> Option<Departure> {
        loop {
            let queue = self.robin.next(self.turns.get_mut(member)?)?;
            let departure = self.release(queue, member, settings, grant, buffer, cx);
            if departure.is_some() {
                return departure;
            }
            match buffer.first_of(QueueId(queue)) {
                Some(head) if grant.gathers && !buffer.admits(head, grant) => break,
                Some(_) => return None,
                None => self.pass(queue, member),
            }
        }
        let is_admitted = |queue: u32, buffer: &Buffer| {
            buffer.first_of(QueueId(queue)).is_some_and(|head| buffer.admits(head, grant))
        };
        loop {
            let queue = self.robin.first_of(&self.turns[member], |queue| is_admitted(queue, buffer))?;
            let departure = self.release(queue, member, settings, grant, buffer, cx);
            if departure.is_some() || is_admitted(queue, buffer) {
                return departure; // the packet, or it does not fit
            }
        }
    }

    /// The next packet of a queue, as CoDel has it.
    fn release(
        &mut self,
        queue: u32,
        member: Member,
        settings: &CodelSettings,
        grant: &Grant,
        buffer: &mut Buffer,
        cx: &Cx,
    ) -> Option<Departure> {
        let before = buffer.packets_of(QueueId(queue));
        let codel = &mut self.codels[queue as usize];
        let departure = codel::release(codel, settings, QueueId(queue), grant, buffer, cx.now);
        self.backlogs[member] -= before - buffer.packets_of(QueueId(queue));
        if let Some(departure) = &departure {
            self.robin.charge(queue, departure.packet.ip_bytes());
        }
        departure
    }

    /// The queue whose turn it is has nothing to send.
    fn pass(&mut self, queue: u32, member: Member) {
        if self.robin.pass(&mut self.turns[member]) {
            self.members[queue as usize] = NOBODY;
        }
    }

    /// Nothing is queued for a member, and its queues leave their turns, as when somebody asks in vain.
    pub fn rest(&mut self, member: Member) {
        let Some(turns) = self.turns.get_mut(member) else { return };
        while let Some(queue) = self.robin.next(turns) {
            self.codels[queue as usize].found_empty();
            if self.robin.pass(turns) {
                self.members[queue as usize] = NOBODY;
            }
        }
    }
}

/// The queue with the most bytes, counting an arrival in its queue; of several, the one with the smallest number.
fn longest(buffer: &mut Buffer, arriving: Option<(QueueId, u32)>) -> Option<QueueId> {
    let queued = buffer.longest_queue().map(|queue| (queue, buffer.bytes_of(queue)));
    let joined = arriving.map(|(to, bytes)| (to, buffer.bytes_of(to) + bytes));
    let most =
        queued.into_iter().chain(joined).max_by_key(|&(queue, bytes)| (bytes, std::cmp::Reverse(queue)));
    most.map(|(queue, _)| queue)
}
