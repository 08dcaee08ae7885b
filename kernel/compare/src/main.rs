// SPDX-License-Identifier: GPL-2.0-only
//! Drives the kernel's queues and wifair's schemes `mac80211` and `air-share` with the same random operations and compares what
//! leaves, what is dropped, and what becomes of packets from stations at each step.

mod headers;
mod minstrel;
mod oracle;
mod shares;

use headers::{AckStream, header_line};
use oracle::{Effect, Kernel};
use wifair_core::{
    Ac, ConnectionId, Ecn, FiveTuple, FlowId, Packet, Rate, Rng, SackBlocks, StationId, TCP, TcpFlags, Time,
    UDP,
};
use wifair_queue::{
    DequeuedPacket, Exchange, Extent, Flows, FlowsSpec, Grant, Link, Outcome, Reception, Rounds,
    StationLimit, TxQueue, TxQueueSpec, View,
};
use wifair_wlan::{Format, Kernel as Version, Mode, PhySpec, StationPhy, expected_airtime};

const STATIONS: usize = 8;
/// What the driver of the kernel's side has in front of an IP packet.
const ETHERNET_BYTES: u32 = 14;
/// CoDel's clock tick in the kernel.
const TICK_NS: u64 = 1_024;

/// What one comparison varies.
#[derive(Clone, Copy)]
struct Setting {
    name: &'static str,
    queues: u32,
    packets: u32,
    bytes: u32,
    flows: u32,
    /// Mean number of packets that arrive per packet that leaves, in percent.
    load: u32,
    /// Operations are up to so many grains of time apart.
    gap: u32,
    grain_ns: u64,
    /// Whether stations take turns by airtime; otherwise the driver names the station.
    turns: bool,
    /// Bytes of kernel memory per packet in addition to its length.
    truesize: u32,
    /// Airtime queue limits: drivers take turns and rounds.
    aql: bool,
    /// Lengths of packets: with `false` all differ, so that no two queues are equally long for long.
    equal_lengths: bool,
    /// Whether the access point shares out the air.
    air_share: Option<Acks>,
}

/// The pure ACKs to stations of a comparison of air-share.
#[derive(Clone, Copy)]
struct Acks {
    /// Fields as a receiver sets them; otherwise at random.
    of_receivers: bool,
    /// Whether the rates of links change.
    rates_change: bool,
}

impl Setting {
    fn start(&self, oracle: &str) -> Kernel {
        let shares = self.air_share.is_some();
        Kernel::start(oracle, [self.queues, self.packets, self.bytes], [self.aql, shares])
    }
}

/// wifair's queue and all that a step needs to know of it.
struct Wifair {
    queue: TxQueue,
    flows: Flows,
    keys: [u64; 3],
}

impl Wifair {
    fn start(setting: &Setting, seed: u64, arithmetic: &str) -> Wifair {
        let mut scheme = serde_json::json!({
            "name": "mac80211", "queues": setting.queues, "limit_bytes": setting.bytes, "arithmetic": arithmetic,
        });
        if setting.air_share.is_some() {
            assert_eq!(
                (setting.queues, setting.bytes, arithmetic),
                (4_096, 16 << 20, "exact"),
                "it has no keys"
            );
            scheme = serde_json::json!({ "name": "air-share" });
        }
        let scheme = serde_json::from_value(scheme).unwrap();
        let spec = TxQueueSpec { limit_packets: setting.packets, scheme, ..TxQueueSpec::default() };
        let mut queue = TxQueue::new(&spec, seed, "ap");
        queue.report_completions();
        let mut rng = Rng::stream(seed, "ap", "scheme");
        let mut half = || u64::from(rng.below(u32::MAX));
        let keys = std::array::from_fn(|_| (half() << 32) | half());
        Wifair { queue, flows: Flows::new(&FlowsSpec::default()), keys }
    }

    /// A hash that the kernel scales to the queue to which wifair's hash of the tuple leads, with this number among those that
    /// lead there.
    fn kernel_hash(&self, tuple: &FiveTuple, queues: u32, number: u32) -> u32 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let [a, b, c] = self.keys;
        let addresses = (u64::from(tuple.source) << 32) | u64::from(tuple.destination);
        let ports = (u64::from(tuple.source_port) << 16) | u64::from(tuple.destination_port);
        let first = fold(addresses ^ a, ((u64::from(tuple.protocol) << 32) | ports) ^ b);
        let queue = ((fold(first ^ c, 0x9E37_79B9_7F4A_7C15) >> 32) * u64::from(queues)) >> 32;
        (queue << 32).div_ceil(u64::from(queues)) as u32 + number
    }
}

