//! What is compared: a BSS, its traffic, a seed. Read alike by the slow model and by the engine's driver.

use super::frame::{NodeId, Packet};
use super::mode::Mode;
use super::radio::Track;
use super::timing::{Phy, Rules, Tenths};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use wifair_core::Rng;

/// Probabilities that the addressee of a frame cannot decode it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    /// Data frames of the station, at the AP.
    pub data_up: f64,
    /// Data frames of the AP, at the station.
    pub data_down: f64,
    /// MAC ACKs of the station, at the AP.
    pub ack_up: f64,
    /// MAC ACKs of the AP, at the station.
    pub ack_down: f64,
    /// Data frames at some rates, both ways, in place of the above.
    pub by_rate: Vec<(Tenths, f64)>,
}

impl Errors {
    /// Of a data frame and of its MAC ACK.
    pub fn of(&self, up: bool, rate: Tenths) -> (f64, f64) {
        let (data, ack) = if up { (self.data_up, self.ack_down) } else { (self.data_down, self.ack_up) };
        let listed = self.by_rate.iter().find(|(listed, _)| *listed == rate);
        (listed.map_or(data, |(_, error)| *error), ack)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    pub rate_up: Tenths,
    pub rate_down: Tenths,
    pub errors: Errors,
    pub track: Option<Track>,
    /// None: a station older than 802.11n.
    pub modes: Option<Modes>,
    /// Of a station older than 802.11n; None: that of the BSS's non-HT frames.
    pub phy: Option<Phy>,
}

impl Station {
    pub fn clean(rate: Tenths) -> Station {
        Station {
            rate_up: rate,
            rate_down: rate,
            errors: Errors::default(),
            track: None,
            modes: None,
            phy: None,
        }
    }

    /// A station of 802.11n or later.
    pub fn modern(mode: Mode) -> Station {
        Station { modes: Some(Modes { up: mode, down: mode }), ..Station::clean(60) }
    }

    pub fn is_dot11b(&self) -> bool {
        self.phy.is_some_and(Phy::is_dsss)
    }
}

/// Modes of a station, which differ in their MCSs alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    pub up: Mode,
    pub down: Mode,
}

impl Modes {
    pub fn with_mcs(self, up: u32, down: u32) -> Modes {
        Modes { up: self.up.with_mcs(up), down: self.down.with_mcs(down) }
    }
}

/// What changes in mid-run (docs/medium.md, section 8).
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Station {
        /// Counted modulo the number of stations.
        station: usize,
        /// In both directions, unless a key for one direction is given.
        rate: Option<Tenths>,
        rate_down: Option<Tenths>,
        errors: Option<Errors>,
        track: Option<Track>,
    },
    /// Of a station of 802.11n or later; of others nothing changes. Stations are counted as above, MCSs as in
    /// [`Mode::with_mcs`].
    Mcs { station: usize, up: u32, down: u32 },
    /// Packets that the AP's transmit queue holds, or each of its transmit queues.
    ApLimit(usize),
}

/// When it does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trigger {
    At(u64),
    /// `delay` after the `nth` delivery of a stream, counted from 0.
    After {
        stream: usize,
        nth: u32,
        delay: u64,
    },
}

/// When packets of a stream come. All times in steps of the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// `burst` packets at `first` and every `gap` thereafter.
    Every { first: u64, gap: u64, burst: u32 },
    /// Independent gaps of this mean, on whole steps.
    Poisson { mean: u64 },
    /// One packet `delay` after each delivery of a packet of stream `stream` (counted modulo the number of
    /// streams): what an upper layer answers, or a coincidence that chance alone would seldom find.
    After { stream: usize, delay: u64 },
    /// The same after each offer of one: what happens to meet a frame that may never be delivered.
    Beside { stream: usize, delay: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// Counted modulo the number of stations.
    pub station: usize,
    pub up: bool,
    pub ip_bytes: u32,
    /// Rank of the access category: voice is 0; 0 under DCF.
    pub category: usize,
    pub pattern: Pattern,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub seed: u64,
    pub rules: Rules,
    pub stations: Vec<Station>,
    pub streams: Vec<Stream>,
    pub changes: Vec<(Trigger, Change)>,
    /// Packets that a transmit queue holds, at the AP and at each station.
    pub tx_queue_limit: usize,
    pub limit_counts_in_service: bool,
    /// Steps during which traffic is offered; afterwards the transmit queues drain.
    pub offered_until: u64,
}

