//! Contention for the medium: which entity transmits when (`docs/medium.md`, sections 4 and 5; 802.11-2020, 10.3.4).
//!
//! Most entities count on one common *grid*: slots from one origin, on a virtual clock that is stopped while the medium is
//! busy, so an entity's expiry is computed once, when it draws. Entities whose slots start elsewhere (after a collision, an
//! error, an access off the grid) are *entities off the grid* until the next transmission starts. Then they join the grid with
//! their remaining slots. A post-backoff is an expiry without a waiting frame.
//!
//! An entity is a dense index: under DCF a node, under EDCA a category of a node (section 10). There is a grid for each
//! distinct AIFS; DCF has one, the first.

mod entity;
mod grid;
mod off_grid;
mod rules;

use wifair_core::{Rng, Time};

use crate::node::{EdcafId, Node, Numbering};
use entity::{Entity, Kind, Place, Stray};
use grid::{Grid, pick};
pub(crate) use rules::{Access, Rules};
pub use rules::{ArrivalWithinIfs, BackoffRange};

#[derive(Debug)]
pub(crate) struct Contention {
    rules: Rules,
    first: Grid,
    /// Empty under DCF.
    others: Vec<Grid>,
    entities: Vec<Entity>,
    strays: Vec<Stray>,
    /// End of the NAV of all entities on the grid, if set.
    nav: Option<Time>,
    busy: bool,
    start: Time,
    /// Whether an entity off the grid was deaf when the current transmission started.
    deaf: bool,
    transmitters: Vec<EdcafId>,
}

impl Contention {
    /// Creates an idle medium with all counters expired, given the rules and the backoff stream of each entity. That of
    /// `beacons` comes last, on a separate grid, so that a BSS with beacons always takes the general path.
    pub(crate) fn new(
        rules: Rules,
        entities: impl Iterator<Item = (Access, Rng)>,
        beacons: Option<(Access, Rng)>,
    ) -> Contention {
        let mut grids: Vec<Grid> = Vec::new();
        let mut entities: Vec<Entity> = entities
            .map(|(access, backoff)| {
                let known = grids.iter().position(|grid| grid.aifs == access.aifs);
                let grid = known.unwrap_or_else(|| {
                    grids.push(Grid::new(access.aifs));
                    grids.len() - 1
                });
                Entity::new(access, backoff, grid)
            })
            .collect();
        if let Some((access, backoff)) = beacons {
            entities.push(Entity::new(access, backoff, grids.len()));
            grids.push(Grid::new(access.aifs));
        }
        let mut grids = grids.into_iter();
        Contention {
            rules,
            first: grids.next().expect("a BSS has an access point"),
            others: grids.collect(),
            entities,
            strays: Vec::new(),
            nav: None,
            busy: false,
            deaf: false,
            start: Time::MAX,
            transmitters: Vec::new(),
        }
    }

    #[inline]
    fn grid_of(&self, entity: &Entity) -> &Grid {
        match entity.grid {
            0 => &self.first,
            index => &self.others[usize::from(index) - 1],
        }
    }

    /// DIFS or AIFS of `entity`.
    pub(crate) fn aifs(&self, entity: EdcafId) -> Time {
        self.grid_of(&self.entities[entity.index()]).aifs
    }

    /// The assumed wait of a first attempt of `entity`: its IFS and the mean backoff at CWmin.
    pub(crate) fn mean_first_wait(&self, entity: EdcafId) -> Time {
        let e = &self.entities[entity.index()];
        let values = self.rules.slots(e.cw_min);
        let backoff = self.rules.slot.as_ns() * u64::from(values.saturating_sub(1)) / 2; // CW may be 0, and excluded
        self.grid_of(e).aifs + Time::from_ns(backoff)
    }

    /// Numbers of values that `entity` draws a backoff from at CWmin and at CWmax.
    pub(crate) fn backoffs(&self, entity: EdcafId) -> [u32; 2] {
        let e = &self.entities[entity.index()];
        [e.cw_min, e.cw_max].map(|cw| self.rules.slots(cw))
    }

    /// When the next transmission starts if nothing arrives before; [`Time::MAX`] while the medium is busy.
    #[inline]
    pub(crate) fn start(&self) -> Time {
        self.start
    }

    /// Draws a new backoff for `entity`: one draw from its stream.
    #[inline]
    pub(crate) fn draw(&mut self, entity: EdcafId) {
        let slots = self.rules.slots(self.entities[entity.index()].cw);
        let e = &mut self.entities[entity.index()];
        e.counter = u64::from(e.backoff.below(slots));
        if e.place == Place::Grid {
            let grid = pick(&mut self.first, &mut self.others, e.grid);
            e.counter += grid.clock;
            e.drawn_in = grid.epoch;
        }
    }

