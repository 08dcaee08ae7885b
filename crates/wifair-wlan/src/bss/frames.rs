//! The MAC frames of the exchange that has just begun (`docs/medium.md`, sections 3, 11 and 12).

use wifair_core::Time;

use super::Bss;
use crate::exchange::{Collider, OngoingExchange, Phase, ReceptionOutcome};
use crate::field::FieldJournalEntry;
use crate::node::{EdcafId, Node};
use crate::phy::Mode;
use crate::phy::timing::{ControlFrame, ControlFrames};
use crate::transmission::{AirFrame, Beacon, Decoded, FrameKind, SentPpdu, TransmissionOutcome};

/// What a sender transmits in an exchange, from RTS or CTS-to-self to the response.
#[derive(Clone, Copy)]
struct FrameSequence<'a> {
    part_of: &'a SentPpdu<'a>,
    from: Node,
    to: Node,
    /// Kind, mode and preamble of the data frame, PPDU or Block Ack Request.
    kind: FrameKind,
    mode: Mode,
    preamble: Time,
    /// Its duration, with a CTS-to-self.
    airtime: Time,
    announcement: Time,
    /// Duration of a SIFS and the response.
    response: Time,
    response_kind: FrameKind,
    with_rts: bool,
    control: &'a ControlFrames,
    /// Duration of RTS and CTS, each with a SIFS.
    reservation: Time,
    sifs: Time,
}

