//! A scenario in explicit form: one entry per station and flow, with every parameter. It is read from JSON and converted to the
//! canonical form with all defaults filled in, which is hashed, stored and run.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SpecError, StationId, Time};
use wifair_queue::{ExternalScheme, Maker, SchemeSpec};
use wifair_tcp::TcpSpec;
use wifair_wlan::{ApSpec, BssSpec, NeighbourSpec, ObssSpec, StationSpec};

use crate::air::Air;

use crate::application::{ApplicationSpec, Carried, Transport};
use crate::check::check_range;
use crate::event::{EventSpec, MAX_EVENTS, Named};
use crate::json;

/// Version of the plan's form; a plan of another version is refused.
pub const SCHEMA_VERSION: u32 = 1;
/// Maximum number of flows of one run, and of connections, of which a flow may have several in parallel.
pub const MAX_FLOWS: usize = 100_000;

/// The first BSS's access point, and the stations of a BSS together, as nodes in results.
pub(crate) const AP: &str = "ap";
pub(crate) const NODE_OF_STATIONS: &str = "stations";

/// All that defines one run except the seed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of the plan's form.
    #[serde(default = "schema_version")]
    pub schema_version: u32,
    /// Duration and recording.
    #[serde(default)]
    pub run: RunSpec,
    /// The BSS: PHY, MAC, access point, stations.
    pub bss: BssSpec,
    /// Name of the BSS in results, if it has neighbours. The access point is called `ap` all the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub bss_label: String,
    /// Number of the channel of the BSS, of the width and band of its PHY, if its neighbours have channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bss_channel: Option<u16>,
    /// Number of its primary channel of 20 MHz. Without the key, the lowest in the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bss_primary: Option<u16>,
    /// Numbers of channels of 20 MHz in the channel of the BSS that it never uses (802.11be, 35.15.2): what PPDUs of 802.11be
    /// of its width may leave out, without the primary channel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bss_punctured: Vec<u16>,
    /// Other BSSs; only with the table `bss.field`, whose powers hold for the nodes of all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbour>,
    /// The wired side.
    #[serde(default)]
    pub wire: WireSpec,
    /// One entry per flow.
    pub flows: Vec<FlowSpec>,
    /// Changes during the run.
    #[serde(default)]
    pub events: Vec<EventSpec>,
}

/// Another BSS. It has the PHY, the MAC and the radio channel of `bss`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    /// Unique name of the BSS and of its access point, used in results and for random streams.
    pub label: String,
    /// Number of its channel (802.11-2020, Annex E: 42 for the 80 MHz from 5170 MHz on), of its width and the band of
    /// `bss.phy`. BSSs whose channels have no frequency in common do not receive each other. Without the key in any
    /// BSS, all are on one channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<u16>,
    /// Width of its channel in MHz. Without the key, that of `bss.phy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width_mhz: Option<u16>,
    /// Number of its primary channel of 20 MHz. Without the key, the lowest in the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<u16>,
    /// Numbers of channels of 20 MHz in its channel that it never uses (802.11be, 35.15.2): what PPDUs of 802.11be of its width
    /// may leave out, without the primary channel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub punctured: Vec<u16>,
    /// The access point.
    #[serde(default)]
    pub ap: ApSpec,
    /// The stations. No two stations of all BSSs have one name.
    pub stations: Vec<StationSpec>,
    /// The wired side of the BSS. Without the table, its flows share the wire of `bss`.
    #[serde(default)]
    pub wire: Option<WireSpec>,
}

/// Duration of a run, and what it records.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunSpec {
    /// Simulated time before the measurement begins, in seconds.
    pub warmup_s: f64,
    /// Length of the measurement, in seconds.
    pub duration_s: f64,
    /// Interval of the time series, in seconds. Without the key, none is recorded.
    pub sample_interval_s: Option<f64>,
    /// Sampling interval, in seconds, of each TCP sender's phase and limiting factor. Without the key, they
    /// are not recorded. `wifair explain` sets it.
    pub state_interval_s: Option<f64>,
    /// Whether the table `transfers` has one row per transfer, which may be many. The sums by group and size
    /// in `transfer_groups` are recorded in any case.
    pub record_transfers: bool,
}

impl Default for RunSpec {
    /// The durations of `adaptive-pushout`, IV-A: twenty flows take that long to converge to their shares
    /// (`docs/validation.md`).
    fn default() -> Self {
        RunSpec {
            warmup_s: 150.0,
            duration_s: 600.0,
            sample_interval_s: None,
            state_interval_s: None,
            record_transfers: true,
        }
    }
}

