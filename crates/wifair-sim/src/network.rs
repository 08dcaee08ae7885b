mod changeable;
mod changes;
mod datagrams;
mod link_rate;
mod listeners;
mod numbers;
mod small_queues;
mod transfer_sequence;

use changeable::Changes;
use listeners::Listeners;
pub(crate) use numbers::Numbers;
use std::sync::Arc;

use wifair_core::{ConnectionId, Counters, FiveTuple, MinTree, Rate, Rng, SpecError, Time};
use wifair_queue::{Direction, Ledger};
use wifair_tcp::{Receiver, Sender};
use wifair_wlan::{Bss, BssSnapshot, Delivery, FieldUsage, Node, Output};

use crate::address;
use crate::agenda::{Agenda, ScheduledEvent};
use crate::air::Air;
use crate::application::{Carried, Transport};
use crate::connection::{Connection, EndPoint};
use crate::datagram_session::DatagramSession;
use crate::flow::{Carries, Flow, Groups, TransferSequence};
use crate::plan::{FlowDirection, Neighbour, Plan};
use crate::tap::Tap;
use crate::transfer::TransferRecord;
use crate::wire::{Way, Wire, WireArrival, WireBuilder, WireId};

/// The whole network of one replication: the BSSs, the wires, the hosts; and the event loop.
///
/// Events of one instant are handled in this order, independent of the order of scheduling: the agenda of the scenario (in its
/// own order), arrivals from the wires (by line), timers of TCP (by connection, sender first), then the BSSs (`docs/medium.md`,
/// section 6).
pub struct Network<T: Tap = ()> {
    fabric: Fabric<T>,
    agenda: Agenda,
    /// By slot. A flow has as many consecutive slots as it has parallel connections; one without TCP has one, whose ends are
    /// idle.
    connections: Vec<Connection>,
    /// The flows, in the order of the plan.
    flows: Vec<Flow>,
    /// By slot: its flow.
    flow_of: Vec<u32>,
    groups: Groups,
    listeners: Listeners,
    /// Transfers that have ended and have not been taken yet, and when.
    finished: Vec<(Time, TransferRecord)>,
    /// By BSS: its wire.
    wire_of: Vec<WireId>,
    /// If the plan is a part of another.
    numbers: Option<Numbers>,
    /// By flow: counters of connections that the AP's monitor has forgotten.
    forgotten: Vec<[Ledger; 3]>,
    /// State for events that change flows or the wire; absent if there are none.
    changes: Option<Box<Changes>>,
}

/// Everything that connections send into and wait for. Separate from them, so that an event looks up its connection once.
struct Fabric<T> {
    now: Time,
    air: Air,
    wire: Wire,
    /// When each end is to be woken, at index 2 · slot + end. May be early: an end that is woken early is asked again, so a
    /// timer that is only postponed needs no update before half of its time has passed.
    timers: MinTree,
    /// When the next event of the agenda, the wire or the timers is due, or during a run its end; updated as events are added.
    next_external: Time,
    tap: T,
}

impl Network {
    /// Builds the network of `plan` with the random streams of `seed`.
    pub fn new(plan: &Plan, seed: u64) -> Result<Network, SpecError> {
        Network::tapped(plan, seed, ())
    }
}

impl<T: Tap> Network<T> {
    /// Like [`Network::new`], with an observer.
    pub fn tapped(plan: &Plan, seed: u64, tap: T) -> Result<Network<T>, SpecError> {
        Network::build(plan, plan.air(seed)?, seed, None, tap)
    }

