//! Contention for the medium: who transmits when (`docs/medium.md`, sections 4 and 5; 802.11-2020, 10.3.4).
//!
//! Most entities count on one common *grid*: slots from one origin, on a virtual clock that stands still while the
//! medium is busy, so that an entity's expiry is written once, when it draws. Entities whose slots start elsewhere
//! (after a collision, an error, an access off the grid) are *entities off the grid* until the next transmission starts, when they
//! join the grid with the slots that they have left. A post-backoff is an expiry that nobody waits for.
//!
//! An entity is a dense index: under DCF a node, under EDCA a category of a node (section 10). DCF has one grid, so its
//! usual path knows where it is; EDCA has one more for each distinct AIFS, and leaves DCF's empty.

mod grid;
mod off_grid;
mod rules;

use wifair_core::{Rng, Time};

use crate::wheel::NONE;
use grid::{Grid, pick};
use off_grid::{Kind, Stray};
pub(crate) use rules::{Access, Rules};
pub use rules::{ArrivalWithinIfs, BackoffRange};

/// Where an entity counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On the grid; `counter` is the virtual slot at which it expires.
    Grid,
    /// On slots of its own, from an entity off the grid's origin; `counter` is what is left.
    Aside,
    /// It transmits, or has transmitted in the exchange that goes on; `counter` is what is left, once drawn.
    OnAir,
}

#[derive(Debug)]
struct Entity {
    backoff: Rng,
    counter: u64,
    /// The grid's epoch when the counter was drawn, if the entity's origin has not been reached since: tells a
    /// counter of zero that still waits for its origin from one that has run out.
    drawn_in: u32,
    /// Link of its list in the wheel.
    next: u32,
    /// Slots drawn when another's start came before the end of the IFS that this one's frame waited for.
    drawn_late: u32,
    cw: u16,
    cw_min: u16,
    cw_max: u16,
    /// Which grid: DCF's is 0.
    grid: u8,
    place: Place,
    /// A frame waits for access.
    ready: bool,
}

#[derive(Debug)]
pub(crate) struct Contention {
    rules: Rules,
    /// DCF's.
    grid: Grid,
    /// EDCA's.
    grids: Vec<Grid>,
    entities: Vec<Entity>,
    strays: Vec<Stray>,
    /// End of the NAV of everybody on the grid, where one is set.
    nav: Option<Time>,
    busy: bool,
    start: Time,
    /// Whether an entity off the grid was deaf when the transmission that goes on started.
    deaf: bool,
    transmitters: Vec<u32>,
}

impl Contention {
    /// Idle for ever, all counters run out. Of each entity its rules and its backoff stream; `edca` says whether each has
    /// the grid of its AIFS, or all DCF's.
    pub(crate) fn new(rules: Rules, edca: bool, entities: impl Iterator<Item = (Access, Rng)>) -> Contention {
        let mut grids: Vec<Grid> = Vec::new();
        let entity = |(access, backoff): (Access, Rng)| {
            let known = grids.iter().position(|grid| grid.aifs == access.aifs);
            let grid = match known {
                _ if !edca => 0,
                Some(index) => index + 1,
                None => {
                    grids.push(Grid::new(access.aifs));
                    grids.len()
                }
            };
            Entity {
                backoff,
                counter: 0,
                drawn_in: 0,
                next: NONE,
                drawn_late: 0,
                cw: access.cw_min,
                cw_min: access.cw_min,
                cw_max: access.cw_max,
                grid: grid as u8,
                place: Place::Grid,
                ready: false,
            }
        };
        let mut entities = entities.peekable();
        let aifs = entities.peek().map_or(Time::ZERO, |(access, _)| access.aifs);
        Contention {
            rules,
            grid: Grid::new(aifs),
            entities: entities.map(entity).collect(),
            grids,
            strays: Vec::new(),
            nav: None,
            busy: false,
            deaf: false,
            start: Time::MAX,
            transmitters: Vec::new(),
        }
    }

    #[inline]
    fn grid(&self, index: u8) -> &Grid {
        if index == 0 { &self.grid } else { &self.grids[usize::from(index) - 1] }
    }

