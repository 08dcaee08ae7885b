//! Slots common to several contenders (`docs/medium.md`, section 4): a virtual clock that is stopped while the medium is busy,
//! and the expiries on it.

use wifair_core::Time;

use super::contender::{Contender, Position};
use super::rules::ContentionRules;
use crate::node::EdcafId;
use crate::wheel::Wheel;

/// The common slots of the contenders with the same IFS.
#[derive(Debug)]
pub(super) struct Grid {
    /// IFS of its contenders.
    pub aifs: Time,
    pub origin: Time,
    /// The virtual slot of the origin.
    pub clock: u64,
    /// Number of transmissions that started at or after the origin of their time.
    pub epoch: u32,
    pub wheel: Wheel,
    /// While idle, the virtual slot at which the next ready contender expires, and its time.
    pub slot: u64,
    pub start: Time,
}

impl Grid {
    pub fn new(aifs: Time) -> Grid {
        let (origin, start) = (Time::ZERO, Time::MAX);
        Grid { aifs, origin, clock: 0, epoch: 1, wheel: Wheel::new(), slot: 0, start }
    }

    /// When a virtual slot begins.
    #[inline]
    pub fn time_of(&self, slot: u64, length: Time) -> Time {
        self.origin + length * (slot - self.clock)
    }

    /// Finds the next start.
    #[inline]
    pub fn find_next(&mut self, slot: Time) -> Time {
        self.start = match self.wheel.next(self.clock) {
            Some(next) => {
                self.slot = next;
                self.time_of(next, slot)
            }
            None => Time::MAX,
        };
        self.start
    }

    /// Starts a transmission at `now`: counters freeze, and expired ones join the `transmitters`. Only a start off the grid
    /// needs a division.
    #[inline(always)] // the first has no other caller if there is only one
    pub fn begin(
        &mut self,
        now: Time,
        rules: &ContentionRules,
        contenders: &mut [Contender],
        transmitters: &mut Vec<EdcafId>,
    ) {
        if now == self.start {
            self.clock = self.slot;
            let mut contender = self.wheel.take(self.slot);
            while contender != EdcafId::NONE {
                transmitters.push(contender);
                let e = &mut contenders[contender.index()];
                e.position = Position::OnAir;
                contender = e.next;
            }
        } else if now >= self.origin {
            self.clock += (now - self.origin) / rules.slot;
        }
        if now >= self.origin {
            self.clock += u64::from(rules.at_boundaries);
            self.epoch = self.epoch.wrapping_add(1);
        }
    }
}

/// The grid of that index, from 0.
#[inline]
pub(super) fn pick<'a>(first: &'a mut Grid, others: &'a mut [Grid], index: u8) -> &'a mut Grid {
    if index == 0 { first } else { &mut others[usize::from(index) - 1] }
}
