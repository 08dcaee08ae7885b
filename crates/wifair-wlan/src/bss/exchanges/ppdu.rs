//! Exchanges of links with a Block Ack agreement: PPDUs of one or more MPDUs, and Block Ack Requests (`docs/medium.md`,
//! section 12).

use std::sync::Arc;

use wifair_core::Time;

use super::{Exchanges, tries};
use crate::aggregation::{AggregationRules, Formed, MpduDelivery, Occasion, QueuedPpdu, Tries};
use crate::channel::Attempt;
use crate::exchange::{OngoingExchange, ReceptionOutcome};
use crate::node::{EdcafId, LinkId};
use crate::phy::OnAir;
use crate::ppdu::Ppdu;
use crate::rate::ChainSegment;

/// PSDU bytes of a Block Ack Request (9.3.1.7.2).
const REQUEST_BYTES: u32 = 24;

/// PSDU bytes of a compressed Block Ack, whose bitmap covers a window of so many MPDUs (9.3.1.8.2).
fn block_ack_bytes(window: u32) -> u32 {
    match window {
        0..=64 => 32,
        65..=256 => 56,
        257..=512 => 88,
        _ => 152,
    }
}

impl Exchanges {
    /// What `sender` has transmitted in the exchange that goes on.
    pub(crate) fn ppdu(&self, sender: EdcafId) -> Ppdu {
        let edcaf = self.nodes.edcaf(sender);
        if edcaf.serves_queue() {
            return *edcaf.ppdu();
        }
        let modes = self.modes.of(edcaf.link().station());
        Ppdu::of_frame(&modes.on_air(modes.index_of(edcaf.mode())), edcaf.psdu_bytes())
    }

    /// Forms the PPDU of the link queue in service, unless it was formed ahead, or is tried again.
    #[inline(never)]
    pub(super) fn form_ppdu(&mut self, sender: EdcafId, now: Time, follows: bool) {
        if tries::retry(self, sender) || self.nodes.ahead(sender) > 0 {
            return;
        }
        self.nodes.transmitter(sender).dissolve();
        let formed = self.ppdu_for(sender, self.nodes.edcaf(sender).link(), now, follows);
        self.nodes.transmitter(sender).serve_ppdu(formed);
    }

    /// Forms a PPDU for a link queue of `sender`.
    fn ppdu_for(&mut self, sender: EdcafId, link: LinkId, now: Time, follows: bool) -> QueuedPpdu {
        let role = *self.nodes.edcaf(sender).role();
        let mut on_air = Arc::clone(&self.links[link.index()].on_air);
        let (chain, samples) = tries::chain(self, sender, link, now);
        if let Some(first) = chain.first() {
            on_air = self.modes.on_air(link.station(), first.mode, first.rts);
        }
        let left = match follows {
            _ if role.txop_limit == Time::ZERO => None,
            true => {
                let end = self.medium.txop_of_next_began() + role.txop_limit;
                Some(end.saturating_sub(now + self.phy.sifs))
            }
            false => Some(role.txop_limit),
        };
        let mut max_psdu_bytes = self.max_psdu_bytes(&on_air, sender, link, left, follows);
        for &ChainSegment { mode, rts, .. } in chain.iter().skip(1) {
            let on_air = self.modes.on_air(link.station(), mode, rts);
            max_psdu_bytes = max_psdu_bytes.min(self.max_psdu_bytes(&on_air, sender, link, left, follows));
        }
        if samples {
            max_psdu_bytes = 0; // the head alone
        }
        let spacing_bytes = on_air.bytes_in(self.nodes.aggregation_rules().spacing);
        let Formed { ppdu: number, psdu } =
            self.nodes.transmitter(sender).form(link, max_psdu_bytes, spacing_bytes, &self.phy, now);
        let block_ack = self.block_ack(&on_air, sender, link);
        let ppdu = match psdu {
            Some(psdu) => {
                let response = if psdu.mpdus() == 1 { on_air.acknowledgement } else { block_ack };
                let psdu_bytes = psdu.bytes(on_air.mode.format.has_s_mpdus());
                Ppdu { spacing_bytes, ..Ppdu::new(&on_air, psdu_bytes, psdu.mpdus(), response) }
            }
            None => Ppdu {
                airtime: self.request_airtime(link),
                ..Ppdu::new(&on_air, REQUEST_BYTES, 0, block_ack)
            },
        };
        let tries = (!chain.is_empty()).then(|| Tries::new(chain));
        QueuedPpdu { link, number, ppdu, samples: samples && tries.is_some(), tries }
    }

