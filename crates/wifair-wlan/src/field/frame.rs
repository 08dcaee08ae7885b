//! Frames on the air of a field.

use std::collections::VecDeque;

use wifair_core::Time;

use super::power::{Power, PowerRatio, SinrThreshold};
use crate::node::EdcafId;
use crate::phy::Mode;
use crate::ppdu::Ppdu;

/// A frame on the air: its place among them.
pub(super) type FrameId = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExchangeStep {
    Rts,
    Cts,
    Data,
    Ack,
    /// Of no exchange; its addressee is its transmitter.
    Beacon,
}

/// What has disturbed a frame at its addressee.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Disturbance {
    /// A frame that began at the same instant.
    pub same_start: bool,
    /// A frame of its BSS.
    pub by_own: bool,
}

/// A frame, from its start to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldFrame {
    pub kind: ExchangeStep,
    /// Number of its width, 20 MHz and its doubles.
    pub width: u8,
    /// The power that it is sent with, of its transmitter's; in a field with subchannels in each of them.
    pub ratio: PowerRatio,
    /// Whether it is a duplicate in each of its subchannels.
    pub is_duplicate: bool,
    /// The subchannels that it occupies; all, if the field has none.
    pub mask: u64,
    /// Places of transmitter and addressee among the nodes.
    pub from: usize,
    pub to: usize,
    pub begins: Time,
    pub ends: Time,
    /// End of its PHY header, if it is received MPDU by MPDU.
    pub header_ends: Option<Time>,
    /// When the colour of its BSS is read, or zero.
    pub colour_read_at: Time,
    /// Its Duration field: from its end to that of its exchange.
    pub duration: Time,
    /// When its exchange began.
    pub began: Time,
    pub noise: Power,
    pub threshold: SinrThreshold,
    /// What disturbs it at its addressee, for counters.
    pub disturbed: Disturbance,
}

impl FieldFrame {
    /// The node whose exchange it belongs to.
    pub(super) fn sender(&self) -> usize {
        if self.is_response() { self.to } else { self.from }
    }

    /// Whether it answers an RTS or data frame.
    pub(super) fn is_response(&self) -> bool {
        matches!(self.kind, ExchangeStep::Cts | ExchangeStep::Ack)
    }
}

/// What a channel access function sends when it wins access.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    /// Place of the addressee among the nodes.
    pub to: usize,
    pub ppdu: Ppdu,
    /// If it is received MPDU by MPDU: start and end of the symbols of each, from the start of the PPDU.
    pub mpdus: Vec<(Time, Time)>,
}

/// An exchange, from the access that its sender has won, or the end of the exchange before it in the TXOP, until the sender
/// knows the outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldExchange {
    pub sender: EdcafId,
    /// Place of the addressee among the nodes.
    pub to: usize,
    pub ppdu: Ppdu,
    /// Width, in MHz, of its next frame: that of the mode of its PPDU, unless the CTS has been narrower than the RTS.
    pub width_mhz: u16,
    /// When its TXOP began, and it.
    pub txop_began: Time,
    pub began: Time,
    /// End of the last frame that its sender has transmitted or received in it.
    pub ended: Time,
    /// End of the data frame, once that has begun.
    pub data_ends: Option<Time>,
    /// Whether the addressee has decoded the data frame.
    pub is_received: bool,
    /// Whether another exchange was on the air at the same time.
    pub overlaps: bool,
}

impl FieldExchange {
    /// Whether it follows another in its TXOP.
    pub(crate) fn follows(&self) -> bool {
        self.txop_began < self.began
    }

    /// The mode of its data frame, but for a CTS that has narrowed it.
    pub(super) fn mode(&self) -> Mode {
        Mode { width_mhz: self.width_mhz, ..self.ppdu.mode }
    }

    /// Whether an RTS is its first frame.
    pub(crate) fn has_rts(&self) -> bool {
        self.ppdu.with_rts && !self.follows()
    }

    /// Whether its CTS is narrower than its RTS, and its PPDU not yet in the mode of this width.
    pub(super) fn is_narrowed(&self) -> bool {
        self.width_mhz < self.ppdu.mode.width_mhz
    }

    /// Whether the addressee has answered its RTS.
    pub(crate) fn has_cts(&self) -> bool {
        self.has_rts() && self.data_ends.is_some()
    }
}

/// The frames on the air.
pub(super) struct FramesOnAir {
    /// By place. Those that have ended stay until another takes their place.
    frames: Vec<FieldFrame>,
    /// By place: when the frame ends; [`Time::MAX`] if there is none.
    ends: Vec<Time>,
    next_end: Time,
    /// Those whose colour has not been read: when it is, in order.
    colours: VecDeque<(Time, FrameId)>,
}

impl FramesOnAir {
    /// No frame.
    pub(super) fn new() -> FramesOnAir {
        FramesOnAir { frames: Vec::new(), ends: Vec::new(), next_end: Time::MAX, colours: VecDeque::new() }
    }

    /// When the first of them ends, or its colour is read; [`Time::MAX`] if there is none.
    pub(super) fn next_change(&self) -> Time {
        self.colours.front().map_or(self.next_end, |&(at, _)| at.min(self.next_end))
    }

    /// Puts a frame on the air.
    pub(super) fn put(&mut self, frame: FieldFrame) -> FrameId {
        self.next_end = self.next_end.min(frame.ends);
        let free = self.ends.iter().position(|ends| *ends == Time::MAX);
        let id = free.unwrap_or_else(|| {
            self.frames.push(frame);
            self.ends.push(Time::MAX);
            self.frames.len() - 1
        });
        (self.frames[id], self.ends[id]) = (frame, frame.ends);
        if frame.colour_read_at > Time::ZERO {
            self.colours.push_back((frame.colour_read_at, id));
        }
        id
    }

    /// Takes those that end at `now` off the air, into `ended`.
    pub(super) fn end(&mut self, now: Time, ended: &mut Vec<(FrameId, FieldFrame)>) {
        if self.next_end > now {
            return;
        }
        self.next_end = Time::MAX;
        for (id, ends) in self.ends.iter_mut().enumerate() {
            if *ends == now {
                *ends = Time::MAX;
                ended.push((id, self.frames[id]));
            }
            self.next_end = self.next_end.min(*ends);
        }
    }

    /// The next frame whose colour is read at `now`.
    pub(super) fn pop_colour(&mut self, now: Time) -> Option<FrameId> {
        let &(_, id) = self.colours.front().filter(|(at, _)| *at == now)?;
        self.colours.pop_front();
        Some(id)
    }

    /// The places of all frames.
    pub(super) fn ids(&self) -> impl Iterator<Item = FrameId> {
        self.places().filter(|&id| self.has(id))
    }

    /// All places, those without a frame included.
    pub(super) fn places(&self) -> std::ops::Range<FrameId> {
        0..self.ends.len()
    }

    /// Whether there is a frame in a place.
    pub(super) fn has(&self, id: FrameId) -> bool {
        self.ends[id] < Time::MAX
    }
}

impl std::ops::Index<FrameId> for FramesOnAir {
    type Output = FieldFrame;

    fn index(&self, id: FrameId) -> &FieldFrame {
        &self.frames[id]
    }
}

impl std::ops::IndexMut<FrameId> for FramesOnAir {
    fn index_mut(&mut self, id: FrameId) -> &mut FieldFrame {
        &mut self.frames[id]
    }
}
