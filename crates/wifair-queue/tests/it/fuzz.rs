//! What fuzzing has kept (`docs/fuzzing.md`): every transmit queue of the corpus counts correctly.

use crate::{port, replay};

#[test]
fn ports() {
    replay::replay("queue", port::check);
}
