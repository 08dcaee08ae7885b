//! What a scenario says about a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::SpecError;
use wifair_queue::{FlowsSpec, PortSpec};

use crate::mac::MacSpec;
use crate::phy::PhySpec;

/// Greatest number of stations in a cell.
pub const MAX_STATIONS: usize = 20_000;

/// The access point's label: the entity of its random streams.
pub(crate) const AP_LABEL: &str = "ap";

/// One BSS: a PHY, a MAC, an access point and its stations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellSpec {
    /// PHY of all nodes.
    #[serde(default)]
    pub phy: PhySpec,
    /// MAC of all nodes.
    #[serde(default)]
    pub mac: MacSpec,
    /// The access point.
    #[serde(default)]
    pub ap: ApSpec,
    /// The stations, 1 to 20000; a station's id is its place here.
    pub stations: Vec<StationSpec>,
}

/// The access point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApSpec {
    /// Its transmission buffer with the scheme under study.
    pub port: PortSpec,
    /// Its flow monitor.
    pub flows: FlowsSpec,
}

/// A station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationSpec {
    /// Unique name: it keys the station's random streams, so that they do not depend on its place.
    pub label: String,
    /// Data rate in Mbps, one of the PHY's.
    pub rate_mbps: f64,
    /// Data rate from the AP to the station in Mbps, if it differs.
    #[serde(default)]
    pub rate_down_mbps: Option<f64>,
    /// Probability that the receiver of a frame cannot decode it.
    #[serde(default)]
    pub frame_error_rate: FrameErrorRate,
    /// The station's transmission buffer.
    #[serde(default)]
    pub port: PortSpec,
}

impl StationSpec {
    /// A station at `rate_mbps` both ways, without errors, with the default buffer.
    pub fn new(label: impl Into<String>, rate_mbps: f64) -> StationSpec {
        StationSpec {
            label: label.into(),
            rate_mbps,
            rate_down_mbps: None,
            frame_error_rate: FrameErrorRate::default(),
            port: PortSpec::default(),
        }
    }
}

/// New values for some of a station's keys, from a moment on. A key that is absent leaves its value as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationChange {
    /// Label of the station.
    pub label: String,
    /// Data rate in Mbps, one of the PHY's, both ways unless `rate_down_mbps` stands beside it. A rate adaptation
    /// begins anew there.
    #[serde(default)]
    pub rate_mbps: Option<f64>,
    /// Data rate from the AP to the station in Mbps.
    #[serde(default)]
    pub rate_down_mbps: Option<f64>,
    /// Probability that the receiver of a frame cannot decode it.
    #[serde(default)]
    pub frame_error_rate: Option<FrameErrorRate>,
}

impl StationChange {
    pub(crate) fn validate(&self, path: &str) -> Result<(), SpecError> {
        if let Some(rates) = &self.frame_error_rate {
            rates.validate(&format!("{path}.frame_error_rate"))?;
        }
        if self.rate_mbps.is_none() && self.rate_down_mbps.is_none() && self.frame_error_rate.is_none() {
            let allowed = "at least one of rate_mbps, rate_down_mbps, frame_error_rate";
            return Err(SpecError::new(path, "a station that nothing changes for", allowed));
        }
        Ok(())
    }
}

/// Frame error rates of the link between a station and the AP, each 0 to 1, by the way that the frame travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FrameErrorRate {
    /// Of data frames from the station.
    pub data_up: f64,
    /// Of data frames to the station.
    pub data_down: f64,
    /// Of the station's MAC ACKs (to downlink data).
    pub ack_up: f64,
    /// Of MAC ACKs to the station (to its uplink data).
    pub ack_down: f64,
}

impl FrameErrorRate {
    pub(crate) fn is_zero(&self) -> bool {
        *self == FrameErrorRate::default()
    }

    fn validate(&self, path: &str) -> Result<(), SpecError> {
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

impl CellSpec {
    /// A cell with all defaults for these stations.
    pub fn new(stations: Vec<StationSpec>) -> CellSpec {
        CellSpec { phy: PhySpec::default(), mac: MacSpec::default(), ap: ApSpec::default(), stations }
    }

    /// Checks all that does not need the PHY's table, which [`Cell::new`](crate::Cell::new) checks.
    pub(crate) fn validate(&self) -> Result<(), SpecError> {
        self.ap.port.validate("ap.port")?;
        self.ap.flows.validate("ap.flows")?;
        if self.stations.is_empty() || self.stations.len() > MAX_STATIONS {
            let allowed = format!("1 to {MAX_STATIONS} stations");
            return Err(SpecError::new("stations", self.stations.len(), allowed));
        }
        let mut labels = std::collections::BTreeSet::from([AP_LABEL]);
        for (index, station) in self.stations.iter().enumerate() {
            let path = format!("stations[{index}]");
            if station.label.is_empty() || !labels.insert(&station.label) {
                let value = format!("{:?}", station.label);
                let allowed = "a name that no other station has, neither empty nor \"ap\"";
                return Err(SpecError::new(format!("{path}.label"), value, allowed));
            }
            station.frame_error_rate.validate(&format!("{path}.frame_error_rate"))?;
            station.port.validate(&format!("{path}.port"))?;
        }
        Ok(())
    }
}
