//! The field: a medium on which each frame reaches each node with a power, and each node senses, receives and keeps a NAV for
//! itself (`docs/medium.md`, section 16). DCF, single frames with or without RTS.
//!
//! A frame has four steps, each at its time: start, end, response due, outcome known. Under the shared medium
//! ([`crate::medium`]) the first decides all four.

mod access;
mod frame;
mod node;
mod power;
#[cfg(test)]
mod tests;

use wifair_core::{Rng, Time};

use crate::contention::{Access, ContentionRules};
use crate::mac::{Mac, Waits};
use crate::phy::Mode;
use crate::phy::timing::{BssTiming, ControlFrame};
pub(crate) use frame::Outgoing;
use frame::{Frame, FrameId, Kind};
use node::{FieldNode, Wait};
pub(crate) use power::Power;
use power::SinrThreshold;

/// Width, in MHz, that `noise_dbm` is given for.
const NOISE_WIDTH_MHZ: f64 = 22.0;

/// Thresholds and intervals of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldRules {
    pub contention: ContentionRules,
    pub sifs: Time,
    /// EIFS minus DIFS.
    pub eifs_lead: Time,
    /// Whether energy that the node was not locked to counts for EIFS.
    pub eifs_after_energy: bool,
    /// Power from which a preamble is detected.
    pub preamble_detection: Power,
    /// Energy from which the medium is busy.
    pub energy_detection: Power,
    /// SINR at which a preamble is detected.
    preamble: SinrThreshold,
    noise_dbm: f64,
}

impl FieldRules {
    /// The rules of a field with the default thresholds.
    pub(crate) fn new(
        contention: ContentionRules,
        phy: &BssTiming,
        mac: &Mac,
        eifs_after_energy: bool,
        noise_dbm: f64,
    ) -> FieldRules {
        FieldRules {
            contention,
            sifs: phy.sifs,
            eifs_lead: mac.eifs_lead,
            eifs_after_energy,
            preamble_detection: Power::from_dbm(-82.0),
            energy_detection: Power::from_dbm(-62.0),
            preamble: SinrThreshold::of_preamble(),
            noise_dbm,
        }
    }

    fn noise(&self, mode: &Mode) -> Power {
        let width = f64::from(mode.width_mhz);
        Power::from_dbm(self.noise_dbm + 10.0 * libm::log10(width / NOISE_WIDTH_MHZ))
    }
}

/// What has happened to what a node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldEvent {
    /// It has won access.
    Started(usize),
    /// The addressee has decoded its data frame.
    Received(usize),
    /// It has decoded the ACK. [`Field::go_on`] must follow.
    Acknowledged(usize),
    /// It knows that no response came, to its RTS or, with `has_cts`, to the data frame after it. [`Field::go_on`] must follow.
    Failed { node: usize, has_cts: bool },
}

/// See the module documentation. Nodes are numbered through.
pub(crate) struct Field {
    rules: FieldRules,
    phy: BssTiming,
    waits: Vec<Waits>,
    nodes: Vec<FieldNode>,
    /// By transmitter: the nodes that hear it, with the power, in order.
    rows: Vec<Vec<(usize, Power)>>,
    frames: Vec<Option<Frame>>,
    /// Nodes that an event of the instant has reached.
    touched: Vec<usize>,
}

impl Field {
    /// A silent field, whose `rows` say who hears a node with which power.
    pub(crate) fn new(
        rules: FieldRules,
        phy: BssTiming,
        mac: &Mac,
        contenders: impl Iterator<Item = (Access, Rng)>,
        rows: Vec<Vec<(usize, Power)>>,
    ) -> Field {
        let nodes = contenders.map(|(access, rng)| FieldNode::new(access, rng)).collect();
        let waits = mac.waits.clone();
        Field { rules, phy, waits, nodes, rows, frames: Vec::new(), touched: Vec::new() }
    }

    /// When [`Field::advance`] is due; [`Time::MAX`] if nothing is under way.
    pub(crate) fn due(&self) -> Time {
        let ends = self.frames.iter().flatten().map(|frame| frame.ends);
        ends.chain(self.nodes.iter().map(|node| node.due(&self.rules))).min().unwrap_or(Time::MAX)
    }

    /// Handles a packet that has arrived at the free MAC of `node`.
    pub(crate) fn arrive(&mut self, node: usize, now: Time) {
        self.nodes[node].arrive(&self.rules, now);
    }

