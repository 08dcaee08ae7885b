//! `ledbat`: RFC 6817, "Low Extra Delay Background Transport (LEDBAT)" (December 2012). Its names are in brackets.
//!
//! The idea: the delay beyond the least of the last ten minutes is queueing delay. Below a target the window grows, by at most
//! one segment per round trip; above the target it shrinks, the faster the longer the queue. So a background transfer takes
//! what other traffic leaves and gives way to it. A loss halves the window.
//!
//! Interpretations:
//! - FILTER() is the minimum of the last [CURRENT_FILTER] samples. There is one sample per round trip or, with
//!   `tcp.rto.samples` = `every-ack`, one per ACK. Samples older than the base delays may be shorter: the queueing delay is
//!   then 0.
//! - [bytes_newly_acked] is one segment per ACK, which the RFC allows, or with `tcp.byte_counting` all that an ACK
//!   acknowledges. So growth is never faster than that of the other controls with the same `tcp`.
//! - There is no slow start: the pseudocode of section 2.4.2 has none. `tcp.initial_ssthresh_segments` has no effect.
//! - In fast recovery the recovery sets the window. A window reduced by it or by a timeout grows by the same formula.
//! - The congestion timeout [CTO] is the retransmission timeout (RFC 6298).
//!
//! Deviations: delays are round-trip times, since segments here carry no timestamps from which one-way delays could be
//! computed. A queue on the way of the ACKs counts as well, and so does the delay of an ACK. The initial window [INIT_CWND] is
//! that of `tcp`, which is three segments of 1460 bytes unless set, not two.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use super::{Ack, CongestionControl, RttSample, Window};
use crate::recovery_rule::{ExitWindow, PartialAckTimer, RecoveryRule};
use crate::window_field::MAX_WINDOW_BYTES;

/// Description in the registry.
pub const INFO: Info = Info {
    name: "ledbat",
    source: "RFC 6817",
    idea: "Background transfers: keeps the queueing delay of the path at a target, and gives way to\n\
           traffic that makes it longer. Goes by RTT samples.",
};

/// [MIN_CWND], in segments.
const LEAST_CWND: u32 = 2;
/// Period of one minimum in the history of base delays.
const MINUTE: Time = Time::from_s(60);

/// Parameters of [`Ledbat`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Queueing delay that the control aims at, in milliseconds (RFC 6817, 2.5, TARGET: at most 100).
    pub target_ms: u32,
    /// Growth of the window without queueing delay, in segments per round trip (RFC 6817, 2.5, GAIN: at most 1).
    pub gain: f64,
    /// Time over which the least delay counts as the delay without a queue, in minutes (RFC 6817, 2.5, BASE_HISTORY).
    pub base_history_minutes: u32,
    /// Number of delay samples of which the least is the present delay (RFC 6817, 2.4.2, CURRENT_FILTER).
    pub filter_samples: u32,
    /// Segments by which the window may exceed the data in flight (RFC 6817, 2.5, ALLOWED_INCREASE).
    pub allowed_increase_segments: u32,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            target_ms: 100,
            gain: 1.0,
            base_history_minutes: 10,
            filter_samples: 4,
            allowed_increase_segments: 1,
        }
    }
}

impl Spec {
    /// Checks every value. `path` is the component's key in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        if !(0.001..=1.0).contains(&self.gain) {
            return Err(SpecError::new(format!("{path}.gain"), self.gain, "0.001 to 1"));
        }
        for (key, value, most, unit) in [
            ("target_ms", self.target_ms, 100, "ms"),
            ("base_history_minutes", self.base_history_minutes, 1_000, "minutes"),
            ("filter_samples", self.filter_samples, 1_000, "samples"),
            ("allowed_increase_segments", self.allowed_increase_segments, 1_000, "segments"),
        ] {
            if !(1..=most).contains(&value) {
                return Err(SpecError::new(format!("{path}.{key}"), value, format!("1 to {most} {unit}")));
            }
        }
        Ok(())
    }

    /// Creates a control with these parameters.
    pub fn build(&self) -> Ledbat {
        Ledbat(Box::new(LedbatState {
            spec: self.clone(),
            current_delays: VecDeque::new(),
            base_delays: VecDeque::new(),
            cwnd_bytes: 0,
            part: 0.0,
        }))
    }
}

