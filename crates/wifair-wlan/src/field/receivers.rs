//! The receivers of all nodes of a field, and which of them follow what is on the air.
//!
//! A station follows it while it has something to do: a frame to send or on the air, a backoff counter that has not expired, a
//! frame that is addressed to it, a response that it owes. Otherwise it sleeps, and a frame that reaches it costs nothing
//! there. When it gets something to do, it catches up from the last time at which its medium was idle, whatever was before.
//! Access points always follow, since the time in which they sense others is counted. In a field with subchannels all do.

use std::ops::Range;

use wifair_core::Time;

use super::frame::{ExchangeStep, FieldFrame, FrameId, FramesOnAir};
use super::journal::HeardFrame;
use super::links::{FieldLink, Links, words};
use super::nodes::FieldNodes;
use super::past::{Change, ChangeKind, Past};
use super::power::Power;
use super::receiver::FieldReceiver;
use super::reuse::SpatialReuse;
use super::rules::FieldRules;
use super::spec::Rows;
use super::subchannels::{LinkWidth, SecondaryRules, SubchannelReceiver};

/// See the module documentation.
pub(super) struct Receivers {
    receivers: Vec<FieldReceiver>,
    links: Links,
    reuse: SpatialReuse,
    /// By node: the number of its BSS.
    bss_of: Vec<usize>,
    /// A bit per node: whether it follows what is on the air.
    awake: Vec<u64>,
    past: Past,
    /// By node that sleeps: the number of changes in the past that its receiver knows of.
    known: Vec<usize>,
    /// The nodes that an instant concerns; some may be there twice.
    concerned: Vec<usize>,
    /// Access points at which the medium has become physically busy or idle in an instant.
    turned: Vec<usize>,
    /// The number of stations of its BSS that have decoded the beacon that has ended last.
    beacon_decoded_by: usize,
    /// By node, in a field with subchannels.
    subchannels: Option<Subchannels>,
    /// Nodes that always follow, since somebody wants to know what they hear.
    listeners: Vec<usize>,
}

/// What the nodes of a field sense in its subchannels.
struct Subchannels {
    rules: SecondaryRules,
    receivers: Vec<SubchannelReceiver>,
}

impl Subchannels {
    /// Works out what follows from a change for a node and its `receiver`, which is locked to a frame.
    fn sense(&mut self, node: usize, receiver: &mut FieldReceiver, locked: Option<&FieldFrame>, now: Time) {
        let of_node = &mut self.receivers[node];
        of_node.sense(&self.rules, now);
        receiver.excess = locked.map_or(Power::ZERO, |frame| of_node.excess(frame));
    }
}

impl Receivers {
    /// The silent nodes of a field, whose `rows` say who hears a node with which power, and `bss_of` to which BSS it belongs.
    pub(super) fn new(rows: &Rows, bss_of: &[usize], reuse: SpatialReuse, rules: &FieldRules) -> Receivers {
        let is_ap = |node: usize| node == 0 || bss_of[node - 1] < bss_of[node];
        Receivers {
            receivers: (0..rows.len()).map(|node| FieldReceiver::new(is_ap(node), rules)).collect(),
            links: Links::new(rows, rules),
            reuse,
            bss_of: bss_of.to_vec(),
            awake: vec![u64::MAX; words(rows.len())],
            past: Past::default(),
            known: vec![0; rows.len()],
            concerned: Vec::new(),
            turned: Vec::new(),
            beacon_decoded_by: 0,
            subchannels: None,
            listeners: Vec::new(),
        }
    }

    /// Gives each node subchannels.
    pub(super) fn split(&mut self, rules: SecondaryRules, receivers: Vec<SubchannelReceiver>) {
        self.subchannels = Some(Subchannels { rules, receivers });
    }

