//! What fuzzing has kept (`docs/fuzzing.md`): every plan of the corpus is refused or runs.

#[path = "../../../fuzz/shared/given.rs"]
mod given;
#[path = "fuzz/plan.rs"]
mod plan;
#[path = "../../../fuzz/shared/replay.rs"]
mod replay;

#[test]
fn plans() {
    replay::replay("plan", plan::check);
}
