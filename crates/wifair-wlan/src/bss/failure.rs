//! Uncommon cases: several senders start together, an exchange fails, a frame is given up (`docs/medium.md`, sections 3, 4, 10
//! and 11).

use wifair_core::Time;
use wifair_queue::Outcome;

use super::{Bss, Told};
use crate::exchange::{Captured, Collider, Fate, OngoingExchange, Phase};
use crate::node::LinkId;
use crate::ppdu::Ppdu;

impl Bss {
    /// Starts transmissions of several senders on the grid, of senders off it, under EDCA, or where there are beacons. Returns
    /// the sender if it is the only one, and no beacon.
    #[inline(never)]
    pub(super) fn start_unusually(&mut self, now: Time) -> Option<u32> {
        self.medium.begin_unusually(now);
        let with_beacon = self.medium.take_beacon();
        if with_beacon || self.nodes.edca().is_some() {
            for sender in self.medium.collide_internally(with_beacon) {
                self.lose_internally(sender, now);
            }
        }
        match self.medium.transmitters() {
            [] => self.medium.send_beacon(false, now),
            &[sender] if !with_beacon => return Some(sender),
            _ => self.start_collision(with_beacon, now),
        }
        None
    }

    /// Handles an internal collision: a higher category of the node, or a beacon, transmits when the frame of `sender` would have.
    #[inline(never)]
    fn lose_internally(&mut self, sender: u32, now: Time) {
        let counts = self.nodes.edca().is_none_or(|edca| edca.internal_collision_retry);
        let edcaf = self.nodes.edcaf_mut(sender);
        let usage = &mut self.links[edcaf.link().index()].usage;
        usage.internal_collisions += 1;
        if edcaf.serves_queue() {
            let resets = counts && edcaf.fail_exchange(self.mac.retry_limit_short);
            self.medium.lose_internally(sender, resets);
            self.meter_wait(sender, now);
        } else if counts && edcaf.fail(false, Time::ZERO, &self.mac) {
            usage.lost_internally += 1;
            self.medium.withdraw(sender);
            self.give_up(sender, now);
        } else {
            self.medium.lose_internally(sender, false);
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
            if self.nodes.edcaf(sender).serves_queue() {
                self.settle_ppdu(sender, now, false);
            }
            self.medium.collide(self.collider(sender, now));
            if !may_capture {
                self.fail_collider(index, now);
            }
        }
        if may_capture {
            self.capture(now);
            (0..self.medium.colliders().len()).for_each(|index| self.fail_collider(index, now));
        }
    }

    /// The transmission of `sender` in a collision.
    #[inline(always)]
    fn collider(&self, sender: u32, now: Time) -> Collider {
        let edcaf = self.nodes.edcaf(sender);
        let (link, is_ppdu) = (edcaf.link(), edcaf.serves_queue());
        let (handshake, with_rts, airtime, mpdus) = if is_ppdu {
            let Ppdu { handshake, with_rts, airtime, mpdus, .. } = edcaf.ppdu();
            (handshake, with_rts, airtime, mpdus)
        } else {
            let on_air = &self.links[link.index()].on_air;
            (on_air.handshake, edcaf.with_rts(on_air), on_air.duration(edcaf.psdu_bytes()), 1)
        };
        let waits = &self.mac.waits[usize::from(handshake)];
        let (airtime, wait) = match with_rts {
            true => (self.phy.handshakes[usize::from(handshake)].rts.duration, waits.cts_timeout),
            false => (airtime, waits.ack_timeout),
        };
        let ends = now + airtime;
        Collider { sender, link, ends, timeout: ends + wait, lost: false, with_rts, is_ppdu, mpdus }
    }