    /// The network of `plan` with this air, as it is at its beginning. A plan that is a part of another has these numbers
    /// there.
    pub(crate) fn build(
        plan: &Plan,
        mut air: Air,
        seed: u64,
        numbers: Option<Numbers>,
        mut tap: T,
    ) -> Result<Network<T>, SpecError> {
        air.each(|number, bss| tap.begin(number, bss));
        let (mut wire, wire_of) = wires(plan, seed);
        let default_delays_ms: Vec<f64> =
            plan.bsss().map(|bss| bss.own_wire.unwrap_or(&plan.wire).one_way_delay_ms).collect();
        let station_ids = plan.station_ids();
        let mut agenda = Agenda::new();
        let (groups, group_of) = Groups::new(plan);
        let mut flows = Vec::with_capacity(plan.flows.len());
        let mut connections = Vec::with_capacity(plan.flows.len());
        let mut flow_of = Vec::with_capacity(plan.flows.len());
        for (index, spec) in plan.flows.iter().enumerate() {
            let station = station_ids[spec.station.as_str()];
            let tcp = Arc::new(spec.tcp_of_ends());
            if tcp.small_queue.is_some() {
                air.report_completions(station);
            }
            let (bss, _) = air.place(station);
            let delay = Time::from_secs_f64(spec.one_way_delay_ms.unwrap_or(default_delays_ms[bss]) * 1e-3);
            let lines = wire.lines(wire_of[bss], delay, spec.wire_rate_mbps.map(Rate::from_mbps));
            let mut start_s = spec.start_s;
            if spec.start_spread_s > 0.0 {
                start_s += Rng::stream(seed, &spec.label, "start").unit() * spec.start_spread_s;
            }
            if !spec.waits {
                agenda.add(Time::from_secs_f64(start_s), ScheduledEvent::Start { flow: index });
            }
            if let Some(stop_s) = spec.stop_s {
                agenda.add(Time::from_secs_f64(stop_s), ScheduledEvent::Stop { flow: index });
            }
            let first = connections.len();
            let rng = Rng::stream(seed, &spec.label, "application");
            let addressed = |slot: usize| match &numbers {
                Some(numbers) => numbers.in_plan(slot, station),
                None => (slot as u32, station),
            };
            let tuple = |slot: usize, transport| {
                let (slot, station) = addressed(slot);
                address::tuple(spec.direction, slot, station, 0, transport)
            };
            let (carries, has_connection, count) = match spec.application.build() {
                Carried::Transfers(application) => {
                    let count = application.connections();
                    let timeout = Time::from_secs_f64(spec.user_timeout_s);
                    let sequence = TransferSequence::new(application, rng, timeout);
                    (Carries::Transfers(sequence), true, usize::from(count))
                }
                Carried::Datagrams(datagrams) => {
                    let session = DatagramSession::new(
                        datagrams,
                        tuple(first, spec.application.transport()),
                        ConnectionId::new(first, 0),
                        rng,
                    );
                    (Carries::Datagrams(Box::new(session)), false, 1)
                }
            };
            flows.push(Flow::new(carries, group_of[index], first..first + count, spec.waits));
            for slot in first..first + count {
                let tuple = tuple(slot, Transport::Tcp);
                flow_of.push(index as u32);
                let mut connection = Connection {
                    sender: Sender::new(&tcp, tuple),
                    receiver: Receiver::new(&tcp, tuple),
                    goal_bytes: u64::MAX,
                    wakes_at: Time::MAX,
                    alarms: [Time::MAX; 2],
                    lines,
                    id: ConnectionId::NONE,
                    station,
                    direction: spec.direction,
                    notified_of: match spec.direction {
                        FlowDirection::Up => Some(Direction::Up),
                        FlowDirection::Down => spec.server_notified_of_link_rate.then_some(Direction::Down),
                    },
                    is_closing: false,
                    addressed: addressed(slot),
                };
                if has_connection {
                    connection.name(ConnectionId::new(slot, 0));
                }
                connections.push(connection);
            }
        }
        let named = plan.named();
        plan.events.iter().for_each(|event| event.enter(&mut agenda, &named));
        let changes = plan.events.iter().any(|event| event.flows.is_some() || event.wire.is_some());
        let fabric = Fabric {
            now: Time::ZERO,
            air,
            wire: wire.build(),
            timers: MinTree::new(2 * connections.len()),
            next_external: agenda.next(),
            tap,
        };
        let mut network = Network {
            fabric,
            agenda,
            forgotten: vec![Default::default(); flows.len()],
            listeners: Listeners::new(&connections, station_ids.len()),
            connections,
            flows,
            flow_of,
            groups,
            finished: vec![],
            wire_of,
            numbers,
            changes: changes.then(|| Box::new(Changes::new(plan))),
        };
        for slot in 0..network.connections.len() {
            network.notify_link_rate(slot);
        }
        Ok(network)
    }

    /// The observer.
    pub fn tap(&self) -> &T {
        &self.fabric.tap
    }

    /// The observer, to read what it has gathered so far.
    pub fn tap_mut(&mut self) -> &mut T {
        &mut self.fabric.tap
    }

