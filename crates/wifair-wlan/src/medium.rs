//! What happens on the medium: starts, deliveries, ends and failures of exchanges (`docs/medium.md`, sections 3, 4
//! and 7).

use wifair_core::Time;
use wifair_queue::{Direction, Outcome};

use crate::bss::{Bss, Loss, Told};
use crate::channel::{Attempt, Channel};
use crate::edca::CATEGORY_BITS;
use crate::exchange::{Captured, Collider, Fate, OngoingExchange, Phase};
use crate::node::AP;
use crate::node::LinkId;
use crate::phy::BssTiming;
use crate::service::is_held;

impl Bss {
    /// Somebody, or several, start to transmit.
    #[inline(always)]
    pub(crate) fn start(&mut self, now: Time) {
        self.exchanges += 1;
        self.phase_began = now;
        match self.contention.begin_alone(now) {
            Some(sender) if self.channel.is_none() => {
                self.start_single(sender, sender, now, Time::ZERO, |_, _, _| Fate::Decoded);
            }
            Some(sender) => self.start_under_errors(sender, now, Time::ZERO),
            None => self.start_unusually(now),
        }
    }

    #[inline(never)]
    fn start_under_errors(&mut self, sender: u32, now: Time, lead: Time) {
        self.start_single(sender, sender >> self.category_bits, now, lead, |channel, attempt, phy| {
            match channel {
                Some(channel) => channel.fate(&attempt, phy),
                None => Fate::Decoded,
            }
        });
    }

    /// Several on the grid, or somebody off it; or EDCA.
    #[inline(never)]
    fn start_unusually(&mut self, now: Time) {
        self.contention.begin(now);
        if let Some(edca) = &mut self.edca {
            edca.txop_began = now;
            edca.follows = false;
            if self.contention.transmitters().len() > 1 {
                self.collide_internally(now);
            }
        }
        if let &[sender] = self.contention.transmitters() {
            self.start_under_errors(sender, now, Time::ZERO);
        } else {
            self.start_collision(now);
        }
    }

    /// Among the transmitters are perhaps several categories of a node (section 10).
    #[inline(never)]
    fn collide_internally(&mut self, now: Time) {
        let Some(edca) = &mut self.edca else { return };
        let counts = edca.internal_collision_retry;
        let mut losers = std::mem::take(&mut edca.losers);
        self.contention.collide_internally(CATEGORY_BITS, &mut losers);
        for &sender in &losers {
            let link = self.link_of(sender);
            let usage = &mut self.links[link.index()].usage;
            usage.internal_collisions += 1;
            let frame = &mut self.senders[sender as usize].frame;
            if counts && frame.fail(false, Time::ZERO, &self.mac) {
                usage.lost_internally += 1;
                self.contention.withdraw(sender);
                self.give_up(sender, now);
            } else {
                self.contention.lose_internally(sender);
                self.meter_wait(sender, now);
            }
        }
        if let Some(edca) = &mut self.edca {
            edca.losers = losers;
        }
    }

    /// Whether the frame in service of `sender`, whose frame before has just been acknowledged, belongs to the same TXOP.
    #[inline(never)]
    pub(crate) fn goes_on(&self, sender: u32, now: Time) -> bool {
        let Some(edca) = &self.edca else { return false };
        let limit = edca.txop_limit(sender);
        if limit == Time::ZERO {
            return false;
        }
        let on_air = &self.links[self.link_of(sender).index()].on_air;
        let data = on_air.duration(self.senders[sender as usize].frame.psdu_bytes);
        now + self.phy.sifs + data + self.mac.acknowledgement <= edca.txop_began + limit
    }

    /// The next frame of a TXOP: it follows after a SIFS, which belongs to its exchange.
    #[inline(never)]
    pub(crate) fn follow(&mut self, sender: u32, now: Time) {
        self.contention.reset_window(sender);
        if let Some(edca) = &mut self.edca {
            edca.follows = true;
        }
        self.exchanges += 1;
        self.phase_began = now;
        self.start_under_errors(sender, now, self.phy.sifs);
    }

    /// Whether RTS and CTS go before the frame in service of `sender`, as things stand.
    pub(crate) fn with_rts(&self, sender: u32) -> bool {
        let follows = self.edca.as_ref().is_some_and(|edca| edca.follows);
        !follows && self.senders[sender as usize].frame.with_rts(&self.mac)
    }

    /// The data frame of `sender`, at `node`, starts `lead` after `now`.
    #[inline(always)]
    fn start_single(
        &mut self,
        sender: u32,
        node: u32,
        now: Time,
        lead: Time,
        fate: impl FnOnce(&mut Option<Channel>, Attempt, &BssTiming) -> Fate,
    ) {
        let frame = &mut self.senders[sender as usize].frame;
        let link = LinkId::of(node == AP, frame.departure().station);
        let row = &mut self.links[link.index()];
        let (mode, psdu_bytes) = (row.on_air.mode, frame.psdu_bytes);
        let fate = fate(&mut self.channel, Attempt { link, node, mode, psdu_bytes, now }, &self.phy);
        let mut data_end = now + lead + row.on_air.duration(frame.psdu_bytes);
        if lead == Time::ZERO && frame.with_rts(&self.mac) {
            data_end += self.mac.reservation;
        }
        let (phase, end) = match fate {
            Fate::DataLost => (Phase::Ending, data_end),
            _ => (Phase::Data, data_end + self.mac.acknowledgement),
        };
        frame.attempt(mode, end - now);
        row.usage.attempts += 1;
        self.single = OngoingExchange { sender, link, fate, end };
        self.phase = phase;
        self.due = data_end;
    }