    /// Maximum length of a PSDU in a mode for a link of `sender`, whose first frame starts when so much of a limited TXOP is
    /// `left`.
    pub(crate) fn max_psdu_bytes(
        &self,
        on_air: &OnAir,
        sender: EdcafId,
        link: LinkId,
        left: Option<Time>,
        follows: bool,
    ) -> u32 {
        let rules = self.nodes.aggregation_rules();
        let longest = |duration| on_air.largest_psdu(duration).unwrap_or(0);
        let max_ppdu = rules.max_ppdu.min(self.nodes.hardware(sender).max_ppdu);
        let max_psdu_bytes = rules.max_ampdu_bytes.min(longest(max_ppdu));
        let Some(left) = left else { return max_psdu_bytes };
        let left = left.saturating_sub(on_air.announcement() + self.block_ack(on_air, sender, link));
        let reservation = self.mac.waits[usize::from(on_air.control)].reservation;
        let (fits, fits_after_rts) = (longest(left), longest(left.saturating_sub(reservation)));
        let fits = match on_air.rts_threshold {
            threshold if follows || fits <= threshold => fits,
            threshold => fits_after_rts.max(threshold),
        };
        max_psdu_bytes.min(fits)
    }

    /// Packets leave the transmit queue of `sender` for what lies below it, as far as there is room; whether it has anything to
    /// send.
    pub(super) fn prefetch(&mut self, sender: EdcafId, occasion: Occasion, now: Time) -> bool {
        let (links, rules) = (&self.links, *self.nodes.aggregation_rules());
        let max_ppdu = rules.max_ppdu.min(self.nodes.hardware(sender).max_ppdu);
        let max_psdu_bytes = |link: LinkId| {
            let longest = links[link.index()].on_air.largest_psdu(max_ppdu);
            rules.max_ampdu_bytes.min(longest.unwrap_or(0))
        };
        let mode = |link: LinkId| links[link.index()].last_try.unwrap_or(links[link.index()].on_air.mode);
        let fed = self.nodes.transmitter(sender).feed(occasion, max_psdu_bytes, mode, &self.phy, now);
        tries::ask(self, &fed, now);
        if self.nodes.ahead(sender) > 0 {
            while let Some(link) = self.nodes.transmitter(sender).pick_ahead(&self.phy, now) {
                let built = self.ppdu_for(sender, link, now, false);
                self.nodes.transmitter(sender).put_built(built, now);
            }
            self.nodes.transmitter(sender).serve_built(now);
        } else if self.nodes.edcaf(sender).is_free() {
            self.nodes.transmitter(sender).choose(&self.phy, now);
        }
        !self.nodes.edcaf(sender).is_free()
    }

    /// Draws what the channel does to each MPDU and to the response.
    #[inline(never)]
    pub(super) fn draw_outcome(&mut self, sender: EdcafId, now: Time) -> ReceptionOutcome {
        let edcaf = self.nodes.edcaf(sender);
        let (link, serves_queue) = (edcaf.link(), edcaf.serves_queue());
        let Ppdu { mode, control, psdu_bytes, mpdus, .. } = edcaf.next_ppdu(&self.links[link.index()].on_air);
        let Some(channel) = self.medium.channel_mut() else { return ReceptionOutcome::Decoded };
        let attempt = |psdu_bytes| Attempt { link, node: link.sender(), mode, control, psdu_bytes, now };
        let mut decodes = |bytes| !channel.loses_data(&attempt(bytes), &self.phy);
        let reaches = match serves_queue {
            true => mpdus == 0 || self.nodes.transmitter(sender).draw(decodes),
            false => decodes(psdu_bytes),
        };
        if !reaches {
            ReceptionOutcome::DataLost
        } else if channel.loses_ack(&attempt(psdu_bytes), &self.phy) {
            ReceptionOutcome::AckLost
        } else {
            ReceptionOutcome::Decoded
        }
    }

    /// Duration of the shortest exchange that `sender` can start next, without RTS: with one MPDU, unless its PPDU is formed
    /// already.
    pub(super) fn shortest_exchange(&self, sender: EdcafId) -> Time {
        let edcaf = self.nodes.edcaf(sender);
        let link = edcaf.link();
        let on_air = &self.links[link.index()].on_air;
        if self.nodes.ahead(sender) > 0 {
            return edcaf.ppdu().airtime + edcaf.ppdu().response;
        }
        match self.nodes.head_psdu_bytes(sender, on_air.mode.format) {
            Some(psdu_bytes) => on_air.duration(psdu_bytes) + on_air.acknowledgement,
            None => self.request_airtime(link) + self.block_ack(on_air, sender, link),
        }
    }