impl Scenario {
    /// Whether there are links with agreements.
    pub fn aggregates(&self) -> bool {
        let rules = &self.rules;
        rules.aggregation.is_some() && rules.edca.is_some() && self.stations.iter().any(|s| s.modes.is_some())
    }

    /// The stable name of a node, which keys its random streams.
    pub fn label(node: NodeId) -> String {
        if node == 0 { "ap".into() } else { format!("sta-{node}") }
    }

    /// Every station has always something to send up: station `i` packets of `bytes[i]` IP bytes.
    ///
    /// Transmit queues of 100 packets are filled again before a station, with an equal share of the shortest exchanges, has
    /// sent a third of them.
    pub fn saturated_uplink(seed: u64, rules: Rules, bytes: &[u32], rate: Tenths, until: u64) -> Scenario {
        let shortest = bytes.iter().map(|&b| rules.data(b, rate)).min().expect("at least one station");
        let round = bytes.len() as u64 * u64::from(rules.difs() + shortest + rules.sifs + rules.ack());
        let pattern = Pattern::Every { first: 0, gap: 33 * round, burst: 100 };
        Scenario {
            seed,
            rules,
            stations: vec![Station::clean(rate); bytes.len()],
            streams: (bytes.iter().enumerate())
                .map(|(station, &ip_bytes)| Stream { station, up: true, ip_bytes, category: 0, pattern })
                .collect(),
            changes: Vec::new(),
            tx_queue_limit: 100,
            limit_counts_in_service: false,
            offered_until: until,
        }
    }
}

/// What an AP may do with a packet from a station (section 14).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    Forward,
    Mark,
    Drop,
}

/// The verdict of a transmit queue, which has had `before` packets to decide about, on a packet.
pub fn verdict(before: u32, id: u32) -> Verdict {
    match (3 * before + id) % 5 {
        0 => Verdict::Drop,
        1 | 2 => Verdict::Mark,
        _ => Verdict::Forward,
    }
}

/// The code point of the ECN field that a packet is sent with: each of the four.
pub fn code_point(id: u32) -> u8 {
    (id % 4) as u8
}

/// What comes from outside.
pub enum Outside {
    Change(Change),
    Offer(Offer),
}

/// A packet on its way into a transmit queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer {
    /// Whose transmit queue.
    pub node: NodeId,
    pub packet: Packet,
}

/// The traffic and the changes of a scenario as they unfold; deliveries feed them.
pub struct Traffic {
    streams: Vec<Stream>,
    stations: usize,
    until: u64,
    gaps: Vec<Rng>,
    /// (when, stream): ties in the order of the streams.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    changes: Vec<(Trigger, Change)>,
    /// (when, change): ties in the order of the changes.
    due_changes: BinaryHeap<Reverse<(u64, usize)>>,
    /// Deliveries by stream.
    delivered: Vec<u32>,
    /// Packets of the burst that is being offered.
    burst_left: u32,
    next_id: u32,
}

impl Traffic {
    pub fn new(scenario: &Scenario) -> Traffic {
        let count = scenario.streams.len();
        let mut traffic = Traffic {
            streams: scenario.streams.clone(),
            stations: scenario.stations.len(),
            until: scenario.offered_until,
            gaps: (0..count).map(|i| Rng::stream(scenario.seed, &format!("stream-{i}"), "gaps")).collect(),
            due: BinaryHeap::new(),
            changes: scenario.changes.clone(),
            due_changes: BinaryHeap::new(),
            delivered: vec![0; count],
            burst_left: 0,
            next_id: 0,
        };
        for stream in 0..count {
            match traffic.streams[stream].pattern {
                Pattern::Every { first, .. } => traffic.schedule(first, stream),
                Pattern::Poisson { .. } => traffic.schedule_after_gap(0, stream),
                Pattern::After { .. } | Pattern::Beside { .. } => {}
            }
        }
        for (index, (trigger, _)) in scenario.changes.iter().enumerate() {
            if let &Trigger::At(at) = trigger {
                traffic.due_changes.push(Reverse((at, index)));
            }
        }
        traffic
    }

