//! Which traces of a replication are wanted.

use std::path::PathBuf;

use serde::Deserialize;

/// Traces of one replication and their files. It is not part of the plan: traces do not change the trajectory.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceSpec {
    /// An existing folder for the files.
    pub folder: PathBuf,
    /// Captures of the interfaces of the AP, of the first BSS if there are several, and of those named in `PcapSpec`.
    pub pcap: Option<PcapSpec>,
    /// Whether to log events.
    pub events: bool,
}

/// The interfaces to capture in addition to the AP's two, and how much of each packet.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PcapSpec {
    /// Labels of stations: captures what their radios receive, and what their hosts send and receive.
    pub stations: Vec<String>,
    /// Names of BSSs: captures the interfaces of their access points.
    pub aps: Vec<String>,
    /// Whether to capture what the servers send and receive.
    pub servers: bool,
    /// Whether to capture payload and FCS; otherwise headers only.
    pub full_frames: bool,
}
