//! What fuzzing has kept (`docs/fuzzing.md`): every plan of the corpora is refused or accepted, and small ones run.

use crate::{plan, replay, run};

#[test]
fn plans() {
    replay::replay("plan", |data| drop(plan::check(data)));
}

#[test]
fn runs() {
    replay::replay("run", run::check);
}
