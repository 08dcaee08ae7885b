//! What fuzzing has kept (`docs/fuzzing.md`): every packet of the corpus is refused, or carried and accounted for.

use crate::{packet, replay};

#[test]
fn packets() {
    replay::replay("packet", packet::check);
}
