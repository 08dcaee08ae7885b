//! What an application implements.

use wifair_core::{Rng, Time};

use super::datagrams::Datagrams;

/// A transfer: one connection, or several in parallel, that are opened, carry data, and are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When the connections are opened; not before the call that returns it.
    pub at: Time,
    /// Payload in bytes; `None` for an endless transfer.
    pub bytes: Option<u64>,
}

/// The part of a host that decides what its connections carry.
pub trait Application: Send {
    /// Returns the next transfer, or `None` after the last. Called when the flow starts and whenever a transfer has ended.
    /// `rng` is the flow's stream; an application documents how many draws it takes.
    fn next(&mut self, now: Time, rng: &mut Rng) -> Option<Transfer>;

    /// Number of parallel connections of a transfer of known size; each carries an equal share of it.
    fn connections(&self) -> u16 {
        1
    }
}

/// Transport protocol of an application's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP; the flow has the keys of `tcp`.
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

/// An application in its initial state.
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
