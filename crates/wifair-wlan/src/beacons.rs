//! The AP's beacons (`docs/medium.md`, section 13).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Rng, SpecError, Time};

use crate::check;
use crate::contention::Access;
use crate::node::EdcafId;
use crate::phy::OnAir;
use crate::phy::timing::BssTiming;

/// Time unit of the Beacon Interval field (9.4.1.3).
pub(crate) const TU: Time = Time::from_us(1_024);

/// The name of the random stream of the backoff of beacons.
pub(crate) const BACKOFF_PURPOSE: &str = "backoff-beacon";

/// Parameters of the AP's beacons.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BeaconsSpec {
    /// Beacon interval in TU of 1,024 µs, 1 to 65535 (9.4.1.3).
    pub interval_tu: u32,
    /// Length of the MPDU in bytes with FCS, 70 to 2332. 300 is typical of a WPA2 network of 802.11ac.
    pub bytes: u32,
    /// Rate of beacons in Mbps: at 2.4 GHz one of 802.11b's (1, 2, 5.5, 11) or, without 802.11b stations, of
    /// OFDM's (6 to 54); at 5 and 6 GHz, and in a field, one of OFDM's. Without the key, the lowest mandatory or basic rate.
    /// APs at 2.4 GHz often use 1.
    pub rate_mbps: Option<f64>,
}

impl Default for BeaconsSpec {
    fn default() -> BeaconsSpec {
        BeaconsSpec { interval_tu: 100, bytes: 300, rate_mbps: None }
    }
}

/// The AP's beacons, ready for use.
#[derive(Debug)]
pub(crate) struct Beacons {
    /// The contender: a further category of the AP.
    pub sender: EdcafId,
    pub interval: Time,
    /// Mode of a beacon.
    pub on_air: OnAir,
    pub duration: Time,
    /// Whether one is due and not yet on the air.
    pub waits: bool,
    /// End of the one in the current exchange or collision.
    pub ends: Option<Time>,
}

impl Beacons {
    pub(crate) fn new(
        spec: &BeaconsSpec,
        phy: &BssTiming,
        sender: EdcafId,
        path: &str,
    ) -> Result<Beacons, SpecError> {
        let interval_tu =
            check::integer(path, "interval_tu", spec.interval_tu, 1..=65_535, "TU of 1,024 µs")?;
        // From the least that a beacon has to a frame body of 2,304 bytes (9.2.4.7), with header and FCS.
        let bytes = check::integer(path, "bytes", spec.bytes, 70..=2_332, "bytes")?;
        let on_air = match spec.rate_mbps {
            Some(mbps) => phy.group_mode(mbps, &format!("{path}.rate_mbps"))?,
            None => phy.slowest,
        };
        Ok(Beacons {
            sender,
            interval: TU * interval_tu.into(),
            on_air,
            duration: on_air.duration(bytes),
            waits: false,
            ends: None,
        })
    }

    /// The first target time of a neighbour (section 16): a draw from a stream of its access point, which has this name.
    pub(crate) fn first_target(&self, seed: u64, ap: &str) -> Time {
        let interval_us = (self.interval.as_ns() / 1_000) as u32; // at most 65,535 TU
        Time::from_us(1 + u64::from(Rng::stream(seed, ap, "beacon-offset").below(interval_us)))
    }
}

impl BeaconsSpec {
    /// AIFSN 1 and no backoff, as ath9k sets its beacon queue (`ath9k_beaconq_config`).
    pub(crate) fn access(phy: &BssTiming) -> Access {
        Access { cw_min: 0, cw_max: 0, aifs: phy.sifs + phy.slot }
    }
}
