//! Addresses of the emulated network. Hosts are numbered: station `i` is `i + 1`, the server has the last number. All share one
//! prefix, so that no host needs a route.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wifair_core::StationId;

const IPV4: u32 = 0x0A00_0000; // 10.0.0.0
/// Length of the prefix of IPv4 addresses.
pub const IPV4_PREFIX: u8 = 16;
const IPV6: u128 = 0xfd77_6966_6169_7200 << 64;
/// Length of the prefix of IPv6 addresses.
pub const IPV6_PREFIX: u8 = 64;
const SERVER: u16 = 0xFFFE;
/// Prefix of the 32-bit number that represents an IPv6 address in the engine's packets.
const IPV6_MARK: u32 = 0xFD00_0000;

/// A host of the emulated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// The server behind the wire.
    Server,
    /// A station of the BSS.
    Station(StationId),
}

impl Host {
    const fn number(self) -> u16 {
        match self {
            Host::Server => SERVER,
            Host::Station(id) => id.0 + 1,
        }
    }

    /// The host of this number in a BSS of `stations` stations.
    fn of_number(number: u16, stations: u16) -> Option<Host> {
        match number {
            SERVER => Some(Host::Server),
            1.. if number <= stations => Some(Host::Station(StationId(number - 1))),
            _ => None,
        }
    }

    /// Its IPv4 address.
    pub const fn ipv4(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(IPV4 | self.number() as u32)
    }

    /// Its IPv6 address.
    pub const fn ipv6(self) -> Ipv6Addr {
        Ipv6Addr::from_bits(IPV6 | self.number() as u128)
    }

    /// The host with this address in a BSS of `stations` stations, and the address in the engine's packets.
    pub fn at(address: IpAddr, stations: u16) -> Option<(Host, u32)> {
        let (prefix, number, short) = match address {
            IpAddr::V4(address) => {
                let bits = address.to_bits();
                (bits >> 16 == IPV4 >> 16, bits as u16, bits)
            }
            IpAddr::V6(address) => {
                let bits = address.to_bits();
                let number = bits as u16;
                (bits ^ u128::from(number) == IPV6, number, IPV6_MARK | u32::from(number))
            }
        };
        let host = Host::of_number(number, stations).filter(|_| prefix)?;
        Some((host, short))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_by_their_addresses() {
        for host in [Host::Server, Host::Station(StationId(0)), Host::Station(StationId(299))] {
            let (four, six) =
                (Host::at(host.ipv4().into(), 300).unwrap(), Host::at(host.ipv6().into(), 300).unwrap());
            assert_eq!((four.0, six.0), (host, host));
            assert_ne!(four.1, six.1);
        }
        for elsewhere in ["10.0.1.45", "10.1.0.1", "10.0.0.0", "224.0.0.1", "fe80::1", "ff02::2", "::"] {
            assert_eq!(Host::at(elsewhere.parse().unwrap(), 300), None, "{elsewhere}");
        }
    }
}