/// A frame on the air.
struct Sent {
    departure: DequeuedPacket,
    ends: Time,
    airtime: Time,
    pending: Time,
}

/// Both sides, and what is on the air.
struct Pair {
    kernel: Kernel,
    wifair: Wifair,
    setting: Setting,
    now: Time,
    sent: Vec<Sent>,
    modes: [Mode; STATIONS],
    links: [Link; STATIONS],
    acks: Vec<AckStream>,
    version: Version,
    counts: Counts,
}

/// What happened in a run, so that a comparison that compared nothing is seen.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    arrivals: u64,
    left: u64,
    marked: u64,
    by_codel: u64,
    /// At overflow, and redundant ACKs.
    at_arrival: u64,
    policed: [u64; 3],
}

/// The first step at which the two differ.
struct Parting {
    step: u32,
    operation: String,
    kernel: Effect,
    wifair: Effect,
}

impl Pair {
    fn ns(&self) -> u64 {
        self.now.as_ns()
    }

    fn arrive(&mut self, id: u32, rng: &mut Rng) -> (String, Effect, Effect) {
        let flow = rng.below(self.setting.flows);
        let station = flow % STATIONS as u32;
        let tuple = FiveTuple {
            source: 0x0a01_0000 + flow,
            destination: 0x0a00_0000 + station,
            source_port: 80,
            destination_port: 5000,
            protocol: TCP,
        };
        let payload_bytes = if self.setting.equal_lengths { 1460 } else { rng.below(1460) };
        let mut packet = Packet {
            tuple,
            connection: ConnectionId::new(id as usize, 0),
            payload_bytes,
            header_bytes: 40,
            flags: TcpFlags::ACK,
            sack: SackBlocks::NONE,
            ..Packet::default()
        };
        if let Some(acks) = self.setting.air_share
            && self.carries_acks(flow)
        {
            self.acks[flow as usize].next(acks.of_receivers, &mut packet, rng);
        }
        let packet = if flow.is_multiple_of(3) { packet.with_ecn(Ecn::Ect0) } else { packet };
        if self.wifair.queue.is_empty() && self.sent.is_empty() && !self.setting.aql {
            let line = format!("i {}", self.ns());
            let idle = self.kernel.effect(&line);
            assert_eq!(idle, Effect::default(), "nothing is queued");
        }
        if self.setting.air_share.is_some() {
            self.kernel.effect(&header_line(self.now, &packet, flow.is_multiple_of(2), rng));
        }
        let number = if self.setting.air_share.is_some() { flow } else { 0 };
        let hash = self.wifair.kernel_hash(&tuple, self.setting.queues, number);
        let bytes = packet.ip_bytes();
        let truesize = bytes + self.setting.truesize;
        let line = format!("e {} {station} {hash} {bytes} {truesize} {} {id}", self.ns(), packet.ds_field);
        let kernel = self.kernel.effect(&line);
        let view = View { flows: &self.wifair.flows, links: &self.links };
        let _ = self.wifair.queue.enqueue(
            Ac::BestEffort,
            &packet,
            FlowId(flow),
            StationId(station as u16),
            self.now,
            || view,
        );
        let wifair = Effect { dropped: self.freed(), ..Effect::default() };
        self.counts.arrivals += 1;
        self.counts.at_arrival += wifair.dropped.len() as u64;
        (line, kernel, wifair)
    }

    fn freed(&mut self) -> Vec<u32> {
        let mut freed = Vec::new();
        self.wifair.queue.take_completions(|packet| freed.push(packet.connection.slot() as u32));
        freed
    }

    fn take(&mut self, rng: &mut Rng) -> (String, Effect, Effect) {
        if self.setting.aql {
            return self.take_by_rounds(rng);
        }
        let (line, grant) = if self.setting.turns {
            (format!("g {}", self.ns()), Grant::ANY)
        } else {
            let station = rng.below(STATIONS as u32) as u16;
            (format!("t {} {station}", self.ns()), Grant { station: Some(StationId(station)), ..Grant::ANY })
        };
        let us = 20 + rng.below(3_000);
        if self.wifair.queue.is_empty() {
            return (line, Effect::default(), Effect::default()); // neither is asked
        }
        let kernel = self.kernel.effect(&line);
        let mut left = vec![];
        if let Some(packet) = self.dequeue(&grant, Time::from_us(us.into()), Time::ZERO) {
            left.push(packet);
        }
        let dropped = self.freed();
        self.counts.by_codel += dropped.len() as u64;
        (line, kernel, Effect { dropped, left, ..Effect::default() })
    }

