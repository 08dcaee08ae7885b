//! Links with agreements: what is put together for them, and what becomes of it (docs/medium.md, section 12).

use super::Node;
use crate::oracle::agreement::{Event, Originator};
use crate::oracle::contender::Contender;
use crate::oracle::frame::{Content, Frame, Kind, Mpdu, NodeId};
use crate::oracle::timing::{Aggregation, Ht, REQUEST_BYTES};

impl Node {
    fn agreed(&self) -> Aggregation {
        self.rules.aggregation.expect("an agreement is for aggregation")
    }

    fn mode(&self, receiver: NodeId) -> Ht {
        self.modes[receiver].expect("a link with an agreement")
    }

    /// The contender whose turn it is, and the link that it serves.
    fn serving(&mut self) -> (&mut Contender, NodeId) {
        let contender = &mut self.contenders[self.sender];
        let receiver = contender.receiver();
        (contender, receiver)
    }

    fn link(&mut self) -> &mut Originator {
        let (contender, receiver) = self.serving();
        contender.link(receiver)
    }

    /// A request if one is owed, else a PPDU; and its PSDU bytes. `follows`: in a TXOP, after a SIFS.
    pub(super) fn next_of_link(&mut self, follows: bool) -> (Frame, u32) {
        self.contenders[self.sender].events.note_if(follows, Event::FollowsInTxop);
        if self.link().request.is_some() {
            let (contender, _) = self.serving();
            contender.events.note(Event::RequestSent);
            contender.events.note_if(follows, Event::RequestInTxop);
            return (self.request(), REQUEST_BYTES);
        }
        let mpdus = self.form(follows);
        let psdu_bytes = self.psdu_bytes(&mpdus);
        let rts = !follows && self.rules.uses_rts(psdu_bytes);
        self.contenders[self.sender].events.note_if(rts, Event::AfterRts);
        (self.ppdu(mpdus, psdu_bytes), psdu_bytes)
    }

    /// The least that the link in service could send next in its TXOP.
    pub(super) fn shortest_of_link(&mut self) -> Frame {
        if self.link().request.is_some() {
            return self.request();
        }
        let head = *self.link().queue.front().expect("a link in service has something to send");
        let psdu_bytes = self.psdu_bytes(&[head]);
        self.ppdu(vec![head], psdu_bytes)
    }

    fn request(&mut self) -> Frame {
        let (_, receiver) = self.serving();
        let mode = self.mode(receiver);
        Frame {
            kind: Kind::Request,
            from: self.id,
            to: receiver,
            category: self.sender,
            content: Content::Request { start: self.link().start() },
            data_rate: mode.rate(),
            response_rate: self.rules.response_rate(mode),
            length: self.rules.request(mode),
            duration_field: self.rules.sifs + self.rules.block_ack(mode),
            opens_exchange: true,
        }
    }

    fn ppdu(&mut self, mpdus: Vec<Mpdu>, psdu_bytes: u32) -> Frame {
        let (_, receiver) = self.serving();
        let mode = self.mode(receiver);
        Frame {
            kind: Kind::Data,
            from: self.id,
            to: receiver,
            category: self.sender,
            data_rate: mode.rate(),
            response_rate: self.rules.response_rate(mode),
            length: self.rules.ppdu(psdu_bytes, mode),
            duration_field: self.rules.sifs + self.rules.response(mpdus.len(), mode),
            opens_exchange: true,
            content: Content::Mpdus(mpdus),
        }
    }

    fn psdu_bytes(&mut self, mpdus: &[Mpdu]) -> u32 {
        let (_, receiver) = self.serving();
        let ip_bytes: Vec<u32> = mpdus.iter().map(|mpdu| mpdu.packet.ip_bytes).collect();
        self.rules.psdu_bytes(&ip_bytes, self.mode(receiver))
    }

    /// What goes into the PPDU that begins now: of the link queue, then of the port.
    fn form(&mut self, follows: bool) -> Vec<Mpdu> {
        let queue = &self.link().queue;
        let mut waiting =
            queue.iter().copied().map(|m| Mpdu { number: m.number + 1, ..m }).collect::<Vec<_>>();
        let mut mpdus = vec![waiting.remove(0)];
        let exceeded = self.exceeded(&mpdus, follows);
        self.contenders[self.sender].events.note_if(exceeded.is_some(), Event::LongHead);
        let ended_by = loop {
            let from_port = waiting.is_empty();
            let next = match waiting.first() {
                Some(&next) => next,
                None => match self.next_of_port() {
                    Ok(next) => next,
                    Err(ended_by) => break ended_by,
                },
            };
            mpdus.push(next);
            if let Some(limit) = self.exceeded(&mpdus, follows) {
                mpdus.pop();
                break limit;
            }
            if from_port {
                self.take_from_port();
            } else {
                waiting.remove(0);
            }
        };
        let mode = self.mode(self.contenders[self.sender].receiver());
        let spaced = |mpdu: &Mpdu| self.rules.spacing_extends(mpdu.packet.ip_bytes, mode);
        let spaced = mpdus[..mpdus.len() - 1].iter().any(spaced);
        let stalled = ended_by == Event::EndedByWindow && !waiting.is_empty();
        let events = &mut self.contenders[self.sender].events;
        events.note(ended_by);
        events.note_if(stalled, Event::WindowStall);
        events.note_if(spaced, Event::Spaced);
        events.note(if mpdus.len() == 1 { Event::One } else { Event::Several });
        mpdus
    }