impl<'a> FrameSequence<'a> {
    /// The data frame, PPDU or Block Ack Request, if it ends at `ends`.
    fn data(&self, ends: Time) -> AirFrame<'a> {
        let begins = ends + self.announcement - self.airtime;
        AirFrame {
            kind: self.kind,
            from: self.from,
            to: self.to,
            begins,
            psdu_begins: begins + self.preamble,
            ends,
            mode: self.mode,
            duration: self.response,
            decoded: Decoded::ByAll,
            part_of: Some(self.part_of),
        }
    }

    /// The response to `data` that ends at `ends`.
    fn response_to(&self, data: AirFrame<'a>, ends: Time) -> AirFrame<'a> {
        let begins = ends + self.sifs - self.response;
        AirFrame {
            kind: self.response_kind,
            from: data.to,
            to: data.from,
            begins,
            psdu_begins: begins + self.control.ack.preamble,
            ends,
            mode: self.control.ack.mode,
            duration: Time::ZERO,
            ..data
        }
    }

    /// The RTS at the beginning of the exchange.
    fn rts(&self, data: AirFrame<'a>, begins: Time) -> AirFrame<'a> {
        let rts = self.control.rts;
        AirFrame {
            kind: FrameKind::Rts,
            begins,
            psdu_begins: begins + rts.preamble,
            ends: begins + rts.duration,
            mode: rts.mode,
            duration: self.reservation - rts.duration + self.airtime + self.response,
            ..data
        }
    }

    /// The CTS that answers `rts`.
    fn cts_to(&self, rts: AirFrame<'a>) -> AirFrame<'a> {
        let cts = self.cts(rts, rts.ends + self.sifs);
        let duration = rts.duration - (cts.ends - rts.ends);
        AirFrame { from: rts.to, to: rts.from, duration, ..cts }
    }

    /// The CTS-to-self before `data`, if protection requires it.
    fn announcement(&self, data: AirFrame<'a>) -> Option<AirFrame<'a>> {
        self.control.announces().then(|| {
            let cts = self.cts(data, data.begins - self.announcement);
            AirFrame { to: data.from, duration: data.ends - cts.ends + self.response, ..cts }
        })
    }

    fn cts(&self, data: AirFrame<'a>, begins: Time) -> AirFrame<'a> {
        let cts = self.control.cts;
        AirFrame {
            kind: FrameKind::Cts,
            begins,
            psdu_begins: begins + cts.preamble,
            ends: begins + cts.duration,
            mode: cts.mode,
            ..data
        }
    }
}

impl Bss {
    /// The frames of the exchange that has just begun, in order of their ends, as far as they are transmitted. None in a field,
    /// where each node decodes other ones: see [`FieldJournalEntry::frame`].
    pub fn frames(&self, mut each: impl FnMut(&AirFrame)) {
        if self.exchanges.field.is_some() {
            return;
        }
        let transmissions: Vec<SentPpdu> = self.transmissions().collect();
        let sent_by = |sender: EdcafId| {
            let transmission =
                transmissions.iter().find(|transmission| transmission.sender == sender.number());
            self.sent(transmission.expect("it is a sender of the exchange"))
        };
        if self.exchanges.medium.phase() == Phase::Beacon {
            return self.beacon_frame().iter().for_each(each);
        }
        if !self.exchanges.medium.is_collision() {
            return self.frames_of_single(&sent_by(self.exchanges.medium.exchange().sender), &mut |frame| {
                each(&frame)
            });
        }
        let mut frames = Vec::with_capacity(2 * self.exchanges.medium.colliders().len() + 4);
        if !self.exchanges.medium.is_lost() {
            self.frames_of_single(&sent_by(self.exchanges.medium.exchange().sender), &mut |frame| {
                frames.push(frame)
            });
            frames[0].decoded = Decoded::ByAddressee;
        }
        for (index, &Collider { sender, with_rts, .. }) in
            self.exchanges.medium.colliders().iter().enumerate()
        {
            let sent = sent_by(sender);
            let ends = self.exchanges.medium.began() + sent.airtime;
            let data = AirFrame { decoded: Decoded::ByNobody, ..sent.data(ends) };
            let rts = with_rts.then(|| sent.rts(data, self.exchanges.medium.began()));
            let first = rts.unwrap_or(data);
            frames.extend(sent.announcement(data).filter(|_| !with_rts));
            if !self.exchanges.medium.is_in_vain(index) {
                frames.push(first);
                continue;
            }
            let answer = match rts {
                Some(rts) => sent.cts_to(rts),
                None => sent.response_to(data, self.exchanges.medium.exchange().end),
            };
            frames.push(AirFrame { decoded: Decoded::ByAddressee, ..first });
            frames.push(AirFrame { decoded: Decoded::ByNobody, ..answer });
        }
        frames.extend(self.beacon_frame());
        frames.sort_by_key(|frame| frame.ends);
        frames.iter().for_each(each);
    }

    /// The beacon on the air.
    fn beacon_frame(&self) -> Option<AirFrame<'static>> {
        let Beacon { begins, ends, mode, collides } = self.beacon()?;
        let preamble = self.exchanges.medium.beacons()?.on_air.preamble();
        Some(AirFrame {
            kind: FrameKind::Beacon,
            from: Node::Ap,
            to: Node::Ap,
            begins,
            psdu_begins: begins + preamble,
            ends,
            mode,
            duration: Time::ZERO,
            decoded: if collides { Decoded::ByNobody } else { Decoded::ByAll },
            part_of: None,
        })
    }

    fn frames_of_single<'a>(&self, sent: &FrameSequence<'a>, each: &mut impl FnMut(AirFrame<'a>)) {
        let OngoingExchange { outcome, end, follows, .. } = self.exchanges.medium.exchange();
        let data = sent.data(self.exchanges.medium.due());
        if !follows && sent.with_rts {
            let rts = sent.rts(data, self.exchanges.medium.began());
            each(rts);
            each(sent.cts_to(rts));
        } else if let Some(cts) = sent.announcement(data) {
            each(cts);
        }
        match outcome {
            ReceptionOutcome::DataLost => each(AirFrame { decoded: Decoded::ByBystanders, ..data }),
            ReceptionOutcome::Decoded | ReceptionOutcome::AckLost => {
                each(data);
                let decoded =
                    if outcome == ReceptionOutcome::AckLost { Decoded::ByBystanders } else { Decoded::ByAll };
                each(AirFrame { decoded, ..sent.response_to(data, end) });
            }
        }
    }

    /// The frames of a transmission.
    fn sent<'a>(&'a self, part_of: &'a SentPpdu<'a>) -> FrameSequence<'a> {
        let &SentPpdu { ref transmission, sender, from, to, .. } = part_of;
        let ppdu = &self.exchanges.ppdu(EdcafId::at(sender as usize));
        let index = usize::from(ppdu.control);
        let control = &self.exchanges.phy.control_frames[index];
        let (kind, mode, preamble) = match ppdu.is_request() {
            true => (FrameKind::BlockAckRequest, control.ack.mode, control.ack.preamble),
            false => {
                let modes = self.exchanges.modes.of(transmission.station);
                (FrameKind::Data, ppdu.mode, modes.on_air(modes.index_of(&ppdu.mode)).preamble())
            }
        };
        FrameSequence {
            part_of,
            from,
            to,
            kind,
            mode,
            preamble,
            airtime: ppdu.airtime,
            announcement: self.announcement_of(ppdu),
            response: ppdu.response,
            response_kind: if ppdu.mpdus == 1 { FrameKind::Ack } else { FrameKind::BlockAck },
            with_rts: ppdu.with_rts,
            control,
            reservation: self.exchanges.mac.waits[index].reservation,
            sifs: self.exchanges.phy.sifs,
        }
    }
}

impl FieldJournalEntry {
    /// The frame, of what a sender of `bss` has transmitted that has just come to know the outcome, or without that a beacon
    /// that has just ended. [`AirFrame::decoded`] says whether the addressee has decoded what was sent.
    pub fn frame<'a>(&self, bss: &'a Bss, part_of: Option<&'a SentPpdu<'a>>) -> Option<AirFrame<'a>> {
        let Some(part_of) = part_of else { return bss.beacon_frame() };
        let FrameSequence { control, response_kind, kind, mode, preamble, .. } = bss.sent(part_of);
        let of_control = |kind, frame: &ControlFrame| (kind, frame.mode, frame.preamble);
        let (kind, mode, preamble) = match self.kind {
            FrameKind::Rts => of_control(FrameKind::Rts, &control.rts),
            FrameKind::Cts => of_control(FrameKind::Cts, &control.cts),
            FrameKind::Ack => of_control(response_kind, &control.ack),
            _ => (kind, mode, preamble),
        };
        let is_response = matches!(self.kind, FrameKind::Cts | FrameKind::Ack);
        let &SentPpdu { from, to, outcome, .. } = part_of;
        let (from, to) = if is_response { (to, from) } else { (from, to) };
        let is_received = matches!(outcome, TransmissionOutcome::Acknowledged | TransmissionOutcome::AckLost);
        let decoded = if is_received { Decoded::ByAll } else { Decoded::ByNobody };
        let &FieldJournalEntry { begins, ends, duration, .. } = self;
        let (psdu_begins, part_of) = (begins + preamble, Some(part_of));
        Some(AirFrame { kind, from, to, begins, psdu_begins, ends, mode, duration, decoded, part_of })
    }
}
