//! The headers of IP packets as bytes: IPv4 with TCP, UDP or an ICMP echo, options and checksums included. Payload is all
//! zeros.

use etherparse::checksum::Sum16BitWords;
use etherparse::{
    IcmpEchoHeader, Icmpv4Header, Icmpv4Type, IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader,
    TcpOptionElement, UdpHeader,
};
use wifair_core::{ICMP, Packet, TCP, TcpFlags, UDP};
use wifair_tcp::TcpSpec;

use crate::address;
use crate::plan::Plan;

use super::contents::Contents;

/// Maximum length of the options of an IPv4 or a TCP header, in bytes.
const MOST_OPTION_BYTES: usize = 40;
/// The "no operation" option of IPv4 and TCP.
const NO_OPERATION: u8 = 1;
/// Time to live: recommended by RFC 1700 and used by most hosts.
const TIME_TO_LIVE: u8 = 64;

/// What the ends of a connection agree on when it opens and packets here do not carry.
struct Agreed {
    mss_bytes: u16,
    window_scale: u8,
}

/// Writes headers of simulated packets. It has the parameters that each connection of a plan agrees on.
pub struct Headers {
    /// By slot.
    agreed: Vec<Agreed>,
}

impl Headers {
    /// Creates the writer for the connections of `plan`.
    pub(super) fn new(plan: &Plan) -> Headers {
        let agreed = |tcp: &TcpSpec| Agreed { mss_bytes: tcp.mss_bytes, window_scale: tcp.scale() };
        Headers { agreed: plan.flows_by_slot().map(|flow| agreed(&flow.tcp)).collect() }
    }

    fn tcp(&self, packet: &Packet) -> TcpHeader {
        let Packet { tuple, flags, .. } = packet;
        let has = |flag| flags.contains(flag);
        let agreed = &self.agreed[address::slot_of(tuple)];
        // The window of a SYN is not scaled (RFC 7323, 2.2).
        let scale = if has(TcpFlags::SYN) { 0 } else { agreed.window_scale };
        let mut header = TcpHeader {
            source_port: tuple.source_port,
            destination_port: tuple.destination_port,
            sequence_number: packet.seq,
            acknowledgment_number: packet.ack,
            fin: has(TcpFlags::FIN),
            syn: has(TcpFlags::SYN),
            rst: has(TcpFlags::RST),
            psh: has(TcpFlags::PSH),
            ack: has(TcpFlags::ACK),
            urg: has(TcpFlags::URG),
            ece: has(TcpFlags::ECE),
            cwr: has(TcpFlags::CWR),
            window_size: (packet.window_bytes >> scale).min(u32::from(u16::MAX)) as u16,
            ..TcpHeader::default()
        };
        let bare = Ipv4Header::MIN_LEN + TcpHeader::MIN_LEN;
        if usize::from(packet.header_bytes) > bare || has(TcpFlags::SYN) {
            let wanted = usize::from(packet.header_bytes).saturating_sub(bare).min(MOST_OPTION_BYTES);
            let options = options(packet, agreed, wanted);
            header.set_options(&options).expect("what a packet has to say fits into its header");
        }
        header
    }
}

impl Contents for Headers {
    /// Writes the headers; the payload is all zeros.
    fn write(&self, packet: &Packet, _full: bool, bytes: &mut Vec<u8>) -> usize {
        let from = bytes.len();
        match packet.tuple.protocol {
            TCP => {
                let mut tcp = self.tcp(packet).to_bytes();
                let checksum = transport_checksum(packet, &tcp).to_be_bytes();
                tcp[16..18].copy_from_slice(&checksum);
                write_ipv4(packet, tcp.len(), bytes);
                bytes.extend_from_slice(&tcp);
            }
            UDP => {
                let mut udp = UdpHeader {
                    source_port: packet.tuple.source_port,
                    destination_port: packet.tuple.destination_port,
                    length: (UdpHeader::LEN as u32 + packet.payload_bytes) as u16,
                    checksum: 0,
                };
                udp.checksum = match transport_checksum(packet, &udp.to_bytes()) {
                    0 => 0xFFFF, // zero means no checksum
                    checksum => checksum,
                };
                write_ipv4(packet, UdpHeader::LEN, bytes);
                bytes.extend_from_slice(&udp.to_bytes());
            }
            ICMP => {
                let echo = echo(packet).to_bytes();
                write_ipv4(packet, echo.len(), bytes);
                bytes.extend_from_slice(&echo);
            }
            other => unreachable!("no packet of protocol {other} is ever sent"),
        }
        bytes.len() - from + packet.payload_bytes as usize
    }
}

