//! The oracle: an independent, slow, obvious model of the medium, written from docs/medium.md alone.
//!
//! Time passes in steps of one microsecond. Each node is a listener that is told what it can hear and keeps its own
//! interframe space, NAV, backoff counter, timeouts and retry counters; nothing is shared between nodes but the air.
//! Read first: `node` (the listener), then `air` (who hears what), then `scenario` (what is run).

#![allow(dead_code)] // Every test binary uses its own part.

pub mod air;
pub mod chain;
pub mod engine;
pub mod node;
pub mod random;
pub mod scenario;
pub mod statistics;
pub mod timing;
