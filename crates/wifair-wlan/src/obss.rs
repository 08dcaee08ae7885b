//! Overlapping BSSs (OBSS): several BSSs in one field (`docs/medium.md`, section 16), as a polled state
//! machine.
//!
//! Each BSS is a [`Bss`], which has the field only while it is its turn. Deadlines of an instant come first, BSS by BSS; then
//! what is due in the field.

#[cfg(test)]
mod tests;

use std::ops::{Deref, DerefMut};

use wifair_core::{MinTree, SpecError, Time};

use crate::bss::shared_field::{advance, shift_targets};
use crate::bss::{Bss, Output, accessors, field};
use crate::field::OperatingChannel;
use crate::field::medium::FieldMedium;
use crate::neighbours::{ObssSpec, neighbour_path};
use crate::node::Node;
use crate::records::{BssSnapshot, FieldUsage};

/// See the module documentation. BSSs are numbered: the first, then its neighbours.
pub struct Obss {
    bsss: Vec<Bss>,
    /// By BSS: the place of its access point among the nodes of the field.
    firsts: Vec<usize>,
    /// By BSS.
    channels: Vec<OperatingChannel>,
    /// By BSS: its next deadline.
    deadlines: MinTree,
    /// Taken while a BSS has it.
    medium: Option<Box<FieldMedium>>,
    now: Time,
}

/// A BSS in its turn: it has the field until this is dropped.
pub struct BssTurn<'a> {
    bss: &'a mut Bss,
    number: usize,
    deadlines: &'a mut MinTree,
    medium: &'a mut Option<Box<FieldMedium>>,
}

impl Deref for BssTurn<'_> {
    type Target = Bss;

    fn deref(&self) -> &Bss {
        self.bss
    }
}

impl DerefMut for BssTurn<'_> {
    fn deref_mut(&mut self) -> &mut Bss {
        self.bss
    }
}

impl Drop for BssTurn<'_> {
    fn drop(&mut self) {
        *self.medium = Some(self.bss.share().take());
        self.deadlines.set(self.number, self.bss.next_event());
    }
}

impl Obss {
    /// The BSSs that `spec` describes, idle at time zero. Random streams are those of [`Bss::new`], with a neighbour's name as
    /// the label of its access point; the offset of its beacons has (`seed`, that label, `"beacon-offset"`).
    ///
    /// # Errors
    /// Returns the first invalid value of `spec`.
    pub fn new(spec: &ObssSpec, seed: u64) -> Result<Obss, SpecError> {
        let Some(keys) = &spec.bss.field else {
            let allowed = "no such table without the table field: it says who receives whom";
            return Err(SpecError::new("neighbours", "this table", allowed));
        };
        spec.check_labels()?;
        let (channels, _) = spec.channels()?;
        let (mut bsss, mut functions) = (Vec::new(), Vec::new());
        for (number, (label, spec)) in spec.each().enumerate() {
            let (mut bss, own) = Bss::assemble(&spec, label, seed).map_err(|error| within(error, number))?;
            if number > 0 {
                shift_targets(&mut bss, seed, label);
            }
            bsss.push(bss);
            functions.extend(own);
        }
        let medium = field::build(spec, keys, &bsss, functions, seed)?;
        let mut obss = Obss {
            deadlines: MinTree::new(bsss.len()),
            bsss,
            firsts: vec![],
            channels,
            medium: Some(medium),
            now: Time::ZERO,
        };
        let mut first = 0;
        for (number, (label, own)) in spec.each().enumerate() {
            obss.bsss[number].share().join(number, first);
            obss.firsts.push(first);
            first += 1 + own.stations.len();
            let prefix = number.checked_sub(1).map(neighbour_path).unwrap_or_default();
            field::check_reach(&obss.turn(number), label, &own.stations, &prefix)?;
        }
        Ok(obss)
    }

    /// By BSS of `spec`: the lowest number of a BSS that it is connected with in a run with this seed. Two BSSs are if a node
    /// of one receives a node of the other, or both are connected with a third; what happens in one that is not connected
    /// makes no difference to it.
    ///
    /// # Errors
    /// Returns the first invalid value of the field of `spec`.
    pub fn components(spec: &ObssSpec, seed: u64) -> Result<Vec<usize>, SpecError> {
        match &spec.bss.field {
            Some(field) => field::components(spec, field, seed),
            None => Ok(vec![0; 1 + spec.neighbours.len()]),
        }
    }

