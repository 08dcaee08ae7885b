//! The MAC's parameters and the intervals that follow from them and the PHY (802.11-2020, 10.3; `docs/medium.md`,
//! sections 2 to 5). The defaults are the standard's; where ns-2 departs from it, the departure is a key here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SpecError, Time};

use crate::aggregation::AggregationSpec;
use crate::beacons::BeaconsSpec;
use crate::check;
use crate::contention::{ArrivalWithinIfs, BackoffRange, ContentionRules};
use crate::edca::{Countdown, EdcaSpec};
use crate::phy::timing::{BssTiming, ControlFrames};
use crate::rate::RateSpec;

/// Maximum retry limit: an attempt takes at least 100 µs, so it is not reached within a day.
const MAX_RETRY_LIMIT: u32 = 1_000_000_000;

/// Parameters of the MAC, common to all nodes of the BSS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MacSpec {
    /// Attempts of a frame sent without RTS, or of its RTS, after which the frame is dropped
    /// (dot11ShortRetryLimit).
    pub retry_limit_short: u32,
    /// Attempts of a data frame sent after RTS and CTS, after which the frame is dropped
    /// (dot11LongRetryLimit).
    pub retry_limit_long: u32,
    /// RTS threshold in bytes: a data frame with a longer PSDU is preceded by RTS and CTS
    /// (dot11RTSThreshold). Without the key, none is.
    pub rts_threshold_bytes: Option<u32>,
    /// Wait an EIFS instead of a DIFS after a frame that was not decoded (10.3.2.3.7).
    pub eifs: bool,
    /// Add a DIFS to every EIFS, as ns-2 does.
    pub eifs_plus_difs: bool,
    /// Whether a transmitter in a collision also waits an EIFS if another colliding frame ends no earlier
    /// than its own, as in ns-2.
    pub colliders_wait_eifs: bool,
    /// Capture threshold in dB: in a collision the receiver still decodes its frame if that frame is this
    /// much stronger than every other (section 11 of `docs/medium.md`; ns-2 has 10). It needs stations with
    /// positions. Without the key, every colliding frame is lost.
    pub capture_db: Option<f64>,
    /// Whether a packet is sent without a backoff if the medium has been idle for an IFS (10.3.4.2). In ns-2
    /// every frame backs off.
    pub immediate_access: bool,
    /// What happens to a packet that arrives within an IFS: it is sent at its end (transmit), or backs off
    /// (backoff).
    pub arrival_within_ifs: ArrivalWithinIfs,
    /// Range of a backoff in slots: inclusive (0 to CW) or exclusive (0 to CW − 1, as in ns-2).
    pub backoff_range: BackoffRange,
    /// ACK timeout in µs, from the end of a data frame (10.3.2.11). Without the key, SIFS + slot +
    /// aRxPHYStartDelay.
    pub ack_timeout_us: Option<f64>,
    /// CTS timeout in µs, from the end of an RTS. Without the key, SIFS + slot + aRxPHYStartDelay.
    pub cts_timeout_us: Option<f64>,
    /// What a node does that wins access and finds a secondary channel busy, or not idle for a PIFS: it draws a
    /// new backoff (static), or sends in the widest part of its channel that has been idle (dynamic;
    /// 10.23.2.5). With punctured, PPDUs of 802.11be at 80 MHz or more leave out busy channels of 20 MHz
    /// where one of the standard's patterns allows it and more is left than with dynamic. It has an effect
    /// only where channels of BSSs overlap in part.
    #[serde(skip_serializing_if = "WidthUse::is_static")]
    pub width: WidthUse,
    /// Rate adaptation. Every node keeps a separate state per peer.
    pub rate_adaptation: RateSpec,
    /// EDCA with its four access categories. Without the table, DCF.
    pub edca: Option<EdcaSpec>,
    /// A-MPDUs and Block Ack on links of 802.11n and later. Under EDCA such links use them even without the
    /// table.
    pub aggregation: Option<AggregationSpec>,
    /// The AP's beacons; with several BSSs, those of each AP. Without the table, none are sent.
    pub beacons: Option<BeaconsSpec>,
}

impl MacSpec {
    /// How channel access functions contend.
    pub(crate) fn contention_rules(&self, phy: &BssTiming) -> ContentionRules {
        ContentionRules {
            slot: phy.slot,
            range: self.backoff_range,
            immediate_access: self.immediate_access,
            arrival_within_ifs: self.arrival_within_ifs,
            at_boundaries: self.edca.as_ref().is_some_and(|edca| edca.countdown == Countdown::Edca),
        }
    }
}

/// How wide an exchange is whose sender finds a secondary channel busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WidthUse {
    /// As wide as the link's mode: the sender draws a new backoff (10.23.2.5). From 802.11ac on the addressee of an RTS sends
    /// no CTS if a secondary channel is busy there (10.3.2.9).
    #[default]
    Static,
    /// As wide as the secondary channels that are idle allow; after an RTS from 802.11ac on, those of its addressee too.
    Dynamic,
    /// Dynamic, and PPDUs of 802.11be leave out busy channels of 20 MHz from 80 MHz on, if they may and so occupy more.
    Punctured,
}

