//! The sequence of a flow's transfers. Nothing here is on the path of a packet in the middle of a transfer.

use wifair_core::Time;
use wifair_tcp::Sender;

use super::Network;
use crate::connection::{Connection, EndPoint};
use crate::flow::{Carries, Flow, TransferSequence};
use crate::tap::Tap;
use crate::transfer::{TransferEnd, TransferRecord};

impl<T: Tap> Network<T> {
    /// Starts the flow.
    #[cold]
    pub(super) fn start(&mut self, flow: usize) {
        self.flows[flow].has_started = true;
        match &self.flows[flow].carries {
            Carries::Transfers(_) => self.go_on(flow),
            Carries::Datagrams(_) => self.start_datagrams(flow),
        }
    }

    /// Wakes a flow whose wait is over.
    #[cold]
    pub(super) fn wake_flow(&mut self, flow: usize) {
        match &self.flows[flow].carries {
            Carries::Transfers(_) => self.open(flow),
            Carries::Datagrams(_) => self.send_datagrams(flow),
        }
    }

    /// Stops the flow: it begins no further transfer and sends no further datagram.
    #[cold]
    pub(super) fn stop(&mut self, flow: usize) {
        let stopped = &mut self.flows[flow];
        stopped.is_open = false;
        if stopped.waits && !stopped.has_started {
            return;
        }
        match &self.flows[flow].carries {
            Carries::Transfers(_) => self.stop_transfers(flow),
            Carries::Datagrams(_) => self.stop_datagrams(flow),
        }
    }

    /// Schedules the flow to be woken at `at`.
    pub(super) fn wake_at(&mut self, flow: usize, at: Time) {
        let slot = self.flows[flow].slots().start;
        let connection = &mut self.connections[slot];
        connection.wakes_at = at;
        if at < connection.alarms[Sender::INDEX] {
            self.fabric.set_alarm(slot, connection, Sender::INDEX, at);
            self.fabric.expect(at);
        }
    }

    /// The sequence of transfers of a flow over TCP, and its connections.
    pub(super) fn sequence(&mut self, flow: usize) -> (&mut TransferSequence, &mut [Connection]) {
        let slots = self.flows[flow].slots();
        let sequence = self.flows[flow].sequence().expect("only a flow over TCP has transfers");
        (sequence, &mut self.connections[slots])
    }

    /// Starts the flow's next transfer, now or later, or ends the flow. Called at the start and after each transfer.
    pub(super) fn go_on(&mut self, flow: usize) {
        let now = self.fabric.now;
        let at = self.sequence(flow).0.next(now);
        if at == Time::MAX {
            self.flow_ended(flow);
        } else if at <= now {
            self.open(flow);
        } else {
            self.wake_at(flow, at);
        }
    }

    /// Opens the connections of the transfer that the flow has waited for.
    fn open(&mut self, flow: usize) {
        let first = self.flows[flow].slots().start;
        self.connections[first].wakes_at = Time::MAX;
        let sequence = self.sequence(flow).0;
        let (generation, width) = (sequence.generation(), sequence.width());
        let slots = first..first + width;
        if self.renew_with_other_tcp(flow, generation) {
            slots.clone().for_each(|slot| self.notify_link_rate(slot));
        } else if generation > 0 {
            for slot in slots.clone() {
                self.connections[slot].renew(slot, generation);
                self.notify_link_rate(slot);
            }
        }
        let now = self.fabric.now;
        let (sequence, connections) = self.sequence(flow);
        sequence.begin(&mut connections[..width], now);
        for slot in slots {
            self.pump::<Sender>(slot);
        }
    }

    /// Handles a connection in `slot` that has delivered everything and may have closed.
    #[cold]
    pub(super) fn settle(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        let is_over = connection.is_over();
        if std::mem::replace(&mut connection.is_closing, true) && !is_over {
            return; // nothing new
        }
        let (now, flow) = (self.fabric.now, self.flow_of[slot] as usize);
        let (sequence, connections) = self.sequence(flow);
        // Usually there is one connection, which has just been checked.
        let open = &connections[..sequence.width()];
        let alone = open.len() == 1;
        if alone || open.iter().all(|connection| connection.is_closing) {
            sequence.complete(now);
            if is_over && (alone || open.iter().all(Connection::is_over)) {
                self.end_transfer(flow, TransferEnd::Complete);
            }
        }
    }

    /// Handles an expired TCP timer of a transfer of known size: gives it up after too long without progress. Returns whether
    /// it did.
    #[cold]
    pub(super) fn give_up(&mut self, slot: usize) -> bool {
        let (now, flow) = (self.fabric.now, self.flow_of[slot] as usize);
        let Some(_) = self.flows[flow].sequence() else { return false };
        let (sequence, connections) = self.sequence(flow);
        let width = sequence.width();
        let gives_up = sequence.gives_up(&connections[..width], now);
        if gives_up {
            self.end_transfer(flow, TransferEnd::TimedOut);
        }
        gives_up
    }

    fn end_transfer(&mut self, flow: usize, end: TransferEnd) {
        let closed = (end == TransferEnd::Complete).then_some(self.fabric.now);
        let first = self.flows[flow].slots().start;
        let (sequence, connections) = self.sequence(flow);
        let (generation, width) = (sequence.generation(), sequence.width());
        let open = &mut connections[..width];
        let record = sequence.record(flow, open, end, closed);
        for (slot, connection) in (first..).zip(open) {
            connection.is_closing = false;
            connection.goal_bytes = u64::MAX;
            if end == TransferEnd::TimedOut {
                connection.renew(slot, generation); // the ends of the old one fall silent
            }
        }
        self.finished.extend(record.map(|record| (self.fabric.now, record)));
        self.go_on(flow);
    }

    fn stop_transfers(&mut self, flow: usize) {
        let slot = self.flows[flow].slots().start;
        let (sequence, connections) = self.sequence(flow);
        let waited = !sequence.has_ended();
        sequence.stop(connections);
        connections[0].wakes_at = Time::MAX;
        if waited && sequence.has_ended() {
            self.flow_ended(flow);
        }
        self.pump::<Sender>(slot);
        let connection = &self.connections[slot];
        if connection.receiver.stats().payload_bytes_delivered >= connection.goal_bytes {
            self.settle(slot); // nothing was on its way
        }
    }

    pub(super) fn flow_ended(&mut self, flow: usize) {
        for waiting in self.groups.ended(self.flows[flow].group()) {
            self.stop(waiting);
        }
    }

    /// Takes the records of the transfers that have ended since this was last called.
    pub fn finished_transfers(&mut self) -> impl Iterator<Item = TransferRecord> {
        self.take_finished().map(|(_, record)| record)
    }

    /// As [`Network::finished_transfers`], each with its end.
    pub(crate) fn take_finished(&mut self) -> impl Iterator<Item = (Time, TransferRecord)> {
        self.finished.drain(..)
    }

    /// The current records of the transfers under way.
    pub fn transfers_under_way(&self) -> Vec<TransferRecord> {
        let under_way = |(index, flow): (usize, &Flow)| match &flow.carries {
            Carries::Transfers(sequence) => {
                let open = &self.connections_of(flow)[..sequence.width()];
                sequence.record(index, open, TransferEnd::Horizon, None)
            }
            Carries::Datagrams(_) => None,
        };
        self.flows.iter().enumerate().filter_map(under_way).collect()
    }
}
