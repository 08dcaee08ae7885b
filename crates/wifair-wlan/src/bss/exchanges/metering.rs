//! What is counted for schemes that use channel times (`docs/medium.md`, section 7).

use wifair_core::{Counters, Ecn, FlowId, Packet, Time};
use wifair_queue::{Count, Direction, PoliceAction, Reception};

use super::{Event, Exchanges};
use crate::exchange::OngoingExchange;
use crate::node::{EdcafId, LinkId};
use crate::nodes::Nodes;
use crate::phy::Format;
use crate::phy::timing::BssTiming;
use crate::queue_size::{in_units, scaled};

impl Exchanges {
    /// Counts the wait of `sender` for access that begins now: a DIFS or AIFS and the rest of its backoff.
    #[inline(always)]
    pub(super) fn meter_wait(&mut self, sender: EdcafId, now: Time) {
        if self.meter.is_some() {
            self.nodes.edcaf_mut(sender).wait(self.medium.contention().wait(sender, now));
        }
    }

    /// Counts slots that were drawn after the wait of `sender` for its last access began.
    #[cold]
    pub(super) fn meter_late_draws(&mut self, sender: EdcafId) {
        if self.meter.is_some() {
            self.nodes.edcaf_mut(sender).wait(self.medium.take_drawn_late(sender));
        }
    }

    /// Meters the first copy of a frame of `flow` received by the AP. Returns whether it is forwarded unchanged.
    #[cold]
    #[inline(never)]
    pub(super) fn meter_frame(&mut self, flow: FlowId, now: Time) -> bool {
        let OngoingExchange { sender, link, end, .. } = self.medium.exchange();
        if self.queue_sizes.is_some() {
            self.read_queue_size(sender, link, now);
        }
        let packet = self.nodes.edcaf(sender).departure().packet;
        self.meter_reception(&packet, sender, link, flow, end - self.medium.began(), now)
    }

    /// Meters the last packet that a recipient has released. Returns whether it is forwarded unchanged.
    #[cold]
    #[inline(never)]
    pub(super) fn meter_released(&mut self, flow: FlowId, airtime: Time, now: Time) -> bool {
        let (link, ac, &packet) = self.nodes.released();
        self.meter_reception(
            &packet,
            self.nodes.numbering().edcaf(link.sender(), ac),
            link,
            flow,
            airtime,
            now,
        )
    }

    /// Lets the AP's scheme decide about a packet. Returns whether it is forwarded unchanged; if it is marked, it is output
    /// next.
    #[inline(never)]
    fn police(&mut self, reception: &Reception, now: Time) -> bool {
        let action = self.nodes.ap_schemes().police(reception, now);
        if action == PoliceAction::Mark {
            self.marked = reception.packet.with_ecn(Ecn::Ce);
            self.nodes.deadlines.notify_marked(now);
        }
        action == PoliceAction::Forward
    }

    /// Meters a packet received by the AP, reports it to the schemes that ask for receptions, and lets one decide about
    /// it. Returns whether it is forwarded unchanged.
    #[inline(always)] // into its two callers
    fn meter_reception(
        &mut self,
        packet: &Packet,
        sender: EdcafId,
        link: LinkId,
        flow: FlowId,
        airtime: Time,
        now: Time,
    ) -> bool {
        let Some(meter) = &mut self.meter else { return true };
        let (station, ac) = (link.station(), self.nodes.edcaf(sender).role().ac);
        let overhead = self.medium.contention().mean_first_wait(sender); // `dqm` III-B.1
        let reception = Reception { packet, flow, station, ac, airtime, overhead };
        meter.believe(packet.class(), Direction::Up, reception.channel_time());
        self.nodes.ap_schemes().report_reception(&reception, now);
        !self.polices || self.police(&reception, now)
    }

    /// Fixes what the QoS Control field of the PPDU of a station says, if the AP's scheme asks for that.
    pub(super) fn fix_queue_size(&mut self, sender: EdcafId) {
        let Some(sizes) = &mut self.queue_sizes else { return };
        if !self.nodes.edcaf(sender).role().is_ap {
            sizes.set(sender, msdu_bytes(self.nodes.backlog(sender), &self.phy));
        }
    }

    /// Reads the QoS Control field of a PPDU under an agreement, and delivers it.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_after_queue_size(
        &mut self,
        sender: EdcafId,
        link: LinkId,
        now: Time,
    ) -> Option<Event> {
        self.read_queue_size(sender, link, now);
        let usage = &mut self.links[link.index()].usage;
        self.nodes.receive(sender, now, |is_duplicate| usage.duplicates += u64::from(is_duplicate));
        None
    }

    /// Reads the QoS Control field of the data frame of `sender` that has reached its receiver, if that is the AP, and its
    /// scheme asks for that.
    #[cold]
    #[inline(never)]
    pub(super) fn read_queue_size(&mut self, sender: EdcafId, link: LinkId, now: Time) {
        let Some(sizes) = &self.queue_sizes else { return };
        if link.direction() == Direction::Down {
            return;
        }
        let (Some(queued), Some(own)) = (sizes.of(sender), last_decoded(&self.nodes, sender)) else { return };
        let bytes = match self.links[link.index()].on_air.mode.format >= Format::He {
            true => scaled(queued),
            false => in_units(queued - msdu_bytes(own, &self.phy)),
        };
        let ac = self.nodes.edcaf(sender).role().ac;
        self.nodes.ap_schemes().report_queue_size(link.station(), ac, bytes, now);
    }
}

/// Bytes of the MSDUs of packets.
fn msdu_bytes(packets: Count, phy: &BssTiming) -> u32 {
    (packets.bytes + packets.packets * u64::from(phy.llc_bytes())) as u32
}

/// The packets of the last MPDU that the receiver decodes from the data frame of `sender`; `None` if it sends a Block Ack
/// Request.
fn last_decoded(nodes: &Nodes, sender: EdcafId) -> Option<Count> {
    let edcaf = nodes.edcaf(sender);
    if !edcaf.serves_queue() {
        return Some(Count { packets: 1, bytes: edcaf.departure().packet.ip_bytes().into() });
    }
    let mut own = Count::default();
    for packet in nodes.agreement(edcaf.link(), edcaf.role().ac)?.originator.last_decoded() {
        own.add(&Count { packets: 1, bytes: packet.ip_bytes().into() });
    }
    (own.packets > 0).then_some(own)
}
