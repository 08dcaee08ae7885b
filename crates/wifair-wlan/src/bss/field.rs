//! Construction of a field (`docs/medium.md`, section 16). What a field does not model is refused.

use wifair_core::{Rng, SpecError, StationId};

use super::Bss;
use super::exchanges::Exchanges;
use crate::aggregation::{Fill, HardwareSpec, MpduDelivery};
use crate::beacons::{BACKOFF_PURPOSE, Beacons, BeaconsSpec};
use crate::check;
use crate::contention::Access;
use crate::field::beacons::BeaconsOfAp;
use crate::field::medium::FieldMedium;
use crate::field::reuse::{self, ObssPd, SpatialReuse};
use crate::field::{
    Channels, Field, FieldRules, FieldSpec, NodeOfField, OperatingChannel, SecondaryRules, Surroundings,
};
use crate::mac::WidthUse;
use crate::neighbours::{NeighbourSpec, ObssSpec, neighbour_path};
use crate::node::LinkId;
use crate::phy::timing::BssTiming;
use crate::phy::{Format, Mode, PhySpec, RateIndex};
use crate::rate::RateSpec;
use crate::spec::{AP_LABEL, ApSpec, BssSpec, StationChange, StationSpec};

/// Numbers of floors.
const FLOORS: std::ops::RangeInclusive<i32> = -10..=200;

/// Checks that a BSS is one that a field models, if it is in one; and that it has no powers, if it is in none.
///
/// # Errors
/// Returns the first key that is not allowed.
pub(super) fn check(spec: &BssSpec, phy: &BssTiming) -> Result<(), SpecError> {
    if spec.field.is_none() {
        return refuse_powers(spec);
    }
    refuse_unmodelled(spec)?;
    if phy.protects() {
        let allowed = "no such key with the table field: 802.11b stations are not modelled there";
        refused("phy.erp_protection", allowed)?;
    }
    refuse_dsss_beacons(spec, phy)?;
    refuse_short_timeouts(spec, phy)
}

/// The field of `bsss`, which `obss` describes, and which have these channel access functions, in a run with this seed.
///
/// # Errors
/// Returns the first key that is not allowed.
pub(crate) fn build(
    obss: &ObssSpec,
    field: &FieldSpec,
    bsss: &[Bss],
    functions: Vec<(Access, Rng)>,
    seed: u64,
) -> Result<Box<FieldMedium>, SpecError> {
    let spec = &obss.bss;
    let places = nodes_of_all(obss)?;
    let (of_bss, has_subchannels) = obss.channels()?;
    check_subchannels(obss, has_subchannels)?;
    refuse_idle_puncturing(obss, bsss)?;
    let rows = field.rows(&places, &spec.channel, seed, "field")?;
    let bss_of = places.iter().map(|node| node.bss).collect();
    let Exchanges { phy, mac, nodes, .. } = &bsss[0].exchanges;
    let channels = has_subchannels.then(|| Channels {
        of_bss,
        widths_mhz: bsss.iter().zip(0..).flat_map(|(bss, number)| widths_mhz(obss, bss, number)).collect(),
        secondary: SecondaryRules::new(
            [field.energy_detection_dbm, field.secondary_detection_dbm],
            spec.mac.width,
            phy.sifs + phy.slot,
        ),
    });
    let rules = spec.mac.contention_rules(phy);
    let rules = FieldRules::new(field, rules, phy, mac, spec.channel.noise_dbm);
    let reuse = spatial_reuse(obss, &places)?;
    let surroundings = Surroundings { rows, bss_of, reuse, channels, beacons: beacons(obss, bsss, seed) };
    let field = Field::new(rules, nodes.numbering(), phy.clone(), mac, functions.into_iter(), surroundings);
    Ok(Box::new(FieldMedium::new(field)))
}

/// By BSS: what the field needs to know of its beacons; none, if they send none.
fn beacons(obss: &ObssSpec, bsss: &[Bss], seed: u64) -> Vec<BeaconsOfAp> {
    let of_bss = |((label, _), bss): ((&str, _), &Bss)| {
        let Exchanges { phy, medium, .. } = &bss.exchanges;
        let Beacons { on_air, duration, .. } = medium.beacons()?;
        let backoff = Rng::stream(seed, label, BACKOFF_PURPOSE);
        Some(BeaconsOfAp {
            access: BeaconsSpec::access(phy),
            backoff,
            mode: on_air.mode,
            duration: *duration,
        })
    };
    obss.each().zip(bsss).filter_map(of_bss).collect()
}