    #[inline]
    fn grid_of(&self, entity: u32) -> &Grid {
        self.grid(self.entities[entity as usize].grid)
    }

    /// DIFS or AIFS of `entity`.
    pub(crate) fn aifs(&self, entity: u32) -> Time {
        self.grid_of(entity).aifs
    }

    /// Mean backoff of `entity` at CWmin.
    pub(crate) fn mean_first_backoff(&self, entity: u32) -> Time {
        let values = self.rules.slots(self.entities[entity as usize].cw_min);
        Time::from_ns(self.rules.slot.as_ns() * u64::from(values.saturating_sub(1)) / 2) // CW may be 0, and excluded
    }

    /// When the next transmission starts if nothing arrives before; never, while the medium is busy.
    #[inline]
    pub(crate) fn start(&self) -> Time {
        self.start
    }

    /// A new backoff for `entity`: one draw from its stream.
    #[inline]
    pub(crate) fn draw(&mut self, entity: u32) {
        let slots = self.rules.slots(self.entities[entity as usize].cw);
        let e = &mut self.entities[entity as usize];
        e.counter = u64::from(e.backoff.below(slots));
        if e.place == Place::Grid {
            let grid = pick(&mut self.grid, &mut self.grids, e.grid);
            e.counter += grid.clock;
            e.drawn_in = grid.epoch;
        }
    }

    /// A transmitter's frame is delivered, or lost at the retry limit: CWmin and a new backoff, for the next frame if
    /// there is one.
    #[inline]
    pub(crate) fn start_over(&mut self, entity: u32, ready: bool) {
        self.reset_window(entity);
        self.draw(entity);
        if ready {
            self.ready(entity);
        }
    }

    /// The next backoff of `entity` is drawn with CWmin.
    pub(crate) fn reset_window(&mut self, entity: u32) {
        let e = &mut self.entities[entity as usize];
        e.cw = e.cw_min;
    }

    /// After an exchange that everybody decoded, under DCF: its transmitter counts on the grid again, as
    /// [`Contention::start_over`] says, and the medium falls idle ([`Contention::resume`]).
    #[inline]
    pub(crate) fn succeed(&mut self, entity: u32, ready: bool, now: Time) {
        let slots = self.rules.slots(self.entities[entity as usize].cw_min);
        let e = &mut self.entities[entity as usize];
        e.place = Place::Grid;
        e.ready = ready;
        e.cw = e.cw_min;
        e.counter = self.grid.clock + u64::from(e.backoff.below(slots));
        e.drawn_in = self.grid.epoch;
        if ready {
            e.next = self.grid.wheel.push(e.counter, entity);
        }
        self.resume_grid(now, now, None);
    }

    /// The same under EDCA.
    pub(crate) fn succeed_in_category(&mut self, entity: u32, ready: bool, now: Time) {
        let e = &mut self.entities[entity as usize];
        e.place = Place::Grid;
        e.ready = false;
        self.start_over(entity, ready);
        self.resume(now, now, None);
    }

    /// A transmitter's frame is to be sent again: twice the window, up to CWmax, and a new backoff that it counts after
    /// an IFS of its own that runs from `from`. It is deaf until its timeout.
    #[inline(always)]
    pub(crate) fn fail(&mut self, entity: u32, from: Time, deaf_until: Time) {
        let e = &mut self.entities[entity as usize];
        e.cw = (2 * e.cw + 1).min(e.cw_max);
        e.counter = e.backoff.below(self.rules.slots(e.cw)).into();
        e.place = Place::Aside;
        let origin = from + pick(&mut self.grid, &mut self.grids, e.grid).aifs;
        self.strays.push(Stray { entity, origin, deaf_until, kind: Kind::Counting });
    }