    /// The subchannels that an exchange of a link of a node occupies which may begin now; `None` if none may.
    pub(super) fn subchannels(&self, node: usize, link: LinkWidth, now: Time) -> Option<u64> {
        match &self.subchannels {
            Some(of) => of.receivers[node].subchannels(link, &of.rules, now),
            None => Some(u64::MAX),
        }
    }

    /// Those of one that follows in a TXOP an exchange that has occupied these.
    pub(super) fn following(&self, node: usize, link: LinkWidth, before: u64) -> u64 {
        match &self.subchannels {
            Some(of) => of.receivers[node].following(link, before, &of.rules),
            None => before,
        }
    }

    /// The subchannels of the CTS by which a node may answer an RTS that it has decoded and that occupies these; `None` if it
    /// may not.
    pub(super) fn answer(&self, node: usize, rts: u64) -> Option<u64> {
        match &self.subchannels {
            Some(of) => of.receivers[node].answer(rts, &of.rules),
            None => Some(rts),
        }
    }

    /// The channel of a node.
    pub(super) fn channel(&self, node: usize) -> Option<u64> {
        self.subchannels.as_ref().map(|of| of.receivers[node].channel().all())
    }

    /// Whether a frame, alone on the air, makes a secondary channel of a node busy.
    pub(super) fn senses_in_secondaries(&self, node: usize, frame: &FieldFrame) -> bool {
        let power = self.links.link(frame, node).power;
        let of_node = |of: &Subchannels| of.receivers[node].senses_in_secondaries(frame, power, &of.rules);
        self.subchannels.as_ref().is_some_and(of_node)
    }

    /// Whether a frame reaches a node in its primary channel.
    pub(super) fn has_primary(&self, node: usize, frame: &FieldFrame) -> bool {
        self.subchannels.as_ref().is_none_or(|of| of.receivers[node].has_primary(frame))
    }

    /// Who receives whom.
    pub(super) fn links(&self) -> &Links {
        &self.links
    }

    /// Whether the medium is physically busy at a node that is awake.
    pub(super) fn is_physically_busy(&self, node: usize) -> bool {
        self.receivers[node].is_physically_busy
    }

    /// Which nodes have an OBSS PD level.
    pub(super) fn reuse(&self) -> &SpatialReuse {
        &self.reuse
    }

    /// Whether a node that is awake has a spatial reuse opportunity.
    pub(super) fn can_reuse(&self, node: usize, now: Time) -> bool {
        self.receivers[node].can_reuse(now)
    }

    /// Whether the NAV of a node that is awake is set at `now`.
    pub(super) fn has_nav(&self, node: usize, now: Time) -> bool {
        self.receivers[node].has_nav(now)
    }

