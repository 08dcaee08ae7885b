//! A-MPDUs and Block Ack (`docs/medium.md`, section 12): the longest aggregates, and what holds in every BSS.

use crate::support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use support::{effort, mean_wait, packet, packet_down};
use wifair_core::{StationId, Time};
use wifair_queue::{Direction, Ledger, SchemeSpec};
use wifair_wlan::{
    AggregationSpec, Ath9kSpec, Ath10kSpec, Bss, BssSpec, CategorySpec, Delivery, EdcaSpec, Fill,
    FirmwareSpec, FrameErrorRate, HardwareSpec, HwsimSpec, LinkKeys, MpduDelivery, Node, Output, PhySpec,
    Requests, StationPhy, StationSpec, Usage, eht, he, ht, vht,
};

/// A BSS of `n` stations with `phy`, in the mode that `mcs` says.
fn cell(n: usize, phy: PhySpec, mcs: u8, aggregation: AggregationSpec) -> BssSpec {
    let station =
        |i| StationSpec { rate_mbps: None, mcs: Some(mcs), ..StationSpec::new(format!("sta-{i}"), 6.0) };
    let mut spec = BssSpec::new((0..n).map(station).collect());
    spec.phy = phy;
    spec.mac.edca = Some(EdcaSpec::default());
    spec.mac.aggregation = Some(aggregation);
    spec
}

