//! A flow without connections: datagrams from one end or both, and their counters.

use wifair_core::{ConnectionId, FiveTuple, LogHistogram, Packet, Rng, Time, counters};

use crate::application::{Datagrams, Source};
use crate::e_model::Codec;

counters! {
    /// Counters of the datagrams of one direction. Cumulative.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub(crate) struct StreamStats {
        pub sent: u64,
        pub received: u64,
        pub received_payload_bytes: u64,
        pub received_ip_bytes: u64,
        /// One-way delays in nanoseconds; empty for replies, which carry the request's time.
        pub delay: LogHistogram,
        /// Round-trip times in nanoseconds of the requests that were answered.
        pub rtt: LogHistogram,
        /// Sum of the jitter's values after each arrival, in nanoseconds.
        pub jitter_sum_ns: u64,
    }
}

impl StreamStats {
    /// The mean of the jitter's values after each arrival, in nanoseconds; `None` without arrivals.
    pub fn jitter_mean_ns(&self) -> Option<f64> {
        let arrivals = self.delay.count();
        (arrivals > 0).then(|| self.jitter_sum_ns as f64 / arrivals as f64)
    }
}

/// Interarrival jitter by RFC 3550 (6.4.1), in the integer form of its section A.8, here in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Jitter {
    transit_ns: Option<u64>,
    /// Sixteen times the jitter.
    scaled_ns: u64,
}

impl Jitter {
    /// Updates the jitter with a packet that has arrived after `transit_ns`; returns it in nanoseconds.
    fn arrive(&mut self, transit_ns: u64) -> u64 {
        if let Some(before) = self.transit_ns.replace(transit_ns) {
            self.scaled_ns = self.scaled_ns + transit_ns.abs_diff(before) - ((self.scaled_ns + 8) >> 4);
        }
        self.scaled_ns >> 4
    }
}

/// The datagrams of one direction.
#[derive(Debug)]
struct Stream {
    /// `None` for replies, and if there are no datagrams.
    source: Option<Source>,
    /// When the next one leaves.
    next: Time,
    jitter: Jitter,
    stats: StreamStats,
}

impl Stream {
    fn new(source: Option<Source>) -> Stream {
        Stream { source, next: Time::MAX, jitter: Jitter::default(), stats: StreamStats::default() }
    }
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct DatagramSession {
    /// 5-tuple of packets in the direction of the flow.
    tuple: FiveTuple,
    /// Short name carried by packets in either direction.
    connection: ConnectionId,
    rng: Rng,
    /// In the direction of the flow, and in the opposite one.
    streams: [Stream; 2],
    echoed: bool,
    dscp: u8,
    codec: Option<Codec>,
    has_ended: bool,
}

/// Index of the stream in the flow's direction.
pub(crate) const FORWARD: usize = 0;
/// Index of the stream in the opposite direction.
pub(crate) const BACK: usize = 1;

impl DatagramSession {
    /// Creates the datagrams of a flow before its start, with `tuple` and the name `connection`.
    pub fn new(
        datagrams: Datagrams,
        tuple: FiveTuple,
        connection: ConnectionId,
        rng: Rng,
    ) -> DatagramSession {
        DatagramSession {
            tuple,
            connection,
            rng,
            streams: [Some(datagrams.forward), datagrams.back].map(Stream::new),
            echoed: datagrams.echoed,
            dscp: datagrams.dscp,
            codec: datagrams.codec,
            has_ended: false,
        }
    }

    /// Starts the flow.
    pub fn start(&mut self, now: Time) {
        if self.has_ended {
            return;
        }
        for stream in &mut self.streams {
            if let Some(source) = &stream.source {
                stream.next = now + source.delay(&mut self.rng);
            }
        }
    }

    /// Stops sending. Datagrams under way still arrive and are answered. Returns whether the flow had not ended before.
    pub fn stop(&mut self) -> bool {
        self.streams.iter_mut().for_each(|stream| stream.next = Time::MAX);
        !std::mem::replace(&mut self.has_ended, true)
    }

    /// Allows a new start after a stop. Returns whether it had ended.
    pub fn reopen(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }

    /// When the next datagram leaves; [`Time::MAX`] for never.
    pub fn next(&self) -> Time {
        self.streams[FORWARD].next.min(self.streams[BACK].next)
    }

    /// Returns a datagram that is due, if any, and its stream. On a tie the flow's direction comes first.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(usize, Packet)> {
        let way = self.streams.iter().position(|stream| stream.next <= now)?;
        let stream = &mut self.streams[way];
        let (payload_bytes, interval) = stream.source.as_ref()?.next(&mut self.rng);
        stream.next = now + interval;
        let tuple = if way == FORWARD { self.tuple } else { self.tuple.reversed() };
        let number = stream.stats.sent as u32;
        stream.stats.sent += 1;
        let packet = Packet::datagram(tuple, number, payload_bytes, self.dscp, now);
        Some((way, Packet { connection: self.connection, ..packet }))
    }

    /// Handles a datagram that has arrived; returns the reply, which goes in the opposite direction, if there is one.
    pub fn arrive(&mut self, packet: &Packet, now: Time) -> Option<Packet> {
        let way = self.way(packet);
        let took = now - packet.sent_at();
        let stats = &mut self.streams[way].stats;
        stats.received += 1;
        stats.received_payload_bytes += u64::from(packet.payload_bytes);
        stats.received_ip_bytes += u64::from(packet.ip_bytes());
        if packet.is_echo_reply() {
            self.streams[FORWARD].stats.rtt.record_time(took);
            return None;
        }
        stats.delay.record_time(took);
        let jitter_ns = self.streams[way].jitter.arrive(took.as_ns());
        self.streams[way].stats.jitter_sum_ns += jitter_ns;
        if !self.echoed {
            return None;
        }
        self.streams[BACK].stats.sent += 1;
        Some(packet.echo_reply())
    }

    /// The stream of a packet.
    pub fn way(&self, packet: &Packet) -> usize {
        if packet.tuple == self.tuple { FORWARD } else { BACK }
    }

    /// The counters of both streams.
    pub fn stats(&self) -> [&StreamStats; 2] {
        [&self.streams[FORWARD].stats, &self.streams[BACK].stats]
    }

    /// The codec, if the datagrams are voice.
    pub fn codec(&self) -> Option<&Codec> {
        self.codec.as_ref()
    }

    /// Whether anything is ever sent against the direction of the flow.
    pub fn talks_back(&self) -> bool {
        self.echoed || self.streams[BACK].source.is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the formula of RFC 3550, 6.4.1, in floating point. The integer form rounds each sixteenth once, and the
        /// error of a rounding decays by a sixteenth per packet: within 16 times half a sixteenth, plus the truncation of the
        /// result.
        #[test]
        fn jitter_is_that_of_the_formula(transits in prop::collection::vec(0u64..3_000_000_000, 1..300)) {
            let (mut jitter, mut naive) = (Jitter::default(), 0.0);
            for (i, &transit) in transits.iter().enumerate() {
                let found = jitter.arrive(transit);
                if i > 0 {
                    let d = (transit as f64 - transits[i - 1] as f64).abs();
                    naive += (d - naive) / 16.0;
                }
                prop_assert!((found as f64 - naive).abs() < 2.0, "{found} for {naive}");
            }
        }
    }

    #[test]
    fn a_constant_delay_has_no_jitter() {
        let mut jitter = Jitter::default();
        assert!((0..100).all(|_| jitter.arrive(17_000_000) == 0));
    }
}
