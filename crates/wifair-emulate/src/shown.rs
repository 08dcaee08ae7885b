//! Contents of real packets in captures: their bytes, with the marks set so far.

use std::collections::BTreeMap;

use wifair_core::{Ecn, Packet, TcpFlags};
use wifair_sim::Contents;

use crate::address::Host;
use crate::headers;
use crate::store::{Handle, Stored};

/// The packets to be captured next.
#[derive(Default)]
pub struct Shown {
    /// The packet that is passing an interface.
    passing: Option<(Handle, Vec<u8>)>,
    /// The packets that the MAC transmits. They may already have been delivered and removed from the store.
    in_service: BTreeMap<Handle, Vec<u8>>,
}

impl Shown {
    /// Sets the packet that passes an interface.
    pub fn pass(&mut self, packet: &Packet, bytes: Vec<u8>) {
        self.passing = Some((Handle::of(packet), bytes));
    }

    /// Adds a packet that is transmitted for the first time.
    pub fn serve(&mut self, packet: &Packet, bytes: Vec<u8>) {
        self.passing = None;
        self.in_service.insert(Handle::of(packet), bytes);
    }

    /// Removes a packet that the MAC is done with.
    pub fn finish(&mut self, handle: Handle) {
        self.in_service.remove(&handle);
    }

    fn find(&self, packet: &Packet) -> &[u8] {
        let handle = Handle::of(packet);
        match &self.passing {
            Some((of, bytes)) if *of == handle => bytes,
            _ => self.in_service.get(&handle).map_or(&[], Vec::as_slice),
        }
    }
}

impl Contents for Shown {
    fn write(&self, packet: &Packet, full: bool, bytes: &mut Vec<u8>) -> usize {
        let found = self.find(packet);
        let length = if full { found.len() } else { found.len().min(packet.header_bytes.into()) };
        bytes.extend_from_slice(&found[..length]);
        packet.ip_bytes() as usize
    }

    fn ether_type(&self, packet: &Packet) -> [u8; 2] {
        match self.find(packet).first() {
            Some(first) if first >> 4 == 6 => [0x86, 0xDD],
            _ => [0x08, 0x00],
        }
    }

    fn link_address(&self, address: u32) -> [u8; 6] {
        let [_, _, high, low] = address.to_be_bytes();
        let [a, b, _, _] = Host::Server.ipv4().octets();
        [0x02, 0x00, a, b, high, low]
    }
}

/// The bytes of a stored packet with the marks that the engine's packet has now; `has_ecn`: whether ECE would be understood.
pub fn with_marks(stored: &Stored, packet: &Packet, has_ecn: bool) -> Vec<u8> {
    let mut bytes = stored.bytes.clone();
    if packet.ecn() == Ecn::Ce {
        headers::set_ce(&mut bytes);
    }
    if let Some(tcp_at) = stored.tcp_at.map(usize::from)
        && has_ecn
        && packet.flags.contains(TcpFlags::ECE)
    {
        headers::set_ece(&mut bytes, tcp_at);
    }
    bytes
}
