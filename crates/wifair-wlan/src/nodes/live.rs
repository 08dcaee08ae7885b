//! Changes at the AP's transmit queues for a live view.

use wifair_core::Time;
use wifair_queue::{Journal, SchemeSpec};

use super::Nodes;
use crate::node::{EdcafId, Node};

impl Nodes {
    /// Sets the scheme of each of the AP's transmit queues but those with a separate one.
    pub(crate) fn set_ap_scheme(&mut self, scheme: &SchemeSpec, now: Time) {
        for ((index, category), own) in self.categories.iter_mut().enumerate().zip(&self.own) {
            let number = EdcafId::at(index);
            if !own.scheme {
                category.tx_queue.change_scheme(scheme.build(), now, self.views.of(true));
                if let (true, Some(aggregation)) = (category.tx_queue.arbitrates(), &self.aggregation) {
                    for link in aggregation.pending_of(number) {
                        let (ac, view) = (category.edcaf.role().ac, self.views.of(true));
                        category.tx_queue.hold_pending(link.station(), ac, now, view);
                    }
                }
                self.deadlines.set_tick(number, category.tx_queue.next_tick(), now);
            }
        }
    }

    /// Makes the AP's transmit queues write in `journal` from now on, or in none.
    pub(crate) fn keep_ap_journal(&mut self, journal: Option<&Journal>) {
        let range = self.numbering.range(Node::Ap);
        for (number, category) in (0..).zip(&mut self.categories[range]) {
            match journal {
                Some(journal) => category.tx_queue.keep_journal(&journal.of_tx_queue(number)),
                None => category.tx_queue.stop_journal(),
            }
        }
    }
}
