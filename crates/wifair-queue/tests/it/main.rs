//! The integration tests of the crate, as one program: it links once. Run a part with `cargo test -p wifair-queue --test it
//! PART::`.

mod aggregates;
mod aqm;
mod categories;
#[path = "../common/mod.rs"]
mod common;
mod dqm;
mod examples;
mod external;
mod flows;
mod fuzz;
#[path = "../../../../fuzz/shared/given.rs"]
mod given;
mod ledger;
mod limits;
mod marking;
mod model;
mod modern;
#[path = "../naive/mod.rs"]
mod naive;
#[path = "../plain/mod.rs"]
mod plain;
mod policing;
mod priorities;
mod queues;
mod registry;
#[path = "../../../../fuzz/shared/replay.rs"]
mod replay;
mod safe_filter;
mod takeover;
mod turns;
#[path = "../fuzz/tx_queue.rs"]
mod tx_queue;
