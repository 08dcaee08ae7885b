//! Packets and helpers that several test files share.

use wifair_core::{ConnectionId, FiveTuple, Packet, SackBlocks, TCP, TcpFlags};

/// Connection number `n` as packets to the station carry it.
pub fn tuple(n: u32) -> FiveTuple {
    FiveTuple {
        source: 0x0a01_0000 + n,
        destination: 0x0a00_0000 + n,
        source_port: 80,
        destination_port: 5000,
        protocol: TCP,
    }
}

/// A full-sized segment of connection `n` towards the station.
pub fn data(n: u32, seq: u32) -> Packet {
    Packet {
        tuple: tuple(n),
        connection: ConnectionId::NONE,
        seq,
        ack: 1,
        window_bytes: 65_535,
        payload_bytes: 1460,
        header_bytes: 40,
        flags: TcpFlags::ACK,
        ds_field: 0,
        sack: SackBlocks::NONE,
    }
}

/// A pure ACK of connection `n` towards the station.
#[allow(dead_code)] // not every test file needs one
pub fn ack(n: u32, ack: u32) -> Packet {
    Packet { seq: 1, ack, payload_bytes: 0, ..data(n, 1) }
}

/// A SYN of connection `n` towards the station.
#[allow(dead_code)] // not every test file needs one
pub fn syn(n: u32) -> Packet {
    Packet { flags: TcpFlags::SYN, payload_bytes: 0, ..data(n, 0) }
}

/// The packet with its direction turned round.
#[allow(dead_code)]
pub fn upward(packet: Packet) -> Packet {
    Packet { tuple: packet.tuple.reversed(), ..packet }
}

/// Number of cases of a property test: `make validate` sets WIFAIR_VALIDATE and gets twenty times as many.
#[allow(dead_code)]
pub fn cases(usual: u32) -> u32 {
    if std::env::var_os("WIFAIR_VALIDATE").is_some_and(|v| v == "1") { usual * 20 } else { usual }
}
