//! Which senders are notified of which link's rate.

use wifair_core::StationId;
use wifair_queue::Direction;

use crate::connection::Connection;

/// By link, two per station: the slots whose senders are notified of its rate, in the order of the plan.
pub(super) struct Listeners(Vec<Vec<u32>>);

fn link(station: StationId, direction: Direction) -> usize {
    2 * station.index() + direction as usize
}

impl Listeners {
    pub(super) fn new(connections: &[Connection], stations: usize) -> Listeners {
        let mut by_link = vec![vec![]; 2 * stations];
        for (slot, connection) in connections.iter().enumerate() {
            if let Some(direction) = connection.notified_of {
                by_link[link(connection.station, direction)].push(slot as u32);
            }
        }
        Listeners(by_link)
    }

    /// The slots whose senders are notified of the rate of a link.
    pub(super) fn of(&self, station: StationId, direction: Direction) -> &[u32] {
        &self.0[link(station, direction)]
    }
}
