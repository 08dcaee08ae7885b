//! Single transmissions, as observers see them, and reported to the transmit queues whose schemes ask for them
//! (`docs/medium.md`, section 12).

use wifair_core::Time;
use wifair_queue::{DequeuedPacket, MpduOutcome, Transmission, TransmittedMpdu};

use super::{Nodes, parts};
use crate::aggregation::Aggregation;
use crate::edcaf::{Cost, Edcaf, Failure};
use crate::link::LinkRow;
use crate::mac::Mac;
use crate::node::{EdcafId, rank};

impl Nodes {
    /// Whether the scheme above a channel access function asks for transmissions.
    pub(crate) fn asks_for_transmissions(&self, index: EdcafId) -> bool {
        self.categories[self.edcaf(index).role().tx_queue.index()].tx_queue.hooks().transmission
    }

    /// Counts the failure of what is in service, with a CTS or none, known to the sender at `known` after a timeout since
    /// `ended`.
    #[inline(always)]
    pub(crate) fn fail(
        &mut self,
        index: EdcafId,
        has_cts: bool,
        ended: Time,
        known: Time,
        mac: &Mac,
    ) -> Failure {
        let (tx_queue, edcaf) = parts(&mut self.categories, index);
        edcaf.time_out(known - ended);
        let mut failure = edcaf.fail(has_cts, mac);
        failure.is_reported = tx_queue.hooks().transmission;
        let mut gives_up = failure.is_lost;
        if edcaf.serves_queue() {
            (gives_up, failure.is_lost) = self.transmitter(index).fail_mpdus(known - ended);
        }
        if gives_up {
            self.deadlines.schedule_drop(index, known);
        } else if failure.is_reported {
            self.deadlines.schedule_status(index, known);
        }
        failure
    }

    /// Counts an internal collision that what is in service loses, in the usage of its link too. Returns what it brings about.
    #[inline(always)]
    pub(crate) fn lose_internally(&mut self, index: EdcafId, links: &mut [LinkRow], mac: &Mac) -> Failure {
        let counts = self.edca.as_ref().is_none_or(|edca| edca.internal_collision_retry);
        let edcaf = self.edcaf_mut(index);
        let usage = &mut links[edcaf.link().index()].usage;
        usage.internal_collisions += 1;
        let failure = match counts {
            true => edcaf.fail(false, mac),
            false => Failure { resets_window: false, is_lost: false, is_reported: false },
        };
        usage.lost_internally += u64::from(failure.is_lost);
        failure
    }

    /// Reports a failed attempt, now known to the sender; a single frame is given up if it is `lost`.
    pub(crate) fn report_failure(&mut self, index: EdcafId, lost: bool, now: Time) {
        if !self.asks_for_transmissions(index) {
            return;
        }
        self.report(index, if lost { MpduOutcome::GivenUp } else { MpduOutcome::ToRetry }, now);
        let number = self.edcaf(index).role().tx_queue;
        self.deadlines.set_tick(number, self.categories[number.index()].tx_queue.next_tick(), now);
    }

    /// Reports the last transmission of a channel access function to its transmit queue, if its scheme asks for transmissions.
    /// `outcome` is that of a single frame; a PPDU of a link queue was answered if it is [`MpduOutcome::Delivered`].
    #[inline(always)]
    pub(crate) fn report(&mut self, index: EdcafId, outcome: MpduOutcome, now: Time) {
        let (tx_queue, _) = parts(&mut self.categories, index);
        if tx_queue.hooks().transmission {
            self.report_transmission(index, outcome, now);
        }
    }

    #[inline(never)]
    fn report_transmission(&mut self, index: EdcafId, outcome: MpduOutcome, now: Time) {
        let (tx_queue, edcaf) = parts(&mut self.categories, index);
        if outcome == MpduOutcome::Delivered {
            edcaf.close_attempt();
        }
        let view = self.views.of(edcaf.role().is_ap);
        let transmission =
            transmission(index, edcaf, self.aggregation.as_deref(), edcaf.last_cost(), outcome);
        tx_queue.transmitted(&transmission, now, view);
    }

    /// The transmission of a channel access function that has begun, and whether its receiver decodes each of its packets if
    /// it `reaches` it. It takes `airtime`; `outcome` as above.
    pub(crate) fn on_air(
        &self,
        index: EdcafId,
        airtime: Time,
        reaches: bool,
        outcome: MpduOutcome,
    ) -> (Transmission<'_>, Vec<bool>) {
        let edcaf = self.edcaf(index);
        let cost = Cost { airtime, overhead: Time::ZERO };
        let transmission = transmission(index, edcaf, self.aggregation.as_deref(), cost, outcome);
        let mut decoded = vec![reaches; transmission.mpdus.len()];
        if reaches && edcaf.serves_queue() {
            let agreement = self.agreement(edcaf.link(), edcaf.role().ac).expect("it has an agreement");
            decoded = agreement.originator.decoded().collect();
        }
        (transmission, decoded)
    }
}

/// The last transmission of a channel access function. `outcome` as in [`Nodes::report`].
fn transmission<'a>(
    index: EdcafId,
    edcaf: &'a Edcaf,
    aggregation: Option<&'a Aggregation>,
    Cost { airtime, overhead }: Cost,
    outcome: MpduOutcome,
) -> Transmission<'a> {
    let (role, link) = (edcaf.role(), edcaf.link());
    let mpdus = if edcaf.serves_queue() {
        let aggregation = aggregation.expect("a link with an agreement is in service");
        let agreement = aggregation.of(link, rank(role.ac)).expect("it has an agreement");
        let is_decoded = outcome == MpduOutcome::Delivered;
        let ends = is_decoded || !aggregation.tries[index.index()].has_more();
        agreement.originator.transmitted(is_decoded, ends, &aggregation.attempts_of(index)).collect()
    } else {
        let DequeuedPacket { packet, flow, .. } = edcaf.departure();
        vec![TransmittedMpdu {
            packet,
            continues_amsdu: false,
            flow: *flow,
            sequence: None,
            outcome,
            attempts: edcaf.attempts(),
            airtime,
            overhead,
        }]
    };
    let (station, ac, rate) = (link.station(), role.ac, edcaf.mode().rate);
    Transmission { station, ac, rate, mpdus, airtime, overhead }
}
