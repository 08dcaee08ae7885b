mod delay;

use std::collections::{BTreeMap, VecDeque};

use wifair_core::{MinTree, Packet, Rate, Rng, Time, counters};

use crate::plan::WireSpec;
use crate::ring::Ring;

/// Direction of a packet on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// From the AP to a server.
    ToServer,
    /// From a server to the AP.
    ToAp,
}

counters! {
    /// The queue before the shared link in one direction.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LinkCounters |now, earlier| {
        /// Packets that it has admitted.
        pub packets: u64,
        /// Packets dropped because it was full.
        pub dropped: u64,
        /// Sum of the times that these wait, in nanoseconds modulo 2⁶⁴.
        pub wait_ns: u64 = now.wait_ns.wrapping_sub(earlier.wait_ns),
        /// Integral of its length over time, in packets × nanoseconds modulo 2⁶⁴.
        pub length_ns: u64 = now.length_ns.wrapping_sub(earlier.length_ns),
    }
}

counters! {
    /// What has happened on the wire.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct WireCounters {
        /// Packets lost at random.
        pub losses: u64,
        /// Packets dropped by full queues, before the shared link or flows' own.
        pub dropped: u64,
        /// The shared link, by [`Way`].
        pub shared: [LinkCounters; 2],
    }
}

/// A transmitter: serialises packets one after the other.
#[derive(Clone, Debug)]
struct Transmitter {
    rate: Rate,
    free_at: Time,
    /// Size and duration of the last packet. The next one usually has the same size, which saves a costly division.
    last: (u32, Time),
    /// Sum of the waits of all packets, modulo 2⁶⁴.
    wait_ns: u64,
}

impl Transmitter {
    fn new(rate: Rate) -> Transmitter {
        Transmitter { rate, free_at: Time::ZERO, last: (0, Time::ZERO), wait_ns: 0 }
    }

    fn duration_of(&mut self, bytes: u32) -> Time {
        if self.last.0 != bytes {
            self.last = (bytes, self.rate.duration_of(u64::from(bytes)));
        }
        self.last.1
    }
}

/// A packet under way.
#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    arrival: Time,
    packet: Packet,
    slot: u32,
}

/// A packet that has reached the end of the wire.
#[derive(Clone, Copy, Debug)]
pub struct WireArrival<'a> {
    /// Its direction.
    pub way: Way,
    /// Its connection.
    pub slot: usize,
    /// The packet.
    pub packet: &'a Packet,
}

/// What keeps packets off a wire: random losses, and full queues.
#[derive(Clone, Debug)]
struct WireLosses {
    rate: f64,
    limit_packets: Option<usize>,
    at_random: u64,
    rng: Rng,
}

/// The queue before a transmitter.
#[derive(Clone, Debug)]
struct WireQueue {
    wire: WireId,
    /// When the packets that wait will start.
    waiting: VecDeque<Time>,
    /// Packets that found no room.
    dropped: u64,
}

/// What is lost before it is on a wire.
#[derive(Clone, Debug)]
struct Losses {
    /// By [`WireId`].
    wires: Vec<WireLosses>,
    /// By transmitter.
    queues: Vec<WireQueue>,
}

impl Losses {
    /// Whether a packet is lost that reaches the queue of a transmitter, which is busy until `free_at`. Takes a draw if there
    /// are random losses.
    fn takes(&mut self, transmitter: usize, free_at: Time, now: Time) -> bool {
        let WireQueue { wire, waiting, dropped } = &mut self.queues[transmitter];
        let WireLosses { rate, limit_packets, at_random, rng } = &mut self.wires[wire.0 as usize];
        if *rate > 0.0 && rng.chance(*rate) {
            *at_random += 1;
            return true;
        }
        let Some(limit) = *limit_packets else { return false };
        while waiting.front().is_some_and(|start| *start <= now) {
            waiting.pop_front();
        }
        if waiting.len() >= limit {
            *dropped += 1;
            return true;
        }
        if free_at > now {
            waiting.push_back(free_at);
        }
        false
    }
}

/// Packets from one transmitter to one distance. They arrive in the order in which they left, so a queue suffices.
#[derive(Clone, Debug)]
struct Line {
    transmitter: u32,
    delay: Time,
    /// When its first packet arrives; [`Time::MAX`] without packets.
    next: Time,
    in_flight: Ring<InFlight>,
}

