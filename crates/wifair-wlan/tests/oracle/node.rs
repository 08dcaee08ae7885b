//! One listener: a MAC that knows only what it is told about the medium, microsecond by microsecond.

use super::timing::{Category, Rules, Tenths};
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
    /// Rank of the access category; 0 under DCF.
    pub category: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Rts,
    Cts,
    /// A CTS-to-self before this packet's data frame.
    Announcement(Packet),
    Data(Packet),
    Ack,
}

/// A frame that a node wants to put on the air now.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub kind: Kind,
    pub from: NodeId,
    pub to: NodeId,
    /// Of the packet that the exchange is about.
    pub category: usize,
    /// µs on the air.
    pub length: u32,
    /// The Duration field: µs after the frame's end that its exchange still needs.
    pub duration_field: u32,
    /// False for a MAC ACK, a CTS, and a data frame after a CTS, a CTS-to-self or another of its TXOP: these follow a SIFS
    /// after what came before.
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
    /// Internal collisions that its frames lost.
    pub internal: u64,
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
            internal: self.internal - earlier.internal,
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
    pub internal: u64,
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

/// What contends: the node itself under DCF, one of its access categories under EDCA.
struct Contender {
    parameters: Category,
    backoff: Rng,
    queue: VecDeque<Packet>,
    in_service: Option<InService>,
    /// Backoff slots left; none once they have run out.
    counter: Option<u32>,
    cw: u32,
    /// Idle µs that must still pass before slots count.
    ifs_left: u32,
    /// Idle µs of the slot that is passing.
    slot_elapsed: u32,
}

impl Contender {
    /// Has a frame that nothing but the medium holds back.
    fn is_due(&self) -> bool {
        self.in_service.is_some() && self.ifs_left == 0 && matches!(self.counter, None | Some(0))
    }

    fn is_at_boundary(&self) -> bool {
        self.ifs_left == 0 && self.slot_elapsed == 0
    }

    /// Section 5, rule 4: it waits, without a counter, for a moment that will not come.
    fn is_waiting(&self) -> bool {
        self.in_service.is_some() && self.counter.is_none()
    }
}

pub struct Node {
    id: NodeId,
    rules: Rules,
    /// By node for the AP (entry 0 unused), only the AP for a station.
    peers: Vec<Peer>,
    channel: Rng,

    queue_limit: usize,
    limit_counts_in_service: bool,
    /// The highest category first.
    contenders: Vec<Contender>,

    nav_left: u32,
    energy_on_air: bool,

