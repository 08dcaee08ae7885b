//! Generic segmentation offload (GSO): how many segments a sender passes down at once, as one packet.
//!
//! Source: Linux, `tcp_tso_autosize()`.

use wifair_core::Time;

/// The longest packet in bytes (`GSO_LEGACY_MAX_SIZE`).
pub(crate) const MOST_BYTES: u64 = 65_536;

/// `net.ipv4.tcp_tso_rtt_log` is 9: 512 µs.
const RTT_UNIT_NS: u64 = 512_000;

/// Segments of a packet, at least `least`, if the pacing rate carries `carried` bytes in the time of a packet. `least_rtt`: the
/// least RTT, if it counts; a near receiver makes packets longer.
pub(crate) fn segments(carried: u64, least_rtt: Option<Time>, mss: u32, least: u32) -> u64 {
    let halvings = least_rtt.map(|rtt| rtt.as_ns() / RTT_UNIT_NS).filter(|halvings| *halvings < 32);
    let near = halvings.map_or(0, |halvings| MOST_BYTES >> halvings);
    (carried.saturating_add(near).min(MOST_BYTES) / u64::from(mss)).max(u64::from(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 14,480 bytes are 10 segments of 1,448. 64 KiB / 2^4 more at 2,048 µs are 18,576 bytes, 12 segments.
    #[test]
    fn a_packet_has_whole_segments() {
        let of = |carried, rtt_us: Option<u64>| segments(carried, rtt_us.map(Time::from_us), 1_448, 2);
        assert_eq!(of(14_480, None), 10);
        assert_eq!(of(14_479, None), 9);
        assert_eq!(of(0, None), 2);
        assert_eq!(of(u64::MAX, None), 45);
        assert_eq!(of(14_480, Some(2_048)), 12);
        assert_eq!(of(14_480, Some(2_047)), 15);
        assert_eq!(of(14_480, Some(20_000)), 10);
        assert_eq!(of(0, Some(0)), 45);
    }
}
