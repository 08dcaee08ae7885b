//! What a live view asks of a BSS: another scheme at the AP, the journal of the AP's ports alone, and who waits for access.

use wifair_core::Time;
use wifair_queue::{Journal, SchemeSpec};

use super::Bss;
use crate::meter::Meter;
use crate::node::AP;

impl Bss {
    /// Puts `scheme` at each port of the AP but those of categories with a separate scheme, at `now`, which is not after
    /// [`Bss::next_event`]: see [`Port::change_scheme`](wifair_queue::Port::change_scheme). `scheme` has passed
    /// [`BssSpec::check_ap_scheme`](crate::BssSpec::check_ap_scheme).
    pub fn set_ap_scheme(&mut self, scheme: &SchemeSpec, now: Time) {
        self.come_from_outside(now);
        self.nodes.set_ap_scheme(scheme, now);
        // A meter stays once it is there: its counts are cumulative.
        if self.meter.is_none() {
            self.meter = Meter::wanted_by(self.nodes.ports_of(AP));
        }
        for sender in self.nodes.edcafs_of(AP) {
            if self.nodes.edcaf(sender).asks() {
                self.serve(sender, now);
            }
        }
    }

    /// The AP's ports write in `journal` from now on, each under its number.
    pub fn keep_ap_journal(&mut self, journal: &Journal) {
        self.nodes.keep_ap_journal(Some(journal));
    }

    /// The AP's ports write in no journal any more.
    pub fn stop_ap_journal(&mut self) {
        self.nodes.keep_ap_journal(None);
    }

    /// Since when the sender of an attempt has had its packet in service.
    pub fn in_service_since(&self, sender: u32) -> Time {
        self.nodes.edcaf(sender).taken_at()
    }
}
