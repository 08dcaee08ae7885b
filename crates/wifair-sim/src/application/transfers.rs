//! Transfers of a fixed size, back to back, each over a separate connection. No draws.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, Rng, SpecError, Time};

use super::{Application, Transfer, Transport};

/// Shown in lists of components.
pub const INFO: Info = Info {
    name: "transfers",
    source: "spm-af-las, Section 5.2: files of a fixed size, repeated over and over",
    idea: "Transfers of a fixed size, each over a new connection that is opened once the one before is closed.",
};

/// Parameters of [`Transfers`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spec {
    /// Size of each transfer, in bytes of payload; 14600 are ten full segments.
    pub transfer_bytes: u64,
    /// Number of transfers. Without the key, unlimited until the flow stops (`stop_s`, `stop_after_group`).
    pub count: Option<u64>,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec { transfer_bytes: 14_600, count: None }
    }
}

impl Spec {
    /// Checks what the types cannot.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        if self.transfer_bytes == 0 {
            return Err(SpecError::new(format!("{path}.transfer_bytes"), 0, "at least 1 byte"));
        }
        match self.count {
            Some(0) => Err(SpecError::new(format!("{path}.count"), 0, "at least 1 transfer")),
            _ => Ok(()),
        }
    }

    /// The series before its first transfer.
    pub fn build(&self) -> Transfers {
        Transfers { transfer_bytes: self.transfer_bytes, left: self.count }
    }

    /// What carries it.
    pub fn transport(&self) -> Transport {
        Transport::Tcp
    }

    /// Whether it comes to an end by itself.
    pub fn ends(&self) -> bool {
        self.count.is_some()
    }
}

/// See the module documentation.
pub struct Transfers {
    transfer_bytes: u64,
    left: Option<u64>,
}

impl Application for Transfers {
    fn next(&mut self, now: Time, _rng: &mut Rng) -> Option<Transfer> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        Some(Transfer { at: now, bytes: Some(self.transfer_bytes) })
    }
}