    /// The packet that the port would give for the PPDU, as the MPDU that it would become; or why there is none.
    fn next_of_port(&mut self) -> Result<Mpdu, Event> {
        let head_run = self.agreed().head_run;
        let (contender, receiver) = self.serving();
        let mut candidates = contender.queue.iter().filter(|packet| head_run || packet.to == receiver);
        match candidates.next() {
            None => Err(Event::EndedByPort),
            Some(packet) if packet.to != receiver => Err(Event::EndedByHeadRun),
            Some(&packet) => Ok(Mpdu { seq: contender.link(receiver).next(), packet, number: 1 }),
        }
    }

    /// That packet enters the link queue.
    fn take_from_port(&mut self) {
        let (contender, receiver) = self.serving();
        let place = contender.queue.iter().position(|packet| packet.to == receiver).expect("it is there");
        contender.events.note_if(place > 0, Event::Gathered);
        let packet = contender.queue.remove(place).expect("it is there");
        contender.link(receiver).enter(packet);
    }

    /// Which limit a PPDU with these MPDUs would exceed.
    fn exceeded(&mut self, mpdus: &[Mpdu], follows: bool) -> Option<Event> {
        let limits = self.agreed();
        let bytes = self.psdu_bytes(mpdus);
        let start = self.link().start();
        let last = mpdus.last().expect("a PPDU is not empty").seq;
        let frame = self.ppdu(mpdus.to_vec(), bytes);
        let ppdu = frame.length;
        if last >= start + u64::from(limits.window) {
            return Some(Event::EndedByWindow);
        }
        if limits.max_mpdus.is_some_and(|most| mpdus.len() > most as usize) {
            return Some(Event::EndedByCount);
        }
        if bytes > limits.max_ampdu_bytes {
            return Some(Event::EndedByBytes);
        }
        if ppdu > limits.max_ppdu {
            return Some(Event::EndedByDuration);
        }
        let first = self.announced(frame);
        let mut needed = first.length + first.duration_field;
        if follows {
            needed += self.rules.sifs;
        } else if self.rules.uses_rts(bytes) {
            needed += self.rules.rts() + self.rules.cts() + 2 * self.rules.sifs;
        }
        let limited = self.contenders[self.sender].parameters.txop_limit > 0;
        (limited && needed > self.txop_left).then_some(Event::EndedByTxop)
    }

    /// The response to what the link in service sent was decoded.
    pub(super) fn link_has_succeeded(&mut self, response: &Content) {
        let Aggregation { max_attempts, requests, .. } = self.agreed();
        let sent = self.data.take().expect("it answers a frame of mine").content;
        let (contender, receiver) = self.serving();
        let link = contender.link(receiver);
        let given_up = match (&sent, response) {
            (Content::Mpdus(sent), Content::Mpdus(_)) => {
                link.acknowledge(&sent.iter().map(|mpdu| mpdu.seq).collect());
                Vec::new()
            }
            (Content::Mpdus(sent), Content::Decoded(decoded)) => {
                let sent_now = decoded.iter().copied().filter(|seq| sent.iter().any(|mpdu| mpdu.seq == *seq));
                link.acknowledge(&sent_now.collect());
                let partial = sent.iter().any(|mpdu| !decoded.contains(&mpdu.seq));
                let given_up = link.fail(sent, max_attempts, requests);
                contender.events.note_if(partial, Event::Partial);
                given_up
            }
            (Content::Request { .. }, Content::Decoded(decoded)) => {
                link.request = None;
                let before = link.queue.len();
                link.acknowledge(decoded);
                let fewer = link.queue.len() < before;
                contender.events.note(Event::RequestAnswered);
                contender.events.note_if(fewer, Event::RequestAcknowledges);
                Vec::new()
            }
            _ => unreachable!("no answer to that"),
        };
        contender.release();
        self.give_up(receiver, given_up);
    }

    /// Nothing came back, or nothing that could be decoded.
    pub(super) fn link_has_failed(&mut self) {
        let Aggregation { max_attempts, requests, .. } = self.agreed();
        let short_limit = self.rules.short_limit;
        let sent = self.data.take().expect("a frame of mine has failed").content;
        let (contender, receiver) = self.serving();
        let link = contender.link(receiver);
        let given_up = match sent {
            Content::Mpdus(sent) => link.fail(&sent, max_attempts, requests),
            Content::Request { .. } => {
                let failures = link.request.map_or(0, |failures| failures + 1);
                let dropped = failures == short_limit;
                link.request = (!dropped).then_some(failures);
                contender.events.note(Event::RequestFailed);
                contender.events.note_if(dropped, Event::RequestDropped);
                Vec::new()
            }
            _ => unreachable!("not of a link with an agreement"),
        };
        contender.link_has_failed(true, short_limit);
        if !contender.link(receiver).is_pending() {
            contender.in_service = None;
        }
        self.give_up(receiver, given_up);
    }

    fn give_up(&mut self, receiver: NodeId, mpdus: Vec<Mpdu>) {
        for mpdu in mpdus {
            self.events.note(Event::GivenUp);
            self.counts[receiver].lost.push(mpdu.packet.id);
            self.given_up.push((receiver, mpdu));
        }
    }
}
