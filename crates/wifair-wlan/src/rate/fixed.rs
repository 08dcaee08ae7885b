//! `fixed`: always the scenario's rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::Info;

use super::{Choice, Feedback, RateAdaptation, Start};
use crate::phy::RateIndex;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "fixed",
    source: "the scenario's own rate for the link",
    idea: "Every data frame to the peer is sent at the station's rate.",
};

/// [`Fixed`] has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {}

impl Spec {
    /// Always the mode that the scenario gives.
    pub fn build(&self, start: Start) -> Fixed {
        Fixed { mode: start.first }
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct Fixed {
    mode: RateIndex,
}

impl RateAdaptation for Fixed {
    fn on_attempt(&mut self, _feedback: &mut Feedback) -> Choice {
        self.mode.into()
    }

    fn adapts(&self) -> bool {
        false
    }
}