    /// wifair's rules of a driver with airtime queue limits.
    fn take_by_rounds(&mut self, rng: &mut Rng) -> (String, Effect, Effect) {
        let extent = [Extent::Turn, Extent::Round, Extent::Rounds][rng.below(3) as usize];
        let line = format!("d {} {}", self.ns(), extent as u8);
        let kernel = self.kernel.effect(&line);
        let mut left = vec![];
        loop {
            let mut pending = [Time::ZERO; STATIONS];
            for sent in &self.sent {
                pending[sent.departure.station.index()] += sent.pending;
            }
            let total = pending.iter().fold(Time::ZERO, |sum, each| sum + *each);
            let (first, further) = (Time::from_ms(12), Time::from_us(2_500));
            let below = Time::from_ms(if total < Time::from_ms(24) { 12 } else { 5 });
            let grant = Grant {
                station_limit: Some(StationLimit { pending: &pending, below }),
                rounds: Some(Rounds { pending: total, first, further, extent }),
                ..Grant::ANY
            };
            // A packet's share of a PPDU, more or less than its estimate.
            let airtime = Time::from_us(u64::from(10 + rng.below(400)));
            let Some(packet) = self.dequeue(&grant, airtime, self.last_end()) else { break };
            left.push(packet);
        }
        let dropped = self.freed();
        self.counts.by_codel += dropped.len() as u64;
        (line, kernel, Effect { dropped, left, ..Effect::default() })
    }

    /// When all that has been sent so far is over.
    fn last_end(&self) -> Time {
        self.sent.iter().map(|sent| sent.ends).max().unwrap_or(Time::ZERO)
    }

    /// A packet leaves wifair's queue; on the air after what was sent before, or at once.
    fn dequeue(&mut self, grant: &Grant, airtime: Time, after: Time) -> Option<(u32, bool, u16, u32)> {
        let view = View { flows: &self.wifair.flows, links: &self.links };
        let departure = self.wifair.queue.dequeue(grant, self.now, || view).map(DequeuedPacket::from)?;
        let packet = &departure.packet;
        let station = departure.station;
        let bytes = packet.ip_bytes() + ETHERNET_BYTES;
        let pending = match self.setting.aql {
            true => expected_airtime(self.version, &self.modes[station.index()], bytes, false),
            false => Time::ZERO,
        };
        let marked = packet.ecn() == Ecn::Ce;
        let left = (packet.connection.slot() as u32, marked, station.0, (pending.as_ns() / 1_000) as u32);
        self.counts.left += 1;
        self.counts.marked += u64::from(marked);
        self.sent.push(Sent { departure, ends: self.now.max(after) + airtime, airtime, pending });
        Some(left)
    }

    /// Ends the transmissions that are over by now.
    fn complete(&mut self) {
        while let Some(at) = self.sent.iter().position(|sent| sent.ends <= self.now || !self.setting.turns) {
            let Sent { departure, airtime, pending, .. } = self.sent.remove(at);
            let station = departure.station;
            if self.setting.turns {
                let us = pending.as_ns() / 1_000;
                if us > 0 {
                    self.kernel.effect(&format!("p {} {} {us}", self.ns(), station.0));
                }
                let line = format!("r {} {} {} 0", self.ns(), station.0, airtime.as_ns() / 1_000);
                self.kernel.effect(&line);
            }
            let airtime = if self.setting.turns { airtime } else { Time::ZERO };
            let view = View { flows: &self.wifair.flows, links: &self.links };
            let exchange = || Exchange {
                outcome: Outcome::Delivered,
                packets: std::slice::from_ref(&departure.packet),
                flow: departure.flow,
                station,
                ac: Ac::BestEffort,
                rate: self.links[station.index()].rate,
                attempts: 1,
                airtime,
                overhead: Time::ZERO,
                service: airtime,
            };
            self.wifair.queue.complete(&departure, Outcome::Delivered, self.now, || view, exchange);
        }
        self.freed();
    }