    /// A packet arrives at the empty MAC of `entity` (section 5).
    pub(crate) fn arrive(&mut self, entity: u32, now: Time) {
        if !self.run_out(entity, now) {
            return self.ready(entity);
        }
        let on_grid = self.entities[entity as usize].place == Place::Grid;
        let nav = || self.nav.is_some_and(|end| now <= end);
        if self.busy || if on_grid { nav() } else { self.stray(entity).deaf_until >= now } {
            if !on_grid {
                self.stray_mut(entity).kind = Kind::Counting;
            }
            self.draw(entity);
            return self.ready(entity);
        }
        let origin = if on_grid { self.grid_of(entity).origin } else { self.stray(entity).origin };
        let (origin, kind) = if now >= origin {
            match self.rules.immediate_access {
                true if self.rules.at_boundaries => {
                    let slot = self.rules.slot;
                    let past = Time::from_ns((now - origin).as_ns() % slot.as_ns());
                    (if past == Time::ZERO { now } else { now - past + slot }, Kind::Waiting)
                }
                true => (now, Kind::Waiting),
                false => (now + self.aifs(entity), Kind::Counting),
            }
        } else {
            match self.rules.arrival_within_ifs {
                ArrivalWithinIfs::Transmit => (origin, Kind::Waiting),
                ArrivalWithinIfs::Backoff => (origin, Kind::Counting),
            }
        };
        if !on_grid {
            self.strays.retain(|stray| stray.entity != entity);
        }
        let e = &mut self.entities[entity as usize];
        e.place = Place::Aside;
        e.counter = 0;
        e.ready = true;
        if kind == Kind::Counting {
            self.draw(entity);
        }
        let stray = Stray { entity, origin, deaf_until: Time::ZERO, kind };
        self.start = self.start.min(self.start_of(&stray));
        self.strays.push(stray);
    }

    /// A frame of `entity` waits for access from now on, with the counter that it has.
    #[inline]
    pub(crate) fn ready(&mut self, entity: u32) {
        let e = &mut self.entities[entity as usize];
        e.ready = true;
        match e.place {
            Place::Grid => {
                let grid = pick(&mut self.grid, &mut self.grids, e.grid);
                e.next = grid.wheel.push(e.counter, entity);
                if !self.busy {
                    let start = grid.time_of(e.counter, self.rules.slot);
                    if start < grid.start {
                        grid.start = start;
                        grid.slot = e.counter;
                        self.start = self.start.min(start);
                    }
                }
            }
            Place::Aside if !self.busy => {
                self.start = self.start.min(self.start_of(self.stray(entity)));
            }
            Place::Aside | Place::OnAir => {}
        }
    }

    /// The frame of `entity`, which is on the air, is lost whatever comes.
    pub(crate) fn withdraw(&mut self, entity: u32) {
        self.entities[entity as usize].ready = false;
    }

    /// What usually happens at `now == start()` under DCF: exactly one entity of the grid starts, and nobody is off it.
    /// Returns it; otherwise nothing has happened, and it is for [`Contention::begin`] to see.
    #[inline]
    pub(crate) fn begin_alone(&mut self, now: Time) -> Option<u32> {
        if now != self.grid.start || !self.strays.is_empty() {
            return None;
        }
        let entity = self.grid.wheel.head(self.grid.slot);
        let e = &mut self.entities[entity as usize];
        if e.next != NONE {
            return None;
        }
        e.place = Place::OnAir;
        self.grid.clock = self.grid.slot;
        self.grid.epoch = self.grid.epoch.wrapping_add(1);
        self.grid.wheel.take(self.grid.slot);
        self.occupy();
        Some(entity)
    }

    /// A transmission starts at `now == start()`: everybody else's counter freezes (section 4). Who transmits is in
    /// [`Contention::transmitters`].
    pub(crate) fn begin(&mut self, now: Time) {
        debug_assert!(!self.busy && now == self.start);
        self.transmitters.clear();
        self.grid.begin(now, &self.rules, &mut self.entities, &mut self.transmitters);
        for grid in &mut self.grids {
            grid.begin(now, &self.rules, &mut self.entities, &mut self.transmitters);
        }
        self.occupy();
        self.gather(now);
        if self.transmitters.len() > 1 {
            self.transmitters.sort_unstable();
        }
    }

    #[inline]
    fn occupy(&mut self) {
        self.busy = true;
        self.nav = None;
        self.start = Time::MAX;
    }

