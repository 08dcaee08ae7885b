use wifair_core::Time;

use crate::spec::RtoSpec;

/// The retransmission timeout of RFC 6298, computed from round-trip samples, in integer nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Rto {
    srtt: Time,
    variation: Time,
    timeout: Time,
    sampled: bool,
}

impl Rto {
    /// RFC 6298, 2.1.
    pub(crate) fn new(spec: &RtoSpec) -> Rto {
        Rto {
            srtt: Time::ZERO,
            variation: Time::ZERO,
            timeout: Time::from_ms(u64::from(spec.initial_ms)),
            sampled: false,
        }
    }

    /// The timeout now, back-off included.
    #[inline]
    pub(crate) fn timeout(&self) -> Time {
        self.timeout
    }

    /// The smoothed round-trip time; `None` before the first sample.
    pub(crate) fn srtt(&self) -> Option<Time> {
        self.sampled.then_some(self.srtt)
    }

    /// RFC 6298, 2.2 and 2.3 with α = 1/8, β = 1/4, K = 4, then the bounds of 2.4 and 2.5. A sample ends a back-off
    /// (5.7, last paragraph).
    pub(crate) fn sample(&mut self, rtt: Time, spec: &RtoSpec) {
        let rtt_ns = rtt.as_ns();
        if self.sampled {
            let (srtt, variation) = (self.srtt.as_ns(), self.variation.as_ns());
            // The variation is updated with the old SRTT (2.3).
            self.variation = Time::from_ns((3 * variation + srtt.abs_diff(rtt_ns)) / 4);
            self.srtt = Time::from_ns((7 * srtt + rtt_ns) / 8);
        } else {
            self.srtt = rtt;
            self.variation = Time::from_ns(rtt_ns / 2);
            self.sampled = true;
        }
        let granularity = Time::from_ms(u64::from(spec.granularity_ms));
        let (min, max) = (Time::from_ms(u64::from(spec.min_ms)), Time::from_ms(u64::from(spec.max_ms)));
        self.timeout = (self.srtt + (self.variation * 4).max(granularity)).clamp(min, max);
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
