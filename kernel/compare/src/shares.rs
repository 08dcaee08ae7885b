// SPDX-License-Identifier: GPL-2.0-only
//! The airtime of saturated stations under airtime queue limits: in wifair's engine, and with the kernel's functions above
//! a firmware that serves its queues in turns.

use std::collections::VecDeque;

use serde_json::json;
use wifair_core::{ConnectionId, FiveTuple, Packet, Rate, Rng, SackBlocks, StationId, TCP, TcpFlags, Time};
use wifair_wlan::{Bss, BssSpec, Format, Mode, PhySpec, StationPhy};

use crate::oracle::Kernel;

const STATIONS: usize = 12;
const IP_BYTES: u32 = 1_500;
/// Each station's packets per ms: 60 Mbps.
const PACKETS_PER_MS: u32 = 5;
const WARM_UP: Time = Time::from_s(1);
const END: Time = Time::from_s(20);

fn phy() -> serde_json::Value {
    json!({"name": "802.11ax", "width_mhz": 80})
}

/// The airtime shares of stations at MCS 0 to 11 in %: wifair's and the kernel's.
pub fn compare(oracle: &str, seed: u64) -> Vec<[f64; 2]> {
    let percent = |airtimes: [Time; STATIONS]| {
        let all: f64 = airtimes.iter().map(|airtime| airtime.as_secs_f64()).sum();
        airtimes.map(|airtime| 100.0 * airtime.as_secs_f64() / all)
    };
    let (wifair, kernel) = (percent(of_engine(seed)), percent(of_kernel(oracle, seed)));
    wifair.into_iter().zip(kernel).map(|(wifair, kernel)| [wifair, kernel]).collect()
}

fn of_engine(seed: u64) -> [Time; STATIONS] {
    let stations: Vec<_> =
        (0..STATIONS).map(|mcs| json!({"label": format!("sta-{mcs}"), "mcs": mcs})).collect();
    let tx_queue = json!({"limit_packets": 8_192, "scheme": {"name": "mac80211", "arithmetic": "linux"}});
    let spec: BssSpec = serde_json::from_value(json!({
        "phy": phy(), "mac": {"edca": {}}, "stations": stations,
        "ap": {"hardware": {"name": "firmware"}, "tx_queue": tx_queue},
    }))
    .expect("a BSS");
    let mut bss = Bss::new(&spec, seed).expect("a BSS");
    let run = |bss: &mut Bss, end| while bss.advance_before(end).is_some() {};
    let (mut now, mut warm, mut id) = (Time::ZERO, None, 0);
    while now < END {
        run(&mut bss, now);
        if now == WARM_UP {
            warm = Some(bss.snapshot(now));
        }
        for station in 0..STATIONS as u16 {
            for _ in 0..PACKETS_PER_MS {
                id += 1;
                bss.send_down(StationId(station), &packet(station, id), now);
            }
        }
        now += Time::from_ms(1);
    }
    let used = bss.snapshot(now).since(&warm.expect("it has been warmed up"));
    std::array::from_fn(|station| used.stations[station].down.airtime)
}

fn packet(station: u16, id: u32) -> Packet {
    let tuple = FiveTuple {
        source: 0x0a00_0001,
        destination: 1 + u32::from(station),
        source_port: 80,
        destination_port: 1_000,
        protocol: TCP,
    };
    Packet {
        tuple,
        connection: ConnectionId::new(0, 0),
        seq: id,
        payload_bytes: IP_BYTES - 40,
        header_bytes: 40,
        flags: TcpFlags::ACK,
        sack: SackBlocks::NONE,
        ..Packet::default()
    }
}

/// The firmware below the kernel's functions: queues by station, served in turns.
struct Firmware {
    kernel: Kernel,
    /// By station: the pending airtimes of its packets in µs.
    queues: [VecDeque<u32>; STATIONS],
    /// Stations with packets, the first to be served next.
    order: VecDeque<usize>,
    in_service: Option<usize>,
}

impl Firmware {
    fn take(&mut self, line: &str) {
        for (_, _, station, us) in self.kernel.effect(line).left {
            let station = usize::from(station);
            if self.queues[station].is_empty() && self.in_service != Some(station) {
                self.order.push_back(station);
            }
            self.queues[station].push_back(us);
        }
    }
}

fn of_kernel(oracle: &str, seed: u64) -> [Time; STATIONS] {
    let phy: PhySpec = serde_json::from_value(phy()).expect("a PHY");
    let modes = phy.modes(&StationPhy::default(), "phy").expect("modes");
    let on_air = |mcs: usize| modes.on_air(modes.mcs_index(mcs as u8, "mcs").expect("an MCS of one stream"));
    let on_air: Vec<_> = (0..STATIONS).map(on_air).collect();
    let kernel = Kernel::start(oracle, [4_096, 8_192, 16 << 20], [true, false]);
    let mut firmware =
        Firmware { kernel, queues: Default::default(), order: VecDeque::new(), in_service: None };
    for mcs in 0..STATIONS {
        let mode = Mode {
            rate: Rate::from_kbps(0),
            format: Format::He,
            ldpc: true,
            mcs: mcs as u8,
            streams: 1,
            width_mhz: 80,
            guard_interval_ns: 800,
        };
        firmware.kernel.set_mode(mcs, &mode);
    }
    let mut rng = Rng::stream(seed, "kernel", "backoff");
    let (mut now, mut arrival, mut used) = (Time::from_s(1), Time::from_s(1), [Time::ZERO; STATIONS]);
    let mut id = 0;
    while now < END + Time::from_s(1) {
        while arrival <= now {
            for station in 0..STATIONS {
                for _ in 0..PACKETS_PER_MS {
                    id += 1;
                    let (ns, hash) = (arrival.as_ns(), (station as u32) << 24);
                    firmware.kernel.effect(&format!("e {ns} {station} {hash} {IP_BYTES} {IP_BYTES} 0 {id}"));
                    firmware.take(&format!("d {ns} 2"));
                }
            }
            arrival += Time::from_ms(1);
        }
        let Some(station) = firmware.order.pop_front() else {
            now = arrival;
            continue;
        };
        firmware.in_service = Some(station);
        // AIFS, backoff, PPDU, SIFS and Block Ack.
        let (subframe, longest) = (1_544, Time::from_us(5_484));
        let mut packets = firmware.queues[station].len().min(256) as u32;
        let duration = |packets: u32| on_air[station].ppdu_duration(packets * subframe - 2);
        while duration(packets) > longest {
            packets -= 1;
        }
        let block_ack_us = match station {
            0 => 100,
            1 | 2 => 60,
            _ => 40,
        };
        let airtime = duration(packets) + Time::from_us(16 + block_ack_us);
        now += Time::from_us(43 + 9 * u64::from(rng.below(16))) + airtime;
        if now > WARM_UP + Time::from_s(1) {
            used[station] += airtime;
        }
        let (ns, us) = (now.as_ns(), airtime.as_ns() / 1_000);
        firmware.kernel.effect(&format!("r {ns} {station} {us} 0"));
        for _ in 0..packets {
            let pending = firmware.queues[station].pop_front().expect("it was sent");
            firmware.kernel.effect(&format!("p {ns} {station} {pending}"));
        }
        firmware.in_service = None;
        if !firmware.queues[station].is_empty() {
            firmware.order.push_back(station);
        }
        firmware.take(&format!("d {ns} 2"));
    }
    used
}
