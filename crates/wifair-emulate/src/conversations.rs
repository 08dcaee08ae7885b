//! Statistics of flows from their packets: goodput, round-trip times, retransmissions, losses, marks.

use std::collections::BTreeMap;

use serde::Serialize;
use wifair_core::{Counters, FiveTuple, LogHistogram, Packet, TCP, TcpFlags, Time, counters};

use crate::address::Host;

/// Maximum number of conversations counted separately. Later ones are counted together.
pub const MAX_CONVERSATIONS: usize = 20_000;

counters! {
    /// The packets of one direction of a conversation.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct DirectionCounters {
        /// Packets that their host sent.
        pub sent_packets: u64,
        /// Payload bytes in them: bytes after the TCP or UDP header, or after the IP header.
        pub sent_bytes: u64,
        /// Packets handed to the other host.
        pub delivered_packets: u64,
        /// Payload bytes in them.
        pub delivered_bytes: u64,
        /// IP bytes in them.
        pub delivered_ip_bytes: u64,
        /// Payload bytes that the other host has acknowledged, each once. TCP only.
        pub acknowledged_bytes: u64,
        /// Segments that start before the highest sequence number sent: retransmissions. TCP only.
        pub retransmissions: u64,
        /// Packets dropped by buffers, including those dropped because they could not be marked.
        pub dropped: u64,
        /// ACKs that a filter removed.
        pub filtered: u64,
        /// Packets lost on the air or on the wire.
        pub lost: u64,
        /// Packets that were marked: CE, or ECE on an ACK.
        pub marked: u64,
        /// Time from entry to delivery to the other host, in nanoseconds.
        pub delay: LogHistogram,
        /// RTT of the data in nanoseconds: from the entry of a segment to the delivery of an ACK for it. One segment at a time,
        /// no retransmissions. TCP only.
        pub rtt: LogHistogram,
    }
}

/// Progress of one direction of a TCP connection.
#[derive(Clone, Copy, Debug, Default)]
struct SequenceProgress {
    /// The sequence number after the last one sent.
    next: Option<u32>,
    /// Everything before this number is acknowledged.
    acknowledged: u32,
    /// The segment being timed: the number after its end, and its time of entry.
    timed: Option<(u32, Time)>,
}

/// The packets between two hosts with the same 5-tuple in either direction.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The 5-tuple of packets from the initiator, the host that sent the first packet.
    pub tuple: FiveTuple,
    /// The initiator and the other host.
    pub hosts: [Host; 2],
    /// By direction: from the initiator, to it.
    pub ways: [DirectionCounters; 2],
    progress: [SequenceProgress; 2],
    /// By direction: when its first packet entered, and when its last one entered or was delivered.
    active: [Option<(Time, Time)>; 2],
    /// By direction: whether the SYN there asked for ECN (RFC 3168, 6.1.1).
    offers_ecn: [bool; 2],
    counted_together: bool,
}

impl Conversation {
    fn new(tuple: FiveTuple, hosts: [Host; 2]) -> Conversation {
        Conversation {
            tuple,
            hosts,
            ways: Default::default(),
            progress: Default::default(),
            active: [None; 2],
            offers_ecn: [false; 2],
            counted_together: false,
        }
    }

    /// Whether both ends of the TCP connection have agreed on ECN.
    pub fn has_ecn(&self) -> bool {
        self.offers_ecn == [true; 2]
    }

    /// Seconds for which a direction has been active since `start`.
    fn active_s(&self, direction: usize, start: Time) -> f64 {
        let (first, last) = self.active[direction].unwrap_or_default();
        if last > start { (last - first.max(start)).as_secs_f64() } else { 0.0 }
    }

    fn is_active(&mut self, direction: usize, now: Time) {
        self.active[direction].get_or_insert((now, now)).1 = now;
    }

    /// Counts a packet that enters.
    fn sent(&mut self, packet: &Packet, direction: usize, now: Time) {
        self.is_active(direction, now);
        let way = &mut self.ways[direction];
        way.sent_packets += 1;
        way.sent_bytes += u64::from(packet.payload_bytes);
        if packet.tuple.protocol != TCP || self.counted_together {
            return;
        }
        let is_syn = packet.flags.contains(TcpFlags::SYN);
        let length =
            packet.payload_bytes + u32::from(is_syn) + u32::from(packet.flags.contains(TcpFlags::FIN));
        if is_syn {
            let (both, ece) = (TcpFlags::ECE | TcpFlags::CWR, packet.flags.contains(TcpFlags::ECE));
            self.offers_ecn[direction] =
                ece && (packet.flags.contains(TcpFlags::ACK) || packet.flags.contains(both));
            self.progress[direction] =
                SequenceProgress { acknowledged: packet.seq.wrapping_add(1), ..SequenceProgress::default() };
        }
        if length > 0 {
            self.sent_segment(packet, length, direction, now);
        }
        if packet.flags.contains(TcpFlags::ACK) && !is_syn {
            self.acknowledge(packet.ack, 1 - direction);
        }
    }

