//! What fuzzing has kept (`docs/fuzzing.md`): every port of the corpus keeps its books.

mod common;
#[path = "../../../fuzz/shared/given.rs"]
mod given;
mod naive;
mod plain;
#[path = "fuzz/port.rs"]
mod port;
#[path = "../../../fuzz/shared/replay.rs"]
mod replay;

#[test]
fn ports() {
    replay::replay("queue", port::check);
}
