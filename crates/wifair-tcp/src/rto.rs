use wifair_core::Time;

use crate::seq;
use crate::spec::{RtoSpec, RttSamples};

/// The retransmission timeout of RFC 6298, computed from RTT samples.
#[derive(Clone, Debug)]
pub(crate) struct Rto {
    estimate: Estimate,
    timeout: Time,
    sampled: bool,
}

/// SRTT and RTTVAR, by one of three rules.
#[derive(Clone, Debug)]
enum Estimate {
    /// In integer nanoseconds.
    Exact { srtt: Time, variation: Time },
    /// In clock ticks: 8 · SRTT and 4 · RTTVAR as integers (Jacobson and Karels 1988, appendix A; 4.3BSD; ns-2). The variation
    /// stops falling at three quarters of a tick, so the timeout remains at least 3 ticks above SRTT.
    Ticks { tick: Time, srtt_8: u64, variation_4: u64 },
    /// As Linux's `tcp_rtt_estimator()`, in integer nanoseconds.
    Linux(Box<LinuxEstimate>),
}

/// What Linux keeps of its samples (`tcp_rtt_estimator()` in `net/ipv4/tcp_input.c` of 6.12).
#[derive(Clone, Debug, Default)]
struct LinuxEstimate {
    /// 8 SRTT: `srtt_us`.
    srtt_8: u64,
    /// 4 times the mean deviation, and the largest of them in this round trip: `mdev_us`, `mdev_max_us`.
    deviation_4: u64,
    largest_deviation_4: u64,
    /// What is added to SRTT: `rttvar_us`.
    variation: u64,
    /// One past the highest sequence number sent when this round trip began: `rtt_seq`.
    round_end: u32,
}

/// The round trip of a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    /// First unacknowledged sequence number, and the next that is sent.
    pub(crate) una: u32,
    pub(crate) nxt: u32,
    /// Samples that it is expected to give.
    pub(crate) samples: u64,
}

impl RoundTrip {
    /// That of a segment which is alone under way.
    pub(crate) const SINGLE: RoundTrip = RoundTrip { una: 0, nxt: 0, samples: 1 };
}

impl LinuxEstimate {
    /// Takes a sample in nanoseconds; the variation is at least `least` (`tcp_rto_min()`).
    fn sample(&mut self, rtt: u64, least: u64, first: bool, at: RoundTrip) {
        if first {
            (self.srtt_8, self.deviation_4) = (8 * rtt, 2 * rtt);
            self.variation = self.deviation_4.max(least);
            (self.largest_deviation_4, self.round_end) = (self.variation, at.nxt);
            return;
        }
        let (srtt, old) = (self.srtt_8 / 8, self.deviation_4 / 4);
        self.srtt_8 = self.srtt_8 + rtt - srtt;
        let deviation = srtt.abs_diff(rtt);
        self.deviation_4 = match deviation > old {
            // A sample far below SRTT counts an eighth, so that a path that becomes faster does not lengthen the timeout.
            true if rtt < srtt => self.deviation_4 + (deviation - old) / 8,
            _ => self.deviation_4 + deviation - old,
        };
        self.largest_deviation_4 = self.largest_deviation_4.max(self.deviation_4);
        self.variation = self.variation.max(self.largest_deviation_4);
        if seq::before(self.round_end, at.una) {
            self.variation -= (self.variation - self.largest_deviation_4) / 4;
            (self.largest_deviation_4, self.round_end) = (least, at.nxt);
        }
    }
}

impl Rto {
    /// RFC 6298, 2.1.
    pub(crate) fn new(spec: &RtoSpec) -> Rto {
        let estimate = match spec.tick_ms {
            None if spec.samples == RttSamples::Linux => Estimate::Linux(Box::default()),
            None => Estimate::Exact { srtt: Time::ZERO, variation: Time::ZERO },
            Some(ms) => Estimate::Ticks { tick: Time::from_ms(u64::from(ms)), srtt_8: 0, variation_4: 0 },
        };
        Rto { estimate, timeout: Time::from_ms(u64::from(spec.initial_ms)), sampled: false }
    }

    /// The current timeout, backoff included.
    pub(crate) fn timeout(&self) -> Time {
        self.timeout
    }

    /// The smoothed RTT; `None` before the first sample.
    pub(crate) fn srtt(&self) -> Option<Time> {
        self.sampled.then(|| match &self.estimate {
            Estimate::Exact { srtt, .. } => *srtt,
            Estimate::Ticks { tick, srtt_8, .. } => Time::from_ns(tick.as_ns() * srtt_8 / 8),
            Estimate::Linux(estimate) => Time::from_ns(estimate.srtt_8 / 8),
        })
    }

