//! Observation of the BSS: the transmissions of the exchange that has just begun, and the journal of all transmit queues.
//! `frames` lists the MAC frames.
//!
//! An exchange is fully determined when it starts (`docs/medium.md`, section 3), so its frames can be listed at once, with the
//! times at which they will be on the air.

use wifair_core::{Ac, Time};
use wifair_queue::{Direction, Journal, MpduOutcome};

use super::Bss;
use crate::exchange::{Phase, ReceptionOutcome};
use crate::field::beacons::SentBeacon;
use crate::node::{EdcafId, LinkId, Node};
use crate::ppdu::Ppdu;
use crate::transmission::{Beacon, SentPpdu, TransmissionOutcome};

/// A sender of the exchange that has just begun.
struct Transmitting {
    id: EdcafId,
    outcome: TransmissionOutcome,
    /// When its part of the exchange ends.
    ends: Time,
    /// When its PPDU ends; `None` if none was transmitted.
    ppdu_ends: Option<Time>,
    /// Whether it gives up its frame if the exchange fails. MPDUs of an agreement count for themselves.
    gives_up: bool,
}

impl Bss {
    /// Makes every transmit queue write in `journal` from now on.
    pub fn keep_journal(&mut self, journal: &Journal) {
        self.exchanges.nodes.keep_journal(journal);
    }

    /// The node and category of each transmit queue, by its number; no category under DCF, and if a node's categories share a
    /// transmit queue.
    pub fn tx_queues(&self) -> impl Iterator<Item = (Node, Option<Ac>)> {
        self.exchanges.nodes.tx_queues()
    }

    /// The node of the transmit queue, or sender, of this number.
    pub fn node_of_tx_queue(&self, tx_queue: u32) -> Node {
        self.exchanges.nodes.numbering().node(EdcafId::at(tx_queue as usize))
    }

    /// The senders of the exchange that has just begun, one or those that collide.
    fn senders(&self) -> impl Iterator<Item = Transmitting> {
        let (collide, exchange) = (self.exchanges.medium.is_collision(), self.exchanges.medium.exchange());
        let is_beacon = self.exchanges.medium.phase() == Phase::Beacon;
        let in_field = self.in_field();
        let is_silent = is_beacon || self.exchanges.field.is_some();
        let single = (!is_silent && (!collide || !self.exchanges.medium.is_lost())).then(|| {
            let outcome = match exchange.outcome {
                ReceptionOutcome::Decoded => TransmissionOutcome::Acknowledged,
                ReceptionOutcome::DataLost => TransmissionOutcome::DataLost,
                ReceptionOutcome::AckLost => TransmissionOutcome::AckLost,
            };
            let has_cts = !exchange.follows && self.exchanges.ppdu(exchange.sender).with_rts;
            let gives_up =
                self.exchanges.nodes.edcaf(exchange.sender).is_last_attempt(has_cts, &self.exchanges.mac);
            let ppdu_ends = Some(self.exchanges.medium.due());
            Transmitting { id: exchange.sender, outcome, ends: exchange.end, ppdu_ends, gives_up }
        });
        let colliders = if collide { self.exchanges.medium.colliders() } else { &[] };
        in_field.into_iter().chain(single).chain(colliders.iter().enumerate().map(|(index, collider)| {
            let outcome = match self.exchanges.medium.is_in_vain(index) && !collider.with_rts {
                true => TransmissionOutcome::AckLost,
                false => TransmissionOutcome::Collided,
            };
            let ends = self.exchanges.medium.end_of_attempt(index);
            let ppdu_ends = match outcome {
                TransmissionOutcome::Collided => (!collider.with_rts).then_some(ends),
                _ => Some(self.exchanges.medium.due()),
            };
            Transmitting { id: collider.sender, outcome, ends, ppdu_ends, gives_up: collider.lost }
        }))
    }

