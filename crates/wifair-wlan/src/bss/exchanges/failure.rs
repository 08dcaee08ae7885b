//! Uncommon cases: several senders start together, an exchange fails, a frame is given up (`docs/medium.md`, sections 3, 4, 10
//! and 11).

use wifair_core::Time;

use super::field::InField;
use super::tries;
use super::{Event, Exchanges};
use crate::aggregation::Occasion;
use crate::bss::controlled;
use crate::exchange::{Captured, Collider, OngoingExchange, Phase, ReceptionOutcome};
use crate::node::{EdcafId, LinkId};
use crate::ppdu::Ppdu;
use crate::rate::Feedback;

impl Exchanges {
    /// Starts transmissions of several senders on the grid, of senders off it, under EDCA, or where there are beacons. Returns
    /// the sender if it is the only one, and no beacon.
    #[inline(never)]
    pub(super) fn start_unusually(&mut self, now: Time) -> Option<EdcafId> {
        self.medium.begin_unusually(now);
        let with_beacon = self.medium.take_beacon();
        if with_beacon || self.nodes.numbering().has_categories() {
            for sender in self.medium.collide_internally(with_beacon) {
                self.lose_internally(sender, now);
            }
            controlled::adopt(self);
        }
        match self.medium.transmitters() {
            [] => self.medium.send_beacon(false, now),
            &[sender] if !with_beacon => return Some(sender),
            _ => self.start_collision(with_beacon, now),
        }
        None
    }

    /// Lets a channel access function take packets ahead of access; if it was free, it contends now. Where it does not take any
    /// ahead, lets a free one take a packet and contend.
    #[inline(never)]
    pub(super) fn serve_generally(&mut self, sender: EdcafId, now: Time) {
        let was_free = self.nodes.edcaf(sender).is_free();
        let is_served = match self.nodes.prefetches(sender) {
            true => self.prefetch(sender, Occasion::Arrival, now),
            false => self.nodes.select_next(sender, &self.phy, now),
        };
        if !is_served || !was_free {
            return;
        }
        if let Some(mut field) = InField::of(self) {
            return field.arrive(sender, now);
        }
        self.medium.arrive(sender, now);
        self.meter_wait(sender, now);
    }

    /// Handles an internal collision: a higher category of the node, or a beacon, transmits when the frame of `sender` would
    /// have.
    #[inline(never)]
    fn lose_internally(&mut self, sender: EdcafId, now: Time) {
        let failure = self.nodes.lose_internally(sender, &mut self.links, &self.mac);
        self.medium.set_window(sender, failure.resets_window);
        if failure.is_lost {
            self.medium.withdraw(sender);
            self.give_up(sender, now);
        } else {
            self.medium.lose_internally(sender);
            self.meter_wait(sender, now);
        }
    }

    fn start_collision(&mut self, with_beacon: bool, now: Time) {
        let may_capture = self.mac.capture_db.is_some();
        self.medium.begin_collision(now);
        if with_beacon {
            self.medium.send_beacon(true, now);
        }
        for index in 0..self.medium.transmitters().len() {
            let sender = self.medium.transmitters()[index];
            if self.nodes.serves_queue(sender) {
                self.form_ppdu(sender, now, false);
            }
            let collider = self.collider(sender, now);
            self.medium.collide(collider);
            if may_capture {
                self.fix_queue_size(sender);
            } else {
                self.fail_collider(index, &collider, collider.ends, now);
            }
        }
        if may_capture {
            self.capture(now);
            for index in 0..self.medium.colliders().len() {
                let collider = self.medium.colliders()[index];
                self.fail_collider(index, &collider, self.medium.end_of_attempt(index), now);
            }
        }
    }

    /// The transmission of `sender` in a collision.
    #[inline(always)]
    fn collider(&self, sender: EdcafId, now: Time) -> Collider {
        let edcaf = self.nodes.edcaf(sender);
        let link = edcaf.link();
        let Ppdu { control, with_rts, airtime, mpdus, .. } =
            edcaf.next_ppdu(&self.links[link.index()].on_air);
        let waits = &self.mac.waits[usize::from(control)];
        let (airtime, wait) = match with_rts {
            true => (self.phy.control_frames[usize::from(control)].rts.duration, waits.cts_timeout),
            false => (airtime, waits.ack_timeout),
        };
        let ends = now + airtime;
        Collider { sender, link, ends, timeout: ends + wait, lost: false, with_rts, mpdus }
    }

    /// Counts the collider's transmission, from now to `end`, as a failed attempt.
    #[inline(always)]
    fn fail_collider(&mut self, index: usize, collider: &Collider, end: Time, now: Time) {
        let &Collider { sender, link, ends, timeout, with_rts, .. } = collider;
        self.count_attempt(sender, link, end - now, !with_rts);
        if self.count_failure(sender, false, ends, timeout) {
            self.medium.mark_lost(index);
        }
    }

