//! Rate adaptation: one state for each peer of a node, fed with the outcome of each data frame.
//!
//! To add one, write its file here and a line in [`RateSpec`].

mod fixed;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::Info;

use crate::phy::RateIndex;
pub use fixed::Fixed;

/// Chooses the data rate towards one peer.
pub trait RateAdaptation: Send {
    /// A data frame to the peer was acknowledged, or not (an RTS without a CTS says nothing about the rate and is
    /// not told). Returns the rate of the next data frame, an index into the PHY's rates.
    fn on_attempt(&mut self, acknowledged: bool) -> RateIndex;

    /// Whether the rate ever changes; if not, [`RateAdaptation::on_attempt`] is not called.
    fn adapts(&self) -> bool {
        true
    }
}

/// The rate adaptations that exist, with their parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RateSpec {
    /// The station's rate, always.
    Fixed {},
}

impl Default for RateSpec {
    fn default() -> RateSpec {
        RateSpec::Fixed {}
    }
}

impl RateSpec {
    /// The state towards one peer that begins at the rate `first`.
    pub fn build(&self, first: RateIndex) -> Box<dyn RateAdaptation> {
        match self {
            RateSpec::Fixed {} => Box::new(Fixed::new(first)),
        }
    }
}

/// What each rate adaptation says about itself.
pub const RATE_ADAPTATIONS: &[Info] = &[fixed::INFO];
