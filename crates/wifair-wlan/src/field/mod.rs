//! The field: a medium on which each frame reaches each node with a power, and each node senses, receives and keeps a NAV for
//! itself (`docs/medium.md`, section 16). DCF or EDCA, single frames with or without RTS.
//!
//! A frame has four steps, each at its time: start, end, response due, outcome known. Under the shared medium
//! ([`crate::medium`]) the first decides all four. The field knows nodes by their place and frames by their durations; what
//! they carry is their owner's, which passes on what happened ([`FieldEvent`]).

mod access;
mod frame;
pub(crate) mod medium;
mod node;
mod occupancy;
mod power;
mod rules;
mod spec;
#[cfg(test)]
mod tests;

use wifair_core::{Rng, Time};

use crate::contention::Access;
use crate::mac::{Mac, Waits};
use crate::node::{EdcafId, Node, Numbering};
use crate::phy::Mode;
use crate::phy::timing::{BssTiming, ControlFrame};
use access::Backoff;
use frame::{ExchangeStep, FieldFrame, FrameId};
pub(crate) use frame::{FieldExchange, Outgoing};
use node::FieldNode;
use occupancy::{AirOccupancy, Occupied};
use power::{Power, SinrThreshold};
pub(crate) use rules::FieldRules;
pub use spec::{EifsAfter, FieldSpec, PairGain};
pub(crate) use spec::{NodeOfField, Rows};

/// What has happened to what a node sends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldEvent {
    /// It has won access.
    Started(EdcafId),
    /// It would have won access at the same instant as a higher category of its node. [`Field::set_window`] and
    /// [`Field::go_on`] must follow.
    LostInternally(EdcafId),
    /// The addressee has decoded its data frame.
    Received(FieldExchange),
    /// An exchange that `node` began with `to` has no further frame; for `alone` no other exchange was on the air. Its sender
    /// may know the outcome already.
    Ended { node: usize, to: usize, alone: Time },
    /// Its sender has decoded the ACK. [`Field::set_window`], and [`Field::go_on`] or [`Field::follow`], must follow.
    Acknowledged(FieldExchange),
    /// Its sender knows that no response came. [`Field::set_window`] and [`Field::go_on`] must follow.
    Failed(FieldExchange),
}

/// See the module documentation. Nodes are numbered through.
pub(crate) struct Field {
    rules: FieldRules,
    numbering: Numbering,
    phy: BssTiming,
    waits: Vec<Waits>,
    nodes: Vec<FieldNode>,
    /// By transmitter: the nodes that hear it, with the power, in order.
    rows: Rows,
    frames: Vec<Option<FieldFrame>>,
    occupancy: AirOccupancy,
    /// Nodes that an event of the instant has reached.
    touched: Vec<usize>,
}

impl Field {
    /// A silent field, whose `rows` say who hears a node with which power. The channel access functions come in the order of
    /// `numbering`.
    pub(crate) fn new(
        rules: FieldRules,
        numbering: Numbering,
        phy: BssTiming,
        mac: &Mac,
        mut functions: impl Iterator<Item = (Access, Rng)>,
        rows: Rows,
    ) -> Field {
        let own = |_: &_| FieldNode::new(functions.by_ref().take(numbering.per_node()));
        let nodes = rows.iter().map(own).collect();
        let waits = mac.waits.clone();
        Field {
            rules,
            numbering,
            phy,
            waits,
            nodes,
            rows,
            frames: Vec::new(),
            occupancy: AirOccupancy::default(),
            touched: Vec::new(),
        }
    }

    /// When [`Field::advance`] is due; [`Time::MAX`] if nothing is under way.
    pub(crate) fn due(&self) -> Time {
        let ends = self.frames.iter().flatten().map(|frame| frame.ends);
        ends.chain(self.nodes.iter().map(|node| node.due(&self.rules))).min().unwrap_or(Time::MAX)
    }

    /// Handles a packet that has arrived at `sender`, which has nothing in service.
    pub(crate) fn arrive(&mut self, sender: EdcafId, now: Time) {
        let (node, function) = self.place(sender);
        self.nodes[node].arrive(function, &self.rules, now);
    }

    /// Sets the CW for the next backoff of `sender`: CWmin, or a doubled window.
    pub(crate) fn set_window(&mut self, sender: EdcafId, resets: bool) {
        self.backoff_mut(sender).set_window(resets);
    }

    /// Lets `sender`, which knows the outcome of its exchange, contend with what it sends next, if there is `more`.
    pub(crate) fn go_on(&mut self, sender: EdcafId, more: bool) {
        let rules = self.rules.contention;
        self.backoff_mut(sender).go_on(&rules, more);
    }

