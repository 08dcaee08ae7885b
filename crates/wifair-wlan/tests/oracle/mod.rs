//! The oracle: an independent, slow, obvious model of the medium, written from docs/medium.md alone.
//!
//! Time passes in steps of one microsecond, or of a part of one. Each node is a listener that receives what it can hear and
//! keeps its own interframe space, NAV, backoff counter, timeouts and retry counters; nothing is shared between nodes but the
//! air. Read first: `node` (the listener), then `air` (who hears what), then `scenario` (what is run) and `record` (what is
//! compared).
//!
//! Steps in which every listener only counts are passed at once (`node::quiet`). `oracle_self` holds runs that do so equal to
//! runs that take every step.
//!
//! What the engine can do, and who is held against this model for it; docs/validation.md has the same table:
//!
//! | feature | here |
//! | --- | --- |
//! | 802.11b with both preambles, g, a; control rate; custom slot and SIFS; sizes of headers | yes |
//! | DCF, EIFS, NAV, custom timeouts, retry limits, RTS and CTS, duplicates | yes |
//! | ns-2's ways: no immediate access, EIFS and one DIFS more, exclusive backoff, arrivals within an IFS | yes |
//! | ERP protection, both kinds | yes |
//! | errors of data and MAC ACK by link and direction, of data by rate | yes |
//! | rates, error rates and the AP's limit changing in mid-run, at any instant of an exchange | yes |
//! | ARF and AARF, and when their changes are reported | yes |
//! | access off the slot grid: arrivals at any µs, or a quarter, fifth or eighth of one, also at ends of frames | yes |
//! | EDCA: windows, AIFSNs, TXOPs, both rules of countdown, internal collisions, separate or shared transmit queues | yes |
//! | senders of a collision that wait an EIFS | yes |
//! | capture, also of RTS, with positions, moving ones, changing tracks | yes |
//! | 802.11n, ac, ax and be with every mode; older stations among them, with protection | yes |
//! | aggregation: windows and bitmaps to 1,024, requests, tries, reordering, ends and errors of MPDUs, TXOPs, wrapping | yes |
//! | beacons: target times, precedence, collisions, under DCF and EDCA | yes |
//! | the controller of CWmin, also in fields of several BSSs | yes |
//! | frames on the air, what a Block Ack acknowledges, what a request starts with | yes |
//! | fields: powers, lock, CCA, NAV per node, overlapping exchanges; DCF or EDCA, A-MPDUs, OBSS PD (`field`) | yes |
//! | fading, error rates by SNR | no: tests of `channel`, by hand and by integration |
//! | uplink packets that the AP marks or drops; queue sizes in QoS Control | yes |
//! | classifiers but `dscp`; channel, service times; other decisions of schemes, limit controllers, ticks | no: other tests |
//! | custom plcp_us, signal_extension_us, rx start delays | no: the table and its unit tests |

#![allow(dead_code)] // Every test binary uses its own part.

pub mod agreement;
pub mod air;
pub mod cell;
pub mod chain;
pub mod contender;
pub mod engine;
pub mod field;
pub mod flaw;
pub mod frame;
pub mod mode;
pub mod node;
pub mod radio;
pub mod random;
pub mod rate;
pub mod record;
pub mod scenario;
pub mod statistics;
pub mod timing;

/// Whether the long form of a test is asked for.
pub fn validating() -> bool {
    std::env::var_os("WIFAIR_VALIDATE").is_some()
}

/// Reports a result so far: at once in the long form, else with the test's output.
pub fn tell(line: &str) {
    if validating() {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "{line}"); // unlike `eprintln` this is not captured
    } else {
        println!("{line}");
    }
}