    /// The sender in a field that has just come to know the outcome of its exchange.
    fn in_field(&self) -> Option<Transmitting> {
        let (exchange, outcome) = self.exchanges.field.as_deref()?.outcome()?;
        let id = exchange.sender;
        let edcaf = self.exchanges.nodes.edcaf(id);
        Some(Transmitting {
            id,
            outcome,
            ends: self.exchanges.medium.exchange().end,
            ppdu_ends: exchange.data_ends,
            gives_up: edcaf.is_last_attempt(exchange.has_cts(), &self.exchanges.mac),
        })
    }

    /// When `node` stops transmitting in the exchange that has just begun; `None` if it is not a sender of it.
    pub fn transmits_until(&self, node: Node) -> Option<Time> {
        let own = self.senders().filter(|sender| self.exchanges.nodes.numbering().node(sender.id) == node);
        let beacon = self.exchanges.medium.beacon_ends().filter(|_| node == Node::Ap);
        own.map(|sender| sender.ends).chain(beacon).max()
    }

    /// The beacon in the exchange that has just begun. In a field the one that has just ended.
    pub fn beacon(&self) -> Option<Beacon> {
        let beacons = self.exchanges.medium.beacons()?;
        if let Some(field) = self.exchanges.field.as_deref() {
            let SentBeacon { begins, ends, missed, .. } = field.beacon()?;
            return Some(Beacon { begins, ends, mode: beacons.on_air.mode, collides: missed > 0 });
        }
        Some(Beacon {
            begins: self.exchanges.medium.began(),
            ends: beacons.ends?,
            mode: beacons.on_air.mode,
            collides: self.exchanges.medium.is_collision(),
        })
    }

    /// The transmissions of the exchange that has just begun: one, or those that collide. In a field the one whose sender has
    /// just come to know its outcome.
    pub fn transmissions(&self) -> impl Iterator<Item = SentPpdu<'_>> {
        self.senders().map(|sender| self.transmission(&sender))
    }

    fn transmission(&self, sender: &Transmitting) -> SentPpdu<'_> {
        let &Transmitting { id: sender, outcome, ends, ppdu_ends, gives_up } = sender;
        let begins = self.exchanges.medium.began();
        let edcaf = self.exchanges.nodes.edcaf(sender);
        let link = edcaf.link();
        let agreement = self.exchanges.nodes.agreement(link, edcaf.role().ac);
        let ppdu = self.exchanges.ppdu(sender);
        let (from, to) = self.ends_of(link);
        let reaches = matches!(outcome, TransmissionOutcome::Acknowledged | TransmissionOutcome::AckLost);
        let of_mpdus = match outcome {
            TransmissionOutcome::Acknowledged => MpduOutcome::Delivered,
            _ if gives_up => MpduOutcome::GivenUp,
            _ => MpduOutcome::ToRetry,
        };
        let (transmission, decoded) = self.exchanges.nodes.on_air(sender, ends - begins, reaches, of_mpdus);
        SentPpdu {
            transmission,
            sender: sender.number(),
            from,
            to,
            category: self.exchanges.nodes.category_of(sender),
            has_agreement: self.exchanges.links[link.index()].has_agreement,
            outcome,
            decoded,
            begins,
            ppdu: ppdu_ends.map(|ends| (ends + self.announcement_of(&ppdu) - ppdu.airtime, ends)),
            response: ppdu_ends
                .filter(|_| reaches)
                .map(|data_ends| (data_ends + self.exchanges.phy.sifs, ends)),
            window_start: agreement
                .map_or(0, |agreement| (agreement.originator.window_start() % 4_096) as u16),
            window: agreement.map_or(1, |agreement| agreement.window),
        }
    }

    /// Duration of the CTS-to-self before a PPDU and its SIFS, or zero.
    pub(super) fn announcement_of(&self, ppdu: &Ppdu) -> Time {
        let control = &self.exchanges.phy.control_frames[usize::from(ppdu.control)];
        if control.announces() { control.cts.duration + self.exchanges.phy.sifs } else { Time::ZERO }
    }

    /// Transmitter and addressee of the data frames of a link.
    pub(super) fn ends_of(&self, link: LinkId) -> (Node, Node) {
        let station = Node::Station(link.station());
        match link.direction() {
            Direction::Up => (station, Node::Ap),
            Direction::Down => (Node::Ap, station),
        }
    }
}