    /// Counts the collider's transmission, which begins now, as a failed attempt.
    #[inline(always)]
    fn fail_collider(&mut self, index: usize, now: Time) {
        let Collider { sender, link, ends, timeout, is_ppdu, .. } = self.medium.colliders()[index];
        let airtime = self.medium.end_of_attempt(index) - now;
        let lost = if is_ppdu {
            self.count_attempt(sender, link, airtime);
            self.fail_ppdu(sender, timeout - ends, timeout)
        } else {
            let row = &mut self.links[link.index()];
            row.usage.attempts += 1;
            let (lost, asks) =
                self.nodes.collide(sender, &row.on_air.mode, airtime, timeout - ends, &self.mac);
            self.fail_frame(sender, lost, asks, timeout);
            lost
        };
        if lost {
            self.medium.mark_lost(index);
        }
    }

    /// Determines whether one of the colliders is captured.
    #[cold]
    #[inline(never)]
    fn capture(&mut self, now: Time) {
        let (nodes, links) = (&self.nodes, &self.links);
        let frame = |collider: &Collider| {
            (*links[collider.link.index()].on_air, nodes.edcaf(collider.sender).psdu_bytes())
        };
        if let Some((Collider { sender, link, .. }, end)) =
            self.medium.capture(frame, &self.phy, &self.mac, now)
        {
            self.count_attempt(sender, link, end - now);
        }
    }

    #[inline(always)]
    pub(super) fn count_attempt(&mut self, sender: u32, link: LinkId, airtime: Time) {
        let row = &mut self.links[link.index()];
        row.usage.attempts += 1;
        let edcaf = self.nodes.edcaf_mut(sender);
        if edcaf.serves_queue() {
            return self.count_ppdu(sender, link, airtime);
        }
        edcaf.attempt(&row.on_air.mode, airtime);
    }

    /// Handles the end of the frames of a collision, of the data frame captured from it, or of a beacon.
    #[inline(never)]
    pub(super) fn pass_collision(&mut self, now: Time) -> Option<Told> {
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
        let told = self.deliver(now);
        self.medium.pass_captured();
        told
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
        let OngoingExchange { sender, link, handshake, fate, follows, .. } = self.medium.exchange();
        let waits = self.mac.waits[usize::from(handshake)];
        let (known, resumes) = match fate {
            Fate::DataLost => (now + waits.ack_timeout, now + waits.ack_timeout),
            _ => (now, now + self.mac.eifs_lead),
        };
        let edcaf = self.nodes.edcaf_mut(sender);
        let response = if edcaf.serves_queue() { edcaf.ppdu().response } else { waits.acknowledgement };
        let mpdus = edcaf.ppdu().mpdus;
        if edcaf.serves_queue() {
            let lost = self.fail_ppdu(sender, known - now, known);
            self.adapt(sender, link, mpdus, 0, now);
            if lost {
                self.medium.withdraw(sender);
            }
            self.retry_ppdu(sender, link, lost, resumes.max(not_before), known, now);
        } else {
            let with_rts = !follows && edcaf.with_rts(&self.links[link.index()].on_air);
            let lost = edcaf.fail(with_rts, known - now, &self.mac);
            self.adapt(sender, link, 1, 0, now);
            if lost {
                self.medium.withdraw(sender);
            }
            self.fail_frame(sender, lost, self.nodes.asks_for_transmissions(sender), known);
            self.retry(sender, link, lost, resumes.max(not_before), known, now);
        }
        if fate == Fate::AckLost {
            return (now, None);
        }
        self.medium.divert(link.receiver(), now + self.mac.eifs_lead, now);
        let nav = now + response;
        (nav, Some(nav))
    }

