//! What is on the air: transmissions, their MAC frames, and their outcomes, as observers see them.

use wifair_core::{Ac, Time};
use wifair_queue::{Transmission, TransmittedMpdu};

use crate::node::Node;
use crate::phy::Mode;

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
    pub part_of: Option<&'a SentPpdu<'a>>,
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

/// Outcome of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmissionOutcome {
    /// All nodes decode data and MAC ACK.
    Acknowledged,
    /// Other nodes transmitted at the same time.
    Collided,
    /// Its receiver cannot decode the data frame.
    DataLost,
    /// Its sender does not decode the MAC ACK. After a capture no node does while other frames of the collision are on the air.
    AckLost,
}

/// A transmission as an observer of the medium sees it when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPpdu<'a> {
    /// What its sender will know of it, except the overhead, which is zero here.
    pub transmission: Transmission<'a>,
    /// Its sender: the number of the category's transmit queue or, if a node's categories share a transmit queue, the number
    /// that a separate transmit queue would have.
    pub sender: u32,
    /// The transmitter.
    pub from: Node,
    /// The addressee.
    pub to: Node,
    /// Its access category; none under DCF.
    pub category: Option<Ac>,
    /// Whether the link has a Block Ack agreement.
    pub has_agreement: bool,
    /// Outcome of the exchange. A PPDU is acknowledged if some MPDUs are decoded and the response arrives.
    pub outcome: TransmissionOutcome,
    /// Whether its receiver decodes each of its packets from this PPDU; false in a collision.
    pub decoded: Vec<bool>,
    /// When it begins.
    pub begins: Time,
    /// Start and end of the PPDU; `None` if an RTS collides.
    pub ppdu: Option<(Time, Time)>,
    /// Start and end of the ACK or Block Ack that answers it, if there is one.
    pub response: Option<(Time, Time)>,
    /// WinStartO, modulo 4096: the starting sequence number of a Block Ack Request; 0 without an agreement.
    pub window_start: u16,
    /// Block Ack window of the link, in MPDUs; 1 without an agreement.
    pub window: u32,
}

impl<'a> SentPpdu<'a> {
    /// Its MPDUs in order, each as its packets, and whether its receiver decodes it.
    pub fn by_mpdu(&self) -> impl Iterator<Item = (&[TransmittedMpdu<'a>], bool)> {
        let mut decoded = self.decoded.iter();
        self.transmission.by_mpdu().map(move |packets| {
            let is_decoded = decoded.next().is_some_and(|decoded| *decoded);
            decoded.by_ref().take(packets.len() - 1).for_each(|_| ());
            (packets, is_decoded)
        })
    }
}
