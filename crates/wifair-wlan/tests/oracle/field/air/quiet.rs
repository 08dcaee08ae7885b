//! Steps that may be passed at once: nothing comes from outside, nothing on the air ends or is read, and every listener only
//! counts (`node::quiet`). `oracle_self` holds a field that passes them equal to one that takes every step.

use super::Field;
use crate::oracle::cell::Cell;

impl Field {
    /// Steps from here on, none after `until`, that may be passed.
    pub(super) fn quiet_steps(&self, until: u64) -> u32 {
        let on_air = self.on_air.iter().flat_map(|on_air| [Some(on_air.ends_at), self.colour_at(on_air)]);
        let outside = self.cells.iter().flat_map(|cell| [cell.traffic.next_time(), cell.next_sample()]);
        let now = self.now();
        let targets = self.targets.iter().copied();
        let next =
            on_air.chain(outside).chain(targets).flatten().filter(|&at| at >= now).fold(until, u64::min);
        let steps = u32::try_from(next - now).unwrap_or(u32::MAX);
        let nodes = self.cells.iter().flat_map(|cell| &cell.nodes);
        nodes.fold(steps, |steps, node| if steps == 0 { 0 } else { steps.min(node.quiet_steps()) })
    }

    /// Passes `steps` of those.
    pub(super) fn pass(&mut self, steps: u32) {
        self.cells.iter_mut().for_each(Cell::note_rates); // of timeouts in the step before
        self.stay(steps);
        for cell in &mut self.cells {
            cell.nodes.iter_mut().for_each(|node| node.pass(steps));
            cell.now += u64::from(steps);
        }
    }
}
