use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SackBlocks, SpecError, Time};

use crate::congestion::{CongestionControlSpec, Counting};
use crate::loss_detection::LossDetectionSpec;
use crate::marking::PriorityMarkingSpec;
use crate::pacing::PacingSpec;
use crate::small_queue::SmallQueueSpec;
use crate::window_field::{LARGEST_FIELD, MAX_WINDOW_BYTES, MAX_WINDOW_SCALE};

/// Parameters of one TCP connection, both ends. Defaults follow the RFCs.
///
/// ns-2's sender, for comparison: initial window 2, initial RTO 3,000 ms, minimum 200 ms, maximum 60,000 ms, delayed ACK after
/// 100 ms, limited transmit on, `handshake = "ns-2"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TcpSpec {
    /// Congestion control of the sender, by name. It also selects the loss recovery of a connection without SACK.
    pub congestion_control: CongestionControlSpec,
    /// Largest payload of a segment, in bytes (RFC 5681's SMSS). 1460 with `header_bytes` of 40 fill an Ethernet MTU.
    pub mss_bytes: u16,
    /// IP and TCP headers of every packet, options included, in bytes. 20 + 20 without options.
    pub header_bytes: u16,
    /// Receive window, in segments of `mss_bytes`. At most 44 segments of 1460 bytes without window scaling, with it (2¹⁶ - 1)
    /// 2¹⁴ bytes (RFC 7323, 2.2).
    pub receiver_window_segments: u32,
    /// Window scale, 0 to 14 (RFC 7323, 2.2): the window is advertised in units of 2 to the power of this many bytes, rounded
    /// up. The window of a SYN is not scaled, so it is at most 64 KiB - 1. Unset: the smallest scale that the window needs.
    pub window_scale: Option<u8>,
    /// Initial congestion window, in segments (RFC 5681, 3.1). Unset: 2, 3 or 4 by the size of a segment, as in that section.
    /// Hosts often use 10 (RFC 6928), ns-2 2.
    pub initial_window_segments: Option<u32>,
    /// Initial slow start threshold, in segments. Unset: arbitrarily high (RFC 5681, 3.1).
    pub initial_ssthresh_segments: Option<u32>,
    /// Whether the congestion window grows beyond the receiver's, where it has no effect, as in ns-2. It matters to controls
    /// that read the congestion window, such as `arf-aware`.
    pub cwnd_beyond_receiver_window: bool,
    /// Whether a retransmission timeout that follows another, with nothing acknowledged in between, lowers the slow start
    /// threshold again, to two segments, as in ns-2. In RFC 5681, 3.1 the first timeout alone lowers it.
    pub repeated_timeout_lowers_ssthresh: bool,
    /// Growth of the window by the bytes that an ACK acknowledges (RFC 3465). Unset: by at most one segment per ACK (RFC 5681,
    /// 3.1, equation 2, in congestion avoidance too).
    pub byte_counting: Option<ByteCountingSpec>,
    /// Marking of packets whose loss would end in a timeout as high priority (`spm-af-las`, Section 6.1). Unset: no marks.
    pub priority_marking: Option<PriorityMarkingSpec>,
    /// Differentiated services code point of all packets of the connection, in both directions, 0 to 63 (RFC 2474).
    /// `mac.edca.classify` can map it to an access category.
    pub dscp: u8,
    /// When the receiver acknowledges (RFC 5681, 4.2).
    pub delayed_ack: DelayedAckSpec,
    /// Generic receive offload (GRO) at the receiver, as in Linux: segments of together at most 65,535 bytes that arrive
    /// together and in order, as those of an A-MPDU do, reach TCP as one and get one ACK. Unset: TCP receives each segment.
    pub receive_offload: Option<ReceiveOffloadSpec>,
    /// Pacing of the sender, as in Linux under the qdisc `fq`: data leaves at a rate, in bursts of about a millisecond. Unset:
    /// as soon as the windows allow.
    pub pacing: Option<PacingSpec>,
    /// TCP small queues, as in Linux: a limit of a sender's data in the queue of its station. Without effect on a server, whose
    /// queue is not modelled. Unset: no limit.
    pub small_queue: Option<SmallQueueSpec>,
    /// Retransmission timer of both ends (RFC 6298).
    pub rto: RtoSpec,
    /// Whether each of the first two duplicate ACKs releases a new segment (RFC 3042; a SHOULD of RFC 5681, 3.2).
    pub limited_transmit: bool,
    /// Selective acknowledgement at both ends (RFC 2018). The sender then recovers losses by RFC 6675 or, with
    /// `loss_detection`, RFC 8985, instead of by the rule of its congestion control. Unset: off.
    pub sack: Option<SackSpec>,
    /// How the sender detects that a segment is lost.
    pub loss_detection: LossDetectionSpec,
    /// What a loss, a timeout or a mark reduces to the slow start threshold.
    pub loss_reduces: LossReduces,
    /// Whether the ACK that ends fast recovery also lets the window grow, as in ns-2.35. RFC 5681, 3.2 step 6 sets the window
    /// to the threshold.
    pub recovery_end_grows: bool,
    /// Explicit congestion notification at both ends (RFC 3168): data is ECN-capable, marks are echoed, an echo reduces the
    /// window like a loss. Without effect unless a buffer marks.
    pub ecn: bool,
    /// How the connection opens and closes.
    pub handshake: Handshake,
    /// Initial sequence number of both ends. Hosts draw it at random (RFC 9293, 3.4.1).
    pub initial_sequence: u32,
}

