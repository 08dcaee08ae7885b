//! The access point and the stations: their transmit queues, their channel access functions, and the state that their schemes
//! can read.

mod hardware;
mod link_queues;
mod live;
mod reports;
mod transmitter;
mod uplink;

use wifair_core::{Ac, Class, Counters, FiveTuple, FlowId, Packet, Rate, StationId, Time};
use wifair_queue::{Count, Direction, Flows, Grant, Journal, Ledger, Outcome, TxQueue};

use crate::access_point::Views;
use crate::aggregation::Aggregation;
use crate::deadlines::Deadlines;
use crate::edca::Edca;
use crate::edcaf::{Cost, Edcaf, Role};
use crate::node::{EdcafId, LinkId, Node, Numbering, RANKS, rank};
use crate::phy::timing::BssTiming;

/// A transmit queue and the channel access function of the same number, in one record because they are used together.
#[repr(C)] // what every frame and packet needs is together: see the two
struct AccessCategory {
    edcaf: Edcaf,
    tx_queue: TxQueue,
}

/// Which settings a category's transmit queue at the AP has separately, so that changes of the AP's settings do not affect it.
#[derive(Clone, Copy)]
pub(crate) struct SeparateSettings {
    pub limit: bool,
    pub scheme: bool,
}

/// A packet that a recipient has released in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Released {
    pub link: LinkId,
    /// Length of its IP packet.
    pub bytes: u32,
    /// Its flow, if it goes up.
    pub flow: FlowId,
    /// Its share of the airtime of the exchange that delivered it, if the packets are watched.
    pub airtime: Time,
}

/// A packet whose service by the MAC ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finished {
    pub outcome: Outcome,
    pub class: Class,
    /// Whether its receiver has decoded it.
    pub is_received: bool,
    /// Whether the AP has sent it.
    pub is_ap: bool,
    pub cost: Cost,
}

/// All nodes, the access point first. Transmit queues and channel access functions have the same numbers: under DCF by node,
/// under EDCA by node and category (its rank in the low bits). A function has a separate transmit queue, unless those of its
/// node share the first's.
pub(crate) struct Nodes {
    categories: Vec<AccessCategory>,
    edca: Option<Edca>,
    numbering: Numbering,
    views: Views,
    /// By the AP's transmit queues.
    own: Vec<SeparateSettings>,
    /// Present if links have Block Ack agreements.
    aggregation: Option<Box<Aggregation>>,
    /// Scheduled events in addition to exchanges.
    pub deadlines: Deadlines,
}

impl Nodes {
    pub(crate) fn new(
        edca: Option<Edca>,
        numbering: Numbering,
        categories: Vec<(TxQueue, Edcaf)>,
        own: Vec<SeparateSettings>,
        views: Views,
    ) -> Nodes {
        let categories =
            categories.into_iter().map(|(tx_queue, edcaf)| AccessCategory { tx_queue, edcaf }).collect();
        Nodes { categories, edca, numbering, views, own, aggregation: None, deadlines: Deadlines::none() }
    }

    /// The numbers of the channel access functions, which the transmit queues share.
    pub(crate) fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// The channel access function that serves a packet at a node.
    pub(crate) fn classify(&self, node: Node, packet: &Packet) -> EdcafId {
        match &self.edca {
            None => Numbering::DCF.edcaf(node, Ac::BestEffort),
            Some(edca) => Numbering::EDCA.edcaf(node, edca.category(packet)),
        }
    }

    pub(crate) fn edcaf(&self, index: EdcafId) -> &Edcaf {
        &self.categories[index.index()].edcaf
    }

    pub(crate) fn edcaf_mut(&mut self, index: EdcafId) -> &mut Edcaf {
        &mut self.categories[index.index()].edcaf
    }