/// By node of a BSS with that number: its width.
fn widths_mhz(obss: &ObssSpec, bss: &Bss, number: usize) -> Vec<u16> {
    let spec = obss.spec(number);
    let ap = spec.phy.width_mhz("phy").expect("the BSS has been built with it");
    let stations = (0..spec.stations.len()).map(|station| StationId(station as u16));
    std::iter::once(ap).chain(stations.map(|station| bss.exchanges.modes.of(station).width_mhz())).collect()
}

/// Checks that keys of subchannels have an effect.
///
/// # Errors
/// Names the first that has none.
fn check_subchannels(obss: &ObssSpec, has_subchannels: bool) -> Result<(), SpecError> {
    let spec = &obss.bss;
    let Some(field) = &spec.field else { return Ok(()) };
    if has_subchannels {
        refuse_adaptation(&spec.mac.rate_adaptation)?;
        for number in 0..=obss.neighbours.len() {
            refuse_formed_ahead(&obss.spec(number), number)?;
        }
    }
    let tries = spec.mac.aggregation.as_ref().and_then(|aggregation| aggregation.tries).unwrap_or(1);
    if has_subchannels && tries > 1 {
        let allowed =
            "1 in a field with subchannels, where an exchange may be narrower than the one before it";
        return Err(SpecError::new("mac.aggregation.tries", tries, allowed));
    }
    let given = [
        ("mac.width", !spec.mac.width.is_static()),
        ("field.secondary_detection_dbm", field.has_secondary_detection()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given && !has_subchannels) {
        Some((key, _)) => refused(
            key,
            "no such key unless channels of two BSSs overlap in part: no secondary channel is ever busy by itself",
        ),
        None => Ok(()),
    }
}

/// Checks that a field whose PPDUs may be punctured has a link where they can be.
///
/// # Errors
/// Names the key.
fn refuse_idle_puncturing(obss: &ObssSpec, bsss: &[Bss]) -> Result<(), SpecError> {
    let has_punctured = |(bss, number): (&Bss, usize)| {
        let mut stations = (0..obss.spec(number).stations.len()).map(|station| StationId(station as u16));
        stations.any(|station| bss.exchanges.modes.of(station).have_punctured())
    };
    if obss.bss.mac.width == WidthUse::Punctured && !bsss.iter().zip(0..).any(has_punctured) {
        let allowed =
            "static or dynamic, as no link is of 802.11be with 80 MHz or more: no other leaves out channels";
        return Err(SpecError::new("mac.width", "punctured", allowed));
    }
    Ok(())
}

/// Checks that modes change with the width of an exchange alone.
fn refuse_adaptation(adaptation: &RateSpec) -> Result<(), SpecError> {
    match adaptation {
        RateSpec::Fixed(_) => Ok(()),
        _ => {
            let allowed = "fixed in a field with subchannels, where modes follow the width of an exchange";
            Err(SpecError::new("mac.rate_adaptation", adaptation.name(), allowed))
        }
    }
}

/// Checks that no node of a BSS with that number forms PPDUs ahead of access.
///
/// # Errors
/// Names the key of the first.
fn refuse_formed_ahead(spec: &BssSpec, number: usize) -> Result<(), SpecError> {
    match spec.hardware_keys(|hardware| matches!(hardware, HardwareSpec::Ath9k(_))).next() {
        Some(key) => {
            let prefix = number.checked_sub(1).map(neighbour_path).unwrap_or_default();
            refused(
                &format!("{prefix}{key}"),
                "no ath9k in a field with subchannels: it forms PPDUs ahead, and their width is known at access",
            )
        }
        None => Ok(()),
    }
}

/// Which of the `nodes` of all BSSs have an OBSS PD level, and the colours.
///
/// # Errors
/// Returns the first key that is not allowed.
fn spatial_reuse(obss: &ObssSpec, nodes: &[NodeOfField]) -> Result<SpatialReuse, SpecError> {
    let phy = &obss.bss.phy;
    let of_neighbours = obss.neighbours.iter().map(|neighbour| &neighbour.ap);
    let aps: Vec<&ApSpec> = std::iter::once(&obss.bss.ap).chain(of_neighbours).collect();
    for (bss, ap) in aps.iter().enumerate() {
        let prefix = bss.checked_sub(1).map(neighbour_path).unwrap_or_default();
        reuse::check(ap.bss_color, ap.obss_pd_dbm, phy.format(), &format!("{prefix}ap"))?;
    }
    let streams = phy.streams("phy")?;
    let widths_mhz = (0..aps.len()).map(|bss| obss.width_mhz_of(bss)).collect::<Result<Vec<_>, _>>()?;
    let level = |node: &NodeOfField| {
        let level_dbm = aps[node.bss].obss_pd_dbm.filter(|_| reuse::has_colour(node.format))?;
        let reference_dbm = reuse::reference_dbm(node.is_ap, streams);
        Some(ObssPd::new(level_dbm, widths_mhz[node.bss], reference_dbm, node.tx_power_dbm))
    };
    let colours = aps.iter().map(|ap| ap.bss_color).collect();
    Ok(SpatialReuse::new(nodes.iter().map(level).collect(), colours))
}

/// Checks that a BSS without others has no keys of spatial reuse.
///
/// # Errors
/// Names the first.
pub(super) fn refuse_reuse(ap: &ApSpec) -> Result<(), SpecError> {
    let given = [("bss_color", ap.bss_color.is_some()), ("obss_pd_dbm", ap.obss_pd_dbm.is_some())];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => refused(
            &format!("ap.{key}"),
            "no such key with one BSS: there are no others whose PPDUs it could ignore",
        ),
        None => Ok(()),
    }
}

