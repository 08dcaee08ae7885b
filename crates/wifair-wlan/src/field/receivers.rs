//! What each node of a field receives and senses (`docs/medium.md`, section 16).
//!
//! A frame reaches many nodes, and at most of them it changes nothing but the energy. So each node has bounds between which a
//! change of its energy has no consequence ([`Level`]), close together in memory; the others are *concerned* and work out what
//! follows. The counters of a node that has nothing to send are followed until they have expired, and again when it has.

use wifair_core::Time;

use super::frame::{FieldFrame, FrameId, OnAir};
use super::nodes::FieldNodes;
use super::power::{Power, SinrThreshold};
use super::rules::FieldRules;
use super::spec::Rows;

/// Locked to no frame.
const NONE: u32 = u32::MAX;
/// The node transmits, so it is locked to no frame.
const SENDS: u32 = u32::MAX - 1;

/// The energy at a node, the sum of the powers of the frames of others on the air, and when a change of it has consequences.
#[derive(Clone, Copy, Debug)]
struct Level {
    energy: Power,
    /// A rise to less has no consequence, unless the node locks to the frame that causes it.
    alarm: Power,
    /// A fall to this energy or more has no consequence.
    relief: Power,
    /// The frame that it is locked to, [`NONE`] or [`SENDS`].
    lock: u32,
}

/// What else a node knows of what it receives.
#[derive(Debug)]
struct Receiver {
    /// Power of the frame that it is locked to.
    power: Power,
    /// If that is received MPDU by MPDU: since when its SINR is below the threshold, or [`Time::MAX`].
    spoilt_since: Time,
    /// End of the last frame that it was locked to.
    last_lock: Time,
    /// End of the NAV, or zero.
    nav: Time,
    /// While the medium is physically idle: when its IFSs begin.
    idle_from: Time,
    /// Until when it waits for a response, or has waited if there is no exchange.
    waits_until: Option<Time>,
    /// Whether the frame that it was last locked to was decoded.
    was_decoded: bool,
    /// Whether the frame that it is locked to can still be decoded: all of it, or its PHY header.
    is_intact: bool,
    /// Whether the SINR of that has been below the threshold in between.
    was_spoilt: bool,
    is_physically_busy: bool,
    /// In the physically busy period: whether it has transmitted, and whether its energy has reached the threshold.
    has_sent: bool,
    was_loud: bool,
    /// Whether one of its backoff counters has not expired, or has a frame.
    counts: bool,
    is_ap: bool,
}

/// A node that can lock to the frames of a transmitter.
#[derive(Clone, Copy, Debug)]
struct Near {
    node: u32,
    power: Power,
    /// The greatest sum of noise and interference in which it detects the preamble.
    tolerance: Power,
}

/// The nodes that receive a transmitter: those that can lock to its frames, and those that cannot, with the power.
struct Reach {
    near: Vec<Near>,
    far: Vec<(u32, Power)>,
}

/// See the module documentation.
pub(super) struct Receivers {
    levels: Vec<Level>,
    receivers: Vec<Receiver>,
    /// By node: when the SINR of the frame that it is locked to, and that is received MPDU by MPDU, has been below the threshold.
    spoilt: Vec<Vec<(Time, Time)>>,
    /// By transmitter.
    reaches: Vec<Reach>,
    /// The nodes that an instant concerns; some may be there twice.
    concerned: Vec<usize>,
    /// Access points at which the medium has become physically busy or idle in an instant.
    turned: Vec<usize>,
}

