//! `minstrel-ht`: the rate control of Linux for 802.11n and 802.11ac.
//!
//! Source: Linux 6.18, `net/mac80211/rc80211_minstrel_ht.c` (F. Fietkau, since 2010; sampling as since 5.12), of which facts and constants
//! are taken, no code.
//!
//! The idea: measure how often MPDUs arrive in each mode, and estimate the throughput of each. A chain of modes serves each
//! transmission and its retries: the three of the highest throughput, then the most probable. Few transmissions sample other modes.
//!
//! - *Statistics*, every 50 ms: the share of MPDUs acknowledged in each mode passes a low-pass filter of second order with a period of 16
//!   updates. A mode never tried has the best share of the faster ones.
//! - *Throughput* of a mode: share / (108 µs / mean length of A-MPDUs + time of 1,200 bytes). A share above 90 % counts as 90 %, one
//!   below 10 % as none. The mean length is smoothed, a quarter new per update.
//! - *Most probable*: of the modes with a share above 75 % that of the highest throughput; without any, that of the greatest share.
//!   Modes faster than the best are left out if their share is less.
//! - *Attempts* per mode of the chain: 2 below a share of 20 %, otherwise as many as fit in 6 ms with contention, 2 to 7.
//! - *Samples*: every 20 ms one transmission tries another mode once, then the chain. Turns: the next faster mode, a random faster one,
//!   twice more the same, but last a mode slower than that: faster than the slowest of the best two and the most probable, with a share
//!   of at most 95 %. ("Faster" is faster than all three.)
//!
//! Interpretations:
//! - 802.11ax and be modes are our extrapolation: no driver leaves them to mac80211. They are treated as 802.11n's.
//! - A link has one group of modes: those of its streams, width and guard interval. Groups of fewer streams, and the descent to
//!   them, therefore do not occur.
//! - The chain advances after each transmission without a response, and restarts after each with one: a retry by the
//!   hardware is an attempt with contention here (`docs/medium.md`, section 12). A chain that has failed restarts.
//! - A sampling transmission is a single MPDU, as with ath9k.
//! - A link begins with the scenario's mode in all places of the chain; in Linux with its slowest.
//! - The time of 1,200 bytes is that of the data rate. Modes older than 802.11n have a frame of 1,200 bytes and its ACK instead, without
//!   aggregates.
//! - Modes to sample that no longer are what they were chosen for leave the list. (In Linux a slip of an index may lose others, too.)
//!
//! Deviations: no RTS before the later modes of the chain.
//!
//! Random draws: ten random orders of the modes, once, from the link's stream (`rate-up`, `rate-down`): 10 (modes − 1) draws. None
//! later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, Rng, SpecError, Time};

use super::{Choice, Feedback, RateAdaptation, Start};
use crate::check;
use crate::phy::{Format, OnAir, RateIndex};

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "minstrel-ht",
    source: "Linux 6.18, rc80211_minstrel_ht.c",
    idea: "Linux's: the mode of the highest measured throughput, a chain of modes for retries, a sample of another mode every 20 ms.",
};

/// Parameters of [`MinstrelHt`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Time between updates of the statistics in ms, 1 to 10000.
    pub update_interval_ms: f64,
    /// Time between sampling transmissions in ms, 1 to 10000.
    pub sample_interval_ms: f64,
    /// Number of modes in the retry chain, 1 to 4; ath9k takes 4.
    pub chain: u32,
    /// Most attempts per mode of the chain, 2 to 100.
    pub max_attempts: u32,
    /// Time within which the attempts in one mode must fit, in µs, 0 to 1000000.
    pub segment_us: f64,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            update_interval_ms: 50.0,
            sample_interval_ms: 20.0,
            chain: 4,
            max_attempts: 7,
            segment_us: 6_000.0,
        }
    }
}

