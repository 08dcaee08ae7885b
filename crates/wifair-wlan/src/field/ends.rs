//! Ends of frames on the air of a field: who decodes them, and what follows from that (`docs/medium.md`, section 16).

use wifair_core::Time;

use super::frame::{ExchangeStep, FieldFrame, FrameId};
use super::node::{FieldNode, Lock};
use super::occupancy::Occupied;
use super::{Field, FieldEvent};

impl Field {
    /// Handles the ends of frames at `now`, all of them before any node's CCA is judged.
    pub(super) fn end_frames(&mut self, now: Time, events: &mut Vec<FieldEvent>) {
        let mut ended: Vec<(FrameId, FieldFrame)> = Vec::new();
        self.next_end = Time::MAX;
        for (id, slot) in self.frames.iter_mut().enumerate() {
            ended.extend(slot.take_if(|frame| frame.ends == now).map(|frame| (id, frame)));
            self.next_end = slot.as_ref().map_or(self.next_end, |frame| frame.ends.min(self.next_end));
        }
        ended.sort_by_key(|(_, frame)| frame.from);
        self.touched.clear();
        for (id, frame) in ended {
            self.nodes[frame.from].end_sending();
            self.touched.push(frame.from);
            self.count_frame(frame.from, false, now);
            let (mut is_answered, mut is_decoded) = (false, false);
            for index in 0..self.rows[frame.from].len() {
                let (node, power) = self.rows[frame.from][index];
                self.touched.push(node);
                let Some(lock) = self.nodes[node].remove(id, power) else { continue };
                match self.receive(node, &frame, &lock, now) {
                    true => {
                        is_decoded |= node == frame.to;
                        is_answered |= self.decode(node, &frame, now, events);
                    }
                    false if node == frame.to => self.miss(node, &frame, now),
                    false => {}
                }
            }
            self.count_reception(&frame, is_decoded);
            if is_decoded && !is_answered {
                self.count_unanswered(&frame);
            }
            if !is_answered {
                self.end_exchange(frame.sender(), frame.began, now, events);
            }
            self.know_ack(&frame, events);
        }
        for index in 0..self.touched.len() {
            self.nodes[self.touched[index]].review(&self.rules, now);
        }
        self.note_busy_access_points(now);
    }

    /// A frame that `node` was locked to has ended. Returns whether it is decoded.
    fn receive(&mut self, node: usize, frame: &FieldFrame, lock: &Lock, now: Time) -> bool {
        let mut is_decoded = lock.is_decoded(frame.begins, now);
        if frame.header_ends.is_some() {
            let at =
                |(begins, ends): &(Time, Time)| lock.is_decoded(frame.begins + *begins, frame.begins + *ends);
            let decoded: Vec<bool> = self.nodes[frame.from].mpdus.iter().map(at).collect();
            is_decoded = decoded.contains(&true);
            if node == frame.to {
                self.nodes[frame.from].decoded = decoded;
            }
        }
        self.nodes[node].end_lock(is_decoded, now);
        is_decoded
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
        let node = &mut self.nodes[frame.to];
        if frame.kind == ExchangeStep::Ack
            && node.waits_until.is_none()
            && let Some(exchange) = node.exchange.take_if(|exchange| exchange.began == frame.began)
        {
            events.push(FieldEvent::Acknowledged(exchange));
        }
    }
}