    /// Those that transmit, in the order of their indices, since [`Contention::begin`].
    #[inline]
    pub(crate) fn transmitters(&self) -> &[u32] {
        &self.transmitters
    }

    /// Of several categories of one node that would transmit (`shift` bits of an entity tell them), the first does; the
    /// others go into `losers`.
    pub(crate) fn collide_internally(&mut self, shift: u32, losers: &mut Vec<u32>) {
        losers.clear();
        let mut node = None;
        self.transmitters.retain(|&entity| {
            let first = node.replace(entity >> shift) != Some(entity >> shift);
            if !first {
                losers.push(entity);
                self.entities[entity as usize].place = Place::Grid;
            }
            first
        });
    }

    /// A loser of an internal collision contends again: twice the window and a new backoff.
    pub(crate) fn lose_internally(&mut self, entity: u32) {
        let e = &mut self.entities[entity as usize];
        e.cw = (2 * e.cw + 1).min(e.cw_max);
        self.draw(entity);
        self.ready(entity);
    }

    /// The medium falls idle at `now`; everybody on a grid waits an IFS that runs from `from`, and has the NAV set until
    /// `nav`, if given.
    #[inline]
    pub(crate) fn resume(&mut self, now: Time, from: Time, nav: Option<Time>) {
        if self.grids.is_empty() {
            self.resume_grid(now, from, nav);
        } else {
            self.resume_categories(now, from, nav);
        }
    }

    #[inline(never)]
    fn resume_categories(&mut self, now: Time, from: Time, nav: Option<Time>) {
        for grid in &mut self.grids {
            grid.origin = from + grid.aifs;
        }
        self.resume_grid(now, from, nav);
        for grid in &mut self.grids {
            grid.find_next(self.rules.slot);
            self.start = self.start.min(grid.start);
        }
    }

    /// All of [`Contention::resume`] under DCF.
    #[inline]
    fn resume_grid(&mut self, now: Time, from: Time, nav: Option<Time>) {
        self.grid.origin = from + self.grid.aifs;
        self.nav = nav;
        if self.deaf {
            self.release(now);
        }
        self.busy = false;
        self.grid.find_next(self.rules.slot);
        self.start = self.grid.start;
        if !self.strays.is_empty() {
            self.start = self.start.min(self.first_stray());
        }
    }

    /// Whole slots that `entity`, which waits for access, has yet to count.
    pub(crate) fn slots_left(&self, entity: u32, now: Time) -> u64 {
        let e = &self.entities[entity as usize];
        let (origin, slots) = match e.place {
            Place::Grid => (self.grid_of(entity).origin, e.counter - self.grid_of(entity).clock),
            Place::Aside => (self.stray(entity).origin, e.counter),
            Place::OnAir => (Time::MAX, e.counter),
        };
        let counted = if !self.busy && now > origin { (now - origin) / self.rules.slot } else { 0 };
        slots.saturating_sub(counted)
    }

    /// Slots that [`Contention::slots_left`] could not tell of since the last call: a frame that waits for the end of
    /// an IFS alone draws only if another's start comes first.
    pub(crate) fn take_drawn_late(&mut self, entity: u32) -> u64 {
        std::mem::take(&mut self.entities[entity as usize].drawn_late).into()
    }

    /// Whether the counter of `entity`, which has no frame, has run out by `now`.
    fn run_out(&self, entity: u32, now: Time) -> bool {
        let e = &self.entities[entity as usize];
        let reached =
            |origin: Time, slots: u64| !self.busy && now >= origin && origin + self.rules.slot * slots <= now;
        match e.place {
            Place::OnAir => false,
            Place::Aside => {
                let stray = self.stray(entity);
                stray.kind == Kind::Spent || reached(stray.origin, e.counter)
            }
            Place::Grid => {
                let grid = self.grid(e.grid);
                e.counter < grid.clock
                    || (e.counter == grid.clock && e.drawn_in != grid.epoch && !self.rules.at_boundaries)
                    || reached(grid.origin, e.counter - grid.clock)
            }
        }
    }
}