    /// The frame that a node that is awake is locked to.
    pub(super) fn locked_to(&self, node: usize) -> Option<FrameId> {
        self.receivers[node].locked_to()
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
    pub(super) fn follow_counters(
        &mut self,
        node: usize,
        frames: &FramesOnAir,
        nodes: &mut FieldNodes,
        rules: &FieldRules,
    ) {
        self.wake(node, frames, rules);
        let receiver = &mut self.receivers[node];
        if !std::mem::replace(&mut receiver.counts, true) && !receiver.is_physically_busy {
            nodes.resume(node, receiver.idle_from);
        }
    }

    /// The medium becomes physically busy at `node`, if it is not.
    pub(super) fn become_busy(&mut self, node: usize, nodes: &mut FieldNodes, rules: &FieldRules, now: Time) {
        if self.receivers[node].become_busy() {
            self.note_busy(node, nodes, rules, now);
        }
    }

    /// The medium has become physically busy at `node`.
    fn note_busy(&mut self, node: usize, nodes: &mut FieldNodes, rules: &FieldRules, now: Time) {
        let receiver = &mut self.receivers[node];
        if receiver.counts {
            receiver.counts = nodes.freeze(node, rules, now);
        }
        if receiver.is_ap {
            self.turned.push(node);
        }
    }

    /// Frames start at `now`, all that do together: each node that they reach locks to the strongest of them if it can, and
    /// senses.
    pub(super) fn start(
        &mut self,
        started: &[FrameId],
        frames: &FramesOnAir,
        nodes: &mut FieldNodes,
        rules: &FieldRules,
        now: Time,
    ) {
        for &id in started {
            let from = frames[id].from;
            self.become_busy(from, nodes, rules, now);
            self.receivers[from].send(rules, now);
            self.addressees(&frames[id]).for_each(|node| self.receivers[node].addressed += 1);
        }
        match *started {
            _ if self.subchannels.is_some() => self.start_in_subchannels(started, frames, now),
            [id] => {
                let frame = &frames[id];
                let Receivers { receivers, concerned, .. } = self;
                self.links.reach_among(frame, &self.awake, |node, link| {
                    if receivers[node].start(id, frame, link) {
                        concerned.push(node);
                    }
                });
            }
            _ => self.start_several(started, frames),
        }
        self.past.begin_batch();
        started.iter().for_each(|&id| self.past.start(id, &frames[id]));
        for index in 0..self.concerned.len() {
            let node = self.concerned[index];
            let receiver = &mut self.receivers[node];
            let locked = receiver.locked_to().map(|id| &frames[id]);
            if let Some(subchannels) = &mut self.subchannels {
                subchannels.sense(node, receiver, locked, now);
            }
            if receiver.sense(locked, rules, now) {
                self.note_busy(node, nodes, rules, now);
            }
        }
        self.concerned.clear();
    }

    /// Frames start together, or none: all energies change before any node locks.
    fn start_several(&mut self, started: &[FrameId], frames: &FramesOnAir) {
        // By node, the strongest comes last.
        let mut heard: Vec<(usize, Power, FrameId)> = Vec::new();
        for &id in started {
            self.links.reach_among(&frames[id], &self.awake, |node, link| {
                self.receivers[node].add(link.power);
                heard.push((node, link.power, id));
            });
        }
        heard.sort_unstable();
        for (index, &(node, _, id)) in heard.iter().enumerate() {
            if heard.get(index + 1).is_none_or(|(next, ..)| *next != node) {
                let frame = &frames[id];
                self.receivers[node].lock_to(id, frame, self.links.link(frame, node));
                self.concerned.push(node);
            }
        }
    }

    /// The same in a field with subchannels: a node locks to the strongest of those that it receives in its primary channel.
    fn start_in_subchannels(&mut self, started: &[FrameId], frames: &FramesOnAir, now: Time) {
        let Receivers { receivers, links, awake, concerned, subchannels, .. } = self;
        let Subchannels { rules, receivers: in_subchannels } = subchannels.as_mut().expect("it has some");
        let mut heard: Vec<(usize, Power, FrameId)> = Vec::new();
        for &id in started {
            let frame = &frames[id];
            links.reach_among(frame, awake, |node, link| {
                let of_node = &mut in_subchannels[node];
                if of_node.start(frame, link.power, rules) {
                    concerned.push(node);
                }
                if of_node.has_primary(frame) {
                    receivers[node].add(link.power);
                    heard.push((node, link.power, id));
                }
            });
        }
        heard.sort_unstable();
        for (index, &(node, _, id)) in heard.iter().enumerate() {
            let is_strongest = heard.get(index + 1).is_none_or(|(next, ..)| *next != node);
            let (frame, receiver) = (&frames[id], &mut receivers[node]);
            if is_strongest && receiver.lock_to(id, frame, links.link(frame, node)) {
                let fits = in_subchannels[node].lock(frame, rules, now);
                if !fits {
                    receiver.give_up();
                }
            }
        }
    }

    /// From now on `node` follows what is on the air. All frames that are on the air have started there, and no others.
    pub(super) fn wake(&mut self, node: usize, frames: &FramesOnAir, rules: &FieldRules) {
        let bit = 1 << (node % 64);
        if self.awake[node / 64] & bit == 0 {
            self.catch_up(node, frames, rules);
            self.awake[node / 64] |= bit;
        }
    }

    /// From now on `node` does not follow what is on the air, if it has nothing to do.
    fn sleep(&mut self, node: usize, nodes: &FieldNodes) {
        let receiver = &self.receivers[node];
        let may_sleep = !receiver.counts && !receiver.is_ap && self.subchannels.is_none();
        let is_idle = receiver.addressed == 0 && nodes[node].is_idle();
        if may_sleep && is_idle && !self.listeners.contains(&node) {
            self.awake[node / 64] &= !(1 << (node % 64));
            self.known[node] = self.past.len();
        }
    }

    /// From now on these nodes always follow what is on the air, and no others.
    pub(super) fn listen_to(&mut self, nodes: &[usize], frames: &FramesOnAir, rules: &FieldRules) {
        nodes.iter().for_each(|&node| self.wake(node, frames, rules));
        self.listeners = nodes.to_vec();
    }

    /// What the nodes that are listened to have of a frame with these `mpdus` that ends, before [`Receivers::end`].
    pub(super) fn heard(&self, id: FrameId, frame: &FieldFrame, mpdus: &[(Time, Time)]) -> Vec<HeardFrame> {
        let locked = self.listeners.iter().filter(|&&node| self.receivers[node].locked_to() == Some(id));
        let heard = |&node: &usize| {
            let (receiver, power) = (&self.receivers[node], self.links.link(frame, node).power);
            let received = self.channel(node).map_or(1, |channel| (channel & frame.mask).count_ones());
            let decoded = match frame.header_ends {
                Some(_) => mpdus.iter().map(|span| receiver.decodes_mpdu(frame, *span)).collect(),
                None => vec![receiver.decodes(frame, mpdus)],
            };
            HeardFrame { node, power_dbm: power.times(received).as_dbm(), decoded }
        };
        locked.map(heard).collect()
    }

    /// The nodes that a frame is for: of a beacon, the stations of its BSS.
    fn addressees(&self, frame: &FieldFrame) -> Range<usize> {
        match frame.kind {
            ExchangeStep::Beacon => {
                let bss = self.bss_of[frame.from];
                frame.from + 1..self.bss_of.partition_point(|of| *of <= bss)
            }
            _ => frame.to..frame.to + 1,
        }
    }

    /// From now on those that a frame is for follow what is on the air.
    pub(super) fn wake_addressees(&mut self, frame: &FieldFrame, frames: &FramesOnAir, rules: &FieldRules) {
        self.addressees(frame).for_each(|node| self.wake(node, frames, rules));
    }

    /// The number of stations of its BSS that have not decoded the beacon whose end was the last.
    pub(super) fn missed_beacon(&self, frame: &FieldFrame) -> usize {
        self.addressees(frame).len() - self.beacon_decoded_by
    }

    /// Ends of frames at an instant follow.
    pub(super) fn begin_ends(&mut self) {
        self.past.begin_batch();
    }

    /// `frame` ends. Returns whether its addressee has decoded it, `None` if that was not locked to it. If it is received MPDU
    /// by MPDU, `decoded` says which of its `mpdus` the addressee has decoded. [`Receivers::review`] must follow once all
    /// frames of the instant have ended.
    pub(super) fn end(
        &mut self,
        id: FrameId,
        frame: &FieldFrame,
        mpdus: &[(Time, Time)],
        decoded: &mut Vec<bool>,
    ) -> Option<bool> {
        self.receivers[frame.from].end_sending();
        let addressees = self.addressees(frame);
        addressees.clone().for_each(|node| self.receivers[node].addressed -= 1);
        self.concerned.push(frame.from);
        self.beacon_decoded_by = 0;
        let mut is_decoded_there = None;
        self.links.reach_among(frame, &self.awake, |node, link| {
            let receiver = &mut self.receivers[node];
            if let Some(Subchannels { rules, receivers }) = &mut self.subchannels {
                let of_node = &mut receivers[node];
                if of_node.end(frame, link.power, rules) {
                    self.concerned.push(node);
                }
                if !of_node.has_primary(frame) {
                    return;
                }
            }
            let is_addressed = node == frame.to;
            let (is_concerned, is_decoded) = receiver.end(id, frame, link, mpdus, is_addressed);
            if is_concerned {
                self.concerned.push(node);
            }
            if frame.kind == ExchangeStep::Beacon {
                let decodes = is_decoded == Some(true) && addressees.contains(&node);
                self.beacon_decoded_by += usize::from(decodes);
            }
            if is_addressed {
                is_decoded_there = is_decoded;
                if is_decoded.is_some() && frame.header_ends.is_some() {
                    decoded.clear();
                    decoded.extend(mpdus.iter().map(|span| receiver.decodes_mpdu(frame, *span)));
                }
            }
        });
        self.past.end(id, frame, if frame.header_ends.is_some() { mpdus } else { &[] });
        is_decoded_there
    }

    /// The colour of a frame is read: nodes with an OBSS PD level ignore it if it is another BSS's and weak.
    /// [`Receivers::review`] must follow.
    pub(super) fn read_colour(&mut self, id: FrameId, frame: &FieldFrame) {
        let Receivers { receivers, concerned, reuse, bss_of, .. } = self;
        self.links.reach_among(frame, &self.awake, |node, link| {
            let level = reuse.level(node, frame.width, (bss_of[node], bss_of[frame.from]));
            if receivers[node].read_colour(id, frame, link, level) {
                concerned.push(node);
            }
        });
        self.past.read_colour(id, frame);
    }

    /// After all ends of an instant: where the medium becomes physically idle, and from when these nodes count.
    pub(super) fn review(
        &mut self,
        frames: &FramesOnAir,
        nodes: &mut FieldNodes,
        rules: &FieldRules,
        now: Time,
    ) {
        for index in 0..self.concerned.len() {
            let node = self.concerned[index];
            let receiver = &mut self.receivers[node];
            let locked = receiver.locked_to().map(|id| &frames[id]);
            if let Some(subchannels) = &mut self.subchannels {
                subchannels.sense(node, receiver, locked, now);
            }
            if receiver.review(locked, rules, now) {
                if receiver.counts {
                    nodes.resume(node, receiver.idle_from);
                }
                if receiver.is_ap {
                    self.turned.push(node);
                }
            }
            self.sleep(node, nodes);
        }
        self.concerned.clear();
        if self.past.is_long() {
            for node in 0..self.receivers.len() {
                if self.awake[node / 64] >> (node % 64) & 1 == 0 {
                    self.catch_up(node, frames, rules);
                    self.known[node] = 0;
                }
            }
            self.past.forget();
        }
    }

    /// Lets the receiver of a node that sleeps know of all changes.
    fn catch_up(&mut self, node: usize, frames: &FramesOnAir, rules: &FieldRules) {
        let mut first = self.known[node];
        if let Some((change, energy)) = self.last_idle(node, frames, rules) {
            self.receivers[node].be_idle(energy, rules);
            first = change;
        }
        self.replay(node, first, frames, rules);
        debug_assert!(self.receivers[node].has_energy(self.energy(node, frames)));
    }

    /// The number of a change before which the medium was physically idle at a node that sleeps, with its energy then, and
    /// after which nothing matters that it does not know: it locks to the frame that starts with the change. `None` if there
    /// is none.
    fn last_idle(&self, node: usize, frames: &FramesOnAir, rules: &FieldRules) -> Option<(usize, Power)> {
        let link = |frame: &FieldFrame| self.links.link(frame, node);
        let can_lock = |link: FieldLink, frame: &FieldFrame| link.tolerance >= frame.noise;
        let mut energy = self.energy(node, frames);
        let mut near = frames.ids().filter(|&id| can_lock(link(&frames[id]), &frames[id])).count();
        let mut next_batch = None;
        for index in (self.known[node]..self.past.len()).rev() {
            if !self.links.reaches(self.past.transmitter(index), node) {
                continue;
            }
            let change = self.past.change(index);
            if change.kind == ChangeKind::Colour {
                continue;
            }
            let link = link(&change.frame);
            let is_near = usize::from(can_lock(link, &change.frame));
            if change.kind == ChangeKind::End {
                energy += link.power;
                near += is_near;
                next_batch = Some(change.batch);
                continue;
            }
            energy -= link.power;
            near -= is_near;
            let is_alone = next_batch != Some(change.batch);
            let locks = near == 0 && is_alone && energy + change.frame.noise <= link.tolerance;
            if locks && energy < rules.energy_detection && !self.may_have_nav(node, index) {
                return Some((index, energy));
            }
            next_batch = Some(change.batch);
        }
        None
    }

    /// Whether a change that a node that sleeps does not know of may have set a NAV there that has not ended before the change
    /// of number `before`.
    fn may_have_nav(&self, node: usize, before: usize) -> bool {
        let at = self.past.change(before).at();
        let mut unknown = (self.known[node]..before).rev().map(|index| self.past.change(index));
        let mut latest = self.past.change(before).nav_before;
        while latest >= at {
            let Some(Change { kind, frame, nav_before, .. }) = unknown.next() else { return false };
            let decodes = || self.links.link(frame, node).tolerance >= frame.noise;
            if *kind == ChangeKind::End && frame.ends + frame.duration >= at && decodes() {
                return true;
            }
            latest = *nav_before;
        }
        false
    }

    /// Sum of the powers of the frames of others on the air at a node.
    fn energy(&self, node: usize, frames: &FramesOnAir) -> Power {
        let powers = frames.ids().map(|id| self.links.link(&frames[id], node).power);
        powers.fold(Power::ZERO, |sum, power| sum + power)
    }

    /// Lets the receiver of a node that sleeps know of the changes from number `first` on.
    fn replay(&mut self, node: usize, first: usize, frames: &FramesOnAir, rules: &FieldRules) {
        let Receivers { receivers, links, past, reuse, bss_of, .. } = self;
        let receiver = &mut receivers[node];
        let mut index = first;
        while index < past.len() {
            let &Change { batch, kind: first, .. } = past.change(index);
            let now = past.change(index).at();
            let (mut is_concerned, mut strongest, mut count) = (false, None, 0);
            while index < past.len() && past.change(index).batch == batch {
                let change = past.change(index);
                let &Change { id, kind, ref frame, .. } = change;
                index += 1;
                if !links.reaches(frame.from, node) {
                    continue;
                }
                let link = links.link(frame, node);
                match kind {
                    ChangeKind::Start => {
                        receiver.add(link.power);
                        strongest = strongest.max(Some((link.power, id)));
                        count += 1;
                    }
                    ChangeKind::Colour => {
                        let level = reuse.level(node, frame.width, (bss_of[node], bss_of[frame.from]));
                        is_concerned |= receiver.read_colour(id, frame, link, level);
                    }
                    ChangeKind::End => {
                        is_concerned |= receiver.end(id, frame, link, past.mpdus(change), false).0;
                    }
                }
            }
            if let Some((_, id)) = strongest {
                let frame = past.frame(id, index, frames);
                let locks = receiver.lock_to(id, frame, links.link(frame, node));
                is_concerned = locks || count > 1 || receiver.is_alarmed();
            }
            if is_concerned {
                let locked = receiver.locked_to().map(|id| past.frame(id, index, frames));
                match first == ChangeKind::Start {
                    true => receiver.sense(locked, rules, now),
                    false => receiver.review(locked, rules, now),
                };
            }
        }
    }
}
