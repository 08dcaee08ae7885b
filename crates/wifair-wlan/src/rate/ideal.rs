//! `ideal`: the fastest mode under an error target, by a sender that knows the channel.
//!
//! Source: the idea of ns-3's `IdealWifiManager`. No device can do this: it is an upper bound for comparison.
//!
//! The idea: each attempt has the fastest mode in which the receiver loses an MPDU of the reference length with at most the
//! target probability; the slowest if there is none. The link's other groups of modes count (narrower widths, fewer
//! streams, the long guard interval): of equally fast modes the one with the greatest width, then the shortest guard
//! interval, then the most streams is taken.
//!
//! Interpretations: the target is on the error rate of MPDUs (`max_error_rate`, 0.1; ns-3 has a bit error rate of 10⁻⁶).
//! The channel is that at the end of the attempt before, as in ns-3: the first attempt has the scenario's mode, and one
//! after a pause may have an old one. It comes from positions, or from error rates by mode; without either the fastest mode
//! is free of errors.
//!
//! Deviations: none known.
//!
//! Random draws: none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use super::{Choice, Feedback, RateAdaptation, Start};
use crate::check;
use crate::phy::RateIndex;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "ideal",
    source: "after ns-3's IdealWifiManager",
    idea: "The fastest mode whose error rate is at most a target, by a sender that knows the channel: a bound.",
};

/// Parameters of [`Ideal`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Target error rate of an MPDU, 0 to 1.
    pub max_error_rate: f64,
    /// Length of the MPDU that the target refers to, in bytes, 1 to 11454. 1538 carries an IP packet of 1,500
    /// bytes.
    pub mpdu_bytes: u32,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { max_error_rate: 0.1, mpdu_bytes: 1_538 }
    }
}

impl Spec {
    /// Checks what the types cannot; `path` is the key in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::number(path, "max_error_rate", self.max_error_rate, 0.0..=1.0, "")?;
        check::integer(path, "mpdu_bytes", self.mpdu_bytes, 1..=11_454, "bytes")?;
        Ok(())
    }

    /// The state towards a peer.
    pub fn build(&self, start: Start) -> Ideal {
        let mut fastest_first: Vec<RateIndex> = start.modes.groups().concat();
        fastest_first.reverse();
        fastest_first.sort_by_key(|&mode| std::cmp::Reverse(start.modes.on_air(mode).rate()));
        Ideal { spec: self.clone(), fastest_first }
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct Ideal {
    spec: Spec,
    fastest_first: Vec<RateIndex>,
}

impl RateAdaptation for Ideal {
    fn on_attempt(&mut self, feedback: &mut Feedback) -> Choice {
        let Spec { max_error_rate, mpdu_bytes } = self.spec;
        let (slowest, faster) = self.fastest_first.split_last().expect("a link has a mode");
        let reaches = |mode: &&RateIndex| (feedback.error_rate)(**mode, mpdu_bytes) <= max_error_rate;
        (*faster.iter().find(reaches).unwrap_or(slowest)).into()
    }
}
