//! What a BSS tells its owner: times, differences of counters, packets, flows.

use crate::support;

use support::{cell_b, mean_wait, packet, packet_down, us};
use wifair_core::{StationId, Time};
use wifair_queue::Direction;
use wifair_wlan::{
    BeaconUsage, Bss, BssSnapshot, ChannelTime, ChannelTimes, EdcaSpec, Output, StationUsage, Usage,
};

const STATION: StationId = StationId(0);

/// DIFS 50, 15.5 slots of 20, the frame, SIFS 10, MAC ACK 304; RTS 352 and CTS 304 with a SIFS each.
#[test]
fn the_time_of_a_frame_alone_is_its_sum() {
    let mut spec = cell_b(1);
    spec.stations[0].rate_down_mbps = Some(1.0);
    let alone = |spec: &_, direction, ip_bytes| {
        let access = Bss::new(spec, 1).unwrap().access(STATION, direction, ip_bytes, 0);
        mean_wait(&access) + access.one.airtime
    };
    assert_eq!(alone(&spec, Direction::Up, 1_500), us(50 + 310 + 1_310 + 314));
    assert_eq!(alone(&spec, Direction::Up, 40), us(50 + 310 + 192 + 56 + 314));
    assert_eq!(alone(&spec, Direction::Down, 1_500), us(50 + 310 + 192 + 8 * 1_536 + 314));
    spec.mac.rts_threshold_bytes = Some(1_536);
    assert_eq!(alone(&spec, Direction::Up, 1_500), us(50 + 310 + 1_310 + 314));
    assert_eq!(alone(&spec, Direction::Up, 1_501), us(50 + 310 + 352 + 304 + 20 + 1_310 + 314));
    // Best effort's AIFS has three slots.
    spec.mac.edca = Some(EdcaSpec::default());
    assert_eq!(alone(&spec, Direction::Up, 1_500), us(70 + 310 + 1_310 + 314));
    assert_eq!(alone(&spec, Direction::Down, 40), us(70 + 310 + 192 + 8 * 76 + 314));
}

/// With any limits the results are those of single steps; events at the limit itself are not yet handled.
#[test]
fn advancing_before_a_limit_is_the_same_as_step_by_step() {
    let filled = || {
        let mut bss = Bss::new(&cell_b(3), 4).unwrap();
        for station in 0..3 {
            for seq in 0..20 {
                bss.send_up(StationId(station), &packet(station, seq, 1_500), us(100));
                bss.send_down(StationId(station), &packet_down(station, seq, 700), us(100));
            }
        }
        bss
    };
    let seen = |at: Time, output: Output| match output {
        Output::Delivery(delivery) => (at, delivery.to, delivery.packet.seq),
        Output::LinkRate(_) | Output::TxCompletion(_) => unreachable!("no rate changes, no reports"),
    };
    let (mut bss, mut events, mut steps) = (filled(), Vec::new(), Vec::new());
    while bss.next_event() < Time::MAX {
        let now = bss.next_event();
        events.push(now);
        steps.extend(bss.advance(now).map(|output| seen(now, output)));
    }
    assert_eq!(steps.len(), 120);

    // To each event in turn, which is not done yet, and to a moment between it and the next.
    let (mut bss, mut got) = (filled(), Vec::new());
    for pair in events.windows(2) {
        for limit in [pair[0], pair[0] + (pair[1] - pair[0]).min(us(1))] {
            while let Some((at, output)) = bss.advance_before(limit) {
                assert!(at < limit);
                got.push(seen(at, output));
            }
            assert!(bss.next_event() >= limit);
            assert_eq!(got.len(), steps.iter().filter(|(at, ..)| *at < limit).count());
        }
    }
    while let Some((at, output)) = bss.advance_before(Time::MAX) {
        got.push(seen(at, output));
    }
    assert_eq!(got, steps);
}

