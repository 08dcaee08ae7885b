//! The counters of a measurement: the difference of two snapshots.

use wifair_core::{Ac, Counters, Time};
use wifair_queue::{Ledger, TxQueueSnapshot};
use wifair_wlan::{BssSnapshot, FieldUsage};

use super::rows::WireRow;
use crate::figures::ns_to_ms;
use crate::snapshot::BssCounters;
use crate::wire::{LinkCounters, WireCounters};

/// The counters of a BSS in the measurement.
pub(super) struct MeasuredBss {
    pub air: BssSnapshot,
    pub field: Option<FieldUsage>,
    pub ap: Vec<(Option<Ac>, TxQueueSnapshot)>,
    pub stations: [Ledger; 3],
    pub by_station: Vec<Ledger>,
    pub wire: WireCounters,
}

impl MeasuredBss {
    pub(super) fn new(after: &BssCounters, before: &BssCounters) -> MeasuredBss {
        let ap = after.ap.iter().zip(&before.ap);
        let by_station = after.by_station.iter().zip(&before.by_station);
        MeasuredBss {
            air: after.air.since(&before.air),
            field: after.field.zip(before.field).map(|(now, then)| now.since(&then)),
            ap: ap.map(|((category, now), (_, then))| (*category, now.since(then))).collect(),
            stations: after.stations.since(&before.stations),
            by_station: by_station.map(|(now, then)| now.since(then)).collect(),
            wire: after.wire.since(&before.wire),
        }
    }
}

/// The queues before the shared link of the wire.
pub(super) fn wire_rows(wire: &WireCounters, elapsed: Time) -> Vec<WireRow> {
    let [to_server, to_ap] = &wire.shared;
    let row = |(direction, link): (&str, &LinkCounters)| WireRow {
        direction: direction.into(),
        packets: link.packets,
        dropped_packets: link.dropped,
        wait_mean_ms: (link.packets > 0).then(|| ns_to_ms(link.wait_ns as f64 / link.packets as f64)),
        length_mean_packets: link.length_ns as f64 / elapsed.as_ns() as f64,
    };
    [("down", to_ap), ("up", to_server)].map(row).to_vec()
}