    fn start_collision(&mut self, now: Time) {
        self.collisions += 1;
        self.colliders.clear();
        for index in 0..self.contention.transmitters().len() {
            let sender = self.contention.transmitters()[index];
            let link = self.link_of(sender);
            let frame = &self.senders[sender as usize].frame;
            let with_rts = frame.with_rts(&self.mac);
            let (airtime, wait) = if with_rts {
                (self.phy.rts, self.mac.cts_timeout)
            } else {
                (self.links[link.index()].on_air.duration(frame.psdu_bytes), self.mac.ack_timeout)
            };
            let ends = now + airtime;
            self.colliders.push(Collider { sender, link, ends, timeout: ends + wait, lost: false, with_rts });
        }
        self.phase = Phase::Collision;
        self.due = self.colliders.iter().map(|collider| collider.ends).max().unwrap_or(now);
        if self.mac.capture_db.is_some() {
            self.capture(now);
        }
        for index in 0..self.colliders.len() {
            let Collider { sender, link, ends, timeout, .. } = self.colliders[index];
            let airtime = self.end_of_attempt(index) - now;
            let frame = &mut self.senders[sender as usize].frame;
            let row = &mut self.links[link.index()];
            frame.attempt(row.on_air.mode, airtime);
            row.usage.attempts += 1;
            if frame.fail(false, timeout - ends, &self.mac) {
                self.colliders[index].lost = true;
                self.lose_later(sender, timeout);
            }
        }
    }

