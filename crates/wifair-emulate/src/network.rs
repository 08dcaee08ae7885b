//! The emulated network as a polled state machine: a BSS and a wire whose packets have bytes. It has no clock and no device: time and
//! packets come in as arguments, what hosts get goes to an [`Outlet`].

use serde::Serialize;
use wifair_core::{Ecn, Packet, Rate, Rng, SpecError, StationId, TcpFlags, Time};
use wifair_queue::{Eviction, Journal, PortEvent};
use wifair_sim::{EventSpec, Lines, Plan, Reading, RunRecord, Way, Wire, WireBuilder};
use wifair_wlan::{Bss, Delivery, Node, Output};

use crate::address::Host;
use crate::conversations::{Conversations, FlowRow};
use crate::headers::{self, NotCarried};
use crate::store::{Handle, Store, Stored};

/// The greatest number of stations that an emulation may have.
pub const MAX_STATIONS: usize = 1000;

/// Where the emulated network leads.
pub trait Outlet {
    /// The data frame of an exchange ended at `due`, and its packets are dealt with.
    fn exchange(&mut self, due: Time);
    /// A host gets a packet at `due`.
    fn hand_over(&mut self, to: Host, bytes: &[u8], due: Time);
}

/// Packets that were not carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Uncarried {
    /// No IP packets.
    pub malformed: u64,
    /// To groups of hosts.
    pub multicast: u64,
    /// From or to an address that no host has.
    pub elsewhere: u64,
    /// More packets were under way than there is room for.
    pub no_room: u64,
}

/// What was counted up to an instant.
#[derive(Clone)]
pub struct Counted {
    reading: std::sync::Arc<Reading>,
    conversations: Conversations,
    at: Time,
}

impl Counted {
    /// The instant.
    pub fn at(&self) -> Time {
        self.at
    }
}

/// See the module's head.
pub struct Network {
    plan: Plan,
    bss: Bss,
    journal: Journal,
    wire: Wire,
    lines: Lines,
    /// What the scenario changes, the latest first.
    events: Vec<(Time, EventSpec)>,
    store: Store,
    conversations: Conversations,
    uncarried: Uncarried,
    now: Time,
}

impl Network {
    /// The cell and the wire of `plan`; its flows have no effect here. The seed is for backoff, errors and losses.
    ///
    /// # Errors
    /// What of the plan an emulation does not do.
    pub fn new(plan: &Plan, seed: u64) -> Result<Network, SpecError> {
        let stations = plan.bss.stations.len();
        if stations > MAX_STATIONS {
            let allowed = format!("1 to {MAX_STATIONS} stations in an emulation");
            return Err(SpecError::new("cell.stations", format!("{stations} stations"), allowed));
        }
        let mut events = vec![];
        for (i, event) in plan.events.iter().enumerate() {
            if event.flows.is_some() {
                let allowed = "no such table in an emulation, whose flows are those of real hosts";
                return Err(SpecError::new(format!("events[{i}].flows"), "this table", allowed));
            }
            events.push((Time::from_secs_f64(event.at_s), event.clone()));
        }
        events.sort_by_key(|(at, _)| *at);
        events.reverse();
        let mut bss = Bss::new(&plan.bss, seed)?;
        let journal = Journal::new();
        bss.keep_journal(&journal);
        let mut wire = WireBuilder::new(Rate::from_mbps(plan.wire.rate_mbps), plan.wire.loss_rate);
        let lines = wire.lines(Time::from_secs_f64(plan.wire.one_way_delay_ms * 1e-3), None);
        Ok(Network {
            plan: Plan { flows: vec![], ..plan.clone() },
            bss,
            journal,
            wire: wire.build(Rng::stream(seed, "wire", "loss")),
            lines,
            events,
            store: Store::default(),
            conversations: Conversations::default(),
            uncarried: Uncarried::default(),
            now: Time::ZERO,
        })
    }

    /// When something happens next by itself; [`Time::MAX`] if nothing will.
    pub fn next_event(&self) -> Time {
        self.next_external().min(self.bss.next_event())
    }

    fn next_external(&self) -> Time {
        self.wire.next_arrival().min(self.events.last().map_or(Time::MAX, |(at, _)| *at))
    }

