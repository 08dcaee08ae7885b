//! The beacons of a BSS in a field: what is sent, and what waits. `beaconing` sends them.

use wifair_core::{Rng, Time};

use super::access::Backoff;
use crate::contention::Access;
use crate::phy::Mode;
use crate::records::BeaconUsage;

/// The beacons that the access point of a BSS sends.
pub(crate) struct BeaconsOfAp {
    pub access: Access,
    pub backoff: Rng,
    pub mode: Mode,
    pub duration: Time,
}

/// The beacons of a BSS, as they are at an instant.
pub(super) struct BeaconsInField {
    /// Place of the access point among the nodes.
    pub ap: usize,
    pub mode: Mode,
    pub duration: Time,
    /// Whether one is due and not yet on the air.
    pub waits: bool,
    pub is_on_air: bool,
    pub usage: BeaconUsage,
}

/// A beacon that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentBeacon {
    /// Place of its access point among the nodes of the field.
    pub ap: usize,
    pub begins: Time,
    pub ends: Time,
    /// The number of stations of the BSS that have not decoded it.
    pub missed: usize,
}

impl BeaconsInField {
    /// None waits. Their channel access function comes after the others of the access point, at the place `ap`, in `backoffs`.
    pub(super) fn new(beacons: BeaconsOfAp, ap: usize, backoffs: &mut Vec<Backoff>) -> BeaconsInField {
        let BeaconsOfAp { access, backoff, mode, duration } = beacons;
        backoffs.push(Backoff::new(access, backoff));
        let usage = BeaconUsage::default();
        BeaconsInField { ap, mode, duration, waits: false, is_on_air: false, usage }
    }
}
