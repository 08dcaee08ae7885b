//! Packets for tests, of the crate's own too.

use wifair_core::{FiveTuple, Packet, SackBlocks, TCP, TcpFlags};

/// A TCP data segment between station `station` and a server: `ip_bytes` in all, numbered by `seq`.
pub fn packet(station: u16, seq: u32, ip_bytes: u32) -> Packet {
    Packet {
        connection: Default::default(),
        tuple: FiveTuple {
            source: 1 + u32::from(station),
            destination: 0x0a00_0001,
            source_port: 1_000,
            destination_port: 80,
            protocol: TCP,
        },
        seq,
        ack: 0,
        window_bytes: 65_535,
        payload_bytes: ip_bytes - 40,
        header_bytes: 40,
        flags: TcpFlags::ACK,
        ds_field: 0,
        sack: SackBlocks::NONE,
    }
}
