use wifair_core::{Ac, Counters, StationId};
use wifair_queue::{Ledger, TxQueueSnapshot};
use wifair_tcp::{ReceiverStats, SenderStats};
use wifair_wlan::{Bss, BssSnapshot, FieldUsage};

use crate::connection::Connection;
use crate::datagram_session::{BACK, FORWARD, StreamStats};
use crate::e_model::Codec;
use crate::flow::Flow;
use crate::parts::Parts;
use crate::tap::Tap;
use crate::wire::WireCounters;

/// All counters of a BSS and its wire at one instant.
pub(crate) struct BssCounters {
    pub(crate) air: BssSnapshot,
    /// If there are several BSSs.
    pub(crate) field: Option<FieldUsage>,
    /// The AP's transmit queues; under EDCA one per category in use, the highest first.
    pub(crate) ap: Vec<(Option<Ac>, TxQueueSnapshot)>,
    /// Of all stations, by class.
    pub(crate) stations: [Ledger; 3],
    /// By station, all classes together.
    pub(crate) by_station: Vec<Ledger>,
    /// Several BSSs may share a wire.
    pub(crate) wire: WireCounters,
}

/// All counters of a network at one instant.
pub(crate) struct Snapshot {
    pub(crate) bsss: Vec<BssCounters>,
    /// By flow, summed over its connections, as are the next two. Tallies are of the AP's transmit queues, by class.
    pub(crate) senders: Vec<SenderStats>,
    pub(crate) receivers: Vec<ReceiverStats>,
    pub(crate) tallies: Vec<[Ledger; 3]>,
    /// By flow, both directions, if it has datagrams.
    pub(crate) streams: Vec<Option<[StreamSnapshot; 2]>>,
}

impl Snapshot {
    /// Copies every counter of `network`.
    pub(crate) fn take<T: Tap>(network: &Parts<T>) -> Snapshot {
        let airs = network.snapshots().zip(network.field_usages());
        let bsss = network.bsss().zip(airs).zip(network.wire_counters());
        Snapshot {
            bsss: bsss
                .map(|((bss, (air, field)), wire)| BssCounters { field, ..BssCounters::take(bss, air, wire) })
                .collect(),
            senders: by_flow(network, |c| c.sender.stats()),
            receivers: by_flow(network, |c| c.receiver.stats()),
            tallies: network.tallies(),
            streams: streams(network),
        }
    }
}

impl BssCounters {
    /// Copies every counter of a BSS, whose counters of the medium are `air`, and of its wire.
    pub(crate) fn take(bss: &Bss, air: BssSnapshot, wire: WireCounters) -> BssCounters {
        let now = air.at;
        let mut stations = <[Ledger; 3]>::default();
        let mut by_station = vec![];
        for station in 0..air.stations.len() as u16 {
            let mut own = <[Ledger; 3]>::default();
            let tx_queues = bss.station_tx_queues(StationId(station));
            tx_queues.for_each(|(_, tx_queue)| own.add(&tx_queue.snapshot(now).classes));
            stations.add(&own);
            by_station.push(total(&own));
        }
        let ap = bss.ap_tx_queues().map(|(category, tx_queue)| (category, tx_queue.snapshot(now))).collect();
        BssCounters { air, field: None, ap, stations, by_station, wire }
    }
}

/// Sum over all classes.
pub(crate) fn total(classes: &[Ledger; 3]) -> Ledger {
    let [mut total, others @ ..] = *classes;
    others.iter().for_each(|other| total.add(other));
    total
}

/// Sums the counters of each flow's connections.
fn by_flow<T: Tap, S: Clone + Counters>(network: &Parts<T>, of: fn(&Connection) -> &S) -> Vec<S> {
    let sum = |(_, connections): (&Flow, &[Connection])| {
        let (first, others) = connections.split_first().expect("a flow has a slot");
        let mut sum = of(first).clone();
        others.iter().for_each(|other| sum.add(of(other)));
        sum
    };
    network.flows().map(sum).collect()
}

/// Counters of the datagrams of one direction of a flow.
#[derive(Clone, Debug)]
pub(crate) struct StreamSnapshot {
    pub(crate) stats: StreamStats,
    /// Sent, but neither arrived nor lost.
    pub(crate) under_way: u64,
    /// Whether the flow sends in this direction at all.
    pub(crate) exists: bool,
    pub(crate) codec: Option<Codec>,
}

fn streams<T: Tap>(network: &Parts<T>) -> Vec<Option<[StreamSnapshot; 2]>> {
    let snapshot = |((flow, _), under_way): ((&Flow, &[Connection]), [u64; 2])| {
        let session = flow.session()?;
        Some([FORWARD, BACK].map(|way| StreamSnapshot {
            stats: session.stats()[way].clone(),
            under_way: under_way[way],
            exists: way == FORWARD || session.talks_back(),
            codec: session.codec().copied(),
        }))
    };
    network.flows().zip(network.datagrams_under_way()).map(snapshot).collect()
}