impl Spec {
    /// Checks what the types cannot; `path` is the key in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::number(path, "update_interval_ms", self.update_interval_ms, 1.0..=1e4, "ms")?;
        check::number(path, "sample_interval_ms", self.sample_interval_ms, 1.0..=1e4, "ms")?;
        check::integer(path, "chain", self.chain, 1..=4, "modes")?;
        check::integer(path, "max_attempts", self.max_attempts, 2..=100, "attempts")?;
        check::number(path, "segment_us", self.segment_us, 0.0..=1e6, "us")?;
        Ok(())
    }

    /// The state towards a peer.
    pub fn build(&self, start: Start) -> MinstrelHt {
        let slowest_first = (0..=start.fastest().0).map(RateIndex);
        let orders = (0..ORDERS).flat_map(|_| random_order(slowest_first.clone().collect(), start.rng));
        let mut minstrel = MinstrelHt {
            orders: orders.collect(),
            spec: self.clone(),
            modes: start.modes.iter().map(ModeStatistics::new).collect(),
            mean_mpdus: 1.0,
            ppdus: 0,
            mpdus: 0,
            best: [start.first; BEST],
            most_probable: start.first,
            chain: Vec::new(),
            place: 0,
            left: 0,
            sampled: None,
            samples: Default::default(),
            turn: 0,
            next_in_order: 0,
            updated_at: Time::ZERO,
            sample_at: Time::ZERO,
        };
        minstrel.refill_samples();
        minstrel.link_chain();
        minstrel
    }
}

/// Modes of the highest throughput that are kept.
const BEST: usize = 4;
/// Random orders in which modes are sampled.
const ORDERS: usize = 10;
/// Most modes of a kind that wait to be sampled.
const SAMPLES: usize = 5;
/// Shares of MPDUs acknowledged: below the first a mode has no throughput, above the second no more.
const HOPELESS: f64 = 0.1;
const CERTAIN: f64 = 0.9;
/// Below it a mode has two attempts in the chain.
const DOUBTFUL: f64 = 0.2;
/// Above it throughput decides which mode is the most probable.
const PROBABLE: f64 = 0.75;
/// Above it a slow mode is not sampled.
const KNOWN: f64 = 0.95;
/// The smallest share that is not zero, which stands for one never measured.
const LEAST: f64 = 1.0 / 4_096.0;
/// The low-pass filter: weights of the new share and of the filter's last two values.
const FILTER: [f64; 3] = [1_173.0 / 4_096.0, 5_273.0 / 4_096.0, -2_350.0 / 4_096.0];
/// Weight of a new mean length of A-MPDUs.
const NEW_LENGTH: f64 = 0.25;
const PACKET_BYTES: u32 = 1_200;
/// What goes with a PPDU: an empty frame and an ACK at 6 Mbps, with a SIFS each.
const OVERHEAD_NS: f64 = 108e3;
/// Contention as estimated for a chain.
const SLOT_US: f64 = 9.0;
const CW_MIN: u32 = 15;
const CW_MAX: u32 = 1_023;

/// Why a mode is sampled.
#[derive(Clone, Copy)]
enum Sample {
    Next,
    Jump,
    Slow,
}

const TURNS: [Sample; 6] =
    [Sample::Next, Sample::Jump, Sample::Next, Sample::Jump, Sample::Next, Sample::Slow];

/// A permutation by Fisher and Yates, with one draw fewer than there are modes.
fn random_order(mut modes: Vec<RateIndex>, rng: &mut Rng) -> Vec<RateIndex> {
    for last in (1..modes.len()).rev() {
        modes.swap(last, rng.below(last as u32 + 1) as usize);
    }
    modes
}

/// What is known of a mode.
#[derive(Debug)]
struct ModeStatistics {
    /// Per MPDU of the reference length, and per PPDU.
    mpdu_ns: f64,
    ppdu_ns: f64,
    aggregates: bool,
    /// MPDUs since the last update.
    sent: u32,
    acknowledged: u32,
    /// It has been tried before the last update.
    is_tried: bool,
    /// The filtered share of MPDUs acknowledged, and that of the update before; 0: none yet.
    share: f64,
    share_before: f64,
}

impl ModeStatistics {
    fn new(on_air: &OnAir) -> ModeStatistics {
        let aggregates = on_air.mode.format >= Format::Ht;
        let whole = on_air.duration(PACKET_BYTES) + on_air.acknowledgement;
        let (mpdu_ns, ppdu_ns) = match aggregates {
            true => (f64::from(PACKET_BYTES) * 8e6 / f64::from(on_air.rate().as_kbps()), OVERHEAD_NS),
            false => (whole.as_ns() as f64, 0.0),
        };
        ModeStatistics {
            mpdu_ns,
            ppdu_ns,
            aggregates,
            sent: 0,
            acknowledged: 0,
            is_tried: false,
            share: 0.0,
            share_before: 0.0,
        }
    }

