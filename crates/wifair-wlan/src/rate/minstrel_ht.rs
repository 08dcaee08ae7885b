//! `minstrel-ht`: the rate control of Linux for drivers that leave it to mac80211, such as ath9k (802.11n) and mt76x2
//! (802.11ac).
//!
//! Source: Linux 6.12, `net/mac80211/rc80211_minstrel_ht.c` (F. Fietkau, since 2010; sampling as since 5.12), of which
//! facts and constants are taken, no code. `make kernel` compares each decision with that file.
//!
//! The idea: measure how often MPDUs arrive in each mode, and estimate the throughput of each. A chain of modes serves each
//! transmission and its retries: the three of the highest throughput, then the most probable. Few transmissions sample
//! other modes.
//!
//! - *Groups*: modes of equal width, guard interval and number of streams (`docs/medium.md`, section 2.1). A lower group is
//!   narrower, of equal width has the longer guard interval, or else fewer streams.
//! - *Statistics*, at the first outcome more than 50 ms after the last update: the share of MPDUs acknowledged in each mode
//!   passes a low-pass filter of second order with a period of 16 updates. A mode never tried has the best share of the
//!   faster ones of its group.
//! - *Throughput* of a mode: share / (108 µs / mean length of A-MPDUs + time of 1,200 bytes). A share above 90 % counts as
//!   90 %, one below 10 % as none. The mean length is smoothed, a quarter new per update.
//! - *Most probable*: of the modes with a share above 75 % that of the highest throughput; without any, that of the
//!   greatest share. Modes faster than the best are left out if their share is less. If the best mode has several streams,
//!   it is instead the mode of the highest throughput among the most probable of each group with fewer streams.
//! - *Attempts* per mode of the chain: 2 below a share of 20 %, otherwise as many as fit in 6 ms with contention, 2 to 10.
//!   Modes after the first have RTS and CTS.
//! - *Descent*: if more than 30 MPDUs were sent in one of the best two modes since the last update, and less than a quarter
//!   of them was acknowledged, the best mode of the next lower group with at most as many streams replaces it (the second
//!   best mode of the group replaces the second).
//! - *Samples*: every 20 ms one transmission tries another mode once in place of the chain's first. Turns: the slowest mode
//!   of the next group in turn that is faster than the best; a random mode faster than the best two and the most probable;
//!   twice more the same, but last a random mode slower than the fastest and faster than the slowest of these three, with a
//!   share of at most 95 %.
//!
//! Interpretations:
//! - 802.11ax and be modes and widths above 80 MHz are our extrapolation: no driver leaves them to mac80211. A link of
//!   802.11ax or be has groups of one guard interval.
//! - A retry by the hardware is an attempt with contention (`docs/medium.md`, section 12). A PPDU with several tries has a
//!   chain of its own, whose outcome counts when it ends. Otherwise the link has one chain, which advances after each
//!   transmission without a response and restarts after each with one; outcomes count when it ends, and if it has failed,
//!   it restarts without a sample.
//! - A sampling transmission is a single MPDU, as with ath9k, also down the chain. Whether one is due is asked when an outcome
//!   is known, or when a packet leaves the transmit queue (`docs/medium.md`, section 12), as in Linux.
//! - A link begins with its slowest mode in all places of the chain, as in Linux, whatever the scenario's mode.
//! - Each link has random orders of its own; in Linux one set serves all.
//! - `chain` and `max_attempts` are those that ath9k gives mac80211.
//!
//! Deviations: no 802.11b rates on links of 802.11n at 2.4 GHz, which ath9k offers, and no
//! short preamble in 802.11b's.
//!
//! Random draws: ten random orders of the MCSs of a group, once, from the link's stream (`rate-up`, `rate-down`): 100
//! draws, 120 with 802.11ax and 140 with 802.11be. None later.

mod groups;
mod samples;
mod statistics;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};

