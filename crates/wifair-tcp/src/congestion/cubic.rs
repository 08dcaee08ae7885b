//! `cubic`: RFC 9438, "CUBIC for Fast and Long-Distance Networks" (August 2023), on the recovery of RFC 6582 or, with
//! `tcp.sack`, RFC 6675.
//!
//! The idea: after a loss the window falls to 0.7 of what it was and returns along a cubic function of time: fast at
//! first, flat around the window at which the loss came, fast again beyond. So growth does not depend on the round-trip
//! time; where Reno would be faster, it is Reno's.
//!
//! Interpretations:
//! - The increment (target − cwnd) / cwnd "for each received new ACK" (4.4, 4.5) and the estimate of Reno's window (4.3)
//!   count what an ACK counts for in congestion avoidance: one segment, unless `tcp.byte_counting` says all that it
//!   acknowledges, as Linux does. With delayed ACKs the window then follows the function more slowly.
//! - A stage of congestion avoidance begins with the first ACK that finds the window changed by something else: a loss, the
//!   end of slow start, a restart after idleness, a rate change (`arf-aware`).
//! - Before the first loss, and after a timeout (4.8), there is no window to return to: K = 0 and W_max = cwnd.
//! - Time without ACKs for longer than a round trip does not count (5.8: t excludes what is limited by the application).
//! - cwnd_prior and W_max are the window at the loss, not FlightSize, as 4.6 and 4.7 write; ssthresh is of FlightSize, unless
//!   `tcp.loss_reduces` says otherwise.
//!
//! Deviations: slow start is RFC 5681's unless `slow_start` says otherwise; 4.10 recommends HyStart++. No undoing of spurious
//! reductions (4.9).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use super::{Ack, AckSample, CongestionControl, RttSample, Window, reno};
use crate::recovery_rule::{ExitWindow, PartialAckTimer, RecoveryRule};
use crate::slow_start::{SlowStart, SlowStartSpec};

/// Time from the beginning of a stage of congestion avoidance during which HyStart gets no samples (Linux: `HZ`, one second).
const SETTLING: Time = Time::from_s(1);

/// Description in the registry.
pub const INFO: Info = Info {
    name: "cubic",
    source: "RFC 9438",
    idea: "After a loss back to the old window and beyond it along a cubic function of time,\n\
           independent of the round-trip time; nowhere slower than Reno. The default of today's hosts.",
};

/// Parameters of [`Cubic`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Growth of the window, in segments per cubic second (RFC 9438, 5, C: 0.4).
    pub c: f64,
    /// Share of the window that remains after a loss (RFC 9438, 4.6, β_cubic: 0.7).
    pub beta: f64,
    /// Whether a loss at a smaller window than the one before lowers the window to return to, which leaves room to other flows
    /// (RFC 9438, 4.7).
    pub fast_convergence: bool,
    /// Whether the window is at least that of Reno (RFC 9438, 4.3).
    pub reno_friendly: bool,
    /// Least growth per round trip in congestion avoidance before the first loss and after a timeout, in percent of the window
    /// (Linux: 5). RFC 9438, 4.8 and 4.10 have none: 0.
    pub least_growth_percent: f64,
    /// What ends slow start before a loss (RFC 9438, 4.10).
    pub slow_start: SlowStartSpec,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            reno_friendly: true,
            least_growth_percent: 0.0,
            slow_start: SlowStartSpec::default(),
        }
    }
}

impl Spec {
    /// Checks every value. `path` is the component's key in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        for (key, value, range) in [
            ("c", self.c, 1e-6..=1e3),
            ("beta", self.beta, 0.1..=0.95),
            ("least_growth_percent", self.least_growth_percent, 0.0..=50.0),
        ] {
            if !range.contains(&value) {
                let allowed = format!("{} to {}", range.start(), range.end());
                return Err(SpecError::new(format!("{path}.{key}"), value, allowed));
            }
        }
        self.slow_start.validate(&format!("{path}.slow_start"))
    }

    /// Creates a control with these parameters.
    pub fn build(&self) -> Cubic {
        Cubic(Box::new(CubicState {
            spec: self.clone(),
            slow_start: self.slow_start.build(),
            least_growth: self.least_growth_percent / 100.0,
            w_max: None,
            cwnd_prior: f64::INFINITY,
            srtt: Time::ZERO,
            stage: Stage::default(),
        }))
    }
}

/// The window policy of RFC 9438. Windows are in segments here.
#[derive(Clone, Debug)]
pub struct Cubic(Box<CubicState>);

#[derive(Clone, Debug)]
struct CubicState {
    spec: Spec,
    slow_start: SlowStart,
    /// Least growth per segment acknowledged, in segments.
    least_growth: f64,
    /// The window to return to (W_max); `None` before the first loss and after a timeout.
    w_max: Option<f64>,
    /// The window at the last reduction (cwnd_prior).
    cwnd_prior: f64,
    srtt: Time,
    stage: Stage,
}

