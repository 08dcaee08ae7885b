use wifair_core::{LogHistogram, Time, counters};

counters! {
    /// Counters of a sender since its creation. Cumulative: a measurement is [`Counters::since`](wifair_core::Counters::since)
    /// a snapshot.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct SenderStats |now, earlier| {
        /// Segments with payload sent, retransmissions included.
        pub segments_sent: u64,
        /// Payload bytes sent, retransmissions included.
        pub payload_bytes_sent: u64,
        /// Segments with payload retransmitted.
        pub segments_retransmitted: u64,
        /// Payload bytes retransmitted.
        pub payload_bytes_retransmitted: u64,
        /// Packets without payload sent: SYN, FIN, pure ACK.
        pub control_packets_sent: u64,
        /// Payload bytes acknowledged.
        pub payload_bytes_acked: u64,
        /// Retransmission timeouts, those of SYN and FIN included.
        pub timeouts: u64,
        /// Fast retransmits: losses found by three duplicate ACKs, by SACK or by RACK, each recovery once.
        pub fast_retransmits: u64,
        /// Reductions of the window by an ECN echo (RFC 3168).
        pub ecn_reductions: u64,
        /// D-SACKs received (RFC 2883): duplicates that the receiver reports.
        pub duplicates_told: u64,
        /// RTT samples in nanoseconds: all that are valid by Karn's algorithm (RFC 6298, 3), one segment timed at a time, the
        /// SYN included.
        pub rtt: LogHistogram,
        /// Sum in nanoseconds of the smoothed RTT (RFC 6298, SRTT) after each of these samples.
        pub srtt_sum_ns: u64,
        /// Maximum smoothed RTT since [`Sender::forget_greatest`](crate::Sender::forget_greatest), since a difference of two
        /// snapshots cannot give it.
        pub srtt_max: Time = now.srtt_max; max,
    }
}

counters! {
    /// Counters of a receiver since its creation. Cumulative: a measurement is
    /// [`Counters::since`](wifair_core::Counters::since) a snapshot.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ReceiverStats {
        /// Segments with payload that arrived, duplicates included.
        pub segments_received: u64,
        /// Segments with payload, all of which had been received before.
        pub duplicate_segments_received: u64,
        /// IP bytes (payload and headers) of all segments with payload that arrived, duplicates included.
        pub ip_bytes_received: u64,
        /// Payload bytes delivered to the application, in order and once each: the goodput.
        pub payload_bytes_delivered: u64,
        /// Segments with payload that arrived with a congestion mark (RFC 3168, CE), within the window.
        pub ce_segments_received: u64,
        /// Packets sent: ACKs, SYN-ACKs, FINs.
        pub packets_sent: u64,
        /// Retransmission timeouts of SYN-ACK and FIN.
        pub timeouts: u64,
    }
}

impl SenderStats {
    /// The mean of the smoothed RTT after each sample, in nanoseconds; `None` without samples.
    pub fn srtt_mean_ns(&self) -> Option<f64> {
        let samples = self.rtt.count();
        (samples > 0).then(|| self.srtt_sum_ns as f64 / samples as f64)
    }
}
