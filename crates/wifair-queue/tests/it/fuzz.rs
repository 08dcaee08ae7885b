//! What fuzzing has kept (`docs/fuzzing.md`): every transmit queue of the corpus counts correctly.

use crate::{replay, tx_queue};

#[test]
fn tx_queues() {
    replay::replay("queue", tx_queue::check);
}
