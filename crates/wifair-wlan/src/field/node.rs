//! One node of a field: what it receives, senses, owes and waits for (`docs/medium.md`, section 16).

use wifair_core::{Rng, Time};

use super::access::Backoff;
use super::frame::{FieldExchange, FieldFrame, FrameId};
use super::power::{Power, SinrThreshold};
use super::rules::FieldRules;
use crate::contention::Access;
use crate::node::EdcafId;

/// A frame that the node receives.
#[derive(Clone, Debug)]
pub(super) struct Lock {
    frame: FrameId,
    power: Power,
    noise: Power,
    threshold: SinrThreshold,
    /// End of its PHY header, if it is received MPDU by MPDU.
    header_ends: Option<Time>,
    /// Whether it can still be decoded: all of it, or its PHY header.
    is_intact: bool,
    /// If it is received MPDU by MPDU: when its SINR has been below the threshold, and since when it is.
    spoilt: Vec<(Time, Time)>,
    spoilt_since: Option<Time>,
}

impl Lock {
    fn new(frame: FrameId, power: Power, on_air: &FieldFrame) -> Lock {
        let &FieldFrame { noise, threshold, header_ends, .. } = on_air;
        Lock {
            frame,
            power,
            noise,
            threshold,
            header_ends,
            is_intact: true,
            spoilt: Vec::new(),
            spoilt_since: None,
        }
    }

    /// From `now` on the node has so much energy.
    fn judge(&mut self, energy: Power, preamble: SinrThreshold, now: Time) {
        let interference = energy - self.power;
        let is_reached =
            |threshold: SinrThreshold| threshold.is_reached(self.power, self.noise, interference);
        let is_clear = is_reached(self.threshold);
        let Some(header_ends) = self.header_ends else {
            self.is_intact &= is_clear;
            return;
        };
        self.is_intact &= now >= header_ends || is_reached(preamble);
        match (is_clear, self.spoilt_since) {
            (true, Some(since)) => {
                self.spoilt.push((since, now));
                self.spoilt_since = None;
            }
            (false, None) => self.spoilt_since = Some(now),
            _ => {}
        }
    }

    /// Whether all of the frame, which has ended, is decoded or, if it is received MPDU by MPDU, what was on the air from
    /// `begins` to `ends`.
    pub(super) fn is_decoded(&self, begins: Time, ends: Time) -> bool {
        let still = self.spoilt_since.map(|since| (since, Time::MAX));
        let is_spoilt = |(from, until): (Time, Time)| from < ends && begins < until;
        self.is_intact && !self.spoilt.iter().copied().chain(still).any(is_spoilt)
    }
}

#[derive(Debug)]
pub(super) struct FieldNode {
    /// Of its channel access functions, the highest category first.
    pub backoffs: Vec<Backoff>,
    /// Sum of the powers of the frames of others on the air.
    energy: Power,
    lock: Option<Lock>,
    /// The frame that the node transmits.
    sends: Option<FrameId>,
    /// The channel access function that has won access at this instant.
    pub has_won: Option<EdcafId>,
    is_physically_busy: bool,
    /// In the physically busy period: whether it has transmitted, and whether its energy has reached the threshold.
    has_sent: bool,
    was_loud: bool,
    /// End of the last frame that it was locked to, and whether that was decoded.
    last_lock: (Time, bool),
    /// End of the NAV.
    nav: Option<Time>,
    /// What it sends or has sent, until the outcome is known.
    pub exchange: Option<FieldExchange>,
    /// If its PPDU is received MPDU by MPDU: the symbols of each, as in [`Outgoing`](super::Outgoing), and whether its
    /// addressee has decoded it.
    pub mpdus: Vec<(Time, Time)>,
    pub decoded: Vec<bool>,
    /// Until when it waits for a response, or has waited if there is no exchange.
    pub waits_until: Option<Time>,
    /// What it transmits a SIFS after what it has decoded, and when.
    pub owes: Option<(Time, FieldFrame)>,
}

impl FieldNode {
    /// A node with these channel access functions that hears nothing.
    pub(super) fn new(functions: impl Iterator<Item = (Access, Rng)>) -> FieldNode {
        FieldNode {
            backoffs: functions.map(|(access, rng)| Backoff::new(access, rng)).collect(),
            energy: Power::ZERO,
            lock: None,
            sends: None,
            has_won: None,
            is_physically_busy: false,
            has_sent: false,
            was_loud: false,
            last_lock: (Time::MAX, true),
            nav: None,
            exchange: None,
            mpdus: Vec::new(),
            decoded: Vec::new(),
            waits_until: None,
            owes: None,
        }
    }

    /// When the node next does something by itself.
    pub(super) fn due(&self, rules: &FieldRules) -> Time {
        let owed = self.owes.as_ref().map_or(Time::MAX, |(at, _)| *at);
        let timeout = self.times_out_at().unwrap_or(Time::MAX);
        let access = (0..self.backoffs.len()).map(|function| self.access(function, rules)).min();
        owed.min(timeout).min(access.unwrap_or(Time::MAX))
    }

    /// When a channel access function wins access if the medium stays idle.
    pub(super) fn access(&self, function: usize, rules: &FieldRules) -> Time {
        match self.is_physically_busy {
            true => Time::MAX,
            false => self.backoffs[function].start(&rules.contention),
        }
    }