/// The wired link that the AP shares with all servers, unless a flow has its own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WireSpec {
    /// Rate of each direction, in Mbit/s; with `rate_up_mbps`, that of the direction to the AP. At 25,000,
    /// Ethernet's lowest rate above that of every PHY here (802.11be with 320 MHz and 8 streams has 23,059), the AP
    /// remains the bottleneck.
    pub rate_mbps: f64,
    /// Rate from the AP to the servers, in Mbit/s, if it differs from `rate_mbps`.
    pub rate_up_mbps: Option<f64>,
    /// Limit of the queue before the wire, in packets, in each direction, without the packet that is being
    /// transmitted. A packet that finds the queue full is dropped. Without the key there is no limit. It also
    /// holds for flows with a separate link (`flows.wire_rate_mbps`).
    pub limit_packets: Option<u32>,
    /// One-way delay between AP and server, in milliseconds.
    pub one_way_delay_ms: f64,
    /// Packet loss probability of each direction, 0 to 1.
    pub loss_rate: f64,
}

impl WireSpec {
    /// Checks the wire at `path` of a plan.
    fn validate(&self, path: &str) -> Result<(), SpecError> {
        let key = |name: &str| format!("{path}.{name}");
        check_range(&key("rate_mbps"), self.rate_mbps, 0.001, 1e6, "Mbps")?;
        if let Some(rate) = self.rate_up_mbps {
            check_range(&key("rate_up_mbps"), rate, 0.001, 1e6, "Mbps")?;
        }
        if let Some(packets) = self.limit_packets
            && !(1..=1_000_000).contains(&packets)
        {
            return Err(SpecError::new(key("limit_packets"), packets, "1 to 1000000 packets"));
        }
        check_range(&key("one_way_delay_ms"), self.one_way_delay_ms, 0.0, 1e5, "ms")?;
        check_range(&key("loss_rate"), self.loss_rate, 0.0, 1.0, "")
    }
}

impl Default for WireSpec {
    fn default() -> Self {
        WireSpec {
            rate_mbps: 25_000.0,
            rate_up_mbps: None,
            limit_packets: None,
            one_way_delay_ms: 5.0,
            loss_rate: 0.0,
        }
    }
}

/// Direction of a flow's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowDirection {
    /// Station → AP → server.
    Up,
    /// Server → AP → station.
    Down,
}

impl FlowDirection {
    /// The word used in output.
    pub const fn name(self) -> &'static str {
        match self {
            FlowDirection::Up => "up",
            FlowDirection::Down => "down",
        }
    }
}

/// One flow: an application between a station and a server, over TCP or without it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Unique name, used in results and for random streams.
    pub label: String,
    /// Name of the group for results; empty for none.
    #[serde(default)]
    pub group: String,
    /// Label of the station.
    pub station: String,
    /// Direction of the data: up or down.
    pub direction: FlowDirection,
    /// Whether the flow is closed until an event opens it
    /// ([`FlowsChange::count`](crate::FlowsChange::count)).
    #[serde(default)]
    pub waits: bool,
    /// Start of the application, in seconds.
    #[serde(default)]
    pub start_s: f64,
    /// Width, in seconds, of the uniform random delay added to `start_s`: one draw from the flow's stream.
    #[serde(default)]
    pub start_spread_s: f64,
    /// Stop of the application, in seconds: an endless transfer ends then, one of a given size is completed,
    /// and no other begins. Without the key, never.
    #[serde(default)]
    pub stop_s: Option<f64>,
    /// Name of a group of flows; the application stops as by `stop_s` once all of them have ended. Without
    /// the key, never.
    #[serde(default)]
    pub stop_after_group: Option<String>,
    /// User timeout in seconds: a transfer of a given size is aborted if it makes no progress for this time
    /// (RFC 9293, 3.9.1.1, which has 5 minutes). It is checked when a TCP timer expires.
    #[serde(default = "user_timeout_s")]
    pub user_timeout_s: f64,
    /// One-way delay of the flow's wire, in milliseconds. Without the key, `wire.one_way_delay_ms`.
    #[serde(default)]
    pub one_way_delay_ms: Option<f64>,
    /// Rate of a separate wired link for this flow, in Mbit/s. Without the key, the flow shares the wire.
    #[serde(default)]
    pub wire_rate_mbps: Option<f64>,
    /// Whether the server of a downlink flow learns the AP's rate towards the station at once, which no real
    /// server does. The sender of an uplink flow always learns its station's rate.
    #[serde(default)]
    pub server_notified_of_link_rate: bool,
    /// TCP of both ends; for applications over TCP.
    #[serde(default)]
    pub tcp: TcpSpec,
    /// Application that generates the traffic.
    #[serde(default)]
    pub application: ApplicationSpec,
}

