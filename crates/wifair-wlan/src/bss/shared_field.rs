//! The BSSs of a field (`docs/medium.md`, section 16): one, which lets the field advance itself, or several.

use wifair_core::Time;

use super::Bss;
use super::exchanges::field::{InField, width_of_link};
use crate::field::LinkWidth;
use crate::field::medium::FieldMedium;
use crate::field::share::FieldShare;
use crate::node::EdcafId;

impl Bss {
    /// What the BSS has of its field.
    pub(crate) fn share(&mut self) -> &mut FieldShare {
        self.exchanges.field.as_deref_mut().expect("the BSS is in a field")
    }

    /// Lets a BSS that is alone in its field handle what is due there at `now`.
    pub(super) fn advance_field(&mut self, now: Time) {
        if self.share().is_alone() {
            let medium = self.share().take();
            let medium = advance(std::slice::from_mut(self), medium, now, |_, _| ());
            self.share().lend(medium);
        }
    }

    fn act_in_field<T>(&mut self, act: impl FnOnce(InField) -> T) -> T {
        act(InField::of(&mut self.exchanges).expect("the BSS is in a field"))
    }
}

/// Shifts the target times of the beacons of a neighbour, whose access point has this name, by its offset.
pub(crate) fn shift_targets(bss: &mut Bss, seed: u64, ap: &str) {
    if let Some(beacons) = bss.exchanges.medium.beacons() {
        let first = beacons.first_target(seed, ap);
        bss.exchanges.nodes.deadlines.set_beacon(first, Time::ZERO);
    }
}

/// How wide the next exchange of what is `sender` in the field is if no secondary channel is busy.
fn width_of_next(bss: &Bss, sender: EdcafId) -> LinkWidth {
    let share = bss.exchanges.field.as_deref().expect("the BSS is in a field");
    width_of_link(&bss.exchanges, share.in_bss(sender))
}

/// Lets the field of these BSSs handle what is due at `now`, unless something is left from before. Calls `changed` with each
/// BSS that has changed, and its number.
pub(crate) fn advance(
    bsss: &mut [Bss],
    mut medium: Box<FieldMedium>,
    now: Time,
    mut changed: impl FnMut(usize, &Bss),
) -> Box<FieldMedium> {
    let width = |number: usize, sender| width_of_next(&bsss[number], sender);
    for loser in medium.contend(now, width) {
        let number = medium.field.bss_of(loser);
        let bss = &mut bsss[number];
        let sender = bss.share().in_bss(loser);
        bss.share().lend(medium);
        bss.act_in_field(|mut field| field.lose_internally(sender, now));
        medium = bss.share().take();
        changed(number, bss);
    }
    medium.advance(now, |number, winner, width_mhz| {
        let bss = &mut bsss[number];
        let sender = bss.share().in_bss(winner);
        let outgoing = bss.act_in_field(|mut field| field.outgoing(sender, false, width_mhz, now));
        changed(number, bss);
        bss.share().outgoing(outgoing)
    });
    medium
}
