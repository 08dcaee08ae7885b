//! The tries of a PPDU that is sent again as it was formed (`docs/medium.md`, section 12).

use crate::node::LinkId;
use crate::phy::RateIndex;
use crate::rate::{ChainOutcome, ChainSegment};
use wifair_core::Time;

/// The tries of a PPDU: the one on the air or next, and those before and after it.
#[derive(Clone, Debug)]
pub(crate) struct Tries {
    chain: Vec<ChainSegment>,
    /// By segment of the chain: how often the PPDU was sent.
    sent: Vec<u32>,
    /// The segment of the present try.
    place: usize,
    /// How many tries the segment has, the present one included.
    left: u32,
    /// Whether the present try has failed.
    has_failed: bool,
}

impl Tries {
    /// Those of a new PPDU with a chain, which is not empty.
    pub fn new(chain: Vec<ChainSegment>) -> Tries {
        let left = chain[0].attempts;
        Tries { sent: vec![0; chain.len()], chain, place: 0, left, has_failed: false }
    }

    /// Whether the present try is not the last.
    fn has_more(&self) -> bool {
        self.left > 1 || self.place + 1 < self.chain.len()
    }

    fn outcome(&self, sent: u32, acknowledged: u32) -> ChainOutcome {
        let modes = self.chain.iter().map(|segment| segment.mode).zip(self.sent.iter().copied());
        let tries: Vec<(RateIndex, u32)> = modes.filter(|(_, tries)| *tries > 0).collect();
        ChainOutcome { tries, sent, acknowledged, now: Time::ZERO }
    }
}

/// The tries of what a channel access function has in service, if that is a PPDU with several, and what is to be reported of
/// the last one that had.
#[derive(Debug, Default)]
pub(crate) struct TriesInService {
    present: Option<Tries>,
    /// The link of the last PPDU, if that was a sample with several tries.
    sampled: Option<LinkId>,
    ended: Option<ChainOutcome>,
}

impl TriesInService {
    /// Puts a PPDU in service; `None` if it has one try. `sampled`: its link, if it is a sample.
    pub fn begin(&mut self, tries: Option<Tries>, sampled: Option<LinkId>) {
        self.sampled = sampled.filter(|_| tries.is_some());
        self.present = tries;
    }

    /// Whether the PPDU that was put in service last is a sample of the link with several tries.
    pub fn has_sampled(&self, link: LinkId) -> bool {
        self.sampled == Some(link)
    }

    /// Ends the service of the PPDU.
    pub fn leave(&mut self) {
        self.present = None;
    }

    /// Counts a transmission of the PPDU itself.
    pub fn count_sent(&mut self) {
        if let Some(tries) = &mut self.present {
            tries.sent[tries.place] += 1;
        }
    }

    /// The present try has failed. Returns whether another follows.
    pub fn fail(&mut self) -> bool {
        let Some(tries) = &mut self.present else { return false };
        tries.has_failed = true;
        tries.has_more()
    }

    /// Whether another try follows the present one if that fails.
    pub fn has_more(&self) -> bool {
        self.present.as_ref().is_some_and(Tries::has_more)
    }

    /// Advances to the try that follows a failed one, if there is one.
    pub fn retry(&mut self) -> Option<ChainSegment> {
        let tries = self.present.as_mut().filter(|tries| tries.has_failed && tries.has_more())?;
        tries.has_failed = false;
        tries.left -= 1;
        if tries.left == 0 {
            tries.place += 1;
            tries.left = tries.chain[tries.place].attempts;
        }
        Some(tries.chain[tries.place])
    }

    /// The PPDU of so many MPDUs ends, some of which are acknowledged or given up: this is to be reported.
    pub fn end(&mut self, mpdus: u32, acknowledged: u32) {
        self.ended = self.present.as_ref().map(|tries| tries.outcome(mpdus, acknowledged));
    }

    /// Takes what is to be reported at `now`.
    pub fn take_ended(&mut self, now: Time) -> Option<ChainOutcome> {
        self.ended.take().map(|outcome| ChainOutcome { now, ..outcome })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(mode: u16, attempts: u32) -> ChainSegment {
        ChainSegment { mode: RateIndex(mode), attempts, rts: mode > 0 }
    }

    /// Two tries in one mode, one in the next, the second of the three with an RTS that is not answered.
    #[test]
    fn a_chain_is_tried_to_its_end() {
        let mut service = TriesInService::default();
        service.begin(Some(Tries::new(vec![segment(7, 2), segment(4, 1)])), None);
        let mut modes = vec![7];
        for is_sent in [true, false] {
            if is_sent {
                service.count_sent();
            }
            assert!(service.retry().is_none(), "the present try has not failed");
            assert!(service.has_more() && service.fail());
            modes.push(service.retry().unwrap().mode.0);
        }
        service.count_sent();
        assert_eq!(modes, [7, 7, 4]);
        assert!(!service.has_more() && !service.fail() && service.retry().is_none());
        service.end(5, 0);
        service.leave();
        let tries = vec![(RateIndex(7), 1), (RateIndex(4), 1)];
        let now = Time::from_us(3);
        assert_eq!(service.take_ended(now), Some(ChainOutcome { tries, sent: 5, acknowledged: 0, now }));
        assert_eq!(service.take_ended(now), None);
    }
}
