//! One listener: a MAC that knows only what it is told about the medium, microsecond by microsecond.

use super::timing::{Rules, Tenths};
use std::collections::VecDeque;
use wifair_core::Rng;

/// The AP is node 0, station `i` is node `i + 1`.
pub type NodeId = usize;

/// What an upper layer hands down: who it is for, how long it is, and its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    pub id: u32,
    pub stream: usize,
    pub to: NodeId,
    pub ip_bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Rts,
    Cts,
    Data(Packet),
    Ack,
}

/// A frame that a node wants to put on the air now.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub kind: Kind,
    pub from: NodeId,
    pub to: NodeId,
    /// µs on the air.
    pub length: u32,
    /// The Duration field: µs after the frame's end that its exchange still needs.
    pub duration_field: u32,
    /// False for a MAC ACK, a CTS, and the data frame after a CTS: these follow a SIFS after what came before.
    pub opens_exchange: bool,
}

/// How the other end of a link is reached, and how badly it is heard.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Rate of data frames to it.
    pub rate: Tenths,
    /// Probability that a data frame from it is lost on me.
    pub data_error: f64,
    /// Probability that a MAC ACK from it is lost on me.
    pub ack_error: f64,
}

/// What happened to the frames of one sender on one link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Exchanges opened (RTS or data).
    pub attempts: u64,
    /// Attempts that failed, for whatever reason.
    pub failures: u64,
    /// Frames given up at a retry limit.
    pub lost: u64,
    /// Frames that reached the receiver's upper layer.
    pub delivered: u64,
    /// Frames that reached the receiver again.
    pub duplicates: u64,
}

impl Tally {
    pub fn since(&self, earlier: &Tally) -> Tally {
        Tally {
            attempts: self.attempts - earlier.attempts,
            failures: self.failures - earlier.failures,
            lost: self.lost - earlier.lost,
            delivered: self.delivered - earlier.delivered,
            duplicates: self.duplicates - earlier.duplicates,
        }
    }
}

/// What one node counts by peer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub attempts: u64,
    pub failures: u64,
    pub lost: u64,
    /// Data frames from the peer, decoded the first time.
    pub received: u64,
    /// Data frames from the peer, decoded again.
    pub received_again: u64,
}

/// What a node tells the world after it has heard a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Heard {
    Nothing,
    Delivers(Packet),
}

struct InService {
    packet: Packet,
    short: u32,
    long: u32,
}

/// The answer that a sender waits for.
struct Expected {
    cts: bool,
    /// µs until the timeout.
    left: u32,
    /// The answer has begun: no timeout any more.
    begun: bool,
}

pub struct Node {
    id: NodeId,
    rules: Rules,
    /// By node for the AP (entry 0 unused), only the AP for a station.
    peers: Vec<Peer>,
    backoff: Rng,
    channel: Rng,

    queue: VecDeque<Packet>,
    queue_limit: usize,
    limit_counts_in_service: bool,
    in_service: Option<InService>,

    /// Backoff slots left; none once they have run out.
    counter: Option<u32>,
    cw: u32,
    /// Idle µs that must still pass before slots count.
    ifs_left: u32,
    /// Idle µs of the slot that is passing.
    slot_elapsed: u32,
    nav_left: u32,
    energy_on_air: bool,

    expected: Option<Expected>,
    /// A response of mine, and the µs until it is due.
    response: Option<(Frame, u32)>,
    /// The last packet delivered from each peer: what comes again is a duplicate.
    last_from: Vec<Option<u32>>,
    /// By peer.
    pub counts: Vec<Counts>,
}

impl Node {
    pub fn new(
        id: NodeId,
        label: &str,
        seed: u64,
        rules: Rules,
        peers: Vec<Peer>,
        port: (usize, bool),
    ) -> Node {
        let count = peers.len();
        Node {
            id,
            rules,
            peers,
            backoff: Rng::stream(seed, label, "backoff"),
            channel: Rng::stream(seed, label, "channel"),
            queue: VecDeque::new(),
            queue_limit: port.0,
            limit_counts_in_service: port.1,
            in_service: None,
            counter: None,
            cw: rules.cw_min,
            ifs_left: 0,
            slot_elapsed: 0,
            nav_left: 0,
            energy_on_air: false,
            expected: None,
            response: None,
            last_from: vec![None; count],
            counts: vec![Counts::default(); count],
        }
    }

    /// Nothing to send and nothing to wait for.
    pub fn is_at_rest(&self) -> bool {
        self.in_service.is_none() && self.response.is_none() && !self.energy_on_air
    }

