//! The position of a station and the resulting signal-to-noise ratio: log-distance path loss and slow fading.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Rng, SpecError, Time};

use super::error_rate::ln_byte_survival;
use crate::check;
use crate::phy::Mode;

/// How the signal gets from a station with a position to the AP, and back: the same both ways.
///
/// SNR in dB = `tx_power_dbm` − `reference_loss_db` − 10 · `path_loss_exponent` · log10(distance / 1 m) + fading −
/// `noise_dbm`; distances under 1 m count as 1 m.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelSpec {
    /// Transmit power of every node, in dBm. 15 is typical of 802.11b access points.
    pub tx_power_dbm: f64,
    /// Path loss at 1 m, in dB. Free space at 2.4 GHz has 40.05.
    pub reference_loss_db: f64,
    /// Path loss exponent: 2 in free space, about 3 indoors.
    pub path_loss_exponent: f64,
    /// Receiver noise over 22 MHz, in dBm, thermal noise and noise figure together. It scales with the
    /// channel width.
    pub noise_dbm: f64,
    /// Sampling interval of positions and fading, in seconds.
    pub update_interval_s: f64,
    /// Slow (log-normal) fading. Without the table, none.
    pub fading: Option<FadingSpec>,
}

/// Log-normal fading, correlated in time (Gudmundson 1991): in dB a Gaussian process with correlation
/// exp(−Δt / `coherence_time_s`). Two draws from the station's stream `"fading"` for each `update_interval_s`, whatever
/// is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FadingSpec {
    /// Standard deviation in dB.
    pub sigma_db: f64,
    /// Time after which the correlation has fallen to 1/e, in seconds.
    pub coherence_time_s: f64,
}

impl Default for ChannelSpec {
    fn default() -> ChannelSpec {
        ChannelSpec {
            tx_power_dbm: 15.0,
            reference_loss_db: 40.05,
            path_loss_exponent: 3.0,
            noise_dbm: -93.6,
            update_interval_s: 0.1,
            fading: None,
        }
    }
}

impl ChannelSpec {
    pub(crate) fn validate(&self, path: &str) -> Result<(), SpecError> {
        check::number(path, "tx_power_dbm", self.tx_power_dbm, -100.0..=100.0, "dBm")?;
        check::number(path, "reference_loss_db", self.reference_loss_db, 0.0..=200.0, "dB")?;
        check::number(path, "path_loss_exponent", self.path_loss_exponent, 0.0..=10.0, "")?;
        check::number(path, "noise_dbm", self.noise_dbm, -200.0..=100.0, "dBm")?;
        check::number(path, "update_interval_s", self.update_interval_s, 1e-3..=1e3, "s")?;
        if let Some(fading) = &self.fading {
            let path = format!("{path}.fading");
            check::number(&path, "sigma_db", fading.sigma_db, 0.0..=50.0, "dB")?;
            check::number(&path, "coherence_time_s", fading.coherence_time_s, 1e-3..=1e6, "s")?;
        }
        Ok(())
    }

    /// Path loss in dB at a distance.
    pub(crate) fn path_loss_db(&self, distance_m: f64) -> f64 {
        self.reference_loss_db + 10.0 * self.path_loss_exponent * libm::log10(distance_m.max(1.0))
    }

    /// Signal-to-noise ratio in dB at a distance, without fading.
    fn snr_db(&self, distance_m: f64) -> f64 {
        self.tx_power_dbm - self.path_loss_db(distance_m) - self.noise_dbm
    }
}

/// A position that moves in a straight line, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Track {
    pub from_m: [f64; 2],
    pub since: Time,
    pub velocity_m_per_s: [f64; 2],
}

impl Track {
    /// Where it is at `now`.
    pub(super) fn at(&self, now: Time) -> [f64; 2] {
        let seconds = (now - self.since).as_secs_f64();
        std::array::from_fn(|axis| self.from_m[axis] + seconds * self.velocity_m_per_s[axis])
    }
}

/// The radio link of one station.
pub(super) struct Radio {
    pub track: Track,
    ap_m: [f64; 2],
    /// The interval for which the other fields hold; `None` if they must be recomputed.
    interval: Option<u64>,
    position_m: [f64; 2],
    snr_db: f64,
    fading: Option<Fading>,
    /// [`ln_byte_survival`] of the modes that were asked for in the interval.
    ln_byte_survival: Vec<(Mode, f64)>,
}

/// Normal with mean 0 and deviation 1; two draws. By Box and Muller 1958; one of the pair is used.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    // The draw is below one, so the logarithm is finite.
    let radius = libm::sqrt(-2.0 * libm::log1p(-rng.unit()));
    radius * libm::cos(2.0 * std::f64::consts::PI * rng.unit())
}

struct Fading {
    rng: Rng,
    /// Correlation from one interval to the next.
    correlation: f64,
    sigma_db: f64,
    /// Of the interval `drawn` − 1.
    value_db: f64,
    /// How many intervals have been drawn.
    drawn: u64,
}

