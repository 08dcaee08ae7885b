//! The check that values of a plan share.

use wifair_core::SpecError;

/// A finite number in `range`, or the error that says so.
pub(crate) fn check_range(key: &str, value: f64, low: f64, high: f64, unit: &str) -> Result<(), SpecError> {
    if value.is_finite() && (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(SpecError::new(key, value, format!("{low} to {high} {unit}").trim_end().to_string()))
    }
}
