use std::ops::AddAssign;

use wifair_core::{LogHistogram, Time};

/// What a sender has done since it was made. Cumulative: a measurement is [`SenderStats::since`] a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Segments with payload sent, retransmissions included.
    pub segments_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub payload_bytes_sent: u64,
    /// Segments with payload sent again.
    pub segments_retransmitted: u64,
    /// Payload bytes sent again.
    pub payload_bytes_retransmitted: u64,
    /// Packets without payload sent: SYN, FIN, pure ACK.
    pub control_packets_sent: u64,
    /// Payload bytes acknowledged.
    pub payload_bytes_acked: u64,
    /// Expiries of the retransmission timer, those of SYN and FIN included.
    pub timeouts: u64,
    /// Times that three duplicate ACKs started a fast retransmit.
    pub fast_retransmits: u64,
    /// Times that an echo of a congestion mark reduced the window (RFC 3168).
    pub ecn_reductions: u64,
    /// Repeated arrivals of data that the receiver has told of (D-SACK, RFC 2883).
    pub duplicates_told: u64,
    /// Round-trip samples in nanoseconds: all that are valid by Karn's algorithm (RFC 6298, 3), one segment timed at a
    /// time, the SYN included.
    pub rtt: LogHistogram,
    /// Sum in nanoseconds of the smoothed round-trip times (RFC 6298, SRTT) as they stood after each of these samples.
    pub srtt_sum_ns: u64,
    /// The greatest of them since [`Sender::forget_greatest`](crate::Sender::forget_greatest).
    pub srtt_max: Time,
}

/// What a receiver has seen since it was made. Cumulative: a measurement is [`ReceiverStats::since`] a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Segments with payload that arrived, duplicates included.
    pub segments_received: u64,
    /// Segments with payload of which no byte was new.
    pub duplicate_segments_received: u64,
    /// IP bytes (payload and headers) of all segments with payload that arrived, duplicates included.
    pub ip_bytes_received: u64,
    /// Payload bytes handed to the application, in order and once each: the goodput.
    pub payload_bytes_delivered: u64,
    /// Segments with payload that arrived with a congestion mark (RFC 3168, CE), within the window.
    pub ce_segments_received: u64,
    /// Packets sent: ACKs, SYN-ACKs, FINs.
    pub packets_sent: u64,
    /// Expiries of the retransmission timer of SYN-ACK and FIN.
    pub timeouts: u64,
}

impl SenderStats {
    /// What happened since `earlier`, an earlier snapshot of the same sender. A greatest value cannot be told from two
    /// snapshots: it is since it was last forgotten.
    pub fn since(&self, earlier: &SenderStats) -> SenderStats {
        SenderStats {
            segments_sent: self.segments_sent - earlier.segments_sent,
            payload_bytes_sent: self.payload_bytes_sent - earlier.payload_bytes_sent,
            segments_retransmitted: self.segments_retransmitted - earlier.segments_retransmitted,
            payload_bytes_retransmitted: self.payload_bytes_retransmitted
                - earlier.payload_bytes_retransmitted,
            control_packets_sent: self.control_packets_sent - earlier.control_packets_sent,
            payload_bytes_acked: self.payload_bytes_acked - earlier.payload_bytes_acked,
            timeouts: self.timeouts - earlier.timeouts,
            fast_retransmits: self.fast_retransmits - earlier.fast_retransmits,
            ecn_reductions: self.ecn_reductions - earlier.ecn_reductions,
            duplicates_told: self.duplicates_told - earlier.duplicates_told,
            rtt: self.rtt.since(&earlier.rtt),
            srtt_sum_ns: self.srtt_sum_ns - earlier.srtt_sum_ns,
            srtt_max: self.srtt_max,
        }
    }

    /// The mean of the smoothed round-trip times after each sample, in nanoseconds; `None` without samples.
    pub fn srtt_mean_ns(&self) -> Option<f64> {
        let samples = self.rtt.count();
        (samples > 0).then(|| self.srtt_sum_ns as f64 / samples as f64)
    }
}

impl ReceiverStats {
    /// What happened since `earlier`, an earlier snapshot of the same receiver.
    pub fn since(&self, earlier: &ReceiverStats) -> ReceiverStats {
        ReceiverStats {
            segments_received: self.segments_received - earlier.segments_received,
            duplicate_segments_received: self.duplicate_segments_received
                - earlier.duplicate_segments_received,
            ip_bytes_received: self.ip_bytes_received - earlier.ip_bytes_received,
            payload_bytes_delivered: self.payload_bytes_delivered - earlier.payload_bytes_delivered,
            ce_segments_received: self.ce_segments_received - earlier.ce_segments_received,
            packets_sent: self.packets_sent - earlier.packets_sent,
            timeouts: self.timeouts - earlier.timeouts,
        }
    }
}

impl AddAssign<&SenderStats> for SenderStats {
    /// Two senders as one, as of connections side by side.
    fn add_assign(&mut self, other: &SenderStats) {
        self.segments_sent += other.segments_sent;
        self.payload_bytes_sent += other.payload_bytes_sent;
        self.segments_retransmitted += other.segments_retransmitted;
        self.payload_bytes_retransmitted += other.payload_bytes_retransmitted;
        self.control_packets_sent += other.control_packets_sent;
        self.payload_bytes_acked += other.payload_bytes_acked;
        self.timeouts += other.timeouts;
        self.fast_retransmits += other.fast_retransmits;
        self.ecn_reductions += other.ecn_reductions;
        self.duplicates_told += other.duplicates_told;
        self.rtt += &other.rtt;
        self.srtt_sum_ns += other.srtt_sum_ns;
        self.srtt_max = self.srtt_max.max(other.srtt_max);
    }
}

impl AddAssign<&ReceiverStats> for ReceiverStats {
    /// Two receivers as one.
    fn add_assign(&mut self, other: &ReceiverStats) {
        self.segments_received += other.segments_received;
        self.duplicate_segments_received += other.duplicate_segments_received;
        self.ip_bytes_received += other.ip_bytes_received;
        self.payload_bytes_delivered += other.payload_bytes_delivered;
        self.ce_segments_received += other.ce_segments_received;
        self.packets_sent += other.packets_sent;
        self.timeouts += other.timeouts;
    }
}
