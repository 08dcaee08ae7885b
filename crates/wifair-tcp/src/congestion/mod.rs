//! Congestion controls: growth and reduction of a sender's window.
//!
//! A control is one file here and one line in the registry below ([`wifair_core::registry`]). It controls the [`Window`]. The
//! loss recovery that it selects (`recovery.rs`) decides which segments are retransmitted, and when recovery starts and ends.

use wifair_core::{Rate, Time};

use crate::delivery_rate::{LostPacket, RateSample};
use crate::recovery_rule::RecoveryRule;

/// The congestion window and related state, in bytes (RFC 5681, section 2).
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
    /// Maximum number of bytes counted per ACK in slow start: SMSS, or RFC 3465's limit in bytes.
    pub slow_start_limit: u32,
    /// How an ACK for several segments counts; in slow start `slow_start_limit` applies as well.
    pub counting: Counting,
    /// Outstanding data is limited to cwnd divided by this; 1 unless a control changes it.
    pub divisor: u32,
}

/// How an ACK for several segments counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// As one segment (RFC 5681, 3.1).
    Ack,
    /// As all its bytes (RFC 3465, 2.1).
    Bytes,
    /// As all its segments, as if each had a separate ACK.
    Segments,
}

impl Window {
    /// Maximum number of bytes counted per ACK in congestion avoidance.
    pub(crate) fn avoidance_limit(&self) -> u32 {
        if self.counting == Counting::Ack { self.mss } else { u32::MAX }
    }

    /// Maximum number of outstanding bytes.
    pub fn allowance(&self) -> u32 {
        if self.divisor == 1 { self.cwnd } else { self.divided(self.cwnd, self.divisor) }
    }

    /// Returns ⌊`bytes` / `divisor`⌋ in whole segments, at least one.
    #[cold]
    pub fn divided(&self, bytes: u32, divisor: u32) -> u32 {
        (bytes / self.mss / divisor).max(1) * self.mss
    }
}

/// The policy of a congestion control. Losses and timeouts are detected elsewhere and reported here.
pub trait CongestionControl {
    /// The loss recovery that the control runs on.
    fn recovery(&self) -> RecoveryRule;

    /// Grows the window after new data was acknowledged outside of fast recovery.
    fn on_ack(&mut self, window: &mut Window, acked_bytes: u32, now: Time);

    /// Sets `ssthresh` after a loss detected by duplicate ACKs, or after an ECN echo, with `flight_bytes` outstanding. The
    /// recovery then sets `cwnd` from it.
    fn on_loss(&mut self, window: &mut Window, flight_bytes: u32);

    /// Sets `ssthresh` after a retransmission timeout.
    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u32) {
        self.on_loss(window, flight_bytes);
    }

    /// Reports the smoothed RTT after a sample.
    fn on_round_trip(&mut self, _srtt: Time) {}

    /// Reports the current rate of the sender's own link. A control that polls the rate returns the time of the next poll, any
    /// other [`Time::MAX`].
    fn on_link_rate(&mut self, _window: &mut Window, _in_recovery: bool, _now: Time, _rate: Rate) -> Time {
        Time::MAX
    }

    /// The deadline returned by `on_link_rate` has expired.
    fn on_poll(&mut self, _window: &mut Window, _in_recovery: bool) {}

    /// A connection begins with this window. `identity`: a hash of its 5-tuple.
    fn begin(&mut self, _window: &Window, _identity: u32) {}

    /// Whether it goes by delivery rate samples and paces: then the methods below are called, `on_loss` leaves `cwnd` as it is, and
    /// nothing else but a timeout changes `cwnd`. It needs RACK.
    fn samples_rate(&self) -> bool {
        false
    }

    /// The rate at which data is paced, in bytes per second, if it says so.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// Data is about to be sent with nothing in flight, after the application had nothing to send. `total_delivered`: bytes delivered
    /// so far.
    fn on_transmit_from_idle(&mut self, _window: &mut Window, _total_delivered: u64, _now: Time) {}

    /// A congestion mark has been echoed (RFC 3168), once per window.
    fn on_congestion_mark(&mut self, _total_delivered: u64) {}

    /// The state of a control that is a state machine.
    fn state(&self) -> Option<&'static str> {
        None
    }

    /// A packet has been found to be lost; called before the sample of the same ACK.
    fn on_lost_packet(&mut self, _window: &mut Window, _lost: &LostPacket, _now: Time) {}

    /// An ACK has delivered something: sets `cwnd`. Returns whether the connection is to be taken as limited by the application.
    fn on_rate_sample(&mut self, _window: &mut Window, _sample: &RateSample, _now: Time) -> bool {
        false
    }
}

wifair_core::registry! {
    /// A congestion control by name, with its parameters.
    CongestionControlSpec, matched by each, run as enum Control;
    Reno => reno,
    #[serde(rename = "newreno")]
    NewReno => newreno,
    Cubic => cubic,
    Bbr => bbr,
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
    fn begin(&mut self, window: &Window, identity: u32) {
        each!(Control: self, control => control.begin(window, identity))
    }
    fn samples_rate(&self) -> bool {
        each!(Control: self, control => control.samples_rate())
    }
    fn pacing_rate(&self) -> Option<u64> {
        each!(Control: self, control => control.pacing_rate())
    }
    fn on_transmit_from_idle(&mut self, window: &mut Window, total_delivered: u64, now: Time) {
        each!(Control: self, control => control.on_transmit_from_idle(window, total_delivered, now))
    }
    fn on_congestion_mark(&mut self, total_delivered: u64) {
        each!(Control: self, control => control.on_congestion_mark(total_delivered))
    }
    fn state(&self) -> Option<&'static str> {
        each!(Control: self, control => control.state())
    }
    fn on_lost_packet(&mut self, window: &mut Window, lost: &LostPacket, now: Time) {
        each!(Control: self, control => control.on_lost_packet(window, lost, now))
    }
    fn on_rate_sample(&mut self, window: &mut Window, sample: &RateSample, now: Time) -> bool {
        each!(Control: self, control => control.on_rate_sample(window, sample, now))
    }
}

impl Default for CongestionControlSpec {
    /// NewReno: the standard for a sender without SACK (RFC 6582, section 1).
    fn default() -> CongestionControlSpec {
        CongestionControlSpec::NewReno(Default::default())
    }
}
