//! The emulated network as a polled state machine: a BSS and a wire whose packets have bytes. It has no clock and no device:
//! time and packets are arguments, and packets for hosts are passed to an [`Outlet`].

use serde::Serialize;
use wifair_core::{Class, Ecn, Packet, Rng, SpecError, StationId, TcpFlags, Time};
use wifair_queue::{Eviction, Journal, PoliceAction, TxQueueEvent};
use wifair_sim::{
    EventSpec, Lines, Plan, Reading, RunRecord, Tap, Trace, TraceError, TraceSpec, Way, Wire, WireBuilder,
    WireId,
};
use wifair_wlan::{Bss, Delivery, Node, Output};

use crate::address::Host;
use crate::conversations::{ConversationRow, Conversations};
use crate::headers::{self, NotCarried};
use crate::shown::{Shown, with_marks};
use crate::store::{Handle, Store, Stored};

/// Maximum number of stations of an emulation.
pub const MAX_STATIONS: usize = 1000;

/// Receiver of the emulated network's output.
pub trait Outlet {
    /// The data frame of an exchange ended at `due`, and its packets have been processed.
    fn exchange(&mut self, due: Time);
    /// Delivers a packet to a host; it was due at `due`.
    fn hand_over(&mut self, to: Host, bytes: &[u8], due: Time);
}

/// Packets that were not carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Uncarried {
    /// Packets that are not valid IP.
    pub malformed: u64,
    /// Packets to multicast and broadcast addresses.
    pub multicast: u64,
    /// Packets from or to an address that no host has.
    pub elsewhere: u64,
    /// Packets beyond the maximum number under way.
    pub no_room: u64,
}

/// All counters at an instant.
#[derive(Clone)]
pub struct CounterReading {
    reading: std::sync::Arc<Reading>,
    conversations: Conversations,
    at: Time,
}

impl CounterReading {
    /// The instant.
    pub fn at(&self) -> Time {
        self.at
    }
}

/// See the module documentation.
pub struct EmulatedNetwork {
    plan: Plan,
    bss: Bss,
    journal: Journal,
    wire: Wire,
    lines: Lines,
    /// Events of the scenario, the latest first.
    events: Vec<(Time, EventSpec)>,
    store: Store,
    conversations: Conversations,
    uncarried: Uncarried,
    trace: Option<Trace<Shown>>,
    /// Numbers of the downlink data packets to drop, the last first; and the number of such packets so far.
    drops: (Vec<u64>, u64),
    now: Time,
}