impl WidthUse {
    /// Whether it is the default, which canonical plans leave out.
    pub(crate) fn is_static(&self) -> bool {
        *self == WidthUse::Static
    }
}

impl Default for MacSpec {
    fn default() -> MacSpec {
        MacSpec {
            retry_limit_short: 7,
            retry_limit_long: 4,
            rts_threshold_bytes: None,
            eifs: true,
            eifs_plus_difs: false,
            colliders_wait_eifs: false,
            capture_db: None,
            immediate_access: true,
            arrival_within_ifs: ArrivalWithinIfs::Transmit,
            backoff_range: BackoffRange::Inclusive,
            ack_timeout_us: None,
            cts_timeout_us: None,
            width: WidthUse::Static,
            rate_adaptation: RateSpec::default(),
            edca: None,
            aggregation: None,
            beacons: None,
        }
    }
}

/// The MAC's intervals and limits, ready for use.
#[derive(Clone, Debug)]
pub(crate) struct Mac {
    pub retry_limit_short: u32,
    pub retry_limit_long: u32,
    /// Frames with a longer PSDU are sent after an RTS.
    pub rts_threshold: u32,
    /// EIFS minus DIFS: the part that precedes a DIFS or AIFS.
    pub eifs_lead: Time,
    /// Whether a transmitter in a collision may have to wait an EIFS.
    pub colliders_wait_eifs: bool,
    /// Capture threshold in dB.
    pub capture_db: Option<f64>,
    /// By control frames of the BSS.
    pub waits: Vec<Waits>,
}

/// Intervals that follow from the control frames of an exchange.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    pub ack_timeout: Time,
    pub cts_timeout: Time,
    /// RTS, SIFS, CTS, SIFS, which precede a data frame.
    pub reservation: Time,
}

impl Mac {
    pub(crate) fn new(spec: &MacSpec, phy: &BssTiming, path: &str) -> Result<Mac, SpecError> {
        let limit = |key, value| check::integer(path, key, value, 1..=MAX_RETRY_LIMIT, "attempts");
        spec.rate_adaptation.validate(&format!("{path}.rate_adaptation"))?;
        let retry_limit_short = limit("retry_limit_short", spec.retry_limit_short)?;
        let retry_limit_long = limit("retry_limit_long", spec.retry_limit_long)?;
        for (key, on) in
            [("eifs_plus_difs", spec.eifs_plus_difs), ("colliders_wait_eifs", spec.colliders_wait_eifs)]
        {
            if on && !spec.eifs {
                let allowed = format!("false while {path}.eifs is false");
                return Err(SpecError::new(format!("{path}.{key}"), true, allowed));
            }
        }
        if let Some(margin) = spec.capture_db {
            check::number(path, "capture_db", margin, 0.1..=100.0, "dB")?;
            if spec.beacons.is_some() {
                let allowed =
                    format!("no such table with {path}.capture_db: capture beside a beacon is not modelled");
                return Err(SpecError::new(format!("{path}.beacons"), "this table", allowed));
            }
        }
        let mut eifs_lead = Time::ZERO;
        if spec.eifs {
            eifs_lead += phy.sifs + phy.slowest_ack;
        }
        if spec.eifs_plus_difs {
            eifs_lead += phy.difs;
        }
        let timeout = |key, given: Option<f64>, start_delay| match given {
            Some(us) => check::micros(path, key, us),
            None => Ok(phy.sifs + phy.slot + start_delay),
        };
        let waits = |control: &ControlFrames| {
            let ControlFrames { ack, rts, cts, .. } = control;
            Ok(Waits {
                ack_timeout: timeout("ack_timeout_us", spec.ack_timeout_us, ack.start_delay)?,
                cts_timeout: timeout("cts_timeout_us", spec.cts_timeout_us, cts.start_delay)?,
                reservation: rts.duration + cts.duration + phy.sifs * 2,
            })
        };
        if spec.rts_threshold_bytes.is_some() && phy.protects() {
            let allowed = "no such key where frames are protected from 802.11b stations (phy.erp_protection, or such a station), \
                 which says what goes before each data frame";
            return Err(SpecError::new(format!("{path}.rts_threshold_bytes"), "this key", allowed));
        }
        Ok(Mac {
            retry_limit_short,
            retry_limit_long,
            rts_threshold: spec.rts_threshold_bytes.unwrap_or(u32::MAX),
            eifs_lead,
            colliders_wait_eifs: spec.colliders_wait_eifs,
            capture_db: spec.capture_db,
            waits: phy.control_frames.iter().map(waits).collect::<Result<_, _>>()?,
        })
    }
}