    /// Offers a packet from a station's host or the wire to the transmit queue of a channel access function; returns whether
    /// the function asks for packets ([`Nodes::select_next`]).
    #[inline(always)] // into the two callers through which all packets arrive
    pub(crate) fn offer(
        &mut self,
        index: EdcafId,
        is_ap: bool,
        packet: &Packet,
        flow: FlowId,
        station: StationId,
        now: Time,
    ) -> bool {
        let (queue, edcaf) = parts(&mut self.categories, index);
        if queue.enqueue(edcaf.role().ac, packet, flow, station, now, || self.views.of(is_ap)) {
            self.deadlines.follow(edcaf.role().tx_queue, queue, now);
        }
        edcaf.asks()
    }

    /// Ends the service of a channel access function, if it has anything in service, and puts in service what it sends next.
    /// Returns whether there is anything.
    #[inline(always)] // into its two callers
    pub(crate) fn select_next(&mut self, index: EdcafId, phy: &BssTiming, now: Time) -> bool {
        if self.aggregation.is_some() {
            return self.transmitter(index).select_next(phy, now);
        }
        let (queue, edcaf) = parts(&mut self.categories, index);
        let Role { is_ap, ac, tx_queue, .. } = *edcaf.role();
        let taken = queue.dequeue(&Grant { ac, ..Grant::ANY }, now, || self.views.of(is_ap));
        let is_loaded = edcaf.load(taken, phy, now);
        self.deadlines.follow(tx_queue, queue, now);
        is_loaded
    }

    /// [`Nodes::finish`] and [`Nodes::select_next`] after a successful exchange where no link has an agreement, if nothing
    /// observes the queue. Returns `None` otherwise; else the function's TXOP limit if there is anything to send next.
    #[inline(always)] // into the usual end of an exchange
    pub(crate) fn complete_unobserved(
        &mut self,
        index: EdcafId,
        phy: &BssTiming,
        now: Time,
    ) -> Option<Option<Time>> {
        debug_assert!(self.aggregation.is_none());
        let (queue, edcaf) = parts(&mut self.categories, index);
        if queue.is_observed() {
            return None;
        }
        let Role { is_ap, ac, .. } = *edcaf.role();
        let view = || self.views.of(is_ap);
        queue.complete(edcaf.departure(), Outcome::Delivered, now, view, || unreachable!("unobserved"));
        let taken = queue.dequeue(&Grant { ac, ..Grant::ANY }, now, view);
        Some(edcaf.load(taken, phy, now).then(|| edcaf.role().txop_limit))
    }

    /// Takes what is acknowledged, if the exchange has `succeeded`, and then what has reached its retry limit out of the
    /// service of a channel access function, and reports it to its queue. `done` receives each packet, with its costs if it
    /// `is_watched`. Returns whether anything is left to send.
    #[inline(always)]
    pub(crate) fn finish(
        &mut self,
        index: EdcafId,
        succeeded: bool,
        is_watched: bool,
        now: Time,
        mut done: impl FnMut(&Finished),
    ) -> bool {
        let (queue, edcaf) = parts(&mut self.categories, index);
        if edcaf.serves_queue() {
            return self.transmitter(index).finish(succeeded, is_watched, now, done);
        }
        let outcome = if succeeded { Outcome::Delivered } else { Outcome::LostAtRetryLimit };
        let is_ap = edcaf.role().is_ap;
        done(&Finished {
            outcome,
            class: edcaf.departure().class,
            is_received: edcaf.under_way().is_none(),
            is_ap,
            cost: edcaf.cost(),
        });
        edcaf.forget_failures();
        let view = || self.views.of(is_ap);
        queue.complete(edcaf.departure(), outcome, now, view, || edcaf.exchange(outcome, now));
        self.deadlines.follow_freed(queue, now);
        false
    }

