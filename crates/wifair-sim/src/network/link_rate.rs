//! Notifies senders of their link's rate, as a driver notifies its host.
//!
//! The sender of an uplink flow runs on the station and is notified of the station's rate. The server of a downlink flow is not
//! on the wireless link. It is notified of the AP's rate towards the station only if the plan says so, at once and without cost
//! ([`FlowSpec::server_notified_of_link_rate`](crate::FlowSpec::server_notified_of_link_rate)).

use wifair_core::StationId;
use wifair_queue::Direction;
use wifair_tcp::Sender;
use wifair_wlan::LinkRateChange;

use super::Network;
use crate::connection::Connection;
use crate::tap::Tap;

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
}

impl<T: Tap> Network<T> {
    /// Notifies the listeners of a link whose rate has changed; they may send.
    #[cold]
    pub(super) fn on_link_rate(&mut self, change: LinkRateChange) {
        let link = link(change.station, change.direction);
        for index in 0..self.listeners.0[link].len() {
            let slot = self.listeners.0[link][index] as usize;
            self.connections[slot].sender.on_link_rate(self.fabric.now, change.rate);
            self.pump::<Sender>(slot);
        }
    }

    /// Notifies a new sender of the current rate. Its congestion control may poll the rate later.
    pub(super) fn notify_link_rate(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        if let Some(direction) = connection.notified_of {
            let rate = self.fabric.bss.link_rate(connection.station, direction);
            connection.sender.on_link_rate(self.fabric.now, rate);
            self.pump::<Sender>(slot);
        }
    }
}
