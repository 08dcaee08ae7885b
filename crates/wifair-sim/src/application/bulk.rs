//! A bulk transfer. No draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, Rng, SpecError, Time};

use super::{Application, Transfer, Transport};

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "bulk",
    source: "adaptive-pushout, Section IV-A: large bulk data",
    idea: "There is always more to send, or a given number of bytes in one go; then the connection is closed.",
};

/// Parameters of [`Bulk`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Amount of data in bytes of payload. Without the key, unlimited.
    pub transfer_bytes: Option<u64>,
}

impl Spec {
    /// Checks what the types cannot.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        match self.transfer_bytes {
            Some(0) => Err(SpecError::new(format!("{path}.transfer_bytes"), 0, "at least 1 byte")),
            _ => Ok(()),
        }
    }

    /// A transfer that has not started.
    pub fn build(&self) -> Bulk {
        Bulk { transfer_bytes: self.transfer_bytes, started: false }
    }

    /// What carries it.
    pub fn transport(&self) -> Transport {
        Transport::Tcp
    }

    /// Whether it comes to an end by itself.
    pub fn ends(&self) -> bool {
        self.transfer_bytes.is_some()
    }
}

/// See the module documentation.
pub struct Bulk {
    transfer_bytes: Option<u64>,
    started: bool,
}

impl Application for Bulk {
    fn next(&mut self, now: Time, _rng: &mut Rng) -> Option<Transfer> {
        let first = !std::mem::replace(&mut self.started, true);
        first.then_some(Transfer { at: now, bytes: self.transfer_bytes })
    }
}
