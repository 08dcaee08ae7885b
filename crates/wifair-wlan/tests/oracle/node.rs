//! One listener: a MAC that knows only what it is told about the medium, step by step.

mod quiet;

use super::contender::Contender;
use super::frame::{Counts, Frame, Heard, Kind, NodeId, Packet};
use super::rate::Ladder;
use super::timing::{Category, Rules};
use wifair_core::Rng;

/// The answer that a sender waits for.
struct Expected {
    cts: bool,
    /// Steps until the timeout.
    left: u32,
    /// The answer has begun: no timeout any more.
    begun: bool,
}

pub struct Node {
    id: NodeId,
    rules: Rules,
    /// The rate towards each peer: by node for the AP (entry 0 unused), only the AP for a station.
    pub rates: Vec<Ladder>,
    channel: Rng,

    /// Packets that a port holds.
    pub queue_limit: usize,
    limit_counts_in_service: bool,
    /// The highest category first.
    contenders: Vec<Contender>,

    nav_left: u32,
    energy_on_air: bool,

    /// Whose frame is or was last on the air.
    sender: usize,
    /// The data frame of that exchange, as it was settled at its start.
    data: Option<Frame>,
    /// That frame went after a CTS.
    after_cts: bool,
    /// My data frame to that peer has ended, and the exchange has not.
    unanswered: Option<NodeId>,
    /// Steps left of the TXOP.
    txop_left: u32,
    expected: Option<Expected>,
    /// A response of mine, and the steps until it is due.
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
        rates: Vec<Ladder>,
        port: (usize, bool),
    ) -> Node {
        let count = rates.len();
        let purposes = match rules.edca {
            None => &["backoff"][..],
            Some(_) => &["backoff-voice", "backoff-video", "backoff-best-effort", "backoff-background"],
        };
        let contender = |(parameters, purpose): (Category, &&str)| {
            Contender::new(parameters, Rng::stream(seed, label, purpose))
        };
        Node {
            id,
            rules,
            rates,
            channel: Rng::stream(seed, label, "channel"),
            queue_limit: port.0,
            limit_counts_in_service: port.1,
            contenders: rules.categories(id).into_iter().zip(purposes).map(contender).collect(),
            nav_left: 0,
            energy_on_air: false,
            sender: 0,
            data: None,
            after_cts: false,
            unanswered: None,
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

    /// The upper layer hands a packet to its category's port, or to the one that all share.
    pub fn offer(&mut self, packet: Packet) {
        let c = packet.category;
        let shares = self.rules.shares_port(self.id);
        let of_port = self.contenders.iter().enumerate().filter(|(other, _)| shares || *other == c);
        let counted = of_port.map(|(_, contender)| {
            let in_service = self.limit_counts_in_service && contender.in_service.is_some();
            contender.queue.len() + usize::from(in_service)
        });
        if counted.sum::<usize>() >= self.queue_limit {
            return;
        }
        let contender = &mut self.contenders[c];
        contender.queue.push_back(packet);
        if contender.in_service.is_none() {
            contender.serve();
            self.contend_after_silence(c);
        }
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

    /// One step of the clock has passed, in which the medium was as it is known to be.
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
        let lost = edca.internal_collision_retry && service.short == self.rules.short_limit;
        if lost {
            counts.lost.push(service.packet.id);
        }
        contender.has_failed(lost);
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
        let number = contender.attempt();
        let packet = contender.in_service.as_ref().expect("an access is for a frame in service").packet;
        contender.counter = None;
        self.txop_left = contender.parameters.txop_limit;
        let data = self.data_frame(packet, number);
        self.begin(data);
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

    /// An exchange of mine begins; its data frame will be this one, whatever changes meanwhile.
    fn begin(&mut self, data: Frame) {
        self.counts[data.to].attempts += 1;
        self.after_cts = false;
        self.data = Some(data);
    }

    /// The data frame of my exchange that goes on.
    fn settled_data(&self) -> Frame {
        let data = self.data.expect("an exchange of mine goes on");
        Frame { opens_exchange: false, ..data }
    }

    /// What goes on the air first where `data` is to be sent without an RTS: the frame itself, or its CTS-to-self.
    fn announced(&self, data: Frame) -> Frame {
        if !self.rules.announces() {
            return data;
        }
        let rules = &self.rules;
        Frame {
            kind: Kind::Announcement,
            length: rules.cts(),
            duration_field: rules.sifs + data.length + data.duration_field,
            ..data
        }
    }

    fn data_frame(&self, packet: Packet, number: u32) -> Frame {
        let rules = &self.rules;
        let data_rate = self.rates[packet.to].rate();
        Frame {
            kind: Kind::Data,
            from: self.id,
            to: packet.to,
            packet,
            number,
            data_rate,
            length: rules.data(packet.ip_bytes, data_rate),
            duration_field: rules.sifs + rules.ack(),
            opens_exchange: true,
        }
    }

    /// My frame has ended.
    pub fn sent(&mut self, frame: &Frame) {
        self.wait(0);
        let wait = match frame.kind {
            Kind::Ack => return,
            Kind::Announcement => {
                self.response = Some((self.settled_data(), self.rules.sifs));
                return;
            }
            Kind::Cts => {
                // The addressee of an RTS sets no NAV; its own CTS binds it to the exchange all the same.
                self.nav_left = frame.duration_field;
                return;
            }
            Kind::Rts => self.rules.cts_timeout(),
            Kind::Data => {
                self.unanswered = Some(frame.to);
                self.rules.ack_timeout()
            }
        };
        self.expected = Some(Expected { cts: frame.kind == Kind::Rts, left: wait, begun: false });
    }

    /// The exchange is over. If no MAC ACK came to my data frame, the rate adaptation hears of it (section 8).
    pub fn exchange_is_over(&mut self) {
        if let Some(peer) = self.unanswered.take() {
            self.rates[peer].hear_of(false);
        }
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

    /// A frame that I heard from its start, alone on the air, has ended. If it is for me, the channel spoils it with
    /// probability `error`.
    pub fn hear(&mut self, frame: &Frame, error: f64) -> Heard {
        // A CTS-to-self names its sender as receiver: for all others it is somebody else's.
        if frame.to != self.id || frame.kind == Kind::Announcement {
            self.wait(0);
            self.nav_left = frame.duration_field;
            return Heard::Decoded;
        }
        if error > 0.0 && self.channel.chance(error) {
            self.wait(self.rules.eifs_lead());
            if frame.kind == Kind::Ack {
                self.exchange_is_over();
                self.fail();
            }
            return Heard::Garbled;
        }
        self.wait(0);
        match frame.kind {
            Kind::Rts => self.respond(frame, Kind::Cts, self.rules.cts()),
            Kind::Cts => {
                self.expected = None;
                self.after_cts = true;
                let service = self.contenders[self.sender].in_service.as_mut();
                service.expect("a CTS answers a frame in service").short = 0;
                self.response = Some((self.settled_data(), self.rules.sifs));
            }
            Kind::Data => {
                self.respond(frame, Kind::Ack, self.rules.ack());
                let packet = frame.packet;
                let last = &mut self.last_from[frame.from][packet.category];
                if *last == Some(packet.id) {
                    self.counts[frame.from].received_again += 1;
                } else {
                    self.counts[frame.from].received += 1;
                    *last = Some(packet.id);
                    return Heard::Delivers(packet);
                }
            }
            Kind::Ack => {
                self.unanswered = None;
                self.rates[frame.from].hear_of(true);
                self.succeed();
            }
            Kind::Announcement => unreachable!("seen to above"),
        }
        Heard::Decoded
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
            ..*to
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
            let data = self.data_frame(next, 1);
            let first = self.announced(data);
            if self.rules.sifs + first.length + first.duration_field <= self.txop_left {
                let contender = &mut self.contenders[c];
                contender.serve();
                contender.attempt();
                self.begin(data);
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
        let counts = &mut self.counts[service.packet.to];
        counts.failures += 1;
        if self.after_cts {
            service.long += 1;
        } else {
            service.short += 1;
        }
        let lost = service.short == self.rules.short_limit || service.long == self.rules.long_limit;
        if lost {
            counts.lost.push(service.packet.id);
        }
        contender.has_failed(lost);
        self.go_on(c);
    }

    /// After every transmission: a backoff, wanted or not, then the next packet.
    fn go_on(&mut self, c: usize) {
        self.draw(c);
        if self.contenders[c].in_service.is_none() {
            self.contenders[c].serve();
        }
    }
}
