//! What fuzzing has kept (`docs/fuzzing.md`): every packet of the corpus is refused, or carried and accounted for.

#[path = "fuzz/packet.rs"]
mod packet;
#[path = "../../../fuzz/shared/replay.rs"]
mod replay;

#[test]
fn packets() {
    replay::replay("packet", packet::check);
}
