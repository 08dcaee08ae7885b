//! Contention for the medium: who transmits when (`docs/medium.md`, sections 4 and 5; 802.11-2020, 10.3.4).
//!
//! Most entities count on one common *grid*: slots from one origin, on a virtual clock that stands still while the
//! medium is busy, so that an entity's expiry is written once, when it draws. Entities whose slots start elsewhere
//! (after a collision, an error, an access off the grid) are *strays* until the next transmission starts, when they
//! join the grid with the slots that they have left. A post-backoff is an expiry that nobody waits for.
//!
//! An entity is a dense index. Under DCF it is a node; EDCA needs one per access category and a grid per AIFS.

mod strays;

use wifair_core::{Rng, Time};

use crate::mac::{ArrivalWithinIfs, BackoffRange};
use crate::wheel::{NONE, Wheel};
use strays::{Kind, Stray};

/// What the rules of contention need to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub slot: Time,
    pub difs: Time,
    pub cw_min: u16,
    pub cw_max: u16,
    pub range: BackoffRange,
    pub immediate_access: bool,
    pub arrival_within_ifs: ArrivalWithinIfs,
}

/// Where an entity counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On the grid; `counter` is the virtual slot at which it expires.
    Grid,
    /// On slots of its own, from a stray's origin; `counter` is what is left.
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
    place: Place,
    /// A frame waits for access.
    ready: bool,
}

/// The common slots.
#[derive(Debug)]
struct Grid {
    origin: Time,
    /// The virtual slot of the origin.
    clock: u64,
    /// Counts the transmissions that started at or after the origin of their time.
    epoch: u32,
    wheel: Wheel,
}

#[derive(Debug)]
pub(crate) struct Contention {
    rules: Rules,
    grid: Grid,
    entities: Vec<Entity>,
    strays: Vec<Stray>,
    /// End of the NAV of everybody on the grid, where one is set.
    nav: Option<Time>,
    busy: bool,
    /// While idle, the virtual slot at which the grid's next ready entity expires, and when that is.
    grid_slot: u64,
    grid_start: Time,
    start: Time,
    /// Whether a stray was deaf when the transmission that goes on started.
    deaf: bool,
    transmitters: Vec<u32>,
}

impl Contention {
    /// Idle for ever, all counters run out. One backoff stream an entity.
    pub(crate) fn new(rules: Rules, streams: impl Iterator<Item = Rng>) -> Contention {
        let entity = |backoff| Entity {
            backoff,
            counter: 0,
            drawn_in: 0,
            next: NONE,
            drawn_late: 0,
            cw: rules.cw_min,
            place: Place::Grid,
            ready: false,
        };
        Contention {
            rules,
            grid: Grid { origin: Time::ZERO, clock: 0, epoch: 1, wheel: Wheel::new() },
            entities: streams.map(entity).collect(),
            strays: Vec::new(),
            nav: None,
            busy: false,
            grid_slot: 0,
            grid_start: Time::MAX,
            deaf: false,
            start: Time::MAX,
            transmitters: Vec::new(),
        }
    }

    /// When the next transmission starts if nothing arrives before; never, while the medium is busy.
    #[inline]
    pub(crate) fn start(&self) -> Time {
        self.start
    }

    /// How many values a backoff has.
    #[inline]
    fn slots(&self, cw: u16) -> u32 {
        u32::from(cw) + u32::from(self.rules.range == BackoffRange::Inclusive)
    }

    /// A new backoff for `entity`: one draw from its stream.
    #[inline]
    pub(crate) fn draw(&mut self, entity: u32) {
        let slots = self.slots(self.entities[entity as usize].cw);
        let e = &mut self.entities[entity as usize];
        e.counter = u64::from(e.backoff.below(slots));
        if e.place == Place::Grid {
            e.counter += self.grid.clock;
        }
        e.drawn_in = self.grid.epoch;
    }

    /// A transmitter's frame is delivered, or lost at the retry limit: CWmin and a new backoff, for the next frame if
    /// there is one.
    #[inline]
    pub(crate) fn start_over(&mut self, entity: u32, ready: bool) {
        let e = &mut self.entities[entity as usize];
        e.cw = self.rules.cw_min;
        self.draw(entity);
        if ready {
            self.ready(entity);
        }
    }

    /// After an exchange that everybody decoded: its transmitter counts on the grid again, as
    /// [`Contention::start_over`] says, and the medium falls idle ([`Contention::resume`]).
    #[inline]
    pub(crate) fn succeed(&mut self, entity: u32, ready: bool, now: Time, origin: Time) {
        let slots = self.slots(self.rules.cw_min);
        let e = &mut self.entities[entity as usize];
        e.place = Place::Grid;
        e.ready = ready;
        e.cw = self.rules.cw_min;
        e.counter = self.grid.clock + u64::from(e.backoff.below(slots));
        e.drawn_in = self.grid.epoch;
        if ready {
            e.next = self.grid.wheel.push(e.counter, entity);
        }
        self.resume(now, origin, None);
    }

