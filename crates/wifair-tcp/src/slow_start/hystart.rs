//! HyStart as in Linux's CUBIC (`hystart_update()` in `net/ipv4/tcp_cubic.c`, 6.12), after S. Ha and I. Rhee, "Taming the
//! Elephants: New TCP Slow Start", 2008.
//!
//! The idea: in slow start a window of data leaves as a burst in each round trip. If its ACKs keep arriving close together for
//! as long as the least RTT, the path is full ("ACK train"). If the least RTT of a round exceeds the least RTT of all by an
//! eighth, a queue has built up ("delay"). Either sets the threshold to the window.
//!
//! The rules of Linux that are not in the paper:
//! - The ACK train must last for the least RTT and a millisecond at most (what four bursts of segmentation offload take at the
//!   pacing rate), or for half of that if data is not paced.
//! - The first eight samples of a round only lower its least RTT; the ninth and later ones are compared.
//! - Both are found once. A retransmission timeout forgets the least RTT and lets them be found again. Samples in the first
//!   second of congestion avoidance do not count.
//! - The round after a timeout has no ACK train, because the timeout starts it.
//!
//! Deviation: times are in nanoseconds, in Linux in microseconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{SpecError, Time};

use crate::congestion::{AckSample, Window};
use crate::{gso, seq};

/// Samples of a round before its least RTT counts; N_RTT_SAMPLE of RFC 9406.
pub(super) const MIN_SAMPLES: u32 = 8;

/// By how much a round's RTT must exceed `least`: an eighth of it, 4 ms to 16 ms. The same in RFC 9406, 4.2.
pub(super) fn threshold(least: Time) -> Time {
    Time::from_ns(least.as_ns() / 8).clamp(Time::from_ms(4), Time::from_ms(16))
}

/// Parameters of HyStart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HystartSpec {
    /// Whether an ACK train ends slow start (Linux: bit 0 of `hystart_detect`).
    pub ack_train: bool,
    /// Whether a growing RTT ends slow start (Linux: bit 1 of `hystart_detect`).
    pub delay: bool,
    /// Smallest window that ends slow start, in segments (Linux: `hystart_low_window`, 16).
    pub low_window_segments: u32,
    /// Largest interval between two ACKs of a train, in microseconds (Linux: `hystart_ack_delta_us`, 2,000).
    pub ack_delta_us: u32,
}

impl Default for HystartSpec {
    fn default() -> HystartSpec {
        HystartSpec { ack_train: true, delay: true, low_window_segments: 16, ack_delta_us: 2_000 }
    }
}

impl HystartSpec {
    pub(super) fn validate(&self, path: &str) -> Result<(), SpecError> {
        for (key, value, least, unit) in [
            ("low_window_segments", self.low_window_segments, 0, "segments"),
            ("ack_delta_us", self.ack_delta_us, 1, "us"),
        ] {
            if !(least..=1_000_000).contains(&value) {
                let allowed = format!("{least} to 1,000,000 {unit}");
                return Err(SpecError::new(format!("{path}.{key}"), value, allowed));
            }
        }
        Ok(())
    }
}

/// Of one round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// It ends when more than this is acknowledged.
    end: u32,
    began: Time,
    /// When the last ACK of the train arrived; `None` if the round has no train.
    last_ack: Option<Time>,
    least_rtt: Time,
    samples: u32,
}

/// State of HyStart.
#[derive(Clone, Debug)]
pub(crate) struct Hystart {
    spec: HystartSpec,
    /// The end of slow start has been found.
    found: bool,
    least_rtt: Option<Time>,
    /// `None` before the first round and after a timeout.
    round: Option<Round>,
    is_after_timeout: bool,
}

impl Hystart {
    pub(super) fn new(spec: HystartSpec) -> Hystart {
        Hystart { spec, found: false, least_rtt: None, round: None, is_after_timeout: false }
    }

    pub(super) fn on_ack_sample(&mut self, window: &mut Window, sample: &AckSample) {
        let least = self.least_rtt.map_or(sample.rtt, |least| least.min(sample.rtt));
        self.least_rtt = Some(least);
        if self.found || window.cwnd >= window.ssthresh {
            return;
        }
        let in_train = !std::mem::take(&mut self.is_after_timeout);
        let next = Round {
            end: sample.sent_to,
            began: sample.now,
            last_ack: in_train.then_some(sample.now),
            least_rtt: Time::MAX,
            samples: 0,
        };
        let round = self.round.get_or_insert(next);
        if seq::after(sample.acked_to, round.end) {
            *round = next;
        }
        if window.cwnd < self.spec.low_window_segments.saturating_mul(window.mss) {
            return;
        }
        let train = self.spec.ack_train && round.is_train(self.spec.ack_delta_us, least, sample);
        let delay = self.spec.delay && round.is_delayed(least, sample.rtt);
        if train || delay {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    pub(super) fn on_timeout(&mut self) {
        *self = Hystart { is_after_timeout: true, ..Hystart::new(self.spec) };
    }
}

impl Round {
    /// Whether the ACKs have arrived close together for as long as the path holds data.
    fn is_train(&mut self, ack_delta_us: u32, least: Time, sample: &AckSample) -> bool {
        let delta = Time::from_us(u64::from(ack_delta_us));
        let Some(last) = self.last_ack.filter(|&last| sample.now - last <= delta) else { return false };
        self.last_ack = Some(last.max(sample.now));
        let bursts_ns =
            sample.pacing_rate.map_or(0, |rate| 4 * gso::MOST_BYTES * 1_000_000_000 / rate.max(1));
        let mut lasts = least + Time::from_ns(bursts_ns).min(Time::from_ms(1));
        if !sample.is_paced {
            lasts = Time::from_ns(lasts.as_ns() / 2);
        }
        sample.now - self.began > lasts
    }

    /// Whether the least RTT of the round exceeds `least` by the threshold.
    fn is_delayed(&mut self, least: Time, rtt: Time) -> bool {
        self.least_rtt = self.least_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.least_rtt > least + threshold(least)
    }
}
