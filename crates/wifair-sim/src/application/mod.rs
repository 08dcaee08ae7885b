//! What a flow carries: one transfer after the other. One file an application; a line in `applications!` registers it.
//!
//! An application only says what comes next and when. Opening and closing connections, keeping the records and stopping
//! is the same for all ([`crate::Network`]).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wifair_core::{Info, Rng, SpecError, Time};

/// A transfer: a connection that is opened, carries data, and is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When the connection is opened; not before the call that asks for it.
    pub at: Time,
    /// How much is sent, in bytes of payload; `None` for without end.
    pub bytes: Option<u64>,
}

/// The part of a host that decides what its connections carry.
pub trait Application: Send {
    /// What comes next, asked when the flow starts and whenever a transfer has ended; `None` where that was the last.
    /// `rng` is the flow's own stream; an application writes down how many draws it takes.
    fn next(&mut self, now: Time, rng: &mut Rng) -> Option<Transfer>;
}

macro_rules! applications {
    ($($(#[$doc:meta])* $variant:ident => $module:ident),+ $(,)?) => {
        $(pub mod $module;)+

        /// What each application says about itself.
        pub const APPLICATIONS: &[Info] = &[$($module::INFO),+];

        /// An application and its parameters.
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "name", rename_all = "kebab-case")]
        pub enum ApplicationSpec {
            $($(#[$doc])* $variant($module::Params),)+
        }

        impl ApplicationSpec {
            /// Checks what the types cannot; `path` is where the application stands in the plan.
            pub fn validate(&self, path: &str) -> Result<(), SpecError> {
                match self {
                    $(ApplicationSpec::$variant(params) => params.validate(path),)+
                }
            }

            /// A fresh application of this kind.
            pub fn build(&self) -> Box<dyn Application> {
                match self {
                    $(ApplicationSpec::$variant(params) => Box::new(params.build()),)+
                }
            }

            /// Whether it comes to an end by itself.
            pub fn ends(&self) -> bool {
                match self {
                    $(ApplicationSpec::$variant(params) => params.ends(),)+
                }
            }
        }
    };
}

applications! {
    /// See [`bulk`].
    Bulk => bulk,
    /// See [`transfers`].
    Transfers => transfers,
    /// See [`web`].
    Web => web,
}

impl Default for ApplicationSpec {
    fn default() -> Self {
        ApplicationSpec::Bulk(bulk::Params::default())
    }
}
