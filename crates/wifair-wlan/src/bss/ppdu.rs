//! Exchanges of links with a Block Ack agreement: PPDUs of one or more MPDUs, and Block Ack Requests (`docs/medium.md`,
//! section 12).

use wifair_core::Time;
use wifair_queue::{Direction, Outcome, Reception};

use super::{Bss, Told};
use crate::aggregation::Psdu;
use crate::channel::Attempt;
use crate::edcaf::Ppdu;
use crate::exchange::{Fate, OngoingExchange};
use crate::meter::Meter;
use crate::node::LinkId;
use crate::phy::OnAir;

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

impl Bss {
    /// What the link in service of `sender` has to send is transmitted now or, within a TXOP, after `lead`.
    #[inline(never)]
    pub(super) fn transmit_ppdu(&mut self, sender: u32, now: Time, lead: Option<Time>) {
        self.form(sender, now, lead.is_some());
        let edcaf = self.nodes.edcaf(sender);
        let (link, Ppdu { airtime, response, .. }) = (edcaf.link(), edcaf.ppdu());
        let on_air = &self.links[link.index()].on_air;
        let before = match lead {
            Some(lead) => lead,
            None if edcaf.with_rts(on_air) => self.mac.waits[usize::from(on_air.handshake)].reservation,
            None => Time::ZERO,
        };
        let fate = self.fate_of_ppdu(sender, now);
        let OnAir { handshake, .. } = self.links[link.index()].on_air;
        let follows = lead.is_some();
        let exchange = OngoingExchange { sender, link, handshake, fate, end: Time::ZERO, follows };
        let end = self.medium.carry(exchange, now + before + airtime, response);
        self.count_attempt(sender, link, end - now);
    }

    /// Settles what the link in service of `sender` sends, in an exchange that starts now or follows in a TXOP.
    pub(super) fn form(&mut self, sender: u32, now: Time, follows: bool) {
        let edcaf = self.nodes.edcaf(sender);
        let (link, role) = (edcaf.link(), edcaf.role());
        let on_air = &self.links[link.index()].on_air;
        let block_ack = self.block_ack(sender);
        let rules = self.nodes.aggregation_rules();
        let longest = |duration| on_air.largest_psdu(duration).unwrap_or(0);
        let mut max_psdu_bytes = rules.max_ampdu_bytes.min(longest(rules.max_ppdu));
        if role.txop_limit > Time::ZERO {
            let (began, start) = match follows {
                true => (self.medium.txop_of_next_began(), now + self.phy.sifs),
                false => (now, now),
            };
            let left = (began + role.txop_limit).saturating_sub(start + on_air.announcement() + block_ack);
            let reservation = self.mac.waits[usize::from(on_air.handshake)].reservation;
            let (fits, fits_after_rts) = (longest(left), longest(left.saturating_sub(reservation)));
            let fits = match on_air.rts_threshold {
                threshold if follows || fits <= threshold => fits,
                threshold => fits_after_rts.max(threshold),
            };
            max_psdu_bytes = max_psdu_bytes.min(fits);
        }
        let spacing_bytes = on_air.bytes_in(rules.spacing);
        let formed = self.nodes.form(sender, max_psdu_bytes, spacing_bytes, &self.phy, now);
        let on_air = &self.links[link.index()].on_air;
        let ppdu = match formed {
            Some(psdu) => {
                let psdu_bytes = psdu.bytes(on_air.mode.format.has_s_mpdus());
                let response = if psdu.mpdus() == 1 { on_air.acknowledgement } else { block_ack };
                Ppdu {
                    psdu_bytes,
                    mpdus: psdu.mpdus(),
                    airtime: on_air.duration(psdu_bytes),
                    response,
                    ..Ppdu::default()
                }
            }
            None => {
                let airtime = self.request_airtime(sender);
                Ppdu { psdu_bytes: REQUEST_BYTES, airtime, response: block_ack, ..Ppdu::default() }
            }
        };
        self.nodes.edcaf_mut(sender).set_ppdu(ppdu);
    }