impl EmulatedNetwork {
    /// Creates the cell and the wire of `plan`; its flows have no effect here. The seed is for backoff, errors and losses.
    ///
    /// # Errors
    /// Fails for parts of the plan that an emulation does not support.
    pub fn new(plan: &Plan, seed: u64) -> Result<EmulatedNetwork, SpecError> {
        let stations = plan.bss.stations.len();
        if stations > MAX_STATIONS {
            let allowed = format!("1 to {MAX_STATIONS} stations in an emulation");
            return Err(SpecError::new("bss.stations", format!("{stations} stations"), allowed));
        }
        if !plan.neighbours.is_empty() {
            let allowed = "one BSS in an emulation";
            return Err(SpecError::new(
                "neighbours",
                format!("{} neighbours", plan.neighbours.len()),
                allowed,
            ));
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
        let mut wire = WireBuilder::new(&plan.wire, Rng::stream(seed, "wire", "loss"));
        let lines = wire.lines(WireId::FIRST, Time::from_secs_f64(plan.wire.one_way_delay_ms * 1e-3), None);
        Ok(EmulatedNetwork {
            plan: Plan { flows: vec![], ..plan.clone() },
            bss,
            journal,
            wire: wire.build(),
            lines,
            events,
            store: Store::default(),
            conversations: Conversations::default(),
            uncarried: Uncarried::default(),
            trace: None,
            drops: (vec![], 0),
            now: Time::ZERO,
        })
    }

    /// Drops the downlink packets with payload that have these numbers, counted from 1 as they arrive at the AP. Different TCP
    /// implementations can thus be given the same losses.
    pub fn drop_data(&mut self, numbers: &[u64]) {
        let mut numbers = numbers.to_vec();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        self.drops = (numbers, 0);
    }

    /// Whether a packet that has arrived at the AP by wire is to be dropped.
    fn is_dropped(&mut self, packet: &Packet) -> bool {
        let (numbers, count) = &mut self.drops;
        if numbers.is_empty() || packet.class() != Class::Data {
            return false;
        }
        *count += 1;
        numbers.pop_if(|number| *number == *count).is_some()
    }

    /// Starts captures.
    ///
    /// # Errors
    /// Fails for an event log, since there are no flows here; otherwise see [`Trace::new`].
    pub fn keep_trace(&mut self, spec: &TraceSpec, seed: u64) -> Result<(), TraceError> {
        let Some(pcap) = spec.pcap.as_ref().filter(|_| !spec.events) else {
            let allowed = "captures; the log of events is one of the plan's flows";
            return Err(SpecError::new("trace.events", "a log of events", allowed).into());
        };
        let trace = Trace::of_contents(pcap, &spec.folder, &self.plan, seed, Shown::default())?;
        self.trace = Some(trace);
        Ok(())
    }

    /// Ends the captures and writes out everything.
    ///
    /// # Errors
    /// Fails if a file could not be written.
    pub fn end_trace(&mut self) -> Result<(), TraceError> {
        self.trace.take().map_or(Ok(()), Trace::finish)
    }

    /// Time of the next event; [`Time::MAX`] if none is scheduled.
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

    /// Number of packets not carried so far.
    pub fn uncarried(&self) -> Uncarried {
        self.uncarried
    }

    /// Handles all events before `until` and stops at `until`.
    pub fn advance(&mut self, until: Time, outlet: &mut impl Outlet) {
        loop {
            let next = self.next_external().min(until);
            let EmulatedNetwork { bss, trace, store, conversations, .. } = self;
            let told = match trace {
                None => bss.advance_before(next),
                Some(trace) => bss.advance_watched(next, |bss| exchange(bss, trace, store, conversations)),
            };
            if let Some((at, output)) = told {
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
                    Way::ToAp => {
                        self.pass(&packet, |trace| trace.crossed_wire(next, &packet, way));
                        match self.is_dropped(&packet) {
                            true => self.lose(Handle::of(&packet)),
                            false => self.bss.send_down(StationId(slot as u16), &packet, next),
                        }
                    }
                    Way::ToServer => self.hand_over(&packet, next, outlet),
                }
            }
        }
        self.settle();
    }

