//! Congestion controls: how the window of a sender grows and falls.
//!
//! A control is one file here and one line in the registry below. It moves the [`Window`]; which segments are sent
//! again, and when recovery starts and ends, is the business of the loss recovery that it names (`recovery.rs`).

mod arf_aware;
mod cubic;
mod newreno;
mod reno;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, Rate, SpecError, Time};

pub use arf_aware::{
    ArfAware, ArfAwareSpec, ArfDivides, ArfGrowth, ArfThreshold, ArfWindowSpec, OwnWindowSpec, PollingSpec,
    Restore, SavedAfterLoss, ScaledWindowSpec,
};
pub use cubic::{Cubic, CubicSpec};
pub use newreno::{NewReno, NewRenoSpec};
pub use reno::{Reno, RenoSpec};

use crate::recovery::RecoveryRule;

/// The congestion window and what belongs to it, in bytes (RFC 5681, section 2).
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window. During fast recovery it is inflated by the segments that have left the network.
    pub cwnd: u32,
    /// Slow start threshold.
    pub ssthresh: u32,
    /// Sender maximum segment size, SMSS.
    pub mss: u32,
    /// Bytes acknowledged in congestion avoidance since the window last grew.
    pub credit: u32,
    /// The most bytes that an ACK counts for in slow start: SMSS, or RFC 3465's limit in bytes.
    pub slow_start_limit: u32,
    /// What an ACK for several segments counts for; in slow start no more than that.
    pub counting: Counting,
    /// Only cwnd divided by this may be outstanding; 1 unless a control says otherwise.
    pub divisor: u32,
}

/// What an ACK for several segments counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// One segment (RFC 5681, 3.1).
    Ack,
    /// All its bytes (RFC 3465, 2.1).
    Bytes,
    /// All its segments, as if each had an ACK of its own.
    Segments,
}

impl Window {
    /// The most bytes that an ACK counts for in congestion avoidance.
    #[inline]
    pub(crate) fn avoidance_limit(&self) -> u32 {
        if self.counting == Counting::Ack { self.mss } else { u32::MAX }
    }

    /// How many bytes may be outstanding.
    #[inline]
    pub fn allowance(&self) -> u32 {
        if self.divisor == 1 { self.cwnd } else { self.divided(self.cwnd, self.divisor) }
    }

    /// ⌊`bytes` / `divisor`⌋ in whole segments, at least one.
    #[cold]
    pub fn divided(&self, bytes: u32, divisor: u32) -> u32 {
        (bytes / self.mss / divisor).max(1) * self.mss
    }
}

/// The policy of a congestion control. Fast retransmit and timeouts are noticed elsewhere and reported here.
pub trait CongestionControl {
    /// The loss recovery that the control runs on.
    fn recovery(&self) -> RecoveryRule;

    /// New data was acknowledged outside of fast recovery: grow.
    fn on_ack(&mut self, window: &mut Window, acked_bytes: u32, now: Time);

    /// A loss was noticed by duplicate ACKs, or an echo of a congestion mark came, with `flight_bytes` outstanding: set
    /// `ssthresh`. The recovery then sets `cwnd` from it.
    fn on_loss(&mut self, window: &mut Window, flight_bytes: u32);

    /// The same, noticed by the timer.
    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u32) {
        self.on_loss(window, flight_bytes);
    }

    /// The smoothed round-trip time is `srtt` now.
    fn on_round_trip(&mut self, _srtt: Time) {}

    /// The rate of the sender's own link is `rate` now. A control that hears of it only later says when;
    /// [`Time::MAX`] otherwise.
    fn on_link_rate(&mut self, _window: &mut Window, _in_recovery: bool, _now: Time, _rate: Rate) -> Time {
        Time::MAX
    }

    /// The time that `on_link_rate` has given is there.
    fn on_poll(&mut self, _window: &mut Window, _in_recovery: bool) {}
}

/// Parameters of a congestion control.
trait ControlSpec {
    /// Checks every value; `path` is the key under which they stand in the plan.
    fn validate(&self, _path: &str) -> Result<(), SpecError> {
        Ok(())
    }
}

/// The registry: name in scenarios, variant, parameters, policy. One line a control.
macro_rules! registry {
    ($($name:literal: $control:ident($spec:ident) from $module:ident),+ $(,)?) => {
        /// A congestion control by name, with its parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "name")]
        pub enum CongestionControlSpec {
            $(#[doc = concat!("`", $name, "`, see [`", stringify!($control), "`].")]
            #[serde(rename = $name)]
            $control($spec)),+
        }

        impl CongestionControlSpec {
            /// Checks every value; `path` is the key under which this spec stands in the plan.
            pub fn validate(&self, path: &str) -> Result<(), SpecError> {
                match self { $(CongestionControlSpec::$control(spec) => spec.validate(path)),+ }
            }
        }

        /// What each control says about itself, in the order of the registry.
        pub const REGISTRY: &[Info] = &[$($module::INFO),+];

        /// The control of one sender. An enum rather than a trait object: no allocation, no pointer to follow.
        #[derive(Clone, Debug)]
        pub(crate) enum Control {
            $($control($control)),+
        }

        impl Control {
            pub(crate) fn new(spec: &CongestionControlSpec) -> Control {
                match spec {
                    $(CongestionControlSpec::$control(spec) => Control::$control($control::new(spec))),+
                }
            }
        }

        impl CongestionControl for Control {
            fn recovery(&self) -> RecoveryRule {
                match self { $(Control::$control(control) => control.recovery()),+ }
            }
            #[inline]
            fn on_ack(&mut self, window: &mut Window, acked_bytes: u32, now: Time) {
                match self { $(Control::$control(control) => control.on_ack(window, acked_bytes, now)),+ }
            }
            fn on_loss(&mut self, window: &mut Window, flight_bytes: u32) {
                match self { $(Control::$control(control) => control.on_loss(window, flight_bytes)),+ }
            }
            fn on_timeout(&mut self, window: &mut Window, flight_bytes: u32) {
                match self { $(Control::$control(control) => control.on_timeout(window, flight_bytes)),+ }
            }
            #[inline]
            fn on_round_trip(&mut self, srtt: Time) {
                match self { $(Control::$control(control) => control.on_round_trip(srtt)),+ }
            }
            fn on_link_rate(&mut self, window: &mut Window, in_recovery: bool, now: Time, rate: Rate) -> Time {
                match self {
                    $(Control::$control(control) => control.on_link_rate(window, in_recovery, now, rate)),+
                }
            }
            fn on_poll(&mut self, window: &mut Window, in_recovery: bool) {
                match self { $(Control::$control(control) => control.on_poll(window, in_recovery)),+ }
            }
        }
    };
}

registry! {
    "reno": Reno(RenoSpec) from reno,
    "newreno": NewReno(NewRenoSpec) from newreno,
    "cubic": Cubic(CubicSpec) from cubic,
    "arf-aware": ArfAware(ArfAwareSpec) from arf_aware,
}

impl Default for CongestionControlSpec {
    /// NewReno: the standard for a sender without SACK (RFC 6582, section 1).
    fn default() -> CongestionControlSpec {
        CongestionControlSpec::NewReno(NewRenoSpec::default())
    }
}
