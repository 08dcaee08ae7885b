//! Changes at the AP's ports for a live view.

use wifair_core::Time;
use wifair_queue::{Journal, Scheme};

use super::Nodes;
use crate::node::AP;

impl Nodes {
    /// Puts a scheme at the AP's port; under DCF, where it has one.
    pub(crate) fn set_ap_scheme(&mut self, scheme: Box<dyn Scheme>, now: Time) {
        let port = &mut self.places[AP as usize].port;
        port.change_scheme(scheme, now, self.ap.knows().view());
        self.deadlines.set_tick(AP, port.next_tick(), now);
    }

    /// The AP's ports write in `journal` from now on, or in none.
    pub(crate) fn keep_ap_journal(&mut self, journal: Option<&Journal>) {
        let range = self.range(AP);
        for (number, place) in (0..).zip(&mut self.places[range]) {
            match journal {
                Some(journal) => place.port.keep_journal(&journal.of_port(number)),
                None => place.port.stop_journal(),
            }
        }
    }
}