    fn sent_segment(&mut self, packet: &Packet, length: u32, direction: usize, now: Time) {
        let end = packet.seq.wrapping_add(length);
        let progress = &mut self.progress[direction];
        match progress.next {
            Some(next) if end.wrapping_sub(next).cast_signed() <= 0 => {
                self.ways[direction].retransmissions += 1;
                progress.timed = None; // an ACK may be for either copy (RFC 6298, section 3)
            }
            next => {
                if next.is_none() && !packet.flags.contains(TcpFlags::SYN) {
                    progress.acknowledged = packet.seq; // the beginning was not observed
                }
                progress.next = Some(end);
                progress.timed.get_or_insert((end, now));
            }
        }
    }

    /// Handles an ACK from the receiver of `direction`.
    fn acknowledge(&mut self, ack: u32, direction: usize) {
        let progress = &mut self.progress[direction];
        let Some(next) = progress.next else { return };
        let further = ack.wrapping_sub(progress.acknowledged).cast_signed();
        if further > 0 && next.wrapping_sub(ack).cast_signed() >= 0 {
            progress.acknowledged = ack;
            self.ways[direction].acknowledged_bytes += further.unsigned_abs() as u64;
        }
    }

    /// Counts a packet of `direction` that is delivered.
    fn delivered(&mut self, packet: &Packet, direction: usize, entered: Time, now: Time) {
        self.is_active(direction, now);
        let way = &mut self.ways[direction];
        way.delivered_packets += 1;
        way.delivered_bytes += u64::from(packet.payload_bytes);
        way.delivered_ip_bytes += u64::from(packet.ip_bytes());
        way.delay.record_time(now - entered);
        if packet.tuple.protocol != TCP || !packet.flags.contains(TcpFlags::ACK) {
            return;
        }
        let other = 1 - direction;
        if let Some((end, sent)) = self.progress[other].timed
            && packet.ack.wrapping_sub(end).cast_signed() >= 0
        {
            self.ways[other].rtt.record_time(now - sent);
            self.progress[other].timed = None;
        }
    }
}

/// All conversations, numbered in the order of their first packets.
#[derive(Clone, Debug, Default)]
pub struct Conversations {
    all: Vec<Conversation>,
    /// By the 5-tuple of either direction.
    by_tuple: BTreeMap<TupleKey, (u32, bool)>,
}

/// A 5-tuple as an ordered type.
type TupleKey = (u32, u32, u16, u16, u32);

fn key(tuple: &FiveTuple) -> TupleKey {
    (tuple.source, tuple.destination, tuple.source_port, tuple.destination_port, tuple.protocol)
}

impl Conversations {
    /// Counts a packet that enters at `from`; returns the number of its conversation, and whether the initiator sends it.
    pub fn sent(&mut self, packet: &Packet, from: Host, to: Host, now: Time) -> (u32, bool) {
        let (number, forward) = self.find(&packet.tuple, from, to);
        self.all[number as usize].sent(packet, usize::from(!forward), now);
        (number, forward)
    }

    fn find(&mut self, tuple: &FiveTuple, from: Host, to: Host) -> (u32, bool) {
        if let Some(found) = self.by_tuple.get(&key(tuple)) {
            return *found;
        }
        let number = self.all.len() as u32;
        if self.all.len() < MAX_CONVERSATIONS {
            self.by_tuple.insert(key(&tuple.reversed()), (number, false));
            self.by_tuple.insert(key(tuple), (number, true));
            self.all.push(Conversation::new(*tuple, [from, to]));
            return (number, true);
        }
        // Beyond the maximum, a pair of hosts and a protocol form one conversation, whose row has no ports.
        let ports = FiveTuple { source_port: 0, destination_port: 0, ..*tuple };
        if let Some(found) = self.by_tuple.get(&key(&ports)) {
            return *found;
        }
        self.by_tuple.insert(key(&ports.reversed()), (number, false));
        self.by_tuple.insert(key(&ports), (number, true));
        self.all.push(Conversation { counted_together: true, ..Conversation::new(ports, [from, to]) });
        (number, true)
    }

    /// A conversation.
    pub fn get(&self, number: u32) -> &Conversation {
        &self.all[number as usize]
    }

    /// The counters of one direction of a conversation.
    pub fn way(&mut self, number: u32, forward: bool) -> &mut DirectionCounters {
        &mut self.all[number as usize].ways[usize::from(!forward)]
    }

