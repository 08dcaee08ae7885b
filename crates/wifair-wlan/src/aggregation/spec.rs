//! Parameters of aggregation (`mac.aggregation` in a plan; `docs/medium.md`, section 12).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SpecError, Time};

use super::amsdu::Amsdu;
use super::hardware::Hardware;
use crate::check;
use crate::phy::timing::BssTiming;
use crate::phy::{Band, Format, PhySpec};

/// Which packets of a transmit queue join a PPDU for a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// All packets for the station, in the order of the transmit queue's scheme, wherever they are queued; for a FIFO
    /// as in ns-3.
    #[default]
    Gather,
    /// Packets from the head of the queue up to the first for another station.
    HeadRun,
    /// The transmit queue feeds one driver queue per station in its scheme's order, as drivers did before 2016. At the
    /// access point only.
    DriverQueue,
}

/// When a Block Ack Request is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Requests {
    /// After an MPDU has been dropped, so that the recipient does not wait for it.
    #[default]
    GivenUp,
    /// Also after a PPDU of several MPDUs whose Block Ack was not decoded, as in ns-3.
    Missed,
    /// Never: the recipient waits until its window moves or its reorder timeout expires.
    Never,
}

/// When the packets of a received A-MPDU leave its recipient's MAC, as far as they are in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MpduDelivery {
    /// All at the end of the PPDU.
    #[default]
    Ppdu,
    /// Those of each MPDU at the end of the symbol with its last bit, as in ns-3.
    Mpdu,
}

/// Parameters of A-MPDU and Block Ack, for all links of 802.11n and later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AggregationSpec {
    /// Block Ack window in MPDUs, 1 to 1024. Without the key, the PHY's limit: 64 for 802.11n and ac, 256 for
    /// ax, 1024 for be.
    pub window: Option<u32>,
    /// Longest A-MPDU in bytes. Without the key, the PHY's limit: 65535 for 802.11n, 1048575 for ac, 6500631
    /// for ax, 15523200 for be.
    pub max_ampdu_bytes: Option<u32>,
    /// Longest PPDU in µs. The L-SIG length allows 5484 (9.4.2.55.3).
    pub max_ppdu_us: f64,
    /// Most MPDUs per PPDU; 1 turns A-MPDUs off. Without the key, the window.
    pub max_mpdus: Option<u32>,
    /// Longest A-MSDU in bytes: packets for the same station share an MPDU up to this length. 0 turns A-MSDUs
    /// off; otherwise 100 to the PHY's limit, which depends on `phy.mac_header_bytes` and `phy.ccmp`: without those keys
    /// 4065 for 802.11n (7935 with `max_mpdus = 1`), 11424 for ac, ax and be, 7935 for ax at 2.4 GHz.
    pub max_amsdu_bytes: u32,
    /// Minimum MPDU start spacing in µs (10.12.3): 0, 0.25, 0.5, 1, 2, 4, 8 or 16.
    pub min_mpdu_spacing_us: f64,
    /// Attempts of an MPDU after which it is dropped; the tries of the last PPDU that contains it count as one.
    /// Without the key, `mac.retry_limit_short`; with ath9k, 31 at the access point (ATH_MAX_SW_RETRIES).
    pub max_attempts: Option<u32>,
    /// How often a PPDU is sent, as it was formed, before its MPDUs may join another, 1 to 100. From 2 on
    /// `minstrel-ht` says itself how often in which mode. Without the key, 1; with ath9k, 10 at the access point.
    pub tries: Option<u32>,
    /// Reorder timeout in ms: how long an MPDU received out of order waits for those before it. Linux has
    /// 100.
    pub reorder_timeout_ms: f64,
    /// When a Block Ack Request is sent: given-up (after an MPDU is dropped, as in Linux), missed (also after a
    /// missed Block Ack, as in ns-3) or never.
    pub bar: Requests,
    /// When the packets of a received A-MPDU are delivered, as far as they are in order: ppdu (all at its end) or
    /// mpdu (those of each MPDU at the MPDU's own end, as in ns-3).
    pub delivery: MpduDelivery,
    /// Which packets of a transmit queue join a PPDU: gather (all for its station), head-run (up to the first for
    /// another) or driver-queue (those in the station's driver queue).
    pub fill: Fill,
    /// Limit of all driver queues of an access category together in packets, 1 to 100000. Only with `fill =
    /// "driver-queue"`. Without the key, 123, as in ath9k.
    pub driver_queue_packets: Option<u32>,
}

impl Default for AggregationSpec {
    fn default() -> AggregationSpec {
        AggregationSpec {
            window: None,
            max_ampdu_bytes: None,
            max_ppdu_us: 5_484.0,
            max_mpdus: None,
            max_amsdu_bytes: 0,
            min_mpdu_spacing_us: 0.0,
            max_attempts: None,
            tries: None,
            reorder_timeout_ms: 100.0,
            bar: Requests::default(),
            delivery: MpduDelivery::default(),
            fill: Fill::default(),
            driver_queue_packets: None,
        }
    }
}

/// The values of Minimum MPDU Start Spacing (Table 9-189), in µs.
const SPACINGS_US: [f64; 8] = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];

/// The least A-MSDU that has room for more than one packet.
const MIN_AMSDU_BYTES: u32 = 100;

/// Frames that ath9k holds for an access category (ATH_MAX_QDEPTH).
const DRIVER_QUEUE_PACKETS: u32 = 123;

/// Limits of attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempts {
    /// Of an MPDU, where the tries of its last PPDU count as one.
    pub mpdu: u32,
    /// Tries of a PPDU.
    pub tries: u32,
    pub request: u32,
    /// When a Block Ack Request is sent.
    pub requests: Requests,
}