    /// Takes what was counted since the last update; `faster` is the best share of faster modes that were tried.
    fn update(&mut self, faster: &mut f64) {
        if self.sent > 0 {
            let share = (f64::from(self.acknowledged) / f64::from(self.sent)).max(LEAST);
            let [new, last, before] = FILTER;
            let filtered = match self.share {
                0.0 => share,
                _ => (new * share + last * self.share + before * self.share_before).clamp(LEAST, 1.0),
            };
            self.share_before = if self.share == 0.0 { share } else { self.share };
            self.share = filtered;
            self.is_tried = true;
        }
        (self.sent, self.acknowledged) = (0, 0);
        if self.is_tried {
            *faster = faster.max(self.share);
        } else {
            self.share = self.share.max(*faster);
        }
    }

    /// MPDUs of the reference length per ns, in A-MPDUs of `mpdus`.
    fn throughput(&self, mpdus: f64) -> f64 {
        if self.share < HOPELESS {
            return 0.0;
        }
        self.share.min(CERTAIN) / (self.ppdu_ns / mpdus + self.mpdu_ns)
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct MinstrelHt {
    spec: Spec,
    modes: Vec<ModeStatistics>,
    /// MPDUs per A-MPDU.
    mean_mpdus: f64,
    /// Since the last update.
    ppdus: u32,
    mpdus: u32,
    /// The modes of the highest throughput, the best first.
    best: [RateIndex; BEST],
    most_probable: RateIndex,
    /// Modes, and how many attempts each has.
    chain: Vec<(RateIndex, u32)>,
    /// Where in the chain the next attempt is, and how many are left there.
    place: usize,
    left: u32,
    /// The next attempt samples this mode.
    sampled: Option<RateIndex>,
    /// By [`Sample`].
    samples: [Vec<RateIndex>; 3],
    turn: usize,
    /// Random orders of all modes, one after the other, and how far they are used.
    orders: Vec<RateIndex>,
    next_in_order: usize,
    updated_at: Time,
    sample_at: Time,
}

impl RateAdaptation for MinstrelHt {
    fn on_attempt(&mut self, feedback: &mut Feedback) -> Choice {
        let &mut Feedback { mode, sent, acknowledged, now, .. } = feedback;
        let of_mode = self.of_mut(mode);
        of_mode.sent += sent;
        of_mode.acknowledged += acknowledged;
        self.ppdus += 1;
        self.mpdus += sent;
        let ms = |ms: f64| Time::from_ns((ms * 1e6) as u64);
        if now >= self.updated_at + ms(self.spec.update_interval_ms) {
            self.update();
            (self.updated_at, self.sample_at) = (now, now);
        }
        let was_sample = self.sampled.take().is_some();
        if acknowledged > 0 {
            self.restart_chain();
            if now >= self.sample_at {
                self.sample_at = now + ms(self.spec.sample_interval_ms);
                self.sampled = self.take_sample();
            }
        } else if !was_sample {
            self.advance_chain();
        }
        let next = self.sampled.unwrap_or(self.chain[self.place].0);
        Choice { link: self.best[0], next, samples: self.sampled.is_some() }
    }
}

impl MinstrelHt {
    fn of(&self, mode: RateIndex) -> &ModeStatistics {
        &self.modes[usize::from(mode.0)]
    }

    fn of_mut(&mut self, mode: RateIndex) -> &mut ModeStatistics {
        &mut self.modes[usize::from(mode.0)]
    }

    /// All modes, the slowest first.
    fn all(&self) -> impl DoubleEndedIterator<Item = RateIndex> + use<> {
        (0..self.modes.len() as u16).map(RateIndex)
    }

    /// Whole MPDUs per A-MPDU in a mode.
    fn mpdus_in(&self, mode: &ModeStatistics) -> f64 {
        if mode.aggregates { libm::floor(self.mean_mpdus).max(1.0) } else { 1.0 }
    }

    fn throughput(&self, mode: RateIndex) -> f64 {
        let mode = self.of(mode);
        mode.throughput(self.mpdus_in(mode))
    }

    fn update(&mut self) {
        self.mean_mpdus += NEW_LENGTH * (f64::from(self.mpdus) / f64::from(self.ppdus) - self.mean_mpdus);
        (self.ppdus, self.mpdus) = (0, 0);
        let mut faster = 0.0;
        self.modes.iter_mut().rev().for_each(|mode| mode.update(&mut faster));
        self.rank();
        self.refill_samples();
        self.link_chain();
    }

    /// Finds the best modes and the most probable.
    fn rank(&mut self) {
        let key = |mode: RateIndex| (self.throughput(mode), self.of(mode).share);
        let mut ranked: Vec<RateIndex> =
            self.all().rev().filter(|&mode| self.throughput(mode) > 0.0).collect();
        // The sort is stable: of equals the faster is first.
        ranked.sort_by(|&a, &b| key(b).partial_cmp(&key(a)).expect("throughputs are numbers"));
        let best = std::array::from_fn(|place| ranked.get(place).copied().unwrap_or(RateIndex(0)));
        let mut probable = RateIndex(0);
        for mode in self.all() {
            let share = self.of(mode).share;
            if mode > best[0] && share < self.of(best[0]).share {
                continue;
            }
            let is_better = match share > PROBABLE {
                true => self.throughput(mode) > self.throughput(probable),
                false => share > self.of(probable).share,
            };
            if is_better {
                probable = mode;
            }
        }
        (self.best, self.most_probable) = (best, probable);
    }

    /// Finds modes to sample.
    fn refill_samples(&mut self) {
        let first = [self.best[0], self.best[1], self.most_probable];
        let fastest = first.into_iter().max().expect("there are three");
        let slowest = first.into_iter().min().expect("there are three");
        let [next, jump, slow] = &mut self.samples;
        next.retain(|&mode| mode > fastest);
        jump.retain(|&mode| mode > fastest);
        slow.retain(|&mode| mode < fastest && mode > slowest);
        let after = RateIndex(self.best[0].0 + 1);
        if usize::from(after.0) < self.modes.len() && !next.contains(&after) && next.len() < SAMPLES {
            next.push(after);
        }
        while self.samples[Sample::Jump as usize].len() < SAMPLES {
            let slower = self.samples[Sample::Slow as usize].len() < SAMPLES;
            let Some(mode) = self.next_random(if slower { slowest } else { fastest }) else { break };
            let kind = if mode > fastest { Sample::Jump } else { Sample::Slow };
            let listed = self.samples[kind as usize].contains(&mode);
            if !listed && (mode > fastest || self.of(mode).share <= KNOWN) {
                self.samples[kind as usize].push(mode);
            }
            if listed || mode <= fastest {
                break; // each group has one turn, and a link has one group
            }
        }
    }

    /// The next in random order of the modes faster than `than`, if there is any.
    fn next_random(&mut self, than: RateIndex) -> Option<RateIndex> {
        for _ in 0..self.modes.len() {
            let mode = self.orders[self.next_in_order];
            self.next_in_order = (self.next_in_order + 1) % self.orders.len();
            if mode > than {
                return Some(mode);
            }
        }
        None
    }

    /// The mode whose turn it is to be sampled, if there is any.
    fn take_sample(&mut self) -> Option<RateIndex> {
        let kind = TURNS[self.turn];
        self.turn = (self.turn + 1) % TURNS.len();
        let waiting = &mut self.samples[kind as usize];
        (!waiting.is_empty()).then(|| waiting.remove(0))
    }

    /// The chain follows from the best modes and the most probable.
    fn link_chain(&mut self) {
        let throughputs = (self.spec.chain as usize - 1).max(1);
        let modes = self.best[..throughputs].iter().chain([&self.most_probable]);
        self.chain =
            modes.take(self.spec.chain as usize).map(|&mode| (mode, self.attempts_in(mode))).collect();
        self.restart_chain();
    }

    fn restart_chain(&mut self) {
        (self.place, self.left) = (0, self.chain[0].1);
    }

    /// An attempt of the chain has failed.
    fn advance_chain(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.place = (self.place + 1) % self.chain.len();
            self.left = self.chain[self.place].1;
        }
    }

    /// Attempts in a mode of the chain.
    fn attempts_in(&self, mode: RateIndex) -> u32 {
        let mode = self.of(mode);
        if mode.share < DOUBTFUL {
            return 2;
        }
        let alone_us = (mode.ppdu_ns + mode.mpdu_ns * self.mpdus_in(mode)) * 1e-3;
        let mut window = CW_MIN;
        let mut attempt_us = || {
            let contention_us = libm::floor(SLOT_US * f64::from(window) / 2.0);
            window = (2 * window + 1).min(CW_MAX);
            contention_us + alone_us
        };
        let mut total_us = attempt_us() + attempt_us() + attempt_us();
        let mut attempts = 2;
        while total_us < self.spec.segment_us && attempts < self.spec.max_attempts {
            attempts += 1;
            total_us += attempt_us();
        }
        attempts
    }
}
