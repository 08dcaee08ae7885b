//! Congestion controls: growth and reduction of a sender's window.
//!
//! A control is one file here and one line in the registry below ([`wifair_core::registry`]). It controls the [`Window`]. The
//! loss recovery that it selects (`recovery.rs`) decides which segments are retransmitted, and when recovery starts and ends.

mod contract;

use std::ops::{Deref, DerefMut};

pub use contract::{Ack, AckSample, CongestionControl, Counting, RttSample, Window};

wifair_core::registry! {
    /// A congestion control by name, with its parameters.
    CongestionControlSpec, matched by each, run as enum Control;
    Reno => reno,
    #[serde(rename = "newreno")]
    NewReno => newreno,
    Cubic => cubic,
    Bbr => bbr,
    ArfAware => arf_aware,
    Ledbat => ledbat,
}

/// What an ACK calls is resolved at compile time, which saves instructions; the rest through [`Deref`].
impl Control {
    #[inline]
    pub(crate) fn on_ack(&mut self, window: &mut Window, ack: Ack) {
        each!(Control: self, control => control.on_ack(window, ack))
    }

    #[inline]
    pub(crate) fn on_rtt_sample(&mut self, sample: &RttSample) {
        each!(Control: self, control => control.on_rtt_sample(sample))
    }
}

impl Deref for Control {
    type Target = dyn CongestionControl;

    fn deref(&self) -> &Self::Target {
        each!(Control: self, control => control)
    }
}

impl DerefMut for Control {
    fn deref_mut(&mut self) -> &mut Self::Target {
        each!(Control: self, control => control)
    }
}

impl CongestionControlSpec {
    /// Whether the control needs delivery rate samples.
    pub fn needs_rate_samples(&self) -> bool {
        self.build().needs_rate_samples()
    }

    /// Whether the control needs what RACK measures, so `tcp.loss_detection` must be `rack`.
    pub fn needs_rack(&self) -> bool {
        let control = self.build();
        control.needs_rate_samples() || control.needs_ack_samples()
    }
}

impl Default for CongestionControlSpec {
    /// NewReno: the standard for a sender without SACK (RFC 6582, section 1).
    fn default() -> CongestionControlSpec {
        CongestionControlSpec::NewReno(Default::default())
    }
}

#[cfg(test)]
mod tests {
    use wifair_core::Time;

    use super::*;
    use crate::delivery_rate::{LostPacket, RateSample};

    const MSS: u32 = 1_000;
    const RTT: Time = Time::from_ms(50);

    fn started(spec: &CongestionControlSpec) -> (Control, Window) {
        let mut window = Window {
            cwnd: 20 * MSS,
            ssthresh: 10 * MSS,
            mss: MSS,
            credit: 0,
            slow_start_limit: MSS,
            counting: Counting::Ack,
            divisor: 1,
        };
        let mut control = spec.build();
        control.begin(&mut window, 1);
        control.on_rtt_sample(&RttSample { rtt: RTT, srtt: RTT, now: RTT });
        (control, window)
    }

    #[test]
    fn a_control_that_may_shrink_the_window_on_an_ack_says_so() {
        for spec in CongestionControlSpec::all() {
            let (mut control, mut window) = started(&spec);
            let mut shrinks = false;
            for step in 1..1_000 {
                let (now, rtt) = (RTT * (step + 1), RTT * (1 + step % 20));
                let before = window.cwnd;
                control.on_rtt_sample(&RttSample { rtt, srtt: rtt, now });
                let is_application_limited = step % 7 == 0;
                let flight_bytes = if is_application_limited { MSS } else { before };
                let ack = Ack { bytes: MSS, flight_bytes, is_application_limited, now };
                control.on_ack(&mut window, ack);
                shrinks |= window.cwnd < before;
            }
            assert_eq!(control.shrinks_on_ack(), shrinks, "{}", spec.name());
        }
    }

    #[test]
    fn a_control_that_uses_the_rtt_of_each_ack_says_that_it_needs_it() {
        let hystart = [r#"{"name": "hystart"}"#, r#"{"name": "hystart++"}"#].map(|slow_start| {
            serde_json::from_str(&format!(r#"{{"name": "cubic", "slow_start": {slow_start}}}"#)).unwrap()
        });
        for spec in CongestionControlSpec::all().into_iter().chain(hystart) {
            let (mut control, mut window) = started(&spec);
            window.ssthresh = u32::MAX;
            let before = format!("{control:?} {window:?}");
            let sample =
                AckSample { rtt: RTT, acked_to: 1, sent_to: 2, pacing_rate: None, is_paced: false, now: RTT };
            control.on_ack_sample(&mut window, &sample);
            let used = before != format!("{control:?} {window:?}");
            assert_eq!(control.needs_ack_samples(), used, "{}", spec.name());
        }
    }

    #[test]
    fn a_control_that_uses_rate_samples_says_that_it_needs_them() {
        for spec in CongestionControlSpec::all() {
            let (mut control, mut window) = started(&spec);
            let before = format!("{control:?} {window:?}");
            let (delivered, size) = (u64::from(10 * MSS), MSS);
            let sample = RateSample {
                delivery_rate: 1e6,
                delivered,
                prior_delivered: 0,
                lost: 0,
                tx_in_flight: size,
                is_app_limited: false,
                newly_acked: size,
                rtt: Some(RTT),
                total_delivered: delivered,
                in_flight: size,
                is_cwnd_limited: true,
                is_repairing: false,
            };
            let lost = LostPacket {
                size,
                start: 1,
                tx_in_flight: size,
                lost: u64::from(size),
                is_app_limited: false,
                total_delivered: delivered,
            };
            control.on_lost_packet(&mut window, &lost, RTT);
            control.on_rate_sample(&mut window, &sample, RTT);
            control.on_congestion_mark(delivered);
            control.on_transmit_from_idle(&mut window, delivered, RTT);
            let used = before != format!("{control:?} {window:?}");
            assert_eq!(control.needs_rate_samples(), used, "{}", spec.name());
        }
    }
}
