//! Addresses of the model network, and the mapping from an address to the connection.
//!
//! Stations are 10.0.0.1 and following. The server's address and port encode the connection's slot, so that a packet's end
//! point is found by arithmetic in either direction. The station's port distinguishes successive connections of one slot.

use wifair_core::{ConnectionId, FiveTuple, ICMP, StationId, TCP, UDP};

use crate::application::Transport;
use crate::plan::FlowDirection;

const STATION_BASE: u32 = 0x0A00_0001; // 10.0.0.1
const SERVER_BASE: u32 = 0xAC10_0001; // 172.16.0.1
const SERVER_PORT_BASE: u16 = 5_001;
const SLOTS_A_SERVER: u32 = 1 << 15;
/// The station's port for its first connection (RFC 6335, section 6).
pub const EPHEMERAL_BASE: u16 = 49_152;
const EPHEMERAL_PORTS: u32 = ConnectionId::GENERATIONS;

/// The 5-tuple of the connection in `slot`, from the station to the server. `generation` is the number of earlier connections
/// of the slot.
fn station_to_server(slot: u32, station: StationId, generation: u32) -> FiveTuple {
    FiveTuple {
        source: STATION_BASE + u32::from(station.0),
        destination: SERVER_BASE + slot / SLOTS_A_SERVER,
        source_port: EPHEMERAL_BASE + (generation % EPHEMERAL_PORTS) as u16,
        destination_port: SERVER_PORT_BASE + (slot % SLOTS_A_SERVER) as u16,
        protocol: TCP,
    }
}

/// The 5-tuple of packets in the direction of the slot's flow.
pub fn tuple(
    direction: FlowDirection,
    slot: u32,
    station: StationId,
    generation: u32,
    transport: Transport,
) -> FiveTuple {
    let protocol = match transport {
        Transport::Tcp => TCP,
        Transport::Udp => UDP,
        Transport::Icmp => ICMP,
    };
    let up = FiveTuple { protocol, ..station_to_server(slot, station, generation) };
    match direction {
        FlowDirection::Up => up,
        FlowDirection::Down => up.reversed(),
    }
}

/// The slot of a packet in either direction.
pub fn slot_of(tuple: &FiveTuple) -> usize {
    if tuple.source < SERVER_BASE { slot_to_server(tuple) } else { slot_to_station(tuple) }
}

/// The hardware address of the host with this IPv4 address: the prefix 02:00 (locally administered, unicast) and the address.
pub fn link_address(ip: u32) -> [u8; 6] {
    let [a, b, c, d] = ip.to_be_bytes();
    [0x02, 0x00, a, b, c, d]
}

/// The hardware address of a station.
pub fn station_link_address(station: StationId) -> [u8; 6] {
    link_address(STATION_BASE + u32::from(station.0))
}

/// The hardware address of the AP of the BSS with that number, its BSSID: 02:00:00:00 and the number. The AP is a bridge
/// without an IPv4 address.
pub fn ap_link_address(bss: usize) -> [u8; 6] {
    link_address(bss as u32)
}

/// The station that a packet goes to or comes from.
pub fn station_of(tuple: &FiveTuple) -> StationId {
    let address = tuple.source.min(tuple.destination); // servers have higher ones
    StationId((address - STATION_BASE) as u16)
}

/// The slot of a packet to a server.
pub fn slot_to_server(tuple: &FiveTuple) -> usize {
    slot(tuple.destination, tuple.destination_port)
}

/// The slot of a packet to a station.
pub fn slot_to_station(tuple: &FiveTuple) -> usize {
    slot(tuple.source, tuple.source_port)
}

fn slot(server: u32, port: u16) -> usize {
    ((server - SERVER_BASE) * SLOTS_A_SERVER + u32::from(port - SERVER_PORT_BASE)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_found_again_in_both_directions() {
        for slot in [0, 1, 32_767, 32_768, 99_999] {
            let tuple = station_to_server(slot, StationId(19_999), 7);
            assert_eq!(slot_to_server(&tuple), slot as usize);
            assert_eq!(slot_to_station(&tuple.reversed()), slot as usize);
            assert_eq!((slot_of(&tuple), slot_of(&tuple.reversed())), (slot as usize, slot as usize));
            assert_eq!([station_of(&tuple), station_of(&tuple.reversed())], [StationId(19_999); 2]);
        }
    }

    #[test]
    fn successive_connections_have_different_tuples() {
        assert_ne!(station_to_server(3, StationId(1), 0), station_to_server(3, StationId(1), 1));
    }
}
