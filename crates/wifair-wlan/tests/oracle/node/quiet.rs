//! Steps that may be passed at once: those in which a listener does nothing but count.
//!
//! Each listener answers for itself, from its own timers. It may answer too few steps, never too many. What happens in a step
//! is written in the steps themselves; `oracle_self` holds a clock that is put forward equal to one that never is.

use super::Node;
use crate::oracle::contender::Contender;

impl Node {
    /// Steps from here on in which nothing that this node counts comes to its end, if nothing is heard meanwhile.
    pub fn quiet_steps(&self) -> u32 {
        let unanswered = self.expected.as_ref().filter(|expected| !expected.begun);
        // A timeout comes first in its step.
        let reordering = self.next_timeout.map(|at| (at - self.clock + 1) as u32);
        let timers = [
            reordering,
            self.response.as_ref().map(|(_, left)| *left),
            unanswered.map(|expected| expected.left),
            (self.nav_left > 0).then_some(self.nav_left),
            (self.noise_left > 0).then_some(self.noise_left),
        ];
        let until_timers = timers.into_iter().flatten().min().unwrap_or(u32::MAX);
        let until_access = match self.is_held() {
            true => u32::MAX,
            false => self.contenders.iter().map(|c| self.steps_to_change(c)).min().unwrap_or(u32::MAX),
        };
        // In the step in which something ends, something happens.
        until_timers.min(until_access).saturating_sub(1)
    }

    /// How many idle steps `contender` needs until it transmits, steps at a boundary or ends a backoff; 0 or 1: this one.
    fn steps_to_change(&self, contender: &Contender) -> u32 {
        let Contender { ifs_left, slot_elapsed, counter, .. } = *contender;
        let slot = self.rules.slot;
        let has_frame = contender.in_service.is_some();
        if ifs_left > 0 {
            ifs_left
        } else if self.expected.is_some() || (!has_frame && counter.is_none()) {
            u32::MAX
        } else if self.goes_by_boundaries() {
            if slot_elapsed == 0 { 0 } else { slot - slot_elapsed }
        } else {
            (counter.unwrap_or(0) * slot).saturating_sub(slot_elapsed)
        }
    }

    /// `steps` of those have passed.
    pub fn pass(&mut self, steps: u32) {
        self.nav_left = self.nav_left.saturating_sub(steps);
        self.noise_left = self.noise_left.saturating_sub(steps);
        self.txop_left = self.txop_left.saturating_sub(steps);
        self.clock += u64::from(steps);
        if let Some((_, left)) = &mut self.response {
            *left -= steps;
        }
        if let Some(expected) = &mut self.expected
            && !expected.begun
        {
            expected.left -= steps;
        }
        if self.is_held() {
            return;
        }
        let by_boundaries = self.goes_by_boundaries();
        let waits_for_answer = self.expected.is_some();
        let slot = self.rules.slot;
        for contender in &mut self.contenders {
            if contender.ifs_left > 0 {
                contender.ifs_left -= steps;
                contender.slot_elapsed = 0;
            } else if by_boundaries {
                contender.slot_elapsed = (contender.slot_elapsed + steps) % slot;
            } else if let Some(slots @ 1..) = contender.counter
                && !waits_for_answer
            {
                let elapsed = contender.slot_elapsed + steps;
                contender.counter = Some(slots - elapsed / slot);
                contender.slot_elapsed = elapsed % slot;
            }
        }
    }
}