    /// Packets under way.
    pub fn under_way(&self) -> usize {
        self.store.len()
    }

    /// Packets that were not carried so far.
    pub fn uncarried(&self) -> Uncarried {
        self.uncarried
    }

    /// Does everything that happens before `until`, and is there then.
    pub fn advance(&mut self, until: Time, outlet: &mut impl Outlet) {
        loop {
            let next = self.next_external().min(until);
            if let Some((at, output)) = self.bss.advance_before(next) {
                if let Output::Delivery(Delivery { packet, to }) = output {
                    let packet = *packet;
                    self.cross_air(packet, to, at, outlet);
                }
                continue;
            }
            self.now = next;
            if next >= until {
                break;
            }
            if self.events.last().is_some_and(|(at, _)| *at == next) {
                let (_, event) = self.events.pop().expect("there is one");
                self.change(&event, next);
            } else {
                let arrival = self.wire.arrive();
                let (way, slot, packet) = (arrival.way, arrival.slot, *arrival.packet);
                match way {
                    Way::ToAp => self.bss.send_down(StationId(slot as u16), &packet, next),
                    Way::ToServer => self.hand_over(&packet, next, outlet),
                }
            }
        }
        self.settle();
    }

    /// `from` sends a packet now, where the network is after [`Network::advance`].
    pub fn send(&mut self, from: Host, bytes: &[u8]) {
        let header = match headers::read(bytes, self.plan.bss.stations.len() as u16) {
            Ok(header) if header.from == from && header.to != from => header,
            Ok(_) | Err(NotCarried::Elsewhere) => return self.uncarried.elsewhere += 1,
            Err(NotCarried::Multicast) => return self.uncarried.multicast += 1,
            Err(NotCarried::Malformed) => return self.uncarried.malformed += 1,
        };
        let now = self.now;
        let (conversation, forward) = self.conversations.sent(&header.packet, from, header.to, now);
        let bytes = self.store.copy(bytes);
        let stored =
            Stored { bytes, tcp_at: header.tcp_at, conversation, forward, to: header.to, entered: now };
        let Some(handle) = self.store.insert(stored) else {
            self.uncarried.no_room += 1;
            return;
        };
        let packet = handle.on(header.packet);
        match (from, header.to) {
            (Host::Station(station), _) => self.bss.send_up(station, &packet, now),
            (Host::Server, Host::Station(station)) => self.send_on_wire(Way::ToAp, station, &packet, now),
            (Host::Server, Host::Server) => unreachable!("a host does not send to itself"),
        }
        self.settle();
    }

    fn send_on_wire(&mut self, way: Way, station: StationId, packet: &Packet, now: Time) {
        if self.wire.send(self.lines, way, station.index(), packet, now) == Time::MAX {
            self.lose(Handle::of(packet));
        }
    }

    fn cross_air(&mut self, packet: Packet, to: Node, at: Time, outlet: &mut impl Outlet) {
        match to {
            Node::Station(_) => self.hand_over(&packet, at, outlet),
            Node::Ap => match self.store.get(Handle::of(&packet)).map(|stored| stored.to) {
                Some(Host::Server) => self.send_on_wire(Way::ToServer, StationId(0), &packet, at),
                Some(Host::Station(station)) => self.bss.send_down(station, &packet, at),
                None => {}
            },
        }
        outlet.exchange(at);
    }

    /// A packet is where it was sent to. What the buffers have marked is marked in its bytes; where the ends would not understand the
    /// mark, the packet is dropped instead.
    fn hand_over(&mut self, packet: &Packet, at: Time, outlet: &mut impl Outlet) {
        let Some(mut stored) = self.store.remove(Handle::of(packet)) else { return };
        let Stored { conversation, forward, to, entered, .. } = stored;
        if packet.ecn() == Ecn::Ce {
            headers::set_ce(&mut stored.bytes);
        }
        if let Some(tcp_at) = stored.tcp_at.map(usize::from)
            && packet.flags.contains(TcpFlags::ECE)
            && !headers::flags(&stored.bytes, tcp_at).contains(TcpFlags::ECE)
        {
            if !self.conversations.get(conversation).has_ecn() {
                self.conversations.way(conversation, forward).dropped += 1;
                return self.store.recycle(stored);
            }
            headers::set_ece(&mut stored.bytes, tcp_at);
        }
        self.conversations.delivered(packet, conversation, forward, entered, at);
        outlet.hand_over(to, &stored.bytes, at);
        self.store.recycle(stored);
    }

