//! A cell: the access point, its stations and the medium between them, as a polled state machine.
//!
//! The owner hands packets in ([`Cell::send_up`], [`Cell::send_down`]) and calls [`Cell::advance`] whenever
//! [`Cell::next_event`] has come and everything else of that instant is done; it gets packets out as [`Delivery`].
//! What happens when is in `docs/medium.md`. An exchange has at most three events: start, end of the data frame
//! (delivery), end.

use std::collections::VecDeque;

use wifair_core::{Ac, FiveTuple, FlowId, Packet, Rate, Rng, SpecError, StationId, Time};
use wifair_queue::{Direction, Exchange, Flows, Grant, Ledger, Link, Outcome, Port, View};

use crate::channel::{Channel, ChannelSpec};
use crate::contention::{Access, Contention, Rules};
use crate::edca::{BEST_EFFORT, CATEGORY_BITS, Countdown, Edca, RANKS};
use crate::exchange::{Collider, Frame, Phase, Single};
use crate::link::{LinkId, LinkRow};
use crate::mac::Mac;
use crate::meter::Meter;
use crate::phy::{Phy, RateIndex};
use crate::rate::RateSpec;
use crate::records::{CellSnapshot, StationUsage, Usage};
use crate::spec::{AP_LABEL, CellSpec, StationChange, StationSpec};

/// The access point's node.
pub(crate) const AP: u32 = 0;

/// A station's node.
#[inline]
pub(crate) fn node_of(station: StationId) -> u32 {
    u32::from(station.0) + 1
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The access point.
    Ap,
    /// A station.
    Station(StationId),
}

/// A packet that has crossed the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// The packet. It lies where its sender holds it until the exchange ends.
    pub packet: &'a Packet,
    /// Where it is now.
    pub to: Node,
}

/// A sender's data rate towards its peer has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRateChange {
    /// The station at one end of the link.
    pub station: StationId,
    /// Up: the station's own rate; down: the AP's towards the station.
    pub direction: Direction,
    /// The rate from now on.
    pub rate: Rate,
}

/// What a cell gives out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    /// A packet has crossed the medium.
    Delivery(Delivery<'a>),
    /// A link rate has changed.
    LinkRate(LinkRateChange),
}

/// What an event gives out, before anybody looks at it.
#[derive(Clone, Copy)]
pub(crate) enum Told {
    /// The packet in service of the exchange's sender has reached its receiver.
    Delivery,
    LinkRate(LinkRateChange),
}

/// A MAC, or an access category of one, and what stands behind it.
pub(crate) struct Sender {
    pub port: Port,
    pub frame: Frame,
}

/// What the schemes of one side of the cell may look at.
pub(crate) struct Surroundings {
    pub flows: Flows,
    /// By station.
    pub links: Vec<Link>,
}

/// The two sides of the cell.
pub(crate) struct Sides {
    pub ap: Surroundings,
    /// All stations share one: a station has no flow monitor, its scheme sees an idle one.
    pub stations: Surroundings,
}

impl Sides {
    #[inline]
    pub(crate) fn view(&self, is_ap: bool) -> View<'_> {
        let side = if is_ap { &self.ap } else { &self.stations };
        View { flows: &side.flows, links: &side.links }
    }
}

/// A frame that reaches the retry limit when its sender's timeout comes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Loss {
    pub at: Time,
    pub sender: u32,
}

/// See the module's head.
pub struct Cell {
    pub(crate) phy: Phy,
    pub(crate) mac: Mac,
    pub(crate) contention: Contention,
    /// A sender is what contends: under DCF a node, under EDCA a category of a node (its rank in the low bits).
    pub(crate) senders: Vec<Sender>,
    /// Bits of a sender that tell its category: none under DCF.
    pub(crate) category_bits: u32,
    pub(crate) edca: Option<Edca>,
    /// By the AP's senders: whether the limit is one of its own, which a change of the AP's limit leaves as it is.
    pub(crate) own_limits: Vec<bool>,
    pub(crate) sides: Sides,
    /// By [`LinkId`](crate::link::LinkId).
    pub(crate) links: Vec<LinkRow>,
    /// Absent where no link has errors.
    pub(crate) channel: Option<Channel>,
    pub(crate) channel_spec: ChannelSpec,
    pub(crate) ap_position_m: [f64; 2],
    pub(crate) rate_adaptation: RateSpec,
    pub(crate) seed: u64,
    /// By node.
    pub(crate) labels: Vec<String>,

