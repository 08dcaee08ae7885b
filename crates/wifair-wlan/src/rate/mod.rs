//! Rate adaptation: one state for each peer of a node, fed with the outcome of each data frame.
//!
//! To add one, write its file here and a line in the registry below.

mod aarf;
mod arf;
mod fixed;
mod ladder;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError};

use crate::phy::RateIndex;
pub use aarf::{Aarf, AarfSpec};
pub use arf::{Arf, ArfSpec};
pub use fixed::{Fixed, FixedSpec};

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

/// The registry: name in scenarios, adaptation, its parameters, its file. One line an adaptation.
macro_rules! registry {
    ($($name:literal: $adaptation:ident($spec:ident) from $module:ident),+ $(,)?) => {
        /// A rate adaptation by name, with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "name")]
        pub enum RateSpec {
            $(#[doc = concat!("`", $name, "`, see [`", stringify!($adaptation), "`].")]
            #[serde(rename = $name)]
            $adaptation($spec)),+
        }

        impl RateSpec {
            /// Checks what the types cannot; `path` is where the adaptation stands in the plan.
            pub(crate) fn validate(&self, path: &str) -> Result<(), SpecError> {
                match self { $(RateSpec::$adaptation(spec) => spec.validate(path)),+ }
            }

            /// The state towards one peer, one of `rates` rates at a time, that begins at the rate `first`.
            pub fn build(&self, first: RateIndex, rates: usize) -> Box<dyn RateAdaptation> {
                match self { $(RateSpec::$adaptation(spec) => Box::new($adaptation::new(spec, first, rates))),+ }
            }
        }

        /// What each rate adaptation says about itself, in the order of the registry.
        pub const RATE_ADAPTATIONS: &[Info] = &[$($module::INFO),+];
    };
}

registry! {
    "fixed": Fixed(FixedSpec) from fixed,
    "arf": Arf(ArfSpec) from arf,
    "aarf": Aarf(AarfSpec) from aarf,
}

impl Default for RateSpec {
    fn default() -> RateSpec {
        RateSpec::Fixed(FixedSpec {})
    }
}