    /// Draws a new backoff for a transmitter whose frame was acknowledged or given up, for the next frame if there is one. CW has been set.
    #[inline]
    pub(crate) fn go_on(&mut self, entity: EdcafId, ready: bool) {
        self.draw(entity);
        if ready {
            self.ready(entity);
        }
    }

    /// Sets the CW for the next backoff of `entity` to CWmin.
    pub(crate) fn reset_window(&mut self, entity: EdcafId) {
        let e = &mut self.entities[entity.index()];
        e.cw = e.cw_min;
    }

    /// Ends an exchange that all nodes decoded: its transmitter, with CWmin, counts on the grid again, and the medium
    /// becomes idle ([`Contention::resume`]).
    #[inline(always)] // into the usual end of an exchange
    pub(crate) fn succeed(&mut self, entity: EdcafId, ready: bool, now: Time) {
        let e = &mut self.entities[entity.index()];
        let grid = pick(&mut self.first, &mut self.others, e.grid);
        e.place = Place::Grid;
        e.ready = ready;
        e.cw = e.cw_min;
        e.counter = grid.clock + u64::from(e.backoff.below(self.rules.slots(e.cw_min)));
        e.drawn_in = grid.epoch;
        if ready {
            e.next = grid.wheel.push(e.counter, entity);
        }
        self.resume(now, now, None);
    }

    /// Doubles the window for the next backoff of `entity`, up to CWmax.
    pub(crate) fn widen(&mut self, entity: EdcafId) {
        self.entities[entity.index()].widen();
    }

    /// Draws a new backoff for a retransmission, counted after the IFS, which runs from `from`. The transmitter is deaf until its
    /// timeout.
    #[inline(always)]
    pub(crate) fn fail(&mut self, entity: EdcafId, from: Time, deaf_until: Time) {
        let e = &mut self.entities[entity.index()];
        e.counter = e.backoff.below(self.rules.slots(e.cw)).into();
        e.place = Place::Aside;
        let origin = from + pick(&mut self.first, &mut self.others, e.grid).aifs;
        self.strays.push(Stray { entity, origin, deaf_until, kind: Kind::Counting });
    }

