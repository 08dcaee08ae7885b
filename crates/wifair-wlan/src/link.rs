//! One direction of the link between a station and the access point: the sender's data for each attempt, in one row.

use std::sync::Arc;

use wifair_core::{Rate, StationId, Time};

use crate::phy::{Mode, Modes, OnAir, RateIndex};
use crate::rate::RateAdaptation;
use crate::records::Usage;

/// A sender's rate towards its peer, and the usage of its frames.
///
/// An exchange uses the first cache line.
#[repr(C, align(64))]
pub(crate) struct LinkRow {
    /// Mode and durations of the next attempt.
    pub on_air: Arc<OnAir>,
    /// The link's rate, which schemes and TCP know: the rate of its attempts, without samples and retry chains.
    pub rate: Rate,
    /// Whether the next attempt samples a mode: with one MPDU.
    pub samples: bool,
    /// Whether the link has a Block Ack agreement in each category.
    pub has_agreement: bool,
    /// Whether the short path of the end of an exchange does not apply: the rate is adapted, links of the BSS have Block Ack
    /// agreements, or the BSS has a meter.
    pub ends_generally: bool,
    /// Whether `adaptation` ever changes the rate: one that does not is not asked after each frame.
    pub adapts: bool,
    pub usage: Usage,
    pub adaptation: Box<dyn RateAdaptation>,
    /// Mode of the last try of the last PPDU that the rate adaptation has received; none with PPDUs of one try.
    pub last_try: Option<Mode>,
    /// When the rate last changed.
    rate_since: Time,
    /// Integral of the rate over time until then, in kbit/s · ns.
    rate_integral: u128,
}

impl LinkRow {
    pub(crate) fn new(on_air: Arc<OnAir>, adaptation: Box<dyn RateAdaptation>) -> LinkRow {
        LinkRow {
            usage: Usage::default(),
            samples: false,
            rate: on_air.rate(),
            on_air,
            has_agreement: false,
            ends_generally: true,
            adapts: adaptation.adapts(),
            adaptation,
            last_try: None,
            rate_since: Time::ZERO,
            rate_integral: 0,
        }
    }

    /// The link has another rate from `now` on.
    pub(crate) fn set_rate(&mut self, rate: Rate, now: Time) {
        self.rate_integral = self.rate_integral_at(now);
        self.rate_since = now;
        self.rate = rate;
    }

    /// Integral of the rate over time until `now`, in kbit/s · ns.
    pub(crate) fn rate_integral_at(&self, now: Time) -> u128 {
        let span = (now - self.rate_since).as_ns();
        self.rate_integral + u128::from(span) * u128::from(self.rate.as_kbps())
    }
}

/// The modes of each station's links.
pub(crate) struct StationModes {
    kinds: Vec<Modes>,
    /// By station: index into `kinds`.
    of_station: Vec<u16>,
}

impl StationModes {
    /// Creates the modes; `of_station` has each station's index into `kinds`.
    pub(crate) fn new(kinds: Vec<Modes>, of_station: Vec<u16>) -> StationModes {
        StationModes { kinds, of_station }
    }

    /// A mode of a station's links, after an RTS whatever the length if `rts`.
    pub(crate) fn on_air(&self, station: StationId, mode: RateIndex, rts: bool) -> Arc<OnAir> {
        let modes = self.of(station);
        match rts {
            false => modes.shared(mode),
            true => Arc::new(modes.on_air(mode).after_rts()),
        }
    }

    pub(crate) fn of(&self, station: StationId) -> &Modes {
        &self.kinds[usize::from(self.of_station[station.index()])]
    }
}
