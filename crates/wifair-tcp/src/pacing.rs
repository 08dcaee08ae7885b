//! Pacing: data leaves at a rate, in bursts of about a millisecond.
//!
//! Source: Linux. `tcp_update_pacing_rate()` sets the rate, `tcp_update_skb_after_send()` exempts the first segments and spaces
//! the bursts, `tcp_tso_autosize()` gives their length (`gso.rs`). The qdisc `fq` enforces it for every congestion control.
//!
//! Interpretations: the rate is that of the moment at which a burst leaves. Only packets with data count; a FIN waits for its
//! turn.
//!
//! Deviations: no credit for a burst that leaves late, which Linux gives against jitter of its timers; bursts are no longer on
//! a path with an RTT below 16 ms (`net.ipv4.tcp_tso_rtt_log`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SpecError, Time};

use crate::congestion::Window;
use crate::gso;

/// The rate at which a sender sends, for congestion controls that set none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PacingSpec {
    /// Rate while cwnd is below half of the slow start threshold, in percent of max(cwnd, outstanding data) / SRTT (Linux:
    /// `net.ipv4.tcp_pacing_ss_ratio`, 200).
    pub slow_start_percent: u32,
    /// The same at and above half of the threshold (Linux: `net.ipv4.tcp_pacing_ca_ratio`, 120).
    pub avoidance_percent: u32,
    /// Number of segments at the beginning of a connection that are not paced (Linux: 10).
    pub unpaced_segments: u32,
    /// Length of a burst: as many whole segments as the rate carries in this time, in microseconds, up to 64 KiB (Linux:
    /// `sk_pacing_shift` of 10, 1/1024 s). With TCP small queues `small_queue.limit_us` takes its place.
    pub burst_us: u32,
    /// Smallest burst, in segments (Linux: `net.ipv4.tcp_min_tso_segs`, 2).
    pub burst_segments: u32,
}

impl Default for PacingSpec {
    fn default() -> PacingSpec {
        PacingSpec {
            slow_start_percent: 200,
            avoidance_percent: 120,
            unpaced_segments: 10,
            burst_us: 1_000,
            burst_segments: 2,
        }
    }
}

impl PacingSpec {
    /// Checks every value. `path` is the key of this spec in the plan.
    pub(crate) fn validate(&self, path: &str) -> Result<(), SpecError> {
        for (key, value, least, most, unit) in [
            ("slow_start_percent", self.slow_start_percent, 100, 1_000, "percent"),
            ("avoidance_percent", self.avoidance_percent, 100, 1_000, "percent"),
            ("unpaced_segments", self.unpaced_segments, 0, 1_000_000, "segments"),
            ("burst_us", self.burst_us, 0, 100_000, "us"),
            ("burst_segments", self.burst_segments, 1, 64, "segments"),
        ] {
            if !(least..=most).contains(&value) {
                return Err(SpecError::new(
                    format!("{path}.{key}"),
                    value,
                    format!("{least} to {most} {unit}"),
                ));
            }
        }
        Ok(())
    }

    /// The rate in bytes per second, with `outstanding` bytes sent and not acknowledged.
    pub(crate) fn rate(&self, window: &Window, outstanding: u32, srtt: Time) -> u64 {
        let in_slow_start = window.cwnd < window.ssthresh / 2;
        let percent = if in_slow_start { self.slow_start_percent } else { self.avoidance_percent };
        let bytes = u128::from(window.allowance().max(outstanding)) * u128::from(percent) * 1_000_000_000;
        u64::try_from(bytes / (100 * u128::from(srtt.as_ns().max(1)))).unwrap_or(u64::MAX).max(1)
    }

    /// Length of a burst at `rate` bytes per second, in bytes: whole segments.
    fn burst(&self, rate: u64, mss: u32) -> u64 {
        let carried = rate.saturating_mul(u64::from(self.burst_us)) / 1_000_000;
        gso::segments(carried, None, mss, self.burst_segments) * u64::from(mss)
    }
}

/// When the next data may leave.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    pub(crate) spec: PacingSpec,
    /// When the next burst may begin.
    next_at: Time,
    /// When the last burst began. What is left of it may leave at that instant alone.
    burst_at: Time,
    burst_left: u64,
    /// Segments that are still to leave unpaced.
    unpaced: u32,
    /// When the sender is to be woken; [`Time::MAX`] if nothing has been held back.
    pub(crate) wakes_at: Time,
}

impl Pacer {
    pub(crate) fn new(spec: PacingSpec) -> Pacer {
        Pacer {
            spec,
            next_at: Time::ZERO,
            burst_at: Time::ZERO,
            burst_left: 0,
            unpaced: spec.unpaced_segments,
            wakes_at: Time::MAX,
        }
    }

    /// Whether data may leave now; if not, the sender is to be woken.
    pub(crate) fn allows(&mut self, now: Time) -> bool {
        let allows = self.next_at <= now || self.burst_at == now && self.burst_left > 0;
        self.wakes_at = if allows { Time::MAX } else { self.next_at };
        allows
    }

    /// The deadline may have expired.
    pub(crate) fn wake(&mut self, now: Time) {
        if now >= self.wakes_at {
            self.wakes_at = Time::MAX;
        }
    }

    /// Counts a packet with `payload` bytes of data that leaves now, at `rate` bytes per second; `None`: no rate is known.
    /// `burst`: the length of a burst that begins with it, if TCP small queues have chosen it.
    pub(crate) fn sent(&mut self, payload: u32, burst: Option<u32>, mss: u32, rate: Option<u64>, now: Time) {
        if payload == 0 {
            return;
        }
        self.unpaced = self.unpaced.saturating_sub(1);
        let Some(rate) = rate.filter(|_| self.unpaced == 0) else { return };
        if self.next_at <= now {
            (self.next_at, self.burst_at) = (now, now);
            self.burst_left = burst.map_or_else(|| self.spec.burst(rate, mss), u64::from);
        }
        self.burst_left = self.burst_left.saturating_sub(u64::from(payload));
        self.next_at += Time::from_ns((u64::from(payload) * 1_000_000_000).div_ceil(rate));
    }
}
