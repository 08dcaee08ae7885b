//! Changes of flows and of the wire while the network runs: by events of the scenario, or by a live session.

use std::sync::Arc;

use wifair_core::Time;
use wifair_tcp::TcpChange;
use wifair_wlan::Bss;

use super::Network;
use super::changeable::Changes;
use crate::application::{Carried, Transport};
use crate::event::EventSpec;
use crate::flow::Carries;
use crate::plan::Plan;
use crate::tap::Tap;

impl<T: Tap> Network<T> {
    /// Prepares the network of `plan` for [`Network::change`].
    pub(crate) fn expect_changes(&mut self, plan: &Plan) {
        self.changes.get_or_insert_with(|| Box::new(Changes::new(plan)));
    }

    /// Adds an event of `plan`, which must not be in the past, to the agenda, after those of its instant.
    pub(crate) fn change(&mut self, plan: &Plan, event: &EventSpec) {
        assert!(Time::from_secs_f64(event.at_s) >= self.fabric.now, "an event of the past");
        event.enter(&mut self.agenda, &plan.named());
        self.fabric.expect(self.agenda.next());
    }

    /// Gives a BSS its turn, to change what it records.
    pub(crate) fn turn(&mut self, bss: usize, act: impl FnOnce(&mut Bss)) {
        self.fabric.air.turn(bss, act);
    }

    /// Lower bound of the time of the next event.
    pub(crate) fn next_event(&self) -> Time {
        self.fabric.next_external.min(self.fabric.air.next_event())
    }

    fn changes(&mut self) -> &mut Changes {
        self.changes.as_mut().expect("a plan with such events has what they need")
    }

    /// Opens the first `count` flows of the group and stops the others.
    #[cold]
    pub(super) fn set_count(&mut self, group: u32, count: u32) {
        let members = self.changes().members[group as usize].clone();
        for (place, flow) in (0..).zip(members) {
            let flow = flow as usize;
            match (place < count, self.flows[flow].is_open) {
                (true, false) => self.reopen(flow),
                (false, true) => self.stop(flow),
                _ => {}
            }
        }
    }

    /// Restarts the flow's application from its beginning, once the transfer under way at its stop has ended.
    fn reopen(&mut self, flow: usize) {
        let application = self.changes().applications[flow].build();
        let opened = &mut self.flows[flow];
        opened.is_open = true;
        let first = opened.waits && !opened.has_started;
        let (ended, over_tcp) = match (&mut opened.carries, application) {
            (Carries::Transfers(sequence), Carried::Transfers(application)) => {
                sequence.reopen(application);
                (sequence.has_ended(), true)
            }
            (Carries::Datagrams(session), _) => (session.reopen(), false),
            (Carries::Transfers(_), Carried::Datagrams(_)) => unreachable!("a flow keeps its application"),
        };
        let has_started = opened.has_started;
        if ended || first {
            self.groups.reopened(self.flows[flow].group());
        }
        if first || ended && has_started && !over_tcp {
            self.start(flow);
        } else if ended && has_started {
            self.go_on(flow);
        }
    }

    /// Changes the parameters of the next connections of the group's flows.
    #[cold]
    pub(super) fn change_tcp(&mut self, group: u32, change: &TcpChange) {
        let changes = self.changes();
        for &flow in &changes.members[group as usize] {
            if changes.applications[flow as usize].transport() == Transport::Tcp {
                let (spec, is_other) = &mut changes.tcp[flow as usize];
                let changed = spec.changed(change);
                *is_other |= changed != **spec;
                *spec = Arc::new(changed);
            }
        }
    }

    /// Renews the connections of a flow that is about to open them, if their parameters have changed; returns whether they had.
    pub(super) fn renew_with_other_tcp(&mut self, flow: usize, generation: u32) -> bool {
        let Some(changes) = &mut self.changes else { return false };
        let (spec, is_other) = &mut changes.tcp[flow];
        if !std::mem::take(is_other) {
            return false;
        }
        for slot in self.flows[flow].slots() {
            self.connections[slot].renew_with(spec, slot, generation);
        }
        true
    }

    /// Sets the one-way delay of packets sent from now on by flows that set no delay, on the wire of a BSS.
    #[cold]
    pub(super) fn set_wire_delay(&mut self, bss: usize, delay: Time) {
        let Some(changes) = &self.changes else { return };
        for (slot, connection) in self.connections.iter_mut().enumerate() {
            let (of_station, _) = self.fabric.air.place(connection.station);
            let is_on_it = self.wire_of[of_station] == self.wire_of[bss];
            if is_on_it && changes.follows_wire[self.flow_of[slot] as usize] {
                connection.lines = self.fabric.wire.lines_with_delay(connection.lines, delay);
            }
        }
    }
}