    /// Retransmits the frame of `sender`, unless it is lost, after an IFS that runs from `from`.
    #[inline(always)]
    fn retry(&mut self, sender: u32, link: LinkId, lost: bool, from: Time, deaf_until: Time, now: Time) {
        self.medium.fail(sender, lost, from, deaf_until, now);
        if !lost {
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
        let OngoingExchange { sender, link, fate, .. } = self.medium.exchange();
        self.links[link.index()].usage.airtime += now - self.medium.began();
        let not_before = self.eifs_of_collider(captured.ends, captured.others_end);
        let (from, nav) = match fate {
            Fate::Decoded => {
                self.adapt(sender, link, 1, 1, now);
                let more = self.done(sender, Outcome::Delivered, now).is_some();
                self.medium.succeed_aside(sender, more, not_before.max(now), now);
                if more {
                    self.meter_wait(sender, now);
                }
                (now, None)
            }
            Fate::DataLost | Fate::AckLost => self.fail(not_before, now),
        };
        self.end_colliders(Some(captured), from, now);
        self.medium.fall_idle(from.max(captured.others_end + self.mac.eifs_lead), nav, now);
    }

    /// Lets the senders of a collision continue; `captured` ended at its own time, if it is not among them. The IFS of
    /// bystanders runs from `from`.
    fn end_colliders(&mut self, captured: Option<Captured>, from: Time, now: Time) {
        for index in 0..self.medium.colliders().len() {
            let colliders = self.medium.colliders();
            let Collider { sender, link, ends, timeout, lost, with_rts, is_ppdu, mpdus } = colliders[index];
            let mut from = timeout.max(from);
            if self.mac.colliders_wait_eifs {
                let others = colliders.iter().enumerate().filter(|(other, _)| *other != index);
                let others = others.map(|(_, other)| other.ends);
                let others =
                    others.chain(captured.map(|captured| captured.ends)).chain(self.medium.beacon_ends());
                from = from.max(self.eifs_of_collider(ends, others.max().unwrap_or_default()));
            }
            // A lost frame may have been given up by now, and replaced by the next.
            if !with_rts {
                self.adapt(sender, link, mpdus, 0, now);
            }
            if is_ppdu && !lost {
                self.retry_ppdu(sender, link, lost, from, timeout, now);
                continue;
            }
            self.retry(sender, link, lost, from, timeout, now);
        }
    }

    /// The earliest start of the IFS of a sender in a collision whose frame ended at `ends`, while the last of the others ended
    /// at `others_end`.
    fn eifs_of_collider(&self, ends: Time, others_end: Time) -> Time {
        let hears = self.mac.colliders_wait_eifs && others_end >= ends;
        if hears { others_end + self.mac.eifs_lead } else { Time::ZERO }
    }

    /// Gives up the frame in service of `sender` at a retry limit.
    #[cold]
    #[inline(never)]
    pub(super) fn give_up(&mut self, sender: u32, now: Time) {
        if self.nodes.edcaf(sender).serves_queue() {
            return self.give_up_mpdus(sender, now);
        }
        let edcaf = self.nodes.edcaf(sender);
        let usage = &mut self.links[edcaf.link().index()].usage;
        usage.lost_at_retry_limit += 1;
        usage.lost_after_delivery += u64::from(edcaf.under_way().is_none());
        let more = self.done(sender, Outcome::LostAtRetryLimit, now).is_some();
        self.medium.start_over(sender, more);
        if more {
            self.meter_wait(sender, now);
        }
    }

    /// Handles a failure of the frame of `sender`, known to it at `known`; the frame is then given up if it is `lost`. `asks`:
    /// whether its port asks for transmissions.
    #[inline]
    fn fail_frame(&mut self, sender: u32, lost: bool, asks: bool, known: Time) {
        if asks {
            self.close_attempt(sender);
        }
        if lost {
            self.nodes.deadlines.lose(sender, known);
        } else if asks {
            self.nodes.deadlines.learn(sender, known);
        }
    }

    /// Counts the times of a finished attempt of `sender`.
    #[cold]
    pub(super) fn close_attempt(&mut self, sender: u32) {
        self.meter_late_draws(sender);
        self.nodes.edcaf_mut(sender).close_attempt();
    }

    /// Reports to the sender's rate adaptation how many MPDUs of a PPDU were acknowledged.
    #[inline]
    fn adapt(&mut self, sender: u32, link: LinkId, sent: u32, acknowledged: u32, now: Time) {
        if sent > 0 && self.links[link.index()].adapts {
            self.ask_adaptation(sender, link, sent, acknowledged, now);
        }
    }
}
