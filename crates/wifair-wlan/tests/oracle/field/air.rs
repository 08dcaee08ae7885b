//! The air of a field, and what each node makes of it.

mod beacons;
mod quiet;
mod subchannels;

use super::flaw::Flaw;
use super::powers::{Keys, PREAMBLE_DB, Units, is_at_least, threshold_of, units};
use super::{FieldScenario, label};
use crate::oracle::cell::{self, Air, Cell, EveryStep, Run};
use crate::oracle::frame::{Content, Frame, Heard, Kind, NodeId, Packet};
use crate::oracle::mode::{Generation, Mode};
use crate::oracle::node::Node;
use crate::oracle::record::{Outcome, Record};
use crate::oracle::scenario::Outside;

struct OnAir {
    /// What it is sent with, in 65,536ths of its transmitter's power.
    share: u64,
    /// Names its nodes by their numbers in their BSS.
    frame: Frame,
    from: NodeId,
    to: NodeId,
    ends_at: u64,
    /// Its number among all frames.
    number: usize,
    /// Its exchange.
    exchange: usize,
    began_at: u64,
    /// If it is received MPDU by MPDU: the symbols of each, in ns from its start.
    symbols_ns: Vec<[u64; 2]>,
    /// The channels of 20 MHz that it occupies, by number.
    subchannels: Vec<u16>,
}

/// What a node is locked to.
struct Lock {
    number: usize,
    is_intact: bool,
    /// The SINR has been high enough to read its colour.
    is_legible: bool,
    /// What had been idle when it locked.
    idle: Idle,
    /// If it is received MPDU by MPDU: by step from its start on, whether the SINR is too low.
    is_low: Vec<bool>,
}

/// For how many steps a node's secondary channels have been idle, the narrowest first, and its channels of 20 MHz by
/// themselves, but for the primary channel.
struct Idle {
    secondaries: Vec<u32>,
    alone: Vec<(u16, u32)>,
}

impl Receiver {
    fn idle(&self) -> Idle {
        Idle {
            secondaries: self.secondaries.iter().map(|(_, steps)| *steps).collect(),
            alone: self.alone.clone(),
        }
    }
}

/// The receiver of a node.
#[derive(Default)]
struct Receiver {
    lock: Option<Lock>,
    sends: bool,
    is_busy: bool,
    /// In the busy period: it has sent; its energy was high; whether the last locked frame was decoded.
    has_sent: bool,
    was_loud: bool,
    had_locked: Option<bool>,
    /// A locked frame has ended at this instant; whether it was decoded.
    heard: Option<bool>,
    /// The last instant at which the NAV is set.
    nav: Option<u64>,
    /// Ends of the PPDUs that it ignores, with the number of each.
    ignored: Vec<(u64, usize)>,
    /// Its TXOP was won in an opportunity.
    reuses: bool,
    /// It has just begun to ignore a PPDU.
    has_ignored: bool,
    /// The channels of 20 MHz that it receives, its primary channel first.
    channel: Vec<u16>,
    /// The width of its channel, with what its BSS never uses.
    width_mhz: u32,
    /// Its secondary channels, the narrowest first: their channels of 20 MHz, and for how many steps each has been idle.
    secondaries: Vec<(Vec<u16>, u32)>,
    /// Its other channels of 20 MHz, and for how many steps each has been idle by itself.
    alone: Vec<(u16, u32)>,
}

/// An exchange, from the access that was won on.
struct Exchange {
    bss: usize,
    /// By their numbers in the BSS.
    sender: NodeId,
    receiver: NodeId,
    /// Its place among the attempts, or among the transmissions under agreements.
    attempt: usize,
    has_agreement: bool,
    /// When it began; it is on the air from then on.
    began: u64,
    width_mhz: u32,
    /// The channels of 20 MHz that its frames occupy, by number.
    subchannels: Vec<u16>,
    /// Of its link.
    generation: Option<Generation>,
    /// It follows another in its TXOP.
    follows: bool,
    is_on_air: bool,
    /// Another has been on the air at the same time.
    overlaps: bool,
    has_sent_data: bool,
    /// End of the ACK, if its addressee has decoded the data frame.
    ack_ends: Option<u64>,
    /// End of the last frame that its sender has sent or been locked to.
    last: u64,
}

/// Nodes are counted through all BSSs.
pub struct Field {
    cells: Vec<Cell>,
    /// By node: its BSS, and its number there.
    homes: Vec<(usize, NodeId)>,
    keys: Keys,
    flaw: Option<Flaw>,
    /// By transmitter, by receiver.
    powers: Vec<Vec<Units>>,
    receivers: Vec<Receiver>,
    on_air: Vec<OnAir>,
    frames: usize,
    exchanges: Vec<Exchange>,
    /// Those on the air.
    live: Vec<usize>,
    /// By sender: that whose outcome it does not know.
    current: Vec<Option<usize>>,
    /// By sender: the channels of 20 MHz that it has won access to.
    held: Vec<Vec<u16>>,
    /// By BSS: when the next beacon is due.
    targets: Vec<Option<u64>>,
}

/// Runs `scenario`, see [`cell::run_all`].
pub fn run(scenario: &FieldScenario) -> Vec<Run> {
    run_on(scenario, Field::new(scenario))
}

/// The same, step by step.
pub fn run_every_step(scenario: &FieldScenario) -> Vec<Run> {
    run_on(scenario, EveryStep(Field::new(scenario)))
}

