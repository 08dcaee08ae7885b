//! Plans as text. See `crates/wifair-sim/tests/fuzz/plan.rs` for what is asserted.
#![no_main]

#[path = "../shared/given.rs"]
mod given;
#[path = "../shared/mutate.rs"]
mod mutate;
#[path = "../../crates/wifair-sim/tests/fuzz/plan.rs"]
mod plan;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    plan::check(data);
});

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::mutate(data, size, max_size, seed)
});
