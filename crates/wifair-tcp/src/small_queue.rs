//! TCP small queues: a sender leaves little data in the queue below it.
//!
//! Source: Linux 6.12, `net/ipv4/tcp_output.c`: `tcp_small_queue_check()`, `tcp_cwnd_test()`, `tcp_tso_should_defer()`,
//! `tcp_cwnd_validate()`. Numbers in parentheses are those of the rules in `docs/tcp.md`, section TCP small queues.
//!
//! Data is sent in packets of several segments (`gso.rs`), which are separated above the station's queue. The limit is twice
//! such a packet, or what the pacing rate carries in about 8 ms for Wi-Fi drivers (`sk_pacing_shift` is 7 in mac80211).
//!
//! Deviations: a retransmission is a packet of one segment; what SACK splits of a packet does not count as another packet;
//! data is written in one piece (in pieces of 64 KiB a packet at the end of a piece does not wait).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SpecError, Time};

use crate::{gso, seq};

/// Memory of a packet without its payload, in bytes: `SKB_TRUESIZE(MAX_TCP_HEADER)` on x86-64 as Debian configures it.
const MEMORY_BYTES: u64 = 896;

/// The largest limit of a sender that does not pace, in bytes (`net.ipv4.tcp_limit_output_bytes`).
const MOST_LIMIT_BYTES: u64 = 16 * 65_536;

/// Time since the last packet after which none waits, and the longest wait for an ACK.
const RECENTLY: Time = Time::from_ms(1);

/// Limit of the data of a sender in its station's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SmallQueueSpec {
    /// Time in which the pacing rate carries the limit, and a packet of the sender, in microseconds. Without the table `pacing`
    /// its default rates count. Linux (`sk_pacing_shift`): 7,812 for drivers that use mac80211, 977 for other interfaces.
    pub limit_us: u32,
    /// Most segments of a packet of the sender (Linux: `gso_max_segs`, 65,535, so that 64 KiB is the limit). 1: no generic
    /// segmentation offload.
    pub gso_max_segments: u32,
}

impl Default for SmallQueueSpec {
    fn default() -> SmallQueueSpec {
        SmallQueueSpec { limit_us: 7_812, gso_max_segments: 65_535 }
    }
}

impl SmallQueueSpec {
    /// Checks every value. `path` is the key of this spec in the plan.
    pub(crate) fn validate(&self, path: &str) -> Result<(), SpecError> {
        if self.limit_us > 1_000_000 {
            return Err(SpecError::new(format!("{path}.limit_us"), self.limit_us, "0 to 1,000,000 us"));
        }
        if !(1..=65_535).contains(&self.gso_max_segments) {
            let key = format!("{path}.gso_max_segments");
            return Err(SpecError::new(key, self.gso_max_segments, "1 to 65,535 segments"));
        }
        Ok(())
    }

    /// What a rate of `rate` bytes per second carries in `limit_us`, in bytes.
    fn carried(&self, rate: u64) -> u64 {
        rate.saturating_mul(u64::from(self.limit_us)) / 1_000_000
    }
}

/// What the sender wants to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A tail loss probe, or the first segment after a timeout.
    Forced,
    Retransmission,
    /// New data, for which the windows leave so many bytes, or a FIN.
    New(u32),
}

/// The sender at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Time,
    pub(crate) next: Next,
    /// Pacing rate in bytes per second; `None`: no RTT is known.
    pub(crate) rate: Option<u64>,
    pub(crate) paces: bool,
    /// `net.ipv4.tcp_min_tso_segs`
    pub(crate) least_segments: u32,
    pub(crate) mss: u32,
    pub(crate) header_bytes: u32,
    pub(crate) cwnd: u32,
    pub(crate) peer_window: u32,
    /// First unacknowledged sequence number, and one past the highest sent.
    pub(crate) una: u32,
    pub(crate) max: u32,
    pub(crate) unsent: u64,
    pub(crate) is_repairing: bool,
    pub(crate) last_sent: Time,
    pub(crate) least_rtt: Option<Time>,
    /// When the ACK of the first outstanding segment is due, and SRTT; `None` if it is not known when that was sent.
    pub(crate) due: Option<(Time, Time)>,
}

/// What the rules say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendDecision {
    /// A packet with so many bytes of data may be sent.
    Send(u32),
    /// The windows leave no room.
    NoRoom,
    /// The packet waits for more room in the window (3).
    Wait,
    /// Too much is in the queue (4).
    Full,
}

/// How a sender uses its window (`tcp_cwnd_validate()`).
#[derive(Clone, Copy, Debug)]
struct WindowUsage {
    is_used: bool,
    /// The most that was outstanding in this round trip while the window was not used.
    most: u32,
    /// One past the highest sequence number sent when either was last set: this round trip ends when that is acknowledged.
    round_end: u32,
    /// New data has been sent since the last judgement.
    has_sent: bool,
}

/// What waits below a socket.
#[derive(Clone, Debug)]
pub(crate) struct SmallQueue {
    spec: SmallQueueSpec,
    /// IP bytes and segments sent and not reported to be gone.
    queued_bytes: u64,
    queued_segments: u64,
    /// First sequence number of the last packet with new data.
    last_packet: u32,
    /// Bytes of that packet that are still to be sent.
    left: u32,
    /// The limit has stopped the sender: the next segments that are gone wake it.
    is_throttled: bool,
    usage: WindowUsage,
}