    /// Counts a packet that is delivered.
    pub fn delivered(&mut self, packet: &Packet, number: u32, forward: bool, entered: Time, now: Time) {
        self.all[number as usize].delivered(packet, usize::from(!forward), entered, now);
    }

    /// Returns the rows for the time since `start`, when the state was `before`.
    pub fn rows(
        &self,
        before: &Conversations,
        start: Time,
        name: impl Fn(Host) -> String,
    ) -> Vec<ConversationRow> {
        let mut rows = vec![];
        for (number, conversation) in self.all.iter().enumerate() {
            for direction in [0, 1] {
                let then = before.all.get(number).map(|earlier| &earlier.ways[direction]);
                let way = &conversation.ways[direction];
                let way = then.map_or_else(|| way.clone(), |then| way.since(then));
                if way.sent_packets + way.delivered_packets > 0 {
                    rows.push(ConversationRow::new(number, conversation, direction, &way, start, &name));
                }
            }
        }
        rows
    }
}

/// The report of one direction of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConversationRow {
    /// Number of the conversation, the same for both directions.
    pub flow: usize,
    /// The sending host.
    pub from: String,
    /// The receiving host.
    pub to: String,
    /// `tcp`, `udp`, `icmp` or the number of the protocol.
    pub protocol: String,
    /// Port of the sender; 0 without ports.
    pub from_port: u16,
    /// Port of the receiver; 0 without ports.
    pub to_port: u16,
    /// Whether the sending host is the initiator: it sent the first packet of the conversation.
    pub initiator: bool,
    /// Seconds from its first packet, or the start of the measurement, to its last one.
    pub active_s: f64,
    /// Payload in Mbit/s of the active time: acknowledged bytes for TCP, else delivered bytes.
    pub goodput_mbps: f64,
    /// IP bytes delivered, in Mbit/s of the active time.
    pub throughput_ip_mbps: f64,
    /// Packets that the host sent.
    pub sent_packets: u64,
    /// Packets delivered.
    pub delivered_packets: u64,
    /// Payload bytes that the host sent.
    pub payload_bytes: u64,
    /// Segments sent more than once.
    pub retransmissions: u64,
    /// Packets that buffers dropped.
    pub dropped: u64,
    /// ACKs that a filter removed.
    pub filtered: u64,
    /// Packets lost on the air or on the wire.
    pub lost: u64,
    /// Packets marked CE or ECE.
    pub marked: u64,
    /// Mean one-way delay, in milliseconds.
    pub delay_mean_ms: Option<f64>,
    /// 95 % quantile of the one-way delay, in milliseconds.
    pub delay_p95_ms: Option<f64>,
    /// Mean round-trip time, in milliseconds. TCP only.
    pub rtt_mean_ms: Option<f64>,
    /// 95 % quantile of the round-trip time, in milliseconds. TCP only.
    pub rtt_p95_ms: Option<f64>,
}

impl ConversationRow {
    fn new(
        flow: usize,
        conversation: &Conversation,
        direction: usize,
        way: &DirectionCounters,
        start: Time,
        name: &impl Fn(Host) -> String,
    ) -> ConversationRow {
        let tuple = if direction == 0 { conversation.tuple } else { conversation.tuple.reversed() };
        let ms = |ns: Option<f64>| ns.map(|ns| ns * 1e-6);
        let active_s = conversation.active_s(direction, start);
        let mbps = |bytes: u64| if active_s > 0.0 { bytes as f64 * 8e-6 / active_s } else { 0.0 };
        let is_tcp = tuple.protocol == TCP && !conversation.counted_together;
        ConversationRow {
            flow,
            from: name(conversation.hosts[direction]),
            to: name(conversation.hosts[1 - direction]),
            protocol: protocol(tuple.protocol),
            from_port: tuple.source_port,
            to_port: tuple.destination_port,
            initiator: direction == 0,
            active_s,
            goodput_mbps: mbps(if is_tcp { way.acknowledged_bytes } else { way.delivered_bytes }),
            throughput_ip_mbps: mbps(way.delivered_ip_bytes),
            sent_packets: way.sent_packets,
            delivered_packets: way.delivered_packets,
            payload_bytes: way.sent_bytes,
            retransmissions: way.retransmissions,
            dropped: way.dropped,
            filtered: way.filtered,
            lost: way.lost,
            marked: way.marked,
            delay_mean_ms: ms(way.delay.mean()),
            delay_p95_ms: ms(way.delay.quantile(0.95)),
            rtt_mean_ms: ms(way.rtt.mean()),
            rtt_p95_ms: ms(way.rtt.quantile(0.95)),
        }
    }
}

