//! Links with a Block Ack agreement at the nodes (`docs/medium.md`, section 12): which of them a channel access function
//! serves, the content of its PPDUs, and the outcome of their MPDUs.

use wifair_core::{Ac, FlowId, Packet, Time};
use wifair_queue::{DequeuedPacket, Direction, Exchange, Grant, Outcome};

use super::{Finished, Nodes, Released, is_held, parts};
use crate::aggregation::{
    Aggregation, AirtimeShare, Amsdu, Feed, Fill, Formed, Hardware, Limits, Mpdu, Originator, Psdu, Rules,
    Settled,
};
use crate::edcaf::Cost;
use crate::node::{EdcafId, LinkId, RANKS, rank};
use crate::phy::{BssTiming, Format};

/// Next service of a channel access function.
pub(super) enum Picked {
    /// A link with a Block Ack agreement.
    Link(LinkId),
    /// A packet of another link.
    Frame(DequeuedPacket),
}

impl Nodes {
    /// Sets the links with Block Ack agreements.
    pub(crate) fn set_aggregation(&mut self, aggregation: Aggregation) {
        self.aggregation = Some(Box::new(aggregation));
    }

    pub(super) fn aggregation(&self) -> &Aggregation {
        self.aggregation.as_ref().expect("a link with an agreement is in service")
    }

    pub(super) fn aggregation_mut(&mut self) -> &mut Aggregation {
        self.aggregation.as_mut().expect("a link with an agreement is in service")
    }

    /// Whether a channel access function has a link queue in service, and not a packet.
    #[inline(always)]
    pub(crate) fn serves_queue(&self, index: EdcafId) -> bool {
        self.aggregation.is_some() && self.edcaf(index).serves_queue()
    }

    /// The limits of PPDUs.
    pub(crate) fn aggregation_rules(&self) -> &Rules {
        &self.aggregation().rules
    }

    fn in_service(&self, index: EdcafId) -> (LinkId, usize) {
        let edcaf = self.edcaf(index);
        (edcaf.link(), rank(edcaf.role().ac))
    }

    /// The rules of aggregation, the Block Ack window in MPDUs and the A-MSDUs of a link, if it has an agreement.
    pub(crate) fn agreement_of(&self, link: LinkId, ac: Ac) -> Option<(&Rules, u32, Amsdu)> {
        let aggregation = self.aggregation.as_ref()?;
        let agreement = aggregation.of(link, rank(ac))?;
        Some((&aggregation.rules, agreement.window, agreement.originator.amsdu()))
    }

    /// Block Ack window of a link, in MPDUs; 1 without an agreement.
    pub(crate) fn window_of(&self, index: EdcafId, link: LinkId) -> u32 {
        let rank = rank(self.edcaf(index).role().ac);
        let agreement = self.aggregation.as_ref().and_then(|aggregation| aggregation.of(link, rank));
        agreement.map_or(1, |agreement| agreement.window)
    }

    /// Bytes of the PSDU of what is in service, with the head alone of a link queue; `None` if a Block Ack Request precedes it.
    pub(crate) fn head_psdu_bytes(&self, index: EdcafId, format: Format) -> Option<u32> {
        let edcaf = self.edcaf(index);
        if !edcaf.serves_queue() {
            return Some(edcaf.psdu_bytes());
        }
        let (link, rank) = self.in_service(index);
        let head_bytes = self.aggregation().of(link, rank)?.originator.head_bytes()?;
        Some(Psdu::of(head_bytes).bytes(format.has_s_mpdus()))
    }

    /// Lets a free channel access function choose the link to serve next; returns whether there is one.
    pub(crate) fn choose(&mut self, index: EdcafId, phy: &BssTiming, now: Time) -> bool {
        let last = self.edcaf(index).link();
        match self.pick(index, last, phy, now) {
            Some(Picked::Link(link)) => self.edcaf_mut(index).serve_queue(link, now),
            Some(Picked::Frame(departure)) => {
                self.edcaf_mut(index).release();
                self.edcaf_mut(index).load(Some(departure), phy, now);
            }
            None => self.edcaf_mut(index).release(),
        }
        !self.edcaf(index).is_free()
    }

