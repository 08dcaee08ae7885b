//! Segments and times for a sender. See `crates/wifair-tcp/tests/fuzz/sender.rs` for what is asserted.
#![no_main]

#[path = "../../crates/wifair-tcp/tests/fuzz/common.rs"]
mod common;
#[path = "../shared/given.rs"]
mod given;
#[path = "../../crates/wifair-tcp/tests/fuzz/sender.rs"]
mod sender;

libfuzzer_sys::fuzz_target!(|data: &[u8]| sender::check(data));
