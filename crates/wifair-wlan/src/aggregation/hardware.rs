//! The layer between a node's transmit queues and the medium (`hardware` in a plan; `docs/medium.md`, section 12).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Ac, SpecError, StationId, Time};
use wifair_queue::{Extent, Grant, Rounds, StationLimit};

use super::airtime_estimate::{Kernel, expected_airtime};
use crate::check;
use crate::phy::Mode;

/// Driver and hardware queues between a node's transmit queues and the medium.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum HardwareSpec {
    /// None: a PPDU is formed when it is sent.
    Ideal(IdealSpec),
    /// PPDUs are formed ahead of access and wait in a short hardware queue, as with ath9k since 2016.
    Ath9k(Ath9kSpec),
    /// Packets move early to per-station queues in the firmware, limited only by airtime queue limits (AQL),
    /// as with mt76.
    Firmware(FirmwareSpec),
    /// The same as with ath10k, whose driver takes packets for one station at an arrival and has a limit in
    /// packets.
    Ath10k(Ath10kSpec),
    /// The same as with Linux's virtual radios when wifair is their medium, which take one round of turns on each
    /// occasion and have a limit in frames.
    Hwsim(HwsimSpec),
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
    /// Length of the hardware queue of an access category in PPDUs, 1 to 64 (ATH_AGGR_MIN_QDEPTH). Samples of the
    /// rate adaptation and Block Ack Requests do not count.
    pub aggregates: u32,
    /// Longest PPDU in µs, in each mode of its retry chain, 100 to 5484 (ath_update_max_aggr_framelen).
    pub max_ppdu_us: f64,
}

impl Default for Ath9kSpec {
    fn default() -> Ath9kSpec {
        Ath9kSpec { aggregates: 2, max_ppdu_us: 4_096.0 }
    }
}

/// Airtime queue limits: the kernel's AQL (`include/net/cfg80211.h`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FirmwareSpec {
    /// Pending airtime in a category below which a station always receives packets, in µs, 100 to 1000000.
    pub aql_low_us: f64,
    /// Pending airtime below which a station receives packets while the total is below `aql_total_us`, in µs,
    /// from `aql_low_us` to 1000000. No round of turns starts while the category's pending airtime is at this
    /// and half of `aql_low_us` for each further active station, or above.
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

/// Parameters of `ath10k`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ath10kSpec {
    /// Packets that the firmware has room for, 2 to 100000 (TARGET_10X_NUM_MSDU_DESC). When an outcome is known
    /// the driver takes packets only if fewer than half as many are below it.
    pub descriptors: u32,
    /// As with `firmware`.
    pub aql_low_us: f64,
    /// As with `firmware`.
    pub aql_high_us: f64,
    /// As with `firmware`.
    pub aql_total_us: f64,
}

impl Default for Ath10kSpec {
    fn default() -> Ath10kSpec {
        let FirmwareSpec { aql_low_us, aql_high_us, aql_total_us } = FirmwareSpec::default();
        Ath10kSpec { descriptors: 1_424, aql_low_us, aql_high_us, aql_total_us }
    }
}

/// Parameters of `hwsim`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HwsimSpec {
    /// Frames of an access category that there is room for, 1 to 100000 (`txdepth` of the patched module).
    pub frames: u32,
    /// As with `firmware`.
    pub aql_low_us: f64,
    /// As with `firmware`.
    pub aql_high_us: f64,
    /// As with `firmware`.
    pub aql_total_us: f64,
}

impl Default for HwsimSpec {
    fn default() -> HwsimSpec {
        let FirmwareSpec { aql_low_us, aql_high_us, aql_total_us } = FirmwareSpec::default();
        HwsimSpec { frames: 1_000, aql_low_us, aql_high_us, aql_total_us }
    }
}

/// [`HardwareSpec`] in the form that the engine uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hardware {
    /// Number of PPDUs formed ahead of access; 0: they are formed when they are sent.
    pub ahead: usize,
    pub max_ppdu: Time,
    /// Whether a PPDU has at most half a window of MPDUs.
    halves_window: bool,
    pub feed: Feed,
    /// Tries of a PPDU, and attempts of an MPDU, unless `mac.aggregation` has the key.
    pub tries: u32,
    pub max_attempts: Option<u32>,
}

/// When packets leave the transmit queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feed {
    /// When a PPDU is formed.
    OnDemand,
    /// While the link queues hold fewer packets than this.
    Packets(u32),
    /// As limited by airtime queue limits (AQL).
    Airtime(AirtimeLimits),
}

