//! `bbr`: BBR version 3, draft-ietf-ccwg-bbr-06 (IETF, experimental). Names of the draft are in brackets.
//!
//! The idea: a model of the path, of its bandwidth (the highest delivery rate of two cycles of probing) and its round-trip time
//! (the least of ten seconds), says how fast to send (pacing) and how much may be in flight (cwnd). Losses bound the model;
//! they are no measure of the rate.
//!
//! Interpretations:
//! - Every control parameter is set on an ACK that delivers something, losses are handled first. What is in flight is RFC
//!   6675's pipe.
//! - [T_reno_bound] and [TargetInflight] count segments where they are compared with round trips.
//! - The maximum of [BBR.extra_acked] is over exactly ten round trips, one in Startup.
//! - High loss in Startup (5.3.1.3): looked at once per round trip with a loss, from one round trip after the first on.
//! - [InflightAtLoss] is at least what was in flight before the packet.
//! - A congestion mark (RFC 3168) counts as a loss of the round trip. The draft leaves that open (3.7).
//!
//! Deviations: nothing is restored after a spurious recovery (5.5.11): senders here do not detect any. The queue below the
//! sender does not count for the detection of application limits.
//!
//! Random draws: none from the streams of a run. The waits between probes (5.3.3.8) are a hash of the 5-tuple and the time.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, Time};

use super::{Ack, CongestionControl, RttSample, Window};
use crate::delivery_rate::{LostPacket, RateSample};
use crate::recovery_rule::{ExitWindow, PartialAckTimer, RecoveryRule};
use crate::window_field::MAX_WINDOW_BYTES;

/// Description in the registry.
pub const INFO: Info = Info {
    name: "bbr",
    source: "draft-ietf-ccwg-bbr-06",
    idea: "Sends at the measured bandwidth of the path, with about its bandwidth-delay product in flight,\n\
           and probes for more every few seconds. Needs RACK; paces.",
};

/// [BBR.LossThresh]
const LOSS_THRESHOLD: f64 = 0.02;
/// [BBR.Beta]
const BETA: f64 = 0.7;
/// [BBR.Headroom]
const HEADROOM: f64 = 0.15;
/// [BBR.MinPipeCwnd], in segments.
const LEAST_CWND: f64 = 4.0;
/// [BBR.PacingMarginPercent]
const PACING_MARGIN: f64 = 0.99;
/// [BBR.MinRTTFilterLen]
const MIN_RTT_PERIOD: Time = Time::from_s(10);
/// [BBR.ProbeRTTInterval]
const PROBE_RTT_INTERVAL: Time = Time::from_s(5);
/// [BBR.ProbeRTTDuration]
const PROBE_RTT_DURATION: Time = Time::from_ms(200);
/// [BBR.ExtraAckedFilterLen]
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// [BBRStartupFullLossCnt]
const STARTUP_LOSSES: u32 = 6;
/// The most round trips between two probes [T_reno_bound].
const RENO_ROUNDS: f64 = 63.0;
/// The longest quantum (5.6.3).
const LONGEST_QUANTUM: f64 = 65_536.0;

/// `bbr` has no parameters: the draft gives its constants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

impl Spec {
    /// Creates a control at its beginning.
    pub fn build(&self) -> Bbr {
        Bbr(Box::new(Model::new()))
    }
}

/// State of the state machine [BBR.state].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BbrState {
    /// The rate doubles each round trip.
    Startup,
    /// What Startup has queued leaves.
    Drain,
    /// ProbeBW_DOWN: slower than the path, until a queue has left.
    Down,
    /// ProbeBW_CRUISE: as fast as the path.
    Cruise,
    /// ProbeBW_REFILL: a round trip without short-term bounds.
    Refill,
    /// ProbeBW_UP: faster than the path.
    Up,
    /// Half of the BDP in flight, to measure the RTT without a queue.
    ProbeRtt,
}

impl BbrState {
    fn probes_bandwidth_in_cycles(self) -> bool {
        matches!(self, BbrState::Down | BbrState::Cruise | BbrState::Refill | BbrState::Up)
    }

    /// [IsProbingBW]
    fn accelerates(self) -> bool {
        matches!(self, BbrState::Startup | BbrState::Refill | BbrState::Up)
    }