impl Receivers {
    /// The silent nodes of a field, whose `rows` say who hears a node with which power, and `bss_of` to which BSS it belongs.
    pub(super) fn new(rows: &Rows, bss_of: &[usize], rules: &FieldRules) -> Receivers {
        let level =
            Level { energy: Power::ZERO, alarm: rules.energy_detection, relief: Power::ZERO, lock: NONE };
        let receiver = |node: usize| Receiver {
            power: Power::ZERO,
            spoilt_since: Time::MAX,
            last_lock: Time::MAX,
            nav: Time::ZERO,
            idle_from: Time::ZERO,
            waits_until: None,
            was_decoded: true,
            is_intact: false,
            was_spoilt: false,
            is_physically_busy: false,
            has_sent: false,
            was_loud: false,
            counts: true,
            is_ap: node == 0 || bss_of[node - 1] < bss_of[node],
        };
        let reach = |row: &Vec<(usize, Power)>| {
            let heard = row.iter().map(|&(node, power)| (node as u32, power));
            let (near, far): (Vec<_>, Vec<_>) =
                heard.partition(|(_, power)| *power >= rules.preamble_detection);
            let near = near.into_iter().map(|(node, power)| {
                let tolerance = rules.preamble.tolerance(power);
                Near { node, power, tolerance }
            });
            Reach { near: near.collect(), far }
        };
        Receivers {
            levels: vec![level; rows.len()],
            receivers: (0..rows.len()).map(receiver).collect(),
            spoilt: vec![Vec::new(); rows.len()],
            reaches: rows.iter().map(reach).collect(),
            concerned: Vec::new(),
            turned: Vec::new(),
        }
    }

    /// Whether the medium is physically busy at a node.
    pub(super) fn is_physically_busy(&self, node: usize) -> bool {
        self.receivers[node].is_physically_busy
    }

    /// Whether the NAV of a node is set at `now`.
    pub(super) fn has_nav(&self, node: usize, now: Time) -> bool {
        let nav = self.receivers[node].nav;
        nav > Time::ZERO && now <= nav
    }

    /// The frame that a node is locked to.
    pub(super) fn locked_to(&self, node: usize) -> Option<FrameId> {
        let lock = self.levels[node].lock;
        (lock < SENDS).then_some(lock as FrameId)
    }

    /// Until when a node waits for a response, or has waited if it has no exchange.
    pub(super) fn waits_until(&self, node: usize) -> Option<Time> {
        self.receivers[node].waits_until
    }

    /// As [`Receivers::waits_until`], to change it.
    pub(super) fn waits_until_mut(&mut self, node: usize) -> &mut Option<Time> {
        &mut self.receivers[node].waits_until
    }

    /// The access points at which the medium has become physically busy or idle since the last call.
    pub(super) fn turned(&mut self) -> impl Iterator<Item = usize> {
        self.turned.drain(..)
    }

    /// A backoff counter of `node` is about to run: from now on they are followed.
    pub(super) fn follow_counters(&mut self, node: usize, nodes: &mut FieldNodes) {
        let receiver = &mut self.receivers[node];
        if !std::mem::replace(&mut receiver.counts, true) && !receiver.is_physically_busy {
            nodes.resume(node, receiver.idle_from);
        }
    }

    /// The medium becomes physically busy at `node`, if it is not.
    pub(super) fn become_busy(&mut self, node: usize, nodes: &mut FieldNodes, rules: &FieldRules, now: Time) {
        let receiver = &mut self.receivers[node];
        if receiver.is_physically_busy {
            return;
        }
        receiver.is_physically_busy = true;
        receiver.has_sent = false;
        receiver.was_loud = false;
        if receiver.counts {
            receiver.counts = nodes.freeze(node, rules, now);
        }
        if receiver.is_ap {
            self.turned.push(node);
        }
    }

    /// `node` starts to transmit, and receives nothing any more.
    pub(super) fn send(&mut self, node: usize, nodes: &mut FieldNodes, rules: &FieldRules, now: Time) {
        self.become_busy(node, nodes, rules, now);
        self.receivers[node].has_sent = true;
        self.levels[node].lock = SENDS;
        self.set_bounds(node, None, rules, now);
    }

    /// Frames start at `now`, all that do: each node that they reach locks to the strongest of them if it can, and senses.
    pub(super) fn hear(
        &mut self,
        started: &[FrameId],
        frames: &OnAir,
        nodes: &mut FieldNodes,
        rules: &FieldRules,
        now: Time,
    ) {
        match *started {
            [id] => self.hear_one(id, &frames[id], rules),
            _ => self.hear_several(started, frames),
        }
        for index in 0..self.concerned.len() {
            self.sense(self.concerned[index], frames, nodes, rules, now);
        }
        self.concerned.clear();
    }

