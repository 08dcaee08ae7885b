//! When the beacons of a BSS are due (`docs/medium.md`, sections 13 and 16).

use wifair_core::Time;

use super::exchanges::Exchanges;
use super::exchanges::field::InField;

/// Handles a target time: a beacon waits.
pub(super) fn reach_target(exchanges: &mut Exchanges, now: Time) {
    match InField::of(exchanges) {
        Some(mut field) => field.reach_target(now),
        None => exchanges.medium.reach_target(now),
    }
    if let Some(beacons) = exchanges.medium.beacons() {
        exchanges.nodes.deadlines.set_beacon(now + beacons.interval, now);
    }
}
