//! The integration tests of the crate, as one program: it links once. Run a part with `cargo test -p wifair-sim --test it PART::`.

#[path = "../common/mod.rs"]
mod common;
mod datagrams;
mod determinism;
mod edca;
mod events;
mod limits;
mod link_rate;
mod marking;
mod modern;
mod physics;
mod traces;
mod transfers;
