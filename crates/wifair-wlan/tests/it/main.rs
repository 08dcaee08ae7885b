//! The integration tests of the crate, as one program: it links once. Run a part with `cargo test -p wifair-wlan --test it
//! PART::`.

mod accessors;
mod aggregation;
mod anomaly;
mod arrivals;
mod beacons;
#[path = "../fuzz/bss.rs"]
mod bss;
mod categories;
mod changes;
mod channel;
mod closed_form;
mod frames;
mod fuzz;
mod generations;
#[path = "../../../../fuzz/shared/given.rs"]
mod given;
mod hooks;
mod minstrel_ht;
#[path = "../oracle/mod.rs"]
mod oracle;
mod oracle_aggregation;
mod oracle_edca;
mod oracle_exact;
mod oracle_field;
mod oracle_saturation;
mod oracle_self;
mod origins;
mod phy_durations;
mod policing;
mod properties;
mod queue_sizes;
mod rate_adaptation;
#[path = "../../../../fuzz/shared/replay.rs"]
mod replay;
mod saturation;
#[path = "../support/mod.rs"]
mod support;
mod tries;
