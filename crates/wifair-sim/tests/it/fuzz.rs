//! What fuzzing has kept (`docs/fuzzing.md`): every plan of the corpus is refused or runs.

use crate::{plan, replay};

#[test]
fn plans() {
    replay::replay("plan", plan::check);
}
