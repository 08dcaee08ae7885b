//! A bulk transfer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};
use wifair_tcp::Sender;

use super::Application;

/// What it is.
pub const INFO: Info = Info {
    name: "bulk",
    source: "adaptive-pushout, Section IV-A: large bulk data",
    idea: "There is always more to send, or a given number of bytes in one go; then the connection is closed.",
};

/// Parameters of [`Bulk`].
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How much to send, in bytes of payload; none for without end.
    pub transfer_bytes: Option<u64>,
}

impl Params {
    /// Checks what the types cannot.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        match self.transfer_bytes {
            Some(0) => Err(SpecError::new(format!("{path}.transfer_bytes"), 0, "at least 1 byte")),
            _ => Ok(()),
        }
    }
}

/// See the module.
pub struct Bulk {
    transfer_bytes: Option<u64>,
}

impl Bulk {
    /// A transfer that has not started.
    pub fn new(params: &Params) -> Bulk {
        Bulk { transfer_bytes: params.transfer_bytes }
    }
}

impl Application for Bulk {
    fn start(&mut self, sender: &mut Sender, now: Time) {
        sender.open(now);
        match self.transfer_bytes {
            Some(bytes) => {
                sender.write(bytes);
                sender.close();
            }
            None => sender.write_unlimited(),
        }
    }

    fn stop(&mut self, sender: &mut Sender, _now: Time) {
        sender.close();
    }
}