impl Fading {
    /// The fading in dB in the given interval, which must not precede the last one asked for.
    fn at(&mut self, interval: u64) -> f64 {
        while self.drawn <= interval {
            let normal = normal(&mut self.rng);
            let kept = if self.drawn == 0 { 0.0 } else { self.correlation };
            self.value_db = kept * self.value_db + libm::sqrt(1.0 - kept * kept) * self.sigma_db * normal;
            self.drawn += 1;
        }
        self.value_db
    }
}

impl Radio {
    pub(super) fn new(track: Track, ap_m: [f64; 2], spec: &ChannelSpec, rng: Rng) -> Radio {
        let fading = spec.fading.as_ref().map(|fading| Fading {
            rng,
            correlation: libm::exp(-spec.update_interval_s / fading.coherence_time_s),
            sigma_db: fading.sigma_db,
            value_db: 0.0,
            drawn: 0,
        });
        Radio {
            track,
            ap_m,
            interval: None,
            position_m: [0.0; 2],
            snr_db: 0.0,
            fading,
            ln_byte_survival: Vec::new(),
        }
    }

    /// Moves the station to another track from `now` on.
    pub(super) fn set_track(&mut self, track: Track) {
        self.track = track;
        self.interval = None;
    }

    /// Probability that a frame of `bytes` in `mode` cannot be decoded.
    pub(super) fn frame_error_rate(&mut self, mode: &Mode, bytes: u32, now: Time, spec: &ChannelSpec) -> f64 {
        self.look(now, spec);
        let ln_byte_survival = match self.ln_byte_survival.iter().find(|(other, _)| other == mode) {
            Some(&(_, known)) => known,
            None => {
                let of_mode = ln_byte_survival(mode, libm::pow(10.0, self.snr_db / 10.0));
                self.ln_byte_survival.push((*mode, of_mode));
                of_mode
            }
        };
        -libm::expm1(f64::from(bytes) * ln_byte_survival)
    }

    /// Samples position and signal-to-noise ratio, once per interval.
    pub(super) fn look(&mut self, now: Time, spec: &ChannelSpec) {
        let interval = now.as_ns() / Time::from_secs_f64(spec.update_interval_s).as_ns();
        if self.interval == Some(interval) {
            return;
        }
        self.interval = Some(interval);
        self.position_m = self.track.at(now);
        let fading_db = self.fading.as_mut().map_or(0.0, |fading| fading.at(interval));
        self.snr_db = spec.snr_db(distance_m(self.position_m, self.ap_m)) + fading_db;
        self.ln_byte_survival.clear();
    }

    /// Signal-to-noise ratio in dB of this station at the AP, and of the AP at this station, at the last sample.
    pub(super) fn snr_db(&self) -> f64 {
        self.snr_db
    }

    /// The same at another station, without fading.
    pub(super) fn snr_db_at(&self, other: &Radio, spec: &ChannelSpec) -> f64 {
        spec.snr_db(distance_m(self.position_m, other.position_m))
    }
}

fn distance_m(a: [f64; 2], b: [f64; 2]) -> f64 {
    libm::hypot(a[0] - b[0], a[1] - b[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_loss_by_hand() {
        let spec = ChannelSpec::default();
        assert!((spec.snr_db(1.0) - 68.55).abs() < 1e-9);
        assert!((spec.snr_db(0.1) - 68.55).abs() < 1e-9);
        assert!((spec.snr_db(10.0) - 38.55).abs() < 1e-9);
        assert!((spec.snr_db(100.0) - 8.55).abs() < 1e-9);
    }

    #[test]
    fn a_track_is_a_straight_line() {
        let track = Track { from_m: [10.0, -4.0], since: Time::from_s(5), velocity_m_per_s: [1.5, -0.5] };
        assert_eq!(track.at(Time::from_s(5)), [10.0, -4.0]);
        assert_eq!(track.at(Time::from_s(9)), [16.0, -6.0]);
    }

    #[test]
    fn fading_has_its_deviation_and_its_correlation() {
        let rng = Rng::stream(1, "sta", "fading");
        let mut fading = Fading { rng, correlation: libm::exp(-0.1), sigma_db: 4.0, value_db: 0.0, drawn: 0 };
        let values: Vec<f64> = (0..200_000).map(|interval| fading.at(interval)).collect();
        let mean = |of: &dyn Fn(usize) -> f64, n: usize| (0..n).map(of).sum::<f64>() / n as f64;
        let variance = mean(&|i| values[i] * values[i], values.len());
        // About 10,000 independent values: 4 standard errors are 5.7 % of a variance and 0.04 of a correlation.
        assert!((variance / 16.0 - 1.0).abs() < 0.06, "{variance}");
        let lagged = mean(&|i| values[i] * values[i + 10], values.len() - 10) / variance;
        assert!((lagged - libm::exp(-1.0)).abs() < 0.05, "{lagged}");
        // Rare samples give the same values.
        let mut again = Fading { rng: Rng::stream(1, "sta", "fading"), value_db: 0.0, drawn: 0, ..fading };
        assert_eq!([7, 7, 500].map(|interval| again.at(interval)), [values[7], values[7], values[500]]);
    }
}
