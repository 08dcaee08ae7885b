//! Packets as bytes in an emulated network. See `crates/wifair-emulate/tests/fuzz/packet.rs` for what is asserted.
#![no_main]

#[path = "../../crates/wifair-emulate/tests/fuzz/packet.rs"]
mod packet;

libfuzzer_sys::fuzz_target!(|data: &[u8]| packet::check(data));
