//! The scenario of a cell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Ac, Class, SpecError, StationId};
use wifair_queue::{FlowsSpec, LimitSpec, LoweredLimit, SchemeSpec, TxQueueSpec};

use crate::aggregation::{self, Fill, Hardware, HardwareSpec, Kernel};
use crate::channel::{ChannelSpec, FrameErrorRate};
use crate::check;
use crate::edca::{Categories, EdcaSpec, key};
use crate::field::FieldSpec;
use crate::link::StationModes;
use crate::mac::{Mac, MacSpec};
use crate::node::RANKS;
use crate::phy::timing::BssTiming;
use crate::phy::{Format, Modes, PhySpec};

/// Maximum number of stations in a cell.
pub const MAX_STATIONS: usize = 20_000;

/// The label of the access point, unless it is a neighbour's: it names its random streams.
pub(crate) const AP_LABEL: &str = "ap";

/// Keys that set the mode of a station's frames, and of those to it.
pub(crate) const UP_KEYS: [&str; 2] = ["rate_mbps", "mcs"];
pub(crate) const DOWN_KEYS: [&str; 2] = ["rate_down_mbps", "mcs_down"];

/// Whether a floor is the ground floor, which canonical plans leave out.
fn is_ground(floor: &i32) -> bool {
    *floor == 0
}

/// One BSS: a PHY, a MAC, an access point and its stations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BssSpec {
    /// PHY of all nodes.
    #[serde(default)]
    pub phy: PhySpec,
    /// MAC of all nodes.
    #[serde(default)]
    pub mac: MacSpec,
    /// The radio channel to stations that have a position; in a field, between all nodes.
    #[serde(default)]
    pub channel: ChannelSpec,
    /// Which nodes receive which others. Without the table, all nodes hear each other.
    #[serde(default)]
    pub field: Option<FieldSpec>,
    /// The access point.
    #[serde(default)]
    pub ap: ApSpec,
    /// The stations, 1 to 20000; a station's id is its index.
    pub stations: Vec<StationSpec>,
}

/// The access point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApSpec {
    /// Its transmit buffer and queue management scheme.
    pub tx_queue: TxQueueSpec,
    /// Settings of single access categories that differ from `tx_queue`: under EDCA each category has a separate
    /// transmit queue.
    pub categories: Categories<CategoryTxQueueSpec>,
    /// Its flow monitor.
    pub flows: FlowsSpec,
    /// Driver and hardware queues between the AP's transmit queues and the medium, on links that aggregate.
    pub hardware: HardwareSpec,
    /// Version of Linux whose rules `hardware` follows: 6.1 or 6.12.
    pub kernel: Kernel,
    /// Position in metres: `[x, y]`.
    pub position_m: [f64; 2],
    /// Number of the floor that it is on, 0 for the ground floor; with the table `field.floors`.
    #[serde(skip_serializing_if = "is_ground")]
    pub floor: i32,
    /// Transmit power in dBm, in a field. Without the key, `channel.tx_power_dbm`.
    pub tx_power_dbm: Option<f64>,
    /// BSS colour (26.17.3 of 802.11ax-2021), 1 to 63, which PPDUs from 802.11ax on tell; if there are several BSSs. BSSs with
    /// one number take each other's PPDUs for their own. Without the key, no other BSS has the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bss_color: Option<u8>,
    /// OBSS PD level in dBm, -82 to -62 (26.10.2 of 802.11ax-2021); from 802.11ax on, if there are several BSSs. Nodes of the
    /// BSS ignore PPDUs of another colour that they receive with less power than this, for PPDUs as wide as the channel,
    /// and then send with the power that the level allows. Without the key, they ignore none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obss_pd_dbm: Option<f64>,
}