    /// Lets `sender`, whose exchange has succeeded, continue its TXOP, which began at `txop_began`.
    pub(crate) fn follow(&mut self, sender: EdcafId, outgoing: Outgoing, txop_began: Time, now: Time) {
        let (node, _) = self.place(sender);
        let Outgoing { to, ppdu } = outgoing;
        self.open(sender, outgoing, txop_began, now);
        self.occupancy.begin(node, to, now);
        let begins = now + self.rules.sifs;
        let data = self.frame(ExchangeStep::Data, node, to, ppdu.airtime, &ppdu.mode, begins);
        self.nodes[node].owes = Some((begins, FieldFrame { duration: ppdu.response, began: now, ..data }));
    }

    /// Duration of a wait of `sender` for access that begins now: its IFS and its remaining whole slots.
    pub(crate) fn wait(&self, sender: EdcafId, now: Time) -> Time {
        let (node, function) = self.place(sender);
        self.nodes[node].wait(function, &self.rules, now)
    }

    /// Returns slots of `sender` that were drawn after its wait began.
    pub(crate) fn take_drawn_late(&mut self, sender: EdcafId) -> Time {
        let rules = self.rules.contention;
        self.backoff_mut(sender).take_drawn_late(&rules)
    }

    /// The node of a channel access function, and its place among those of the node.
    fn place(&self, sender: EdcafId) -> (usize, usize) {
        (self.numbering.node(sender).index(), self.numbering.place(sender))
    }

    fn backoff_mut(&mut self, sender: EdcafId) -> &mut Backoff {
        let (node, function) = self.place(sender);
        &mut self.nodes[node].backoffs[function]
    }

    /// Exchanges begun, those of one instant as one, and how many of these overlapped an earlier one or each other.
    pub(crate) fn begun(&self) -> (u64, u64) {
        self.occupancy.begun()
    }

    /// Until `now`: the time of overlapping exchanges, and for each exchange on the air sender, receiver and the time that it
    /// had for itself.
    pub(crate) fn occupied_until(&self, now: Time) -> (Time, impl Iterator<Item = (usize, usize, Time)>) {
        self.occupancy.until(now)
    }

    /// Whether `from` reaches `to` with a data frame in `mode` while no other node transmits.
    pub(crate) fn reaches(&self, from: usize, to: usize, mode: &Mode) -> bool {
        let Ok(at) = self.rows[from].binary_search_by_key(&to, |&(node, _)| node) else { return false };
        let (_, power) = self.rows[from][at];
        let noise = self.rules.noise(mode);
        power >= self.rules.preamble_detection
            && self.rules.preamble.max(SinrThreshold::of_mode(mode)).is_reached(power, noise, Power::ZERO)
    }

    /// Handles the first of what is due at `now == due()`: the ends of frames, timeouts, starts. `outgoing` says what a channel
    /// access function sends that has won access.
    pub(crate) fn advance(
        &mut self,
        now: Time,
        outgoing: impl FnMut(EdcafId) -> Outgoing,
        events: &mut Vec<FieldEvent>,
    ) {
        if self.frames.iter().flatten().any(|frame| frame.ends == now) {
            self.end_frames(now, events);
        } else if !self.time_out(now, events) {
            self.start_frames(now, outgoing, events);
        }
    }

    fn end_frames(&mut self, now: Time, events: &mut Vec<FieldEvent>) {
        let mut ended: Vec<(FrameId, FieldFrame)> = Vec::new();
        for (id, slot) in self.frames.iter_mut().enumerate() {
            ended.extend(slot.take_if(|frame| frame.ends == now).map(|frame| (id, frame)));
        }
        ended.sort_by_key(|(_, frame)| frame.from);
        self.touched.clear();
        for (id, frame) in ended {
            self.nodes[frame.from].end_sending();
            self.touched.push(frame.from);
            let mut is_answered = false;
            for index in 0..self.rows[frame.from].len() {
                let (node, power) = self.rows[frame.from][index];
                self.touched.push(node);
                match self.nodes[node].remove(id, power, now) {
                    Some(true) => is_answered |= self.decode(node, &frame, now, events),
                    Some(false) if node == frame.to => self.miss(node, &frame, now),
                    Some(false) | None => {}
                }
            }
            if !is_answered {
                self.end_exchange(frame.sender(), frame.began, now, events);
            }
            self.know_ack(&frame, events);
        }
        for index in 0..self.touched.len() {
            self.nodes[self.touched[index]].review(&self.rules, now);
        }
    }

