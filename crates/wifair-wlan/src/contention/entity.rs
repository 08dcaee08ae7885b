//! What contends, and where it counts.

use wifair_core::{Rng, Time};

/// Where an entity counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On the grid; `counter` is the virtual slot at which it expires.
    Grid,
    /// On slots of its own, from an entity off the grid's origin; `counter` is what is left.
    Aside,
    /// It transmits, or has transmitted in the exchange that goes on; `counter` is what is left, once drawn.
    OnAir,
}

#[derive(Debug)]
pub(super) struct Entity {
    pub backoff: Rng,
    pub counter: u64,
    /// The grid's epoch when the counter was drawn, if the entity's origin has not been reached since: tells a
    /// counter of zero that still waits for its origin from one that has run out.
    pub drawn_in: u32,
    /// Link of its list in the wheel.
    pub next: u32,
    /// Slots drawn when another's start came before the end of the IFS that this one's frame waited for.
    pub drawn_late: u32,
    pub cw: u16,
    pub cw_min: u16,
    pub cw_max: u16,
    /// Which grid: the first is 0.
    pub grid: u8,
    pub place: Place,
    /// A frame waits for access.
    pub ready: bool,
}

impl Entity {
    /// Twice the window, up to CWmax.
    pub fn widen(&mut self) {
        self.cw = (2 * self.cw + 1).min(self.cw_max);
    }
}

/// An entity off the grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stray {
    pub entity: u32,
    pub origin: Time,
    /// It waits for a MAC ACK or CTS until then, whatever else starts meanwhile.
    pub deaf_until: Time,
    /// What its counter is worth.
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It counts down.
    Counting,
    /// Its post-backoff had run out before it came here.
    Spent,
    /// Its packet came within an IFS at a spent counter: transmits at the origin, or draws if somebody is first.
    Waiting,
}
