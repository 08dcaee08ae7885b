//! What ACKs, losses and timeouts do to the window and to the estimate of the round-trip time.

use wifair_core::Time;

use super::state::SenderState;
use super::tcb::{Pending, Tcb};
use crate::congestion::{Ack, AckSample, RttSample, Window};
use crate::rto::RoundTrip;
use crate::seq;
use crate::spec::{Handshake, LossReduces};

impl Tcb {
    /// Fast path of [`Tcb::on_new_ack`] while the sender is ordinary, for an ACK of part of the outstanding data.
    #[inline(always)] // into its only caller
    pub(super) fn on_ordinary_ack(&mut self, acked: u32, now: Time) {
        self.una = self.una.wrapping_add(acked);
        if self.timing && !seq::before(self.una, self.timed_end) {
            self.take_sample(now);
        }
        self.stats.payload_bytes_acked += u64::from(acked);
        self.recovery.pull_along(self.una);
        self.report_ack(acked, self.sent_bytes() + acked, now);
        self.timer = now + self.rto.timeout();
    }

    /// Handles an ACK of everything before `ack`, which counts for `counted` bytes, with `lost` bytes outstanding that are
    /// found to be lost; the window grows if it `may_grow`. Returns the RTT sample that it gives, if any.
    pub(super) fn on_new_ack(
        &mut self,
        ack: u32,
        counted: u32,
        lost: u32,
        may_grow: bool,
        now: Time,
    ) -> Option<Time> {
        let acked = ack.wrapping_sub(self.una);
        self.una = ack;
        self.nxt = seq::later(self.nxt, ack);
        self.timed_out = false;
        if self.ecn.on {
            self.ecn.advance(ack);
        }
        let sampled = self.timing && !seq::before(ack, self.timed_end);
        let sample = sampled.then(|| self.take_sample(now));
        let all_acked = ack == self.max;
        let fin_acked = self.fin_sent && all_acked;
        self.stats.payload_bytes_acked += u64::from(acked - u32::from(fin_acked));

        let flight = self.sent_bytes() - lost;
        let progress = self.recovery.on_new_ack(ack, acked, flight, &mut self.window);
        let grow = progress.grow || progress.ended && self.spec.recovery_end_grows;
        if grow && may_grow && (self.uses_window() || self.control.shrinks_on_ack()) {
            self.report_ack(counted, flight + acked, now);
        }
        self.repair = progress.retransmit;
        if all_acked {
            if !self.ecn.paused {
                self.timer = Time::MAX; // RFC 6298, 5.2
            }
            if fin_acked {
                self.state = if self.peer_closed { SenderState::TimeWait } else { SenderState::FinWait2 };
            }
            self.finish_without_fin();
        } else if progress.restart_timer {
            self.timer = now + self.rto.timeout(); // RFC 6298, 5.3
        }
        sample
    }

    /// Reports an ACK of `bytes` to the congestion control, with `flight_bytes` outstanding before it.
    #[inline]
    fn report_ack(&mut self, bytes: u32, flight_bytes: u32, now: Time) {
        if self.window.cwnd < self.reported_below {
            let ack = Ack { bytes, flight_bytes, is_application_limited: self.unsent == 0, now };
            self.control.on_ack(&mut self.window, ack);
        }
    }

    /// Reports the RTT that an ACK of everything before `ack` gives.
    #[cold]
    pub(super) fn report_ack_sample(&mut self, ack: u32, rtt: Time, now: Time) {
        let sample = AckSample {
            rtt,
            acked_to: ack,
            sent_to: self.max,
            pacing_rate: self.current_pacing_rate(),
            is_paced: self.shaper.as_ref().is_some_and(|shaper| shaper.paces()),
            now,
        };
        self.control.on_ack_sample(&mut self.window, &sample);
    }

    /// Starts a fast retransmit: the first unacknowledged segment is lost.
    pub(super) fn start_fast_retransmit(&mut self, now: Time) {
        self.window.slow_start_limit = self.spec.counted_bytes().slow_start;
        self.ecn.note_reduction(self.max);
        self.repair = true;
        if self.spec.rto.restarts_on_fast_retransmit {
            self.timer = now + self.rto.timeout();
        }
        self.stats.fast_retransmits += 1;
    }

