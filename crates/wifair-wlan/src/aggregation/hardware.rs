//! The layer between the AP's ports and the medium (`ap.hardware` in a plan; `docs/medium.md`, section 12).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Ac, Rate, SpecError, StationId, Time};
use wifair_queue::{Grant, StationLimit};

use crate::check;

/// Driver and hardware queues between the AP's ports and the medium.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum HardwareSpec {
    /// None: a PPDU is formed when it is sent.
    Ideal(IdealSpec),
    /// PPDUs are formed ahead of access and wait in a short hardware queue, as with ath9k since 2016.
    Ath9k(Ath9kSpec),
    /// Packets move early to per-station queues in the firmware, limited only by airtime queue limits (AQL),
    /// as with ath10k and mt76.
    Firmware(FirmwareSpec),
}

impl Default for HardwareSpec {
    fn default() -> HardwareSpec {
        HardwareSpec::Ideal(IdealSpec {})
    }
}

/// `ideal` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IdealSpec {}

/// Parameters of `ath9k`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ath9kSpec {
    /// Length of the hardware queue of an access category in PPDUs, 1 to 64 (ATH_AGGR_MIN_QDEPTH).
    pub aggregates: u32,
    /// Longest PPDU in µs, 100 to 5484. The driver's table of frame lengths is for 4 ms.
    pub max_ppdu_us: f64,
}

impl Default for Ath9kSpec {
    fn default() -> Ath9kSpec {
        Ath9kSpec { aggregates: 2, max_ppdu_us: 4_000.0 }
    }
}

/// Parameters of `firmware`: the kernel's AQL (`include/net/cfg80211.h`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FirmwareSpec {
    /// Pending airtime in a category below which a station always receives packets, in µs, 100 to 1000000.
    pub aql_low_us: f64,
    /// Pending airtime below which a station receives packets while the total is below `aql_total_us`, in µs,
    /// from `aql_low_us` to 1000000.
    pub aql_high_us: f64,
    /// Pending airtime of all stations and categories below which `aql_high_us` applies, in µs, up to
    /// 10000000.
    pub aql_total_us: f64,
}

impl Default for FirmwareSpec {
    fn default() -> FirmwareSpec {
        FirmwareSpec { aql_low_us: 5_000.0, aql_high_us: 12_000.0, aql_total_us: 24_000.0 }
    }
}

/// [`HardwareSpec`] in the form that the engine uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hardware {
    /// Number of PPDUs formed ahead of access; 0: they are formed when they are sent.
    pub ahead: usize,
    pub max_ppdu: Time,
    pub feed: Feed,
}

/// When packets leave the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feed {
    /// When a PPDU is formed.
    OnDemand,
    /// While the link queues hold fewer packets than this.
    Packets(u32),
    /// As limited by airtime queue limits (AQL).
    Airtime { low: Time, high: Time, total: Time },
}

impl Hardware {
    /// The hardware of stations.
    pub const IDEAL: Hardware = Hardware { ahead: 0, max_ppdu: Time::MAX, feed: Feed::OnDemand };

    /// Whether packets leave the port ahead of access, unlike with `ideal`.
    pub fn prefetches(&self) -> bool {
        self.ahead > 0 || self.feed != Feed::OnDemand
    }
}

impl HardwareSpec {
    /// Checks the values. `path` is their key in the plan; `driver_queue` is the length of the driver's queues, if they are
    /// used.
    ///
    /// # Errors
    /// Fails for a value out of range, or for a driver's queues before those of the firmware.
    pub(crate) fn rules(&self, driver_queue: Option<u32>, path: &str) -> Result<Hardware, SpecError> {
        let us = |key, value, range: std::ops::RangeInclusive<f64>| {
            let us = check::number(path, key, value, range, "us")?;
            Ok(Time::from_ns((us * 1e3).round() as u64))
        };
        let feed = driver_queue.map_or(Feed::OnDemand, Feed::Packets);
        match self {
            HardwareSpec::Ideal(IdealSpec {}) => Ok(Hardware { feed, ..Hardware::IDEAL }),
            HardwareSpec::Ath9k(spec) => Ok(Hardware {
                ahead: check::integer(path, "aggregates", spec.aggregates, 1..=64, "PPDUs")? as usize,
                max_ppdu: us("max_ppdu_us", spec.max_ppdu_us, 100.0..=5_484.0)?,
                feed,
            }),
            HardwareSpec::Firmware(_) if driver_queue.is_some() => {
                let allowed = "gather or head-run with ap.hardware = \"firmware\", which has queues by station itself; \
                               driver-queue goes with ideal and ath9k";
                Err(SpecError::new("mac.aggregation.fill", "driver-queue", allowed))
            }
            HardwareSpec::Firmware(spec) => {
                let low = us("aql_low_us", spec.aql_low_us, 100.0..=1e6)?;
                let high = us("aql_high_us", spec.aql_high_us, spec.aql_low_us..=1e6)?;
                let total = us("aql_total_us", spec.aql_total_us, 0.0..=1e7)?;
                Ok(Hardware { feed: Feed::Airtime { low, high, total }, ..Hardware::IDEAL })
            }
        }
    }
}