/// The wired side: full-duplex links between the AP and the servers.
///
/// Each direction of a link is a FIFO transmitter with a fixed rate, followed by a constant delay. Flows of one link may differ
/// in delay (a server further away); each delay has a separate line. The queue before each transmitter has no limit unless one
/// is set; then a packet that finds it full is dropped. The packet that is being transmitted does not count. Packets are lost
/// at random only if a loss rate is set; that takes one draw per packet, and none if it is zero. There may be several such
/// wires, each with a link that its flows share.
#[derive(Clone, Debug)]
pub struct Wire {
    transmitters: Vec<Transmitter>,
    /// By [`WireId`]: the transmitters of the shared link, by [`Way`].
    shared: Vec<[u32; 2]>,
    /// By [`Lines`] and [`Way`].
    lines: Vec<[Line; 2]>,
    heads: Heads,
    /// [`None`] if nothing is lost.
    losses: Option<Box<Losses>>,
}

/// By [`Lines`]: when the next packet arrives on either.
#[derive(Clone, Debug)]
struct Heads {
    /// Unused if there is one pair.
    all: MinTree,
    pairs: usize,
    earliest: Time,
    earliest_pair: usize,
}

impl Heads {
    fn new(pairs: usize) -> Heads {
        Heads { all: MinTree::new(pairs), pairs, earliest: Time::MAX, earliest_pair: 0 }
    }

    #[inline(always)] // trivial with one pair
    fn set(&mut self, pair: usize, next: Time) {
        if self.pairs == 1 {
            self.earliest = next;
        } else {
            self.all.set(pair, next);
            (self.earliest, self.earliest_pair) = (self.all.earliest(), self.all.earliest_index());
        }
    }
}

/// The two lines of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines(u32);

/// A wire between access points and servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireId(u32);

impl WireId {
    /// The wire that is built first.
    pub const FIRST: WireId = WireId(0);
}

/// Collects the links and lines that a plan's flows need; equal ones are shared.
pub struct WireBuilder {
    shared: Vec<[u32; 2]>,
    transmitters: Vec<Transmitter>,
    lines: Vec<[Line; 2]>,
    /// By transmitter and delay.
    pairs: BTreeMap<(u32, Time), Lines>,
    losses: Losses,
}

impl WireBuilder {
    /// Creates the [first wire](WireId::FIRST), with its shared link, losses and limit of queues; `rng` decides about losses.
    pub fn new(spec: &WireSpec, rng: Rng) -> WireBuilder {
        let losses = Losses { wires: vec![], queues: vec![] };
        let (shared, transmitters, lines, pairs) = (vec![], vec![], vec![], BTreeMap::new());
        let mut builder = WireBuilder { shared, transmitters, lines, pairs, losses };
        builder.add(spec, rng);
        builder
    }

    /// Adds a further wire.
    pub fn add(&mut self, spec: &WireSpec, rng: Rng) -> WireId {
        let &WireSpec { rate_mbps, rate_up_mbps, loss_rate, limit_packets, .. } = spec;
        let wire = WireId(self.shared.len() as u32);
        let rates = [rate_up_mbps.unwrap_or(rate_mbps), rate_mbps].map(Rate::from_mbps);
        let link = self.link(wire, rates);
        self.shared.push(link);
        let limit_packets = limit_packets.map(|packets| packets as usize);
        self.losses.wires.push(WireLosses { rate: loss_rate, limit_packets, at_random: 0, rng });
        wire
    }

    /// A link with these rates, by [`Way`].
    fn link(&mut self, wire: WireId, rates: [Rate; 2]) -> [u32; 2] {
        rates.map(|rate| {
            self.transmitters.push(Transmitter::new(rate));
            self.losses.queues.push(WireQueue { wire, waiting: VecDeque::new(), dropped: 0 });
            self.transmitters.len() as u32 - 1
        })
    }

    /// The lines for a flow at a one-way `delay`: over the shared link of a wire, or over its own link of rate `own`.
    pub fn lines(&mut self, wire: WireId, delay: Time, own: Option<Rate>) -> Lines {
        let [to_server, to_ap] = match own {
            Some(rate) => self.link(wire, [rate; 2]),
            None => self.shared[wire.0 as usize],
        };
        if let Some(lines) = self.pairs.get(&(to_server, delay)) {
            return *lines;
        }
        let line = |transmitter| Line { transmitter, delay, next: Time::MAX, in_flight: Ring::default() };
        self.lines.push([line(to_server), line(to_ap)]);
        let lines = Lines(self.lines.len() as u32 - 1);
        self.pairs.insert((to_server, delay), lines);
        lines
    }

