//! Starts of frames on the air of a field: who wins access, and who senses what (`docs/medium.md`, section 16).

use wifair_core::Time;

use super::frame::{ExchangeStep, FieldExchange, FieldFrame, FrameId, Outgoing};
use super::node::FieldNode;
use super::power::Power;
use super::{Field, FieldEvent};
use crate::node::{EdcafId, Node};

impl Field {
    /// Handles the starts of frames at `now`, all of them before any is sensed. `outgoing` as in [`Field::advance`].
    pub(super) fn start_frames(
        &mut self,
        now: Time,
        mut outgoing: impl FnMut(usize, EdcafId) -> Outgoing,
        events: &mut Vec<FieldEvent>,
    ) {
        let mut started = Vec::new();
        let mut due = self.nodes.first_due();
        due.append(&mut self.winners);
        due.sort_unstable();
        due.dedup();
        for index in due {
            let owed = self.nodes[index].owes.take_if(|(at, _)| *at == now).map(|(_, frame)| frame);
            let won = self.nodes[index].has_won.take();
            events.extend(won.map(FieldEvent::Started));
            let frame = owed
                .or_else(|| won.map(|sender| self.win(sender, outgoing(self.bss_of[index], sender), now)));
            started.extend(frame.map(|frame| self.put(frame)));
        }
        for &id in &started {
            let frame = self.frames[id].expect("it has just started");
            self.count_frame(frame.from, true, now);
            self.nodes[frame.from].send(id, &self.rules, now);
            self.expect_response(&frame);
            self.rows[frame.from].iter().for_each(|&(node, power)| self.nodes[node].add(power));
        }
        self.hear(&started, now);
        self.note_disturbances(&started, now);
        self.note_busy_access_points(now);
    }

    /// After all starts of an instant: each node that they reach locks to the strongest of them if it can, and senses.
    fn hear(&mut self, started: &[FrameId], now: Time) {
        self.touched.clear();
        if let [id] = *started {
            let frame = self.frames[id].expect("it has just started");
            for &(node, power) in &self.rows[frame.from] {
                self.touched.push(node);
                let node = &mut self.nodes[node];
                node.detect(id, power, &frame, &self.rules);
                node.sense(&self.rules, now);
            }
            return;
        }
        let reached = started.iter().filter_map(|&id| self.frames[id].as_ref());
        self.touched.extend(reached.flat_map(|frame| &self.rows[frame.from]).map(|&(node, _)| node));
        self.touched.sort_unstable();
        self.touched.dedup();
        for index in 0..self.touched.len() {
            let node = self.touched[index];
            if let Some((id, power)) = self.strongest(started, node) {
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

    /// Whether what is due at `now` are starts: no frame ends, and no wait.
    fn has_starts(&self, now: Time) -> bool {
        let times_out = |node: &usize| self.nodes[*node].times_out_at() == Some(now);
        self.next_end != now && !self.nodes.first_due().iter().any(times_out)
    }

    /// Determines who wins access at `now == due()`, if [`Field::advance`] is going to handle starts: of several channel access
    /// functions of a node the highest does. Returns the others, which lose an internal collision. For each of them
    /// [`Field::set_window`] and [`Field::go_on`] must follow.
    pub(crate) fn contend(&mut self, now: Time) -> Vec<EdcafId> {
        let mut losers = Vec::new();
        if !self.has_starts(now) {
            return losers;
        }
        for index in self.nodes.first_due() {
            if self.nodes[index].owes.as_ref().is_some_and(|(at, _)| *at == now) {
                continue;
            }
            let functions = self.numbering.of_node(Node::at(index));
            let mut due =
                functions.enumerate().filter(|(i, _)| self.nodes[index].access(*i, &self.rules) == now);
            let Some((_, winner)) = due.next() else { continue };
            losers.extend(due.map(|(_, loser)| loser));
            self.nodes[index].win(winner, &self.rules, now);
            self.winners.push(index);
        }
        self.nodes.settle(&self.rules);
        losers
    }

    /// The first frame of the exchange of `sender`, which has won access.
    fn win(&mut self, sender: EdcafId, outgoing: Outgoing, now: Time) -> FieldFrame {
        let exchange = self.open(sender, outgoing, now, now);
        let FieldExchange { to, ppdu, .. } = exchange;
        let (node, _) = self.place(sender);
        if ppdu.with_rts {
            let control = usize::from(ppdu.control);
            let rts = &self.phy.control_frames[control].rts;
            let duration = self.waits[control].reservation - rts.duration + ppdu.airtime + ppdu.response;
            return FieldFrame { duration, ..self.control(ExchangeStep::Rts, node, to, rts, now) };
        }
        self.data(&exchange, now)
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
        let FieldNode { exchange, waits_until, .. } = &mut self.nodes[frame.from];
        let Some(exchange) = exchange else { return };
        let waits = &self.waits[usize::from(exchange.ppdu.control)];
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
        self.next_end = self.next_end.min(frame.ends);
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
