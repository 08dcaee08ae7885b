//! Error rates given by a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Rate, SpecError};
use wifair_queue::Direction;

use crate::check;
use crate::phy::{Mode, Modes};

/// Frame error rates of the link between a station and the AP, 0 to 1, by direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FrameErrorRate {
    /// Error rate of data frames from the station.
    pub data_up: f64,
    /// Error rate of data frames to the station.
    pub data_down: f64,
    /// Error rate of the station's MAC ACKs (to downlink data).
    pub ack_up: f64,
    /// Error rate of MAC ACKs to the station (to its uplink data).
    pub ack_down: f64,
    /// Error rates of data frames at given rates, in both directions. They replace `data_up` and `data_down`
    /// at those rates.
    pub by_rate: Vec<RateErrors>,
}

/// Frame error rate of data frames at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateErrors {
    /// One of the PHY's rates, in Mbps; before 802.11n.
    #[serde(default)]
    pub rate_mbps: Option<f64>,
    /// One of the PHY's MCSs; from 802.11n on.
    #[serde(default)]
    pub mcs: Option<u8>,
    /// Probability that the receiver cannot decode a data frame, 0 to 1.
    pub data: f64,
}

impl RateErrors {
    /// Errors of frames at a rate, before 802.11n.
    pub fn at_rate(rate_mbps: f64, data: f64) -> RateErrors {
        RateErrors { rate_mbps: Some(rate_mbps), mcs: None, data }
    }
}

impl FrameErrorRate {
    pub(crate) fn is_zero(&self) -> bool {
        *self == FrameErrorRate::default()
    }

    /// Error rates of a data frame and of its MAC ACK.
    #[inline]
    pub(crate) fn of(&self, direction: Direction, mode: &Mode) -> (f64, f64) {
        let (data, ack) = match direction {
            Direction::Up => (self.data_up, self.ack_down),
            Direction::Down => (self.data_down, self.ack_up),
        };
        let listed = self.by_rate.iter().find(|entry| match (entry.rate_mbps, entry.mcs) {
            (Some(mbps), _) => Rate::from_mbps(mbps) == mode.rate,
            (None, mcs) => mcs == Some(mode.mcs),
        });
        (listed.map_or(data, |entry| entry.data), ack)
    }

    pub(crate) fn validate(&self, modes: &Modes, path: &str) -> Result<(), SpecError> {
        for (index, entry) in self.by_rate.iter().enumerate() {
            let path = format!("{path}.by_rate[{index}]");
            let keys = [(entry.rate_mbps, "rate_mbps"), (entry.mcs.map(f64::from), "mcs")];
            let Some((value, key)) = keys.iter().find_map(|&(value, key)| Some((value?, key))) else {
                let key = if modes.have_mcs() { "mcs" } else { "rate_mbps" };
                return Err(SpecError::new(format!("{path}.{key}"), "nothing", "this key is needed"));
            };
            modes.chosen(entry.rate_mbps, entry.mcs, &path, ["rate_mbps", "mcs"])?;
            check::number(&path, "data", entry.data, 0.0..=1.0, "")?;
            let same =
                |earlier: &RateErrors| (earlier.rate_mbps, earlier.mcs) == (entry.rate_mbps, entry.mcs);
            if self.by_rate[..index].iter().any(same) {
                let allowed = "a rate that no other entry has";
                return Err(SpecError::new(format!("{path}.{key}"), value, allowed));
            }
        }
        let rates = [
            ("data_up", self.data_up),
            ("data_down", self.data_down),
            ("ack_up", self.ack_up),
            ("ack_down", self.ack_down),
        ];
        for (key, rate) in rates {
            if !(0.0..=1.0).contains(&rate) {
                return Err(SpecError::new(format!("{path}.{key}"), rate, "a probability from 0 to 1"));
            }
        }
        Ok(())
    }
}