    /// The data frame ends: the receiver has it, and passes on the first copy.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, now: Time) -> Option<Told> {
        let OngoingExchange { sender, link, end, .. } = self.single;
        self.phase = Phase::Ending;
        self.due = end;
        let usage = &mut self.links[link.index()].usage;
        let frame = &mut self.senders[sender as usize].frame;
        if frame.delivered {
            usage.duplicates += 1;
            return None;
        }
        frame.delivered = true;
        usage.delivered += 1;
        if link.direction() == Direction::Up {
            let (senders, category_bits) = (&self.senders, self.category_bits);
            let packet = &senders[sender as usize].frame.departure().packet;
            let flows = &mut self.sides.ap.flows;
            let flow =
                flows.observe(packet, Direction::Up, now, |flow| is_held(senders, category_bits, flow));
            if self.meter.is_some() {
                self.meter_reception(flow, now);
            }
        }
        Some(Told::Delivery)
    }

    /// The last frame of an exchange ends.
    #[inline(always)]
    pub(crate) fn end_single(&mut self, now: Time) {
        let OngoingExchange { sender, link, fate, .. } = self.single;
        let row = &mut self.links[link.index()];
        row.usage.airtime += now - self.phase_began;
        self.phase = Phase::Idle;
        if fate == Fate::Decoded {
            if row.adapts {
                self.ask_adaptation(link, true, now);
            }
            self.finish(sender, Outcome::Delivered, now);
        } else {
            self.end_failure(now);
        }
    }

    /// Section 4, the rows of undecodable data and of an undecodable MAC ACK.
    #[cold]
    #[inline(never)]
    fn end_failure(&mut self, now: Time) {
        let (from, nav) = self.fail_single(Time::ZERO, now);
        self.contention.resume(now, from, nav);
        self.due = self.contention.start();
    }

    /// The exchange that goes on has failed. Its sender's IFS runs from `not_before` at the earliest; returns from when
    /// bystanders' does, and until when their NAV is set.
    pub(crate) fn fail_single(&mut self, not_before: Time, now: Time) -> (Time, Option<Time>) {
        let single = self.single;
        let OngoingExchange { sender, link, .. } = single;
        let (known, resumes) = match single.fate {
            Fate::DataLost => (now + self.mac.ack_timeout, now + self.mac.ack_timeout),
            _ => (now, now + self.mac.eifs_lead),
        };
        let resumes = resumes.max(not_before);
        let with_rts = self.with_rts(sender);
        let frame = &mut self.senders[sender as usize].frame;
        let lost = frame.fail(with_rts, known - now, &self.mac);
        self.adapt(link, false, now);
        if lost {
            self.lose_later(sender, known);
            self.contention.set_aside(sender, resumes, known);
        } else {
            self.retry(sender, link, resumes, known);
        }
        if self.edca.is_some() {
            self.hold_siblings(sender, resumes, known, now);
        }
        if single.fate == Fate::AckLost {
            return (now, None);
        }
        let first = link.receiver() << self.category_bits;
        for receiver in first..first + (1 << self.category_bits) {
            self.contention.divert(receiver, now + self.mac.eifs_lead, now);
        }
        let nav = now + self.mac.acknowledgement;
        (nav, Some(nav))
    }

    /// Section 4, the rows of a collision.
    #[inline(never)]
    pub(crate) fn end_collision(&mut self, now: Time) {
        match self.captured.take() {
            Some(captured) if !captured.in_vain => self.end_captured(captured, now),
            _ => {
                self.collision_airtime += now - self.phase_began;
                self.end_colliders(None, now, now);
                self.contention.resume(now, now + self.mac.eifs_lead, None);
            }
        }
        self.phase = Phase::Idle;
        self.due = self.contention.start();
    }

    /// The senders of a collision go on; `captured` ended, if it is not among them, when it says. The IFS of bystanders runs from
    /// `from`.
    pub(crate) fn end_colliders(&mut self, captured: Option<Captured>, from: Time, now: Time) {
        let has_categories = self.edca.is_some();
        for index in 0..self.colliders.len() {
            let Collider { sender, link, ends, timeout, lost, with_rts } = self.colliders[index];
            let mut from = timeout.max(from);
            if self.mac.colliders_wait_eifs {
                let others = self.colliders.iter().enumerate().filter(|(other, _)| *other != index);
                let others =
                    others.map(|(_, other)| other.ends).chain(captured.map(|captured| captured.ends));
                from = from.max(self.eifs_of_collider(ends, others.max().unwrap_or_default()));
            }
            if !with_rts {
                self.adapt(link, false, now);
            }
            // What is lost may have been given up by now, and the next frame have taken its place.
            if lost {
                self.contention.set_aside(sender, from, timeout);
            } else {
                self.retry(sender, link, from, timeout);
            }
            if has_categories {
                self.hold_siblings(sender, from, timeout, now);
            }
        }
    }

    /// From when the IFS of a sender of a collision runs at the earliest, whose own frame ended at `ends` and the last of the
    /// others' at `others_end`.
    pub(crate) fn eifs_of_collider(&self, ends: Time, others_end: Time) -> Time {
        let hears = self.mac.colliders_wait_eifs && others_end >= ends;
        if hears { others_end + self.mac.eifs_lead } else { Time::ZERO }
    }

    /// The frame in service of `sender` is to be sent again, after an IFS that runs from `from`.
    #[inline(always)]
    fn retry(&mut self, sender: u32, link: LinkId, from: Time, deaf_until: Time) {
        self.links[link.index()].usage.retries += 1;
        self.contention.fail(sender, from, deaf_until);
        self.meter_wait(sender, self.now);
    }

    /// The other categories of the node of `sender`, whose frame has failed, wait as it does.
    #[cold]
    #[inline(never)]
    pub(crate) fn hold_siblings(&mut self, sender: u32, from: Time, deaf_until: Time, now: Time) {
        let first = sender >> self.category_bits << self.category_bits;
        for sibling in first..first + (1 << self.category_bits) {
            if sibling != sender {
                self.contention.hold(sibling, from, deaf_until, now);
            }
        }
    }

    /// The frame in service of `sender` has reached a retry limit; it is given up at `at`, when the sender knows.
    #[cold]
    fn lose_later(&mut self, sender: u32, at: Time) {
        self.contention.withdraw(sender);
        self.losses.push(Loss { at, sender });
        self.next_loss = self.next_loss.min(at);
        self.rare = self.rare.min(at);
    }

    /// Gives up the frame whose time has come.
    #[cold]
    #[inline(never)]
    pub(crate) fn lose(&mut self, now: Time) {
        let first = (0..self.losses.len()).min_by_key(|&index| self.losses[index]).expect("a loss is due");
        let Loss { sender, .. } = self.losses.swap_remove(first);
        self.next_loss = self.losses.iter().map(|loss| loss.at).min().unwrap_or(Time::MAX);
        self.give_up(sender, now);
    }

    /// The frame in service of `sender` is lost at a retry limit.
    fn give_up(&mut self, sender: u32, now: Time) {
        let link = self.link_of(sender);
        let frame = &self.senders[sender as usize].frame;
        let usage = &mut self.links[link.index()].usage;
        usage.lost_at_retry_limit += 1;
        usage.lost_after_delivery += u64::from(frame.delivered);
        self.finish(sender, Outcome::LostAtRetryLimit, now);
    }

    /// Tells the sender's rate adaptation the outcome of a data frame.
    #[inline]
    pub(crate) fn adapt(&mut self, link: LinkId, acknowledged: bool, now: Time) {
        if self.links[link.index()].adapts {
            self.ask_adaptation(link, acknowledged, now);
        }
    }

    #[inline(never)]
    fn ask_adaptation(&mut self, link: LinkId, acknowledged: bool, now: Time) {
        let rate = self.links[link.index()].adaptation.on_attempt(acknowledged);
        self.set_rate(link, rate, now);
    }
}