    fn lose(&mut self, handle: Handle) {
        if let Some(stored) = self.store.remove(handle) {
            self.conversations.way(stored.conversation, stored.forward).lost += 1;
            self.store.recycle(stored);
        }
    }

    /// Takes over what the ports have written in their journal.
    fn settle(&mut self) {
        let Network { journal, store, conversations, now, .. } = self;
        journal.take(|entry| {
            let handle = Handle::of(&entry.packet);
            match entry.event {
                PortEvent::Enqueued | PortEvent::Dequeued { .. } => {}
                PortEvent::Finished { .. } => store.finish(handle, *now),
                PortEvent::CeMarked | PortEvent::EceMarked => {
                    if let Some(stored) = store.get(handle) {
                        conversations.way(stored.conversation, stored.forward).marked += 1;
                    }
                }
                PortEvent::Refused(_) | PortEvent::Evicted { .. } => {
                    if let Some(stored) = store.remove(handle) {
                        let way = conversations.way(stored.conversation, stored.forward);
                        match entry.event {
                            PortEvent::Evicted { reason: Eviction::Redundant, .. } => way.filtered += 1,
                            _ => way.dropped += 1,
                        }
                        store.recycle(stored);
                    }
                }
            }
        });
        while let Some(stored) = store.expire(*now) {
            conversations.way(stored.conversation, stored.forward).lost += 1;
            store.recycle(stored);
        }
        while self.bss.pop_forgotten().is_some() {}
    }

    /// An event of the scenario.
    fn change(&mut self, event: &EventSpec, now: Time) {
        let EventSpec { at_s: _, station, ap, flows: _, wire } = event;
        if let Some(change) = station {
            let stations = &self.plan.bss.stations;
            let index = stations.iter().position(|station| station.label == change.label);
            let station = StationId(index.expect("the plan was checked") as u16);
            self.bss.change_station(station, change, now);
        }
        if let Some(change) = ap {
            if let Some(packets) = change.limit_packets {
                self.bss.set_ap_limit(packets, now);
            }
            if let Some(scheme) = &change.scheme {
                self.bss.set_ap_scheme(scheme, now);
            }
        }
        if let Some(change) = wire {
            let delay = Time::from_secs_f64(change.one_way_delay_ms * 1e-3);
            self.lines = self.wire.lines_with_delay(self.lines, delay);
        }
    }

    /// What was counted so far.
    pub fn counted(&self) -> Counted {
        let reading = std::sync::Arc::new(Reading::take(&self.bss, &self.wire, self.now));
        Counted { reading, conversations: self.conversations.clone(), at: self.now }
    }

