//! What a live view records while the network runs.

use wifair_core::{Class, Packet, Time};
use wifair_queue::{Journal, TransmittedMpdu};
use wifair_wlan::{Bss, Decoded, FrameKind, Node, SentPpdu, TransmissionOutcome};

use super::field::FieldFrames;
use super::frames::{
    ACK, ACK_LOST, BEACON, COLLIDED, CTS, DATA, DATA_LOST, Frame, LiveMpdu, MPDU_DECODED, MPDU_LOST,
    NodeNumbers, RECEIVED, RTS,
};
use crate::address;
use crate::fingerprint::Fingerprint;
use crate::tap::Tap;

/// Maximum number of frames, and of events at transmit queues, waiting for a snapshot; beyond that the oldest are discarded and
/// counted.
pub(super) const MAX_WAITING: usize = 4096;

/// Records events at an AP's transmit queues and frames while asked to, and hashes the trajectory all the time.
pub(super) struct Watch {
    pub fingerprint: Fingerprint,
    pub recording: bool,
    pub journal: Journal,
    /// By slot: its flow.
    pub flow_of: Vec<u32>,
    pub nodes: NodeNumbers,
    /// If the nodes do not all hear each other.
    pub field: Option<FieldFrames>,
    pub frames: Vec<Frame>,
    pub omitted_frames: u64,
    /// Number of exchanges that have begun or, in a field, whose outcome is known.
    pub begun: u64,
    /// End of the exchange that began last.
    pub ends: Time,
}

impl Watch {
    /// Of a network whose BSSs have so many stations, in a field or not.
    pub(super) fn new(stations: impl Iterator<Item = usize>, in_field: bool) -> Watch {
        Watch {
            fingerprint: Fingerprint::new(),
            recording: false,
            journal: Journal::new(),
            flow_of: vec![],
            nodes: NodeNumbers::new(stations),
            field: in_field.then(FieldFrames::default),
            frames: vec![],
            omitted_frames: 0,
            begun: 0,
            ends: Time::ZERO,
        }
    }

    fn note(&mut self, frame: Frame) {
        if self.frames.len() >= 2 * MAX_WAITING {
            self.frames.drain(..MAX_WAITING);
            self.omitted_frames += MAX_WAITING as u64;
        }
        self.frames.push(frame);
    }

    /// Notes the frames of a field that can be shown.
    pub(super) fn note_field(&mut self) {
        let Some(mut field) = self.field.take() else { return };
        let mut frames = vec![];
        field.take(&self.nodes, |frame| frames.push(frame));
        self.field = Some(field);
        frames.into_iter().for_each(|frame| self.note(frame));
    }

    /// A sender in a field knows the outcome of its exchange.
    fn note_outcome(&mut self, number: usize, bss: &Bss) {
        if let Some(beacon) = bss.beacon() {
            self.ends = self.ends.max(beacon.ends);
            let place = self.nodes.place(number, Node::Ap);
            if let Some(field) = &mut self.field {
                field.know_beacon(place, &beacon);
            }
        }
        for sent in bss.transmissions() {
            self.ends = self.ends.max(sent.begins + sent.transmission.airtime);
            let (mpdus, place) = (self.mpdus(&sent), self.nodes.place(number, sent.from));
            if let Some(field) = &mut self.field {
                field.know(number, place, bss, &sent, mpdus);
            }
        }
        self.note_field();
    }

    fn mpdus(&self, sent: &SentPpdu) -> Vec<LiveMpdu> {
        let packets = sent.transmission.mpdus.iter().zip(&sent.decoded);
        packets.map(|(mpdu, decoded)| self.mpdu(mpdu, *decoded)).collect()
    }