/// Growth by bytes acknowledged (RFC 3465, "appropriate byte counting"). Congestion avoidance counts all of them.
///
/// `spm-af-las` counts "how many segments are acknowledged" without a limit: then both limits are at least the receiver's
/// window, and `segment_by_segment` is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ByteCountingSpec {
    /// Most segments by which an ACK lets the window grow in slow start: the limit L of RFC 3465, 2.2; section 2.3 recommends
    /// 2. The receiver's window is no limit.
    pub limit_segments: u32,
    /// The same in a slow start that follows a timeout, when an ACK may cover what the receiver had before. RFC 3465, 2.3: 1.
    pub limit_after_timeout_segments: u32,
    /// Whether an ACK for several segments counts as as many ACKs for one segment each: slow start ends at the threshold, and
    /// the rest counts in congestion avoidance, where the window may then grow by several segments at once. In RFC 3465 slow
    /// start adds all of it, even beyond the threshold, and congestion avoidance adds one segment at most.
    pub segment_by_segment: bool,
}

/// What a loss reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossReduces {
    /// FlightSize, the data outstanding (RFC 5681, 3.1, equation 4; RFC 9438, 4.6).
    #[default]
    Flight,
    /// The congestion window, as in Linux. RFC 9438, 4.6 lets CUBIC do so if the window does not grow while unused; here it
    /// grows up to the receiver's window while an application sends little.
    Cwnd,
    /// The lesser of the congestion window, without what fast recovery has added to it, and the receiver's window, as ns-2.35
    /// does. It differs from FlightSize where more is outstanding than the window allows: after a recovery of Reno that leaves
    /// losses unrepaired, and at a timeout during a recovery, which reduces the window a second time. The threshold after a
    /// timeout is a whole number of segments, rounded down.
    Window,
}

/// Selective acknowledgements of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SackSpec {
    /// Most blocks per ACK, 1 to 3. A TCP header with timestamps has room for 3 (RFC 2018, 3). If the window exceeds 64 KiB, an
    /// ACK has 2 where a block is farther than that from its acknowledgement number.
    pub blocks: u8,
    /// Whether data that arrives a second time is reported (D-SACK, RFC 2883).
    pub duplicates: bool,
}

/// Generic receive offload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReceiveOffloadSpec {
    /// Time after its first segment during which a packet takes more segments, in microseconds, at most 10,000: the interrupt
    /// moderation of a network interface (`ethtool -C`, rx-usecs), or the time until the application reads, before which Linux
    /// does not acknowledge. 0: the same instant.
    pub within_us: u32,
}

impl ReceiveOffloadSpec {
    pub(crate) fn within(self) -> Time {
        Time::from_us(u64::from(self.within_us))
    }
}

/// When the receiver sends an ACK for data that arrives in order (RFC 5681, 4.2; RFC 9293, 3.8.6.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DelayedAckSpec {
    /// Number of unacknowledged segments that are acknowledged at once, 1 to 64. The RFCs' rule is 2; 1 acknowledges every
    /// segment, more makes stretch ACKs, which the RFCs forbid and some hosts send.
    pub segments: u8,
    /// Longest delay of an ACK, in milliseconds, at most 500 (RFC 1122, 4.2.3.2). ns-2 has 100, hosts 40 to 200.
    pub timeout_ms: u32,
    /// Whether the answer to the segment that opens a connection (`handshake = "ns-2"`) is delayed like the ACK of any other
    /// segment, as in ns-2's delayed-ACK sinks before February 2010.
    pub syn: bool,
}

