//! The few messages of rtnetlink(7) that a host needs: setting its loopback device up, and metrics of the route to the other
//! hosts.

use std::net::IpAddr;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

const RTM_NEWLINK: u16 = 16;
const RTM_NEWROUTE: u16 = 24;
const NLM_F_REQUEST: u16 = 0x001;
const NLM_F_ACK: u16 = 0x004;
const NLM_F_REPLACE: u16 = 0x100;
const NLM_F_CREATE: u16 = 0x400;
const HEADER: usize = 16;
/// RTAX_RTO_MIN.
const RTO_MIN: u16 = 13;

/// A metric of a route, by its name in ip-route(8).
#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    /// A number.
    Number(u16, u32),
    /// `congctl`: the congestion control of connections to the destination.
    CongestionControl(String),
}

impl Metric {
    /// Names of the metrics.
    pub const NAMES: [&'static str; 6] = ["congctl", "initcwnd", "initrwnd", "quickack", "rto_min", "window"];

    /// Parses a metric. `rto_min` is in milliseconds, `window` in bytes.
    ///
    /// # Errors
    /// Returns what is allowed.
    pub fn parse(name: &str, value: &str) -> Result<Metric, String> {
        let number = |key| match value.parse() {
            Ok(value) => Ok(Metric::Number(key, value)),
            Err(_) => Err(format!("route metric {name}={value}: allowed is a whole number")),
        };
        // RTAX_… of linux/rtnetlink.h
        match name {
            "window" => number(3),
            "initcwnd" => number(11),
            "rto_min" => number(RTO_MIN),
            "initrwnd" => number(14),
            "quickack" => number(15),
            "congctl" => Ok(Metric::CongestionControl(value.to_owned())),
            _ => Err(format!("route metric {name}: allowed are {}", Metric::NAMES.join(", "))),
        }
    }

    fn attribute(&self) -> Vec<u8> {
        match self {
            Metric::Number(key, value) => attribute(*key, &value.to_ne_bytes()),
            Metric::CongestionControl(name) => attribute(16, &[name.as_bytes(), &[0]].concat()),
        }
    }
}

/// Sets the loopback device of this thread's network namespace up.
pub fn raise_loopback() -> nix::Result<()> {
    const IFF_UP: u32 = 1;
    let mut body = vec![0; 4]; // struct ifinfomsg: family, type, index, flags, which of them
    body.extend(1i32.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    request(RTM_NEWLINK, 0, &body)
}

/// Sets the queue length in packets of the interface with this index. Uses netlink, since the ioctl for it requires a
/// capability in the initial namespace.
pub fn set_queue(device: u32, packets: u32) -> nix::Result<()> {
    let mut body = vec![0; 4]; // struct ifinfomsg, as above
    body.extend(device.to_ne_bytes());
    body.extend([0; 8]);
    body.extend(attribute(13, &packets.to_ne_bytes())); // IFLA_TXQLEN
    request(RTM_NEWLINK, 0, &body)
}

/// Sets metrics of the route of this thread's network namespace to the prefix of `own`. `device` is the index of the interface.
pub fn set_route(own: IpAddr, prefix: u8, device: u32, metrics: &[Metric]) -> nix::Result<()> {
    const TABLE_MAIN: u8 = 254;
    const PROTOCOL_KERNEL: u8 = 2;
    const SCOPE_LINK: u8 = 253;
    const UNICAST: u8 = 1;
    let (family, scope, address) = match own {
        IpAddr::V4(address) => (AddressFamily::Inet, SCOPE_LINK, address.octets().to_vec()),
        IpAddr::V6(address) => (AddressFamily::Inet6, 0, address.octets().to_vec()),
    };
    let mut network = address.clone();
    network[usize::from(prefix) / 8..].fill(0);
    // struct rtmsg: family, lengths of destination and source, TOS, table, protocol, scope, type, flags
    let mut body = vec![family as u8, prefix, 0, 0, TABLE_MAIN, PROTOCOL_KERNEL, scope, UNICAST, 0, 0, 0, 0];
    body.extend(attribute(1, &network)); // RTA_DST
    body.extend(attribute(4, &device.to_ne_bytes())); // RTA_OIF
    match own {
        IpAddr::V4(_) => body.extend(attribute(7, &address)), // RTA_PREFSRC
        IpAddr::V6(_) => body.extend(attribute(6, &256u32.to_ne_bytes())), // RTA_PRIORITY of the kernel's own routes
    }
    let mut attributes: Vec<u8> = metrics.iter().flat_map(Metric::attribute).collect();
    if metrics.iter().any(|metric| matches!(metric, Metric::Number(RTO_MIN, _))) {
        attributes.extend(attribute(1, &(1u32 << RTO_MIN).to_ne_bytes())); // RTAX_LOCK, without which TCP ignores it
    }
    body.extend(attribute(8, &attributes)); // RTA_METRICS
    request(RTM_NEWROUTE, NLM_F_REPLACE | NLM_F_CREATE, &body)
}

/// struct rtattr: length, type, value, padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Sends a request and waits for its acknowledgement.
fn request(kind: u16, flags: u16, body: &[u8]) -> nix::Result<()> {
    // struct nlmsghdr: length, type, flags, sequence number, port
    let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend((NLM_F_REQUEST | NLM_F_ACK | flags).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    let flags = SockFlag::SOCK_CLOEXEC;
    let netlink = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
    sendto(netlink.as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut answer = [0; 1024];
    let length = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    match answer[..length].get(HEADER..HEADER + 4) {
        Some(&[a, b, c, d]) => match i32::from_ne_bytes([a, b, c, d]) {
            0 => Ok(()),
            negative => Err(Errno::from_raw(-negative)),
        },
        _ => Err(Errno::EBADMSG),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_attributes() {
        let [low, high] = 8u16.to_ne_bytes();
        assert_eq!(Metric::parse("quickack", "1").unwrap().attribute()[..2], [low, high]);
        let named = Metric::parse("congctl", "cubic").unwrap().attribute();
        assert_eq!((named.len(), &named[4..10]), (12, &b"cubic\0"[..]));
        assert!(Metric::parse("cwnd", "1").unwrap_err().contains("initcwnd"));
        assert!(Metric::parse("initcwnd", "ten").unwrap_err().contains("whole number"));
    }
}
