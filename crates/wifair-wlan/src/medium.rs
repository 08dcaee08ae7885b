//! What happens on the medium: starts, deliveries, ends and failures of exchanges (`docs/medium.md`, sections 3, 4
//! and 7).

use wifair_core::Time;
use wifair_queue::{Direction, Outcome};

use crate::cell::{AP, Cell, Loss, Told};
use crate::channel::{Attempt, Channel};
use crate::edca::CATEGORY_BITS;
use crate::exchange::{Collider, Fate, Phase, Single};
use crate::link::LinkId;
use crate::phy::Phy;
use crate::service::is_held;

impl Cell {
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
        fate: impl FnOnce(&mut Option<Channel>, Attempt, &Phy) -> Fate,
    ) {
        let frame = &mut self.senders[sender as usize].frame;
        let link = LinkId::of(node == AP, frame.departure().station);
        let row = &mut self.links[link.index()];
        let (rate, psdu_bytes) = (row.on_air.rate, frame.psdu_bytes);
        let fate = fate(&mut self.channel, Attempt { link, node, rate, psdu_bytes, now }, &self.phy);
        let mut data_end = now + lead + row.on_air.duration(frame.psdu_bytes);
        if lead == Time::ZERO && frame.with_rts(&self.mac) {
            data_end += self.mac.reservation;
        }
        let (phase, end) = match fate {
            Fate::DataLost => (Phase::Ending, data_end),
            _ => (Phase::Data, data_end + self.mac.acknowledgement),
        };
        frame.attempt(row.on_air.rate, end - now);
        row.usage.attempts += 1;
        self.single = Single { sender, link, fate, end };
        self.phase = phase;
        self.due = data_end;
    }

    fn start_collision(&mut self, now: Time) {
        self.collisions += 1;
        self.colliders.clear();
        let mut end = now;
        for index in 0..self.contention.transmitters().len() {
            let sender = self.contention.transmitters()[index];
            let is_ap = self.is_ap(sender);
            let frame = &mut self.senders[sender as usize].frame;
            let link = LinkId::of(is_ap, frame.departure().station);
            let row = &mut self.links[link.index()];
            let with_rts = frame.with_rts(&self.mac);
            let (airtime, wait) = if with_rts {
                (self.phy.rts, self.mac.cts_timeout)
            } else {
                (row.on_air.duration(frame.psdu_bytes), self.mac.ack_timeout)
            };
            frame.attempt(row.on_air.rate, airtime);
            row.usage.attempts += 1;
            let timeout = now + airtime + wait;
            let lost = frame.fail(false, wait, &self.mac);
            end = end.max(now + airtime);
            self.colliders.push(Collider { sender, link, timeout, lost, with_rts });
            if lost {
                self.lose_later(sender, timeout);
            }
        }
        self.phase = Phase::Collision;
        self.due = end;
    }

    /// The data frame ends: the receiver has it, and passes on the first copy.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, now: Time) -> Option<Told> {
        let Single { sender, link, end, .. } = self.single;
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
        let Single { sender, link, fate, .. } = self.single;
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
        let single = self.single;
        let Single { sender, link, .. } = single;
        let (known, resumes) = match single.fate {
            Fate::DataLost => (now + self.mac.ack_timeout, now + self.mac.ack_timeout),
            _ => (now, now + self.mac.eifs_lead),
        };
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
        if single.fate == Fate::DataLost {
            let first = single.receiver() << self.category_bits;
            for receiver in first..first + (1 << self.category_bits) {
                self.contention.divert(receiver, now + self.mac.eifs_lead, now);
            }
            let nav = now + self.mac.acknowledgement;
            self.contention.resume(now, nav, Some(nav));
        } else {
            self.contention.resume(now, now, None);
        }
        self.due = self.contention.start();
    }

    /// Section 4, the rows of a collision.
    #[inline(never)]
    pub(crate) fn end_collision(&mut self, now: Time) {
        self.collision_airtime += now - self.phase_began;
        self.phase = Phase::Idle;
        let has_categories = self.edca.is_some();
        for index in 0..self.colliders.len() {
            let Collider { sender, link, timeout, lost, with_rts } = self.colliders[index];
            let from = timeout.max(now);
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
        self.contention.resume(now, now + self.mac.eifs_lead, None);
        self.due = self.contention.start();
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
    fn hold_siblings(&mut self, sender: u32, from: Time, deaf_until: Time, now: Time) {
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
    fn adapt(&mut self, link: LinkId, acknowledged: bool, now: Time) {
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
