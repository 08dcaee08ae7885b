//! Shared checks of plan values: each returns the value for the engine, or an error that names the key.

use wifair_core::{SpecError, Time};

/// Maximum duration of a key in µs: far above any in 802.11, far below overflow.
const MAX_US: f64 = 100_000.0;

/// `value` µs as a [`Time`], rounded to the nanosecond.
pub(crate) fn micros(path: &str, key: &str, value: f64) -> Result<Time, SpecError> {
    if (0.0..=MAX_US).contains(&value) {
        Ok(Time::from_ns((value * 1e3).round() as u64))
    } else {
        Err(SpecError::new(format!("{path}.{key}"), value, format!("0 to {MAX_US} microseconds")))
    }
}

/// Returns `value`, or an error if it is outside `low..=high` (in `unit`, which may be empty) or not a number.
pub(crate) fn number(
    path: &str,
    key: &str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
    unit: &str,
) -> Result<f64, SpecError> {
    if range.contains(&value) {
        Ok(value)
    } else {
        let allowed = format!("{} to {} {unit}", range.start(), range.end());
        Err(SpecError::new(format!("{path}.{key}"), value, allowed.trim_end()))
    }
}

/// Returns `value`, or an error if it is outside `low..=high` (in `unit`).
pub(crate) fn integer(
    path: &str,
    key: &str,
    value: u32,
    range: std::ops::RangeInclusive<u32>,
    unit: &str,
) -> Result<u32, SpecError> {
    if range.contains(&value) {
        Ok(value)
    } else {
        let allowed = format!("{} to {} {unit}", range.start(), range.end());
        Err(SpecError::new(format!("{path}.{key}"), value, allowed))
    }
}