    /// Calls the tick of a transmit queue's scheme. Returns the range of channel access functions to which it may have released
    /// a packet ([`Nodes::awaits`]).
    pub(crate) fn tick(&mut self, tx_queue_of: EdcafId, now: Time) -> impl Iterator<Item = EdcafId> + use<> {
        let node = self.numbering.node(tx_queue_of);
        let tx_queue = &mut self.categories[tx_queue_of.index()].tx_queue;
        tx_queue.tick(now, self.views.of(node.is_ap()));
        self.deadlines.follow_freed(tx_queue, now);
        self.deadlines.set_tick(tx_queue_of, tx_queue.next_tick(), now);
        self.numbering.of_node(node)
    }

    /// Whether a channel access function asks a transmit queue for a packet.
    pub(crate) fn awaits(&self, index: EdcafId, tx_queue_of: EdcafId) -> bool {
        let edcaf = self.edcaf(index);
        edcaf.role().tx_queue == tx_queue_of && edcaf.asks()
    }

    /// Shows a downlink packet to the AP's flow monitor.
    #[inline(always)]
    pub(crate) fn observe(&mut self, packet: &Packet, now: Time) -> FlowId {
        let (categories, numbering) = (&self.categories, self.numbering);
        self.views
            .ap
            .observe(packet, Direction::Down, now, |flow| is_held(&categories[..numbering.per_node()], flow))
    }

    /// Records that the frame of a channel access function without an agreement has reached its receiver, which releases the
    /// first copy at once: an uplink frame is shown to the AP's flow monitor. Returns the flow of the first copy.
    #[inline(always)] // into the usual exchange
    pub(crate) fn receive_frame(
        &mut self,
        index: EdcafId,
        direction: Direction,
        now: Time,
    ) -> Option<FlowId> {
        if !self.edcaf_mut(index).deliver() {
            return None;
        }
        if direction == Direction::Down {
            return Some(FlowId::default());
        }
        let (categories, numbering) = (&self.categories, self.numbering);
        let packet = &categories[index.index()].edcaf.departure().packet;
        Some(
            self.views
                .ap
                .observe(packet, direction, now, |flow| is_held(&categories[..numbering.per_node()], flow)),
        )
    }

    /// Handles the end of the PPDU of the link in service. `each` receives for each decoded packet whether it is a duplicate.
    pub(crate) fn receive(&mut self, index: EdcafId, now: Time, each: impl FnMut(bool)) {
        let edcaf = self.edcaf(index);
        let (link, rank) = (edcaf.link(), rank(edcaf.role().ac));
        match edcaf.ppdu().is_request() {
            true => self.aggregation_mut().request(link, rank),
            false => self.aggregation_mut().receive(link, rank, now, each),
        }
        self.review_reordering(now);
    }

    /// Handles the end of an MPDU of the PPDU of the link in service. `each` as in [`Nodes::receive`].
    pub(crate) fn receive_mpdu(&mut self, index: EdcafId, now: Time, each: impl FnMut(bool)) {
        let edcaf = self.edcaf(index);
        let (link, rank) = (edcaf.link(), rank(edcaf.role().ac));
        self.aggregation_mut().receive_mpdu(link, rank, now, each);
        self.deadlines.set_mpdu_end(self.aggregation().next_mpdu_end(), now);
        self.review_reordering(now);
    }

    /// Releases the next packet that recipients have in order. An uplink packet is shown to the AP's flow monitor. Its share of
    /// the airtime is known if it `is_watched`.
    #[inline]
    pub(crate) fn release(&mut self, is_watched: bool, now: Time) -> Option<Released> {
        let aggregation = self.aggregation.as_mut().expect("packets are in order");
        let (link, packet, airtime) = aggregation.take_released(is_watched)?;
        let bytes = packet.ip_bytes();
        let flow = match link.direction() {
            Direction::Down => FlowId::default(),
            Direction::Up => {
                let (categories, numbering) = (&self.categories, self.numbering);
                let held = |flow| is_held(&categories[..numbering.per_node()], flow);
                self.views.ap.observe(packet, Direction::Up, now, held)
            }
        };
        if !aggregation.has_released() {
            self.review_reordering(now);
        }
        Some(Released { link, bytes, flow, airtime })
    }

