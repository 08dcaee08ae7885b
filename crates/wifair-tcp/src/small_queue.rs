//! TCP small queues: a sender leaves little data in the queue below it.
//!
//! Source: Linux, `tcp_small_queue_check()`. What waits below the socket, up to its transmission or loss, is bounded by max(two
//! packets, what the pacing rate carries in 1 ms), raised to about 8 ms for Wi-Fi drivers (`tx_sk_pacing_shift` of 7 in
//! mac80211). The pacing rate counts whether data is paced or not. With at most one segment outstanding there is no limit. A
//! window that the limit leaves unused does not grow (`tcp_is_cwnd_limited()`): in slow start beyond twice what is outstanding,
//! in congestion avoidance unless it was used up within the last round trip.
//!
//! Deviations: a packet counts with its IP length, not with the memory that it takes (`truesize`); no `tcp_limit_output_bytes`,
//! which is 4 MB; retransmissions have the same limit, not twice as much.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::SpecError;

/// Limit of the data of a sender in its station's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SmallQueueSpec {
    /// Limit as the time in which the pacing rate carries it, in microseconds. Without the table `pacing` its default rates
    /// count. Linux: 7,812 for drivers that use mac80211, 977 for other interfaces.
    pub limit_us: u32,
    /// Smallest limit, in full segments (Linux: 2).
    pub limit_segments: u32,
}

impl Default for SmallQueueSpec {
    fn default() -> SmallQueueSpec {
        SmallQueueSpec { limit_us: 7_812, limit_segments: 2 }
    }
}

impl SmallQueueSpec {
    /// Checks every value. `path` is the key of this spec in the plan.
    pub(crate) fn validate(&self, path: &str) -> Result<(), SpecError> {
        if self.limit_us > 1_000_000 {
            return Err(SpecError::new(format!("{path}.limit_us"), self.limit_us, "0 to 1,000,000 us"));
        }
        if !(1..=1_000).contains(&self.limit_segments) {
            let key = format!("{path}.limit_segments");
            return Err(SpecError::new(key, self.limit_segments, "1 to 1,000 segments"));
        }
        Ok(())
    }
}

/// What waits below a socket.
#[derive(Clone, Debug)]
pub(crate) struct SmallQueue {
    spec: SmallQueueSpec,
    /// IP bytes sent and not reported to be gone.
    pub(crate) queued_bytes: u64,
}

impl SmallQueue {
    pub(crate) fn new(spec: SmallQueueSpec) -> SmallQueue {
        SmallQueue { spec, queued_bytes: 0 }
    }

    /// Whether no more may be queued, at a pacing rate of `rate` bytes per second; `full_bytes`: IP length of a full segment.
    pub(crate) fn is_full(&self, rate: u64, full_bytes: u32) -> bool {
        let carried = u128::from(rate) * u128::from(self.spec.limit_us) / 1_000_000;
        let least = u64::from(self.spec.limit_segments) * u64::from(full_bytes);
        u128::from(self.queued_bytes) >= carried.max(u128::from(least))
    }
}
