//! Frames on the air as a live view shows them.

use serde_json::{Value, json};
use wifair_core::{Class, Time};
use wifair_wlan::Node;

/// Kinds of frames.
pub(super) const DATA: u8 = 0;
pub(super) const ACK: u8 = 1;
/// An RTS or a Block Ack Request.
pub(super) const RTS: u8 = 2;
pub(super) const CTS: u8 = 3;
pub(super) const BEACON: u8 = 4;

/// Outcomes of frames: [`COLLIDED`] also of one lost to a frame of the same start in a field.
pub(super) const RECEIVED: u8 = 0;
pub(super) const COLLIDED: u8 = 1;
pub(super) const DATA_LOST: u8 = 2;
pub(super) const ACK_LOST: u8 = 3;
pub(super) const LOST_TO_HIDDEN: u8 = 4;
/// Of an RTS that is decoded.
pub(super) const UNANSWERED: u8 = 5;

/// What becomes of an MPDU.
pub(super) const MPDU_LOST: u8 = 0;
pub(super) const MPDU_DECODED: u8 = 1;
pub(super) const MPDU_LOST_TO_HIDDEN: u8 = 2;

/// A frame on the air, and the wait for access before it.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub begins: Time,
    pub ends: Time,
    /// See [`NodeNumbers`].
    pub node: u32,
    pub kind: u8,
    pub outcome: u8,
    pub flow: u32,
    pub class: Class,
    pub attempt: u32,
    pub rate_mbps: f64,
    /// When its sender began to wait for access; for the first frame of a transmission only.
    pub waits_from: Option<Time>,
    /// Packets of a PPDU with a Block Ack agreement.
    pub mpdus: Vec<LiveMpdu>,
}

impl Frame {
    /// Times are before `now`, in nanoseconds.
    pub(super) fn row(&self, now: Time) -> Value {
        let before = |at: Time| before(now, at);
        let of = |mpdu: &LiveMpdu| [mpdu.flow, mpdu.class as u32, mpdu.bytes, u32::from(mpdu.fate)];
        let mpdus: Vec<u32> = self.mpdus.iter().flat_map(of).collect();
        json!([
            before(self.begins),
            before(self.ends),
            self.node,
            self.kind,
            self.outcome,
            self.flow,
            self.class as u8,
            self.attempt,
            self.rate_mbps,
            before(self.waits_from.unwrap_or(self.begins)),
            mpdus,
        ])
    }
}

/// How long before `now` a time is, in nanoseconds.
pub(super) fn before(now: Time, at: Time) -> i64 {
    now.as_ns() as i64 - at.as_ns() as i64
}

/// A packet on the air in an MPDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiveMpdu {
    pub flow: u32,
    pub class: Class,
    pub bytes: u32,
    pub fate: u8,
}

/// The nodes of a network in one list: the access point of the first BSS, all stations, then the other access points.
pub(super) struct NodeNumbers {
    /// By BSS: the place of its access point among the nodes of a field.
    firsts: Vec<usize>,
    /// By place among the nodes of a field, where each access point comes before its stations.
    by_place: Vec<u32>,
}

impl NodeNumbers {
    /// `stations` has the number of stations of each BSS.
    pub(super) fn new(stations: impl Iterator<Item = usize>) -> NodeNumbers {
        let stations: Vec<u32> = stations.map(|count| count as u32).collect();
        let all: u32 = stations.iter().sum();
        let (mut firsts, mut by_place, mut first) = (vec![], vec![], 0);
        for (bss, count) in (0..).zip(stations) {
            firsts.push(by_place.len());
            by_place.push(if bss == 0 { 0 } else { all + bss });
            by_place.extend((first..first + count).map(|station| station + 1));
            first += count;
        }
        NodeNumbers { firsts, by_place }
    }

    /// Of a node of a BSS.
    pub(super) fn of(&self, bss: usize, node: Node) -> u32 {
        self.by_place[self.place(bss, node)]
    }

    /// Of the node at a place of the field.
    pub(super) fn at(&self, place: usize) -> u32 {
        self.by_place[place]
    }

    /// The place in the field of a node of a BSS.
    pub(super) fn place(&self, bss: usize, node: Node) -> usize {
        match node {
            Node::Ap => self.firsts[bss],
            Node::Station(station) => self.firsts[bss] + 1 + station.index(),
        }
    }
}

#[cfg(test)]
mod tests {
    use wifair_core::StationId;

    use super::*;

    #[test]
    fn other_access_points_come_after_all_stations() {
        let numbers = NodeNumbers::new([2, 1, 0].into_iter());
        let nodes = |bss, stations: u16| {
            std::iter::once(Node::Ap)
                .chain((0..stations).map(StationId).map(Node::Station))
                .map(move |node| (bss, node))
        };
        let all = nodes(0, 2).chain(nodes(1, 1)).chain(nodes(2, 0));
        let found: Vec<(usize, u32)> =
            all.map(|(bss, node)| (numbers.place(bss, node), numbers.of(bss, node))).collect();
        assert_eq!(found, [(0, 0), (1, 1), (2, 2), (3, 4), (4, 3), (5, 5)]);
        assert!((0..6).all(|place| numbers.at(place) == found[place].1));
    }
}