    /// Counts a transmission of `sender` in a collision, which occupies the medium for `airtime`; of an RTS, unless its PPDU is
    /// `sent`.
    #[inline(always)]
    fn count_attempt(&mut self, sender: EdcafId, link: LinkId, airtime: Time, sent: bool) {
        let row = &mut self.links[link.index()];
        row.usage.attempts += 1;
        let edcaf = self.nodes.edcaf_mut(sender);
        edcaf.attempt(&row.on_air.mode, airtime);
        if edcaf.serves_queue() {
            self.count_mpdus(sender, link, sent);
        }
    }

    /// Counts the failure of the exchange of `sender`, with a CTS or none, known to it at `known` after a timeout since
    /// `ended`. Returns whether nothing of what is in service is left to send.
    #[inline(always)]
    fn count_failure(&mut self, sender: EdcafId, has_cts: bool, ended: Time, known: Time) -> bool {
        let failure = self.nodes.fail(sender, has_cts, ended, known, &self.mac);
        if failure.is_reported {
            self.close_attempt(sender);
        }
        self.medium.set_window(sender, failure.resets_window);
        failure.is_lost
    }

    /// Counts the costs of the last transmission of `sender`.
    #[cold]
    fn close_attempt(&mut self, sender: EdcafId) {
        self.meter_late_draws(sender);
        self.nodes.edcaf_mut(sender).close_attempt();
    }

    /// Determines whether one of the colliders is captured.
    #[cold]
    #[inline(never)]
    fn capture(&mut self, now: Time) {
        let (nodes, links) = (&self.nodes, &self.links);
        let ppdu = |collider: &Collider| {
            nodes.edcaf(collider.sender).next_ppdu(&links[collider.link.index()].on_air)
        };
        if let Some((Collider { sender, link, .. }, end)) =
            self.medium.capture(ppdu, &self.phy, &self.mac, now)
        {
            self.count_attempt(sender, link, end - now, true);
        }
    }

    /// Handles the end of the frames of a collision, of the data frame captured from it, or of a beacon.
    #[inline(never)]
    pub(crate) fn pass_collision(&mut self, now: Time) -> Option<Event> {
        match self.medium.phase() {
            Phase::Collision => {
                self.end_collision(now);
                return None;
            }
            Phase::Beacon => {
                self.medium.end_beacon(now);
                return None;
            }
            _ => {}
        }
        let exchange = self.medium.pass_data();
        let event = self.deliver(exchange, now);
        self.medium.pass_captured();
        event
    }

    /// Section 4, the rows of undecodable data and of an undecodable MAC ACK.
    #[cold]
    #[inline(never)]
    pub(super) fn end_failure(&mut self, now: Time) {
        let (from, nav) = self.fail(Time::ZERO, now);
        self.medium.fall_idle(from, nav, now);
    }

    /// Handles a failed exchange. Its sender's IFS runs from `not_before` at the earliest. Returns from when the bystanders'
    /// IFS runs, and until when their NAV is set.
    fn fail(&mut self, not_before: Time, now: Time) -> (Time, Option<Time>) {
        let OngoingExchange { sender, link, outcome, follows, .. } = self.medium.exchange();
        let Ppdu { control, with_rts, mpdus, response, .. } = self.ppdu(sender);
        let waits = &self.mac.waits[usize::from(control)];
        let (known, resumes) = match outcome {
            ReceptionOutcome::DataLost => (now + waits.ack_timeout, now + waits.ack_timeout),
            _ => (now, now + self.mac.eifs_lead),
        };
        let is_lost = self.count_failure(sender, with_rts && !follows, now, known);
        self.adapt(sender, link, mpdus, 0, now);
        if is_lost {
            self.medium.withdraw(sender);
        }
        self.retry(sender, link, is_lost, resumes.max(not_before), known, now);
        if outcome == ReceptionOutcome::AckLost {
            return (now, None);
        }
        self.medium.start_eifs(link.receiver(), now + self.mac.eifs_lead, now);
        let nav = now + response;
        (nav, Some(nav))
    }

    /// Lets `sender` contend again, unless nothing is left to send, after an IFS that runs from `from`.
    #[inline(always)]
    fn retry(
        &mut self,
        sender: EdcafId,
        link: LinkId,
        is_lost: bool,
        from: Time,
        awaits_response_until: Time,
        now: Time,
    ) {
        self.medium.fail(sender, is_lost, from, awaits_response_until, now);
        if !is_lost {
            self.links[link.index()].usage.retries += 1;
            self.meter_wait(sender, now);
        }
    }

    /// Section 4, the rows of a collision.
    fn end_collision(&mut self, now: Time) {
        match self.medium.end_collision(now) {
            Some(captured) => self.end_captured(captured, now),
            None => {
                self.end_colliders(None, now, now);
                self.lose_beacon(now);
                self.medium.fall_idle(now + self.mac.eifs_lead, None, now);
            }
        }
    }

    /// Ends the beacon of a collision, if there is one: the AP waits for no response to it.
    fn lose_beacon(&mut self, now: Time) {
        if let Some(ends) = self.medium.beacon_ends() {
            let others_end = self.medium.colliders().iter().map(|other| other.ends).max().unwrap_or_default();
            self.medium.lose_beacon(self.eifs_of_collider(ends, others_end).max(now), now);
        }
    }

