//! What writes data into TCP senders. One file an application; a line in the enum below registers it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, SpecError, Time};
use wifair_tcp::Sender;

pub mod bulk;

/// What each application says about itself.
pub const APPLICATIONS: &[Info] = &[bulk::INFO];

/// An application and its parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "kebab-case")]
pub enum ApplicationSpec {
    /// See [`bulk`].
    Bulk(bulk::Params),
}

impl Default for ApplicationSpec {
    fn default() -> Self {
        ApplicationSpec::Bulk(bulk::Params::default())
    }
}

impl ApplicationSpec {
    /// Checks what the types cannot; `path` is where the application stands in the plan.
    pub fn validate(&self, path: &str) -> Result<(), SpecError> {
        match self {
            ApplicationSpec::Bulk(params) => params.validate(path),
        }
    }

    /// A fresh application of this kind.
    pub fn build(&self) -> Box<dyn Application> {
        match self {
            ApplicationSpec::Bulk(params) => Box::new(bulk::Bulk::new(params)),
        }
    }
}

/// The part of a host that decides what a connection carries.
pub trait Application: Send {
    /// The flow starts: open the connection and write.
    fn start(&mut self, sender: &mut Sender, now: Time);
    /// The flow's stop time has come: write no more.
    fn stop(&mut self, sender: &mut Sender, now: Time);
}
