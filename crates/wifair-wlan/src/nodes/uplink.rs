//! What the access point's schemes are told of received packets, and what they decide about them.

use wifair_core::{Ac, StationId, Time};
use wifair_queue::{PoliceAction, Reception};

use super::{AccessCategory, Nodes};
use crate::access_point::Views;
use crate::deadlines::Deadlines;
use crate::node::{EdcafId, Node, Numbering};

/// The schemes of the access point's ports, borrowed for a call.
pub(crate) struct ApSchemes<'a> {
    /// Those of the access point.
    categories: &'a mut [AccessCategory],
    numbering: Numbering,
    views: &'a mut Views,
    deadlines: &'a mut Deadlines,
}

impl Nodes {
    /// The schemes of the access point's ports.
    pub(crate) fn ap_schemes(&mut self) -> ApSchemes<'_> {
        let Nodes { categories, numbering, views, deadlines, .. } = self;
        let categories = &mut categories[numbering.range(Node::Ap)];
        ApSchemes { categories, numbering: *numbering, views, deadlines }
    }
}

impl ApSchemes<'_> {
    /// Reports an uplink packet to the schemes that ask for receptions.
    pub(crate) fn report_reception(self, reception: &Reception, now: Time) {
        for (number, AccessCategory { port, .. }) in self.categories.iter_mut().enumerate() {
            if port.hooks().reception {
                port.receive(reception, now, self.views.of(true));
                if port.hooks().moves_tick {
                    self.deadlines.set_tick(EdcafId::at(number), port.next_tick(), now);
                }
            }
        }
    }

    /// Lets the scheme of an uplink packet's category decide about it, if it polices. Returns [`PoliceAction::Mark`] only for a
    /// packet that is to get CE.
    pub(crate) fn police(self, reception: &Reception, now: Time) -> PoliceAction {
        let function = self.numbering.edcaf(Node::Ap, reception.ac);
        let number = self.categories[function.index()].edcaf.role().port;
        let port = &mut self.categories[number.index()].port;
        if !port.hooks().police {
            return PoliceAction::Forward;
        }
        let action = port.police(reception, now, self.views.of(true));
        self.deadlines.follow(number, port, now);
        action
    }

    /// Records a queue size that the access point has read, and reports it to the schemes that ask for it.
    pub(crate) fn report_queue_size(self, station: StationId, ac: Ac, bytes: u32, now: Time) {
        self.views.set_queue_bytes(station, ac, bytes);
        for (number, AccessCategory { port, .. }) in self.categories.iter_mut().enumerate() {
            if port.hooks().queue_size {
                port.queue_size(station, ac, now, self.views.of(true));
                self.deadlines.follow(EdcafId::at(number), port, now);
            }
        }
    }
}
