//! Congestion controls: how the window of a sender grows and falls.
//!
//! A control is one file here and one line in the registry below ([`wifair_core::registry`]). It moves the [`Window`]; which
//! segments are sent again, and when recovery starts and ends, is the business of the loss recovery that it names
//! (`recovery.rs`).

use wifair_core::{Rate, Time};

use crate::recovery_rule::RecoveryRule;

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
    pub(crate) fn avoidance_limit(&self) -> u32 {
        if self.counting == Counting::Ack { self.mss } else { u32::MAX }
    }

    /// How many bytes may be outstanding.
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

wifair_core::registry! {
    /// A congestion control by name, with its parameters.
    CongestionControlSpec, matched by each, run as enum Control;
    Reno => reno,
    #[serde(rename = "newreno")]
    NewReno => newreno,
    Cubic => cubic,
    ArfAware => arf_aware,
}

impl CongestionControl for Control {
    fn recovery(&self) -> RecoveryRule {
        each!(Control: self, control => control.recovery())
    }
    fn on_ack(&mut self, window: &mut Window, acked_bytes: u32, now: Time) {
        each!(Control: self, control => control.on_ack(window, acked_bytes, now))
    }
    fn on_loss(&mut self, window: &mut Window, flight_bytes: u32) {
        each!(Control: self, control => control.on_loss(window, flight_bytes))
    }
    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u32) {
        each!(Control: self, control => control.on_timeout(window, flight_bytes))
    }
    fn on_round_trip(&mut self, srtt: Time) {
        each!(Control: self, control => control.on_round_trip(srtt))
    }
    fn on_link_rate(&mut self, window: &mut Window, in_recovery: bool, now: Time, rate: Rate) -> Time {
        each!(Control: self, control => control.on_link_rate(window, in_recovery, now, rate))
    }
    fn on_poll(&mut self, window: &mut Window, in_recovery: bool) {
        each!(Control: self, control => control.on_poll(window, in_recovery))
    }
}

impl Default for CongestionControlSpec {
    /// NewReno: the standard for a sender without SACK (RFC 6582, section 1).
    fn default() -> CongestionControlSpec {
        CongestionControlSpec::NewReno(Default::default())
    }
}