impl FlowSpec {
    /// The TCP of its ends. A server has no limit of a small queue: its queue is not modelled.
    pub(crate) fn tcp_of_ends(&self) -> TcpSpec {
        let at_station = self.direction == FlowDirection::Up;
        TcpSpec { small_queue: self.tcp.small_queue.filter(|_| at_station), ..self.tcp.clone() }
    }

    /// Number of its slots, one per connection that it may have in parallel.
    pub(crate) fn slots(&self) -> usize {
        match self.application.build() {
            Carried::Transfers(application) => usize::from(application.connections()),
            Carried::Datagrams(_) => 1,
        }
    }

    /// Keys of TCP must have their defaults for an application without TCP, where they would have no effect.
    fn validate_without_tcp(&self, key: &impl Fn(&str) -> String) -> Result<(), SpecError> {
        let application = self.application.name();
        let error = |name: &str| {
            let allowed = format!("no such key for {application}, which is not carried by TCP");
            Err(SpecError::new(key(name), "this key", allowed))
        };
        if self.tcp != TcpSpec::default() {
            return error("tcp");
        }
        if self.user_timeout_s != user_timeout_s() {
            return error("user_timeout_s");
        }
        if self.server_notified_of_link_rate { error("server_notified_of_link_rate") } else { Ok(()) }
    }
}

/// A BSS of a plan.
#[derive(Clone, Copy)]
pub(crate) struct PlannedBss<'a> {
    /// Its name in results.
    pub name: &'a str,
    /// Its access point: its name as a node, and its settings.
    pub ap_label: &'a str,
    pub ap: &'a ApSpec,
    pub stations: &'a [StationSpec],
    /// Its wire, unless it shares that of the first.
    pub own_wire: Option<&'a WireSpec>,
}

impl PlannedBss<'_> {
    fn of(neighbour: &Neighbour) -> PlannedBss<'_> {
        PlannedBss {
            name: &neighbour.label,
            ap_label: &neighbour.label,
            ap: &neighbour.ap,
            stations: &neighbour.stations,
            own_wire: neighbour.wire.as_ref(),
        }
    }
}

fn user_timeout_s() -> f64 {
    300.0
}

fn schema_version() -> u32 {
    SCHEMA_VERSION
}

/// A group after which a flow stops must exist, be another one, and end by itself.
fn validate_stop_after(
    group: &str,
    flow: &FlowSpec,
    ends: &BTreeMap<&str, bool>,
    key: &str,
) -> Result<(), SpecError> {
    let allowed = match ends.get(group) {
        Some(true) if group != flow.group => return Ok(()),
        Some(false) if group != flow.group => {
            "a group whose flows all have an end of their own (a count, a size or stop_s)"
        }
        _ => "the name of another group of flows",
    };
    Err(SpecError::new(key, group, allowed))
}

impl Plan {
    /// Reads a plan and checks it whole.
    pub fn from_json(json: &str) -> Result<Plan, SpecError> {
        Plan::from_json_with(json, &mut |_| None)
    }

    /// Like [`Plan::from_json`]; `find` is asked for each external scheme that the plan names.
    pub fn from_json_with(
        json: &str,
        find: &mut dyn FnMut(&ExternalScheme) -> Option<Maker>,
    ) -> Result<Plan, SpecError> {
        let mut plan: Plan = json::read(json)?;
        plan.schemes_mut().for_each(|scheme| scheme.supply(find));
        plan.validate()?;
        Ok(plan)
    }

    /// All schemes that it names.
    pub(crate) fn schemes_mut(&mut self) -> impl Iterator<Item = &mut SchemeSpec> {
        let of_events = self.events.iter_mut().filter_map(|event| event.ap.as_mut()?.scheme.as_mut());
        let of_neighbours = self.neighbours.iter_mut().flat_map(|Neighbour { ap, stations, .. }| {
            ap.schemes_mut().chain(stations.iter_mut().flat_map(StationSpec::schemes_mut))
        });
        self.bss.schemes_mut().chain(of_neighbours).chain(of_events)
    }

