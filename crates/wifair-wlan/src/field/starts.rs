//! Starts of frames on the air of a field: who wins access, and who senses what (`docs/medium.md`, section 16).

use wifair_core::Time;

use super::access::Backoff;
use super::frame::{ExchangeStep, FieldExchange, FieldFrame, Outgoing};
use super::node::FieldNode;
use super::noting::note;
use super::power::PowerRatio;
use super::subchannels::{LinkWidth, OperatingChannel, width_mhz_of};
use super::{Field, FieldEvent};
use crate::node::EdcafId;

impl Field {
    /// Handles the starts of frames at `now`, all of them before any is sensed. `outgoing` as in [`Field::advance`].
    pub(super) fn start_frames(
        &mut self,
        now: Time,
        mut outgoing: impl FnMut(usize, EdcafId, Option<u16>) -> Outgoing,
        events: &mut Vec<FieldEvent>,
    ) {
        let mut begun = std::mem::take(&mut self.begun);
        let mut due = std::mem::take(&mut self.due_nodes);
        due.clear();
        self.nodes.first_due(&mut due);
        due.append(&mut self.winners);
        due.sort_unstable();
        due.dedup();
        for &index in &due {
            let owed = self.nodes[index].owes.take_if(|(at, _)| *at == now).map(|(_, frame)| frame);
            let won = self.nodes[index].has_won.take();
            let frame = owed.or_else(|| match won? {
                place if self.numbering.is_of_beacons(place) => Some(self.send_beacon(index, now)),
                place => {
                    let sender = self.numbering.function(index, place);
                    events.push(FieldEvent::Started(sender));
                    let width_mhz = || width_mhz_of(self.nodes[index].subchannels);
                    let width_mhz = self.channels.is_some().then(width_mhz);
                    let outgoing = outgoing(self.bss_of[index], sender, width_mhz);
                    Some(self.win(sender, outgoing, now))
                }
            });
            begun.extend(frame.map(|frame| {
                let ratio = frame.ratio.reduced_to(self.ratio(&frame, now));
                FieldFrame { ratio, ..frame }
            }));
        }
        for frame in &begun {
            self.receivers.wake_addressees(frame, &self.frames, &self.rules);
        }
        let mut started = std::mem::take(&mut self.started);
        for frame in begun.drain(..) {
            started.push(self.frames.put(frame));
            self.count_frame(frame.from, true, now);
            self.expect_response(&frame);
            if self.journal.is_some() {
                note(self, &frame, None, vec![]);
            }
        }
        self.receivers.start(&started, &self.frames, &mut self.nodes, &self.rules, now);
        self.note_disturbances(&started, now);
        self.note_busy_access_points(now);
        started.clear();
        (self.started, self.begun, self.due_nodes) = (started, begun, due);
    }

    /// Whether what is due at `now` are starts: no frame ends, and no wait of the nodes that are `due`.
    fn has_starts(&self, due: &[usize], now: Time) -> bool {
        let times_out = |node: &usize| self.times_out_at(*node) == Some(now);
        self.frames.next_change() != now && !due.iter().any(times_out)
    }

    /// Determines who wins access at `now == due()`, if [`Field::advance`] is going to handle starts: of several channel access
    /// functions of a node the highest does. Returns the others, which lose an internal collision. For each of them
    /// [`Field::set_window`] and [`Field::go_on`] must follow. In a field with subchannels `width` says how wide the exchange
    /// is that a channel access function of a BSS wants to begin.
    pub(crate) fn contend(&mut self, now: Time, width: impl Fn(usize, EdcafId) -> LinkWidth) -> Vec<EdcafId> {
        let mut losers = Vec::new();
        let mut due = std::mem::take(&mut self.due_nodes);
        due.clear();
        if self.nodes.due() == now {
            self.nodes.first_due(&mut due);
        }
        if self.has_starts(&due, now) {
            due.iter().for_each(|&node| self.contend_at(node, &width, &mut losers, now));
            self.settle();
        }
        self.due_nodes = due;
        losers
    }

    /// Determines which of its channel access functions wins access at a node that is due; the `losers` are the others.
    fn contend_at(
        &mut self,
        index: usize,
        width: &impl Fn(usize, EdcafId) -> LinkWidth,
        losers: &mut Vec<EdcafId>,
        now: Time,
    ) {
        let is_busy = self.receivers.is_physically_busy(index);
        let node = &self.nodes[index];
        if is_busy || node.owes.as_ref().is_some_and(|(at, _)| *at == now) {
            return;
        }
        let is_due = |place: &usize| node.backoffs[*place].start(&self.rules.contention) == now;
        let per_node = self.numbering.per_node();
        let mut due = (per_node..node.backoffs.len()).chain(0..per_node).filter(is_due);
        let Some(winner) = due.next() else { return };
        losers.extend(due.map(|place| self.numbering.function(index, place)));
        let looks_at_secondaries = self.channels.is_some() && !self.numbering.is_of_beacons(winner);
        if looks_at_secondaries && !self.finds_subchannels(index, winner, width, now) {
            return;
        }
        let FieldNode { backoffs, has_won, .. } = &mut self.nodes[index];
        let due = backoffs.iter_mut().filter(|backoff| backoff.start(&self.rules.contention) == now);
        due.for_each(Backoff::begin);
        *has_won = Some(winner);
        self.receivers.become_busy(index, &mut self.nodes, &self.rules, now);
        self.winners.push(index);
    }