    /// Ends the exchange of a captured frame, and with it the collision: section 11, case 2.
    fn end_captured(&mut self, captured: Captured, now: Time) {
        let OngoingExchange { sender, link, outcome, .. } = self.medium.exchange();
        self.links[link.index()].usage.airtime += now - self.medium.began();
        let not_before = self.eifs_of_collider(captured.ends, captured.others_end);
        let (from, nav) = match outcome {
            ReceptionOutcome::Decoded => {
                let more = self.complete(sender, link, now).is_some();
                self.medium.succeed_aside(sender, more, not_before.max(now), now);
                if more {
                    self.meter_wait(sender, now);
                }
                (now, None)
            }
            ReceptionOutcome::DataLost | ReceptionOutcome::AckLost => self.fail(not_before, now),
        };
        self.end_colliders(Some(captured), from, now);
        self.medium.fall_idle(from.max(captured.others_end + self.mac.eifs_lead), nav, now);
    }

    /// Lets the senders of a collision continue; `captured` ended at its own time, if it is not among them. The IFS of
    /// bystanders runs from `from`.
    fn end_colliders(&mut self, captured: Option<Captured>, from: Time, now: Time) {
        for index in 0..self.medium.colliders().len() {
            let colliders = self.medium.colliders();
            let Collider { sender, link, ends, timeout, lost, with_rts, mpdus } = colliders[index];
            let mut from = timeout.max(from);
            if self.mac.colliders_wait_eifs {
                let others = colliders.iter().enumerate().filter(|(other, _)| *other != index);
                let others = others.map(|(_, other)| other.ends);
                let others =
                    others.chain(captured.map(|captured| captured.ends)).chain(self.medium.beacon_ends());
                from = from.max(self.eifs_of_collider(ends, others.max().unwrap_or_default()));
            }
            // A lost frame may have been given up by now, and replaced by the next.
            self.adapt(sender, link, if with_rts { 0 } else { mpdus }, 0, now);
            self.retry(sender, link, lost, from, timeout, now);
        }
    }

    /// The earliest start of the IFS of a sender in a collision whose frame ended at `ends`, while the last of the others ended
    /// at `others_end`.
    fn eifs_of_collider(&self, ends: Time, others_end: Time) -> Time {
        let hears = self.mac.colliders_wait_eifs && others_end >= ends;
        if hears { others_end + self.mac.eifs_lead } else { Time::ZERO }
    }

    /// Gives up what `sender` has in service and has reached its retry limit, MPDUs or a Block Ack Request.
    #[cold]
    #[inline(never)]
    pub(crate) fn give_up(&mut self, sender: EdcafId, now: Time) {
        self.meter_late_draws(sender);
        let link = self.nodes.edcaf(sender).link();
        let (is_left, prefetches) = (self.finish(sender, false, now), self.nodes.prefetches(sender));
        if is_left && !prefetches {
            return; // it contends already
        }
        self.links[link.index()].usage.retries += u64::from(is_left);
        let more = match is_left && self.nodes.ahead(sender) == 0 {
            true => self.prefetch(sender, Occasion::Outcome, now),
            false => self.select_next(sender, now),
        };
        if let Some(mut field) = InField::of(self) {
            return field.go_on(sender, more, now);
        }
        self.medium.go_on(sender, more);
        if more {
            self.meter_wait(sender, now);
        }
    }

    /// Reports to the sender's rate adaptation, if the link has one, how many MPDUs of a PPDU were acknowledged: none of an RTS
    /// without a CTS are `sent`.
    #[inline(always)] // most links have none
    pub(super) fn adapt(&mut self, sender: EdcafId, link: LinkId, sent: u32, acknowledged: u32, now: Time) {
        if self.links[link.index()].adapts {
            self.ask_adaptation(sender, link, sent, acknowledged, now);
        }
    }

    /// Reports to the rate adaptation of a link how many of the MPDUs that `sender` sent were acknowledged.
    #[inline(never)]
    fn ask_adaptation(&mut self, sender: EdcafId, link: LinkId, sent: u32, acknowledged: u32, now: Time) {
        if self.links[link.index()].has_agreement && tries::have_chains(self, sender, link) {
            return tries::report(self, sender, link, acknowledged, now);
        }
        if sent == 0 {
            return;
        }
        let modes = self.modes.of(link.station());
        let channel = &mut self.medium.channel_mut();
        let mut error_rate = |mode, bytes| match channel {
            Some(channel) => channel.data_error_rate(link, &modes.on_air(mode).mode, bytes, now),
            None => 0.0,
        };
        let mode = modes.index_of(self.nodes.edcaf(sender).mode());
        let mut feedback = Feedback { mode, sent, acknowledged, now, error_rate: &mut error_rate };
        let choice = self.links[link.index()].adaptation.on_attempt(&mut feedback);
        self.set_rate(link, choice, now);
    }
}
