//! Observation of the BSS: the transmissions of the exchange that has just begun, and the journal of all ports. `frames` lists
//! the MAC frames.
//!
//! An exchange is fully determined when it starts (`docs/medium.md`, section 3), so its frames can be listed at once, with the
//! times at which they will be on the air.

use wifair_core::{Ac, Packet, StationId, Time};
use wifair_queue::{Direction, Journal};

use super::Bss;
use crate::aggregation::SentMpdu;
use crate::exchange::{Fate, Phase};
use crate::node::{LinkId, Node};
use crate::phy::Mode;
use crate::ppdu::Ppdu;

/// Kind of a frame in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Request to send (9.3.1.2).
    Rts,
    /// Clear to send (9.3.1.3).
    Cts,
    /// The data frame that carries the packet, or the PPDU that carries the MPDUs.
    Data,
    /// The MAC's acknowledgement (9.3.1.4).
    Ack,
    /// Block Ack Request (9.3.1.7).
    BlockAckRequest,
    /// Block Ack (9.3.1.8).
    BlockAck,
    /// Beacon (9.3.3.2), addressed to all.
    Beacon,
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

/// A MAC frame, or a PPDU of MPDUs, on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirFrame<'a> {
    /// Kind of the frame.
    pub kind: FrameKind,
    /// Its transmitter; for a CTS-to-self, also its addressee.
    pub from: Node,
    /// Its addressee; of a beacon, its transmitter.
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
    /// Which nodes can decode it; of a PPDU of MPDUs, those that its addressee decodes, if any.
    pub decoded: Decoded,
    /// The transmission that it belongs to; `None` for a beacon.
    pub part_of: Option<PartOf<'a>>,
}

/// A beacon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacon {
    /// When it begins.
    pub begins: Time,
    /// When it ends.
    pub ends: Time,
    /// Its mode.
    pub mode: Mode,
    /// Whether other nodes transmit at the same time.
    pub collides: bool,
}

/// The transmission to which a frame belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOf<'a> {
    /// That of a packet in a frame.
    Frame(Attempted<'a>),
    /// That of a link with a Block Ack agreement.
    Ppdu(&'a Transmission<'a>),
}

impl PartOf<'_> {
    /// The number of the sender's port; see [`Attempted::sender`].
    pub fn sender(&self) -> u32 {
        match self {
            PartOf::Frame(attempted) => attempted.sender,
            PartOf::Ppdu(transmission) => transmission.sender,
        }
    }
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
    /// Its sender, as in [`Attempted::sender`].
    pub sender: u32,
    /// The station at one end of the link.
    pub station: StationId,
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
    /// The packets of its MPDUs, in order; none in a Block Ack Request.
    pub mpdus: Vec<SentMpdu<'a>>,
    /// WinStartO, modulo 4096: the starting sequence number of a Block Ack Request.
    pub window_start: u16,
    /// Block Ack window of the link, in MPDUs.
    pub window: u32,
}

impl<'a> Transmission<'a> {
    /// Its MPDUs, in order, each as its packets.
    pub fn by_mpdu(&self) -> impl Iterator<Item = &[SentMpdu<'a>]> {
        self.mpdus.chunk_by(|_, next| next.is_joined)
    }
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

    /// The senders of the exchange that has just begun, one or those that collide: the outcome, and when each has finished.
    fn senders(&self) -> impl Iterator<Item = (u32, AttemptOutcome, Time)> {
        let (collide, exchange) = (self.medium.is_collision(), self.medium.exchange());
        let is_beacon = self.medium.phase() == Phase::Beacon;
        let single = (!is_beacon && (!collide || !self.medium.is_lost())).then(|| {
            let outcome = match exchange.fate {
                Fate::Decoded => AttemptOutcome::Acknowledged,
                Fate::DataLost => AttemptOutcome::DataLost,
                Fate::AckLost => AttemptOutcome::AckLost,
            };
            (exchange.sender, outcome, exchange.end)
        });
        let colliders = if collide { self.medium.colliders() } else { &[] };
        single.into_iter().chain(colliders.iter().enumerate().map(|(index, collider)| {
            let outcome = match self.medium.is_in_vain(index) && !collider.with_rts {
                true => AttemptOutcome::AckLost,
                false => AttemptOutcome::Collided,
            };
            (collider.sender, outcome, self.medium.end_of_attempt(index))
        }))
    }

