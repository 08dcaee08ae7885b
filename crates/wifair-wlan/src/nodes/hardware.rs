//! The layer between a node's transmit queues and the medium, unless it is `ideal` (`docs/medium.md`, section 12): link queues
//! that transmit queues feed ahead of PPDUs, and PPDUs that are formed ahead of access.

use wifair_core::Time;
use wifair_queue::DequeuedPacket;

use super::Nodes;
use super::transmitter::{MacTransmitter, Picked};
use crate::aggregation::{Agreement, Feed, Hardware, LinkQueueEntry, Occasion, QueuedPpdu};
use crate::node::{EdcafId, LinkId, rank};
use crate::phy::Mode;
use crate::phy::timing::BssTiming;

impl Nodes {
    /// Whether packets leave the transmit queue of a channel access function before it wins access, as with any profile but
    /// `ideal`.
    pub(crate) fn prefetches(&self, index: EdcafId) -> bool {
        self.aggregation.as_ref().is_some_and(|aggregation| aggregation.hardware_of(index).prefetches())
    }

    /// Number of PPDUs that a channel access function forms ahead of access.
    pub(crate) fn ahead(&self, index: EdcafId) -> usize {
        self.aggregation.as_ref().map_or(0, |aggregation| aggregation.hardware_of(index).ahead)
    }

    /// The hardware below a channel access function.
    pub(crate) fn hardware(&self, index: EdcafId) -> &Hardware {
        self.aggregation.as_ref().map_or(&Hardware::IDEAL, |aggregation| aggregation.hardware_of(index))
    }

    /// Tries of a PPDU of a channel access function.
    pub(crate) fn tries(&self, index: EdcafId) -> u32 {
        self.aggregation.as_ref().map_or(1, |aggregation| aggregation.attempts_of(index).tries)
    }
}

impl MacTransmitter<'_> {
    /// Lets the transmit queue feed the link queues of the function, if it does so ahead of PPDUs. `max_psdu_bytes` returns the
    /// maximum length of a PSDU that a link's PPDUs may have now, and `mode` the mode by which airtime is estimated. Returns
    /// the links that got packets, if their PPDUs have several tries.
    pub(crate) fn feed(
        &mut self,
        occasion: Occasion,
        max_psdu_bytes: impl Fn(LinkId) -> u32,
        mode: impl Fn(LinkId) -> Mode,
        phy: &BssTiming,
        now: Time,
    ) -> Vec<LinkId> {
        let MacTransmitter { index, edcaf, queue, view, aggregation, deadlines } = self;
        let role = *edcaf.role();
        let hardware = *aggregation.hardware_of(*index);
        let feed = hardware.feed;
        let mut fed = Vec::new();
        if feed == Feed::OnDemand {
            return fed;
        }
        let retries = aggregation.attempts_of(*index).tries > 1;
        let (rank, gathers) = (rank(role.ac), aggregation.gathers());
        let mut goes_on = aggregation.backlog_of(*index).may_begin(feed, rank, occasion, queue.arbitrates())
            && aggregation.backlog_of(*index).has_room(feed, rank);
        let mut tries = 0;
        while goes_on {
            let grant = aggregation.backlog_of(*index).grant(feed, (role.ac, rank), occasion, gathers);
            let Some(departure) = queue.dequeue(&grant, now, || *view).map(DequeuedPacket::from) else {
                // A round may end before the only station that has packets, see section 12 of docs/medium.md.
                tries += 1;
                goes_on = tries < 3 && aggregation.backlog_of(*index).is_empty(rank) && !queue.is_empty();
                continue;
            };
            let (station, ip_bytes) = (departure.station, departure.packet.ip_bytes());
            let link = LinkId::of(role.is_ap, station);
            if retries {
                fed.push(link);
            }
            let (Agreement { originator, .. }, backlog) = aggregation.with_backlog(*index, link, rank);
            let entry = originator.place(ip_bytes, phy.psdu_bytes(0), || max_psdu_bytes(link));
            let pending = backlog.enter(feed, rank, station, ip_bytes, || mode(link));
            originator.enter_ahead(departure, LinkQueueEntry { pending, ..entry }, now);
            // The link in service is released when its exchange is over.
            if hardware.ahead > 0 || !edcaf.serves_queue() || edcaf.link() != link {
                aggregation.release(*index, link, rank);
            }
            goes_on = aggregation.backlog_of(*index).has_room(feed, rank);
            if !goes_on && let Some(grant) = aggregation.backlog_of(*index).last_grant(feed, (role.ac, rank))
            {
                let nothing = queue.dequeue(&grant, now, || *view).is_none();
                debug_assert!(nothing, "the turn ends");
            }
        }
        edcaf.set_room(true);
        deadlines.follow(role.tx_queue, queue, now);
        fed
    }

    /// The link for which the function, with room in its hardware queue, forms the next PPDU.
    pub(crate) fn pick_ahead(&mut self, phy: &BssTiming, now: Time) -> Option<LinkId> {
        if !self.aggregation.has_room_ahead(self.index) {
            return None;
        }
        let last =
            self.aggregation.built[self.index.index()].back().map_or(self.edcaf.link(), |built| built.link);
        match self.pick(last, phy, now)? {
            Picked::Link(link) => Some(link),
            Picked::Frame(_) => unreachable!("all links of a node that forms PPDUs ahead have agreements"),
        }
    }

    /// Adds a PPDU to the hardware queue.
    pub(crate) fn put_built(&mut self, built: QueuedPpdu, now: Time) {
        let link = built.link;
        self.aggregation.built[self.index.index()].push_back(built);
        self.release_link(link, now);
    }

    /// Puts the first PPDU of the hardware queue in service, unless something is, and notes whether the queue has room.
    pub(crate) fn serve_built(&mut self, now: Time) {
        let has_room = self.aggregation.hardware_of(self.index).feed != Feed::OnDemand
            || self.aggregation.has_room_ahead(self.index);
        self.edcaf.set_room(has_room);
        if self.edcaf.is_free()
            && let Some(first) = self.aggregation.built[self.index.index()].front_mut()
        {
            let first = QueuedPpdu { tries: first.tries.take(), ..*first };
            self.edcaf.serve_queue(first.link, now);
            self.serve_ppdu(first);
        }
    }

    /// Removes the PPDU of the link in service, whose outcome is known, from service and from the hardware queue.
    pub(crate) fn let_go(&mut self, now: Time) {
        let link = self.edcaf.link();
        self.aggregation.built[self.index.index()].pop_front();
        self.edcaf.release();
        self.release_link(link, now);
    }
}