/// [`AggregationSpec`] in the form that the engine uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AggregationRules {
    pub window: u32,
    pub max_ampdu_bytes: u32,
    pub max_ppdu: Time,
    pub max_mpdus: u32,
    pub spacing: Time,
    amsdu: Amsdu,
    max_attempts: Option<u32>,
    tries: Option<u32>,
    retry_limit: u32,
    requests: Requests,
    pub reorder_timeout: Time,
    pub delivery: MpduDelivery,
    pub fill: Fill,
    /// Length of the driver's queues, if they are used.
    pub driver_queue: Option<u32>,
}

impl AggregationRules {
    /// The A-MSDUs of a link whose older end has PPDUs of `format`.
    pub(crate) fn amsdu_of(&self, format: Format, band: Band) -> Amsdu {
        self.amsdu.of(format, band, self.max_mpdus > 1)
    }

    /// The limits of attempts above some hardware.
    pub(crate) fn attempts(&self, hardware: &Hardware) -> Attempts {
        Attempts {
            mpdu: self.max_attempts.or(hardware.max_attempts).unwrap_or(self.retry_limit),
            tries: self.tries.unwrap_or(hardware.tries),
            request: self.retry_limit,
            requests: self.requests,
        }
    }
}

impl AggregationSpec {
    /// Checks the values. `path` is their key in the plan; `retry_limit` is `mac.retry_limit_short`, `phy` the BSS's.
    ///
    /// # Errors
    /// Fails for a value out of range.
    pub(crate) fn rules(
        &self,
        retry_limit: u32,
        phy: &PhySpec,
        timing: &BssTiming,
        path: &str,
    ) -> Result<AggregationRules, SpecError> {
        let checked = |key, value: Option<u32>, range, unit| {
            value.map(|value| check::integer(path, key, value, range, unit)).transpose()
        };
        let given = |key, value, default, range, unit| {
            Ok::<u32, SpecError>(checked(key, value, range, unit)?.unwrap_or(default))
        };
        if !SPACINGS_US.contains(&self.min_mpdu_spacing_us) {
            let key = format!("{path}.min_mpdu_spacing_us");
            return Err(SpecError::new(key, self.min_mpdu_spacing_us, "0, 0.25, 0.5, 1, 2, 4, 8 or 16 us"));
        }
        let micros = Time::from_ns(
            (check::number(path, "max_ppdu_us", self.max_ppdu_us, 100.0..=5_484.0, "us")? * 1e3).round()
                as u64,
        );
        let timeout_ms =
            check::number(path, "reorder_timeout_ms", self.reorder_timeout_ms, 0.001..=1e6, "ms")?;
        Ok(AggregationRules {
            window: given("window", self.window, 1_024, 1..=1_024, "MPDUs")?,
            max_ampdu_bytes: given(
                "max_ampdu_bytes",
                self.max_ampdu_bytes,
                u32::MAX,
                100..=15_523_200,
                "bytes",
            )?,
            max_ppdu: micros,
            max_mpdus: given("max_mpdus", self.max_mpdus, u32::MAX, 1..=1_024, "MPDUs")?,
            amsdu: self.amsdu(phy, timing, path)?,
            spacing: Time::from_ns((self.min_mpdu_spacing_us * 1e3) as u64),
            max_attempts: checked("max_attempts", self.max_attempts, 1..=1_000_000, "attempts")?,
            tries: checked("tries", self.tries, 1..=100, "tries")?,
            retry_limit,
            requests: self.bar,
            reorder_timeout: Time::from_secs_f64(timeout_ms * 1e-3),
            delivery: self.delivery,
            fill: self.fill,
            driver_queue: match (self.fill, self.driver_queue_packets) {
                (Fill::DriverQueue, packets) => {
                    let packets = packets.unwrap_or(DRIVER_QUEUE_PACKETS);
                    Some(check::integer(path, "driver_queue_packets", packets, 1..=100_000, "packets")?)
                }
                (_, None) => None,
                (_, Some(packets)) => {
                    let key = format!("{path}.driver_queue_packets");
                    return Err(SpecError::new(key, packets, "no such key unless fill is \"driver-queue\""));
                }
            },
        })
    }

    /// Whether an MPDU may share an A-MPDU with others.
    fn has_ampdus(&self) -> bool {
        self.max_mpdus != Some(1)
    }

    fn amsdu(&self, phy: &PhySpec, timing: &BssTiming, path: &str) -> Result<Amsdu, SpecError> {
        let llc_bytes = timing.llc_bytes();
        let of = |max_bytes| Amsdu::new(max_bytes, timing.psdu_bytes(0) - llc_bytes, llc_bytes);
        let max_bytes = of(u32::MAX).of(phy.format(), phy.band(), self.has_ampdus()).max_bytes();
        if self.max_amsdu_bytes == 0 || (MIN_AMSDU_BYTES..=max_bytes).contains(&self.max_amsdu_bytes) {
            return Ok(of(self.max_amsdu_bytes));
        }
        let why = match phy.format() {
            Format::Ht if self.has_ampdus() => {
                "an MPDU of 802.11n in an A-MPDU has at most 4095 (with max_mpdus = 1 an A-MSDU has at most 7935)"
            }
            Format::Ht => "that is 802.11n's longest A-MSDU",
            Format::He if phy.band() == Band::Ghz2_4 => "that is the longest A-MSDU of 802.11ax at 2.4 GHz",
            _ => "an MPDU has at most 11454",
        };
        let allowed = format!("0 (no A-MSDUs) or {MIN_AMSDU_BYTES} to {max_bytes} bytes: {why}");
        Err(SpecError::new(format!("{path}.max_amsdu_bytes"), self.max_amsdu_bytes, allowed))
    }
}
