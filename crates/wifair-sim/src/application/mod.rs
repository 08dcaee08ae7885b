//! What a flow carries. One file an application; a line in `applications!` registers it.
//!
//! An application is one of two kinds. Over TCP it only says which *transfer* comes next and when ([`Application`]); opening and
//! closing connections, keeping the records and stopping is the same for all. Without TCP it says which *datagrams* each end sends
//! ([`Datagrams`]); sending, receiving and measuring delay, jitter and loss is the same for all ([`crate::Network`]).

mod datagrams;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use wifair_core::{Info, Rng, SpecError, Time};

pub use datagrams::{Datagrams, Law, Source};

/// A transfer: a connection, or several side by side, that are opened, carry data, and are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When the connections are opened; not before the call that asks for it.
    pub at: Time,
    /// How much is sent, in bytes of payload; `None` for without end.
    pub bytes: Option<u64>,
}

/// The part of a host that decides what its connections carry.
pub trait Application: Send {
    /// What comes next, asked when the flow starts and whenever a transfer has ended; `None` where that was the last.
    /// `rng` is the flow's own stream; an application writes down how many draws it takes.
    fn next(&mut self, now: Time, rng: &mut Rng) -> Option<Transfer>;

    /// Over how many connections side by side a transfer of known size is sent; each carries an equal share of it.
    fn connections(&self) -> u16 {
        1
    }
}

/// What carries an application's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP: the flow has the keys of `tcp`.
    Tcp,
    /// UDP (RFC 768).
    Udp,
    /// ICMP echoes (RFC 792).
    Icmp,
}

impl Transport {
    /// The word used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
            Transport::Icmp => "icmp",
        }
    }
}

/// An application at its beginning.
pub enum Carried {
    /// Transfers over TCP.
    Transfers(Box<dyn Application>),
    /// Datagrams.
    Datagrams(Datagrams),
}

impl<A: Application + 'static> From<A> for Carried {
    fn from(application: A) -> Carried {
        Carried::Transfers(Box::new(application))
    }
}

impl From<Datagrams> for Carried {
    fn from(datagrams: Datagrams) -> Carried {
        Carried::Datagrams(datagrams)
    }
}

/// What an application says about itself.
#[derive(Clone, Debug, Serialize)]
pub struct ApplicationInfo {
    /// Name, source, idea.
    #[serde(flatten)]
    pub info: Info,
    /// What carries its packets: `tcp`, `udp` or `icmp`.
    pub transport: &'static str,
    /// JSON schema of its parameters, with their descriptions and defaults.
    pub parameters: Schema,
}

macro_rules! applications {
    ($($(#[$doc:meta])* $variant:ident => $module:ident),+ $(,)?) => {
        $(pub mod $module;)+

        /// What each application says about itself, in the order of the registry.
        pub fn applications() -> Vec<ApplicationInfo> {
            vec![$(ApplicationInfo {
                info: $module::INFO,
                transport: $module::TRANSPORT.name(),
                parameters: schemars::schema_for!($module::Params),
            }),+]
        }

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

            /// The application, at its beginning.
            pub fn build(&self) -> Carried {
                match self {
                    $(ApplicationSpec::$variant(params) => params.build().into(),)+
                }
            }

            /// Its name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(ApplicationSpec::$variant(_) => $module::INFO.name,)+
                }
            }

            /// What carries its packets.
            pub fn transport(&self) -> Transport {
                match self {
                    $(ApplicationSpec::$variant(_) => $module::TRANSPORT,)+
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
    /// See [`udp`].
    Udp => udp,
    /// See [`voip`].
    Voip => voip,
    /// See [`ping`].
    Ping => ping,
    /// See [`game`].
    Game => game,
}

impl Default for ApplicationSpec {
    fn default() -> Self {
        ApplicationSpec::Bulk(bulk::Params::default())
    }
}