/// Airtime queue limits, and what the driver takes on which occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AirtimeLimits {
    low: Time,
    high: Time,
    total: Time,
    kernel: Kernel,
    /// What a packet has in addition to its IP bytes when it leaves mac80211's queues.
    header_bytes: u32,
    /// Packets of all categories that the firmware has room for.
    descriptors: u32,
    /// Packets of a category that there is room for.
    frames: u32,
    /// How many turns the driver takes at an arrival, and when an outcome is known.
    at_arrival: Extent,
    at_outcome: Extent,
}

/// Why a driver takes packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// A packet has arrived, or the scheme has had a tick.
    Arrival,
    /// The outcome of an exchange is known.
    Outcome,
}

/// Ethernet's header; QoS data's, LLC and SNAP.
const ETHERNET_BYTES: u32 = 14;
const QOS_DATA_BYTES: u32 = 26 + 8;

/// With ath9k: `max_rate_tries`; one attempt and ATH_MAX_SW_RETRIES.
const ATH9K_TRIES: u32 = 10;
const ATH9K_MAX_ATTEMPTS: u32 = 1 + 30;

impl Hardware {
    /// None.
    pub const IDEAL: Hardware = Hardware {
        ahead: 0,
        max_ppdu: Time::MAX,
        halves_window: false,
        feed: Feed::OnDemand,
        tries: 1,
        max_attempts: None,
    };

    /// Whether packets leave the transmit queue ahead of access, unlike with `ideal`.
    pub fn prefetches(&self) -> bool {
        self.ahead > 0 || self.feeds_ahead()
    }

    /// Whether packets leave the transmit queue ahead of PPDUs, for link queues.
    pub fn feeds_ahead(&self) -> bool {
        self.feed != Feed::OnDemand
    }

    /// Most MPDUs of a PPDU over a link with that window.
    pub fn max_mpdus(&self, window: u32) -> u32 {
        if self.halves_window { (window / 2).max(1) } else { window }
    }
}

impl HardwareSpec {
    /// Checks the values. `path` is their key in the plan; `driver_queue` is the length of the driver's queues, if they are
    /// used.
    ///
    /// # Errors
    /// Fails for a value out of range, or for a driver's queues before those of the firmware.
    pub(crate) fn rules(
        &self,
        driver_queue: Option<u32>,
        kernel: Kernel,
        path: &str,
    ) -> Result<Hardware, SpecError> {
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
                halves_window: true,
                feed,
                tries: ATH9K_TRIES,
                max_attempts: Some(ATH9K_MAX_ATTEMPTS),
            }),
            HardwareSpec::Firmware(_) | HardwareSpec::Ath10k(_) | HardwareSpec::Hwsim(_)
                if driver_queue.is_some() =>
            {
                let allowed = "gather or head-run with ap.hardware = \"firmware\", \"ath10k\" or \"hwsim\", which have queues \
                               by station themselves; driver-queue goes with ideal and ath9k";
                Err(SpecError::new("mac.aggregation.fill", "driver-queue", allowed))
            }
            HardwareSpec::Firmware(FirmwareSpec { aql_low_us, aql_high_us, aql_total_us })
            | HardwareSpec::Ath10k(Ath10kSpec { aql_low_us, aql_high_us, aql_total_us, .. })
            | HardwareSpec::Hwsim(HwsimSpec { aql_low_us, aql_high_us, aql_total_us, .. }) => {
                let mut limits = AirtimeLimits {
                    low: us("aql_low_us", *aql_low_us, 100.0..=1e6)?,
                    high: us("aql_high_us", *aql_high_us, *aql_low_us..=1e6)?,
                    total: us("aql_total_us", *aql_total_us, 0.0..=1e7)?,
                    kernel,
                    header_bytes: ETHERNET_BYTES,
                    descriptors: u32::MAX,
                    frames: u32::MAX,
                    at_arrival: Extent::Rounds,
                    at_outcome: Extent::Rounds,
                };
                if let HardwareSpec::Ath10k(spec) = self {
                    limits.header_bytes = QOS_DATA_BYTES;
                    limits.descriptors =
                        check::integer(path, "descriptors", spec.descriptors, 2..=100_000, "packets")?;
                    (limits.at_arrival, limits.at_outcome) = (Extent::Turn, Extent::Round);
                }
                if let HardwareSpec::Hwsim(spec) = self {
                    limits.header_bytes = QOS_DATA_BYTES;
                    limits.frames = check::integer(path, "frames", spec.frames, 1..=100_000, "frames")?;
                    (limits.at_arrival, limits.at_outcome) = (Extent::Round, Extent::Round);
                }
                Ok(Hardware { feed: Feed::Airtime(limits), ..Hardware::IDEAL })
            }
        }
    }
}

/// Content of a node's link queues that counts towards their limits.
#[derive(Debug)]
pub(crate) struct Backlog {
    /// By rank: packets.
    packets: [u32; 4],
    /// By rank and station, at a station for its link: airtime pending.
    pending: [Vec<Time>; 4],
    /// By rank: airtime pending of all stations.
    of_category: [Time; 4],
    total: Time,
}

