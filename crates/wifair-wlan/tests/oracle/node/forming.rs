//! Links with agreements: what is put together for them, and what becomes of it (docs/medium.md, section 12).

use super::Node;
use crate::oracle::agreement::{Event, Originator};
use crate::oracle::contender::Contender;
use crate::oracle::flaw::Flaw;
use crate::oracle::frame::{Content, Frame, Kind, Mpdu, NodeId, Packet};
use crate::oracle::mode::Mode;
use crate::oracle::timing::{ACK_BYTES, Aggregation, Form, REQUEST_BYTES, RTS_BYTES, Requests};
use std::collections::VecDeque;

impl Node {
    fn agreed(&self) -> Aggregation {
        self.rules.aggregation.expect("an agreement is for aggregation")
    }

    fn mode(&self, receiver: NodeId) -> Mode {
        self.mode_to(receiver).expect("a link with an agreement")
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

    /// Transmissions of an MPDU, and whether a request follows the last.
    fn limits(&self) -> (u32, bool) {
        let Aggregation { max_attempts, requests, .. } = self.agreed();
        let more = u32::from(self.rules.has(Flaw::OneMoreAttempt));
        let follows = requests != Requests::Never && !self.rules.has(Flaw::NoRequest);
        (max_attempts + more, follows)
    }

    /// An internal collision of the link in service (a failure of its first MPDU, where the model is to be wrong).
    pub(super) fn fail_first(&mut self, c: usize) {
        let (max_attempts, requests) = self.limits();
        let contender = &mut self.contenders[c];
        let receiver = contender.receiver();
        let link = contender.link(receiver);
        let first: Vec<Mpdu> = link.queue.front().cloned().into_iter().collect();
        let given_up = link.fail(&first, max_attempts, requests);
        if !link.is_pending() {
            contender.release();
        }
        self.give_up(receiver, given_up);
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
        let (mpdus, psdu_bytes, mode) = match self.mpdus_tried_again() {
            Some(again) => again,
            None => {
                let mpdus = self.form(follows);
                let (psdu_bytes, mode) =
                    (self.psdu_bytes(&mpdus), self.mode(self.contenders[self.sender].receiver()));
                self.link().begin(&mpdus, psdu_bytes, mode);
                (mpdus, psdu_bytes, mode)
            }
        };
        let rts = !follows && self.rules.uses_rts(Form::Mode(mode), psdu_bytes);
        self.contenders[self.sender].events.note_if(rts, Event::AfterRts);
        (self.ppdu(mpdus, psdu_bytes, mode), psdu_bytes)
    }

    /// The PPDU in service, if it is to be sent again as it was formed.
    fn mpdus_tried_again(&mut self) -> Option<(Vec<Mpdu>, u32, Mode)> {
        let now = self.mode(self.contenders[self.sender].receiver());
        let tried = self.link().tried.clone()?;
        let mut mpdus = tried.mpdus;
        for mpdu in &mut mpdus {
            let failures = self.link().queue.iter().find(|queued| queued.seq == mpdu.seq);
            mpdu.number = failures.expect("none has left").number + 1;
        }
        let waits = !self.contenders[self.sender].queue.is_empty();
        let events = &mut self.contenders[self.sender].events;
        events.note(Event::TriedAgain);
        events.note_if(waits, Event::TriedAgainShort);
        events.note_if(tried.mode != now, Event::TriedInOldMode);
        let mode = if self.rules.has(Flaw::TriesInNewModes) { now } else { tried.mode };
        Some((mpdus, tried.psdu_bytes, mode))
    }

    /// The least that the link in service could send next in its TXOP.
    pub(super) fn shortest_of_link(&mut self) -> Frame {
        if self.link().request.is_some() {
            return self.request();
        }
        let head = self.link().queue.front().expect("a link in service has something to send").clone();
        let psdu_bytes = self.psdu_bytes(std::slice::from_ref(&head));
        let mode = self.mode(self.contenders[self.sender].receiver());
        self.ppdu(vec![head], psdu_bytes, mode)
    }

    /// A PPDU of these MPDUs on the link in service, and its PSDU bytes.
    pub(super) fn ppdu_of(&mut self, mpdus: &[Mpdu]) -> (Frame, u32) {
        let mode = self.mode(self.contenders[self.sender].receiver());
        let psdu_bytes = self.psdu_bytes(mpdus);
        (self.ppdu(mpdus.to_vec(), psdu_bytes, mode), psdu_bytes)
    }

    /// The PPDU in service has these MPDUs alone; others fail.
    pub(super) fn puts_back(&mut self, kept: &[Mpdu], psdu_bytes: u32, failed: &[Mpdu]) {
        let mode = self.mode(self.contenders[self.sender].receiver());
        self.link().begin(kept, psdu_bytes, mode);
        self.link().fail_try(failed);
    }

    pub(super) fn request(&mut self) -> Frame {
        let (_, receiver) = self.serving();
        let mode = self.mode(receiver);
        let early = u64::from(self.rules.has(Flaw::EarlyRequest));
        let start = self.link().start().saturating_sub(early);
        Frame {
            kind: Kind::Request,
            from: self.id,
            to: receiver,
            category: self.sender,
            content: Content::Request { start },
            data_rate: mode.rate(),
            mode: None,
            response: self.rules.response_form(Form::Mode(mode)),
            reservation: self.rules.reservation_form(Form::Mode(mode)),
            length: self.rules.request(mode),
            mpdu_ends: Vec::new(),
            duration_field: self.rules.sifs + self.rules.block_ack(mode),
            opens_exchange: true,
            queued: 0,
        }
    }

    fn ppdu(&mut self, mpdus: Vec<Mpdu>, psdu_bytes: u32, mode: Mode) -> Frame {
        let (_, receiver) = self.serving();
        let length = self.rules.ppdu(psdu_bytes, mode);
        Frame {
            mpdu_ends: self.mpdu_ends(&mpdus, mode, length),
            kind: Kind::Data,
            from: self.id,
            to: receiver,
            category: self.sender,
            data_rate: mode.rate(),
            mode: Some(mode),
            response: self.rules.response_form(Form::Mode(mode)),
            reservation: self.rules.reservation_form(Form::Mode(mode)),
            length,
            duration_field: self.rules.sifs + self.rules.response(mpdus.len(), mode),
            opens_exchange: true,
            queued: 0,
            content: Content::Mpdus(mpdus),
        }
    }

    /// When the MPDUs of a PPDU of this length end, from its start, if each is received at its own end.
    fn mpdu_ends(&self, mpdus: &[Mpdu], mode: Mode, length: u32) -> Vec<u32> {
        if self.agreed().delivers_mpdus == self.rules.has(Flaw::SwappedDelivery) {
            return Vec::new();
        }
        let bytes: Vec<u32> = mpdus.iter().map(|mpdu| self.rules.bytes_with(&mpdu.ip_bytes())).collect();
        self.rules.mpdu_ends(&bytes, mode, length)
    }

    fn psdu_bytes(&mut self, mpdus: &[Mpdu]) -> u32 {
        let (_, receiver) = self.serving();
        let bytes: Vec<u32> = mpdus.iter().map(|mpdu| self.rules.bytes_with(&mpdu.ip_bytes())).collect();
        self.rules.psdu_of(&bytes, self.mode(receiver))
    }

    /// What goes into the PPDU that begins now: of the link queue, then of the transmit queue.
    fn form(&mut self, follows: bool) -> Vec<Mpdu> {
        let queue = self.link().queue.iter().cloned();
        let mut waiting: VecDeque<Mpdu> = queue.map(|m| Mpdu { number: m.number + 1, ..m }).collect();
        let mut mpdus = vec![waiting.pop_front().expect("a link in service has something to send")];
        let exceeded = self.exceeded(&mpdus, follows);
        self.contenders[self.sender].events.note_if(exceeded.is_some(), Event::LongHead);
        let mut passed_over = 0;
        let ended_by = loop {
            if let Some(next) = waiting.front() {
                mpdus.push(next.clone());
                if let Some(limit) = self.exceeded(&mpdus, follows) {
                    mpdus.pop();
                    break limit;
                }
                waiting.pop_front();
                continue;
            }
            let packet = match self.next_of_tx_queue(passed_over) {
                Ok(packet) => packet,
                Err(ended_by) => break ended_by,
            };
            if let Some(longer) = self.joined(&mpdus, packet, follows) {
                mpdus = longer;
                let packet = self.take_from_port(passed_over);
                self.link().join(packet);
                continue;
            }
            mpdus.push(Mpdu { seq: self.link().next(), packets: vec![packet], number: 1 });
            if let Some(limit) = self.exceeded(&mpdus, follows) {
                mpdus.pop();
                if self.rules.has(Flaw::LooksBehind) {
                    passed_over += 1;
                    continue;
                }
                break limit;
            }
            let packet = self.take_from_port(passed_over);
            self.link().enter(packet);
        };
        let mode = self.mode(self.contenders[self.sender].receiver());
        let spaced = |mpdu: &Mpdu| self.rules.spacing_extends(self.rules.bytes_with(&mpdu.ip_bytes()), mode);
        let spaced = mpdus[..mpdus.len() - 1].iter().any(spaced);
        let stalled = ended_by == Event::EndedByWindow && !waiting.is_empty();
        let wraps = self.link().wraps();
        let events = &mut self.contenders[self.sender].events;
        events.note(ended_by);
        events.note_if(stalled, Event::WindowStall);
        events.note_if(spaced, Event::Spaced);
        events.note_if(wraps, Event::Wraps);
        events.note_if(mpdus.len() > 64, Event::Over64);
        events.note_if(mpdus.len() > 256, Event::Over256);
        events.note(if mpdus.len() == 1 { Event::One } else { Event::Several });
        mpdus
    }

    /// The MPDUs with a packet that has joined the last of them, if it may.
    fn joined(&mut self, mpdus: &[Mpdu], packet: Packet, follows: bool) -> Option<Vec<Mpdu>> {
        if self.agreed().max_amsdu_bytes == 0 {
            return None;
        }
        let mut longer = mpdus.to_vec();
        let last = longer.last_mut().expect("a PPDU is not empty");
        if last.number > 1 && !self.rules.has(Flaw::JoinsTheSent) {
            self.contenders[self.sender].events.note(Event::ClosedBySending);
            return None;
        }
        last.packets.push(packet);
        let ip_bytes = last.ip_bytes();
        let mode = self.mode(self.contenders[self.sender].receiver());
        if !self.rules.may_share(&ip_bytes, mode) {
            self.contenders[self.sender].events.note(Event::AmsduFull);
            return None;
        }
        let limits = self.agreed();
        let full = limits.max_mpdus == Some(mpdus.len() as u32)
            || self.link().next() >= self.link().start() + u64::from(self.rules.window(mode));
        if full && self.rules.has(Flaw::ClosedByCount) {
            return None;
        }
        let bytes = match &longer[..] {
            [one] => self.rules.psdu_as_of_several(self.rules.bytes_with(&one.ip_bytes())),
            several => self.psdu_bytes(several),
        };
        let answered = if self.rules.has(Flaw::AmsduWithAck) { longer.len() } else { longer.len().max(2) };
        if self.exceeded_by(bytes, answered, follows).is_some() {
            return None;
        }
        let events = &mut self.contenders[self.sender].events;
        events.note(Event::Joined);
        events.note_if(full, Event::JoinedBeyondCount);
        Some(longer)
    }

    /// The packet that the transmit queue would give for the PPDU, after so many that are passed over; or why there is none.
    fn next_of_tx_queue(&mut self, passed_over: usize) -> Result<Packet, Event> {
        let head_run = self.agreed().head_run != self.rules.has(Flaw::SwappedFill);
        let (contender, receiver) = self.serving();
        let mut candidates = contender.queue.iter().filter(|packet| head_run || packet.to == receiver);
        match candidates.nth(passed_over) {
            None => Err(Event::EndedByTxQueue),
            Some(packet) if packet.to != receiver => Err(Event::EndedByHeadRun),
            Some(&packet) => Ok(packet),
        }
    }

    /// That packet, which leaves the transmit queue.
    fn take_from_port(&mut self, passed_over: usize) -> Packet {
        let (contender, receiver) = self.serving();
        let mut mine = contender.queue.iter().enumerate().filter(|(_, packet)| packet.to == receiver);
        let (place, _) = mine.nth(passed_over).expect("it is there");
        contender.events.note_if(place > 0, Event::Gathered);
        contender.queue.remove(place).expect("it is there")
    }

    /// Which limit a PPDU with these MPDUs would exceed.
    fn exceeded(&mut self, mpdus: &[Mpdu], follows: bool) -> Option<Event> {
        let limits = self.agreed();
        let bytes = self.psdu_bytes(mpdus);
        let start = self.link().start();
        let last = mpdus.last().expect("a PPDU is not empty").seq;
        let mode = self.mode(self.contenders[self.sender].receiver());
        let rules = &self.rules;
        let wider = u64::from(rules.has(Flaw::WiderWindow));
        if last >= start + u64::from(rules.window(mode)) + wider {
            return Some(Event::EndedByWindow);
        }
        let more = usize::from(rules.has(Flaw::MoreMpdus));
        if limits.max_mpdus.is_some_and(|most| mpdus.len() > most as usize + more) {
            return Some(Event::EndedByCount);
        }
        self.exceeded_by(bytes, mpdus.len(), follows)
    }

    /// Which limit of length or time a PPDU of so many bytes would exceed, answered as one of so many MPDUs.
    fn exceeded_by(&self, bytes: u32, mpdus: usize, follows: bool) -> Option<Event> {
        let limits = self.agreed();
        let mode = self.mode(self.contenders[self.sender].receiver());
        let rules = &self.rules;
        let ppdu = rules.ppdu(bytes, mode);
        if bytes > rules.max_psdu_bytes(mode) {
            return Some(Event::EndedByBytes);
        }
        let longer = if rules.has(Flaw::LongerPpdu) { 4 * rules.steps } else { 0 };
        if ppdu > limits.max_ppdu + longer {
            return Some(Event::EndedByDuration);
        }
        let form = Form::Mode(mode);
        let cts = rules.control(ACK_BYTES, rules.reservation_form(form)) + rules.sifs;
        let mut needed = ppdu;
        if !rules.has(Flaw::TxopWithoutResponse) {
            needed += rules.sifs + rules.response(mpdus, mode);
        }
        if rules.announces(form) {
            needed += cts;
        }
        if follows {
            needed += rules.sifs;
        } else if rules.uses_rts(form, bytes) {
            needed += rules.control(RTS_BYTES, rules.reservation_form(form)) + rules.sifs + cts;
        }
        let limited = self.contenders[self.sender].parameters.txop_limit > 0;
        (limited && needed > self.txop_left).then_some(Event::EndedByTxop)
    }

    /// The response to what the link in service sent was decoded. Whether it acknowledges all MPDUs.
    pub(super) fn link_has_succeeded(&mut self, response: &Content) -> bool {
        let (max_attempts, requests) = self.limits();
        let flaw = self.rules.flaw;
        let sent = self.data.take().expect("it answers a frame of mine").content;
        let (contender, receiver) = self.serving();
        let link = contender.link(receiver);
        let wraps = link.wraps();
        let mut all = true;
        let given_up = match (&sent, response) {
            (Content::Mpdus(sent), Content::Mpdus(_)) => {
                link.acknowledge(&sent.iter().map(|mpdu| mpdu.seq).collect());
                Vec::new()
            }
            (Content::Mpdus(sent), Content::Decoded(decoded)) => {
                let seqs = sent.iter().map(|mpdu| mpdu.seq);
                link.acknowledge(&seqs.filter(|seq| decoded.contains(seq)).collect());
                let partial = sent.iter().any(|mpdu| !decoded.contains(&mpdu.seq));
                let given_up = link.fail(sent, max_attempts, requests);
                contender.events.note_if(partial, Event::Partial);
                contender.events.note_if(partial && wraps, Event::WrapPartial);
                all = !partial;
                given_up
            }
            (Content::Request { .. }, Content::Decoded(decoded)) => {
                link.request = None;
                let before = link.queue.len();
                if flaw != Some(Flaw::SilentRequest) {
                    link.acknowledge(decoded);
                }
                let fewer = link.queue.len() < before;
                contender.events.note(Event::RequestAnswered);
                contender.events.note_if(fewer, Event::RequestAcknowledges);
                Vec::new()
            }
            _ => unreachable!("no answer to that"),
        };
        contender.link(receiver).tried = None;
        contender.release();
        self.give_up(receiver, given_up);
        all
    }

    /// Nothing came back, or nothing that could be decoded.
    pub(super) fn link_has_failed(&mut self, rts: bool) {
        let (max_attempts, requests) = self.limits();
        let harmless = rts && self.rules.has(Flaw::RtsFailsNothing);
        let (endless, released) =
            (self.rules.has(Flaw::EndlessRequest), self.rules.has(Flaw::ReleasedByFailure));
        let short_limit = self.rules.short_limit;
        let sent = self.data.take().expect("a frame of mine has failed").content;
        let missed = self.misses_block_ack(&sent, rts);
        if !harmless
            && let Content::Mpdus(mpdus) = &sent
            && self.tries_again(mpdus, rts, missed)
        {
            let (contender, _) = self.serving();
            contender.link_has_failed(true, short_limit);
            return;
        }
        let (contender, receiver) = self.serving();
        let link = contender.link(receiver);
        let given_up = match sent {
            Content::Mpdus(_) if harmless => Vec::new(),
            Content::Mpdus(sent) => link.fail(&sent, max_attempts, requests),
            Content::Request { .. } => {
                let failures = link.request.map_or(0, |failures| failures + 1);
                let dropped = failures == short_limit && !endless;
                link.request = (!dropped).then_some(failures);
                contender.events.note(Event::RequestFailed);
                contender.events.note_if(dropped, Event::RequestDropped);
                Vec::new()
            }
            _ => unreachable!("not of a link with an agreement"),
        };
        let request = &mut contender.link(receiver).request;
        if missed && request.is_none() {
            *request = Some(0);
            contender.events.note(Event::RequestAfterMissed);
        }
        contender.link_has_failed(true, short_limit);
        if released || !contender.link(receiver).is_pending() {
            contender.release();
        }
        self.give_up(receiver, given_up);
    }

    /// Whether the PPDU in service, a try of which has failed, has another: then its MPDUs have failed, and that is all.
    fn tries_again(&mut self, mpdus: &[Mpdu], rts: bool, missed: bool) -> bool {
        let has = |flaw| self.rules.has(flaw);
        let (more, ends) = (u32::from(has(Flaw::OneMoreTry)), missed && has(Flaw::RequestAfterEachTry));
        let (anew, once, spares) =
            (has(Flaw::FormedForEachTry), has(Flaw::TriesFailOnce), rts && has(Flaw::RtsIsNoTry));
        let tries = if anew || ends { 1 } else { self.agreed().tries + more };
        let counts_all = has(Flaw::TriesCountForLimit);
        let (max_attempts, _) = self.limits();
        let link = self.link();
        let Some(tried) = &mut link.tried else { return false };
        tried.failed += u32::from(!spares || tried.failed > 0);
        if tried.failed < tries {
            if !once {
                link.fail_try(mpdus);
            }
            return true;
        }
        let spared = tried.failed > 1 && tried.mpdus[0].number < max_attempts;
        let spared = spared && tried.mpdus[0].number - 1 + tried.failed >= max_attempts;
        if counts_all {
            link.tried = None;
        }
        let (contender, _) = self.serving();
        contender.events.note_if(tries > 1, Event::TriesOver);
        contender.events.note_if(spared, Event::SparedByTries);
        false
    }

    /// Whether a Block Ack was missed after which a request is due. `rts`: what came to nothing was an RTS.
    fn misses_block_ack(&self, sent: &Content, rts: bool) -> bool {
        let Content::Mpdus(mpdus) = sent else { return false };
        let several = mpdus.len() > 1 || self.rules.has(Flaw::RequestAfterMissedAck);
        let sent = !rts || self.rules.has(Flaw::RequestAfterMissedCts);
        self.agreed().requests == Requests::Missed && several && sent
    }

    fn give_up(&mut self, receiver: NodeId, mpdus: Vec<Mpdu>) {
        for mpdu in mpdus {
            self.events.note(Event::GivenUp);
            self.counts[receiver].lost.extend(mpdu.packets.iter().map(|packet| packet.id));
            self.given_up.push((receiver, mpdu));
        }
    }
}