    /// A frame starts alone.
    fn hear_one(&mut self, id: FrameId, frame: &FieldFrame, rules: &FieldRules) {
        let Receivers { levels, receivers, spoilt, reaches, concerned, .. } = self;
        let Reach { near, far } = &reaches[frame.from];
        for &Near { node, power, tolerance } in near {
            let node = node as usize;
            let level = &mut levels[node];
            let disturbance = level.energy + frame.noise;
            level.energy += power;
            if level.lock == NONE && disturbance <= tolerance {
                level.lock = id as u32;
                let receiver = &mut receivers[node];
                receiver.lock(power, &mut spoilt[node]);
                if !receiver.begin_undisturbed(frame, level, tolerance, rules) {
                    concerned.push(node);
                }
            } else if level.energy >= level.alarm {
                concerned.push(node);
            }
        }
        for &(node, power) in far {
            let level = &mut levels[node as usize];
            level.energy += power;
            if level.energy >= level.alarm {
                concerned.push(node as usize);
            }
        }
    }

    /// Frames start together, or none.
    fn hear_several(&mut self, started: &[FrameId], frames: &OnAir) {
        let Receivers { levels, receivers, spoilt, reaches, concerned, .. } = self;
        // Of the frames that a node can lock to, the strongest comes last.
        let mut near_by: Vec<(u32, Power, FrameId, Power)> = Vec::new();
        for &id in started {
            let Reach { near, far } = &reaches[frames[id].from];
            let powers = near.iter().map(|near| (near.node, near.power));
            for (node, power) in powers.chain(far.iter().copied()) {
                levels[node as usize].energy += power;
                concerned.push(node as usize);
            }
            near_by.extend(near.iter().map(|near| (near.node, near.power, id, near.tolerance)));
        }
        near_by.sort_unstable();
        for (index, &(node, power, id, tolerance)) in near_by.iter().enumerate() {
            let is_strongest = near_by.get(index + 1).is_none_or(|(next, ..)| *next != node);
            let node = node as usize;
            let level = &mut levels[node];
            let disturbance = level.energy - power + frames[id].noise;
            if is_strongest && level.lock == NONE && disturbance <= tolerance {
                level.lock = id as u32;
                receivers[node].lock(power, &mut spoilt[node]);
            }
        }
    }

    /// After all starts of an instant that concern `node`: whether the frame that it is locked to survives, and whether the
    /// medium becomes physically busy.
    fn sense(&mut self, node: usize, frames: &OnAir, nodes: &mut FieldNodes, rules: &FieldRules, now: Time) {
        let Level { energy, lock, .. } = self.levels[node];
        let locked = (lock < SENDS).then(|| &frames[lock as FrameId]);
        if let Some(frame) = locked {
            self.receivers[node].judge(frame, energy, &mut self.spoilt[node], rules, now);
        }
        let is_loud = energy >= rules.energy_detection;
        if is_loud || locked.is_some() {
            self.become_busy(node, nodes, rules, now);
        }
        self.receivers[node].was_loud |= is_loud;
        self.set_bounds(node, locked, rules, now);
    }

