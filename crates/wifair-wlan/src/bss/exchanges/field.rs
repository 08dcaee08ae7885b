//! Exchanges of a BSS whose nodes do not all hear each other (`docs/medium.md`, section 16). The field says what happens on
//! the air; here it becomes packets, retries and usage, as `start`, `deliver`, `end` and `failure` do it for the shared medium.

use wifair_core::Time;

use super::{Event, Exchanges, ppdu};
use crate::exchange::{OngoingExchange, ReceptionOutcome};
use crate::field::share::FieldShare;
use crate::field::{FieldEvent, FieldExchange, LinkWidth, Outgoing};
use crate::node::{EdcafId, LinkId, Node};

/// The link from a node to another, one of which is the access point.
pub(crate) fn link_between(from: usize, to: usize) -> LinkId {
    match Node::at(from.max(to)) {
        Node::Station(station) => LinkId::of(from < to, station),
        Node::Ap => unreachable!("the access point sends nothing to itself"),
    }
}

/// How wide the exchanges are of the link that a channel access function has in service.
pub(crate) fn width_of_link(exchanges: &Exchanges, sender: EdcafId) -> LinkWidth {
    let modes = exchanges.modes.of(exchanges.nodes.edcaf(sender).link().station());
    LinkWidth { mhz: modes.width_mhz(), has_punctured: modes.have_punctured() }
}

/// The exchanges of a BSS that is a field.
pub(crate) struct InField<'a>(&'a mut Exchanges);