    /// Whose frame is or was last on the air.
    sender: usize,
    /// That frame went after a CTS.
    after_cts: bool,
    /// µs left of the TXOP.
    txop_left: u32,
    expected: Option<Expected>,
    /// A response of mine, and the µs until it is due.
    response: Option<(Frame, u32)>,
    /// A frame of mine goes on with a TXOP: told once.
    continuation: Option<Frame>,
    /// The last packet delivered from each peer, by category: what comes again is a duplicate.
    last_from: Vec<Vec<Option<u32>>>,
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
        let purposes = match rules.edca {
            None => &["backoff"][..],
            Some(_) => &["backoff-voice", "backoff-video", "backoff-best-effort", "backoff-background"],
        };
        let contender = |(parameters, purpose): (Category, &&str)| Contender {
            parameters,
            backoff: Rng::stream(seed, label, purpose),
            queue: VecDeque::new(),
            in_service: None,
            counter: None,
            cw: parameters.cw_min,
            ifs_left: 0,
            slot_elapsed: 0,
        };
        Node {
            id,
            rules,
            peers,
            channel: Rng::stream(seed, label, "channel"),
            queue_limit: port.0,
            limit_counts_in_service: port.1,
            contenders: rules.categories(id).into_iter().zip(purposes).map(contender).collect(),
            nav_left: 0,
            energy_on_air: false,
            sender: 0,
            after_cts: false,
            txop_left: 0,
            expected: None,
            response: None,
            continuation: None,
            last_from: vec![vec![None; 4]; count],
            counts: vec![Counts::default(); count],
        }
    }

    /// Nothing to send and nothing to wait for.
    pub fn is_at_rest(&self) -> bool {
        let idle = self.contenders.iter().all(|c| c.in_service.is_none());
        idle && self.response.is_none() && !self.energy_on_air
    }

    pub fn has_response_pending(&self) -> bool {
        self.response.is_some()
    }

    /// The medium is not free for this node: energy, its NAV, or a SIFS gap that it will end itself.
    fn is_busy(&self) -> bool {
        self.energy_on_air || self.nav_left > 0 || self.response.is_some()
    }

    /// Access at slot boundaries only, at which counters step.
    fn goes_by_boundaries(&self) -> bool {
        self.rules.edca.is_some_and(|edca| !edca.dcf_countdown)
    }

    fn draw(&mut self, c: usize) {
        let contender = &mut self.contenders[c];
        let range = if self.rules.exclusive_backoff { contender.cw } else { contender.cw + 1 };
        contender.counter = Some(contender.backoff.below(range));
    }

    /// All categories must see `lead` and their AIFS of idle medium before slots count.
    fn wait(&mut self, lead: u32) {
        for contender in &mut self.contenders {
            contender.ifs_left = lead + self.rules.aifs(&contender.parameters);
            contender.slot_elapsed = 0;
        }
    }

    // From above.

    /// The upper layer hands a packet to the port.
    pub fn offer(&mut self, packet: Packet) {
        let c = packet.category;
        let contender = &mut self.contenders[c];
        let Some(_) = &contender.in_service else {
            self.serve(packet);
            self.contend_after_silence(c);
            return;
        };
        let counted = contender.queue.len() + usize::from(self.limit_counts_in_service);
        if counted < self.queue_limit {
            contender.queue.push_back(packet);
        }
    }

    fn serve(&mut self, packet: Packet) {
        self.contenders[packet.category].in_service = Some(InService { packet, short: 0, long: 0 });
    }

    /// Section 5: a packet has reached an empty MAC.
    fn contend_after_silence(&mut self, c: usize) {
        // Section 10: while the node waits for an answer, its other categories find a busy medium.
        let busy = self.is_busy() || self.expected.is_some();
        let contender = &mut self.contenders[c];
        if contender.counter.is_some() {
            // Rule 1: the post-backoff goes on.
        } else if busy {
            self.draw(c); // rule 2
        } else if contender.ifs_left > 0 {
            if self.rules.backoff_within_ifs {
                self.draw(c); // rule 4, by option; else it starts at its origin without a counter
            }
        } else if !self.rules.immediate_access {
            contender.ifs_left = self.rules.aifs(&contender.parameters);
            contender.slot_elapsed = 0;
            self.draw(c); // rule 3, by option; else it starts now, or at its next boundary
        }
    }

    // The clock.

    /// One microsecond has passed, in which the medium was as it is known to be.
    #[inline]
    pub fn count_idle_time(&mut self) {
        if self.is_busy() {
            return;
        }
        let by_boundaries = self.goes_by_boundaries();
        let waits_for_answer = self.expected.is_some();
        for contender in &mut self.contenders {
            if contender.ifs_left > 0 {
                contender.ifs_left -= 1;
                contender.slot_elapsed = 0;
            } else if by_boundaries {
                contender.slot_elapsed = (contender.slot_elapsed + 1) % self.rules.slot;
            } else if let Some(slots) = contender.counter
                && slots > 0
                && !waits_for_answer
            {
                contender.slot_elapsed += 1;
                if contender.slot_elapsed == self.rules.slot {
                    contender.slot_elapsed = 0;
                    contender.counter = Some(slots - 1);
                }
            }
            let may_run_out = contender.ifs_left == 0
                && !waits_for_answer
                && (!by_boundaries || contender.is_at_boundary());
            if contender.in_service.is_none() && may_run_out && contender.counter == Some(0) {
                contender.counter = None;
            }
        }
    }

    /// NAV, timeout, TXOP and response timer run whatever the medium does.
    #[inline]
    pub fn count_timers(&mut self) {
        self.nav_left = self.nav_left.saturating_sub(1);
        self.txop_left = self.txop_left.saturating_sub(1);
        if let Some((_, left)) = &mut self.response {
            *left -= 1;
        }
        if let Some(expected) = &mut self.expected
            && !expected.begun
        {
            expected.left -= 1;
            if expected.left == 0 {
                for contender in &mut self.contenders {
                    contender.ifs_left = contender.ifs_left.max(self.rules.aifs(&contender.parameters));
                    contender.slot_elapsed = 0;
                }
                self.fail();
            }
        }
    }

    // What goes out.

    /// What this node does at this instant: whether it starts a frame, a response that is due or an access of its own.
    /// At a slot boundary a category either transmits or steps.
    #[inline]
    pub fn decide(&mut self) -> bool {
        if let Some((_, left)) = self.response {
            return left == 0;
        }
        if self.expected.is_some() || self.is_busy() {
            return false;
        }
        let by_boundaries = self.goes_by_boundaries();
        let mut winner = None;
        for c in 0..self.contenders.len() {
            let contender = &mut self.contenders[c];
            if by_boundaries && !contender.is_at_boundary() {
                continue;
            }
            if !contender.is_due() {
                if by_boundaries && let Some(slots @ 1..) = contender.counter {
                    contender.counter = Some(slots - 1);
                }
            } else if winner.is_none() {
                winner = Some(c);
                self.sender = c;
            } else {
                self.lose_internally(c);
            }
        }
        winner.is_some()
    }

    /// Another category of this node transmits at the instant at which this one would.
    fn lose_internally(&mut self, c: usize) {
        let contender = &mut self.contenders[c];
        let service = contender.in_service.as_mut().expect("it would have transmitted");
        let counts = &mut self.counts[service.packet.to];
        counts.internal += 1;
        let edca = self.rules.edca.expect("only EDCA has categories");
        service.short += u32::from(edca.internal_collision_retry);
        if service.short == self.rules.short_limit && edca.internal_collision_retry {
            counts.lost += 1;
            contender.in_service = None;
            contender.cw = contender.parameters.cw_min;
        } else {
            contender.cw = (2 * contender.cw + 1).min(contender.parameters.cw_max);
        }
        self.go_on(c);
    }

    /// That frame.
    pub fn start(&mut self) -> Frame {
        if let Some((frame, _)) = self.response.take() {
            return frame;
        }
        for c in 0..self.contenders.len() {
            if c != self.sender && self.contenders[c].is_waiting() {
                self.draw(c); // for the others of this node it is a start like any other
            }
        }
        let contender = &mut self.contenders[self.sender];
        let packet = contender.in_service.as_ref().expect("an access is for a frame in service").packet;
        contender.counter = None;
        self.txop_left = contender.parameters.txop_limit;
        self.after_cts = false;
        self.counts[packet.to].attempts += 1;
        let data = self.data_frame(packet);
        if !self.rules.uses_rts(packet.ip_bytes) {
            return self.announced(data);
        }
        let rules = &self.rules;
        Frame {
            kind: Kind::Rts,
            length: rules.rts(),
            duration_field: rules.sifs + rules.cts() + rules.sifs + data.length + data.duration_field,
            ..data
        }
    }

    /// What goes on the air first where `data` is to be sent without an RTS: the frame itself, or its CTS-to-self.
    fn announced(&self, data: Frame) -> Frame {
        let Kind::Data(packet) = data.kind else { return data };
        if !self.rules.announces() {
            return data;
        }
        let rules = &self.rules;
        Frame {
            kind: Kind::Announcement(packet),
            length: rules.cts(),
            duration_field: rules.sifs + data.length + data.duration_field,
            ..data
        }
    }

    fn data_frame(&self, packet: Packet) -> Frame {
        let rules = &self.rules;
        Frame {
            kind: Kind::Data(packet),
            from: self.id,
            to: packet.to,
            category: packet.category,
            length: rules.data(packet.ip_bytes, self.peers[packet.to].rate),
            duration_field: rules.sifs + rules.ack(),
            opens_exchange: true,
        }
    }

    /// My frame has ended.
    pub fn sent(&mut self, frame: &Frame) {
        self.wait(0);
        let wait = match frame.kind {
            Kind::Ack => return,
            Kind::Announcement(packet) => {
                let data = Frame { opens_exchange: false, ..self.data_frame(packet) };
                self.response = Some((data, self.rules.sifs));
                return;
            }
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
        for contender in &mut self.contenders {
            contender.slot_elapsed = 0;
        }
        if let Some(expected) = &mut self.expected {
            expected.begun |= answer;
        } else if self.response.is_none() {
            for c in 0..self.contenders.len() {
                if self.contenders[c].is_waiting() {
                    self.draw(c); // section 5, rule 4: the medium did not stay idle until the origin
                }
            }
        }
    }

    /// A frame that I heard from its start has ended, spoilt by a collision.
    pub fn hear_noise(&mut self) {
        self.wait(self.rules.eifs_lead());
    }

    /// A frame that I heard from its start, alone on the air, has ended.
    pub fn hear(&mut self, frame: &Frame) -> Heard {
        // A CTS-to-self names its sender as receiver: for all others it is somebody else's.
        if frame.to != self.id || matches!(frame.kind, Kind::Announcement(_)) {
            self.wait(0);
            self.nav_left = frame.duration_field;
            return Heard::Nothing;
        }
        let peer = self.peers[frame.from];
        let error = match frame.kind {
            Kind::Data(_) => peer.data_error,
            Kind::Ack => peer.ack_error,
            Kind::Rts | Kind::Cts | Kind::Announcement(_) => 0.0,
        };
        if error > 0.0 && self.channel.chance(error) {
            self.wait(self.rules.eifs_lead());
            if frame.kind == Kind::Ack {
                self.fail();
            }
            return Heard::Nothing;
        }
        self.wait(0);
        match frame.kind {
            Kind::Rts => self.respond(frame, Kind::Cts, self.rules.cts()),
            Kind::Cts => {
                self.expected = None;
                self.after_cts = true;
                let service = self.contenders[self.sender].in_service.as_mut();
                let service = service.expect("a CTS answers a frame in service");
                service.short = 0;
                let packet = service.packet;
                let data = Frame { opens_exchange: false, ..self.data_frame(packet) };
                self.response = Some((data, self.rules.sifs));
            }
            Kind::Data(packet) => {
                self.respond(frame, Kind::Ack, self.rules.ack());
                let last = &mut self.last_from[frame.from][frame.category];
                if *last == Some(packet.id) {
                    self.counts[frame.from].received_again += 1;
                } else {
                    self.counts[frame.from].received += 1;
                    *last = Some(packet.id);
                    return Heard::Delivers(packet);
                }
            }
            Kind::Ack => self.succeed(),
            Kind::Announcement(_) => unreachable!("seen to above"),
        }
        Heard::Nothing
    }

    fn respond(&mut self, to: &Frame, kind: Kind, length: u32) {
        let sifs = self.rules.sifs;
        let frame = Frame {
            kind,
            from: self.id,
            to: to.from,
            category: to.category,
            length,
            duration_field: to.duration_field - sifs - length,
            opens_exchange: false,
        };
        self.response = Some((frame, sifs));
    }

    /// A frame of mine that begins the next exchange of a TXOP, if I have just decided so.
    pub fn take_continuation(&mut self) -> Option<Frame> {
        self.continuation.take()
    }

    // Outcomes.

    fn succeed(&mut self) {
        let c = self.sender;
        self.expected = None;
        let contender = &mut self.contenders[c];
        contender.in_service = None;
        contender.cw = contender.parameters.cw_min;
        if let Some(&next) = contender.queue.front() {
            let first = self.announced(self.data_frame(next));
            if self.rules.sifs + first.length + first.duration_field <= self.txop_left {
                self.contenders[c].queue.pop_front();
                self.serve(next);
                self.after_cts = false;
                self.counts[next.to].attempts += 1;
                let first = Frame { opens_exchange: false, ..first };
                self.response = Some((first, self.rules.sifs));
                self.continuation = Some(first);
                return;
            }
        }
        self.go_on(c);
    }

    fn fail(&mut self) {
        self.expected = None;
        let c = self.sender;
        let contender = &mut self.contenders[c];
        let service = contender.in_service.as_mut().expect("only a frame in service can fail");
        let to = service.packet.to;
        self.counts[to].failures += 1;
        if self.after_cts {
            service.long += 1;
        } else {
            service.short += 1;
        }
        if service.short == self.rules.short_limit || service.long == self.rules.long_limit {
            self.counts[to].lost += 1;
            contender.in_service = None;
            contender.cw = contender.parameters.cw_min;
        } else {
            contender.cw = (2 * contender.cw + 1).min(contender.parameters.cw_max);
        }
        self.go_on(c);
    }

    /// After every transmission: a backoff, wanted or not, then the next packet.
    fn go_on(&mut self, c: usize) {
        self.draw(c);
        if self.contenders[c].in_service.is_none()
            && let Some(next) = self.contenders[c].queue.pop_front()
        {
            self.serve(next);
        }
    }
}
