//! Packets of arbitrary bytes in an emulated network, some with the beginning of a valid header: each is refused, or delivered,
//! dropped, filtered or lost; what is delivered is what was sent but for marks, and marks leave the checksums as right or wrong
//! as they were.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use wifair_core::{StationId, Time};
use wifair_emulate::{ConversationRow, EmulatedNetwork, Host, Outlet, read};
use wifair_sim::Plan;

const STATIONS: u16 = 2;
const HOSTS: [Host; 3] = [Host::Station(StationId(0)), Host::Station(StationId(1)), Host::Server];
const MOST_STEPS: usize = 200;
/// More than a device's MTU.
const LONGEST: usize = 1_600;
const ECE: u8 = 0x40;

/// Those that read most of the headers, and those that mark.
const SCHEMES: [&str; 7] = [
    r#"{"name": "droptail"}"#,
    r#"{"name": "red", "signal": "mark-and-echo", "min_packets": 1, "max_packets": 3}"#,
    r#"{"name": "adaptive-pushout"}"#,
    r#"{"name": "mac80211"}"#,
    r#"{"name": "spm-af"}"#,
    r#"{"name": "las"}"#,
    r#"{"name": "dqm"}"#,
];

/// A network, and packets that its hosts send.
pub fn check(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let scheme = usize::from(u.arbitrary::<u8>().unwrap_or(0)) % SCHEMES.len();
    let mut network = EmulatedNetwork::new(&plan(SCHEMES[scheme]), 1).expect("a plan that is right");
    let mut watched = Watched::default();
    let begin = network.counted();
    let mut now = Time::ZERO;
    // Bytes that end in the midst of something end the input there.
    let _ = steps(&mut u, &mut network, &mut watched, &mut now);
    network.advance(now + Time::from_s(100), &mut watched);
    let uncarried = network.uncarried();
    let refused = uncarried.malformed + uncarried.multicast + uncarried.elsewhere + uncarried.no_room;
    let (_, rows) = network.report(&begin, &network.counted(), |host| format!("{host:?}"));
    let sum = |of: fn(&ConversationRow) -> u64| rows.iter().map(of).sum::<u64>();
    assert_eq!(sum(|row| row.sent_packets) + refused, watched.sent);
    assert_eq!(sum(|row| row.delivered_packets), watched.delivered);
    assert_eq!(
        sum(|row| row.sent_packets),
        sum(|row| row.delivered_packets + row.dropped + row.filtered + row.lost)
    );
    assert_eq!(network.under_way(), 0);
}

fn plan(scheme: &str) -> Plan {
    let station = |label| format!(r#"{{"label": "{label}", "tx_queue": {{"limit_packets": 10}} }}"#);
    let stations = ["near", "far"].map(station).join(",");
    Plan::from_json(&format!(
        r#"{{"bss": {{"phy": {{"name": "802.11b"}}, "stations": [{stations}],
            "ap": {{"tx_queue": {{"limit_packets": 10, "scheme": {scheme} }} }} }},
            "flows": [{{"label": "a", "station": "near", "direction": "up"}}] }}"#
    ))
    .expect("a plan that is right")
}

fn steps(
    u: &mut Unstructured,
    network: &mut EmulatedNetwork,
    watched: &mut Watched,
    now: &mut Time,
) -> Result<()> {
    for _ in 0..MOST_STEPS {
        let kind = u.arbitrary::<u8>()?;
        if kind % 8 == 0 {
            *now += Time::from_us(u64::from(u.arbitrary::<u16>()?));
            network.advance(*now, watched);
            continue;
        }
        let from = usize::from(u.arbitrary::<u8>()?);
        let length = u.arbitrary_len::<u8>()?.min(LONGEST);
        let mut packet = u.bytes(length)?.to_vec();
        if kind & 0x40 != 0 {
            packet.resize(usize::from(u.arbitrary::<u16>()?) % LONGEST, 0);
        }
        let (from, to) = (HOSTS[from % 3], HOSTS[from / 3 % 3]);
        if kind & 0x80 != 0 {
            head(&mut packet, kind & 0x20 != 0, from, to, [6, 17, 1, 0][usize::from(kind >> 3) & 3]);
        }
        watched.send(&packet);
        network.send(from, &packet);
    }
    Ok(())
}

/// Writes over a packet what makes it one between two hosts. A protocol of 0 leaves what is there.
fn head(packet: &mut [u8], six: bool, from: Host, to: Host, protocol: u8) {
    let length = packet.len();
    if six && length >= 40 {
        packet[0] = 0x60 | packet[0] & 15;
        packet[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
        packet[8..24].copy_from_slice(&from.ipv6().octets());
        packet[24..40].copy_from_slice(&to.ipv6().octets());
    } else if !six && length >= 20 {
        packet[0] = 0x40 | (packet[0] & 15).max(5);
        packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        packet[6..8].fill(0);
        packet[12..16].copy_from_slice(&from.ipv4().octets());
        packet[16..20].copy_from_slice(&to.ipv4().octets());
    } else {
        return;
    }
    if protocol != 0 {
        packet[if six { 6 } else { 9 }] = protocol;
    }
}

/// What is under way, as [`Unmarked`].
#[derive(Default)]
struct Watched {
    sent: u64,
    delivered: u64,
    under_way: BTreeMap<Unmarked, u64>,
}

impl Watched {
    fn send(&mut self, bytes: &[u8]) {
        self.sent += 1;
        if let Some(packet) = unmarked(bytes) {
            *self.under_way.entry(packet).or_default() += 1;
        }
    }
}

impl Outlet for Watched {
    fn exchange(&mut self, _due: Time) {}

    fn hand_over(&mut self, to: Host, bytes: &[u8], _due: Time) {
        self.delivered += 1;
        assert_eq!(read(bytes, STATIONS).expect("it was carried").to, to);
        let packet = unmarked(bytes).expect("it was carried");
        let count = self.under_way.get_mut(&packet).expect("it was sent");
        *count = count.checked_sub(1).expect("it was sent so often");
    }
}

/// A packet without what marks change, and the sums of its checksums' words, which they must not change.
type Unmarked = (Vec<u8>, u32, u32);

fn unmarked(bytes: &[u8]) -> Option<Unmarked> {
    let header = read(bytes, STATIONS).ok()?;
    assert_eq!(header.packet.ip_bytes() as usize, bytes.len());
    let mut plain = bytes.to_vec();
    let mut sums = (0, 0);
    if bytes[0] >> 4 == 6 {
        plain[1] &= !0x30;
    } else {
        sums.0 = sum(&bytes[..usize::from(bytes[0] & 15) * 4]);
        plain[1] &= !3;
        plain[10..12].fill(0);
    }
    if let Some(tcp_at) = header.tcp_at.map(usize::from) {
        let options = usize::from(bytes[0] & 15) * 4;
        assert!(bytes[0] >> 4 == 6 && tcp_at >= 40 || tcp_at == options, "TCP at {tcp_at}");
        sums.1 = sum(&bytes[tcp_at..]);
        plain[tcp_at + 13] &= !ECE;
        plain[tcp_at + 16..tcp_at + 18].fill(0);
    }
    Some((plain, sums.0, sums.1))
}

/// The words' sum modulo 65,535, in which all complements of a checksum are alike.
fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).sum::<u32>() % 0xFFFF
}