impl SmallQueue {
    /// The first sequence number is `iss`.
    pub(crate) fn new(spec: SmallQueueSpec, iss: u32) -> SmallQueue {
        SmallQueue {
            spec,
            queued_bytes: 0,
            queued_segments: 0,
            last_packet: iss,
            left: 0,
            is_throttled: false,
            usage: WindowUsage { is_used: false, most: 0, round_end: iss, has_sent: false },
        }
    }

    /// IP bytes sent and not reported to be gone.
    pub(crate) fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// Counts a segment that enters the queue.
    pub(crate) fn count(&mut self, ip_bytes: u32) {
        self.queued_bytes += u64::from(ip_bytes);
        self.queued_segments += 1;
    }

    /// Segments are gone. Returns whether the sender may continue (6).
    pub(crate) fn freed(&mut self, segments: u32, ip_bytes: u32) -> bool {
        self.queued_bytes = self.queued_bytes.saturating_sub(u64::from(ip_bytes));
        self.queued_segments = self.queued_segments.saturating_sub(u64::from(segments));
        debug_assert_eq!(
            self.queued_bytes == 0,
            self.queued_segments == 0,
            "bytes and segments are counted together"
        );
        std::mem::take(&mut self.is_throttled)
    }

    /// Decides what is sent next.
    pub(crate) fn decide(&mut self, at: &Moment) -> SendDecision {
        let packet = match at.next {
            Next::Forced => return SendDecision::Send(at.mss),
            Next::New(_) if self.left > 0 => return SendDecision::Send(self.left),
            Next::Retransmission => at.mss,
            Next::New(room) => {
                let most = self.most_segments(at);
                let fitting = room / at.mss;
                if fitting == 0 && at.unsent >= u64::from(at.mss) {
                    return SendDecision::NoRoom;
                }
                if fitting < most && waits(at, fitting * at.mss) {
                    return SendDecision::Wait;
                }
                let half = (at.cwnd / at.mss / 2).max(1);
                let segments = fitting.min(half).min(most).max(1);
                at.unsent.min(u64::from(segments * at.mss)) as u32
            }
        };
        let is_alone = at.una == at.max || !seq::before(at.una, self.last_packet);
        if is_alone || self.memory(at.header_bytes) < self.limit(at, packet) {
            return SendDecision::Send(packet);
        }
        self.is_throttled = true;
        SendDecision::Full
    }

    /// Most segments of a packet (1).
    fn most_segments(&self, at: &Moment) -> u32 {
        let carried = at.rate.map_or(u64::MAX, |rate| self.spec.carried(rate));
        let segments = gso::segments(carried, at.least_rtt, at.mss, at.least_segments);
        segments.min(u64::from(self.spec.gso_max_segments)) as u32
    }

    /// Memory of what is in the queue (5).
    fn memory(&self, header_bytes: u32) -> u64 {
        let payload = self.queued_bytes.saturating_sub(self.queued_segments * u64::from(header_bytes));
        payload + self.queued_segments * MEMORY_BYTES
    }

    /// The limit for a packet of `packet` bytes, in bytes of memory (4, 7).
    fn limit(&self, at: &Moment, packet: u32) -> u64 {
        let carried = at.rate.map_or(u64::MAX, |rate| self.spec.carried(rate));
        let limit = carried.max(2 * (u64::from(packet) + MEMORY_BYTES));
        let limit = if at.paces { limit } else { limit.min(MOST_LIMIT_BYTES) };
        if at.next == Next::Retransmission { limit.saturating_mul(2) } else { limit }
    }

    /// A segment with `payload` bytes of new data from `seq` on has been sent, of the packet that was decided to have `packet`
    /// bytes.
    pub(crate) fn sent_new(&mut self, seq: u32, payload: u32, packet: u32) {
        if self.left == 0 {
            (self.last_packet, self.left) = (seq, packet);
        }
        self.left = self.left.saturating_sub(payload);
        self.usage.has_sent = true;
    }

    /// Nothing more is sent now.
    pub(crate) fn rest(&mut self) {
        self.left = 0;
    }

    /// Judges how the window is used (8) when nothing more is sent now, with everything up to `max` sent and everything from
    /// `una` on outstanding; `is_used`: the window leaves no room, or rule 3 held a packet back.
    pub(crate) fn judge(&mut self, is_used: bool, una: u32, max: u32) {
        let usage = &mut self.usage;
        if !std::mem::take(&mut usage.has_sent) && !is_used {
            return;
        }
        let outstanding = max.wrapping_sub(una);
        if is_used || !seq::before(una, usage.round_end) || !usage.is_used && outstanding > usage.most {
            (usage.is_used, usage.most, usage.round_end) = (is_used, outstanding, max);
        }
    }

    /// Whether a window of `cwnd` bytes counts as used (8).
    pub(crate) fn uses(&self, cwnd: u32, in_slow_start: bool) -> bool {
        self.usage.is_used || in_slow_start && cwnd < self.usage.most.saturating_mul(2)
    }
}

/// Whether a packet waits for more room than `room` bytes (3).
fn waits(at: &Moment, room: u32) -> bool {
    let Some((due, srtt)) = at.due else { return false };
    let soon = at.now + RECENTLY.min(Time::from_ns(srtt.as_ns() / 2));
    !at.is_repairing
        && at.unsent > u64::from(room.max(at.mss))
        && room < at.cwnd.min(at.peer_window) / 3
        && at.now.saturating_sub(at.last_sent) <= RECENTLY
        && due <= soon
}