    /// Builds the wires.
    pub fn build(self) -> Wire {
        let WireBuilder { shared, transmitters, lines, losses, .. } = self;
        let heads = Heads::new(lines.len());
        let any = losses.wires.iter().any(|wire| wire.rate > 0.0 || wire.limit_packets.is_some());
        Wire { transmitters, shared, lines, heads, losses: any.then(|| Box::new(losses)) }
    }
}

impl Wire {
    /// When the next packet arrives at either side; [`Time::MAX`] if none is under way.
    pub fn next_arrival(&self) -> Time {
        self.heads.earliest
    }

    /// Sends `packet`, of the connection in `slot`; returns when it will arrive, or [`Time::MAX`] if it is lost.
    #[inline(always)] // a call saves and restores more registers than the rest takes
    pub fn send(&mut self, lines: Lines, way: Way, slot: usize, packet: &Packet, now: Time) -> Time {
        if self.losses.is_some() && self.loses(lines, way, now) {
            return Time::MAX;
        }
        let line = &mut self.lines[lines.0 as usize][way as usize];
        let transmitter = &mut self.transmitters[line.transmitter as usize];
        let mut start = now;
        if transmitter.free_at > now {
            start = transmitter.free_at;
            transmitter.wait_ns = transmitter.wait_ns.wrapping_add((start - now).as_ns());
        }
        transmitter.free_at = start + transmitter.duration_of(packet.ip_bytes());
        let arrival = transmitter.free_at + line.delay;
        let place = line.in_flight.append(); // field by field: the packet is copied only once
        place.arrival = arrival;
        place.packet = *packet;
        place.slot = slot as u32;
        if line.next == Time::MAX {
            line.next = arrival;
            let pair = lines.0 as usize;
            let [to_server, to_ap] = &self.lines[pair];
            self.heads.set(pair, to_server.next.min(to_ap.next));
        }
        arrival
    }

    /// Whether a packet that is sent now is lost.
    #[inline(never)]
    fn loses(&mut self, lines: Lines, way: Way, now: Time) -> bool {
        let transmitter = self.lines[lines.0 as usize][way as usize].transmitter as usize;
        let free_at = self.transmitters[transmitter].free_at;
        self.losses.as_mut().is_some_and(|losses| losses.takes(transmitter, free_at, now))
    }

