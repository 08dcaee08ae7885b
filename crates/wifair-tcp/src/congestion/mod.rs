//! Congestion controls: growth and reduction of a sender's window.
//!
//! A control is one file here and one line in the registry below ([`wifair_core::registry`]). It controls the [`Window`]. The
//! loss recovery that it selects (`recovery.rs`) decides which segments are retransmitted, and when recovery starts and ends.

use std::ops::{Deref, DerefMut};

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

/// An ACK of new data outside of fast recovery, as a congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Bytes that it acknowledges; with RACK the bytes that it delivers.
    pub bytes: u32,
    /// Bytes in flight before it (RFC 5681's FlightSize).
    pub flight_bytes: u32,
    /// The application has nothing more to send.
    pub is_application_limited: bool,
    /// When it arrived.
    pub now: Time,
}

/// An RTT sample, valid by Karn's algorithm (RFC 6298, section 3).
#[derive(Clone, Copy, Debug)]
pub struct RttSample {
    /// The sample itself.
    pub rtt: Time,
    /// The smoothed RTT after it (RFC 6298).
    pub srtt: Time,
    /// When it was taken.
    pub now: Time,
}

/// The RTT of the segment sent last among those that an ACK delivers. None of those that it acknowledges was sent twice, or the
/// segment lies beyond them (Linux: `struct ack_sample`).
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// The sample itself.
    pub rtt: Time,
    /// Everything before this sequence number is acknowledged.
    pub acked_to: u32,
    /// One past the highest sequence number sent.
    pub sent_to: u32,
    /// Rate at which data is paced, or would be by default, in bytes per second; `None` before the first RTT sample.
    pub pacing_rate: Option<u64>,
    /// Data is paced.
    pub is_paced: bool,
    /// When the ACK arrived.
    pub now: Time,
}

/// The policy of a congestion control. Losses and timeouts are detected elsewhere and reported here.
///
/// A control implements the hooks that it needs. Several hooks may be called for one ACK, in this order: `on_ack_sample`,
/// `on_rtt_sample`, `on_ack`, `on_loss`, `on_lost_packet`, `on_rate_sample`.
pub trait CongestionControl {
    /// The rule of loss recovery that the control works with if SACK is not agreed on.
    fn recovery(&self) -> RecoveryRule;

    /// New data was acknowledged outside of fast recovery, without an ECN echo. Grows `cwnd`, or shrinks it.
    fn on_ack(&mut self, window: &mut Window, ack: Ack);

    /// Whether `on_ack` may shrink the window. Then it is also called where growth would have no effect, because something else
    /// limits the sender: the receiver's window or `tcp.small_queue`.
    fn shrinks_on_ack(&self) -> bool {
        false
    }

    /// Sets `ssthresh` after a loss detected by duplicate ACKs, or after an ECN echo, with `flight_bytes` outstanding. The
    /// recovery then sets `cwnd` from it.
    fn on_loss(&mut self, window: &mut Window, flight_bytes: u32);

    /// Sets `ssthresh` after a retransmission timeout. The sender then sets `cwnd` to one segment.
    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u32) {
        self.on_loss(window, flight_bytes);
    }

    /// An RTT sample was taken, in any phase: one per round trip or, with `tcp.rto.samples = "every-ack"`, one per ACK.
    fn on_rtt_sample(&mut self, _sample: &RttSample) {}

    /// Whether the control needs the RTT that each ACK gives, which RACK measures. Then `on_ack_sample` is called.
    fn needs_ack_samples(&self) -> bool {
        false
    }

    /// An ACK gives an RTT, in any phase.
    fn on_ack_sample(&mut self, _window: &mut Window, _sample: &AckSample) {}

    /// Reports the current rate of the sender's own link. A control that polls the rate returns the time of the next poll, any
    /// other [`Time::MAX`].
    fn on_link_rate(&mut self, _window: &mut Window, _in_recovery: bool, _now: Time, _rate: Rate) -> Time {
        Time::MAX
    }

    /// The deadline returned by `on_link_rate` has expired.
    fn on_poll(&mut self, _window: &mut Window, _in_recovery: bool) {}

    /// A connection begins with this window. `identity`: a hash of its 5-tuple.
    fn begin(&mut self, _window: &mut Window, _identity: u32) {}

    /// The state of a control that is a state machine.
    fn state(&self) -> Option<&'static str> {
        None
    }

    /// The rate at which data is paced, in bytes per second, if the control sets it. Then the sender paces.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }

    /// Whether the control needs delivery rate samples, which RACK provides. Then the hooks below are called, `on_loss` does
    /// not change `cwnd`, and nothing but the control and a timeout changes `cwnd`.
    fn needs_rate_samples(&self) -> bool {
        false
    }

    /// Data is about to be sent with nothing in flight, after the application had nothing to send. `total_delivered`: bytes
    /// delivered so far.
    fn on_transmit_from_idle(&mut self, _window: &mut Window, _total_delivered: u64, _now: Time) {}

    /// A congestion mark has been echoed (RFC 3168), once per window.
    fn on_congestion_mark(&mut self, _total_delivered: u64) {}

    /// A packet has been found to be lost; called before the sample of the same ACK.
    fn on_lost_packet(&mut self, _window: &mut Window, _lost: &LostPacket, _now: Time) {}

    /// An ACK has delivered something: sets `cwnd`. Returns whether the connection is to be taken as limited by the
    /// application.
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
    Ledbat => ledbat,
}

