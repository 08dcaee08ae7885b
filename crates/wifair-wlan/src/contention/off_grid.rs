//! Entities that count on separate slots (`docs/medium.md`, section 4): how they leave the grid, the effect of a transmission
//! on them, and how they return to the grid.

use wifair_core::Time;

use super::Contention;
use super::entity::{Entity, Kind, Place, Stray};
use super::grid::{Grid, pick};
use super::rules::Rules;
use crate::node::EdcafId;

/// The origin of an entity off the grid that is deaf at the start of a transmission; it is known at the end.
const UNKNOWN: Time = Time::MAX;

impl Contention {
    /// Handles the entities off the grid at the start of a transmission: some transmit, the deaf ones stay, the others join the
    /// grid.
    #[inline]
    pub(super) fn gather(&mut self, now: Time) {
        let mut deaf = 0;
        for index in 0..self.strays.len() {
            let stray = self.strays[index];
            let e = &mut self.entities[stray.entity.index()];
            if stray.deaf_until > now {
                self.strays[deaf] = Stray { origin: UNKNOWN, ..stray };
                deaf += 1;
            } else if e.ready && stray.origin + self.rules.slot * e.counter == now {
                e.place = Place::OnAir;
                self.transmitters.push(stray.entity);
            } else {
                let grid = pick(&mut self.first, &mut self.others, e.grid);
                join(&stray, e, grid, &self.rules, now);
            }
        }
        self.strays.truncate(deaf);
        self.deaf = deaf > 0;
    }

    /// Handles the entities off the grid at the end of an exchange. Those that were deaf at its start get their origin.
    #[cold]
    pub(super) fn release(&mut self, now: Time) {
        self.deaf = false;
        let mut strays = std::mem::take(&mut self.strays);
        strays.retain_mut(|stray| {
            if stray.origin == UNKNOWN {
                if stray.deaf_until <= now {
                    let e = &mut self.entities[stray.entity.index()];
                    let grid = pick(&mut self.first, &mut self.others, e.grid);
                    join(stray, e, grid, &self.rules, now);
                    return false;
                }
                let grid = self.grid_of(&self.entities[stray.entity.index()]);
                stray.origin = grid.origin.max(stray.deaf_until + grid.aifs);
            }
            true
        });
        self.strays = strays;
    }

    /// Moves a transmitter off the grid: it counts from an IFS after `from`, and is deaf until its timeout.
    pub(crate) fn set_aside(&mut self, entity: EdcafId, from: Time, deaf_until: Time) {
        let origin = from + self.aifs(entity);
        self.entities[entity.index()].place = Place::Aside;
        self.strays.push(Stray { entity, origin, deaf_until, kind: Kind::Counting });
    }

    /// Moves an entity that did not transmit off the grid: it counts from an IFS after `from`. This is the receiver of an
    /// undecodable frame, or a category of its sender.
    pub(crate) fn divert(&mut self, entity: EdcafId, from: Time, now: Time) {
        let Grid { aifs, clock, .. } = *self.grid_of(&self.entities[entity.index()]);
        let origin = from + aifs;
        if self.entities[entity.index()].place == Place::Aside {
            // It was deaf when this exchange began, but it has heard the end.
            let stray = self.stray_mut(entity);
            stray.origin = if stray.deaf_until > now { origin.max(stray.deaf_until + aifs) } else { origin };
            return;
        }
        let kind = if self.run_out(entity, now) { Kind::Spent } else { Kind::Counting };
        let e = &mut self.entities[entity.index()];
        let expiry = e.counter;
        e.counter = expiry.saturating_sub(clock);
        e.place = Place::Aside;
        if e.ready {
            self.unlink(entity, expiry);
        }
        self.strays.push(Stray { entity, origin, deaf_until: Time::ZERO, kind });
    }

    /// Makes a category whose node has sent another's frame in vain deaf until the node's timeout, like the sender.
    pub(crate) fn hold(&mut self, entity: EdcafId, from: Time, deaf_until: Time, now: Time) {
        self.divert(entity, from, now);
        self.stray_mut(entity).deaf_until = deaf_until;
    }

    fn unlink(&mut self, entity: EdcafId, slot: u64) {
        let index = self.entities[entity.index()].grid;
        let wheel = &mut pick(&mut self.first, &mut self.others, index).wheel;
        let mut other = wheel.take(slot);
        while other != EdcafId::NONE {
            let next = self.entities[other.index()].next;
            if other != entity {
                self.entities[other.index()].next = wheel.push(slot, other);
            }
            other = next;
        }
    }

    /// When the first entity off the grid that has a frame transmits.
    #[inline(never)]
    pub(super) fn first_stray(&self) -> Time {
        let ready = self.strays.iter().filter(|stray| self.entities[stray.entity.index()].ready);
        ready.map(|stray| self.start_of(stray)).min().unwrap_or(Time::MAX)
    }

    pub(super) fn stray(&self, entity: EdcafId) -> &Stray {
        self.strays.iter().find(|stray| stray.entity == entity).expect("an entity aside has its stray")
    }

    pub(super) fn stray_mut(&mut self, entity: EdcafId) -> &mut Stray {
        self.strays.iter_mut().find(|stray| stray.entity == entity).expect("an entity aside has its stray")
    }

    /// When an entity off the grid transmits if the medium stays idle.
    #[inline]
    pub(super) fn start_of(&self, stray: &Stray) -> Time {
        stray.origin + self.rules.slot * self.entities[stray.entity.index()].counter
    }
}

/// Moves an entity off the grid to the grid: at the start `now` of a transmission or, if it was deaf then, at its end.
#[inline(always)] // its second caller, a deaf entity off the grid at the end of an exchange, is rare
fn join(stray: &Stray, e: &mut Entity, grid: &mut Grid, rules: &Rules, now: Time) {
    let Rules { slot, at_boundaries, .. } = *rules;
    e.place = Place::Grid;
    e.drawn_in = grid.epoch;
    match stray.kind {
        Kind::Waiting => {
            let drawn = e.backoff.below(rules.slots(e.cw));
            e.counter = grid.clock + u64::from(drawn);
            e.drawn_late += drawn;
        }
        Kind::Counting if now < stray.origin => e.counter += grid.clock,
        Kind::Counting if at_boundaries => {
            let steps = (now - stray.origin) / slot + 1;
            // An entity with no slots left has expired: the clock has passed it.
            e.counter = e.counter.checked_sub(steps).map_or(grid.clock - 1, |left| grid.clock + left);
        }
        Kind::Counting => {
            e.counter = grid.clock + e.counter.saturating_sub((now - stray.origin) / slot);
            e.drawn_in = grid.epoch.wrapping_sub(1);
        }
        Kind::Spent => {
            e.counter = grid.clock - u64::from(at_boundaries);
            e.drawn_in = grid.epoch.wrapping_sub(1);
        }
    }
    if e.ready {
        e.next = grid.wheel.push(e.counter, stray.entity); // the medium is busy, so no start is brought forward
    }
}
