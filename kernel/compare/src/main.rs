// SPDX-License-Identifier: GPL-2.0-only
//! Drives the kernel's queues and wifair's scheme `mac80211` with the same random operations and compares what leaves and what
//! is dropped at each step.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use wifair_core::{
    Ac, ConnectionId, Ecn, FiveTuple, FlowId, Packet, Rate, Rng, SackBlocks, StationId, TCP, TcpFlags, Time,
};
use wifair_queue::{
    Departure, Exchange, Flows, FlowsSpec, Grant, Link, Outcome, Reception, StationLimit, TxQueue,
    TxQueueSpec, View,
};

const STATIONS: usize = 8;
const LINKS: [Link; STATIONS] = [Link { rate: Rate::from_kbps(54_000) }; STATIONS];
/// CoDel's clock tick in the kernel.
const TICK_NS: u64 = 1_024;

/// The kernel's queues in a process.
struct Kernel {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What an operation did: connections of dropped packets, and the packet that left with its station.
#[derive(Debug, Default, PartialEq, Eq)]
struct Effect {
    dropped: Vec<u32>,
    left: Option<(u32, bool, u16)>,
}

impl Kernel {
    fn start(oracle: &str, setting: &Setting) -> Kernel {
        let limits = [setting.queues, setting.packets, setting.bytes].map(|limit| limit.to_string());
        let mut child = Command::new(oracle)
            .args(limits)
            .arg(u8::from(setting.aql.is_some()).to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{oracle}: {error}"));
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Kernel { child, input, output }
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").expect("the oracle takes the operation");
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        assert!(answer.ends_with('\n'), "the oracle has ended at: {line}");
        answer
    }

    fn effect(&mut self, line: &str) -> Effect {
        let answer = self.ask(line);
        let mut words = answer.split_whitespace();
        let mut effect = Effect::default();
        while let Some(kind) = words.next() {
            let mut number = || words.next().unwrap().parse::<u32>().unwrap();
            match kind {
                "x" => effect.dropped.push(number()),
                "o" => effect.left = Some((number(), number() == 3, number() as u16)),
                _ => panic!("unknown answer {answer}"),
            }
        }
        effect
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
    /// Airtime queue limits; the unit in µs in which the kernel's side counts what is pending.
    aql: Option<u32>,
    /// Lengths of packets: with `false` all differ, so that no two queues are equally long for long.
    equal_lengths: bool,
}

/// wifair's queue and all that a step needs to know of it.
struct Wifair {
    queue: TxQueue,
    flows: Flows,
    keys: [u64; 3],
}

impl Wifair {
    fn start(setting: &Setting, seed: u64, exact: bool) -> Wifair {
        // The kernel's target and interval in whole ticks; with a clock in ns, as they are.
        let whole =
            |ms: u64| if exact { ms as f64 } else { (ms * 1_000_000 / TICK_NS * TICK_NS) as f64 / 1e6 };
        let scheme = serde_json::json!({
            "name": "mac80211", "queues": setting.queues, "limit_bytes": setting.bytes,
            "target_ms": whole(20), "interval_ms": whole(100),
        });
        let scheme = serde_json::from_value(scheme).unwrap();
        let spec = TxQueueSpec { limit_packets: setting.packets, scheme, ..TxQueueSpec::default() };
        let mut queue = TxQueue::new(&spec, seed, "ap");
        queue.report_freed();
        let mut rng = Rng::stream(seed, "ap", "scheme");
        let mut half = || u64::from(rng.below(u32::MAX));
        let keys = std::array::from_fn(|_| (half() << 32) | half());
        Wifair { queue, flows: Flows::new(&FlowsSpec::default()), keys }
    }

    /// A hash that the kernel scales to the queue to which wifair's hash of the tuple leads.
    fn kernel_hash(&self, tuple: &FiveTuple, queues: u32) -> u32 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let [a, b, c] = self.keys;
        let addresses = (u64::from(tuple.source) << 32) | u64::from(tuple.destination);
        let ports = (u64::from(tuple.source_port) << 16) | u64::from(tuple.destination_port);
        let first = fold(addresses ^ a, ((u64::from(tuple.protocol) << 32) | ports) ^ b);
        let queue = ((fold(first ^ c, 0x9E37_79B9_7F4A_7C15) >> 32) * u64::from(queues)) >> 32;
        (queue << 32).div_ceil(u64::from(queues)) as u32
    }
}

/// A frame on the air.
struct Sent {
    departure: Departure,
    ends: Time,
    airtime: Time,
}

/// Both sides, and what is on the air.
struct Pair {
    kernel: Kernel,
    wifair: Wifair,
    setting: Setting,
    now: Time,
    sent: Vec<Sent>,
    counts: Counts,
}

/// What happened in a run, so that a comparison that compared nothing is seen.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    arrivals: u64,
    left: u64,
    marked: u64,
    by_codel: u64,
    by_overflow: u64,
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

