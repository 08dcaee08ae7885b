//! Operations on a port. See `crates/wifair-queue/tests/fuzz/port.rs` for what is asserted.
#![no_main]

#[path = "../../crates/wifair-queue/tests/common/mod.rs"]
mod common;
#[path = "../shared/given.rs"]
mod given;
#[path = "../../crates/wifair-queue/tests/naive/mod.rs"]
mod naive;
#[path = "../../crates/wifair-queue/tests/plain/mod.rs"]
mod plain;
#[path = "../../crates/wifair-queue/tests/fuzz/port.rs"]
mod port;

libfuzzer_sys::fuzz_target!(|data: &[u8]| port::check(data));
