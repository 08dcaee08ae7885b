//! What a node puts on the air, and what becomes of it.

use super::{Expected, Node};
use crate::oracle::frame::{Frame, Kind, Packet};

impl Node {
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
            if frame.kind == Kind::Data {
                self.noise_left = 0; // of what collides, the last frames count
            }
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
    pub(super) fn settled_data(&self) -> Frame {
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

    /// My frame has ended. An answer may have been `drowned` by frames that were on the air when it began.
    pub fn sent(&mut self, frame: &Frame, drowned: bool) {
        self.wait();
        if drowned {
            self.noise_left = self.rules.eifs_lead(); // section 11, case 3
            return;
        }
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

    /// My frame has been captured: nothing follows it in its TXOP (section 11).
    pub fn end_txop(&mut self) {
        self.txop_left = 0;
    }

    /// A frame of mine that begins the next exchange of a TXOP, if I have just decided so.
    pub fn take_continuation(&mut self) -> Option<Frame> {
        self.continuation.take()
    }

    // Outcomes.

    pub(super) fn succeed(&mut self) {
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

    pub(super) fn fail(&mut self) {
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