    /// Lets `node`, which knows the outcome of its exchange, contend with what it sends next, if there is `more`.
    pub(crate) fn go_on(&mut self, node: usize, resets_window: bool, more: bool) {
        self.nodes[node].backoff.go_on(&self.rules.contention, resets_window, more);
    }

    /// Handles what is due at `now == due()`: the ends of frames and timeouts or, if there are none, starts. `outgoing` says
    /// what a node sends that has won access.
    pub(crate) fn advance(
        &mut self,
        now: Time,
        outgoing: impl FnMut(usize) -> Outgoing,
        events: &mut Vec<FieldEvent>,
    ) {
        let is_end = self.frames.iter().flatten().any(|frame| frame.ends == now);
        if is_end {
            self.end_frames(now, events);
        }
        let is_timeout = self.time_out(now, events);
        if !is_end && !is_timeout {
            self.start_frames(now, outgoing, events);
        }
    }

    fn end_frames(&mut self, now: Time, events: &mut Vec<FieldEvent>) {
        let mut ended: Vec<(FrameId, Frame)> = Vec::new();
        for (id, slot) in self.frames.iter_mut().enumerate() {
            ended.extend(slot.take_if(|frame| frame.ends == now).map(|frame| (id, frame)));
        }
        ended.sort_by_key(|(_, frame)| frame.from);
        self.touched.clear();
        for (id, frame) in ended {
            self.nodes[frame.from].end_sending();
            self.touched.push(frame.from);
            for index in 0..self.rows[frame.from].len() {
                let (node, power) = self.rows[frame.from][index];
                self.touched.push(node);
                match self.nodes[node].remove(id, power, now) {
                    Some(true) => self.decode(node, &frame, now, events),
                    Some(false) if node == frame.to => self.miss(node, &frame, now),
                    Some(false) | None => {}
                }
            }
        }
        for index in 0..self.touched.len() {
            self.nodes[self.touched[index]].review(&self.rules, now);
        }
    }

    /// `node` has decoded a frame.
    fn decode(&mut self, node: usize, frame: &Frame, now: Time, events: &mut Vec<FieldEvent>) {
        if node != frame.to {
            return self.nodes[node].set_nav(now + frame.duration);
        }
        match frame.kind {
            Kind::Rts if !self.nodes[node].has_nav(now) => self.owe(node, frame, Kind::Cts, now),
            Kind::Rts => {}
            Kind::Cts => {
                let is_awaited = self.nodes[node].waits.take_if(|wait| !wait.has_cts).is_some();
                if is_awaited {
                    self.owe(node, frame, Kind::Data, now);
                }
            }
            Kind::Data => {
                events.push(FieldEvent::Received(frame.from));
                self.owe(node, frame, Kind::Ack, now);
            }
            Kind::Ack => {
                self.nodes[node].waits = None;
                self.nodes[node].exchange = None;
                events.push(FieldEvent::Acknowledged(node));
            }
        }
    }

    /// `node` has not decoded a frame that is addressed to it: the outcome is known if it waits for that.
    fn miss(&mut self, node: usize, frame: &Frame, now: Time) {
        if let (Kind::Cts | Kind::Ack, Some(wait)) = (frame.kind, &mut self.nodes[node].waits) {
            wait.until = now;
        }
    }

    /// `node` answers `frame` by a frame of a kind, a SIFS after its end.
    fn owe(&mut self, node: usize, frame: &Frame, kind: Kind, now: Time) {
        let begins = now + self.rules.sifs;
        let exchange = match kind {
            Kind::Data => self.nodes[node].exchange,
            _ => self.nodes[frame.from].exchange,
        };
        let Some(Outgoing { ppdu, .. }) = exchange else { return };
        let control = &self.phy.control_frames[usize::from(ppdu.control)];
        let answer = match kind {
            Kind::Data => self.frame(kind, node, frame.from, ppdu.airtime, &ppdu.mode, begins),
            Kind::Cts => self.control(kind, node, frame.from, &control.cts, begins),
            Kind::Rts | Kind::Ack => self.control(kind, node, frame.from, &control.ack, begins),
        };
        let duration = frame.duration.saturating_sub(answer.ends - now);
        self.nodes[node].owes = Some((begins, Frame { duration, ..answer }));
    }

    fn control(&self, kind: Kind, from: usize, to: usize, control: &ControlFrame, begins: Time) -> Frame {
        self.frame(kind, from, to, control.duration, &control.mode, begins)
    }

    fn frame(&self, kind: Kind, from: usize, to: usize, airtime: Time, mode: &Mode, begins: Time) -> Frame {
        let (noise, threshold) = (self.rules.noise(mode), SinrThreshold::of_mode(mode));
        Frame { kind, from, to, ends: begins + airtime, duration: Time::ZERO, noise, threshold }
    }

