//! What a network has on the air: one BSS, or several in one field. A station has one number in the network, those of the
//! first BSS first; only this file knows which number it has in its BSS.

use wifair_core::{FiveTuple, Packet, Rate, SpecError, StationId, Time};
use wifair_queue::{Direction, Ledger, SchemeSpec};
use wifair_wlan::{
    Bss, BssSnapshot, Delivery, FieldUsage, LinkRateChange, Mode, Modes, Node, Obss, ObssSpec, Output,
    StationChange,
};

/// See the module documentation. BSSs have numbers: the first is 0, then come its neighbours in the order of the plan.
#[allow(clippy::large_enum_variant)] // one per network
pub(crate) enum Air {
    One(Bss),
    Several(Box<Neighbourhood>),
}

/// Several BSSs, and the stations of the network.
pub(crate) struct Neighbourhood {
    obss: Obss,
    /// By station: its BSS, and its number there.
    places: Vec<(usize, StationId)>,
    /// By BSS: its first station.
    firsts: Vec<u16>,
}

impl Neighbourhood {
    fn new(spec: &ObssSpec, seed: u64) -> Result<Neighbourhood, SpecError> {
        let obss = Obss::new(spec, seed)?;
        let (mut places, mut firsts) = (vec![], vec![]);
        let of_neighbours = spec.neighbours.iter().map(|neighbour| neighbour.stations.len());
        for (bss, stations) in std::iter::once(spec.bss.stations.len()).chain(of_neighbours).enumerate() {
            firsts.push(places.len() as u16);
            places.extend((0..stations as u16).map(|station| (bss, StationId(station))));
        }
        Ok(Neighbourhood { obss, places, firsts })
    }
}

impl Air {
    /// What a BSS and its neighbours have on the air, idle at time zero.
    ///
    /// # Errors
    /// Returns the first invalid value, as [`Bss::new`] and [`Obss::new`].
    pub(crate) fn new(spec: &ObssSpec, seed: u64) -> Result<Air, SpecError> {
        if spec.neighbours.is_empty() {
            return Bss::new(&spec.bss, seed).map(Air::One);
        }
        Air::several(spec, seed)
    }

    /// As [`Air::new`], of what is one of several BSSs, or more than one.
    ///
    /// # Errors
    /// As [`Air::new`].
    pub(crate) fn several(spec: &ObssSpec, seed: u64) -> Result<Air, SpecError> {
        let several = Neighbourhood::new(spec, seed)?;
        Ok(Air::Several(Box::new(several)))
    }

    /// Gives each BSS its turn.
    pub(crate) fn each(&mut self, mut act: impl FnMut(usize, &mut Bss)) {
        (0..self.count()).for_each(|bss| self.turn(bss, |one| act(bss, one)));
    }

    /// The number of BSSs.
    pub(crate) fn count(&self) -> usize {
        match self {
            Air::One(_) => 1,
            Air::Several(several) => several.obss.count(),
        }
    }

    /// Whether there are several BSSs.
    pub(crate) fn has_several(&self) -> bool {
        matches!(self, Air::Several(_))
    }

    /// A BSS, to read what does not need the field: see [`Obss::bss`].
    pub(crate) fn bss(&self, bss: usize) -> &Bss {
        match self {
            Air::One(one) => one,
            Air::Several(several) => several.obss.bss(bss),
        }
    }

    /// The BSSs, as [`Air::bss`].
    pub(crate) fn bsss(&self) -> impl Iterator<Item = &Bss> {
        (0..self.count()).map(|bss| self.bss(bss))
    }

    /// All counters of a BSS up to `now`, which is not after [`Air::next_event`].
    pub(crate) fn snapshot(&self, bss: usize, now: Time) -> BssSnapshot {
        match self {
            Air::One(one) => one.snapshot(now),
            Air::Several(several) => several.obss.snapshot(bss, now),
        }
    }

    /// How the frames of a BSS fare among those of others, if there are several.
    pub(crate) fn field_usage(&self, bss: usize, now: Time) -> Option<FieldUsage> {
        match self {
            Air::One(_) => None,
            Air::Several(several) => Some(several.obss.field_usage(bss, now)),
        }
    }

    /// The BSS of a station, and its number there.
    pub(crate) fn place(&self, station: StationId) -> (usize, StationId) {
        match self {
            Air::One(_) => (0, station),
            Air::Several(several) => several.places[station.index()],
        }
    }

    /// Whether two stations are in BSSs of one channel.
    pub(crate) fn share_a_channel(&self, a: StationId, b: StationId) -> bool {
        match self {
            Air::One(_) => true,
            Air::Several(several) => {
                let [a, b] = [a, b].map(|station| several.places[station.index()].0);
                several.obss.share_a_channel(a, b)
            }
        }
    }

    /// Whether the medium is busy at the second station while the first alone transmits.
    pub(crate) fn senses(&self, from: StationId, to: StationId) -> bool {
        match self {
            Air::One(bss) => bss.senses(Node::Station(from), Node::Station(to)),
            Air::Several(several) => {
                let [from, to] = [from, to].map(|station| several.places[station.index()]);
                several.obss.senses((from.0, Node::Station(from.1)), (to.0, Node::Station(to.1)))
            }
        }
    }

    /// As [`Bss::packets_under_way`], of all BSSs.
    pub(crate) fn packets_under_way(&self) -> impl Iterator<Item = (bool, &Packet)> {
        self.bsss().flat_map(Bss::packets_under_way)
    }

