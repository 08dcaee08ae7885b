use std::ops::{BitOr, BitOrAssign};

use crate::{ConnectionId, SackBlocks, Time};

/// IP protocol number of ICMP (RFC 792). The only ICMP messages here are the echo request of `ping` and its reply.
pub const ICMP: u32 = 1;
/// IP protocol number of TCP (RFC 9293).
pub const TCP: u32 = 6;
/// IP protocol number of UDP (RFC 768).
pub const UDP: u32 = 17;
/// Length of the IP and UDP headers in bytes; the same as that of the IP and ICMP echo headers.
pub const DATAGRAM_HEADER_BYTES: u8 = 28;

/// A 5-tuple: identifies a connection in one direction. Addresses are IPv4, as integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FiveTuple {
    /// Source address.
    pub source: u32,
    /// Destination address.
    pub destination: u32,
    /// Source port. An ICMP echo has its identifier here and in `destination_port`, so the pair distinguishes echoes as ports
    /// do.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// IP protocol number: [`TCP`], [`UDP`] or [`ICMP`]. 32 bits wide so that there is no padding, see [`Packet`].
    pub protocol: u32,
}

impl FiveTuple {
    /// The same connection seen from the other end.
    pub const fn reversed(self) -> FiveTuple {
        FiveTuple {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            protocol: self.protocol,
        }
    }

    /// A hash that is the same for both directions of a connection and on every machine.
    pub const fn connection_hash(self) -> u32 {
        let addresses = self.source ^ self.destination;
        let ports = (self.source_port ^ self.destination_port) as u32;
        let mixed = (addresses.wrapping_mul(0x9E37_79B1) ^ ports.wrapping_mul(0x85EB_CA77))
            .wrapping_add(self.protocol << 24);
        mixed ^ (mixed >> 15)
    }
}

/// The eight flag bits of the TCP header (RFC 9293, section 3.1; ECE and CWR: RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags(u8);

impl TcpFlags {
    /// No flag.
    pub const NONE: TcpFlags = TcpFlags(0);
    /// No more data from the sender.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// Reset the connection.
    pub const RST: TcpFlags = TcpFlags(0x04);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x08);
    /// The acknowledgement number is significant.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// Urgent (never set here).
    pub const URG: TcpFlags = TcpFlags(0x20);
    /// ECN echo.
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// Congestion window reduced.
    pub const CWR: TcpFlags = TcpFlags(0x80);

    /// True if every flag of `other` is set.
    pub const fn contains(self, other: TcpFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if any flag of `other` is set.
    pub const fn intersects(self, other: TcpFlags) -> bool {
        self.0 & other.0 != 0
    }

    /// The flags of a header byte.
    pub const fn from_bits(bits: u8) -> TcpFlags {
        TcpFlags(bits)
    }

    /// The header byte.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

impl BitOr for TcpFlags {
    type Output = TcpFlags;
    fn bitor(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
}

impl BitOrAssign for TcpFlags {
    fn bitor_assign(&mut self, other: TcpFlags) {
        self.0 |= other.0;
    }
}

/// The DSCP of a packet that its sender marks as high priority: one whose loss would cause a retransmission timeout
/// (`spm-af-las`, Section 6.1). The paper names no code point.
///
/// 3 is in the pool for experimental and local use (RFC 2474, section 6: `xxxx11`). Its upper three bits are those of the
/// default, so both ways of choosing an access category (the bits themselves, and RFC 8325) leave the packet in the category of
/// its flow and never reorder it. AF11 of Assured Forwarding has a similar meaning, but its bits select the background
/// category.
pub const DSCP_HIGH_PRIORITY: u8 = 3;

/// The two lower bits of the DS field (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: congestion can be signalled only by a drop.
    NotEct = 0,
    /// ECN-capable transport, the code point that RFC 8311 reserves for experiments.
    Ect1 = 1,
    /// ECN-capable transport, as set by a sender that follows RFC 3168.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// The kind of a packet, as an access point can determine it without state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// A TCP segment with payload, or one without any flag: ns-2's sender opens a connection with such a segment. In the AP's
    /// buffer it belongs to a downlink flow.
    Data,
    /// A pure TCP ACK: no payload, none of SYN, FIN, RST. In the AP's buffer it belongs to an uplink flow.
    Ack,
    /// SYN, FIN or RST without payload, and everything that is not TCP.
    Other,
}

impl Class {
    /// Every class, in the order of its discriminants.
    pub const ALL: [Class; 3] = [Class::Data, Class::Ack, Class::Other];

    /// The word used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Data => "data",
            Class::Ack => "ack",
            Class::Other => "other",
        }
    }
}