    /// Whether a flow to a station has the ACKs of an upload.
    fn carries_acks(&self, flow: u32) -> bool {
        flow >= self.setting.flows / 2
    }

    /// A packet from a station is charged to it, and the scheme decides about it. The first stations send more.
    fn police(&mut self, rng: &mut Rng) -> (String, Effect, Effect) {
        let station = rng.below(STATIONS as u32).min(rng.below(STATIONS as u32));
        let longest_us = if rng.chance(0.1) { 12_000 } else { 2_500 };
        let us = 20 + rng.below(longest_us);
        let tuple = FiveTuple {
            source: 0x0a00_0000 + station,
            destination: 0x0a01_0000 + rng.below(4),
            source_port: 5000,
            destination_port: 80,
            protocol: if rng.chance(0.05) { UDP } else { TCP },
        };
        let packet = Packet {
            tuple,
            payload_bytes: if rng.chance(0.1) { 0 } else { 1 + rng.below(1_460) },
            header_bytes: 40,
            flags: if rng.chance(0.02) { TcpFlags::SYN } else { TcpFlags::ACK },
            ds_field: rng.below(4) as u8,
            ..Packet::default()
        };
        self.kernel.effect(&header_line(self.now, &packet, rng.chance(0.5), rng));
        let line = format!("u {} {station} {us} {}", self.ns(), packet.ds_field);
        let kernel = self.kernel.effect(&line);
        let reception = Reception {
            packet: &packet,
            flow: FlowId(self.setting.flows + station),
            station: StationId(station as u16),
            ac: Ac::BestEffort,
            airtime: Time::from_us(us.into()),
            overhead: Time::ZERO,
        };
        let view = || View { flows: &self.wifair.flows, links: &self.links };
        self.wifair.queue.receive(&reception, self.now, view());
        let action = self.wifair.queue.police(&reception, self.now, view());
        self.counts.policed[action as usize] += 1;
        (line, kernel, Effect { policed: Some(action), ..Effect::default() })
    }

    /// Sets the mode of a station on both sides.
    fn set_mode(&mut self, station: usize, mode: Mode) {
        self.kernel.set_mode(station, &mode);
        self.modes[station] = mode;
        self.links[station] = Link::new(mode.rate);
    }

    /// A frame from a station is charged to it.
    fn receive(&mut self, rng: &mut Rng) {
        let station = rng.below(STATIONS as u32) as u16;
        let us = 20 + rng.below(1_500);
        let line = format!("r {} {station} 0 {us}", self.ns());
        self.kernel.effect(&line);
        let packet = Packet::default();
        let reception = Reception {
            packet: &packet,
            flow: FlowId(0),
            station: StationId(station),
            ac: Ac::BestEffort,
            airtime: Time::from_us(us.into()),
            overhead: Time::ZERO,
        };
        let view = View { flows: &self.wifair.flows, links: &self.links };
        self.wifair.queue.receive(&reception, self.now, view);
    }
}

/// A random mode of 802.11n to 802.11be.
fn random_mode(rng: &mut Rng) -> Mode {
    let format = [Format::Ht, Format::Vht, Format::He, Format::Eht][rng.below(4) as usize];
    let (widths, mcs, streams, guards): (u32, _, _, &[u16]) = match format {
        Format::Ht => (2, 8, 4, &[400, 800]),
        Format::Vht => (4, 10, 4, &[400, 800]),
        Format::He => (4, 12, 8, &[800, 1_600, 3_200]),
        _ => (5, 14, 8, &[800, 1_600, 3_200]),
    };
    let streams = 1 + rng.below(streams) as u8;
    let mcs = rng.below(mcs) as u8 + if format == Format::Ht { 8 * (streams - 1) } else { 0 };
    let (width_mhz, guard_interval_ns) =
        (20 << rng.below(widths), guards[rng.below(guards.len() as u32) as usize]);
    Mode { rate: Rate::from_kbps(0), format, ldpc: false, mcs, streams, width_mhz, guard_interval_ns }
}

/// One of the three fastest modes of one stream at 20 MHz of 802.11n or 802.11ac: 52 to 78 Mbps.
fn random_mode_near_60_mbps(rng: &mut Rng) -> Mode {
    let name = ["802.11n", "802.11ac"][rng.below(2) as usize];
    let phy = serde_json::json!({ "name": name, "width_mhz": 20, "streams": 1, "guard_interval_ns": 800 });
    let phy: PhySpec = serde_json::from_value(phy).expect("a PHY");
    let modes = phy.modes(&StationPhy::default(), "phy").expect("modes");
    let modes: Vec<Mode> = modes.iter().map(|on_air| on_air.mode).collect();
    modes[modes.len() - 1 - rng.below(3) as usize]
}

