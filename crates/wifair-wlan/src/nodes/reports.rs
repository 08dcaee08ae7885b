//! Single transmissions, reported to the ports whose schemes ask for them (`docs/medium.md`, section 12).

use wifair_core::Time;
use wifair_queue::{MpduOutcome, TransmittedMpdu};

use super::{Nodes, parts};
use crate::edcaf::{Cost, Failure};
use crate::mac::Mac;
use crate::node::{EdcafId, rank};

impl Nodes {
    /// Whether the scheme above a channel access function asks for transmissions.
    pub(crate) fn asks_for_transmissions(&self, index: EdcafId) -> bool {
        self.categories[self.edcaf(index).role().port.index()].port.hooks().transmission
    }

    /// Counts the failure of what is in service, with a CTS or none, known to the sender at `known` after a timeout since `ended`.
    #[inline(always)]
    pub(crate) fn fail(
        &mut self,
        index: EdcafId,
        has_cts: bool,
        ended: Time,
        known: Time,
        mac: &Mac,
    ) -> Failure {
        let (port, edcaf) = parts(&mut self.categories, index);
        edcaf.time_out(known - ended);
        let mut failure = edcaf.fail(has_cts, mac);
        failure.is_reported = port.hooks().transmission;
        let mut gives_up = failure.is_lost;
        if edcaf.serves_queue() {
            (gives_up, failure.is_lost) = self.fail_mpdus(index, known - ended);
        }
        if gives_up {
            self.deadlines.schedule_drop(index, known);
        } else if failure.is_reported {
            self.deadlines.schedule_status(index, known);
        }
        failure
    }

    /// Reports a failed attempt, now known to the sender; a single frame is given up if it is `lost`.
    pub(crate) fn report_failure(&mut self, index: EdcafId, lost: bool, now: Time) {
        if !self.asks_for_transmissions(index) {
            return;
        }
        self.report(index, if lost { MpduOutcome::GivenUp } else { MpduOutcome::ToRetry }, now);
        let number = self.edcaf(index).role().port;
        self.deadlines.set_tick(number, self.categories[number.index()].port.next_tick(), now);
    }

    /// Reports the last transmission of a channel access function to its port, if its scheme asks for transmissions. `outcome` is that of a
    /// single frame; a PPDU of a link queue was answered if it is [`MpduOutcome::Delivered`].
    #[inline(always)]
    pub(crate) fn report(&mut self, index: EdcafId, outcome: MpduOutcome, now: Time) {
        let (port, _) = parts(&mut self.categories, index);
        if port.hooks().transmission {
            self.report_transmission(index, outcome, now);
        }
    }

    #[inline(never)]
    fn report_transmission(&mut self, index: EdcafId, outcome: MpduOutcome, now: Time) {
        let (port, edcaf) = parts(&mut self.categories, index);
        let is_delivered = outcome == MpduOutcome::Delivered;
        if is_delivered {
            edcaf.close_attempt();
        }
        let (role, link, Cost { airtime, overhead }) = (edcaf.role(), edcaf.link(), edcaf.last_cost());
        let table = if role.is_ap { self.ap.table() } else { &self.stations };
        let (mut single, mut several) = (None, Vec::new());
        if edcaf.serves_queue() {
            let aggregation = self.aggregation.as_ref().expect("a link with an agreement is in service");
            let agreement = aggregation.of(link, rank(role.ac)).expect("it has an agreement");
            several.extend(agreement.originator.transmitted(is_delivered, &aggregation.rules.attempts));
        } else {
            let (departure, attempts) = (edcaf.departure(), edcaf.attempts());
            let (packet, flow) = (&departure.packet, departure.flow);
            let mpdu =
                TransmittedMpdu { packet, is_joined: false, flow, outcome, attempts, airtime, overhead };
            single = Some(mpdu);
        }
        let transmission = wifair_queue::Transmission {
            station: link.station(),
            ac: role.ac,
            rate: edcaf.mode().rate,
            mpdus: single.as_ref().map_or(&several, std::slice::from_ref),
            airtime,
            overhead,
        };
        port.transmitted(&transmission, now, table.view());
    }
}
