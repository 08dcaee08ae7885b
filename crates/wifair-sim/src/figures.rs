//! Figures of a record in the units of its columns.

use wifair_core::LogHistogram;

pub(crate) fn ns_to_ms(ns: f64) -> f64 {
    ns * 1e-6
}

pub(crate) fn quantile_ms(histogram: &LogHistogram, q: f64) -> Option<f64> {
    histogram.quantile(q).map(ns_to_ms)
}

pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
