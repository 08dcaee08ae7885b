//! ARF and AARF from their definitions: all that happened at a rate is kept, and read again after each attempt.

/// Which rate adaptation, and its parameters (docs/medium.md, section 8; Lacage et al. 2004, 3.2 and 3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptation {
    /// Successes in a row that raise the rate.
    pub successes: u32,
    /// The attempt at a rate from which on any success raises it.
    pub timer: u32,
    /// AARF: what a failed probe multiplies both by, and the most that the successes may become.
    pub adaptive: Option<(u32, u32)>,
}

/// The choice of a rate towards one peer: of a rate in tenths of Mbps or, from 802.11n on, of an MCS.
pub struct Ladder {
    rules: Option<Adaptation>,
    rates: Vec<u32>,
    rate: u32,
    /// Acknowledged or not: the attempts since the last change of step.
    history: Vec<bool>,
    /// The rate was raised before them.
    raised: bool,
    successes: u32,
    timer: u32,
}

impl Ladder {
    pub fn new(rules: Option<Adaptation>, rates: Vec<u32>, rate: u32) -> Ladder {
        let (successes, timer) = rules.map_or((0, 0), |rules| (rules.successes, rules.timer));
        Ladder { rules, rates, rate, history: Vec::new(), raised: false, successes, timer }
    }

    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// The scenario gives another rate: everything restarts there.
    pub fn restart(&mut self, rate: u32) {
        *self = Ladder::new(self.rules, self.rates.clone(), rate);
    }

    /// A data frame, or at least half of the MPDUs of a PPDU, was acknowledged, or not.
    pub fn hear_of(&mut self, acknowledged: bool) {
        let Some(rules) = self.rules else { return };
        self.history.push(acknowledged);
        let in_a_row =
            self.history.iter().rev().take_while(|&&outcome| outcome == acknowledged).count() as u32;
        let attempts = self.history.len() as u32;
        if acknowledged {
            let next = self.rates.iter().find(|&&rate| rate > self.rate);
            if let Some(&next) = next
                && (in_a_row >= self.successes || attempts >= self.timer)
            {
                self.step_to(next, true);
            }
            return;
        }
        let probe_failed = self.raised && attempts == 1;
        if !probe_failed && in_a_row < 2 {
            return;
        }
        if probe_failed && let Some((factor, most)) = rules.adaptive {
            self.successes = (self.successes * factor).min(most);
            self.timer = self.timer.saturating_mul(factor);
        } else if !probe_failed {
            (self.successes, self.timer) = (rules.successes, rules.timer);
        }
        let below = self.rates.iter().rev().find(|&&rate| rate < self.rate);
        self.step_to(below.copied().unwrap_or(self.rate), false);
    }

    fn step_to(&mut self, rate: u32, raised: bool) {
        self.rate = rate;
        self.raised = raised;
        self.history.clear();
    }
}
