//! Ends of frames on the air of a field: who decodes them, and what follows from that (`docs/medium.md`, section 16).

use wifair_core::Time;

use super::frame::{ExchangeStep, FieldExchange, FieldFrame};
use super::journal::FieldReception;
use super::node::FieldNode;
use super::noting::note;
use super::occupancy::Occupied;
use super::subchannels::width_mhz_of;
use super::{Field, FieldEvent};
use crate::phy::Format;

impl Field {
    /// Handles the ends of frames at `now`, and the colours that are read, all of them before any node's CCA is judged.
    pub(super) fn end_frames(&mut self, now: Time, events: &mut Vec<FieldEvent>) {
        let mut ended = std::mem::take(&mut self.ended);
        self.frames.end(now, &mut ended);
        ended.sort_unstable_by_key(|(_, frame)| frame.from);
        self.receivers.begin_ends();
        for (id, frame) in ended.drain(..) {
            self.count_frame(frame.from, false, now);
            let heard = match &self.journal {
                Some(_) => self.receivers.heard(id, &frame, &self.nodes[frame.from].mpdus),
                None => Vec::new(),
            };
            let FieldNode { mpdus, decoded, .. } = &mut self.nodes[frame.from];
            let is_decoded = self.receivers.end(id, &frame, mpdus, decoded);
            if frame.kind == ExchangeStep::Beacon {
                self.end_beacon(&frame, heard, now, events);
                continue;
            }
            let is_answered = is_decoded == Some(true) && self.decode(&frame, now, events);
            if is_decoded == Some(false) {
                self.miss(frame.to, &frame, now);
            }
            let is_decoded = is_decoded == Some(true);
            let is_unanswered = is_decoded && !is_answered && frame.kind == ExchangeStep::Rts;
            self.count_reception(&frame, is_decoded);
            if is_unanswered {
                self.count_unanswered(&frame);
            }
            if self.journal.is_some() {
                let has_same_start = frame.disturbed.same_start;
                let reception = FieldReception { is_decoded, is_unanswered, has_same_start };
                note(self, &frame, Some(reception), heard);
            }
            if !is_answered {
                self.end_exchange(frame.sender(), frame.began, now, events);
            }
            self.know_ack(&frame, events);
        }
        self.ended = ended;
        while let Some(id) = self.frames.pop_colour(now) {
            self.receivers.read_colour(id, &self.frames[id]);
        }
        self.receivers.review(&self.frames, &mut self.nodes, &self.rules, now);
        self.note_busy_access_points(now);
    }

    /// The addressee of `frame` has decoded it; whether it answers it.
    fn decode(&mut self, frame: &FieldFrame, now: Time, events: &mut Vec<FieldEvent>) -> bool {
        let node = frame.to;
        match frame.kind {
            ExchangeStep::Rts => {
                !self.receivers.has_nav(node, now)
                    && self.nodes[node].owes.is_none()
                    && self.finds_width_of_answer(node, frame)
                    && self.owe(node, frame, ExchangeStep::Cts, now)
            }
            ExchangeStep::Cts => {
                let has_waited = self.take_response(node, frame, now);
                has_waited && self.owe(node, frame, ExchangeStep::Data, now) && {
                    let exchange = self.nodes[node].exchange.filter(FieldExchange::is_narrowed);
                    events.extend(exchange.map(FieldEvent::Narrowed));
                    true
                }
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
            ExchangeStep::Beacon => false,
        }
    }

    /// Whether the secondary channels of an RTS allow its addressee, which has decoded it, to answer. From then on the exchange
    /// has the width of the answer.
    fn finds_width_of_answer(&mut self, node: usize, rts: &FieldFrame) -> bool {
        let of_rts = |exchange: &&mut FieldExchange| exchange.began == rts.began;
        let Some(exchange) = self.nodes[rts.from].exchange.as_mut().filter(of_rts) else { return false };
        if exchange.ppdu.mode.format < Format::Vht {
            return true;
        }
        let Some(subchannels) = self.receivers.answer(node, rts.mask) else { return false };
        if subchannels != rts.mask {
            exchange.width_mhz = width_mhz_of(subchannels);
            self.nodes[rts.from].subchannels = subchannels;
            self.meters[self.bss_of[node]].usage.narrow_cts += 1;
        }
        true
    }

    /// `node` has decoded a response; whether it has waited for that.
    fn take_response(&mut self, node: usize, frame: &FieldFrame, now: Time) -> bool {
        let FieldNode { exchange, .. } = &mut self.nodes[node];
        let waits_until = self.receivers.waits_until_mut(node);
        let Some(exchange) = exchange.as_mut().filter(|exchange| exchange.began == frame.began) else {
            return false;
        };
        exchange.ended = now;
        waits_until.take().is_some()
    }

    /// `node` has not decoded a frame that is addressed to it: the outcome is known if it waits for that.
    fn miss(&mut self, node: usize, frame: &FieldFrame, now: Time) {
        let FieldNode { exchange, .. } = &mut self.nodes[node];
        let waits_until = self.receivers.waits_until_mut(node);
        if let (true, Some(until), Some(exchange)) = (frame.is_response(), waits_until, exchange) {
            *until = now;
            exchange.ended = now;
        }
    }

    /// No frame of the exchange of `node` that began at `began` follows.
    fn end_exchange(&mut self, node: usize, began: Time, now: Time, events: &mut Vec<FieldEvent>) {
        let occupancy = &mut self.occupancies[self.bss_of[node]];
        let Some(Occupied { to, alone, overlaps }) = occupancy.end(node, began, now) else { return };
        if let Some(exchange) = self.nodes[node].exchange.as_mut().filter(|exchange| exchange.began == began)
        {
            exchange.overlaps |= overlaps;
        }
        events.push(FieldEvent::Ended { node, to, alone });
    }

    /// The sender of an exchange knows that it has succeeded, if `frame` was the ACK that it has waited for.
    fn know_ack(&mut self, frame: &FieldFrame, events: &mut Vec<FieldEvent>) {
        if frame.kind == ExchangeStep::Ack
            && self.receivers.waits_until(frame.to).is_none()
            && let Some(exchange) =
                self.nodes[frame.to].exchange.take_if(|exchange| exchange.began == frame.began)
        {
            events.push(FieldEvent::Acknowledged(exchange));
        }
    }
}