use self::samples::Samples;
use self::statistics::Statistics;
use super::{ChainOutcome, ChainSegment, Choice, Feedback, RateAdaptation, RetryChains, Start, TakenChain};
use crate::check;
use crate::phy::{Format, RateIndex};

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "minstrel-ht",
    source: "Linux 6.12, rc80211_minstrel_ht.c",
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
    /// Most attempts per mode of the chain, 1 to 100, but in Linux 3 where so many fit in `segment_us`; ath9k takes 10.
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
            max_attempts: 10,
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
        check::integer(path, "max_attempts", self.max_attempts, 1..=100, "attempts")?;
        check::number(path, "segment_us", self.segment_us, 0.0..=1e6, "us")?;
        Ok(())
    }

    /// The state towards a peer.
    pub fn build(&self, start: Start) -> MinstrelHt {
        let statistics = Statistics::new(start.modes, start.first);
        // The kernel has a place for each group, and looks behind that of HT's slowest group first.
        let is_ht = start.modes.on_air(start.first).mode.format == Format::Ht;
        let last_group = if is_ht { 0 } else { statistics.group_count() - 1 };
        let mut samples = Samples::new(&statistics, last_group, start.rng);
        samples.refill(&statistics);
        let mut minstrel = MinstrelHt {
            spec: self.clone(),
            statistics,
            samples,
            chain: Vec::new(),
            place: 0,
            left: 0,
            sampled: None,
            updated_at: Time::ZERO,
            sample_at: Time::ZERO,
        };
        minstrel.link_chain();
        minstrel.begin_chain();
        minstrel
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct MinstrelHt {
    spec: Spec,
    statistics: Statistics,
    samples: Samples,
    chain: Vec<ChainSegment>,
    /// Where in the chain the next attempt is, and how many are left there. A chain that was taken is not followed here.
    place: usize,
    left: u32,
    /// The mode that is sampled in place of the chain's first.
    sampled: Option<RateIndex>,
    updated_at: Time,
    sample_at: Time,
}

impl RateAdaptation for MinstrelHt {
    fn on_attempt(&mut self, feedback: &mut Feedback) -> Choice {
        let &mut Feedback { mode, sent, acknowledged, now, .. } = feedback;
        self.statistics.count_sent(mode, sent);
        let is_answered = acknowledged > 0;
        if is_answered || self.is_last_attempt() {
            self.statistics.count_answered(mode, sent, acknowledged);
            self.review(now);
            self.begin_chain();
            if is_answered {
                self.sample(now);
                self.left = if self.sampled.is_some() { 1 } else { self.left };
            }
        } else {
            self.advance_chain();
        }
        self.choice()
    }

    fn retry_chains(&mut self) -> Option<&mut dyn RetryChains> {
        Some(self)
    }
}

impl RetryChains for MinstrelHt {
    fn take(&mut self) -> TakenChain {
        let (mut segments, samples) = (self.chain.clone(), self.sampled.is_some());
        if let Some(sampled) = self.sampled {
            segments[0] = ChainSegment { mode: sampled, attempts: 1, rts: false };
        }
        self.begin_chain();
        TakenChain { segments, samples, next: self.choice() }
    }

    fn on_end(&mut self, outcome: &ChainOutcome) -> Choice {
        let &ChainOutcome { ref tries, sent, acknowledged, now } = outcome;
        for &(mode, tries) in tries {
            self.statistics.count_sent(mode, tries * sent);
        }
        if let Some(&(last, _)) = tries.last() {
            self.statistics.count_answered(last, sent, acknowledged);
        }
        self.review(now);
        self.choice()
    }

    fn ask(&mut self, now: Time) -> Choice {
        let before = self.sampled;
        self.sample(now);
        self.sampled = self.sampled.or(before);
        self.choice()
    }
}

fn ms(ms: f64) -> Time {
    Time::from_ns((ms * 1e6) as u64)
}

impl MinstrelHt {
    /// The outcome of a chain is known: the best modes may change, and the chain with them.
    fn review(&mut self, now: Time) {
        let descends = self.spec.chain > 1 && self.statistics.descend();
        let is_due = now > self.updated_at + ms(self.spec.update_interval_ms);
        if is_due {
            self.statistics.update();
            self.samples.refill(&self.statistics);
            (self.updated_at, self.sample_at) = (now, now);
        }
        if descends || is_due {
            self.link_chain();
        }
    }

    /// The next transmission samples a mode, if that is due.
    fn sample(&mut self, now: Time) {
        if now >= self.sample_at {
            self.sample_at = now + ms(self.spec.sample_interval_ms);
            let sample = self.samples.take(self.spec.chain == 1);
            self.sampled = sample.map(|place| self.statistics.index_of(place));
        }
    }

    fn choice(&self) -> Choice {
        let link = self.statistics.index_of(self.statistics.best()[0]);
        let next = match (self.sampled, self.place) {
            (Some(sampled), 0) => sampled,
            (_, place) => self.chain[place].mode,
        };
        Choice { link, next, samples: self.sampled.is_some(), rts: self.place > 0 }
    }

    /// The chain follows from the best modes and the most probable.
    fn link_chain(&mut self) {
        let by_throughput = (self.spec.chain as usize - 1).max(1);
        let best = self.statistics.best()[..by_throughput].iter().copied();
        let modes = best.chain([self.statistics.most_probable()]).take(self.spec.chain as usize);
        let segment = |(number, place)| ChainSegment {
            mode: self.statistics.index_of(place),
            attempts: self.statistics.attempts_in(
                place,
                number > 0,
                self.spec.segment_us as u32,
                self.spec.max_attempts,
            ),
            rts: number > 0,
        };
        self.chain = modes.enumerate().map(segment).collect();
    }

    fn begin_chain(&mut self) {
        (self.place, self.left, self.sampled) = (0, self.chain[0].attempts, None);
    }

    fn is_last_attempt(&self) -> bool {
        self.left == 1 && self.place + 1 == self.chain.len()
    }

    /// An attempt of the chain has failed, and was not the last.
    fn advance_chain(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.place += 1;
            self.left = self.chain[self.place].attempts;
        }
    }
}
