//! The flow monitor: tracks the connections that pass the access point, and the direction of their data.
//!
//! It observes packets only. A connection is identified by its 5-tuple, with one entry for both directions, or by its short
//! name if packets carry one, which is faster to look up. A flow is an uplink flow once TCP payload has passed upwards, and a
//! downlink flow once payload has passed downwards. One with payload both ways counts in both directions, as its packets in the
//! buffer do (ACKs of the one, data of the other). Before any payload it is neither: a pure ACK alone proves nothing, since the
//! last step of the handshake is one and goes in the same direction as the data that follows.
//!
//! A connection between two stations of the BSS passes the access point twice, up and then down. It is an uplink flow of the
//! one and a downlink flow of the other, with two entries, so its packets must not carry a short name.

mod key;
mod spec;
mod table;

use std::collections::VecDeque;

use wifair_core::{Class, ConnectionId, FiveTuple, FlowId, Packet, TCP, TcpFlags, Time};

use key::FlowKey;
pub use spec::{Active, FlowsSpec};
use table::FlowTable;

use crate::words::Direction;

const NONE: u32 = u32::MAX;

/// The flow monitor of an access point; see the module documentation.
///
/// Ids are dense. An id is reused only after its flow has been forgotten and collected with [`Flows::pop_forgotten`].
#[derive(Clone, Debug)]
pub struct Flows {
    table: FlowTable,
    /// By slot of a [`ConnectionId`]: the flow last found under a name with that slot.
    named: Vec<u32>,
    entries: Vec<FlowRecord>,
    /// Ends of the list of known flows, ordered by the time of the last update.
    oldest: u32,
    newest: u32,
    /// No flow expires before this.
    next_expiry: Time,
    /// Update granularity: a flow is moved to the list's end at most once in this time, not for each packet.
    granule: Time,
    /// Time from the end of that granule until the flow is forgotten.
    timeout: Time,
    teardown_ends: bool,
    active: [u32; 2],
    forgotten: VecDeque<FlowId>,
    free: Vec<FlowId>,
}

#[derive(Clone, Copy, Debug)]
struct FlowRecord {
    key: FlowKey,
    /// Short name of the connection, if known.
    connection: ConnectionId,
    /// A packet later than this moves the flow to the list's end.
    fresh_until: Time,
    older: u32,
    newer: u32,
    hash: u32,
    state: FlowState,
}

#[derive(Clone, Copy, Debug, Default)]
struct FlowState {
    /// By [`Direction`]: more bytes of payload than this are news. Zero until payload has been seen, then [`u32::MAX`].
    known_bytes: [u32; 2],
    /// Whether a FIN has been seen, by [`Direction`].
    fin: [bool; 2],
    closed: bool,
}

/// TCP's SYN, FIN and RST.
const CONTROL: u8 = TcpFlags::SYN.bits() | TcpFlags::FIN.bits() | TcpFlags::RST.bits();

impl FlowState {
    /// Whether payload has been seen in that direction.
    fn carries(&self, direction: Direction) -> bool {
        self.known_bytes[direction as usize] > 0
    }
}

impl FlowRecord {
    /// Whether a packet may change the state of its flow.
    fn is_news(&self, packet: &Packet, direction: Direction, now: Time) -> bool {
        // Evaluated without short-circuiting: whether a packet has payload is practically random, and a branch misprediction is
        // expensive.
        (now > self.fresh_until)
            | (packet.payload_bytes > self.state.known_bytes[direction as usize])
            | (packet.flags.bits() & CONTROL != 0)
    }
}

impl Flows {
    /// Creates a monitor without flows. `spec` must be valid.
    pub fn new(spec: &FlowsSpec) -> Flows {
        let timeout = Time::from_secs_f64(spec.idle_timeout_s);
        Flows {
            table: FlowTable::new(),
            named: Vec::new(),
            entries: Vec::new(),
            oldest: NONE,
            newest: NONE,
            next_expiry: Time::MAX,
            granule: Time::from_ns(timeout.as_ns() / 16),
            timeout,
            teardown_ends: spec.active == Active::UntilTeardown,
            active: [0; 2],
            forgotten: VecDeque::new(),
            free: Vec::new(),
        }
    }

    /// Observes a packet that passes the access point and returns its flow. Call it for every packet in both directions, before
    /// it is offered to a transmit queue. `held` returns whether a buffer holds a packet of a flow: such a flow is not idle.
    pub fn observe(
        &mut self,
        packet: &Packet,
        direction: Direction,
        now: Time,
        held: impl Fn(FlowId) -> bool,
    ) -> FlowId {
        if now >= self.next_expiry {
            self.expire(now, held);
        }
        // Fast path: usually the name is known, and the packet changes nothing.
        if let Some(&id) = self.named.get(packet.connection.slot())
            && let Some(entry) = self.entries.get(id as usize)
            && entry.connection == packet.connection
        {
            if entry.is_news(packet, direction, now) {
                self.note(id, packet, direction, now);
            }
            return FlowId(id);
        }
        self.find(packet, direction, now)
    }

    /// Finds or adds the flow of a packet by its 5-tuple.
    #[inline(never)]
    fn find(&mut self, packet: &Packet, direction: Direction, now: Time) -> FlowId {
        let key = FlowKey::of(packet.tuple, direction);
        let hash = key.hash();
        let found = self.table.find(hash, |id| self.entries[id as usize].key == key);
        let id = match found {
            Some(id) => id,
            None => self.insert(key, hash, now),
        };
        if packet.connection != ConnectionId::NONE {
            self.name(id, packet.connection);
        }
        self.note(id, packet, direction, now);
        FlowId(id)
    }