/// A station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationSpec {
    /// Unique name. It seeds the station's random streams, which therefore do not depend on its index.
    pub label: String,
    /// The station's PHY if it differs from the BSS's: an older one of the same band, by name or as a table
    /// with keys of a link.
    #[serde(default)]
    pub phy: Option<PhySpec>,
    /// Data rate in Mbps, one of the PHY's; before 802.11n. Without the key, the highest.
    #[serde(default)]
    pub rate_mbps: Option<f64>,
    /// Data rate from the AP to the station in Mbps, if it differs from `rate_mbps`.
    #[serde(default)]
    pub rate_down_mbps: Option<f64>,
    /// MCS, from 802.11n on: 0 to 31 (802.11n, which includes the number of streams), 9 (802.11ac), 11
    /// (802.11ax), 13 (802.11be). Without the key, the highest for the number of streams.
    #[serde(default)]
    pub mcs: Option<u8>,
    /// MCS from the AP to the station, if it differs from `mcs`.
    #[serde(default)]
    pub mcs_down: Option<u8>,
    /// Number of spatial streams in both directions, from 802.11n on. Without the key, `phy.streams` or the
    /// most that the station's PHY has, whichever is less.
    #[serde(default)]
    pub streams: Option<u8>,
    /// Probability that the receiver cannot decode a frame that did not collide.
    #[serde(default)]
    pub frame_error_rate: FrameErrorRate,
    /// Position in metres at the start of the run: `[x, y]`. Channel errors then follow from the distance to
    /// the AP, in addition to `frame_error_rate`.
    #[serde(default)]
    pub position_m: Option<[f64; 2]>,
    /// Velocity in m/s: `[x, y]`. Without the key, the station is at rest.
    #[serde(default)]
    pub velocity_m_per_s: Option<[f64; 2]>,
    /// Number of the floor that it is on, 0 for the ground floor; with the table `field.floors`.
    #[serde(default, skip_serializing_if = "is_ground")]
    pub floor: i32,
    /// Transmit power in dBm, in a field. Without the key, `channel.tx_power_dbm`.
    #[serde(default)]
    pub tx_power_dbm: Option<f64>,
    /// The station's transmit buffer.
    #[serde(default)]
    pub tx_queue: TxQueueSpec,
    /// Driver and hardware queues between the station's transmit queues and the medium, where its links
    /// aggregate. Their rules are those of Linux 6.12.
    #[serde(default)]
    pub hardware: HardwareSpec,
    /// Settings of single access categories that differ from `tx_queue`.
    #[serde(default)]
    pub categories: Categories<CategoryTxQueueSpec>,
}

/// Settings of an access category's transmit queue that differ from the node's `tx_queue`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CategoryTxQueueSpec {
    /// Greatest number of packets in the buffer. Without the key, the node's, whatever the category's scheme.
    pub limit_packets: Option<u32>,
    /// Controller of the limit.
    pub limit_controller: Option<LimitSpec>,
    /// What happens to packets above a limit that is lowered.
    pub lowered_limit: Option<LoweredLimit>,
    /// Whether the limit counts the packet that the MAC is sending.
    pub limit_counts_in_service: Option<bool>,
    /// Queue management scheme.
    pub scheme: Option<SchemeSpec>,
}

impl CategoryTxQueueSpec {
    /// The category's transmit queue, on a node that has `tx_queue`.
    pub(crate) fn over(&self, tx_queue: &TxQueueSpec) -> TxQueueSpec {
        TxQueueSpec {
            limit_packets: self.limit_packets.unwrap_or(tx_queue.limit_packets),
            limit_controller: self.limit_controller.as_ref().or(tx_queue.limit_controller.as_ref()).cloned(),
            lowered_limit: self.lowered_limit.unwrap_or(tx_queue.lowered_limit),
            limit_counts_in_service: self.limit_counts_in_service.unwrap_or(tx_queue.limit_counts_in_service),
            scheme: self.scheme.as_ref().unwrap_or(&tx_queue.scheme).clone(),
        }
    }
}

/// Checks a node's transmit queues. `path` is the node's key in the plan.
fn validate_tx_queues(
    tx_queue: &TxQueueSpec,
    categories: &Categories<CategoryTxQueueSpec>,
    edca: Option<&EdcaSpec>,
    path: &str,
) -> Result<(), SpecError> {
    tx_queue.validate(&format!("{path}.tx_queue"))?;
    if edca.is_some_and(|edca| edca.share_tx_queue.at(path == "ap")) {
        return validate_shared_tx_queue(tx_queue, categories, path);
    }
    for ac in RANKS.into_iter().rev() {
        let own = categories.of(ac);
        let path_of = |name: &str| format!("{path}.categories.{}{name}", key(ac));
        let is_given = *own != CategoryTxQueueSpec::default();
        let Some(edca) = edca else {
            if is_given {
                let allowed = "no such table without mac.edca: under DCF a node has one transmit queue";
                return Err(SpecError::new(path_of(""), "this table", allowed));
            }
            continue;
        };
        if !edca.is_used(ac) {
            if is_given {
                let allowed = "no such table: the classifier sends nothing there (mac.edca.classify, mac.edca.tcp_acks)";
                return Err(SpecError::new(path_of(""), "this table", allowed));
            }
            continue;
        }
        let spec = own.over(tx_queue);
        spec.validate(&path_of(""))?;
        let missed = spec.scheme.build().decides_on().iter().find(|class| !edca.sees(ac, **class));
        if let Some(missed) = missed {
            let (what, remedy) = match missed {
                Class::Ack => ("pure TCP ACKs", "mac.edca.tcp_acks sends them elsewhere"),
                _ => ("TCP data", "mac.edca.tcp_acks sends nothing but pure ACKs there"),
            };
            let allowed = format!(
                "a scheme that does not decide on {what}, which this buffer never sees: {remedy} \
                 (leave that key out, or give this category a scheme of its own in {})",
                path_of(".scheme")
            );
            let key =
                if own.scheme.is_some() { path_of(".scheme") } else { format!("{path}.tx_queue.scheme") };
            return Err(SpecError::new(key, spec.scheme.name(), allowed));
        }
    }
    Ok(())
}