    /// The current simulated time.
    pub fn now(&self) -> Time {
        self.fabric.now
    }

    /// The first BSS; if there are several, to read what does not need the field ([`Obss::bss`](wifair_wlan::Obss::bss)).
    pub fn bss(&self) -> &Bss {
        self.fabric.air.bss(0)
    }

    /// The BSSs, as [`Network::bss`].
    pub fn bsss(&self) -> impl Iterator<Item = &Bss> {
        self.fabric.air.bsss()
    }

    /// By BSS: all its counters.
    pub fn snapshots(&self) -> impl Iterator<Item = BssSnapshot> {
        (0..self.fabric.air.count()).map(|bss| self.fabric.air.snapshot(bss, self.fabric.now))
    }

    /// By BSS: how its frames fare among those of others, if there are several.
    pub fn field_usages(&self) -> impl Iterator<Item = Option<FieldUsage>> {
        (0..self.fabric.air.count()).map(|bss| self.fabric.air.field_usage(bss, self.fabric.now))
    }

    /// What is on the air.
    pub(crate) fn air(&self) -> &Air {
        &self.fabric.air
    }

    /// The wire of a BSS, which several may share.
    pub(crate) fn wire_of(&self, bss: usize) -> WireId {
        self.wire_of[bss]
    }

    /// The wired side.
    pub fn wire(&self) -> &Wire {
        &self.fabric.wire
    }

    pub(crate) fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The connections of a flow.
    pub(crate) fn connections_of(&self, flow: &Flow) -> &[Connection] {
        &self.connections[flow.slots()]
    }

    /// Starts the measurement: resets maxima, which differences of snapshots do not cover. The trajectory does not change.
    pub(crate) fn begin_measurement(&mut self) {
        for connection in &mut self.connections {
            connection.sender.forget_greatest();
        }
    }

    /// The counts of each flow's packets at the AP's transmit queues, by class, since the flow was first seen.
    pub(crate) fn tallies(&self, now: Time) -> Vec<[Ledger; 3]> {
        let mut tallies = self.forgotten.clone();
        for bss in self.fabric.air.bsss() {
            for flow in bss.ap_tx_queues().flat_map(|(_, tx_queue)| tx_queue.snapshot(now).flows) {
                let tuple = bss.flows().tuple(flow.flow);
                tallies[flow_to_server(&self.flow_of, self.numbers.as_ref(), &tuple)].add(&flow.classes);
            }
        }
        tallies
    }

    /// Takes the counters of the flows that the APs' monitors have forgotten.
    fn collect_forgotten(&mut self) {
        while let Some((tuple, classes)) = self.fabric.air.pop_forgotten() {
            let flow = flow_to_server(&self.flow_of, self.numbers.as_ref(), &tuple);
            self.forgotten[flow].add(&classes);
        }
    }

    /// Handles all events before `end` and stops at `end`. Events at `end` itself belong to the next call, so a run in pieces
    /// equals a run in one.
    pub fn run_until(&mut self, end: Time) {
        let several = self.fabric.air.has_several();
        loop {
            self.fabric.find_next(&self.agenda, end);
            // The air runs alone until the next external event, which its deliveries may bring forward.
            match several {
                true => while self.advance_air::<true>(self.fabric.next_external) {},
                false => while self.advance_air::<false>(self.fabric.next_external) {},
            }
            let next = self.fabric.next_external;
            if next >= end {
                self.fabric.now = end;
                self.fabric.find_next(&self.agenda, Time::MAX);
                self.collect_forgotten();
                return;
            }
            self.fabric.move_to(next);
            if self.agenda.next() == next {
                self.carry_out();
            } else if self.fabric.wire.next_arrival() == next {
                self.arrive_from_wire();
            } else {
                self.wake();
            }
        }
    }