impl Backlog {
    /// Creates an empty backlog for the links to so many stations; a station has one link.
    pub fn new(stations: usize) -> Backlog {
        Backlog {
            packets: [0; 4],
            pending: std::array::from_fn(|_| vec![Time::ZERO; stations]),
            of_category: [Time::ZERO; 4],
            total: Time::ZERO,
        }
    }

    /// Whether a driver takes packets at all on this occasion. A scheme that does not serve stations in rounds has no list of
    /// active ones: those with airtime pending count.
    pub fn may_begin(&self, feed: Feed, rank: usize, occasion: Occasion, serves_in_rounds: bool) -> bool {
        let Feed::Airtime(limits) = feed else { return feed != Feed::OnDemand };
        let active = || self.pending[rank].iter().filter(|pending| **pending > Time::ZERO).count();
        let has_descriptors = match occasion {
            Occasion::Arrival => self.has_room(feed, rank),
            Occasion::Outcome => self.is_empty(rank) || self.all_packets() < limits.descriptors / 2,
        };
        has_descriptors
            && (serves_in_rounds || self.rounds(&limits, rank, occasion).may_start(active().max(1)))
    }

    /// Whether there is room for another packet, apart from airtime.
    pub fn has_room(&self, feed: Feed, rank: usize) -> bool {
        match feed {
            Feed::OnDemand => false,
            Feed::Packets(most) => self.packets[rank] < most,
            Feed::Airtime(limits) => {
                (self.is_empty(rank) || self.all_packets() < limits.descriptors)
                    && self.packets[rank] < limits.frames
            }
        }
    }

    /// Whether a category has no packet here.
    pub fn is_empty(&self, rank: usize) -> bool {
        self.packets[rank] == 0
    }

    fn all_packets(&self) -> u32 {
        self.packets.iter().sum()
    }

    fn rounds(&self, limits: &AirtimeLimits, rank: usize, occasion: Occasion) -> Rounds {
        let extent = match occasion {
            Occasion::Arrival => limits.at_arrival,
            Occasion::Outcome => limits.at_outcome,
        };
        Rounds {
            pending: self.of_category[rank],
            first: limits.high,
            further: Time::from_ns(limits.low.as_ns() / 2),
            extent,
        }
    }

