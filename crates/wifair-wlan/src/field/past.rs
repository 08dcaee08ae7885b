//! The starts and ends of frames in the recent past of a field: what a node that has not followed them catches up on.

use wifair_core::Time;

use super::frame::{FieldFrame, FrameId, FramesOnAir};

/// Number of starts and ends after which all nodes catch up, and the past is forgotten.
const MOST: usize = 4_096;

/// What happens to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Start,
    /// The colour of its BSS is read.
    Colour,
    End,
}

/// The start or end of a frame, or its colour is read.
pub(super) struct Change {
    pub kind: ChangeKind,
    pub id: FrameId,
    pub frame: FieldFrame,
    /// Those that happened together have one number.
    pub batch: u64,
    /// Before it: the latest end of a NAV that a frame has set anywhere.
    pub nav_before: Time,
    /// If it is the end of a frame that is received MPDU by MPDU: where its MPDUs begin and end in [`Past::spans`].
    mpdus: (usize, usize),
}

impl Change {
    /// When it happened.
    pub(super) fn at(&self) -> Time {
        match self.kind {
            ChangeKind::Start => self.frame.begins,
            ChangeKind::Colour => self.frame.colour_read_at,
            ChangeKind::End => self.frame.ends,
        }
    }
}

/// See the module documentation.
#[derive(Default)]
pub(super) struct Past {
    changes: Vec<Change>,
    /// By change: its transmitter. Most changes do not reach a node that catches up.
    transmitters: Vec<u32>,
    spans: Vec<(Time, Time)>,
    batch: u64,
    nav: Time,
}

impl Past {
    /// The number of changes since the past was last forgotten.
    pub(super) fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether it is time to forget them.
    pub(super) fn is_long(&self) -> bool {
        self.changes.len() >= MOST
    }

    /// Forgets them.
    pub(super) fn forget(&mut self) {
        self.changes.clear();
        self.transmitters.clear();
        self.spans.clear();
    }

    /// The changes that follow happen together, and not with those before.
    pub(super) fn begin_batch(&mut self) {
        self.batch += 1;
    }

    /// Notes the start of a frame.
    pub(super) fn start(&mut self, id: FrameId, frame: &FieldFrame) {
        self.note(ChangeKind::Start, id, frame, &[]);
    }

    /// Notes that the colour of a frame is read.
    pub(super) fn read_colour(&mut self, id: FrameId, frame: &FieldFrame) {
        self.note(ChangeKind::Colour, id, frame, &[]);
    }

    /// Notes the end of a frame.
    pub(super) fn end(&mut self, id: FrameId, frame: &FieldFrame, mpdus: &[(Time, Time)]) {
        self.note(ChangeKind::End, id, frame, mpdus);
        self.nav = self.nav.max(frame.ends + frame.duration);
    }

    fn note(&mut self, kind: ChangeKind, id: FrameId, frame: &FieldFrame, mpdus: &[(Time, Time)]) {
        let first = self.spans.len();
        self.spans.extend_from_slice(mpdus);
        let (batch, nav_before) = (self.batch, self.nav);
        let mpdus = (first, self.spans.len());
        self.transmitters.push(frame.from as u32);
        self.changes.push(Change { kind, id, frame: *frame, batch, nav_before, mpdus });
    }

    /// The change of that number.
    pub(super) fn change(&self, index: usize) -> &Change {
        &self.changes[index]
    }

    /// The transmitter of the frame of a change.
    #[inline]
    pub(super) fn transmitter(&self, index: usize) -> usize {
        self.transmitters[index] as usize
    }

    /// The MPDUs of the frame that ends in a change.
    pub(super) fn mpdus(&self, change: &Change) -> &[(Time, Time)] {
        &self.spans[change.mpdus.0..change.mpdus.1]
    }

    /// The frame that had a place on the air before the change of number `index`.
    pub(super) fn frame<'a>(&'a self, id: FrameId, index: usize, frames: &'a FramesOnAir) -> &'a FieldFrame {
        let later =
            self.changes[index..].iter().find(|change| change.id == id && change.kind == ChangeKind::End);
        later.map_or(&frames[id], |change| &change.frame)
    }
}
