//! Notifies senders of their link's rate, as a driver notifies its host.
//!
//! The sender of an uplink flow runs on the station and is notified of the station's rate. The server of a downlink flow is not
//! on the wireless link. It is notified of the AP's rate towards the station only if the plan says so, at once and without cost
//! ([`FlowSpec::server_notified_of_link_rate`](crate::FlowSpec::server_notified_of_link_rate)).

use wifair_tcp::Sender;
use wifair_wlan::LinkRateChange;

use super::Network;
use crate::tap::Tap;

impl<T: Tap> Network<T> {
    /// Notifies the listeners of a link whose rate has changed; they may send.
    #[cold]
    pub(super) fn on_link_rate(&mut self, change: LinkRateChange) {
        for index in 0..self.listeners.of(change.station, change.direction).len() {
            let slot = self.listeners.of(change.station, change.direction)[index] as usize;
            self.connections[slot].sender.on_link_rate(self.fabric.now, change.rate);
            self.pump::<Sender>(slot);
        }
    }

    /// Notifies a new sender of the current rate. Its congestion control may poll the rate later.
    pub(super) fn notify_link_rate(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        if let Some(direction) = connection.notified_of {
            let rate = self.fabric.air.link_rate(connection.station, direction);
            connection.sender.on_link_rate(self.fabric.now, rate);
            self.pump::<Sender>(slot);
        }
    }
}
