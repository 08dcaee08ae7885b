//! Entities that count on separate slots (`docs/medium.md`, section 4): how they leave the grid, the effect of a transmission
//! on them, and how they return to the grid.

use wifair_core::Time;

use super::Contention;
use super::contender::{Contender, CounterState, OwnOrigin, Position};
use super::grid::{Grid, pick};
use super::rules::ContentionRules;
use crate::node::EdcafId;

/// The origin of a contender off the grid that awaits a response at the start of a transmission; it is known at the end.
const UNKNOWN: Time = Time::MAX;

impl Contention {
    /// Handles the contenders off the grid at the start of a transmission: some transmit, those that await a response stay, the
    /// others join the grid.
    #[inline]
    pub(super) fn gather(&mut self, now: Time) {
        let mut awaits_response = 0;
        for index in 0..self.off_grid.len() {
            let own_origin = self.off_grid[index];
            let e = &mut self.contenders[own_origin.contender.index()];
            if own_origin.awaits_response_until > now {
                self.off_grid[awaits_response] = OwnOrigin { origin: UNKNOWN, ..own_origin };
                awaits_response += 1;
            } else if e.ready && own_origin.origin + self.rules.slot * e.counter == now {
                e.position = Position::OnAir;
                self.transmitters.push(own_origin.contender);
            } else {
                let grid = pick(&mut self.first, &mut self.others, e.grid);
                join(&own_origin, e, grid, &self.rules, now);
            }
        }
        self.off_grid.truncate(awaits_response);
        self.awaits_response = awaits_response > 0;
    }

    /// Handles the contenders off the grid at the end of an exchange. Those that awaited a response at its start get their
    /// origin.
    #[cold]
    pub(super) fn release(&mut self, now: Time) {
        self.awaits_response = false;
        let mut off_grid = std::mem::take(&mut self.off_grid);
        off_grid.retain_mut(|own_origin| {
            if own_origin.origin == UNKNOWN {
                if own_origin.awaits_response_until <= now {
                    let e = &mut self.contenders[own_origin.contender.index()];
                    let grid = pick(&mut self.first, &mut self.others, e.grid);
                    join(own_origin, e, grid, &self.rules, now);
                    return false;
                }
                let grid = self.grid_of(&self.contenders[own_origin.contender.index()]);
                own_origin.origin = grid.origin.max(own_origin.awaits_response_until + grid.aifs);
            }
            true
        });
        self.off_grid = off_grid;
    }

    /// Moves a transmitter off the grid: it counts from an IFS after `from`, and waits for a response until its timeout.
    pub(crate) fn leave_grid(&mut self, contender: EdcafId, from: Time, awaits_response_until: Time) {
        let origin = from + self.aifs(contender);
        self.contenders[contender.index()].position = Position::OffGrid;
        self.off_grid.push(OwnOrigin {
            contender,
            origin,
            awaits_response_until,
            state: CounterState::Counting,
        });
    }

    /// Moves a contender that did not transmit off the grid: it counts from an IFS after `from`. This is the receiver of an
    /// undecodable frame, or a category of its sender.
    pub(crate) fn start_eifs(&mut self, contender: EdcafId, from: Time, now: Time) {
        let Grid { aifs, clock, .. } = *self.grid_of(&self.contenders[contender.index()]);
        let origin = from + aifs;
        if self.contenders[contender.index()].position == Position::OffGrid {
            // It awaited a response when this exchange began, but it has heard the end.
            let own_origin = self.own_origin_mut(contender);
            own_origin.origin = if own_origin.awaits_response_until > now {
                origin.max(own_origin.awaits_response_until + aifs)
            } else {
                origin
            };
            return;
        }
        let state = if self.run_out(contender, now) { CounterState::Expired } else { CounterState::Counting };
        let e = &mut self.contenders[contender.index()];
        let expiry = e.counter;
        e.counter = expiry.saturating_sub(clock);
        e.position = Position::OffGrid;
        if e.ready {
            self.unlink(contender, expiry);
        }
        self.off_grid.push(OwnOrigin { contender, origin, awaits_response_until: Time::ZERO, state });
    }

    /// Makes a category whose node has sent another's frame in vain wait until the node's timeout, like the sender.
    pub(crate) fn hold(&mut self, contender: EdcafId, from: Time, awaits_response_until: Time, now: Time) {
        self.start_eifs(contender, from, now);
        self.own_origin_mut(contender).awaits_response_until = awaits_response_until;
    }

    fn unlink(&mut self, contender: EdcafId, slot: u64) {
        let index = self.contenders[contender.index()].grid;
        let wheel = &mut pick(&mut self.first, &mut self.others, index).wheel;
        let mut other = wheel.take(slot);
        while other != EdcafId::NONE {
            let next = self.contenders[other.index()].next;
            if other != contender {
                self.contenders[other.index()].next = wheel.push(slot, other);
            }
            other = next;
        }
    }

    /// When the first contender off the grid that has a frame transmits.
    #[inline(never)]
    pub(super) fn first_stray(&self) -> Time {
        let ready =
            self.off_grid.iter().filter(|own_origin| self.contenders[own_origin.contender.index()].ready);
        ready.map(|own_origin| self.start_of(own_origin)).min().unwrap_or(Time::MAX)
    }

    pub(super) fn own_origin(&self, contender: EdcafId) -> &OwnOrigin {
        self.off_grid
            .iter()
            .find(|own_origin| own_origin.contender == contender)
            .expect("a contender aside has its own_origin")
    }

    pub(super) fn own_origin_mut(&mut self, contender: EdcafId) -> &mut OwnOrigin {
        self.off_grid
            .iter_mut()
            .find(|own_origin| own_origin.contender == contender)
            .expect("a contender aside has its own_origin")
    }

    /// When a contender off the grid transmits if the medium stays idle.
    #[inline]
    pub(super) fn start_of(&self, own_origin: &OwnOrigin) -> Time {
        own_origin.origin + self.rules.slot * self.contenders[own_origin.contender.index()].counter
    }
}

/// Moves a contender off the grid to the grid: at the start `now` of a transmission or, if it awaited a response then, at its
/// end.
#[inline(always)] // its second caller, a contender that awaited a response, at the end of an exchange, is rare
fn join(own_origin: &OwnOrigin, e: &mut Contender, grid: &mut Grid, rules: &ContentionRules, now: Time) {
    let ContentionRules { slot, at_boundaries, .. } = *rules;
    e.position = Position::OnGrid;
    e.drawn_in = grid.epoch;
    match own_origin.state {
        CounterState::AwaitingOrigin => {
            let drawn = e.backoff.below(rules.slots(e.cw));
            e.counter = grid.clock + u64::from(drawn);
            e.drawn_late += drawn;
        }
        CounterState::Counting if now < own_origin.origin => e.counter += grid.clock,
        CounterState::Counting if at_boundaries => {
            let steps = (now - own_origin.origin) / slot + 1;
            // A contender with no slots left has expired: the clock has passed it.
            e.counter = e.counter.checked_sub(steps).map_or(grid.clock - 1, |left| grid.clock + left);
        }
        CounterState::Counting => {
            e.counter = grid.clock + e.counter.saturating_sub((now - own_origin.origin) / slot);
            e.drawn_in = grid.epoch.wrapping_sub(1);
        }
        CounterState::Expired => {
            e.counter = grid.clock - u64::from(at_boundaries);
            e.drawn_in = grid.epoch.wrapping_sub(1);
        }
    }
    if e.ready {
        e.next = grid.wheel.push(e.counter, own_origin.contender); // the medium is busy, so no start is brought forward
    }
}
