//! The integration tests of the crate, as one program: it links once. Run a part with `cargo test -p wifair-tcp --test it
//! PART::`.

mod any_path;
mod bbr;
mod bottleneck;
#[path = "../fuzz/common.rs"]
mod common;
mod cubic;
mod fuzz;
#[path = "../../../../fuzz/shared/given.rs"]
mod given;
mod hostile;
mod ledbat;
#[path = "../network/mod.rs"]
mod network;
mod pacing;
#[path = "../fuzz/receiver.rs"]
mod receiver;
mod renew;
#[path = "../../../../fuzz/shared/replay.rs"]
mod replay;
#[path = "../script/mod.rs"]
mod script;
mod scripts;
#[path = "../fuzz/sender.rs"]
mod sender;
mod slow_start;
mod small_queue;
mod spec;
mod stats;
#[path = "../stream/mod.rs"]
mod stream;
