//! The access point's transmission buffer: the packet store, the flow monitor, and every queue management scheme.
//!
//! Read first: [`Scheme`] (the interface of a scheme), [`Buffer`] (the indexed packet store, the only place where packets are
//! placed, released and counted), [`TxQueue`] (a buffer, a scheme and a random stream: the MAC's interface) and [`Flows`] (the
//! flow monitor). Everything here is a pure state machine: time and packets come in as arguments. To add a scheme, write one
//! file under `schemes/` and one line in `schemes/registry.rs`; to add a [`LimitController`], the same under `limits/`.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod ack_filter;
mod airtime;
mod buffer;
mod check;
mod codel;
mod congestion;
mod drr;
mod external;
mod fair_queue;
mod flow_hash;
mod flows;
mod journal;
mod limit;
mod pi;
mod policing;
mod scheme;
mod snapshot;
mod tx_queue;
mod words;

#[path = "limits/registry.rs"]
mod limits;
#[path = "schemes/registry.rs"]
mod schemes;

pub use ack_filter::{AckFilter, Place};
pub use buffer::{
    Arrival, Buffer, Count, DequeuedPacket, DequeuedSlot, Filter, Indexes, KeyOrder, Pick, Placed, Pool,
    QueueId, QueuedPacket, Queues, SlotId, StoredFlows, TxCompletion,
};
pub use congestion::Signal;
pub use external::{ExternalScheme, Maker};
pub use flows::{Active, Flows, FlowsSpec};
pub use journal::{Journal, JournalEntry, TxQueueEvent};
pub use limit::{LimitController, Occupancy, Wants};
pub use limits::LimitSpec;
pub use scheme::{Cx, Hooks, Scheme, Shortcuts, View};
pub use schemes::SchemeSpec;
pub use snapshot::{FlowLedger, Ledger, TxQueueSnapshot};
pub use tx_queue::{LoweredLimit, TxQueue, TxQueueSpec};
pub use words::{
    Direction, Eviction, Exchange, Extent, Grant, Link, MpduOutcome, Outcome, PoliceAction, Reception,
    Refusal, Rounds, StationLimit, Transmission, TransmittedMpdu,
};
