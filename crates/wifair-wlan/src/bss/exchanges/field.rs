//! Exchanges of a BSS whose nodes do not all hear each other (`docs/medium.md`, section 16). The field says what happens on
//! the air; here it becomes packets, retries and usage, as `start`, `deliver`, `end` and `failure` do it for the shared medium.

use wifair_core::Time;

use super::{Event, Exchanges};
use crate::exchange::{OngoingExchange, ReceptionOutcome};
use crate::field::medium::FieldMedium;
use crate::field::{FieldEvent, FieldExchange, Outgoing};
use crate::link::LinkRow;
use crate::node::{EdcafId, LinkId, Node};
use crate::nodes::Nodes;

/// The link from a node to another, one of which is the access point.
pub(crate) fn link_between(from: usize, to: usize) -> LinkId {
    match Node::at(from.max(to)) {
        Node::Station(station) => LinkId::of(from < to, station),
        Node::Ap => unreachable!("the access point sends nothing to itself"),
    }
}

/// What `sender` sends next.
fn outgoing(nodes: &Nodes, links: &[LinkRow], sender: EdcafId) -> Outgoing {
    let edcaf = nodes.edcaf(sender);
    let link = edcaf.link();
    Outgoing { to: link.receiver().index(), ppdu: edcaf.next_ppdu(&links[link.index()].on_air) }
}

/// The exchanges of a BSS that is a field.
pub(crate) struct InField<'a>(&'a mut Exchanges);

impl<'a> InField<'a> {
    /// The exchanges, if the BSS is a field.
    #[inline(always)] // most are none
    pub(crate) fn of(exchanges: &'a mut Exchanges) -> Option<InField<'a>> {
        if exchanges.field.is_some() { Some(InField(exchanges)) } else { None }
    }

    fn medium(&mut self) -> &mut FieldMedium {
        self.0.field.as_deref_mut().expect("the BSS is a field")
    }

    /// Lets a free channel access function take a packet and contend for it.
    pub(super) fn serve(&mut self, sender: EdcafId, now: Time) {
        if self.0.nodes.select_next(sender, &self.0.phy, now) {
            self.medium().field.arrive(sender, now);
            self.meter_wait(sender, now);
            self.follow(now);
        }
    }

    /// Lets the field handle what is due at `now`. Returns whether the first thing that has happened is that a sender comes to
    /// know the outcome of its exchange.
    pub(crate) fn reach_outcome(&mut self, now: Time) -> bool {
        let Exchanges { nodes, links, field, .. } = &mut *self.0;
        let medium = field.as_deref_mut().expect("the BSS is a field");
        medium.advance(now, |sender| outgoing(nodes, links, sender));
        let Some((exchange, _)) = medium.outcome() else { return false };
        self.regard(&exchange);
        true
    }

    /// Makes `exchange` the one whose events are handled.
    fn regard(&mut self, exchange: &FieldExchange) -> OngoingExchange {
        let FieldExchange { sender, txop_began, began, .. } = *exchange;
        let link = self.0.nodes.edcaf(sender).link();
        let end = match exchange.data_ends {
            Some(data_ends) if exchange.is_received => data_ends + exchange.outgoing.ppdu.response,
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
        match self.medium().pop() {
            None => {}
            Some(FieldEvent::Started(sender)) => self.count_attempt(sender),
            Some(FieldEvent::LostInternally(sender)) => self.lose_internally(sender, now),
            Some(FieldEvent::Received(exchange)) => {
                let ongoing = self.regard(&exchange);
                output = self.0.deliver(ongoing, now);
            }
            Some(FieldEvent::Ended { node, to, alone }) => {
                let link = link_between(node, to);
                self.0.links[link.index()].usage.airtime += alone;
            }
            Some(FieldEvent::Acknowledged(exchange)) => self.acknowledge(&exchange, now),
            Some(FieldEvent::Failed(exchange)) => self.fail(&exchange, now),
        }
        self.follow(now);
        output
    }

    /// Counts a transmission that begins. How long it occupies the medium is known at its end.
    fn count_attempt(&mut self, sender: EdcafId) {
        self.0.fix_queue_size(sender);
        let Exchanges { nodes, links, .. } = &mut *self.0;
        let edcaf = nodes.edcaf_mut(sender);
        let row = &mut links[edcaf.link().index()];
        edcaf.attempt(&row.on_air.mode, Time::ZERO);
        row.usage.attempts += 1;
    }

    /// Handles an internal collision that the frame of `sender` loses.
    fn lose_internally(&mut self, sender: EdcafId, now: Time) {
        let Exchanges { nodes, links, mac, .. } = &mut *self.0;
        let failure = nodes.lose_internally(sender, links, mac);
        self.medium().field.set_window(sender, failure.resets_window);
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
        self.medium().field.set_window(sender, true);
        match self.0.complete(sender, link, now) {
            Some(limit) if limit > Time::ZERO && self.0.fits_txop(sender, limit, now) => {
                self.continue_txop(exchange, now);
            }
            next => self.go_on(sender, next.is_some(), now),
        }
    }

    /// Lets the sender of `exchange`, which has succeeded, send its next PPDU after a SIFS.
    fn continue_txop(&mut self, exchange: &FieldExchange, now: Time) {
        let FieldExchange { sender, txop_began, .. } = *exchange;
        let next = outgoing(&self.0.nodes, &self.0.links, sender);
        self.medium().field.follow(sender, next, txop_began, now);
        self.count_attempt(sender);
        self.follow(now);
    }

    fn fail(&mut self, exchange: &FieldExchange, now: Time) {
        let OngoingExchange { sender, link, .. } = self.regard(exchange);
        self.close_cost(exchange);
        let failure = self.0.nodes.fail(sender, exchange.has_cts(), exchange.ended, now, &self.0.mac);
        if failure.is_reported {
            self.0.nodes.edcaf_mut(sender).close_attempt();
        }
        self.medium().field.set_window(sender, failure.resets_window);
        if !failure.is_lost {
            self.0.links[link.index()].usage.retries += 1;
            self.go_on(sender, true, now);
        }
    }

    /// Counts the airtime of an exchange, and slots that were drawn after its wait began.
    fn close_cost(&mut self, exchange: &FieldExchange) {
        self.0.nodes.edcaf_mut(exchange.sender).occupy(exchange.ended - exchange.began);
        self.meter_late_draws(exchange.sender);
    }

    /// Counts slots that were drawn after the wait of `sender` for its last access began.
    fn meter_late_draws(&mut self, sender: EdcafId) {
        let drawn_late = self.medium().field.take_drawn_late(sender);
        if self.0.meter.is_some() {
            self.0.nodes.edcaf_mut(sender).wait(drawn_late);
        }
    }

    /// Lets `sender` contend with what it sends next, if there is `more`.
    pub(super) fn go_on(&mut self, sender: EdcafId, more: bool, now: Time) {
        self.medium().field.go_on(sender, more);
        if more {
            self.meter_wait(sender, now);
        }
        self.follow(now);
    }

    /// Counts the wait of `sender` for access that begins now.
    fn meter_wait(&mut self, sender: EdcafId, now: Time) {
        if self.0.meter.is_some() {
            let wait = self.medium().field.wait(sender, now);
            self.0.nodes.edcaf_mut(sender).wait(wait);
        }
    }

    /// The medium's next event is the field's.
    fn follow(&mut self, now: Time) {
        let due = self.medium().due(now);
        self.0.medium.set_due(due);
    }
}