    /// 5.6.1
    fn pacing_gain(self) -> f64 {
        match self {
            BbrState::Startup => 2.77,
            BbrState::Drain => 0.5,
            BbrState::Down => 0.9,
            BbrState::Cruise | BbrState::Refill | BbrState::ProbeRtt => 1.0,
            BbrState::Up => 1.25,
        }
    }

    /// 5.6.1
    fn cwnd_gain(self) -> f64 {
        match self {
            BbrState::Up => 2.25,
            BbrState::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }
}

/// What samples mean for the probing of bandwidth [BBR.ack_phase].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The control.
#[derive(Clone, Debug)]
pub struct Bbr(Box<Model>);

/// Rates are in bytes per second, volumes in bytes.
#[derive(Clone, Debug)]
struct Model {
    state: BbrState,
    mss: f64,
    initial_cwnd: f64,
    /// Distinguishes connections in the choice of waits.
    identity: u32,
    pacing_rate: f64,
    has_rtt: bool,

    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    drain_start_round: u64,
    idle_restart: bool,

    /// Maxima of the present and the previous cycle [BBR.max_bw_filter].
    max_bw_of: [f64; 2],
    bw_shortterm: f64,
    bw: f64,
    /// `None`: infinite.
    min_rtt: Option<Time>,
    min_rtt_stamp: Time,
    inflight_longterm: f64,
    inflight_shortterm: f64,

    bw_latest: f64,
    inflight_latest: f64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    /// Ranges lost in this round, and the end of the last.
    lost_ranges: u32,
    lost_end: u32,

    extra_acked_start: Time,
    extra_acked_delivered: f64,
    /// Decreasing maxima by round [BBR.extra_acked_filter].
    extra_acked: VecDeque<(u64, f64)>,

    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u32,

    ack_phase: AckPhase,
    is_bw_probe_sample: bool,
    probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
    probe_up_rounds: u32,
    rounds_since_probe_up: u64,
    probe_wait: Time,
    cycle_stamp: Time,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,

    probe_rtt_min_delay: Option<Time>,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
    probe_rtt_done_at: Option<Time>,
    probe_rtt_round_done: bool,

    prior_cwnd: u32,
    in_recovery: bool,
}

impl Model {
    /// [OnInit]
    fn new() -> Model {
        Model {
            state: BbrState::Startup,
            mss: 1.0,
            initial_cwnd: 0.0,
            identity: 0,
            pacing_rate: 0.0,
            has_rtt: false,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            drain_start_round: 0,
            idle_restart: false,
            max_bw_of: [0.0; 2],
            bw_shortterm: f64::INFINITY,
            bw: 0.0,
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            lost_ranges: 0,
            lost_end: 0,
            extra_acked_start: Time::ZERO,
            extra_acked_delivered: 0.0,
            extra_acked: VecDeque::new(),
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0.0,
            full_bw_count: 0,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
            probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            probe_wait: Time::ZERO,
            cycle_stamp: Time::ZERO,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done_at: None,
            probe_rtt_round_done: false,
            prior_cwnd: 0,
            in_recovery: false,
        }
    }

    /// [BBR.max_bw]
    fn max_bw(&self) -> f64 {
        self.max_bw_of[0].max(self.max_bw_of[1])
    }

    /// [UpdateModelAndState]; returns whether the connection is to be marked as limited by the application.
    fn update_model_and_state(&mut self, window: &mut Window, sample: &RateSample, now: Time) -> bool {
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(window, sample);
        self.update_ack_aggregation(window, sample, now);
        self.check_full_bw_reached(sample);
        self.check_startup_high_loss(sample);
        if self.state == BbrState::Startup && self.full_bw_reached {
            self.state = BbrState::Drain;
            self.drain_start_round = self.round_count;
        }
        let in_flight = f64::from(sample.in_flight);
        if self.state == BbrState::Drain
            && (in_flight <= self.inflight(self.bw, 1.0) || self.round_count > self.drain_start_round + 3)
        {
            self.start_down(sample.total_delivered, now);
        }
        self.update_probe_bw_cycle_phase(window, sample, now);
        self.update_min_rtt(sample, now);
        let app_limited = self.check_probe_rtt(window, sample, now);
        if self.loss_round_start {
            self.bw_latest = sample.delivery_rate; // AdvanceLatestDeliverySignals
            self.inflight_latest = sample.delivered as f64;
        }
        self.bw = self.max_bw().min(self.bw_shortterm); // BoundBWForModel
        app_limited
    }

