//! The medium: carries frames from node to node, one microsecond after the other, and keeps the books.

use super::node::{Counts, Frame, Heard, Kind, Node, NodeId, Packet, Peer, Tally};
use super::scenario::{Offer, Scenario, Station, Traffic};
use std::fmt;

/// A packet that reached its receiver's upper layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
    /// µs.
    pub at: u64,
    pub id: u32,
    pub to: NodeId,
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9} us  packet {} delivered to {}", self.at, self.id, Scenario::label(self.to))
    }
}

/// Occupied µs (docs/medium.md, section 7).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Airtime {
    /// By station.
    pub up: Vec<u64>,
    /// By station.
    pub down: Vec<u64>,
    pub collisions: u64,
    pub idle: u64,
}

/// All that a run is judged by.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    pub deliveries: Vec<Delivery>,
    /// Of the stations, towards the AP.
    pub up: Vec<Tally>,
    /// Of the AP, towards the stations.
    pub down: Vec<Tally>,
    pub airtime: Airtime,
    /// Exchanges begun, collisions included.
    pub exchanges: u64,
    /// Collisions, each counted once.
    pub collisions: u64,
    /// µs simulated.
    pub end: u64,
}

impl Record {
    /// What came after `earlier`, a record of the same run. Deliveries are cut, counters subtracted.
    pub fn since(&self, earlier: &Record) -> Record {
        let tallies = |now: &[Tally], then: &[Tally]| now.iter().zip(then).map(|(n, t)| n.since(t)).collect();
        let sums = |now: &[u64], then: &[u64]| now.iter().zip(then).map(|(n, t)| n - t).collect();
        Record {
            deliveries: self.deliveries[earlier.deliveries.len()..].to_vec(),
            up: tallies(&self.up, &earlier.up),
            down: tallies(&self.down, &earlier.down),
            airtime: Airtime {
                up: sums(&self.airtime.up, &earlier.airtime.up),
                down: sums(&self.airtime.down, &earlier.airtime.down),
                collisions: self.airtime.collisions - earlier.airtime.collisions,
                idle: self.airtime.idle - earlier.airtime.idle,
            },
            exchanges: self.exchanges - earlier.exchanges,
            collisions: self.collisions - earlier.collisions,
            end: self.end - earlier.end,
        }
    }

    /// Sums of all tallies.
    pub fn total(&self, of: impl Fn(&Tally) -> u64) -> u64 {
        self.up.iter().chain(&self.down).map(of).sum()
    }
}

/// Who started what; kept for explanations only.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    pub at: u64,
    pub from: NodeId,
    pub kind: Kind,
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = Scenario::label(self.from);
        match self.kind {
            Kind::Data(packet) => write!(f, "{:>9} us  {who} starts data, packet {}", self.at, packet.id),
            kind => write!(f, "{:>9} us  {who} starts {kind:?}", self.at),
        }
    }
}

struct OnAir {
    frame: Frame,
    ends_at: u64,
    /// Everybody who started at that instant, and so heard nothing of it.
    deaf: Vec<NodeId>,
}

/// What the medium is occupied with.
#[derive(Clone, Copy)]
enum Exchange {
    Of { station: usize, up: bool },
    Collision,
}

pub struct Medium {
    nodes: Vec<Node>,
    on_air: Vec<OnAir>,
    exchange: Exchange,
    traffic: Traffic,
    now: u64,
    record: Record,
    starts: Vec<Start>,
    /// Of this instant; kept to be used again.
    starting: Vec<NodeId>,
}

/// A run to its end, with what explains it.
pub struct Run {
    /// As it stood when half of the traffic had been offered.
    pub half_way: Record,
    pub whole: Record,
    /// Every port had drained at the end.
    pub at_rest: bool,
    pub starts: Vec<Start>,
}

/// How long ports may take to drain after the traffic has ended, in µs: small windows may collide for ever.
const LONGEST_DRAIN: u64 = 200_000;

/// Runs `scenario` until its traffic has ended and every port has drained, or has not for too long.
pub fn run(scenario: &Scenario) -> Run {
    let half_time = scenario.offered_until / 2;
    let last = scenario.offered_until + LONGEST_DRAIN;
    let mut medium = Medium::new(scenario);
    while medium.now < half_time {
        medium.step();
    }
    let half_way = medium.record();
    while !medium.is_over() && medium.now < last {
        medium.step();
    }
    Run { half_way, whole: medium.record(), at_rest: medium.is_over(), starts: medium.starts }
}

/// Runs `scenario` to `until` and returns what happened from `from` on, both in µs.
pub fn run_between(scenario: &Scenario, from: u64, until: u64) -> Record {
    let mut medium = Medium::new(scenario);
    while medium.now < from {
        medium.step();
    }
    let warm_up = medium.record();
    while medium.now < until {
        medium.step();
    }
    medium.record().since(&warm_up)
}

impl Medium {
    pub fn new(scenario: &Scenario) -> Medium {
        let node = |id, peers| {
            let port = (scenario.port_limit, scenario.limit_counts_in_service);
            Node::new(id, &Scenario::label(id), scenario.seed, scenario.rules, peers, port)
        };
        let to_station =
            |s: &Station| Peer { rate: s.rate_down, data_error: s.data_error_up, ack_error: s.ack_error_up };
        let to_ap = |s: &Station| Peer {
            rate: s.rate_up,
            data_error: s.data_error_down,
            ack_error: s.ack_error_down,
        };
        let nobody = Peer { rate: 10, data_error: 0.0, ack_error: 0.0 };
        let ap_peers = [nobody].into_iter().chain(scenario.stations.iter().map(to_station)).collect();
        let mut nodes = vec![node(0, ap_peers)];
        nodes.extend(scenario.stations.iter().enumerate().map(|(i, s)| node(i + 1, vec![to_ap(s)])));
        let none = vec![0; scenario.stations.len()];
        let airtime = Airtime { up: none.clone(), down: none, ..Airtime::default() };
        Medium {
            nodes,
            on_air: Vec::new(),
            exchange: Exchange::Collision,
            traffic: Traffic::new(scenario),
            now: 0,
            record: Record { airtime, ..Record::default() },
            starts: Vec::new(),
            starting: Vec::new(),
        }
    }