    /// A transmitter's frame is to be sent again: twice the window, up to CWmax, and a new backoff that it counts from
    /// an origin of its own. It is deaf until its timeout.
    #[inline(always)]
    pub(crate) fn fail(&mut self, entity: u32, origin: Time, deaf_until: Time) {
        let e = &mut self.entities[entity as usize];
        e.cw = (2 * e.cw + 1).min(self.rules.cw_max);
        self.draw(entity); // on the air, thus without the grid's clock
        self.set_aside(entity, origin, deaf_until);
    }

    /// A packet arrives at the empty MAC of `entity` (section 5).
    pub(crate) fn arrive(&mut self, entity: u32, now: Time) {
        if !self.run_out(entity, now) {
            return self.ready(entity);
        }
        let on_grid = self.entities[entity as usize].place == Place::Grid;
        if self.busy || (on_grid && self.nav.is_some_and(|end| now <= end)) {
            self.draw(entity);
            return self.ready(entity);
        }
        let origin = if on_grid { self.grid.origin } else { self.stray(entity).origin };
        let (origin, kind) = if now >= origin {
            match self.rules.immediate_access {
                true => (now, Kind::Waiting),
                false => (now + self.rules.difs, Kind::Counting),
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
                let expiry = e.counter;
                e.next = self.grid.wheel.push(expiry, entity);
                if !self.busy {
                    let start = self.time_of(expiry);
                    if start < self.grid_start {
                        self.grid_start = start;
                        self.grid_slot = expiry;
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

    /// What usually happens at `now == start()`: exactly one entity of the grid starts, and nobody is off the grid.
    /// Returns it; otherwise nothing has happened, and it is for [`Contention::begin`] to see.
    #[inline]
    pub(crate) fn begin_alone(&mut self, now: Time) -> Option<u32> {
        if now != self.grid_start || !self.strays.is_empty() {
            return None;
        }
        let entity = self.grid.wheel.head(self.grid_slot);
        let e = &mut self.entities[entity as usize];
        if e.next != NONE {
            return None;
        }
        e.place = Place::OnAir;
        self.grid.clock = self.grid_slot;
        self.grid.epoch = self.grid.epoch.wrapping_add(1);
        self.grid.wheel.take(self.grid_slot);
        self.occupy();
        Some(entity)
    }

    /// A transmission starts at `now == start()`: everybody else's counter freezes (section 4). Who transmits is in
    /// [`Contention::transmitters`]. Only a start off the grid divides.
    pub(crate) fn begin(&mut self, now: Time) {
        debug_assert!(!self.busy && now == self.start);
        self.transmitters.clear();
        let grid = &mut self.grid;
        if now == self.grid_start {
            grid.clock = self.grid_slot;
            let mut entity = grid.wheel.take(self.grid_slot);
            while entity != NONE {
                self.transmitters.push(entity);
                let e = &mut self.entities[entity as usize];
                e.place = Place::OnAir;
                entity = e.next;
            }
        } else if now >= grid.origin {
            grid.clock += (now - grid.origin) / self.rules.slot;
        }
        if now >= grid.origin {
            grid.epoch = grid.epoch.wrapping_add(1);
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

    /// The medium falls idle at `now`; the grid's slots count from `origin`, and its entities have their NAV set
    /// until `nav`, if given.
    #[inline]
    pub(crate) fn resume(&mut self, now: Time, origin: Time, nav: Option<Time>) {
        self.grid.origin = origin;
        self.nav = nav;
        if self.deaf {
            self.release(now);
        }
        self.busy = false;
        self.grid_start = match self.grid.wheel.next(self.grid.clock) {
            Some(slot) => {
                self.grid_slot = slot;
                self.time_of(slot)
            }
            None => Time::MAX,
        };
        self.start = self.grid_start;
        if !self.strays.is_empty() {
            self.start = self.start.min(self.first_stray());
        }
    }

    /// Whole slots that `entity`, which waits for access, has yet to count.
    pub(crate) fn slots_left(&self, entity: u32, now: Time) -> u64 {
        let e = &self.entities[entity as usize];
        let (origin, slots) = match e.place {
            Place::Grid => (self.grid.origin, e.counter - self.grid.clock),
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
                let grid = &self.grid;
                e.counter < grid.clock
                    || (e.counter == grid.clock && e.drawn_in != grid.epoch)
                    || reached(grid.origin, e.counter - grid.clock)
            }
        }
    }

    /// When a virtual slot of the grid begins.
    #[inline]
    fn time_of(&self, slot: u64) -> Time {
        self.grid.origin + self.rules.slot * (slot - self.grid.clock)
    }
}
