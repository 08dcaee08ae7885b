//! Operations on a transmit queue. See `crates/wifair-queue/tests/fuzz/tx_queue.rs` for what is asserted.
#![no_main]

#[path = "../../crates/wifair-queue/tests/common/mod.rs"]
mod common;
#[path = "../shared/given.rs"]
mod given;
#[path = "../../crates/wifair-queue/tests/naive/mod.rs"]
mod naive;
#[path = "../../crates/wifair-queue/tests/plain/mod.rs"]
mod plain;
#[path = "../../crates/wifair-queue/tests/fuzz/tx_queue.rs"]
mod tx_queue;

libfuzzer_sys::fuzz_target!(|data: &[u8]| tx_queue::check(data));
