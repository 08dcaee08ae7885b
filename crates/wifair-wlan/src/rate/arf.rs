//! `arf`: automatic rate fallback.
//!
//! Source: Kamerman and Monteban 1997, as Lacage, Manshaei and Turletti 2004 (section 3.2) restate it.
//!
//! The idea: try the next higher rate after enough successes in a row; fall back after two failures in a row, or at
//! once if the very first frame at the higher rate fails.
//!
//! Interpretations: the timer counts transmissions, not milliseconds (`timer_frames`), as in Lacage et al.; when it has
//! run out, the next success raises the rate (a failure never does). A failed probe and a fallback both clear all
//! counts, so the lower rate again has two failures to lose. An A-MPDU, which the sources do not know, is one attempt; it has
//! succeeded if at least half of its MPDUs are acknowledged.
//!
//! Deviations: none known. Every attempt counts, retransmissions and collisions too: the sender cannot tell.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use super::ladder::{Ladder, is_success};
use super::{Choice, Feedback, RateAdaptation, Start};
use crate::check;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "arf",
    source: "Kamerman and Monteban 1997; Lacage et al. 2004, 3.2",
    idea: "Up after ten successes in a row or fifteen frames; down after two failures in a row, or when the first \
           frame at the higher rate fails.",
};

/// Parameters of [`Arf`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Success threshold: consecutive successes after which the rate is raised.
    pub success_threshold: u32,
    /// Timer: attempts at a rate after which the next success raises it.
    pub timer_frames: u32,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { success_threshold: 10, timer_frames: 15 }
    }
}

impl Spec {
    /// Checks what the types cannot. `path` is the key in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::integer(path, "success_threshold", self.success_threshold, 1..=100_000, "successes")?;
        check::integer(path, "timer_frames", self.timer_frames, 1..=100_000, "frames")?;
        Ok(())
    }

    /// The state towards a peer.
    pub fn build(&self, start: Start) -> Arf {
        Arf { spec: self.clone(), ladder: Ladder::new(&start) }
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct Arf {
    spec: Spec,
    ladder: Ladder,
}

impl RateAdaptation for Arf {
    fn on_attempt(&mut self, feedback: &mut Feedback) -> Choice {
        self.ladder.on_attempt(is_success(feedback), self.spec.success_threshold, self.spec.timer_frames);
        self.ladder.rate().into()
    }
}
