//! What the access point's schemes are told of received packets, and what they decide about them.

use wifair_core::{Ac, StationId, Time};
use wifair_queue::{PoliceAction, Reception};

use super::{AccessCategory, Nodes};
use crate::access_point::Views;
use crate::deadlines::Deadlines;
use crate::node::{EdcafId, Node, Numbering};

/// The schemes of the access point's transmit queues, borrowed for a call.
pub(crate) struct ApSchemes<'a> {
    /// Those of the access point.
    categories: &'a mut [AccessCategory],
    numbering: Numbering,
    views: &'a mut Views,
    deadlines: &'a mut Deadlines,
}

impl Nodes {
    /// The schemes of the access point's transmit queues.
    pub(crate) fn ap_schemes(&mut self) -> ApSchemes<'_> {
        let Nodes { categories, numbering, views, deadlines, .. } = self;
        let categories = &mut categories[numbering.range(Node::Ap)];
        ApSchemes { categories, numbering: *numbering, views, deadlines }
    }
}

impl ApSchemes<'_> {
    /// Reports an uplink packet to the schemes that ask for receptions.
    pub(crate) fn report_reception(self, reception: &Reception, now: Time) {
        for (number, AccessCategory { tx_queue, .. }) in self.categories.iter_mut().enumerate() {
            if tx_queue.hooks().reception {
                tx_queue.receive(reception, now, self.views.of(true));
                if tx_queue.hooks().moves_tick {
                    self.deadlines.set_tick(EdcafId::at(number), tx_queue.next_tick(), now);
                }
            }
        }
    }

    /// Lets the scheme of an uplink packet's category decide about it, if it polices. Returns [`PoliceAction::Mark`] only for a
    /// packet that is to get CE.
    pub(crate) fn police(self, reception: &Reception, now: Time) -> PoliceAction {
        let function = self.numbering.edcaf(Node::Ap, reception.ac);
        let number = self.categories[function.index()].edcaf.role().tx_queue;
        let tx_queue = &mut self.categories[number.index()].tx_queue;
        if !tx_queue.hooks().police {
            return PoliceAction::Forward;
        }
        let action = tx_queue.police(reception, now, self.views.of(true));
        self.deadlines.follow(number, tx_queue, now);
        action
    }

    /// Records a queue size that the access point has read, and reports it to the schemes that ask for it.
    pub(crate) fn report_queue_size(self, station: StationId, ac: Ac, bytes: u32, now: Time) {
        self.views.set_queue_bytes(station, ac, bytes);
        for (number, AccessCategory { tx_queue, .. }) in self.categories.iter_mut().enumerate() {
            if tx_queue.hooks().queue_size {
                tx_queue.queue_size(station, ac, now, self.views.of(true));
                self.deadlines.follow(EdcafId::at(number), tx_queue, now);
            }
        }
    }
}
