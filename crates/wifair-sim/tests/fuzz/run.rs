//! A run of whatever plan is accepted: it ends, its counters balance, and records and traces change nothing.

use std::sync::atomic::{AtomicU32, Ordering};

use wifair_core::{Packet, StationId, Time};
use wifair_queue::{Ledger, TxQueue};
use wifair_sim::application::Carried;
use wifair_sim::{
    EventRow, Fingerprint, FlowSpec, Network, PcapSpec, Plan, RunRecord, Tap, TraceSpec, Way, fingerprint,
    run_traced, run_watched, tables,
};
use wifair_wlan::Node;

use crate::plan;

/// Simulated time of a run at most.
const HORIZON_S: f64 = 0.3;
/// A run in which more packets have crossed something is long enough.
const MOST_CROSSINGS: u64 = 3_000;
/// Larger plans are not run.
const MOST_ENTRIES: usize = 12;
/// Segments that may be under way at once, of all flows.
const MOST_SEGMENTS: u64 = 20_000;

/// A plan as text.
pub fn check(data: &[u8]) {
    let Some(plan) = plan::check(data) else { return };
    let of_neighbours: usize = plan.neighbours.iter().map(|neighbour| neighbour.stations.len()).sum();
    let stations = plan.bss.stations.len() + of_neighbours;
    let entries = stations.max(plan.flows.len()).max(plan.events.len() / 4);
    if entries <= MOST_ENTRIES && plan.flows.iter().map(segments).sum::<u64>() <= MOST_SEGMENTS {
        run(&shortened(plan));
    }
}

/// How many segments a flow may have under way.
fn segments(flow: &FlowSpec) -> u64 {
    match flow.application.build() {
        Carried::Transfers(application) => {
            u64::from(application.connections()) * u64::from(flow.tcp.receiver_window_segments)
        }
        Carried::Datagrams(_) => 1,
    }
}

/// The same plan with all its instants drawn together, so that they come within a short run.
fn shortened(mut plan: Plan) -> Plan {
    let factor = (HORIZON_S / plan.horizon_s()).min(1.0);
    let run = &mut plan.run;
    run.warmup_s *= factor;
    run.duration_s = (run.duration_s * factor).max(1e-3);
    let interval =
        |interval: Option<f64>, most: f64| interval.map(|s| (s * factor).clamp(1e-3, most.max(1e-3)));
    run.sample_interval_s = interval(run.sample_interval_s, run.duration_s);
    run.state_interval_s = interval(run.state_interval_s, run.duration_s);
    for flow in &mut plan.flows {
        flow.start_s *= factor;
        flow.start_spread_s *= factor;
        flow.stop_s = flow.stop_s.map(|s| s * factor);
    }
    let end = plan.horizon_s();
    for event in &mut plan.events {
        event.at_s = (event.at_s * factor).min(end);
    }
    plan.validate().expect("a shorter run is as good");
    plan
}

/// What crossed what.
#[derive(Default)]
struct Crossings {
    sent_by_stations: u64,
    to_ap_tx_queue: u64,
    over_air: u64,
    in_all: u64,
}

impl Tap for Crossings {
    fn sent(&mut self, _now: Time, _packet: &Packet, station: Option<StationId>) {
        self.sent_by_stations += u64::from(station.is_some());
        self.in_all += 1;
    }

    fn crossed_air(&mut self, _now: Time, _packet: &Packet, _to: Node) {
        self.over_air += 1;
        self.in_all += 1;
    }

    fn crossed_wire(&mut self, _now: Time, _packet: &Packet, way: Way) {
        self.to_ap_tx_queue += u64::from(way == Way::ToAp);
        self.in_all += 1;
    }
}

/// Runs in pieces, with the counters checked after each; then in one piece with everything recorded: the results are equal.
fn run(plan: &Plan) {
    let taps = (Crossings::default(), Fingerprint::new());
    let mut network = Network::tapped(plan, 1, taps).expect("a plan that was checked can be run");
    let end = Time::from_secs_f64(plan.run.warmup_s) + Time::from_secs_f64(plan.run.duration_s);
    while network.now() < end {
        network.run_until(end.min(network.now() + Time::from_ms(10)));
        balance(&network);
        if network.tap().0.in_all > MOST_CROSSINGS {
            return;
        }
    }
    assert_eq!(network.tap().1.value(), fingerprint(plan, 1).expect("it was run before"));
    let record = run_watched(plan, 1, &mut |_| true).expect("it was run before").expect("nobody stopped it");
    let untraced = tables(&[(0, 1, record)]);
    assert!(!untraced.is_empty());
    assert_eq!(tables(&[(0, 1, traced(plan))]), untraced);
}

/// A run with captures of all access points and the log of events, which is in order unless it is of a field.
fn traced(plan: &Plan) -> RunRecord {
    static FOLDERS: AtomicU32 = AtomicU32::new(0); // tests of one process run side by side
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("wifair-fuzz-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for captures");
    let stations = plan.bss.stations.iter().take(1).map(|station| station.label.clone()).collect();
    let is_field = plan.bss.field.is_some();
    let aps = plan.neighbours.iter().map(|neighbour| neighbour.label.clone()).collect();
    let pcap = Some(PcapSpec { stations, aps, servers: true, full_frames: false });
    let mut last = 0;
    let sink = Box::new(move |rows: Vec<EventRow>| {
        assert!(is_field || rows[0].time_ns >= last && rows.is_sorted_by_key(|row| row.time_ns));
        last = rows[rows.len() - 1].time_ns;
        true
    });
    let spec = TraceSpec { folder: folder.clone(), pcap, events: true };
    let record = run_traced(plan, 1, &spec, sink, &mut |_| true).expect("a disk with room");
    std::fs::remove_dir_all(folder).expect("the folder is there");
    record.expect("nobody stopped it")
}

fn balance(network: &Network<(Crossings, Fingerprint)>) {
    let (crossings, _) = network.tap();
    let (mut delivered, mut offered_up, mut offered_down) = (0, 0, 0);
    for field in network.field_usages().flatten() {
        assert!(field.busy_own + field.busy_others <= network.now());
        assert!(field.mpdus_lost <= field.mpdus);
        assert!(field.lost_to_others <= field.lost_same_start + field.lost_hidden);
    }
    for (bss, snapshot) in network.bsss().zip(network.snapshots()) {
        let mut occupied = snapshot.collision_airtime + snapshot.beacons.airtime;
        for (station, usage) in (0..).map(StationId).zip(&snapshot.stations) {
            occupied += usage.up.airtime + usage.down.airtime;
            delivered += usage.up.delivered + usage.down.delivered;
            let tx_queues = bss.station_tx_queues(station);
            offered_up += tx_queues.map(|(_, tx_queue)| offered(tx_queue, network.now())).sum::<u64>();
        }
        assert_eq!(snapshot.elapsed, snapshot.idle + occupied);
        offered_down += bss.ap_tx_queues().map(|(_, tx_queue)| offered(tx_queue, network.now())).sum::<u64>();
    }
    assert_eq!(delivered, crossings.over_air);
    assert_eq!(offered_up, crossings.sent_by_stations);
    assert_eq!(offered_down, crossings.to_ap_tx_queue);
}

fn offered(tx_queue: &TxQueue, now: Time) -> u64 {
    let count = |ledger: &Ledger| ledger.offered.packets;
    tx_queue.snapshot(now).classes.iter().map(count).sum()
}
