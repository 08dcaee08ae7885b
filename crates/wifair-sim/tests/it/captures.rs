//! Captures of all radios of random fields agree with each other and with the counters, which know nothing of captures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::pcapng::{Block, PcapNgReader};
use proptest::prelude::*;
use serde_json::{Value, json};
use wifair_sim::{PcapSpec, RunRecord, TraceSpec, run_traced};

use crate::common;
use crate::neighbours::{air, drawn, flows, plan, with_air};

const BEACON: u8 = 0x80;
const RTS: u8 = 0xB4;
const CTS: u8 = 0xC4;
const ACK: u8 = 0xD4;
const BLOCK_ACK: u8 = 0x94;

/// An address of a node.
type Address = [u8; 6];

/// A frame, or a subframe of an A-MPDU, in a capture.
#[derive(Clone, Copy, Debug)]
struct Captured {
    ends: Duration,
    /// Start of its PSDU, in microseconds.
    tsft: u64,
    is_whole: bool,
    /// Of all but the radio's.
    signal_dbm: Option<i8>,
    mhz: u16,
    kind: u8,
    to: Address,
    /// Its transmitter, which a CTS or an ACK does not say.
    from: Option<Address>,
}

fn read(path: &Path) -> Vec<Captured> {
    let mut reader = PcapNgReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut all = vec![];
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            let (head, mac) = packet.data.split_at(packet.data[2].into());
            let present = u32::from_le_bytes(head[4..8].try_into().unwrap());
            all.push(Captured {
                ends: packet.timestamp,
                tsft: u64::from_le_bytes(head[8..16].try_into().unwrap()),
                is_whole: head[16] & 0x40 == 0,
                signal_dbm: (present & 1 << 5 != 0).then(|| head[22] as i8),
                mhz: u16::from_le_bytes(head[18..20].try_into().unwrap()),
                kind: mac[0],
                to: mac[4..10].try_into().unwrap(),
                from: (![CTS, ACK].contains(&mac[0])).then(|| mac[10..16].try_into().unwrap()),
            });
        }
    }
    all
}

/// A frame on the air: when it ends, and its transmitter.
type FrameKey = (Duration, Address);

/// What a radio has sent, and what others have of it.
#[derive(Default)]
struct Air {
    /// Its subframes, or itself.
    sent: BTreeMap<FrameKey, Vec<Captured>>,
    /// By frame and radio, in the order of `sent`.
    received: BTreeMap<(FrameKey, Address), Vec<Captured>>,
}

impl Air {
    /// How many of its subframes the addressee of a frame has decoded, and how many there are.
    fn decoded(&self, key: &FrameKey) -> (usize, usize) {
        let sent = &self.sent[key];
        let received = self.received.get(&(*key, sent[0].to)).map_or(&[][..], |all| all);
        (received.iter().filter(|frame| frame.is_whole).count(), sent.len())
    }
}

/// The nodes of the BSSs of a plan: by BSS, the access point and its stations, each with its address and the name of its
/// capture.
fn nodes(plan: &Value) -> Vec<Vec<(Address, String)>> {
    let mut first = 1;
    let neighbours = plan["neighbours"].as_array().unwrap();
    let bsss = std::iter::once(&plan["bss"]).chain(neighbours);
    let of = |(number, bss): (usize, &Value)| {
        let ap = if number == 0 { "ap".into() } else { format!("ap-{}", bss["label"].as_str().unwrap()) };
        let mut nodes = vec![([2, 0, 0, 0, 0, number as u8], ap)];
        for station in bss["stations"].as_array().unwrap() {
            nodes.push(([2, 0, 10, 0, 0, first], format!("station-{}", station["label"].as_str().unwrap())));
            first += 1;
        }
        nodes
    };
    bsss.enumerate().map(of).collect()
}

