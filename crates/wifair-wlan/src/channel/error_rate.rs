//! Error rates of 802.11b frames by rate and signal-to-noise ratio, on a channel with white Gaussian noise.
//!
//! Sources: 1 Mbps, differential BPSK, ½ exp(−Eb/N0) (Proakis, Digital Communications, 5.2); 2 Mbps, differential QPSK,
//! the usual approximation for a large Eb/N0; 5.5 and 11 Mbps, CCK as biorthogonal signals, equations (18) and (17) of
//! Pursley and Royster 2009 (IEEE Trans. Commun. 57(2)), with the energies that ns-3 puts into them
//! (`dsss-error-rate-model`). Noise is that of 22 MHz, as there: Eb/N0 = SNR · 22 MHz / bit rate.
//!
//! Deviations from ns-3: the PLCP header is always received; there is no interference.

use super::coded;
use crate::phy::{Format, Mode};

/// Noise bandwidth in Hz.
const BANDWIDTH_HZ: f64 = 22e6;
/// CCK symbols per second.
const CCK_SYMBOLS: f64 = 1.375e6;

/// Natural logarithm of the probability that one byte of a frame in a mode is decoded; `snr` is a ratio, with the noise of 22
/// MHz.
pub(super) fn ln_byte_survival(mode: &Mode, snr: f64) -> f64 {
    if mode.format != Format::Dsss {
        let modulation = mode.modulation();
        let of_width = snr * (BANDWIDTH_HZ / 1e6) / f64::from(mode.width_mhz);
        return coded::ln_byte_survival(modulation.bits, modulation.code, of_width);
    }
    let survives = |error: f64| libm::log1p(-error.min(0.999));
    match mode.rate.as_kbps() {
        1_000 => 8.0 * survives(dbpsk(snr * BANDWIDTH_HZ / 1e6)),
        2_000 => 8.0 * survives(dqpsk(snr * BANDWIDTH_HZ / 2e6)),
        // Two symbols a byte, of four bits each; one symbol a byte, which is a pair of the former.
        5_500 => 2.0 * survives(cck_16(snr * BANDWIDTH_HZ / CCK_SYMBOLS / 2.0)),
        11_000 => 2.0 * survives(cck_16(snr * BANDWIDTH_HZ / CCK_SYMBOLS / 4.0)),
        kbps => unreachable!("DSSS has no {kbps} kbit/s"),
    }
}

/// Bit error rate of DBPSK.
fn dbpsk(eb_n0: f64) -> f64 {
    0.5 * libm::exp(-eb_n0)
}

/// Bit error rate of DQPSK.
fn dqpsk(eb_n0: f64) -> f64 {
    let root = std::f64::consts::SQRT_2;
    let factor = (root + 1.0) / libm::sqrt(8.0 * std::f64::consts::PI * root * eb_n0);
    (factor * libm::exp(-(2.0 - root) * eb_n0)).min(0.5)
}