    pub fn has_response_pending(&self) -> bool {
        self.response.is_some()
    }

    /// The medium is not free for this node: energy, its NAV, or a SIFS gap that it will end itself.
    fn is_busy(&self) -> bool {
        self.energy_on_air || self.nav_left > 0 || self.response.is_some()
    }

    fn draw(&mut self) {
        let range = if self.rules.exclusive_backoff { self.cw } else { self.cw + 1 };
        self.counter = Some(self.backoff.below(range));
    }

    // From above.

    /// The upper layer hands a packet to the port.
    pub fn offer(&mut self, packet: Packet) {
        let Some(_) = &self.in_service else {
            self.serve(packet);
            self.contend_after_silence();
            return;
        };
        let counted = self.queue.len() + usize::from(self.limit_counts_in_service);
        if counted < self.queue_limit {
            self.queue.push_back(packet);
        }
    }

    fn serve(&mut self, packet: Packet) {
        self.in_service = Some(InService { packet, short: 0, long: 0 });
    }

    /// Section 5: a packet has reached an empty MAC.
    fn contend_after_silence(&mut self) {
        if self.counter.is_some() {
            // Rule 1: the post-backoff goes on.
        } else if self.is_busy() {
            self.draw(); // rule 2
        } else if self.ifs_left > 0 {
            if self.rules.backoff_within_ifs {
                self.draw(); // rule 4, by option; else it starts at its origin without a counter
            }
        } else if !self.rules.immediate_access {
            self.draw(); // rule 3, by option; else it starts now
            self.ifs_left = self.rules.difs();
            self.slot_elapsed = 0;
        }
    }

    // The clock.

    /// One microsecond has passed, in which the medium was as it is known to be.
    #[inline]
    pub fn count_idle_time(&mut self) {
        if self.is_busy() {
            return;
        }
        if self.ifs_left > 0 {
            self.ifs_left -= 1;
            self.slot_elapsed = 0;
        } else if let Some(slots) = self.counter
            && slots > 0
        {
            self.slot_elapsed += 1;
            if self.slot_elapsed == self.rules.slot {
                self.slot_elapsed = 0;
                self.counter = Some(slots - 1);
            }
        }
        if self.in_service.is_none() && self.ifs_left == 0 && self.counter == Some(0) {
            self.counter = None;
        }
    }

    /// NAV, timeout and response timer run whatever the medium does.
    #[inline]
    pub fn count_timers(&mut self) {
        self.nav_left = self.nav_left.saturating_sub(1);
        if let Some((_, left)) = &mut self.response {
            *left -= 1;
        }
        if let Some(expected) = &mut self.expected
            && !expected.begun
        {
            expected.left -= 1;
            if expected.left == 0 {
                self.ifs_left = self.ifs_left.max(self.rules.difs());
                self.slot_elapsed = 0;
                self.fail();
            }
        }
    }

    // What goes out.

    /// This node starts a frame at this instant: a response that is due, or an access of its own.
    #[inline]
    pub fn is_to_start(&self) -> bool {
        if let Some((_, left)) = self.response {
            return left == 0;
        }
        self.in_service.is_some()
            && self.expected.is_none()
            && !self.is_busy()
            && self.ifs_left == 0
            && matches!(self.counter, None | Some(0))
    }

    /// That frame.
    pub fn start(&mut self) -> Frame {
        if let Some((frame, _)) = self.response.take() {
            return frame;
        }
        let packet = self.in_service.as_ref().expect("an access is for a frame in service").packet;
        self.counter = None;
        self.counts[packet.to].attempts += 1;
        let data = self.data_frame(packet);
        if !self.rules.uses_rts(packet.ip_bytes) {
            return data;
        }
        let rules = &self.rules;
        Frame {
            kind: Kind::Rts,
            length: rules.rts(),
            duration_field: rules.sifs + rules.cts() + rules.sifs + data.length + data.duration_field,
            ..data
        }
    }

    fn data_frame(&self, packet: Packet) -> Frame {
        let rules = &self.rules;
        Frame {
            kind: Kind::Data(packet),
            from: self.id,
            to: packet.to,
            length: rules.data(packet.ip_bytes, self.peers[packet.to].rate),
            duration_field: rules.sifs + rules.ack(),
            opens_exchange: true,
        }
    }

