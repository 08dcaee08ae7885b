//! The access point: its flow monitor, and its view of the links.

use wifair_core::{Ac, FiveTuple, FlowId, Packet, Rate, StationId, Time};
use wifair_queue::{Direction, Flows, FlowsSpec, Link, View};

use crate::node::LinkId;

/// The state that the schemes of one side of the BSS can read.
pub(crate) struct LinkTable {
    flows: Flows,
    /// By station.
    links: Vec<Link>,
}

impl LinkTable {
    pub(crate) fn new(spec: &FlowsSpec, rates: impl Iterator<Item = Rate>) -> LinkTable {
        LinkTable { flows: Flows::new(spec), links: rates.map(Link::new).collect() }
    }

    #[inline(always)]
    fn view(&self) -> View<'_> {
        View { flows: &self.flows, links: &self.links }
    }
}

/// The access point's flow monitor and view of the links. Its transmit queues and channel access functions are in
/// [`Nodes`](crate::nodes::Nodes), with those of the stations.
pub(crate) struct AccessPoint {
    table: LinkTable,
}

impl AccessPoint {
    /// The flow monitor.
    pub(crate) fn flows(&self) -> &Flows {
        &self.table.flows
    }

    /// Shows a passing packet to the flow monitor; `held` returns whether a transmit queue holds a packet of a flow.
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

/// What schemes can read, at the access point and at the stations.
pub(crate) struct Views {
    pub ap: AccessPoint,
    /// Shared by all stations: a station has no flow monitor, so its scheme reads an idle one.
    stations: LinkTable,
}

impl Views {
    pub(crate) fn new(ap: LinkTable, stations: LinkTable) -> Views {
        Views { ap: AccessPoint { table: ap }, stations }
    }

    /// What the schemes of the AP (`is_ap`) or of a station can read.
    #[inline(always)]
    pub(crate) fn of(&self, is_ap: bool) -> View<'_> {
        if is_ap { self.ap.table.view() } else { self.stations.view() }
    }

    /// Records a queue size that the AP has read.
    pub(crate) fn set_queue_bytes(&mut self, station: StationId, ac: Ac, bytes: u32) {
        self.ap.table.links[station.index()].set_queue_bytes(ac, bytes);
    }

    /// Updates the rate of the sender of `link`.
    pub(crate) fn set_rate(&mut self, link: LinkId, rate: Rate) {
        let table = if link.sender().is_ap() { &mut self.ap.table } else { &mut self.stations };
        table.links[link.station().index()].rate = rate;
    }
}
