use wifair_core::Time;

use crate::spec::RtoSpec;

/// The retransmission timeout of RFC 6298, computed from RTT samples.
#[derive(Clone, Debug)]
pub(crate) struct Rto {
    estimate: Estimate,
    timeout: Time,
    sampled: bool,
}

/// SRTT and RTTVAR, in either of two arithmetics.
#[derive(Clone, Debug)]
enum Estimate {
    /// In integer nanoseconds.
    Exact { srtt: Time, variation: Time },
    /// In clock ticks: 8 · SRTT and 4 · RTTVAR as integers (Jacobson and Karels 1988, appendix A; 4.3BSD; ns-2). The variation
    /// stops falling at three quarters of a tick, so the timeout remains at least 3 ticks above SRTT.
    Ticks { tick: Time, srtt_8: u64, variation_4: u64 },
}

impl Rto {
    /// RFC 6298, 2.1.
    pub(crate) fn new(spec: &RtoSpec) -> Rto {
        let estimate = match spec.tick_ms {
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
        })
    }

    /// RFC 6298, 2.2 and 2.3 with α = 1/8, β = 1/4, K = 4, then the bounds of 2.4 and 2.5, for a segment sent at `sent` and
    /// acknowledged at `now`. A sample ends a backoff (5.7, last paragraph).
    pub(crate) fn sample(&mut self, sent: Time, now: Time, spec: &RtoSpec) {
        self.sample_of(1, sent, now, spec);
    }

    /// The same for one of `expected` samples per round trip, by which α and β are divided (RFC 7323, appendix G).
    pub(crate) fn sample_of(&mut self, expected: u64, sent: Time, now: Time, spec: &RtoSpec) {
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
                    let (old, parts) = (variation.as_ns(), 4 * expected);
                    *variation = Time::from_ns(((parts - 1) * old + deviation) / parts);
                    let (old, parts) = (srtt.as_ns(), 8 * expected);
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
        rto.sample(Time::from_ms(6), Time::from_ms(101), &spec);
        assert_eq!(rto.timeout(), Time::from_ms(300)); // (80 + 160) / 8 ticks
        // 14 ticks: deviation 4; 8 SRTT = 84, 4 RTTVAR = 20 + 4 - 5 = 19.
        rto.sample(Time::from_ms(200), Time::from_ms(340), &spec);
        assert_eq!(rto.timeout(), Time::from_ms(290)); // (84 + 152) / 8 = 29.5
        assert_eq!(rto.srtt(), Some(Time::from_ms(105)));
    }

    #[test]
    fn under_a_constant_round_trip_ticks_leave_a_margin_of_three() {
        let spec = ticks();
        let mut rto = Rto::new(&spec);
        for i in 0..100 {
            rto.sample(Time::from_ms(1_000 * i), Time::from_ms(1_000 * i + 200), &spec);
        }
        assert_eq!(rto.timeout(), Time::from_ms(230));
    }
}
