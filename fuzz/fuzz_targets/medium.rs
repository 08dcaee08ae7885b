//! Offers to a BSS. See `crates/wifair-wlan/tests/fuzz/bss.rs` for what is asserted.
#![no_main]

#[path = "../../crates/wifair-wlan/tests/fuzz/bss.rs"]
mod bss;
#[path = "../shared/given.rs"]
mod given;
#[path = "../../crates/wifair-wlan/tests/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bss::check(data));