    fn update_latest_delivery_signals(&mut self, sample: &RateSample) {
        self.bw_latest = self.bw_latest.max(sample.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered as f64);
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = sample.total_delivered;
        }
    }

    fn update_congestion_signals(&mut self, window: &Window, sample: &RateSample) {
        self.round_start = sample.prior_delivered >= self.next_round_delivered; // UpdateRound
        if self.round_start {
            self.next_round_delivered = sample.total_delivered;
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
        }
        let rate = sample.delivery_rate;
        if rate > 0.0 && (rate >= self.max_bw() || !sample.is_app_limited) {
            self.max_bw_of[0] = self.max_bw_of[0].max(rate);
        }
        if !self.loss_round_start {
            return;
        }
        if self.is_loss_in_round && !self.state.accelerates() {
            if self.bw_shortterm.is_infinite() {
                self.bw_shortterm = self.max_bw();
            }
            if self.inflight_shortterm.is_infinite() {
                self.inflight_shortterm = f64::from(window.cwnd);
            }
            self.bw_shortterm = self.bw_latest.max(BETA * self.bw_shortterm);
            self.inflight_shortterm = self.inflight_latest.max(BETA * self.inflight_shortterm);
        }
        self.is_loss_in_round = false;
    }

    /// [AdvanceMaxBwFilter]
    fn advance_max_bw_filter(&mut self) {
        if self.max_bw_of[0] > 0.0 {
            self.max_bw_of = [0.0, self.max_bw_of[0]];
        }
    }

    fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    fn reset_short_term_model(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    fn update_ack_aggregation(&mut self, window: &Window, sample: &RateSample, now: Time) {
        let mut expected = self.bw * (now - self.extra_acked_start).as_secs_f64();
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0.0;
            self.extra_acked_start = now;
            expected = 0.0;
        }
        self.extra_acked_delivered += f64::from(sample.newly_acked);
        let extra = (self.extra_acked_delivered - expected).min(f64::from(window.cwnd));
        let rounds = if self.full_bw_reached { EXTRA_ACKED_ROUNDS } else { 1 };
        while self.extra_acked.back().is_some_and(|(_, other)| *other <= extra) {
            self.extra_acked.pop_back();
        }
        self.extra_acked.push_back((self.round_count, extra));
        while self.extra_acked.front().is_some_and(|(round, _)| round + rounds <= self.round_count) {
            self.extra_acked.pop_front();
        }
    }

    fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0.0, 0, false);
    }

    fn check_full_bw_reached(&mut self, sample: &RateSample) {
        if self.full_bw_now || !self.round_start || sample.is_app_limited {
            return;
        }
        if sample.delivery_rate >= self.full_bw * 1.25 {
            self.reset_full_bw();
            self.full_bw = sample.delivery_rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// 5.3.1.3
    fn check_startup_high_loss(&mut self, sample: &RateSample) {
        if !self.loss_round_start {
            return;
        }
        let ranges = std::mem::take(&mut self.lost_ranges);
        let too_high = sample.is_repairing && ranges >= STARTUP_LOSSES && is_inflight_too_high(sample);
        if self.state == BbrState::Startup && !self.full_bw_reached && too_high {
            self.full_bw_reached = true;
            self.inflight_longterm = self.bdp().unwrap_or(0.0).max(self.inflight_latest);
        }
    }

    /// [BBR.bdp]
    fn bdp(&self) -> Option<f64> {
        self.min_rtt.map(|min_rtt| self.bw * min_rtt.as_secs_f64())
    }

    fn bdp_multiple(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.initial_cwnd, |min_rtt| gain * bw * min_rtt.as_secs_f64())
    }

    fn quantization_budget(&self, inflight_cap: f64) -> f64 {
        let cap = inflight_cap.max(3.0 * self.send_quantum()).max(self.least_cwnd());
        if self.state == BbrState::Up { cap + 2.0 * self.mss } else { cap }
    }

    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    fn send_quantum(&self) -> f64 {
        (self.pacing_rate * 1e-3).min(LONGEST_QUANTUM).max(2.0 * self.mss)
    }

    fn least_cwnd(&self) -> f64 {
        LEAST_CWND * self.mss
    }

    fn target_inflight(&self, window: &Window) -> f64 {
        let cwnd = f64::from(window.cwnd);
        self.bdp().map_or(cwnd, |bdp| bdp.min(cwnd))
    }

    fn start_round(&mut self, total_delivered: u64) {
        self.next_round_delivered = total_delivered;
    }

    fn start_down(&mut self, total_delivered: u64, now: Time) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = f64::INFINITY;
        // PickProbeWait: two draws of a hash in place of random numbers.
        let draw = hash(u64::from(self.identity) << 32 ^ now.as_ns());
        self.rounds_since_probe_up = draw & 1;
        self.probe_wait = Time::from_s(2) + Time::from_ns((draw >> 1) % 1_000_000_000);
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round(total_delivered);
        self.state = BbrState::Down;
    }

    fn start_refill(&mut self, total_delivered: u64) {
        self.reset_short_term_model();
        self.probe_up_rounds = 0;
        self.probe_up_acked = 0.0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round(total_delivered);
        self.state = BbrState::Refill;
    }

    fn start_up(&mut self, window: &Window, sample: &RateSample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round(sample.total_delivered);
        self.reset_full_bw();
        self.full_bw = sample.delivery_rate;
        self.state = BbrState::Up;
        self.raise_inflight_longterm_slope(window);
    }

    fn update_probe_bw_cycle_phase(&mut self, window: &Window, sample: &RateSample, now: Time) {
        if !self.full_bw_reached || self.adapt_long_term_model(window, sample) {
            return;
        }
        let in_flight = f64::from(sample.in_flight);
        let state = self.state;
        match state {
            BbrState::Down | BbrState::Cruise if self.is_time_to_probe(window, now) => {
                self.start_refill(sample.total_delivered);
            }
            BbrState::Down => {
                let drained = in_flight <= self.inflight(self.max_bw(), 1.0);
                if drained && in_flight <= self.inflight_with_headroom() {
                    self.state = BbrState::Cruise;
                }
            }
            BbrState::Refill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_up(window, sample);
            }
            BbrState::Up if self.is_time_to_go_down(window, sample) => {
                self.prev_probe_too_high = false;
                self.start_down(sample.total_delivered, now);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, window: &Window, now: Time) -> bool {
        let rounds = (self.target_inflight(window) / self.mss).min(RENO_ROUNDS);
        now > self.cycle_stamp + self.probe_wait || self.rounds_since_probe_up as f64 >= rounds
    }

    fn is_time_to_go_down(&mut self, window: &Window, sample: &RateSample) -> bool {
        if self.prev_probe_too_high && f64::from(sample.in_flight) >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if sample.is_cwnd_limited && f64::from(window.cwnd) >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = sample.delivery_rate;
            return false;
        }
        self.full_bw_now
    }

    fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = self.mss.max(HEADROOM * self.inflight_longterm);
        (self.inflight_longterm - headroom).max(self.least_cwnd())
    }

    fn raise_inflight_longterm_slope(&mut self, window: &Window) {
        let growth = f64::from(1u32 << self.probe_up_rounds);
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (f64::from(window.cwnd) / growth).max(self.mss);
    }

    fn probe_inflight_longterm_upward(&mut self, window: &Window, sample: &RateSample) {
        if !sample.is_cwnd_limited || f64::from(window.cwnd) < self.inflight_longterm {
            return;
        }
        self.probe_up_acked += f64::from(sample.newly_acked);
        let steps = (self.probe_up_acked / self.probe_up_acked_per_inc).floor();
        if steps >= 1.0 {
            self.probe_up_acked -= steps * self.probe_up_acked_per_inc;
            self.inflight_longterm += steps * self.mss;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope(window);
        }
    }

    /// Returns whether it has changed the state.
    fn adapt_long_term_model(&mut self, window: &Window, sample: &RateSample) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.probes_bandwidth_in_cycles() {
                if !sample.is_app_limited {
                    self.advance_max_bw_filter();
                }
                if self.prev_probe_precautionary && !self.prev_probe_too_high {
                    self.start_refill(sample.total_delivered);
                    return true;
                }
            }
        }
        if !is_inflight_too_high(sample) && self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(f64::from(sample.tx_in_flight));
            if self.state == BbrState::Up {
                self.probe_inflight_longterm_upward(window, sample);
            }
        }
        false
    }

    fn update_min_rtt(&mut self, sample: &RateSample, now: Time) {
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = sample.rtt
            && (self.probe_rtt_expired || self.probe_rtt_min_delay.is_none_or(|least| rtt < least))
        {
            self.probe_rtt_min_delay = Some(rtt);
            self.probe_rtt_min_stamp = now;
        }
        let expired = now > self.min_rtt_stamp + MIN_RTT_PERIOD;
        if let Some(delay) = self.probe_rtt_min_delay
            && (expired || self.min_rtt.is_none_or(|least| delay < least))
        {
            self.min_rtt = Some(delay);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    /// Returns whether the connection is to be marked as limited by the application.
    fn check_probe_rtt(&mut self, window: &mut Window, sample: &RateSample, now: Time) -> bool {
        if self.state != BbrState::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = BbrState::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt_done_at = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round(sample.total_delivered);
        }
        let is_probing = self.state == BbrState::ProbeRtt;
        if is_probing {
            self.handle_probe_rtt(window, sample, now);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
        is_probing
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_multiple(self.bw, BbrState::ProbeRtt.cwnd_gain()).max(self.least_cwnd())
    }

    fn handle_probe_rtt(&mut self, window: &mut Window, sample: &RateSample, now: Time) {
        match self.probe_rtt_done_at {
            None if f64::from(sample.in_flight) <= self.probe_rtt_cwnd() => {
                self.probe_rtt_done_at = Some(now + PROBE_RTT_DURATION);
                self.probe_rtt_round_done = false;
                self.start_round(sample.total_delivered);
            }
            None => {}
            Some(_) => {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(window, sample.total_delivered, now);
                }
            }
        }
    }

    fn check_probe_rtt_done(&mut self, window: &mut Window, total_delivered: u64, now: Time) {
        if self.probe_rtt_done_at.is_none_or(|done_at| now <= done_at) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        self.restore_cwnd(window);
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_down(total_delivered, now);
            self.state = BbrState::Cruise;
        } else {
            self.state = BbrState::Startup;
        }
    }

    fn save_cwnd(&mut self, window: &Window) {
        self.prior_cwnd = match self.in_recovery || self.state == BbrState::ProbeRtt {
            true => self.prior_cwnd.max(window.cwnd),
            false => window.cwnd,
        };
    }

    fn restore_cwnd(&mut self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * PACING_MARGIN;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// [SetCwnd]
    fn set_cwnd(&mut self, window: &mut Window, sample: &RateSample) {
        let extra_acked = self.extra_acked.front().map_or(0.0, |(_, extra)| *extra);
        let max_inflight =
            self.quantization_budget(self.bdp_multiple(self.bw, self.state.cwnd_gain()) + extra_acked);
        let grown = f64::from(window.cwnd) + f64::from(sample.newly_acked);
        let mut cwnd = f64::from(window.cwnd);
        if self.full_bw_reached {
            cwnd = grown.min(max_inflight);
        } else if cwnd < max_inflight || (sample.total_delivered as f64) < self.initial_cwnd {
            cwnd = grown;
        }
        cwnd = cwnd.max(self.least_cwnd());
        if self.state == BbrState::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        let cap = match self.state {
            BbrState::Down | BbrState::Refill | BbrState::Up => self.inflight_longterm,
            BbrState::ProbeRtt | BbrState::Cruise => self.inflight_with_headroom(),
            BbrState::Startup | BbrState::Drain => f64::INFINITY,
        };
        cwnd = cwnd.min(cap.min(self.inflight_shortterm).max(self.least_cwnd()));
        window.cwnd = cwnd.min(f64::from(MAX_WINDOW_BYTES)) as u32;
    }

    fn note_loss(&mut self, total_delivered: u64) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = total_delivered;
        }
        self.is_loss_in_round = true;
    }

    /// [HandleInflightTooHigh]
    fn handle_inflight_too_high(&mut self, window: &Window, inflight: f64, lost: &LostPacket, now: Time) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !lost.is_app_limited {
            self.inflight_longterm = inflight.max(self.target_inflight(window) * BETA);
        }
        if self.state == BbrState::Up {
            self.start_down(lost.total_delivered, now);
        }
    }
}

