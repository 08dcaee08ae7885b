//! PI: active queue management by a proportional-integral controller.
//!
//! Source: C. Hollot, V. Misra, D. Towsley, W. Gong, "On designing improved controllers for AQM routers supporting TCP
//! flows", INFOCOM 2001; the equation as in `dqm`, Algorithm 1.
//!
//! Idea: a controller periodically updates a probability so that the queue length approaches a reference. An arrival is dropped
//! or marked with that probability.
//!
//! Interpretations:
//! - `a`, `b`, `frequency_hz`: as in `dqm`, Table II.
//! - `reference_packets`: the target length. 20 packets are about the 50 ms that `dqm` aims at, at the 400 packets per
//!   second that an AP of 802.11b sends under load.
//! - `signal`: how congestion is signalled; see its values. An ACK has no ECN-capable transport by RFC 3168, so under `mark`
//!   it is dropped as any packet of a transport without ECN.
//!
//! Aggregates: as `droptail`.
//!
//! Deviations: none known. A full buffer drops the arrival.
//!
//! Random draws: one for each arrival that finds room.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use crate::buffer::{Arrival, Buffer, Placed};
use crate::check;
use crate::congestion::Signal;
use crate::pi::PiController;
use crate::scheme::{Cx, Hooks, Scheme, Shortcuts};
use crate::words::Refusal;

pub const INFO: Info = Info {
    name: "pi",
    source: "Hollot et al., INFOCOM 2001",
    idea: "A PI controller holds the queue at a reference length; on its own clock it moves the probability with which arrivals are marked or dropped.",
};

/// Parameters of PI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// a: weight of the present deviation from `reference_packets`, per packet.
    pub a: f64,
    /// b: weight of the deviation at the previous update, per packet; at most `a`.
    pub b: f64,
    /// Sampling frequency of the controller, in Hz.
    pub frequency_hz: f64,
    /// q_ref: target queue length, in packets.
    pub reference_packets: f64,
    /// How the scheme signals congestion: by a drop, CE (RFC 3168, section 5) or ECE.
    pub signal: Signal,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            a: 1.822e-5,
            b: 1.816e-5,
            frequency_hz: 160.0,
            reference_packets: 20.0,
            signal: Signal::default(),
        }
    }
}

impl Spec {
    pub fn build(&self) -> Pi {
        let controller = PiController::new(self.a, self.b, self.frequency_hz);
        Pi { controller, reference: self.reference_packets, signal: self.signal }
    }

    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        PiController::validate(path, self.a, self.b, self.frequency_hz)?;
        check::within(path, "reference_packets", self.reference_packets, 0.0..=100_000.0, "packets")
    }
}

pub struct Pi {
    controller: PiController,
    reference: f64,
    signal: Signal,
}

impl Scheme for Pi {
    fn shortcuts(&self) -> Shortcuts {
        Shortcuts { tail_drop: true, release_head: true, ..Shortcuts::default() }
    }

    fn hooks(&self) -> Hooks {
        Hooks { tick: true, ..Hooks::default() }
    }

    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, cx: &mut Cx) -> Placed {
        if buffer.is_full() {
            buffer.refuse(arrival, Refusal::TailDrop)
        } else if cx.rng.chance(self.controller.probability()) {
            self.signal.give(arrival, buffer)
        } else {
            buffer.append(arrival)
        }
    }

    fn begin(&mut self, now: Time) {
        self.controller.begin(now);
    }

    fn next_tick(&self) -> Option<Time> {
        Some(self.controller.due())
    }

    fn on_tick(&mut self, buffer: &mut Buffer, _cx: &mut Cx) {
        self.controller.update(buffer.len() as f64, Some(self.reference));
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("mark_probability", self.controller.probability());
        out("queue_ref_packets", self.reference);
    }
}