    /// Updates a flow by a packet of it.
    #[inline(never)]
    fn note(&mut self, id: u32, packet: &Packet, direction: Direction, now: Time) {
        let entry = &mut self.entries[id as usize];
        if packet.class() == Class::Data && !entry.state.carries(direction) {
            entry.state.known_bytes[direction as usize] = u32::MAX;
            self.active[direction as usize] += u32::from(!entry.state.closed);
        }
        if packet.flags.bits() & CONTROL != 0 {
            self.control(id, packet, direction);
        }
        if now > self.entries[id as usize].fresh_until {
            self.touch(id, now);
        }
    }

    fn name(&mut self, id: u32, connection: ConnectionId) {
        let slot = connection.slot();
        if slot >= self.named.len() {
            self.named.resize(slot + 1, NONE);
        }
        self.named[slot] = id;
        self.entries[id as usize].connection = connection;
    }

    /// Number of active uplink flows: payload has passed upwards, and the flow has neither ended nor been forgotten.
    pub fn up(&self) -> u32 {
        self.active[Direction::Up as usize]
    }

    /// Number of active downlink flows.
    pub fn down(&self) -> u32 {
        self.active[Direction::Down as usize]
    }

    /// The flow's 5-tuple as in uplink packets: the source is the station's side.
    pub fn tuple(&self, flow: FlowId) -> FiveTuple {
        self.entries[flow.index()].key.tuple()
    }

    /// Whether the flow has carried payload in that direction.
    pub fn carries(&self, flow: FlowId, direction: Direction) -> bool {
        self.entries[flow.index()].state.carries(direction)
    }

    /// Upper bound of the ids in use, whether known or awaiting collection.
    pub fn id_bound(&self) -> usize {
        self.entries.len()
    }

    /// Returns the next forgotten flow that has not been collected, with its 5-tuple as in uplink packets. The caller retires
    /// it at every transmit queue ([`TxQueue::retire`](crate::TxQueue::retire)); from now on its id may be reused.
    pub fn pop_forgotten(&mut self) -> Option<(FlowId, FiveTuple)> {
        let flow = self.forgotten.pop_front()?;
        self.free.push(flow);
        Some((flow, self.tuple(flow)))
    }

    fn insert(&mut self, key: FlowKey, hash: u32, now: Time) -> u32 {
        let fresh_until = now + self.granule;
        let (connection, state) = (ConnectionId::NONE, FlowState::default());
        let entry = FlowRecord { key, connection, fresh_until, older: NONE, newer: NONE, hash, state };
        let id = match self.free.pop() {
            Some(flow) => {
                self.entries[flow.index()] = entry;
                flow.0
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        self.table.insert(hash, id);
        self.link_newest(id);
        self.next_expiry = self.next_expiry.min(fresh_until + self.timeout);
        id
    }

    /// Handles TCP's SYN, FIN and RST. A connection has ended after a FIN in each direction or an RST; a SYN on an ended one
    /// opens the next connection of the same 5-tuple.
    #[cold]
    fn control(&mut self, id: u32, packet: &Packet, direction: Direction) {
        if packet.tuple.protocol != TCP || !self.teardown_ends {
            return;
        }
        let state = &mut self.entries[id as usize].state;
        if state.closed {
            if packet.flags.contains(TcpFlags::SYN) {
                *state = FlowState::default();
            }
            return;
        }
        state.fin[direction as usize] |= packet.flags.contains(TcpFlags::FIN);
        if packet.flags.contains(TcpFlags::RST) || state.fin == [true; 2] {
            Self::uncount(&mut self.active, state);
            state.closed = true;
        }
    }

    fn uncount(active: &mut [u32; 2], state: &FlowState) {
        if !state.closed {
            for (count, known_bytes) in active.iter_mut().zip(state.known_bytes) {
                *count -= u32::from(known_bytes > 0);
            }
        }
    }

    /// Forgets flows that have been idle too long, from the idle end of the list.
    #[cold]
    fn expire(&mut self, now: Time, held: impl Fn(FlowId) -> bool) {
        while self.oldest != NONE {
            let id = self.oldest;
            let entry = self.entries[id as usize];
            if entry.fresh_until + self.timeout > now {
                self.next_expiry = entry.fresh_until + self.timeout;
                return;
            }
            if held(FlowId(id)) {
                self.touch(id, now);
                continue;
            }
            self.unlink(id);
            self.table.remove(entry.hash, id);
            self.entries[id as usize].connection = ConnectionId::NONE;
            Self::uncount(&mut self.active, &entry.state);
            self.forgotten.push_back(FlowId(id));
        }
        self.next_expiry = Time::MAX;
    }

    fn touch(&mut self, id: u32, now: Time) {
        self.entries[id as usize].fresh_until = now + self.granule;
        if self.newest != id {
            self.unlink(id);
            self.link_newest(id);
        }
    }

    fn link_newest(&mut self, id: u32) {
        let older = std::mem::replace(&mut self.newest, id);
        self.entries[id as usize].older = older;
        self.entries[id as usize].newer = NONE;
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = id,
            None => self.oldest = id,
        }
    }

    fn unlink(&mut self, id: u32) {
        let FlowRecord { older, newer, .. } = self.entries[id as usize];
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
    }
}