    /// `frame` ends. Returns whether its addressee has decoded it, `None` if that was not locked to it. If it is received MPDU by
    /// MPDU, `decoded` says which of its `mpdus` the addressee has decoded. [`Receivers::review`] must follow once all frames
    /// of the instant have ended.
    pub(super) fn end(
        &mut self,
        id: FrameId,
        frame: &FieldFrame,
        mpdus: &[(Time, Time)],
        decoded: &mut Vec<bool>,
        now: Time,
    ) -> Option<bool> {
        let Receivers { levels, receivers, spoilt, reaches, concerned, .. } = self;
        levels[frame.from].lock = NONE;
        concerned.push(frame.from);
        let mut is_decoded_by_addressee = None;
        let Reach { near, far } = &reaches[frame.from];
        for &Near { node, power, .. } in near {
            let node = node as usize;
            let level = &mut levels[node];
            level.energy -= power;
            if level.lock == id as u32 {
                level.lock = NONE;
                concerned.push(node);
                let receiver = &mut receivers[node];
                let is_decoded = receiver.decodes(frame, &spoilt[node], mpdus, now);
                (receiver.last_lock, receiver.was_decoded) = (now, is_decoded);
                if node == frame.to {
                    is_decoded_by_addressee = Some(is_decoded);
                    if frame.header_ends.is_some() {
                        let of_span = |span: &_| receiver.decodes_mpdu(frame, &spoilt[node], *span);
                        decoded.clear();
                        decoded.extend(mpdus.iter().map(of_span));
                    }
                } else if is_decoded {
                    receiver.nav = receiver.nav.max(now + frame.duration);
                }
            } else if level.energy < level.relief {
                concerned.push(node);
            }
        }
        for &(node, power) in far {
            let level = &mut levels[node as usize];
            level.energy -= power;
            if level.energy < level.relief {
                concerned.push(node as usize);
            }
        }
        is_decoded_by_addressee
    }

    /// After all ends of an instant: where the medium becomes physically idle, and from when these nodes count.
    pub(super) fn review(&mut self, frames: &OnAir, nodes: &mut FieldNodes, rules: &FieldRules, now: Time) {
        for index in 0..self.concerned.len() {
            let node = self.concerned[index];
            let Level { energy, lock, .. } = self.levels[node];
            let receiver = &mut self.receivers[node];
            let locked = (lock < SENDS).then(|| &frames[lock as FrameId]);
            if let Some(frame) = locked {
                receiver.judge(frame, energy, &mut self.spoilt[node], rules, now);
            }
            if lock != NONE || energy >= rules.energy_detection {
                self.set_bounds(node, locked, rules, now);
                continue;
            }
            if receiver.is_physically_busy {
                receiver.become_idle(rules, now);
                if receiver.counts {
                    nodes.resume(node, receiver.idle_from);
                }
                if receiver.is_ap {
                    self.turned.push(node);
                }
            }
            let level = &mut self.levels[node];
            (level.alarm, level.relief) = (rules.energy_detection, Power::ZERO);
        }
        self.concerned.clear();
    }

    /// Works out between which energies nothing follows at `node`, which is `locked` to a frame or to none. Energy that has
    /// reached the threshold of CCA in the busy period has been noticed.
    fn set_bounds(&mut self, node: usize, locked: Option<&FieldFrame>, rules: &FieldRules, now: Time) {
        let level = &mut self.levels[node];
        let receiver = &self.receivers[node];
        let is_noticed = receiver.is_physically_busy && receiver.was_loud;
        level.alarm = if is_noticed { Power::MAX } else { rules.energy_detection };
        level.relief = Power::ZERO;
        match locked {
            Some(frame) if receiver.is_intact => {
                let (spoils, relief) = receiver.bounds(frame, rules, now);
                level.alarm = level.alarm.min(spoils);
                level.relief = relief;
            }
            None if level.lock == NONE && level.energy >= rules.energy_detection => {
                level.relief = rules.energy_detection;
            }
            _ => {}
        }
    }
}

impl Receiver {
    /// Locks to a frame of `power`.
    fn lock(&mut self, power: Power, spoilt: &mut Vec<(Time, Time)>) {
        self.power = power;
        self.is_intact = true;
        self.spoilt_since = Time::MAX;
        if std::mem::take(&mut self.was_spoilt) {
            spoilt.clear();
        }
    }