/// An IP packet: the header fields that the simulation reads, and sizes. It has no payload bytes.
///
/// There is no padding between the fields. Packets are copied at every step, and a copy that skips padding goes field by field.
///
/// Sizes are in bytes. `window_bytes` is the window after scaling (RFC 7323). Sequence numbers wrap.
///
/// A *datagram* ([`Packet::datagram`]) is any packet that is not TCP: UDP or an ICMP echo, distinguished by `tuple.protocol`.
/// It is not acknowledged. `seq` is its number within its flow and direction, from 0, and [`Packet::sent_at`] is the time at
/// which it was sent. Real hosts carry both in the payload (RTP, `ping`), so they count as payload here. They are stored in
/// fields that only TCP needs (`ack`, `window_bytes`). `flags` is [`TcpFlags::ACK`] in an echo reply and empty in any other
/// datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Addresses, ports, protocol.
    pub tuple: FiveTuple,
    /// Short name of the connection, if it has one.
    pub connection: ConnectionId,
    /// Sequence number of the first payload byte (or of the SYN or FIN).
    pub seq: u32,
    /// Acknowledgement number; meaningful with [`TcpFlags::ACK`].
    pub ack: u32,
    /// Receive window in bytes, scaling applied.
    pub window_bytes: u32,
    /// Bytes of TCP payload.
    pub payload_bytes: u32,
    /// Bytes of IP and transport headers, options included.
    pub header_bytes: u8,
    /// TCP flags.
    pub flags: TcpFlags,
    /// The IP header's DS field: DSCP in the upper six bits (RFC 2474), ECN in the lower two (RFC 3168).
    pub ds_field: u8,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
}

const _: () = assert!(size_of::<Packet>() == 52, "no padding: three wide moves and a narrow one");

impl Packet {
    /// Returns a datagram with `payload_bytes` after its UDP or ICMP echo header, sent at `sent_at`. Its connection has no
    /// name.
    pub const fn datagram(
        tuple: FiveTuple,
        number: u32,
        payload_bytes: u32,
        dscp: u8,
        sent_at: Time,
    ) -> Packet {
        let sent_at = sent_at.as_ns();
        Packet {
            tuple,
            connection: ConnectionId::NONE,
            seq: number,
            ack: sent_at as u32,
            window_bytes: (sent_at >> 32) as u32,
            payload_bytes,
            header_bytes: DATAGRAM_HEADER_BYTES,
            flags: TcpFlags::NONE,
            ds_field: dscp << 2,
            sack: SackBlocks::NONE,
        }
    }

    /// Returns the reply to an echo request, with the request's number, size and sending time.
    #[must_use]
    pub const fn echo_reply(&self) -> Packet {
        Packet { tuple: self.tuple.reversed(), flags: TcpFlags::ACK, ..*self }
    }

    /// Whether this is an echo reply.
    pub const fn is_echo_reply(&self) -> bool {
        self.tuple.protocol == ICMP && self.flags.contains(TcpFlags::ACK)
    }

    /// Sending time of a datagram; for an echo reply, that of the request. Meaningless for TCP.
    pub const fn sent_at(&self) -> Time {
        Time::from_ns((self.window_bytes as u64) << 32 | self.ack as u64)
    }

    /// Length of the IP packet in bytes.
    pub const fn ip_bytes(&self) -> u32 {
        self.payload_bytes + self.header_bytes as u32
    }

    /// The differentiated services code point: the upper six bits of the DS field (RFC 2474).
    pub const fn dscp(&self) -> u8 {
        self.ds_field >> 2
    }

