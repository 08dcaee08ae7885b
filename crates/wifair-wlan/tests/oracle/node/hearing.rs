//! What a node is told about the medium.

use super::Node;
use crate::oracle::frame::{Frame, Heard, Kind};

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

    /// A frame has ended that I heard from its start, alone on the air or so strong. If it is for me, the channel spoils it with
    /// probability `error`.
    pub fn hear(&mut self, frame: &Frame, error: f64) -> Heard {
        // A CTS-to-self names its sender as receiver: for all others it is somebody else's.
        if frame.to != self.id || frame.kind == Kind::Announcement {
            self.wait();
            self.nav_left = frame.duration_field;
            return Heard::Decoded;
        }
        if self.is_spoilt(error) {
            self.hear_noise();
            if frame.kind == Kind::Ack {
                self.exchange_is_over();
                self.fail();
            }
            return Heard::Garbled;
        }
        self.wait();
        match frame.kind {
            Kind::Rts => self.respond(frame, Kind::Cts, self.rules.cts()),
            Kind::Cts => {
                self.expected = None;
                self.after_cts = true;
                let service = self.contenders[self.sender].in_service.as_mut();
                service.expect("a CTS answers a frame in service").short = 0;
                self.response = Some((self.settled_data(), self.rules.sifs));
            }
            Kind::Data => {
                self.respond(frame, Kind::Ack, self.rules.ack());
                let packet = frame.packet;
                let last = &mut self.last_from[frame.from][packet.category];
                if *last == Some(packet.id) {
                    self.counts[frame.from].received_again += 1;
                } else {
                    self.counts[frame.from].received += 1;
                    *last = Some(packet.id);
                    return Heard::Delivers(packet);
                }
            }
            Kind::Ack => {
                self.unanswered = None;
                self.rates[frame.from].hear_of(true);
                self.succeed();
            }
            Kind::Announcement => unreachable!("seen to above"),
        }
        Heard::Decoded
    }

    fn respond(&mut self, to: &Frame, kind: Kind, length: u32) {
        let sifs = self.rules.sifs;
        let frame = Frame {
            kind,
            from: self.id,
            to: to.from,
            length,
            duration_field: to.duration_field - sifs - length,
            opens_exchange: false,
            ..*to
        };
        self.response = Some((frame, sifs));
    }

    /// The exchange is over. If no MAC ACK came to my data frame, the rate adaptation hears of it (section 8).
    pub fn exchange_is_over(&mut self) {
        if let Some(peer) = self.unanswered.take() {
            self.rates[peer].hear_of(false);
        }
    }
}
