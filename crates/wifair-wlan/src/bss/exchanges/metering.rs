//! What is counted for schemes that use channel times (`docs/medium.md`, section 7).

use wifair_core::{Ac, FlowId, Packet, StationId, Time};
use wifair_queue::{Direction, Reception};

use super::Exchanges;
use crate::exchange::OngoingExchange;
use crate::node::{EdcafId, Node};

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

    /// Meters the first copy of a frame of `flow` received by the AP.
    #[cold]
    #[inline(never)]
    pub(super) fn meter_frame(&mut self, flow: FlowId, now: Time) {
        let OngoingExchange { sender, link, end, .. } = self.medium.exchange();
        let packet = self.nodes.edcaf(sender).departure().packet;
        let (airtime, ac) = (end - self.medium.began(), self.nodes.edcaf(sender).role().ac);
        self.meter_reception(&packet, link.station(), ac, flow, airtime, now);
    }

    /// Meters the last packet that a recipient has released.
    #[cold]
    #[inline(never)]
    pub(super) fn meter_released(
        &mut self,
        station: StationId,
        ac: Ac,
        flow: FlowId,
        airtime: Time,
        now: Time,
    ) {
        let packet = *self.nodes.released().1;
        self.meter_reception(&packet, station, ac, flow, airtime, now);
    }

    /// Meters a packet received by the AP, and reports it to the schemes that ask for receptions.
    #[inline(always)] // into its two callers
    fn meter_reception(
        &mut self,
        packet: &Packet,
        station: StationId,
        ac: Ac,
        flow: FlowId,
        airtime: Time,
        now: Time,
    ) {
        let Some(meter) = &mut self.meter else { return };
        let sender = self.nodes.edcaf_of(Node::Station(station), ac);
        let overhead = self.medium.contention().mean_first_wait(sender); // `dqm` III-B.1
        let reception = Reception { packet, flow, station, ac, airtime, overhead };
        self.nodes.report_reception(&reception, now);
        meter.believe(packet.class(), Direction::Up, reception.channel_time());
    }
}
