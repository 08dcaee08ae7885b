//! Observation of the BSS: the MAC frames of the exchange that has just begun, and the journal of all ports.
//!
//! An exchange is fully determined when it starts (`docs/medium.md`, section 3), so its frames can be listed at once, with the
//! times at which they will be on the air.

use wifair_core::{Ac, Packet, StationId, Time};
use wifair_queue::{Direction, Journal};

use super::Bss;
use crate::aggregation::SentMpdu;
use crate::exchange::{Collider, Fate, OngoingExchange};
use crate::node::{LinkId, Node};
use crate::phy::{Handshake, Mode};

/// Kind of a frame in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Request to send (9.3.1.2).
    Rts,
    /// Clear to send (9.3.1.3).
    Cts,
    /// The data frame that carries the packet.
    Data,
    /// The MAC's acknowledgement (9.3.1.4).
    Ack,
}

/// Which nodes can decode a frame. A node receives nothing while it transmits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// All nodes.
    ByAll,
    /// All nodes but the addressee.
    ByBystanders,
    /// Only the addressee, which captures it from a collision.
    ByAddressee,
    /// No node: it collides, or answers a frame of a collision in vain.
    ByNobody,
}

/// A MAC frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirFrame<'a> {
    /// Kind of the frame.
    pub kind: FrameKind,
    /// Its transmitter; for a CTS-to-self, also its addressee.
    pub from: Node,
    /// Its addressee.
    pub to: Node,
    /// When its preamble begins.
    pub begins: Time,
    /// When its PSDU begins.
    pub psdu_begins: Time,
    /// When it ends.
    pub ends: Time,
    /// The mode of its PSDU.
    pub mode: Mode,
    /// Its Duration field (9.2.5): duration of the rest of the exchange.
    pub duration: Time,
    /// Which nodes can decode it.
    pub decoded: Decoded,
    /// The transmission that it belongs to.
    pub attempt: Attempted<'a>,
}

/// The transmission of a packet to which a frame belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempted<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Its sender: the number of the category's port or, if a node's categories share a port, the number that a separate port
    /// would have.
    pub sender: u32,
    /// Its access category; none under DCF.
    pub ac: Option<Ac>,
    /// The station at one end of the link.
    pub station: StationId,
    /// Number of the transmission, from 1; an RTS without a response counts, too.
    pub number: u32,
}

/// Outcome of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// All nodes decode data and MAC ACK.
    Acknowledged,
    /// Other nodes transmitted at the same time.
    Collided,
    /// Its receiver cannot decode the data frame.
    DataLost,
    /// Its sender cannot decode the MAC ACK; or no node can, since it answers a captured frame while others are on the air.
    AckLost,
}

/// A transmission as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// Packet and sender.
    pub what: Attempted<'a>,
    /// The outcome.
    pub outcome: AttemptOutcome,
    /// When it begins.
    pub begins: Time,
    /// Time for which its frames occupy the medium.
    pub airtime: Time,
    /// The mode of the data frame.
    pub mode: Mode,
}

/// The transmission of a PPDU, or of a Block Ack Request, of a link with a Block Ack agreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmission<'a> {
    /// The transmitter.
    pub from: Node,
    /// The addressee.
    pub to: Node,
    /// Its access category.
    pub ac: Ac,
    /// Outcome of the exchange. A PPDU is acknowledged if some MPDUs are decoded and the response arrives.
    pub outcome: AttemptOutcome,
    /// When it begins.
    pub begins: Time,
    /// Time for which its frames occupy the medium.
    pub airtime: Time,
    /// The mode of the PPDU.
    pub mode: Mode,
    /// Start and end of the PPDU; `None` if an RTS collides.
    pub ppdu: Option<(Time, Time)>,
    /// Start and end of the ACK or Block Ack that answers it, if there is one.
    pub response: Option<(Time, Time)>,
    /// Its MPDUs, in order; none in a Block Ack Request.
    pub mpdus: Vec<SentMpdu<'a>>,
}

impl Bss {
    /// Makes every port write in `journal` from now on.
    pub fn keep_journal(&mut self, journal: &Journal) {
        self.nodes.keep_journal(journal);
    }

    /// The node and category of each port, by its number; no category under DCF, and if a node's categories share a port.
    pub fn ports(&self) -> impl Iterator<Item = (Node, Option<Ac>)> {
        self.nodes.ports().map(|(node, ac)| (Node::of(node), ac))
    }

    /// The node of the port, or sender, of this number.
    pub fn node_of_port(&self, port: u32) -> Node {
        Node::of(port >> self.nodes.category_bits())
    }

