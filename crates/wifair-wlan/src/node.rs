//! The nodes of a BSS, the links between them and their channel access functions, as numbers.

use std::ops::Range;

use wifair_core::{Ac, StationId};
use wifair_queue::Direction;

/// The categories from the highest to the lowest; a category's index here is its *rank*.
pub(crate) const RANKS: [Ac; 4] = [Ac::Voice, Ac::Video, Ac::BestEffort, Ac::Background];

/// The rank of a category.
#[inline]
pub(crate) fn rank(ac: Ac) -> usize {
    match ac {
        Ac::Voice => 0,
        Ac::Video => 1,
        Ac::BestEffort => 2,
        Ac::Background => 3,
    }
}

/// A node of a BSS, at an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The access point.
    Ap,
    /// A station.
    Station(StationId),
}

impl Node {
    /// Its place among the nodes of the BSS, of which the access point is the first.
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        match self {
            Node::Ap => 0,
            Node::Station(station) => station.index() + 1,
        }
    }

    /// The node at that place.
    pub(crate) fn at(index: usize) -> Node {
        match index.checked_sub(1) {
            None => Node::Ap,
            Some(station) => Node::Station(StationId(station as u16)),
        }
    }

    pub(crate) fn is_ap(self) -> bool {
        self == Node::Ap
    }
}

/// A channel access function of a BSS, and the transmit queue of the same number: under DCF one per node, under EDCA one per
/// node and category. Beacons contend as one that comes after all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EdcafId(u32);

impl EdcafId {
    /// None: the end of a list.
    pub(crate) const NONE: EdcafId = EdcafId(u32::MAX);
    /// The first of the access point.
    pub(crate) const FIRST: EdcafId = EdcafId(0);

    /// The one at that place.
    #[inline(always)]
    pub(crate) fn at(index: usize) -> EdcafId {
        EdcafId(index as u32)
    }

    /// Its place among all of the BSS.
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Its number in journals, traces and lists.
    #[inline(always)]
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// How the channel access functions of a BSS are numbered: those of the access point come first, each node's by rank of their
/// categories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbering {
    /// Bits of the number that encode the category.
    category_bits: u32,
}

impl Numbering {
    /// One per node.
    pub(crate) const DCF: Numbering = Numbering { category_bits: 0 };
    /// Four per node.
    pub(crate) const EDCA: Numbering = Numbering { category_bits: 2 };

    /// Number of functions per node.
    #[inline(always)]
    pub(crate) fn per_node(self) -> usize {
        1 << self.category_bits
    }

    /// Whether a node has a function per category (EDCA), or a single one (DCF).
    pub(crate) fn has_categories(self) -> bool {
        self.category_bits > 0
    }

    /// The function of a node for a category; under DCF the only one.
    #[inline(always)]
    pub(crate) fn edcaf(self, node: Node, ac: Ac) -> EdcafId {
        EdcafId::at(node.index() << self.category_bits | rank(ac) & (self.per_node() - 1))
    }

    /// The functions of a node.
    pub(crate) fn of_node(self, node: Node) -> impl Iterator<Item = EdcafId> {
        self.range(node).map(EdcafId::at)
    }

    /// The places of the functions of a node.
    pub(crate) fn range(self, node: Node) -> Range<usize> {
        let first = node.index() << self.category_bits;
        first..first + self.per_node()
    }

    /// The function of a node at a place among those of the node.
    pub(crate) fn function(self, node: usize, place: usize) -> EdcafId {
        EdcafId::at((node << self.category_bits) + place)
    }

    /// Whether a place among the functions of a node is that of its beacons: after the others.
    pub(crate) fn is_of_beacons(self, place: usize) -> bool {
        place == self.per_node()
    }

    /// The node of a function.
    pub(crate) fn node(self, edcaf: EdcafId) -> Node {
        Node::at(self.node_index(edcaf))
    }

    /// The place of a function's node among the nodes of the BSS.
    #[inline(always)]
    pub(crate) fn node_index(self, edcaf: EdcafId) -> usize {
        edcaf.index() >> self.category_bits
    }

    /// The place of a function among those of its node.
    pub(crate) fn place(self, edcaf: EdcafId) -> usize {
        edcaf.index() & (self.per_node() - 1)
    }

    /// The contender after those of `nodes` nodes.
    pub(crate) fn after(self, nodes: usize) -> EdcafId {
        EdcafId::at(nodes << self.category_bits)
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
    pub(crate) fn sender(self) -> Node {
        match self.direction() {
            Direction::Up => Node::Station(self.station()),
            Direction::Down => Node::Ap,
        }
    }

    /// The node that receives its data frames.
    pub(crate) fn receiver(self) -> Node {
        match self.direction() {
            Direction::Up => Node::Ap,
            Direction::Down => Node::Station(self.station()),
        }
    }
}