    /// RFC 6298, 2.2 and 2.3 with α = 1/8, β = 1/4, K = 4, then the bounds of 2.4 and 2.5, for a segment sent at `sent` and
    /// acknowledged at `now`; α and β are divided by the number of samples per round trip (RFC 7323, appendix G). A sample
    /// ends a backoff (5.7, last paragraph).
    pub(crate) fn sample(&mut self, sent: Time, now: Time, at: RoundTrip, spec: &RtoSpec) {
        let (min, max) = (Time::from_ms(u64::from(spec.min_ms)), Time::from_ms(u64::from(spec.max_ms)));
        let first = !std::mem::replace(&mut self.sampled, true);
        let timeout = match &mut self.estimate {
            Estimate::Exact { srtt, variation } => {
                let rtt = now - sent;
                if first {
                    (*srtt, *variation) = (rtt, Time::from_ns(rtt.as_ns() / 2));
                } else {
                    let deviation = srtt.as_ns().abs_diff(rtt.as_ns());
                    // The variation is updated with the old SRTT (2.3).
                    let (old, parts) = (variation.as_ns(), 4 * at.samples);
                    *variation = Time::from_ns(((parts - 1) * old + deviation) / parts);
                    let (old, parts) = (srtt.as_ns(), 8 * at.samples);
                    *srtt = Time::from_ns(((parts - 1) * old + rtt.as_ns()) / parts);
                }
                *srtt + (*variation * 4).max(Time::from_ms(u64::from(spec.granularity_ms)))
            }
            Estimate::Ticks { tick, srtt_8, variation_4 } => {
                // The clock is read in whole ticks at both ends.
                let rtt = (now / *tick - sent / *tick).max(1);
                if first {
                    (*srtt_8, *variation_4) = (8 * rtt, 2 * rtt);
                } else {
                    let deviation = (*srtt_8 / 8).abs_diff(rtt);
                    *srtt_8 = (*srtt_8 + rtt - *srtt_8 / 8).max(1);
                    *variation_4 = (*variation_4 + deviation - *variation_4 / 4).max(1);
                }
                *tick * ((*srtt_8 + 8 * *variation_4) / 8)
            }
            Estimate::Linux(estimate) => {
                let least = Time::from_ms(u64::from(spec.granularity_ms)).as_ns();
                estimate.sample((now - sent).as_ns(), least, first, at);
                Time::from_ns(estimate.srtt_8 / 8 + estimate.variation)
            }
        };
        self.timeout = timeout.clamp(min, max);
    }

    /// RFC 6298, 5.5.
    pub(crate) fn back_off(&mut self, spec: &RtoSpec) {
        self.timeout = (self.timeout * 2).min(Time::from_ms(u64::from(spec.max_ms)));
    }

    /// RFC 6298, 5.7: a SYN was lost, so data starts with a timeout of at least 3 s.
    pub(crate) fn restart_after_lost_syn(&mut self, spec: &RtoSpec) {
        let initial = Time::from_ms(u64::from(spec.initial_ms)).max(Time::from_s(3));
        self.timeout = initial.min(Time::from_ms(u64::from(spec.max_ms)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks() -> RtoSpec {
        RtoSpec { min_ms: 1, tick_ms: Some(10), ..RtoSpec::default() }
    }

    #[test]
    fn ticks_by_hand() {
        let spec = ticks();
        let mut rto = Rto::new(&spec);
        // 95 ms that begin 6 ms into a tick cross 10 boundaries: 8 SRTT = 80, 4 RTTVAR = 20.
        rto.sample(Time::from_ms(6), Time::from_ms(101), RoundTrip::SINGLE, &spec);
        assert_eq!(rto.timeout(), Time::from_ms(300)); // (80 + 160) / 8 ticks
        // 14 ticks: deviation 4; 8 SRTT = 84, 4 RTTVAR = 20 + 4 - 5 = 19.
        rto.sample(Time::from_ms(200), Time::from_ms(340), RoundTrip::SINGLE, &spec);
        assert_eq!(rto.timeout(), Time::from_ms(290)); // (84 + 152) / 8 = 29.5
        assert_eq!(rto.srtt(), Some(Time::from_ms(105)));
    }

    #[test]
    fn under_a_constant_round_trip_ticks_leave_a_margin_of_three() {
        let spec = ticks();
        let mut rto = Rto::new(&spec);
        for i in 0..100 {
            rto.sample(Time::from_ms(1_000 * i), Time::from_ms(1_000 * i + 200), RoundTrip::SINGLE, &spec);
        }
        assert_eq!(rto.timeout(), Time::from_ms(230));
    }
}