/// [IsInflightTooHigh]
fn is_inflight_too_high(sample: &RateSample) -> bool {
    sample.lost as f64 > f64::from(sample.tx_in_flight) * LOSS_THRESHOLD
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn hash(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

impl CongestionControl for Bbr {
    /// Without effect: RACK finds losses.
    fn recovery(&self) -> RecoveryRule {
        RecoveryRule::NewReno { timer: PartialAckTimer::default(), exit_window: ExitWindow::default() }
    }

    fn begin(&mut self, window: &mut Window, identity: u32) {
        let model = &mut *self.0;
        (model.mss, model.initial_cwnd) = (f64::from(window.mss), f64::from(window.cwnd));
        model.identity = identity;
        model.pacing_rate = BbrState::Startup.pacing_gain() * model.initial_cwnd / 1e-3; // InitPacingRate
    }

    fn on_ack(&mut self, _window: &mut Window, _ack: Ack) {}

    /// A recovery starts: cwnd stays, as far as the model does not change it.
    fn on_loss(&mut self, window: &mut Window, _flight_bytes: u32) {
        self.0.save_cwnd(window);
        self.0.in_recovery = true;
        window.ssthresh = window.cwnd;
    }

    fn on_rtt_sample(&mut self, &RttSample { srtt, .. }: &RttSample) {
        let model = &mut *self.0;
        if !std::mem::replace(&mut model.has_rtt, true) && srtt > Time::ZERO {
            model.min_rtt = Some(srtt);
            model.pacing_rate = BbrState::Startup.pacing_gain() * model.initial_cwnd / srtt.as_secs_f64();
        }
    }

    fn needs_rate_samples(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some((self.0.pacing_rate as u64).max(1))
    }

    fn on_transmit_from_idle(&mut self, window: &mut Window, total_delivered: u64, now: Time) {
        let model = &mut *self.0;
        model.idle_restart = true;
        model.extra_acked_start = now;
        if model.state.probes_bandwidth_in_cycles() {
            model.set_pacing_rate(1.0);
        } else if model.state == BbrState::ProbeRtt {
            model.check_probe_rtt_done(window, total_delivered, now);
        }
    }

    fn on_congestion_mark(&mut self, total_delivered: u64) {
        self.0.note_loss(total_delivered);
    }

    fn state(&self) -> Option<&'static str> {
        Some(match self.0.state {
            BbrState::Startup => "startup",
            BbrState::Drain => "drain",
            BbrState::Down => "probe-bw-down",
            BbrState::Cruise => "probe-bw-cruise",
            BbrState::Refill => "probe-bw-refill",
            BbrState::Up => "probe-bw-up",
            BbrState::ProbeRtt => "probe-rtt",
        })
    }

    fn on_lost_packet(&mut self, window: &mut Window, lost: &LostPacket, now: Time) {
        let model = &mut *self.0;
        model.note_loss(lost.total_delivered);
        if model.lost_ranges == 0 || lost.start != model.lost_end {
            model.lost_ranges += 1;
        }
        model.lost_end = lost.start.wrapping_add(lost.size);
        let (all_lost, size) = (lost.lost as f64, f64::from(lost.size));
        if !model.is_bw_probe_sample || all_lost <= f64::from(lost.tx_in_flight) * LOSS_THRESHOLD {
            return;
        }
        let before = f64::from(lost.tx_in_flight) - size; // InflightAtLoss
        let prefix = (LOSS_THRESHOLD * before - (all_lost - size)) / (1.0 - LOSS_THRESHOLD);
        model.handle_inflight_too_high(window, before + prefix.max(0.0), lost, now);
    }

    fn on_rate_sample(&mut self, window: &mut Window, sample: &RateSample, now: Time) -> bool {
        let model = &mut *self.0;
        if model.in_recovery && !sample.is_repairing {
            model.in_recovery = false;
            model.restore_cwnd(window);
        }
        if model.round_count == 0 {
            (model.min_rtt_stamp, model.probe_rtt_min_stamp, model.extra_acked_start) = (now, now, now);
        }
        let app_limited = model.update_model_and_state(window, sample, now);
        model.set_pacing_rate(model.state.pacing_gain());
        model.set_cwnd(window, sample);
        app_limited
    }
}

#[cfg(test)]
#[path = "bbr_tests.rs"]
mod tests;
