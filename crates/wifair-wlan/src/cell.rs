//! A cell: the access point, its stations and the medium between them, as a polled state machine.
//!
//! The owner hands packets in ([`Cell::send_up`], [`Cell::send_down`]) and calls [`Cell::advance`] whenever
//! [`Cell::next_event`] has come and everything else of that instant is done; it gets packets out as [`Delivery`].
//! What happens when is in `docs/medium.md`. An exchange has at most three events: start, end of the data frame
//! (delivery), end.

use wifair_core::{Ac, FiveTuple, FlowId, Packet, Rng, SpecError, StationId, Time};
use wifair_queue::{Direction, Exchange, Flows, Grant, Ledger, Link, Outcome, Port, View};

use crate::contention::{Contention, Rules};
use crate::exchange::{Collider, Frame, Phase, Single};
use crate::mac::Mac;
use crate::phy::{Phy, RateIndex};
use crate::rate::RateAdaptation;
use crate::records::{CellSnapshot, StationUsage};
use crate::spec::{AP_LABEL, CellSpec, FrameErrorRate, StationSpec};

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
pub struct Delivery {
    /// The packet.
    pub packet: Packet,
    /// Where it is now.
    pub to: Node,
}

/// A MAC and what stands behind it.
pub(crate) struct NodeState {
    pub port: Port,
    /// In service.
    pub frame: Option<Frame>,
}

/// One node's choice of rate towards one of its peers.
pub(crate) struct Peer {
    pub rate: RateIndex,
    pub adaptation: Box<dyn RateAdaptation>,
}

/// Channel errors; absent where no link has any.
pub(crate) struct Channel {
    pub rates: Vec<FrameErrorRate>,
    /// By node.
    pub streams: Vec<Rng>,
}

/// What schemes may look at.
pub(crate) struct Surroundings {
    pub flows: Flows,
    /// A station has no flow monitor: its scheme sees an idle one.
    no_flows: Flows,
    /// By station: towards the AP, and from it.
    pub up: Vec<Link>,
    pub down: Vec<Link>,
}

impl Surroundings {
    #[inline]
    pub(crate) fn view(&self, node: u32) -> View<'_> {
        if node == AP {
            View { flows: &self.flows, links: &self.down }
        } else {
            View { flows: &self.no_flows, links: &self.up }
        }
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
    pub(crate) nodes: Vec<NodeState>,
    pub(crate) surroundings: Surroundings,
    /// By station: how it sends to the AP, and the AP to it.
    pub(crate) up: Vec<Peer>,
    pub(crate) down: Vec<Peer>,
    pub(crate) channel: Option<Channel>,

    pub(crate) phase: Phase,
    /// When the exchange or collision that goes on began.
    pub(crate) phase_began: Time,
    /// When the phase ends; never, while idle.
    pub(crate) phase_ends: Time,
    /// The exchange that goes on, unless it is a collision.
    pub(crate) single: Single,
    pub(crate) colliders: Vec<Collider>,
    pub(crate) losses: Vec<Loss>,
    pub(crate) next_loss: Time,
    /// Nodes whose scheme wants a tick, and when.
    tickers: Vec<(u32, Time)>,
    next_tick: Time,
    next: Time,
    now: Time,

    pub(crate) usage: Vec<StationUsage>,
    pub(crate) exchanges: u64,
    pub(crate) collisions: u64,
    pub(crate) collision_airtime: Time,
}

