//! Counters of the packets from stations about which a scheme of the access point decides ([`Scheme::police`]). A transmit
//! queue has them only if its scheme does.
//!
//! [`Scheme::police`]: crate::Scheme::police

use wifair_core::{Class, Counters, Ecn, FlowId, Packet, counters};

use crate::buffer::Count;
use crate::words::PoliceAction;

counters! {
    /// Packets of a class from stations.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Policed {
        pub received: Count,
        pub ce_marked: Count,
        pub dropped: Count,
    }
}

/// By flow and class.
#[derive(Clone, Debug, Default)]
pub(crate) struct PolicingCounters {
    flows: Vec<[Policed; 3]>,
    /// Sum of the flows that the monitor has forgotten.
    retired: [Policed; 3],
}

impl PolicingCounters {
    /// Counts a packet and returns the action that has an effect: only a packet with an ECT code point is marked.
    pub fn count(
        &mut self,
        packet: &Packet,
        flow: FlowId,
        class: Class,
        action: PoliceAction,
    ) -> PoliceAction {
        let effect = match (action, packet.ecn()) {
            (PoliceAction::Mark, Ecn::NotEct | Ecn::Ce) => PoliceAction::Forward,
            _ => action,
        };
        if flow.index() >= self.flows.len() {
            self.flows.resize(flow.index() + 1, Default::default());
        }
        let counters = &mut self.flows[flow.index()][class as usize];
        let one = Count { packets: 1, bytes: packet.ip_bytes().into() };
        counters.received.add(&one);
        match effect {
            PoliceAction::Forward => {}
            PoliceAction::Mark => counters.ce_marked.add(&one),
            PoliceAction::Drop => counters.dropped.add(&one),
        }
        effect
    }

    /// The counters of a flow by class, if a packet of it was policed.
    pub fn of(&self, flow: FlowId) -> Option<&[Policed; 3]> {
        self.flows.get(flow.index())
    }

    /// The counters of all flows, forgotten ones included.
    pub fn total(&self) -> [Policed; 3] {
        let mut total = self.retired;
        self.flows.iter().for_each(|flow| total.add(flow));
        total
    }

    /// Closes the counters of a flow and returns them.
    pub fn retire(&mut self, flow: FlowId) -> [Policed; 3] {
        let closed = self.flows.get_mut(flow.index()).map(std::mem::take).unwrap_or_default();
        self.retired.add(&closed);
        closed
    }
}