    /// My frame has ended.
    pub fn sent(&mut self, frame: &Frame) {
        self.ifs_left = self.rules.difs();
        self.slot_elapsed = 0;
        let wait = match frame.kind {
            Kind::Ack => return,
            Kind::Cts => {
                // The addressee of an RTS sets no NAV; its own CTS binds it to the exchange all the same.
                self.nav_left = frame.duration_field;
                return;
            }
            Kind::Rts => self.rules.cts_timeout(),
            Kind::Data(_) => self.rules.ack_timeout(),
        };
        self.expected = Some(Expected { cts: frame.kind == Kind::Rts, left: wait, begun: false });
    }

    // What comes in.

    pub fn energy(&mut self, on_air: bool) {
        self.energy_on_air = on_air;
    }

    /// Other nodes' frames start. `answer`: a MAC ACK or CTS for me. Nothing else ends my wait (section 3).
    pub fn hear_start(&mut self, answer: bool) {
        self.nav_left = 0;
        self.slot_elapsed = 0;
        if let Some(expected) = &mut self.expected {
            expected.begun |= answer;
        } else if self.in_service.is_some() && self.response.is_none() && self.counter.is_none() {
            // Section 5, rule 4: the medium did not stay idle until the origin.
            self.draw();
        }
    }

    /// A frame that I heard from its start has ended, spoilt by a collision.
    pub fn hear_noise(&mut self) {
        self.ifs_left = self.rules.eifs();
    }

    /// A frame that I heard from its start, alone on the air, has ended.
    pub fn hear(&mut self, frame: &Frame) -> Heard {
        if frame.to != self.id {
            self.ifs_left = self.rules.difs();
            self.nav_left = frame.duration_field;
            return Heard::Nothing;
        }
        let peer = self.peers[frame.from];
        let error = match frame.kind {
            Kind::Data(_) => peer.data_error,
            Kind::Ack => peer.ack_error,
            Kind::Rts | Kind::Cts => 0.0,
        };
        if error > 0.0 && self.channel.chance(error) {
            self.ifs_left = self.rules.eifs();
            if frame.kind == Kind::Ack {
                self.fail();
            }
            return Heard::Nothing;
        }
        self.ifs_left = self.rules.difs();
        match frame.kind {
            Kind::Rts => self.respond(frame, Kind::Cts, self.rules.cts()),
            Kind::Cts => {
                self.expected = None;
                let service = self.in_service.as_mut().expect("a CTS answers a frame in service");
                service.short = 0;
                let packet = service.packet;
                let data = Frame { opens_exchange: false, ..self.data_frame(packet) };
                self.response = Some((data, self.rules.sifs));
            }
            Kind::Data(packet) => {
                self.respond(frame, Kind::Ack, self.rules.ack());
                if self.last_from[frame.from] == Some(packet.id) {
                    self.counts[frame.from].received_again += 1;
                } else {
                    self.counts[frame.from].received += 1;
                    self.last_from[frame.from] = Some(packet.id);
                    return Heard::Delivers(packet);
                }
            }
            Kind::Ack => self.succeed(),
        }
        Heard::Nothing
    }

    fn respond(&mut self, to: &Frame, kind: Kind, length: u32) {
        let sifs = self.rules.sifs;
        let frame = Frame {
            kind,
            from: self.id,
            to: to.from,
            length,
            duration_field: to.duration_field - sifs - length,
            opens_exchange: false,
        };
        self.response = Some((frame, sifs));
    }

    // Outcomes.

    fn succeed(&mut self) {
        self.in_service = None;
        self.cw = self.rules.cw_min;
        self.go_on();
    }

    fn fail(&mut self) {
        let expected = self.expected.as_ref().expect("only what waits for an answer can fail");
        let service = self.in_service.as_mut().expect("only a frame in service can fail");
        let to = service.packet.to;
        self.counts[to].failures += 1;
        let after_cts = !expected.cts && self.rules.uses_rts(service.packet.ip_bytes);
        if after_cts {
            service.long += 1;
        } else {
            service.short += 1;
        }
        if service.short == self.rules.short_limit || service.long == self.rules.long_limit {
            self.counts[to].lost += 1;
            self.in_service = None;
            self.cw = self.rules.cw_min;
        } else {
            self.cw = (2 * self.cw + 1).min(self.rules.cw_max);
        }
        self.go_on();
    }

    /// After every transmission: a backoff, wanted or not, then the next packet.
    fn go_on(&mut self) {
        self.expected = None;
        self.draw();
        if self.in_service.is_none()
            && let Some(next) = self.queue.pop_front()
        {
            self.serve(next);
        }
    }
}