    pub(crate) phase: Phase,
    /// When the exchange or collision that goes on began.
    pub(crate) phase_began: Time,
    /// When the medium has its next event: the end of the phase or, while idle, the next start.
    pub(crate) due: Time,
    /// The exchange that goes on, unless it is a collision.
    pub(crate) single: Single,
    pub(crate) colliders: Vec<Collider>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) next_loss: Time,
    /// Senders whose scheme wants a tick, and when.
    tickers: Vec<(u32, Time)>,
    next_tick: Time,
    /// Changes of link rates that the owner has yet to hear of, the oldest first.
    pub(crate) rate_changes: VecDeque<LinkRateChange>,
    /// The earlier of `next_loss` and `next_tick`, or now while `rate_changes` wait; most cells never have any.
    pub(crate) rare: Time,
    pub(crate) now: Time,

    /// Only where the AP's scheme looks at channel times.
    pub(crate) meter: Option<Meter>,
    pub(crate) exchanges: u64,
    pub(crate) collisions: u64,
    pub(crate) collision_airtime: Time,
}

impl Cell {
    /// The cell that `spec` describes, idle at time zero. Streams: (`seed`, node's label, `"backoff"`, `"channel"` and
    /// `"scheme"`); under EDCA `"backoff-voice"` and `"scheme-voice"` and so on.
    ///
    /// # Errors
    /// The first value of `spec` that is not allowed.
    pub fn new(spec: &CellSpec, seed: u64) -> Result<Cell, SpecError> {
        let phy = Phy::new(&spec.phy, "phy")?;
        spec.validate(&phy)?;
        let mac = Mac::new(&spec.mac, &phy, "mac")?;
        let rules = Rules {
            slot: phy.slot,
            range: spec.mac.backoff_range,
            immediate_access: spec.mac.immediate_access,
            arrival_within_ifs: spec.mac.arrival_within_ifs,
            at_boundaries: spec.mac.edca.as_ref().is_some_and(|edca| edca.countdown == Countdown::Edca),
        };
        let edca = spec.mac.edca.as_ref().map(|edca| Edca::new(edca, &phy, "mac.edca")).transpose()?;
        let category_bits = if edca.is_some() { CATEGORY_BITS } else { 0 };
        let labels = || std::iter::once(AP_LABEL).chain(spec.stations.iter().map(|s| s.label.as_str()));
        let categories: Vec<Option<Ac>> = match &edca {
            Some(_) => RANKS.map(Some).to_vec(),
            None => vec![None],
        };
        let each = || {
            labels().enumerate().flat_map(|(node, label)| categories.iter().map(move |ac| (node, label, *ac)))
        };
        let entities = each().enumerate().map(|(sender, (_, label, ac))| {
            let access = match &edca {
                Some(edca) => edca.access(sender as u32),
                None => Access { cw_min: phy.cw_min, cw_max: phy.cw_max, aifs: phy.difs },
            };
            (access, Rng::stream(seed, label, &purpose("backoff", ac)))
        });
        let senders = each().map(|(node, label, ac)| Sender {
            port: Port::for_purpose(&spec.port(node, ac), seed, label, &purpose("scheme", ac)),
            frame: Frame::none(),
        });
        let own_limit = |ac: &Option<Ac>| {
            let own = ac.map(|ac| spec.ap.categories.of(ac));
            own.is_some_and(|own| own.limit_packets.is_some() || own.limit_controller.is_some())
        };

        let mut rows = Vec::new();
        for (index, station) in spec.stations.iter().enumerate() {
            for rate in rates(station, &phy, index)? {
                rows.push(LinkRow::new(
                    phy.on_air(rate),
                    spec.mac.rate_adaptation.build(rate, phy.rate_count()),
                ));
            }
        }
        let surroundings = |direction: Direction| Surroundings {
            flows: Flows::new(&spec.ap.flows),
            links: rows[direction as usize..]
                .iter()
                .step_by(2)
                .map(|row| Link { rate: row.on_air.rate })
                .collect(),
        };
        let mut cell = Cell {
            contention: Contention::new(rules, edca.is_some(), entities),
            senders: senders.collect(),
            category_bits,
            own_limits: categories.iter().map(own_limit).collect(),
            sides: Sides { ap: surroundings(Direction::Down), stations: surroundings(Direction::Up) },
            links: rows,
            channel: None,
            channel_spec: spec.channel.clone(),
            ap_position_m: spec.ap.position_m,
            rate_adaptation: spec.mac.rate_adaptation.clone(),
            seed,
            labels: labels().map(String::from).collect(),
            phase: Phase::Idle,
            phase_began: Time::ZERO,
            single: Single::none(),
            due: Time::MAX,
            colliders: Vec::new(),
            losses: Vec::new(),
            next_loss: Time::MAX,
            tickers: Vec::new(),
            next_tick: Time::MAX,
            rate_changes: VecDeque::new(),
            rare: Time::MAX,
            now: Time::ZERO,
            meter: None,
            edca,
            exchanges: 0,
            collisions: 0,
            collision_airtime: Time::ZERO,
            phy,
            mac,
        };
        if Channel::is_needed(spec) {
            for (index, station) in spec.stations.iter().enumerate() {
                cell.set_channel(StationId(index as u16), &StationChange::of(station), Time::ZERO);
            }
        }
        cell.meter = Meter::wanted_by(cell.ap_ports().map(|(_, port)| port), &cell.phy);
        for sender in 0..cell.senders.len() as u32 {
            cell.ask_tick(sender, cell.senders[sender as usize].port.next_tick());
        }
        Ok(cell)
    }

