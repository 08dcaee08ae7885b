//! HyStart++: RFC 9406, "HyStart++: Modified Slow Start for TCP" (May 2023). Its names are in brackets.
//!
//! The idea: if the least RTT of a round exceeds that of the round before by an eighth, a queue may have built up. The window
//! then grows at a quarter of the pace (conservative slow start, CSS). If the RTT falls again, slow start continues. After five
//! rounds slow start ends.
//!
//! Interpretations:
//! - An ACK gives at most one sample: the RTT of the segment sent last among those that it delivers.
//! - SND.NXT, to which windowEnd is set, is acknowledged by the first ACK of data that was not sent before then.
//! - The comparison takes place at each ACK, as soon as the round has eight samples (4.2).
//! - Only the initial slow start is modified (4.3: SHOULD).

use wifair_core::Time;

use super::hystart::{MIN_SAMPLES, threshold};
use crate::congestion::{AckSample, Window};
use crate::seq;

/// Growth per ACK is at most this many segments, unless data is paced [L].
const LIMIT_SEGMENTS: u32 = 8;
/// [CSS_GROWTH_DIVISOR]
const CSS_GROWTH_DIVISOR: u32 = 4;
/// [CSS_ROUNDS]
const CSS_ROUNDS: u32 = 5;

/// State of HyStart++.
#[derive(Clone, Debug, Default)]
pub(crate) struct HystartPlusPlus {
    /// Slow start has ended for the first time.
    has_ended: bool,
    /// The round ends when more than this is acknowledged [windowEnd]; `None` before the first.
    window_end: Option<u32>,
    /// [lastRoundMinRTT], [currentRoundMinRTT]
    last_round: Option<Time>,
    current_round: Option<Time>,
    /// [rttSampleCount]
    samples: u32,
    css: Option<Css>,
    is_paced: bool,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// [cssBaselineMinRtt]
    baseline: Time,
    /// Rounds begun; the one in which CSS begins counts.
    rounds: u32,
    /// Bytes that have not yet let the window grow, less than the divisor.
    rest: u32,
}

impl HystartPlusPlus {
    pub(super) fn on_ack_sample(&mut self, window: &mut Window, sample: &AckSample) {
        if self.has_ended {
            return;
        }
        if window.cwnd >= window.ssthresh {
            return self.end();
        }
        self.is_paced = sample.is_paced;
        if self.window_end.is_none_or(|end| seq::after(sample.acked_to, end)) {
            self.window_end = Some(sample.sent_to);
            self.last_round = self.current_round.take();
            self.samples = 0;
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                if css.rounds > CSS_ROUNDS {
                    window.ssthresh = window.cwnd;
                    return self.end();
                }
            }
        }
        let current = self.current_round.map_or(sample.rtt, |least| least.min(sample.rtt));
        self.current_round = Some(current);
        self.samples += 1;
        if self.samples < MIN_SAMPLES {
            return;
        }
        match self.css {
            Some(css) if current < css.baseline => self.css = None,
            Some(_) => {}
            None if self.last_round.is_some_and(|last| current >= last + threshold(last)) => {
                self.css = Some(Css { baseline: current, rounds: 1, rest: 0 });
            }
            None => {}
        }
    }

    /// Returns by how much the window grows, if it would by `bytes` without HyStart++.
    pub(super) fn growth(&mut self, bytes: u32, mss: u32) -> u32 {
        if self.has_ended {
            return bytes;
        }
        let limited = if self.is_paced { bytes } else { bytes.min(LIMIT_SEGMENTS * mss) };
        let Some(css) = &mut self.css else { return limited };
        let counted = css.rest + limited;
        css.rest = counted % CSS_GROWTH_DIVISOR;
        counted / CSS_GROWTH_DIVISOR
    }

    /// Slow start has ended; a later one is standard.
    pub(super) fn end(&mut self) {
        *self = HystartPlusPlus { has_ended: true, ..HystartPlusPlus::default() };
    }
}
