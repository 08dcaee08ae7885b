//! Contending contenders, and where they count.

use wifair_core::{Rng, Time};

use super::rules::Access;
use crate::node::EdcafId;

/// Where a contender counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// On the grid; `counter` is the virtual slot at which it expires.
    OnGrid,
    /// On separate slots, from the origin of a contender off the grid; `counter` is the number of remaining slots.
    OffGrid,
    /// It transmits, or has transmitted in the current exchange; `counter` is the number of remaining slots, once drawn.
    OnAir,
}

/// It fills a cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Contender {
    pub backoff: Rng,
    pub counter: u64,
    /// The grid's epoch when the counter was drawn, if the contender's origin has not been reached since. Distinguishes a
    /// counter of zero that still waits for its origin from an expired one.
    pub drawn_in: u32,
    /// Link of its list in the wheel.
    pub next: EdcafId,
    /// Slots drawn because another start preceded the end of the IFS that this contender's frame waited for.
    pub drawn_late: u32,
    pub cw: u16,
    pub cw_min: u16,
    pub cw_max: u16,
    /// Index of its grid, from 0.
    pub grid: u8,
    pub position: Position,
    /// A frame waits for access.
    pub ready: bool,
}

impl Contender {
    /// An idle contender on the grid of that index, whose counter has expired.
    pub fn new(access: Access, backoff: Rng, grid: usize) -> Contender {
        Contender {
            backoff,
            counter: 0,
            drawn_in: 0,
            next: EdcafId::NONE,
            drawn_late: 0,
            cw: access.cw_min,
            cw_min: access.cw_min,
            cw_max: access.cw_max,
            grid: grid as u8,
            position: Position::OnGrid,
            ready: false,
        }
    }

    /// Doubles the window, up to CWmax.
    pub fn widen(&mut self) {
        self.cw = (2 * self.cw + 1).min(self.cw_max);
    }
}

/// A contender off the grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnOrigin {
    pub contender: EdcafId,
    pub origin: Time,
    /// It waits for a MAC ACK or CTS until then and ignores other transmissions.
    pub awaits_response_until: Time,
    /// State of its counter.
    pub state: CounterState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CounterState {
    /// It counts down.
    Counting,
    /// Its post-backoff had expired before it left the grid.
    Expired,
    /// Its packet arrived within an IFS with an expired counter: it transmits at the origin, or draws if another contender
    /// starts first.
    AwaitingOrigin,
}