    /// The transmissions of single frames in the exchange that has just begun: one, or those that collide.
    pub fn attempts(&self) -> impl Iterator<Item = Attempt<'_>> {
        let (collide, exchange, begins) =
            (self.medium.is_collision(), self.medium.exchange(), self.medium.began());
        let attempt = move |sender, outcome, ends: Time| Attempt {
            what: self.attempted(sender),
            outcome,
            begins,
            airtime: ends - begins,
            mode: self.nodes.edcaf(sender).last_attempt().1,
        };
        let outcome = outcome_of(exchange.fate);
        let is_frame = |sender: u32| !self.nodes.edcaf(sender).serves_queue();
        let is_one = (!collide || !self.medium.is_lost()) && is_frame(exchange.sender);
        let single = is_one.then(|| attempt(exchange.sender, outcome, exchange.end));
        let colliders = if collide { self.medium.colliders() } else { &[] };
        let colliders = colliders.iter().enumerate().filter(move |(_, collider)| is_frame(collider.sender));
        single.into_iter().chain(colliders.map(move |(index, collider)| {
            let outcome = match self.medium.is_in_vain(index) && !collider.with_rts {
                true => AttemptOutcome::AckLost,
                false => AttemptOutcome::Collided,
            };
            attempt(collider.sender, outcome, self.medium.end_of_attempt(index))
        }))
    }

    /// The transmissions of links with a Block Ack agreement in the exchange that has just begun.
    pub fn transmissions(&self) -> impl Iterator<Item = Transmission<'_>> {
        let (collide, exchange, begins) =
            (self.medium.is_collision(), self.medium.exchange(), self.medium.began());
        let transmission = move |sender: u32, outcome, ends: Time, ppdu_ends: Option<Time>| {
            let edcaf = self.nodes.edcaf(sender);
            let (from, to) = self.ends_of(edcaf.link());
            let on_air = self.on_air(sender);
            let reaches = outcome != AttemptOutcome::Collided;
            let is_answered = matches!(outcome, AttemptOutcome::Acknowledged | AttemptOutcome::AckLost);
            Transmission {
                from,
                to,
                ac: edcaf.role().ac,
                outcome,
                begins,
                airtime: ends - begins,
                mode: edcaf.ppdu().mode,
                ppdu: ppdu_ends.map(|ends| (ends + on_air.announcement() - edcaf.ppdu().airtime, ends)),
                response: ppdu_ends
                    .filter(|_| is_answered)
                    .map(|data_ends| (data_ends + self.phy.sifs, ends)),
                mpdus: self.nodes.mpdus_on_air(sender, reaches).collect(),
            }
        };
        let outcome = outcome_of(exchange.fate);
        let single = (!collide).then(|| (exchange.sender, outcome, exchange.end, Some(self.medium.due())));
        let colliders = if collide { self.medium.colliders() } else { &[] };
        let colliders = colliders
            .iter()
            .map(|c| (c.sender, AttemptOutcome::Collided, c.ends, (!c.with_rts).then_some(c.ends)));
        let all = single.into_iter().chain(colliders);
        let all = all.filter(|(sender, ..)| self.nodes.edcaf(*sender).serves_queue());
        all.map(move |(sender, outcome, ends, ppdu_ends)| transmission(sender, outcome, ends, ppdu_ends))
    }

    /// The frames of the exchange that has just begun, except those of links with a Block Ack agreement, in order of their
    /// ends, as far as they are transmitted.
    pub fn frames(&self, mut each: impl FnMut(&AirFrame)) {
        let is_frame = |sender| !self.nodes.edcaf(sender).serves_queue();
        if !self.medium.is_collision() {
            if !is_frame(self.medium.exchange().sender) {
                return;
            }
            return self.frames_of_single(&mut |frame| each(&frame));
        }
        let mut frames = Vec::with_capacity(2 * self.medium.colliders().len() + 4);
        if !self.medium.is_lost() {
            self.frames_of_single(&mut |frame| frames.push(frame));
            frames[0].decoded = Decoded::ByAddressee;
        }
        for (index, &Collider { sender, link, with_rts, .. }) in self.medium.colliders().iter().enumerate() {
            if !is_frame(sender) {
                continue;
            }
            let airtime = self.data_airtime(sender);
            let ends = self.medium.began() + airtime;
            let data =
                AirFrame { decoded: Decoded::ByNobody, ..self.data_frame(sender, link, airtime, ends) };
            let rts = with_rts.then(|| self.rts(data, airtime));
            let first = rts.unwrap_or(data);
            frames.extend(self.announcement(data).filter(|_| !with_rts));
            if !self.medium.is_in_vain(index) {
                frames.push(first);
                continue;
            }
            let answer = match rts {
                Some(rts) => self.cts_to(rts),
                None => self.ack_to(data, self.medium.exchange().end),
            };
            frames.push(AirFrame { decoded: Decoded::ByAddressee, ..first });
            frames.push(AirFrame { decoded: Decoded::ByNobody, ..answer });
        }
        frames.sort_by_key(|frame| frame.ends);
        frames.iter().for_each(each);
    }

    fn frames_of_single<'a>(&'a self, each: &mut impl FnMut(AirFrame<'a>)) {
        let OngoingExchange { sender, link, fate, end, follows, .. } = self.medium.exchange();
        let airtime = self.data_airtime(sender);
        let data = self.data_frame(sender, link, airtime, self.medium.due());
        if !follows && self.nodes.edcaf(sender).with_rts(self.on_air(sender)) {
            let rts = self.rts(data, airtime);
            each(rts);
            each(self.cts_to(rts));
        } else if let Some(cts) = self.announcement(data) {
            each(cts);
        }
        match fate {
            Fate::DataLost => each(AirFrame { decoded: Decoded::ByBystanders, ..data }),
            Fate::Decoded | Fate::AckLost => {
                each(data);
                let decoded = if fate == Fate::AckLost { Decoded::ByBystanders } else { Decoded::ByAll };
                each(AirFrame { decoded, ..self.ack_to(data, end) });
            }
        }
    }

    /// The MAC ACK that answers `data` and ends at `ends`.
    fn ack_to<'a>(&self, data: AirFrame<'a>, ends: Time) -> AirFrame<'a> {
        let ack = self.handshake(data.attempt.sender).ack;
        let begins = ends - ack.duration;
        AirFrame {
            kind: FrameKind::Ack,
            from: data.to,
            to: data.from,
            begins,
            psdu_begins: begins + ack.preamble,
            ends,
            mode: ack.mode,
            duration: Time::ZERO,
            ..data
        }
    }

    /// The CTS that answers `rts`.
    fn cts_to<'a>(&self, rts: AirFrame<'a>) -> AirFrame<'a> {
        let cts = self.cts(rts, rts.ends + self.phy.sifs);
        let duration = rts.duration - (cts.ends - rts.ends);
        AirFrame { from: rts.to, to: rts.from, duration, ..cts }
    }

    /// The data frame that occupies the medium for `airtime`, the CTS-to-self before it included, and ends at `ends`.
    fn data_frame(&self, sender: u32, link: LinkId, airtime: Time, ends: Time) -> AirFrame<'_> {
        let (from, to) = self.ends_of(link);
        let on_air = self.on_air(sender);
        let begins = ends + on_air.announcement() - airtime;
        AirFrame {
            kind: FrameKind::Data,
            from,
            to,
            begins,
            psdu_begins: begins + on_air.preamble(),
            ends,
            mode: self.nodes.edcaf(sender).last_attempt().1,
            duration: on_air.acknowledgement,
            decoded: Decoded::ByAll,
            attempt: self.attempted(sender),
        }
    }

    /// The RTS of a transmission whose data frame has duration `airtime`.
    fn rts<'a>(&self, data: AirFrame<'a>, airtime: Time) -> AirFrame<'a> {
        let begins = self.medium.began();
        let rts = self.handshake(data.attempt.sender).rts;
        let waits = &self.mac.waits[usize::from(self.on_air(data.attempt.sender).handshake)];
        AirFrame {
            kind: FrameKind::Rts,
            begins,
            psdu_begins: begins + rts.preamble,
            ends: begins + rts.duration,
            mode: rts.mode,
            duration: waits.reservation - rts.duration + airtime + data.duration,
            ..data
        }
    }

    /// The CTS-to-self of the sender of `data`, if protection requires it.
    fn announcement<'a>(&self, data: AirFrame<'a>) -> Option<AirFrame<'a>> {
        let handshake = self.handshake(data.attempt.sender);
        handshake.announces().then(|| {
            let cts = self.cts(data, data.begins - self.phy.sifs - handshake.cts.duration);
            AirFrame { to: data.from, duration: data.ends - cts.ends + data.duration, ..cts }
        })
    }

    fn cts<'a>(&self, data: AirFrame<'a>, begins: Time) -> AirFrame<'a> {
        let cts = self.handshake(data.attempt.sender).cts;
        AirFrame {
            kind: FrameKind::Cts,
            begins,
            psdu_begins: begins + cts.preamble,
            ends: begins + cts.duration,
            mode: cts.mode,
            ..data
        }
    }

    /// The control frames of the exchange of `sender`.
    fn handshake(&self, sender: u32) -> &Handshake {
        self.phy.handshake(self.on_air(sender))
    }

    fn attempted(&self, sender: u32) -> Attempted<'_> {
        let edcaf = self.nodes.edcaf(sender);
        let departure = edcaf.departure();
        Attempted {
            packet: &departure.packet,
            sender,
            ac: self.nodes.category_of(sender),
            station: departure.station,
            number: edcaf.last_attempt().0,
        }
    }

    /// Transmitter and addressee of the data frames of a link.
    fn ends_of(&self, link: LinkId) -> (Node, Node) {
        let station = Node::Station(link.station());
        match link.direction() {
            Direction::Up => (station, Node::Ap),
            Direction::Down => (Node::Ap, station),
        }
    }
}

fn outcome_of(fate: Fate) -> AttemptOutcome {
    match fate {
        Fate::Decoded => AttemptOutcome::Acknowledged,
        Fate::DataLost => AttemptOutcome::DataLost,
        Fate::AckLost => AttemptOutcome::AckLost,
    }
}