/// By BSS: the component that it belongs to, as [`FieldSpec::components`].
///
/// # Errors
/// As [`build`].
pub(crate) fn components(obss: &ObssSpec, field: &FieldSpec, seed: u64) -> Result<Vec<usize>, SpecError> {
    field.components(&nodes_of_all(obss)?, &obss.bss.channel, seed, "field")
}

/// The nodes of all BSSs.
fn nodes_of_all(obss: &ObssSpec) -> Result<Vec<NodeOfField<'_>>, SpecError> {
    let spec = &obss.bss;
    let (channels, _) = obss.channels()?;
    let own = (0, channels[0]);
    let mut nodes = nodes(obss, own, AP_LABEL, &spec.ap, &spec.stations, "")?;
    for (index, NeighbourSpec { label, ap, stations, .. }) in obss.neighbours.iter().enumerate() {
        let own = (index + 1, channels[index + 1]);
        nodes.extend(self::nodes(obss, own, label, ap, stations, &neighbour_path(index))?);
    }
    Ok(nodes)
}

/// The nodes of a BSS with that number and channel, whose keys have this prefix.
fn nodes<'a>(
    obss: &'a ObssSpec,
    (bss, channel): (usize, OperatingChannel),
    label: &'a str,
    ap: &'a ApSpec,
    stations: &'a [StationSpec],
    prefix: &str,
) -> Result<Vec<NodeOfField<'a>>, SpecError> {
    let power = |own: Option<f64>, path: &str| match own {
        Some(dbm) => check::number(path, "tx_power_dbm", dbm, -100.0..=100.0, "dBm"),
        None => Ok(obss.bss.channel.tx_power_dbm),
    };
    let (tx_power_dbm, position_m) = (power(ap.tx_power_dbm, &format!("{prefix}ap"))?, Some(ap.position_m));
    let key = format!("{prefix}ap");
    let floor = floor_of(ap.floor, &key)?;
    let format = obss.bss.phy.format();
    let mut nodes =
        vec![NodeOfField { key, label, bss, channel, is_ap: true, format, tx_power_dbm, position_m, floor }];
    for (index, station) in stations.iter().enumerate() {
        let key = format!("{prefix}stations[{index}]");
        nodes.push(NodeOfField {
            key: key.clone(),
            label: &station.label,
            bss,
            channel,
            is_ap: false,
            format: station.phy.as_ref().map_or(format, PhySpec::format),
            tx_power_dbm: power(station.tx_power_dbm, &key)?,
            position_m: station.position_m,
            floor: floor_of(station.floor, &key)?,
        });
    }
    Ok(nodes)
}

/// The floor of a node whose key is `path`.
fn floor_of(floor: i32, path: &str) -> Result<i32, SpecError> {
    match FLOORS.contains(&floor) {
        true => Ok(floor),
        false => {
            let allowed = format!("{} to {}", FLOORS.start(), FLOORS.end());
            Err(SpecError::new(format!("{path}.floor"), floor, allowed))
        }
    }
}