    /// Runs the BSSs before `limit` until one delivers something; returns whether one has.
    fn advance_air<const SEVERAL: bool>(&mut self, limit: Time) -> bool {
        let Fabric { air, wire, tap, now: at, .. } = &mut self.fabric;
        let advanced = match tap.is_watching() {
            true => air.advance_watched::<SEVERAL>(limit, |number, bss| tap.exchange(number, bss)),
            false => air.advance_watched::<SEVERAL>(limit, |_, _| ()),
        };
        let Some((now, output)) = advanced else { return false };
        *at = now;
        let Delivery { packet, to } = match output {
            Output::Delivery(delivery) => delivery,
            Output::LinkRate(change) => {
                self.on_link_rate(change);
                return true;
            }
            Output::TxCompletion(completion) => {
                self.on_completion(completion);
                return true;
            }
        };
        tap.crossed_air(now, packet, to);
        match to {
            Node::Ap => {
                let slot = packet.connection.slot();
                let arrival = wire.send(self.connections[slot].lines, Way::ToServer, slot, packet, now);
                self.fabric.expect(arrival);
            }
            Node::Station(_) => {
                let slot = packet.connection.slot();
                let connection = &mut self.connections[slot];
                let is_at_sender = connection.direction == FlowDirection::Up;
                if connection.id != packet.connection {
                    let packet = *packet;
                    self.arrive_without_connection(&packet);
                    return true;
                }
                let may_end = if is_at_sender {
                    connection.sender.on_segment(packet, now);
                    self.fabric.respond::<Sender>(slot, connection)
                } else {
                    connection.receiver.on_segment(packet, now);
                    self.fabric.respond::<Receiver>(slot, connection)
                };
                if may_end {
                    self.settle(slot);
                }
            }
        }
        true
    }

    #[inline(never)]
    fn carry_out(&mut self) {
        match self.agenda.take() {
            ScheduledEvent::Start { flow } => self.start(flow),
            ScheduledEvent::Stop { flow } => self.stop(flow),
            ScheduledEvent::Station { station, change } => {
                self.fabric.air.change_station(station, &change, self.fabric.now)
            }
            ScheduledEvent::ApLimit { bss, packets } => {
                self.fabric.air.set_ap_limit(bss, packets, self.fabric.now)
            }
            ScheduledEvent::ApScheme { bss, scheme } => {
                self.fabric.air.set_ap_scheme(bss, &scheme, self.fabric.now)
            }
            ScheduledEvent::Count { group, count } => self.set_count(group, count),
            ScheduledEvent::Tcp { group, change } => self.change_tcp(group, &change),
            ScheduledEvent::WireDelay { bss, delay } => self.set_wire_delay(bss, delay),
        }
    }

    fn arrive_from_wire(&mut self) {
        let Fabric { air, wire, tap, now, .. } = &mut self.fabric;
        let (now, WireArrival { way, slot, packet }) = (*now, wire.arrive());
        let connection = &mut self.connections[slot];
        tap.crossed_wire(now, packet, way);
        if way == Way::ToAp {
            return air.send_down(connection.station, packet, now);
        }
        if connection.id != packet.connection {
            let packet = *packet;
            return self.arrive_without_connection(&packet);
        }
        let may_end = match connection.direction {
            FlowDirection::Up => {
                connection.receiver.on_segment(packet, now);
                self.fabric.respond::<Receiver>(slot, connection)
            }
            FlowDirection::Down => {
                connection.sender.on_segment(packet, now);
                self.fabric.respond::<Sender>(slot, connection)
            }
        };
        if may_end {
            self.settle(slot);
        }
    }

    /// Handles a timer that may be due.
    #[inline(never)]
    fn wake(&mut self) {
        if self.fabric.timers.earliest() > self.fabric.now {
            return; // it was postponed in the meantime
        }
        let index = self.fabric.timers.earliest_index();
        match index % 2 {
            Sender::INDEX => self.wake_end::<Sender>(index / 2),
            _ => self.wake_end::<Receiver>(index / 2),
        }
    }

    fn wake_end<E: EndPoint>(&mut self, slot: usize) {
        let connection = &mut self.connections[slot];
        let due = connection.due::<E>();
        if due > self.fabric.now {
            self.fabric.set_alarm(slot, connection, E::INDEX, due); // it has been postponed
            return;
        }
        E::of(connection).on_timer(self.fabric.now);
        let is_endless = connection.goal_bytes == u64::MAX;
        self.fabric.set_alarm(slot, connection, E::INDEX, Time::MAX);
        if E::INDEX == Sender::INDEX && connection.wakes_at <= self.fabric.now {
            self.wake_flow(self.flow_of[slot] as usize);
        } else if is_endless || !self.give_up(slot) {
            self.pump::<E>(slot);
        }
    }

    #[inline(never)] // rare compared to segments
    fn pump<E: EndPoint>(&mut self, slot: usize) {
        self.fabric.pump::<E>(slot, &mut self.connections[slot]);
    }
}

