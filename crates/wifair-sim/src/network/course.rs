//! From one transfer of a flow to the next. Nothing here is on the path of a packet in the middle of a transfer.

use wifair_core::Time;
use wifair_tcp::Sender;

use super::Network;
use crate::connection::EndPoint;
use crate::transfer::{TransferEnd, TransferRecord};

impl Network {
    /// The flow starts, or its transfer is over: the next one begins, now or later, or the flow has ended.
    #[cold]
    pub(super) fn go_on(&mut self, slot: usize) {
        let at = self.flows[slot].next(self.now);
        if at == Time::MAX {
            self.flow_ended(slot);
        } else if at <= self.now {
            self.open(slot);
        } else {
            self.connections[slot].opens_at = at;
            let timer = 2 * slot + Sender::INDEX;
            if at < self.timers.at(timer) {
                self.timers.set(timer, at);
                self.outside = self.outside.min(at);
            }
        }
    }

    /// Opens the connection of the transfer for which the flow has waited.
    #[cold]
    pub(super) fn open(&mut self, slot: usize) {
        let (flow, connection) = (&mut self.flows[slot], &mut self.connections[slot]);
        connection.opens_at = Time::MAX;
        if flow.generation() > 0 {
            connection.renew(slot, flow.generation());
            self.tell_link_rate(slot);
        }
        let (flow, connection) = (&mut self.flows[slot], &mut self.connections[slot]);
        flow.begin(connection, self.now);
        self.pump::<Sender>(slot);
    }

    /// Everything has been delivered; the connection may be closed, too.
    #[cold]
    pub(super) fn settle(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        connection.is_closing = true;
        self.flows[slot].complete(self.now);
        if connection.is_over() {
            self.end_transfer(slot, TransferEnd::Complete);
        }
    }

    /// A timer of TCP has expired: gives the transfer up if nothing has moved for too long; whether it did.
    #[cold]
    pub(super) fn give_up(&mut self, slot: usize) -> bool {
        let gives_up = self.flows[slot].gives_up(&self.connections[slot], self.now);
        if gives_up {
            self.end_transfer(slot, TransferEnd::TimedOut);
        }
        gives_up
    }

    fn end_transfer(&mut self, slot: usize, end: TransferEnd) {
        let (flow, connection) = (&self.flows[slot], &mut self.connections[slot]);
        self.finished.extend(flow.record(slot, connection, end));
        connection.is_closing = false;
        connection.goal_bytes = u64::MAX;
        if end == TransferEnd::TimedOut {
            connection.renew(slot, flow.generation()); // the ends of the old one fall silent
        }
        self.go_on(slot);
    }

    /// The flow shall begin no further transfer.
    #[cold]
    pub(super) fn stop(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        let waited = !self.flows[slot].has_ended();
        self.flows[slot].stop(connection);
        connection.opens_at = Time::MAX;
        if waited && self.flows[slot].has_ended() {
            self.flow_ended(slot);
        }
        self.pump::<Sender>(slot);
        let connection = &self.connections[slot];
        if connection.receiver.stats().payload_bytes_delivered >= connection.goal_bytes {
            self.settle(slot); // nothing was on its way
        }
    }

    fn flow_ended(&mut self, slot: usize) {
        for waiting in self.groups.ended(self.flows[slot].group()) {
            self.stop(waiting);
        }
    }

    /// Takes the records of the transfers that have ended since this was last called.
    pub fn finished_transfers(&mut self) -> impl Iterator<Item = TransferRecord> {
        self.finished.drain(..)
    }

    /// The records of the transfers under way, as they stand.
    pub fn transfers_under_way(&self) -> Vec<TransferRecord> {
        let flows = self.flows.iter().zip(&self.connections).enumerate();
        flows
            .filter_map(|(slot, (flow, connection))| flow.record(slot, connection, TransferEnd::Horizon))
            .collect()
    }
}
