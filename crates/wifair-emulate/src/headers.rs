//! Parses the bytes of an IP packet to the engine's [`Packet`], and writes the engine's marks back into the
//! bytes.
//!
//! A packet is parsed once, where it enters. The parser is etherparse's.

use std::net::IpAddr;

use etherparse::{IpNumber, IpSlice, TcpOptionElement, TcpSlice, UdpSlice};
use wifair_core::{FiveTuple, Packet, SackBlocks, TcpFlags};

use crate::address::Host;

/// Content of a packet's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The packet as the engine sees it.
    pub packet: Packet,
    /// Offset of its TCP header, if it has one.
    pub tcp_at: Option<u16>,
    /// The host that sent it.
    pub from: Host,
    /// The host that it is sent to.
    pub to: Host,
}

/// Why a packet is not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotCarried {
    /// It is not an IP packet, or its IP header is inconsistent with itself or with the packet's length.
    Malformed,
    /// It is sent to a multicast or broadcast address.
    Multicast,
    /// Source or destination is not a host of the emulated network.
    Elsewhere,
}

/// Parses a packet in a BSS of `stations` stations.
///
/// A packet with an unreadable TCP or UDP header, a fragment and any other protocol are carried without ports.
///
/// # Errors
/// Returns why the packet is not carried.
pub fn read(bytes: &[u8], stations: u16) -> Result<Header, NotCarried> {
    let ip = IpSlice::from_slice(bytes).map_err(|_| NotCarried::Malformed)?;
    let (source, destination) = (ip.source_addr(), ip.destination_addr());
    if destination.is_multicast() || is_broadcast(destination) {
        return Err(NotCarried::Multicast);
    }
    let (from, source) = Host::at(source, stations).ok_or(NotCarried::Elsewhere)?;
    let (to, destination) = Host::at(destination, stations).ok_or(NotCarried::Elsewhere)?;
    let ds_field = match &ip {
        IpSlice::Ipv4(_) => bytes[1],
        IpSlice::Ipv6(_) => bytes[0] << 4 | bytes[1] >> 4,
    };
    let payload = ip.payload();
    if payload.payload.as_ptr_range().end != bytes.as_ptr_range().end {
        return Err(NotCarried::Malformed); // bytes after its end
    }
    let tuple = FiveTuple {
        source,
        destination,
        source_port: 0,
        destination_port: 0,
        protocol: u32::from(payload.ip_number.0),
    };
    let other = Packet { tuple, ds_field, ..sized(bytes.len(), bytes.len() - payload.payload.len()) };
    let header = Header { packet: other, tcp_at: None, from, to };
    if payload.fragmented {
        return Ok(header);
    }
    Ok(match payload.ip_number {
        IpNumber::TCP => match TcpSlice::from_slice(payload.payload) {
            Ok(tcp) => of_tcp(&tcp, bytes.len(), header),
            Err(_) => header,
        },
        IpNumber::UDP => match UdpSlice::from_slice(payload.payload) {
            Ok(udp) => {
                let (source_port, destination_port) = (udp.source_port(), udp.destination_port());
                let tuple = FiveTuple { source_port, destination_port, ..tuple };
                let packet =
                    Packet { tuple, ds_field, ..sized(bytes.len(), bytes.len() - udp.payload().len()) };
                Header { packet, ..header }
            }
            Err(_) => header,
        },
        _ => header,
    })
}

/// Whether it is the limited broadcast address or that of the hosts' prefix.
fn is_broadcast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_broadcast() || address.octets() == [10, 0, 255, 255],
        IpAddr::V6(_) => false,
    }
}

/// A packet of `total` bytes, the first `headers` of which are headers (capped at 8 bits).
fn sized(total: usize, headers: usize) -> Packet {
    let header_bytes = headers.min(usize::from(u8::MAX)) as u8;
    Packet { header_bytes, payload_bytes: (total - usize::from(header_bytes)) as u32, ..Packet::default() }
}

fn of_tcp(tcp: &TcpSlice, total: usize, header: Header) -> Header {
    let payload_bytes = tcp.payload().len();
    let headers = total - payload_bytes;
    if headers > usize::from(u8::MAX) {
        return header; // IPv6 extensions of this length: carried without ports
    }
    let tuple = FiveTuple {
        source_port: tcp.source_port(),
        destination_port: tcp.destination_port(),
        ..header.packet.tuple
    };
    let ack = tcp.acknowledgment_number();
    let packet = Packet {
        tuple,
        seq: tcp.sequence_number(),
        ack,
        flags: TcpFlags::from_bits(tcp.slice()[13]),
        sack: sack(tcp, ack),
        ds_field: header.packet.ds_field,
        ..sized(total, headers)
    };
    Header { packet, tcp_at: Some((total - tcp.slice().len()) as u16), ..header }
}