    /// As [`Bss::link_rate`].
    pub(crate) fn link_rate(&self, station: StationId, direction: Direction) -> Rate {
        let (bss, station) = self.place(station);
        self.bss(bss).link_rate(station, direction)
    }

    /// As [`Bss::link_mode`].
    pub(crate) fn link_mode(&self, station: StationId, direction: Direction) -> Mode {
        let (bss, station) = self.place(station);
        self.bss(bss).link_mode(station, direction)
    }

    /// As [`Bss::modes`].
    pub(crate) fn modes(&self, station: StationId) -> &Modes {
        let (bss, station) = self.place(station);
        self.bss(bss).modes(station)
    }

    /// As [`Bss::check_change`].
    pub(crate) fn check_change(
        &self,
        station: StationId,
        change: &StationChange,
        path: &str,
    ) -> Result<(), SpecError> {
        let (bss, station) = self.place(station);
        self.bss(bss).check_change(station, change, path)
    }

    /// When the next event is due; [`Time::MAX`] if none is scheduled.
    pub(crate) fn next_event(&self) -> Time {
        match self {
            Air::One(bss) => bss.next_event(),
            Air::Several(several) => several.obss.next_event(),
        }
    }

    /// As [`Bss::send_up`].
    #[inline(always)] // into the single caller through which all packets of the stations' hosts pass
    pub(crate) fn send_up(&mut self, station: StationId, packet: &Packet, now: Time) {
        match self {
            Air::One(bss) => bss.send_up(station, packet, now),
            Air::Several(_) => self.turn_of(station, |bss, station| bss.send_up(station, packet, now)),
        }
    }

    /// As [`Bss::send_down`].
    #[inline]
    pub(crate) fn send_down(&mut self, station: StationId, packet: &Packet, now: Time) {
        match self {
            Air::One(bss) => bss.send_down(station, packet, now),
            Air::Several(_) => self.turn_of(station, |bss, station| bss.send_down(station, packet, now)),
        }
    }

    /// Handles the events before `limit` up to the first output; returns it with its time. `None` once nothing more is due
    /// before `limit`. Calls `began` with the number of a BSS in which an exchange has begun or, in a field, the sender of one
    /// knows its outcome.
    ///
    /// The engine's loop is compiled twice, for one BSS and for `SEVERAL`, as [`Air::has_several`] says.
    #[inline(always)] // into the engine's loop
    pub(crate) fn advance_watched<const SEVERAL: bool>(
        &mut self,
        limit: Time,
        mut began: impl FnMut(usize, &Bss),
    ) -> Option<(Time, Output<'_>)> {
        match self {
            Air::One(bss) if !SEVERAL => bss.advance_watched(limit, move |bss| began(0, bss)),
            Air::Several(several) if SEVERAL => several.advance_watched(limit, &mut began),
            _ => unreachable!("the loop is that for the number of BSSs"),
        }
    }

    /// As [`Bss::report_completions`].
    pub(crate) fn report_completions(&mut self, station: StationId) {
        self.turn_of(station, |bss, station| bss.report_completions(station));
    }

    /// As [`Bss::change_station`].
    pub(crate) fn change_station(&mut self, station: StationId, change: &StationChange, now: Time) {
        self.turn_of(station, |bss, station| bss.change_station(station, change, now));
    }

    /// As [`Bss::set_ap_limit`], at the access point of a BSS.
    pub(crate) fn set_ap_limit(&mut self, bss: usize, packets: u32, now: Time) {
        self.turn(bss, |bss| bss.set_ap_limit(packets, now));
    }

    /// As [`Bss::set_ap_scheme`], at the access point of a BSS.
    pub(crate) fn set_ap_scheme(&mut self, bss: usize, scheme: &SchemeSpec, now: Time) {
        self.turn(bss, |bss| bss.set_ap_scheme(scheme, now));
    }

    /// As [`Bss::pop_forgotten`], of any BSS: the 5-tuple and the ledger.
    pub(crate) fn pop_forgotten(&mut self) -> Option<(FiveTuple, [Ledger; 3])> {
        let forgotten = (0..self.count()).find_map(|bss| self.turn(bss, Bss::pop_forgotten));
        forgotten.map(|(_, tuple, classes)| (tuple, classes))
    }

    /// Gives a BSS its turn.
    pub(crate) fn turn<T>(&mut self, bss: usize, act: impl FnOnce(&mut Bss) -> T) -> T {
        match self {
            Air::One(one) => act(one),
            Air::Several(several) => act(&mut several.obss.turn(bss)),
        }
    }

    /// Gives the BSS of a station its turn.
    #[cold]
    #[inline(never)]
    fn turn_of(&mut self, station: StationId, act: impl FnOnce(&mut Bss, StationId)) {
        let (bss, station) = self.place(station);
        self.turn(bss, |bss| act(bss, station));
    }
}

impl Neighbourhood {
    #[cold]
    #[inline(never)]
    fn advance_watched(
        &mut self,
        limit: Time,
        began: &mut dyn FnMut(usize, &Bss),
    ) -> Option<(Time, Output<'_>)> {
        let Neighbourhood { obss, firsts, .. } = self;
        let (at, bss, output) = obss.advance_watched(limit, |bss, one| began(bss, one))?;
        let number = |station: StationId| StationId(firsts[bss] + station.0);
        let output = match output {
            Output::Delivery(Delivery { packet, to: Node::Station(station) }) => {
                Output::Delivery(Delivery { packet, to: Node::Station(number(station)) })
            }
            Output::LinkRate(change) => {
                Output::LinkRate(LinkRateChange { station: number(change.station), ..change })
            }
            others => others,
        };
        Some((at, output))
    }
}
