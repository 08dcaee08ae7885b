//! What the medium was used for: cumulative counters. A measurement is the difference of two snapshots.

use wifair_core::Time;
use wifair_queue::Direction;

/// What one station's frames of one direction took and got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Airtime: occupied by exchanges of these frames, failed ones included, collisions not.
    pub airtime: Time,
    /// Frames that reached the upper layer of their receiver, each once.
    pub delivered: u64,
    /// Transmissions: data frames or, where one was not answered, RTS.
    pub attempts: u64,
    /// Failures after which the frame was to be sent again.
    pub retries: u64,
    /// Frames that their sender gave up at the retry limit.
    pub lost_at_retry_limit: u64,
    /// Of these, frames that their receiver had got: every MAC ACK to them was undecodable.
    pub lost_after_delivery: u64,
    /// Retransmissions of frames that the receiver already had: acknowledged and dropped.
    pub duplicates: u64,
    /// Integral of the link rate, which the next data frame would have, over time: in kbit/s · ns.
    pub rate_integral: u128,
}

impl Usage {
    fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            airtime: self.airtime - earlier.airtime,
            delivered: self.delivered - earlier.delivered,
            attempts: self.attempts - earlier.attempts,
            retries: self.retries - earlier.retries,
            lost_at_retry_limit: self.lost_at_retry_limit - earlier.lost_at_retry_limit,
            lost_after_delivery: self.lost_after_delivery - earlier.lost_after_delivery,
            duplicates: self.duplicates - earlier.duplicates,
            rate_integral: self.rate_integral - earlier.rate_integral,
        }
    }
}

/// A station's use of the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationUsage {
    /// Frames from the station.
    pub up: Usage,
    /// Frames to the station.
    pub down: Usage,
}

impl StationUsage {
    #[inline]
    pub(crate) fn of(&mut self, direction: Direction) -> &mut Usage {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}

/// The counters of a cell at an instant, since its beginning or, after [`CellSnapshot::since`], since another.
///
/// Exact at every instant: of an exchange that goes on, what has passed by then is counted.
/// `elapsed` = airtime of all stations + `collision_airtime` + `idle`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellSnapshot {
    /// The instant.
    pub at: Time,
    /// How long was counted.
    pub elapsed: Time,
    /// By station id.
    pub stations: Vec<StationUsage>,
    /// Exchanges begun, collisions included.
    pub exchanges: u64,
    /// Collisions begun.
    pub collisions: u64,
    /// Time occupied by collisions.
    pub collision_airtime: Time,
    /// Time in which nobody transmitted and no exchange went on: IFS, timeouts, backoff, nothing to send.
    pub idle: Time,
}

impl CellSnapshot {
    /// The measurement between `earlier`, a snapshot of the same cell, and this one.
    pub fn since(&self, earlier: &CellSnapshot) -> CellSnapshot {
        let pairs = self.stations.iter().zip(&earlier.stations);
        CellSnapshot {
            at: self.at,
            elapsed: self.elapsed - earlier.elapsed,
            stations: pairs
                .map(|(now, then)| StationUsage {
                    up: now.up.since(&then.up),
                    down: now.down.since(&then.down),
                })
                .collect(),
            exchanges: self.exchanges - earlier.exchanges,
            collisions: self.collisions - earlier.collisions,
            collision_airtime: self.collision_airtime - earlier.collision_airtime,
            idle: self.idle - earlier.idle,
        }
    }
}
