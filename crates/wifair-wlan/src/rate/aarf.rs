//! `aarf`: adaptive automatic rate fallback.
//!
//! Source: Lacage, Manshaei and Turletti 2004, section 3.3.
//!
//! The idea: ARF, but each failed probe of the higher rate doubles the number of successes (and of frames) until the
//! next one; two failures in a row, which mean that the channel has changed, set both back. On a steady channel the
//! rate that works is kept, and little is lost on probes.
//!
//! Interpretations: the greatest success threshold is 50 in the paper and 60 in the simulators' implementations
//! (`success_threshold_max`, 50). A successful probe leaves the thresholds as they are. The rest as in `arf`.
//!
//! Deviations: none known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use super::ladder::{Ladder, Step, is_success};
use super::{Choice, Feedback, RateAdaptation, Start};
use crate::check;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "aarf",
    source: "Lacage et al. 2004, 3.3",
    idea: "As ARF, but a failed probe doubles both thresholds; two failures in a row set them back.",
};

/// Parameters of [`Aarf`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Initial success threshold: consecutive successes after which the rate is raised.
    pub success_threshold: u32,
    /// Upper bound of the success threshold.
    pub success_threshold_max: u32,
    /// Initial timer: attempts at a rate after which the next success raises it.
    pub timer_frames: u32,
    /// Factor by which a failed probe multiplies both.
    pub factor: u32,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { success_threshold: 10, success_threshold_max: 50, timer_frames: 15, factor: 2 }
    }
}

impl Spec {
    /// Checks what the types cannot. `path` is the key in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        let first =
            check::integer(path, "success_threshold", self.success_threshold, 1..=100_000, "successes")?;
        check::integer(
            path,
            "success_threshold_max",
            self.success_threshold_max,
            first..=100_000,
            "successes",
        )?;
        check::integer(path, "timer_frames", self.timer_frames, 1..=100_000, "frames")?;
        check::integer(path, "factor", self.factor, 1..=100, "times")?;
        Ok(())
    }

    /// The state towards a peer.
    pub fn build(&self, start: Start) -> Aarf {
        Aarf {
            ladder: Ladder::new(&start),
            success_threshold: self.success_threshold,
            timer_frames: self.timer_frames,
            spec: self.clone(),
        }
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct Aarf {
    spec: Spec,
    ladder: Ladder,
    success_threshold: u32,
    timer_frames: u32,
}

impl RateAdaptation for Aarf {
    fn on_attempt(&mut self, feedback: &mut Feedback) -> Choice {
        let Spec { success_threshold, success_threshold_max, timer_frames, factor } = self.spec;
        match self.ladder.on_attempt(is_success(feedback), self.success_threshold, self.timer_frames) {
            Step::ProbeFailed => {
                let longer = self.success_threshold.saturating_mul(factor);
                self.success_threshold = longer.min(success_threshold_max);
                self.timer_frames = self.timer_frames.saturating_mul(factor);
            }
            Step::Fallback => {
                self.success_threshold = success_threshold;
                self.timer_frames = timer_frames;
            }
            Step::Up | Step::None => {}
        }
        self.ladder.rate().into()
    }
}