/// Content of the AP's link queues that counts towards their limits.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// By rank: packets.
    packets: [u32; 4],
    /// By rank and station: airtime pending.
    pending: [Vec<Time>; 4],
    total: Time,
}

impl Backlog {
    /// Creates an empty backlog for this number of stations.
    pub fn new(stations: usize) -> Backlog {
        Backlog {
            packets: [0; 4],
            pending: std::array::from_fn(|_| vec![Time::ZERO; stations]),
            total: Time::ZERO,
        }
    }

    /// Permission for a category's port to release one more packet, if there is room.
    pub fn grant(&self, feed: Feed, ac: Ac, rank: usize, gathers: bool) -> Option<Grant<'_>> {
        match feed {
            Feed::OnDemand => None,
            Feed::Packets(most) => (self.packets[rank] < most).then_some(Grant { ac, gathers, ..Grant::ANY }),
            Feed::Airtime { low, high, total } => {
                let below = if self.total < total { high } else { low };
                let station_limit = Some(StationLimit { pending: &self.pending[rank], below });
                Some(Grant { ac, gathers, station_limit, ..Grant::ANY })
            }
        }
    }

    /// The stations for which PPDUs may be formed ahead: those whose windows are not full.
    pub fn with_room(&self, rank: usize) -> StationLimit<'_> {
        StationLimit { pending: &self.pending[rank], below: Time::MAX }
    }

    /// If PPDUs are formed ahead on demand, sets whether the Block Ack window of a station is full.
    pub fn set_full(&mut self, rank: usize, station: StationId, is_full: bool) {
        self.pending[rank][station.index()] = if is_full { Time::MAX } else { Time::ZERO };
    }

    /// Counts a packet that enters a link queue and adds `bytes` to its MPDU; returns the airtime counted as pending.
    pub fn enter(&mut self, rank: usize, station: StationId, bytes: u32, rate: Rate) -> Time {
        let pending = Time::from_ns(u64::from(bytes) * 8_000_000 / u64::from(rate.as_kbps()));
        self.packets[rank] += 1;
        self.pending[rank][station.index()] += pending;
        self.total += pending;
        pending
    }

    /// Counts a packet that leaves its link queue.
    pub fn leave(&mut self, rank: usize, station: StationId, pending: Time) {
        self.packets[rank] -= 1;
        let of_station = &mut self.pending[rank][station.index()];
        *of_station -= pending;
        self.total -= pending;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRMWARE: Feed =
        Feed::Airtime { low: Time::from_ms(5), high: Time::from_ms(12), total: Time::from_ms(24) };

    /// What a station may have pending, and what it has.
    fn limit(backlog: &Backlog, station: usize) -> (Time, Time) {
        let limit = backlog.grant(FIRMWARE, Ac::BestEffort, 0, true).unwrap().station_limit.unwrap();
        (limit.below, limit.pending[station])
    }

    /// AQL by hand: 1,500 bytes at 1 Mbps are 12 ms. The second of them reaches the interface's limit of 24 ms, and lowers
    /// a station's from 12 to 5 ms, until one leaves.
    #[test]
    fn the_interface_decides_which_limit_a_station_has() {
        let mut backlog = Backlog::new(2);
        let (first, second) = (StationId(0), StationId(1));
        let enter = |backlog: &mut Backlog, station| backlog.enter(0, station, 1_500, Rate::from_kbps(1_000));
        assert_eq!(enter(&mut backlog, first), Time::from_ms(12));
        assert_eq!(limit(&backlog, 0), (Time::from_ms(12), Time::from_ms(12)));
        for _ in 0..3 {
            let pending = enter(&mut backlog, second);
            assert_eq!(limit(&backlog, 1), (Time::from_ms(5), pending));
            backlog.leave(0, second, pending);
            assert_eq!(limit(&backlog, 1), (Time::from_ms(12), Time::ZERO));
        }
        assert_eq!(limit(&backlog, 0).1, Time::from_ms(12), "another station's are its own");
    }

    #[test]
    fn a_queue_of_packets_has_room_below_its_limit() {
        let mut backlog = Backlog::new(1);
        let has_room = |backlog: &Backlog| backlog.grant(Feed::Packets(2), Ac::BestEffort, 0, true).is_some();
        let pending = [(); 2].map(|()| {
            assert!(has_room(&backlog));
            backlog.enter(0, StationId(0), 1_500, Rate::from_kbps(6_500))
        });
        assert!(!has_room(&backlog));
        assert!(backlog.grant(Feed::Packets(2), Ac::Video, 1, true).is_some(), "a category has its own");
        backlog.leave(0, StationId(0), pending[0]);
        assert!(has_room(&backlog));
    }
}