    fn is_over(&self) -> bool {
        self.traffic.next_time().is_none() && self.nodes.iter().all(Node::is_at_rest)
    }

    /// All that happened so far.
    fn record(&self) -> Record {
        let tally = |from: &Counts, at_receiver: &Counts| Tally {
            attempts: from.attempts,
            failures: from.failures,
            lost: from.lost,
            internal: from.internal,
            delivered: at_receiver.received,
            duplicates: at_receiver.received_again,
        };
        let at_ap = &self.nodes[0].counts[1..];
        let at_stations = self.nodes[1..].iter().map(|node| &node.counts[0]);
        let up = at_stations.clone().zip(at_ap).map(|(station, ap)| tally(station, ap)).collect();
        let down = at_ap.iter().zip(at_stations).map(|(ap, station)| tally(ap, station)).collect();
        Record { up, down, end: self.now, ..self.record.clone() }
    }

    /// One microsecond: what happens at its first instant, in the order of section 6, then its passing.
    pub fn step(&mut self) {
        while self.traffic.next_time() == Some(self.now) {
            let offer = self.traffic.next_offer().expect("a packet is due");
            self.hand_down(offer);
        }
        self.nodes.iter_mut().for_each(Node::count_timers);
        self.end_frames();
        self.start_frames();
        self.account();
        self.nodes.iter_mut().for_each(Node::count_idle_time);
        self.now += 1;
    }

    fn hand_down(&mut self, offer: Offer) {
        self.nodes[offer.node].offer(offer.packet);
    }

    fn end_frames(&mut self) {
        let now = self.now;
        if self.on_air.iter().all(|f| f.ends_at != now) {
            return;
        }
        let ended: Vec<OnAir> = self.on_air.extract_if(.., |f| f.ends_at == now).collect();
        let energy = !self.on_air.is_empty();
        self.nodes.iter_mut().for_each(|node| node.energy(energy));
        for OnAir { frame, deaf, .. } in ended {
            let collided = deaf.len() > 1;
            self.nodes[frame.from].sent(&frame);
            let mut delivered = None;
            for listener in (0..self.nodes.len()).filter(|id| !deaf.contains(id)) {
                if collided {
                    self.nodes[listener].hear_noise();
                } else if let Heard::Delivers(packet) = self.nodes[listener].hear(&frame) {
                    delivered = Some(packet);
                }
            }
            if let Some(packet) = delivered {
                self.deliver(&packet);
            }
        }
        // A TXOP that goes on begins its next exchange at once: the SIFS belongs to it.
        if let Some(frame) = self.nodes.iter_mut().find_map(Node::take_continuation) {
            self.begin_exchange(&frame);
        }
    }

    fn deliver(&mut self, packet: &Packet) {
        self.record.deliveries.push(Delivery { at: self.now, id: packet.id, to: packet.to });
        for answer in self.traffic.delivered(packet, self.now) {
            self.hand_down(answer);
        }
    }

    fn start_frames(&mut self) {
        self.starting.clear();
        for (id, node) in self.nodes.iter_mut().enumerate() {
            if node.decide() {
                self.starting.push(id);
            }
        }
        if self.starting.is_empty() {
            return;
        }
        let frames: Vec<Frame> = self.starting.iter().map(|&id| self.nodes[id].start()).collect();
        let first = frames[0];
        assert!(self.on_air.is_empty(), "everybody hears everybody: nobody starts into a frame");
        if frames.len() > 1 && frames.iter().all(|f| matches!(f.kind, Kind::Data(_)) && !f.opens_exchange) {
            // The collision of their CTS-to-selfs goes on.
        } else if frames.len() > 1 {
            assert!(frames.iter().all(|f| f.opens_exchange), "a response comes too early to be disturbed");
            self.exchange = Exchange::Collision;
            self.record.exchanges += 1;
            self.record.collisions += 1;
        } else if first.opens_exchange {
            self.begin_exchange(&first);
        }
        let deaf: Vec<NodeId> = frames.iter().map(|f| f.from).collect();
        let answered = matches!(first.kind, Kind::Cts | Kind::Ack).then_some(first.to);
        for (id, node) in self.nodes.iter_mut().enumerate() {
            node.energy(true);
            if !deaf.contains(&id) {
                node.hear_start(answered == Some(id));
            }
        }
        for frame in frames {
            self.starts.push(Start { at: self.now, from: frame.from, kind: frame.kind });
            let ends_at = self.now + u64::from(frame.length);
            self.on_air.push(OnAir { frame, ends_at, deaf: deaf.clone() });
        }
    }

    fn begin_exchange(&mut self, frame: &Frame) {
        self.record.exchanges += 1;
        let up = frame.to == 0;
        let station = if up { frame.from } else { frame.to } - 1;
        self.exchange = Exchange::Of { station, up };
    }

    fn account(&mut self) {
        let airtime = &mut self.record.airtime;
        let occupied = !self.on_air.is_empty() || self.nodes.iter().any(Node::has_response_pending);
        let account = match self.exchange {
            _ if !occupied => &mut airtime.idle,
            Exchange::Of { station, up: true } => &mut airtime.up[station],
            Exchange::Of { station, up: false } => &mut airtime.down[station],
            Exchange::Collision => &mut airtime.collisions,
        };
        *account += 1;
    }
}