/// Compares the estimates of so many random packets in random modes; the first that differ.
fn compare_estimates(oracle: &str, version: Version, seed: u64, steps: u32) -> Option<String> {
    let mut rng = Rng::stream(seed, "kernel", "estimates");
    let mut kernel = AQL.start(oracle);
    (0..steps).find_map(|_| {
        let (mode, bytes, is_voice) = (random_mode(&mut rng), rng.below(11_500), rng.chance(0.25));
        kernel.set_mode(0, &mode);
        let of_kernel = kernel.ask(&format!("a 0 0 {bytes} {}", u8::from(is_voice)));
        let of_wifair = expected_airtime(version, &mode, bytes, is_voice).as_ns() / 1_000;
        let differs = of_kernel.trim() != of_wifair.to_string();
        differs.then(|| {
            format!("{bytes} bytes, {mode:?}, voice {is_voice}: {} and {of_wifair} us", of_kernel.trim())
        })
    })
}

/// Runs random operations until the two differ.
fn compare(
    oracle: &str,
    version: Version,
    arithmetic: &str,
    setting: Setting,
    seed: u64,
    steps: u32,
) -> (Counts, Option<Parting>) {
    let mut rng = Rng::stream(seed, "kernel", "operations");
    let random_mode = if setting.air_share.is_some() { random_mode_near_60_mbps } else { random_mode };
    let modes = [(); STATIONS].map(|()| random_mode(&mut rng));
    let mut pair = Pair {
        kernel: setting.start(oracle),
        wifair: Wifair::start(&setting, seed, arithmetic),
        setting,
        now: Time::from_s(1),
        sent: Vec::new(),
        modes,
        links: [Link::new(Rate::from_kbps(54_000)); STATIONS],
        acks: vec![AckStream::default(); setting.flows as usize],
        version,
        counts: Counts::default(),
    };
    modes.iter().enumerate().for_each(|(station, mode)| pair.set_mode(station, *mode));
    pair.now = Time::from_ns(pair.ns() / setting.grain_ns * setting.grain_ns);
    let mut load = setting.load;
    for step in 0..steps {
        if step % 5_000 == 0 {
            load = setting.load / 2 + rng.below(setting.load); // queues grow, shrink and are empty
        }
        pair.now += Time::from_ns(u64::from(rng.below(setting.gap)) * setting.grain_ns);
        pair.complete();
        if setting.turns && setting.air_share.is_none() && rng.chance(0.1) {
            pair.receive(&mut rng);
        }
        if setting.air_share.map_or(setting.aql, |acks| acks.rates_change) && rng.chance(0.001) {
            let station = rng.below(STATIONS as u32) as usize;
            let mode = random_mode(&mut rng);
            pair.set_mode(station, mode);
        }
        let (operation, kernel, wifair) = if setting.air_share.is_some() && rng.chance(0.3) {
            pair.police(&mut rng)
        } else if rng.below(100 + load) < load {
            pair.arrive(step, &mut rng)
        } else {
            pair.take(&mut rng)
        };
        if kernel != wifair {
            return (pair.counts, Some(Parting { step, operation, kernel, wifair }));
        }
    }
    (pair.counts, None)
}

const FQ_CODEL: Setting = Setting {
    name: "fq-codel",
    queues: 4_096,
    packets: 8_192,
    bytes: 16 << 20,
    flows: 40,
    load: 110,
    gap: 2_000,
    grain_ns: TICK_NS,
    turns: false,
    truesize: 0,
    aql: false,
    equal_lengths: false,
    air_share: None,
};
const OVERFLOW: Setting = Setting {
    name: "overflow",
    queues: 64,
    packets: 300,
    bytes: 100_000,
    flows: 60,
    load: 160,
    gap: 200,
    ..FQ_CODEL
};
const LONE_PACKETS: Setting = Setting { name: "lone-packets", packets: 12, bytes: 16 << 20, ..OVERFLOW };
const AIRTIME: Setting = Setting { name: "airtime", load: 105, turns: true, ..FQ_CODEL };
const AIRTIME_OVERFLOW: Setting =
    Setting { name: "airtime-overflow", queues: 64, packets: 300, flows: 60, load: 130, gap: 800, ..AIRTIME };
