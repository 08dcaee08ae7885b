//! What a node learns about the medium.

use super::Node;
use crate::oracle::agreement::Event;
use crate::oracle::flaw::Flaw;
use crate::oracle::frame::{Content, Frame, Heard, Kind, Mpdu, Packet};
use crate::oracle::timing::{ACK_BYTES, LLC_BYTES};

impl Node {
    pub fn energy(&mut self, on_air: bool) {
        self.energy_on_air = on_air;
    }

    /// Other nodes' frames start: an `access`, or what follows a SIFS after another frame. `answer`: a MAC ACK or CTS for me.
    /// Nothing else ends my wait (section 3).
    pub fn hear_start(&mut self, access: bool, answer: bool) {
        self.nav_left = 0;
        if access {
            self.noise_left = 0; // the next busy period (section 4)
        }
        for contender in &mut self.contenders {
            contender.slot_elapsed = 0;
        }
        if let Some(expected) = &mut self.expected {
            expected.begun |= answer;
        } else if self.response.is_none() {
            for c in 0..self.contenders.len() {
                if self.contenders[c].is_waiting() {
                    self.draw(c); // section 5, rule 4: the medium did not stay idle until the origin
                }
            }
        }
    }

    /// A frame has ended that I could not decode.
    pub fn hear_noise(&mut self) {
        self.wait();
        self.noise_left = self.rules.eifs_lead();
    }

    /// A frame has ended that its addressee alone could decode. For me too the medium is busy until the answer.
    pub fn sense_captured(&mut self) {
        self.wait();
        self.nav_left = self.rules.sifs;
    }

    /// Whether the channel spoils a frame for me, with probability `error`.
    pub fn is_spoilt(&mut self, error: f64) -> bool {
        error > 0.0 && self.channel.chance(error)
    }

    /// A frame has ended that I heard from its start, alone on the air or so strong. If it is for me, the channel spoils it
    /// with probability `error`.
    pub fn hear(&mut self, frame: &Frame, error: f64) -> Heard {
        // A CTS-to-self names its sender as receiver: for all others it is somebody else's.
        if frame.to != self.id || frame.kind == Kind::Announcement {
            self.wait();
            self.nav_left = match frame.kind {
                Kind::Data if self.rules.has(Flaw::NavWithoutResponse) => self.rules.sifs,
                _ => frame.duration_field,
            };
            return Heard::Decoded;
        }
        if let Content::Mpdus(mpdus) = &frame.content
            && frame.kind == Kind::Data
        {
            return self.hear_mpdus(frame, mpdus, error);
        }
        if self.is_spoilt(error) {
            self.hear_noise();
            if frame.kind.is_response() {
                self.exchange_is_over();
                self.fail();
            }
            return Heard::Garbled;
        }
        self.wait();
        match frame.kind {
            Kind::Rts => {
                let length = self.rules.control(ACK_BYTES, frame.reservation);
                self.respond(frame, Kind::Cts, length, frame.content.clone());
            }
            Kind::Cts => {
                self.expected = None;
                self.after_cts = true;
                if let Some(single) = self.contenders[self.sender].single() {
                    single.short = 0;
                }
                self.response = Some((self.settled_data(), self.rules.sifs));
            }
            Kind::Data => {
                let Content::Single { packet, .. } = frame.content else { unreachable!("seen to above") };
                let length = self.rules.control(ACK_BYTES, frame.response);
                self.respond(frame, Kind::Ack, length, frame.content.clone());
                let last = &mut self.last_from[frame.from][packet.category];
                let again = *last == Some(packet.id);
                *last = Some(packet.id);
                self.read_queue_size(frame, &[packet]);
                let passed_on = if again { Vec::new() } else { vec![packet] };
                self.counts[frame.from].received_again += u64::from(again);
                return self.receives(frame, vec![true], passed_on);
            }
            Kind::Request => {
                let Content::Request { start } = frame.content else {
                    unreachable!("a request says from where")
                };
                let recipient = &mut self.recipients[frame.from][frame.category];
                let passed_on = recipient.request(start, &mut self.events);
                self.note_next_timeout();
                self.respond_with_block_ack(frame, &[]);
                return self.receives(frame, Vec::new(), passed_on);
            }
            Kind::Ack | Kind::BlockAck => {
                if self.unanswered.take().is_some() {
                    let half = self.is_half_acknowledged(&frame.content);
                    self.peers[frame.from].ladder.hear_of(half);
                }
                self.succeed(frame);
            }
            Kind::Announcement | Kind::Beacon => unreachable!("for all others"),
        }
        Heard::Decoded
    }

    /// The next MPDU of a PPDU for me has ended: what is passed on.
    pub fn hear_mpdu(&mut self, frame: &Frame, error: f64) -> Vec<Packet> {
        let Content::Mpdus(mpdus) = &frame.content else { unreachable!("a PPDU") };
        let mpdu = &mpdus[self.decoded_of_ppdu.len()];
        let decoded = match self.decoded_of_ppdu.first() {
            Some(&first) if self.rules.has(Flaw::OneDraw) => first,
            _ => !self.is_spoilt(error) && self.spoilt_mpdus.get(self.decoded_of_ppdu.len()) != Some(&true),
        };
        self.decoded_of_ppdu.push(decoded);
        if !decoded {
            return Vec::new();
        }
        let recipient = &mut self.recipients[frame.from][frame.category];
        let passed_on = recipient.receive(mpdu, self.clock, &mut self.events);
        self.note_next_timeout();
        match passed_on {
            Some(packets) => {
                self.counts[frame.from].receive(&packets);
                packets
            }
            None => {
                self.counts[frame.from].received_again += mpdu.packets.len() as u64;
                Vec::new()
            }
        }
    }