    /// When the part of `node` in the exchange that has just begun ends, if it is a sender of it.
    pub fn transmits_until(&self, node: Node) -> Option<Time> {
        let own = self.senders().filter(|(sender, ..)| self.node_of_port(*sender) == node);
        let beacon = self.medium.beacon_ends().filter(|_| node == Node::Ap);
        own.map(|(_, _, ends)| ends).chain(beacon).max()
    }

    /// The beacon in the exchange that has just begun.
    pub fn beacon(&self) -> Option<Beacon> {
        let beacons = self.medium.beacons()?;
        Some(Beacon {
            begins: self.medium.began(),
            ends: beacons.ends?,
            mode: beacons.on_air.mode,
            collides: self.medium.is_collision(),
        })
    }

    /// The transmissions of single frames in the exchange that has just begun: one, or those that collide.
    pub fn attempts(&self) -> impl Iterator<Item = Attempt<'_>> {
        let begins = self.medium.began();
        let frames = self.senders().filter(|(sender, ..)| !self.nodes.edcaf(*sender).serves_queue());
        frames.map(move |(sender, outcome, ends)| Attempt {
            what: self.attempted(sender),
            outcome,
            begins,
            airtime: ends - begins,
            mode: *self.nodes.edcaf(sender).mode(),
        })
    }

    /// The transmissions of links with a Block Ack agreement in the exchange that has just begun.
    pub fn transmissions(&self) -> impl Iterator<Item = Transmission<'_>> {
        let ppdus = self.senders().filter(|(sender, ..)| self.nodes.edcaf(*sender).serves_queue());
        ppdus.map(|(sender, outcome, ends)| self.transmission(sender, outcome, ends))
    }

    fn transmission(&self, sender: u32, outcome: AttemptOutcome, ends: Time) -> Transmission<'_> {
        let begins = self.medium.began();
        let edcaf = self.nodes.edcaf(sender);
        let (link, ppdu) = (edcaf.link(), *edcaf.ppdu());
        let (from, to) = self.ends_of(link);
        let ppdu_ends = match outcome {
            AttemptOutcome::Collided => (!ppdu.with_rts).then_some(ends),
            _ => Some(self.medium.due()),
        };
        let reaches = outcome != AttemptOutcome::Collided;
        let is_acknowledged = outcome == AttemptOutcome::Acknowledged;
        let is_answered = is_acknowledged || outcome == AttemptOutcome::AckLost;
        Transmission {
            sender,
            station: link.station(),
            from,
            to,
            ac: edcaf.role().ac,
            outcome,
            begins,
            airtime: ends - begins,
            mode: ppdu.mode,
            ppdu: ppdu_ends.map(|ends| (ends + self.announcement_of(&ppdu) - ppdu.airtime, ends)),
            response: ppdu_ends.filter(|_| is_answered).map(|data_ends| (data_ends + self.phy.sifs, ends)),
            mpdus: self.nodes.mpdus_on_air(sender, reaches, is_acknowledged).collect(),
            window_start: self.nodes.window_start_of(sender, link),
            window: self.nodes.window_of(sender, link),
        }
    }

    /// Duration of the CTS-to-self before a PPDU and its SIFS, or zero.
    pub(super) fn announcement_of(&self, ppdu: &Ppdu) -> Time {
        let handshake = &self.phy.handshakes[usize::from(ppdu.handshake)];
        if handshake.announces() { handshake.cts.duration + self.phy.sifs } else { Time::ZERO }
    }

    pub(super) fn attempted(&self, sender: u32) -> Attempted<'_> {
        let edcaf = self.nodes.edcaf(sender);
        let departure = edcaf.departure();
        Attempted {
            packet: &departure.packet,
            sender,
            ac: self.nodes.category_of(sender),
            station: departure.station,
            number: edcaf.attempts(),
        }
    }

    /// Transmitter and addressee of the data frames of a link.
    pub(super) fn ends_of(&self, link: LinkId) -> (Node, Node) {
        let station = Node::Station(link.station());
        match link.direction() {
            Direction::Up => (station, Node::Ap),
            Direction::Down => (Node::Ap, station),
        }
    }
}