    /// The canonical form: all defaults filled in, keys sorted.
    pub fn to_canonical_json(&self) -> String {
        // `Value`'s maps are sorted by key.
        let value = serde_json::to_value(self).expect("a plan has string keys and finite numbers");
        value.to_string()
    }

    /// Checks what the types cannot.
    pub fn validate(&self) -> Result<(), SpecError> {
        if self.schema_version != SCHEMA_VERSION {
            return Err(SpecError::new("schema_version", self.schema_version, SCHEMA_VERSION.to_string()));
        }
        let run = &self.run;
        check_range("run.warmup_s", run.warmup_s, 0.0, 1e6, "s")?;
        check_range("run.duration_s", run.duration_s, 1e-3, 1e6, "s")?;
        if let Some(interval) = run.sample_interval_s {
            check_range("run.sample_interval_s", interval, 1e-3, run.warmup_s + run.duration_s, "s")?;
        }
        if let Some(interval) = run.state_interval_s {
            check_range("run.state_interval_s", interval, 1e-4, run.duration_s, "s")?;
        }
        self.wire.validate("wire")?;
        for (i, neighbour) in self.neighbours.iter().enumerate() {
            neighbour.wire.as_ref().map_or(Ok(()), |wire| wire.validate(&format!("neighbours[{i}].wire")))?;
        }
        self.validate_bss_labels()?;
        let air = self.air(0)?;
        self.validate_flows()?;
        self.validate_events(&air)
    }

    /// Names of BSSs are names of nodes in results.
    fn validate_bss_labels(&self) -> Result<(), SpecError> {
        if self.neighbours.is_empty() && !self.bss_label.is_empty() {
            let allowed = "no such key without neighbours: there is one BSS";
            return Err(SpecError::new("bss_label", "this key", allowed));
        }
        let punctured = self.bss_punctured.first().copied();
        let of_several = [
            ("bss_channel", self.bss_channel),
            ("bss_primary", self.bss_primary),
            ("bss_punctured", punctured),
        ];
        for (key, value) in of_several {
            if let (true, Some(value)) = (self.neighbours.is_empty(), value) {
                let allowed = "no such key without neighbours: there is one BSS";
                return Err(SpecError::new(key, value, allowed));
            }
        }
        let own = std::iter::once(("bss_label".to_string(), &self.bss_label));
        let others = self.neighbours.iter().enumerate();
        let labels = own.chain(others.map(|(i, of)| (format!("neighbours[{i}].label"), &of.label)));
        for (i, (key, label)) in labels.enumerate() {
            let is_taken = i > 0 && *label == self.bss_label;
            if is_taken || label == NODE_OF_STATIONS || label.contains('/') {
                let allowed = "another name than bss_label, \"stations\" or one with a \"/\"";
                return Err(SpecError::new(key, format!("{label:?}"), allowed));
            }
        }
        Ok(())
    }

    /// The stations of all BSSs, those of the first BSS first. Their places are their numbers in a network.
    pub(crate) fn stations(&self) -> impl Iterator<Item = &StationSpec> {
        self.bsss().flat_map(|bss| bss.stations)
    }

    /// The stations by label.
    pub(crate) fn station_ids(&self) -> BTreeMap<&str, StationId> {
        let labels = self.stations().map(|station| station.label.as_str());
        labels.enumerate().map(|(index, label)| (label, StationId(index as u16))).collect()
    }