/// The options of a segment, after enough no-operation options to make them `wanted` bytes long.
fn options(packet: &Packet, agreed: &Agreed, wanted: usize) -> Vec<TcpOptionElement> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted, WindowScale,
    };
    let mut said = vec![];
    let mut length = 0;
    if packet.flags.contains(TcpFlags::SYN) {
        said.push(MaximumSegmentSize(agreed.mss_bytes));
        length += 4;
        if packet.sack.is_permitted() {
            said.extend([Noop, Noop, SelectiveAcknowledgementPermitted]);
            length += 4;
        }
        if agreed.window_scale > 0 {
            said.extend([Noop, WindowScale(agreed.window_scale)]);
            length += 4;
        }
    }
    let mut blocks = packet.sack.iter(packet.ack);
    if let Some(first) = blocks.next() {
        said.extend([Noop, Noop, SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), None])]);
        length += packet.sack.option_bytes() as usize;
    }
    let empty = wanted.next_multiple_of(4).saturating_sub(length);
    [vec![Noop; empty], said].concat()
}

/// The header of an ICMP echo (RFC 792). Its identifier is the server's port, the lower one, which distinguishes flows.
fn echo(packet: &Packet) -> Icmpv4Header {
    let id = packet.tuple.source_port.min(packet.tuple.destination_port);
    let echo = IcmpEchoHeader { id, seq: packet.seq as u16 };
    let kind =
        if packet.is_echo_reply() { Icmpv4Type::EchoReply(echo) } else { Icmpv4Type::EchoRequest(echo) };
    Icmpv4Header::with_checksum(kind, &[]) // zeros do not change the checksum
}

/// Appends the IPv4 header before `transport` bytes of header and the packet's payload.
fn write_ipv4(packet: &Packet, transport: usize, bytes: &mut Vec<u8>) {
    let own = usize::from(packet.header_bytes).saturating_sub(transport);
    let empty = own.saturating_sub(Ipv4Header::MIN_LEN).next_multiple_of(4).min(MOST_OPTION_BYTES);
    let length = Ipv4Header::MIN_LEN + empty + transport + packet.payload_bytes as usize;
    let mut header = Ipv4Header {
        dscp: IpDscp::try_new(packet.dscp()).expect("six bits"),
        ecn: IpEcn::try_new(packet.ecn() as u8).expect("two bits"),
        total_len: length.min(usize::from(u16::MAX)) as u16,
        dont_fragment: true,
        time_to_live: TIME_TO_LIVE,
        protocol: IpNumber(packet.tuple.protocol as u8),
        source: packet.tuple.source.to_be_bytes(),
        destination: packet.tuple.destination.to_be_bytes(),
        ..Ipv4Header::default()
    };
    if empty > 0 {
        let options = &[NO_OPERATION; MOST_OPTION_BYTES][..empty];
        header.options = options.try_into().expect("a multiple of four, up to forty");
    }
    header.header_checksum = header.calc_header_checksum();
    bytes.extend_from_slice(&header.to_bytes());
}

/// The checksum over pseudo header, transport header and payload (RFC 9293, 3.1). A payload of zeros does not change it.
fn transport_checksum(packet: &Packet, header: &[u8]) -> u16 {
    let length = header.len() as u32 + packet.payload_bytes;
    let sum = Sum16BitWords::new()
        .add_4bytes(packet.tuple.source.to_be_bytes())
        .add_4bytes(packet.tuple.destination.to_be_bytes())
        .add_4bytes(packet.tuple.protocol.to_be_bytes())
        .add_4bytes(length.to_be_bytes())
        .add_slice(header)
        .ones_complement();
    sum.to_be()
}