    /// Airtime as the kernel's side counts it while it is pending.
    fn counted(&self, us: u32) -> u32 {
        self.setting.aql.map_or(us, |unit| us / unit * unit)
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
        let packet = Packet {
            tuple,
            connection: ConnectionId::new(id as usize, 0),
            payload_bytes,
            header_bytes: 40,
            flags: TcpFlags::ACK,
            sack: SackBlocks::NONE,
            ..Packet::default()
        };
        let packet = if flow % 3 == 0 { packet.with_ecn(Ecn::Ect0) } else { packet };
        if self.wifair.queue.is_empty() && self.sent.is_empty() {
            let line = format!("i {}", self.ns());
            let idle = self.kernel.effect(&line);
            assert_eq!(idle, Effect::default(), "nothing is queued");
        }
        let hash = self.wifair.kernel_hash(&tuple, self.setting.queues);
        let bytes = packet.ip_bytes();
        let truesize = bytes + self.setting.truesize;
        let line = format!("e {} {station} {hash} {bytes} {truesize} {} {id}", self.ns(), packet.ds_field);
        let kernel = self.kernel.effect(&line);
        let view = View { flows: &self.wifair.flows, links: &LINKS };
        let _ = self.wifair.queue.enqueue(
            Ac::BestEffort,
            &packet,
            FlowId(flow),
            StationId(station as u16),
            self.now,
            || view,
        );
        let wifair = Effect { dropped: self.freed(), left: None };
        self.counts.arrivals += 1;
        self.counts.by_overflow += wifair.dropped.len() as u64;
        (line, kernel, wifair)
    }

    fn freed(&mut self) -> Vec<u32> {
        let mut freed = Vec::new();
        self.wifair.queue.take_freed(|packet| freed.push(packet.connection.slot() as u32));
        freed
    }

    fn take(&mut self, rng: &mut Rng) -> (String, Effect, Effect) {
        let mut pending = [Time::ZERO; STATIONS];
        for sent in &self.sent {
            pending[sent.departure.station.index()] += sent.airtime;
        }
        // wifair's rule: 5 ms per station, 12 ms while all have less than 24 ms.
        let total = pending.iter().fold(Time::ZERO, |sum, each| sum + *each);
        let below = Time::from_ms(if total < Time::from_ms(24) { 12 } else { 5 });
        let station_limit = self.setting.aql.map(|_| StationLimit { pending: &pending, below });
        let us = 20 + rng.below(3_000);
        let (line, grant) = if self.setting.turns {
            (format!("g {} {}", self.ns(), self.counted(us)), Grant { station_limit, ..Grant::ANY })
        } else {
            let station = rng.below(STATIONS as u32) as u16;
            (format!("t {} {station}", self.ns()), Grant { station: Some(StationId(station)), ..Grant::ANY })
        };
        let airtime = Time::from_us(us.into());
        if self.wifair.queue.is_empty() {
            return (line, Effect::default(), Effect::default()); // neither is asked
        }
        let kernel = self.kernel.effect(&line);
        let view = View { flows: &self.wifair.flows, links: &LINKS };
        let departure = self.wifair.queue.dequeue(&grant, self.now, || view).map(Departure::from);
        let dropped = self.freed();
        let left = departure.as_ref().map(|departure| {
            let packet = &departure.packet;
            (packet.connection.slot() as u32, packet.ecn() == Ecn::Ce, departure.station.0)
        });
        self.counts.by_codel += dropped.len() as u64;
        self.counts.left += u64::from(left.is_some());
        self.counts.marked += u64::from(left.is_some_and(|(_, marked, _)| marked));
        if let Some(departure) = departure {
            self.sent.push(Sent { departure, ends: self.now + airtime, airtime });
        }
        (line, kernel, Effect { dropped, left })
    }

