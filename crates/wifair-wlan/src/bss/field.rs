//! Construction of a field (`docs/medium.md`, section 16). What a field does not model is refused.

use wifair_core::{Rng, SpecError, StationId};

use super::Bss;
use crate::aggregation::{Fill, HardwareSpec, MpduDelivery};
use crate::check;
use crate::contention::{Access, ContentionRules};
use crate::field::medium::FieldMedium;
use crate::field::{Field, FieldRules, NodeOfField};
use crate::mac::Mac;
use crate::node::{LinkId, Numbering};
use crate::phy::timing::BssTiming;
use crate::phy::{Format, Mode};
use crate::rate::RateSpec;
use crate::spec::{AP_LABEL, BssSpec, StationChange, StationSpec};

/// The field of a BSS whose nodes have these channel access functions, in the order of `numbering`, if it has one.
///
/// # Errors
/// Returns the first key that is not allowed.
pub(super) fn build(
    spec: &BssSpec,
    rules: ContentionRules,
    numbering: Numbering,
    phy: &BssTiming,
    mac: &Mac,
    functions: impl Iterator<Item = (Access, Rng)>,
) -> Result<Option<Box<FieldMedium>>, SpecError> {
    let Some(field) = &spec.field else {
        refuse_powers(spec)?;
        return Ok(None);
    };
    refuse_unmodelled(spec)?;
    if phy.protects() {
        let allowed = "no such key with the table field: 802.11b stations are not modelled there";
        refused("phy.erp_protection", allowed)?;
    }
    refuse_short_timeouts(spec, phy)?;
    let power = |own: Option<f64>, path: &str| match own {
        Some(dbm) => check::number(path, "tx_power_dbm", dbm, -100.0..=100.0, "dBm"),
        None => Ok(spec.channel.tx_power_dbm),
    };
    let ap_power = power(spec.ap.tx_power_dbm, "ap")?;
    let mut nodes =
        vec![NodeOfField { label: AP_LABEL, tx_power_dbm: ap_power, position_m: Some(spec.ap.position_m) }];
    for (index, station) in spec.stations.iter().enumerate() {
        nodes.push(NodeOfField {
            label: &station.label,
            tx_power_dbm: power(station.tx_power_dbm, &format!("stations[{index}]"))?,
            position_m: station.position_m,
        });
    }
    let rows = field.rows(&nodes, |distance_m| -spec.channel.path_loss_db(distance_m), "field")?;
    let rules = FieldRules::new(field, rules, phy, mac, spec.channel.noise_dbm);
    let field = Field::new(rules, numbering, phy.clone(), mac, functions, rows);
    Ok(Some(Box::new(FieldMedium::new(field))))
}

/// Checks that each station and the access point receive each other at the station's rates, with nobody else on the air.
///
/// # Errors
/// Names the first station that is out of reach.
pub(super) fn check_reach(bss: &Bss, spec: &BssSpec) -> Result<(), SpecError> {
    for (index, station) in spec.stations.iter().enumerate() {
        for down in [false, true] {
            let link = LinkId::of(down, StationId(index as u16));
            let mode = bss.exchanges.links[link.index()].on_air.mode;
            if !is_in_reach(bss, link, &mode) {
                let (from, to) = if down { (AP_LABEL, &*station.label) } else { (&*station.label, AP_LABEL) };
                let value = format!(
                    "{:?}: {to:?} cannot decode {from:?} at {} Mbps",
                    station.label,
                    mode.rate.as_mbps()
                );
                let allowed = "a station that the access point receives at its rate, and that receives it: \
                               a lower rate, or more gain (field.gains, field.gain_db, tx_power_dbm, position_m)";
                return Err(SpecError::new(format!("stations[{index}]"), value, allowed));
            }
        }
    }
    Ok(())
}

/// Whether the sender of `link` reaches its receiver with frames in `mode`, and is reached by the responses.
fn is_in_reach(bss: &Bss, link: LinkId, mode: &Mode) -> bool {
    let Some(FieldMedium { field, .. }) = bss.exchanges.field.as_deref() else { return true };
    let (from, to) = (link.sender().index(), link.receiver().index());
    field.reaches(from, to, mode) && field.reaches(to, from, &bss.exchanges.phy.slowest.mode)
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

fn refused(key: &str, allowed: &str) -> Result<(), SpecError> {
    Err(SpecError::new(key, "this key", allowed))
}

/// Powers have no effect where all nodes hear each other.
fn refuse_powers(spec: &BssSpec) -> Result<(), SpecError> {
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
            "ap.hardware",
            spec.ap.hardware != HardwareSpec::default(),
            "ideal with the table field: nothing is modelled there between the access point's queues and the air",
        ),
        (
            "mac.beacons",
            mac.beacons.is_some(),
            "no such table with the table field: beacons are not modelled there",
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
    if mac.rate_adaptation != RateSpec::default() {
        let allowed = "fixed with the table field: rate adaptation is not modelled there";
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
