//! Real hosts on a simulated medium: a BSS of wifair in real time, whose hosts are network namespaces with TUN devices.
//!
//! Read first: [`EmulatedNetwork`] (BSS and wire with real packets, without clock or devices), then, on Linux, `engine` (the
//! loop around it) and `guest` (a namespace and its device). `headers` parses packets where they enter, `conversations` counts
//! packets per flow.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod address;
mod conversations;
#[cfg(target_os = "linux")]
mod engine;
#[cfg(target_os = "linux")]
mod guest;
mod headers;
#[cfg(target_os = "linux")]
mod lateness;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod netlink;
mod network;
#[cfg(target_os = "linux")]
mod processors;
mod shown;
mod store;
#[cfg(target_os = "linux")]
mod sysctl;

pub use address::{Host, IPV4_PREFIX, IPV6_PREFIX};
pub use conversations::{ConversationRow, MAX_CONVERSATIONS};
#[cfg(target_os = "linux")]
pub use engine::{HostInfo, Options, Report, run};
pub use headers::{Header, NotCarried, read};
#[cfg(target_os = "linux")]
pub use lateness::{LatenessReport, Tolerance};
pub use network::{CounterReading, EmulatedNetwork, MAX_STATIONS, Outlet, Uncarried};
pub use store::MAX_PACKETS;
