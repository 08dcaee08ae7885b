//! What fuzzing has kept (`docs/fuzzing.md`): every cell of the corpus keeps its books.

#[path = "fuzz/cell.rs"]
mod cell;
#[path = "../../../fuzz/shared/given.rs"]
mod given;
#[path = "../../../fuzz/shared/replay.rs"]
mod replay;
mod support;

#[test]
fn cells() {
    replay::replay("medium", cell::check);
}
