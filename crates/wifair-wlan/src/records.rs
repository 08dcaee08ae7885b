//! Usage of the medium: cumulative counters. A measurement is the difference of two snapshots.

use wifair_core::{Counters, Time, counters};
use wifair_queue::Direction;

counters! {
    /// Usage by one station's frames in one direction.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Usage |now, _earlier| {
        /// Time occupied by exchanges of these frames, failed ones included, collisions excluded.
        pub airtime: Time,
        /// Packets that reached the upper layer of their receiver, each once.
        pub delivered: u64,
        /// IP bytes of these.
        pub delivered_bytes: u64,
        /// Transmissions: PPDUs, or RTS that were not answered.
        pub attempts: u64,
        /// Failures after which the frame was to be retransmitted.
        pub retries: u64,
        /// Packets that their sender gave up at the retry limit.
        pub lost_at_retry_limit: u64,
        /// Of these, packets that their receiver had received: every MAC ACK to them was undecodable.
        pub lost_after_delivery: u64,
        /// Of those given up, packets whose last retry was an internal collision, not a transmission.
        pub lost_internally: u64,
        /// Retransmissions of packets that the receiver already had: acknowledged and dropped.
        pub duplicates: u64,
        /// Internal collisions that such a frame lost: a higher access category of its node transmitted.
        pub internal_collisions: u64,
        /// Of the transmissions, those of links with a Block Ack agreement that carry MPDUs.
        pub ppdus: u64,
        /// MPDUs in these, as they were formed.
        pub mpdus: u64,
        /// Of the transmissions, Block Ack Requests.
        pub block_ack_requests: u64,
        /// Time integral of the link rate (the rate of the next data frame) in kbit/s · ns.
        pub rate_integral: u128,
        /// The link rate at the end, in kbit/s.
        pub rate_kbps: u64 = now.rate_kbps; max,
    }
}

counters! {
    /// A station's use of the medium.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct StationUsage {
        /// Frames from the station.
        pub up: Usage,
        /// Frames to the station.
        pub down: Usage,
    }
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

counters! {
    /// Channel time of the flows of each direction: of their data and of the ACKs that answer it. See
    /// [`Exchange::channel_time`](wifair_queue::Exchange::channel_time).
    ///
    /// Backoffs of several nodes run at the same time, and a collision is charged to each sender in it, so these times may sum
    /// to more than the elapsed time.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ChannelTime {
        /// Of uplink flows.
        pub up: Time,
        /// Of downlink flows.
        pub down: Time,
    }
}

counters! {
    /// Channel times of the BSS's frames: actual, and as estimated by the AP.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ChannelTimes {
        /// The engine's figures: exact for every frame.
        pub actual: ChannelTime,
        /// The AP's figures: exact for its own frames, an estimate for those that it receives.
        pub believed: ChannelTime,
    }
}

counters! {
    /// How the frames of a BSS in a field fare among those of others.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct FieldUsage {
        /// Time during which a frame of the BSS is on the air.
        pub busy_own: Time,
        /// Time during which none is, and the medium is physically busy at the access point.
        pub busy_others: Time,
        /// Frames that their addressee did not decode, while another began at the same instant.
        pub lost_same_start: u64,
        /// Frames that their addressee did not decode, and of which none began at the same instant: one of the two
        /// transmitters did not sense the other, or was not to heed it.
        pub lost_hidden: u64,
        /// Of both, frames that only frames of other BSSs disturbed.
        pub lost_to_others: u64,
        /// RTS that their addressee decoded and did not answer, since its NAV was set or, with static width, a secondary
        /// channel was busy.
        pub unanswered: u64,
        /// CTS that were narrower than the RTS that they answered, since a secondary channel was busy.
        pub narrow_cts: u64,
        /// Accesses that its nodes won for exchanges that left out subchannels, since these were busy.
        pub punctured: u64,
        /// Accesses that its nodes won in a spatial reuse opportunity: while PPDUs of other BSSs were on the air that they
        /// ignored.
        pub spatial_reuses: u64,
        /// Of its access point's beacons and its stations: by how many stations each was not decoded, in all.
        pub beacons_missed: u64,
        /// MPDUs of PPDUs under a Block Ack agreement.
        pub mpdus: u64,
        /// Of these, MPDUs that their addressee did not decode.
        pub mpdus_lost: u64,
    }
}

counters! {
    /// The AP's beacons.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct BeaconUsage {
        /// Beacons transmitted.
        pub sent: u64,
        /// Of these, beacons that collided; in a field, beacons over that at least one station of the BSS did not decode.
        pub collided: u64,
        /// Time occupied by those that did not collide.
        pub airtime: Time,
    }
}

/// The counters of a BSS at an instant, since the start or, after [`BssSnapshot::since`], since an earlier snapshot.
///
/// Exact at every instant: the elapsed part of the current exchange is counted. `elapsed` = airtime of all stations +
/// `collision_airtime` + that of beacons + `idle`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BssSnapshot {
    /// The instant.
    pub at: Time,
    /// Length of the counted interval.
    pub elapsed: Time,
    /// By station id.
    pub stations: Vec<StationUsage>,
    /// Exchanges begun, collisions and beacons included.
    pub exchanges: u64,
    /// Collisions begun.
    pub collisions: u64,
    /// Time occupied by collisions.
    pub collision_airtime: Time,
    /// The AP's beacons.
    pub beacons: BeaconUsage,
    /// Channel time of the flows of each direction; only if the AP's scheme uses channel times.
    pub channel_time: Option<ChannelTimes>,
    /// Time without a transmission or exchange: IFS, timeouts, backoff, nothing to send.
    pub idle: Time,
    /// CWmin of best effort at the stations at the instant, if the AP controls it.
    pub controlled_cw_min: Option<u16>,
}

/// Airtime of frames from the stations, and of frames to them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AirtimeByDirection {
    pub up: Time,
    pub down: Time,
}

impl BssSnapshot {
    /// The airtime of all stations.
    pub(crate) fn airtime_by_direction(&self) -> AirtimeByDirection {
        self.stations.iter().fold(AirtimeByDirection::default(), |sum, station| AirtimeByDirection {
            up: sum.up + station.up.airtime,
            down: sum.down + station.down.airtime,
        })
    }

    /// Returns the difference from `earlier`, a snapshot of the same BSS.
    pub fn since(&self, earlier: &BssSnapshot) -> BssSnapshot {
        let pairs = self.stations.iter().zip(&earlier.stations);
        BssSnapshot {
            at: self.at,
            elapsed: self.elapsed - earlier.elapsed,
            stations: pairs.map(|(now, then)| now.since(then)).collect(),
            exchanges: self.exchanges - earlier.exchanges,
            collisions: self.collisions - earlier.collisions,
            collision_airtime: self.collision_airtime - earlier.collision_airtime,
            beacons: self.beacons.since(&earlier.beacons),
            channel_time: self.channel_time.zip(earlier.channel_time).map(|(now, then)| now.since(&then)),
            idle: self.idle - earlier.idle,
            controlled_cw_min: self.controlled_cw_min,
        }
    }
}
