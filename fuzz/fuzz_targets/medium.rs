//! Offers to a cell. See `crates/wifair-wlan/tests/fuzz/cell.rs` for what is asserted.
#![no_main]

#[path = "../../crates/wifair-wlan/tests/fuzz/cell.rs"]
mod cell;
#[path = "../shared/given.rs"]
mod given;
#[path = "../../crates/wifair-wlan/tests/support/mod.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cell::check(data));
