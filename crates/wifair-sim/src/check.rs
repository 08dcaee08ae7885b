//! The range check for values of a plan.

use wifair_core::SpecError;

/// Checks that a number is finite and in range, or returns the error.
pub(crate) fn check_range(key: &str, value: f64, low: f64, high: f64, unit: &str) -> Result<(), SpecError> {
    if value.is_finite() && (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(SpecError::new(key, value, format!("{low} to {high} {unit}").trim_end().to_string()))
    }
}