    fn schedule(&mut self, at: u64, stream: usize) {
        if at < self.until {
            self.due.push(Reverse((at, stream)));
        }
    }

    fn schedule_after_gap(&mut self, now: u64, stream: usize) {
        let Pattern::Poisson { mean } = self.streams[stream].pattern else { return };
        let gap = -(1.0 - self.gaps[stream].unit()).ln() * mean as f64;
        self.schedule(now + gap as u64, stream);
    }

    /// When something comes from outside next.
    pub fn next_time(&self) -> Option<u64> {
        let first = |heap: &BinaryHeap<Reverse<(u64, usize)>>| heap.peek().map(|&Reverse((at, _))| at);
        [first(&self.due), first(&self.due_changes)].into_iter().flatten().min()
    }

    /// What that is: at one instant, changes first.
    pub fn next(&mut self) -> Option<Outside> {
        let now = self.next_time()?;
        if let Some(&Reverse((at, change))) = self.due_changes.peek()
            && at == now
        {
            self.due_changes.pop();
            return Some(Outside::Change(self.changes[change].1.clone()));
        }
        self.next_offer().map(Outside::Offer)
    }

    fn next_offer(&mut self) -> Option<Offer> {
        let &Reverse((now, stream)) = self.due.peek()?;
        let pattern = self.streams[stream].pattern;
        if self.burst_left == 0 {
            self.burst_left = if let Pattern::Every { burst, .. } = pattern { burst } else { 1 };
        }
        self.burst_left -= 1;
        if self.burst_left == 0 {
            self.due.pop();
            match pattern {
                Pattern::Every { gap, .. } => self.schedule(now + gap, stream),
                Pattern::Poisson { .. } => self.schedule_after_gap(now, stream),
                Pattern::After { .. } | Pattern::Beside { .. } => {}
            }
        }
        Some(self.offer(stream, now))
    }

    fn offer(&mut self, stream: usize, now: u64) -> Offer {
        for other in 0..self.streams.len() {
            if let Pattern::Beside { stream: of, delay } = self.streams[other].pattern
                && of % self.streams.len() == stream
            {
                self.schedule(now + delay, other);
            }
        }
        let Stream { station, up, ip_bytes, category, .. } = self.streams[stream];
        let station = 1 + station % self.stations;
        let id = self.next_id;
        self.next_id += 1;
        let (node, to) = if up { (station, 0) } else { (0, station) };
        Offer { node, packet: Packet { id, stream, to, ip_bytes, category } }
    }

    /// A packet has been delivered: what is offered at once in answer. Later answers come from outside.
    pub fn delivered(&mut self, packet: &Packet, now: u64) -> Vec<Offer> {
        let count = self.streams.len();
        let before = self.delivered[packet.stream];
        self.delivered[packet.stream] += 1;
        for (index, (trigger, _)) in self.changes.iter().enumerate() {
            if let &Trigger::After { stream, nth, delay } = trigger
                && (stream % count, nth) == (packet.stream, before)
            {
                self.due_changes.push(Reverse((now + delay, index)));
            }
        }
        let mut at_once = Vec::new();
        for follower in 0..count {
            let Pattern::After { stream, delay } = self.streams[follower].pattern else { continue };
            if stream % count != packet.stream || now >= self.until {
                continue;
            }
            if delay == 0 {
                at_once.push(self.offer(follower, now));
            } else {
                self.schedule(now + delay, follower);
            }
        }
        at_once
    }
}
