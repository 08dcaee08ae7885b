//! What a flow carries. One file an application; a line in the registry below registers it.
//!
//! An application is one of two kinds. Over TCP it only decides which *transfer* comes next and when ([`Application`]); opening
//! and closing connections, keeping the records and stopping is common code. Without TCP it decides which *datagrams* each end
//! sends ([`Datagrams`]); sending, receiving and measuring delay, jitter and loss is common code ([`crate::Network`]).

mod contract;
mod datagrams;

pub use contract::{Application, Carried, Transfer, Transport};
pub use datagrams::{Arrivals, Datagrams, Law, Source};

wifair_core::registry! {
    /// An application and its parameters.
    ApplicationSpec, matched by each;
    Bulk => bulk,
    Transfers => transfers,
    Web => web,
    Udp => udp,
    Voip => voip,
    Ping => ping,
    Game => game,
}

impl ApplicationSpec {
    /// Creates the application in its initial state.
    pub fn build(&self) -> Carried {
        each!(ApplicationSpec: self, spec => spec.build().into())
    }

    /// The transport of its packets.
    pub fn transport(&self) -> Transport {
        each!(ApplicationSpec: self, spec => spec.transport())
    }

    /// Whether it ends by itself.
    pub fn ends(&self) -> bool {
        each!(ApplicationSpec: self, spec => spec.ends())
    }
}

impl Default for ApplicationSpec {
    fn default() -> Self {
        ApplicationSpec::Bulk(Default::default())
    }
}
