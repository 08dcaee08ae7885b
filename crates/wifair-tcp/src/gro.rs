//! Generic receive offload (GRO), as in Linux: segments that arrive together and in order reach TCP as one packet.

use wifair_core::{Packet, TcpFlags, Time};

/// Maximum length of a packet in bytes (Linux: `GRO_LEGACY_MAX_SIZE`).
const LONGEST_PACKET: u32 = 65_535;

/// Consecutive segments that arrived together, merged into one packet.
#[derive(Clone, Debug)]
pub(crate) struct GroPacket {
    /// The first segment, with the payload of all.
    pub(crate) packet: Packet,
    pub(crate) segments: u32,
    /// Payload of each segment but the last.
    each: u32,
    /// When no more can be merged.
    pub(crate) ends: Time,
}

impl GroPacket {
    pub(crate) fn none() -> GroPacket {
        GroPacket { packet: Packet::default(), segments: 0, each: 0, ends: Time::MAX }
    }

    /// Whether a packet is plain data, which may be merged.
    pub(crate) fn accepts(packet: &Packet) -> bool {
        packet.payload_bytes > 0 && packet.flags == TcpFlags::ACK
    }

    pub(crate) fn of(packet: &Packet, ends: Time) -> GroPacket {
        GroPacket { packet: *packet, segments: 1, each: packet.payload_bytes, ends }
    }

    /// Appends the next segment if it is contiguous and fits; returns whether it did.
    pub(crate) fn merge(&mut self, packet: &Packet, now: Time) -> bool {
        let bytes = self.packet.ip_bytes() + packet.payload_bytes;
        let merges = now < self.ends
            && self.segments > 0
            && self.packet.payload_bytes == self.segments * self.each // no shorter one arrived
            && packet.seq == self.packet.seq.wrapping_add(self.packet.payload_bytes)
            && packet.payload_bytes <= self.each
            && packet.ds_field == self.packet.ds_field
            && bytes <= LONGEST_PACKET;
        if merges {
            self.packet.payload_bytes += packet.payload_bytes;
            self.segments += 1;
        }
        merges
    }
}
