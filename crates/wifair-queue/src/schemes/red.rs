//! RED: random early detection.
//!
//! Source: S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
//! Networking 1(4), 1993; the gentle slope above the upper threshold is Floyd's later addition.
//!
//! Idea: a moving average of the queue length, updated at each arrival, indicates lasting congestion. Between two thresholds an
//! arrival is dropped or marked with a probability that grows with the average and with the number of arrivals since the last
//! signal, which spaces the signals evenly.
//!
//! Interpretations:
//! - `min_packets`, `max_packets`, `max_probability`, `weight`: 5, 15, 0.1 and 0.002, the defaults of ns-2.
//! - `gentle`: from `max_packets` to twice that the probability rises further to 1 instead of jumping there: true, since a
//!   jump makes the queue oscillate.
//! - `idle_packet_ms`: the average decays in an idle time as if that many packets had come to an empty queue; 2 ms is
//!   what a full-sized packet takes at 11 Mbps, with its MAC ACK and backoff.
//! - `signal`: how congestion is signalled; see its values. An average above the upper threshold (with `gentle`, twice that)
//!   drops the arrival whatever its transport (RFC 3168, section 7).
//! - The queue is measured in packets; the original's byte mode is not implemented.
//!
//! Aggregates: as `droptail`.
//!
//! Deviations: none known. A full buffer drops the arrival, which counts as the original's drop does.
//!
//! Random draws: one for each arrival that finds room and an average between the thresholds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use crate::buffer::{Arrival, Buffer, DequeuedPacket, Placed};
use crate::check;
use crate::congestion::Signal;
use crate::scheme::{Cx, Scheme};
use crate::words::{Grant, Refusal};

pub const INFO: Info = Info {
    name: "red",
    source: "Floyd and Jacobson 1993",
    idea: "The longer the average queue, the more drops or marks; their probability grows between two thresholds of the average.",
};

/// Parameters of RED.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// min_th: average queue length above which arrivals may be signalled, in packets.
    pub min_packets: f64,
    /// max_th: average queue length at which the probability reaches `max_probability`, in packets.
    pub max_packets: f64,
    /// max_p: probability of a signal at `max_packets`.
    pub max_probability: f64,
    /// w_q: weight of the present queue length in its moving average.
    pub weight: f64,
    /// Whether the probability rises to 1 between `max_packets` and twice that.
    pub gentle: bool,
    /// s: typical transmission time of a packet, in ms, by which the average decays while the queue is idle.
    pub idle_packet_ms: f64,
    /// How the scheme signals congestion: by a drop, CE (RFC 3168, section 5) or ECE.
    pub signal: Signal,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            min_packets: 5.0,
            max_packets: 15.0,
            max_probability: 0.1,
            weight: 0.002,
            gentle: true,
            idle_packet_ms: 2.0,
            signal: Signal::default(),
        }
    }
}

impl Spec {
    pub fn build(&self) -> Red {
        Red { spec: self.clone(), average: 0.0, since_mark: None, idle_since: Some(Time::ZERO) }
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::within(path, "min_packets", self.min_packets, 0.0..=100_000.0, "packets")?;
        if !(self.max_packets > self.min_packets && self.max_packets <= 100_000.0) {
            let allowed = format!("more than min_packets ({}), at most 100000 packets", self.min_packets);
            return Err(SpecError::new(format!("{path}.max_packets"), self.max_packets, allowed));
        }
        check::within(path, "max_probability", self.max_probability, 0.0..=1.0, "")?;
        check::within(path, "weight", self.weight, 0.0..=1.0, "")?;
        check::within(path, "idle_packet_ms", self.idle_packet_ms, 0.001..=10_000.0, "ms")
    }
}

pub struct Red {
    spec: Spec,
    average: f64,
    /// Arrivals since the last mark or drop while the average lies between the thresholds; `None` below.
    since_mark: Option<u32>,
    idle_since: Option<Time>,
}

/// The action for a given average.
enum RedDecision {
    Nothing,
    /// Signal with this probability, before spreading.
    Signal(f64),
    Drop,
}

impl Red {
    fn average_in(&mut self, packets: usize, now: Time) {
        let w = self.spec.weight;
        match self.idle_since {
            Some(since) if packets == 0 => {
                let missed = (now - since).as_secs_f64() * 1e3 / self.spec.idle_packet_ms;
                self.average *= libm::pow(1.0 - w, missed);
                self.idle_since = Some(now);
            }
            _ => self.average += w * (packets as f64 - self.average),
        }
    }

    fn call(&self) -> RedDecision {
        let Spec { min_packets: min, max_packets: max, max_probability, gentle, .. } = self.spec;
        let average = self.average;
        if average < min {
            RedDecision::Nothing
        } else if average < max {
            RedDecision::Signal(max_probability * (average - min) / (max - min))
        } else if gentle && average < 2.0 * max {
            RedDecision::Signal(max_probability + (1.0 - max_probability) * (average - max) / max)
        } else {
            RedDecision::Drop
        }
    }
}

impl Scheme for Red {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        self.average_in(buffer.len(), cx.now);
        if buffer.is_full() {
            self.since_mark = Some(0);
            return buffer.refuse(arrival, Refusal::TailDrop);
        }
        match self.call() {
            RedDecision::Nothing => {
                self.since_mark = None;
                self.idle_since = None;
                buffer.append(arrival)
            }
            RedDecision::Signal(p) => {
                let count = self.since_mark.map_or(0, |count| count + 1);
                let spread = 1.0 - f64::from(count) * p;
                let signalled = cx.rng.unit() * spread < p;
                self.since_mark = Some(if signalled { 0 } else { count });
                let placed =
                    if signalled { self.spec.signal.give(arrival, buffer) } else { buffer.append(arrival) };
                if !buffer.is_empty() {
                    self.idle_since = None;
                }
                placed
            }
            RedDecision::Drop => {
                self.since_mark = Some(0);
                buffer.refuse(arrival, Refusal::Aqm)
            }
        }
    }

    fn serves_categories(&self) -> bool {
        true
    }

    fn dequeue(&mut self, grant: &Grant, buffer: &mut Buffer, cx: &mut Cx) -> Option<DequeuedPacket> {
        let departure = buffer.release_head(grant)?;
        if buffer.is_empty() {
            self.idle_since = Some(cx.now);
        }
        Some(departure)
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("average_queue_packets", self.average);
        let p = match self.call() {
            RedDecision::Nothing => 0.0,
            RedDecision::Signal(p) => p,
            RedDecision::Drop => 1.0,
        };
        out("mark_probability", p);
    }
}
