//! What one node of a field receives and senses (`docs/medium.md`, section 16).

use wifair_core::Time;

use super::frame::{FieldFrame, FrameId};
use super::links::FieldLink;
use super::power::{Power, SinrThreshold};
use super::rules::FieldRules;

/// Locked to no frame.
const NONE: u32 = u32::MAX;
/// The node transmits, so it is locked to no frame.
const SENDS: u32 = u32::MAX - 1;

/// See the module documentation. Most changes of the energy have no consequence: the receiver has bounds within which none has.
/// Where a method says that a change *concerns* it, [`FieldReceiver::sense`] or [`FieldReceiver::review`] must follow.
#[derive(Debug)]
pub(super) struct FieldReceiver {
    /// Sum of the powers of the frames of others on the air.
    energy: Power,
    /// A rise to less has no consequence, unless the node locks to the frame that causes it.
    alarm: Power,
    /// A fall to this energy or more has no consequence.
    relief: Power,
    /// The frame that it is locked to, [`NONE`] or [`SENDS`].
    lock: u32,
    /// Frames on the air that are addressed to it.
    pub addressed: u32,
    /// Power of the frame that it is locked to.
    power: Power,
    /// By how much the energy in a subchannel of that frame, which has to be decoded in all of its own, exceeds `energy`.
    pub excess: Power,
    /// If that is received MPDU by MPDU: since when its SINR is below the threshold, or [`Time::MAX`].
    spoilt_since: Time,
    /// When it has been in between.
    spoilt: Vec<(Time, Time)>,
    /// End of its spatial reuse opportunity, or zero.
    reuses_until: Time,
    /// End of the last frame that it was locked to.
    last_lock: Time,
    /// End of the NAV, or zero.
    nav: Time,
    /// While the medium is physically idle: when its IFSs begin.
    pub idle_from: Time,
    /// Until when it waits for a response, or has waited if there is no exchange.
    pub waits_until: Option<Time>,
    /// Whether the frame that it was last locked to was decoded.
    was_decoded: bool,
    /// Whether the frame that it is locked to can still be decoded: all of it, or its PHY header.
    is_intact: bool,
    /// Whether the colour of the frame that it is locked to can still be read.
    is_legible: bool,
    pub is_physically_busy: bool,
    /// In the physically busy period: whether it has transmitted, and whether its energy has reached the threshold.
    has_sent: bool,
    was_loud: bool,
    /// Whether one of its backoff counters has not expired, or has a frame.
    pub counts: bool,
    pub is_ap: bool,
}

impl FieldReceiver {
    /// A silent node.
    pub(super) fn new(is_ap: bool, rules: &FieldRules) -> FieldReceiver {
        FieldReceiver {
            energy: Power::ZERO,
            alarm: rules.energy_detection,
            relief: Power::ZERO,
            lock: NONE,
            addressed: 0,
            power: Power::ZERO,
            excess: Power::ZERO,
            spoilt_since: Time::MAX,
            spoilt: Vec::new(),
            reuses_until: Time::ZERO,
            last_lock: Time::MAX,
            nav: Time::ZERO,
            idle_from: Time::ZERO,
            waits_until: None,
            was_decoded: true,
            is_intact: false,
            is_legible: false,
            is_physically_busy: false,
            has_sent: false,
            was_loud: false,
            counts: true,
            is_ap,
        }
    }

    /// Its medium is physically idle, with this energy: it forgets what was before, but for its NAV.
    pub(super) fn be_idle(&mut self, energy: Power, rules: &FieldRules) {
        (self.energy, self.lock) = (energy, NONE);
        (self.alarm, self.relief) = (rules.energy_detection, Power::ZERO);
        self.is_physically_busy = false;
    }

    /// Whether its NAV is set at `now`.
    pub(super) fn has_nav(&self, now: Time) -> bool {
        self.nav > Time::ZERO && now <= self.nav
    }

    /// The frame that it is locked to.
    #[inline]
    pub(super) fn locked_to(&self) -> Option<FrameId> {
        (self.lock < SENDS).then_some(self.lock as FrameId)
    }

    /// Whether the energy there is this.
    pub(super) fn has_energy(&self, energy: Power) -> bool {
        self.energy == energy
    }

    /// The medium becomes physically busy there; returns whether it was idle.
    #[inline]
    pub(super) fn become_busy(&mut self) -> bool {
        if self.is_physically_busy {
            return false;
        }
        self.is_physically_busy = true;
        self.has_sent = false;
        self.was_loud = false;
        true
    }