    /// When its wait for a response ends, if it waits for one.
    pub(super) fn times_out_at(&self) -> Option<Time> {
        self.waits_until.filter(|_| self.exchange.is_some())
    }

    /// Whether the medium is physically busy there.
    pub(super) fn is_physically_busy(&self) -> bool {
        self.is_physically_busy
    }

    /// Whether its NAV is set at `now`.
    pub(super) fn has_nav(&self, now: Time) -> bool {
        self.nav.is_some_and(|end| now <= end)
    }

    /// Sets its NAV, unless it ends later already.
    pub(super) fn set_nav(&mut self, until: Time) {
        self.nav = self.nav.max(Some(until));
    }

    /// The frame that it is locked to.
    pub(super) fn locked_to(&self) -> Option<FrameId> {
        self.lock.as_ref().map(|lock| lock.frame)
    }

    /// Duration of a wait of a channel access function for access that begins now.
    pub(super) fn wait(&self, function: usize, rules: &FieldRules, now: Time) -> Time {
        self.backoffs[function].wait(&rules.contention, self.is_physically_busy, now)
    }

    /// A packet arrives at a channel access function that has nothing in service.
    pub(super) fn arrive(&mut self, function: usize, rules: &FieldRules, now: Time) {
        let waits = self.waits_until.is_some_and(|until| now <= until);
        let is_busy = self.is_physically_busy || self.has_nav(now) || self.owes.is_some() || waits;
        self.backoffs[function].arrive(&rules.contention, self.is_physically_busy, is_busy, now);
    }

    /// Its channel access function `winner` wins access; all others that are due lose an internal collision.
    pub(super) fn win(&mut self, winner: EdcafId, rules: &FieldRules, now: Time) {
        let due = self.backoffs.iter_mut().filter(|backoff| backoff.start(&rules.contention) == now);
        due.for_each(Backoff::begin);
        self.become_busy(rules, now);
        self.has_won = Some(winner);
    }

    /// It starts to transmit, and receives nothing any more.
    pub(super) fn send(&mut self, frame: FrameId, rules: &FieldRules, now: Time) {
        self.become_busy(rules, now);
        self.sends = Some(frame);
        self.lock = None;
        self.has_sent = true;
    }

    /// Its own frame ends.
    pub(super) fn end_sending(&mut self) {
        self.sends = None;
    }

    /// A frame of another node starts.
    pub(super) fn add(&mut self, power: Power) {
        self.energy += power;
    }

    /// A frame of another node ends. If the node was locked to it: how it was received.
    pub(super) fn remove(&mut self, frame: FrameId, power: Power) -> Option<Lock> {
        self.energy -= power;
        self.lock.take_if(|lock| lock.frame == frame)
    }

    /// The frame that it was locked to has ended, and was decoded or not.
    pub(super) fn end_lock(&mut self, is_decoded: bool, now: Time) {
        self.last_lock = (now, is_decoded);
    }

    /// After all starts of an instant: locks to the frame of `power`, the strongest of them, if it can be detected.
    pub(super) fn detect(&mut self, frame: FrameId, power: Power, on_air: &FieldFrame, rules: &FieldRules) {
        let is_free = self.lock.is_none() && self.sends.is_none();
        let interference = self.energy - power;
        if is_free
            && power >= rules.preamble_detection
            && rules.preamble.is_reached(power, on_air.noise, interference)
        {
            self.lock = Some(Lock::new(frame, power, on_air));
        }
    }

    /// After all starts of an instant: whether the locked frame survives, and whether the medium becomes physically busy.
    pub(super) fn sense(&mut self, rules: &FieldRules, now: Time) {
        if let Some(lock) = &mut self.lock {
            lock.judge(self.energy, rules.preamble, now);
        }
        let is_loud = self.energy >= rules.energy_detection;
        if is_loud || self.lock.is_some() {
            self.become_busy(rules, now);
        }
        self.was_loud |= is_loud;
    }

    fn become_busy(&mut self, rules: &FieldRules, now: Time) {
        if !self.is_physically_busy {
            self.is_physically_busy = true;
            self.has_sent = false;
            self.was_loud = false;
            self.backoffs.iter_mut().for_each(|backoff| backoff.freeze(&rules.contention, now));
        }
    }

    /// After all ends of an instant: whether the medium becomes physically idle, and from when the node counts.
    pub(super) fn review(&mut self, rules: &FieldRules, now: Time) {
        if let Some(lock) = &mut self.lock {
            lock.judge(self.energy, rules.preamble, now);
        }
        let is_busy = self.sends.is_some() || self.lock.is_some() || self.energy >= rules.energy_detection;
        if is_busy || !self.is_physically_busy {
            return;
        }
        self.is_physically_busy = false;
        let is_undecoded = match self.last_lock {
            (end, is_decoded) if end == now => !is_decoded,
            _ => self.was_loud && rules.eifs_after_energy,
        };
        let lead = if is_undecoded && !self.has_sent { rules.eifs_lead } else { Time::ZERO };
        let nav = self.nav.unwrap_or_default();
        let timeout = self.waits_until.unwrap_or_default();
        let from = (now + lead).max(nav).max(timeout);
        self.backoffs.iter_mut().for_each(|backoff| backoff.set_origin(from + backoff.ifs()));
    }
}