    /// The station's host hands a packet to the station's port.
    #[inline]
    pub fn send_up(&mut self, station: StationId, packet: &Packet, now: Time) {
        let sender = self.sender(node_of(station), packet);
        self.offer(sender, false, packet, FlowId::default(), station, now);
    }

    /// A packet for the station comes to the AP from the wire: the flow monitor sees it, the AP's port gets it.
    #[inline]
    pub fn send_down(&mut self, station: StationId, packet: &Packet, now: Time) {
        let flow = self.observe(packet, Direction::Down, now);
        let sender = self.sender(AP, packet);
        self.offer(sender, true, packet, flow, station, now);
    }

    /// When [`Cell::advance`] is due; [`Time::MAX`] if nothing will happen by itself.
    #[inline]
    pub fn next_event(&self) -> Time {
        self.due.min(self.rare)
    }

    /// Does what is due at `now == next_event()`, and gives out what comes of it, if anything. Further things may be due
    /// at the same instant.
    pub fn advance(&mut self, now: Time) -> Option<Output<'_>> {
        if now != self.next_event() {
            self.not_due(now);
        }
        let told = self.step(now)?;
        Some(self.output(told))
    }

    /// Does all that is due before `limit`, up to the first thing that gives something out, and when that
    /// is.
    /// `None` once nothing more is due before `limit`.
    #[inline]
    pub fn advance_before(&mut self, limit: Time) -> Option<(Time, Output<'_>)> {
        let told = loop {
            let now = self.next_event();
            if now >= limit {
                return None;
            }
            if let Some(told) = self.step(now) {
                break told;
            }
        };
        Some((self.now, self.output(told)))
    }

    #[inline]
    fn output(&self, told: Told) -> Output<'_> {
        match told {
            Told::Delivery => {
                let Single { sender, link, .. } = self.single;
                let to = match link.direction() {
                    Direction::Up => Node::Ap,
                    Direction::Down => Node::Station(link.station()),
                };
                Output::Delivery(Delivery {
                    packet: &self.senders[sender as usize].frame.departure().packet,
                    to,
                })
            }
            Told::LinkRate(change) => Output::LinkRate(change),
        }
    }

    /// One event. It is inlined where the cell goes on by itself, and with it what the usual exchange needs: start,
    /// delivery and end then share their registers.
    #[inline(always)]
    fn step(&mut self, now: Time) -> Option<Told> {
        assert!(now >= self.now, "time runs backwards in a cell");
        self.now = now;
        if now >= self.rare {
            return self.advance_rarely(now);
        }
        match self.phase {
            Phase::Idle => self.start(now),
            Phase::Data => return self.deliver(now),
            Phase::Ending => self.end_single(now),
            Phase::Collision => self.end_collision(now),
        }
        None
    }

    /// Changes of rates are told at once; ticks and losses come before what the medium does at the same instant.
    #[cold]
    #[inline(never)]
    fn advance_rarely(&mut self, now: Time) -> Option<Told> {
        let told = self.rate_changes.pop_front().map(Told::LinkRate);
        if told.is_none() {
            if now == self.next_tick {
                self.tick(now);
            } else {
                self.lose(now);
            }
        }
        self.reschedule();
        told
    }

    #[cold]
    #[inline(never)]
    fn not_due(&self, now: Time) -> ! {
        panic!("{now} is not the cell's next event ({})", self.next_event());
    }

    #[cold]
    #[inline(never)]
    fn out_of_turn(&self, now: Time) -> ! {
        panic!(
            "{now} does not lie between the cell's last event ({}) and its next ({})",
            self.now,
            self.next_event()
        );
    }

    /// All counters of the medium up to `now`, which is not after [`Cell::next_event`].
    pub fn snapshot(&self, now: Time) -> CellSnapshot {
        if now < self.now || now > self.next_event() {
            self.out_of_turn(now);
        }
        let of_link = |row: &LinkRow| Usage { rate_integral: row.rate_integral_at(now), ..row.usage };
        let of_station = |rows: &[LinkRow]| StationUsage { up: of_link(&rows[0]), down: of_link(&rows[1]) };
        let mut stations: Vec<_> = self.links.chunks_exact(2).map(of_station).collect();
        let mut collision_airtime = self.collision_airtime;
        match self.phase {
            Phase::Idle => {}
            Phase::Data | Phase::Ending => {
                let link = self.single.link;
                stations[link.station().index()].of(link.direction()).airtime += now - self.phase_began;
            }
            Phase::Collision => collision_airtime += now - self.phase_began,
        }
        let occupied = stations.iter().fold(collision_airtime, |sum, s| sum + s.up.airtime + s.down.airtime);
        CellSnapshot {
            at: now,
            elapsed: now,
            stations,
            exchanges: self.exchanges,
            collisions: self.collisions,
            collision_airtime,
            channel_time: self.meter.as_ref().map(|meter| meter.channel_times),
            idle: now - occupied,
        }
    }

    /// The AP's port; under EDCA that of best effort.
    pub fn ap_port(&self) -> &Port {
        &self.senders[self.usual_sender(AP) as usize].port
    }

    /// A station's port; under EDCA that of best effort.
    pub fn station_port(&self, station: StationId) -> &Port {
        &self.senders[self.usual_sender(node_of(station)) as usize].port
    }

    /// The AP's ports: under DCF one, under EDCA those of the categories to which packets may come, the highest first.
    pub fn ap_ports(&self) -> impl Iterator<Item = (Option<Ac>, &Port)> {
        self.ports_of(AP)
    }

    /// A station's ports, as [`Cell::ap_ports`].
    pub fn station_ports(&self, station: StationId) -> impl Iterator<Item = (Option<Ac>, &Port)> {
        self.ports_of(node_of(station))
    }

    fn ports_of(&self, node: u32) -> impl Iterator<Item = (Option<Ac>, &Port)> {
        let first = (node << self.category_bits) as usize;
        let senders = self.senders[first..first + (1 << self.category_bits)].iter().enumerate();
        senders.filter_map(|(rank, sender)| match &self.edca {
            None => Some((None, &sender.port)),
            Some(edca) => edca.used[rank].then_some((Some(RANKS[rank]), &sender.port)),
        })
    }

    /// The sender that serves best effort at a node.
    fn usual_sender(&self, node: u32) -> u32 {
        if self.edca.is_some() { node << CATEGORY_BITS | BEST_EFFORT } else { node }
    }

    /// The sender that serves a packet at a node.
    #[inline]
    fn sender(&self, node: u32, packet: &Packet) -> u32 {
        match &self.edca {
            None => node,
            Some(edca) => node << CATEGORY_BITS | edca.rank(packet),
        }
    }

    /// Whether a sender is the AP's.
    #[inline]
    pub(crate) fn is_ap(&self, sender: u32) -> bool {
        sender >> self.category_bits == AP
    }

    /// The link of the frame in service of `sender`.
    #[inline]
    pub(crate) fn link_of(&self, sender: u32) -> LinkId {
        LinkId::of(self.is_ap(sender), self.senders[sender as usize].frame.departure().station)
    }

    /// The rate of the next data frame from the station (up) or to it (down).
    pub fn link_rate(&self, station: StationId, direction: Direction) -> Rate {
        self.links[LinkId::of(direction == Direction::Down, station).index()].on_air.rate
    }

    /// The AP's flow monitor.
    pub fn flows(&self) -> &Flows {
        &self.sides.ap.flows
    }

    /// The next flow that the AP's monitor has forgotten, with its 5-tuple as its uplink packets carry it and its
    /// ledger at the AP's ports by class. Its id may be used again from now on.
    #[inline]
    pub fn pop_forgotten(&mut self) -> Option<(FlowId, FiveTuple, [Ledger; 3])> {
        let (flow, tuple) = self.sides.ap.flows.pop_forgotten()?;
        let mut ledgers = [Ledger::default(); 3];
        for Sender { port, .. } in &mut self.senders[..1 << self.category_bits] {
            for (sum, ledger) in ledgers.iter_mut().zip(&port.retire(flow)) {
                *sum += ledger;
            }
        }
        Some((flow, tuple, ledgers))
    }

    #[inline(always)]
    fn offer(
        &mut self,
        sender: u32,
        is_ap: bool,
        packet: &Packet,
        flow: FlowId,
        station: StationId,
        now: Time,
    ) {
        self.come_from_outside(now);
        let Sender { port, frame } = &mut self.senders[sender as usize];
        port.offer(packet, flow, station, now, self.sides.view(is_ap));
        if frame.departure.is_none() {
            return self.serve(sender, now);
        }
        let tick = port.next_tick();
        self.ask_tick(sender, tick);
    }

    #[inline]
    pub(crate) fn come_from_outside(&mut self, now: Time) {
        if now < self.now || now > self.next_event() {
            self.out_of_turn(now);
        }
        self.now = now;
    }

    /// What follows where a MAC is free: it asks its port for a packet and contends for it.
    #[inline(never)]
    fn serve(&mut self, sender: u32, now: Time) {
        let (is_ap, grant) = (self.is_ap(sender), self.grant(sender));
        let Sender { port, frame } = &mut self.senders[sender as usize];
        let departure = port.take(&grant, now, self.sides.view(is_ap));
        if frame.load(departure, &self.phy, now) {
            self.contention.arrive(sender, now);
            self.meter_wait(sender, now);
            self.reschedule();
        }
        let tick = self.senders[sender as usize].port.next_tick();
        self.ask_tick(sender, tick);
    }

    /// What a sender may take from its port.
    #[inline]
    fn grant(&self, sender: u32) -> Grant {
        let ac = if self.edca.is_some() { RANKS[sender as usize % RANKS.len()] } else { Ac::BestEffort };
        Grant { ac, ..Grant::ANY }
    }

    /// `sender` is done with its frame: it takes the next, if there is one, and draws. With a delivery the
    /// exchange is over and the medium falls idle, unless a TXOP goes on; a loss comes at any time.
    #[inline(always)] // into the usual end of an exchange; the other callers are cold
    pub(crate) fn finish(&mut self, sender: u32, outcome: Outcome, now: Time) {
        if self.edca.is_some() {
            self.finish_in_category(sender, outcome, now);
        } else {
            self.finish_as::<false>(sender, outcome, now);
        }
    }

    #[inline(never)]
    fn finish_in_category(&mut self, sender: u32, outcome: Outcome, now: Time) {
        self.finish_as::<true>(sender, outcome, now);
    }

    #[inline(always)]
    fn finish_as<const EDCA: bool>(&mut self, sender: u32, outcome: Outcome, now: Time) {
        if self.meter.is_some() {
            self.meter_frame(sender);
        }
        let (grant, is_ap) = match EDCA {
            true => (self.grant(sender), self.is_ap(sender)),
            false => (Grant::ANY, sender == AP),
        };
        let view = self.sides.view(is_ap);
        let Sender { port, frame } = &mut self.senders[sender as usize];
        let departure = frame.departure();
        port.finish(departure, outcome, now, view, || Exchange {
            outcome,
            packets: std::slice::from_ref(&departure.packet),
            flow: departure.flow,
            station: departure.station,
            ac: grant.ac,
            rate: frame.rate,
            attempts: frame.attempts.min(u32::from(u8::MAX)) as u8,
            airtime: frame.airtime,
            overhead: frame.overhead,
            service: now - frame.taken_at,
        });
        let departure = port.take(&grant, now, view);
        let tick = port.next_tick();
        let more = frame.load(departure, &self.phy, now);
        self.ask_tick(sender, tick);
        match outcome {
            Outcome::Delivered => {
                if !EDCA {
                    self.contention.succeed(sender, more, now);
                } else if more && self.goes_on(sender, now) {
                    return self.follow(sender, now);
                } else {
                    self.contention.succeed_in_category(sender, more, now);
                }
                self.due = self.contention.start();
            }
            Outcome::LostAtRetryLimit => self.contention.start_over(sender, more),
        }
        if more {
            self.meter_wait(sender, now);
        }
    }

    /// A scheme's tick. It may have released a packet to a free MAC.
    #[cold]
    fn tick(&mut self, now: Time) {
        let due = self.tickers.iter().filter(|(_, at)| *at == now).map(|(sender, _)| *sender);
        let sender = due.min().expect("a tick is due");
        let is_ap = self.is_ap(sender);
        let Sender { port, frame } = &mut self.senders[sender as usize];
        port.tick(now, self.sides.view(is_ap));
        if frame.departure.is_none() {
            return self.serve(sender, now);
        }
        let tick = port.next_tick();
        self.ask_tick(sender, tick);
    }

    /// The AP's flow monitor sees a packet.
    #[inline(always)]
    pub(crate) fn observe(&mut self, packet: &Packet, direction: Direction, now: Time) -> FlowId {
        let (senders, category_bits) = (&self.senders, self.category_bits);
        self.sides.ap.flows.observe(packet, direction, now, |flow| is_held(senders, category_bits, flow))
    }

    /// The port of `sender` wants its next tick at `at`.
    #[inline]
    fn ask_tick(&mut self, sender: u32, at: Option<Time>) {
        if at.is_some() || !self.tickers.is_empty() {
            self.set_tick(sender, at);
        }
    }

    #[cold]
    fn set_tick(&mut self, sender: u32, at: Option<Time>) {
        let at = at.map(|at| at.max(self.now));
        if self.tickers.iter().find(|(other, _)| *other == sender).map(|(_, at)| *at) == at {
            return; // it keeps a clock: most calls change nothing
        }
        self.tickers.retain(|(other, _)| *other != sender);
        self.tickers.extend(at.map(|at| (sender, at)));
        self.next_tick = self.tickers.iter().map(|(_, at)| *at).min().unwrap_or(Time::MAX);
        self.expect_rare();
    }

    /// After what may have brought a start nearer, or a rare event.
    fn reschedule(&mut self) {
        if self.phase == Phase::Idle {
            self.due = self.contention.start();
        }
        self.expect_rare();
    }

    fn expect_rare(&mut self) {
        let untold = if self.rate_changes.is_empty() { Time::MAX } else { self.now };
        self.rare = self.next_loss.min(self.next_tick).min(untold);
    }
}

/// Whether one of the AP's ports holds a packet of the flow.
pub(crate) fn is_held(senders: &[Sender], category_bits: u32, flow: FlowId) -> bool {
    senders[..1 << category_bits].iter().any(|sender| sender.port.holds(flow))
}

/// The name of a random stream.
fn purpose(what: &str, category: Option<Ac>) -> String {
    match category {
        None => what.into(),
        Some(ac) => format!("{what}-{}", ac.name()),
    }
}

/// The data rates of a station, up and down.
fn rates(station: &StationSpec, phy: &Phy, index: usize) -> Result<[RateIndex; 2], SpecError> {
    let up = phy.rate_index(station.rate_mbps, &format!("stations[{index}].rate_mbps"))?;
    let down = match station.rate_down_mbps {
        Some(mbps) => phy.rate_index(mbps, &format!("stations[{index}].rate_down_mbps"))?,
        None => up,
    };
    Ok([up, down])
}