/// Symbol error rate of sixteen biorthogonal signals, eight pairs, with energy `e`: one minus
/// ∫ (2Φ(x + β) − 1)⁷ φ(x) dx from −β on, with β = √(2e). Integrated is the complement, so that small rates are exact.
fn cck_16(e: f64) -> f64 {
    const STEPS: u32 = 160;
    let beta = libm::sqrt(2.0 * e);
    let (low, high) = (-beta.min(12.0), 8.0);
    let width = (high - low) / f64::from(STEPS);
    let integrand = |x: f64| {
        let wrong_sign_or_worse = libm::erfc((x + beta) * std::f64::consts::FRAC_1_SQRT_2);
        -libm::expm1(7.0 * libm::log1p(-wrong_sign_or_worse.min(1.0))) * libm::exp(-x * x / 2.0)
    };
    // Simpson's rule.
    let sum: f64 = (0..=STEPS)
        .map(|step| {
            let weight = match step {
                0 | STEPS => 1.0,
                _ if step % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * integrand(low + f64::from(step) * width)
        })
        .sum();
    let below = 0.5 * libm::erfc(beta * std::f64::consts::FRAC_1_SQRT_2);
    below + sum * width / 3.0 / libm::sqrt(2.0 * std::f64::consts::PI)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Error rate of a frame of 1024 bytes.
    fn frame(mbps: f64, snr_db: f64) -> f64 {
        let snr = libm::pow(10.0, snr_db / 10.0);
        -libm::expm1(1_024.0 * ln_byte_survival(&Mode::before_ht(Format::Dsss, (mbps * 1e3) as u32), snr))
    }

    #[test]
    fn the_integral_against_a_plain_sum() {
        for e in [0.5, 2.0, 5.0, 10.0, 16.0] {
            let beta = f64::sqrt(2.0 * e);
            let phi = |x: f64| 1.0 - 0.5 * libm::erfc(x / f64::sqrt(2.0));
            let mut right = 0.0;
            let step = 1e-4;
            let mut x = -beta + step / 2.0;
            while x < 9.0 {
                let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
                right += (2.0 * phi(x + beta) - 1.0).powi(7) * density * step;
                x += step;
            }
            let error = 1.0 - right;
            assert!((cck_16(e) - error).abs() < 1e-7, "{e}: {} and {error}", cck_16(e));
        }
        // The union bound over fourteen neighbours and the opposite, which is tight where errors are rare.
        let q = |x: f64| 0.5 * libm::erfc(x / f64::sqrt(2.0));
        let bound = 14.0 * q(f64::sqrt(40.0)) + q(f64::sqrt(80.0));
        assert!((0.95..=1.001).contains(&(cck_16(40.0) / bound)), "{} of {bound}", cck_16(40.0));
    }

    /// Against the exact rate, Q₁(a, b) − ½ I₀(ab) exp(−(a² + b²)/2) with a² = 2(1 − 1/√2) Eb/N0 and b² = 2(1 + 1/√2) Eb/N0
    /// (Proakis, 5.2), as a sum of Bessel functions: it comes from above, the closer the rarer the errors.
    #[test]
    fn the_approximation_of_dqpsk_against_the_exact_rate() {
        for eb_n0 in [4.0, 8.0, 16.0, 32.0] {
            let root = f64::sqrt(2.0);
            let (a, b) = ((eb_n0 * (2.0 - root)).sqrt(), (eb_n0 * (2.0 + root)).sqrt());
            let half = a * b / 2.0;
            // Each term of Iₖ(ab) from the one before.
            let bessel = |k: u32| {
                let first = (1..=k).fold(1.0, |product, n| product * half / f64::from(n));
                let terms = (1..300).scan(first, |term, m| {
                    *term *= half * half / (f64::from(m) * f64::from(m + k));
                    Some(*term)
                });
                first + terms.sum::<f64>()
            };
            let marcum: f64 = (0..80).map(|k| (a / b).powi(k as i32) * bessel(k)).sum();
            let exact = (marcum - bessel(0) / 2.0) * (-(a * a + b * b) / 2.0).exp();
            let ratio = dqpsk(eb_n0) / exact;
            assert!((1.0..1.0 + 1.0 / eb_n0).contains(&ratio), "{eb_n0}: {ratio}");
        }
    }

    #[test]
    fn error_rates_fall_with_the_ratio_and_rise_with_the_rate() {
        for tenth_db in -50..150 {
            let db = f64::from(tenth_db) / 10.0;
            for mbps in [1.0, 2.0, 5.5, 11.0] {
                assert!(frame(mbps, db + 0.1) <= frame(mbps, db), "{mbps} at {db}");
            }
            for (slow, fast) in [(1.0, 2.0), (2.0, 5.5), (5.5, 11.0)] {
                assert!(frame(slow, db) <= frame(fast, db) + 1e-9, "{slow} and {fast} at {db}");
            }
        }
        assert!(frame(1.0, -10.0) > 0.99 && frame(11.0, 15.0) < 1e-9);
    }
}
