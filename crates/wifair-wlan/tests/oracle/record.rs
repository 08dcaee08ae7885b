//! All that a run is judged by.

use super::agreement::Events;
use super::frame::{Kind, NodeId, Tally};
use super::radio::Captures;
use super::scenario::Scenario;
use super::timing::Tenths;
use std::fmt;

/// A packet that reached its receiver's upper layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
    /// Steps of the clock, as all times here.
    pub at: u64,
    pub id: u32,
    pub to: NodeId,
    /// With CE, which the AP has set.
    pub marked: bool,
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9}  packet {} delivered to {}", self.at, self.id, Scenario::label(self.to))
    }
}

/// A queue size that the AP has read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSize {
    pub at: u64,
    pub from: NodeId,
    pub category: usize,
    pub bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    Acknowledged,
    Collided,
    DataLost,
    AckLost,
}

/// One transmission of a packet, from its first frame to the end of its last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    pub at: u64,
    pub from: NodeId,
    pub to: NodeId,
    pub packet: u32,
    pub category: usize,
    /// Which one of that packet's, from 1.
    pub number: u32,
    /// Of the data frame.
    pub rate: Tenths,
    /// None: not known yet.
    pub outcome: Option<Outcome>,
    /// None: not known yet.
    pub ended: Option<u64>,
}

/// An MPDU of a PPDU under an agreement.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// Modulo 4096.
    pub seq: u16,
    /// Several in an A-MSDU.
    pub packets: Vec<u32>,
    /// Which transmission of it, from 1.
    pub number: u32,
    /// By its receiver, from this PPDU. None: not known yet.
    pub decoded: Option<bool>,
    /// By a response that its transmitter decoded. None: not known yet.
    pub acknowledged: Option<bool>,
}

/// One exchange of a link with an agreement, from its first frame to the end of its last.
#[derive(Clone, Debug, PartialEq)]
pub struct Transmission {
    pub at: u64,
    pub from: NodeId,
    pub to: NodeId,
    pub category: usize,
    /// Of the PPDU.
    pub rate: Tenths,
    /// None in a request.
    pub mpdus: Vec<Sent>,
    /// Of a request: its starting sequence number, modulo 4096.
    pub request: Option<u16>,
    /// `DataLost`: no MPDU was decoded; `AckLost`: the response was not. None: not known yet.
    pub outcome: Option<Outcome>,
    /// None: not known yet.
    pub ended: Option<u64>,
}

/// An MPDU that its transmitter sends no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GivenUp {
    pub at: u64,
    pub from: NodeId,
    pub to: NodeId,
    pub category: usize,
    /// Modulo 4096.
    pub seq: u16,
    /// The first of its packets.
    pub packet: u32,
}

/// An MPDU that its receiver has decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    pub at: u64,
    /// The first of its packets.
    pub packet: u32,
}

/// Who could decode a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decoded {
    Everybody,
    Bystanders,
    Addressee,
    Nobody,
}

/// A frame that was on the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aired {
    pub at: u64,
    pub ends: u64,
    pub kind: Kind,
    pub from: NodeId,
    pub to: NodeId,
    /// Of several the first; none of a request and its answer.
    pub packet: Option<u32>,
    pub rate: Tenths,
    pub duration_field: u64,
    /// None: not known yet.
    pub decoded: Option<Decoded>,
}

/// A sender uses another rate towards its peer from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NewRate {
    pub at: u64,
    pub from: NodeId,
    pub to: NodeId,
    pub rate: Tenths,
}

/// Occupied steps (docs/medium.md, section 7).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Airtime {
    /// By station.
    pub up: Vec<u64>,
    /// By station.
    pub down: Vec<u64>,
    pub collisions: u64,
    pub beacons: u64,
    pub idle: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    pub deliveries: Vec<Delivery>,
    /// Only where the AP's transmit queues ask for them.
    pub queue_sizes: Vec<QueueSize>,
    /// In the order of their beginnings, at one instant of their senders; as the next five.
    pub attempts: Vec<Attempt>,
    pub transmissions: Vec<Transmission>,
    pub given_up: Vec<GivenUp>,
    /// What the model alone says.
    pub received: Vec<Received>,
    pub frames: Vec<Aired>,
    pub rates: Vec<NewRate>,
    /// Of the stations, towards the AP.
    pub up: Vec<Tally>,
    /// Of the AP, towards the stations.
    pub down: Vec<Tally>,
    pub airtime: Airtime,
    /// Exchanges begun, collisions included.
    pub exchanges: u64,
    /// Collisions, each counted once.
    pub collisions: u64,
    /// Beacons sent, and those of them that collided.
    pub beacons: (u64, u64),
    /// What the model alone says.
    pub captures: Captures,
    /// What the model alone says.
    pub events: Events,
    /// How often the controller of CWmin has raised it, and lowered it. What the model alone says.
    pub announcements: (u64, u64),
    /// Accesses won in a spatial reuse opportunity.
    pub reuses: u64,
    /// CTS that its nodes have sent narrower than the RTS before.
    pub narrow_cts: u64,
    /// Accesses that its nodes have won for exchanges that leave out channels of 20 MHz.
    pub punctured: u64,
    /// By how many stations its beacons were not decoded, in all.
    pub beacons_missed: u64,
    /// Steps simulated.
    pub end: u64,
}

impl Record {
    /// What came after `earlier`, a record of the same run. Lists are cut, counters subtracted.
    pub fn since(&self, earlier: &Record) -> Record {
        let tallies = |now: &[Tally], then: &[Tally]| now.iter().zip(then).map(|(n, t)| n.since(t)).collect();
        let sums = |now: &[u64], then: &[u64]| now.iter().zip(then).map(|(n, t)| n - t).collect();
        Record {
            deliveries: self.deliveries[earlier.deliveries.len()..].to_vec(),
            queue_sizes: self.queue_sizes[earlier.queue_sizes.len()..].to_vec(),
            attempts: self.attempts[earlier.attempts.len()..].to_vec(),
            transmissions: self.transmissions[earlier.transmissions.len()..].to_vec(),
            given_up: self.given_up[earlier.given_up.len()..].to_vec(),
            received: self.received[earlier.received.len()..].to_vec(),
            frames: self.frames[earlier.frames.len()..].to_vec(),
            rates: self.rates[earlier.rates.len()..].to_vec(),
            up: tallies(&self.up, &earlier.up),
            down: tallies(&self.down, &earlier.down),
            airtime: Airtime {
                up: sums(&self.airtime.up, &earlier.airtime.up),
                down: sums(&self.airtime.down, &earlier.airtime.down),
                collisions: self.airtime.collisions - earlier.airtime.collisions,
                beacons: self.airtime.beacons - earlier.airtime.beacons,
                idle: self.airtime.idle - earlier.airtime.idle,
            },
            exchanges: self.exchanges - earlier.exchanges,
            collisions: self.collisions - earlier.collisions,
            beacons: (self.beacons.0 - earlier.beacons.0, self.beacons.1 - earlier.beacons.1),
            captures: self.captures.clone(),
            events: self.events.clone(),
            announcements: self.announcements,
            reuses: self.reuses - earlier.reuses,
            narrow_cts: self.narrow_cts - earlier.narrow_cts,
            punctured: self.punctured - earlier.punctured,
            beacons_missed: self.beacons_missed - earlier.beacons_missed,
            end: self.end - earlier.end,
        }
    }

    /// Sums of all tallies.
    pub fn total(&self, of: impl Fn(&Tally) -> u64) -> u64 {
        self.up.iter().chain(&self.down).map(of).sum()
    }
}