    /// The PPDU of the exchange on the air has begun at `now`: counts its MPDUs, and schedules their ends if they are received
    /// one by one.
    #[inline(never)]
    pub(super) fn begin_ppdu(&mut self, now: Time) {
        let OngoingExchange { sender, link, outcome, .. } = self.medium.exchange();
        self.count_mpdus(sender, link, true);
        let AggregationRules { delivery, .. } = *self.nodes.aggregation_rules();
        let ppdu = *self.nodes.edcaf(sender).ppdu();
        if delivery == MpduDelivery::Ppdu || outcome == ReceptionOutcome::DataLost || ppdu.is_request() {
            return;
        }
        let modes = self.modes.of(link.station());
        let on_air = modes.on_air(modes.index_of(&ppdu.mode));
        let begins = self.medium.due() + on_air.announcement() - ppdu.airtime;
        let end = |bytes| begins + on_air.end_of_bytes(bytes);
        self.nodes.expect_mpdus(sender, ppdu.spacing_bytes, end, now);
    }

    /// Counts the MPDUs that `sender` transmits, or its Block Ack Request; after an RTS that collides neither is `sent`.
    #[inline(never)]
    pub(super) fn count_mpdus(&mut self, sender: EdcafId, link: LinkId, sent: bool) {
        self.meter_late_draws(sender);
        let usage = &mut self.links[link.index()].usage;
        let mpdus = self.nodes.edcaf(sender).ppdu().mpdus;
        usage.ppdus += u64::from(mpdus > 0);
        usage.mpdus += u64::from(mpdus);
        usage.block_ack_requests += u64::from(mpdus == 0);
        self.nodes.transmitter(sender).attempt_ppdu(self.medium.began(), sent);
    }

    /// A SIFS and the Block Ack that answers a PPDU in a mode over a link of `sender`.
    pub(crate) fn block_ack(&self, on_air: &OnAir, sender: EdcafId, link: LinkId) -> Time {
        let control = self.phy.control(on_air);
        let agreement = self.nodes.agreement(link, self.nodes.edcaf(sender).role().ac);
        self.phy.sifs + control.response(block_ack_bytes(agreement.map_or(1, |agreement| agreement.window)))
    }

    fn request_airtime(&self, link: LinkId) -> Time {
        let on_air = &self.links[link.index()].on_air;
        on_air.announcement() + self.phy.control(on_air).response(REQUEST_BYTES)
    }
}

/// Gives the PPDU in service of `sender` the mode that its link has now. It keeps the longest prefix of its MPDUs, at least the
/// first, with which it and its response last no longer than `before` it.
pub(super) fn shorten(exchanges: &mut Exchanges, sender: EdcafId, before: &Ppdu) {
    let edcaf = exchanges.nodes.edcaf(sender);
    let (link, ac) = (edcaf.link(), edcaf.role().ac);
    let on_air = Arc::clone(&exchanges.links[link.index()].on_air);
    let spacing_bytes = on_air.bytes_in(exchanges.nodes.aggregation_rules().spacing);
    let last = before.airtime + before.response;
    let block_ack = exchanges.block_ack(&on_air, sender, link);
    let ppdu = match before.is_request() {
        true => {
            let airtime = exchanges.request_airtime(link);
            Ppdu { airtime, ..Ppdu::new(&on_air, REQUEST_BYTES, 0, block_ack) }
        }
        false => {
            let agreement = exchanges.nodes.agreement(link, ac).expect("it has a link queue in service");
            let has_s_mpdus = on_air.mode.format.has_s_mpdus();
            let sizes = agreement.originator.psdus(spacing_bytes);
            let sizes = sizes.map(|(_, psdu)| (psdu.bytes(has_s_mpdus), psdu.mpdus()));
            let ppdus = sizes.map(|size| Ppdu::in_mode(&on_air, size, spacing_bytes, block_ack));
            let fits = |ppdu: &Ppdu| ppdu.mpdus == 1 || ppdu.airtime + ppdu.response <= last;
            ppdus.take_while(fits).last().expect("a PPDU has an MPDU")
        }
    };
    exchanges.nodes.transmitter(sender).shorten(ppdu);
}
