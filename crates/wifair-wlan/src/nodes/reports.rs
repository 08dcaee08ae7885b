//! Single transmissions, reported to the ports whose schemes ask for them (`docs/medium.md`, section 12).

use wifair_core::Time;
use wifair_queue::{MpduOutcome, Port, TransmittedMpdu, View};

use super::{Nodes, parts};
use crate::edca::rank;
use crate::edcaf::{Cost, Edcaf, Failure};
use crate::mac::Mac;

impl Nodes {
    /// Whether the scheme above a channel access function asks for transmissions.
    pub(crate) fn asks_for_transmissions(&self, index: u32) -> bool {
        self.places[self.edcaf(index).role().port as usize].port.hooks().transmission
    }

    /// Counts the failure of what is in service, with a CTS or none, known to the sender at `known` after a timeout since `ended`.
    #[inline(always)]
    pub(crate) fn fail(&mut self, index: u32, has_cts: bool, ended: Time, known: Time, mac: &Mac) -> Failure {
        let (port, edcaf) = parts(&mut self.places, index);
        edcaf.time_out(known - ended);
        let mut failure = edcaf.fail(has_cts, mac);
        failure.is_reported = port.hooks().transmission;
        let mut gives_up = failure.is_lost;
        if edcaf.serves_queue() {
            (gives_up, failure.is_lost) = self.fail_mpdus(index, known - ended);
        }
        if gives_up {
            self.deadlines.lose(index, known);
        } else if failure.is_reported {
            self.deadlines.learn(index, known);
        }
        failure
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
        let (role, link, cost) = (edcaf.role(), edcaf.link(), edcaf.last_cost());
        let side = if role.is_ap { self.ap.knows() } else { &self.stations };
        let aggregation = self.aggregation.as_ref().expect("a link with an agreement is in service");
        let agreement = aggregation.of(link, rank(role.ac)).expect("it has an agreement");
        let mpdus: Vec<_> =
            agreement.originator.transmitted(succeeded, &aggregation.rules.attempts).collect();
        let transmission = wifair_queue::Transmission {
            station: link.station(),
            ac: role.ac,
            rate: edcaf.mode().rate,
            mpdus: &mpdus,
            airtime: cost.airtime,
            overhead: cost.overhead,
        };
        port.transmitted(&transmission, now, side.view());
    }
}

/// Reports the last attempt of a single frame to the port of its channel access function.
#[cold]
#[inline(never)]
pub(super) fn report_frame(port: &mut Port, edcaf: &Edcaf, outcome: MpduOutcome, now: Time, view: View) {
    let (departure, attempts) = (edcaf.departure(), edcaf.attempts());
    let Cost { airtime, overhead } = edcaf.last_cost();
    let packet = &departure.packet;
    let flow = departure.flow;
    let mpdu = TransmittedMpdu { packet, is_joined: false, flow, outcome, attempts, airtime, overhead };
    let transmission = wifair_queue::Transmission {
        station: departure.station,
        ac: edcaf.role().ac,
        rate: edcaf.mode().rate,
        mpdus: &[mpdu],
        airtime,
        overhead,
    };
    port.transmitted(&transmission, now, view);
}