    /// The packet that a recipient has released last, with its link and category.
    pub(crate) fn released(&self) -> (LinkId, Ac, &Packet) {
        let (link, rank, packet) = self.aggregation().taken();
        (link, RANKS[rank], packet)
    }

    /// The packets that a station has in the category of a channel access function: in its transmit queue, and at its MAC.
    pub(crate) fn backlog(&self, index: EdcafId) -> Count {
        let edcaf = self.edcaf(index);
        let Role { ac, tx_queue, .. } = *edcaf.role();
        let mut backlog = self.categories[tx_queue.index()].tx_queue.queued(ac);
        match self.agreement(edcaf.link(), ac) {
            Some(agreement) => backlog.add(&agreement.originator.backlog()),
            None => {
                let bytes = edcaf.departure().packet.ip_bytes().into();
                backlog.add(&Count { packets: 1, bytes });
            }
        }
        backlog
    }

    /// Sets the rate of the sender of `link` from now on.
    pub(crate) fn set_rate(&mut self, link: LinkId, rate: Rate, now: Time) {
        self.views.set_rate(link, rate);
        let (node, station) = (link.sender(), link.station());
        for index in self.numbering.of_node(node) {
            let tx_queue = &mut self.categories[index.index()].tx_queue;
            if tx_queue.hooks().link_rate {
                tx_queue.link_rate(station, now, self.views.of(node.is_ap()));
                self.deadlines.follow_freed(tx_queue, now);
                self.deadlines.set_tick(index, tx_queue.next_tick(), now);
            }
        }
    }

    /// Asks the schemes for their first ticks.
    pub(crate) fn ask_ticks(&mut self) {
        for (index, AccessCategory { tx_queue, .. }) in self.categories.iter().enumerate() {
            self.deadlines.set_tick(EdcafId::at(index), tx_queue.next_tick(), Time::ZERO);
        }
    }

    /// The category of a channel access function; none under DCF.
    pub(crate) fn category_of(&self, index: EdcafId) -> Option<Ac> {
        self.edca.as_ref().map(|_| self.edcaf(index).role().ac)
    }

    /// The AP's flow monitor.
    pub(crate) fn flows(&self) -> &Flows {
        self.views.ap.flows()
    }

    /// The next flow that the AP's monitor has forgotten, with its 5-tuple and its ledger at the AP's transmit queues by class.
    pub(crate) fn pop_forgotten(&mut self) -> Option<(FlowId, FiveTuple, [Ledger; 3])> {
        let (flow, tuple) = self.views.ap.pop_forgotten()?;
        let (mut ledgers, ap) = ([Ledger::default(); 3], self.numbering.range(Node::Ap));
        for category in &mut self.categories[ap] {
            ledgers.add(&category.tx_queue.retire(flow));
        }
        Some((flow, tuple, ledgers))
    }

    /// Sets the limit of the AP's transmit queues that have no separate limit.
    pub(crate) fn set_ap_limit(&mut self, packets: u32, now: Time) {
        for (category, own) in self.categories.iter_mut().zip(&self.own) {
            if !own.limit {
                category.tx_queue.set_limit(packets, now);
            }
        }
    }

    /// Whether a limit controller controls the limit that [`Nodes::set_ap_limit`] would set.
    pub(crate) fn ap_limit_is_controlled(&self) -> bool {
        let tx_queues = self.categories.iter().zip(&self.own);
        tx_queues.into_iter().any(|(category, own)| !own.limit && category.tx_queue.has_limit_controller())
    }

    /// The transmit queue for best effort of a node.
    pub(crate) fn usual_tx_queue(&self, node: Node) -> &TxQueue {
        &self.categories[self.edcaf(self.numbering.edcaf(node, Ac::BestEffort)).role().tx_queue.index()]
            .tx_queue
    }