    /// Draws what the channel does to each MPDU and to the response.
    fn fate_of_ppdu(&mut self, sender: u32, now: Time) -> Fate {
        let edcaf = self.nodes.edcaf(sender);
        let (link, ppdu) = (edcaf.link(), edcaf.ppdu());
        let Some(channel) = self.medium.channel_mut() else { return Fate::Decoded };
        let OnAir { mode, handshake, .. } = self.links[link.index()].on_air;
        let attempt = |psdu_bytes| Attempt { link, node: link.sender(), mode, handshake, psdu_bytes, now };
        let decodes = |bytes| !channel.loses_data(&attempt(bytes), &self.phy);
        if !ppdu.is_request() && !self.nodes.draw(sender, decodes) {
            Fate::DataLost
        } else if channel.loses_ack(&attempt(ppdu.psdu_bytes), &self.phy) {
            Fate::AckLost
        } else {
            Fate::Decoded
        }
    }

    /// The PPDU ends: what its receiver can pass on is given out, one packet after the other.
    #[inline(never)]
    pub(super) fn deliver_ppdu(&mut self, now: Time) -> Option<Told> {
        let OngoingExchange { sender, link, .. } = self.medium.exchange();
        let usage = &mut self.links[link.index()].usage;
        self.nodes.receive_ppdu(sender, now, |is_duplicate| usage.duplicates += u64::from(is_duplicate));
        self.pass_on(now)
    }

    /// The next packet that a recipient has passed on.
    pub(super) fn pass_on(&mut self, now: Time) -> Option<Told> {
        let (link, ac, received, flow) = self.nodes.take_passed(now)?;
        self.links[link.index()].usage.delivered += 1;
        if let (Some(meter), Direction::Up) = (&mut self.meter, link.direction()) {
            let sender = self.nodes.edcaf_of(link.sender(), ac);
            let overhead = Meter::first_wait(self.medium.contention(), sender);
            let reception = Reception {
                packet: &received.packet,
                flow,
                station: link.station(),
                ac,
                airtime: received.airtime,
                overhead,
            };
            self.nodes.report_reception(&reception, now);
            meter.believe(received.packet.class(), Direction::Up, reception.channel_time());
        }
        self.passed = Some((link, received.packet));
        Some(Told::Passed)
    }

    /// The response has been decoded.
    #[inline(never)]
    pub(super) fn end_ppdu(&mut self, sender: u32, now: Time) {
        let edcaf = self.nodes.edcaf(sender);
        let (link, sent) = (edcaf.link(), edcaf.ppdu().mpdus);
        if sent > 0 && self.links[link.index()].adapts {
            self.ask_adaptation(link, sent, self.nodes.acknowledged(sender), now);
        }
        self.nodes.report_ppdu(sender, true, now);
        self.finish_mpdus(sender, true, now);
        self.nodes.edcaf_mut(sender).forget_failures();
        let more = self.nodes.choose_next(sender, &self.phy, now);
        if more && self.continues_txop(sender, now) {
            return self.follow(sender, now);
        }
        self.medium.succeed(sender, more, now);
        if more {
            self.meter_wait(sender, now);
        }
    }

    /// Whether what the link in service of `sender` sends first, after an exchange of the same TXOP, ends in time.
    fn continues_txop(&self, sender: u32, now: Time) -> bool {
        let limit = self.nodes.edcaf(sender).role().txop_limit;
        limit > Time::ZERO && self.fits_txop(sender, limit, now)
    }