    /// `node` has decoded a frame; whether it answers it.
    fn decode(&mut self, node: usize, frame: &FieldFrame, now: Time, events: &mut Vec<FieldEvent>) -> bool {
        if node != frame.to {
            self.nodes[node].set_nav(now + frame.duration);
            return false;
        }
        match frame.kind {
            ExchangeStep::Rts => {
                !self.nodes[node].has_nav(now) && self.owe(node, frame, ExchangeStep::Cts, now)
            }
            ExchangeStep::Cts => {
                self.take_response(node, frame, now) && self.owe(node, frame, ExchangeStep::Data, now)
            }
            ExchangeStep::Data => {
                let sender = &mut self.nodes[frame.from];
                if let Some(exchange) =
                    sender.exchange.as_mut().filter(|exchange| exchange.began == frame.began)
                {
                    exchange.is_received = true;
                    events.push(FieldEvent::Received(*exchange));
                }
                self.owe(node, frame, ExchangeStep::Ack, now)
            }
            ExchangeStep::Ack => {
                self.take_response(node, frame, now);
                false
            }
        }
    }

    /// `node` has decoded a response; whether it has waited for that.
    fn take_response(&mut self, node: usize, frame: &FieldFrame, now: Time) -> bool {
        let FieldNode { exchange, waits_until, .. } = &mut self.nodes[node];
        let Some(exchange) = exchange.as_mut().filter(|exchange| exchange.began == frame.began) else {
            return false;
        };
        exchange.ended = now;
        waits_until.take().is_some()
    }

    /// `node` has not decoded a frame that is addressed to it: the outcome is known if it waits for that.
    fn miss(&mut self, node: usize, frame: &FieldFrame, now: Time) {
        let FieldNode { exchange, waits_until, .. } = &mut self.nodes[node];
        if let (true, Some(until), Some(exchange)) = (frame.is_response(), waits_until, exchange) {
            *until = now;
            exchange.ended = now;
        }
    }

    /// No frame of the exchange of `node` that began at `began` follows.
    fn end_exchange(&mut self, node: usize, began: Time, now: Time, events: &mut Vec<FieldEvent>) {
        let Some(Occupied { to, alone, overlaps }) = self.occupancy.end(node, began, now) else { return };
        if let Some(exchange) = self.nodes[node].exchange.as_mut().filter(|exchange| exchange.began == began)
        {
            exchange.overlaps |= overlaps;
        }
        events.push(FieldEvent::Ended { node, to, alone });
    }

    /// The sender of an exchange knows that it has succeeded, if `frame` was the ACK that it has waited for.
    fn know_ack(&mut self, frame: &FieldFrame, events: &mut Vec<FieldEvent>) {
        let node = &mut self.nodes[frame.to];
        if frame.kind == ExchangeStep::Ack
            && node.waits_until.is_none()
            && let Some(exchange) = node.exchange.take_if(|exchange| exchange.began == frame.began)
        {
            events.push(FieldEvent::Acknowledged(exchange));
        }
    }

    /// `node` answers `frame` by a frame of a kind, a SIFS after its end; whether there is an exchange to answer.
    fn owe(&mut self, node: usize, frame: &FieldFrame, kind: ExchangeStep, now: Time) -> bool {
        let begins = now + self.rules.sifs;
        let exchange = self.nodes[frame.sender()].exchange.filter(|exchange| exchange.began == frame.began);
        let Some(FieldExchange { outgoing: Outgoing { ppdu, .. }, .. }) = exchange else { return false };
        let control = &self.phy.control_frames[usize::from(ppdu.control)];
        let answer = match kind {
            ExchangeStep::Data => self.frame(kind, node, frame.from, ppdu.airtime, &ppdu.mode, begins),
            ExchangeStep::Cts => self.control(kind, node, frame.from, &control.cts, begins),
            ExchangeStep::Rts | ExchangeStep::Ack => {
                self.control(kind, node, frame.from, &control.ack, begins)
            }
        };
        let duration = frame.duration.saturating_sub(answer.ends - now);
        self.nodes[node].owes = Some((begins, FieldFrame { duration, began: frame.began, ..answer }));
        true
    }

    fn control(
        &self,
        kind: ExchangeStep,
        from: usize,
        to: usize,
        control: &ControlFrame,
        begins: Time,
    ) -> FieldFrame {
        self.frame(kind, from, to, control.duration, &control.mode, begins)
    }

