//! Links with a Block Ack agreement, as the rest of the BSS sees them (`docs/medium.md`, section 12): agreements, and the
//! deadlines of their recipients. `transmitter` is what their senders do.

use wifair_core::{Ac, Time};

use super::Nodes;
use crate::aggregation::{Aggregation, AggregationRules, Agreement, Psdu};
use crate::node::{EdcafId, LinkId, rank};
use crate::phy::Format;

impl Nodes {
    /// Sets the links with Block Ack agreements.
    pub(crate) fn set_aggregation(&mut self, aggregation: Aggregation) {
        self.aggregation = Some(Box::new(aggregation));
    }

    /// Whether links have Block Ack agreements.
    pub(crate) fn aggregates(&self) -> bool {
        self.aggregation.is_some()
    }

    pub(super) fn aggregation(&self) -> &Aggregation {
        self.aggregation.as_ref().expect("a link with an agreement is in service")
    }

    pub(super) fn aggregation_mut(&mut self) -> &mut Aggregation {
        self.aggregation.as_mut().expect("a link with an agreement is in service")
    }

    /// Whether a channel access function has a link queue in service, and not a packet.
    #[inline(always)]
    pub(crate) fn serves_queue(&self, index: EdcafId) -> bool {
        self.aggregation.is_some() && self.edcaf(index).serves_queue()
    }

    /// The limits of PPDUs.
    pub(crate) fn aggregation_rules(&self) -> &AggregationRules {
        &self.aggregation().rules
    }

    /// The agreement of a link in a category, if it has one.
    pub(crate) fn agreement(&self, link: LinkId, ac: Ac) -> Option<&Agreement> {
        self.aggregation.as_ref()?.of(link, rank(ac))
    }

    /// The agreement of the link queue that a channel access function has in service; none if that is a single frame.
    fn in_service(&self, index: EdcafId) -> Option<&Agreement> {
        let edcaf = self.edcaf(index);
        if edcaf.serves_queue() { self.agreement(edcaf.link(), edcaf.role().ac) } else { None }
    }

    /// Bytes of the PSDU of what is in service, with the head alone of a link queue; `None` if a Block Ack Request precedes it.
    pub(crate) fn head_psdu_bytes(&self, index: EdcafId, format: Format) -> Option<u32> {
        let Some(agreement) = self.in_service(index) else { return Some(self.edcaf(index).psdu_bytes()) };
        Some(Psdu::of(agreement.originator.head_bytes()?).bytes(format.has_s_mpdus()))
    }

    /// The MPDUs of the PPDU of the link in service, which has begun at `now`, are received one by one: each but the last when
    /// `end` says, given how many bytes of the PSDU, with so much spacing, end with it.
    pub(crate) fn expect_mpdus(
        &mut self,
        index: EdcafId,
        spacing_bytes: u32,
        end: impl Fn(u32) -> Time,
        now: Time,
    ) {
        let edcaf = self.edcaf(index);
        let (link, rank) = (edcaf.link(), rank(edcaf.role().ac));
        self.aggregation_mut().expect_mpdus(link, rank, spacing_bytes, end);
        self.deadlines.set_mpdu_end(self.aggregation().next_mpdu_end(), now);
    }

    /// Number of MPDUs of the PPDU of a channel access function, and how many of them the decoded response acknowledges.
    pub(crate) fn acknowledged(&self, index: EdcafId) -> (u32, u32) {
        let Some(agreement) = self.in_service(index) else { return (1, 1) };
        (self.edcaf(index).ppdu().mpdus, agreement.originator.acknowledged())
    }

    /// Handles an expired reorder timeout.
    pub(crate) fn expire_reordering(&mut self, now: Time) {
        self.aggregation_mut().expire(now);
        self.review_reordering(now);
    }

    pub(super) fn review_reordering(&mut self, now: Time) {
        let aggregation = self.aggregation();
        let (has_released, next) = (aggregation.has_released(), aggregation.next_wait());
        self.deadlines.set_reordering(has_released, next, now);
    }
}
