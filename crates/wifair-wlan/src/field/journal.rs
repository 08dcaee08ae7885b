//! The journal of a field: the frames on its air, for observers (`docs/medium.md`, section 16). A field without a journal
//! writes nothing.

use std::sync::{Arc, Mutex, MutexGuard};

use wifair_core::Time;

use super::frame::{ExchangeStep, FieldFrame};
use crate::transmission::FrameKind;

/// What becomes of a frame of a field at its addressee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldReception {
    /// Whether the addressee has decoded it; of a PPDU of MPDUs, at least one of them; a beacon, all stations of its BSS.
    pub is_decoded: bool,
    /// Whether it is an RTS that the addressee has decoded and does not answer, since its NAV is set or, with static width,
    /// a secondary channel is busy.
    pub is_unanswered: bool,
    /// Whether a frame that began at the same instant has disturbed it there.
    pub has_same_start: bool,
}

/// What a node that is listened to has of a frame that it was locked to until the end.
#[derive(Clone, Debug, PartialEq)]
pub struct HeardFrame {
    /// Place of the node in the field.
    pub node: usize,
    /// Power of the frame there, in all subchannels that are the node's.
    pub power_dbm: f64,
    /// Whether the node has decoded it; of a PPDU that is received MPDU by MPDU, each of them.
    pub decoded: Vec<bool>,
}

/// A frame of a field: an entry at its start, and one at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldJournalEntry {
    /// Place of its transmitter among the nodes of all BSSs: those of the first BSS come first, each access point before its
    /// stations.
    pub from: usize,
    /// Place of the node whose exchange it belongs to.
    pub sender: usize,
    /// When that exchange began: [`SentPpdu::begins`](crate::SentPpdu::begins) of what the sender transmits.
    pub began: Time,
    /// RTS, CTS, data (or a Block Ack Request), ACK (or a Block Ack), or beacon.
    pub kind: FrameKind,
    /// When it begins.
    pub begins: Time,
    /// When it ends.
    pub ends: Time,
    /// Its Duration field.
    pub duration: Time,
    /// What it leaves out of a channel of 80, 160 or 320 MHz, as Punctured Channel Information (Table 36-30 of 802.11be): 0 if
    /// nothing.
    pub puncturing: u8,
    /// What has become of it, once it has ended.
    pub reception: Option<FieldReception>,
    /// Once it has ended: what the nodes have that are listened to.
    pub heard: Vec<HeardFrame>,
}

/// Starts and ends of frames in order, until they are taken. Clones share their entries.
#[derive(Clone, Debug, Default)]
pub struct FieldJournal {
    entries: Arc<Mutex<Vec<FieldJournalEntry>>>,
    listeners: Arc<[usize]>,
}

impl FieldJournal {
    /// An empty journal.
    pub fn new() -> FieldJournal {
        FieldJournal::default()
    }

    /// An empty journal, for which the nodes at these places are listened to.
    pub fn at(listeners: &[usize]) -> FieldJournal {
        FieldJournal { listeners: listeners.into(), ..FieldJournal::default() }
    }

    /// The places of the nodes that are listened to.
    pub(super) fn listeners(&self) -> &[usize] {
        &self.listeners
    }

    /// Passes all entries so far to `each`, in order, and removes them.
    pub fn take(&self, each: impl FnMut(FieldJournalEntry)) {
        self.entries().drain(..).for_each(each);
    }

    fn entries(&self) -> MutexGuard<'_, Vec<FieldJournalEntry>> {
        self.entries.lock().expect("nobody panics while this is held")
    }

    /// Adds the start of a frame with this Punctured Channel Information, or its end with what has become of it and who has
    /// `heard` it.
    pub(super) fn add(
        &self,
        frame: &FieldFrame,
        puncturing: u8,
        reception: Option<FieldReception>,
        heard: Vec<HeardFrame>,
    ) {
        let &FieldFrame { kind, from, began, begins, ends, duration, .. } = frame;
        let kind = match kind {
            ExchangeStep::Rts => FrameKind::Rts,
            ExchangeStep::Cts => FrameKind::Cts,
            ExchangeStep::Data => FrameKind::Data,
            ExchangeStep::Ack => FrameKind::Ack,
            ExchangeStep::Beacon => FrameKind::Beacon,
        };
        let sender = frame.sender();
        self.entries().push(FieldJournalEntry {
            from,
            sender,
            began,
            kind,
            begins,
            ends,
            duration,
            puncturing,
            reception,
            heard,
        });
    }
}
