//! What fuzzing has kept (`docs/fuzzing.md`): every port of the corpus keeps its books.

use crate::{port, replay};

#[test]
fn ports() {
    replay::replay("queue", port::check);
}
