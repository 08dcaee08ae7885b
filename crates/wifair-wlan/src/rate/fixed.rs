//! `fixed`: the rate that the scenario gives, whatever happens.

use wifair_core::Info;

use super::RateAdaptation;
use crate::phy::RateIndex;

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "fixed",
    source: "the scenario's own rate for the link",
    idea: "Every data frame to the peer is sent at the station's rate.",
};

/// See the module's head.
#[derive(Debug)]
pub struct Fixed {
    rate: RateIndex,
}

impl Fixed {
    /// Always `rate`.
    pub fn new(rate: RateIndex) -> Fixed {
        Fixed { rate }
    }
}

impl RateAdaptation for Fixed {
    fn on_attempt(&mut self, _acknowledged: bool) -> RateIndex {
        self.rate
    }

    fn adapts(&self) -> bool {
        false
    }
}
