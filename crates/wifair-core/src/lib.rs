//! Types shared by all crates of wifair: time, ids, rates, random streams, the packet, histograms.
//!
//! Read first: [`Time`] (integer nanoseconds), [`Packet`] (plain data), [`Rng`] (one named stream per seed,
//! entity and purpose). Nothing here depends on Wi-Fi, TCP or queues.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod component;
mod counters;
mod error;
mod histogram;
mod ids;
mod min_tree;
mod packet;
mod rate;
mod rng;
mod sack;
mod time;

pub use component::{AlwaysValid, ComponentInfo, Info};
pub use counters::Counters;
pub use error::SpecError;
pub use histogram::LogHistogram;
pub use ids::{Ac, ConnectionId, FlowId, StationId};
pub use min_tree::MinTree;
pub use packet::{
    Class, DATAGRAM_HEADER_BYTES, DSCP_HIGH_PRIORITY, Ecn, FiveTuple, ICMP, Packet, TCP, TcpFlags, UDP,
};
pub use rate::Rate;
pub use rng::Rng;
pub use sack::SackBlocks;
pub use time::Time;
