//! PPDUs that are sent again as they were formed (`docs/medium.md`, section 12).

use wifair_core::Time;

use super::Exchanges;
use crate::node::{EdcafId, LinkId};
use crate::ppdu::Ppdu;
use crate::rate::{ChainSegment, TakenChain};

/// Whether the retries of a link are those of its rate adaptation's chain, with one chain for each PPDU of `sender`.
pub(super) fn have_chains(exchanges: &mut Exchanges, sender: EdcafId, link: LinkId) -> bool {
    exchanges.nodes.tries(sender) > 1 && exchanges.links[link.index()].adaptation.retry_chains().is_some()
}

/// The modes of the tries of what `sender` forms next for a link, and whether that is a sample. Empty if that has one try.
pub(super) fn chain(
    exchanges: &mut Exchanges,
    sender: EdcafId,
    link: LinkId,
    now: Time,
) -> (Vec<ChainSegment>, bool) {
    let samples = exchanges.links[link.index()].samples;
    let attempts = exchanges.nodes.tries(sender);
    if attempts == 1 || exchanges.nodes.transmitter(sender).forms_request(link) {
        return (Vec::new(), samples);
    }
    let row = &mut exchanges.links[link.index()];
    if let Some(chains) = row.adaptation.retry_chains() {
        let TakenChain { segments, samples, next } = chains.take();
        exchanges.set_rate(link, next, now);
        return (segments, samples);
    }
    let mode = exchanges.modes.of(link.station()).index_of(&row.on_air.mode);
    (vec![ChainSegment { mode, attempts, rts: false }], samples)
}

/// Advances to the next try of the PPDU that `sender` has in service, if its last has failed. Returns whether there is one.
pub(super) fn retry(exchanges: &mut Exchanges, sender: EdcafId) -> bool {
    let Some(ChainSegment { mode, rts, .. }) = exchanges.nodes.transmitter(sender).tries().retry() else {
        return false;
    };
    let edcaf = exchanges.nodes.edcaf(sender);
    let (link, &Ppdu { psdu_bytes, spacing_bytes, mpdus, .. }) = (edcaf.link(), edcaf.ppdu());
    let on_air = exchanges.modes.on_air(link.station(), mode, rts);
    let block_ack = exchanges.block_ack(&on_air, sender, link);
    let ppdu = Ppdu::in_mode(&on_air, (psdu_bytes, mpdus), spacing_bytes, block_ack);
    exchanges.nodes.edcaf_mut(sender).set_ppdu(ppdu);
    true
}

/// Reports to the rate adaptation of a link the PPDU of `sender` that has ended, if one has, now with a response that
/// acknowledges so many of its MPDUs, or before, with a failure.
pub(super) fn report(exchanges: &mut Exchanges, sender: EdcafId, link: LinkId, acknowledged: u32, now: Time) {
    if acknowledged > 0 {
        let mpdus = exchanges.nodes.edcaf(sender).ppdu().mpdus;
        exchanges.nodes.transmitter(sender).tries().end(mpdus, acknowledged);
    }
    let Some(outcome) = exchanges.nodes.transmitter(sender).tries().take_ended(now) else { return };
    let asks_with_packets = exchanges.nodes.hardware(sender).feeds_ahead();
    let row = &mut exchanges.links[link.index()];
    if let Some(&(mode, _)) = outcome.tries.last() {
        row.last_try = Some(exchanges.modes.of(link.station()).on_air(mode).mode);
    }
    let chains = row.adaptation.retry_chains().expect("its retries are those of a chain");
    let mut choice = chains.on_end(&outcome);
    // A sample that has not been taken yet is still due.
    if !asks_with_packets && !choice.samples && outcome.acknowledged > 0 {
        choice = chains.ask(now);
    }
    exchanges.set_rate(link, choice, now);
}

/// Packets of these links have left the transmit queue of a function whose PPDUs have several tries, for link queues.
pub(super) fn ask(exchanges: &mut Exchanges, links: &[LinkId], now: Time) {
    for &link in links {
        if let Some(chains) = exchanges.links[link.index()].adaptation.retry_chains() {
            let choice = chains.ask(now);
            exchanges.set_rate(link, choice, now);
        }
    }
}
