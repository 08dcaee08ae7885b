use std::ops::AddAssign;

use wifair_core::Ac;
use wifair_queue::{Ledger, PortSnapshot};
use wifair_tcp::{ReceiverStats, SenderStats};
use wifair_wlan::BssSnapshot;

use crate::connection::Connection;
use crate::datagram_session::{BACK, FORWARD, StreamStats};
use crate::e_model::Codec;
use crate::flow::Flow;
use crate::network::Network;
use crate::tap::Tap;

/// All counters of a network at one instant.
pub(crate) struct Snapshot {
    pub(crate) bss: BssSnapshot,
    /// Under EDCA one a category in use, the highest first.
    pub(crate) ap: Vec<(Option<Ac>, PortSnapshot)>,
    pub(crate) stations: Ledgers,
    /// By station, all classes together.
    pub(crate) by_station: Vec<Ledger>,
    /// By flow, its connections together; so are the next two.
    pub(crate) senders: Vec<SenderStats>,
    pub(crate) receivers: Vec<ReceiverStats>,
    pub(crate) tallies: Vec<Tally>,
    /// By flow, both ways, where it has datagrams.
    pub(crate) streams: Vec<Option<[StreamSnapshot; 2]>>,
    pub(crate) wire_losses: u64,
}

impl Snapshot {
    /// Copies every counter of `network`.
    pub(crate) fn take<T: Tap>(network: &Network<T>) -> Snapshot {
        let now = network.now();
        let bss = network.bss();
        let mut stations = Ledgers::default();
        let mut by_station = vec![];
        for ports in network.station_ports() {
            let mut own = Ledgers::default();
            ports.for_each(|port| own.add(&port.snapshot(now).classes));
            stations.add(&own.0);
            by_station.push(own.total());
        }
        Snapshot {
            bss: bss.snapshot(now),
            ap: bss.ap_ports().map(|(category, port)| (category, port.snapshot(now))).collect(),
            stations,
            by_station,
            senders: by_flow(network, |c| c.sender.stats()),
            receivers: by_flow(network, |c| c.receiver.stats()),
            tallies: network.tallies(now),
            streams: streams(network),
            wire_losses: network.wire().losses(),
        }
    }
}

/// Counters of a flow's connections together.
fn by_flow<T: Tap, S: Clone + for<'a> AddAssign<&'a S>>(
    network: &Network<T>,
    of: fn(&Connection) -> &S,
) -> Vec<S> {
    let sum = |flow: &Flow| {
        let (first, others) = network.connections_of(flow).split_first().expect("a flow has a slot");
        let mut sum = of(first).clone();
        others.iter().for_each(|other| sum += of(other));
        sum
    };
    network.flows().iter().map(sum).collect()
}

/// Counters of the datagrams of one direction of a flow.
#[derive(Clone, Debug)]
pub(crate) struct StreamSnapshot {
    pub(crate) stats: StreamStats,
    /// Sent, and neither arrived nor lost.
    pub(crate) under_way: u64,
    /// Whether anything ever goes this way.
    pub(crate) exists: bool,
    pub(crate) codec: Option<Codec>,
}

fn streams<T: Tap>(network: &Network<T>) -> Vec<Option<[StreamSnapshot; 2]>> {
    let snapshot = |(flow, under_way): (&Flow, [u64; 2])| {
        let session = flow.session()?;
        Some([FORWARD, BACK].map(|way| StreamSnapshot {
            stats: session.stats()[way].clone(),
            under_way: under_way[way],
            exists: way == FORWARD || session.talks_back(),
            codec: session.codec().copied(),
        }))
    };
    network.flows().iter().zip(network.datagrams_under_way()).map(snapshot).collect()
}

/// What became of one flow's packets at the AP's ports, all classes together. Cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally(Ledger);

impl Tally {
    /// Adds a flow's ledgers.
    pub(crate) fn add(&mut self, classes: &[Ledger; 3]) {
        for ledger in classes {
            self.0 += ledger;
        }
    }

    /// What came since `earlier`.
    pub(crate) fn since(&self, earlier: &Tally) -> Ledger {
        self.0.since(&earlier.0)
    }
}

/// Ledgers by class, of one port or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledgers(pub(crate) [Ledger; 3]);

impl Ledgers {
    pub(crate) fn add(&mut self, classes: &[Ledger; 3]) {
        for (sum, ledger) in self.0.iter_mut().zip(classes) {
            *sum += ledger;
        }
    }

    /// What came since `earlier`.
    pub(crate) fn since(&self, earlier: &Ledgers) -> Ledgers {
        Ledgers(std::array::from_fn(|class| self.0[class].since(&earlier.0[class])))
    }

    /// All classes together.
    pub(crate) fn total(&self) -> Ledger {
        let mut total = Ledger::default();
        for ledger in &self.0 {
            total += ledger;
        }
        total
    }
}
