use std::fmt;

/// What is wrong with a value of a plan: the key, the value as written, and what is allowed there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Path of the key, as `ap.port.limit_packets`.
    pub key: String,
    /// The offending value as written.
    pub value: String,
    /// What would be accepted, as `1 to 100000 packets`.
    pub allowed: String,
}

impl SpecError {
    /// The error for `value` at `key`.
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
