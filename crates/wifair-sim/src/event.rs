//! What a scenario changes while it runs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SpecError, StationId, Time};
use wifair_wlan::{Bss, StationChange};

use crate::agenda::{Agenda, Event};
use crate::check::check_range;

/// The most events that a plan may have: a change every millisecond for a thousand seconds.
pub const MAX_EVENTS: usize = 1_000_000;

/// Something that changes at a given time, before everything else that happens at that instant. Events of one instant
/// come in the order of the plan, after the starts and stops of flows, which have keys of their own
/// ([`FlowSpec`](crate::FlowSpec)).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventSpec {
    /// When, in seconds from the start of the run, warm-up included.
    pub at_s: f64,
    /// A station whose links change.
    #[serde(default)]
    pub station: Option<StationChange>,
    /// What changes at the AP.
    #[serde(default)]
    pub ap: Option<ApChange>,
}

/// New values at the access point.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApChange {
    /// Greatest number of packets in the buffer, 1 to 100000. What becomes of packets above a lowered limit the port's
    /// `lowered_limit` says. Not where a limit controller moves the limit.
    pub limit_packets: u32,
}

impl EventSpec {
    /// Checks the event at `path` of a plan that runs until `horizon_s`, with these stations in `cell`.
    pub(crate) fn validate(
        &self,
        path: &str,
        horizon_s: f64,
        stations: &BTreeMap<&str, StationId>,
        bss: &Bss,
    ) -> Result<(), SpecError> {
        check_range(&format!("{path}.at_s"), self.at_s, 0.0, horizon_s, "s, the end of the run")?;
        if self.station.is_none() && self.ap.is_none() {
            return Err(SpecError::new(path, "an event without effect", "a table `station` or `ap` in it"));
        }
        if let Some(change) = &self.station {
            let path = format!("{path}.station");
            let Some(&station) = stations.get(change.label.as_str()) else {
                let key = format!("{path}.label");
                return Err(SpecError::new(key, &change.label, "the label of a station of the BSS"));
            };
            bss.check_change(station, change, &path)?;
        }
        match self.ap {
            Some(_) if bss.ap_limit_is_controlled() => {
                let allowed = "no such change where ap.limit_controller moves the limit";
                Err(SpecError::new(format!("{path}.ap.limit_packets"), "this key", allowed))
            }
            Some(ApChange { limit_packets }) if !(1..=100_000).contains(&limit_packets) => {
                let key = format!("{path}.ap.limit_packets");
                Err(SpecError::new(key, limit_packets, "1 to 100000 packets"))
            }
            _ => Ok(()),
        }
    }

    /// Puts the event on the agenda.
    pub(crate) fn enter(&self, agenda: &mut Agenda, stations: &BTreeMap<&str, StationId>) {
        let at = Time::from_secs_f64(self.at_s);
        if let Some(change) = &self.station {
            let station = stations[change.label.as_str()];
            agenda.add(at, Event::Station { station, change: change.clone() });
        }
        if let Some(ApChange { limit_packets }) = self.ap {
            agenda.add(at, Event::ApLimit { packets: limit_packets });
        }
    }
}