    /// The BSSs, the first first.
    pub(crate) fn bsss(&self) -> impl Iterator<Item = PlannedBss<'_>> {
        let first = PlannedBss {
            name: if self.bss_label.is_empty() { AP } else { &self.bss_label },
            ap_label: AP,
            ap: &self.bss.ap,
            stations: &self.bss.stations,
            own_wire: Some(&self.wire),
        };
        std::iter::once(first).chain(self.neighbours.iter().map(PlannedBss::of))
    }

    /// The BSSs as the engine takes them.
    pub(crate) fn obss_spec(&self) -> ObssSpec {
        let of =
            |Neighbour { label, channel, width_mhz, primary, punctured, ap, stations, .. }: &Neighbour| {
                NeighbourSpec {
                    label: label.clone(),
                    channel: *channel,
                    width_mhz: *width_mhz,
                    primary: *primary,
                    punctured: punctured.clone(),
                    ap: ap.clone(),
                    stations: stations.clone(),
                }
            };
        let neighbours = self.neighbours.iter().map(of).collect();
        let (bss, channel, primary) = (self.bss.clone(), self.bss_channel, self.bss_primary);
        ObssSpec { bss, channel, primary, punctured: self.bss_punctured.clone(), neighbours }
    }

    /// What its BSSs have on the air, idle at time zero.
    ///
    /// # Errors
    /// Returns the first value that is not allowed, by its key in the plan.
    pub(crate) fn air(&self, seed: u64) -> Result<Air, SpecError> {
        self.air_of(seed, |spec, seed| {
            spec.refuse_idle_subchannels()?;
            Air::new(spec, seed)
        })
    }

    /// As [`Plan::air`], of a part of a plan with several BSSs, which may have one.
    pub(crate) fn air_of_part(&self, seed: u64) -> Result<Air, SpecError> {
        self.air_of(seed, Air::several)
    }

    fn air_of(
        &self,
        seed: u64,
        build: impl FnOnce(&ObssSpec, u64) -> Result<Air, SpecError>,
    ) -> Result<Air, SpecError> {
        build(&self.obss_spec(), seed).map_err(|error| {
            let is_of_plan = ["neighbours", "bss_channel", "bss_primary", "bss_punctured"]
                .iter()
                .any(|head| error.key.starts_with(head));
            let key = if is_of_plan { error.key } else { format!("bss.{}", error.key) };
            SpecError { key, ..error }
        })
    }

    /// Each group's index by its name, in the order in which the flows name them; and each flow's group by its index.
    pub(crate) fn groups(&self) -> (BTreeMap<&str, u32>, Vec<u32>) {
        let mut indexes: BTreeMap<&str, u32> = BTreeMap::new();
        let mut group_of = Vec::with_capacity(self.flows.len());
        for flow in &self.flows {
            let next = indexes.len() as u32;
            group_of.push(*indexes.entry(&flow.group).or_insert(next));
        }
        (indexes, group_of)
    }

    fn validate_events(&self, air: &Air) -> Result<(), SpecError> {
        if self.events.len() > MAX_EVENTS {
            let value = format!("{} events", self.events.len());
            return Err(SpecError::new("events", value, format!("0 to {MAX_EVENTS} events")));
        }
        let named = self.named();
        let obss = self.obss_spec();
        for (i, event) in self.events.iter().enumerate() {
            event.validate(&format!("events[{i}]"), self.horizon_s(), &named, &obss, air)?;
        }
        self.validate_tcp_of_events()
    }

    /// The names that events may use.
    pub(crate) fn named(&self) -> Named<'_> {
        let (indexes, group_of) = self.groups();
        let mut sizes = vec![0; indexes.len()];
        group_of.iter().for_each(|&group| sizes[group as usize] += 1);
        let groups = indexes.into_iter().map(|(name, index)| (name, (index, sizes[index as usize])));
        let numbers = self.bsss().enumerate();
        let bsss = numbers.flat_map(|(number, bss)| [(bss.name, number), (bss.ap_label, number)]).collect();
        let own_wires = self.bsss().map(|bss| bss.own_wire.is_some()).collect();
        Named { bsss, own_wires, stations: self.station_ids(), groups: groups.collect() }
    }

    /// Checks each change of TCP, applied after earlier changes.
    fn validate_tcp_of_events(&self) -> Result<(), SpecError> {
        let mut specs: BTreeMap<&str, Vec<TcpSpec>> = BTreeMap::new();
        let mut changes: Vec<_> = (0..)
            .zip(&self.events)
            .filter_map(|(i, event)| {
                let flows = event.flows.as_ref()?;
                Some((Time::from_secs_f64(event.at_s), i, flows.group.as_str(), flows.tcp.as_ref()?))
            })
            .collect();
        changes.sort_unstable_by_key(|&(at, i, ..)| (at, i));
        for (_, i, group, change) in changes {
            let path = format!("events[{i}].flows.tcp");
            let specs = specs.entry(group).or_insert_with(|| self.tcp_of_group(group));
            if specs.is_empty() {
                let allowed = "no such table for a group without TCP";
                return Err(SpecError::new(path, "this table", allowed));
            }
            for spec in specs {
                *spec = spec.changed(change);
                spec.validate(&path)?;
            }
        }
        Ok(())
    }

    /// The distinct parameter sets of a group's flows over TCP.
    fn tcp_of_group(&self, group: &str) -> Vec<TcpSpec> {
        let mut specs: Vec<TcpSpec> = vec![];
        for flow in self.flows.iter().filter(|flow| flow.group == group) {
            if flow.application.transport() == Transport::Tcp && !specs.contains(&flow.tcp) {
                specs.push(flow.tcp.clone());
            }
        }
        specs
    }

    fn validate_flows(&self) -> Result<(), SpecError> {
        if self.flows.is_empty() || self.flows.len() > MAX_FLOWS {
            return Err(SpecError::new(
                "flows",
                format!("{} flows", self.flows.len()),
                format!("1 to {MAX_FLOWS} flows"),
            ));
        }
        let stations: BTreeSet<&str> = self.stations().map(|s| s.label.as_str()).collect();
        let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
        // By group, whether it ends by itself.
        let mut ends: BTreeMap<&str, bool> = BTreeMap::new();
        for flow in &self.flows {
            *ends.entry(&flow.group).or_insert(true) &= flow.application.ends() || flow.stop_s.is_some();
        }
        for (i, flow) in self.flows.iter().enumerate() {
            let key = |name: &str| format!("flows[{i}].{name}");
            if let Some(first) = labels.insert(&flow.label, i) {
                return Err(SpecError::new(
                    key("label"),
                    &flow.label,
                    format!("a label that flows[{first}] does not have"),
                ));
            }
            if !stations.contains(flow.station.as_str()) {
                return Err(SpecError::new(
                    key("station"),
                    &flow.station,
                    "the label of a station of the BSS",
                ));
            }
            check_range(&key("start_s"), flow.start_s, 0.0, 1e6, "s")?;
            check_range(&key("start_spread_s"), flow.start_spread_s, 0.0, 1e6, "s")?;
            if flow.waits && (flow.start_s != 0.0 || flow.start_spread_s != 0.0) {
                let allowed = "false beside start_s or start_spread_s: an event starts a flow that waits";
                return Err(SpecError::new(key("waits"), true, allowed));
            }
            if let Some(stop_s) = flow.stop_s {
                check_range(&key("stop_s"), stop_s, flow.start_s, 1e6, "s (not before start_s)")?;
            }
            if let Some(group) = &flow.stop_after_group {
                validate_stop_after(group, flow, &ends, &key("stop_after_group"))?;
            }
            check_range(&key("user_timeout_s"), flow.user_timeout_s, 0.001, 1e6, "s")?;
            if flow.server_notified_of_link_rate && flow.direction == FlowDirection::Up {
                let allowed =
                    "false for an uplink flow: its sender is on the station and is notified of its link";
                return Err(SpecError::new(key("server_notified_of_link_rate"), true, allowed));
            }
            if let Some(delay) = flow.one_way_delay_ms {
                check_range(&key("one_way_delay_ms"), delay, 0.0, 1e5, "ms")?;
            }
            if let Some(rate) = flow.wire_rate_mbps {
                check_range(&key("wire_rate_mbps"), rate, 0.001, 1e6, "Mbps")?;
            }
            flow.tcp.validate(&key("tcp"))?;
            flow.application.validate(&key("application"))?;
            if flow.application.transport() != Transport::Tcp {
                flow.validate_without_tcp(&key)?;
            }
        }
        let connections = self.flows_by_slot().count();
        if connections > MAX_FLOWS {
            let allowed = format!("1 to {MAX_FLOWS} connections, those of a flow side by side included");
            return Err(SpecError::new("flows", format!("{connections} connections"), allowed));
        }
        Ok(())
    }

    /// The flow of each slot. A flow has as many consecutive slots as it has parallel connections.
    pub(crate) fn flows_by_slot(&self) -> impl Iterator<Item = &FlowSpec> {
        self.flows.iter().flat_map(|flow| std::iter::repeat_n(flow, flow.slots()))
    }

    /// The end of the measurement, in seconds from the start of the run.
    pub fn horizon_s(&self) -> f64 {
        self.run.warmup_s + self.run.duration_s
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMALLEST: &str = r#"{
        "flows": [{"label": "f", "station": "a", "direction": "up"}],
        "bss": {"stations": [{"label": "a", "rate_mbps": 11}]}
    }"#;

    fn error(json: &str) -> SpecError {
        Plan::from_json(json).expect_err("this plan is wrong")
    }

    #[test]
    fn errors_name_the_key() {
        assert_eq!(error("{}").key, "bss");
        let renamed = error(r#"{"cell": {"stations": []}, "flows": []}"#);
        assert_eq!((renamed.key.as_str(), renamed.allowed.as_str()), ("cell", "`bss`, its name now"));
        let inside = error(r#"{"bss": {"stations": [], "ap": {"port": {}}}, "flows": []}"#);
        assert_eq!(
            (inside.key.as_str(), inside.allowed.as_str()),
            ("bss.ap.port", "`tx_queue`, its name now")
        );
        let elsewhere = error(r#"{"bss": {"cell": 1, "stations": []}, "flows": []}"#);
        assert_eq!(elsewhere.key, "bss.cell");
        assert!(!elsewhere.allowed.contains("its name now"), "{}", elsewhere.allowed);
        assert_eq!(error(r#"{"bss": {"stations": []}, "flows": [], "wirre": 1}"#).key, "wirre");
        assert_eq!(error(r#"{"": 1}"#).key, r#""""#);
        assert_eq!(error(r#"{"run": {"": 1}}"#).key, r#"run."""#);
        assert_eq!(error(r#"{"": 'l'}"#).key, r#""""#);
        assert_eq!(error(r#"{"run": {"": 'l'}}"#).key, r#"run."""#);
        let foreign = r#"{"bss": {"stations": [], "ap": {"tx_queue": {"limit": 1}}}, "flows": []}"#;
        assert_eq!(error(foreign).key, "bss.ap.tx_queue.limit");
        let empty = r#"{"bss": {"stations": [{"label": "a", "rate_mbps": 11}]}, "flows": []}"#;
        assert_eq!(error(empty).key, "flows");
        let slow = r#"{"bss": {"stations": [{"label": "a", "rate_mbps": 7}]}, "flows": []}"#;
        assert_eq!(error(slow).key, "bss.stations[0].rate_mbps");
        assert!(error(slow).allowed.contains("5.5"), "{}", error(slow));
        assert_eq!(error(&format!("{SMALLEST} 1")).value, "what stands behind the plan");
        let text = error(&SMALLEST.replace("11", "\"fast\""));
        assert_eq!((text.key.as_str(), text.value.as_str()), ("bss.stations[0].rate_mbps", "\"fast\""));
        assert_eq!(text.allowed, "a number");
    }

    /// Anywhere: in a table of the plan, in a component, in the parameters of an external scheme.
    #[test]
    fn a_key_that_comes_twice_is_refused() {
        let tx_queue = |scheme: &str| {
            SMALLEST
                .replace(r#""bss": {"#, &format!(r#""bss": {{"ap": {{"tx_queue": {{"scheme": {scheme}}}}},"#))
        };
        for (json, key) in [
            (SMALLEST.replace(r#""label": "f","#, r#""label": "f", "label": "g","#), "flows[0].label"),
            (SMALLEST.replace(r#""flows""#, r#""flows": [], "flows""#), "flows"),
            (tx_queue(r#"{"name": "red", "weight": 0.1, "weight": 0.1}"#), "bss.ap.tx_queue.scheme.weight"),
            (
                tx_queue(r#"{"name": "external", "id": "x", "parameters": {"a": 1, "a": 1}}"#),
                "bss.ap.tx_queue.scheme.parameters.a",
            ),
        ] {
            let error = error(&json);
            assert_eq!(
                (error.key.as_str(), error.value.as_str()),
                (key, "a key that is there twice"),
                "{json}"
            );
        }
    }

    #[test]
    fn the_canonical_form_is_a_fixed_point() {
        let canonical = Plan::from_json(SMALLEST).unwrap().to_canonical_json();
        assert_eq!(Plan::from_json(&canonical).unwrap().to_canonical_json(), canonical);
    }

    proptest! {
        /// Exact to the last bit; otherwise the canonical form of a canonical form would differ, and so would the hash.
        #[test]
        fn a_number_is_read_as_it_is_written(delay_ms in 0.0..1e3f64, exponent in -300..=0) {
            let delay_ms = delay_ms * 10f64.powi(exponent);
            let mut plan: serde_json::Value = serde_json::from_str(SMALLEST).unwrap();
            plan["wire"]["one_way_delay_ms"] = delay_ms.into();
            prop_assert_eq!(Plan::from_json(&plan.to_string()).unwrap().wire.one_way_delay_ms, delay_ms);
        }
    }
}