/// Checks that each of the stations of a BSS, which has the field, and its access point `ap` receive each other at the
/// station's rates, or with a rate adaptation at the slowest, with nobody else on the air, and that each decodes its beacons.
/// Keys have this prefix.
///
/// # Errors
/// Names the first station that is out of reach.
pub(crate) fn check_reach(
    bss: &Bss,
    ap: &str,
    stations: &[StationSpec],
    prefix: &str,
) -> Result<(), SpecError> {
    for (index, station) in stations.iter().enumerate() {
        for down in [false, true] {
            let link = LinkId::of(down, StationId(index as u16));
            let row = &bss.exchanges.links[link.index()];
            let mode = match row.adapts {
                true => bss.exchanges.modes.of(link.station()).on_air(RateIndex(0)).mode,
                false => row.on_air.mode,
            };
            if !is_in_reach(bss, link, &mode) {
                let (from, to) = if down { (ap, &*station.label) } else { (&*station.label, ap) };
                let value = format!(
                    "{:?}: {to:?} cannot decode {from:?} at {} Mbps",
                    station.label,
                    mode.rate.as_mbps()
                );
                let allowed = "a station that the access point receives at its rate, and that receives it: \
                               a lower rate, or more gain (field.gains, field.gain_db, tx_power_dbm, position_m)";
                return Err(SpecError::new(format!("{prefix}stations[{index}]"), value, allowed));
            }
        }
    }
    check_reach_of_beacons(bss, ap, stations)
}

/// Checks that each station of a BSS decodes the beacons of its access point with nobody else on the air.
///
/// # Errors
/// Names their rate.
fn check_reach_of_beacons(bss: &Bss, ap: &str, stations: &[StationSpec]) -> Result<(), SpecError> {
    let Exchanges { field: Some(share), medium, .. } = &bss.exchanges else { return Ok(()) };
    let Some(Beacons { on_air, .. }) = medium.beacons() else { return Ok(()) };
    let mode = &on_air.mode;
    let misses = |(index, _): &(usize, _)| !share.reaches(0, index + 1, mode, mode);
    match stations.iter().enumerate().find(misses) {
        Some((_, station)) => {
            let mbps = mode.rate.as_mbps();
            let value = format!("{mbps}: {:?} cannot decode the beacons of {ap:?}", station.label);
            let allowed = "a rate at which every station receives the beacons of its access point";
            Err(SpecError::new("mac.beacons.rate_mbps", value, allowed))
        }
        None => Ok(()),
    }
}

/// Whether the sender of `link` reaches its receiver with frames in `mode`, and is reached by the responses.
fn is_in_reach(bss: &Bss, link: LinkId, mode: &Mode) -> bool {
    let Some(share) = bss.exchanges.field.as_deref() else { return true };
    let (from, to) = (link.sender().index(), link.receiver().index());
    let slowest = &bss.exchanges.phy.slowest.mode;
    share.reaches(from, to, mode, mode) && share.reaches(to, from, slowest, mode)
}