/// A stage of congestion avoidance.
#[derive(Clone, Debug, Default)]
struct Stage {
    /// The window in bytes as last set by CUBIC, and the fraction of a byte beyond; 0 before the first stage.
    cwnd_bytes: u32,
    part: f64,
    /// When it began, moved later by time that does not count.
    began: Time,
    last_ack: Time,
    /// Plateau of the cubic function: its time in seconds (K) and its window (W_max).
    flat_at: f64,
    flat_window: f64,
    /// Estimate of Reno's window (W_est).
    reno_window: f64,
}

impl CubicState {
    /// Begins a stage of congestion avoidance with a window of `cwnd` (RFC 9438, 4.2).
    fn begin_stage(&mut self, cwnd: f64, now: Time) {
        let flat_window = self.w_max.map_or(cwnd, |w_max| w_max.max(cwnd));
        self.stage = Stage {
            cwnd_bytes: 0,
            part: 0.0,
            began: now,
            last_ack: now,
            flat_at: libm::cbrt((flat_window - cwnd) / self.spec.c),
            flat_window,
            reno_window: cwnd,
        };
    }

    /// W_cubic(t), equation 1.
    fn function(&self, t: f64) -> f64 {
        let from_flat = t - self.stage.flat_at;
        self.spec.c * from_flat * from_flat * from_flat + self.stage.flat_window
    }

    /// α_cubic (4.3): 0.53 segments per round trip, which with a reduction to 0.7 equals Reno on average; Reno's one segment
    /// beyond the window at the last loss.
    fn reno_increase(&self) -> f64 {
        if self.stage.reno_window >= self.cwnd_prior {
            1.0
        } else {
            3.0 * (1.0 - self.spec.beta) / (1.0 + self.spec.beta)
        }
    }

    /// Congestion avoidance (4.2 to 4.5): returns the window after an ACK that counts for `acked` segments.
    fn next_window(&mut self, cwnd: f64, acked: f64, now: Time) -> f64 {
        let pause = now.saturating_sub(self.stage.last_ack).saturating_sub(self.srtt);
        self.stage.began += pause;
        self.stage.last_ack = now;
        self.stage.reno_window += self.reno_increase() * acked / cwnd;
        let t = (now - self.stage.began).as_secs_f64();
        let next = if self.spec.reno_friendly && self.function(t) < self.stage.reno_window {
            self.stage.reno_window.max(cwnd)
        } else {
            let target = self.function(t + self.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + acked * (target - cwnd) / cwnd
        };
        if self.least_growth == 0.0 || self.w_max.is_some() {
            return next;
        }
        next.max(cwnd + acked * self.least_growth)
    }

    /// The threshold after a loss (4.6).
    fn reduce(&mut self, window: &mut Window, flight_bytes: u32) {
        self.cwnd_prior = f64::from(window.cwnd) / f64::from(window.mss);
        let remaining = (f64::from(flight_bytes) * self.spec.beta) as u32;
        window.ssthresh = remaining.max(2 * window.mss);
        self.stage.cwnd_bytes = 0;
    }
}

impl CongestionControl for Cubic {
    fn recovery(&self) -> RecoveryRule {
        RecoveryRule::NewReno { timer: PartialAckTimer::default(), exit_window: ExitWindow::default() }
    }

    #[inline(never)]
    fn on_ack(&mut self, window: &mut Window, ack: Ack) {
        let before = window.cwnd;
        let acked_bytes = reno::slow_start(window, ack.bytes);
        if acked_bytes == 0 {
            window.cwnd = before + self.0.slow_start.growth(window.cwnd - before, window.mss);
            return;
        }
        let state = &mut *self.0;
        let mss = f64::from(window.mss);
        if window.cwnd != state.stage.cwnd_bytes {
            state.begin_stage(f64::from(window.cwnd) / mss, ack.now);
        }
        let cwnd = (f64::from(window.cwnd) + state.stage.part) / mss;
        let acked = f64::from(acked_bytes.min(window.avoidance_limit())) / mss;
        let bytes = state.next_window(cwnd, acked, ack.now) * mss;
        window.cwnd = bytes as u32;
        state.stage.cwnd_bytes = window.cwnd;
        state.stage.part = bytes - f64::from(window.cwnd);
    }

    fn on_loss(&mut self, window: &mut Window, flight_bytes: u32) {
        let state = &mut *self.0;
        state.slow_start.on_loss();
        state.reduce(window, flight_bytes);
        let cwnd = state.cwnd_prior;
        let gives_way = state.spec.fast_convergence && state.w_max.is_some_and(|w_max| cwnd < w_max);
        state.w_max = Some(if gives_way { cwnd * (1.0 + state.spec.beta) / 2.0 } else { cwnd });
    }

    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u32) {
        self.0.slow_start.on_timeout();
        self.0.reduce(window, flight_bytes);
        self.0.w_max = None;
    }

    fn on_rtt_sample(&mut self, sample: &RttSample) {
        self.0.srtt = sample.srtt;
    }

    fn needs_ack_samples(&self) -> bool {
        self.0.slow_start.needs_ack_samples()
    }

    fn on_ack_sample(&mut self, window: &mut Window, sample: &AckSample) {
        let CubicState { stage, slow_start, .. } = &mut *self.0;
        let is_settling = stage.cwnd_bytes != 0 && sample.now.saturating_sub(stage.began) < SETTLING;
        slow_start.on_ack_sample(window, sample, is_settling);
    }
}
