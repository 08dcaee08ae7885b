//! What the AP knows of stations' queues (`docs/medium.md`, section 15).

use crate::support;

use std::sync::{Arc, Mutex};

use support::{cell_b, external, packet, us};
use wifair_core::{Ac, StationId, Time};
use wifair_queue::{Arrival, Buffer, Cx, Hooks, Placed, Reception, Scheme};
use wifair_wlan::{AggregationSpec, Bss, BssSpec, EdcaSpec, PhySpec, StationSpec};

/// What the AP reads and receives, in order: a queue size, or the number of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    Size(Ac, u32),
    Packet(u32),
}

type Log = Arc<Mutex<Vec<Seen>>>;

/// Tail drop that notes queue sizes. With every packet it checks what it knows.
struct Noting(Log);

impl Scheme for Noting {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn hooks(&self) -> Hooks {
        Hooks { reception: true, queue_size: true, ..Hooks::default() }
    }

    fn on_reception(&mut self, reception: &Reception, _buffer: &mut Buffer, cx: &mut Cx) {
        let mut log = self.0.lock().unwrap();
        let last = log.iter().rev().find_map(|seen| match seen {
            Seen::Size(ac, bytes) if *ac == reception.ac => Some(*bytes),
            _ => None,
        });
        assert_eq!(cx.links[reception.station.index()].queue_bytes(reception.ac), last);
        log.push(Seen::Packet(reception.packet.seq));
    }

    fn on_queue_size(&mut self, station: StationId, ac: Ac, _buffer: &mut Buffer, cx: &mut Cx) {
        let bytes = cx.links[station.index()].queue_bytes(ac).expect("the AP has read it");
        self.0.lock().unwrap().push(Seen::Size(ac, bytes));
    }
}

fn log_of(mut spec: BssSpec, send: impl Fn(&mut Bss)) -> Vec<Seen> {
    let log = Log::default();
    let shared = log.clone();
    spec.ap.tx_queue.scheme = external(move || Noting(shared.clone()));
    let mut bss = Bss::new(&spec, 1).unwrap();
    send(&mut bss);
    while bss.advance_before(Time::MAX).is_some() {}
    std::mem::take(&mut log.lock().unwrap())
}

/// So many packets of so many IP bytes at one instant.
fn burst(packets: u32, ip_bytes: u32) -> impl Fn(&mut Bss) {
    move |bss| (0..packets).for_each(|seq| bss.send_up(StationId(0), &packet(0, seq, ip_bytes), us(10)))
}

/// A station with EDCA and `phy`, at MCS 7.
fn modern(phy: PhySpec, max_mpdus: u32) -> BssSpec {
    let station = StationSpec { rate_mbps: None, mcs: Some(7), ..StationSpec::new("sta-0", 6.0) };
    let mut spec = BssSpec::new(vec![station]);
    spec.phy = phy;
    spec.mac.edca = Some(EdcaSpec::default());
    spec.mac.aggregation = Some(AggregationSpec { max_mpdus: Some(max_mpdus), ..AggregationSpec::default() });
    spec
}

const BEST_EFFORT: fn(u32) -> Seen = |bytes| Seen::Size(Ac::BestEffort, bytes);

/// Without EDCA no frame has the field: nothing is known.
#[test]
fn under_dcf_nothing_is_known() {
    assert_eq!(log_of(cell_b(1), burst(3, 1_500)), (0..3).map(Seen::Packet).collect::<Vec<_>>());
}

/// The MSDUs of 1,508 bytes behind a single frame, in units of 256 bytes: 3,016 are 12 units, 1,508 are 6, none is 0.
#[test]
fn single_frames_leave_out_their_own_msdu() {
    let mut spec = cell_b(1);
    spec.mac.edca = Some(EdcaSpec::default());
    let expected = [3_072, 1_536, 0].into_iter().zip(0..);
    let expected: Vec<Seen> =
        expected.flat_map(|(bytes, seq)| [BEST_EFFORT(bytes), Seen::Packet(seq)]).collect();
    assert_eq!(log_of(spec, burst(3, 1_500)), expected);
}

/// Of five MSDUs two are in each PPDU. The first is in service by itself before the others come.
#[test]
fn an_a_mpdu_leaves_out_its_last_msdu_up_to_802_11ac_and_none_after() {
    let packets = |from: u32, to: u32| (from..to).map(Seen::Packet);
    let log = |phy| log_of(modern(phy, 2), burst(5, 1_500));
    let expect = |sizes: [u32; 3]| -> Vec<Seen> {
        let [first, second, third] = sizes.map(BEST_EFFORT);
        let all = [first].into_iter().chain(packets(0, 2)).chain([second]).chain(packets(2, 4));
        all.chain([third]).chain(packets(4, 5)).collect()
    };
    // 4 · 1,508 = 6,032 bytes are 24 units, 2 · 1,508 = 3,016 are 12.
    assert_eq!(log(PhySpec::Vht(Default::default())), expect([6_144, 3_072, 0]));
    // 7,540, 4,524 and 1,508 bytes: 1,024 and 26, 14, and 2 times 256.
    assert_eq!(log(PhySpec::He(Default::default())), expect([7_680, 4_608, 1_536]));
}

/// More than the field can say.
#[test]
fn a_long_queue_is_more_than_the_field_can_say() {
    let mut spec = modern(PhySpec::Ht(Default::default()), 1);
    spec.stations[0].tx_queue.limit_packets = 100;
    let log = log_of(spec, burst(46, 1_500));
    let sizes: Vec<u32> = log
        .iter()
        .filter_map(|seen| match seen {
            Seen::Size(_, bytes) => Some(*bytes),
            Seen::Packet(_) => None,
        })
        .collect();
    // 45, 44, 43 and 42 MSDUs behind the first four frames.
    assert_eq!(sizes[..4], [64_769, 64_769, 64_769, 63_488]);
    assert!(sizes.is_sorted_by(|before, after| before >= after) && sizes.last() == Some(&0));
}
