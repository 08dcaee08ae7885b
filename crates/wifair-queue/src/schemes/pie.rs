//! PIE: proportional integral controller, enhanced.
//!
//! Source: R. Pan, P. Natarajan, F. Baker, G. White, "Proportional Integral Controller Enhanced (PIE): A Lightweight Control
//! Scheme to Address the Bufferbloat Problem", RFC 8033, February 2017. (`pi` is another scheme, the controller of Hollot et
//! al.)
//!
//! Idea: a controller periodically updates a probability, by the queueing delay's deviation from its target and by its change
//! since the last update. Updates are smaller while the probability is small. An arrival is dropped or marked with that
//! probability, but not during a burst after a quiet period, nor while delay and queue are small.
//!
//! Interpretations:
//! - `target_ms`, `update_ms`, `alpha_per_s`, `beta_per_s`, `max_burst_ms`: the RFC's (4.2 to 4.4).
//! - `mean_packet_bytes`: an arrival that finds at most twice as many bytes queued is always admitted. The RFC gives no number;
//!   1,500, a full-size packet, as Linux has it.
//! - `signal`, `mark_up_to`: an ECN-capable packet is marked while the probability is at most 0.1, and dropped above (5.1).
//! - `derandomize`: signals are spaced more evenly (5.4): none until the probabilities of the arrivals since the last one add
//!   up to 0.85, and always one at 8.5. `cap_steps`: from a probability of 0.1 on, an update adds at most 0.02 (5.5). Both are
//!   optional in the RFC; Linux does both.
//! - The delay is that of the last packet that left, by time stamps (the RFC's second way, 4.3), and none once the queue is
//!   empty.
//!
//! Aggregates: as `droptail`.
//!
//! Deviations: the controller is always active; section 5.3 (active and inactive PIE) is not implemented, nor the cap at delays
//! above 250 ms that Linux adds. A full buffer drops the arrival.
//!
//! Random draws: one for each arrival that finds room.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use crate::buffer::{Arrival, Buffer, DequeuedPacket, Indexes, Placed};
use crate::check;
use crate::congestion::Signal;
use crate::scheme::{Cx, Hooks, Scheme};
use crate::words::{Grant, Refusal};

pub const INFO: Info = Info {
    name: "pie",
    source: "RFC 8033",
    idea: "A PI controller holds the queueing delay at a target; on its own clock it moves the probability with which arrivals are marked or dropped, by the delay's distance from the target and its change.",
};

/// Parameters of PIE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// QDELAY_REF: target queueing delay, in ms (RFC 8033, section 4.2).
    pub target_ms: f64,
    /// T_UPDATE: time between two updates of the probability, in ms (RFC 8033, section 4.2).
    pub update_ms: f64,
    /// alpha: weight of the delay's deviation from `target_ms`, per second (RFC 8033, section 4.2).
    pub alpha_per_s: f64,
    /// beta: weight of the delay's change since the last update, per second (RFC 8033, section 4.2).
    pub beta_per_s: f64,
    /// MAX_BURST: for how long a burst after a quiet period is admitted without signals, in ms (RFC 8033, section 4.4).
    pub max_burst_ms: f64,
    /// MEAN_PKTSIZE, in bytes: an arrival that finds at most twice as many bytes queued is always admitted (RFC 8033,
    /// section 4.1).
    pub mean_packet_bytes: u32,
    /// How the scheme signals congestion: by a drop, CE (RFC 3168, section 5) or ECE.
    pub signal: Signal,
    /// mark_ecnth: greatest probability at which packets are marked; above it they are dropped (RFC 8033, section 5.1).
    pub mark_up_to: f64,
    /// Whether signals are spaced more evenly than by independent draws (RFC 8033, section 5.4).
    pub derandomize: bool,
    /// Whether the probability grows by at most 0.02 per update once it is at least 0.1 (RFC 8033, section 5.5).
    pub cap_steps: bool,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            target_ms: 15.0,
            update_ms: 15.0,
            alpha_per_s: 0.125,
            beta_per_s: 1.25,
            max_burst_ms: 150.0,
            mean_packet_bytes: 1500,
            signal: Signal::default(),
            mark_up_to: 0.1,
            derandomize: true,
            cap_steps: true,
        }
    }
}

