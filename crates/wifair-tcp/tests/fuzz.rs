//! What fuzzing has kept (`docs/fuzzing.md`): both ends hold under every sequence of segments of the corpus.

#[path = "fuzz/common.rs"]
mod common;
#[path = "../../../fuzz/shared/given.rs"]
mod given;
#[path = "fuzz/receiver.rs"]
mod receiver;
#[path = "../../../fuzz/shared/replay.rs"]
mod replay;
#[path = "fuzz/sender.rs"]
mod sender;
mod stream;

#[test]
fn receivers() {
    replay::replay("tcp_receiver", receiver::check);
}

#[test]
fn senders() {
    replay::replay("tcp_sender", sender::check);
}
