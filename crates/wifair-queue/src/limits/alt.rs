//! ALT: adaptive buffer limit tuning.
//!
//! Source: `alt` V-A, equation (1) and Algorithm 1.
//!
//! Idea: after each interval the limit rises with the time for which the buffer was empty and falls with the time for which it
//! was not. In equilibrium, idle time : busy time = b : a.
//!
//! Interpretations:
//! - The initial limit, which Algorithm 1 leaves to be set, is `limit_packets` of the transmit queue, and must lie in the
//!   bounds.
//! - `idle`: the text speaks of the buffer ("if the buffer is empty for too long", "measurements of the buffer idle and
//!   busy time"), so by default the buffer is idle while no packet is queued, also while the last one is being sent. The
//!   link is then busy for longer than the buffer, and (2) is the lower bound that the paper calls it. By
//!   `nothing-to-send` a packet in service counts as busy, and (2) would be an equation.
//! - q is a real number in (1); its fraction is kept from one interval to the next, and a packet fits if no more than q
//!   are queued then.
//! - Packets above a lowered limit: see `lowered_limit` of the transmit queue; Algorithm 1 evicts nothing.
//!
//! Deviations: none known. No random draws.

use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use crate::check;
use crate::limit::{LimitController, Occupancy, Wants};

pub const INFO: Info = Info {
    name: "alt",
    source: "alt V-A, Algorithm 1",
    idea: "The limit rises while the buffer is empty, else it falls; at each interval by the times of both.",
};

/// Parameters of ALT. The defaults are the paper's (V-A).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// a: increase of the limit per second of idle time, in packets.
    pub increase_packets_per_s: f64,
    /// b: decrease of the limit per second of busy time, in packets.
    pub decrease_packets_per_s: f64,
    /// t: observation interval, in seconds.
    pub interval_s: f64,
    /// q_min: least limit, in packets.
    pub min_packets: u32,
    /// q_max: greatest limit, in packets.
    pub max_packets: u32,
    /// When a buffer counts as idle.
    pub idle: Idle,
}

/// When a buffer is idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// While no packet is queued, whether or not one is in service.
    #[default]
    EmptyBuffer,
    /// While no packet is queued and none is in service.
    NothingToSend,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            increase_packets_per_s: 10.0,
            decrease_packets_per_s: 1.0,
            interval_s: 1.0,
            min_packets: 30,
            max_packets: 400,
            idle: Idle::default(),
        }
    }
}

impl Spec {
    pub fn build(&self) -> Alt {
        let interval = Time::from_secs_f64(self.interval_s);
        Alt { limit: 0.0, interval, due: interval, idle_before: Time::ZERO, spec: self.clone() }
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        let rates = 0.0..=100_000.0;
        check::within(
            path,
            "increase_packets_per_s",
            self.increase_packets_per_s,
            rates.clone(),
            "packets/s",
        )?;
        check::within(path, "decrease_packets_per_s", self.decrease_packets_per_s, rates, "packets/s")?;
        check::within(path, "interval_s", self.interval_s, 0.001..=1e6, "s")?;
        check::bounds(path, self.min_packets, self.max_packets)
    }
}

pub struct Alt {
    spec: Spec,
    /// The paper's q.
    limit: f64,
    interval: Time,
    due: Time,
    idle_before: Time,
}

impl LimitController for Alt {
    fn bounds(&self) -> RangeInclusive<u32> {
        self.spec.min_packets..=self.spec.max_packets
    }

    fn start(&mut self, limit_packets: u32) {
        self.limit = f64::from(limit_packets);
    }

    fn limit_packets(&self) -> f64 {
        self.limit
    }

    fn wants(&self) -> Wants {
        Wants { idle: self.spec.idle == Idle::NothingToSend, ..Wants::default() }
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.due)
    }

    fn on_tick(&mut self, occupancy: &Occupancy) {
        let so_far = match self.spec.idle {
            Idle::EmptyBuffer => occupancy.empty,
            Idle::NothingToSend => occupancy.idle,
        };
        let idle = so_far - self.idle_before;
        let busy = self.interval.saturating_sub(idle); // nothing if the caller is late
        let step = self.spec.increase_packets_per_s * idle.as_secs_f64()
            - self.spec.decrease_packets_per_s * busy.as_secs_f64();
        let (least, most) = (f64::from(self.spec.min_packets), f64::from(self.spec.max_packets));
        self.limit = (self.limit + step).clamp(least, most);
        self.idle_before = so_far;
        self.due += self.interval;
    }
}