    /// Handles a packet that arrives at the empty MAC of `entity` (section 5).
    pub(crate) fn arrive(&mut self, entity: EdcafId, now: Time) {
        if !self.run_out(entity, now) {
            return self.ready(entity);
        }
        let e = &self.entities[entity.index()];
        let on_grid = e.place == Place::Grid;
        let nav = || self.nav.is_some_and(|end| now <= end);
        if self.busy || if on_grid { nav() } else { self.stray(entity).deaf_until >= now } {
            if !on_grid {
                self.stray_mut(entity).kind = Kind::Counting;
            }
            self.draw(entity);
            return self.ready(entity);
        }
        let origin = if on_grid { self.grid_of(e).origin } else { self.stray(entity).origin };
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
        let e = &mut self.entities[entity.index()];
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

    /// Makes a frame of `entity` wait for access from now on, with its current counter.
    #[inline]
    pub(crate) fn ready(&mut self, entity: EdcafId) {
        let e = &mut self.entities[entity.index()];
        e.ready = true;
        match e.place {
            Place::Grid => {
                let grid = pick(&mut self.first, &mut self.others, e.grid);
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

    /// Marks the frame of `entity`, which is on the air, as lost in any case.
    pub(crate) fn withdraw(&mut self, entity: EdcafId) {
        self.entities[entity.index()].ready = false;
    }

    /// Fast path at `now == start()` with one grid: if exactly one entity of it starts, and none is off the grid, returns it.
    /// Otherwise changes nothing, and [`Contention::begin`] must be called.
    #[inline(always)] // into the usual start of an exchange
    pub(crate) fn begin_alone(&mut self, now: Time) -> Option<EdcafId> {
        if !self.is_plain() {
            return None;
        }
        debug_assert!(now == self.first.start);
        let entity = self.first.wheel.head(self.first.slot);
        let e = &mut self.entities[entity.index()];
        if e.next != EdcafId::NONE {
            return None;
        }
        e.place = Place::OnAir;
        self.first.wheel.take(self.first.slot);
        self.first.clock = self.first.slot + u64::from(self.rules.at_boundaries);
        self.first.epoch = self.first.epoch.wrapping_add(1);
        self.occupy();
        Some(entity)
    }

    /// Starts a transmission at `now == start()`: the counters of all other entities freeze (section 4). The transmitting
    /// entities are in [`Contention::transmitters`].
    pub(crate) fn begin(&mut self, now: Time) {
        debug_assert!(!self.busy && now == self.start);
        self.transmitters.clear();
        self.first.begin(now, &self.rules, &mut self.entities, &mut self.transmitters);
        for grid in &mut self.others {
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

    /// The transmitting entities in order of index, since [`Contention::begin`].
    #[inline]
    pub(crate) fn transmitters(&self) -> &[EdcafId] {
        &self.transmitters
    }

    /// Removes `entity`, the last of all, from the transmitters; whether it was among them.
    pub(crate) fn take_last(&mut self, entity: EdcafId) -> bool {
        let transmits = self.transmitters.last() == Some(&entity);
        if transmits {
            self.transmitters.pop();
        }
        transmits
    }

    /// Resolves internal collisions: of several categories of one node that would transmit, the first does; the others are
    /// returned. `transmits`: a node that transmits already.
    pub(crate) fn collide_internally(
        &mut self,
        numbering: Numbering,
        transmits: Option<Node>,
    ) -> Vec<EdcafId> {
        let mut losers = Vec::new();
        let mut node = transmits;
        self.transmitters.retain(|&entity| {
            let own = numbering.node(entity);
            let first = node.replace(own) != Some(own);
            if !first {
                losers.push(entity);
                self.entities[entity.index()].place = Place::Grid;
            }
            first
        });
        losers
    }

    /// Draws a new backoff for the loser of an internal collision.
    pub(crate) fn lose_internally(&mut self, entity: EdcafId) {
        self.draw(entity);
        self.ready(entity);
    }

    /// Makes the medium idle at `now`. Every entity on a grid waits an IFS that runs from `from`, with the NAV set until `nav`,
    /// if given.
    #[inline(always)] // into the usual end of an exchange; the other callers are rare
    pub(crate) fn resume(&mut self, now: Time, from: Time, nav: Option<Time>) {
        self.first.origin = from + self.first.aifs;
        self.nav = nav;
        self.busy = false;
        self.start =
            if self.is_plain() { self.first.find_next(self.rules.slot) } else { self.resume_all(now, from) };
    }

    /// The general path of [`Contention::resume`]. Returns when the next transmission starts.
    #[inline(never)]
    fn resume_all(&mut self, now: Time, from: Time) -> Time {
        for grid in &mut self.others {
            grid.origin = from + grid.aifs;
        }
        if self.deaf {
            self.release(now);
        }
        let mut start = self.first_stray().min(self.first.find_next(self.rules.slot));
        for grid in &mut self.others {
            start = start.min(grid.find_next(self.rules.slot));
        }
        start
    }

    /// Whether there is one grid, and no entity is off it.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.strays.len() | self.others.len() == 0
    }

    /// Duration of a wait of `entity` for access that begins now: its IFS and its remaining whole slots.
    pub(crate) fn wait(&self, entity: EdcafId, now: Time) -> Time {
        let e = &self.entities[entity.index()];
        let grid = self.grid_of(e);
        let (origin, slots) = match e.place {
            Place::Grid => (grid.origin, e.counter - grid.clock),
            Place::Aside => (self.stray(entity).origin, e.counter),
            Place::OnAir => (Time::MAX, e.counter),
        };
        let counted = if !self.busy && now > origin { (now - origin) / self.rules.slot } else { 0 };
        grid.aifs + self.rules.slot * slots.saturating_sub(counted)
    }

    /// Returns the slots drawn since the last call that [`Contention::wait`] could not know: a frame that waits only for the
    /// end of an IFS draws only if another start comes first.
    pub(crate) fn take_drawn_late(&mut self, entity: EdcafId) -> Time {
        self.rules.slot * std::mem::take(&mut self.entities[entity.index()].drawn_late).into()
    }

    /// Whether the counter of `entity`, which has no frame, has expired by `now`.
    fn run_out(&self, entity: EdcafId, now: Time) -> bool {
        let e = &self.entities[entity.index()];
        let reached =
            |origin: Time, slots: u64| !self.busy && now >= origin && origin + self.rules.slot * slots <= now;
        match e.place {
            Place::OnAir => false,
            Place::Aside => {
                let stray = self.stray(entity);
                stray.kind == Kind::Spent || reached(stray.origin, e.counter)
            }
            Place::Grid => {
                let grid = self.grid_of(e);
                e.counter < grid.clock
                    || (e.counter == grid.clock && e.drawn_in != grid.epoch && !self.rules.at_boundaries)
                    || reached(grid.origin, e.counter - grid.clock)
            }
        }
    }
}