fn traced(plan: &Value, folder: PathBuf) -> RunRecord {
    std::fs::create_dir_all(&folder).unwrap();
    let labels = |bss: &Value| {
        let stations = bss["stations"].as_array().unwrap().clone();
        stations.into_iter().map(|station| station["label"].as_str().unwrap().to_string())
    };
    let neighbours = plan["neighbours"].as_array().unwrap();
    let pcap = PcapSpec {
        stations: std::iter::once(&plan["bss"]).chain(neighbours).flat_map(labels).collect(),
        aps: neighbours.iter().map(|bss| bss["label"].as_str().unwrap().into()).collect(),
        servers: true,
        full_frames: false,
    };
    let spec = TraceSpec { folder, pcap: Some(pcap), events: false };
    run_traced(&common::plan(plan), 1, &spec, Box::new(|_| true), &mut |_| true).unwrap().unwrap()
}

fn check(plan: &Value, folder: PathBuf) {
    let record = traced(plan, folder.clone());
    let nodes = nodes(plan);
    let mut air = Air::default();
    for (address, name) in nodes.iter().flatten() {
        let frames = read(&folder.join(format!("{name}-air.pcapng")));
        assert!(frames.is_sorted_by_key(|frame| frame.ends), "{name}");
        assert!(frames.windows(2).all(|pair| pair[0].mhz == pair[1].mhz), "{name} is tuned to one channel");
        let mut before = Duration::ZERO;
        for frames in frames.chunk_by(|a, b| (a.ends, a.signal_dbm) == (b.ends, b.signal_dbm)) {
            // Nothing that a radio sends or receives overlaps.
            assert!(before.as_micros() as u64 <= frames[0].tsft, "{name}: {frames:?}");
            before = frames[0].ends;
            if frames[0].signal_dbm.is_none() {
                assert!(frames.iter().all(|frame| frame.is_whole), "{name}: {frames:?}");
                air.sent.insert((before, *address), frames.to_vec());
            }
        }
    }
    // One radio has sent what another has received.
    for (address, name) in nodes.iter().flatten() {
        for frame in
            read(&folder.join(format!("{name}-air.pcapng"))).iter().filter(|one| one.signal_dbm.is_some())
        {
            let range = (frame.ends, [0; 6])..=(frame.ends, [0xff; 6]);
            let is_it = |key: &FrameKey, sent: &Captured| {
                frame.from.is_none_or(|from| from == key.1)
                    && (sent.kind, sent.to, sent.tsft) == (frame.kind, frame.to, frame.tsft)
            };
            let senders = air.sent.range(range).filter(|(key, sent)| is_it(key, &sent[0]));
            let senders: Vec<FrameKey> = senders.map(|(key, _)| *key).collect();
            assert_eq!(senders.len(), 1, "{name}: {frame:?}");
            air.received.entry((senders[0], *address)).or_default().push(*frame);
        }
    }
    for (bss, row) in nodes.iter().zip(&record.bsss) {
        let of_bss = |key: &&FrameKey| bss.iter().any(|(address, _)| *address == key.1);
        let sent = || air.sent.keys().filter(of_bss);
        let kind = |key: &FrameKey| air.sent[key][0].kind;
        let addressed = || sent().filter(|key| kind(key) != BEACON);
        let lost = addressed().filter(|key| air.decoded(key).0 == 0).count() as u64;
        assert_eq!(lost, row.lost_same_start + row.lost_hidden, "{}", row.bss);
        let data = || addressed().filter(|key| kind(key) == 0x88 && has_agreement(plan));
        let mpdus = data().map(|key| air.decoded(key).1 as u64).sum::<u64>();
        let decoded = data().map(|key| air.decoded(key).0 as u64).sum::<u64>();
        assert_eq!((mpdus, mpdus - decoded), (row.mpdus, row.mpdus_lost), "{}", row.bss);
        let beacons = sent().filter(|key| kind(key) == BEACON);
        let missed =
            beacons.clone().flat_map(|key| bss[1..].iter().map(move |(station, _)| (*key, *station)));
        let missed =
            missed.filter(|key| !air.received.get(key).is_some_and(|frames| frames[0].is_whole)).count();
        assert_eq!((beacons.count() as u64, missed as u64), (row.beacons, row.beacons_missed), "{}", row.bss);
        let is_answered = |key: &&FrameKey| {
            let to = air.sent[*key][0].to;
            let sifs = [10, 16].map(Duration::from_micros);
            air.sent.range((key.0, [0; 6])..).any(|((ends, from), frames)| {
                *from == to && frames[0].kind == CTS && frames[0].to == key.1 && {
                    // A CTS lasts 44 µs at 6 Mbps, and less at a higher rate.
                    let lasts = *ends - key.0;
                    lasts > sifs[0] && lasts <= sifs[1] + Duration::from_micros(44)
                }
            })
        };
        let heard = || addressed().filter(|key| kind(key) == RTS && air.decoded(key).0 == 1);
        let unanswered = heard().filter(|key| !is_answered(key)).count() as u64;
        assert_eq!(unanswered, row.unanswered_rts, "{}", row.bss);
        // Each response follows a frame that its sender has decoded.
        for key in addressed().filter(|key| [CTS, ACK, BLOCK_ACK].contains(&kind(key))) {
            let tsft = Duration::from_micros(air.sent[key][0].tsft);
            let before = air.received.range(((Duration::ZERO, [0; 6]), [0; 6])..((tsft, [0; 6]), [0; 6]));
            let decoded =
                before.rev().take_while(|((frame, _), _)| tsft - frame.0 <= Duration::from_micros(60));
            let mut decoded =
                decoded.filter(|((frame, radio), _)| *radio == key.1 && frame.1 == air.sent[key][0].to);
            assert!(
                decoded.any(|(_, frames)| frames.iter().any(|frame| frame.is_whole)),
                "{}: {key:?}",
                row.bss
            );
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

fn has_agreement(plan: &Value) -> bool {
    plan["bss"]["phy"]["name"] != "802.11a"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Flows stop before the end, so nothing is on the air then and all counters are of whole exchanges.
    #[test]
    fn radios_have_what_counters_say(
        bsss in drawn(),
        phy in prop_oneof![Just("802.11a"), Just("802.11ax"), Just("802.11be")],
        apart_m in 5.0..60.0,
        air in air(),
        rts in prop::option::of(Just(500)),
        beacons in any::<bool>(),
        width in prop::sample::select(vec!["static", "dynamic", "punctured"]),
        overlap in prop::option::of(0_usize..3),
        never in prop::option::of(prop::sample::select(vec![36, 48])),
        case in any::<u64>(),
    ) {
        let named = [0, 1, 2].map(|i| (['a', 'b', 'c'][i], bsss[i].clone()));
        let mut flows: Vec<Value> = named.iter().flat_map(|(name, bss)| flows(*name, bss)).collect();
        flows.iter_mut().for_each(|flow| flow["stop_s"] = json!(0.25));
        let mut plan = with_air(plan(phy, &named, apart_m, &flows), phy, air);
        plan["run"] = json!({"warmup_s": 0.0, "duration_s": 1.0});
        let mac = plan["bss"].as_object_mut().unwrap().entry("mac").or_insert_with(|| json!({}));
        if let Some(bytes) = rts {
            mac["rts_threshold_bytes"] = json!(bytes);
        }
        if beacons {
            mac["beacons"] = json!({"interval_tu": 30});
        }
        if let (Some(overlap), true) = (overlap, phy != "802.11a") {
            let is_refused = width == "punctured" && phy != "802.11be";
            mac["width"] = json!(if is_refused { "dynamic" } else { width });
            plan["bss_channel"] = json!(42);
            plan["bss_primary"] = json!([36, 40, 48][overlap]);
            plan["neighbours"][0]["channel"] = json!(42);
            plan["neighbours"][0]["primary"] = json!(44);
            if let (Some(never), "802.11be") = (never, phy) {
                plan["neighbours"][0]["punctured"] = json!([never]);
            }
            plan["neighbours"][1]["channel"] = json!([38, 46, 46][overlap]);
            plan["neighbours"][1]["width_mhz"] = json!(40);
        }
        check(&plan, Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("captures-{case}")));
    }
}