/// What an ACK calls is resolved at compile time, which saves instructions; the rest through [`Deref`].
impl Control {
    #[inline]
    pub(crate) fn on_ack(&mut self, window: &mut Window, ack: Ack) {
        each!(Control: self, control => control.on_ack(window, ack))
    }

    #[inline]
    pub(crate) fn on_rtt_sample(&mut self, sample: &RttSample) {
        each!(Control: self, control => control.on_rtt_sample(sample))
    }
}

impl Deref for Control {
    type Target = dyn CongestionControl;

    fn deref(&self) -> &Self::Target {
        each!(Control: self, control => control)
    }
}

impl DerefMut for Control {
    fn deref_mut(&mut self) -> &mut Self::Target {
        each!(Control: self, control => control)
    }
}

impl CongestionControlSpec {
    /// Whether the control needs delivery rate samples.
    pub fn needs_rate_samples(&self) -> bool {
        self.build().needs_rate_samples()
    }

    /// Whether the control needs what RACK measures, so `tcp.loss_detection` must be `rack`.
    pub fn needs_rack(&self) -> bool {
        let control = self.build();
        control.needs_rate_samples() || control.needs_ack_samples()
    }
}

impl Default for CongestionControlSpec {
    /// NewReno: the standard for a sender without SACK (RFC 6582, section 1).
    fn default() -> CongestionControlSpec {
        CongestionControlSpec::NewReno(Default::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1_000;
    const RTT: Time = Time::from_ms(50);

    fn started(spec: &CongestionControlSpec) -> (Control, Window) {
        let mut window = Window {
            cwnd: 20 * MSS,
            ssthresh: 10 * MSS,
            mss: MSS,
            credit: 0,
            slow_start_limit: MSS,
            counting: Counting::Ack,
            divisor: 1,
        };
        let mut control = spec.build();
        control.begin(&mut window, 1);
        control.on_rtt_sample(&RttSample { rtt: RTT, srtt: RTT, now: RTT });
        (control, window)
    }

    #[test]
    fn a_control_that_may_shrink_the_window_on_an_ack_says_so() {
        for spec in CongestionControlSpec::all() {
            let (mut control, mut window) = started(&spec);
            let mut shrinks = false;
            for step in 1..1_000 {
                let (now, rtt) = (RTT * (step + 1), RTT * (1 + step % 20));
                let before = window.cwnd;
                control.on_rtt_sample(&RttSample { rtt, srtt: rtt, now });
                let is_application_limited = step % 7 == 0;
                let flight_bytes = if is_application_limited { MSS } else { before };
                let ack = Ack { bytes: MSS, flight_bytes, is_application_limited, now };
                control.on_ack(&mut window, ack);
                shrinks |= window.cwnd < before;
            }
            assert_eq!(control.shrinks_on_ack(), shrinks, "{}", spec.name());
        }
    }

    #[test]
    fn a_control_that_uses_the_rtt_of_each_ack_says_that_it_needs_it() {
        let hystart = [r#"{"name": "hystart"}"#, r#"{"name": "hystart++"}"#].map(|slow_start| {
            serde_json::from_str(&format!(r#"{{"name": "cubic", "slow_start": {slow_start}}}"#)).unwrap()
        });
        for spec in CongestionControlSpec::all().into_iter().chain(hystart) {
            let (mut control, mut window) = started(&spec);
            window.ssthresh = u32::MAX;
            let before = format!("{control:?} {window:?}");
            let sample =
                AckSample { rtt: RTT, acked_to: 1, sent_to: 2, pacing_rate: None, is_paced: false, now: RTT };
            control.on_ack_sample(&mut window, &sample);
            let used = before != format!("{control:?} {window:?}");
            assert_eq!(control.needs_ack_samples(), used, "{}", spec.name());
        }
    }

    #[test]
    fn a_control_that_uses_rate_samples_says_that_it_needs_them() {
        for spec in CongestionControlSpec::all() {
            let (mut control, mut window) = started(&spec);
            let before = format!("{control:?} {window:?}");
            let (delivered, size) = (u64::from(10 * MSS), MSS);
            let sample = RateSample {
                delivery_rate: 1e6,
                delivered,
                prior_delivered: 0,
                lost: 0,
                tx_in_flight: size,
                is_app_limited: false,
                newly_acked: size,
                rtt: Some(RTT),
                total_delivered: delivered,
                in_flight: size,
                is_cwnd_limited: true,
                is_repairing: false,
            };
            let lost = LostPacket {
                size,
                start: 1,
                tx_in_flight: size,
                lost: u64::from(size),
                is_app_limited: false,
                total_delivered: delivered,
            };
            control.on_lost_packet(&mut window, &lost, RTT);
            control.on_rate_sample(&mut window, &sample, RTT);
            control.on_congestion_mark(delivered);
            control.on_transmit_from_idle(&mut window, delivered, RTT);
            let used = before != format!("{control:?} {window:?}");
            assert_eq!(control.needs_rate_samples(), used, "{}", spec.name());
        }
    }
}
