//! What fuzzing has kept (`docs/fuzzing.md`): every BSS of the corpus keeps its books.

#[path = "fuzz/bss.rs"]
mod bss;
#[path = "../../../fuzz/shared/given.rs"]
mod given;
#[path = "../../../fuzz/shared/replay.rs"]
mod replay;
mod support;

#[test]
fn cells() {
    replay::replay("medium", bss::check);
}
