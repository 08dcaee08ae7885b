//! Contention for the medium: which contender transmits when (`docs/medium.md`, sections 4 and 5; 802.11-2020, 10.3.4).
//!
//! Most contenders count on one common *grid*: slots from one origin, on a virtual clock that is stopped while the medium is
//! busy, so a contender's expiry is computed once, when it draws. Contenders whose slots start elsewhere (after a collision, an
//! error, an access off the grid) are *contenders off the grid* until the next transmission starts. Then they join the grid
//! with their remaining slots. A post-backoff is an expiry without a waiting frame.
//!
//! A contender is a dense index: under DCF a node, under EDCA a category of a node (section 10). There is a grid for each
//! distinct AIFS; DCF has one, the first.

mod contender;
mod grid;
mod off_grid;
mod rules;

use wifair_core::{Rng, Time};

use crate::node::{EdcafId, Node, Numbering};
use contender::{Contender, CounterState, OwnOrigin, Position};
use grid::{Grid, pick};
pub(crate) use rules::{Access, ContentionRules};
pub use rules::{ArrivalWithinIfs, BackoffRange};

#[derive(Debug)]
pub(crate) struct Contention {
    rules: ContentionRules,
    first: Grid,
    /// Empty under DCF.
    others: Vec<Grid>,
    contenders: Vec<Contender>,
    off_grid: Vec<OwnOrigin>,
    /// While the medium is idle: end of the NAV of all contenders on the grid, if set.
    nav: Option<Time>,
    busy: bool,
    start: Time,
    /// Whether a contender off the grid awaited a response when the current transmission started.
    awaits_response: bool,
    transmitters: Vec<EdcafId>,
}

impl Contention {
    /// Creates an idle medium with all counters expired, given the rules and the backoff stream of each contender. That of
    /// `beacons` comes last, on a separate grid, so that a BSS with beacons always takes the general path.
    pub(crate) fn new(
        rules: ContentionRules,
        contenders: impl Iterator<Item = (Access, Rng)>,
        beacons: Option<(Access, Rng)>,
    ) -> Contention {
        let mut grids: Vec<Grid> = Vec::new();
        let mut contenders: Vec<Contender> = contenders
            .map(|(access, backoff)| {
                let known = grids.iter().position(|grid| grid.aifs == access.aifs);
                let grid = known.unwrap_or_else(|| {
                    grids.push(Grid::new(access.aifs));
                    grids.len() - 1
                });
                Contender::new(access, backoff, grid)
            })
            .collect();
        if let Some((access, backoff)) = beacons {
            contenders.push(Contender::new(access, backoff, grids.len()));
            grids.push(Grid::new(access.aifs));
        }
        let mut grids = grids.into_iter();
        Contention {
            rules,
            first: grids.next().expect("a BSS has an access point"),
            others: grids.collect(),
            contenders,
            off_grid: Vec::new(),
            nav: None,
            busy: false,
            awaits_response: false,
            start: Time::MAX,
            transmitters: Vec::new(),
        }
    }

    /// Has every start take the general path from now on, by a grid that nobody counts on.
    pub(crate) fn begin_generally(&mut self) {
        self.others.push(Grid::new(self.first.aifs));
    }

    #[inline]
    fn grid_of(&self, contender: &Contender) -> &Grid {
        match contender.grid {
            0 => &self.first,
            index => &self.others[usize::from(index) - 1],
        }
    }

    /// DIFS or AIFS of `contender`.
    pub(crate) fn aifs(&self, contender: EdcafId) -> Time {
        self.grid_of(&self.contenders[contender.index()]).aifs
    }

    /// The assumed wait of a first attempt of `contender`: its IFS and the mean backoff at CWmin.
    pub(crate) fn mean_first_wait(&self, contender: EdcafId) -> Time {
        let e = &self.contenders[contender.index()];
        let values = self.rules.slots(e.cw_min);
        let backoff = self.rules.slot.as_ns() * u64::from(values.saturating_sub(1)) / 2; // CW may be 0, and excluded
        self.grid_of(e).aifs + Time::from_ns(backoff)
    }

    /// Numbers of values that `contender` draws a backoff from at CWmin and at CWmax.
    pub(crate) fn backoffs(&self, contender: EdcafId) -> [u32; 2] {
        let e = &self.contenders[contender.index()];
        [e.cw_min, e.cw_max].map(|cw| self.rules.slots(cw))
    }

    /// When the next transmission starts if nothing arrives before; [`Time::MAX`] while the medium is busy.
    #[inline]
    pub(crate) fn start(&self) -> Time {
        self.start
    }

    /// Draws a new backoff for `contender`: one draw from its stream.
    #[inline]
    pub(crate) fn draw(&mut self, contender: EdcafId) {
        let slots = self.rules.slots(self.contenders[contender.index()].cw);
        let e = &mut self.contenders[contender.index()];
        e.counter = u64::from(e.backoff.below(slots));
        if e.position == Position::OnGrid {
            let grid = pick(&mut self.first, &mut self.others, e.grid);
            e.counter += grid.clock;
            e.drawn_in = grid.epoch;
        }
    }