impl BssSpec {
    /// Checks another scheme for the AP's transmit queues, as if it were `ap.tx_queue.scheme`. `path` is its key in the plan.
    ///
    /// # Errors
    /// Returns why the scheme would be refused there.
    pub fn check_ap_scheme(&self, scheme: &SchemeSpec, path: &str) -> Result<(), SpecError> {
        let tx_queue = TxQueueSpec { scheme: scheme.clone(), ..self.ap.tx_queue.clone() };
        validate_tx_queues(&tx_queue, &self.ap.categories, self.mac.edca.as_ref(), "ap").map_err(
            |error| {
                let within = error.key.strip_prefix("ap.tx_queue.scheme").unwrap_or_default();
                SpecError { key: format!("{path}{within}"), ..error }
            },
        )?;
        self.check_driver_queue(scheme)
    }
}

/// Like `validate_tx_queues`, for categories that share a transmit queue.
fn validate_shared_tx_queue(
    tx_queue: &TxQueueSpec,
    categories: &Categories<CategoryTxQueueSpec>,
    path: &str,
) -> Result<(), SpecError> {
    if let Some(ac) = RANKS.into_iter().find(|&ac| *categories.of(ac) != CategoryTxQueueSpec::default()) {
        let allowed = "no such table: by mac.edca.share_tx_queue the categories have one transmit queue";
        return Err(SpecError::new(format!("{path}.categories.{}", key(ac)), "this table", allowed));
    }
    if !tx_queue.scheme.build().serves_categories() {
        let allowed = "a scheme whose packets leave in the order of arrival: a transmit queue that categories share \
                       (mac.edca.share_tx_queue) has to have packets of each at hand";
        return Err(SpecError::new(format!("{path}.tx_queue.scheme"), tx_queue.scheme.name(), allowed));
    }
    Ok(())
}

/// The schemes of a node.
fn schemes_mut<'a>(
    tx_queue: &'a mut TxQueueSpec,
    categories: &'a mut Categories<CategoryTxQueueSpec>,
) -> impl Iterator<Item = &'a mut SchemeSpec> {
    let own = categories.iter_mut().filter_map(|category| category.scheme.as_mut());
    std::iter::once(&mut tx_queue.scheme).chain(own)
}

impl ApSpec {
    /// All its schemes.
    pub fn schemes_mut(&mut self) -> impl Iterator<Item = &mut SchemeSpec> {
        schemes_mut(&mut self.tx_queue, &mut self.categories)
    }
}

impl StationSpec {
    /// All its schemes.
    pub fn schemes_mut(&mut self) -> impl Iterator<Item = &mut SchemeSpec> {
        schemes_mut(&mut self.tx_queue, &mut self.categories)
    }

    /// A station with an MCS in both directions, for 802.11n and later, without errors, with the default buffer.
    pub fn with_mcs(label: impl Into<String>, mcs: u8) -> StationSpec {
        StationSpec { rate_mbps: None, mcs: Some(mcs), ..StationSpec::new(label, 0.0) }
    }

    /// A station at `rate_mbps` in both directions, without errors, with the default buffer.
    pub fn new(label: impl Into<String>, rate_mbps: f64) -> StationSpec {
        StationSpec {
            label: label.into(),
            phy: None,
            rate_mbps: Some(rate_mbps),
            rate_down_mbps: None,
            mcs: None,
            mcs_down: None,
            streams: None,
            frame_error_rate: FrameErrorRate::default(),
            position_m: None,
            velocity_m_per_s: None,
            floor: 0,
            tx_power_dbm: None,
            hardware: HardwareSpec::default(),
            tx_queue: TxQueueSpec::default(),
            categories: Categories::default(),
        }
    }
}

