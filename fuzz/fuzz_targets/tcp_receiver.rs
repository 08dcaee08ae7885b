//! Segments and times for a receiver. See `crates/wifair-tcp/tests/fuzz/receiver.rs` for what is asserted.
#![no_main]

#[path = "../../crates/wifair-tcp/tests/fuzz/common.rs"]
mod common;
#[path = "../shared/given.rs"]
mod given;
#[path = "../../crates/wifair-tcp/tests/fuzz/receiver.rs"]
mod receiver;
#[path = "../../crates/wifair-tcp/tests/stream/mod.rs"]
mod stream;

libfuzzer_sys::fuzz_target!(|data: &[u8]| receiver::check(data));
