//! Counters of a BSS whose packets do not come from a plan's flows.

use wifair_core::Time;
use wifair_wlan::Bss;

use crate::plan::Plan;
use crate::record::{Probes, RunRecord};
use crate::snapshot::{BssCounters, Snapshot};
use crate::wire::{Wire, WireId};

/// The counters of a BSS and its wire at an instant, without flows.
pub struct Reading(Snapshot);

impl Reading {
    /// Copies every counter at `now`, which is not after the BSS's next event.
    pub fn take(bss: &Bss, wire: &Wire, now: Time) -> Reading {
        let counters = BssCounters::take(bss, bss.snapshot(now), wire.counters(WireId::FIRST, now));
        let (senders, receivers, tallies, streams) = Default::default();
        Reading(Snapshot { bsss: vec![counters], senders, receivers, tallies, streams })
    }
}

impl RunRecord {
    /// The record of the interval between two readings of the cell of `plan`, which has no flows.
    pub fn of_readings(plan: &Plan, before: &Reading, after: &Reading) -> RunRecord {
        RunRecord::new(plan, &before.0, &after.0, Probes::new(plan))
    }
}