/// New values of a station's keys. An absent key leaves its value unchanged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationChange {
    /// Label of the station.
    pub label: String,
    /// Data rate in Mbps, one of the PHY's, in both directions unless `rate_down_mbps` is given too. Rate
    /// adaptation restarts at it, `minstrel-ht` at its slowest mode.
    #[serde(default)]
    pub rate_mbps: Option<f64>,
    /// Data rate from the AP to the station in Mbps.
    #[serde(default)]
    pub rate_down_mbps: Option<f64>,
    /// MCS, both ways unless `mcs_down` is given too.
    #[serde(default)]
    pub mcs: Option<u8>,
    /// MCS from the AP to the station.
    #[serde(default)]
    pub mcs_down: Option<u8>,
    /// Probability that the receiver cannot decode a frame that did not collide.
    #[serde(default)]
    pub frame_error_rate: Option<FrameErrorRate>,
    /// New position in metres: `[x, y]`.
    #[serde(default)]
    pub position_m: Option<[f64; 2]>,
    /// Velocity from now on, in m/s: `[x, y]`.
    #[serde(default)]
    pub velocity_m_per_s: Option<[f64; 2]>,
}

impl StationChange {
    /// A change without any effect yet.
    pub fn new(label: impl Into<String>) -> StationChange {
        StationChange {
            label: label.into(),
            rate_mbps: None,
            rate_down_mbps: None,
            mcs: None,
            mcs_down: None,
            frame_error_rate: None,
            position_m: None,
            velocity_m_per_s: None,
        }
    }

    /// The change that sets a station's channel as in its spec.
    pub(crate) fn of(station: &StationSpec) -> StationChange {
        StationChange {
            frame_error_rate: Some(station.frame_error_rate.clone()),
            position_m: station.position_m,
            velocity_m_per_s: station.velocity_m_per_s,
            ..StationChange::new(&station.label)
        }
    }

    pub(crate) fn validate(&self, modes: &Modes, path: &str) -> Result<(), SpecError> {
        if let Some(rates) = &self.frame_error_rate {
            rates.validate(modes, &format!("{path}.frame_error_rate"))?;
        }
        if *self == StationChange::new(&self.label) {
            let allowed = "at least one of rate_mbps, rate_down_mbps, mcs, mcs_down, frame_error_rate, position_m, velocity_m_per_s";
            return Err(SpecError::new(path, "a station that nothing changes for", allowed));
        }
        validate_place(self.position_m, self.velocity_m_per_s, path)
    }
}

/// Position and velocity, if given.
fn validate_place(
    position_m: Option<[f64; 2]>,
    velocity_m_per_s: Option<[f64; 2]>,
    path: &str,
) -> Result<(), SpecError> {
    for (key, pair, most, unit) in
        [("position_m", position_m, 1e6, "m"), ("velocity_m_per_s", velocity_m_per_s, 1e4, "m/s")]
    {
        let Some(pair) = pair else { continue };
        for (axis, value) in pair.into_iter().enumerate() {
            check::number(path, &format!("{key}[{axis}]"), value, -most..=most, unit)?;
        }
    }
    Ok(())
}

impl BssSpec {
    /// Whether links have Block Ack agreements: if the BSS is 802.11n or later, and uses EDCA.
    pub fn aggregates(&self) -> bool {
        self.phy.format() >= Format::Ht && self.mac.edca.is_some()
    }

    /// Limits of PPDUs and, by node, the hardware below its transmit queues, if links have Block Ack agreements.
    ///
    /// # Errors
    /// Fails for a value out of range, or a key that is incompatible with aggregation.
    pub(crate) fn aggregation(
        &self,
        mac: &Mac,
        phy: &BssTiming,
    ) -> Result<Option<(aggregation::AggregationRules, Vec<Hardware>)>, SpecError> {
        let refused = |key: &str, allowed: &str| Err(SpecError::new(key, "this key", allowed));
        if !self.aggregates() {
            if let Some(key) = self.hardware_keys(|hardware| *hardware != HardwareSpec::default()).next() {
                return refused(
                    &key,
                    "ideal where no link aggregates (it needs mac.edca and 802.11n or later): the MAC then takes one packet at a time",
                );
            }
            if self.mac.aggregation.is_none() {
                return Ok(None);
            }
            let allowed = match self.mac.edca {
                None => "no such table without mac.edca: A-MPDUs need QoS",
                Some(_) => "no such table with this phy.name: A-MPDUs are of 802.11n, ac, ax and be",
            };
            return refused("mac.aggregation", allowed);
        }
        if self.mac.capture_db.is_some() {
            return refused(
                "mac.capture_db",
                "no such key where links aggregate: capture of A-MPDUs is not modelled",
            );
        }
        let spec = self.mac.aggregation.clone().unwrap_or_default();
        let rules = spec.rules(mac.retry_limit_short, &self.phy, phy, "mac.aggregation")?;
        let mut hardware = vec![self.ap.hardware.rules(rules.driver_queue, self.ap.kernel, "ap.hardware")?];
        for (index, station) in self.stations.iter().enumerate() {
            let key = format!("stations[{index}].hardware");
            hardware.push(station.hardware.rules(None, Kernel::default(), &key)?);
        }
        for ac in RANKS {
            self.check_driver_queue(&self.tx_queue(0, Some(ac)).scheme)?;
        }
        Ok(Some((rules, hardware)))
    }

