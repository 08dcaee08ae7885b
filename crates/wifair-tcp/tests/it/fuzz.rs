//! What fuzzing has kept (`docs/fuzzing.md`): both ends hold under every sequence of segments of the corpus.

use crate::{receiver, replay, sender};

#[test]
fn receivers() {
    replay::replay("tcp_receiver", receiver::check);
}

#[test]
fn senders() {
    replay::replay("tcp_sender", sender::check);
}
