//! The kernel's rate control as the rate adaptation of a link in the BSS.
//!
//! The kernel asks for a chain of rates with each frame, and marks those with which it probes a rate. A PPDU is tried down the
//! chain of the link's last frame, as drivers take the station's rates when they form a PPDU (`ath_set_rates()` in ath9k). A
//! probe is made as the BSS makes samples: the next PPDU of the link has one MPDU, whichever is the first, and the chain of the
//! marked frame.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use wifair_core::Time;
use wifair_wlan::{
    ChainOutcome, ChainSegment, Choice, Feedback, RateAdaptation, RateIndex, RetryChains, Start, TakenChain,
};

use crate::hwsim::{Asked, Rate, rate_of};

/// Rates of a link.
struct Chains {
    /// The last that was asked for without a probe.
    last: Vec<ChainSegment>,
    /// The chain of a probe that is still to be made.
    probe: Option<Vec<ChainSegment>>,
    /// What the last PPDU was formed with.
    taken: Vec<ChainSegment>,
    /// By segment of it, how often the PPDU was sent.
    sent: Vec<u32>,
    /// Its tries so far, those whose RTS was not answered included.
    tries: u32,
}

impl Chains {
    /// What the next PPDU uses.
    fn choice(&self) -> Choice {
        let link = self.last[0].mode;
        let next = self.probe.as_ref().map_or(link, |chain| chain[0].mode);
        Choice { next, samples: self.probe.is_some(), ..link.into() }
    }
}

/// The side of the BSS.
struct InBss(Arc<Mutex<Chains>>);

impl InBss {
    fn chains(&self) -> MutexGuard<'_, Chains> {
        self.0.lock().expect("one thread has it")
    }
}

impl RateAdaptation for InBss {
    fn on_attempt(&mut self, _feedback: &mut Feedback) -> Choice {
        self.chains().choice()
    }

    fn retry_chains(&mut self) -> Option<&mut dyn RetryChains> {
        Some(self)
    }
}

impl RetryChains for InBss {
    fn take(&mut self) -> TakenChain {
        let mut chains = self.chains();
        let probe = chains.probe.take();
        let samples = probe.is_some();
        let segments = probe.unwrap_or_else(|| chains.last.clone());
        (chains.taken, chains.sent, chains.tries) = (segments.clone(), vec![0; segments.len()], 0);
        TakenChain { segments, samples, next: chains.choice() }
    }

    fn on_end(&mut self, _outcome: &ChainOutcome) -> Choice {
        self.chains().choice()
    }

    fn ask(&mut self, _now: Time) -> Choice {
        self.chains().choice()
    }
}

/// One direction of a station's link, at the medium.
pub struct Link {
    chains: Arc<Mutex<Chains>>,
    /// The link's modes by rate.
    modes: BTreeMap<Rate, RateIndex>,
    rates: BTreeMap<RateIndex, Rate>,
}

impl Link {
    /// A link, and its rate adaptation for the BSS.
    pub fn new(start: Start) -> (Link, Box<dyn RateAdaptation>) {
        let chains = Arc::new(Mutex::new(Chains {
            last: vec![ChainSegment { mode: start.first, attempts: 1, rts: false }],
            probe: None,
            taken: vec![],
            sent: vec![],
            tries: 0,
        }));
        let all = start.modes.groups().into_iter().flatten();
        let rates: BTreeMap<RateIndex, Rate> =
            all.map(|index| (index, rate_of(&start.modes.on_air(index).mode))).collect();
        let link = Link {
            chains: Arc::clone(&chains),
            modes: rates.iter().map(|(index, rate)| (*rate, *index)).collect(),
            rates,
        };
        (link, Box::new(InBss(chains)))
    }

    fn chains(&self) -> MutexGuard<'_, Chains> {
        self.chains.lock().expect("one thread has it")
    }

    /// A frame enters the BSS. Returns the rates that it asks for and that the link does not have.
    pub fn enter(&mut self, asked: &[Asked], probes: bool) -> Vec<Rate> {
        let (known, unknown): (Vec<&Asked>, Vec<&Asked>) =
            asked.iter().partition(|asked| self.modes.contains_key(&asked.rate));
        let segment = |asked: &&Asked| ChainSegment {
            mode: self.modes[&asked.rate],
            attempts: u32::from(asked.tries),
            rts: asked.rts,
        };
        let chain: Vec<ChainSegment> = known.iter().map(segment).collect();
        let mut chains = self.chains();
        match chain.is_empty() {
            true => {}
            false if probes => chains.probe = Some(chain),
            false => chains.last = chain,
        }
        unknown.into_iter().map(|asked| asked.rate).collect()
    }

    /// A try of a PPDU begins; `is_sent`: the PPDU itself is sent, not an RTS alone. Returns how often it has
    /// been sent in which rates.
    pub fn begin(&mut self, is_sent: bool) -> Vec<(Rate, u8)> {
        let mut chains = self.chains();
        let mut before = chains.tries;
        chains.tries += 1;
        let segment = chains.taken.iter().position(|segment| {
            let is_here = before < segment.attempts;
            before = before.saturating_sub(segment.attempts);
            is_here
        });
        if let Some(segment) = segment.filter(|_| is_sent) {
            chains.sent[segment] += 1;
        }
        let tried = chains.taken.iter().zip(&chains.sent).filter(|(_, sent)| **sent > 0);
        tried
            .map(|(segment, sent)| (self.rates[&segment.mode], u8::try_from(*sent).unwrap_or(u8::MAX)))
            .collect()
    }
}
