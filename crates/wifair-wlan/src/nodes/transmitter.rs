//! A channel access function where links have Block Ack agreements (`docs/medium.md`, section 12): which link it serves, the
//! content of its PPDUs, and the outcome of their MPDUs.

use wifair_core::Time;
use wifair_queue::{DequeuedPacket, Exchange, Grant, Outcome, TxQueue, View};

use super::{Finished, Nodes, parts};
use crate::aggregation::{
    Account, Aggregation, Agreement, AirtimeShare, Feed, Fill, Formed, Hardware, Limits, Mpdu, Originator,
    QueuedPpdu, Requests, TriesInService,
};
use crate::deadlines::Deadlines;
use crate::edcaf::{Cost, Edcaf};
use crate::node::{EdcafId, LinkId, rank};
use crate::phy::timing::BssTiming;
use crate::ppdu::Ppdu;

/// Next service of a channel access function.
pub(super) enum Picked {
    /// A link with a Block Ack agreement.
    Link(LinkId),
    /// A packet of another link.
    Frame(DequeuedPacket),
}

/// A channel access function, the transmit queue that feeds it, and what both use of their node and of the BSS.
pub(crate) struct MacTransmitter<'a> {
    pub(super) index: EdcafId,
    pub(super) edcaf: &'a mut Edcaf,
    pub(super) queue: &'a mut TxQueue,
    /// What the scheme of the queue can read.
    pub(super) view: View<'a>,
    pub(super) aggregation: &'a mut Aggregation,
    pub(super) deadlines: &'a mut Deadlines,
}

impl Nodes {
    /// A channel access function with its transmit queue, where links have Block Ack agreements.
    pub(crate) fn transmitter(&mut self, index: EdcafId) -> MacTransmitter<'_> {
        let (queue, edcaf) = parts(&mut self.categories, index);
        let view = self.views.of(edcaf.role().is_ap);
        let aggregation = self.aggregation.as_mut().expect("links have agreements");
        MacTransmitter { index, edcaf, queue, view, aggregation, deadlines: &mut self.deadlines }
    }
}

