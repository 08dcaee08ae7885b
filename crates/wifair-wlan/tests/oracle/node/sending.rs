//! What a node puts on the air, and what becomes of it.

use super::{Expected, Node};
use crate::oracle::agreement::Event;
use crate::oracle::contender::Service;
use crate::oracle::flaw::Flaw;
use crate::oracle::frame::{Content, Frame, Kind, Packet};
use crate::oracle::timing::{ACK_BYTES, Beacons, LLC_BYTES, RTS_BYTES};

impl Node {
    /// What this node does at this instant: whether it starts a frame, a response that is due or its own access.
    /// At a slot boundary a category either transmits or steps.
    #[inline]
    pub fn decide(&mut self) -> bool {
        if let Some((_, left)) = self.response {
            return left == 0;
        }
        if self.expected.is_some() || self.is_busy() {
            return false;
        }
        self.lost.clear();
        let by_boundaries = self.goes_by_boundaries();
        let mut winner = None;
        let categories = self.contenders.len() - usize::from(self.beacons.is_some());
        let first = self.beacons.filter(|_| !self.rules.has(Flaw::BeaconsLast));
        let last = self.beacons.filter(|_| first.is_none());
        for c in first.into_iter().chain(0..categories).chain(last) {
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
                self.lost.push(c);
            }
        }
        winner.is_some()
    }

    /// Another category of this node transmits at the instant at which this one would.
    fn lose_internally(&mut self, c: usize) {
        // Under DCF a beacon is the only other.
        let retries = self.rules.edca.is_none_or(|edca| edca.internal_collision_retry);
        let contender = &mut self.contenders[c];
        if Some(c) == self.beacons {
            return self.draw(c); // only where the model is to be wrong
        }
        let counts = &mut self.counts[contender.receiver()];
        counts.internal += 1;
        match contender.single() {
            None => {
                contender.events.note(Event::InternalCollision);
                contender.link_has_failed(retries, self.rules.short_limit);
                if self.rules.has(Flaw::InternalFailure) {
                    self.fail_first(c);
                }
            }
            Some(single) => {
                single.short += u32::from(retries);
                let lost = retries && single.short == self.rules.short_limit;
                if lost {
                    counts.lost.push(single.packet.id);
                }
                contender.single_has_failed(lost);
            }
        }
        self.go_on(c);
    }

    /// That frame.
    pub fn start(&mut self) -> Frame {
        if let Some((frame, _)) = self.response.take() {
            if matches!(frame.kind, Kind::Data | Kind::Request) {
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
        contender.counter = None;
        self.txop_left = contender.parameters.txop_limit;
        if let (Some(beacons), Some(c)) = (self.rules.beacons, self.beacons)
            && c == self.sender
        {
            self.beacon_on_air = true;
            return self.beacon(beacons);
        }
        let (data, psdu_bytes) = self.next_data(false);
        self.begin(&data);
        let form = self.form_to(data.to);
        if !self.rules.uses_rts(form, psdu_bytes) {
            return self.announced(data);
        }
        let rules = &self.rules;
        let cts = rules.control(ACK_BYTES, data.reservation);
        Frame {
            kind: Kind::Rts,
            length: rules.control(RTS_BYTES, data.reservation),
            duration_field: rules.sifs + cts + rules.sifs + data.length + data.duration_field,
            ..data
        }
    }

    fn beacon(&self, beacons: Beacons) -> Frame {
        let form = self.rules.beacon_form(beacons);
        Frame {
            kind: Kind::Beacon,
            from: self.id,
            to: self.id,
            category: 0,
            content: Content::Nothing,
            data_rate: form.rate,
            mode: None,
            response: form,
            reservation: form,
            length: self.rules.control(beacons.bytes, form),
            mpdu_ends: Vec::new(),
            duration_field: match self.rules.has(Flaw::BeaconsSetNav) {
                true => self.rules.sifs + self.rules.control(ACK_BYTES, form),
                false => 0,
            },
            opens_exchange: true,
            queued: 0,
        }
    }

    /// A beacon of mine is over; the next, if it has become due meanwhile, waits.
    fn beacon_is_over(&mut self) {
        let c = self.sender;
        self.beacon_on_air = false;
        let follows = std::mem::take(&mut self.beacon_follows);
        self.contenders[c].in_service = follows.then_some(Service::Beacon);
        self.draw(c);
    }

    /// What the exchange that begins now is about, and its PSDU bytes: the frame in service, a request, or a PPDU that is
    /// formed.
    fn next_data(&mut self, follows: bool) -> (Frame, u32) {
        let contender = &mut self.contenders[self.sender];
        if let Some(single) = contender.single() {
            single.attempts += 1;
            let (packet, number) = (single.packet, single.attempts);
            let data = Frame { queued: self.queued(), ..self.single_frame(packet, number) };
            return (data, self.rules.mpdu_bytes(packet.ip_bytes));
        }
        let (data, psdu_bytes) = self.next_of_link(follows);
        (Frame { queued: self.queued(), ..data }, psdu_bytes)
    }

    /// Bytes of the MSDUs of the category whose turn it is, in the transmit queue and in the MAC.
    fn queued(&self) -> u32 {
        let contender = &self.contenders[self.sender];
        let in_tx_queue = contender.queue.iter().map(|packet| packet.ip_bytes + LLC_BYTES);
        let links = contender.links.iter().flatten().flat_map(|link| &link.queue);
        let in_links = links.flat_map(|mpdu| &mpdu.packets).map(|packet| packet.ip_bytes + LLC_BYTES);
        let single = match &contender.in_service {
            Some(Service::Single(single)) => single.packet.ip_bytes + LLC_BYTES,
            _ => 0,
        };
        in_tx_queue.chain(in_links).sum::<u32>() + single
    }

    /// An exchange of mine begins; its data frame will be this one, whatever changes meanwhile.
    fn begin(&mut self, data: &Frame) {
        self.counts[data.to].attempts += 1;
        self.after_cts = false;
        self.data = Some(data.clone());
    }

    /// The data frame of my exchange in progress.
    pub(super) fn settled_data(&self) -> Frame {
        let data = self.data.clone().expect("an exchange of mine goes on");
        Frame { opens_exchange: false, ..data }
    }

    /// The first transmission where `data` is to be sent without an RTS: the frame itself, or its CTS-to-self.
    pub(super) fn announced(&self, data: Frame) -> Frame {
        let rules = &self.rules;
        if !rules.announces(self.form_to(data.to)) {
            return data;
        }
        Frame {
            kind: Kind::Announcement,
            length: rules.control(ACK_BYTES, data.reservation),
            duration_field: rules.sifs + data.length + data.duration_field,
            ..data
        }
    }

    pub(super) fn single_frame(&self, packet: Packet, number: u32) -> Frame {
        let rules = &self.rules;
        let form = self.form_to(packet.to);
        let response = rules.response_form(form);
        Frame {
            kind: Kind::Data,
            from: self.id,
            to: packet.to,
            category: packet.category,
            content: Content::Single { packet, number },
            data_rate: form.rate(),
            mode: self.mode_to(packet.to),
            response,
            reservation: rules.reservation_form(form),
            length: rules.data_frame(packet.ip_bytes, form),
            mpdu_ends: Vec::new(),
            duration_field: rules.sifs + rules.control(ACK_BYTES, response),
            opens_exchange: true,
            queued: 0,
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
            Kind::Ack | Kind::BlockAck => return,
            Kind::Beacon => {
                if self.rules.has(Flaw::BeaconsAreAwaited) {
                    self.noise_left = self.rules.ack_timeout_of(frame.response);
                }
                return self.beacon_is_over();
            }
            Kind::Announcement => {
                self.response = Some((self.settled_data(), self.rules.sifs));
                return;
            }
            Kind::Cts => {
                // The addressee of an RTS sets no NAV; its own CTS binds it to the exchange all the same.
                self.nav_left = frame.duration_field;
                return;
            }
            Kind::Rts => self.rules.cts_timeout_of(frame.reservation),
            Kind::Data | Kind::Request => {
                if !matches!(frame.content, Content::Request { .. }) {
                    self.unanswered = Some(frame.to);
                }
                self.rules.ack_timeout_of(frame.response)
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

    /// The response was decoded.
    pub(super) fn succeed(&mut self, response: &Frame) {
        let c = self.sender;
        self.expected = None;
        let all = match self.contenders[c].in_service {
            Some(Service::Single(_)) => {
                self.contenders[c].in_service = None;
                true
            }
            _ => self.link_has_succeeded(&response.content),
        };
        let contender = &mut self.contenders[c];
        contender.has_succeeded();
        if !all && self.rules.has(Flaw::CwAfterPartial) {
            contender.widen();
        }
        contender.serve();
        if contender.in_service.is_some() && contender.parameters.txop_limit > 0 && self.fits_into_txop() {
            let (data, _) = self.next_data(true);
            self.begin(&data);
            let first = Frame { opens_exchange: false, ..self.announced(data) };
            self.response = Some((first.clone(), self.rules.sifs));
            self.continuation = Some(first);
            return;
        }
        self.go_on(c);
    }

    /// Whether an exchange of what is in service may follow in the TXOP.
    fn fits_into_txop(&mut self) -> bool {
        let single = self.contenders[self.sender].single().map(|single| single.packet);
        let data = match single {
            Some(packet) => self.single_frame(packet, 1),
            None => self.shortest_of_link(),
        };
        let first = self.announced(data);
        let fits = self.rules.sifs + first.length + first.duration_field <= self.txop_left;
        if single.is_none() {
            self.contenders[self.sender].events.note_if(!fits, Event::DoesNotFitTxop);
        }
        fits
    }

    pub(super) fn fail(&mut self) {
        let rts = self.expected.take().is_some_and(|expected| expected.cts);
        let c = self.sender;
        let contender = &mut self.contenders[c];
        let counts = &mut self.counts[contender.receiver()];
        counts.failures += 1;
        let Some(single) = contender.single() else {
            contender.events.note_if(rts, Event::RtsFailed);
            self.link_has_failed(rts);
            self.go_on(c);
            return;
        };
        if self.after_cts {
            single.long += 1;
        } else {
            single.short += 1;
        }
        let lost = single.short == self.rules.short_limit || single.long == self.rules.long_limit;
        if lost {
            counts.lost.push(single.packet.id);
        }
        contender.single_has_failed(lost);
        self.go_on(c);
    }

    /// After every transmission: a backoff, wanted or not, then the next packet.
    fn go_on(&mut self, c: usize) {
        let retries = self.contenders[c].in_service.is_some();
        if retries {
            self.draw(c);
        }
        if let Some(cw_min) = self.contenders[c].announced.take() {
            self.contenders[c].set_cw_min(cw_min);
        }
        if !retries {
            self.draw(c);
            self.contenders[c].serve();
        }
    }
}