/// Retransmission timeout (RFC 6298).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RtoSpec {
    /// Timeout before the first RTT sample, in milliseconds (RFC 6298, 2.1: 1,000).
    pub initial_ms: u32,
    /// Smallest timeout, in milliseconds (RFC 6298, 2.4: 1,000). Linux and ns-2 have 200.
    pub min_ms: u32,
    /// Largest timeout, in milliseconds, also of the exponential backoff (RFC 6298, 2.5: at least 60,000).
    pub max_ms: u32,
    /// Clock granularity G, in milliseconds: the least that is added to SRTT (RFC 6298, 2.3). Samples are exact.
    pub granularity_ms: u32,
    /// Clock tick of an estimator that counts in ticks, in milliseconds, as in 4.3BSD and ns-2 (10 ms). It replaces
    /// `granularity_ms`: the margin above SRTT is at least three ticks. Unset: exact arithmetic.
    pub tick_ms: Option<u32>,
    /// Whether a fast retransmit restarts the timer, as in ns-2, so that the repair has a whole timeout to be acknowledged. In
    /// RFC 6298, 5 only an ACK of new data restarts it.
    pub restarts_on_fast_retransmit: bool,
    /// Which segments the sender times.
    pub samples: RttSamples,
}

/// Which segments a sender times. Segments sent more than once never count (RFC 6298, 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttSamples {
    /// One segment per round trip (RFC 6298, 3).
    #[default]
    OneSegment,
    /// The first that each ACK acknowledges, as timestamps allow (RFC 7323, 4.1); the gains are divided by the number of
    /// samples per round trip (appendix G). The times are those that RACK keeps, as in Linux, so it needs `loss_detection =
    /// "rack"`.
    EveryAck,
    /// The same, but each sample counts an eighth, however many a round trip gives, and the timeout goes by the largest
    /// deviation of the last round trip, which falls by a quarter per round trip (`tcp_rtt_estimator()` of Linux 6.12).
    /// `granularity_ms` is the least variation. It needs `loss_detection = "rack"`.
    Linux,
}

/// How a connection opens and closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Handshake {
    /// SYN, SYN-ACK, ACK and a FIN each way (RFC 9293, 3.5 and 3.6).
    #[default]
    Real,
    /// ns-2's one-way TCP (`syn_`, on by default): a segment without payload and without flags opens the connection, an ACK
    /// answers it, the initial window follows; a closed connection ends when its last byte is acknowledged. ns-2 treats that
    /// segment like any other, and so does this: it is timed, an access point counts it as data, and after its loss the slow
    /// start threshold is two segments, the window one, and the timeout stays doubled until the next sample.
    #[serde(rename = "ns-2")]
    Ns2,
    /// The papers' one-way TCP: both ends start established, nothing but data and ACKs travels, and a closed connection
    /// ends when its last byte is acknowledged.
    None,
}

impl Default for TcpSpec {
    fn default() -> TcpSpec {
        TcpSpec {
            congestion_control: CongestionControlSpec::default(),
            mss_bytes: 1460,
            header_bytes: 40,
            receiver_window_segments: 42,
            window_scale: None,
            initial_window_segments: None,
            initial_ssthresh_segments: None,
            cwnd_beyond_receiver_window: false,
            repeated_timeout_lowers_ssthresh: false,
            byte_counting: None,
            priority_marking: None,
            dscp: 0,
            delayed_ack: DelayedAckSpec::default(),
            receive_offload: None,
            pacing: None,
            small_queue: None,
            rto: RtoSpec::default(),
            limited_transmit: true,
            sack: None,
            loss_detection: LossDetectionSpec::default(),
            loss_reduces: LossReduces::default(),
            recovery_end_grows: false,
            ecn: false,
            handshake: Handshake::Real,
            initial_sequence: 0,
        }
    }
}

impl Default for ByteCountingSpec {
    fn default() -> ByteCountingSpec {
        ByteCountingSpec { limit_segments: 2, limit_after_timeout_segments: 1, segment_by_segment: false }
    }
}

impl Default for SackSpec {
    fn default() -> SackSpec {
        SackSpec { blocks: 3, duplicates: true }
    }
}

impl Default for DelayedAckSpec {
    fn default() -> DelayedAckSpec {
        DelayedAckSpec { segments: 2, timeout_ms: 100, syn: false }
    }
}

impl Default for RtoSpec {
    fn default() -> RtoSpec {
        RtoSpec {
            initial_ms: 1_000,
            min_ms: 1_000,
            max_ms: 60_000,
            granularity_ms: 1,
            tick_ms: None,
            restarts_on_fast_retransmit: false,
            samples: RttSamples::default(),
        }
    }
}

/// Maximum number of bytes counted per ACK in slow start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedBytes {
    pub(crate) slow_start: u32,
    /// In a slow start that follows a timeout.
    pub(crate) after_timeout: u32,
}

