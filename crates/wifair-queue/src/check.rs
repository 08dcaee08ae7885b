//! Shared checks of a scheme's numbers.

use std::ops::RangeInclusive;

use wifair_core::SpecError;

/// Complains of a `value` of `path.key` that lies outside `range`, which is in `unit`.
pub(crate) fn within(
    path: &str,
    key: &str,
    value: f64,
    range: RangeInclusive<f64>,
    unit: &str,
) -> Result<(), SpecError> {
    if range.contains(&value) {
        return Ok(());
    }
    let (low, high) = range.into_inner();
    Err(SpecError::new(
        format!("{path}.{key}"),
        value,
        format!("{low} to {high} {unit}").trim_end().to_owned(),
    ))
}
