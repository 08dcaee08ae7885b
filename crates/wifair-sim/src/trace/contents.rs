//! What captures show of packets.

use wifair_core::Packet;

use crate::address::link_address;

/// What the packets of a network look like.
pub trait Contents {
    /// Appends a packet, or its first bytes, up to its headers at least; gives the length of the whole. What is left out is
    /// shown as zeros where `full` frames are wanted.
    fn write(&self, packet: &Packet, full: bool, bytes: &mut Vec<u8>) -> usize;

    /// Its EtherType.
    fn ether_type(&self, _packet: &Packet) -> [u8; 2] {
        [0x08, 0x00] // IPv4
    }

    /// The hardware address of the host with this address.
    fn link_address(&self, address: u32) -> [u8; 6] {
        link_address(address)
    }
}
