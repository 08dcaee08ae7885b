//! The layer between the AP's ports and the medium, unless it is `ideal` (`docs/medium.md`, section 12): link queues that ports
//! feed ahead of PPDUs, and PPDUs that are formed ahead of access.

use wifair_core::Time;
use wifair_queue::DequeuedPacket;

use super::link_queues::Picked;
use super::{Nodes, parts};
use crate::aggregation::{Agreement, Entry, Feed, Formed, QueuedPpdu};
use crate::node::{EdcafId, LinkId, rank};
use crate::phy::BssTiming;
use crate::ppdu::Ppdu;

impl Nodes {
    /// Whether packets leave the port of a channel access function before it wins access, as with any profile but `ideal`.
    pub(crate) fn prefetches(&self, index: EdcafId) -> bool {
        self.aggregation.as_ref().is_some_and(|aggregation| aggregation.hardware_of(index).prefetches())
    }

    /// Number of PPDUs that a channel access function forms ahead of access.
    pub(crate) fn ahead(&self, index: EdcafId) -> usize {
        self.aggregation.as_ref().map_or(0, |aggregation| aggregation.hardware_of(index).ahead)
    }

    /// Maximum duration of a PPDU of the hardware below a channel access function.
    pub(crate) fn max_ppdu(&self, index: EdcafId) -> Time {
        self.aggregation.as_ref().map_or(Time::MAX, |aggregation| aggregation.hardware_of(index).max_ppdu)
    }

    /// Lets the port feed the link queues of a channel access function, if it does so ahead of PPDUs. `max_psdu_bytes` returns the maximum
    /// length of a PSDU that a link's PPDUs may have now.
    pub(crate) fn feed(
        &mut self,
        index: EdcafId,
        max_psdu_bytes: impl Fn(LinkId) -> u32,
        phy: &BssTiming,
        now: Time,
    ) {
        let (port, edcaf) = parts(&mut self.categories, index);
        let role = *edcaf.role();
        let aggregation = self.aggregation.as_mut().expect("there is hardware");
        let hardware = *aggregation.hardware_of(index);
        if hardware.feed == Feed::OnDemand {
            return;
        }
        let (rank, gathers) = (rank(role.ac), aggregation.gathers());
        let view = self.ap.table().view();
        while let Some(grant) = aggregation.backlog.grant(hardware.feed, role.ac, rank, gathers)
            && let Some(departure) = port.dequeue(&grant, now, || view).map(DequeuedPacket::from)
        {
            let (station, ip_bytes) = (departure.station, departure.packet.ip_bytes());
            let link = LinkId::of(true, station);
            let rate = view.links[station.index()].rate;
            let (Agreement { originator, .. }, backlog) = aggregation.with_backlog(link, rank);
            let entry = originator.place(ip_bytes, phy.psdu_bytes(0), || max_psdu_bytes(link));
            let pending = backlog.enter(rank, station, entry.bytes, rate);
            originator.enter_ahead(departure, Entry { pending, ..entry }, now);
            // The link in service is released when its exchange is over.
            if hardware.ahead > 0 || !edcaf.serves_queue() || edcaf.link() != link {
                aggregation.release(index, link, rank);
            }
        }
        edcaf.set_room(true);
        self.deadlines.follow(role.port, port, now);
    }

    /// The link for which a channel access function with room in its hardware queue forms the next PPDU.
    pub(crate) fn pick_ahead(&mut self, index: EdcafId, phy: &BssTiming, now: Time) -> Option<LinkId> {
        let aggregation = self.aggregation();
        let built = &aggregation.built[index.index()];
        if built.len() >= aggregation.hardware.ahead {
            return None;
        }
        let last = built.back().map_or(self.edcaf(index).link(), |built| built.link);
        match self.pick(index, last, phy, now)? {
            Picked::Link(link) => Some(link),
            Picked::Frame(_) => unreachable!("all links of the AP have agreements"),
        }
    }

    /// Adds a PPDU to the hardware queue.
    pub(crate) fn put_built(&mut self, index: EdcafId, link: LinkId, formed: Formed, ppdu: Ppdu, now: Time) {
        self.aggregation_mut().built[index.index()].push_back(QueuedPpdu { link, number: formed.ppdu, ppdu });
        self.release_link(index, link, now);
    }

    /// Notes whether the hardware queue has room.
    pub(crate) fn review_room(&mut self, index: EdcafId) {
        let aggregation = self.aggregation();
        let (built, hardware) = (&aggregation.built[index.index()], aggregation.hardware);
        let has_room = hardware.feed != Feed::OnDemand || built.len() < hardware.ahead;
        self.edcaf_mut(index).set_room(has_room);
    }

    /// Puts the first PPDU of the hardware queue in service; returns whether there is one.
    pub(crate) fn serve_built(&mut self, index: EdcafId, now: Time) -> bool {
        let first = self.aggregation().built[index.index()].front().copied();
        let edcaf = self.edcaf_mut(index);
        let Some(QueuedPpdu { link, number, ppdu }) = first else {
            edcaf.release();
            return false;
        };
        edcaf.serve_queue(link, now);
        edcaf.set_ppdu(ppdu);
        self.serve_ppdu(index, number);
        true
    }

    /// Removes the PPDU of the link in service, whose outcome is known, from service and from the hardware queue.
    pub(crate) fn let_go(&mut self, index: EdcafId, now: Time) {
        let link = self.edcaf(index).link();
        self.aggregation_mut().built[index.index()].pop_front();
        self.edcaf_mut(index).release();
        self.release_link(index, link, now);
    }
}