const EQUAL_LENGTHS: Setting = Setting { name: "equal-lengths", equal_lengths: true, ..AIRTIME_OVERFLOW };
const AQL: Setting = Setting { name: "aql", gap: 260, aql: true, load: 250, ..AIRTIME };

/// A variant of the oracle (variant.sh), wifair's arithmetic, a setting, and whether the two are to be equal.
const CASES: [(&str, &str, Setting, bool); 22] = [
    // The kernel as it is.
    ("as-is", "linux", FQ_CODEL, true),
    ("as-is", "linux", Setting { name: "any-time", gap: 100_000, grain_ns: 1, ..FQ_CODEL }, true),
    ("as-is", "linux", Setting { name: "whole-ms", gap: 4, grain_ns: 1_000_000, ..FQ_CODEL }, true),
    ("as-is", "linux", OVERFLOW, true),
    ("as-is", "linux", LONE_PACKETS, true),
    ("as-is", "linux", AIRTIME, true),
    ("as-is", "linux", AIRTIME_OVERFLOW, true),
    ("as-is", "linux", EQUAL_LENGTHS, true),
    ("as-is", "linux", AQL, true),
    ("as-is", "linux", Setting { name: "aql-overflow", queues: 64, packets: 300, flows: 60, ..AQL }, true),
    ("as-is", "linux", Setting { name: "truesize", truesize: 768, ..OVERFLOW }, false),
    // With the arithmetic of the RFC, and with each difference of that turned on alone.
    ("exact", "exact", FQ_CODEL, true),
    ("exact", "exact", OVERFLOW, true),
    ("exact", "exact", AIRTIME_OVERFLOW, true),
    ("exact", "exact", EQUAL_LENGTHS, true),
    ("exact", "exact", AQL, true),
    ("tick", "exact", Setting { name: "any-time", gap: 100_000, grain_ns: 1, ..FQ_CODEL }, false),
    ("root", "exact", FQ_CODEL, false),
    ("strict", "exact", Setting { name: "whole-ms", gap: 4, grain_ns: 1_000_000, ..FQ_CODEL }, false),
    ("jiffies", "exact", AIRTIME, false),
    ("ties", "exact", EQUAL_LENGTHS, false),
    ("refused", "exact", LONE_PACKETS, false),
];

const RECEIVERS: Option<Acks> = Some(Acks { of_receivers: true, rates_change: false });
const SHARES: Setting = Setting { name: "air-share", air_share: RECEIVERS, ..AIRTIME };
const SHARES_AQL: Setting = Setting { name: "air-share, aql", gap: 150, air_share: RECEIVERS, ..AQL };
const SHARES_OVERFLOW: Setting =
    Setting { name: "air-share, overflow", packets: 100, load: 130, gap: 800, ..SHARES };

/// Comparisons of the patched version: with air-share off it is that without the patch. The last three show deviations.
const SHARES_CASES: [(&str, &str, Setting, bool); 11] = [
    ("as-is", "linux", FQ_CODEL, true),
    ("as-is", "linux", AIRTIME_OVERFLOW, true),
    ("as-is", "linux", AQL, true),
    ("exact", "exact", AQL, true),
    ("exact", "exact", SHARES, true),
    ("exact", "exact", SHARES_AQL, true),
    ("exact", "exact", SHARES_OVERFLOW, true),
    ("exact", "exact", Setting { name: "air-share, any-time", gap: 1_000_000, grain_ns: 1, ..SHARES }, true),
    (
        "exact",
        "exact",
        Setting {
            name: "air-share, random ACKs",
            air_share: Some(Acks { of_receivers: false, rates_change: false }),
            ..SHARES
        },
        false,
    ),
    (
        "exact",
        "exact",
        Setting {
            name: "air-share, rates change",
            air_share: Some(Acks { of_receivers: true, rates_change: true }),
            ..SHARES
        },
        false,
    ),
    ("exact", "exact", Setting { name: "air-share, shared queues", flows: 4_000, ..SHARES }, false),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, part, folder, version, steps, seed] = &arguments[..] else {
        panic!("usage: wifair-kernel-compare queues|air-share|rates FOLDER VERSION STEPS SEED");
    };
    let seed: u64 = seed.parse().expect("a seed");
    let steps: u32 = steps.parse().expect("a number of steps");
    let number = version.trim_end_matches(".patched");
    let kernel = serde_json::from_value::<Version>(number.into()).expect("a version that wifair has");
    println!("Linux {version}, {steps} random steps each, seed {seed}");
    let failed = match part.as_str() {
        "queues" => compare_queues(folder, version, kernel, seed, steps),
        "air-share" => compare_air_share(folder, version, kernel, seed, steps),
        "rates" => minstrel::compare(&format!("{folder}/minstrel-{version}"), seed, steps),
        _ => panic!("queues, air-share or rates, not {part}"),
    };
    if failed {
        eprintln!("a comparison that should be equal differs");
        std::process::exit(1);
    }
}