    /// Permission for a category's transmit queue to release one more packet.
    pub fn grant(&self, feed: Feed, (ac, rank): (Ac, usize), occasion: Occasion, gathers: bool) -> Grant<'_> {
        let grant = Grant { ac, gathers, ..Grant::ANY };
        let Feed::Airtime(limits) = feed else { return grant };
        let below = if self.total < limits.total { limits.high } else { limits.low };
        let station_limit = Some(StationLimit { pending: &self.pending[rank], below });
        Grant { station_limit, rounds: Some(self.rounds(&limits, rank, occasion)), ..grant }
    }

    /// What ends the turn that is under way when there is no room left: no packet may go. `None` if turns do not matter.
    pub fn last_grant(&self, feed: Feed, (ac, rank): (Ac, usize)) -> Option<Grant<'_>> {
        let Feed::Airtime(limits) = feed else { return None };
        let station_limit = Some(StationLimit { pending: &self.pending[rank], below: Time::ZERO });
        let rounds = Rounds { extent: Extent::Turn, ..self.rounds(&limits, rank, Occasion::Arrival) };
        Some(Grant { ac, station_limit, rounds: Some(rounds), ..Grant::ANY })
    }

    /// The stations for which PPDUs may be formed ahead: those whose windows are not full.
    pub fn with_room(&self, rank: usize) -> StationLimit<'_> {
        StationLimit { pending: &self.pending[rank], below: Time::MAX }
    }

    /// If PPDUs are formed ahead on demand, sets whether the Block Ack window of a station is full.
    pub fn set_full(&mut self, rank: usize, station: StationId, is_full: bool) {
        *self.of(rank, station) = if is_full { Time::MAX } else { Time::ZERO };
    }

    /// Counts a packet of `ip_bytes` that enters a link queue, whose link has that mode; returns the airtime counted as
    /// pending.
    pub fn enter(
        &mut self,
        feed: Feed,
        rank: usize,
        station: StationId,
        ip_bytes: u32,
        mode: impl FnOnce() -> Mode,
    ) -> Time {
        self.packets[rank] += 1;
        let Feed::Airtime(AirtimeLimits { kernel, header_bytes, .. }) = feed else { return Time::ZERO };
        let pending = expected_airtime(kernel, &mode(), ip_bytes + header_bytes, rank == 0);
        *self.of(rank, station) += pending;
        self.of_category[rank] += pending;
        self.total += pending;
        pending
    }

    fn of(&mut self, rank: usize, station: StationId) -> &mut Time {
        let last = self.pending[rank].len() - 1;
        &mut self.pending[rank][station.index().min(last)]
    }

    /// Counts a packet that leaves its link queue.
    pub fn leave(&mut self, rank: usize, station: StationId, pending: Time) {
        self.packets[rank] -= 1;
        *self.of(rank, station) -= pending;
        self.of_category[rank] -= pending;
        self.total -= pending;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Format, Mode};
    use wifair_core::Rate;

    const LIMITS: AirtimeLimits = AirtimeLimits {
        low: Time::from_ms(5),
        high: Time::from_ms(12),
        total: Time::from_ms(24),
        kernel: Kernel::V6_12,
        header_bytes: ETHERNET_BYTES,
        descriptors: 20,
        frames: u32::MAX,
        at_arrival: Extent::Turn,
        at_outcome: Extent::Round,
    };
    const BEST_EFFORT: (Ac, usize) = (Ac::BestEffort, 2);

    /// HT20 at MCS 0: 1,260 µs per 1,024 bytes.
    fn slow() -> Mode {
        let rate = Rate::from_kbps(6_500);
        let (mcs, streams, width_mhz, guard_interval_ns) = (0, 1, 20, 800);
        Mode { rate, format: Format::Ht, ldpc: false, mcs, streams, width_mhz, guard_interval_ns }
    }

    fn grant(backlog: &Backlog) -> Grant<'_> {
        backlog.grant(Feed::Airtime(LIMITS), BEST_EFFORT, Occasion::Outcome, true)
    }

    /// What a station may have pending, and what it has.
    fn limit(backlog: &Backlog, station: usize) -> (Time, Time) {
        let limit = grant(backlog).station_limit.unwrap();
        (limit.below, limit.pending[station])
    }

    /// AQL by hand: 3,000 bytes and half a preamble are 3,776 µs. Seven of them reach the interface's limit of 24 ms, and lower
    /// a station's from 12 to 5 ms, until one leaves.
    #[test]
    fn the_interface_decides_which_limit_a_station_has() {
        let mut backlog = Backlog::new(2);
        let (first, second) = (StationId(0), StationId(1));
        let enter =
            |backlog: &mut Backlog, station| backlog.enter(Feed::Airtime(LIMITS), 2, station, 3_000, slow);
        let each = enter(&mut backlog, first);
        assert_eq!(each, Time::from_us(3_776));
        assert_eq!(limit(&backlog, 0), (Time::from_ms(12), each));
        (0..5).for_each(|_| _ = enter(&mut backlog, second));
        for _ in 0..3 {
            assert_eq!(limit(&backlog, 1), (Time::from_ms(12), each * 5));
            enter(&mut backlog, second);
            assert_eq!(limit(&backlog, 1), (Time::from_ms(5), each * 6));
            let rounds = grant(&backlog).rounds.unwrap();
            assert_eq!(rounds.pending, each * 7);
            assert!(!rounds.may_start(6) && rounds.may_start(7), "26,432 us, at 24,500 and 27,000");
            backlog.leave(2, second, each);
        }
        assert_eq!(limit(&backlog, 0).1, each, "another station's are its own");
    }

    /// With room for 20 packets an arrival is taken while there is room, but after an outcome only 9 may be below.
    #[test]
    fn a_driver_with_descriptors_takes_packets_at_outcomes_while_half_are_free() {
        let mut backlog = Backlog::new(1);
        let feed = Feed::Airtime(LIMITS);
        for below in 0..20 {
            let may_begin = |occasion| backlog.may_begin(feed, 2, occasion, true);
            assert_eq!(may_begin(Occasion::Outcome), below < 10);
            assert!(may_begin(Occasion::Arrival) && backlog.has_room(feed, 2));
            backlog.enter(feed, 2, StationId(0), 0, slow);
        }
        assert!(!backlog.may_begin(feed, 2, Occasion::Arrival, true) && !backlog.has_room(feed, 2));
        assert!(backlog.last_grant(feed, BEST_EFFORT).is_some_and(|grant| !grant.admits(StationId(0))));
    }

    #[test]
    fn a_queue_of_packets_has_room_below_its_limit() {
        let mut backlog = Backlog::new(1);
        let feed = Feed::Packets(2);
        let pending = [(); 2].map(|()| {
            assert!(backlog.has_room(feed, 0));
            backlog.enter(feed, 0, StationId(0), 1_500, slow)
        });
        assert!(!backlog.has_room(feed, 0));
        assert!(backlog.has_room(feed, 1), "a category has its own");
        backlog.leave(0, StationId(0), pending[0]);
        assert!(backlog.has_room(feed, 0));
    }
}