    /// The number of BSSs.
    pub fn count(&self) -> usize {
        self.bsss.len()
    }

    /// Gives the BSS of this number its turn: to pass in packets and changes that come from outside.
    pub fn turn(&mut self, bss: usize) -> BssTurn<'_> {
        let (number, bss) = (bss, &mut self.bsss[bss]);
        bss.share().lend(self.medium.take().expect("no other BSS has its turn"));
        BssTurn { bss, number, deadlines: &mut self.deadlines, medium: &mut self.medium }
    }

    fn medium(&self) -> &FieldMedium {
        self.medium.as_deref().expect("no BSS has its turn")
    }

    /// The BSS with the earliest deadline, and that.
    fn next_deadline(&self) -> (Time, usize) {
        match self.deadlines.earliest() {
            Time::MAX => (Time::MAX, 0),
            earliest => (earliest, self.deadlines.earliest_index()),
        }
    }

    /// When the next event is due; [`Time::MAX`] if none is scheduled.
    pub fn next_event(&self) -> Time {
        self.next_deadline().0.min(self.medium().due(self.now))
    }

    /// Handles the events before `limit` up to the first output; returns it with its time and the number of its BSS. `None`
    /// once nothing more is due before `limit`. Calls `began` with a BSS whose node comes to know the outcome of its exchange.
    pub fn advance_watched(
        &mut self,
        limit: Time,
        mut began: impl FnMut(usize, &Bss),
    ) -> Option<(Time, usize, Output<'_>)> {
        let (number, event) = loop {
            let ((deadline, number), due) = (self.next_deadline(), self.medium().due(self.now));
            let now = deadline.min(due);
            if now >= limit {
                return None;
            }
            self.now = now;
            let (number, event) = match deadline <= due {
                true => (number, self.turn(number).meet_deadline(now)),
                false => {
                    let medium = self.medium.take().expect("no BSS has its turn");
                    let deadlines = &mut self.deadlines;
                    let changed = |number: usize, bss: &Bss| deadlines.set(number, bss.next_event());
                    let medium = self.medium.insert(advance(&mut self.bsss, medium, now, changed));
                    let Some(number) = medium.next_bss() else { continue };
                    (number, self.turn(number).pass_shared_field(now, &mut |bss| began(number, bss)))
                }
            };
            if let Some(event) = event {
                break (number, event);
            }
        };
        Some((self.now, number, self.bsss[number].output(event)))
    }

    /// The BSS of this number, to read what does not need the field: all but [`Bss::snapshot`] and [`Bss::senses`].
    pub fn bss(&self, bss: usize) -> &Bss {
        &self.bsss[bss]
    }

    /// All counters of a BSS up to `now`, which is not after [`Obss::next_event`].
    pub fn snapshot(&self, bss: usize, now: Time) -> BssSnapshot {
        accessors::snapshot(&self.bsss[bss], Some(&self.medium().field), now)
    }

    /// How the frames of a BSS fare among those of others.
    pub fn field_usage(&self, bss: usize, now: Time) -> FieldUsage {
        self.medium().field.usage(bss, now)
    }

    /// By node, those of the first BSS first and each access point before its stations: the nodes that receive it, with the
    /// power in dBm.
    pub fn received_dbm(&self) -> Vec<Vec<(usize, f64)>> {
        self.medium().field.received_dbm()
    }

    /// Whether the channels of two BSSs have a frequency in common.
    pub fn share_a_channel(&self, a: usize, b: usize) -> bool {
        self.channels[a].all() & self.channels[b].all() != 0
    }

    /// Whether the medium is busy at `to` while `from` alone transmits: nodes of the BSSs with these numbers.
    pub fn senses(&self, from: (usize, Node), to: (usize, Node)) -> bool {
        let place = |(bss, node): (usize, Node)| self.firsts[bss] + node.index();
        self.medium().field.senses(place(from), place(to))
    }
}

/// The error of a value of a BSS, whose keys of its own are the neighbour's.
fn within(error: SpecError, number: usize) -> SpecError {
    let is_own = error.key.starts_with("ap") || error.key.starts_with("stations");
    match number.checked_sub(1).filter(|_| is_own) {
        Some(index) => SpecError { key: neighbour_path(index) + &error.key, ..error },
        None => error,
    }
}
