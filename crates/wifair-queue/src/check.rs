//! Shared checks of parameters.

use std::ops::RangeInclusive;

use wifair_core::SpecError;

/// Returns an error if `value` of `path.key` is outside `range`, which is in `unit`.
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

/// Returns an error if the bounds of a limit are invalid.
pub(crate) fn bounds(path: &str, min_packets: u32, max_packets: u32) -> Result<(), SpecError> {
    if min_packets < 1 {
        return Err(SpecError::new(format!("{path}.min_packets"), min_packets, "1 packet or more"));
    }
    if !(min_packets..=100_000).contains(&max_packets) {
        let allowed = format!("{min_packets} to 100000 packets");
        return Err(SpecError::new(format!("{path}.max_packets"), max_packets, allowed));
    }
    Ok(())
}
