//! Changes at the AP's ports for a live view.

use wifair_core::Time;
use wifair_queue::{Journal, SchemeSpec};

use super::Nodes;
use crate::node::{EdcafId, Node};

impl Nodes {
    /// Sets the scheme of each of the AP's ports but those with a separate one.
    pub(crate) fn set_ap_scheme(&mut self, scheme: &SchemeSpec, now: Time) {
        for ((index, place), own) in self.places.iter_mut().enumerate().zip(&self.own) {
            let number = EdcafId::at(index);
            if !own.scheme {
                place.port.change_scheme(scheme.build(), now, self.ap.knows().view());
                if let (true, Some(aggregation)) = (place.port.arbitrates(), &self.aggregation) {
                    for link in aggregation.pending_of(number) {
                        let (ac, view) = (place.edcaf.role().ac, self.ap.knows().view());
                        place.port.hold_pending(link.station(), ac, now, view);
                    }
                }
                self.deadlines.set_tick(number, place.port.next_tick(), now);
            }
        }
    }

    /// Makes the AP's ports write in `journal` from now on, or in none.
    pub(crate) fn keep_ap_journal(&mut self, journal: Option<&Journal>) {
        let range = self.numbering.range(Node::Ap);
        for (number, place) in (0..).zip(&mut self.places[range]) {
            match journal {
                Some(journal) => place.port.keep_journal(&journal.of_port(number)),
                None => place.port.stop_journal(),
            }
        }
    }
}