    /// The keys of nodes with hardware of a kind.
    pub(crate) fn hardware_keys(
        &self,
        is_such: impl Fn(&HardwareSpec) -> bool,
    ) -> impl Iterator<Item = String> {
        let of_ap = is_such(&self.ap.hardware).then(|| "ap.hardware".to_owned());
        let stations = self.stations.iter().enumerate();
        let of_stations = stations.filter(move |(_, station)| is_such(&station.hardware));
        of_ap.into_iter().chain(of_stations.map(|(index, _)| format!("stations[{index}].hardware")))
    }

    /// Checks that no scheme that arbitrates between stations is above a driver's queues.
    fn check_driver_queue(&self, scheme: &SchemeSpec) -> Result<(), SpecError> {
        let fill = self.mac.aggregation.as_ref().map_or(Fill::default(), |aggregation| aggregation.fill);
        if fill != Fill::DriverQueue || !scheme.build().hooks().choose_station {
            return Ok(());
        }
        let allowed = format!(
            "gather or head-run with the scheme {}, whose queues by station took the place of the driver's in 2016",
            scheme.name()
        );
        Err(SpecError::new("mac.aggregation.fill", "driver-queue", allowed))
    }
}

impl BssSpec {
    /// A BSS with all defaults for these stations.
    pub fn new(stations: Vec<StationSpec>) -> BssSpec {
        BssSpec {
            phy: PhySpec::default(),
            mac: MacSpec::default(),
            channel: ChannelSpec::default(),
            field: None,
            ap: ApSpec::default(),
            stations,
        }
    }

    /// All schemes in the spec, at the access point and at stations.
    pub fn schemes_mut(&mut self) -> impl Iterator<Item = &mut SchemeSpec> {
        let of_stations = self.stations.iter_mut().flat_map(StationSpec::schemes_mut);
        self.ap.schemes_mut().chain(of_stations)
    }

    /// The transmit queue of a node, or of a category of it.
    pub(crate) fn tx_queue(&self, node: usize, category: Option<Ac>) -> TxQueueSpec {
        if let (Some(edca), Some(ac)) = (&self.mac.edca, category)
            && !edca.is_used(ac)
        {
            return TxQueueSpec::default(); // no packets ever arrive there
        }
        let tx_queue = self.node_tx_queue(node);
        let categories = match node.checked_sub(1) {
            None => &self.ap.categories,
            Some(station) => &self.stations[station].categories,
        };
        category.map_or(tx_queue.clone(), |ac| categories.of(ac).over(tx_queue))
    }

    /// The common settings of a node's transmit queues.
    pub(crate) fn node_tx_queue(&self, node: usize) -> &TxQueueSpec {
        node.checked_sub(1).map_or(&self.ap.tx_queue, |station| &self.stations[station].tx_queue)
    }

    /// Checks everything but PHY, MAC and rates, which [`Bss::new`](crate::Bss::new) checks.
    pub(crate) fn validate(&self, modes: &StationModes) -> Result<(), SpecError> {
        self.channel.validate("channel")?;
        for (axis, value) in self.ap.position_m.into_iter().enumerate() {
            check::number("ap", &format!("position_m[{axis}]"), value, -1e6..=1e6, "m")?;
        }
        let edca = self.mac.edca.as_ref();
        validate_tx_queues(&self.ap.tx_queue, &self.ap.categories, edca, "ap")?;
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
            let modes = modes.of(StationId(index as u16));
            station.frame_error_rate.validate(modes, &format!("{path}.frame_error_rate"))?;
            validate_place(station.position_m, station.velocity_m_per_s, &path)?;
            if station.velocity_m_per_s.is_some() && station.position_m.is_none() {
                let allowed = "a position_m beside it";
                return Err(SpecError::new(format!("{path}.velocity_m_per_s"), "this key alone", allowed));
            }
            validate_tx_queues(&station.tx_queue, &station.categories, edca, &path)?;
        }
        Ok(())
    }
}
