//! The frames of an exchange as a trace gets them: when each begins, its PSDU begins and it ends, rate, Duration field,
//! and who decodes it. All by hand, for 1500 bytes of IP (a PSDU of 1536).

use crate::support;

use support::{cell_b, cell_g, packet, packet_down, us};
use wifair_core::{StationId, Time};
use wifair_wlan::Decoded::{ByAll, ByBystanders, ByNobody};
use wifair_wlan::FrameKind::{Ack, Cts, Data, Rts};
use wifair_wlan::{Bss, BssSpec, Decoded, ErpProtection, FrameKind, Node, PhySpec, ProtectionKeys, erp};

const STA: Node = Node::Station(StationId(0));
const OTHER: Node = Node::Station(StationId(1));

/// Kind, from, to; begin, begin of the PSDU, end and Duration field in µs; rate in Mbps; who decodes it.
type Frame = (FrameKind, Node, Node, [u64; 4], f64, Decoded);

/// The frames of the first exchange, of packets that come at 100 µs: from which stations, or one to station 0.
fn first_exchange(spec: &BssSpec, from: &[u16]) -> Vec<Frame> {
    let mut bss = Bss::new(spec, 1).unwrap();
    for &station in from {
        bss.send_up(StationId(station), &packet(station, 0, 1_500), us(100));
    }
    if from.is_empty() {
        bss.send_down(StationId(0), &packet_down(0, 0, 1_500), us(100));
    }
    let mut frames = Vec::new();
    let whole_us = |time: Time| {
        assert_eq!(time.as_ns() % 1_000, 0);
        time.as_ns() / 1_000
    };
    bss.advance_watched(us(101), |bss| {
        bss.frames(|frame| {
            let times = [frame.begins, frame.psdu_begins, frame.ends, frame.duration].map(whole_us);
            frames.push((frame.kind, frame.from, frame.to, times, frame.mode.rate.as_mbps(), frame.decoded));
        });
    });
    frames
}

#[test]
fn data_and_mac_ack() {
    let frames = |from, to| {
        [
            (Data, from, to, [100, 292, 1_410, 314], 11.0, ByAll),
            (Ack, to, from, [1_420, 1_612, 1_724, 0], 1.0, ByAll),
        ]
    };
    assert_eq!(first_exchange(&cell_b(1), &[0]), frames(STA, Node::Ap));
    assert_eq!(first_exchange(&cell_b(1), &[]), frames(Node::Ap, STA));
}

/// A frame as long as the threshold goes without RTS (`dot11RTSThreshold`: a PSDU longer than it goes with one).
#[test]
fn rts_and_cts_above_the_threshold() {
    let mut spec = cell_b(1);
    spec.mac.rts_threshold_bytes = Some(1_536);
    assert_eq!(first_exchange(&spec, &[0]).len(), 2);
    spec.mac.rts_threshold_bytes = Some(1_535);
    let expected = [
        (Rts, STA, Node::Ap, [100, 292, 452, 10 + 304 + 10 + 1_310 + 314], 1.0, ByAll),
        (Cts, Node::Ap, STA, [462, 654, 766, 10 + 1_310 + 314], 1.0, ByAll),
        (Data, STA, Node::Ap, [776, 968, 2_086, 314], 11.0, ByAll),
        (Ack, Node::Ap, STA, [2_096, 2_288, 2_400, 0], 1.0, ByAll),
    ];
    assert_eq!(first_exchange(&spec, &[0]), expected);
}

/// 54 Mbps: 20 + 57 symbols of 4 + 6 = 254 µs; a MAC ACK at 6 Mbps: 20 + 6 symbols of 4 + 6 = 50 µs.
#[test]
fn protection_of_802_11g() {
    let protected = |how| {
        let protection = ProtectionKeys { erp_protection: Some(how), ..Default::default() };
        PhySpec::Erp(erp::Spec { protection, ..Default::default() })
    };
    let mut spec = cell_g(1);
    spec.phy = protected(ErpProtection::CtsToSelf);
    let data_and_ack = |at: u64| {
        [
            (Data, STA, Node::Ap, [at, at + 20, at + 254, 60], 54.0, ByAll),
            (Ack, Node::Ap, STA, [at + 264, at + 284, at + 314, 0], 6.0, ByAll),
        ]
    };
    let mut expected = vec![(Cts, STA, STA, [100, 292, 404, 10 + 254 + 60], 1.0, ByAll)];
    expected.extend(data_and_ack(414));
    assert_eq!(first_exchange(&spec, &[0]), expected);

    spec.phy = protected(ErpProtection::RtsCts);
    let mut expected = vec![
        (Rts, STA, Node::Ap, [100, 292, 452, 10 + 304 + 10 + 254 + 60], 1.0, ByAll),
        (Cts, Node::Ap, STA, [462, 654, 766, 10 + 254 + 60], 1.0, ByAll),
    ];
    expected.extend(data_and_ack(776));
    assert_eq!(first_exchange(&spec, &[0]), expected);
}

#[test]
fn frames_that_are_not_decoded() {
    let data = (Data, STA, Node::Ap, [100, 292, 1_410, 314], 11.0, ByAll);
    let mut spec = cell_b(2);
    spec.stations[0].frame_error_rate.ack_down = 1.0;
    let ack = (Ack, Node::Ap, STA, [1_420, 1_612, 1_724, 0], 1.0, ByBystanders);
    assert_eq!(first_exchange(&spec, &[0]), [data, ack]);
    spec.stations[0].frame_error_rate.data_up = 1.0;
    assert_eq!(first_exchange(&spec, &[0]), [(Data, STA, Node::Ap, data.3, 11.0, ByBystanders)]);

    // A collision, in the order of the ends.
    let mut spec = cell_b(2);
    spec.stations[0].rate_mbps = Some(5.5);
    let slower = (Data, STA, Node::Ap, [100, 292, 100 + 192 + 2_235, 314], 5.5, ByNobody);
    let faster = (Data, OTHER, Node::Ap, data.3, 11.0, ByNobody);
    assert_eq!(first_exchange(&spec, &[0, 1]), [faster, slower]);
    spec.mac.rts_threshold_bytes = Some(0);
    let rts = |from, data: u64| (Rts, from, Node::Ap, [100, 292, 452, 324 + data + 314], 1.0, ByNobody);
    assert_eq!(first_exchange(&spec, &[0, 1]), [rts(STA, 192 + 2_235), rts(OTHER, 1_310)]);
}
