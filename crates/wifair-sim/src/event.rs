//! Changes of a scenario during a run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SpecError, StationId, Time};
use wifair_queue::SchemeSpec;
use wifair_tcp::TcpChange;
use wifair_wlan::{Bss, BssSpec, StationChange};

use crate::agenda::{Agenda, Event};
use crate::check::check_range;

/// Maximum number of events of a plan: a change every millisecond for a thousand seconds.
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
    /// What changes for the flows of a group.
    #[serde(default)]
    pub flows: Option<FlowsChange>,
    /// What changes on the wire.
    #[serde(default)]
    pub wire: Option<WireChange>,
}

/// New values at the access point. A key that is absent leaves its value as it is. The limit comes first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApChange {
    /// Greatest number of packets in the buffer, 1 to 100000. What becomes of packets above a lowered limit the port's
    /// `lowered_limit` says. Not where a limit controller moves the limit.
    pub limit_packets: Option<u32>,
    /// Queue management scheme from now on. It is offered the queued packets in their order, from head to tail; what it does
    /// not place counts as evicted. Limit and counters stay as they are. Under EDCA: at every category without a separate scheme.
    pub scheme: Option<SchemeSpec>,
}

/// New values for the flows of a group. A key that is absent leaves its value as it is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowsChange {
    /// Name of the group.
    pub group: String,
    /// How many flows of the group are open from now on: the first so many in the order of the plan. The others stop, as by
    /// `stop_s`. A flow that opens again starts its application from the beginning, over new connections.
    #[serde(default)]
    pub count: Option<u32>,
    /// TCP of the connections that are opened from now on.
    #[serde(default)]
    pub tcp: Option<TcpChange>,
}

/// New values of the wire.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WireChange {
    /// One-way delay of the packets sent from now on, in milliseconds, for the flows that set none. Those under
    /// way keep theirs, so after a shorter delay packets overtake them, as when a route changes.
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
            agenda.add(at, Event::Station { station, change: change.clone() });
        }
        if let Some(ApChange { limit_packets, scheme }) = &self.ap {
            if let Some(packets) = *limit_packets {
                agenda.add(at, Event::ApLimit { packets });
            }
            if let Some(scheme) = scheme {
                agenda.add(at, Event::ApScheme(Box::new(scheme.clone())));
            }
        }
        if let Some(FlowsChange { group, count, tcp }) = &self.flows {
            let group = named.groups[group.as_str()].0;
            // Parameters come first: a flow that this event opens uses them.
            if let Some(change) = tcp {
                agenda.add(at, Event::Tcp { group, change: Box::new(change.clone()) });
            }
            if let Some(count) = *count {
                agenda.add(at, Event::Count { group, count });
            }
        }
        if let Some(WireChange { one_way_delay_ms }) = self.wire {
            agenda.add(at, Event::WireDelay { delay: Time::from_secs_f64(one_way_delay_ms * 1e-3) });
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