    /// The node has just locked to `frame`, which has started alone and whose preamble has that `tolerance`, and its energy is that
    /// of `level`. Does what [`Receivers::sense`] does, if that is little: returns whether it is.
    #[inline]
    fn begin_undisturbed(
        &mut self,
        frame: &FieldFrame,
        level: &mut Level,
        tolerance: Power,
        rules: &FieldRules,
    ) -> bool {
        if !self.is_physically_busy && (self.counts || self.is_ap) {
            return false;
        }
        let certain = frame.threshold.certain_tolerance(self.power);
        let disturbance = level.energy - self.power + frame.noise;
        let mut spoils = certain.without(frame.noise) + self.power + Power::UNIT;
        if disturbance > certain {
            if frame.threshold.is_reached(self.power, frame.noise, Power::ZERO) {
                return false;
            }
            // It is too weak even without interference.
            match frame.header_ends {
                Some(_) => {
                    self.spoilt_since = frame.begins;
                    spoils = tolerance.without(frame.noise) + self.power + Power::UNIT;
                }
                None => {
                    self.is_intact = false;
                    spoils = Power::MAX;
                }
            }
        }
        let is_loud = level.energy >= rules.energy_detection;
        if self.is_physically_busy {
            self.was_loud |= is_loud;
        } else {
            self.is_physically_busy = true;
            self.has_sent = false;
            self.was_loud = is_loud;
        }
        level.alarm = if self.was_loud { spoils } else { spoils.min(rules.energy_detection) };
        level.relief = Power::ZERO;
        true
    }

    /// From `now` on the node, locked to `frame`, has so much energy.
    fn judge(
        &mut self,
        frame: &FieldFrame,
        energy: Power,
        spoilt: &mut Vec<(Time, Time)>,
        rules: &FieldRules,
        now: Time,
    ) {
        let interference = energy - self.power;
        let is_clear = frame.threshold.is_reached(self.power, frame.noise, interference);
        let Some(header_ends) = frame.header_ends else {
            self.is_intact &= is_clear;
            return;
        };
        self.is_intact &=
            now >= header_ends || rules.preamble.is_reached(self.power, frame.noise, interference);
        match (is_clear, self.spoilt_since) {
            (true, Time::MAX) => {}
            (true, since) => {
                spoilt.push((since, now));
                self.was_spoilt = true;
                self.spoilt_since = Time::MAX;
            }
            (false, since) => self.spoilt_since = since.min(now),
        }
    }

    /// Of a node that is locked to `frame`, which can still be decoded: the energy from which it may be spoilt, and below which
    /// it may be clear again.
    fn bounds(&self, frame: &FieldFrame, rules: &FieldRules, now: Time) -> (Power, Power) {
        let spoils = |threshold: SinrThreshold| {
            threshold.certain_tolerance(self.power).without(frame.noise) + self.power + Power::UNIT
        };
        match frame.header_ends {
            Some(header_ends) if self.spoilt_since < Time::MAX => {
                let spoils = if now < header_ends { spoils(rules.preamble) } else { Power::MAX };
                let may_clear = frame.threshold.is_reached(self.power, frame.noise, Power::ZERO);
                (spoils, if may_clear { Power::MAX } else { Power::ZERO })
            }
            _ => (spoils(frame.threshold.max(rules.preamble)), Power::ZERO),
        }
    }

    /// Whether the node decodes `frame`, which ends at `now` and which it was locked to: all of it, or one of its `mpdus`.
    fn decodes(
        &self,
        frame: &FieldFrame,
        spoilt: &[(Time, Time)],
        mpdus: &[(Time, Time)],
        now: Time,
    ) -> bool {
        if !self.is_intact || frame.header_ends.is_none() {
            debug_assert!(now == frame.ends);
            return self.is_intact;
        }
        if !self.was_spoilt && (self.spoilt_since == Time::MAX || self.spoilt_since == frame.begins) {
            return self.spoilt_since == Time::MAX && !mpdus.is_empty();
        }
        mpdus.iter().any(|span| self.decodes_mpdu(frame, spoilt, *span))
    }

    /// Whether the node decodes the MPDU of `frame` whose symbols begin and end that long after the start of the frame.
    fn decodes_mpdu(&self, frame: &FieldFrame, spoilt: &[(Time, Time)], span: (Time, Time)) -> bool {
        let (begins, ends) = (frame.begins + span.0, frame.begins + span.1);
        let is_spoilt = |&(from, until): &(Time, Time)| from < ends && begins < until;
        let is_spoilt_still = self.spoilt_since < ends;
        self.is_intact && !is_spoilt_still && !(self.was_spoilt && spoilt.iter().any(is_spoilt))
    }

    /// The medium becomes physically idle at the node.
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
}
