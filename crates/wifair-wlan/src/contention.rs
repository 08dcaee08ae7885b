//! Contention for the medium: who transmits when (`docs/medium.md`, sections 4 and 5; 802.11-2020, 10.3.4).
//!
//! Most entities count on one common *grid*: slots from one origin, on a virtual clock that stands still while the
//! medium is busy, so that an entity's expiry is written once, when it draws. Entities whose slots start elsewhere
//! (after a collision, an error, an access off the grid) are *strays* until the next transmission starts, when they
//! join the grid with the slots that they have left. A post-backoff is an expiry that nobody waits for.
//!
//! An entity is a dense index. Under DCF it is a node; EDCA needs one per access category and a grid per AIFS.

use wifair_core::{Rng, Time};

use crate::mac::{ArrivalWithinIfs, BackoffRange};
use crate::wheel::{NONE, Wheel};

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
    cw: u16,
    place: Place,
    /// A frame waits for access.
    ready: bool,
}

/// The origin of a stray that is deaf at the start of a transmission: it is known at the end.
const UNKNOWN: Time = Time::MAX;

/// An entity off the grid.
#[derive(Clone, Copy, Debug)]
struct Stray {
    entity: u32,
    origin: Time,
    /// It waits for a MAC ACK or CTS until then, whatever else starts meanwhile.
    deaf_until: Time,
    /// What its counter is worth.
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It counts down.
    Counting,
    /// Its post-backoff had run out before it came here.
    Spent,
    /// Its packet came within an IFS at a spent counter: transmits at the origin, or draws if somebody is first.
    Waiting,
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
    #[inline]
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

    /// A transmission starts at `now == start()`: everybody else's counter freezes (section 4). Returns who transmits,
    /// if it is one alone; otherwise [`Contention::transmitters`] names them.
    #[inline]
    pub(crate) fn begin(&mut self, now: Time) -> Option<u32> {
        debug_assert!(!self.busy && now == self.start);
        self.busy = true;
        self.nav = None;
        self.start = Time::MAX;
        if now != self.grid_start {
            return self.begin_off_the_grid(now);
        }
        let grid = &mut self.grid;
        grid.clock = self.grid_slot;
        grid.epoch = grid.epoch.wrapping_add(1);
        let entity = grid.wheel.take(self.grid_slot);
        let e = &mut self.entities[entity as usize];
        e.place = Place::OnAir;
        if e.next != NONE || !self.strays.is_empty() {
            return self.begin_with_others(entity, now);
        }
        Some(entity)
    }

    /// Further transmitters at the same slot of the grid as `entity`, and the strays.
    #[inline(never)]
    fn begin_with_others(&mut self, entity: u32, now: Time) -> Option<u32> {
        self.transmitters.clear();
        self.transmitters.push(entity);
        let mut other = self.entities[entity as usize].next;
        while other != NONE {
            self.transmitters.push(other);
            let e = &mut self.entities[other as usize];
            e.place = Place::OnAir;
            other = e.next;
        }
        self.gather(now);
        self.alone()
    }

    /// Only strays transmit. Only such a start divides.
    #[inline(never)]
    fn begin_off_the_grid(&mut self, now: Time) -> Option<u32> {
        self.transmitters.clear();
        if now >= self.grid.origin {
            self.grid.clock += (now - self.grid.origin) / self.rules.slot;
            self.grid.epoch = self.grid.epoch.wrapping_add(1);
        }
        self.gather(now);
        self.alone()
    }

    /// The transmitter, if there is one only; several are put in order.
    #[inline]
    fn alone(&mut self) -> Option<u32> {
        if let &[entity] = &self.transmitters[..] {
            return Some(entity);
        }
        self.transmitters.sort_unstable();
        None
    }

    /// The strays at the start of a transmission: some transmit, the deaf stay, the others join the grid. What order
    /// they stand in matters to nobody.
    #[inline]
    fn gather(&mut self, now: Time) {
        let mut index = 0;
        while index < self.strays.len() {
            let stray = &mut self.strays[index];
            if stray.deaf_until > now {
                stray.origin = UNKNOWN;
                self.deaf = true;
                index += 1;
                continue;
            }
            let stray = self.strays.swap_remove(index);
            if self.entities[stray.entity as usize].ready && self.start_of(&stray) == now {
                self.entities[stray.entity as usize].place = Place::OnAir;
                self.transmitters.push(stray.entity);
            } else {
                self.join(stray, now);
            }
        }
    }

