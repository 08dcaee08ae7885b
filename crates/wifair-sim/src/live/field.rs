//! Frames of a field (`docs/medium.md`, section 16). When a frame ends it is known what has become of it; what it carries is
//! known when its sender knows the outcome of the exchange. The frame is shown from then on.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wifair_core::{Class, Time};
use wifair_wlan::{Beacon, Bss, FieldJournal, FieldJournalEntry, FieldReception, FrameKind, SentPpdu};

use super::frames::{
    ACK, BEACON, COLLIDED, CTS, DATA, Frame, LOST_TO_HIDDEN, LiveMpdu, MPDU_LOST, MPDU_LOST_TO_HIDDEN,
    NodeNumbers, RECEIVED, RTS, UNANSWERED, before,
};

/// After this time nobody learns any more what a frame has carried: recording began between its exchange's outcome and its end.
const LOST_TRACK: Time = Time::from_s(1);

/// An exchange whose outcome its sender knows.
struct KnownExchange {
    began: Time,
    flow: u32,
    class: Class,
    attempt: u32,
    rate_mbps: f64,
    waits_from: Option<Time>,
    /// Packets under a Block Ack agreement; without one none are listed.
    mpdus: Vec<LiveMpdu>,
    is_request: bool,
}

/// See the module documentation.
#[derive(Default)]
pub(super) struct FieldFrames {
    journal: FieldJournal,
    /// On the air, or ended and not shown yet.
    pending: Vec<FieldJournalEntry>,
    /// By place in the field: the last exchange whose outcome that node knows.
    known: BTreeMap<usize, KnownExchange>,
    /// By BSS and channel access function: when it last knew an outcome.
    outcomes: BTreeMap<(usize, u32), Time>,
}

impl FieldFrames {
    /// The journal that the field writes in.
    pub(super) fn journal(&self) -> &FieldJournal {
        &self.journal
    }

    /// Recording begins, or ends: nothing is known of what is on the air. Returns the journal.
    pub(super) fn begin(&mut self) -> &FieldJournal {
        self.journal.take(|_| ());
        self.pending.clear();
        self.known.clear();
        self.outcomes.clear();
        &self.journal
    }

    /// A sender of the BSS of this number, at `place`, knows the outcome of its exchange, in which it has sent the packets
    /// `mpdus`.
    pub(super) fn know(
        &mut self,
        number: usize,
        place: usize,
        bss: &Bss,
        sent: &SentPpdu,
        mpdus: Vec<LiveMpdu>,
    ) {
        let first = mpdus.first().copied();
        let outcome_at = sent.begins + sent.transmission.airtime;
        let sender = (number, sent.sender);
        let since = bss.in_service_since(sent.sender);
        let waits_from = self.outcomes.insert(sender, outcome_at).map_or(since, |last| last.max(since));
        self.known.insert(
            place,
            KnownExchange {
                began: sent.begins,
                flow: first.map_or(0, |mpdu| mpdu.flow),
                class: first.map_or(Class::Other, |mpdu| mpdu.class),
                attempt: sent.transmission.mpdus.first().map_or(1, |mpdu| mpdu.attempts),
                rate_mbps: sent.transmission.rate.as_mbps(),
                waits_from: Some(waits_from).filter(|from| *from < sent.begins),
                is_request: first.is_none(),
                mpdus: if sent.has_agreement { mpdus } else { vec![] },
            },
        );
    }

    /// A beacon of the access point at `place` has ended.
    pub(super) fn know_beacon(&mut self, place: usize, beacon: &Beacon) {
        self.known.insert(
            place,
            KnownExchange {
                began: beacon.begins,
                flow: 0,
                class: Class::Other,
                attempt: 1,
                rate_mbps: beacon.mode.rate.as_mbps(),
                waits_from: None,
                mpdus: vec![],
                is_request: false,
            },
        );
    }

    /// Passes the frames that have ended, and whose senders know the outcome, to `each`.
    pub(super) fn take(&mut self, nodes: &NodeNumbers, mut each: impl FnMut(Frame)) {
        let FieldFrames { journal, pending, known, .. } = self;
        journal.take(|entry| {
            let is_it = |one: &FieldJournalEntry| (one.from, one.begins) == (entry.from, entry.begins);
            match pending.iter_mut().find(|one| is_it(one)) {
                Some(begun) => *begun = entry,
                None => pending.push(entry),
            }
        });
        pending.retain(|entry| {
            let exchange = known.get(&entry.sender).filter(|exchange| exchange.began == entry.began);
            let (Some(exchange), Some(reception)) = (exchange, &entry.reception) else { return true };
            each(frame(entry, reception, exchange, nodes));
            false
        });
    }

    /// The frames of which the outcome or what they carry is not known: times before `now` in nanoseconds, node and kind.
    pub(super) fn under_way(&mut self, nodes: &NodeNumbers, now: Time) -> Vec<Value> {
        self.pending.retain(|entry| entry.ends + LOST_TRACK > now);
        let row = |entry: &FieldJournalEntry| {
            json!([
                before(now, entry.begins),
                before(now, entry.ends.min(now)),
                nodes.at(entry.from),
                kind(entry)
            ])
        };
        self.pending.iter().map(row).collect()
    }
}

/// The kind of a frame that carries packets if it is a data frame.
fn kind(entry: &FieldJournalEntry) -> u8 {
    match entry.kind {
        FrameKind::Data => DATA,
        FrameKind::Beacon => BEACON,
        FrameKind::Ack | FrameKind::BlockAck => ACK,
        FrameKind::Rts | FrameKind::BlockAckRequest => RTS,
        FrameKind::Cts => CTS,
    }
}

fn frame(
    entry: &FieldJournalEntry,
    reception: &FieldReception,
    exchange: &KnownExchange,
    nodes: &NodeNumbers,
) -> Frame {
    let kind = if exchange.is_request && entry.kind == FrameKind::Data { RTS } else { kind(entry) };
    let lost = match reception.has_same_start {
        true => (COLLIDED, MPDU_LOST),
        false => (LOST_TO_HIDDEN, MPDU_LOST_TO_HIDDEN),
    };
    let fate =
        |mpdu: &LiveMpdu| LiveMpdu { fate: if mpdu.fate == MPDU_LOST { lost.1 } else { mpdu.fate }, ..*mpdu };
    Frame {
        begins: entry.begins,
        ends: entry.ends,
        node: nodes.at(entry.from),
        kind,
        outcome: match reception {
            FieldReception { is_unanswered: true, .. } => UNANSWERED,
            FieldReception { is_decoded: true, .. } => RECEIVED,
            FieldReception { .. } => lost.0,
        },
        flow: exchange.flow,
        class: exchange.class,
        attempt: exchange.attempt,
        rate_mbps: exchange.rate_mbps,
        waits_from: exchange.waits_from.filter(|_| entry.begins == entry.began),
        mpdus: if kind == DATA { exchange.mpdus.iter().map(fate).collect() } else { vec![] },
    }
}
