use wifair_core::Ac;
use wifair_queue::{Ledger, PortSnapshot};
use wifair_tcp::{ReceiverStats, SenderStats};
use wifair_wlan::CellSnapshot;

use crate::network::Network;

/// All counters of a network at one instant.
pub(crate) struct Snapshot {
    pub(crate) cell: CellSnapshot,
    /// Under EDCA one a category in use, the highest first.
    pub(crate) ap: Vec<(Option<Ac>, PortSnapshot)>,
    pub(crate) stations: Ledgers,
    pub(crate) senders: Vec<SenderStats>,
    pub(crate) receivers: Vec<ReceiverStats>,
    pub(crate) tallies: Vec<Tally>,
    pub(crate) wire_losses: u64,
}

impl Snapshot {
    /// Copies every counter of `network`.
    pub(crate) fn take(network: &Network) -> Snapshot {
        let now = network.now();
        let cell = network.cell();
        let mut stations = Ledgers::default();
        for port in network.station_ports() {
            stations.add(&port.snapshot(now).classes);
        }
        Snapshot {
            cell: cell.snapshot(now),
            ap: cell.ap_ports().map(|(category, port)| (category, port.snapshot(now))).collect(),
            stations,
            senders: network.connections().iter().map(|c| c.sender.stats().clone()).collect(),
            receivers: network.connections().iter().map(|c| *c.receiver.stats()).collect(),
            tallies: network.tallies(now),
            wire_losses: network.wire().losses(),
        }
    }
}

/// What became of one flow's packets at the AP's ports. Cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) offered: u64,
    pub(crate) lost: u64,
    pub(crate) filtered: u64,
    pub(crate) marked: u64,
}

impl Tally {
    /// Adds a flow's ledgers.
    pub(crate) fn add(&mut self, classes: &[Ledger; 3]) {
        for ledger in classes {
            self.offered += ledger.offered.packets;
            self.lost += ledger.lost_in_buffer().packets + ledger.lost_at_retry_limit.packets;
            self.marked += ledger.ce_marked.packets + ledger.ece_marked.packets;
            self.filtered += ledger.filtered.packets;
        }
    }

    /// What came since `earlier`.
    pub(crate) fn since(&self, earlier: &Tally) -> Tally {
        Tally {
            offered: self.offered - earlier.offered,
            lost: self.lost - earlier.lost,
            filtered: self.filtered - earlier.filtered,
            marked: self.marked - earlier.marked,
        }
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
