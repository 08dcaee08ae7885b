//! A flow without connections: datagrams from one end or both, and what became of them.

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
        /// One-way delays in nanoseconds; empty where the datagrams are replies, which carry the request's time.
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
    /// A packet has arrived after `transit_ns`; the jitter now, in nanoseconds.
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
    /// None where they are replies, and where there are none.
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

/// See the module.
#[derive(Debug)]
pub(crate) struct DatagramSession {
    /// As packets in the direction of the flow carry it.
    tuple: FiveTuple,
    /// What packets in either direction carry.
    connection: ConnectionId,
    rng: Rng,
    /// In the direction of the flow, and against it.
    streams: [Stream; 2],
    echoed: bool,
    dscp: u8,
    codec: Option<Codec>,
    has_ended: bool,
}

/// Of the two streams of a flow, the one in its direction.
pub(crate) const FORWARD: usize = 0;
/// The one against it.
pub(crate) const BACK: usize = 1;

impl DatagramSession {
    /// The datagrams of a flow before its start; they travel along `tuple`, under the name of `connection`.
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

    /// The flow starts.
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

    /// No more is sent; what is under way still arrives, and is answered. Whether it had not ended before.
    pub fn stop(&mut self) -> bool {
        self.streams.iter_mut().for_each(|stream| stream.next = Time::MAX);
        !std::mem::replace(&mut self.has_ended, true)
    }

    /// It may start again after a stop. Whether it had ended.
    pub fn reopen(&mut self) -> bool {
        std::mem::take(&mut self.has_ended)
    }

    /// When the next datagram leaves; [`Time::MAX`] for never.
    pub fn next(&self) -> Time {
        self.streams[FORWARD].next.min(self.streams[BACK].next)
    }

    /// A datagram that leaves now, if one does, and whether it goes in the direction of the flow. Of two at one instant that
    /// one comes first.
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

    /// A datagram has arrived at its end, which may answer: with a packet in the other direction than that in which `packet`
    /// came.
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

    /// Which stream a packet is of.
    pub fn way(&self, packet: &Packet) -> usize {
        if packet.tuple == self.tuple { FORWARD } else { BACK }
    }

    /// The counters of both streams.
    pub fn stats(&self) -> [&StreamStats; 2] {
        [&self.streams[FORWARD].stats, &self.streams[BACK].stats]
    }

    /// What makes a voice of it.
    pub fn codec(&self) -> Option<&Codec> {
        self.codec.as_ref()
    }

    /// Whether anything ever goes against the direction of the flow.
    pub fn talks_back(&self) -> bool {
        self.echoed || self.streams[BACK].source.is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the formula of RFC 3550, 6.4.1, in floating point. The integer form rounds each sixteenth once, and what a
        /// rounding leaves fades by a sixteenth with each packet: within 16 times half a sixteenth, and the cut of the result.
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