fn protocol(number: u32) -> String {
    match number {
        1 => "icmp".into(),
        6 => "tcp".into(),
        17 => "udp".into(),
        58 => "icmpv6".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use wifair_core::StationId;

    use super::*;

    const STATION: Host = Host::Station(StationId(0));
    const UP: FiveTuple =
        FiveTuple { source: 1, destination: 2, source_port: 3, destination_port: 4, protocol: TCP };

    fn segment(tuple: FiveTuple, flags: TcpFlags, seq: u32, ack: u32, payload_bytes: u32) -> Packet {
        Packet { tuple, flags, seq, ack, payload_bytes, header_bytes: 40, ..Packet::default() }
    }

    /// A packet that is delivered 10 ms after it was sent.
    fn cross(all: &mut Conversations, packet: Packet, at_ms: u64) -> (u32, bool) {
        let (from, to) = if packet.tuple == UP { (STATION, Host::Server) } else { (Host::Server, STATION) };
        let (at, there) = (Time::from_ms(at_ms), Time::from_ms(at_ms + 10));
        let (number, forward) = all.sent(&packet, from, to, at);
        all.delivered(&packet, number, forward, at, there);
        (number, forward)
    }

    #[test]
    fn a_connection_is_seen_from_its_headers() {
        let mut all = Conversations::default();
        let down = UP.reversed();
        let isn = u32::MAX - 100; // numbers wrap
        let ecn = TcpFlags::ECE | TcpFlags::CWR;
        assert_eq!(cross(&mut all, segment(UP, TcpFlags::SYN | ecn, isn, 0, 0), 0), (0, true));
        let answer = TcpFlags::SYN | TcpFlags::ACK | TcpFlags::ECE;
        let syn_ack = segment(down, answer, 500, isn.wrapping_add(1), 0);
        assert_eq!(cross(&mut all, syn_ack, 10), (0, false));
        assert!(all.get(0).has_ecn());
        let data = |n: u32| segment(UP, TcpFlags::ACK, isn.wrapping_add(1 + 1000 * n), 501, 1000);
        cross(&mut all, data(0), 20);
        cross(&mut all, data(1), 21);
        cross(&mut all, data(0), 25); // retransmitted: it is not timed
        let ack = |n: u32| segment(down, TcpFlags::ACK, 501, isn.wrapping_add(1 + 1000 * n), 0);
        cross(&mut all, ack(1), 30);
        cross(&mut all, ack(2), 31);
        cross(&mut all, data(2), 50);
        cross(&mut all, ack(3), 70);
        let rows = all.rows(&Conversations::default(), Time::ZERO, |host| format!("{host:?}"));
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].retransmissions, rows[0].sent_packets, rows[1].retransmissions), (1, 5, 0));
        assert!((rows[0].active_s - 0.06).abs() < 1e-9, "{}", rows[0].active_s);
        assert!((rows[0].goodput_mbps - 0.4).abs() < 1e-9, "{}", rows[0].goodput_mbps);
        let way = &all.get(0).ways[0];
        assert_eq!(way.rtt.count(), 2); // of the SYN, and of the third segment
        assert!((way.rtt.mean().unwrap() - 25e6).abs() < 1e6);
        assert_eq!(all.get(0).ways[1].rtt.count(), 1); // of the SYN-ACK
    }

    #[test]
    fn rows_are_differences() {
        let mut all = Conversations::default();
        cross(&mut all, segment(UP, TcpFlags::ACK, 0, 0, 1000), 0);
        let before = all.clone();
        let start = Time::from_ms(20);
        assert!(all.rows(&before, start, |_| String::new()).is_empty());
        cross(&mut all, segment(UP, TcpFlags::ACK, 1000, 0, 1000), 25);
        let rows = all.rows(&before, start, |_| String::new());
        assert_eq!((rows.len(), rows[0].payload_bytes, rows[0].from_port), (1, 1000, 3));
        assert!((rows[0].active_s - 0.015).abs() < 1e-9, "{}", rows[0].active_s);
    }

    #[test]
    fn too_many_conversations_are_counted_together() {
        let mut all = Conversations::default();
        for n in 0..MAX_CONVERSATIONS as u32 + 5 {
            let (source, source_port) = (1 + n / 60_000, (n % 60_000) as u16);
            let tuple = FiveTuple { source, source_port, destination_port: 1, ..UP };
            all.sent(&segment(tuple, TcpFlags::ACK, 0, 0, 10), STATION, Host::Server, Time::ZERO);
        }
        let rows = all.rows(&Conversations::default(), Time::ZERO, |_| String::new());
        assert_eq!(rows.len(), MAX_CONVERSATIONS + 1);
        assert_eq!((rows.last().unwrap().sent_packets, rows.last().unwrap().to_port), (5, 0));
    }
}
