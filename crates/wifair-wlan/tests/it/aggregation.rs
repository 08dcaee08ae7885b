//! A-MPDUs and Block Ack (`docs/medium.md`, section 12): the closed form, and what holds in every BSS.

use crate::support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use support::{effort, packet, packet_down};
use wifair_core::{StationId, Time};
use wifair_queue::Ledger;
use wifair_wlan::{
    AggregationSpec, Bss, BssSpec, CategorySpec, Delivery, EdcaSpec, Fill, FrameErrorRate, LinkKeys, Node,
    Output, PhySpec, Requests, StationPhy, StationSpec, Usage, eht, he, ht, vht,
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
        while bss.station_port(StationId(0)).len() < spec.stations[0].port.limit_packets as usize {
            bss.send_up(StationId(0), &packet(0, sent, ip_bytes), now);
            sent += 1;
        }
        now += Time::from_ms(5);
        delivered += run(&mut bss, now, |count, _, _| *count += 1);
    }
    (delivered as f64 / end.as_secs_f64(), bss.snapshot(end).stations[0].up)
}

/// One saturated sender with HT20: AIFS, mean backoff, PPDU, SIFS, response; all in figures.
#[test]
fn one_saturated_station_agrees_with_the_closed_form() {
    for (mpdus, ip_bytes) in [(1u32, 1_500), (2, 1_500), (5, 700), (23, 1_500), (64, 40)] {
        let aggregation = AggregationSpec { max_mpdus: Some(mpdus), ..AggregationSpec::default() };
        let mut spec = cell(1, ht20(), 7, aggregation);
        spec.stations[0].port.limit_packets = 5_000;
        let (per_second, usage) = saturated(&spec, ip_bytes, 3 * effort());
        // 9 us slots, 16 us SIFS, AIFSN 3, CWmin 15; 36 us, then symbols of 260 bits in 4 us; responses at 24 Mbps.
        let mpdu = u64::from(38 + ip_bytes);
        let psdu = match u64::from(mpdus) {
            1 => mpdu,
            n => (n - 1) * (4 + mpdu).next_multiple_of(4) + 4 + mpdu,
        };
        let symbols = |bytes: u64, bits: u64| 4.0 * (16 + 8 * bytes + 6).div_ceil(bits) as f64;
        let response = 20.0 + symbols(if mpdus == 1 { 14 } else { 32 }, 96);
        let cycle_us = 16.0 + 3.0 * 9.0 + 7.5 * 9.0 + 36.0 + symbols(psdu, 260) + 16.0 + response;
        let ratio = per_second / (f64::from(mpdus) / cycle_us * 1e6);
        assert!((ratio - 1.0).abs() < 0.005, "{mpdus} MPDUs of {ip_bytes} bytes: {ratio}");
        assert!((usage.mpdus as f64 / usage.ppdus as f64 - f64::from(mpdus)).abs() < 0.05);
    }
}

/// The same for the modes of the other PHYs, with the durations that `phy_durations` holds against the standard: as many MPDUs as
/// length, duration and window allow.
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
            spec.stations[0].port.limit_packets = 20_000;
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

fn case() -> impl Strategy<Value = Case> {
    let aggregation = (
        prop_oneof![Just(1u32), 2u32..5, Just(64)],
        prop_oneof![Just(None), (1u32..6).prop_map(Some)],
        1u32..5,
        prop_oneof![Just(0.5), Just(5.0), Just(100.0)],
        any::<(bool, bool)>(),
        prop_oneof![Just(0.0), Just(16.0)],
        prop_oneof![Just(5_484.0), Just(700.0)],
    );
    let error = prop_oneof![Just(0.0), Just(0.0), 0.0..0.8];
    let station = (0..5usize, [error.clone(), error.clone(), error.clone(), error]);
    let gap = prop_oneof![3 => Just(0u64), 2 => 0u64..20_000, 3 => 0u64..3_000_000, 1 => Just(100_000_000)];
    let bytes = prop_oneof![Just(40u32), Just(1_500), 40u32..1_500];
    (
        aggregation,
        prop::collection::vec(station, 1..4),
        prop_oneof![Just(0.0), Just(1_500.0)],
        prop_oneof![Just(None), Just(Some(1_000u32))],
        any::<u64>(),
        prop::collection::vec((gap, any::<u16>(), any::<bool>(), bytes), 1..150),
    )
        .prop_map(|(aggregation, errors, txop_us, rts, seed, arrivals)| {
            let (window, max_mpdus, attempts, timeout_ms, (gather, requests), spacing, longest) = aggregation;
            let mut spec = cell(
                errors.len(),
                ht20(),
                0,
                AggregationSpec {
                    window: Some(window),
                    max_mpdus,
                    max_attempts: Some(attempts),
                    reorder_timeout_ms: timeout_ms,
                    fill: if gather { Fill::Gather } else { Fill::HeadRun },
                    bar: if requests { Requests::GivenUp } else { Requests::Never },
                    min_mpdu_spacing_us: spacing,
                    max_ppdu_us: longest,
                    ..AggregationSpec::default()
                },
            );
            let best_effort = CategorySpec { txop_limit_us: Some(txop_us), ..CategorySpec::default() };
            spec.mac.edca = Some(EdcaSpec { best_effort, ..EdcaSpec::default() });
            spec.mac.rts_threshold_bytes = rts;
            for (station, (rate, [data_up, data_down, ack_up, ack_down])) in
                spec.stations.iter_mut().zip(errors)
            {
                // One in five is older, and sends single frames.
                match rate {
                    4 => {
                        station.phy = Some(PhySpec::Ofdm(Default::default()));
                        (station.mcs, station.rate_mbps) = (None, Some(24.0));
                    }
                    _ => station.mcs = Some([0, 1, 4, 7][rate]),
                }
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
        let ports = bss.ap_ports().map(|(_, port)| port.snapshot(end));
        let stations = (0..case.spec.stations.len() as u16).flat_map(|id| bss.station_ports(StationId(id)));
        for snapshot in ports.chain(stations.map(|(_, port)| port.snapshot(end))).collect::<Vec<_>>() {
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
        let dropped = all.tail_dropped.packets;
        prop_assert_eq!(all.delivered.packets + lost + dropped, case.arrivals.len() as u64);
    }
}
