//! Flows without connections: their datagrams leave, arrive, and may be answered. All of it lies off the path of a TCP segment:
//! a datagram is what no connection takes.

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

    /// The flow starts.
    pub(super) fn start_datagrams(&mut self, flow: usize) {
        let now = self.fabric.now;
        self.session(flow).start(now);
        self.send_datagrams(flow);
    }

    /// Sends what is due, and notes when the next is.
    pub(super) fn send_datagrams(&mut self, flow: usize) {
        let now = self.fabric.now;
        while let Some((way, packet)) = self.session(flow).poll_transmit(now) {
            self.send_datagram(flow, way, &packet);
        }
        let next = self.session(flow).next();
        self.wake_at(flow, next);
    }

    /// Nothing more is sent.
    pub(super) fn stop_datagrams(&mut self, flow: usize) {
        if self.session(flow).stop() {
            self.wake_at(flow, Time::MAX);
            self.flow_ended(flow);
        }
    }

    /// `way`: in the flow's direction or against it.
    fn send_datagram(&mut self, flow: usize, way: usize, packet: &Packet) {
        let slot = self.flows[flow].slots().start;
        let connection = &self.connections[slot];
        let at_station = (connection.direction == FlowDirection::Up) == (way == FORWARD);
        self.fabric.tap.sent(self.fabric.now, packet, at_station.then_some(connection.station));
        if at_station {
            self.fabric.bss.send_up(connection.station, packet, self.fabric.now);
        } else {
            let arrival = self.fabric.wire.send(connection.lines, Way::ToAp, slot, packet, self.fabric.now);
            self.fabric.expect(arrival);
        }
    }

    /// What has come to the end of its way, and no connection of its slot has taken: a straggler of one that is no more, which
    /// goes nowhere, or a datagram.
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

    /// By flow and way (in its direction, against it): datagrams that wait, are in the air, or are on the wire.
    pub(crate) fn datagrams_under_way(&self) -> Vec<[u64; 2]> {
        let mut counts = vec![[0; 2]; self.flows.len()];
        if self.flows.iter().all(|flow| flow.session().is_none()) {
            return counts;
        }
        let in_bss = self.fabric.bss.packets_under_way().map(|(_, packet)| packet);
        for packet in self.fabric.wire.packets().chain(in_bss) {
            let flow = self.flow_of[packet.connection.slot()] as usize;
            if let Some(session) = self.flows[flow].session() {
                counts[flow][session.way(packet)] += 1;
            }
        }
        counts
    }
}
