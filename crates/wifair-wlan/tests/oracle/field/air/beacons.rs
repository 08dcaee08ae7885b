//! Beacons of the access points (`docs/medium.md`, sections 13 and 16): when they are due, and what becomes of them.

use wifair_core::Rng;

use super::{Field, Flaw, NodeId, OnAir};
use crate::oracle::field::label;
use crate::oracle::scenario::Scenario;

impl Field {
    /// Beacons that are due now begin to wait.
    pub(super) fn reach_targets(&mut self) {
        for (cell, target) in self.cells.iter_mut().zip(&mut self.targets) {
            if *target == Some(cell.now) {
                cell.nodes[0].reach_target();
                *target = cell.rules.beacon_interval().map(|interval| cell.now + interval);
            }
        }
    }

    /// A beacon has ended, which these nodes have decoded.
    pub(super) fn end_beacon(&mut self, ended: &OnAir, decoders: &[NodeId]) {
        let (bss, _) = self.homes[ended.from];
        self.current[ended.from] = None;
        let of_bss = |node: &&NodeId| self.homes[**node].0 == bss;
        let (decoded, all) = (decoders.iter().filter(of_bss).count(), self.cells[bss].stations.len());
        let collides = match self.flaw {
            Some(Flaw::BeaconLostIfAllMissIt) => decoded == 0,
            Some(Flaw::BeaconLostIfOverlapped) => self.exchanges[ended.exchange].overlaps,
            _ => decoded < all,
        };
        // The engine says this of several BSSs alone.
        let missed = if self.cells.len() > 1 { (all - decoded) as u64 } else { 0 };
        let record = &mut self.cells[bss].record;
        record.beacons.1 += u64::from(collides);
        record.beacons_missed += missed;
    }
}

/// When the first beacon of a BSS is due.
pub(super) fn first_target(bss: usize, scenario: &Scenario, flaw: Option<Flaw>) -> Option<u64> {
    let (rules, interval) = (&scenario.rules, scenario.rules.beacon_interval()?);
    if bss == 0 || flaw == Some(Flaw::BeaconsTogether) {
        return Some(interval);
    }
    let us = u64::from(rules.steps);
    let name = if flaw == Some(Flaw::OneOffset) { label(0, 0) } else { label(bss, 0) };
    let offset = Rng::stream(scenario.seed, &name, "beacon-offset").below((interval / us) as u32);
    let first = if flaw == Some(Flaw::OffsetAfterTarget) { interval } else { 0 };
    Some(first + (1 + u64::from(offset)) * us)
}