    /// Which of the MPDUs of a PPDU for me, of those that have ended, I have decoded.
    pub fn decoded_of_ppdu(&self) -> &[bool] {
        &self.decoded_of_ppdu
    }

    /// A PPDU for me has ended, and with it the MPDUs that have not ended before; the channel spoils them one by one.
    fn hear_mpdus(&mut self, frame: &Frame, mpdus: &[Mpdu], error: f64) -> Heard {
        self.events.note_if(!self.decoded_of_ppdu.is_empty(), Event::OwnEnds);
        let mut passed_on = Vec::new();
        while self.decoded_of_ppdu.len() < mpdus.len() {
            passed_on.extend(self.hear_mpdu(frame, error));
        }
        let decoded = std::mem::take(&mut self.decoded_of_ppdu);
        let lost = mpdus.iter().zip(&decoded).any(|(mpdu, decoded)| mpdu.packets.len() > 1 && !decoded);
        self.events.note_if(lost, Event::AmsduLost);
        if !decoded.contains(&true) {
            self.hear_noise();
            return Heard::Garbled;
        }
        self.wait();
        if self.rules.has(Flaw::EifsAfterPartial) && decoded.contains(&false) {
            self.hear_noise();
        }
        let last = mpdus.iter().zip(&decoded).rfind(|(_, decoded)| **decoded).expect("there is one").0;
        self.read_queue_size(frame, &last.packets);
        match mpdus {
            [_] => {
                self.respond(frame, Kind::Ack, frame.duration_field - self.rules.sifs, frame.content.clone())
            }
            _ => self.respond_with_block_ack(frame, &decoded),
        }
        Heard::Receives { decoded, passed_on }
    }

    /// Reads the QoS Control field of an MPDU of a data frame with these packets.
    fn read_queue_size(&mut self, frame: &Frame, own: &[Packet]) {
        let own = own.iter().map(|packet| packet.ip_bytes + LLC_BYTES).sum();
        let size = self.rules.queue_size(self.peers[frame.from].mode(), frame.queued, own);
        if let (0, Some(bytes)) = (self.id, size) {
            self.queue_size = Some((frame.from, frame.category, bytes));
        }
    }

    fn receives(&mut self, frame: &Frame, decoded: Vec<bool>, passed_on: Vec<Packet>) -> Heard {
        self.counts[frame.from].receive(&passed_on);
        Heard::Receives { decoded, passed_on }
    }

    /// `decoded`: what was decoded of the MPDUs of this PPDU.
    fn respond_with_block_ack(&mut self, to: &Frame, decoded: &[bool]) {
        let mut all = self.recipients[to.from][to.category].decoded.clone();
        if let Content::Mpdus(mpdus) = &to.content
            && self.rules.has(Flaw::ForgetfulBitmap)
        {
            let now = mpdus.iter().zip(decoded).filter(|(_, decoded)| **decoded);
            all = now.map(|(mpdu, _)| mpdu.seq).collect();
        }
        let bitmap = self.rules.window(self.peers[to.from].mode().expect("a link with an agreement"));
        self.events.note_if((65..=256).contains(&bitmap), Event::Bitmap256);
        self.events.note_if((257..=512).contains(&bitmap), Event::Bitmap512);
        self.events.note_if(bitmap > 512, Event::Bitmap1024);
        // A Duration field covers the response.
        let length = to.duration_field - self.rules.sifs;
        self.respond(to, Kind::BlockAck, length, Content::Decoded(all));
    }

    fn respond(&mut self, to: &Frame, kind: Kind, length: u32, content: Content) {
        let sifs = self.rules.sifs;
        let frame = Frame {
            kind,
            from: self.id,
            to: to.from,
            length,
            duration_field: to.duration_field - sifs - length,
            opens_exchange: false,
            content,
            mpdu_ends: Vec::new(),
            ..*to
        };
        self.response = Some((frame, sifs));
    }

    /// Whether a response acknowledges half of what was sent.
    fn is_half_acknowledged(&self, response: &Content) -> bool {
        match (&self.settled_data().content, response) {
            (Content::Mpdus(sent), Content::Decoded(decoded)) => {
                let acknowledged = sent.iter().filter(|mpdu| decoded.contains(&mpdu.seq)).count();
                let more = usize::from(self.rules.has(Flaw::MoreThanHalf));
                2 * acknowledged >= sent.len() + more
            }
            _ => true,
        }
    }

    /// The exchange is over. If no MAC ACK came to my data frame, the rate adaptation is notified (section 8).
    pub fn exchange_is_over(&mut self) {
        if let Some(peer) = self.unanswered.take() {
            self.peers[peer].ladder.hear_of(false);
        }
    }
}