    /// Draws a new backoff for a transmitter whose frame was acknowledged or given up, for the next frame if there is one. CW
    /// has been set.
    #[inline]
    pub(crate) fn go_on(&mut self, contender: EdcafId, ready: bool) {
        self.draw(contender);
        if ready {
            self.ready(contender);
        }
    }

    /// Sets CWmin of `contender`: a smaller CW is raised to it.
    pub(crate) fn set_cw_min(&mut self, contender: EdcafId, cw_min: u16) {
        let e = &mut self.contenders[contender.index()];
        e.cw_min = cw_min;
        e.cw = e.cw.max(cw_min);
    }

    /// Sets the CW for the next backoff of `contender` to CWmin.
    pub(crate) fn reset_window(&mut self, contender: EdcafId) {
        let e = &mut self.contenders[contender.index()];
        e.cw = e.cw_min;
    }

    /// Ends an exchange that all nodes decoded: its transmitter, with CWmin, counts on the grid again, and the medium
    /// becomes idle ([`Contention::resume`]).
    #[inline(always)] // into the usual end of an exchange
    pub(crate) fn succeed(&mut self, contender: EdcafId, ready: bool, now: Time) {
        let e = &mut self.contenders[contender.index()];
        let grid = pick(&mut self.first, &mut self.others, e.grid);
        e.position = Position::OnGrid;
        e.ready = ready;
        e.cw = e.cw_min;
        e.counter = grid.clock + u64::from(e.backoff.below(self.rules.slots(e.cw_min)));
        e.drawn_in = grid.epoch;
        if ready {
            e.next = grid.wheel.push(e.counter, contender);
        }
        self.resume(now, now, None);
    }

    /// Doubles the window for the next backoff of `contender`, up to CWmax.
    pub(crate) fn widen(&mut self, contender: EdcafId) {
        self.contenders[contender.index()].widen();
    }

    /// Draws a new backoff for a retransmission, counted after the IFS, which runs from `from`. The transmitter waits for a
    /// response until its timeout.
    #[inline(always)]
    pub(crate) fn fail(&mut self, contender: EdcafId, from: Time, awaits_response_until: Time) {
        let e = &mut self.contenders[contender.index()];
        e.counter = e.backoff.below(self.rules.slots(e.cw)).into();
        e.position = Position::OffGrid;
        let origin = from + pick(&mut self.first, &mut self.others, e.grid).aifs;
        self.off_grid.push(OwnOrigin {
            contender,
            origin,
            awaits_response_until,
            state: CounterState::Counting,
        });
    }

    /// Handles a packet that arrives at the empty MAC of `contender` (section 5).
    pub(crate) fn arrive(&mut self, contender: EdcafId, now: Time) {
        if !self.run_out(contender, now) {
            return self.ready(contender);
        }
        let e = &self.contenders[contender.index()];
        let on_grid = e.position == Position::OnGrid;
        let nav = || self.nav.is_some_and(|end| now <= end);
        if self.busy || if on_grid { nav() } else { self.own_origin(contender).awaits_response_until >= now }
        {
            if !on_grid {
                self.own_origin_mut(contender).state = CounterState::Counting;
            }
            self.draw(contender);
            return self.ready(contender);
        }
        let origin = if on_grid { self.grid_of(e).origin } else { self.own_origin(contender).origin };
        let (origin, state) = if now >= origin {
            match self.rules.immediate_access {
                true if self.rules.at_boundaries => {
                    let slot = self.rules.slot;
                    let past = Time::from_ns((now - origin).as_ns() % slot.as_ns());
                    (if past == Time::ZERO { now } else { now - past + slot }, CounterState::AwaitingOrigin)
                }
                true => (now, CounterState::AwaitingOrigin),
                false => (now + self.aifs(contender), CounterState::Counting),
            }
        } else {
            match self.rules.arrival_within_ifs {
                ArrivalWithinIfs::Transmit => (origin, CounterState::AwaitingOrigin),
                ArrivalWithinIfs::Backoff => (origin, CounterState::Counting),
            }
        };
        if !on_grid {
            self.off_grid.retain(|own_origin| own_origin.contender != contender);
        }
        let e = &mut self.contenders[contender.index()];
        e.position = Position::OffGrid;
        e.counter = 0;
        e.ready = true;
        if state == CounterState::Counting {
            self.draw(contender);
        }
        let own_origin = OwnOrigin { contender, origin, awaits_response_until: Time::ZERO, state };
        self.start = self.start.min(self.start_of(&own_origin));
        self.off_grid.push(own_origin);
    }

    /// Makes a frame of `contender` wait for access from now on, with its current counter.
    #[inline]
    pub(crate) fn ready(&mut self, contender: EdcafId) {
        let e = &mut self.contenders[contender.index()];
        e.ready = true;
        match e.position {
            Position::OnGrid => {
                let grid = pick(&mut self.first, &mut self.others, e.grid);
                e.next = grid.wheel.push(e.counter, contender);
                if !self.busy {
                    let start = grid.time_of(e.counter, self.rules.slot);
                    if start < grid.start {
                        grid.start = start;
                        grid.slot = e.counter;
                        self.start = self.start.min(start);
                    }
                }
            }
            Position::OffGrid if !self.busy => {
                self.start = self.start.min(self.start_of(self.own_origin(contender)));
            }
            Position::OffGrid | Position::OnAir => {}
        }
    }