    /// How long the head of the link queue in service of `sender`, or its Block Ack Request, and what answers it occupy the medium.
    pub(super) fn head_exchange(&self, sender: u32) -> Time {
        let link = self.nodes.edcaf(sender).link();
        let on_air = &self.links[link.index()].on_air;
        match self.nodes.head_bytes(sender) {
            Some(bytes) => {
                let psdu_bytes = Psdu::of(bytes).bytes(on_air.mode.format.has_s_mpdus());
                on_air.duration(psdu_bytes) + on_air.acknowledgement
            }
            None => self.request_airtime(sender) + self.block_ack(sender),
        }
    }

    /// Counts an attempt of the PPDU of `sender`.
    pub(super) fn count_ppdu(&mut self, sender: u32, link: LinkId, airtime: Time) {
        let row = &mut self.links[link.index()];
        let mpdus = self.nodes.edcaf(sender).ppdu().mpdus;
        row.usage.ppdus += u64::from(mpdus > 0);
        row.usage.mpdus += u64::from(mpdus);
        row.usage.block_ack_requests += u64::from(mpdus == 0);
        let rate = row.on_air.rate();
        self.meter_late_draws(sender);
        self.nodes.attempt_ppdu(sender, airtime, rate);
    }

    /// The exchange of the link in service of `sender` has failed, which it knows at `known`, after it has waited for `timeout`.
    /// Whether nothing is left to send then.
    pub(super) fn fail_ppdu(&mut self, sender: u32, timeout: Time, known: Time) -> bool {
        let resets = self.nodes.edcaf_mut(sender).fail_exchange(self.mac.retry_limit_short);
        self.medium.set_window(sender, resets);
        let (gives_up, lost) = self.nodes.fail_ppdu(sender, timeout);
        if gives_up {
            self.nodes.deadlines.lose(sender, known);
        } else if self.nodes.asks_for_transmissions(sender) {
            self.nodes.deadlines.learn(sender, known);
        }
        lost
    }

    /// The link in service of `sender` contends again, unless it is `lost`, after an IFS that runs from `from`.
    pub(super) fn retry_ppdu(
        &mut self,
        sender: u32,
        link: LinkId,
        lost: bool,
        from: Time,
        deaf_until: Time,
        now: Time,
    ) {
        self.medium.fail_with_window(sender, lost, from, deaf_until, now);
        if !lost {
            self.links[link.index()].usage.retries += 1;
            self.meter_wait(sender, now);
        }
    }

    /// MPDUs, or a Block Ack Request, of the link in service of `sender` have failed as often as they may.
    pub(super) fn give_up_mpdus(&mut self, sender: u32, now: Time) {
        if self.finish_mpdus(sender, false, now) {
            return;
        }
        let more = self.nodes.choose(sender, &self.phy, now);
        self.medium.go_on(sender, more);
        if more {
            self.meter_wait(sender, now);
        }
    }

    /// Takes what is acknowledged, if the exchange has `succeeded`, and what has failed as often as it may out of the link queue in
    /// service of `sender`. Whether anything is left there.
    fn finish_mpdus(&mut self, sender: u32, succeeded: bool, now: Time) -> bool {
        let link = self.nodes.edcaf(sender).link();
        let usage = &mut self.links[link.index()].usage;
        let meter = &mut self.meter;
        self.nodes.finish_mpdus(sender, succeeded, now, |mpdu, outcome, is_ap| {
            if outcome == Outcome::LostAtRetryLimit {
                usage.lost_at_retry_limit += 1;
                usage.lost_after_delivery += u64::from(mpdu.is_taken());
            }
            if let Some(meter) = meter {
                meter.count(mpdu.departure.class, is_ap, mpdu.airtime + mpdu.overhead);
            }
        })
    }

    fn block_ack(&self, sender: u32) -> Time {
        let handshake = self.phy.handshake(self.on_air(sender));
        self.phy.sifs + handshake.response(block_ack_bytes(self.nodes.window_of(sender)))
    }

    fn request_airtime(&self, sender: u32) -> Time {
        let on_air = self.on_air(sender);
        on_air.announcement() + self.phy.handshake(on_air).response(REQUEST_BYTES)
    }
}
