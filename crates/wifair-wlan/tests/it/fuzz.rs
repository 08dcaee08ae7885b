//! What fuzzing has kept (`docs/fuzzing.md`): the counters of every BSS of the corpus are consistent.

use crate::{bss, replay};

#[test]
fn cells() {
    replay::replay("medium", bss::check);
}
