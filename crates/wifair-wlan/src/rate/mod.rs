//! Rate adaptation: one state per peer of a node, updated with the outcome of each data frame.
//!
//! To add one, write its file here and a line in the registry below.

mod ladder;

use crate::phy::RateIndex;

/// Chooses the data rate towards one peer.
pub trait RateAdaptation: Send {
    /// A PPDU with `sent` MPDUs went to the peer, of which it acknowledged so many; a single frame is one MPDU. (An RTS without a
    /// CTS says nothing about the rate, nor does a Block Ack Request: neither is reported.) Returns the rate of the next PPDU, an
    /// index into the PHY's rates.
    fn on_attempt(&mut self, sent: u32, acknowledged: u32) -> RateIndex;

    /// Whether the rate can change; if not, [`RateAdaptation::on_attempt`] is not called.
    fn adapts(&self) -> bool {
        true
    }
}

wifair_core::registry! {
    /// A rate adaptation by name, with its parameters.
    RateSpec, matched by each;
    Fixed => fixed,
    Arf => arf,
    Aarf => aarf,
}

impl RateSpec {
    /// Creates the state towards one peer, with `rates` rates, starting at the rate `first`.
    pub fn build(&self, first: RateIndex, rates: usize) -> Box<dyn RateAdaptation> {
        each!(RateSpec: self, spec => Box::new(spec.build(first, rates)))
    }
}

impl Default for RateSpec {
    fn default() -> RateSpec {
        RateSpec::Fixed(Default::default())
    }
}
