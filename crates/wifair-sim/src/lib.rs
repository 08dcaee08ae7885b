//! The simulator: builds a network from a plan, runs it, records.
//!
//! Read first: [`Plan`] (everything that defines a run but the seed), [`Network`] (the event loop), [`RunRecord`] (the result
//! of a replication) and [`Batch`] (replications on threads).

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod address;
mod agenda;
mod air;
mod airtimes;
pub mod application;
mod batch;
mod check;
mod connection;
mod datagram;
mod datagram_session;
pub mod e_model;
mod event;
mod figures;
mod fingerprint;
mod flow;
mod hidden;
mod json;
mod live;
mod network;
mod parts;
mod plan;
mod reading;
mod record;
mod ring;
mod run;
mod schema;
mod series;
mod snapshot;
mod states;
pub mod table;
mod tap;
mod trace;
mod transfer;
mod wire;

pub use airtimes::airtimes;
pub use batch::{Batch, FinishedJob};
pub use datagram::DatagramRow;
pub use event::{ApChange, EventSpec, FlowsChange, MAX_EVENTS, WireChange};
pub use fingerprint::Fingerprint;
pub use hidden::{hidden_pairs, received_powers};
pub use live::LiveNetwork;
pub use network::Network;
pub use plan::{FlowDirection, FlowSpec, MAX_FLOWS, Neighbour, Plan, RunSpec, SCHEMA_VERSION, WireSpec};
pub use reading::Reading;
pub use record::{BssRow, FlowRow, QueueRow, RunRecord, RunRow, StationRow, WireRow, all_tables, tables};
pub use run::{Progress, fingerprint, run, run_on, run_traced, run_watched};
pub use schema::schema;
pub use series::{SeriesRow, StationSeriesRow};
pub use states::StateRow;
pub use tap::Tap;
pub use trace::{Contents, EventRow, EventSink, PcapSpec, Trace, TraceError, TraceSpec};
pub use transfer::{TransferEnd, TransferGroupRow, TransferRecord, TransferRow};
pub use wifair_core::SpecError;
pub use wifair_queue::{ExternalScheme, Maker};
pub use wire::{Lines, LinkCounters, Way, Wire, WireArrival, WireBuilder, WireCounters, WireId};
