//! Flows without connections: sending, receiving and answering datagrams. None of it is on the path of a TCP segment: a packet
//! without a connection is a datagram.

use wifair_core::{Packet, TCP, Time};

use super::Network;
use crate::datagram_session::{BACK, DatagramSession, FORWARD};
use crate::flow::Carries;
use crate::plan::FlowDirection;
use crate::tap::Tap;
use crate::wire::Way;

impl<T: Tap> Network<T> {
    fn session(&mut self, flow: usize) -> &mut DatagramSession {
        match &mut self.flows[flow].carries {
            Carries::Datagrams(session) => session,
            Carries::Transfers(_) => unreachable!("only a flow without TCP has datagrams"),
        }
    }

    /// Starts the flow.
    pub(super) fn start_datagrams(&mut self, flow: usize) {
        let now = self.fabric.now;
        self.session(flow).start(now);
        self.send_datagrams(flow);
    }

    /// Sends the datagrams that are due, and notes when the next is.
    pub(super) fn send_datagrams(&mut self, flow: usize) {
        let now = self.fabric.now;
        while let Some((way, packet)) = self.session(flow).poll_transmit(now) {
            self.send_datagram(flow, way, &packet);
        }
        let next = self.session(flow).next();
        self.wake_at(flow, next);
    }

    /// Stops sending.
    pub(super) fn stop_datagrams(&mut self, flow: usize) {
        if self.session(flow).stop() {
            self.wake_at(flow, Time::MAX);
            self.flow_ended(flow);
        }
    }

    /// Sends a datagram; `way` is the flow's direction or the opposite.
    fn send_datagram(&mut self, flow: usize, way: usize, packet: &Packet) {
        let slot = self.flows[flow].slots().start;
        let connection = &self.connections[slot];
        let at_station = (connection.direction == FlowDirection::Up) == (way == FORWARD);
        self.fabric.tap.sent(self.fabric.now, packet, at_station.then_some(connection.station));
        if at_station {
            self.fabric.air.send_up(connection.station, packet, self.fabric.now);
        } else {
            let arrival = self.fabric.wire.send(connection.lines, Way::ToAp, slot, packet, self.fabric.now);
            self.fabric.expect(arrival);
        }
    }

    /// Handles a packet at its destination that no connection of its slot has taken: a late packet of an earlier connection,
    /// which is discarded, or a datagram.
    #[cold]
    pub(super) fn arrive_without_connection(&mut self, packet: &Packet) {
        if packet.tuple.protocol == TCP {
            return;
        }
        let (now, flow) = (self.fabric.now, self.flow_of[packet.connection.slot()] as usize);
        let session = self.session(flow);
        let way = session.way(packet);
        if let Some(answer) = session.arrive(packet, now) {
            self.send_datagram(flow, FORWARD + BACK - way, &answer);
        }
    }

    /// By flow and direction (its own, the opposite): datagrams queued, in the air or on the wire.
    pub(crate) fn datagrams_under_way(&self) -> Vec<[u64; 2]> {
        let mut counts = vec![[0; 2]; self.flows.len()];
        if self.flows.iter().all(|flow| flow.session().is_none()) {
            return counts;
        }
        let in_bss = self.fabric.air.packets_under_way().map(|(_, packet)| packet);
        for packet in self.fabric.wire.packets().chain(in_bss) {
            let flow = self.flow_of[packet.connection.slot()] as usize;
            if let Some(session) = self.flows[flow].session() {
                counts[flow][session.way(packet)] += 1;
            }
        }
        counts
    }
}