    /// Picks the next service of a channel access function, given the `last` link.
    pub(super) fn pick(
        &mut self,
        index: EdcafId,
        last: LinkId,
        phy: &BssTiming,
        now: Time,
    ) -> Option<Picked> {
        let (port, edcaf) = parts(&mut self.categories, index);
        let role = *edcaf.role();
        let table = if role.is_ap { self.ap.table() } else { &self.stations };
        let aggregation = self.aggregation.as_mut().expect("it has been asked");
        let Hardware { ahead, feed, .. } = *aggregation.hardware_of(index);
        let (asks_port, gathers) = (feed == Feed::OnDemand, ahead > 0 && aggregation.gathers());
        let arbitrates = asks_port && port.arbitrates();
        if !arbitrates && let Some(link) = aggregation.take_pending(index, last) {
            return Some(Picked::Link(link));
        }
        let picked = loop {
            let station_limit = (ahead > 0).then(|| aggregation.backlog.with_room(rank(role.ac)));
            let mut grant = Grant { ac: role.ac, gathers, station_limit, ..Grant::ANY };
            if arbitrates {
                let is_pending = |station| aggregation.is_pending(index, LinkId::of(role.is_ap, station));
                let Some(station) = port.choose_station(&grant, &is_pending, now, table.view()) else {
                    break None;
                };
                if is_pending(station) {
                    break Some(Picked::Link(LinkId::of(role.is_ap, station)));
                }
                grant.station = Some(station);
            }
            let departure = if asks_port { port.dequeue(&grant, now, || table.view()) } else { None };
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
        self.deadlines.follow(role.port, port, now);
        if let Some(Picked::Link(link)) = picked {
            aggregation.unlist(index, link);
        }
        picked
    }

    /// Ends the service of a link; it waits to be served again if it has anything left to send.
    pub(super) fn release_link(&mut self, index: EdcafId, link: LinkId, now: Time) {
        let (port, edcaf) = parts(&mut self.categories, index);
        let role = *edcaf.role();
        let aggregation = self.aggregation.as_mut().expect("a link with an agreement was in service");
        if aggregation.release(index, link, rank(role.ac)) && port.arbitrates() {
            let table = if role.is_ap { self.ap.table() } else { &self.stations };
            port.hold_pending(link.station(), role.ac, now, table.view());
        }
    }

    /// [`Nodes::select_next`] where links have agreements: a link that was in service waits to be served again if it has anything left to
    /// send.
    #[inline(never)]
    pub(super) fn select_next_link(&mut self, index: EdcafId, phy: &BssTiming, now: Time) -> bool {
        let edcaf = self.edcaf_mut(index);
        if edcaf.serves_queue() {
            let link = edcaf.link();
            self.release_link(index, link, now);
        } else {
            edcaf.load(None::<DequeuedPacket>, phy, now);
        }
        self.choose(index, phy, now)
    }

    /// Forms a PPDU for a link: a PSDU of at most `max_psdu_bytes`, in which subframes start at least `spacing_bytes` apart; or
    /// a Block Ack Request.
    pub(crate) fn form(
        &mut self,
        index: EdcafId,
        link: LinkId,
        max_psdu_bytes: u32,
        spacing_bytes: u32,
        phy: &BssTiming,
        now: Time,
    ) -> Formed {
        let (port, edcaf) = parts(&mut self.categories, index);
        let role = *edcaf.role();
        let table = if role.is_ap { self.ap.table() } else { &self.stations };
        let aggregation = self.aggregation.as_mut().expect("a link with an agreement is served");
        let rules = aggregation.rules;
        let asks_port = aggregation.hardware_of(index).feed == Feed::OnDemand;
        let agreement = aggregation.of_mut(link, rank(role.ac)).expect("it has an agreement");
        let limits = Limits {
            max_mpdus: rules.max_mpdus,
            max_psdu_bytes,
            spacing_bytes,
            mac_bytes: phy.psdu_bytes(0),
        };
        let (ac, station, gathers) = (role.ac, link.station(), rules.fill == Fill::Gather);
        let formed = agreement.originator.form(&limits, now, |max_bytes| {
            let grant = Grant { ac, station: Some(station), max_bytes, gathers, station_limit: None };
            if asks_port {
                port.dequeue(&grant, now, || table.view()).map(DequeuedPacket::from)
            } else {
                None
            }
        });
        self.deadlines.follow(role.port, port, now);
        formed
    }

    /// Selects the PPDU of that number for the link in service.
    pub(crate) fn serve_ppdu(&mut self, index: EdcafId, number: u32) {
        let (link, rank) = self.in_service(index);
        self.originator_mut(link, rank).serve(number);
    }

    /// Discards the last PPDU of the link in service, which will be formed again.
    pub(crate) fn dissolve(&mut self, index: EdcafId) {
        let (link, rank) = self.in_service(index);
        self.originator_mut(link, rank).dissolve();
    }

    /// Draws whether the receiver decodes each MPDU of the PPDU: `decodes` decides by length. Returns whether it decodes any.
    pub(crate) fn draw(&mut self, index: EdcafId, mut decodes: impl FnMut(u32) -> bool) -> bool {
        let edcaf = self.edcaf(index);
        if !edcaf.serves_queue() {
            return decodes(edcaf.psdu_bytes());
        }
        let (link, rank) = self.in_service(index);
        self.aggregation_mut().of_mut(link, rank).is_some_and(|agreement| agreement.originator.draw(decodes))
    }

    /// WinStartO of a link, modulo 4096; 0 without an agreement.
    pub(crate) fn window_start_of(&self, index: EdcafId, link: LinkId) -> u16 {
        let rank = rank(self.edcaf(index).role().ac);
        let agreement = self.aggregation.as_ref().and_then(|aggregation| aggregation.of(link, rank));
        agreement.map_or(0, |agreement| (agreement.originator.window_start() % 4_096) as u16)
    }

    /// Counts a transmission of the PPDU of the link queue in service, which has begun at `began`.
    pub(crate) fn attempt_ppdu(&mut self, index: EdcafId, began: Time) {
        let (port, edcaf) = parts(&mut self.categories, index);
        let (Cost { airtime, overhead }, service) = edcaf.attempt_ppdu(began);
        let rate = edcaf.mode().rate;
        let spent = AirtimeShare { airtime, overhead, service };
        let (link, rank) = (edcaf.link(), rank(edcaf.role().ac));
        let aggregation = self.aggregation.as_mut().expect("a link with an agreement is in service");
        if let Some(agreement) = aggregation.of_mut(link, rank) {
            agreement
                .originator
                .attempt(spent, rate, |since, packets| port.record_wait_below(began - since, packets));
        }
    }

    /// Handles the end of the PPDU of the link in service. `each` receives for each decoded packet whether it is a duplicate.
    pub(crate) fn receive(&mut self, index: EdcafId, now: Time, each: impl FnMut(bool)) {
        let (link, rank) = self.in_service(index);
        match self.edcaf(index).ppdu().is_request() {
            true => self.aggregation_mut().request(link, rank),
            false => self.aggregation_mut().receive(link, rank, now, each),
        }
        self.review_reordering(now);
    }

    /// Number of MPDUs of the PPDU of a channel access function, and how many of them the decoded response acknowledges.
    pub(crate) fn acknowledged(&self, index: EdcafId) -> (u32, u32) {
        let edcaf = self.edcaf(index);
        if !edcaf.serves_queue() {
            return (1, 1);
        }
        let (link, rank) = self.in_service(index);
        let agreement = self.aggregation().of(link, rank);
        (edcaf.ppdu().mpdus, agreement.map_or(0, |agreement| agreement.originator.acknowledged()))
    }

    /// Handles an expired reorder timeout.
    pub(crate) fn expire_reordering(&mut self, now: Time) {
        self.aggregation_mut().expire(now);
        self.review_reordering(now);
    }

    fn review_reordering(&mut self, now: Time) {
        let aggregation = self.aggregation();
        let (has_released, next) = (aggregation.has_released(), aggregation.next_wait());
        self.deadlines.set_reordering(has_released, next, now);
    }

    /// Releases the next packet that recipients have in order. An uplink packet is shown to the AP's flow monitor. Its share of the airtime is
    /// known if it `is_watched`.
    #[inline]
    pub(crate) fn release(&mut self, is_watched: bool, now: Time) -> Option<Released> {
        let aggregation = self.aggregation.as_mut().expect("packets are in order");
        let (link, rank, packet, airtime) = aggregation.take_released(is_watched)?;
        let flow = match link.direction() {
            Direction::Down => FlowId::default(),
            Direction::Up => {
                let (categories, numbering) = (&self.categories, self.numbering);
                let held = |flow| is_held(&categories[..numbering.per_node()], flow);
                self.ap.observe(packet, Direction::Up, now, held)
            }
        };
        if !aggregation.has_released() {
            self.review_reordering(now);
        }
        Some(Released { link, ac: RANKS[rank], flow, airtime })
    }

    /// The packet that a recipient has released last, and its link.
    pub(crate) fn released(&self) -> (LinkId, &Packet) {
        self.aggregation().taken()
    }

    /// Counts the failure of each MPDU of the PPDU in service, or of the Block Ack Request, after `timeout`. Returns whether something
    /// has reached its retry limit, and whether nothing else is left to send.
    #[inline(never)]
    pub(super) fn fail_mpdus(&mut self, index: EdcafId, timeout: Time) -> (bool, bool) {
        let (link, rank) = self.in_service(index);
        if self.prefetches(index) {
            self.originator_mut(link, rank).fail(timeout);
            return (true, true); // what it sends next is settled when the outcome is known
        }
        let attempts = self.aggregation().rules.attempts;
        let originator = self.originator_mut(link, rank);
        originator.fail(timeout);
        (originator.has_exhausted(&attempts), originator.is_exhausted(&attempts))
    }

    fn originator_mut(&mut self, link: LinkId, rank: usize) -> &mut Originator {
        &mut self.aggregation_mut().of_mut(link, rank).expect("it has an agreement").originator
    }

    /// [`Nodes::finish`] for a link queue.
    #[inline(never)]
    pub(super) fn finish_mpdus(
        &mut self,
        index: EdcafId,
        succeeded: bool,
        is_watched: bool,
        now: Time,
        mut done: impl FnMut(&Finished),
    ) -> bool {
        let (port, edcaf) = parts(&mut self.categories, index);
        if succeeded {
            edcaf.forget_failures();
        }
        let role = *edcaf.role();
        let table = if role.is_ap { self.ap.table() } else { &self.stations };
        let aggregation = self.aggregation.as_mut().expect("a link with an agreement is in service");
        let attempts = aggregation.rules.attempts;
        let is_fed = aggregation.hardware_of(index).feed != Feed::OnDemand;
        let (link, rank) = (edcaf.link(), rank(role.ac));
        let (agreement, backlog) = aggregation.with_backlog(link, rank);
        let is_watched = is_watched || port.observes_exchanges();
        if succeeded && !is_watched && !is_fed {
            let complete = |departure: &DequeuedPacket| {
                port.complete(
                    departure,
                    Outcome::Delivered,
                    now,
                    || table.view(),
                    || unreachable!("nobody watches"),
                );
            };
            if agreement.originator.acknowledge_ordinary(complete) {
                self.deadlines.follow_freed(port, now);
                return agreement.originator.is_pending();
            }
        }
        let mut finish = |mpdu: &Mpdu, settled: &Settled, outcome: Outcome| {
            let departure = &mpdu.departure;
            let Settled { spent, rate } = *settled;
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
            port.complete(
                departure,
                outcome,
                now,
                || table.view(),
                || Exchange {
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
                },
            );
        };
        match succeeded {
            true => agreement.originator.acknowledge(is_watched, |mpdu, settled| {
                finish(mpdu, settled, Outcome::Delivered);
            }),
            false => agreement.originator.dissolve(),
        }
        agreement
            .originator
            .give_up(&attempts, |mpdu, settled| finish(mpdu, settled, Outcome::LostAtRetryLimit));
        self.deadlines.follow_freed(port, now);
        agreement.originator.is_pending()
    }
}
