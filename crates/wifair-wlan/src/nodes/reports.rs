//! Single transmissions, reported to the ports whose schemes ask for them (`docs/medium.md`, section 12).

use wifair_core::Time;
use wifair_queue::{MpduOutcome, Port, TransmittedMpdu, View};

use super::{Nodes, parts};
use crate::edca::rank;
use crate::edcaf::Edcaf;
use crate::mac::Mac;
use crate::phy::Mode;

impl Nodes {
    /// Whether the scheme above a channel access function asks for transmissions.
    pub(crate) fn asks_for_transmissions(&self, index: u32) -> bool {
        self.places[self.edcaf(index).role().port as usize].port.hooks().transmission
    }

    /// Counts a collision of the frame in service of a channel access function. The attempt occupies the medium for `airtime`
    /// and is known to have failed after a wait for `timeout`. Returns whether a retry limit is reached, and whether the scheme
    /// asks for transmissions.
    #[inline(always)]
    pub(crate) fn collide(
        &mut self,
        index: u32,
        mode: &Mode,
        airtime: Time,
        timeout: Time,
        mac: &Mac,
    ) -> (bool, bool) {
        let (port, edcaf) = parts(&mut self.places, index);
        edcaf.attempt(mode, airtime);
        (edcaf.fail(false, timeout, mac), port.hooks().transmission)
    }

    /// Reports a failed attempt, now known to the sender; a single frame is given up if it is `lost`.
    pub(crate) fn report_failure(&mut self, index: u32, lost: bool, now: Time) {
        if !self.asks_for_transmissions(index) {
            return;
        }
        if self.edcaf(index).serves_queue() {
            self.report_ppdu(index, false, now);
        } else {
            let (port, edcaf) = parts(&mut self.places, index);
            let side = if edcaf.role().is_ap { self.ap.knows() } else { &self.stations };
            let outcome = if lost { MpduOutcome::GivenUp } else { MpduOutcome::ToRetry };
            report_frame(port, edcaf, outcome, now, side.view());
        }
        let number = self.edcaf(index).role().port;
        self.deadlines.set_tick(number, self.places[number as usize].port.next_tick(), now);
    }

    /// Reports the outcome of the PPDU of the link in service: its response was decoded, or the exchange has failed.
    pub(crate) fn report_ppdu(&mut self, index: u32, succeeded: bool, now: Time) {
        let (port, edcaf) = parts(&mut self.places, index);
        if !port.hooks().transmission {
            return;
        }
        let (role, link, ppdu) = (edcaf.role(), edcaf.link(), edcaf.ppdu());
        let side = if role.is_ap { self.ap.knows() } else { &self.stations };
        let aggregation = self.aggregation.as_ref().expect("a link with an agreement is in service");
        let agreement = aggregation.of(link, rank(role.ac)).expect("it has an agreement");
        let mpdus: Vec<_> =
            agreement.originator.transmitted(succeeded, &aggregation.rules.attempts).collect();
        let transmission = wifair_queue::Transmission {
            station: link.station(),
            ac: role.ac,
            rate: ppdu.mode.rate,
            mpdus: &mpdus,
            airtime: ppdu.occupied,
            overhead: ppdu.overhead,
        };
        port.transmitted(&transmission, now, side.view());
    }
}

/// Reports the last attempt of a single frame to the port of its channel access function.
#[cold]
#[inline(never)]
pub(super) fn report_frame(port: &mut Port, edcaf: &Edcaf, outcome: MpduOutcome, now: Time, view: View) {
    let (departure, (attempts, mode)) = (edcaf.departure(), edcaf.last_attempt());
    let [airtime, overhead] = edcaf.of_last();
    let packet = &departure.packet;
    let flow = departure.flow;
    let mpdu = TransmittedMpdu { packet, is_joined: false, flow, outcome, attempts, airtime, overhead };
    let transmission = wifair_queue::Transmission {
        station: departure.station,
        ac: edcaf.role().ac,
        rate: mode.rate,
        mpdus: &[mpdu],
        airtime,
        overhead,
    };
    port.transmitted(&transmission, now, view);
}