/// The SACK blocks of a segment. Blocks too far away for [`SackBlocks`] are left out.
fn sack(tcp: &TcpSlice, ack: u32) -> SackBlocks {
    let mut blocks: Vec<(u32, u32)> = vec![];
    for option in tcp.options_iterator().map_while(Result::ok) {
        match option {
            TcpOptionElement::SelectiveAcknowledgementPermitted if tcp.syn() => {
                return SackBlocks::SYN_PERMITTED;
            }
            TcpOptionElement::SelectiveAcknowledgement(first, others) => {
                blocks.extend([Some(first)].into_iter().chain(others).flatten());
            }
            _ => {}
        }
    }
    let distance = |from: u32, to: u32| to.wrapping_sub(from).cast_signed();
    let fits = |length: i32| length.unsigned_abs() <= SackBlocks::MAX_DISTANCE;
    let mut kept: Vec<(u32, u32)> = vec![];
    for (start, end) in blocks {
        let (begin, length) = (distance(ack, start), distance(start, end));
        let may_be_below = kept.is_empty();
        if fits(begin) && fits(length) && length > 0 && (begin >= 0 || may_be_below) {
            kept.push((start, end));
        }
    }
    SackBlocks::new(ack, &kept)
}

/// The flags of the TCP header at `tcp_at`.
pub fn flags(bytes: &[u8], tcp_at: usize) -> TcpFlags {
    TcpFlags::from_bits(bytes[tcp_at + 13])
}

/// Sets CE in the IP header (RFC 3168, section 5). `bytes` has passed [`read`].
pub fn set_ce(bytes: &mut [u8]) {
    if bytes[0] >> 4 == 6 {
        bytes[1] |= 0b11 << 4;
        return;
    }
    change_word(bytes, 0, 10, |word| word | 0b11);
}

/// Sets ECE in the TCP header at `tcp_at` (RFC 3168, section 6.1).
pub fn set_ece(bytes: &mut [u8], tcp_at: usize) {
    let ece = u16::from(TcpFlags::ECE.bits());
    change_word(bytes, tcp_at + 12, tcp_at + 16, |word| word | ece);
}