    /// Handles an ECN echo: the window is reduced as after a loss, but nothing is retransmitted (RFC 3168, 6.1.2).
    /// `total_delivered`: bytes delivered so far, if delivery rates are sampled.
    #[cold]
    pub(super) fn on_congestion_echo(&mut self, total_delivered: Option<u64>) {
        if self.recovery.is_active() || self.ecn.reduced {
            return;
        }
        if self.control.needs_rate_samples() {
            if let Some(total_delivered) = total_delivered {
                self.control.on_congestion_mark(total_delivered);
            }
        } else {
            let reduces = self.loss_reduces(self.sent_bytes());
            self.control.on_loss(&mut self.window, reduces);
            // The minimum of the threshold is two segments (RFC 5681, equation 4), that of the window one. For half a segment
            // per round trip the timer is used.
            let Window { cwnd, ssthresh, mss, .. } = self.window;
            self.ecn.paused |= cwnd <= mss;
            self.window.cwnd = if ssthresh < cwnd { ssthresh } else { (cwnd / 2).max(mss) };
        }
        self.ecn.note_reduction(self.max);
        self.stats.ecn_reductions += 1;
    }

    /// Handles a retransmission timeout. Returns whether data is lost: a SYN is not.
    #[cold]
    pub(super) fn on_timeout(&mut self, now: Time) -> bool {
        self.stats.timeouts += 1;
        self.timing = false; // Karn's algorithm (RFC 6298, 3)
        self.rto.back_off(&self.spec.rto);
        self.timer = now + self.rto.timeout(); // RFC 6298, 5.6
        if self.state == SenderState::SynSent {
            self.pending = Pending::Syn;
            if self.spec.handshake == Handshake::Real {
                self.timed_out = true;
                return false;
            }
        }
        // RFC 5681, 3.1: the threshold is kept if the timer expires again for the same segment.
        if !self.timed_out || self.spec.repeated_timeout_lowers_ssthresh {
            let before = self.window.ssthresh;
            let reduces = self.loss_reduces(self.sent_bytes());
            // An ECN echo may already have lowered the threshold for this window (RFC 3168, 6.1.2).
            if self.recovery.is_active() || !self.ecn.reduced {
                self.control.on_timeout(&mut self.window, reduces);
            }
            if self.recovery.is_active() {
                // The losses are those that started this recovery and have already lowered the threshold. FlightSize has grown
                // since by everything that the receiver holds beyond the hole; RFC 5681's equation 4 is an upper bound ("no
                // more than").
                self.window.ssthresh = self.window.ssthresh.min(before);
            }
            if self.spec.loss_reduces == LossReduces::Window {
                self.window.ssthresh -= self.window.ssthresh % self.window.mss;
            }
            self.timed_out = true;
        }
        self.window.cwnd = self.window.mss; // the loss window
        self.window.slow_start_limit = self.spec.counted_bytes().after_timeout; // until fast recovery or idleness
        self.recovery.on_timeout(self.max);
        self.ecn.note_reduction(self.max);
        true
    }

    /// Takes the RTT sample of the segment that is timed.
    pub(super) fn take_sample(&mut self, now: Time) -> Time {
        self.timing = false;
        let at = RoundTrip { una: self.una, nxt: self.nxt, samples: 1 };
        self.rto.sample(self.timed_at, now, at, &self.spec.rto);
        self.note_sample(now - self.timed_at, now)
    }

    /// Takes a sample of a segment sent at `sent`, one of several per round trip, from an ACK of everything before `ack`.
    pub(super) fn take_one_of_many_samples(&mut self, sent: Time, ack: u32, now: Time) -> Time {
        self.timing = false;
        let samples = self.sent_bytes().div_ceil(2 * self.window.mss).max(1);
        let at = RoundTrip { una: seq::later(self.una, ack), nxt: self.max, samples: u64::from(samples) };
        self.rto.sample(sent, now, at, &self.spec.rto);
        self.note_sample(now - sent, now)
    }

    fn note_sample(&mut self, rtt: Time, now: Time) -> Time {
        self.stats.rtt.record_time(rtt);
        let srtt = self.rto.srtt().unwrap_or(rtt);
        self.control.on_rtt_sample(&RttSample { rtt, srtt, now });
        self.stats.srtt_sum_ns += srtt.as_ns();
        self.stats.srtt_max = self.stats.srtt_max.max(srtt);
        rtt
    }

    /// Stops the timer and takes an RTT sample, if it is known which SYN was answered.
    pub(super) fn syn_acknowledged(&mut self, now: Time) -> Option<Time> {
        self.timer = Time::MAX;
        self.timing.then(|| self.take_sample(now))
    }
}