    fn frame(
        &self,
        kind: ExchangeStep,
        from: usize,
        to: usize,
        airtime: Time,
        mode: &Mode,
        begins: Time,
    ) -> FieldFrame {
        let (noise, threshold) = (self.rules.noise(mode), SinrThreshold::of_mode(mode));
        FieldFrame {
            kind,
            from,
            to,
            ends: begins + airtime,
            duration: Time::ZERO,
            began: begins,
            noise,
            threshold,
        }
    }

    /// Handles timeouts; whether there were any.
    fn time_out(&mut self, now: Time, events: &mut Vec<FieldEvent>) -> bool {
        let mut is_any = false;
        for index in 0..self.nodes.len() {
            let node = &mut self.nodes[index];
            if node.times_out_at() != Some(now) {
                continue;
            }
            is_any = true;
            let received = node.locked_to().and_then(|frame| self.frames[frame]);
            if let Some(response) = received.filter(|frame| frame.to == index && frame.is_response()) {
                node.waits_until = Some(response.ends);
                continue;
            }
            events.extend(node.exchange.take().map(FieldEvent::Failed));
        }
        is_any
    }

    fn start_frames(
        &mut self,
        now: Time,
        mut outgoing: impl FnMut(EdcafId) -> Outgoing,
        events: &mut Vec<FieldEvent>,
    ) {
        let mut started = Vec::new();
        for index in 0..self.nodes.len() {
            let owed = self.nodes[index].owes.take_if(|(at, _)| *at == now);
            let frame = match owed {
                Some((_, frame)) => Some(frame),
                None => self.contend(index, &mut outgoing, now, events),
            };
            started.extend(frame.map(|frame| self.put(frame)));
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

    /// The first frame of the exchange of a node, if one of its channel access functions wins access at `now`. Of several the
    /// highest does; the others lose an internal collision.
    fn contend(
        &mut self,
        node: usize,
        outgoing: &mut impl FnMut(EdcafId) -> Outgoing,
        now: Time,
        events: &mut Vec<FieldEvent>,
    ) -> Option<FieldFrame> {
        let mut winner = None;
        for (function, sender) in self.numbering.of_node(Node::at(node)).enumerate() {
            if self.nodes[node].access(function, &self.rules) != now {
                continue;
            }
            self.nodes[node].backoffs[function].begin();
            events.push(match winner {
                None => FieldEvent::Started(sender),
                Some(_) => FieldEvent::LostInternally(sender),
            });
            winner.get_or_insert(sender);
        }
        let sender = winner?;
        Some(self.win(sender, outgoing(sender), now))
    }

    /// The first frame of the exchange of `sender`, which has won access.
    fn win(&mut self, sender: EdcafId, outgoing: Outgoing, now: Time) -> FieldFrame {
        let (node, _) = self.place(sender);
        let Outgoing { to, ppdu } = outgoing;
        self.open(sender, outgoing, now, now);
        self.occupancy.begin(node, to, now);
        if ppdu.with_rts {
            let control = usize::from(ppdu.control);
            let rts = &self.phy.control_frames[control].rts;
            let duration = self.waits[control].reservation - rts.duration + ppdu.airtime + ppdu.response;
            return FieldFrame { duration, ..self.control(ExchangeStep::Rts, node, to, rts, now) };
        }
        let data = self.frame(ExchangeStep::Data, node, to, ppdu.airtime, &ppdu.mode, now);
        FieldFrame { duration: ppdu.response, ..data }
    }

    /// An exchange of `sender` begins.
    fn open(&mut self, sender: EdcafId, outgoing: Outgoing, txop_began: Time, now: Time) {
        let (node, _) = self.place(sender);
        self.nodes[node].exchange = Some(FieldExchange {
            sender,
            outgoing,
            txop_began,
            began: now,
            ended: now,
            data_ends: None,
            is_received: false,
            overlaps: false,
        });
    }

    /// The sender of an RTS or data frame waits for the response.
    fn expect_response(&mut self, frame: &FieldFrame) {
        let FieldNode { exchange, waits_until, .. } = &mut self.nodes[frame.from];
        let Some(exchange) = exchange else { return };
        let waits = &self.waits[usize::from(exchange.outgoing.ppdu.control)];
        let timeout = match frame.kind {
            ExchangeStep::Rts => waits.cts_timeout,
            ExchangeStep::Data => waits.ack_timeout,
            ExchangeStep::Cts | ExchangeStep::Ack => return,
        };
        exchange.ended = frame.ends;
        exchange.data_ends = (frame.kind == ExchangeStep::Data).then_some(frame.ends);
        *waits_until = Some(frame.ends + timeout);
    }

    fn put(&mut self, frame: FieldFrame) -> FrameId {
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