/// The window policy of RFC 6817.
#[derive(Clone, Debug)]
pub struct Ledbat(Box<LedbatState>);

#[derive(Clone, Debug)]
struct LedbatState {
    spec: Spec,
    /// The latest delays [current_delays].
    current_delays: VecDeque<Time>,
    /// The least delay of each minute with samples, and the number of that minute [base_delays].
    base_delays: VecDeque<(u64, Time)>,
    /// The window as last set here, and the fraction of a byte beyond it.
    cwnd_bytes: u32,
    part: f64,
}

impl LedbatState {
    /// Delay in the queues of the path; `None` before the first sample.
    fn queueing_delay(&self) -> Option<Time> {
        let current = *self.current_delays.iter().min()?;
        let base = self.base_delays.iter().map(|(_, delay)| *delay).min()?;
        Some(current.saturating_sub(base))
    }
}

impl CongestionControl for Ledbat {
    fn recovery(&self) -> RecoveryRule {
        RecoveryRule::NewReno { timer: PartialAckTimer::default(), exit_window: ExitWindow::default() }
    }

    fn begin(&mut self, window: &mut Window, _identity: u32) {
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    fn on_rtt_sample(&mut self, sample: &RttSample) {
        let state = &mut *self.0;
        let minute = sample.now / MINUTE;
        match state.base_delays.back_mut() {
            Some((last, least)) if *last == minute => *least = (*least).min(sample.rtt),
            _ => state.base_delays.push_back((minute, sample.rtt)),
        }
        if state.base_delays.len() > state.spec.base_history_minutes as usize {
            state.base_delays.pop_front();
        }
        state.current_delays.push_back(sample.rtt);
        if state.current_delays.len() > state.spec.filter_samples as usize {
            state.current_delays.pop_front();
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: Ack) {
        let state = &mut *self.0;
        let Some(queueing_delay) = state.queueing_delay() else { return };
        let target = f64::from(state.spec.target_ms) / 1e3;
        let off_target = (target - queueing_delay.as_secs_f64()) / target;
        if window.cwnd != state.cwnd_bytes {
            state.part = 0.0;
        }
        let bytes = ack.bytes.min(window.avoidance_limit());
        let (mss, cwnd) = (f64::from(window.mss), f64::from(window.cwnd) + state.part);
        let changed = cwnd + state.spec.gain * off_target * f64::from(bytes) * mss / cwnd;
        let allowed = f64::from(ack.flight_bytes) + f64::from(state.spec.allowed_increase_segments) * mss;
        let cwnd = changed.min(allowed).max(f64::from(LEAST_CWND) * mss).min(f64::from(MAX_WINDOW_BYTES));
        window.cwnd = cwnd as u32;
        state.cwnd_bytes = window.cwnd;
        state.part = cwnd - f64::from(window.cwnd);
    }

    fn shrinks_on_ack(&self) -> bool {
        true
    }

    fn on_loss(&mut self, window: &mut Window, _flight_bytes: u32) {
        window.ssthresh = window.cwnd.min((window.cwnd / 2).max(LEAST_CWND * window.mss));
    }

    fn on_timeout(&mut self, window: &mut Window, _flight_bytes: u32) {
        window.ssthresh = LEAST_CWND * window.mss;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Counting;
    use super::*;

    const MSS: u32 = 1_000;

    /// The pseudocode of section 2.4.2, in seconds, bytes and real numbers.
    struct Pseudocode {
        target: f64,
        history: usize,
        filter: usize,
        current_delays: Vec<f64>,
        base_delays: Vec<f64>,
        last_rollover: Option<u64>,
        cwnd: f64,
    }

    impl Pseudocode {
        fn on_ack(&mut self, delay: f64, flightsize: f64, bytes_newly_acked: f64, now: f64) {
            let minute = (now / 60.0).floor() as u64;
            if self.last_rollover != Some(minute) {
                self.last_rollover = Some(minute);
                self.base_delays.push(f64::INFINITY);
            }
            let last = self.base_delays.len() - 1;
            self.base_delays[last] = self.base_delays[last].min(delay);
            self.current_delays.push(delay);

            let least = |delays: &[f64]| delays.iter().copied().fold(f64::INFINITY, f64::min);
            let latest = &self.current_delays[self.current_delays.len().saturating_sub(self.filter)..];
            let base = &self.base_delays[self.base_delays.len().saturating_sub(self.history)..];
            let queuing_delay = (least(latest) - least(base)).max(0.0);
            let off_target = (self.target - queuing_delay) / self.target;
            let mss = f64::from(MSS);
            self.cwnd += off_target * bytes_newly_acked * mss / self.cwnd;
            self.cwnd = self.cwnd.min(flightsize + mss).max(2.0 * mss);
        }
    }

    proptest! {
        #[test]
        fn the_window_is_that_of_the_pseudocode(
            target_ms in 1u32..=100,
            base_history_minutes in 1u32..4,
            filter_samples in 1u32..6,
            // Time since the last ACK, RTT, segments acknowledged, bytes in flight beyond the window, kind of event.
            steps in prop::collection::vec((1u64..40_000, 20_000u64..200_000, 1u32..4, -3_000i32..1_000, 0u8..40), 1..200),
        ) {
            let spec = Spec { target_ms, base_history_minutes, filter_samples, ..Spec::default() };
            let mut ledbat = spec.build();
            let mut window = Window {
                cwnd: 10 * MSS,
                ssthresh: u32::MAX,
                mss: MSS,
                credit: 0,
                slow_start_limit: MSS,
                counting: Counting::Bytes,
                divisor: 1,
            };
            ledbat.begin(&mut window, 0);
            let mut rfc = Pseudocode {
                target: f64::from(target_ms) / 1e3,
                history: base_history_minutes as usize,
                filter: filter_samples as usize,
                current_delays: vec![],
                base_delays: vec![],
                last_rollover: None,
                cwnd: f64::from(window.cwnd),
            };
            let mut now = Time::ZERO;
            for (us, rtt_us, segments, beyond, kind) in steps {
                now += Time::from_us(if kind == 1 { us * 5_000 } else { us });
                if kind == 0 {
                    // "on data loss: cwnd = min (cwnd, max (cwnd/2, MIN_CWND * MSS))"
                    ledbat.on_loss(&mut window, 12_345);
                    window.cwnd = window.ssthresh;
                    rfc.cwnd = rfc.cwnd.floor().min((rfc.cwnd.floor() / 2.0).floor().max(2.0 * f64::from(MSS)));
                }
                let rtt = Time::from_us(rtt_us);
                let flight_bytes = window.cwnd.saturating_add_signed(beyond);
                ledbat.on_rtt_sample(&RttSample { rtt, srtt: rtt, now });
                let ack = Ack { bytes: segments * MSS, flight_bytes, is_application_limited: false, now };
                ledbat.on_ack(&mut window, ack);
                rfc.on_ack(rtt.as_secs_f64(), f64::from(flight_bytes), f64::from(ack.bytes), now.as_secs_f64());
                prop_assert!((f64::from(window.cwnd) - rfc.cwnd.floor()).abs() <= 1.0, "{} for {}", window.cwnd, rfc.cwnd);
                rfc.cwnd = f64::from(window.cwnd) + ledbat.0.part;
            }
        }
    }
}
