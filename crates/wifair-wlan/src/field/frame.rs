//! Frames on the air of a field.

use wifair_core::Time;

use super::power::{Power, SinrThreshold};
use crate::ppdu::Ppdu;

/// A frame on the air: its place among them.
pub(super) type FrameId = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rts,
    Cts,
    Data,
    Ack,
}

/// A frame, from its start to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub kind: Kind,
    /// Places of transmitter and addressee among the nodes.
    pub from: usize,
    pub to: usize,
    pub ends: Time,
    /// Its Duration field: from its end to that of its exchange.
    pub duration: Time,
    pub noise: Power,
    pub threshold: SinrThreshold,
}

/// What a node sends when it wins access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    /// Place of the addressee among the nodes.
    pub to: usize,
    pub ppdu: Ppdu,
}
