//! Numbers of the nodes of a BSS and of the links between them.

use wifair_core::StationId;
use wifair_queue::Direction;

/// The access point's node.
pub(crate) const AP: u32 = 0;

/// A station's node.
#[inline]
pub(crate) fn node_of(station: StationId) -> u32 {
    u32::from(station.0) + 1
}

/// A node at an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The access point.
    Ap,
    /// A station.
    Station(StationId),
}

impl Node {
    /// The node of that number.
    pub(crate) fn of(node: u32) -> Node {
        match node {
            AP => Node::Ap,
            node => Node::Station(StationId((node - 1) as u16)),
        }
    }
}

/// One direction of the link between a station and the AP; uplink and downlink of a station are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkId(u32);

impl LinkId {
    /// The link to `station` (`down`) or from it.
    pub(crate) fn of(down: bool, station: StationId) -> LinkId {
        LinkId(2 * u32::from(station.0) + u32::from(down))
    }

    /// The link with that index.
    pub(crate) fn at(index: usize) -> LinkId {
        LinkId(index as u32)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn station(self) -> StationId {
        StationId((self.0 / 2) as u16)
    }

    pub(crate) fn direction(self) -> Direction {
        if self.0.is_multiple_of(2) { Direction::Up } else { Direction::Down }
    }

    /// The node that sends its data frames.
    pub(crate) fn sender(self) -> u32 {
        match self.direction() {
            Direction::Up => node_of(self.station()),
            Direction::Down => AP,
        }
    }

    /// The node that receives its data frames.
    pub(crate) fn receiver(self) -> u32 {
        match self.direction() {
            Direction::Up => AP,
            Direction::Down => node_of(self.station()),
        }
    }
}