fn mac80211() -> SchemeSpec {
    serde_json::from_str(r#"{"name": "mac80211"}"#).unwrap()
}

fn ht20() -> PhySpec {
    PhySpec::Ht(Default::default())
}

/// Lets `bss` run to `end`, giving each delivery to `each`.
fn run(bss: &mut Bss, end: Time, mut each: impl FnMut(&mut u64, &Delivery, Time)) -> u64 {
    let mut count = 0;
    while let Some((now, output)) = bss.advance_before(end) {
        if let Output::Delivery(delivery) = output {
            each(&mut count, &delivery, now);
        }
    }
    count
}

/// Packets per second from one station that always has something to send.
fn saturated(spec: &BssSpec, ip_bytes: u32, seconds: u64) -> (f64, Usage) {
    let mut bss = Bss::new(spec, 1).unwrap();
    let end = Time::from_s(seconds);
    let (mut sent, mut delivered, mut now) = (0, 0, Time::ZERO);
    while now < end {
        while bss.station_tx_queue(StationId(0)).len() < spec.stations[0].tx_queue.limit_packets as usize {
            bss.send_up(StationId(0), &packet(0, sent, ip_bytes), now);
            sent += 1;
        }
        now += Time::from_ms(5);
        delivered += run(&mut bss, now, |count, _, _| *count += 1);
    }
    (delivered as f64 / end.as_secs_f64(), bss.snapshot(end).stations[0].up)
}

/// As many MPDUs as length, duration and window allow, with the durations that `phy_durations` holds against the standard. (The
/// closed form for every mode and every number of MPDUs: `closed_form`.)
#[test]
fn the_longest_aggregates_of_every_phy() {
    let link = |width| LinkKeys { width_mhz: Some(width), ..Default::default() };
    let phys = [
        (ht20(), 64),
        (PhySpec::Ht(ht::Spec { link: link(40), ..Default::default() }), 64),
        (PhySpec::Vht(vht::Spec { link: link(80), ..Default::default() }), 64),
        (PhySpec::He(he::Spec { link: link(80), ..Default::default() }), 256),
        (PhySpec::Eht(eht::Spec { link: link(160), ..Default::default() }), 1_024),
    ];
    for (phy, window) in phys {
        let modes = phy.modes(&StationPhy::default(), "phy").unwrap();
        for mcs in [0, 4, 7] {
            let mut spec = cell(1, phy.clone(), mcs, AggregationSpec::default());
            spec.stations[0].tx_queue.limit_packets = 20_000;
            let on_air = modes.on_air(modes.mcs_index(mcs, "mcs").unwrap());
            let longest = on_air.largest_psdu(Time::from_us(5_484)).unwrap();
            let mpdus = ((longest - 1_542) / 1_544 + 1).min(window);
            let psdu = (mpdus - 1) * 1_544 + 1_542;
            let basic = match mcs {
                0 => 6,
                4 => 24,
                _ => 24,
            };
            let bytes = match window {
                64 => 32,
                256 => 56,
                _ => 152,
            };
            let response = 20 + 4 * (16u64 + 8 * bytes + 6).div_ceil(basic * 4);
            let before = Time::from_ns(16_000 + 3 * 9_000 + 67_500);
            let cycle = before + on_air.ppdu_duration(psdu) + Time::from_us(16 + response);
            let access = Bss::new(&spec, 1).unwrap().access(StationId(0), Direction::Up, 1_500, 0);
            assert_eq!((access.full.packets, mean_wait(&access) + access.full.airtime), (mpdus, cycle));
            let (per_second, usage) = saturated(&spec, 1_500, 2 * effort());
            let ratio = per_second / (f64::from(mpdus) / cycle.as_secs_f64());
            let mean = usage.mpdus as f64 / usage.ppdus as f64;
            assert!((mean - f64::from(mpdus)).abs() < 0.02 * mean, "{phy:?} {mcs}: {mean} of {mpdus} MPDUs");
            assert!((ratio - 1.0).abs() < 0.005, "{phy:?} {mcs}, {mpdus} MPDUs: {ratio}");
        }
    }
}

#[derive(Clone, Debug)]
struct Case {
    spec: BssSpec,
    seed: u64,
    /// (gap in ns, station, up, IP bytes)
    arrivals: Vec<(u64, u16, bool, u32)>,
}

fn profiles() -> [BoxedStrategy<HardwareSpec>; 4] {
    let ath9k = (1u32..4, prop_oneof![Just(4_000.0), Just(700.0)])
        .prop_map(|(aggregates, max_ppdu_us)| HardwareSpec::Ath9k(Ath9kSpec { aggregates, max_ppdu_us }));
    let firmware = prop_oneof![Just(5_000.0), Just(300.0)].prop_map(|aql_low_us| {
        HardwareSpec::Firmware(FirmwareSpec {
            aql_low_us,
            aql_high_us: 2.0 * aql_low_us,
            aql_total_us: 3_000.0,
        })
    });
    let ath10k = (2u32..20).prop_map(|descriptors| {
        let (aql_low_us, aql_high_us, aql_total_us) = (300.0, 900.0, 3_000.0);
        HardwareSpec::Ath10k(Ath10kSpec { descriptors, aql_low_us, aql_high_us, aql_total_us })
    });
    let hwsim = (1u32..20).prop_map(|frames| {
        let (aql_low_us, aql_high_us, aql_total_us) = (300.0, 900.0, 3_000.0);
        HardwareSpec::Hwsim(HwsimSpec { frames, aql_low_us, aql_high_us, aql_total_us })
    });
    [ath9k.boxed(), firmware.boxed(), ath10k.boxed(), hwsim.boxed()]
}

/// What lies below the AP's transmit queues: a profile, a driver's queues, and whether the scheme arbitrates between stations.
fn below() -> impl Strategy<Value = (HardwareSpec, Option<u32>, bool)> {
    let [ath9k, firmware, ath10k, hwsim] = profiles();
    let driver_queue = prop_oneof![2 => Just(None), 1 => (1u32..40).prop_map(Some)];
    let ideal = || Just(HardwareSpec::default());
    prop_oneof![
        3 => (ideal(), Just(None), any::<bool>()),
        1 => (ideal(), (1u32..40).prop_map(Some), Just(false)),
        2 => (ath9k.clone(), Just(None), any::<bool>()),
        2 => (ath9k, driver_queue, Just(false)),
        2 => (firmware, Just(None), any::<bool>()),
        1 => (ath10k, Just(None), any::<bool>()),
        1 => (hwsim, Just(None), any::<bool>()),
    ]
}

/// What lies below a station's transmit queues: a profile, and whether the scheme takes part in its rounds.
fn below_a_station() -> impl Strategy<Value = (HardwareSpec, bool)> {
    let [ath9k, firmware, ath10k, hwsim] = profiles();
    prop_oneof![
        3 => (Just(HardwareSpec::default()), any::<bool>()),
        1 => (ath9k, any::<bool>()),
        1 => (firmware, any::<bool>()),
        1 => (ath10k, any::<bool>()),
        1 => (hwsim, any::<bool>()),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let aggregation = (
        prop_oneof![Just(1u32), 2u32..5, Just(64)],
        prop_oneof![Just(None), (1u32..6).prop_map(Some)],
        (1u32..5, prop_oneof![Just(None), (1u32..4).prop_map(Some)]),
        prop_oneof![Just(0.5), Just(5.0), Just(100.0)],
        (
            any::<bool>(),
            select(vec![Requests::Never, Requests::GivenUp, Requests::Missed]),
            select(vec![MpduDelivery::Ppdu, MpduDelivery::Mpdu]),
        ),
        prop_oneof![Just(0.0), Just(16.0)],
        prop_oneof![Just(5_484.0), Just(700.0)],
        prop_oneof![2 => Just(0u32), 1 => 100u32..4_065],
    );
    let error = prop_oneof![Just(0.0), Just(0.0), 0.0..0.8];
    let station = (0..5usize, [error.clone(), error.clone(), error.clone(), error], below_a_station());
    let gap = prop_oneof![3 => Just(0u64), 2 => 0u64..20_000, 3 => 0u64..3_000_000, 1 => Just(100_000_000)];
    let bytes = prop_oneof![Just(40u32), Just(1_500), 40u32..1_500];
    (
        aggregation,
        prop::collection::vec(station, 1..4),
        prop_oneof![Just(0.0), Just(1_500.0)],
        prop_oneof![Just(None), Just(Some(1_000u32))],
        (any::<u64>(), below()),
        prop::collection::vec((gap, any::<u16>(), any::<bool>(), bytes), 1..150),
    )
        .prop_map(|(aggregation, errors, txop_us, rts, (seed, below), arrivals)| {
            let (window, max_mpdus, (attempts, tries), timeout_ms, ways, spacing, longest, max_amsdu_bytes) =
                aggregation;
            let (gather, bar, delivery) = ways;
            let mut spec = cell(
                errors.len(),
                ht20(),
                0,
                AggregationSpec {
                    window: Some(window),
                    max_mpdus,
                    max_attempts: Some(attempts),
                    tries,
                    reorder_timeout_ms: timeout_ms,
                    fill: if gather { Fill::Gather } else { Fill::HeadRun },
                    bar,
                    delivery,
                    min_mpdu_spacing_us: spacing,
                    max_ppdu_us: longest,
                    max_amsdu_bytes,
                    ..AggregationSpec::default()
                },
            );
            let best_effort = CategorySpec { txop_limit_us: Some(txop_us), ..CategorySpec::default() };
            spec.mac.edca = Some(EdcaSpec { best_effort, ..EdcaSpec::default() });
            spec.mac.rts_threshold_bytes = rts;
            let (hardware, driver_queue, arbitrates) = below;
            let all_aggregate = hardware != HardwareSpec::default() || driver_queue.is_some();
            spec.ap.hardware = hardware;
            // A station whose flow shares a queue with another's is not served in order, as in Linux. With the most queues
            // hardly any does.
            let mac80211 = || serde_json::from_str(r#"{"name": "mac80211", "queues": 65536}"#).unwrap();
            if arbitrates {
                spec.ap.tx_queue.scheme = mac80211();
            }
            if let (Some(packets), Some(aggregation)) = (driver_queue, &mut spec.mac.aggregation) {
                aggregation.fill = Fill::DriverQueue;
                aggregation.driver_queue_packets = Some(packets);
            }
            for (station, (rate, [data_up, data_down, ack_up, ack_down], below)) in
                spec.stations.iter_mut().zip(errors)
            {
                let (hardware, serves_in_rounds) = below;
                if serves_in_rounds {
                    station.tx_queue.scheme = mac80211();
                }
                // One in five is older, and sends single frames.
                match rate {
                    4 if !all_aggregate && hardware == HardwareSpec::default() => {
                        station.phy = Some(PhySpec::Ofdm(Default::default()));
                        (station.mcs, station.rate_mbps) = (None, Some(24.0));
                    }
                    _ => station.mcs = Some([0, 1, 4, 7][rate % 4]),
                }
                station.hardware = hardware;
                station.frame_error_rate =
                    FrameErrorRate { data_up, data_down, ack_up, ack_down, by_rate: vec![] };
            }
            let count = spec.stations.len() as u16;
            let arrivals =
                arrivals.into_iter().map(|(gap, station, up, bytes)| (gap, station % count, up, bytes));
            Case { arrivals: arrivals.collect(), spec, seed }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300 * effort() as u32, ..ProptestConfig::default() })]

    /// Each packet is delivered once or lost, those of a link in order; the counters agree; the medium comes to rest.
    #[test]
    fn every_packet_is_delivered_once_in_order_or_lost(case in case()) {
        let mut bss = Bss::new(&case.spec, case.seed).unwrap();
        let mut now = Time::ZERO;
        let mut sent: BTreeMap<(u16, bool), u32> = BTreeMap::new();
        let mut last: BTreeMap<(u16, bool), u32> = BTreeMap::new();
        let mut delivered = 0;
        let mut in_order = true;
        let mut take = |count: &mut u64, delivery: &Delivery, _: Time| {
            *count += 1;
            let (station, up) = match delivery.to {
                Node::Ap => (delivery.packet.tuple.source as u16 - 1, true),
                Node::Station(station) => (station.0, false),
            };
            let before = last.insert((station, up), delivery.packet.seq);
            in_order &= before.is_none_or(|before| before < delivery.packet.seq);
        };
        for &(gap, station, up, bytes) in &case.arrivals {
            now += Time::from_ns(gap);
            delivered += run(&mut bss, now, &mut take);
            let number = sent.entry((station, up)).or_default();
            *number += 1;
            if up {
                bss.send_up(StationId(station), &packet(station, *number, bytes), now);
            } else {
                bss.send_down(StationId(station), &packet_down(station, *number, bytes), now);
            }
        }
        let end = now + Time::from_s(60);
        delivered += run(&mut bss, end, &mut take);
        prop_assert!(in_order, "packets of a link are passed on in order");
        prop_assert_eq!(bss.next_event(), Time::MAX, "it comes to rest");
        prop_assert_eq!(bss.packets_under_way().count(), 0);

        let mut all = Ledger::default();
        let tx_queues = bss.ap_tx_queues().map(|(_, tx_queue)| tx_queue.snapshot(end));
        let stations = (0..case.spec.stations.len() as u16).flat_map(|id| bss.station_tx_queues(StationId(id)));
        for snapshot in tx_queues.chain(stations.map(|(_, tx_queue)| tx_queue.snapshot(end))).collect::<Vec<_>>() {
            for flow in snapshot.flows {
                for ledger in flow.classes {
                    use wifair_core::Counters;
                    all.add(&ledger);
                }
            }
        }
        let counts = bss.snapshot(end);
        let usages = || counts.stations.iter().flat_map(|station| [station.up, station.down]);
        let received: u64 = usages().map(|usage| usage.delivered).sum();
        let lost: u64 = usages().map(|usage| usage.lost_at_retry_limit).sum();
        let lost_after: u64 = usages().map(|usage| usage.lost_after_delivery).sum();
        prop_assert_eq!(delivered, received, "what recipients take is passed on in the end");
        prop_assert_eq!(all.lost_at_retry_limit.packets, lost);
        // A packet that a reorder timeout has skipped may be acknowledged and dropped.
        prop_assert!(received <= all.delivered.packets + lost_after);
        let dropped = all.tail_dropped.packets + all.evicted.packets + all.aqm_evicted.packets;
        prop_assert_eq!(all.delivered.packets + lost + dropped, case.arrivals.len() as u64);
    }

    /// Without answers and timeouts, a packet is delivered no later if MPDUs are received at their own ends, and less than a
    /// PPDU earlier; nothing else changes.
    #[test]
    fn own_ends_only_bring_deliveries_forward(mut case in case()) {
        case.spec.ap.hardware = HardwareSpec::default();
        case.spec.ap.tx_queue.scheme = SchemeSpec::default();
        for station in &mut case.spec.stations {
            station.hardware = HardwareSpec::default();
            station.tx_queue.scheme = SchemeSpec::default();
        }
        let runs = [MpduDelivery::Ppdu, MpduDelivery::Mpdu].map(|delivery| {
            let aggregation = case.spec.mac.aggregation.as_mut().unwrap();
            (aggregation.delivery, aggregation.reorder_timeout_ms) = (delivery, 1e6);
            if aggregation.fill == Fill::DriverQueue {
                (aggregation.fill, aggregation.driver_queue_packets) = (Fill::Gather, None);
            }
            let mut bss = Bss::new(&case.spec, case.seed).unwrap();
            let (mut now, mut delivered) = (Time::ZERO, BTreeMap::new());
            let mut take = |_: &mut u64, delivery: &Delivery, at: Time| {
                delivered.insert(delivery.packet.seq, at);
            };
            for (number, &(gap, station, up, bytes)) in (0..).zip(&case.arrivals) {
                now += Time::from_ns(gap);
                run(&mut bss, now, &mut take);
                if up {
                    bss.send_up(StationId(station), &packet(station, number, bytes), now);
                } else {
                    bss.send_down(StationId(station), &packet_down(station, number, bytes), now);
                }
            }
            let end = now + Time::from_s(60);
            run(&mut bss, end, &mut take);
            (format!("{:?}", bss.snapshot(end)), delivered)
        });
        let [(at_ends, late), (at_own_ends, early)] = &runs;
        prop_assert_eq!(at_ends, at_own_ends);
        prop_assert_eq!(late.len(), early.len());
        for ((late, at_end), (early, at_own_end)) in late.iter().zip(early) {
            prop_assert_eq!(late, early);
            prop_assert!(at_own_end <= at_end && *at_end < *at_own_end + Time::from_us(5_484));
        }
    }
}

/// HE80 with a station at each MCS, from 0 to 11.
fn every_mcs() -> BssSpec {
    let link = LinkKeys { width_mhz: Some(80), ..Default::default() };
    let mut spec =
        cell(12, PhySpec::He(he::Spec { link, ..Default::default() }), 0, AggregationSpec::default());
    for (station, mcs) in spec.stations.iter_mut().zip(0..) {
        station.mcs = Some(mcs);
    }
    spec
}

/// Saturates all stations of [`every_mcs`] downwards with 60 Mbps each; the airtime of each in the last of `seconds`, over the
/// mean.
fn airtimes_down(spec: &BssSpec, seconds: u64) -> Vec<f64> {
    let mut bss = Bss::new(spec, 1).unwrap();
    let (mut number, mut half) = (0, None);
    for ms in 0..seconds * 1_000 {
        let now = Time::from_ms(ms);
        run(&mut bss, now, |_, _, _| ());
        for station in 0..spec.stations.len() as u16 {
            for _ in 0..5 {
                number += 1;
                bss.send_down(StationId(station), &packet_down(station, number, 1_500), now);
            }
        }
        if ms == 1_000 {
            half = Some(bss.snapshot(now));
        }
    }
    let end = Time::from_ms(seconds * 1_000 - 1);
    run(&mut bss, end, |_, _, _| ());
    let used = bss.snapshot(end).since(&half.unwrap());
    let airtimes: Vec<f64> = used.stations.iter().map(|s| s.down.airtime.as_secs_f64()).collect();
    let mean = airtimes.iter().sum::<f64>() / airtimes.len() as f64;
    airtimes.into_iter().map(|airtime| airtime / mean).collect()
}

/// mac80211 gives stations at MCS 0 to 11 the same airtime, with lost MPDUs too; behind a FIFO the slowest has most.
#[test]
fn mac80211_shares_the_airtime_of_aggregates() {
    let (ideal, ath9k) = (HardwareSpec::default(), HardwareSpec::Ath9k(Ath9kSpec::default()));
    for (hardware, lost) in [(&ideal, 0.0), (&ideal, 0.2), (&ath9k, 0.0), (&ath9k, 0.2)] {
        let mut spec = every_mcs();
        // With ath9k a station whose window is full loses turns: 802.11be's is large enough.
        if lost > 0.0 && hardware == &ath9k {
            let link = LinkKeys { width_mhz: Some(80), ..Default::default() };
            spec.phy = PhySpec::Eht(eht::Spec { link, ..Default::default() });
        }
        spec.ap.hardware = hardware.clone();
        spec.ap.tx_queue.scheme = mac80211();
        spec.ap.tx_queue.limit_packets = 8_192;
        for station in spec.stations.iter_mut().step_by(3) {
            station.frame_error_rate.data_down = lost;
        }
        let airtimes = airtimes_down(&spec, seconds_of_turns());
        println!("{hardware:?}, {lost}: {:.4}", furthest(&airtimes));
        assert!(furthest(&airtimes) < 0.02, "{hardware:?}, {lost}: {airtimes:?}");
    }
    let mut spec = every_mcs();
    spec.ap.tx_queue.limit_packets = 1_000;
    let airtimes = airtimes_down(&spec, 3);
    assert!(airtimes[0] > 1.5 && airtimes[11] < 0.5, "{airtimes:?}");
}

/// Seconds after which what is cut off a turn at both ends of the measurement no longer matters.
fn seconds_of_turns() -> u64 {
    20 * effort()
}

fn furthest(airtimes: &[f64]) -> f64 {
    airtimes.iter().map(|ratio| (ratio - 1.0).abs()).fold(0.0, f64::max)
}

/// AQL: stations at MCS 0 to 11 get the same airtime to a few percent, as with the kernel's own functions (`make kernel`).
#[test]
fn airtime_queue_limits_share_the_airtime_to_a_few_percent() {
    let mut spec = every_mcs();
    spec.ap.hardware = HardwareSpec::Firmware(FirmwareSpec::default());
    spec.ap.tx_queue.scheme = mac80211();
    spec.ap.tx_queue.limit_packets = 8_192;
    let airtimes = airtimes_down(&spec, seconds_of_turns());
    println!("airtimes with AQL: {airtimes:.4?}");
    assert!(furthest(&airtimes) < 0.05, "{airtimes:?}");
    let mut ath10k = spec.clone();
    ath10k.ap.hardware = HardwareSpec::Ath10k(Ath10kSpec::default());
    let airtimes = airtimes_down(&ath10k, seconds_of_turns());
    println!("airtimes with ath10k: {airtimes:.4?}");
    assert!(furthest(&airtimes) < 0.01, "{airtimes:?}");
}

/// With a fifth of the MPDUs lost, the Block Ack window of 802.11ax is too short for the share of a station at MCS 9: most of
/// all with AQL. 802.11be's window of 1,024 MPDUs is long enough.
#[test]
fn a_short_window_costs_a_lossy_station_its_share() {
    let share_at_mcs_9 = |hardware: &HardwareSpec, be: bool| {
        let mut spec = every_mcs();
        if be {
            let link = LinkKeys { width_mhz: Some(80), ..Default::default() };
            spec.phy = PhySpec::Eht(eht::Spec { link, ..Default::default() });
        }
        spec.ap.hardware = hardware.clone();
        spec.ap.tx_queue.scheme = mac80211();
        spec.ap.tx_queue.limit_packets = 8_192;
        for station in spec.stations.iter_mut().step_by(3) {
            station.frame_error_rate.data_down = 0.2;
        }
        airtimes_down(&spec, seconds_of_turns())[9]
    };
    let cases = [
        ("firmware", HardwareSpec::Firmware(FirmwareSpec::default()), 0.6),
        ("ath9k", HardwareSpec::Ath9k(Ath9kSpec::default()), 0.9),
    ];
    for (name, hardware, most) in cases {
        let shares = [false, true].map(|be| share_at_mcs_9(&hardware, be));
        println!("{name}, airtime at MCS 9 by the mean, windows of 256 and of 1,024: {shares:.3?}");
        assert!(shares[0] < most && shares[1] > 0.9, "{name}: {shares:?}");
    }
}

/// The PPDUs of a saturated downlink of two stations: to whom, MPDUs, airtime of the PPDU's exchange. `watch` sees the BSS at
/// the start of each.
fn downlink(spec: &BssSpec, mut watch: impl FnMut(&Bss)) -> Vec<(Node, usize, Time)> {
    let mut bss = Bss::new(spec, 1).unwrap();
    let mut sent = vec![];
    for number in 0..600 {
        let station = number as u16 % 2;
        bss.send_down(StationId(station), &packet_down(station, number, 1_500), Time::ZERO);
    }
    let mut began = |bss: &Bss| {
        watch(bss);
        sent.extend(
            bss.transmissions()
                .map(|ppdu| (ppdu.to, ppdu.transmission.mpdus.len(), ppdu.transmission.airtime)),
        );
    };
    while bss.advance_watched(Time::from_s(2), &mut began).is_some() {}
    sent
}

/// Packets that have left the AP's buffer and are not acknowledged.
fn below_the_scheme(bss: &Bss) -> u64 {
    let snapshot = bss.ap_tx_queue().snapshot(Time::from_s(10));
    snapshot.classes.iter().map(|ledger| ledger.in_service.packets).sum()
}

/// What the profiles say, on packets that alternate between two stations of HT20 at 65 Mbps.
#[test]
fn profiles_of_what_lies_below_the_scheme() {
    let spec = |hardware: &HardwareSpec, fill| {
        let aggregation = AggregationSpec { fill, ..AggregationSpec::default() };
        let mut spec = cell(2, ht20(), 7, aggregation);
        spec.ap.tx_queue.limit_packets = 1_000;
        spec.ap.hardware = hardware.clone();
        spec
    };
    let ideal = HardwareSpec::default();
    let ath9k = HardwareSpec::Ath9k(Ath9kSpec::default());
    let firmware = HardwareSpec::Firmware(FirmwareSpec::default());
    let stations = [Node::Station(StationId(0)), Node::Station(StationId(1))];
    let longest = |sent: &[(Node, usize, Time)]| sent.iter().map(|ppdu| ppdu.1).max().unwrap();
    let last = |sent: &[(Node, usize, Time)]| sent.iter().rev().take(6).map(|ppdu| ppdu.1).min().unwrap();
    // 1,544 bytes per subframe: 28 fit 5.484 ms, 21 fit 4.096 ms.
    for (hardware, most) in [(&ideal, 28), (&ath9k, 21), (&firmware, 28)] {
        let sent = downlink(&spec(hardware, Fill::Gather), |_| ());
        assert_eq!(longest(&sent), most, "{hardware:?}");
        for station in stations {
            assert!(sent.iter().filter(|ppdu| ppdu.0 == station).map(|ppdu| ppdu.1).sum::<usize>() == 300);
        }
    }
    // The head run is one packet long; with ath9k nothing is different.
    for hardware in [&ideal, &ath9k] {
        assert_eq!(longest(&downlink(&spec(hardware, Fill::HeadRun), |_| ())), 1, "{hardware:?}");
    }
    // The driver's 123 packets are half and half, so aggregates fill, and no more than 123 wait below.
    for hardware in [&ideal, &ath9k] {
        let mut most = 0;
        let sent = downlink(&spec(hardware, Fill::DriverQueue), |bss| most = most.max(below_the_scheme(bss)));
        assert_eq!(most, 123, "{hardware:?}");
        assert!(longest(&sent) >= 20 && last(&sent) >= 1, "{hardware:?}: {sent:?}");
    }
    // Two aggregates of 21 at most are out of the scheme's reach with ath9k.
    let mut most = 0;
    downlink(&spec(&ath9k, Fill::Gather), |bss| most = most.max(below_the_scheme(bss)));
    assert_eq!(most, 42);
    // AQL: a packet counts 192 us, so 24 ms are 125 packets in all, of which a station may have 63.
    let mut most = 0;
    downlink(&spec(&firmware, Fill::Gather), |bss| most = most.max(below_the_scheme(bss)));
    assert_eq!(most, 125);
    // ath10k has room for so many packets.
    let mut most = 0;
    let small = HardwareSpec::Ath10k(Ath10kSpec { descriptors: 30, ..Ath10kSpec::default() });
    downlink(&spec(&small, Fill::Gather), |bss| most = most.max(below_the_scheme(bss)));
    assert_eq!(most, 30);
    let few = FirmwareSpec { aql_low_us: 1_000.0, aql_high_us: 1_000.0, ..FirmwareSpec::default() };
    let mut most = 0;
    downlink(&spec(&HardwareSpec::Firmware(few), Fill::Gather), |bss| most = most.max(below_the_scheme(bss)));
    assert_eq!(most, 12, "six of 192 us each");
}

/// A station has below its transmit queue what an access point with its profile has for one station: at most 28 packets that a
/// PPDU takes when it is sent, two PPDUs of 21, 12 ms of 192 us each, or so many descriptors; with or without rounds of turns.
#[test]
fn a_station_has_the_profiles_of_an_access_point() {
    let ath10k = HardwareSpec::Ath10k(Ath10kSpec { descriptors: 30, ..Ath10kSpec::default() });
    let profiles = [
        (HardwareSpec::default(), 28),
        (HardwareSpec::Ath9k(Ath9kSpec::default()), 42),
        (HardwareSpec::Firmware(FirmwareSpec::default()), 63),
        (ath10k, 30),
        (HardwareSpec::Hwsim(HwsimSpec::default()), 63),
        (HardwareSpec::Hwsim(HwsimSpec { frames: 20, ..HwsimSpec::default() }), 20),
    ];
    for (scheme, (hardware, most)) in [SchemeSpec::default(), mac80211()]
        .iter()
        .flat_map(|scheme| profiles.iter().map(move |it| (scheme, it)))
    {
        let mut spec = cell(2, ht20(), 7, AggregationSpec::default());
        spec.stations[1].tx_queue.limit_packets = 1_000;
        spec.stations[1].tx_queue.scheme = scheme.clone();
        spec.stations[1].hardware = hardware.clone();
        let mut bss = Bss::new(&spec, 1).unwrap();
        for number in 0..300 {
            bss.send_up(StationId(1), &packet(1, number, 1_500), Time::ZERO);
        }
        let mut found = 0;
        let mut below = |bss: &Bss| {
            let (_, tx_queue) = bss.station_tx_queues(StationId(1)).next().unwrap();
            let snapshot = tx_queue.snapshot(Time::from_s(10));
            found = found.max(snapshot.classes.iter().map(|ledger| ledger.in_service.packets).sum::<u64>());
        };
        while bss.advance_watched(Time::from_s(2), &mut below).is_some() {}
        let delivered = bss.snapshot(Time::from_s(2)).stations[1].up.delivered;
        assert_eq!((found, delivered), (*most, 300), "{hardware:?}, {}", scheme.name());
    }
}

/// With ath9k a PPDU is formed when a packet arrives while the hardware has room: what comes later goes into the next. Ideal
/// hardware forms it at access.
#[test]
fn hardware_with_room_forms_a_ppdu_of_what_is_there() {
    let lengths = |hardware: &HardwareSpec| {
        let mut spec = cell(1, ht20(), 0, AggregationSpec::default());
        spec.ap.hardware = hardware.clone();
        let (mut bss, mut sent) = (Bss::new(&spec, 1).unwrap(), vec![]);
        let mut began =
            |bss: &Bss| sent.extend(bss.transmissions().map(|ppdu| ppdu.transmission.mpdus.len()));
        // The first PPDU takes 2 ms.
        for (number, at_us) in [0, 500, 1_000, 1_001, 1_002].into_iter().enumerate() {
            while bss.advance_watched(Time::from_us(at_us), &mut began).is_some() {}
            bss.send_down(StationId(0), &packet_down(0, number as u32, 1_500), Time::from_us(at_us));
        }
        while bss.advance_watched(Time::from_s(1), &mut began).is_some() {}
        sent
    };
    assert_eq!(lengths(&HardwareSpec::default()), [1, 2, 2]);
    assert_eq!(lengths(&HardwareSpec::Ath9k(Ath9kSpec::default())), [1, 1, 2, 1]);
}

/// While the Block Ack window of a station is full, no PPDU is formed ahead for it, and its packets stay in the transmit queue:
/// two PPDUs of 32 MPDUs fill the window, although the hardware has room for a third.
#[test]
fn hardware_passes_over_stations_with_full_windows() {
    let mut spec = cell(2, ht20(), 7, AggregationSpec::default());
    spec.ap.tx_queue.limit_packets = 1_000;
    spec.ap.hardware = HardwareSpec::Ath9k(Ath9kSpec { aggregates: 3, ..Ath9kSpec::default() });
    let (mut bss, mut sent) = (Bss::new(&spec, 1).unwrap(), vec![]);
    for number in 0..400 {
        let station = u16::from(number >= 300);
        bss.send_down(StationId(station), &packet_down(station, number, 100), Time::ZERO);
    }
    let mut began = |bss: &Bss| {
        sent.extend(
            bss.transmissions().map(|ppdu| (ppdu.to, ppdu.transmission.mpdus.len(), below_the_scheme(bss))),
        )
    };
    while bss.advance_watched(Time::from_s(1), &mut began).is_some() {}
    // To the second station: MPDUs, and packets below the transmit queue.
    let second = sent.into_iter().filter(|ppdu| ppdu.0 == Node::Station(StationId(1)));
    assert_eq!(
        second.map(|(_, mpdus, below)| (mpdus, below)).collect::<Vec<_>>(),
        [(32, 64), (32, 64), (32, 36), (4, 4)]
    );
}

/// Packets of 1,500 bytes as above in A-MSDUs, which have three subframes of 1,522 bytes, the first two padded to 1,524, in
/// MPDUs of 4,600 bytes at most: VHT20 at MCS 8, 78 Mbps.
#[test]
fn profiles_form_a_msdus() {
    let spec = |hardware: &HardwareSpec, fill, rate: u8| {
        let aggregation = AggregationSpec { fill, max_amsdu_bytes: 4_570, ..AggregationSpec::default() };
        let link = LinkKeys { width_mhz: Some(20), ..Default::default() };
        let mut spec = cell(2, PhySpec::Vht(vht::Spec { link, ..Default::default() }), rate, aggregation);
        spec.ap.tx_queue.limit_packets = 1_000;
        spec.ap.hardware = hardware.clone();
        spec
    };
    let ideal = HardwareSpec::default();
    let ath9k = HardwareSpec::Ath9k(Ath9kSpec::default());
    let firmware = HardwareSpec::Firmware(FirmwareSpec::default());
    let cases = [
        (&ideal, Fill::Gather),
        (&ath9k, Fill::Gather),
        (&firmware, Fill::Gather),
        (&ideal, Fill::DriverQueue),
        (&ath9k, Fill::DriverQueue),
    ];
    // The packets of the MPDUs of each PPDU.
    let formed = |spec: &BssSpec| {
        let (mut formed, mut below) = (vec![], 0);
        downlink(spec, |bss| {
            let ppdus = bss.transmissions();
            formed.extend(
                ppdus.map(|ppdu| ppdu.by_mpdu().map(|(packets, _)| packets.len()).collect::<Vec<_>>()),
            );
            below = below.max(below_the_scheme(bss));
        });
        (formed, below)
    };
    for (hardware, fill) in cases {
        let (ppdus, below) = formed(&spec(hardware, fill, 8));
        let what = format!("{hardware:?}, {fill:?}: {ppdus:?}");
        assert_eq!(ppdus.iter().flatten().sum::<usize>(), 600, "{what}");
        assert!(ppdus.iter().flatten().all(|&packets| packets <= 3), "{what}");
        let three = ppdus.iter().flatten().filter(|&&packets| packets == 3).count();
        assert!(three >= 180, "{what}");
        // What only reaches the second MPDU of PPDUs formed on demand is a packet that rule 2 took.
        let is_cut = |ppdu: &&Vec<usize>| ppdu[..ppdu.len() - 1].iter().any(|&packets| packets < 3);
        assert!(ppdus.iter().filter(is_cut).count() < 12, "{what}");
        let most = match (hardware, fill) {
            (_, Fill::DriverQueue) => 123,
            // 24 ms of pending airtime: a packet counts 160 us.
            (HardwareSpec::Firmware(_), _) => 150,
            // Two PPDUs of at most 4.096 ms, one of them in service.
            (HardwareSpec::Ath9k(_), _) => 2 * 25,
            _ => 36,
        };
        assert!((most - 3..=most + 1).contains(&below), "{what}: {below} of {most}");
    }
    // An MPDU alone must meet the longest PPDU in the link's mode: at 6.5 Mbps two packets take 3.8 ms.
    for (hardware, longest) in [(&ath9k, 2), (&firmware, 2)] {
        let fill = if hardware == &ath9k { Fill::DriverQueue } else { Fill::Gather };
        let (ppdus, _) = formed(&spec(hardware, fill, 0));
        assert_eq!(ppdus.iter().flatten().max(), Some(&longest), "{hardware:?}: {ppdus:?}");
    }
}

/// A-MSDUs that cannot be, with what can.
#[test]
fn a_msdus_beyond_the_standard_are_refused() {
    let phy = |name: &str, band_ghz: f64, ccmp: bool| -> PhySpec {
        serde_json::from_value(serde_json::json!({"name": name, "band_ghz": band_ghz, "ccmp": ccmp})).unwrap()
    };
    let refusal = |phy: PhySpec, max_mpdus, max_amsdu_bytes| {
        let aggregation = AggregationSpec { max_mpdus, max_amsdu_bytes, ..AggregationSpec::default() };
        let error = Bss::new(&cell(1, phy, 0, aggregation), 1).map(|_| ()).err()?;
        assert_eq!(error.key, "mac.aggregation.max_amsdu_bytes", "{error}");
        Some(error.allowed)
    };
    let limits = [
        (phy("802.11n", 5.0, false), None, 4_065, "an MPDU of 802.11n in an A-MPDU has at most 4095"),
        (phy("802.11n", 2.4, true), Some(2), 4_049, "an MPDU of 802.11n in an A-MPDU has at most 4095"),
        (phy("802.11n", 2.4, true), Some(1), 7_935, "802.11n's longest A-MSDU"),
        (phy("802.11ac", 5.0, false), None, 11_424, "an MPDU has at most 11454"),
        (phy("802.11ax", 2.4, false), None, 7_935, "802.11ax at 2.4 GHz"),
        (phy("802.11ax", 6.0, true), Some(1), 11_408, "an MPDU has at most 11454"),
        (phy("802.11be", 2.4, false), None, 11_424, "an MPDU has at most 11454"),
    ];
    for (phy, max_mpdus, limit, why) in limits {
        assert_eq!(refusal(phy.clone(), max_mpdus, limit), None);
        assert_eq!(refusal(phy.clone(), max_mpdus, 0), None);
        assert_eq!(refusal(phy.clone(), max_mpdus, 100), None);
        assert!(refusal(phy.clone(), max_mpdus, 99).is_some());
        let allowed = refusal(phy, max_mpdus, limit + 1).unwrap();
        assert!(allowed.contains(&format!("100 to {limit} bytes")) && allowed.contains(why), "{allowed}");
    }
}

/// Longer MPDUs fail more often where errors follow from a position: packets in A-MSDUs are lost together.
#[test]
fn errors_of_a_msdus_follow_their_length() {
    let failed = |max_amsdu_bytes, metres: f64| {
        let aggregation =
            AggregationSpec { max_amsdu_bytes, bar: Requests::Never, ..AggregationSpec::default() };
        let mut spec = cell(1, PhySpec::Vht(Default::default()), 7, aggregation);
        spec.ap.tx_queue.limit_packets = 4_000;
        spec.stations[0].position_m = Some([metres, 0.0]);
        let mut bss = Bss::new(&spec, 1).unwrap();
        for number in 0..4_000 {
            bss.send_down(StationId(0), &packet_down(0, number, 1_500), Time::ZERO);
        }
        let (mut decoded, mut sent) = (0, 0);
        let mut watch = |bss: &Bss| {
            for transmission in bss.transmissions() {
                sent += transmission.by_mpdu().count();
                decoded += transmission.by_mpdu().filter(|(_, is_decoded)| *is_decoded).count();
                let packets =
                    transmission.by_mpdu().flat_map(|(packets, is_decoded)| vec![is_decoded; packets.len()]);
                assert!(
                    packets.eq(transmission.decoded.iter().copied()),
                    "the packets of an MPDU share its fate"
                );
            }
        };
        while bss.advance_watched(Time::from_s(5), &mut watch).is_some() {}
        1.0 - f64::from(decoded as u32) / f64::from(sent as u32)
    };
    // ln of survival is in proportion to the length: 1,538 and, of seven packets, 10,696 bytes.
    let near = (40..400).map(|step| f64::from(step) / 4.0);
    let (one, metres) = near.map(|metres| (failed(0, metres), metres)).find(|(one, _)| *one > 0.04).unwrap();
    let seven = failed(11_424, metres);
    let expected = 1.0 - (1.0 - one).powf(10_696.0 / 1_538.0);
    println!(
        "at {metres} m an MPDU of one packet fails with {one:.3}, of seven with {seven:.3}, expected {expected:.3}"
    );
    assert!(one < 0.2 && (seven - expected).abs() < 0.05, "{one} {seven} {expected}");
}

/// Under every scheme the PPDUs to ten saturated stations are as long as what is queued for each allows; with the head run
/// alone, only where a station's packets are next to each other.
#[test]
fn every_scheme_fills_its_aggregates() {
    let link = LinkKeys { width_mhz: Some(80), ..Default::default() };
    let phy = PhySpec::He(he::Spec { link, ..Default::default() });
    let mean = |name: &str, hardware: &HardwareSpec, fill| {
        let mut spec = cell(10, phy.clone(), 11, AggregationSpec { fill, ..AggregationSpec::default() });
        spec.ap.hardware = hardware.clone();
        spec.ap.tx_queue.scheme = serde_json::from_value(serde_json::json!({ "name": name })).unwrap();
        spec.ap.tx_queue.limit_packets = 500;
        let mut bss = Bss::new(&spec, 1).unwrap();
        for number in 0..10_000 {
            let (now, station) = (Time::from_us(10 * u64::from(number)), (number % 10) as u16);
            run(&mut bss, now, |_, _, _| ());
            bss.send_down(StationId(station), &packet_down(station, 1_460 * number, 1_500), now);
        }
        run(&mut bss, Time::from_ms(100), |_, _, _| ());
        let usage = bss.snapshot(Time::from_ms(100)).stations;
        let [mpdus, ppdus] = [|down: &Usage| down.mpdus, |down: &Usage| down.ppdus]
            .map(|of| usage.iter().map(|station| of(&station.down)).sum::<u64>() as f64);
        mpdus / ppdus
    };
    let (ideal, ath9k) = (HardwareSpec::default(), HardwareSpec::Ath9k(Ath9kSpec::default()));
    // What comes in the time in which all stations are served once waits for each.
    for name in SchemeSpec::components().into_iter().map(|scheme| scheme.info.name) {
        if name == "dqm" || name == "red" || name == "pi" {
            continue; // these keep the queue short
        }
        for hardware in [&ideal, &ath9k] {
            let gathered = mean(name, hardware, Fill::Gather);
            assert!(gathered > 25.0, "{name}, {hardware:?}: {gathered}");
        }
    }
    for name in ["droptail", "codel", "fq-codel", "las"] {
        let head_run = mean(name, &ideal, Fill::HeadRun);
        assert!(head_run < 2.0, "{name}: {head_run}");
    }
}

/// What cannot be, by its key.
#[test]
fn profiles_are_refused_by_their_keys() {
    let refused = |change: fn(&mut BssSpec), key: &str| {
        let mut spec = cell(2, ht20(), 7, AggregationSpec::default());
        change(&mut spec);
        let error = Bss::new(&spec, 1).map(|_| ()).unwrap_err();
        assert_eq!(error.key, key, "{error}");
    };
    refused(
        |spec| {
            spec.ap.hardware = HardwareSpec::Firmware(FirmwareSpec::default());
            spec.mac.aggregation.as_mut().unwrap().fill = Fill::DriverQueue;
        },
        "mac.aggregation.fill",
    );
    refused(
        |spec| {
            spec.ap.tx_queue.scheme = mac80211();
            spec.mac.aggregation.as_mut().unwrap().fill = Fill::DriverQueue;
        },
        "mac.aggregation.fill",
    );
    refused(
        |spec| spec.mac.aggregation.as_mut().unwrap().driver_queue_packets = Some(10),
        "mac.aggregation.driver_queue_packets",
    );
    refused(
        |spec| {
            spec.ap.hardware = HardwareSpec::Ath9k(Ath9kSpec { aggregates: 0, ..Ath9kSpec::default() });
        },
        "ap.hardware.aggregates",
    );
    refused(|spec| spec.mac.aggregation.as_mut().unwrap().tries = Some(0), "mac.aggregation.tries");
    refused(
        |spec| {
            let firmware = FirmwareSpec { aql_high_us: 400.0, ..FirmwareSpec::default() };
            spec.ap.hardware = HardwareSpec::Firmware(firmware);
        },
        "ap.hardware.aql_high_us",
    );
    refused(
        |spec| {
            (spec.mac.edca, spec.mac.aggregation) = (None, None);
            spec.ap.hardware = HardwareSpec::Ath9k(Ath9kSpec::default());
        },
        "ap.hardware",
    );
    refused(
        |spec| {
            spec.stations[1] = StationSpec::new("older", 24.0);
            spec.stations[1].phy = Some(PhySpec::Ofdm(Default::default()));
            spec.ap.hardware = HardwareSpec::Ath9k(Ath9kSpec::default());
        },
        "ap.hardware",
    );
    refused(
        |spec| {
            spec.stations[1].hardware =
                HardwareSpec::Ath9k(Ath9kSpec { aggregates: 0, ..Ath9kSpec::default() });
        },
        "stations[1].hardware.aggregates",
    );
    refused(
        |spec| {
            (spec.mac.edca, spec.mac.aggregation) = (None, None);
            spec.stations[0].hardware = HardwareSpec::Ath9k(Ath9kSpec::default());
        },
        "stations[0].hardware",
    );
    refused(
        |spec| {
            spec.stations[1] = StationSpec::new("older", 24.0);
            spec.stations[1].phy = Some(PhySpec::Ofdm(Default::default()));
            spec.stations[1].hardware = HardwareSpec::Firmware(FirmwareSpec::default());
        },
        "stations[1].hardware",
    );
}

/// A scheme that takes over learns which stations have MPDUs to be sent again: nothing stays behind.
#[test]
fn another_scheme_takes_over_between_retries() {
    let profiles = [
        HardwareSpec::default(),
        HardwareSpec::Ath9k(Ath9kSpec::default()),
        HardwareSpec::Firmware(FirmwareSpec::default()),
        HardwareSpec::Ath10k(Ath10kSpec { descriptors: 20, ..Ath10kSpec::default() }),
        HardwareSpec::Hwsim(HwsimSpec { frames: 20, ..HwsimSpec::default() }),
    ];
    let mut left = 0;
    for (hardware, seed) in profiles.iter().flat_map(|hardware| (0..20).map(move |seed| (hardware, seed))) {
        let aggregation = AggregationSpec { max_attempts: Some(60), ..AggregationSpec::default() };
        let mut spec = cell(3, ht20(), 4, aggregation);
        spec.ap.hardware = hardware.clone();
        spec.ap.tx_queue.limit_packets = 1_000;
        for (station, lost) in spec.stations.iter_mut().zip([0.5, 0.9, 0.9]) {
            station.frame_error_rate.data_down = lost;
        }
        let mut bss = Bss::new(&spec, seed).unwrap();
        for number in 0..150 {
            let station = [0, 0, 0, 1, 2][number as usize % 5];
            bss.send_down(StationId(station), &packet_down(station, number, 1_500), Time::ZERO);
        }
        let mut now = Time::ZERO;
        while !bss.ap_tx_queue().is_empty() {
            now += Time::from_us(200);
            run(&mut bss, now, |_, _, _| ());
        }
        left += bss.packets_under_way().count();
        bss.set_ap_scheme(&mac80211(), now);
        run(&mut bss, Time::from_s(60), |_, _, _| ());
        assert_eq!(
            (bss.next_event(), bss.packets_under_way().count()),
            (Time::MAX, 0),
            "{hardware:?}, {seed}"
        );
    }
    assert!(left > 500, "{left} packets were to be sent again");
}