    /// It starts to transmit, in a medium that is busy now, and receives nothing any more.
    pub(super) fn send(&mut self, rules: &FieldRules, now: Time) {
        self.has_sent = true;
        self.lock = SENDS;
        self.set_bounds(None, rules, now);
    }

    /// Its own frame ends, which concerns it.
    pub(super) fn end_sending(&mut self) {
        self.lock = NONE;
    }

    /// Whether a rise to its energy may have consequences.
    #[inline]
    pub(super) fn is_alarmed(&self) -> bool {
        self.energy >= self.alarm
    }

    /// A frame starts, alone of those that reach it: returns whether that concerns it.
    #[inline]
    pub(super) fn start(&mut self, id: FrameId, frame: &FieldFrame, link: FieldLink) -> bool {
        self.add(link.power);
        self.lock_to(id, frame, link) || self.is_alarmed()
    }

    /// A frame starts, among others that reach it. [`FieldReceiver::lock_to`] and [`FieldReceiver::sense`] must follow.
    pub(super) fn add(&mut self, power: Power) {
        self.energy += power;
    }

    /// It cannot decode the frame that it has just locked to.
    pub(super) fn give_up(&mut self) {
        self.is_intact = false;
    }

    /// Locks to a frame that has started, the strongest of those that have, if it can; returns whether it does.
    #[inline]
    pub(super) fn lock_to(&mut self, id: FrameId, frame: &FieldFrame, link: FieldLink) -> bool {
        let disturbance = self.energy - link.power + frame.noise;
        let locks = self.lock == NONE && disturbance <= link.tolerance;
        if locks {
            self.lock = id as u32;
            self.power = link.power;
            self.is_intact = true;
            self.is_legible = true;
            self.spoilt_since = Time::MAX;
            self.spoilt.clear();
        }
        locks
    }

    /// After starts that concern it: whether the frame that it is `locked` to survives, and whether the medium becomes
    /// physically busy; returns that.
    pub(super) fn sense(&mut self, locked: Option<&FieldFrame>, rules: &FieldRules, now: Time) -> bool {
        if let Some(frame) = locked {
            self.judge(frame, rules, now);
        }
        let is_loud = self.energy >= rules.energy_detection;
        let becomes_busy = (is_loud || locked.is_some()) && self.become_busy();
        self.was_loud |= is_loud;
        self.set_bounds(locked, rules, now);
        becomes_busy
    }

    /// A frame ends whose MPDUs are these: returns whether that concerns it, and if it was locked to the frame whether it has
    /// decoded that. It sets its NAV, unless the frame is `addressed` to it.
    #[inline]
    pub(super) fn end(
        &mut self,
        id: FrameId,
        frame: &FieldFrame,
        link: FieldLink,
        mpdus: &[(Time, Time)],
        addressed: bool,
    ) -> (bool, Option<bool>) {
        self.energy -= link.power;
        if self.lock != id as u32 {
            return (self.energy < self.relief, None);
        }
        self.lock = NONE;
        let is_decoded = self.decodes(frame, mpdus);
        (self.last_lock, self.was_decoded) = (frame.ends, is_decoded);
        if is_decoded && !addressed {
            self.nav = self.nav.max(frame.ends + frame.duration);
        }
        (true, Some(is_decoded))
    }

    /// The colour of a frame is read, which is another BSS's: returns whether it ignores the frame from now on, which has less
    /// power than `level`. That concerns it.
    pub(super) fn read_colour(
        &mut self,
        id: FrameId,
        frame: &FieldFrame,
        link: FieldLink,
        level: Power,
    ) -> bool {
        let ignores = self.lock == id as u32 && self.is_legible && link.power < level;
        if ignores {
            self.lock = NONE;
            self.reuses_until = self.reuses_until.max(frame.ends);
        }
        ignores
    }

    /// Whether it has a spatial reuse opportunity.
    pub(super) fn can_reuse(&self, now: Time) -> bool {
        now < self.reuses_until
    }

    /// After all ends of an instant: whether the medium becomes physically idle; returns that.
    pub(super) fn review(&mut self, locked: Option<&FieldFrame>, rules: &FieldRules, now: Time) -> bool {
        if let Some(frame) = locked {
            self.judge(frame, rules, now);
        }
        if self.lock != NONE || self.energy >= rules.energy_detection {
            self.set_bounds(locked, rules, now);
            return false;
        }
        (self.alarm, self.relief) = (rules.energy_detection, Power::ZERO);
        let becomes_idle = self.is_physically_busy;
        if becomes_idle {
            self.become_idle(rules, now);
        }
        becomes_idle
    }