    /// Records the PPDU of a link with a Block Ack agreement and its response, or only the RTS if that collides.
    fn note_transmission(&mut self, what: &SentPpdu, idle_since: Time) {
        let mpdus = self.mpdus(what);
        // A Block Ack Request carries no packet: it is shown as a control frame.
        let first = mpdus.first().copied();
        let outcome = match what.outcome {
            TransmissionOutcome::Acknowledged => RECEIVED,
            TransmissionOutcome::Collided => COLLIDED,
            TransmissionOutcome::DataLost => DATA_LOST,
            TransmissionOutcome::AckLost => ACK_LOST,
        };
        let lost_answer = outcome == ACK_LOST;
        let frame = Frame {
            begins: what.begins,
            ends: what.begins + what.transmission.airtime,
            node: self.nodes.of(0, what.from),
            kind: RTS,
            outcome: if lost_answer { RECEIVED } else { outcome },
            flow: first.map_or(0, |mpdu| mpdu.flow),
            class: first.map_or(Class::Other, |mpdu| mpdu.class),
            attempt: what.transmission.mpdus.first().map_or(1, |mpdu| mpdu.attempts),
            rate_mbps: what.transmission.rate.as_mbps(),
            waits_from: Some(idle_since).filter(|from| *from < what.begins),
            mpdus: vec![],
        };
        let Some((begins, ends)) = what.ppdu else { return self.note(frame) };
        if begins > what.begins {
            self.note(Frame { ends: begins, outcome: RECEIVED, ..frame.clone() });
        }
        let waits_from = frame.waits_from.filter(|_| begins == what.begins);
        let kind = if first.is_some() { DATA } else { RTS };
        self.note(Frame { begins, ends, kind, waits_from, mpdus, ..frame.clone() });
        if let Some((begins, ends)) = what.response {
            let outcome = if lost_answer { ACK_LOST } else { RECEIVED };
            let node = self.nodes.of(0, what.to);
            self.note(Frame { begins, ends, node, kind: ACK, outcome, waits_from: None, ..frame });
        }
    }

    fn mpdu(&self, sent: &TransmittedMpdu, decoded: bool) -> LiveMpdu {
        LiveMpdu {
            flow: self.flow_of[address::slot_of(&sent.packet.tuple)],
            class: sent.packet.class(),
            bytes: sent.packet.ip_bytes(),
            fate: if decoded { MPDU_DECODED } else { MPDU_LOST },
        }
    }
}

impl Tap for Watch {
    fn is_watching(&self) -> bool {
        self.recording
    }

    fn crossed_air(&mut self, now: Time, packet: &Packet, to: Node) {
        self.fingerprint.crossed_air(now, packet, to);
    }

    fn exchange(&mut self, number: usize, bss: &Bss) {
        let idle_since = self.ends;
        self.begun += 1;
        if self.field.is_some() {
            return self.note_outcome(number, bss);
        }
        if let Some(beacon) = bss.beacon() {
            self.ends = self.ends.max(beacon.ends);
            self.note(Frame {
                begins: beacon.begins,
                ends: beacon.ends,
                node: self.nodes.of(0, Node::Ap),
                kind: BEACON,
                outcome: if beacon.collides { COLLIDED } else { RECEIVED },
                flow: 0,
                class: Class::Other,
                attempt: 1,
                rate_mbps: beacon.mode.rate.as_mbps(),
                waits_from: None,
                mpdus: vec![],
            });
        }
        for ppdu in bss.transmissions() {
            self.ends = self.ends.max(ppdu.begins + ppdu.transmission.airtime);
        }
        let mut frames = vec![];
        bss.frames(|frame| {
            let Some(what) = frame.part_of.filter(|ppdu| !ppdu.has_agreement) else { return }; // below, as a PPDU
            let mpdu = &what.transmission.mpdus[0];
            let outcome = match (frame.decoded, what.outcome) {
                (Decoded::ByNobody, _) => COLLIDED,
                (_, TransmissionOutcome::DataLost) if frame.kind == FrameKind::Data => DATA_LOST,
                (_, TransmissionOutcome::AckLost) if frame.kind == FrameKind::Ack => ACK_LOST,
                _ => RECEIVED,
            };
            let first = !frames.iter().any(|(_, sender)| *sender == what.sender);
            let waits_from = first.then(|| bss.in_service_since(what.sender).max(idle_since));
            let noted = Frame {
                begins: frame.begins,
                ends: frame.ends,
                node: self.nodes.of(0, frame.from),
                kind: match frame.kind {
                    FrameKind::Data | FrameKind::Beacon => DATA,
                    FrameKind::Ack | FrameKind::BlockAck => ACK,
                    FrameKind::Rts | FrameKind::BlockAckRequest => RTS,
                    FrameKind::Cts => CTS,
                },
                outcome,
                flow: self.flow_of[address::slot_of(&mpdu.packet.tuple)],
                class: mpdu.packet.class(),
                attempt: mpdu.attempts,
                rate_mbps: frame.mode.rate.as_mbps(),
                waits_from: waits_from.filter(|from| *from < frame.begins),
                mpdus: vec![],
            };
            frames.push((noted, what.sender));
        });
        frames.into_iter().for_each(|(frame, _)| self.note(frame));
        for ppdu in bss.transmissions().filter(|ppdu| ppdu.has_agreement) {
            self.note_transmission(&ppdu, idle_since);
        }
    }
}