    /// Handles timeouts; whether there were any.
    fn time_out(&mut self, now: Time, events: &mut Vec<FieldEvent>) -> bool {
        let mut is_any = false;
        for index in 0..self.nodes.len() {
            let node = &mut self.nodes[index];
            let Some(Wait { until, has_cts }) = node.waits else { continue };
            if until != now {
                continue;
            }
            is_any = true;
            let received = node.locked_to().and_then(|frame| self.frames[frame]);
            let response =
                received.filter(|frame| frame.to == index && matches!(frame.kind, Kind::Cts | Kind::Ack));
            if let Some(response) = response {
                node.waits = Some(Wait { until: response.ends, has_cts });
                continue;
            }
            node.waits = None;
            node.exchange = None;
            events.push(FieldEvent::Failed { node: index, has_cts });
        }
        is_any
    }

    fn start_frames(
        &mut self,
        now: Time,
        mut outgoing: impl FnMut(usize) -> Outgoing,
        events: &mut Vec<FieldEvent>,
    ) {
        let mut started: Vec<FrameId> = Vec::new();
        for index in 0..self.nodes.len() {
            let owed = self.nodes[index].owes.take_if(|(at, _)| *at == now);
            let frame = match owed {
                Some((_, frame)) => frame,
                None if self.nodes[index].access(&self.rules) == now => {
                    events.push(FieldEvent::Started(index));
                    self.win(index, outgoing(index), now)
                }
                None => continue,
            };
            started.push(self.put(frame));
        }
        self.touched.clear();
        for &id in &started {
            let frame = self.frames[id].expect("it has just started");
            self.nodes[frame.from].send(id, &self.rules, now);
            self.expect_response(&frame);
            for &(node, power) in &self.rows[frame.from] {
                self.nodes[node].add(power);
                self.touched.push(node);
            }
        }
        self.touched.sort_unstable();
        self.touched.dedup();
        for index in 0..self.touched.len() {
            let node = self.touched[index];
            if let Some((id, power)) = self.strongest(&started, node) {
                let frame = self.frames[id].expect("it has just started");
                self.nodes[node].detect(id, power, &frame, &self.rules);
            }
            self.nodes[node].sense(&self.rules, now);
        }
    }

    /// The strongest at `node` of frames that start together.
    fn strongest(&self, started: &[FrameId], node: usize) -> Option<(FrameId, Power)> {
        let heard = started.iter().filter_map(|&id| {
            let row = &self.rows[self.frames[id]?.from];
            let at = row.binary_search_by_key(&node, |&(node, _)| node).ok()?;
            Some((id, row[at].1))
        });
        heard.max_by_key(|&(_, power)| power)
    }

    /// The first frame of the exchange of a node that has won access.
    fn win(&mut self, node: usize, outgoing: Outgoing, now: Time) -> Frame {
        let Outgoing { to, ppdu } = outgoing;
        self.nodes[node].backoff.begin();
        self.nodes[node].exchange = Some(outgoing);
        if ppdu.with_rts {
            let control = usize::from(ppdu.control);
            let rts = &self.phy.control_frames[control].rts;
            let duration = self.waits[control].reservation - rts.duration + ppdu.airtime + ppdu.response;
            return Frame { duration, ..self.control(Kind::Rts, node, to, rts, now) };
        }
        let data = self.frame(Kind::Data, node, to, ppdu.airtime, &ppdu.mode, now);
        Frame { duration: ppdu.response, ..data }
    }

    /// The sender of an RTS or data frame waits for the response.
    fn expect_response(&mut self, frame: &Frame) {
        let Some(Outgoing { ppdu, .. }) = self.nodes[frame.from].exchange else { return };
        let waits = &self.waits[usize::from(ppdu.control)];
        let timeout = match frame.kind {
            Kind::Rts => waits.cts_timeout,
            Kind::Data => waits.ack_timeout,
            Kind::Cts | Kind::Ack => return,
        };
        let has_cts = frame.kind == Kind::Data && ppdu.with_rts;
        self.nodes[frame.from].waits = Some(Wait { until: frame.ends + timeout, has_cts });
    }

    fn put(&mut self, frame: Frame) -> FrameId {
        match self.frames.iter().position(Option::is_none) {
            Some(id) => {
                self.frames[id] = Some(frame);
                id
            }
            None => {
                self.frames.push(Some(frame));
                self.frames.len() - 1
            }
        }
    }
}
