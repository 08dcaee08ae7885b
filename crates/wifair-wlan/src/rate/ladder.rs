//! Common code of ARF and its variants: a ladder of rates, climbed after enough successes, descended after failures.

use super::{Feedback, Start};
use crate::phy::RateIndex;

/// Effect of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The rate is unchanged.
    None,
    /// One rate up; the next attempt is a probe.
    Up,
    /// The first attempt after a step up failed: one rate down.
    ProbeFailed,
    /// Two failures in a row: one rate down, if there is one.
    Fallback,
}

/// Whether a PPDU counts as a success: at least half of its MPDUs are acknowledged.
pub(super) fn is_success(feedback: &Feedback) -> bool {
    2 * feedback.acknowledged >= feedback.sent
}

/// A sender's position on the ladder, and its counters, which restart with every step.
#[derive(Debug)]
pub(super) struct Ladder {
    rate: RateIndex,
    highest: RateIndex,
    /// Successes in a row.
    successes: u32,
    /// Failures in a row.
    failures: u32,
    /// Attempts: the timer, counted in frames.
    frames: u32,
    /// Whether the rate has just been raised.
    probing: bool,
}

impl Ladder {
    pub(super) fn new(start: &Start) -> Ladder {
        let highest = start.fastest();
        Ladder { rate: start.first, highest, successes: 0, failures: 0, frames: 0, probing: false }
    }

    pub(super) fn rate(&self) -> RateIndex {
        self.rate
    }

    /// Takes the outcome of an attempt: up after `success_threshold` successes in a row, or at the first success from
    /// the `timer_frames`-th attempt on.
    pub(super) fn on_attempt(
        &mut self,
        acknowledged: bool,
        success_threshold: u32,
        timer_frames: u32,
    ) -> Step {
        self.frames = self.frames.saturating_add(1);
        let step = if acknowledged {
            self.successes = self.successes.saturating_add(1);
            self.failures = 0;
            self.probing = false;
            let enough = self.successes >= success_threshold || self.frames >= timer_frames;
            if enough && self.rate < self.highest { Step::Up } else { Step::None }
        } else {
            self.successes = 0;
            self.failures += 1;
            match (self.probing, self.failures) {
                (true, _) => Step::ProbeFailed,
                (false, 2..) => Step::Fallback,
                _ => Step::None,
            }
        };
        if step != Step::None {
            let rate = match step {
                Step::Up => self.rate.0 + 1,
                _ => self.rate.0.saturating_sub(1),
            };
            *self = Ladder {
                rate: RateIndex(rate),
                highest: self.highest,
                successes: 0,
                failures: 0,
                frames: 0,
                probing: step == Step::Up,
            };
        }
        step
    }
}