impl Cell {
    /// The cell that `spec` describes, idle at time zero. Streams: (`seed`, node's label, `"backoff"`, `"channel"` and
    /// `"scheme"`).
    ///
    /// # Errors
    /// The first value of `spec` that is not allowed.
    pub fn new(spec: &CellSpec, seed: u64) -> Result<Cell, SpecError> {
        spec.validate()?;
        let phy = Phy::new(&spec.phy, "phy")?;
        let mac = Mac::new(&spec.mac, &phy, "mac")?;
        let rules = Rules {
            slot: phy.slot,
            difs: phy.difs,
            cw_min: phy.cw_min,
            cw_max: phy.cw_max,
            range: spec.mac.backoff_range,
            immediate_access: spec.mac.immediate_access,
            arrival_within_ifs: spec.mac.arrival_within_ifs,
        };
        let labels = || std::iter::once(AP_LABEL).chain(spec.stations.iter().map(|s| s.label.as_str()));
        let streams = |purpose: &'static str| labels().map(move |label| Rng::stream(seed, label, purpose));
        let ports = std::iter::once(&spec.ap.port).chain(spec.stations.iter().map(|s| &s.port));
        let nodes = ports
            .zip(labels())
            .map(|(port, label)| NodeState { port: Port::new(port, seed, label), frame: None });

        let (mut up, mut down) = (Vec::new(), Vec::new());
        for (index, station) in spec.stations.iter().enumerate() {
            let (rate_up, rate_down) = rates(station, &phy, index)?;
            let peer = |rate| Peer { rate, adaptation: spec.mac.rate_adaptation.build(rate) };
            up.push(peer(rate_up));
            down.push(peer(rate_down));
        }
        let links = |peers: &[Peer]| peers.iter().map(|peer| Link { rate: phy.rate(peer.rate) }).collect();
        let error_rates = || spec.stations.iter().map(|s| s.frame_error_rate);
        let mut cell = Cell {
            contention: Contention::new(rules, streams("backoff")),
            nodes: nodes.collect(),
            surroundings: Surroundings {
                flows: Flows::new(&spec.ap.flows),
                no_flows: Flows::new(&spec.ap.flows),
                up: links(&up),
                down: links(&down),
            },
            up,
            down,
            channel: error_rates()
                .any(|rates| !rates.is_zero())
                .then(|| Channel { rates: error_rates().collect(), streams: streams("channel").collect() }),
            phase: Phase::Idle,
            phase_began: Time::ZERO,
            single: Single::NONE,
            phase_ends: Time::MAX,
            colliders: Vec::new(),
            losses: Vec::new(),
            next_loss: Time::MAX,
            tickers: Vec::new(),
            next_tick: Time::MAX,
            next: Time::MAX,
            now: Time::ZERO,
            usage: vec![StationUsage::default(); spec.stations.len()],
            exchanges: 0,
            collisions: 0,
            collision_airtime: Time::ZERO,
            phy,
            mac,
        };
        for node in 0..cell.nodes.len() as u32 {
            cell.ask_tick(node);
        }
        cell.reschedule();
        Ok(cell)
    }

    /// The station's host hands a packet to the station's port.
    #[inline]
    pub fn send_up(&mut self, station: StationId, packet: Packet, now: Time) {
        self.offer(node_of(station), packet, FlowId::default(), station, now);
    }

    /// A packet for the station comes to the AP from the wire: the flow monitor sees it, the AP's port gets it.
    #[inline]
    pub fn send_down(&mut self, station: StationId, packet: Packet, now: Time) {
        let flow = self.observe(&packet, Direction::Down, now);
        self.offer(AP, packet, flow, station, now);
    }

    /// When [`Cell::advance`] is due; [`Time::MAX`] if nothing will happen by itself.
    #[inline]
    pub fn next_event(&self) -> Time {
        self.next
    }

    /// Does what is due at `now == next_event()`, and gives out the packet that this delivers, if any. Further things
    /// may be due at the same instant.
    #[inline]
    pub fn advance(&mut self, now: Time) -> Option<Delivery> {
        assert!(now == self.next, "{now} is not the cell's next event ({})", self.next);
        self.now = now;
        let mut delivery = None;
        if now == self.phase_ends && now < self.next_tick && now < self.next_loss {
            delivery = self.end_phase(now);
        } else if now < self.next_tick && now < self.next_loss {
            self.start(now);
        } else if now == self.next_tick {
            self.tick(now);
        } else {
            self.lose(now);
        }
        self.reschedule();
        delivery
    }