    /// Takes the packet that arrives at [`Wire::next_arrival`]; on a tie, that of the line built first. Panics if none is under
    /// way.
    pub fn arrive(&mut self) -> WireArrival<'_> {
        let pair = self.heads.earliest_pair;
        let [to_server, to_ap] = &mut self.lines[pair];
        let (way, line, other) = match to_server.next <= to_ap.next {
            true => (Way::ToServer, to_server, to_ap.next),
            false => (Way::ToAp, to_ap, to_server.next),
        };
        let (InFlight { packet, slot, .. }, next) = line.in_flight.take();
        line.next = next.map_or(Time::MAX, |next| next.arrival);
        self.heads.set(pair, line.next.min(other));
        WireArrival { way, slot: *slot as usize, packet }
    }

    /// The counters of a wire at `now`.
    pub fn counters(&self, wire: WireId, now: Time) -> WireCounters {
        let losses = self.losses.as_deref();
        let queues = losses.iter().flat_map(|losses| &losses.queues).filter(|queue| queue.wire == wire);
        WireCounters {
            losses: losses.map_or(0, |losses| losses.wires[wire.0 as usize].at_random),
            dropped: queues.map(|queue| queue.dropped).sum(),
            shared: self.shared[wire.0 as usize].map(|transmitter| self.link_counters(transmitter, now)),
        }
    }

    fn link_counters(&self, transmitter: u32, now: Time) -> LinkCounters {
        let Transmitter { rate, wait_ns, .. } = self.transmitters[transmitter as usize];
        let dropped = self.losses.as_ref().map_or(0, |losses| losses.queues[transmitter as usize].dropped);
        let mut counters = LinkCounters { packets: 0, dropped, wait_ns, length_ns: wait_ns };
        for line in self.lines.iter().flatten().filter(|line| line.transmitter == transmitter) {
            counters.packets += line.in_flight.appended();
            for InFlight { arrival, packet, .. } in line.in_flight.iter() {
                let start = *arrival - line.delay - rate.duration_of(packet.ip_bytes().into());
                if start > now {
                    // The rest of its wait.
                    counters.length_ns = counters.length_ns.wrapping_sub((start - now).as_ns());
                }
            }
        }
        counters
    }

    /// The packets under way.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        let in_flight = self.lines.iter().flatten().flat_map(|line| line.in_flight.iter());
        in_flight.map(|in_flight| &in_flight.packet)
    }

    /// Packets under way.
    pub fn in_flight(&self) -> usize {
        self.lines.iter().flatten().map(|line| line.in_flight.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use wifair_core::{FiveTuple, TCP, TcpFlags};

    use super::*;

    fn packet(seq: u32, ip_bytes: u32) -> Packet {
        Packet {
            connection: Default::default(),
            tuple: FiveTuple { protocol: TCP, ..FiveTuple::default() },
            seq,
            ack: 0,
            window_bytes: 0,
            payload_bytes: ip_bytes - 40,
            header_bytes: 40,
            flags: TcpFlags::ACK,
            ds_field: 0,
            sack: wifair_core::SackBlocks::NONE,
        }
    }

    fn rng() -> Rng {
        Rng::stream(1, "wire", "loss")
    }

    fn at_100_mbps() -> WireSpec {
        WireSpec { rate_mbps: 100.0, ..WireSpec::default() }
    }

    fn drain(wire: &mut Wire) -> Vec<(Time, u32)> {
        let mut arrivals = vec![];
        while wire.next_arrival() != Time::MAX {
            let time = wire.next_arrival();
            arrivals.push((time, wire.arrive().packet.seq));
        }
        arrivals
    }

    #[test]
    fn packets_of_one_link_queue_for_it_and_then_travel() {
        let mut builder = WireBuilder::new(&at_100_mbps(), rng());
        let near = builder.lines(WireId::FIRST, Time::from_ms(5), None);
        let far = builder.lines(WireId::FIRST, Time::from_ms(20), None);
        assert_eq!(near, builder.lines(WireId::FIRST, Time::from_ms(5), None));
        let mut wire = builder.build();
        wire.send(far, Way::ToAp, 7, &packet(1, 1500), Time::ZERO);
        wire.send(near, Way::ToAp, 7, &packet(2, 1500), Time::ZERO);
        wire.send(near, Way::ToServer, 7, &packet(3, 1500), Time::ZERO);
        assert_eq!(wire.in_flight(), 3);
        let one = LinkCounters { packets: 1, ..LinkCounters::default() };
        let two = LinkCounters { packets: 2, wait_ns: 120_000, length_ns: 30_000, dropped: 0 };
        assert_eq!(
            wire.counters(WireId::FIRST, Time::from_us(30)),
            WireCounters { losses: 0, dropped: 0, shared: [one, two] }
        );
        let two = LinkCounters { length_ns: 120_000, ..two };
        assert_eq!(wire.counters(WireId::FIRST, Time::from_us(120)).shared, [one, two]);
        assert_eq!(
            drain(&mut wire),
            [
                (Time::from_us(5_120), 3), // the other direction does not wait
                (Time::from_us(5_240), 2),
                (Time::from_us(20_120), 1),
            ]
        );
    }

    #[test]
    fn a_flow_with_a_rate_of_its_own_shares_with_nobody() {
        let mut builder = WireBuilder::new(&at_100_mbps(), rng());
        let shared = builder.lines(WireId::FIRST, Time::from_ms(5), None);
        let own = builder.lines(WireId::FIRST, Time::from_ms(5), Some(Rate::from_mbps(10.0)));
        let mut wire = builder.build();
        wire.send(shared, Way::ToAp, 7, &packet(1, 1500), Time::ZERO);
        wire.send(own, Way::ToAp, 7, &packet(2, 1500), Time::ZERO);
        assert_eq!(wire.counters(WireId::FIRST, Time::ZERO).shared.map(|link| link.packets), [0, 1]);
        assert_eq!(drain(&mut wire), [(Time::from_us(5_120), 1), (Time::from_us(6_200), 2)]);
    }

    #[test]
    fn the_two_directions_may_have_two_rates() {
        let mut builder = WireBuilder::new(&WireSpec { rate_up_mbps: Some(10.0), ..at_100_mbps() }, rng());
        let lines = builder.lines(WireId::FIRST, Time::ZERO, None);
        let own = builder.lines(WireId::FIRST, Time::ZERO, Some(Rate::from_mbps(1.0)));
        let mut wire = builder.build();
        for (seq, (lines, way)) in
            [(lines, Way::ToServer), (lines, Way::ToAp), (own, Way::ToServer), (own, Way::ToAp)]
                .into_iter()
                .enumerate()
        {
            wire.send(lines, way, 7, &packet(seq as u32, 1_500), Time::ZERO);
        }
        let us = Time::from_us;
        assert_eq!(drain(&mut wire), [(us(120), 1), (us(1_200), 0), (us(12_000), 2), (us(12_000), 3)]);
    }

    /// With room for two, of five packets at one instant one is transmitted and two wait; one leaves the queue every 120 µs.
    #[test]
    fn a_packet_that_finds_the_queue_full_is_dropped() {
        let mut builder = WireBuilder::new(&WireSpec { limit_packets: Some(2), ..at_100_mbps() }, rng());
        let [near, far] = [5, 20].map(|ms| builder.lines(WireId::FIRST, Time::from_ms(ms), None));
        let own = builder.lines(WireId::FIRST, Time::from_ms(5), Some(Rate::from_mbps(100.0)));
        let mut wire = builder.build();
        let mut send = |lines, at, seqs: std::ops::Range<u32>| -> Vec<u32> {
            seqs.filter(|seq| wire.send(lines, Way::ToAp, 7, &packet(*seq, 1_500), at) != Time::MAX).collect()
        };
        assert_eq!(send(near, Time::ZERO, 0..5), [0, 1, 2]);
        assert!(send(far, Time::from_us(119), 5..6).is_empty(), "one queue for both distances");
        assert_eq!(send(far, Time::from_us(120), 6..8), [6]);
        assert_eq!(send(own, Time::from_us(120), 8..13), [8, 9, 10]);
        let counters = wire.counters(WireId::FIRST, Time::from_us(120));
        assert_eq!((counters.losses, counters.dropped), (0, 6));
        assert_eq!(counters.shared.map(|link| (link.packets, link.dropped)), [(0, 0), (4, 4)]);
        assert_eq!(drain(&mut wire).len(), 7);
    }

    /// A queue that keeps a list of its packets, the one being transmitted at its head.
    #[derive(Default)]
    struct Plain {
        ends: Vec<Time>,
    }

    proptest::proptest! {
        #[test]
        fn limited_queues_are_lists(
            limit in 1u32..6,
            arrivals in proptest::collection::vec((0u64..400, 40u32..1_500), 1..200),
        ) {
            let mut builder = WireBuilder::new(&WireSpec { limit_packets: Some(limit), ..at_100_mbps() }, rng());
            let lines = builder.lines(WireId::FIRST, Time::ZERO, None);
            let mut wire = builder.build();
            let (mut plain, mut now) = (Plain::default(), Time::ZERO);
            for (us, ip_bytes) in arrivals {
                now += Time::from_us(us);
                plain.ends.retain(|end| *end > now);
                let is_admitted = plain.ends.len() <= limit as usize;
                let arrival = wire.send(lines, Way::ToAp, 7, &packet(0, ip_bytes), now);
                proptest::prop_assert_eq!(arrival != Time::MAX, is_admitted);
                if is_admitted {
                    let start = plain.ends.last().map_or(now, |end| *end);
                    plain.ends.push(start + Rate::from_mbps(100.0).duration_of(ip_bytes.into()));
                    proptest::prop_assert_eq!(Some(&arrival), plain.ends.last());
                }
            }
        }
    }

    #[test]
    fn loss_is_the_asked_share() {
        let mut builder = WireBuilder::new(&WireSpec { loss_rate: 0.1, ..at_100_mbps() }, rng());
        let lines = builder.lines(WireId::FIRST, Time::ZERO, None);
        let mut wire = builder.build();
        for seq in 0..10_000 {
            wire.send(lines, Way::ToAp, 7, &packet(seq, 100), Time::ZERO);
        }
        let losses = wire.counters(WireId::FIRST, Time::ZERO).losses;
        assert_eq!(losses + wire.in_flight() as u64, 10_000);
        assert!((900..1100).contains(&losses), "{losses}"); // ± 3.3 standard deviations
    }
}