    fn become_idle(&mut self, rules: &FieldRules, now: Time) {
        self.is_physically_busy = false;
        let is_undecoded = match self.last_lock == now {
            true => !self.was_decoded,
            false => self.was_loud && rules.eifs_after_energy,
        };
        let lead = if is_undecoded && !self.has_sent { rules.eifs_lead } else { Time::ZERO };
        let timeout = self.waits_until.unwrap_or_default();
        self.idle_from = (now + lead).max(self.nav).max(timeout);
    }

    /// Works out between which energies nothing follows. Energy that has reached the threshold of CCA in the busy period has
    /// been noticed.
    fn set_bounds(&mut self, locked: Option<&FieldFrame>, rules: &FieldRules, now: Time) {
        let is_noticed = self.is_physically_busy && self.was_loud;
        self.alarm = if is_noticed { Power::MAX } else { rules.energy_detection };
        self.relief = Power::ZERO;
        match locked {
            Some(frame) if self.is_intact => {
                let (spoils, relief) = self.bounds(frame, rules, now);
                self.alarm = self.alarm.min(spoils);
                self.relief = relief;
            }
            None if self.lock == NONE && self.energy >= rules.energy_detection => {
                self.relief = rules.energy_detection;
            }
            _ => {}
        }
        if let Some(frame) = locked.filter(|frame| now < frame.colour_read_at && self.is_legible) {
            self.alarm = self.alarm.min(self.spoils(frame, rules.preamble));
        }
    }

    /// The energy from which the SINR of `frame`, which it is locked to, may be below a threshold.
    fn spoils(&self, frame: &FieldFrame, threshold: SinrThreshold) -> Power {
        threshold.certain_tolerance(self.power).without(frame.noise) + self.power + Power::UNIT
    }

    /// Of a node that is locked to `frame`, which can still be decoded: the energy from which it may be spoilt, and below which
    /// it may be clear again.
    fn bounds(&self, frame: &FieldFrame, rules: &FieldRules, now: Time) -> (Power, Power) {
        let spoils = |threshold: SinrThreshold| self.spoils(frame, threshold);
        match frame.header_ends {
            Some(header_ends) if self.spoilt_since < Time::MAX => {
                let spoils = if now < header_ends { spoils(rules.preamble) } else { Power::MAX };
                let may_clear = frame.threshold.is_reached(self.power, frame.noise, Power::ZERO);
                (spoils, if may_clear { Power::MAX } else { Power::ZERO })
            }
            _ => (spoils(frame.threshold.max(rules.preamble)), Power::ZERO),
        }
    }

    /// From `now` on it, locked to `frame`, has this energy.
    fn judge(&mut self, frame: &FieldFrame, rules: &FieldRules, now: Time) {
        let interference = self.energy - self.power;
        let is_clear = frame.threshold.is_reached(self.power, frame.noise, interference + self.excess);
        if now < frame.colour_read_at {
            self.is_legible &= rules.preamble.is_reached(self.power, frame.noise, interference);
        }
        let Some(header_ends) = frame.header_ends else {
            self.is_intact &= is_clear;
            return;
        };
        self.is_intact &=
            now >= header_ends || rules.preamble.is_reached(self.power, frame.noise, interference);
        match (is_clear, self.spoilt_since) {
            (true, Time::MAX) => {}
            (true, since) => {
                self.spoilt.push((since, now));
                self.spoilt_since = Time::MAX;
            }
            (false, since) => self.spoilt_since = since.min(now),
        }
    }

    /// Whether it decodes `frame`, which ends and which it was locked to: all of it, or one of its `mpdus`.
    pub(super) fn decodes(&self, frame: &FieldFrame, mpdus: &[(Time, Time)]) -> bool {
        if !self.is_intact || frame.header_ends.is_none() {
            return self.is_intact;
        }
        if self.spoilt.is_empty() && (self.spoilt_since == Time::MAX || self.spoilt_since == frame.begins) {
            return self.spoilt_since == Time::MAX && !mpdus.is_empty();
        }
        mpdus.iter().any(|span| self.decodes_mpdu(frame, *span))
    }

    /// Whether it decodes the MPDU of `frame` whose symbols begin and end that long after the start of the frame.
    pub(super) fn decodes_mpdu(&self, frame: &FieldFrame, span: (Time, Time)) -> bool {
        let (begins, ends) = (frame.begins + span.0, frame.begins + span.1);
        let is_spoilt = |&(from, until): &(Time, Time)| from < ends && begins < until;
        self.is_intact && self.spoilt_since >= ends && !self.spoilt.iter().any(is_spoilt)
    }
}