    /// The tables of BSS and buffers, and a row per direction of each conversation, between two states.
    pub fn report(
        &self,
        before: &Counted,
        after: &Counted,
        name: impl Fn(Host) -> String,
    ) -> (RunRecord, Vec<FlowRow>) {
        let seconds = (after.at - before.at).as_secs_f64();
        let record = RunRecord::of_readings(&self.plan, &before.reading, &after.reading);
        (record, after.conversations.rows(&before.conversations, seconds, name))
    }
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketBuilder, TcpHeader};
    use proptest::prelude::*;
    use wifair_core::Counters;

    use super::*;
    use crate::conversations::Way;

    /// What hosts got.
    #[derive(Default)]
    struct Got {
        packets: Vec<(Host, Vec<u8>, Time)>,
        exchanges: u64,
    }

    impl Outlet for Got {
        fn exchange(&mut self, _due: Time) {
            self.exchanges += 1;
        }

        fn hand_over(&mut self, to: Host, bytes: &[u8], due: Time) {
            self.packets.push((to, bytes.to_vec(), due));
        }
    }

    const NEAR: Host = Host::Station(StationId(0));
    const FAR: Host = Host::Station(StationId(1));
    const HOSTS: [Host; 3] = [NEAR, FAR, Host::Server];

    fn plan(phy: &str, port: &str, more: &str) -> Plan {
        let station = |label| format!(r#"{{"label": "{label}", "port": {{"limit_packets": 20}} }}"#);
        let json = format!(
            r#"{{"cell": {{"phy": {phy}, "stations": [{}, {}], "ap": {{"port": {port}}} }},
                "flows": [{{"label": "a", "station": "near", "direction": "up"}}] {more} }}"#,
            station("near"),
            station("far"),
        );
        Plan::from_json(&json).unwrap()
    }

    const HR: &str = r#"{"name": "802.11b"}"#;
    const TAIL_DROP: &str = r#"{"limit_packets": 20}"#;

    fn datagram(from: Host, to: Host, ds_field: u8, bytes: usize) -> Vec<u8> {
        let mut packet = vec![];
        let builder = PacketBuilder::ipv6(from.ipv6().octets(), to.ipv6().octets(), 64).udp(9, 10);
        builder.write(&mut packet, &vec![7; bytes]).unwrap();
        packet[0] |= ds_field >> 4;
        packet[1] |= ds_field << 4;
        packet
    }

    fn ack(from: Host, to: Host, port: u16, flags: TcpFlags, number: u32) -> Vec<u8> {
        let mut tcp = TcpHeader::new(port, 80, 1, 1000);
        tcp.acknowledgment_number = number;
        (tcp.syn, tcp.ack) = (flags.contains(TcpFlags::SYN), flags.contains(TcpFlags::ACK));
        (tcp.ece, tcp.cwr) = (flags.contains(TcpFlags::ECE), flags.contains(TcpFlags::CWR));
        let builder = PacketBuilder::ipv4(from.ipv4().octets(), to.ipv4().octets(), 64).tcp_header(tcp);
        let mut packet = vec![];
        builder.write(&mut packet, &[]).unwrap();
        packet
    }

    fn total(network: &Network) -> Way {
        let mut total = Way::default();
        let rows = network.conversations.rows(&Conversations::default(), 1.0, |_| String::new());
        for number in 0..rows.iter().map(|row| row.flow + 1).max().unwrap_or(0) {
            network.conversations.get(number as u32).ways.iter().for_each(|way| total.add(way));
        }
        total
    }

    #[test]
    fn packets_go_from_everywhere_to_everywhere_else() {
        let mut network = Network::new(&plan(HR, TAIL_DROP, ""), 1).unwrap();
        let mut got = Got::default();
        for (from, to) in [(NEAR, Host::Server), (Host::Server, FAR), (FAR, NEAR)] {
            let packet = datagram(from, to, 0, 100);
            network.send(from, &packet);
            let sent = network.now;
            network.advance(sent + Time::from_s(1), &mut got);
            let (reached, bytes, due) = got.packets.pop().unwrap();
            assert_eq!((reached, &bytes), (to, &packet));
            assert!(due > sent && due < sent + Time::from_ms(10));
        }
        assert_eq!((got.exchanges, got.packets.len(), network.under_way()), (4, 0, 0));
        network.send(NEAR, &datagram(FAR, Host::Server, 0, 1));
        network.send(NEAR, &datagram(NEAR, NEAR, 0, 1));
        network.send(NEAR, &[1, 2, 3]);
        assert_eq!(network.uncarried(), Uncarried { malformed: 1, elsewhere: 2, ..Uncarried::default() });
    }

    #[test]
    fn an_event_slows_a_station_down() {
        let event = r#", "events": [{"at_s": 1.0, "station": {"label": "near", "rate_mbps": 1.0}}]"#;
        let mut network = Network::new(&plan(HR, TAIL_DROP, event), 1).unwrap();
        let mut got = Got::default();
        let mut takes = |at: u64| {
            network.advance(Time::from_ms(at), &mut got);
            network.send(NEAR, &datagram(NEAR, FAR, 0, 1000));
            network.advance(Time::from_ms(at + 900), &mut got);
            got.packets.pop().unwrap().2 - Time::from_ms(at)
        };
        let (before, after) = (takes(0), takes(1000));
        assert!(after > before + Time::from_ms(7), "{before} {after}");
        let flows = r#", "events": [{"at_s": 1.0, "flows": {"group": "", "count": 0}}]"#;
        let refused = Network::new(&plan(HR, TAIL_DROP, flows), 1).err().unwrap();
        assert_eq!(refused.key, "events[0].flows");
    }

    #[test]
    fn where_an_echo_would_not_be_understood_the_ack_is_dropped() {
        let port = r#"{"limit_packets": 100, "scheme": {"name": "red", "signal": "mark-and-echo",
            "min_packets": 1, "max_packets": 3}}"#;
        let mut network = Network::new(&plan(HR, port, ""), 1).unwrap();
        let mut got = Got::default();
        let offer = TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR;
        network.send(NEAR, &ack(NEAR, Host::Server, 80, offer, 0)); // an upload from port 80 that has ECN
        network.advance(network.now + Time::from_s(1), &mut got);
        network.send(Host::Server, &{
            let mut tcp = TcpHeader::new(80, 80, 1, 1000);
            (tcp.syn, tcp.ack, tcp.ece) = (true, true, true);
            let builder = PacketBuilder::ipv4(Host::Server.ipv4().octets(), NEAR.ipv4().octets(), 64);
            let mut packet = vec![];
            builder.tcp_header(tcp).write(&mut packet, &[]).unwrap();
            packet
        });
        network.advance(network.now + Time::from_s(1), &mut got);
        got.packets.clear();
        for number in 0..4000 {
            for port in [80, 81] {
                network.send(Host::Server, &ack(Host::Server, NEAR, port, TcpFlags::ACK, number));
            }
            network.advance(network.now + Time::from_us(900), &mut got);
        }
        network.advance(network.now + Time::from_s(20), &mut got);
        let echoed = |port: u16| {
            let mut counts = [0, 0];
            for (_, bytes, _) in &got.packets {
                let header = headers::read(bytes, 2).unwrap();
                if header.packet.tuple.source_port == port {
                    counts[usize::from(header.packet.flags.contains(TcpFlags::ECE))] += 1;
                }
            }
            counts
        };
        let ([_, with_ecn], [plain, without]) = (echoed(80), echoed(81));
        let way = total(&network);
        assert!(with_ecn > 20, "{with_ecn}");
        assert_eq!(without, 0);
        assert!(plain > 0 && way.marked as usize > with_ecn && way.dropped > 0);
        assert_eq!(network.under_way(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Every packet is delivered, dropped, filtered or lost, and its memory is free then; with errors, aggregation, marks.
        #[test]
        fn nothing_is_lost_without_trace(
            seed: u64,
            ax: bool,
            scheme in proptest::sample::select(vec!["droptail", "adaptive-pushout", "mac80211", "fq-codel", "dqm", "las"]),
            steps in proptest::collection::vec((0usize..3, 0usize..3, 0u8..4, 0usize..1400, 0u64..3000), 1..400),
        ) {
            let phy = if ax { r#"{"name": "802.11ax"}"# } else { HR };
            let mut plan = plan(phy, &format!(r#"{{"limit_packets": 10, "scheme": {{"name": "{scheme}"}}}}"#), "");
            plan.wire.loss_rate = 0.05;
            if ax {
                plan.bss.mac = serde_json::from_str(r#"{"edca": {}}"#).unwrap();
                plan.bss.stations.iter_mut().for_each(|station| {
                    *station = serde_json::from_str(&format!(
                        r#"{{"label": "{}", "mcs": 1, "frame_error_rate": {{"data_up": 0.3, "data_down": 0.3, "ack_up": 0.2, "ack_down": 0.2}} }}"#,
                        station.label
                    )).unwrap();
                });
            }
            plan.validate().unwrap();
            let mut network = Network::new(&plan, seed).unwrap();
            let mut got = Got::default();
            for (from, to, ecn, bytes, wait_us) in steps {
                if from != to {
                    network.send(HOSTS[from], &datagram(HOSTS[from], HOSTS[to], ecn, bytes));
                }
                network.advance(network.now + Time::from_us(wait_us), &mut got);
            }
            network.advance(network.now + Time::from_s(30), &mut got);
            let way = total(&network);
            prop_assert_eq!(way.delivered_packets, got.packets.len() as u64);
            prop_assert_eq!(way.sent_packets, way.delivered_packets + way.dropped + way.filtered + way.lost);
            prop_assert_eq!(network.under_way(), 0);
        }
    }
}
