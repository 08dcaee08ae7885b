//! `arf-aware`: S. Yoo, T.-K. Kim, C. Yoo, "Resolving Performance Anomaly using ARF-aware TCP", section 3.
//!
//! The idea: a station whose link falls to a lower rate takes more air for each packet. Its sender is notified of the
//! rate and divides its window by k = ⌈highest rate / rate⌉, so that the station's share of the air stays what it was; back at
//! the highest rate the saved window is used again. It works on top of any other control.
//!
//! Interpretations:
//! - What AIMD works on below the highest rate (`window`). The paper says three things: "TCP uses arf_cwnd when in the arf
//!   mode, and also saves cwnd"; "the saved cwnd value is used again"; AIMD "finds an available bandwidth with increasing
//!   the congestion window size". `own`, see [`OwnWindowSpec`]: arf_cwnd is a separate window, which starts at ⌊cwnd / k⌋
//!   and is moved by AIMD. Without bound it follows all three sentences; with the paper's scenarios there is then no gain
//!   (docs/arf-aware-tcp.md). `capped` at ⌊cwnd / k⌋ it follows the first two. `scaled`, the default: cwnd grows on under
//!   its own control and arf_cwnd = ⌊cwnd / k⌋ follows it, so the division lasts as long as the low rate does. This follows
//!   the first and the third in part. No sentence decides between `scaled` and capped `own`.
//! - How the saved window comes back (`restore`): the paper says that it "is used again", so at once by default, at the
//!   price of a burst; by slow start up to it otherwise.
//! - "Enters the arf mode when link rate is changed from the highest speed": a connection that opens at a lower rate is in
//!   the mode as well if it is notified of that rate. The paper has no such case; fair shares of the air need it.
//! - Window and arf_cwnd count whole segments, at least one, as the paper's do.
//! - A rate above `max_rate_mbps` gives k = 1: the normal mode.
//! - A change during fast recovery concerns the window to which recovery will lead, ssthresh; the paper is silent.
//! - FlightSize at a loss, which halves the window (RFC 5681, equation 4), counts k-fold in `scaled`: it is 1/k of what the
//!   saved window stands for.
//! - How the sender is notified (`polling`): from its driver at once, the paper's first option, which its evaluation assumes;
//!   or by asking from time to time, its second (SNMP).
//!
//! Deviations: none known. The sender must be the host with the wireless link; a server behind the access point cannot
//! know the rate, unless something notifies it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, Rate, SpecError, Time};

use super::{Ack, AckSample, CongestionControl, CongestionControlSpec, Control, RttSample, Window};
use crate::recovery_rule::RecoveryRule;

/// Description in the registry.
pub const INFO: Info = Info {
    name: "arf-aware",
    source: "arf-aware-tcp, section 3",
    idea: "The window divided by highest rate / link rate while the sender's own link is slow,\n\
           so that a slow station does not take more of the air; on top of any other control.",
};

/// Parameters of [`ArfAware`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Congestion control whose window is divided. The paper compares with NewReno.
    pub over: Box<CongestionControlSpec>,
    /// Highest rate of the link, in Mbit/s (the paper: 11). At this rate or above, the window is not divided.
    pub max_rate_mbps: f64,
    /// What AIMD works on below the highest rate.
    pub window: ArfWindowSpec,
    /// How the saved window comes back at the highest rate.
    pub restore: Restore,
    /// Polling of the link's rate. Unset: the driver reports each change at once.
    pub polling: Option<PollingSpec>,
}

/// What AIMD works on while the link is slow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum ArfWindowSpec {
    /// cwnd continues under its control; ⌊cwnd / k⌋ may be outstanding.
    Scaled(ScaledWindowSpec),
    /// A separate window, which starts at ⌊cwnd / k⌋.
    Own(OwnWindowSpec),
}

/// `scaled` has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScaledWindowSpec {}

/// Parameters of an arf_cwnd that is a separate window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OwnWindowSpec {
    /// Whether it grows beyond ⌊cwnd / k⌋.
    pub growth: ArfGrowth,
    /// The slow start threshold on entering: the paper changes cwnd alone, so slow start may follow.
    pub ssthresh: ArfThreshold,
    /// What a change between two lower rates divides.
    pub divides: ArfDivides,
    /// What a loss while the link is slow does to the saved window: nothing in the paper, "the saved cwnd value is used
    /// again".
    pub saved_after_loss: SavedAfterLoss,
}

/// Growth of a separate arf_cwnd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArfGrowth {
    /// AIMD moves it like any window: "the AIMD algorithm finds an available bandwidth".
    #[default]
    Aimd,
    /// Losses make it fall, and it grows back to where it started.
    Capped,
}