    /// The transmit queues of a node that can get packets, with their categories, the highest first; no category under DCF and
    /// if the categories share a transmit queue.
    pub(crate) fn tx_queues_of(&self, node: Node) -> impl Iterator<Item = (Option<Ac>, &TxQueue)> {
        let tx_queues = self.categories[self.numbering.range(node)].iter().map(|category| &category.tx_queue);
        tx_queues.enumerate().filter_map(move |(rank, tx_queue)| match &self.edca {
            None => Some((None, tx_queue)),
            Some(edca) if edca.shares_tx_queue(node) => (rank == 0).then_some((None, tx_queue)),
            Some(edca) => edca.used[rank].then_some((Some(RANKS[rank]), tx_queue)),
        })
    }

    /// The node and category of each transmit queue, by its number.
    pub(crate) fn tx_queues(&self) -> impl Iterator<Item = (Node, Option<Ac>)> {
        (0..self.categories.len()).map(EdcafId::at).map(|tx_queue| {
            let node = self.numbering.node(tx_queue);
            let shared = self.edca.as_ref().is_some_and(|edca| edca.shares_tx_queue(node));
            (node, self.category_of(tx_queue).filter(|_| !shared))
        })
    }

    /// Makes the transmit queues of a node report what they free.
    pub(crate) fn report_completions(&mut self, node: Node) {
        let range = self.numbering.range(node);
        self.categories[range].iter_mut().for_each(|category| category.tx_queue.report_completions());
    }

    /// Makes every transmit queue write in `journal` from now on.
    pub(crate) fn keep_journal(&mut self, journal: &Journal) {
        for (number, AccessCategory { tx_queue, .. }) in (0..).zip(&mut self.categories) {
            tx_queue.keep_journal(&journal.of_tx_queue(number));
        }
    }

    /// All packets that wait in a transmit queue, or are in service and have not reached their receiver, and whether each goes
    /// to a station.
    pub(crate) fn packets_under_way(&self) -> impl Iterator<Item = (bool, &Packet)> {
        let queued = self.aggregation.iter().flat_map(|aggregation| aggregation.packets_under_way());
        let waiting = self.categories.iter().flat_map(|AccessCategory { tx_queue, edcaf }| {
            let in_service = edcaf.under_way().map(|departure| &departure.packet);
            tx_queue.packets().chain(in_service).map(|packet| (edcaf.role().is_ap, packet))
        });
        waiting.chain(queued)
    }
}

/// A channel access function and its transmit queue.
#[inline(always)]
fn parts(categories: &mut [AccessCategory], index: EdcafId) -> (&mut TxQueue, &mut Edcaf) {
    let tx_queue = categories[index.index()].edcaf.role().tx_queue;
    if tx_queue != index {
        return shared_parts(categories, index, tx_queue);
    }
    let AccessCategory { tx_queue, edcaf } = &mut categories[index.index()];
    (tx_queue, edcaf)
}

#[cold]
fn shared_parts(
    categories: &mut [AccessCategory],
    index: EdcafId,
    tx_queue: EdcafId,
) -> (&mut TxQueue, &mut Edcaf) {
    let both = categories.get_disjoint_mut([tx_queue.index(), index.index()]);
    let [AccessCategory { tx_queue, .. }, AccessCategory { edcaf, .. }] =
        both.expect("two channel access functions");
    (tx_queue, edcaf)
}

/// Whether one of the transmit queues holds a packet of the flow.
fn is_held(categories: &[AccessCategory], flow: FlowId) -> bool {
    categories.iter().any(|category| category.tx_queue.holds(flow))
}

#[cfg(test)]
impl Nodes {
    /// The first of the AP's transmit queues, to be replaced.
    pub(crate) fn ap_tx_queue_mut(&mut self) -> &mut TxQueue {
        &mut self.categories[0].tx_queue
    }
}