impl TcpSpec {
    /// Checks every value. `path` is the key of this spec in the plan, such as `flows.tcp`.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        let error = |key: &str, value: &dyn std::fmt::Display, allowed: &str| {
            Err(SpecError::new(format!("{path}.{key}"), value, allowed))
        };
        self.congestion_control.validate(&format!("{path}.congestion_control"))?;
        let DelayedAckSpec { segments, timeout_ms, syn } = self.delayed_ack;
        let RtoSpec { initial_ms, min_ms, max_ms, granularity_ms, tick_ms, .. } = self.rto;
        let window_limit = MAX_WINDOW_BYTES / u32::from(self.mss_bytes.max(1));
        if self.dscp > 63 {
            return error("dscp", &self.dscp, "0 to 63");
        }
        if self.dscp != 0 && self.priority_marking.is_some() {
            return error("dscp", &self.dscp, "0 beside priority_marking, which is a code point of its own");
        }
        if self.mss_bytes == 0 {
            return error("mss_bytes", &self.mss_bytes, "1 to 65,495 bytes");
        }
        if !(40..=120).contains(&self.header_bytes) {
            return error("header_bytes", &self.header_bytes, "40 to 120 bytes (IPv4 and TCP, with options)");
        }
        if u32::from(self.mss_bytes) + u32::from(self.header_bytes) > 65_535 {
            return error(
                "mss_bytes",
                &self.mss_bytes,
                "an IP packet of at most 65,535 bytes with header_bytes",
            );
        }
        if !(1..=window_limit).contains(&self.receiver_window_segments) {
            let allowed = format!("1 to {window_limit} segments ((2^16 - 1) 2^14 bytes)");
            return error("receiver_window_segments", &self.receiver_window_segments, &allowed);
        }
        let window = self.receiver_window_segments * u32::from(self.mss_bytes);
        if let Some(scale) = self.window_scale {
            if scale > MAX_WINDOW_SCALE {
                return error("window_scale", &scale, "0 to 14");
            }
            if window > LARGEST_FIELD << scale {
                return error("window_scale", &scale, &format!("enough for a window of {window} bytes"));
            }
        }
        if let Some(sack) = self.sack {
            if !(1..=SackBlocks::MAX_BLOCKS as u8).contains(&sack.blocks) {
                return error("sack.blocks", &sack.blocks, "1 to 3 blocks");
            }
            if self.receiver_window_bytes() > SackBlocks::MAX_DISTANCE {
                let allowed = format!("a window of at most {} bytes with tcp.sack", SackBlocks::MAX_DISTANCE);
                return error("receiver_window_segments", &self.receiver_window_segments, &allowed);
            }
        }
        self.loss_detection.validate(&format!("{path}.loss_detection"), self.sack.is_some())?;
        let per_ack = match self.rto.samples {
            RttSamples::OneSegment => None,
            RttSamples::EveryAck => Some("every-ack"),
            RttSamples::Linux => Some("linux"),
        };
        if let Some(samples) = per_ack {
            if !matches!(self.loss_detection, LossDetectionSpec::Rack(_)) {
                let allowed = r#""one-segment" unless loss_detection is "rack""#;
                return error("rto.samples", &samples, allowed);
            }
            if self.rto.tick_ms.is_some() {
                return error("rto.samples", &samples, r#""one-segment" with rto.tick_ms"#);
            }
        }
        for (key, segments) in [
            ("initial_window_segments", self.initial_window_segments),
            ("initial_ssthresh_segments", self.initial_ssthresh_segments),
            ("byte_counting.limit_segments", self.byte_counting.map(|counting| counting.limit_segments)),
            (
                "byte_counting.limit_after_timeout_segments",
                self.byte_counting.map(|counting| counting.limit_after_timeout_segments),
            ),
            ("priority_marking.below_segments", self.priority_marking.map(|marking| marking.below_segments)),
        ] {
            if let Some(segments) = segments
                && !(1..=window_limit).contains(&segments)
            {
                let allowed = format!("1 to {window_limit} segments ((2^16 - 1) 2^14 bytes)");
                return error(key, &segments, &allowed);
            }
        }
        if !(1..=64).contains(&segments) {
            return error("delayed_ack.segments", &segments, "1 to 64 segments");
        }
        if let Some(ReceiveOffloadSpec { within_us }) = self.receive_offload
            && within_us > 10_000
        {
            return error("receive_offload.within_us", &within_us, "0 to 10000 us");
        }
        let (name, control) = (self.congestion_control.name(), self.congestion_control.build());
        if control.needs_rate_samples() && !matches!(self.loss_detection, LossDetectionSpec::Rack(_)) {
            let allowed = r#"another control unless loss_detection is "rack", which samples delivery rates"#;
            return error("congestion_control", &name, allowed);
        }
        if control.needs_ack_samples() && !matches!(self.loss_detection, LossDetectionSpec::Rack(_)) {
            let allowed = r#"slow_start = "standard" unless loss_detection is "rack", which measures the RTT of each ACK"#;
            return error("congestion_control", &name, allowed);
        }
        if self.pacing.is_some() && control.pacing_rate().is_some() {
            let allowed = format!("no such table with {name}, which sets the rate itself");
            return error("pacing", &"this table", &allowed);
        }
        if let Some(pacing) = &self.pacing {
            pacing.validate(&format!("{path}.pacing"))?;
        }
        if let Some(queue) = &self.small_queue {
            queue.validate(&format!("{path}.small_queue"))?;
        }
        if !(1..=500).contains(&timeout_ms) {
            return error("delayed_ack.timeout_ms", &timeout_ms, "1 to 500 ms (RFC 1122, 4.2.3.2)");
        }
        if syn && self.handshake != Handshake::Ns2 {
            return error(
                "delayed_ack.syn",
                &syn,
                r#"false unless handshake is "ns-2": a SYN is never delayed"#,
            );
        }
        if syn && segments == 1 {
            return error(
                "delayed_ack.syn",
                &syn,
                "false with delayed_ack.segments = 1, which delays nothing",
            );
        }
        if !(1..=3_600_000).contains(&max_ms) {
            return error("rto.max_ms", &max_ms, "1 to 3,600,000 ms");
        }
        for (key, ms) in
            [("rto.initial_ms", initial_ms), ("rto.min_ms", min_ms), ("rto.granularity_ms", granularity_ms)]
        {
            if !(1..=max_ms).contains(&ms) {
                return error(key, &ms, &format!("1 to rto.max_ms ({max_ms}) ms"));
            }
        }
        match tick_ms {
            Some(ms) if !(1..=1_000).contains(&ms) => error("rto.tick_ms", &ms, "1 to 1,000 ms"),
            _ => Ok(()),
        }
    }

    /// The advertised window in bytes.
    pub fn receiver_window_bytes(&self) -> u32 {
        let window = self.receiver_window_segments * u32::from(self.mss_bytes);
        window.next_multiple_of(1 << self.scale())
    }

    /// The window scale of both ends: as set, or the smallest that the window needs (RFC 7323, 2.2).
    pub fn scale(&self) -> u8 {
        let window = self.receiver_window_segments * u32::from(self.mss_bytes);
        let smallest = (0..MAX_WINDOW_SCALE).find(|scale| window <= LARGEST_FIELD << scale);
        self.window_scale.or(smallest).unwrap_or(MAX_WINDOW_SCALE)
    }

    /// The window of a SYN or SYN-ACK, which is not scaled (RFC 7323, 2.2).
    pub(crate) fn syn_window_bytes(&self) -> u32 {
        self.receiver_window_bytes().min(LARGEST_FIELD)
    }

    /// The initial congestion window in bytes (RFC 5681, 3.1, equation 1, unless set).
    pub fn initial_window_bytes(&self) -> u32 {
        let mss = u32::from(self.mss_bytes);
        let segments = self.initial_window_segments.unwrap_or(match mss {
            2191.. => 2,
            1096..=2190 => 3,
            _ => 4,
        });
        segments * mss
    }

    /// The initial slow start threshold in bytes.
    pub fn initial_ssthresh_bytes(&self) -> u32 {
        self.initial_ssthresh_segments.map_or(u32::MAX, |segments| segments * u32::from(self.mss_bytes))
    }

    /// The maximum number of bytes counted per ACK in slow start.
    pub(crate) fn counted_bytes(&self) -> CountedBytes {
        let mss = u32::from(self.mss_bytes);
        match self.byte_counting {
            None => CountedBytes { slow_start: mss, after_timeout: mss },
            Some(counting) => CountedBytes {
                slow_start: counting.limit_segments * mss,
                after_timeout: counting.limit_after_timeout_segments * mss,
            },
        }
    }

    /// How an ACK for several segments counts in congestion avoidance and slow start.
    pub(crate) fn counting(&self) -> Counting {
        match self.byte_counting {
            None => Counting::Ack,
            Some(counting) if counting.segment_by_segment => Counting::Segments,
            Some(_) => Counting::Bytes,
        }
    }

    /// The maximum delay of an ACK.
    pub(crate) fn ack_delay(&self) -> Time {
        Time::from_ms(u64::from(self.delayed_ack.timeout_ms))
    }
}