    /// The strays at the end of an exchange. Those that were deaf at its start learn where they count from.
    #[cold]
    fn release(&mut self, now: Time) {
        self.deaf = false;
        let mut strays = std::mem::take(&mut self.strays);
        strays.retain_mut(|stray| {
            if stray.origin == UNKNOWN {
                if stray.deaf_until <= now {
                    self.join(*stray, now);
                    return false;
                }
                stray.origin = self.grid.origin.max(stray.deaf_until + self.rules.difs);
            }
            true
        });
        self.strays = strays;
    }

    /// A stray becomes one of the grid: at the start `now` of a transmission or, if it was deaf then, at its end.
    fn join(&mut self, stray: Stray, now: Time) {
        let clock = self.grid.clock;
        let epoch = self.grid.epoch;
        let slot = self.rules.slot;
        let e = &mut self.entities[stray.entity as usize];
        e.place = Place::Grid;
        match stray.kind {
            Kind::Waiting => self.draw(stray.entity),
            Kind::Counting if now < stray.origin => {
                e.counter += clock;
                e.drawn_in = epoch;
            }
            Kind::Counting => {
                e.counter = clock + e.counter.saturating_sub((now - stray.origin) / slot);
                e.drawn_in = epoch.wrapping_sub(1);
            }
            Kind::Spent => {
                e.counter = clock;
                e.drawn_in = epoch.wrapping_sub(1);
            }
        }
        if self.entities[stray.entity as usize].ready {
            self.ready(stray.entity);
        }
    }

    /// Those that transmit, in the order of their indices, if they are several.
    #[inline]
    pub(crate) fn transmitters(&self) -> &[u32] {
        &self.transmitters
    }

    /// A transmitter counts from an origin of its own. It is deaf until its timeout.
    pub(crate) fn set_aside(&mut self, entity: u32, origin: Time, deaf_until: Time) {
        self.entities[entity as usize].place = Place::Aside;
        self.strays.push(Stray { entity, origin, deaf_until, kind: Kind::Counting });
    }

    /// An entity that did not transmit counts from an origin of its own (the receiver of an undecodable frame).
    pub(crate) fn divert(&mut self, entity: u32, origin: Time, now: Time) {
        if self.entities[entity as usize].place == Place::Aside {
            // Deaf when this exchange began; it heard the end all the same.
            let difs = self.rules.difs;
            let stray = self.strays.iter_mut().find(|stray| stray.entity == entity);
            let stray = stray.expect("an entity aside has its stray");
            stray.origin = if stray.deaf_until > now { origin.max(stray.deaf_until + difs) } else { origin };
            return;
        }
        let kind = if self.run_out(entity, now) { Kind::Spent } else { Kind::Counting };
        let e = &mut self.entities[entity as usize];
        let expiry = e.counter;
        e.counter = expiry.saturating_sub(self.grid.clock);
        e.place = Place::Aside;
        if e.ready {
            self.unlink(entity, expiry);
        }
        self.strays.push(Stray { entity, origin, deaf_until: Time::ZERO, kind });
    }

    fn unlink(&mut self, entity: u32, slot: u64) {
        let mut other = self.grid.wheel.take(slot);
        while other != NONE {
            let next = self.entities[other as usize].next;
            if other != entity {
                self.entities[other as usize].next = self.grid.wheel.push(slot, other);
            }
            other = next;
        }
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

    /// When the first of the strays transmits that have a frame.
    #[inline(never)]
    fn first_stray(&self) -> Time {
        let ready = self.strays.iter().filter(|stray| self.entities[stray.entity as usize].ready);
        ready.map(|stray| self.start_of(stray)).min().unwrap_or(Time::MAX)
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

    fn stray(&self, entity: u32) -> &Stray {
        self.strays.iter().find(|stray| stray.entity == entity).expect("an entity aside has its stray")
    }

    /// When a virtual slot of the grid begins.
    #[inline]
    fn time_of(&self, slot: u64) -> Time {
        self.grid.origin + self.rules.slot * (slot - self.grid.clock)
    }

    /// When a stray transmits if the medium stays idle.
    #[inline]
    fn start_of(&self, stray: &Stray) -> Time {
        stray.origin + self.rules.slot * self.entities[stray.entity as usize].counter
    }
}