    /// All counters of the medium up to `now`, which is not after [`Cell::next_event`].
    pub fn snapshot(&self, now: Time) -> CellSnapshot {
        assert!(self.now <= now && now <= self.next, "a snapshot at {now} is out of turn");
        let mut stations = self.usage.clone();
        let mut collision_airtime = self.collision_airtime;
        match self.phase {
            Phase::Idle => {}
            Phase::Data | Phase::Ending => {
                stations[self.single.station.index()].of(self.single.direction).airtime +=
                    now - self.phase_began;
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
            idle: now - occupied,
        }
    }

    /// The AP's port.
    pub fn ap_port(&self) -> &Port {
        &self.nodes[AP as usize].port
    }

    /// A station's port.
    pub fn station_port(&self, station: StationId) -> &Port {
        &self.nodes[node_of(station) as usize].port
    }

    /// The AP's flow monitor.
    pub fn flows(&self) -> &Flows {
        &self.surroundings.flows
    }

    /// The next flow that the AP's monitor has forgotten, with its 5-tuple as its uplink packets carry it and its
    /// ledger at the AP's port by class. Its id may be used again from now on.
    #[inline]
    pub fn pop_forgotten(&mut self) -> Option<(FlowId, FiveTuple, [Ledger; 3])> {
        let (flow, tuple) = self.surroundings.flows.pop_forgotten()?;
        Some((flow, tuple, self.nodes[AP as usize].port.retire(flow)))
    }

    #[inline]
    pub(crate) fn observe(&mut self, packet: &Packet, direction: Direction, now: Time) -> FlowId {
        let port = &self.nodes[AP as usize].port;
        self.surroundings.flows.observe(packet, direction, now, |flow| port.holds(flow))
    }

    #[inline]
    fn offer(&mut self, node: u32, packet: Packet, flow: FlowId, station: StationId, now: Time) {
        assert!(self.now <= now && now <= self.next, "an arrival at {now} is out of turn");
        self.now = now;
        let state = &mut self.nodes[node as usize];
        state.port.offer(packet, flow, station, now, self.surroundings.view(node));
        if state.frame.is_none() && self.take(node, now) {
            self.contention.arrive(node, now);
        }
        self.ask_tick(node);
        self.reschedule();
    }

    /// A free MAC asks its port for a packet; whether it got one.
    #[inline]
    pub(crate) fn take(&mut self, node: u32, now: Time) -> bool {
        let state = &mut self.nodes[node as usize];
        let departure = state.port.take(&Grant::ANY, now, self.surroundings.view(node));
        let phy = &self.phy;
        state.frame = departure.map(|departure| {
            let psdu_bytes = phy.psdu_bytes(departure.packet.ip_bytes());
            Frame::new(departure, psdu_bytes, now)
        });
        state.frame.is_some()
    }

    /// The MAC of `node` is done with its frame: it draws, and takes the next packet.
    #[inline]
    pub(crate) fn finish(&mut self, node: u32, outcome: Outcome, now: Time) {
        let state = &mut self.nodes[node as usize];
        let frame = state.frame.as_ref().expect("an exchange ends with a frame in service");
        let exchange = Exchange {
            outcome,
            packets: std::slice::from_ref(&frame.departure.packet),
            flow: frame.departure.flow,
            station: frame.departure.station,
            ac: Ac::BestEffort,
            rate: self.phy.rate(frame.rate),
            attempts: frame.attempts.min(u32::from(u8::MAX)) as u8,
            airtime: frame.airtime,
            service: now - frame.taken_at,
        };
        state.port.finish(&exchange, now, self.surroundings.view(node));
        self.contention.reset_window(node);
        self.contention.draw(node);
        if self.take(node, now) {
            self.contention.ready(node);
        }
        self.ask_tick(node);
    }

    /// A scheme's tick. It may have released a packet to a free MAC.
    #[cold]
    fn tick(&mut self, now: Time) {
        let due = self.tickers.iter().filter(|(_, at)| *at == now).map(|(node, _)| *node);
        let node = due.min().expect("a tick is due");
        let state = &mut self.nodes[node as usize];
        state.port.tick(now, self.surroundings.view(node));
        if state.frame.is_none() && self.take(node, now) {
            self.contention.arrive(node, now);
        }
        self.ask_tick(node);
    }

    #[inline]
    fn ask_tick(&mut self, node: u32) {
        let at = self.nodes[node as usize].port.next_tick();
        if at.is_some() || !self.tickers.is_empty() {
            self.set_tick(node, at);
        }
    }

    fn set_tick(&mut self, node: u32, at: Option<Time>) {
        self.tickers.retain(|(other, _)| *other != node);
        self.tickers.extend(at.map(|at| (node, at.max(self.now))));
        self.next_tick = self.tickers.iter().map(|(_, at)| *at).min().unwrap_or(Time::MAX);
    }

    #[inline]
    fn reschedule(&mut self) {
        self.next = self.phase_ends.min(self.contention.start()).min(self.next_loss).min(self.next_tick);
    }
}

/// The data rates of a station, up and down.
fn rates(station: &StationSpec, phy: &Phy, index: usize) -> Result<(RateIndex, RateIndex), SpecError> {
    let up = phy.rate_index(station.rate_mbps, &format!("stations[{index}].rate_mbps"))?;
    let down = match station.rate_down_mbps {
        Some(mbps) => phy.rate_index(mbps, &format!("stations[{index}].rate_down_mbps"))?,
        None => up,
    };
    Ok((up, down))
}