    /// Sends a packet from `from` now, at the time reached by [`EmulatedNetwork::advance`].
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
        let station = match from {
            Host::Station(station) => Some(station),
            Host::Server => None,
        };
        self.pass(&packet, |trace| trace.sent(now, &packet, station));
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
                Some(Host::Server) => {
                    self.pass(&packet, |trace| trace.crossed_air(at, &packet, to));
                    self.send_on_wire(Way::ToServer, StationId(0), &packet, at);
                }
                Some(Host::Station(station)) => self.bss.send_down(station, &packet, at),
                None => {}
            },
        }
        outlet.exchange(at);
    }

    /// Delivers a packet to its destination. Marks set by buffers are written to its bytes. If the end points would not
    /// understand the mark, the packet is dropped instead.
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
        if let Some(trace) = &mut self.trace {
            if let Some(shown) = trace.contents_mut() {
                shown.pass(packet, stored.bytes.clone());
            }
            match to {
                Host::Server => trace.crossed_wire(at, packet, Way::ToServer),
                Host::Station(station) => trace.crossed_air(at, packet, Node::Station(station)),
            }
        }
        self.conversations.delivered(packet, conversation, forward, entered, at);
        outlet.hand_over(to, &stored.bytes, at);
        self.store.recycle(stored);
    }

    /// Captures a stored packet that passes an interface, by `note`.
    fn pass(&mut self, packet: &Packet, note: impl FnOnce(&mut Trace<Shown>)) {
        let EmulatedNetwork { trace: Some(trace), store, conversations, .. } = self else { return };
        if let (Some(shown), Some(stored)) = (trace.contents_mut(), store.get(Handle::of(packet))) {
            let has_ecn = conversations.get(stored.conversation).has_ecn();
            shown.pass(packet, with_marks(stored, packet, has_ecn));
        }
        note(trace);
    }

    fn lose(&mut self, handle: Handle) {
        if let Some(stored) = self.store.remove(handle) {
            self.conversations.way(stored.conversation, stored.forward).lost += 1;
            self.store.recycle(stored);
        }
    }

    /// Processes the entries of the transmit queues' journal.
    fn settle(&mut self) {
        let EmulatedNetwork { journal, store, conversations, now, trace, .. } = self;
        journal.take(|entry| {
            let handle = Handle::of(&entry.packet);
            match entry.event {
                TxQueueEvent::Enqueued
                | TxQueueEvent::Dequeued { .. }
                | TxQueueEvent::Policed(PoliceAction::Forward) => {}
                TxQueueEvent::Finished { .. } => {
                    store.finish(handle, *now);
                    if let Some(shown) = trace.as_mut().and_then(Trace::contents_mut) {
                        shown.finish(handle);
                    }
                }
                TxQueueEvent::CeMarked
                | TxQueueEvent::EceMarked
                | TxQueueEvent::Policed(PoliceAction::Mark) => {
                    if let Some(stored) = store.get(handle) {
                        conversations.way(stored.conversation, stored.forward).marked += 1;
                    }
                }
                TxQueueEvent::Refused(_)
                | TxQueueEvent::Evicted { .. }
                | TxQueueEvent::Policed(PoliceAction::Drop) => {
                    if let Some(stored) = store.remove(handle) {
                        let way = conversations.way(stored.conversation, stored.forward);
                        match entry.event {
                            TxQueueEvent::Evicted { reason: Eviction::Redundant, .. } => way.filtered += 1,
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

    /// Applies an event of the scenario.
    fn change(&mut self, event: &EventSpec, now: Time) {
        let EventSpec { at_s: _, bss: _, station, ap, flows: _, wire } = event;
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

    /// The counters so far.
    pub fn counted(&self) -> CounterReading {
        let reading = std::sync::Arc::new(Reading::take(&self.bss, &self.wire, self.now));
        CounterReading { reading, conversations: self.conversations.clone(), at: self.now }
    }

    /// The tables of BSS and buffers, and a row per direction of each conversation, for the interval between two states.
    pub fn report(
        &self,
        before: &CounterReading,
        after: &CounterReading,
        name: impl Fn(Host) -> String,
    ) -> (RunRecord, Vec<ConversationRow>) {
        let record = RunRecord::of_readings(&self.plan, &before.reading, &after.reading);
        (record, after.conversations.rows(&before.conversations, before.at, name))
    }
}

/// Captures the exchange that has begun.
fn exchange(bss: &Bss, trace: &mut Trace<Shown>, store: &Store, conversations: &Conversations) {
    if let Some(shown) = trace.contents_mut() {
        let mut serve = |packet: &Packet| {
            if let Some(stored) = store.get(Handle::of(packet)) {
                let has_ecn = conversations.get(stored.conversation).has_ecn();
                shown.serve(packet, with_marks(stored, packet, has_ecn));
            }
        };
        for ppdu in bss.transmissions() {
            let new = ppdu.transmission.mpdus.iter().filter(|mpdu| mpdu.attempts == 1);
            new.for_each(|mpdu| serve(mpdu.packet));
        }
    }
    trace.exchange(0, bss);
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketBuilder, TcpHeader};
    use proptest::prelude::*;
    use wifair_core::Counters;

    use super::*;
    use crate::conversations::DirectionCounters;

    /// What the hosts received.
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

    fn plan(phy: &str, tx_queue: &str, more: &str) -> Plan {
        let station = |label| format!(r#"{{"label": "{label}", "tx_queue": {{"limit_packets": 20}} }}"#);
        let json = format!(
            r#"{{"bss": {{"phy": {phy}, "stations": [{}, {}], "ap": {{"tx_queue": {tx_queue}}} }},
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

    fn total(network: &EmulatedNetwork) -> DirectionCounters {
        let mut total = DirectionCounters::default();
        let rows = network.conversations.rows(&Conversations::default(), Time::ZERO, |_| String::new());
        for number in 0..rows.iter().map(|row| row.flow + 1).max().unwrap_or(0) {
            network.conversations.get(number as u32).ways.iter().for_each(|way| total.add(way));
        }
        total
    }

    #[test]
    fn packets_go_from_everywhere_to_everywhere_else() {
        let mut network = EmulatedNetwork::new(&plan(HR, TAIL_DROP, ""), 1).unwrap();
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
    fn captures_show_the_packets_as_they_are_at_each_interface() {
        let aggregates = r#"{"name": "802.11ax", "width_mhz": 20}"#;
        let a_msdus = r#"{"edca": {}, "aggregation": {"max_amsdu_bytes": 2000}}"#;
        for (phy, mac, mode) in [
            (HR, "{}", ""),
            (aggregates, r#"{"edca": {}}"#, r#""mcs": 0,"#),
            (aggregates, a_msdus, r#""mcs": 0,"#),
        ] {
            captures_of_a_lossy_cell(phy, mac, mode);
        }
    }

    /// The packets in the body of a data frame without FCS: after LLC and SNAP or, with QoS Control's bit for it, in an A-MSDU.
    fn packets_of(frame: &[u8]) -> Vec<Vec<u8>> {
        let is_qos = frame[0] == 0x88;
        let body = &frame[if is_qos { 26 } else { 24 }..];
        if !is_qos || frame[24] & 0x80 == 0 {
            return vec![body[8..].to_vec()];
        }
        let (mut begins, mut packets) = (0, vec![]);
        while begins < body.len() {
            let subframe = &body[begins..];
            let length = usize::from(u16::from_be_bytes([subframe[12], subframe[13]]));
            assert_eq!(subframe[..6], frame[4..10], "DA is the station");
            packets.push(subframe[22..14 + length].to_vec());
            begins += (14 + length).next_multiple_of(4);
        }
        assert!(packets.len() > 1);
        packets
    }

    fn captures_of_a_lossy_cell(phy: &str, mac: &str, mode: &str) {
        let red = r#"{"limit_packets": 100, "scheme": {"name": "red", "signal": "mark-and-echo", "min_packets": 1, "max_packets": 3}}"#;
        let mut plan = plan(phy, red, "");
        plan.bss.mac = serde_json::from_str(mac).unwrap();
        plan.bss.stations.iter_mut().for_each(|station| {
            let label = &station.label;
            let lossy = format!(
                r#"{{"label": "{label}", {mode} "frame_error_rate": {{"data_up": 0.2, "data_down": 0.2, "ack_up": 0.3, "ack_down": 0.3}} }}"#
            );
            *station = serde_json::from_str(&lossy).unwrap();
        });
        plan.validate().unwrap();
        let folder = std::env::temp_dir().join(format!("wifair-emulate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut network = EmulatedNetwork::new(&plan, 1).unwrap();
        let pcap = wifair_sim::PcapSpec {
            stations: vec!["near".into()],
            servers: true,
            full_frames: true,
            ..Default::default()
        };
        let spec = TraceSpec { folder: folder.clone(), pcap: Some(pcap), events: false };
        network.keep_trace(&spec, 1).unwrap();
        let mut got = Got::default();
        let mut sent = vec![];
        for number in 0..300u16 {
            let mut packet = datagram(Host::Server, NEAR, 2, 400);
            packet[48..50].copy_from_slice(&number.to_be_bytes());
            network.send(Host::Server, &packet);
            sent.push(packet);
            network.send(NEAR, &datagram(NEAR, Host::Server, 0, 100));
            network.advance(network.now + Time::from_us(500), &mut got);
        }
        network.advance(network.now + Time::from_s(10), &mut got);
        network.end_trace().unwrap();
        let packets = |name: &str, head: fn(&[u8]) -> usize, tail: usize, keep: fn(&[u8]) -> bool| {
            let file = std::fs::File::open(folder.join(name)).unwrap();
            let mut reader = pcap_file::pcapng::PcapNgReader::new(file).unwrap();
            let mut found: Vec<Vec<u8>> = vec![];
            while let Some(block) = reader.next_block() {
                if let pcap_file::pcapng::Block::EnhancedPacket(packet) = block.unwrap()
                    && keep(&packet.data)
                {
                    assert_eq!(packet.original_len as usize, packet.data.len());
                    found.push(packet.data[head(&packet.data)..packet.data.len() - tail].to_vec());
                }
            }
            found
        };
        let to_near = |host: Host| {
            let of_host = got.packets.iter().filter(move |(to, ..)| *to == host);
            of_host.map(|(_, bytes, _)| bytes.clone()).collect::<Vec<_>>()
        };
        let from_server = |data: &[u8]| data[data.len() - 1] == 7 && data[14 + 23] == 0xfe;
        assert_eq!(packets("servers.pcapng", |_| 14, 0, from_server), sent);
        assert_eq!(packets("ap-wire.pcapng", |_| 14, 0, from_server), sent);
        let at_host = packets("station-near-host.pcapng", |_| 14, 0, from_server);
        assert_eq!(at_host, to_near(NEAR));
        let is_marked = |bytes: &&Vec<u8>| headers::read(bytes, 2).unwrap().packet.ecn() == Ecn::Ce;
        let marked = at_host.iter().filter(is_marked).count();
        assert!(marked > 5, "{marked}");
        // On the air, where retries are: radiotap, MAC 24 or with QoS 26, LLC 8, FCS 4. A frame that the station cannot decode
        // is shown in part.
        let on_air = |data: &[u8]| {
            let mac = &data[data[2].into()..];
            data.len() > 400 && mac[0] & 0x0F == 0x08 && mac[1] & 2 != 0 && data[16] & 0x40 == 0
        };
        let frames = packets("ap-air.pcapng", |data| data[2].into(), 4, on_air);
        let mut whole: Vec<Vec<u8>> = frames.iter().flat_map(|frame| packets_of(frame)).collect();
        let has_a_msdus = plan.bss.mac.aggregation.is_some();
        assert_eq!(whole.len() > frames.len() + 20, has_a_msdus, "{} {}", whole.len(), frames.len());
        let transmissions = whole.len();
        whole.sort();
        whole.dedup();
        assert!(transmissions > whole.len() + 20, "{transmissions} {}", whole.len());
        assert!(to_near(NEAR).iter().all(|bytes| whole.contains(bytes)));
        std::fs::remove_dir_all(folder).unwrap();
        let events = TraceSpec { events: true, ..TraceSpec::default() };
        assert!(network.keep_trace(&events, 1).unwrap_err().to_string().contains("trace.events"));
    }

    #[test]
    fn the_packets_that_are_to_be_lost_are_lost() {
        let mut network = EmulatedNetwork::new(&plan(HR, r#"{"limit_packets": 100}"#, ""), 1).unwrap();
        network.drop_data(&[7, 2, 3]);
        let mut got = Got::default();
        for number in 1..=9u32 {
            let mut tcp = TcpHeader::new(80, 80, number, 1000);
            tcp.ack = true;
            let builder = PacketBuilder::ipv4(Host::Server.ipv4().octets(), NEAR.ipv4().octets(), 64);
            let mut packet = vec![];
            builder.tcp_header(tcp).write(&mut packet, &[0; 100]).unwrap();
            network.send(Host::Server, &packet);
            network.send(Host::Server, &ack(Host::Server, FAR, 80, TcpFlags::ACK, number));
        }
        network.advance(Time::from_s(1), &mut got);
        let arrived = got.packets.iter().filter(|(to, ..)| *to == NEAR);
        let arrived: Vec<_> =
            arrived.map(|(_, bytes, _)| headers::read(bytes, 2).unwrap().packet.seq).collect();
        assert_eq!(arrived, [1, 4, 5, 6, 8, 9]);
        assert_eq!((total(&network).lost, got.packets.len()), (3, 15));
    }

    #[test]
    fn an_event_slows_a_station_down() {
        let event = r#", "events": [{"at_s": 1.0, "station": {"label": "near", "rate_mbps": 1.0}}]"#;
        let mut network = EmulatedNetwork::new(&plan(HR, TAIL_DROP, event), 1).unwrap();
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
        let refused = EmulatedNetwork::new(&plan(HR, TAIL_DROP, flows), 1).err().unwrap();
        assert_eq!(refused.key, "events[0].flows");
    }

    #[test]
    fn where_an_echo_would_not_be_understood_the_ack_is_dropped() {
        let tx_queue = r#"{"limit_packets": 100, "scheme": {"name": "red", "signal": "mark-and-echo",
            "min_packets": 1, "max_packets": 3}}"#;
        let mut network = EmulatedNetwork::new(&plan(HR, tx_queue, ""), 1).unwrap();
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

        /// Every packet is delivered, dropped, filtered or lost, and its memory is then free; with errors, aggregation, marks.
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
            let mut network = EmulatedNetwork::new(&plan, seed).unwrap();
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
