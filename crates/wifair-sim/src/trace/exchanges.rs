//! What the exchanges of a BSS say in captures: sequence numbers, Retry bits, what Block Acks acknowledge.

use std::collections::BTreeMap;

use wifair_core::{Packet, StationId};
use wifair_wlan::{AirFrame, Decoded, Format, FrameKind, SentPpdu};

use super::dot11::{Body, Sequences, Stamp};
use super::radiotap::Subframe;
use super::scoreboard::{BlockAckScoreboard, SequenceSet};

/// See the module documentation.
pub(super) struct TracedExchanges {
    has_edca: bool,
    sequences: Sequences,
    /// By sender and station.
    agreements: BTreeMap<(u32, StationId), TracedAgreement>,
    /// The reference number of its last A-MPDU.
    a_mpdus: u32,
    /// The bitmap of the Block Ack being written.
    bitmap: Vec<u8>,
}

/// Reference numbers of A-MPDUs of one BSS: those of the next have others.
const A_MPDUS_OF_A_BSS: u32 = 1 << 20;

impl TracedExchanges {
    /// Of the BSS with that number, with EDCA or DCF, before its first exchange.
    pub fn new(number: usize, has_edca: bool) -> TracedExchanges {
        TracedExchanges {
            has_edca,
            sequences: Sequences::default(),
            agreements: BTreeMap::new(),
            a_mpdus: A_MPDUS_OF_A_BSS * number as u32,
            bitmap: vec![],
        }
    }

    /// Starts a transmission. Its frames follow.
    pub fn begin(&mut self, ppdu: &SentPpdu) {
        if !ppdu.has_agreement {
            self.sequences.begin(ppdu);
        }
    }

    /// Passes a frame and what it contains to `write`; a PPDU of MPDUs MPDU by MPDU.
    pub fn each_body(&mut self, frame: &AirFrame, mut write: impl FnMut(&AirFrame, Body)) {
        let TracedExchanges { has_edca, sequences, agreements, a_mpdus, bitmap } = self;
        let Some(ppdu) = frame.part_of else {
            let sequence = sequences.beacon(*has_edca);
            return write(frame, Body::Beacon { sequence });
        };
        if !ppdu.has_agreement {
            let body = match frame.kind {
                FrameKind::Data => {
                    let (packets, stamp) = (&[ppdu.transmission.mpdus[0].packet], sequences.stamp(ppdu));
                    return write(frame, Body::Data { packets, ac: ppdu.category, stamp, subframe: None });
                }
                _ => Body::None,
            };
            return write(frame, body);
        }
        let ac = ppdu.category.expect("links with an agreement have categories");
        let new = || TracedAgreement::new(ppdu.window);
        let agreement = agreements.entry((ppdu.sender, ppdu.transmission.station)).or_insert_with(new);
        match frame.kind {
            FrameKind::Data => {
                agreement.begin(ppdu);
                let count = ppdu.by_mpdu().count();
                let has_delimiters = count > 1 || frame.mode.format >= Format::Vht;
                *a_mpdus = a_mpdus.wrapping_add(u32::from(has_delimiters));
                for (index, (packets, is_decoded)) in ppdu.by_mpdu().enumerate() {
                    let lost = frame.decoded == Decoded::ByAll && !is_decoded;
                    let decoded = if lost { Decoded::ByBystanders } else { frame.decoded };
                    let subframe = has_delimiters.then(|| Subframe {
                        reference: *a_mpdus,
                        is_last: index + 1 == count,
                        eof: (frame.mode.format >= Format::Vht).then_some(count == 1),
                    });
                    let stamp = agreement.send(packets[0].sequence.unwrap_or_default(), is_decoded);
                    let packets: Vec<&Packet> = packets.iter().map(|sent| sent.packet).collect();
                    let body = Body::Data { packets: &packets, ac: Some(ac), stamp, subframe };
                    write(&AirFrame { decoded, ..*frame }, body);
                }
            }
            FrameKind::BlockAckRequest => {
                if frame.decoded == Decoded::ByAll {
                    agreement.scoreboard.request(ppdu.window_start);
                }
                write(frame, Body::Request { ac, start: ppdu.window_start });
            }
            FrameKind::BlockAck => {
                bitmap.clear();
                let fragment = agreement.scoreboard.write(bitmap);
                let start = agreement.scoreboard.start();
                write(frame, Body::BlockAck { ac, start, fragment, bitmap });
            }
            FrameKind::Rts => {
                agreement.begin(ppdu);
                write(frame, Body::None);
            }
            FrameKind::Cts | FrameKind::Ack | FrameKind::Beacon => write(frame, Body::None),
        }
    }
}

/// Both ends of a Block Ack agreement.
struct TracedAgreement {
    scoreboard: BlockAckScoreboard,
    /// Which of the MPDUs not yet acknowledged or given up have been on the air.
    sent: SequenceSet,
}

impl TracedAgreement {
    fn new(window: u32) -> TracedAgreement {
        TracedAgreement { scoreboard: BlockAckScoreboard::new(window as u16), sent: SequenceSet::default() }
    }

    /// Starts a transmission: numbers come again after 4,096 MPDUs.
    fn begin(&mut self, ppdu: &SentPpdu) {
        let new = ppdu.transmission.mpdus.iter().filter(|mpdu| mpdu.attempts == 1);
        new.filter_map(|mpdu| mpdu.sequence).for_each(|sequence| self.sent.clear(sequence));
    }

    /// Sends an MPDU, which the recipient may decode.
    fn send(&mut self, sequence: u16, decoded: bool) -> Stamp {
        let is_retry = self.sent.has(sequence);
        self.sent.set(sequence);
        if decoded {
            self.scoreboard.receive(sequence);
        }
        Stamp { sequence, is_retry }
    }
}
