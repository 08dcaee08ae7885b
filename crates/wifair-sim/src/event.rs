//! Changes of a scenario during a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SpecError, StationId, Time};
use wifair_queue::SchemeSpec;
use wifair_tcp::TcpChange;
use wifair_wlan::{BssSpec, ObssSpec, StationChange};

use crate::agenda::{Agenda, ScheduledEvent};
use crate::air::Air;
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
    /// Name of the BSS whose access point or wire changes. Without the key, the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bss: Option<String>,
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
    /// Greatest number of packets in the buffer, 1 to 100000. The transmit queue's `lowered_limit` decides what happens
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
    /// Numbers of BSSs. The first has the name of its access point and its own.
    pub bsss: BTreeMap<&'a str, usize>,
    /// By BSS: whether it does not share the wire of the first.
    pub own_wires: Vec<bool>,
    pub stations: BTreeMap<&'a str, StationId>,
    /// Index and number of flows of each group.
    pub groups: BTreeMap<&'a str, (u32, u32)>,
}

impl EventSpec {
    /// An event at `at_s` that changes nothing yet.
    pub fn new(at_s: f64) -> EventSpec {
        EventSpec { at_s, bss: None, station: None, ap: None, flows: None, wire: None }
    }

    /// Checks the event at `path` of a plan. The plan checks changes of TCP, which depend on the flows and on earlier events.
    pub(crate) fn validate(
        &self,
        path: &str,
        horizon_s: f64,
        named: &Named,
        obss: &ObssSpec,
        air: &Air,
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
            air.check_change(station, change, &path)?;
        }
        let bss = self.validate_bss(path, named)?;
        if let Some(change) = &self.ap {
            let spec = obss.spec(bss);
            change.validate(&format!("{path}.ap"), &spec, air.bss(bss).ap_limit_is_controlled())?;
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

    /// The number of the BSS that changes.
    fn validate_bss(&self, path: &str, named: &Named) -> Result<usize, SpecError> {
        let Some(name) = &self.bss else { return Ok(0) };
        let key = format!("{path}.bss");
        if self.ap.is_none() && self.wire.is_none() {
            let allowed =
                "no such key without a table `ap` or `wire`: names of stations and groups are unique";
            return Err(SpecError::new(key, name, allowed));
        }
        let Some(&bss) = named.bsss.get(name.as_str()) else {
            let allowed = named.bsss.keys().copied().collect::<Vec<_>>().join(", ");
            return Err(SpecError::new(key, name, format!("a BSS: {allowed}")));
        };
        if self.wire.is_some() && !named.own_wires[bss] {
            let allowed = "a BSS with a separate wire, or no such key for the wire that the others share";
            return Err(SpecError::new(key, name, allowed));
        }
        Ok(bss)
    }

    /// Adds the event to the agenda.
    pub(crate) fn enter(&self, agenda: &mut Agenda, named: &Named) {
        let at = Time::from_secs_f64(self.at_s);
        let bss = self.bss.as_ref().map_or(0, |name| named.bsss[name.as_str()]);
        if let Some(change) = &self.station {
            let station = named.stations[change.label.as_str()];
            agenda.add(at, ScheduledEvent::Station { station, change: change.clone() });
        }
        if let Some(ApChange { limit_packets, scheme }) = &self.ap {
            if let Some(packets) = *limit_packets {
                agenda.add(at, ScheduledEvent::ApLimit { bss, packets });
            }
            if let Some(scheme) = scheme {
                agenda.add(at, ScheduledEvent::ApScheme { bss, scheme: Box::new(scheme.clone()) });
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
            let delay = Time::from_secs_f64(one_way_delay_ms * 1e-3);
            agenda.add(at, ScheduledEvent::WireDelay { bss, delay });
        }
    }
}

impl ApChange {
    fn validate(&self, path: &str, cell: &BssSpec, limit_is_controlled: bool) -> Result<(), SpecError> {
        if self.limit_packets.is_none() && self.scheme.is_none() {
            return Err(SpecError::new(path, "a table without effect", "limit_packets or scheme in it"));
        }
        if let Some(packets) = self.limit_packets {
            let key = format!("{path}.limit_packets");
            if limit_is_controlled {
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
