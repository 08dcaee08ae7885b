//! Rate adaptation: one state per peer of a node, updated with the outcome of each data frame.
//!
//! To add one, write its file here and a line in the registry below.

mod contract;
mod ladder;

pub use contract::{
    ChainOutcome, ChainSegment, Choice, Feedback, RateAdaptation, RetryChains, Start, TakenChain,
};

use crate::phy::{Modes, RateIndex};

wifair_core::registry! {
    /// A rate adaptation by name, with its parameters.
    RateSpec, matched by each;
    Fixed => fixed,
    Arf => arf,
    Aarf => aarf,
    MinstrelHt => minstrel_ht,
    Ideal => ideal,
}

impl RateSpec {
    /// The mode in which a link of these modes begins that the scenario gives the mode `given`.
    pub(crate) fn first(&self, given: RateIndex, modes: &Modes) -> RateIndex {
        match self {
            RateSpec::MinstrelHt(_) => modes.groups()[0][0],
            _ => given,
        }
    }

    /// The state towards one peer.
    pub fn build(&self, start: Start) -> Box<dyn RateAdaptation> {
        each!(RateSpec: self, spec => Box::new(spec.build(start)))
    }
}

impl Default for RateSpec {
    fn default() -> RateSpec {
        RateSpec::Fixed(Default::default())
    }
}