/// Changes the 16-bit word at `at` and updates the checksum at `checksum_at` (RFC 1624, equation 3).
fn change_word(bytes: &mut [u8], at: usize, checksum_at: usize, change: impl FnOnce(u16) -> u16) {
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let (old, checksum) = (word(bytes, at), word(bytes, checksum_at));
    let new = change(old);
    bytes[at..at + 2].copy_from_slice(&new.to_be_bytes());
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    bytes[checksum_at..checksum_at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use etherparse::{Ipv4HeaderSlice, PacketBuilder, TcpHeader};
    use proptest::prelude::*;
    use wifair_core::{Class, Ecn, StationId, TCP, UDP};

    use super::*;

    const STATIONS: u16 = 3;
    const STATION: Host = Host::Station(StationId(1));

    /// A segment from the station to the server.
    fn segment(six: bool, tcp: TcpHeader, ds_field: u8, payload: &[u8]) -> Vec<u8> {
        let builder = match six {
            true => PacketBuilder::ipv6(STATION.ipv6().octets(), Host::Server.ipv6().octets(), 64),
            false => PacketBuilder::ipv4(STATION.ipv4().octets(), Host::Server.ipv4().octets(), 64),
        };
        let builder = builder.tcp_header(tcp);
        let mut bytes = vec![];
        builder.write(&mut bytes, payload).unwrap();
        if six {
            bytes[0] = 0x60 | ds_field >> 4;
            bytes[1] = ds_field << 4;
        } else {
            bytes[1] = ds_field;
            let header = Ipv4HeaderSlice::from_slice(&bytes).unwrap().to_header();
            bytes[10..12].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
        }
        bytes
    }

    fn checksums_hold(bytes: &[u8], tcp_at: usize) -> bool {
        let tcp = TcpSlice::from_slice(&bytes[tcp_at..]).unwrap();
        match IpSlice::from_slice(bytes).unwrap() {
            IpSlice::Ipv4(ip) => {
                let header = ip.header();
                let expected = header.to_header().calc_header_checksum();
                let sum = tcp.calc_checksum_ipv4(header.source(), header.destination()).unwrap();
                header.header_checksum() == expected && tcp.checksum() == sum
            }
            IpSlice::Ipv6(ip) => {
                let header = ip.header();
                tcp.checksum() == tcp.calc_checksum_ipv6(header.source(), header.destination()).unwrap()
            }
        }
    }

    #[test]
    fn a_segment_is_read() {
        let mut tcp = TcpHeader::new(40_000, 5_201, 1_000, 65_535);
        (tcp.ack, tcp.psh, tcp.acknowledgment_number) = (true, true, 77);
        tcp.set_options(&[
            TcpOptionElement::Noop,
            TcpOptionElement::SelectiveAcknowledgement((100, 200), [Some((300, 400)), None, None]),
        ])
        .unwrap();
        for six in [false, true] {
            let bytes = segment(six, tcp.clone(), 46 << 2 | 2, &[7; 100]);
            let Header { packet, tcp_at, from, to } = read(&bytes, STATIONS).unwrap();
            assert_eq!((from, to), (STATION, Host::Server));
            assert_eq!((packet.tuple.source_port, packet.tuple.destination_port), (40_000, 5_201));
            assert_eq!((packet.tuple.protocol, packet.class()), (TCP, Class::Data));
            assert_eq!((packet.seq, packet.ack, packet.payload_bytes), (1_000, 77, 100));
            assert_eq!((packet.dscp(), packet.ecn()), (46, Ecn::Ect0));
            assert_eq!(packet.ip_bytes() as usize, bytes.len());
            assert_eq!(packet.sack.iter(77).collect::<Vec<_>>(), [(100, 200), (300, 400)]);
            assert_eq!(tcp_at, Some(if six { 40 } else { 20 }));
        }
    }

    #[test]
    fn what_is_not_carried_says_why() {
        assert_eq!(read(&[], STATIONS), Err(NotCarried::Malformed));
        assert_eq!(read(&[0x45; 19], STATIONS), Err(NotCarried::Malformed));
        for six in [false, true] {
            let mut padded = segment(six, TcpHeader::new(1, 2, 3, 4), 0, &[7; 10]);
            assert!(read(&padded, STATIONS).is_ok());
            padded.push(0);
            assert_eq!(read(&padded, STATIONS), Err(NotCarried::Malformed), "a byte after the packet");
        }
        let mut bytes = vec![];
        PacketBuilder::ipv4(STATION.ipv4().octets(), [224, 0, 0, 251], 1)
            .udp(1, 2)
            .write(&mut bytes, &[])
            .unwrap();
        assert_eq!(read(&bytes, STATIONS), Err(NotCarried::Multicast));
        let far = segment(false, TcpHeader::new(1, 2, 3, 4), 0, &[]);
        assert_eq!(read(&far, 1), Err(NotCarried::Elsewhere), "a station that does not exist");
    }

    #[test]
    fn fragments_and_other_protocols_are_carried_without_ports() {
        let mut bytes = segment(false, TcpHeader::new(1, 2, 3, 4), 0, &[0; 50]);
        bytes[6] = 0x20; // more fragments
        let read_fragment = read(&bytes, STATIONS).unwrap();
        assert_eq!((read_fragment.packet.tuple.source_port, read_fragment.tcp_at), (0, None));
        bytes[6] = 0;
        bytes[9] = 132; // SCTP
        let sctp = read(&bytes, STATIONS).unwrap();
        assert_eq!((sctp.packet.tuple.protocol, sctp.packet.class()), (132, Class::Other));
        assert_eq!(sctp.packet.ip_bytes() as usize, bytes.len());
    }

    proptest! {
        #[test]
        fn any_bytes_are_carried_or_dropped(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            if let Ok(header) = read(&bytes, STATIONS) {
                prop_assert!(header.packet.ip_bytes() as usize == bytes.len());
            }
        }

        /// Damaged headers of packets between existing hosts: carried or dropped; marking them is harmless.
        #[test]
        fn damaged_packets_are_carried_or_dropped(
            six: bool,
            udp: bool,
            payload in proptest::collection::vec(any::<u8>(), 0..60),
            damage in proptest::collection::vec((0usize..100, any::<u8>()), 0..4),
            cut in 0usize..120,
        ) {
            let mut tcp = TcpHeader::new(1, 2, 3, 4);
            tcp.ack = true;
            let mut bytes = segment(six, tcp, 2, &payload);
            if udp {
                bytes[if six { 6 } else { 9 }] = UDP as u8;
            }
            for (at, value) in damage {
                let length = bytes.len();
                bytes[at % length] = value;
            }
            bytes.truncate(bytes.len().min(cut.max(1)));
            if let Ok(header) = read(&bytes, STATIONS) {
                prop_assert!(header.packet.ip_bytes() as usize == bytes.len());
                set_ce(&mut bytes);
                if let Some(at) = header.tcp_at {
                    set_ece(&mut bytes, usize::from(at));
                }
            }
        }

        #[test]
        fn marks_keep_the_checksums(
            six: bool,
            seq: u32,
            ds_field: u8,
            flags: u8,
            payload in proptest::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut tcp = TcpHeader::new(4_711, 80, seq, 1_000);
            (tcp.ack, tcp.psh, tcp.ece, tcp.cwr) =
                (flags & 1 > 0, flags & 2 > 0, flags & 4 > 0, flags & 8 > 0);
            let mut bytes = segment(six, tcp, ds_field, &payload);
            let tcp_at = usize::from(read(&bytes, STATIONS).unwrap().tcp_at.unwrap());
            prop_assert!(checksums_hold(&bytes, tcp_at));
            set_ce(&mut bytes);
            set_ece(&mut bytes, tcp_at);
            prop_assert!(checksums_hold(&bytes, tcp_at));
            let marked = read(&bytes, STATIONS).unwrap().packet;
            prop_assert_eq!(marked.ecn(), Ecn::Ce);
            prop_assert_eq!(marked.dscp(), ds_field >> 2);
            prop_assert!(marked.flags.contains(TcpFlags::ECE));
        }
    }
}