/// The slow start threshold when a separate arf_cwnd starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArfThreshold {
    /// As it was.
    #[default]
    Kept,
    /// Not above arf_cwnd: congestion avoidance follows.
    Lowered,
}

/// What a change between two rates below the highest divides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArfDivides {
    /// The saved window, by the new k, as the paper's formula reads.
    #[default]
    Saved,
    /// The present one, by the new k over the old one: what AIMD has found since is kept.
    Present,
}

/// The saved window after a loss at a low rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SavedAfterLoss {
    /// As it was.
    #[default]
    Kept,
    /// Halved, two segments at least.
    Halved,
}

/// The way back to the saved window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restore {
    /// It is the window again.
    #[default]
    AtOnce,
    /// It becomes the slow start threshold, and the window starts from arf_cwnd.
    SlowStart,
}

/// When a sender polls the rate of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PollingSpec {
    /// Time between two polls, in milliseconds. The paper gives none; SNMP managers poll once per second at most.
    pub period_ms: u32,
    /// Time from the start of the run to the first poll, in milliseconds; less than `period_ms`.
    pub phase_ms: u32,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            over: Box::default(),
            max_rate_mbps: 11.0,
            window: ArfWindowSpec::Scaled(ScaledWindowSpec::default()),
            restore: Restore::default(),
            polling: None,
        }
    }
}

impl Default for PollingSpec {
    fn default() -> PollingSpec {
        PollingSpec { period_ms: 1_000, phase_ms: 0 }
    }
}

impl PollingSpec {
    /// The first polling time at or after `now`.
    fn next(self, now: Time) -> Time {
        let (period, phase) =
            (Time::from_ms(u64::from(self.period_ms)), Time::from_ms(u64::from(self.phase_ms)));
        let periods = now.saturating_sub(phase).as_ns().div_ceil(period.as_ns());
        phase + period * periods
    }
}

impl Spec {
    /// Checks every value. `path` is the component's key in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        if matches!(*self.over, CongestionControlSpec::ArfAware(_)) {
            return Err(SpecError::new(format!("{path}.over.name"), INFO.name, "a control of another name"));
        }
        if self.over.needs_rate_samples() {
            let allowed = "a control that does not need delivery rate samples";
            return Err(SpecError::new(format!("{path}.over.name"), self.over.name(), allowed));
        }
        if !(self.max_rate_mbps.is_finite() && (0.001..=1e6).contains(&self.max_rate_mbps)) {
            let key = format!("{path}.max_rate_mbps");
            return Err(SpecError::new(key, self.max_rate_mbps, "0.001 to 1000000 Mbps"));
        }
        if let Some(polling) = self.polling {
            if !(1..=3_600_000).contains(&polling.period_ms) {
                let key = format!("{path}.polling.period_ms");
                return Err(SpecError::new(key, polling.period_ms, "1 to 3,600,000 ms"));
            }
            if polling.phase_ms >= polling.period_ms {
                let allowed = format!("0 to {} ms, less than period_ms", polling.period_ms - 1);
                return Err(SpecError::new(format!("{path}.polling.phase_ms"), polling.phase_ms, allowed));
            }
        }
        self.over.validate(&format!("{path}.over"))
    }

    /// Creates a control with these parameters, in the normal mode.
    pub fn build(&self) -> ArfAware {
        let max_rate = Rate::from_mbps(self.max_rate_mbps);
        ArfAware(Box::new(ArfState {
            over: self.over.build(),
            spec: self.clone(),
            max_rate,
            rate: max_rate,
            k: 1,
            saved: 0,
            cap: u32::MAX,
        }))
    }
}

/// Another control, whose window is divided while the link is slow.
#[derive(Clone, Debug)]
pub struct ArfAware(Box<ArfState>);

#[derive(Clone, Debug)]
struct ArfState {
    over: Control,
    spec: Spec,
    max_rate: Rate,
    /// The current rate, whether or not the sender knows it.
    rate: Rate,
    /// ⌈highest rate / rate⌉ by the last known rate; 1 in the normal mode.
    k: u32,
    /// `own`: the window to be restored.
    saved: u32,
    /// `own` and capped: the initial window.
    cap: u32,
}

/// The window to change: during fast recovery the one that follows it.
fn window_to_come(window: &mut Window, in_recovery: bool) -> &mut u32 {
    if in_recovery { &mut window.ssthresh } else { &mut window.cwnd }
}