    /// Marks the frame of `contender`, which is on the air, as lost in any case.
    pub(crate) fn withdraw(&mut self, contender: EdcafId) {
        self.contenders[contender.index()].ready = false;
    }

    /// Fast path at `now == start()` with one grid: if exactly one contender of it starts, and none is off the grid, returns
    /// it. Otherwise changes nothing, and [`Contention::begin`] must be called.
    #[inline(always)] // into the usual start of an exchange
    pub(crate) fn begin_alone(&mut self, now: Time) -> Option<EdcafId> {
        if !self.is_plain() {
            return None;
        }
        debug_assert!(now == self.first.start);
        let contender = self.first.wheel.head(self.first.slot);
        let e = &mut self.contenders[contender.index()];
        if e.next != EdcafId::NONE {
            return None;
        }
        e.position = Position::OnAir;
        self.first.wheel.take(self.first.slot);
        self.first.clock = self.first.slot + u64::from(self.rules.at_boundaries);
        self.first.epoch = self.first.epoch.wrapping_add(1);
        self.occupy();
        Some(contender)
    }

    /// Starts a transmission at `now == start()`: the counters of all other contenders freeze (section 4). The transmitting
    /// contenders are in [`Contention::transmitters`].
    pub(crate) fn begin(&mut self, now: Time) {
        debug_assert!(!self.busy && now == self.start);
        self.transmitters.clear();
        self.first.begin(now, &self.rules, &mut self.contenders, &mut self.transmitters);
        for grid in &mut self.others {
            grid.begin(now, &self.rules, &mut self.contenders, &mut self.transmitters);
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
        self.start = Time::MAX;
    }

    /// The transmitting contenders in order of index, since [`Contention::begin`].
    #[inline]
    pub(crate) fn transmitters(&self) -> &[EdcafId] {
        &self.transmitters
    }

    /// Removes `contender`, the last of all, from the transmitters; whether it was among them.
    pub(crate) fn take_last(&mut self, contender: EdcafId) -> bool {
        let transmits = self.transmitters.last() == Some(&contender);
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
        self.transmitters.retain(|&contender| {
            let own = numbering.node(contender);
            let first = node.replace(own) != Some(own);
            if !first {
                losers.push(contender);
                self.contenders[contender.index()].position = Position::OnGrid;
            }
            first
        });
        losers
    }

    /// Draws a new backoff for the loser of an internal collision.
    pub(crate) fn lose_internally(&mut self, contender: EdcafId) {
        self.draw(contender);
        self.ready(contender);
    }

    /// Makes the medium idle at `now`. Every contender on a grid waits an IFS that runs from `from`, with the NAV set until
    /// `nav`, if given.
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
        if self.awaits_response {
            self.release(now);
        }
        let mut start = self.first_stray().min(self.first.find_next(self.rules.slot));
        for grid in &mut self.others {
            start = start.min(grid.find_next(self.rules.slot));
        }
        start
    }

    /// Whether there is one grid, and no contender is off it.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.off_grid.len() | self.others.len() == 0
    }

    /// Duration of a wait of `contender` for access that begins now: its IFS and its remaining whole slots.
    pub(crate) fn wait(&self, contender: EdcafId, now: Time) -> Time {
        let e = &self.contenders[contender.index()];
        let grid = self.grid_of(e);
        let (origin, slots) = match e.position {
            Position::OnGrid => (grid.origin, e.counter - grid.clock),
            Position::OffGrid => (self.own_origin(contender).origin, e.counter),
            Position::OnAir => (Time::MAX, e.counter),
        };
        let counted = if !self.busy && now > origin { (now - origin) / self.rules.slot } else { 0 };
        grid.aifs + self.rules.slot * slots.saturating_sub(counted)
    }

    /// Returns the slots drawn since the last call that [`Contention::wait`] could not know: a frame that waits only for the
    /// end of an IFS draws only if another start comes first.
    pub(crate) fn take_drawn_late(&mut self, contender: EdcafId) -> Time {
        self.rules.slot * std::mem::take(&mut self.contenders[contender.index()].drawn_late).into()
    }

    /// Whether the counter of `contender`, which has no frame, has expired by `now`.
    fn run_out(&self, contender: EdcafId, now: Time) -> bool {
        let e = &self.contenders[contender.index()];
        let reached =
            |origin: Time, slots: u64| !self.busy && now >= origin && origin + self.rules.slot * slots <= now;
        match e.position {
            Position::OnAir => false,
            Position::OffGrid => {
                let own_origin = self.own_origin(contender);
                own_origin.state == CounterState::Expired || reached(own_origin.origin, e.counter)
            }
            Position::OnGrid => {
                let grid = self.grid_of(e);
                e.counter < grid.clock
                    || (e.counter == grid.clock && e.drawn_in != grid.epoch && !self.rules.at_boundaries)
                    || reached(grid.origin, e.counter - grid.clock)
            }
        }
    }
}
