//! Contents of packets in captures.

use wifair_core::Packet;

use crate::address::link_address;

/// Contents and addresses of a network's packets.
pub trait Contents {
    /// Appends a packet, or at least its headers; returns the length of the whole. The rest is filled with zeros if `full`
    /// frames are wanted.
    fn write(&self, packet: &Packet, full: bool, bytes: &mut Vec<u8>) -> usize;

    /// The packet's EtherType.
    fn ether_type(&self, _packet: &Packet) -> [u8; 2] {
        [0x08, 0x00] // IPv4
    }

    /// The hardware address of the host with this IPv4 address.
    fn link_address(&self, address: u32) -> [u8; 6] {
        link_address(address)
    }
}