impl ArfState {
    /// Switches to the mode for `self.rate`.
    fn take_rate(&mut self, window: &mut Window, in_recovery: bool) {
        let old = self.k;
        self.k = self.max_rate.as_kbps().div_ceil(self.rate.as_kbps().max(1));
        if self.k == old {
            return;
        }
        match &self.spec.window {
            ArfWindowSpec::Scaled(_) => {
                window.divisor = self.k;
                if self.k == 1 && self.spec.restore == Restore::SlowStart {
                    let saved = *window_to_come(window, in_recovery);
                    window.ssthresh = saved;
                    if !in_recovery {
                        window.cwnd = window.divided(saved, old);
                    }
                }
            }
            ArfWindowSpec::Own(own) => {
                if self.k == 1 {
                    self.cap = u32::MAX;
                    match self.spec.restore {
                        Restore::AtOnce => *window_to_come(window, in_recovery) = self.saved,
                        Restore::SlowStart => window.ssthresh = self.saved,
                    }
                    return;
                }
                let present = *window_to_come(window, in_recovery);
                if old == 1 {
                    self.saved = present;
                }
                let whole = match own.divides {
                    ArfDivides::Saved => self.saved,
                    ArfDivides::Present => present.saturating_mul(old),
                };
                let arf_cwnd = window.divided(whole, self.k);
                *window_to_come(window, in_recovery) = arf_cwnd;
                if own.growth == ArfGrowth::Capped {
                    self.cap = arf_cwnd;
                }
                if own.ssthresh == ArfThreshold::Lowered {
                    window.ssthresh = window.ssthresh.min(arf_cwnd);
                }
            }
        }
    }
}

impl ArfState {
    /// Converts `flight_bytes` to the undivided window: outstanding data is divided as the window is.
    fn whole(&self, window: &Window, flight_bytes: u32) -> u32 {
        if window.divisor == 1 {
            return flight_bytes;
        }
        flight_bytes.saturating_mul(window.divisor).min(window.cwnd).max(flight_bytes)
    }

    /// `own`: a loss on a slow link.
    fn after_loss(&mut self, window: &mut Window) {
        if self.k > 1
            && let ArfWindowSpec::Own(own) = &self.spec.window
        {
            window.ssthresh = window.ssthresh.min(self.cap); // which may be one segment
            if own.saved_after_loss == SavedAfterLoss::Halved {
                self.saved = (self.saved / 2).max(2 * window.mss);
            }
        }
    }
}

impl CongestionControl for ArfAware {
    fn recovery(&self) -> RecoveryRule {
        self.0.over.recovery()
    }

    fn begin(&mut self, window: &mut Window, identity: u32) {
        self.0.over.begin(window, identity);
    }

    #[inline(never)]
    fn on_ack(&mut self, window: &mut Window, ack: Ack) {
        if window.cwnd < self.0.cap || self.shrinks_on_ack() {
            let flight_bytes = self.0.whole(window, ack.flight_bytes);
            self.0.over.on_ack(window, Ack { flight_bytes, ..ack });
            window.cwnd = window.cwnd.min(self.0.cap);
        }
    }

    fn shrinks_on_ack(&self) -> bool {
        self.0.over.shrinks_on_ack()
    }

    fn on_loss(&mut self, window: &mut Window, flight_bytes: u32) {
        let flight = self.0.whole(window, flight_bytes);
        self.0.over.on_loss(window, flight);
        self.0.after_loss(window);
    }

    fn on_timeout(&mut self, window: &mut Window, flight_bytes: u32) {
        let flight = self.0.whole(window, flight_bytes);
        self.0.over.on_timeout(window, flight);
        self.0.after_loss(window);
    }

    fn on_rtt_sample(&mut self, sample: &RttSample) {
        self.0.over.on_rtt_sample(sample);
    }

    fn needs_ack_samples(&self) -> bool {
        self.0.over.needs_ack_samples()
    }

    fn on_ack_sample(&mut self, window: &mut Window, sample: &AckSample) {
        self.0.over.on_ack_sample(window, sample);
    }

    fn on_link_rate(&mut self, window: &mut Window, in_recovery: bool, now: Time, rate: Rate) -> Time {
        let state = &mut *self.0;
        state.rate = rate;
        let heard_at = state.spec.polling.map_or(now, |polling| polling.next(now));
        if heard_at > now {
            return heard_at;
        }
        state.take_rate(window, in_recovery);
        Time::MAX
    }

    fn on_poll(&mut self, window: &mut Window, in_recovery: bool) {
        self.0.take_rate(window, in_recovery);
    }
}
