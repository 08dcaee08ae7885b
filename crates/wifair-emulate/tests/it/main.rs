//! The integration tests of the crate.

mod fuzz;
#[path = "../fuzz/packet.rs"]
mod packet;
#[path = "../../../../fuzz/shared/replay.rs"]
mod replay;