#[test]
fn a_delivered_packet_is_under_way_no_more() {
    let mut bss = Bss::new(&cell_b(2), 1).unwrap();
    let under_way = |bss: &Bss| {
        let mut all: Vec<_> = bss.packets_under_way().map(|(down, packet)| (down, packet.seq)).collect();
        all.sort();
        all
    };
    for seq in [1, 2] {
        bss.send_up(StationId(1), &packet(1, seq, 1_500), us(100));
    }
    bss.advance(us(100)); // the first is on the air
    bss.send_down(STATION, &packet_down(0, 3, 1_500), us(200));
    assert_eq!(under_way(&bss), [(false, 1), (false, 2), (true, 3)]);
    assert!(matches!(bss.advance(us(1_410)), Some(Output::Delivery(_))));
    assert_eq!(under_way(&bss), [(false, 2), (true, 3)], "its MAC ACK is yet to come");
    while bss.next_event() < Time::MAX {
        bss.advance(bss.next_event());
    }
    assert_eq!(under_way(&bss), []);
}

/// Counters that all differ, and grow with `scale`.
fn usage(scale: u64, first: u64) -> Usage {
    let count = |n: u64| scale * (first + n);
    Usage {
        airtime: Time::from_ns(count(0)),
        delivered: count(1),
        attempts: count(2),
        retries: count(3),
        lost_at_retry_limit: count(4),
        lost_after_delivery: count(5),
        lost_internally: count(6),
        duplicates: count(7),
        internal_collisions: count(8),
        ppdus: 0,
        mpdus: 0,
        block_ack_requests: 0,
        rate_integral: count(9).into(),
        delivered_bytes: count(10),
        rate_kbps: 54_000,
    }
}

fn snapshot(scale: u64) -> BssSnapshot {
    let time = |n: u64| Time::from_ns(scale * n);
    BssSnapshot {
        at: time(1),
        elapsed: time(2),
        stations: [20, 40].map(|n| StationUsage { up: usage(scale, n), down: usage(scale, n + 10) }).into(),
        exchanges: scale * 3,
        collisions: scale * 4,
        collision_airtime: time(5),
        beacons: BeaconUsage { sent: scale * 11, collided: scale * 12, airtime: time(13) },
        channel_time: Some(ChannelTimes {
            actual: ChannelTime { up: time(6), down: time(7) },
            believed: ChannelTime { up: time(8), down: time(9) },
        }),
        idle: time(10),
        controlled_cw_min: Some(scale as u16),
    }
}

#[test]
fn a_measurement_is_the_difference_of_every_counter() {
    let expected = BssSnapshot { at: Time::from_ns(12), controlled_cw_min: Some(12), ..snapshot(7) };
    assert_eq!(snapshot(12).since(&snapshot(5)), expected);
}

/// A flow is idle when neither a packet of it passes nor waits.
#[test]
fn a_flow_whose_packets_wait_is_not_forgotten() {
    let mut spec = cell_b(4);
    spec.ap.flows.idle_timeout_s = 0.05;
    spec.stations[0].rate_down_mbps = Some(1.0);
    let mut bss = Bss::new(&spec, 1).unwrap();
    // Ten frames of more than 12 ms each, and one that waits behind them.
    for seq in 0..10 {
        bss.send_down(STATION, &packet_down(0, seq, 1_500), us(0));
    }
    bss.send_down(StationId(1), &packet_down(1, 0, 1_500), us(0));
    let observe = |bss: &mut Bss, station, at| {
        while bss.advance_before(at).is_some() {}
        bss.send_down(StationId(station), &packet_down(station, 0, 1_500), at);
    };
    observe(&mut bss, 2, us(70_000));
    assert_eq!(bss.pop_forgotten(), None);
    observe(&mut bss, 3, us(1_000_000));
    let mut forgotten: Vec<_> = std::iter::from_fn(|| bss.pop_forgotten())
        .map(|(_, tuple, ledgers)| (tuple.source, ledgers.iter().map(|l| l.delivered.packets).sum::<u64>()))
        .collect();
    forgotten.sort();
    assert_eq!(forgotten, [(1, 10), (2, 1), (3, 1)]);
}
