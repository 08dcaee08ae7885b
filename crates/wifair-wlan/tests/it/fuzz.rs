//! What fuzzing has kept (`docs/fuzzing.md`): every BSS of the corpus keeps its books.

use crate::{bss, replay};

#[test]
fn cells() {
    replay::replay("medium", bss::check);
}
