//! The rules of contention, and their options in a scenario.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::Time;

/// Range of a backoff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackoffRange {
    /// 0 to CW, both included (10.3.3).
    #[default]
    Inclusive,
    /// 0 to CW − 1, as ns-2 draws.
    Exclusive,
}

/// What happens to a packet that arrives with the backoff counter at zero and the medium idle for less than
/// an IFS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalWithinIfs {
    /// It is sent when the IFS ends, if the medium stays idle until then (10.3.4.2).
    #[default]
    Transmit,
    /// It draws a backoff that begins when the IFS ends.
    Backoff,
}

/// Parameters of the rules of contention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContentionRules {
    pub slot: Time,
    pub range: BackoffRange,
    pub immediate_access: bool,
    pub arrival_within_ifs: ArrivalWithinIfs,
    /// EDCA's countdown: access at slot boundaries; the counter steps at each of them, including the first.
    pub at_boundaries: bool,
}

impl ContentionRules {
    /// Number of possible values of a backoff.
    #[inline]
    pub(crate) fn slots(&self, cw: u16) -> u32 {
        u32::from(cw) + u32::from(self.range == BackoffRange::Inclusive)
    }
}

/// Parameters of one contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub cw_min: u16,
    pub cw_max: u16,
    /// DIFS, or the category's AIFS.
    pub aifs: Time,
}
