use std::fmt;

/// An invalid value in a plan: its key, the value as written, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Path of the key, such as `ap.tx_queue.limit_packets`.
    pub key: String,
    /// The offending value as written.
    pub value: String,
    /// What would be accepted, such as `1 to 100000 packets`.
    pub allowed: String,
}

impl SpecError {
    /// Returns the error for `value` at `key`.
    pub fn new(key: impl Into<String>, value: impl fmt::Display, allowed: impl Into<String>) -> SpecError {
        SpecError { key: key.into(), value: value.to_string(), allowed: allowed.into() }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} is not allowed; expected {}", self.key, self.value, self.allowed)
    }
}

impl std::error::Error for SpecError {}
