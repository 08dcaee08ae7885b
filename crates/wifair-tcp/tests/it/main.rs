//! The integration tests of the crate, as one program: it links once. Run a part with `cargo test -p wifair-tcp --test it PART::`.

mod any_path;
mod bottleneck;
mod cubic;
mod hostile;
#[path = "../network/mod.rs"]
mod network;
mod renew;
#[path = "../script/mod.rs"]
mod script;
mod scripts;
mod spec;
mod stats;
#[path = "../stream/mod.rs"]
mod stream;