    /// What the exchange may occupy that a node begins which has won access with its function at `place`: whether it may begin.
    /// Otherwise it draws a new backoff.
    fn finds_subchannels(
        &mut self,
        index: usize,
        place: usize,
        width: &impl Fn(usize, EdcafId) -> LinkWidth,
        now: Time,
    ) -> bool {
        let bss = self.bss_of[index];
        let wanted = width(bss, self.numbering.function(index, place));
        let found = self.receivers.subchannels(index, wanted, now);
        let rules = self.rules.contention;
        let FieldNode { backoffs, subchannels, .. } = &mut self.nodes[index];
        let Some(found) = found else {
            for backoff in backoffs.iter_mut().filter(|backoff| backoff.start(&rules) == now) {
                backoff.begin();
                backoff.wait_for_boundary(&rules, now);
            }
            backoffs[place].restart(&rules);
            return false;
        };
        *subchannels = found;
        let is_part = |channels: &Vec<OperatingChannel>| channels[bss].is_part(found);
        let is_punctured = !self.channels.as_ref().is_some_and(is_part);
        self.meters[bss].usage.punctured += u64::from(is_punctured);
        true
    }

    /// The power that a frame is sent with which begins at `now`, of its transmitter's.
    fn ratio(&self, frame: &FieldFrame, now: Time) -> PowerRatio {
        let in_txop = self.nodes[frame.from].reuses && !frame.is_response();
        match in_txop || self.receivers.can_reuse(frame.from, now) {
            true => self.receivers.reuse().ratio(frame.from),
            false => PowerRatio::WHOLE,
        }
    }

    /// The first frame of the exchange of `sender`, which has won access.
    fn win(&mut self, sender: EdcafId, outgoing: Outgoing, now: Time) -> FieldFrame {
        let exchange = self.open(sender, outgoing, now, now);
        let FieldExchange { to, ppdu, .. } = exchange;
        let (node, _) = self.place(sender);
        self.take_opportunity(node, now);
        if ppdu.with_rts {
            let control = usize::from(ppdu.control);
            let rts = &self.phy.control_frames[control].rts;
            let duration = self.waits[control].reservation - rts.duration + ppdu.airtime + ppdu.response;
            return FieldFrame {
                duration,
                ..self.control(ExchangeStep::Rts, (node, to), rts, &exchange, now)
            };
        }
        self.data(&exchange, now)
    }

    /// A node that wins access uses its spatial reuse opportunity, if it has one.
    pub(super) fn take_opportunity(&mut self, node: usize, now: Time) {
        let reuses = self.receivers.can_reuse(node, now);
        self.nodes[node].reuses = reuses;
        self.meters[self.bss_of[node]].usage.spatial_reuses += u64::from(reuses);
    }

    /// An exchange of `sender` begins.
    pub(super) fn open(
        &mut self,
        sender: EdcafId,
        outgoing: Outgoing,
        txop_began: Time,
        now: Time,
    ) -> FieldExchange {
        let Outgoing { to, ppdu, mpdus } = outgoing;
        let (node, _) = self.place(sender);
        self.occupancies[self.bss_of[node]].begin(node, to, now);
        self.nodes[node].mpdus = mpdus;
        self.nodes[node].decoded.clear();
        *self.nodes[node].exchange.insert(FieldExchange {
            sender,
            to,
            ppdu,
            width_mhz: ppdu.mode.width_mhz,
            txop_began,
            began: now,
            ended: now,
            data_ends: None,
            is_received: false,
            overlaps: false,
        })
    }

    /// The sender of an RTS or data frame waits for the response.
    fn expect_response(&mut self, frame: &FieldFrame) {
        let FieldNode { exchange, .. } = &mut self.nodes[frame.from];
        let Some(exchange) = exchange else { return };
        let waits = &self.waits[usize::from(exchange.ppdu.control)];
        let timeout = match frame.kind {
            ExchangeStep::Rts => waits.cts_timeout,
            ExchangeStep::Data => waits.ack_timeout,
            ExchangeStep::Cts | ExchangeStep::Ack | ExchangeStep::Beacon => return,
        };
        exchange.ended = frame.ends;
        exchange.data_ends = (frame.kind == ExchangeStep::Data).then_some(frame.ends);
        *self.receivers.waits_until_mut(frame.from) = Some(frame.ends + timeout);
    }
}