    /// The lower two bits of the DS field (RFC 3168).
    pub const fn ecn(&self) -> Ecn {
        match self.ds_field & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Returns the same packet with another ECN field.
    #[must_use]
    pub const fn with_ecn(mut self, ecn: Ecn) -> Packet {
        self.ds_field = self.ds_field & !3 | ecn as u8;
        self
    }

    /// Whether the sender has marked the packet as high priority, see [`DSCP_HIGH_PRIORITY`].
    pub const fn is_high_priority(&self) -> bool {
        self.dscp() == DSCP_HIGH_PRIORITY
    }

    /// The packet's [`Class`].
    pub const fn class(&self) -> Class {
        const ACK: u8 = TcpFlags::ACK.0;
        const CONTROL: u8 = TcpFlags::SYN.0 | TcpFlags::FIN.0 | TcpFlags::RST.0;
        if self.tuple.protocol != TCP {
            Class::Other
        } else if self.payload_bytes > 0 || self.flags.0 == 0 {
            Class::Data
        } else if self.flags.0 & (ACK | CONTROL) == ACK {
            Class::Ack
        } else {
            Class::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TUPLE: FiveTuple =
        FiveTuple { source: 1, destination: 2, source_port: 3, destination_port: 4, protocol: TCP };

    fn packet(payload_bytes: u32, flags: TcpFlags) -> Packet {
        Packet {
            tuple: TUPLE,
            connection: ConnectionId::NONE,
            seq: 0,
            ack: 0,
            window_bytes: 0,
            payload_bytes,
            header_bytes: 40,
            flags,
            ds_field: 0,
            sack: SackBlocks::NONE,
        }
    }

    #[test]
    fn both_directions_hash_alike() {
        assert_eq!(TUPLE.connection_hash(), TUPLE.reversed().connection_hash());
        assert_eq!(TUPLE.reversed().reversed(), TUPLE);
    }

    #[test]
    fn the_two_parts_of_the_ds_field() {
        let mut marked = packet(1460, TcpFlags::ACK);
        marked.ds_field = DSCP_HIGH_PRIORITY << 2;
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            marked = marked.with_ecn(ecn);
            assert_eq!((marked.dscp(), marked.ecn()), (DSCP_HIGH_PRIORITY, ecn));
            assert_eq!(marked.ds_field, 12 + ecn as u8);
        }
    }

    #[test]
    fn classes() {
        assert_eq!(packet(1460, TcpFlags::ACK).class(), Class::Data);
        assert_eq!(packet(0, TcpFlags::NONE).class(), Class::Data);
        assert_eq!(packet(0, TcpFlags::SYN).class(), Class::Other);
        assert_eq!(packet(0, TcpFlags::ACK).class(), Class::Ack);
        assert_eq!(packet(0, TcpFlags::ACK | TcpFlags::ECE).class(), Class::Ack);
        assert_eq!(packet(0, TcpFlags::ACK | TcpFlags::SYN).class(), Class::Other);
        assert_eq!(packet(0, TcpFlags::ACK | TcpFlags::FIN).class(), Class::Other);
        let udp = FiveTuple { protocol: UDP, ..TUPLE };
        assert_eq!(Packet::datagram(udp, 0, 1000, 0, Time::ZERO).class(), Class::Other);
        let echo = FiveTuple { protocol: ICMP, ..TUPLE };
        assert_eq!(Packet::datagram(echo, 0, 56, 0, Time::ZERO).echo_reply().class(), Class::Other);
    }

    #[test]
    fn a_datagram_says_when_it_was_sent() {
        let echo = FiveTuple { protocol: ICMP, ..TUPLE };
        for ns in [0, 1, u64::from(u32::MAX), 1 << 32, 86_400_000_000_007] {
            let request = Packet::datagram(echo, 3, 56, 46, Time::from_ns(ns));
            let reply = request.echo_reply();
            assert_eq!((request.sent_at(), reply.sent_at()), (Time::from_ns(ns), Time::from_ns(ns)));
            assert_eq!((request.ip_bytes(), request.dscp(), request.ecn()), (84, 46, Ecn::NotEct));
            assert_eq!((reply.tuple, reply.seq, reply.ip_bytes()), (echo.reversed(), 3, 84));
            assert!(reply.is_echo_reply() && !request.is_echo_reply());
        }
    }
}
