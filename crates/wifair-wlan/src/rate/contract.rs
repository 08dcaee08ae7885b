//! What a rate adaptation implements, and what is reported to it.

use wifair_core::{Rng, Time};

use crate::phy::{Modes, RateIndex};

/// Chooses the mode of each transmission to one peer.
pub trait RateAdaptation: Send {
    /// The outcome of a transmission to the peer is known. Returns what the next one uses. (An RTS without a CTS says nothing
    /// about the mode, nor does a Block Ack Request: neither is reported.)
    fn on_attempt(&mut self, feedback: &mut Feedback) -> Choice;

    /// Whether the mode ever changes; if not, [`RateAdaptation::on_attempt`] is not called.
    fn adapts(&self) -> bool {
        true
    }

    /// The retry chain, if there is one: what retries PPDUs itself takes a chain with each ([`RetryChains::take`]), and reports
    /// its end in place of attempts ([`RetryChains::on_end`]).
    fn retry_chains(&mut self) -> Option<&mut dyn RetryChains> {
        None
    }
}

/// A rate adaptation whose retries have modes of their own.
pub trait RetryChains {
    /// The chain of a PPDU that is formed now, whether that is a sample, which has one MPDU, and what the next one uses.
    fn take(&mut self) -> TakenChain;

    /// A PPDU with a chain has ended: some of its MPDUs are acknowledged or given up. Returns what the next one uses.
    fn on_end(&mut self, outcome: &ChainOutcome) -> Choice;

    /// The next PPDU may be a sample, if one is due: the driver asks, see `docs/medium.md`, section 12. Returns what the next
    /// one uses.
    fn ask(&mut self, now: Time) -> Choice;
}

/// The retry chain of a PPDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenChain {
    /// Its parts, at least one.
    pub segments: Vec<ChainSegment>,
    /// Whether it samples a mode.
    pub samples: bool,
    /// What the next PPDU uses.
    pub next: Choice,
}

/// A part of a retry chain: attempts in one mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainSegment {
    /// The mode.
    pub mode: RateIndex,
    /// Most attempts in it, at least 1.
    pub attempts: u32,
    /// Whether an RTS precedes each, whatever its length.
    pub rts: bool,
}

/// What has come of a PPDU with a retry chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainOutcome {
    /// The modes that were tried, in order, and how often the PPDU was sent in each: an RTS without a CTS does not count.
    pub tries: Vec<(RateIndex, u32)>,
    /// Its MPDUs.
    pub sent: u32,
    /// How many of them the peer has acknowledged: 0 if no try had a response.
    pub acknowledged: u32,
    /// When the last exchange ended.
    pub now: Time,
}

/// What is known of a transmission.
pub struct Feedback<'a> {
    /// Its mode.
    pub mode: RateIndex,
    /// Its MPDUs; a single frame is one.
    pub sent: u32,
    /// How many of them the peer has acknowledged: 0 if there was no response.
    pub acknowledged: u32,
    /// When the exchange ended.
    pub now: Time,
    /// Probability that the peer cannot decode an MPDU of a mode and a length in bytes now, without a collision. No real
    /// sender knows it: it is for bounds like [`ideal`](super::ideal).
    pub error_rate: &'a mut dyn FnMut(RateIndex, u32) -> f64,
}

/// Modes that an adaptation has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Nominal mode of the link, of which schemes and TCP are notified.
    pub link: RateIndex,
    /// The mode of the next attempt: another one while a mode is sampled, or down a retry chain.
    pub next: RateIndex,
    /// Whether the next attempt samples a mode, or follows one that did down a retry chain: with one MPDU.
    pub samples: bool,
    /// Whether an RTS precedes the next attempt, whatever its length.
    pub rts: bool,
}

impl From<RateIndex> for Choice {
    fn from(mode: RateIndex) -> Choice {
        Choice { link: mode, next: mode, samples: false, rts: false }
    }
}

/// Where an adaptation begins.
pub struct Start<'a> {
    /// The mode of the link's first attempt: that which the scenario gives the link, or the adaptation's own.
    pub first: RateIndex,
    /// The modes of the link.
    pub modes: &'a Modes,
    /// The link's random stream.
    pub rng: &'a mut Rng,
}

impl Start<'_> {
    /// The fastest of the link's own modes.
    pub(super) fn fastest(&self) -> RateIndex {
        RateIndex(self.modes.count() as u16 - 1)
    }
}
