//! The access point: its flow monitor, and its view of the links.

use wifair_core::{FiveTuple, FlowId, Packet, Rate, StationId, Time};
use wifair_queue::{Direction, Flows, FlowsSpec, Link, View};

/// The state that the schemes of one side of the BSS can read.
pub(crate) struct LinkTable {
    flows: Flows,
    /// By station.
    links: Vec<Link>,
}

impl LinkTable {
    pub(crate) fn new(spec: &FlowsSpec, rates: impl Iterator<Item = Rate>) -> LinkTable {
        LinkTable { flows: Flows::new(spec), links: rates.map(|rate| Link { rate }).collect() }
    }

    #[inline(always)]
    pub(crate) fn view(&self) -> View<'_> {
        View { flows: &self.flows, links: &self.links }
    }

    /// Updates the rate of a station's link.
    pub(crate) fn set_rate(&mut self, station: StationId, rate: Rate) {
        self.links[station.index()].rate = rate;
    }
}

/// State that only the access point has. Its ports and channel access functions are in
/// [`Nodes`](crate::nodes::Nodes), with those of the stations.
pub(crate) struct AccessPoint {
    table: LinkTable,
}

impl AccessPoint {
    pub(crate) fn new(table: LinkTable) -> AccessPoint {
        AccessPoint { table }
    }

    #[inline(always)]
    pub(crate) fn table(&self) -> &LinkTable {
        &self.table
    }

    pub(crate) fn table_mut(&mut self) -> &mut LinkTable {
        &mut self.table
    }

    /// The flow monitor.
    pub(crate) fn flows(&self) -> &Flows {
        &self.table.flows
    }

    /// Shows a passing packet to the flow monitor; `held` returns whether a port holds a packet of a flow.
    #[inline(always)]
    pub(crate) fn observe(
        &mut self,
        packet: &Packet,
        direction: Direction,
        now: Time,
        held: impl Fn(FlowId) -> bool,
    ) -> FlowId {
        self.table.flows.observe(packet, direction, now, held)
    }

    /// The next flow that the monitor has removed, with its 5-tuple.
    #[inline]
    pub(crate) fn pop_forgotten(&mut self) -> Option<(FlowId, FiveTuple)> {
        self.table.flows.pop_forgotten()
    }
}
