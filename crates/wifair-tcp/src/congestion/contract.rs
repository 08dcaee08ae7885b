//! What a congestion control implements, and what a sender reports to it.

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