impl<'a> InField<'a> {
    /// The exchanges, if the BSS is a field.
    #[inline(always)] // most are none
    pub(crate) fn of(exchanges: &'a mut Exchanges) -> Option<InField<'a>> {
        if exchanges.field.is_some() { Some(InField(exchanges)) } else { None }
    }

    fn share(&mut self) -> &mut FieldShare {
        self.0.field.as_deref_mut().expect("the BSS is in a field")
    }

    /// Lets a channel access function that has been free contend for what it has in service.
    pub(super) fn arrive(&mut self, sender: EdcafId, now: Time) {
        self.share().arrive(sender, now);
        self.meter_wait(sender, now);
        self.follow(now);
    }

    /// A target time of the access point's beacons has come.
    pub(crate) fn reach_target(&mut self, now: Time) {
        self.share().reach_target(now);
        self.follow(now);
    }

    /// Returns whether the next of what has happened is that a sender comes to know the outcome of its exchange, or that a
    /// beacon has ended, and makes that what observers see.
    pub(crate) fn reach_outcome(&mut self) -> bool {
        let Some((exchange, _)) = self.share().outcome() else { return self.share().beacon().is_some() };
        self.regard(&exchange);
        self.occupy(&exchange, exchange.ended);
        true
    }

    /// What `sender` sends now or, if it `follows` in a TXOP, after a SIFS; in a field with subchannels in an exchange of at
    /// most so many MHz.
    pub(crate) fn outgoing(
        &mut self,
        sender: EdcafId,
        follows: bool,
        width_mhz: Option<u16>,
        now: Time,
    ) -> Outgoing {
        self.narrow(sender, width_mhz);
        if self.0.nodes.serves_queue(sender) {
            self.0.form_ppdu(sender, now, follows);
        }
        self.formed(sender)
    }

    /// What `sender` sends now, whose PPDU is formed if it serves a link queue.
    fn formed(&self, sender: EdcafId) -> Outgoing {
        let serves_queue = self.0.nodes.serves_queue(sender);
        let Exchanges { nodes, links, modes, .. } = &*self.0;
        let edcaf = nodes.edcaf(sender);
        let link = edcaf.link();
        let ppdu = edcaf.next_ppdu(&links[link.index()].on_air);
        let mut mpdus = Vec::new();
        if serves_queue && !ppdu.is_request() {
            let modes = modes.of(link.station());
            let on_air = modes.on_air(modes.index_of(&ppdu.mode));
            let symbols = |(before, end)| (on_air.start_of_byte(before), on_air.end_of_bytes(end));
            mpdus = match nodes.agreement(link, edcaf.role().ac) {
                Some(agreement) if ppdu.mpdus > 1 => {
                    agreement.originator.mpdu_spans(ppdu.spacing_bytes).map(symbols).collect()
                }
                _ => vec![symbols((0, ppdu.psdu_bytes))],
            };
        }
        Outgoing { to: link.receiver().index(), ppdu, mpdus }
    }

    /// The link in service of `sender` has the mode of an exchange of at most so many MHz.
    fn narrow(&mut self, sender: EdcafId, width_mhz: Option<u16>) {
        let Some(width_mhz) = width_mhz else { return };
        let Exchanges { nodes, links, modes, .. } = &mut *self.0;
        let link = nodes.edcaf(sender).link();
        let row = &mut links[link.index()];
        row.on_air = modes.of(link.station()).within(row.rate, width_mhz);
    }

    /// Counts that an exchange occupies the medium until `end`, as far as is known.
    fn occupy(&mut self, exchange: &FieldExchange, end: Time) {
        let FieldExchange { sender, began, data_ends, .. } = *exchange;
        if self.0.nodes.serves_queue(sender) {
            self.0.nodes.transmitter(sender).occupy(end - began, data_ends.is_some());
        }
    }

    /// Makes `exchange` the one whose events are handled.
    fn regard(&mut self, exchange: &FieldExchange) -> OngoingExchange {
        let FieldExchange { sender, txop_began, began, .. } = *exchange;
        let link = self.0.nodes.edcaf(sender).link();
        let end = match exchange.data_ends {
            Some(data_ends) if exchange.is_received => data_ends + exchange.ppdu.response,
            _ => exchange.ended,
        };
        let outcome = ReceptionOutcome::Decoded; // not read: the field's event says it
        let ongoing = OngoingExchange { sender, link, outcome, end, follows: exchange.follows() };
        self.0.medium.regard(ongoing, txop_began, began);
        ongoing
    }

    /// Handles the next of what has happened at `now`.
    pub(crate) fn pass(&mut self, now: Time) -> Option<Event> {
        let mut output = None;
        match self.share().pop() {
            None => {}
            Some(FieldEvent::Started(sender)) => self.count_attempt(sender, now),
            Some(FieldEvent::Received(exchange)) => {
                let ongoing = self.regard(&exchange);
                self.receive(&exchange, ongoing.end);
                output = self.0.deliver(ongoing, now);
            }
            Some(FieldEvent::Beacon(_)) => {} // observers have seen it
            Some(FieldEvent::Ended { node, to, alone }) => {
                let link = link_between(node, to);
                self.0.links[link.index()].usage.airtime += alone;
            }
            Some(FieldEvent::Narrowed(exchange)) => self.take_narrow_cts(&exchange),
            Some(FieldEvent::Acknowledged(exchange)) => self.acknowledge(&exchange, now),
            Some(FieldEvent::Failed(exchange)) => self.fail(&exchange, now),
        }
        self.follow(now);
        output
    }

    /// Counts a transmission that begins. How long it occupies the medium is known at its end.
    fn count_attempt(&mut self, sender: EdcafId, now: Time) {
        self.0.fix_queue_size(sender);
        self.meter_late_draws(sender);
        let Exchanges { nodes, links, medium, .. } = &mut *self.0;
        let edcaf = nodes.edcaf_mut(sender);
        let link = edcaf.link();
        let row = &mut links[link.index()];
        edcaf.attempt(&row.on_air.mode, Time::ZERO);
        row.usage.attempts += 1;
        if edcaf.serves_queue() {
            let outcome = ReceptionOutcome::Decoded; // not read
            let begun = OngoingExchange { sender, link, outcome, end: now, follows: false };
            medium.regard(begun, now, now);
            self.0.count_mpdus(sender, link, false);
        }
    }

    /// The addressee of `exchange` has decoded its PPDU, or some MPDUs of it. The response ends at `end`.
    fn receive(&mut self, exchange: &FieldExchange, end: Time) {
        let sender = exchange.sender;
        if !self.0.nodes.serves_queue(sender) {
            return;
        }
        self.occupy(exchange, end);
        let Exchanges { nodes, field, .. } = &mut *self.0;
        let mut decoded = field.iter().flat_map(|share| share.decoded(sender)).copied();
        if !exchange.ppdu.is_request() {
            nodes.transmitter(sender).draw(|_| decoded.next() == Some(true));
        }
    }

    /// The sender of `exchange` has decoded a CTS that is narrower than its RTS: what it sends gets the mode of this width. Of
    /// its MPDUs those stay that do not make the exchange longer.
    fn take_narrow_cts(&mut self, exchange: &FieldExchange) {
        let sender = exchange.sender;
        let Exchanges { nodes, links, modes, .. } = &mut *self.0;
        let edcaf = nodes.edcaf_mut(sender);
        let link = edcaf.link();
        let on_air = modes.of(link.station()).narrowed(&exchange.ppdu.mode, exchange.width_mhz);
        edcaf.set_mode(&on_air.mode);
        links[link.index()].on_air = on_air;
        if self.0.nodes.serves_queue(sender) {
            ppdu::shorten(self.0, sender, &exchange.ppdu);
        }
        let outgoing = self.formed(sender);
        self.share().narrow(sender, outgoing);
    }

    /// Handles an internal collision that the frame of `sender` loses.
    pub(crate) fn lose_internally(&mut self, sender: EdcafId, now: Time) {
        let Exchanges { nodes, links, mac, .. } = &mut *self.0;
        let failure = nodes.lose_internally(sender, links, mac);
        self.share().set_window(sender, failure.resets_window);
        match failure.is_lost {
            true => {
                self.meter_late_draws(sender);
                self.0.give_up(sender, now);
            }
            false => self.go_on(sender, true, now),
        }
    }

    fn acknowledge(&mut self, exchange: &FieldExchange, now: Time) {
        let OngoingExchange { sender, link, .. } = self.regard(exchange);
        self.close_cost(exchange);
        self.count_sent(exchange);
        self.share().set_window(sender, true);
        let next = self.0.complete(sender, link, now);
        let follows = next.is_some() && self.share().has_subchannels();
        let width_mhz = follows.then(|| {
            let link = width_of_link(self.0, sender);
            self.share().width_in_txop(sender, link)
        });
        self.narrow(sender, width_mhz);
        match next {
            Some(limit) if limit > Time::ZERO && self.0.fits_txop(sender, limit, now) => {
                self.continue_txop(exchange, width_mhz, now);
            }
            next => self.go_on(sender, next.is_some(), now),
        }
    }

    /// Lets the sender of `exchange`, which has succeeded, send its next PPDU after a SIFS.
    fn continue_txop(&mut self, exchange: &FieldExchange, width_mhz: Option<u16>, now: Time) {
        let FieldExchange { sender, txop_began, .. } = *exchange;
        let next = self.outgoing(sender, true, width_mhz, now);
        self.share().follow(sender, next, txop_began, now);
        self.count_attempt(sender, now);
        self.follow(now);
    }

    fn fail(&mut self, exchange: &FieldExchange, now: Time) {
        let OngoingExchange { sender, link, .. } = self.regard(exchange);
        self.close_cost(exchange);
        self.count_sent(exchange);
        let failure = self.0.nodes.fail(sender, exchange.has_cts(), exchange.ended, now, &self.0.mac);
        if failure.is_reported {
            self.0.nodes.edcaf_mut(sender).close_attempt();
        }
        self.share().set_window(sender, failure.resets_window);
        let sent = if exchange.data_ends.is_some() { exchange.ppdu.mpdus } else { 0 };
        self.0.adapt(sender, link, sent, 0, now);
        if !failure.is_lost {
            self.0.links[link.index()].usage.retries += 1;
            self.go_on(sender, true, now);
        }
    }

    /// Counts a try of the PPDU, unless its RTS was all that was sent.
    fn count_sent(&mut self, exchange: &FieldExchange) {
        if exchange.data_ends.is_some() && self.0.nodes.serves_queue(exchange.sender) {
            self.0.nodes.transmitter(exchange.sender).tries().count_sent();
        }
    }

    /// Counts the airtime of the exchange of a single frame.
    fn close_cost(&mut self, exchange: &FieldExchange) {
        if !self.0.nodes.serves_queue(exchange.sender) {
            self.0.nodes.edcaf_mut(exchange.sender).occupy(exchange.ended - exchange.began);
        }
    }

    /// Counts slots that were drawn after the wait of `sender` for its last access began.
    fn meter_late_draws(&mut self, sender: EdcafId) {
        let drawn_late = self.share().take_drawn_late(sender);
        if self.0.meter.is_some() {
            self.0.nodes.edcaf_mut(sender).wait(drawn_late);
        }
    }

    /// Lets `sender` contend with what it sends next, if there is `more`.
    pub(super) fn go_on(&mut self, sender: EdcafId, more: bool, now: Time) {
        self.share().go_on(sender, more);
        if more {
            self.meter_wait(sender, now);
        }
        self.follow(now);
    }

    /// Counts the wait of `sender` for access that begins now.
    fn meter_wait(&mut self, sender: EdcafId, now: Time) {
        if self.0.meter.is_some() {
            let wait = self.share().wait(sender, now);
            self.0.nodes.edcaf_mut(sender).wait(wait);
        }
    }

    /// The medium's next event is the field's.
    fn follow(&mut self, now: Time) {
        let due = self.share().due(now);
        self.0.medium.set_due(due);
    }
}
