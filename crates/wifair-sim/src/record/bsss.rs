//! The rows of several BSSs.

use std::collections::BTreeSet;

use wifair_core::Time;
use wifair_wlan::{StationUsage, Usage};

use super::measured::{MeasuredBss, wire_rows};
use super::rows::{BssRow, FlowRow};
use crate::figures::ratio;
use crate::plan::{Plan, PlannedBss};

/// The rows of the BSSs of a plan; none if there is one.
pub(super) fn rows(plan: &Plan, measured: &[MeasuredBss], flows: &[FlowRow]) -> Vec<BssRow> {
    plan.bsss().zip(measured).filter_map(|(bss, measured)| row(&bss, measured, flows)).collect()
}

fn row(bss: &PlannedBss, measured: &MeasuredBss, flows: &[FlowRow]) -> Option<BssRow> {
    let (MeasuredBss { air, wire, .. }, field) = (measured, measured.field?);
    let own: BTreeSet<&str> = bss.stations.iter().map(|station| &*station.label).collect();
    let goodput = |way: &str| {
        let flows = flows.iter().filter(|flow| flow.direction == way && own.contains(&*flow.station));
        flows.fold(0.0, |sum, flow| sum + flow.goodput_mbps) // the sum of none is -0
    };
    let share = |time: Time| time.as_secs_f64() / air.elapsed.as_secs_f64();
    let sum = |of: fn(&StationUsage) -> &Usage| {
        air.stations.iter().fold(Time::ZERO, |sum, station| sum + of(station).airtime)
    };
    let waits = bss.own_wire.map(|_| wire_rows(wire, air.elapsed));
    let wait = |index: usize| waits.as_ref().and_then(|rows| rows[index].wait_mean_ms);
    Some(BssRow {
        bss: bss.name.into(),
        ap: bss.ap_label.into(),
        goodput_up_mbps: goodput("up"),
        goodput_down_mbps: goodput("down"),
        exchanges: air.exchanges,
        collisions: air.collisions,
        collision_ratio: ratio(air.collisions, air.exchanges),
        airtime_up_share: share(sum(|station| &station.up)),
        airtime_down_share: share(sum(|station| &station.down)),
        collision_share: share(air.collision_airtime),
        beacons: air.beacons.sent,
        beacons_collided: air.beacons.collided,
        beacons_missed: field.beacons_missed,
        beacon_share: share(air.beacons.airtime),
        busy_own_share: share(field.busy_own),
        busy_others_share: share(field.busy_others),
        attempts: air.stations.iter().map(|station| station.up.attempts + station.down.attempts).sum(),
        lost_same_start: field.lost_same_start,
        lost_hidden: field.lost_hidden,
        lost_to_others: field.lost_to_others,
        unanswered_rts: field.unanswered,
        narrow_cts: field.narrow_cts,
        punctured: field.punctured,
        spatial_reuses: field.spatial_reuses,
        mpdus: field.mpdus,
        mpdus_lost: field.mpdus_lost,
        wire_down_wait_mean_ms: wait(0),
        wire_up_wait_mean_ms: wait(1),
        wire_dropped_packets: bss.own_wire.map(|_| wire.dropped),
    })
}
