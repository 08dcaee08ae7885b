//! Counters of a BSS whose packets do not come from a plan's flows.

use wifair_core::{StationId, Time};
use wifair_wlan::Bss;

use crate::plan::Plan;
use crate::record::{Probes, RunRecord};
use crate::snapshot::Snapshot;
use crate::wire::Wire;

/// The counters of a BSS and its wire at an instant, without flows.
pub struct Reading(Snapshot);

impl Reading {
    /// Copies every counter at `now`, which is not after the BSS's next event.
    pub fn take(bss: &Bss, wire: &Wire, now: Time) -> Reading {
        let medium = bss.snapshot(now);
        let stations = (0..medium.stations.len() as u16).map(StationId);
        let stations = stations.map(|id| bss.station_ports(id).map(|(_, port)| port));
        Reading(Snapshot::without_flows(bss, stations, wire.counters(now), now))
    }
}

impl RunRecord {
    /// The record of the interval between two readings of the cell of `plan`, which has no flows.
    pub fn of_readings(plan: &Plan, before: &Reading, after: &Reading) -> RunRecord {
        RunRecord::new(plan, &before.0, &after.0, Probes::new(plan))
    }
}
