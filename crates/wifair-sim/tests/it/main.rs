//! The integration tests of the crate, as one program: it links once. Run a part with `cargo test -p wifair-sim --test it
//! PART::`.

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod datagrams;
mod determinism;
mod edca;
mod events;
mod fuzz;
#[path = "../../../../fuzz/shared/given.rs"]
mod given;
mod limits;
mod link_rate;
mod marking;
mod modern;
mod neighbours;
mod physics;
#[path = "../fuzz/plan.rs"]
mod plan;
#[path = "../../../../fuzz/shared/replay.rs"]
mod replay;
#[path = "../fuzz/run.rs"]
mod run;
mod traces;
mod transfers;
mod uplink;
