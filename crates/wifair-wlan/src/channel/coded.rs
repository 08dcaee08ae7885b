//! Error rates of OFDM, HT, VHT, HE and EHT frames by modulation, code rate and signal-to-noise ratio, on a channel with white
//! Gaussian noise.
//!
//! Source: G. Pei and T. R. Henderson, "Validation of OFDM error rate model in ns-3", 2010: bit error rate of coherent BPSK,
//! QPSK and square QAM with Gray mapping (nearest neighbours), then the union bound over the distance spectrum of the
//! convolutional code, constraint length 7, with hard decisions. Spectra: code rates 1/2, 2/3 and 3/4 by P. Frenger, P. Orten,
//! T. Ottosson and A. Svensson 1999, 5/6 by D. Haccoun and G. Begin 1989.
//!
//! Interpretations: the noise is that of the channel's width. Stations have as many antennas as streams, and the streams do not
//! disturb each other: each has the SNR that one alone would have.
//!
//! Deviations: LDPC has the curves of the convolutional code of its rate, as in ns-3's model, though it needs 1 to 2 dB less.
//! The preamble is always received; there is no interference.

use crate::phy::CodeRate;

/// Errors of a code by the distance of the wrong path: the least distance, the step to the next, and the bits in error of all
/// paths of each distance.
struct Spectrum {
    least: i32,
    step: i32,
    bits: &'static [f64],
}

const RATE_1_2: Spectrum = Spectrum {
    least: 10,
    step: 2,
    bits: &[36.0, 211.0, 1_404.0, 11_633.0, 77_433.0, 502_690.0, 3_322_763.0, 21_292_910.0, 134_365_911.0],
};
const RATE_2_3: Spectrum = Spectrum {
    least: 6,
    step: 1,
    bits: &[3.0, 70.0, 285.0, 1_276.0, 6_160.0, 27_128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0],
};
const RATE_3_4: Spectrum = Spectrum {
    least: 5,
    step: 1,
    bits: &[
        42.0,
        201.0,
        1_492.0,
        10_469.0,
        62_935.0,
        379_644.0,
        2_253_373.0,
        13_073_811.0,
        75_152_755.0,
        428_005_675.0,
    ],
};
const RATE_5_6: Spectrum = Spectrum {
    least: 4,
    step: 1,
    bits: &[
        92.0,
        528.0,
        8_694.0,
        79_453.0,
        792_114.0,
        7_375_573.0,
        67_884_974.0,
        610_875_423.0,
        5_427_275_376.0,
        47_664_215_639.0,
    ],
};

/// Natural logarithm of the probability that one byte of a frame is decoded, with `bits` coded bits per subcarrier and stream;
/// `snr` is a ratio.
pub(super) fn ln_byte_survival(bits: u32, code: CodeRate, snr: f64) -> f64 {
    let spectrum = match code.data {
        1 => RATE_1_2,
        2 => RATE_2_3,
        3 => RATE_3_4,
        _ => RATE_5_6,
    };
    8.0 * libm::log1p(-decoded_bit_error_rate(&spectrum, code, bit_error_rate(bits, snr)).min(0.999))
}

/// Bit error rate before decoding.
fn bit_error_rate(bits: u32, snr: f64) -> f64 {
    if bits == 1 {
        return 0.5 * libm::erfc(libm::sqrt(snr));
    }
    // QPSK is 4-QAM.
    let side = f64::from(1u32 << (bits / 2));
    let neighbours = (side - 1.0) / (side * f64::from(bits / 2));
    neighbours * libm::erfc(libm::sqrt(1.5 * snr / (side * side - 1.0)))
}

/// Bit error rate after decoding, by the union bound.
fn decoded_bit_error_rate(spectrum: &Spectrum, code: CodeRate, error: f64) -> f64 {
    let d = libm::sqrt(4.0 * error * (1.0 - error));
    let (mut sum, mut power) = (0.0, libm::pow(d, f64::from(spectrum.least)));
    let step = libm::pow(d, f64::from(spectrum.step));
    for bits in spectrum.bits {
        sum += bits * power;
        power *= step;
    }
    // Per data bit of a period of the puncturing pattern.
    sum / (2.0 * f64::from(code.data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Format, Mode};

    /// Success of chunks as ns-3's `NistErrorRateModel` prints it, for all modulations and code rates.
    #[test]
    fn as_ns_3s_nist_model() {
        let table = include_str!("../../tests/data/ns3-nist-error-rates.csv");
        let mut rows = 0;
        for line in table.lines().filter(|line| !line.starts_with('#')).skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |column: usize| fields[column].parse::<f64>().unwrap();
            let mode = match fields[0] {
                "802.11a" => Mode::before_ht(Format::Ofdm, 1_000 * number(1) as u32),
                _ => Mode { format: Format::Eht, mcs: number(1) as u8, ..Mode::none() },
            };
            let modulation = mode.modulation();
            let snr = libm::pow(10.0, number(2) / 10.0);
            let per_byte = ln_byte_survival(modulation.bits, modulation.code, snr);
            let success = libm::exp(per_byte * number(3) / 8.0);
            assert!((success - number(4)).abs() < 1e-9, "{line}: {success}");
            rows += 1;
        }
        assert!(rows > 200);
    }
}
