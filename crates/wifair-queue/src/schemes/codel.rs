//! CoDel: controlled delay.
//!
//! Source: K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue Management", RFC 8289,
//! January 2018.
//!
//! Idea: a queue is too long if its least sojourn time within an interval exceeds the target. Then a packet is dropped or
//! marked, and further ones after decreasing times, interval/√n for the n-th, until a packet's sojourn time is below the
//! target.
//!
//! Interpretations:
//! - `target_ms`, `interval_ms`: the RFC's for the Internet at large (4.4). At an access point under load a frame exchange
//!   takes milliseconds, which is why mac80211 has 20 ms; a target below one exchange leaves no queue at all.
//! - `spared_bytes`: with no more bytes than this behind the head nothing is signalled: "an MTU's worth" (5.3), which Linux
//!   takes as 1,514, an Ethernet frame.
//! - `signal`: how congestion is signalled; see its values. The RFC leaves marking to the implementation.
//!
//! Aggregates: as `droptail`. CoDel judges each packet that leaves, from any position, by its sojourn time.
//!
//! Deviations: the square root is exact, not Newton's approximation of it. A full buffer drops the arrival. No random draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use crate::buffer::{Arrival, Buffer, DequeuedPacket, Indexes, Placed, QueueId};
use crate::check;
use crate::codel::{Arithmetic, Codel, CodelSettings, release};
use crate::congestion::Signal;
use crate::scheme::{Cx, Scheme, Shortcuts};
use crate::words::Grant;

pub const INFO: Info = Info {
    name: "codel",
    source: "RFC 8289",
    idea: "Drops or marks at the head while packets wait too long; after an interval above the target one is dropped or marked, and further ones after interval/√n, until the wait is below the target.",
};

/// Parameters of CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// TARGET: acceptable minimum sojourn time, in ms (RFC 8289).
    pub target_ms: f64,
    /// INTERVAL: how long sojourn times must exceed `target_ms` before the first signal, in ms, about the longest usual RTT
    /// (RFC 8289).
    pub interval_ms: f64,
    /// An MTU, in IP bytes: with no more bytes behind the head nothing is signalled (RFC 8289, section 5.3).
    pub spared_bytes: u32,
    /// How the scheme signals congestion: by a drop, CE (RFC 3168, section 5) or ECE.
    pub signal: Signal,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { target_ms: 5.0, interval_ms: 100.0, spared_bytes: 1514, signal: Signal::default() }
    }
}

impl Spec {
    /// The settings, for the schemes that contain CoDel.
    pub(super) fn settings(&self) -> CodelSettings {
        CodelSettings {
            target: Time::from_secs_f64(self.target_ms * 1e-3),
            interval: Time::from_secs_f64(self.interval_ms * 1e-3),
            spared_bytes: self.spared_bytes,
            signal: self.signal,
            arithmetic: Arithmetic::Exact,
        }
    }

    pub fn build(&self) -> CodelScheme {
        CodelScheme { settings: self.settings(), codel: Codel::default() }
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::within(path, "target_ms", self.target_ms, 0.001..=10_000.0, "ms")?;
        check::within(path, "interval_ms", self.interval_ms, 0.001..=100_000.0, "ms")?;
        check::within(path, "spared_bytes", self.spared_bytes.into(), 0.0..=1e9, "bytes")
    }
}

pub struct CodelScheme {
    settings: CodelSettings,
    codel: Codel,
}

/// The queue that packets join by default.
const QUEUE: QueueId = QueueId(0);

impl Scheme for CodelScheme {
    fn needs(&self) -> Indexes {
        Indexes::NONE.queues()
    }

    fn shortcuts(&self) -> Shortcuts {
        Shortcuts { append: true, tail_drop: true, ..Shortcuts::default() }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, cx: &mut Cx) -> Option<DequeuedPacket> {
        if grant.gathers && grant.station.is_some() {
            buffer.keep_stations();
        }
        let first = |buffer: &Buffer| match buffer.queues().first(QUEUE) {
            Some(head) if grant.gathers && !buffer.admits(head, grant) => buffer.first_admitted(grant),
            head => head,
        };
        release(&mut self.codel, &self.settings, QUEUE, grant, buffer, cx.now, first)
    }
}
