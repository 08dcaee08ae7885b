//! Slow start that ends before a loss: a component of congestion controls (`cubic`). One file per algorithm.
//!
//! An algorithm gets the RTT that each ACK gives ([`AckSample`]), and ends slow start by setting the threshold to the window.

mod hystart;
mod hystart_plus_plus;

use hystart::Hystart;
pub use hystart::HystartSpec;
use hystart_plus_plus::HystartPlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::SpecError;

use crate::congestion::{AckSample, Window};

/// What ends slow start, apart from the threshold and a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum SlowStartSpec {
    /// Nothing (RFC 5681, 3.1).
    Standard(StandardSpec),
    /// HyStart as in Linux's CUBIC: the RTT has grown, or ACKs arrive close together for as long as a round trip. Needs
    /// `loss_detection = "rack"`.
    Hystart(HystartSpec),
    /// HyStart++ (RFC 9406): if the RTT has grown, the window grows at a quarter of the pace for up to five rounds. Needs
    /// `loss_detection = "rack"`.
    #[serde(rename = "hystart++")]
    HystartPlusPlus(HystartPlusPlusSpec),
}

/// `standard` has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StandardSpec {}

/// `hystart++` has no parameters; it has the constants of RFC 9406, 4.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HystartPlusPlusSpec {}

impl Default for SlowStartSpec {
    fn default() -> SlowStartSpec {
        SlowStartSpec::Standard(StandardSpec {})
    }
}

impl SlowStartSpec {
    /// Checks every value. `path` is the key of this spec in the plan.
    pub(crate) fn validate(&self, path: &str) -> Result<(), SpecError> {
        match self {
            SlowStartSpec::Hystart(spec) => spec.validate(path),
            SlowStartSpec::Standard(_) | SlowStartSpec::HystartPlusPlus(_) => Ok(()),
        }
    }

    pub(crate) fn build(&self) -> SlowStart {
        match self {
            SlowStartSpec::Standard(_) => SlowStart::Standard,
            SlowStartSpec::Hystart(spec) => SlowStart::Hystart(Hystart::new(*spec)),
            SlowStartSpec::HystartPlusPlus(_) => SlowStart::HystartPlusPlus(HystartPlusPlus::default()),
        }
    }
}

/// State of an algorithm.
#[derive(Clone, Debug)]
pub(crate) enum SlowStart {
    Standard,
    Hystart(Hystart),
    HystartPlusPlus(HystartPlusPlus),
}

impl SlowStart {
    /// Whether [`SlowStart::on_ack_sample`] has an effect.
    pub(crate) fn needs_ack_samples(&self) -> bool {
        !matches!(self, SlowStart::Standard)
    }

    /// Handles an RTT. May set the threshold. `is_settling`: congestion avoidance began less than a second ago.
    pub(crate) fn on_ack_sample(&mut self, window: &mut Window, sample: &AckSample, is_settling: bool) {
        match self {
            SlowStart::Standard => {}
            SlowStart::Hystart(hystart) => {
                if !is_settling {
                    hystart.on_ack_sample(window, sample);
                }
            }
            SlowStart::HystartPlusPlus(hystart) => hystart.on_ack_sample(window, sample),
        }
    }

    /// Returns by how much the window grows in slow start, if it would by `bytes`.
    pub(crate) fn growth(&mut self, bytes: u32, mss: u32) -> u32 {
        match self {
            SlowStart::Standard | SlowStart::Hystart(_) => bytes,
            SlowStart::HystartPlusPlus(hystart) => hystart.growth(bytes, mss),
        }
    }

    /// The window is reduced for a loss or a mark.
    pub(crate) fn on_loss(&mut self) {
        if let SlowStart::HystartPlusPlus(hystart) = self {
            hystart.end();
        }
    }

    /// The retransmission timer has expired.
    pub(crate) fn on_timeout(&mut self) {
        match self {
            SlowStart::Standard => {}
            SlowStart::Hystart(hystart) => hystart.on_timeout(),
            SlowStart::HystartPlusPlus(hystart) => hystart.end(),
        }
    }
}