/// The flow of a packet to a server, where `flow_of` has the flow of each slot.
fn flow_to_server(flow_of: &[u32], numbers: Option<&Numbers>, tuple: &FiveTuple) -> usize {
    let in_plan = address::slot_to_server(tuple);
    let slot = numbers.map_or(in_plan, |numbers| numbers.own_slot(in_plan));
    flow_of[slot] as usize
}

/// The wires of a plan, and by BSS the one that it has. Losses of the first have the stream (`seed`, `"wire"`, `"loss"`), those
/// of a neighbour's own the stream (`seed`, the neighbour's label, `"loss"`).
fn wires(plan: &Plan, seed: u64) -> (WireBuilder, Vec<WireId>) {
    let mut wire = WireBuilder::new(&plan.wire, Rng::stream(seed, "wire", "loss"));
    let own = |neighbour: &Neighbour| match &neighbour.wire {
        Some(spec) => wire.add(spec, Rng::stream(seed, &neighbour.label, "loss")),
        None => WireId::FIRST,
    };
    let of_neighbours: Vec<WireId> = plan.neighbours.iter().map(own).collect();
    (wire, [vec![WireId::FIRST], of_neighbours].concat())
}

impl<T: Tap> Fabric<T> {
    fn move_to(&mut self, next: Time) {
        debug_assert!(next >= self.now, "time runs backwards: {next} after {}", self.now);
        self.now = next;
    }

    /// Finds the next external event before `end`.
    #[inline(always)]
    fn find_next(&mut self, agenda: &Agenda, end: Time) {
        let next = agenda.next().min(self.wire.next_arrival());
        self.next_external = next.min(self.timers.earliest()).min(end);
    }

    /// Notes an external event at `time`.
    fn expect(&mut self, time: Time) {
        self.next_external = self.next_external.min(time);
    }

    /// Lets an end that has taken a segment respond. Returns whether the connection may have ended.
    #[inline(always)] // into the four places where an end takes a segment
    fn respond<E: EndPoint>(&mut self, slot: usize, connection: &mut Connection) -> bool {
        self.pump::<E>(slot, connection);
        connection.is_closing
            || E::INDEX == Receiver::INDEX
                && connection.receiver.stats().payload_bytes_delivered >= connection.goal_bytes
    }

    /// Sends an end's pending packets and schedules its next timer.
    #[inline(always)]
    fn pump<E: EndPoint>(&mut self, slot: usize, connection: &mut Connection) {
        let Connection { station, lines, direction, .. } = *connection;
        let now = self.now;
        let end = E::of(connection);
        if (direction == FlowDirection::Up) == (E::INDEX == Sender::INDEX) {
            while let Some(packet) = end.poll_transmit(now) {
                self.tap.sent(now, packet, Some(station));
                self.air.send_up(station, packet, now);
            }
        } else {
            while let Some(packet) = end.poll_transmit(now) {
                self.tap.sent(now, packet, None);
                let arrival = self.wire.send(lines, Way::ToAp, slot, packet, now);
                self.expect(arrival);
            }
        }
        let deadline = end.deadline();
        let alarm = connection.alarms[E::INDEX];
        if deadline < alarm {
            self.set_alarm(slot, connection, E::INDEX, deadline);
            self.expect(deadline);
        } else if is_early(alarm, deadline, now) {
            let due = connection.due::<E>();
            self.set_alarm(slot, connection, E::INDEX, due);
        }
    }

    /// Sets when an end is to be woken, in the timers and in the connection, where it is read.
    #[inline(always)] // a store, and two or three steps
    fn set_alarm(&mut self, slot: usize, connection: &mut Connection, end: usize, at: Time) {
        connection.alarms[end] = at;
        self.timers.set(2 * slot + end, at);
    }
}

/// Whether an alarm at or before `deadline` comes before half of the time until then has passed. It is postponed while its
/// connection is at hand: of many connections, the one whose alarm goes off in vain is in no cache any more.
#[inline(always)] // three instructions
fn is_early(alarm: Time, deadline: Time, now: Time) -> bool {
    // Wraps for a timer that does not run: such an alarm stays, and often serves the next deadline.
    deadline.as_ns().wrapping_add(now.as_ns()) > alarm.as_ns().wrapping_mul(2)
}