/// Checks that a change of a station is one that a field models.
pub(super) fn check_change(change: &StationChange, path: &str) -> Result<(), SpecError> {
    let given = [
        ("frame_error_rate", change.frame_error_rate.is_some()),
        ("position_m", change.position_m.is_some()),
        ("velocity_m_per_s", change.velocity_m_per_s.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => {
            refused(&format!("{path}.{key}"), "no such key in a field, where powers do not change")
        }
        None => Ok(()),
    }
}

/// Checks that a BSS without others has no shadowing if it has no pair of nodes that it could be of.
///
/// # Errors
/// Names the key.
pub(super) fn refuse_idle_shadowing(spec: &BssSpec) -> Result<(), SpecError> {
    let deviation_db = spec.field.as_ref().map_or(0.0, |field| field.shadowing_db);
    let with_positions = spec.stations.iter().filter(|station| station.position_m.is_some()).count();
    if deviation_db > 0.0 && with_positions < 2 {
        let allowed =
            "0, since no two stations have positions (position_m): links of the access point have none";
        return Err(SpecError::new("field.shadowing_db", deviation_db, allowed));
    }
    Ok(())
}

fn refused(key: &str, allowed: &str) -> Result<(), SpecError> {
    Err(SpecError::new(key, "this key", allowed))
}

/// Powers and floors have no effect where all nodes hear each other.
fn refuse_powers(spec: &BssSpec) -> Result<(), SpecError> {
    let floors =
        spec.stations.iter().enumerate().map(|(i, station)| (format!("stations[{i}]"), station.floor));
    if let Some((path, _)) =
        std::iter::once(("ap".into(), spec.ap.floor)).chain(floors).find(|(_, floor)| *floor != 0)
    {
        return refused(
            &format!("{path}.floor"),
            "no such key without the table field: all nodes hear each other",
        );
    }
    let of_stations = spec.stations.iter().enumerate();
    let of_stations = of_stations.map(|(i, station)| (format!("stations[{i}]"), station.tx_power_dbm));
    for (path, power) in std::iter::once(("ap".into(), spec.ap.tx_power_dbm)).chain(of_stations) {
        if power.is_some() {
            let allowed = "no such key without the table field: all nodes hear each other; channel.tx_power_dbm \
                           sets the power of all";
            return refused(&format!("{path}.tx_power_dbm"), allowed);
        }
    }
    Ok(())
}

fn refuse_unmodelled(spec: &BssSpec) -> Result<(), SpecError> {
    if spec.phy.format() == Format::Dsss {
        let allowed = "802.11a, g, n, ac, ax or be with the table field";
        return Err(SpecError::new("phy.name", spec.phy.name(), allowed));
    }
    let mac = &spec.mac;
    let aggregation = mac.aggregation.clone().unwrap_or_default();
    let keys = [
        (
            "mac.aggregation.delivery",
            aggregation.delivery != MpduDelivery::Ppdu,
            "ppdu with the table field: there MPDUs are received at the end of their PPDU",
        ),
        (
            "mac.aggregation.fill",
            aggregation.fill == Fill::DriverQueue,
            "gather or head-run with the table field: a driver's queue is not modelled there",
        ),
        (
            "mac.capture_db",
            mac.capture_db.is_some(),
            "no such key with the table field: there the SINR decides what is received",
        ),
        (
            "mac.colliders_wait_eifs",
            mac.colliders_wait_eifs,
            "no such key with the table field: there a node that transmits hears no other frame",
        ),
        (
            "channel.fading",
            spec.channel.fading.is_some(),
            "no such table with the table field: powers do not change",
        ),
    ];
    if let Some((key, _, allowed)) = keys.into_iter().find(|(_, is_given, _)| *is_given) {
        return refused(key, allowed);
    }
    if matches!(mac.rate_adaptation, RateSpec::Ideal(_)) {
        let allowed = "fixed, arf, aarf or minstrel-ht with the table field: what another mode would lose there depends on what others \
                       send meanwhile";
        return Err(SpecError::new("mac.rate_adaptation", mac.rate_adaptation.name(), allowed));
    }
    for (index, station) in spec.stations.iter().enumerate() {
        refuse_of_station(station, &format!("stations[{index}]"))?;
    }
    Ok(())
}

fn refuse_of_station(station: &StationSpec, path: &str) -> Result<(), SpecError> {
    if let Some(phy) = station.phy.as_ref().filter(|phy| phy.format() == Format::Dsss) {
        let allowed = "802.11a, g, n, ac, ax or be with the table field";
        return Err(SpecError::new(format!("{path}.phy"), phy.name(), allowed));
    }
    if !station.frame_error_rate.is_zero() {
        let allowed = "no such key with the table field: there the SINR decides what is received";
        return refused(&format!("{path}.frame_error_rate"), allowed);
    }
    if station.velocity_m_per_s.is_some() {
        let allowed = "no such key with the table field: stations are at rest";
        return refused(&format!("{path}.velocity_m_per_s"), allowed);
    }
    Ok(())
}

/// At 2.4 GHz beacons may have a rate of 802.11b, which a field does not model.
fn refuse_dsss_beacons(spec: &BssSpec, phy: &BssTiming) -> Result<(), SpecError> {
    let key = "mac.beacons.rate_mbps";
    let Some(mbps) = spec.mac.beacons.and_then(|beacons| beacons.rate_mbps) else { return Ok(()) };
    match phy.group_mode(mbps, key)?.mode.format {
        Format::Dsss => Err(SpecError::new(key, mbps, "6, 9, 12, 18, 24, 36, 48 or 54 with the table field")),
        _ => Ok(()),
    }
}

/// A response begins a SIFS after the frame: a sender that waited no longer would never lock to it.
fn refuse_short_timeouts(spec: &BssSpec, phy: &BssTiming) -> Result<(), SpecError> {
    let sifs_us = phy.sifs.as_ns() as f64 / 1e3;
    for (key, given) in
        [("ack_timeout_us", spec.mac.ack_timeout_us), ("cts_timeout_us", spec.mac.cts_timeout_us)]
    {
        if let Some(us) = given.filter(|us| *us <= sifs_us) {
            let allowed = format!("more than a SIFS, {sifs_us} microseconds, with the table field");
            return Err(SpecError::new(format!("mac.{key}"), us, allowed));
        }
    }
    Ok(())
}
