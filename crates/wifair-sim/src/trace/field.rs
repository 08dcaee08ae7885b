//! Captures in a field (`docs/medium.md`, section 16), where each radio receives other frames. What a radio has of a frame is
//! known when that ends; what it carries, when its sender knows the outcome of the exchange. It is written once both are known,
//! in order of starts, which is that of ends at each radio.

use std::collections::VecDeque;

use wifair_wlan::{AirFrame, Bss, FieldJournal, FieldJournalEntry, Node};

use super::dot11::{MacFrame, Transmitted};
use super::radiotap::RadioReception;

/// See the module documentation.
pub(super) struct FieldAir {
    journal: FieldJournal,
    /// By BSS: the place of its access point among the nodes of all BSSs. Its stations follow.
    places: Vec<usize>,
    /// On the air, or not known yet, in order of their starts.
    pending: VecDeque<(FieldJournalEntry, Option<Frames>)>,
}

/// What a frame, or each subframe of an A-MPDU, is on the air.
type Frames = Vec<(Transmitted, MacFrame)>;

/// A frame, or an A-MPDU, that has ended.
pub(super) struct KnownFrame {
    noted: FieldJournalEntry,
    pub frames: Frames,
}

impl KnownFrame {
    /// What the radio at a place has of the frame, or of the subframe of that number; `None` if that did not follow it to its
    /// end.
    pub fn received(&self, place: usize, index: usize) -> Option<RadioReception> {
        let puncturing = self.noted.puncturing;
        if self.noted.from == place {
            return Some(RadioReception { whole: true, signal_dbm: None, puncturing });
        }
        let heard = self.noted.heard.iter().find(|heard| heard.node == place)?;
        Some(RadioReception {
            whole: heard.decoded[index],
            signal_dbm: Some(heard.power_dbm.round() as i8),
            puncturing,
        })
    }
}

impl FieldAir {
    /// Of a field, with radios at the places `listeners`; `places` has those of access points.
    pub fn new(listeners: &[usize], places: Vec<usize>) -> FieldAir {
        FieldAir { journal: FieldJournal::at(listeners), places, pending: VecDeque::new() }
    }

    /// The journal that the field writes in.
    pub fn journal(&self) -> &FieldJournal {
        &self.journal
    }

    /// In the BSS of this number a sender knows the outcome of its exchange, or a beacon has ended: what its frames carry is
    /// known. `frames` gives what a frame is on the air.
    pub fn know(&mut self, number: usize, bss: &Bss, mut frames: impl FnMut(&AirFrame) -> Frames) {
        self.take_noted();
        let place = |node: Node| match node {
            Node::Ap => self.places[number],
            Node::Station(station) => self.places[number] + 1 + station.index(),
        };
        let beacon = bss.beacon().map(|beacon| (Node::Ap, beacon.begins, None));
        let sent = bss.transmissions().map(|sent| (sent.from, sent.begins, Some(sent)));
        for (node, began, sent) in beacon.into_iter().chain(sent) {
            let exchange = (place(node), began);
            for (noted, known) in &mut self.pending {
                if (noted.sender, noted.began) == exchange {
                    *known = noted.frame(bss, sent.as_ref()).as_ref().map(&mut frames);
                }
            }
        }
    }

    /// The next frame of which everything is known, unless one that began before it is not.
    pub fn next_known(&mut self) -> Option<KnownFrame> {
        self.pending.front().filter(|(noted, frames)| noted.reception.is_some() && frames.is_some())?;
        let (noted, frames) = self.pending.pop_front()?;
        Some(KnownFrame { noted, frames: frames? })
    }

    /// The run ends: frames are given up whose exchange has no outcome yet, or that are still on the air.
    pub fn end(&mut self) {
        self.take_noted();
        self.pending.retain(|(noted, frames)| noted.reception.is_some() && frames.is_some());
    }

    fn take_noted(&mut self) {
        let pending = &mut self.pending;
        self.journal.take(|noted| {
            let begun =
                |(one, _): &(FieldJournalEntry, _)| (one.from, one.begins) == (noted.from, noted.begins);
            match pending.iter().position(begun) {
                Some(index) => pending[index].0 = noted,
                None => pending.push_back((noted, None)),
            }
        });
    }
}