fn run_on(scenario: &FieldScenario, field: impl Air) -> Vec<Run> {
    let mut runs = cell::run_all(scenario.base.offered_until, field);
    for run in &mut runs {
        [&mut run.half_way, &mut run.whole].into_iter().for_each(settle);
    }
    runs
}

/// The engine lists an attempt when its sender knows the outcome, and no frames.
fn settle(record: &mut Record) {
    record.attempts.retain(|attempt| attempt.outcome.is_some());
    record.transmissions.retain(|transmission| transmission.outcome.is_some());
}

impl Air for Field {
    fn cells(&self) -> &[Cell] {
        &self.cells
    }

    fn is_over(&self) -> bool {
        self.cells.iter().all(Cell::is_over) && self.on_air.is_empty()
    }

    fn step(&mut self) {
        self.reach_targets();
        for cell in &mut self.cells {
            while cell.traffic.next_time() == Some(cell.now) {
                match cell.traffic.next().expect("something is due") {
                    Outside::Offer(offer) => cell.hand_down(offer),
                    Outside::Change(change) => cell.change(&change),
                }
            }
            cell.sample();
            cell.adopt(true);
            cell.time_out();
            cell.nodes.iter_mut().for_each(Node::count_down);
        }
        let delivered = self.end_frames();
        delivered.iter().for_each(|(bss, packet)| self.cells[*bss].deliver(packet));
        self.cells.iter_mut().for_each(Cell::note_rates);
        self.time_out();
        self.cells.iter_mut().for_each(Cell::note_given_up);
        self.start_frames();
        (0..self.cells.len()).for_each(|bss| self.count_begun(bss));
        self.stay(1);
        for cell in &mut self.cells {
            cell.nodes.iter_mut().for_each(Node::count_idle_time);
            cell.now += 1;
        }
    }

    fn advance(&mut self, until: u64) {
        match self.quiet_steps(until) {
            0 => self.step(),
            steps => self.pass(steps),
        }
    }
}

