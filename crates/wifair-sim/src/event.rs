//! Changes of a scenario during a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SpecError, StationId, Time};
use wifair_queue::SchemeSpec;
use wifair_tcp::TcpChange;
use wifair_wlan::{Bss, BssSpec, StationChange};

use crate::agenda::{Agenda, ScheduledEvent};
use crate::check::check_range;

/// Maximum number of events of a plan: a change every millisecond for a thousand seconds.
pub const MAX_EVENTS: usize = 1_000_000;

/// A change at a given time, applied before everything else at that instant. Events of one instant are
/// applied in the order of the plan, after starts and stops of flows, which [`FlowSpec`](crate::FlowSpec)
/// sets.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventSpec {
    /// Time in seconds from the start of the run, warm-up included.
    pub at_s: f64,
    /// New values of a station.
    #[serde(default)]
    pub station: Option<StationChange>,
    /// New values of the AP.
    #[serde(default)]
    pub ap: Option<ApChange>,
    /// New values of the flows of a group.
    #[serde(default)]
    pub flows: Option<FlowsChange>,
    /// New values of the wire.
    #[serde(default)]
    pub wire: Option<WireChange>,
}

/// New values of the access point, the limit first. An absent key leaves its value unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApChange {
    /// Greatest number of packets in the buffer, 1 to 100000. The port's `lowered_limit` decides what happens
    /// to packets above a lowered limit. Not allowed with a limit controller.
    pub limit_packets: Option<u32>,
    /// New queue management scheme. The queued packets are enqueued into it from head to tail; those that it
    /// does not accept count as evicted. Limit and counters are unchanged. Under EDCA it applies to every
    /// category without a separate scheme.
    pub scheme: Option<SchemeSpec>,
}

/// New values of the flows of a group. An absent key leaves its value unchanged.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowsChange {
    /// Name of the group.
    pub group: String,
    /// Number of open flows of the group, counted in the order of the plan. The others stop, as by `stop_s`.
    /// A flow that opens again restarts its application over new connections.
    #[serde(default)]
    pub count: Option<u32>,
    /// TCP of connections opened after the event.
    #[serde(default)]
    pub tcp: Option<TcpChange>,
}

/// New values of the wire.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireChange {
    /// One-way delay in milliseconds of packets sent after the event, for flows without a separate delay.
    /// Packets in flight keep theirs, so after a shorter delay packets may be reordered, as when a route
    /// changes.
    pub one_way_delay_ms: f64,
}

/// The names that events of a plan may use.
pub(crate) struct Named<'a> {
    pub stations: BTreeMap<&'a str, StationId>,
    /// Index and number of flows of each group.
    pub groups: BTreeMap<&'a str, (u32, u32)>,
}

impl EventSpec {
    /// An event at `at_s` that changes nothing yet.
    pub fn new(at_s: f64) -> EventSpec {
        EventSpec { at_s, station: None, ap: None, flows: None, wire: None }
    }

    /// Checks the event at `path` of a plan that runs until `horizon_s`. The plan checks changes of TCP, which depend on the
    /// flows and on earlier events.
    pub(crate) fn validate(
        &self,
        path: &str,
        horizon_s: f64,
        named: &Named,
        cell: &BssSpec,
        bss: &Bss,
    ) -> Result<(), SpecError> {
        check_range(&format!("{path}.at_s"), self.at_s, 0.0, horizon_s, "s, the end of the run")?;
        if self.station.is_none() && self.ap.is_none() && self.flows.is_none() && self.wire.is_none() {
            let allowed = "a table `station`, `ap`, `flows` or `wire` in it";
            return Err(SpecError::new(path, "an event without effect", allowed));
        }
        if let Some(change) = &self.station {
            let path = format!("{path}.station");
            let Some(&station) = named.stations.get(change.label.as_str()) else {
                let key = format!("{path}.label");
                return Err(SpecError::new(key, &change.label, "the label of a station of the BSS"));
            };
            bss.check_change(station, change, &path)?;
        }
        if let Some(change) = &self.ap {
            change.validate(&format!("{path}.ap"), cell, bss)?;
        }
        if let Some(change) = &self.flows {
            change.validate(&format!("{path}.flows"), named)?;
        }
        match &self.wire {
            Some(WireChange { one_way_delay_ms }) => {
                check_range(&format!("{path}.wire.one_way_delay_ms"), *one_way_delay_ms, 0.0, 1e5, "ms")
            }
            None => Ok(()),
        }
    }

    /// Adds the event to the agenda.
    pub(crate) fn enter(&self, agenda: &mut Agenda, named: &Named) {
        let at = Time::from_secs_f64(self.at_s);
        if let Some(change) = &self.station {
            let station = named.stations[change.label.as_str()];
            agenda.add(at, ScheduledEvent::Station { station, change: change.clone() });
        }
        if let Some(ApChange { limit_packets, scheme }) = &self.ap {
            if let Some(packets) = *limit_packets {
                agenda.add(at, ScheduledEvent::ApLimit { packets });
            }
            if let Some(scheme) = scheme {
                agenda.add(at, ScheduledEvent::ApScheme(Box::new(scheme.clone())));
            }
        }
        if let Some(FlowsChange { group, count, tcp }) = &self.flows {
            let group = named.groups[group.as_str()].0;
            // Parameters come first: a flow that this event opens uses them.
            if let Some(change) = tcp {
                agenda.add(at, ScheduledEvent::Tcp { group, change: Box::new(change.clone()) });
            }
            if let Some(count) = *count {
                agenda.add(at, ScheduledEvent::Count { group, count });
            }
        }
        if let Some(WireChange { one_way_delay_ms }) = self.wire {
            agenda.add(at, ScheduledEvent::WireDelay { delay: Time::from_secs_f64(one_way_delay_ms * 1e-3) });
        }
    }
}

impl ApChange {
    fn validate(&self, path: &str, cell: &BssSpec, bss: &Bss) -> Result<(), SpecError> {
        if self.limit_packets.is_none() && self.scheme.is_none() {
            return Err(SpecError::new(path, "a table without effect", "limit_packets or scheme in it"));
        }
        if let Some(packets) = self.limit_packets {
            let key = format!("{path}.limit_packets");
            if bss.ap_limit_is_controlled() {
                let allowed = "no such change where ap.limit_controller moves the limit";
                return Err(SpecError::new(key, "this key", allowed));
            }
            if !(1..=100_000).contains(&packets) {
                return Err(SpecError::new(key, packets, "1 to 100000 packets"));
            }
        }
        match &self.scheme {
            Some(scheme) => cell.check_ap_scheme(scheme, &format!("{path}.scheme")),
            None => Ok(()),
        }
    }
}

impl FlowsChange {
    fn validate(&self, path: &str, named: &Named) -> Result<(), SpecError> {
        if self.count.is_none() && self.tcp.as_ref().is_none_or(|tcp| *tcp == TcpChange::default()) {
            return Err(SpecError::new(path, "a table without effect", "count, or keys in tcp"));
        }
        let Some(&(_, size)) = named.groups.get(self.group.as_str()) else {
            let known = named.groups.keys().copied().collect::<Vec<_>>().join(", ");
            return Err(SpecError::new(
                format!("{path}.group"),
                &self.group,
                format!("a group of flows: {known}"),
            ));
        };
        match self.count {
            Some(count) if count > size => {
                let allowed = format!("0 to {size} flows, those that wait for an event included");
                Err(SpecError::new(format!("{path}.count"), count, allowed))
            }
            _ => Ok(()),
        }
    }
}