impl Spec {
    pub fn build(&self) -> Pie {
        let update = Time::from_secs_f64(self.update_ms * 1e-3);
        let max_burst = Time::from_secs_f64(self.max_burst_ms * 1e-3);
        Pie {
            due: update,
            update,
            max_burst,
            burst_allowance: max_burst,
            probability: 0.0,
            accumulated: 0.0,
            delay_s: 0.0,
            old_delay_s: 0.0,
            spec: self.clone(),
        }
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::within(path, "target_ms", self.target_ms, 0.001..=10_000.0, "ms")?;
        check::within(path, "update_ms", self.update_ms, 0.01..=10_000.0, "ms")?;
        check::within(path, "alpha_per_s", self.alpha_per_s, 0.0..=100.0, "per second")?;
        check::within(path, "beta_per_s", self.beta_per_s, 0.0..=100.0, "per second")?;
        check::within(path, "max_burst_ms", self.max_burst_ms, 0.0..=10_000.0, "ms")?;
        check::within(path, "mean_packet_bytes", self.mean_packet_bytes.into(), 0.0..=65_535.0, "bytes")?;
        check::within(path, "mark_up_to", self.mark_up_to, 0.0..=1.0, "")
    }
}

pub struct Pie {
    spec: Spec,
    update: Time,
    due: Time,
    max_burst: Time,
    /// Remaining time for which arrivals are admitted unconditionally.
    burst_allowance: Time,
    probability: f64,
    /// Sum of the probabilities of the arrivals since the last signal.
    accumulated: f64,
    /// Sojourn time of the last packet that left.
    delay_s: f64,
    /// The delay at the last step.
    old_delay_s: f64,
}

impl Pie {
    fn target_s(&self) -> f64 {
        self.spec.target_ms * 1e-3
    }

    /// Whether to signal congestion on an arrival that finds `bytes`; `draw` lies in `[0, 1)`.
    fn signals(&mut self, bytes: u64, draw: f64) -> bool {
        let is_calm = self.old_delay_s < 0.5 * self.target_s() && self.probability < 0.2;
        let is_short = bytes <= 2 * u64::from(self.spec.mean_packet_bytes);
        if self.burst_allowance > Time::ZERO || is_calm || is_short {
            return false;
        }
        if !self.spec.derandomize {
            return draw < self.probability;
        }
        self.accumulated = if self.probability > 0.0 { self.accumulated + self.probability } else { 0.0 };
        let signals = self.accumulated >= 8.5 || self.accumulated >= 0.85 && draw < self.probability;
        if signals {
            self.accumulated = 0.0;
        }
        signals
    }

    /// One step of the controller (4.2).
    fn step(&mut self) {
        let Spec { alpha_per_s, beta_per_s, .. } = self.spec;
        let error = alpha_per_s * (self.delay_s - self.target_s());
        let trend = beta_per_s * (self.delay_s - self.old_delay_s);
        let mut step = (error + trend) / damping(self.probability);
        if self.spec.cap_steps && self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if self.delay_s == 0.0 && self.old_delay_s == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        let half = 0.5 * self.target_s();
        self.burst_allowance = self.burst_allowance.saturating_sub(self.update);
        if self.probability == 0.0 && self.delay_s < half && self.old_delay_s < half {
            self.burst_allowance = self.max_burst;
        }
        self.old_delay_s = self.delay_s;
    }
}

/// The divisor of a step while the probability is small.
fn damping(probability: f64) -> f64 {
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)]
        .into_iter()
        .find(|(below, _)| probability < *below)
        .map_or(1.0, |(_, by)| by)
}

impl Scheme for Pie {
    fn needs(&self) -> Indexes {
        Indexes::NONE.queues()
    }

    fn serves_categories(&self) -> bool {
        true
    }

    fn hooks(&self) -> Hooks {
        Hooks { tick: true, ..Hooks::default() }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        if buffer.is_full() {
            self.accumulated = 0.0;
            return buffer.refuse(arrival, Refusal::TailDrop);
        }
        if !self.signals(buffer.queues().total_bytes(), cx.rng.unit()) {
            return buffer.append(arrival);
        }
        let signal = if self.probability <= self.spec.mark_up_to { self.spec.signal } else { Signal::Drop };
        signal.give(arrival, buffer)
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, cx: &mut Cx) -> Option<DequeuedPacket> {
        let departure = buffer.release_head(grant)?;
        self.delay_s = if buffer.is_empty() { 0.0 } else { (cx.now - departure.enqueued_at).as_secs_f64() };
        Some(departure)
    }

    fn begin(&mut self, now: Time) {
        self.due = now + self.update;
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.due)
    }

    fn on_tick(&mut self, _buffer: &mut Buffer, _cx: &mut Cx) {
        self.due += self.update;
        self.step();
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("mark_probability", self.probability);
    }
}