impl Field {
    pub fn new(scenario: &FieldScenario) -> Field {
        let FieldScenario { flaw, .. } = scenario;
        let mut keys = Keys { seed: scenario.base.seed, homes: scenario.homes(), ..scenario.keys.clone() };
        if let (Some(split), Some(Flaw::PrimaryIsLowest)) = (&mut keys.split, flaw) {
            split.bsss.iter_mut().for_each(|(_, _, primary)| *primary = None);
            for bss in 0..split.never.len() {
                let lowest = split.whole_channel(bss)[0];
                split.never[bss].retain(|&subchannel| subchannel != lowest);
            }
        }
        if let (Some(split), Some(Flaw::NeverIsUsed)) = (&mut keys.split, flaw) {
            split.never.iter_mut().for_each(Vec::clear);
        }
        let keys = &keys;
        let cell = |(bss, of): (usize, _)| Cell::named(of, |node| label(bss, node));
        let homes = scenario.homes();
        let nodes = homes.len();
        let power = |from, to| if from == to { 0 } else { keys.power(from, to, *flaw) };
        Field {
            cells: scenario.bsss().enumerate().map(cell).collect(),
            homes,
            keys: keys.clone(),
            flaw: *flaw,
            powers: (0..nodes).map(|from| (0..nodes).map(|to| power(from, to)).collect()).collect(),
            receivers: (0..nodes).map(|node| receiver(scenario, keys, node)).collect(),
            on_air: Vec::new(),
            frames: 0,
            exchanges: Vec::new(),
            live: Vec::new(),
            current: vec![None; nodes],
            held: vec![vec![]; nodes],
            targets: scenario
                .bsss()
                .enumerate()
                .map(|(bss, of)| beacons::first_target(bss, of, *flaw))
                .collect(),
        }
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn now(&self) -> u64 {
        self.cells[0].now
    }

    fn node(&mut self, node: NodeId) -> &mut Node {
        let (bss, own) = self.homes[node];
        &mut self.cells[bss].nodes[own]
    }

    /// The node with that number in the BSS of another.
    fn of_bss(&self, other: NodeId, own: NodeId) -> NodeId {
        other - self.homes[other].1 + own
    }

    fn energy(&self, node: NodeId) -> Units {
        let ignored = &self.receivers[node].ignored;
        let is_ignored = |number| ignored.iter().any(|&(_, other)| other == number);
        let heard = |on_air: &&OnAir| !(self.has(Flaw::IgnoredIsSilent) && is_ignored(on_air.number));
        let channel = &self.receivers[node].channel;
        let channel = if self.has(Flaw::EnergyOfAll) { &channel[..] } else { &channel[..1] };
        let power = |on_air: &OnAir| -> Units {
            channel.iter().map(|&subchannel| self.power_in(on_air, node, subchannel)).sum()
        };
        self.on_air.iter().filter(heard).map(power).sum()
    }

    /// The power with which a frame reaches a node, in its primary channel.
    fn power(&self, on_air: &OnAir, node: NodeId) -> Units {
        self.power_in(on_air, node, self.receivers[node].channel[0])
    }

    /// The same in a channel of 20 MHz.
    fn power_in(&self, on_air: &OnAir, node: NodeId, subchannel: u16) -> Units {
        let power = u128::from(self.powers[on_air.from][node]) * u128::from(on_air.share) / 65_536;
        let shares = if self.has(Flaw::PowerIsNotShared) { 1 } else { on_air.subchannels.len() };
        match on_air.subchannels.contains(&subchannel) {
            true => power as Units / shares as Units,
            false => 0,
        }
    }

    /// The width of the channel of a BSS.
    fn channel_mhz(&self, bss: usize) -> u32 {
        let of_rules = self.cells[bss].rules.modern.map_or(20, |modern| modern.width_mhz);
        self.keys.split.as_ref().map_or(of_rules, |split| split.bsss[bss].1)
    }

    /// When the colour of a frame is read.
    fn colour_at(&self, on_air: &OnAir) -> Option<u64> {
        let us = if self.has(Flaw::ReadsLate) { 36 } else { 32 };
        let has_colour = mode_of(&on_air.frame).is_some_and(|mode| mode.generation >= Generation::He);
        has_colour.then(|| on_air.began_at + us * u64::from(self.cells[0].rules.steps))
    }

    /// Nodes that are locked to PPDUs whose colours are read now ignore those that they may.
    fn read_colours(&mut self) -> bool {
        let now = self.now();
        let read: Vec<usize> =
            (0..self.on_air.len()).filter(|&i| self.colour_at(&self.on_air[i]) == Some(now)).collect();
        for &i in &read {
            for node in 0..self.receivers.len() {
                self.read_colour(node, i);
            }
        }
        !read.is_empty()
    }

    fn read_colour(&mut self, node: NodeId, i: usize) {
        let (on_air, (bss, own)) = (&self.on_air[i], self.homes[node]);
        let (number, other) = (on_air.number, self.homes[on_air.from].0);
        let mode = mode_of(&on_air.frame).expect("a PPDU with a colour has a mode");
        let width_mhz = if self.keys.split.is_some() { 20 } else { mode.width_mhz };
        let Some(level) = self.keys.obss_pd(bss, width_mhz, self.channel_mhz(bss), self.flaw) else {
            return;
        };
        let is_other = self.keys.is_other_colour(bss, other);
        let is_its = other == bss && on_air.to != node;
        let is_weak = match self.has(Flaw::IgnoresTheLevel) {
            true => self.power(on_air, node) <= level,
            false => self.power(on_air, node) < level,
        };
        let reads = self.cells[bss].reads_colours(own);
        let ends_at = on_air.ends_at;
        let ignores = reads && is_weak && (is_other || (is_its && self.has(Flaw::IgnoresItsColour)));
        let (noise, first) = (self.has(Flaw::ReadsNoise), self.has(Flaw::EndsWithTheFirst));
        let (sets_nav, flaw) = (self.has(Flaw::IgnoredSetsNav), self.flaw);
        let receiver = &mut self.receivers[node];
        let is_locked = |lock: &Lock| lock.number == number && (lock.is_legible || noise);
        if !ignores || !receiver.lock.as_ref().is_some_and(is_locked) {
            return;
        }
        receiver.lock = None;
        receiver.has_ignored = flaw == Some(Flaw::EifsAfterIgnored);
        if sets_nav {
            let end = ends_at + u64::from(self.on_air[i].frame.duration_field);
            receiver.nav = receiver.nav.max(Some(end));
        }
        let is_open = receiver.ignored.iter().any(|&(end, _)| end > self.cells[0].now);
        if !(first && is_open) {
            receiver.ignored.push((ends_at, number));
        }
        if sets_nav {
            let left = self.receivers[node].nav.map_or(0, |end| end.saturating_sub(self.now()));
            self.node(node).set_nav(left as u32);
        }
    }

    fn can_reuse(&self, node: NodeId) -> bool {
        self.receivers[node].ignored.iter().any(|&(end, _)| end > self.now())
    }

    /// What a node sends a frame with that begins now, in 65,536ths of its power.
    fn share(&mut self, node: NodeId, frame: &Frame) -> u64 {
        let can = self.can_reuse(node);
        let (bss, own) = self.homes[node];
        if frame.opens_exchange {
            self.receivers[node].reuses = can;
            self.cells[bss].record.reuses += u64::from(can);
        }
        let is_answer = frame.kind.is_answer();
        let in_txop = self.receivers[node].reuses && !is_answer && !self.has(Flaw::TxopAtFullPower);
        let is_full = frame.kind == Kind::Beacon && self.has(Flaw::BeaconsAtFullPower);
        let full =
            is_full || self.has(Flaw::ReusesAtFullPower) || (is_answer && self.has(Flaw::AnswersAtFullPower));
        match (can || in_txop) && !full {
            true => self.keys.reduced(node, bss, own == 0, self.channel_mhz(bss), self.flaw),
            false => 65_536,
        }
    }

    fn is_loud(&self, node: NodeId) -> bool {
        self.energy(node) >= units(self.keys.energy_detection_dbm)
    }

    /// What disturbs a frame at a node in its primary channel: noise, and the other frames on the air.
    fn disturbance(&self, node: NodeId, on_air: &OnAir) -> Units {
        self.disturbance_in(node, on_air, self.receivers[node].channel[0])
    }

    fn disturbance_in(&self, node: NodeId, OnAir { frame, number, .. }: &OnAir, subchannel: u16) -> Units {
        let others = self.on_air.iter().filter(|on_air| on_air.number != *number);
        let powers = others.map(|on_air| self.power_in(on_air, node, subchannel));
        self.noise(frame)
            + if self.has(Flaw::OneInterferer) { powers.max().unwrap_or(0) } else { powers.sum() }
    }

    /// Whether the SINR of a frame is high enough where it must be decoded.
    fn is_clear(&self, node: NodeId, on_air: &OnAir, db: f64) -> bool {
        self.judged(on_air, node).into_iter().all(|subchannel| {
            let power = self.power_in(on_air, node, subchannel);
            is_at_least(db, power, self.disturbance_in(node, on_air, subchannel))
        })
    }

    fn noise(&self, frame: &Frame) -> Units {
        self.keys.noise(mode_of(frame), self.flaw)
    }

    /// The packets that frames which end now bring upper layers, and in which BSS.
    fn end_frames(&mut self) -> Vec<(usize, Packet)> {
        let now = self.now();
        let mut ended: Vec<OnAir> = self.on_air.extract_if(.., |on_air| on_air.ends_at == now).collect();
        ended.sort_by_key(|on_air| on_air.from);
        for OnAir { frame, from, .. } in &ended {
            self.receivers[*from].sends = false;
            self.node(*from).has_sent_in_field(frame);
        }
        let mut delivered = Vec::new();
        for ended in &ended {
            let bss = self.homes[ended.from].0;
            delivered.extend(self.end_frame(ended).into_iter().map(|packet| (bss, packet)));
        }
        if !self.read_colours() && ended.is_empty() {
            return vec![];
        }
        for node in 0..self.receivers.len() {
            self.judge(node);
        }
        for node in 0..self.receivers.len() {
            if let Some(frame) = self.node(node).take_continuation() {
                self.begin(node, &frame);
            }
        }
        delivered
    }

    /// All who are locked to a frame learn that it has ended; the packets that it brought an upper layer.
    fn end_frame(&mut self, ended: &OnAir) -> Vec<Packet> {
        let OnAir { frame, to, number, exchange, .. } = ended;
        let (mut delivered, mut is_answered, step_ns) = (Vec::new(), false, self.step_ns());
        let mut decoders = Vec::new();
        for node in 0..self.receivers.len() {
            let receiver = &mut self.receivers[node];
            let Some(lock) = receiver.lock.take_if(|lock| lock.number == *number) else { continue };
            let spoilt = spoilt_mpdus(&lock, ended, step_ns, self.flaw);
            let is_all = self.flaw == Some(Flaw::NavNeedsAll) && node != *to;
            let lost =
                if is_all { spoilt.contains(&true) } else { !spoilt.is_empty() && !spoilt.contains(&false) };
            let is_decoded = lock.is_intact && !lost;
            let is_others = self.homes[node].0 != self.homes[*to].0;
            let no_eifs = is_others && self.flaw == Some(Flaw::EifsOfOwnBss);
            let no_eifs_here = frame.kind == Kind::Beacon && self.flaw == Some(Flaw::NoEifsAfterBeacons);
            receiver.heard = Some(is_decoded || no_eifs || no_eifs_here);
            receiver.had_locked = Some(is_decoded);
            if frame.kind.is_answer() && node == *to {
                self.exchanges[*exchange].last = self.now();
            }
            if is_decoded {
                decoders.push(node);
                let (answers, packets) = self.decode(node, ended, spoilt, &lock.idle);
                is_answered |= answers;
                delivered.extend(packets);
            } else if frame.kind.is_answer() && node == *to && !self.has(Flaw::WaitsOn) {
                self.fail(node);
            }
        }
        self.exchanges[*exchange].is_on_air &= is_answered;
        if frame.kind == Kind::Beacon {
            self.end_beacon(ended, &decoders);
        }
        delivered
    }

    /// A node has decoded a frame, at whose start its channels had been `idle` for so many steps: whether it answers it, and
    /// what it hands to its upper layer.
    fn decode(&mut self, id: NodeId, ended: &OnAir, spoilt: Vec<bool>, idle: &Idle) -> (bool, Vec<Packet>) {
        let &OnAir { ref frame, to, exchange, .. } = ended;
        let (now, (bss, _)) = (self.now(), self.homes[id]);
        if id != to {
            let is_others = self.homes[id].0 != self.homes[to].0;
            if !(self.has(Flaw::NoNav) || is_others && self.has(Flaw::NavOfOwnBss)) {
                let reserves = frame.kind == Kind::Beacon && self.has(Flaw::BeaconsReserve);
                let more =
                    if reserves { self.cells[bss].rules.sifs + self.cells[bss].rules.ack() } else { 0 };
                let end = Some(now + u64::from(frame.duration_field + more));
                let shrinks = self.has(Flaw::NavShrinks);
                let nav = &mut self.receivers[id].nav;
                *nav = if shrinks { end } else { (*nav).max(end) };
                let left = nav.map_or(0, |end| end.saturating_sub(now));
                self.node(id).set_nav(left as u32);
            }
            return (false, vec![]);
        }
        let first = if self.has(Flaw::NavEndsBefore) { now + 1 } else { now };
        let nav_is_set = self.receivers[id].nav.is_some_and(|end| end >= first);
        if frame.kind == Kind::Rts {
            let owes = self.node(id).has_response_pending() && !self.has(Flaw::CtsInsteadOfData);
            let subchannels = self.channels_of_cts(id, ended, idle).filter(|_| !owes);
            let Some(subchannels) = subchannels.filter(|_| !nav_is_set || self.has(Flaw::CtsDespiteNav))
            else {
                return (false, vec![]);
            };
            let before = std::mem::replace(&mut self.exchanges[exchange].subchannels, subchannels.clone());
            if subchannels.len() < before.len() {
                self.exchanges[exchange].width_mhz = 20 * subchannels.len() as u32;
                self.cells[bss].record.narrow_cts += 1;
            }
        }
        if frame.kind.is_response() {
            self.note_acknowledged(id, &frame.content);
        }
        if frame.kind.is_response() && self.keys.split.is_some() {
            match self.has(Flaw::WidensInTxop) {
                true => self.node(id).held_mhz = None,
                false => self.hold(id, &self.exchanges[exchange].subchannels.clone()),
            }
        }
        let heard = self.node(id).hear_in_field(frame, spoilt);
        match frame.kind {
            Kind::Cts => {
                self.exchanges[exchange].has_sent_data = true;
                self.follow_cts(id, exchange);
            }
            Kind::Data | Kind::Request => {
                self.exchanges[exchange].ack_ends = Some(now + u64::from(frame.duration_field));
            }
            Kind::Ack | Kind::BlockAck => self.note_outcome(id, Outcome::Acknowledged, now),
            _ => {}
        }
        self.cells[bss].note_queue_size();
        let Heard::Receives { decoded, passed_on } = heard else {
            return (!frame.kind.is_response(), vec![]);
        };
        if self.exchanges[exchange].has_agreement {
            let sent = &mut self.cells[bss].record.transmissions[self.exchanges[exchange].attempt].mpdus;
            sent.iter_mut().zip(decoded).for_each(|(mpdu, decoded)| mpdu.decoded = Some(decoded));
        }
        (true, passed_on)
    }

    /// A sender has decoded the response to its exchange.
    fn note_acknowledged(&mut self, sender: NodeId, response: &Content) {
        let Some(exchange) = self.current[sender].map(|exchange| &self.exchanges[exchange]) else { return };
        if exchange.has_agreement {
            for mpdu in &mut self.cells[exchange.bss].record.transmissions[exchange.attempt].mpdus {
                mpdu.acknowledged = Some(match response {
                    Content::Decoded(all) => all.iter().any(|&seq| cell::on_air(seq) == mpdu.seq),
                    _ => true,
                });
            }
        }
    }

    /// The sender of an exchange knows its outcome.
    fn note_outcome(&mut self, sender: NodeId, outcome: Outcome, ended: u64) {
        let Some(exchange) = self.current[sender].take() else { return };
        let Exchange { bss, attempt, has_agreement, .. } = self.exchanges[exchange];
        let record = &mut self.cells[bss].record;
        if !has_agreement {
            let attempt = &mut record.attempts[attempt];
            (attempt.outcome, attempt.ended) = (Some(outcome), Some(ended));
            return;
        }
        let transmission = &mut record.transmissions[attempt];
        (transmission.outcome, transmission.ended) = (Some(outcome), Some(ended));
        if outcome != Outcome::Acknowledged {
            for mpdu in &mut transmission.mpdus {
                mpdu.decoded = mpdu.decoded.or(Some(false));
                mpdu.acknowledged = Some(false);
            }
        }
    }

    /// A node knows that its exchange has failed.
    fn fail(&mut self, node: NodeId) {
        if let Some(exchange) = self.current[node] {
            let Exchange { ack_ends, last, has_sent_data, overlaps, .. } = self.exchanges[exchange];
            let (outcome, ended) = match ack_ends {
                Some(end) => (Outcome::AckLost, end),
                None if has_sent_data && !overlaps => (Outcome::DataLost, last),
                None => (Outcome::Collided, last),
            };
            self.note_outcome(node, outcome, ended);
            self.exchanges[exchange].is_on_air &= !self.has(Flaw::OverAtTimeout);
            match self.has(Flaw::TimeoutOfOne) {
                true => self.node(node).stop_waiting_alone(),
                false => self.node(node).stop_waiting(),
            }
        }
    }

    fn time_out(&mut self) {
        for node in 0..self.receivers.len() {
            if !self.node(node).has_waited() {
                continue;
            }
            let number = self.receivers[node].lock.as_ref().map(|lock| lock.number);
            let is_answer = |on_air: &&OnAir| {
                Some(on_air.number) == number && on_air.to == node && on_air.frame.kind.is_answer()
            };
            if self.on_air.iter().any(|on_air| is_answer(&on_air)) && !self.has(Flaw::TimeoutInResponse) {
                self.node(node).waits_on();
            } else {
                self.fail(node);
            }
        }
    }

    fn start_frames(&mut self) {
        let nodes = 0..self.receivers.len();
        if self.has(Flaw::TxopWaits) {
            nodes.clone().for_each(|id| self.put_off_txop(id));
        }
        let due: Vec<NodeId> = nodes.filter(|&id| self.node(id).decide()).collect();
        let starting: Vec<NodeId> = due.into_iter().filter(|&id| self.finds_width(id)).collect();
        if starting.is_empty() {
            return;
        }
        let first = self.frames;
        for &id in &starting {
            let frame = self.node(id).start();
            if frame.opens_exchange {
                self.begin(id, &frame);
            }
            let to = self.of_bss(id, frame.to);
            let sender = if frame.kind.is_answer() { to } else { id };
            let exchange = self.current[sender].expect("a frame belongs to an exchange");
            let ends_at = self.now() + u64::from(frame.length);
            if sender == id {
                self.exchanges[exchange].last = ends_at;
                self.exchanges[exchange].is_on_air = true;
            }
            let symbols_ns = self.symbols_ns(&frame);
            let subchannels = match &self.keys.split {
                Some(split) if frame.kind == Kind::Beacon => match self.has(Flaw::WideBeacons) {
                    true => split.channel(self.homes[id].0),
                    false => split.primary(self.homes[id].0, 20),
                },
                Some(_) => self.exchanges[exchange].subchannels.clone(),
                None => vec![0],
            };
            let (number, began_at, share) = (self.frames, self.now(), self.share(id, &frame));
            self.on_air.push(OnAir {
                share,
                frame,
                from: id,
                to,
                ends_at,
                number,
                exchange,
                began_at,
                symbols_ns,
                subchannels,
            });
            self.frames += 1;
        }
        for &id in &starting {
            self.become_busy(id, true);
            let keeps = self.has(Flaw::KeepsLock);
            let receiver = &mut self.receivers[id];
            receiver.sends = true;
            receiver.has_sent = true;
            receiver.lock = receiver.lock.take().filter(|_| keeps);
        }
        for node in 0..self.receivers.len() {
            self.lock(node, first);
            self.sense(node, first);
        }
    }

    /// The symbols of each MPDU of a frame, if it is received MPDU by MPDU.
    fn symbols_ns(&self, frame: &Frame) -> Vec<[u64; 2]> {
        match (&frame.content, mode_of(frame)) {
            (Content::Mpdus(mpdus), Some(mode)) => {
                let rules = &self.cells[0].rules;
                let bytes: Vec<u32> = mpdus.iter().map(|mpdu| rules.bytes_with(&mpdu.ip_bytes())).collect();
                rules.mpdu_symbols_ns(&bytes, mode)
            }
            _ => vec![],
        }
    }

    /// What is on the air stays as it is for `steps` steps.
    fn stay(&mut self, steps: u32) {
        (0..self.receivers.len()).for_each(|node| self.receive(node, steps));
        self.account(steps.into());
        self.count_idle_secondaries(steps);
    }

    /// The next `steps` steps of a PPDU pass at a node that is locked to it. A PHY header and a colour that end within them are
    /// lost in the first, if at all.
    fn receive(&mut self, node: NodeId, steps: u32) {
        let Some(number) = self.receivers[node].lock.as_ref().map(|lock| lock.number) else { return };
        let locked = self.on_air.iter().find(|on_air| on_air.number == number).expect("it is on the air");
        let disturbance = self.disturbance(node, locked);
        let clears = |db| is_at_least(db, self.power(locked, node), disturbance);
        let is_clear = |db| self.is_clear(node, locked, db);
        let is_illegible = self.colour_at(locked).is_some_and(|at| self.now() < at) && !clears(PREAMBLE_DB);
        let of_mpdus = self.receive_mpdus(locked, is_clear, clears);
        if let Some(lock) = &mut self.receivers[node].lock {
            lock.is_legible &= !is_illegible;
            if let Some((is_low, is_lost)) = of_mpdus {
                lock.is_low.extend((0..steps).map(|_| is_low));
                lock.is_intact &= !is_lost;
            }
        }
    }

    /// Of a PPDU that is received MPDU by MPDU: whether the SINR is too low in this step, and too low for the PHY header.
    fn receive_mpdus(
        &self,
        locked: &OnAir,
        is_clear: impl Fn(f64) -> bool,
        clears: impl Fn(f64) -> bool,
    ) -> Option<(bool, bool)> {
        let &[header_ends_ns, _] = locked.symbols_ns.first()?;
        let has = |flaw| self.flaw == Some(flaw);
        let mode = mode_of(&locked.frame).filter(|_| !has(Flaw::OneMcsThreshold));
        let is_low = !is_clear(threshold_of(mode, 60));
        let passed_ns = self.step_ns() * (self.now() - locked.began_at);
        let is_lost = passed_ns < header_ends_ns && !clears(PREAMBLE_DB) && !has(Flaw::NoPhyHeader);
        Some((is_low, is_lost))
    }

    fn step_ns(&self) -> u64 {
        1_000 / u64::from(self.cells[0].rules.steps)
    }

    /// The next frame of a TXOP, if it is due, waits while the medium is physically busy.
    fn put_off_txop(&mut self, id: NodeId) {
        let follows = self.current[id].is_some_and(|exchange| self.exchanges[exchange].follows);
        if follows && self.node(id).owes_now() && self.receivers[id].is_busy {
            self.node(id).puts_off();
        }
    }

    /// Counts the exchanges of a BSS that have begun at this instant.
    fn count_begun(&mut self, bss: usize) {
        let one_txop = self.has(Flaw::TxopIsOneExchange);
        let all = || self.live.iter().map(|&exchange| &self.exchanges[exchange]);
        let live = || all().filter(|exchange| exchange.bss == bss);
        let is_new = |exchange: &&Exchange| exchange.began == self.now() && !(exchange.follows && one_txop);
        let begun = live().filter(is_new).count() as u64;
        if begun > 0 {
            let seen =
                if self.has(Flaw::OverlapsWithOthers) { all().collect() } else { live().collect::<Vec<_>>() };
            let on_air = seen.iter().filter(|exchange| exchange.is_on_air).count();
            let each = self.has(Flaw::CountsEach);
            let record = &mut self.cells[bss].record;
            record.exchanges += if each { begun } else { 1 };
            record.collisions += u64::from(on_air > 1);
        }
    }

    /// The exchange of a node that has won access, or continues its TXOP.
    fn begin(&mut self, node: NodeId, frame: &Frame) {
        let is_beacon = frame.kind == Kind::Beacon;
        let has_agreement = !is_beacon && !matches!(frame.content, Content::Single { .. });
        let (bss, now) = (self.homes[node].0, self.now());
        let width_mhz = self.node(node).present_width_to(frame.to);
        let generation = self.node(node).generation_to(frame.to);
        let subchannels = match (&self.keys.split, frame.opens_exchange) {
            (Some(split), false) if self.has(Flaw::WidensInTxop) => split.primary(bss, width_mhz),
            (_, true) => self.held[node].clone(),
            (_, false) => self.most(node, frame.to, &self.held[node].clone()),
        };
        let record = &self.cells[bss].record;
        self.current[node] = Some(self.exchanges.len());
        self.live.push(self.exchanges.len());
        self.exchanges.push(Exchange {
            bss,
            sender: frame.from,
            receiver: frame.to,
            attempt: match has_agreement {
                true => record.transmissions.len(),
                false => record.attempts.len(),
            },
            has_agreement,
            began: now,
            width_mhz,
            subchannels,
            generation,
            follows: !frame.opens_exchange,
            is_on_air: frame.opens_exchange || !self.has(Flaw::TxopFollowsLate),
            overlaps: false,
            has_sent_data: matches!(frame.kind, Kind::Data | Kind::Request),
            ack_ends: None,
            last: now,
        });
        match is_beacon {
            true => self.cells[bss].record.beacons.0 += 1,
            false => self.cells[bss].note_attempt(frame),
        }
    }

    /// Locks to one of the frames from `first` on, which have just started, if it can be detected.
    fn lock(&mut self, node: NodeId, first: usize) {
        if self.receivers[node].sends {
            return;
        }
        let takes_over = self.has(Flaw::TakesTheStronger);
        let held = self.receivers[node].lock.as_ref().map(|lock| lock.number);
        if held.is_some() && !takes_over {
            return;
        }
        let power = |on_air: &OnAir| self.power(on_air, node);
        let reached = |on_air: &OnAir| {
            let primary = self.receivers[node].channel[0];
            on_air.subchannels.contains(&primary)
        };
        let weakest = match self.on_air.iter().find(|on_air| Some(on_air.number) == held) {
            Some(on_air) => power(on_air) + 1,
            None if self.has(Flaw::DetectsAll) => 1,
            None => units(self.keys.preamble_detection_dbm).max(1),
        };
        let of_earlier = |on_air: &OnAir| match self.has(Flaw::PreamblesDoNotCollide) {
            false => self.disturbance(node, on_air),
            true => {
                let earlier = self.on_air.iter().filter(|on_air| on_air.number < first);
                self.noise(&on_air.frame) + earlier.map(power).sum::<Units>()
            }
        };
        let is_ignored =
            |on_air: &OnAir| self.has(Flaw::LocksToOwnBss) && self.homes[on_air.from].0 != self.homes[node].0;
        let is_detected = |on_air: &&OnAir| {
            let db = if self.has(Flaw::DetectsNoise) { -40.0 } else { PREAMBLE_DB };
            !is_ignored(on_air)
                && reached(on_air)
                && power(on_air) >= weakest
                && is_at_least(db, power(on_air), of_earlier(on_air))
        };
        let new = self.on_air.iter().filter(|on_air| on_air.number >= first);
        let strongest = new.filter(is_detected).max_by_key(|on_air| power(on_air));
        if let Some((number, is_intact)) = strongest.map(|on_air| (on_air.number, self.fits(on_air, node))) {
            let receiver = &mut self.receivers[node];
            let idle = receiver.idle();
            receiver.lock = Some(Lock { number, is_intact, is_legible: true, idle, is_low: Vec::new() });
        }
    }

    /// What is on the air now at a node: whether it disturbs the locked frame, and whether the medium is busy.
    fn sense(&mut self, node: NodeId, first: usize) {
        if let Some(number) = self.receivers[node].lock.as_ref().map(|lock| lock.number) {
            let locked = self.on_air.iter().find(|on_air| on_air.number == number).expect("it is on the air");
            let frame = &locked.frame;
            let rate = if self.has(Flaw::OneThreshold) { 60 } else { frame.rate() };
            let is_new = number >= first;
            let survives = !locked.symbols_ns.is_empty()
                || self.is_clear(node, locked, threshold_of(mode_of(frame), rate));
            if let Some(lock) = &mut self.receivers[node].lock {
                lock.is_intact &= survives || (self.flaw == Some(Flaw::JudgedAtStart) && !is_new);
            }
        }
        let is_loud = self.is_loud(node);
        let by_energy = is_loud && !self.has(Flaw::NoEnergyDetection);
        let by_lock = self.receivers[node].lock.is_some() && !self.has(Flaw::NoPreambleDetection);
        if by_energy || by_lock {
            self.become_busy(node, false);
        }
        self.receivers[node].was_loud |= is_loud && self.receivers[node].is_busy;
    }

    fn become_busy(&mut self, node: NodeId, transmits: bool) {
        let receiver = &mut self.receivers[node];
        if !receiver.is_busy {
            receiver.is_busy = true;
            (receiver.has_sent, receiver.was_loud, receiver.had_locked) = (false, false, None);
            let uncounted = self.flaw == Some(Flaw::BoundaryUncounted);
            self.node(node).becomes_busy(transmits, uncounted);
        }
    }

    /// After frames have ended: whether the medium becomes physically idle at a node.
    fn judge(&mut self, node: NodeId) {
        let is_loud = self.is_loud(node) && !self.has(Flaw::NoEnergyDetection);
        let energy_counts = self.keys.eifs_after_energy != self.has(Flaw::SwappedEifs);
        let of_earlier = self.has(Flaw::EifsOfEarlier);
        let senders_too = self.has(Flaw::EifsOfSenders);
        let by_lock = !self.has(Flaw::NoPreambleDetection);
        let receiver = &mut self.receivers[node];
        receiver.heard = receiver.heard.or(std::mem::take(&mut receiver.has_ignored).then_some(false));
        let heard = receiver.heard.take().or(receiver.had_locked.filter(|_| of_earlier));
        if !receiver.is_busy || receiver.sends || (receiver.lock.is_some() && by_lock) || is_loud {
            return;
        }
        receiver.is_busy = false;
        let waits = match heard {
            Some(is_decoded) => !is_decoded,
            None => energy_counts && receiver.was_loud,
        };
        let eifs = waits && (!receiver.has_sent || senders_too);
        self.node(node).becomes_idle(eifs);
        if self.has(Flaw::DifsForAll) {
            self.node(node).wait_difs();
        }
    }

    fn account(&mut self, steps: u64) {
        self.live.retain(|&exchange| self.exchanges[exchange].is_on_air);
        for bss in 0..self.cells.len() {
            let is_of = |&exchange: &usize| self.exchanges[exchange].bss == bss;
            let live: Vec<usize> = self.live.iter().copied().filter(is_of).collect();
            self.account_of(bss, &live, steps);
        }
    }

    /// The same for one BSS, whose exchanges `live` are on the air.
    fn account_of(&mut self, bss: usize, live: &[usize], steps: u64) {
        let alone_again = self.has(Flaw::AloneAgain);
        let meets_others = self.has(Flaw::OverlapsWithOthers) && self.live.len() > live.len();
        let airtime = &mut self.cells[bss].record.airtime;
        match *live {
            [] => airtime.idle += steps,
            [one] if !meets_others && (!self.exchanges[one].overlaps || alone_again) => {
                let Exchange { sender, receiver, .. } = self.exchanges[one];
                if sender == receiver {
                    airtime.beacons += steps;
                    return;
                }
                let of_station = if receiver == 0 { &mut airtime.up } else { &mut airtime.down };
                of_station[sender.max(receiver) - 1] += steps;
            }
            _ => {
                airtime.collisions += steps;
                let overlap = live.len() > 1 || meets_others;
                live.iter().for_each(|&exchange| self.exchanges[exchange].overlaps |= overlap);
            }
        }
    }
}

/// The receiver of a node. Without channels of 20 MHz there is one for all.
fn receiver(scenario: &FieldScenario, keys: &Keys, node: NodeId) -> Receiver {
    let Some(split) = &keys.split else { return Receiver { channel: vec![0], ..Receiver::default() } };
    let (bss, own) = scenario.homes()[node];
    let stations = &scenario.bsss().nth(bss).expect("the node's BSS").stations;
    let width_mhz = match own.checked_sub(1) {
        None => split.bsss[bss].1,
        Some(station) => stations[station].modes.map_or(20, |modes| modes.up.width_mhz),
    };
    let widths_mhz = [20, 40, 80, 160].into_iter().filter(|&width| 2 * width <= width_mhz);
    let primary = split.primary(bss, 20);
    let others = split.primary(bss, width_mhz).into_iter().filter(|subchannel| !primary.contains(subchannel));
    let channel: Vec<u16> = primary.iter().copied().chain(others).collect();
    let alone = channel.iter().skip(1).map(|&subchannel| (subchannel, u32::MAX / 2)).collect();
    let secondaries = widths_mhz.map(|width| (split.secondary(bss, width, scenario.flaw), u32::MAX / 2));
    Receiver { channel, width_mhz, secondaries: secondaries.collect(), alone, ..Receiver::default() }
}

/// The mode that a frame is sent in, if it has one: a data frame from 802.11n on.
fn mode_of(frame: &Frame) -> Option<Mode> {
    frame.mode.filter(|_| frame.kind == Kind::Data)
}

/// Which MPDUs of a frame that has ended a node cannot decode; none, if the frame is received as a whole.
fn spoilt_mpdus(lock: &Lock, ended: &OnAir, step_ns: u64, flaw: Option<Flaw>) -> Vec<bool> {
    let mut before = 0;
    let is_spoilt = |&[first_ns, end_ns]: &[u64; 2]| {
        let first_ns = if flaw == Some(Flaw::NoSharedSymbols) { first_ns.max(before) } else { first_ns };
        before = end_ns;
        let steps = (0..).zip(&lock.is_low).filter(|(step, _)| {
            let passed_ns = step * step_ns;
            passed_ns < end_ns && first_ns < passed_ns + step_ns
        });
        steps.into_iter().any(|(_, is_low)| *is_low)
    };
    let mut spoilt: Vec<bool> = ended.symbols_ns.iter().map(is_spoilt).collect();
    if flaw == Some(Flaw::OneSpoilsAll) && spoilt.contains(&true) {
        spoilt.fill(true);
    }
    spoilt
}