    /// Ends the transmissions that are over by now.
    fn complete(&mut self) {
        while let Some(at) = self.sent.iter().position(|sent| sent.ends <= self.now || !self.setting.turns) {
            let Sent { departure, airtime, .. } = self.sent.remove(at);
            let station = departure.station;
            if self.setting.turns {
                if self.setting.aql.is_some() {
                    let us = self.counted((airtime.as_ns() / 1_000) as u32);
                    self.kernel.effect(&format!("p {} {} {us}", self.ns(), station.0));
                }
                let line = format!("r {} {} {} 0", self.ns(), station.0, airtime.as_ns() / 1_000);
                self.kernel.effect(&line);
            }
            let airtime = if self.setting.turns { airtime } else { Time::ZERO };
            let view = View { flows: &self.wifair.flows, links: &LINKS };
            let exchange = || Exchange {
                outcome: Outcome::Delivered,
                packets: std::slice::from_ref(&departure.packet),
                flow: departure.flow,
                station,
                ac: Ac::BestEffort,
                rate: LINKS[0].rate,
                attempts: 1,
                airtime,
                overhead: Time::ZERO,
                service: airtime,
            };
            self.wifair.queue.complete(&departure, Outcome::Delivered, self.now, || view, exchange);
        }
        self.freed();
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
        let view = View { flows: &self.wifair.flows, links: &LINKS };
        self.wifair.queue.receive(&reception, self.now, view);
    }
}

/// Runs random operations until the two differ.
fn compare(oracle: &str, exact: bool, setting: Setting, seed: u64, steps: u32) -> (Counts, Option<Parting>) {
    let mut rng = Rng::stream(seed, "kernel", "operations");
    let mut pair = Pair {
        kernel: Kernel::start(oracle, &setting),
        wifair: Wifair::start(&setting, seed, exact),
        setting,
        now: Time::from_s(1),
        sent: Vec::new(),
        counts: Counts::default(),
    };
    pair.now = Time::from_ns(pair.ns() / setting.grain_ns * setting.grain_ns);
    let mut load = setting.load;
    for step in 0..steps {
        if step % 5_000 == 0 {
            load = setting.load / 2 + rng.below(setting.load); // queues grow, shrink and are empty
        }
        pair.now += Time::from_ns(u64::from(rng.below(setting.gap)) * setting.grain_ns);
        pair.complete();
        if setting.turns && rng.chance(0.1) {
            pair.receive(&mut rng);
        }
        let arrives = rng.below(100 + load) < load;
        let (operation, kernel, wifair) =
            if arrives { pair.arrive(step, &mut rng) } else { pair.take(&mut rng) };
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
    aql: None,
    equal_lengths: false,
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
const AQL: Setting = Setting { name: "aql", gap: 600, aql: Some(1), load: 103, ..AIRTIME };

/// A variant of the oracle (variant.sh), a setting, and whether the two are to be equal.
const CASES: [(&str, Setting, bool); 21] = [
    ("exact", FQ_CODEL, true),
    ("exact", OVERFLOW, true),
    ("exact", AIRTIME, true),
    ("exact", AIRTIME_OVERFLOW, true),
    ("exact", EQUAL_LENGTHS, true),
    ("exact", LONE_PACKETS, true),
    ("aql-as-wifair", AQL, true),
    // The deviations, one at a time.
    ("tick", Setting { name: "any-time", gap: 100_000, grain_ns: 1, ..FQ_CODEL }, false),
    ("root", FQ_CODEL, false),
    ("strict", Setting { name: "whole-ms", gap: 4, grain_ns: 1_000_000, ..FQ_CODEL }, false),
    ("jiffies", AIRTIME, false),
    ("ties", EQUAL_LENGTHS, false),
    ("exact", Setting { name: "truesize", truesize: 768, ..OVERFLOW }, false),
    ("refused", LONE_PACKETS, false),
    ("aql-less-pending", AQL, false),
    ("aql-per-phy", AQL, false),
    ("aql-as-wifair", Setting { name: "aql-unit", aql: Some(4), ..AQL }, false),
    // The kernel as it is.
    ("as-is", FQ_CODEL, false),
    ("as-is", OVERFLOW, false),
    ("as-is", AIRTIME, false),
    ("as-is", AQL, false),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, version, steps, seed] = &arguments[..] else {
        panic!("usage: wifair-kernel-compare FOLDER VERSION STEPS SEED");
    };
    let seed: u64 = seed.parse().expect("a seed");
    let steps: u32 = steps.parse().expect("a number of steps");
    let mut failed = false;
    println!("Linux {version}, {steps} random steps each, seed {seed}");
    for (kind, setting, equal) in CASES {
        let oracle = format!("{folder}/oracle-{version}-{kind}");
        let (counts, parting) = compare(&oracle, kind != "as-is", setting, seed, steps);
        let Counts { arrivals, left, marked, by_codel, by_overflow } = counts;
        let found = match &parting {
            None => "equal at every step".to_owned(),
            Some(at) => format!("differs first at step {}", at.step),
        };
        println!(
            "{kind} {}: {found} ({arrivals} arrivals, {left} left, {marked} of them marked, {by_codel} dropped by CoDel, \
             {by_overflow} at overflow)",
            setting.name
        );
        if let Some(Parting { operation, kernel, wifair, .. }) = &parting {
            println!("  {operation}\n  kernel: {kernel:?}\n  wifair: {wifair:?}");
        }
        failed |= equal && parting.is_some();
    }
    if failed {
        eprintln!("a comparison that should be equal differs");
        std::process::exit(1);
    }
}
