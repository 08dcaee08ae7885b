//! What is counted for schemes that use channel times (`docs/medium.md`, section 7).

use wifair_core::{FlowId, Packet, Time};
use wifair_queue::{Direction, Reception};

use super::Exchanges;
use crate::exchange::OngoingExchange;
use crate::node::{EdcafId, LinkId};

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
        self.meter_reception(&packet, sender, link, flow, end - self.medium.began(), now);
    }

    /// Meters the last packet that a recipient has released.
    #[cold]
    #[inline(never)]
    pub(super) fn meter_released(&mut self, flow: FlowId, airtime: Time, now: Time) {
        let (link, ac, &packet) = self.nodes.released();
        self.meter_reception(&packet, self.nodes.edcaf_of(link.sender(), ac), link, flow, airtime, now);
    }

    /// Meters a packet received by the AP from `sender`, and reports it to the schemes that ask for receptions.
    #[inline(always)] // into its two callers
    fn meter_reception(
        &mut self,
        packet: &Packet,
        sender: EdcafId,
        link: LinkId,
        flow: FlowId,
        airtime: Time,
        now: Time,
    ) {
        let Some(meter) = &mut self.meter else { return };
        let (station, ac) = (link.station(), self.nodes.edcaf(sender).role().ac);
        let overhead = self.medium.contention().mean_first_wait(sender); // `dqm` III-B.1
        let reception = Reception { packet, flow, station, ac, airtime, overhead };
        self.nodes.report_reception(&reception, now);
        meter.believe(packet.class(), Direction::Up, reception.channel_time());
    }
}