impl MacTransmitter<'_> {
    /// The originator of the link in service.
    fn originator(&mut self) -> &mut Originator {
        let (link, rank) = (self.edcaf.link(), rank(self.edcaf.role().ac));
        &mut self.aggregation.of_mut(link, rank).expect("it has an agreement").originator
    }

    /// Lets the function, which is free, choose the link to serve next; returns whether there is one.
    pub(crate) fn choose(&mut self, phy: &BssTiming, now: Time) -> bool {
        match self.pick(self.edcaf.link(), phy, now) {
            Some(Picked::Link(link)) => self.edcaf.serve_queue(link, now),
            Some(Picked::Frame(departure)) => {
                self.edcaf.release();
                self.edcaf.load(Some(departure), phy, now);
            }
            None => self.edcaf.release(),
        }
        !self.edcaf.is_free()
    }

    /// Selects the next link to serve, or a frame without an agreement. Links take turns after `last` unless the queue chooses.
    pub(super) fn pick(&mut self, last: LinkId, phy: &BssTiming, now: Time) -> Option<Picked> {
        let MacTransmitter { index, edcaf, queue, view, aggregation, deadlines } = self;
        let (index, role) = (*index, *edcaf.role());
        let Hardware { ahead, feed, .. } = *aggregation.hardware_of(index);
        let (asks_queue, gathers) = (feed == Feed::OnDemand, ahead > 0 && aggregation.gathers());
        let arbitrates = asks_queue && queue.arbitrates();
        if !arbitrates && let Some(link) = aggregation.take_pending(index, last) {
            return Some(Picked::Link(link));
        }
        let picked = loop {
            let station_limit = (ahead > 0).then(|| aggregation.backlog_of(index).with_room(rank(role.ac)));
            let mut grant = Grant { ac: role.ac, gathers, station_limit, ..Grant::ANY };
            if arbitrates {
                let is_pending = |station| aggregation.is_pending(index, LinkId::of(role.is_ap, station));
                let Some(station) = queue.choose_station(&grant, &is_pending, now, *view) else {
                    break None;
                };
                if is_pending(station) {
                    break Some(Picked::Link(LinkId::of(role.is_ap, station)));
                }
                grant.station = Some(station);
            }
            let departure = if asks_queue { queue.dequeue(&grant, now, || *view) } else { None };
            let departure = departure.map(DequeuedPacket::from);
            let Some(departure) = departure else {
                if arbitrates {
                    continue; // the packets for that station are gone
                }
                break aggregation.take_last(index).map(Picked::Link);
            };
            let link = LinkId::of(role.is_ap, departure.station);
            break match aggregation.of_mut(link, rank(role.ac)) {
                Some(agreement) => {
                    agreement.originator.push(departure, phy.psdu_bytes(0), now);
                    Some(Picked::Link(link))
                }
                None => Some(Picked::Frame(departure)),
            };
        };
        deadlines.follow(role.tx_queue, queue, now);
        if let Some(Picked::Link(link)) = picked {
            aggregation.unlist(index, link);
        }
        picked
    }

    /// Ends the service of a link; it waits to be served again if it has anything left to send.
    pub(super) fn release_link(&mut self, link: LinkId, now: Time) {
        let (index, ac) = (self.index, self.edcaf.role().ac);
        let asks_queue = self.aggregation.hardware_of(index).feed == Feed::OnDemand;
        if self.aggregation.release(index, link, rank(ac)) && asks_queue && self.queue.arbitrates() {
            self.queue.hold_pending(link.station(), ac, now, self.view);
        }
    }

    /// [`Nodes::select_next`]: a link that was in service waits to be served again if it has anything left
    /// to send.
    #[inline(never)]
    pub(super) fn select_next(&mut self, phy: &BssTiming, now: Time) -> bool {
        if self.edcaf.serves_queue() {
            self.release_link(self.edcaf.link(), now);
        } else {
            self.edcaf.load(None::<DequeuedPacket>, phy, now);
        }
        self.choose(phy, now)
    }

    /// Forms a PPDU for a link: a PSDU of at most `max_psdu_bytes`, in which subframes start at least `spacing_bytes` apart; or
    /// a Block Ack Request.
    pub(crate) fn form(
        self,
        link: LinkId,
        max_psdu_bytes: u32,
        spacing_bytes: u32,
        phy: &BssTiming,
        now: Time,
    ) -> Formed {
        let MacTransmitter { index, edcaf, queue, view, aggregation, deadlines } = self;
        let role = edcaf.role();
        let rules = aggregation.rules;
        let hardware = *aggregation.hardware_of(index);
        let asks_queue = hardware.feed == Feed::OnDemand;
        let agreement = aggregation.of_mut(link, rank(role.ac)).expect("it has an agreement");
        let limits = Limits {
            max_mpdus: rules.max_mpdus.min(hardware.max_mpdus(agreement.window)),
            max_psdu_bytes,
            spacing_bytes,
            mac_bytes: phy.psdu_bytes(0),
        };
        let (ac, station, gathers) = (role.ac, link.station(), rules.fill == Fill::Gather);
        let formed = agreement.originator.form(&limits, now, |max_bytes| {
            let grant = Grant { ac, station: Some(station), max_bytes, gathers, ..Grant::ANY };
            if asks_queue { queue.dequeue(&grant, now, || view).map(DequeuedPacket::from) } else { None }
        });
        deadlines.follow(role.tx_queue, queue, now);
        formed
    }

    /// Puts a PPDU of the link in service in service.
    pub(crate) fn serve_ppdu(&mut self, formed: QueuedPpdu) {
        self.edcaf.set_ppdu(formed.ppdu);
        self.originator().serve(formed.number);
        let sampled = formed.samples.then_some(formed.link);
        self.tries().begin(formed.tries, sampled);
    }

    /// The tries of the PPDU in service.
    pub(crate) fn tries(&mut self) -> &mut TriesInService {
        &mut self.aggregation.tries[self.index.index()]
    }

    /// Whether what is formed next for a link is a Block Ack Request.
    pub(crate) fn forms_request(&self, link: LinkId) -> bool {
        let agreement = self.aggregation.of(link, rank(self.edcaf.role().ac));
        agreement.is_some_and(|agreement| agreement.originator.forms_request())
    }

    /// Discards the last PPDU of the link in service, which will be formed again.
    pub(crate) fn dissolve(mut self) {
        self.originator().dissolve();
    }

    /// Draws whether the receiver decodes each MPDU of the PPDU: `decodes` decides by length. Returns whether it decodes any.
    pub(crate) fn draw(mut self, decodes: impl FnMut(u32) -> bool) -> bool {
        self.originator().draw(decodes)
    }

    /// Counts a transmission of the PPDU of the link queue in service, which has begun at `began`; after an RTS that collides
    /// the PPDU itself is not `sent`.
    pub(crate) fn attempt_ppdu(self, began: Time, sent: bool) {
        let (Cost { airtime, overhead }, service) = self.edcaf.attempt_ppdu(began);
        let spent = AirtimeShare { airtime, overhead, service };
        let MacTransmitter { index, edcaf, queue, aggregation, .. } = self;
        if sent {
            aggregation.tries[index.index()].count_sent();
        }
        let follows_missed = aggregation.attempts_of(index).requests == Requests::Missed;
        let agreement = aggregation.of_mut(edcaf.link(), rank(edcaf.role().ac)).expect("it has an agreement");
        let note = |since, packets| queue.record_wait_below(began - since, packets);
        let is_requested = follows_missed && sent && edcaf.ppdu().mpdus > 1;
        agreement.originator.attempt(spent, edcaf.mode().rate, is_requested, note);
    }

    /// Of the PPDU that [`MacTransmitter::attempt_ppdu`] has counted, which is not yet sent, `ppdu` remains.
    pub(crate) fn shorten(mut self, ppdu: Ppdu) {
        self.edcaf.set_ppdu(ppdu);
        self.originator().shorten(ppdu.mpdus, ppdu.mode.rate);
    }

    /// Sets for how long the PPDU that [`MacTransmitter::attempt_ppdu`] has counted occupies the medium, as far as that is
    /// known; unless an RTS was all that was sent, the PPDU itself was `sent`.
    pub(crate) fn occupy(mut self, airtime: Time, sent: bool) {
        self.edcaf.occupy_ppdu(airtime);
        let follows_missed = self.aggregation.attempts_of(self.index).requests == Requests::Missed;
        let is_requested = follows_missed && sent && self.edcaf.ppdu().mpdus > 1;
        self.originator().set_airtime(airtime, is_requested);
    }

    /// Counts the failure of each MPDU of the PPDU in service, or of the Block Ack Request, after `timeout`. Returns whether
    /// something has reached its retry limit, and whether nothing else is left to send; neither if another try follows.
    #[inline(never)]
    pub(super) fn fail_mpdus(mut self, timeout: Time) -> (bool, bool) {
        self.originator().fail(timeout);
        if self.tries().fail() {
            return (false, false);
        }
        let attempts = self.aggregation.attempts_of(self.index);
        let originator = self.originator();
        let (has_exhausted, is_exhausted) =
            (originator.has_exhausted(&attempts), originator.is_exhausted(&attempts));
        if has_exhausted {
            let mpdus = self.edcaf.ppdu().mpdus;
            self.tries().end(mpdus, 0);
        }
        if self.aggregation.hardware_of(self.index).prefetches() {
            return (true, true); // what it sends next is account when the outcome is known
        }
        (has_exhausted, is_exhausted)
    }

    /// [`Nodes::finish`] for a link queue.
    #[inline(never)]
    pub(super) fn finish(
        self,
        succeeded: bool,
        is_watched: bool,
        now: Time,
        mut done: impl FnMut(&Finished),
    ) -> bool {
        let MacTransmitter { index, edcaf, queue, view, aggregation, deadlines } = self;
        if succeeded {
            edcaf.forget_failures();
        }
        let role = edcaf.role();
        let attempts = aggregation.attempts_of(index);
        aggregation.tries[index.index()].leave();
        let is_fed = aggregation.hardware_of(index).feed != Feed::OnDemand;
        let (link, rank) = (edcaf.link(), rank(role.ac));
        let (Agreement { originator, .. }, backlog) = aggregation.with_backlog(index, link, rank);
        let is_watched = is_watched || queue.observes_exchanges();
        if succeeded && !is_watched && !is_fed {
            let complete = |departure: &DequeuedPacket| {
                let nobody = || unreachable!("nobody watches");
                queue.complete(departure, Outcome::Delivered, now, || view, nobody);
            };
            if originator.acknowledge_ordinary(complete) {
                deadlines.follow_freed(queue, now);
                return originator.is_pending();
            }
        }
        let mut finish = |mpdu: &Mpdu, account: &Account, outcome: Outcome| {
            let departure = &mpdu.departure;
            let Account { spent, rate } = *account;
            done(&Finished {
                outcome,
                class: departure.class,
                is_received: mpdu.is_taken(),
                is_ap: role.is_ap,
                cost: Cost { airtime: spent.airtime, overhead: spent.overhead },
            });
            if is_fed {
                backlog.leave(rank, link.station(), mpdu.pending);
            }
            let exchange = || Exchange {
                outcome,
                packets: std::slice::from_ref(&departure.packet),
                flow: departure.flow,
                station: departure.station,
                ac: role.ac,
                rate,
                attempts: mpdu.attempts().min(u32::from(u8::MAX)) as u8,
                airtime: spent.airtime,
                overhead: spent.overhead,
                service: spent.service,
            };
            queue.complete(departure, outcome, now, || view, exchange);
        };
        match succeeded {
            true => {
                originator.acknowledge(is_watched, |mpdu, account| finish(mpdu, account, Outcome::Delivered))
            }
            false => originator.dissolve(),
        }
        originator.give_up(&attempts, |mpdu, account| finish(mpdu, account, Outcome::LostAtRetryLimit));
        deadlines.follow_freed(queue, now);
        originator.is_pending()
    }
}