/// Compares queues, airtime and its estimates, and says what it found. Returns whether something differs that should be equal.
fn compare_queues(folder: &str, version: &str, kernel: Version, seed: u64, steps: u32) -> bool {
    let differs = compare_estimates(&format!("{folder}/oracle-{version}-as-is"), kernel, seed, steps);
    println!("estimates of airtime: {}", differs.as_deref().unwrap_or("equal for every packet"));
    let failed = compare_cases(&CASES, folder, version, kernel, seed, steps);
    let mut failed = failed || differs.is_some();
    let shares = shares::compare(&format!("{folder}/oracle-{version}-as-is"), seed);
    println!(
        "airtime shares of saturated stations at MCS 0 to 11, in %, by wifair's engine and by the kernel's functions:"
    );
    for (mcs, [wifair, kernel]) in shares.iter().enumerate() {
        println!("  MCS {mcs}: {wifair:.2} and {kernel:.2}");
        failed |= (wifair - kernel).abs() > 2.0;
    }
    failed
}

/// Compares the version with air-share, and the same with each of the mistakes. Returns whether something differs that should
/// be equal, or a mistake is not found.
fn compare_air_share(folder: &str, version: &str, kernel: Version, seed: u64, steps: u32) -> bool {
    let mut failed = compare_cases(&SHARES_CASES, folder, version, kernel, seed, steps);
    let prefix = format!("oracle-{version}-mistake-");
    let files = std::fs::read_dir(folder).expect("the folder of the oracles");
    let mut mistakes: Vec<String> = files
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(&prefix))
        .collect();
    mistakes.sort();
    assert!(!mistakes.is_empty(), "no mistakes in {folder}");
    for mistake in mistakes {
        let oracle = format!("{folder}/{mistake}");
        let found =
            [SHARES, SHARES_AQL].map(|setting| compare(&oracle, kernel, "exact", setting, seed, steps).1);
        let name = mistake.trim_start_matches(&prefix);
        match found.into_iter().flatten().map(|at| at.step).min() {
            Some(step) => println!("mistake {name}: found at step {step}"),
            None => {
                println!("mistake {name}: not found");
                failed = true;
            }
        }
    }
    failed
}

/// Runs comparisons, and says what each found. Returns whether something differs that should be equal.
fn compare_cases(
    cases: &[(&str, &str, Setting, bool)],
    folder: &str,
    version: &str,
    kernel: Version,
    seed: u64,
    steps: u32,
) -> bool {
    let mut failed = false;
    for &(kind, arithmetic, setting, equal) in cases {
        let oracle = format!("{folder}/oracle-{version}-{kind}");
        let (counts, parting) = compare(&oracle, kernel, arithmetic, setting, seed, steps);
        let Counts { arrivals, left, marked, by_codel, at_arrival, policed } = counts;
        let found = match &parting {
            None => "equal at every step".to_owned(),
            Some(at) => format!("differs first at step {}", at.step),
        };
        print!(
            "{kind}, {arithmetic}: {}: {found} ({arrivals} arrivals, {left} left, {marked} of them marked, {by_codel} dropped by CoDel, \
             {at_arrival} at an arrival",
            setting.name
        );
        match (setting.air_share, policed) {
            (Some(_), [forwarded, marked, dropped]) => {
                println!("; from stations: {forwarded} forwarded, {marked} marked, {dropped} dropped)");
            }
            (None, _) => println!(")"),
        }
        if let Some(Parting { operation, kernel, wifair, .. }) = &parting {
            println!("  {operation}\n  kernel: {kernel:?}\n  wifair: {wifair:?}");
        }
        failed |= equal && parting.is_some();
    }
    failed
}
