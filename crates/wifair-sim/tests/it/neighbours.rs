//! Several BSSs in one field, with everything above the medium.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use wifair_sim::{Batch, Plan, Progress, RunRecord, TraceSpec, run, run_on, run_traced};

use crate::{common, run as of_fuzzing};

/// A BSS: the flows of its stations, by direction and application, and its scheme.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    stations: Vec<Vec<(bool, usize)>>,
    scheme: usize,
}

const SCHEMES: [&str; 3] = ["droptail", "codel", "adaptive-pushout"];

fn application(kind: usize) -> Value {
    match kind {
        0 => json!({"name": "bulk"}),
        1 => json!({"name": "transfers", "transfer_bytes": 20_000}),
        2 => json!({"name": "udp", "rate_mbps": 2.0}),
        _ => json!({"name": "voip"}),
    }
}

pub(crate) fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let flows = prop::collection::vec((any::<bool>(), 0_usize..4), 1..=2);
    let stations = prop::collection::vec(flows, 1..=2);
    let bss = (stations, 0..SCHEMES.len()).prop_map(|(stations, scheme)| Drawn { stations, scheme });
    prop::collection::vec(bss, 3)
}

/// The name of the station with this place in the BSS of this name.
fn station(bss: char, place: usize) -> String {
    format!("{bss}-{place}")
}

/// The flows of a BSS.
pub(crate) fn flows(name: char, bss: &Drawn) -> Vec<Value> {
    let of_station = |(place, flows): (usize, &Vec<(bool, usize)>)| {
        let flow = |(number, &(up, kind)): (usize, &(bool, usize))| {
            json!({
                "label": format!("{name}-{place}-{number}"), "station": station(name, place),
                "direction": if up { "up" } else { "down" }, "application": application(kind),
            })
        };
        flows.iter().enumerate().map(flow).collect::<Vec<_>>()
    };
    bss.stations.iter().enumerate().flat_map(of_station).collect()
}

/// A plan of these BSSs, whose access points are `apart_m` apart, and these flows. Each has a separate wire.
pub(crate) fn plan(phy: &str, bsss: &[(char, Drawn)], apart_m: f64, flows: &[Value]) -> Value {
    let of = |(number, (name, bss)): (usize, &(char, Drawn))| {
        let x = apart_m * (*name as u32 - 'a' as u32) as f64;
        let stations = (0..bss.stations.len()).map(|place| {
            let mut station = json!({"label": station(*name, place), "position_m": [x + 3.0, place]});
            match phy {
                "802.11a" => station["rate_mbps"] = json!(24.0),
                _ => station["mcs"] = json!(3),
            }
            station
        });
        let tx_queue = json!({"limit_packets": 20, "scheme": {"name": SCHEMES[bss.scheme]}});
        let mut of = json!({"ap": {"position_m": [x, 0.0], "tx_queue": tx_queue}, "stations": stations.collect::<Vec<_>>()});
        match number {
            0 => {
                of["phy"] = json!({"name": phy});
                of["field"] = json!({});
                if phy != "802.11a" {
                    of["mac"] = json!({"edca": {}});
                }
            }
            _ => {
                of["label"] = json!(name.to_string());
                of["wire"] = json!({"rate_mbps": 100.0, "one_way_delay_ms": 3.0});
            }
        }
        of
    };
    let mut bsss = bsss.iter().enumerate().map(of);
    let (first, neighbours) = (bsss.next(), bsss.collect::<Vec<_>>());
    json!({
        "run": {"warmup_s": 0.2, "duration_s": 0.8, "sample_interval_s": 0.1},
        "bss": first, "neighbours": neighbours, "flows": flows,
    })
}

fn record(plan: &Value, seed: u64) -> RunRecord {
    let progress = Progress { cancelled: &AtomicBool::new(false), simulated_ms: &AtomicU64::new(0) };
    run(&common::plan(plan), seed, &progress).unwrap().unwrap()
}

/// All rows of a record about a BSS and what belongs to it, without the places of its flows in the plan.
fn about(record: &RunRecord, name: char, ap: &str) -> Vec<String> {
    let (of_bss, stations) = (format!("{name}-"), if name == 'a' { "stations" } else { ap });
    let queue = |node: &str| node == ap || node.starts_with(&format!("{ap}/")) || node == stations;
    let flows = record.flows.iter().filter(|row| row.label.starts_with(&of_bss));
    let of_flows = flows.clone().map(|row| {
        let mut row = row.clone();
        row.flow = 0;
        format!("{row:?}")
    });
    let datagrams = record.datagrams.iter().filter(|row| row.label.starts_with(&of_bss));
    let datagrams = datagrams.map(|row| {
        let mut row = row.clone();
        row.flow = 0;
        format!("{row:?}")
    });
    let stations = record.stations.iter().filter(|row| row.station.starts_with(&of_bss));
    let series = record.series.iter().filter(|row| row.entity.starts_with(&of_bss) || queue(&row.entity));
    let queues = record.queues.iter().filter(|row| queue(&row.node));
    of_flows
        .chain(datagrams)
        .chain(stations.map(|row| format!("{row:?}")))
        .chain(queues.map(|row| format!("{row:?}")))
        .chain(series.map(|row| format!("{row:?}")))
        .collect()
}

fn phy() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("802.11a"), Just("802.11ax")]
}

/// Shadowing, and for 802.11ax OBSS PD levels in dBm, where they are not zero.
pub(crate) fn with_air(mut plan: Value, phy: &str, (shadowing_db, levels): (f64, [f64; 3])) -> Value {
    plan["bss"]["field"]["shadowing_db"] = json!(shadowing_db);
    if phy == "802.11ax" {
        let level = |level: f64| if level < 0.0 { json!(level) } else { Value::Null };
        plan["bss"]["ap"]["obss_pd_dbm"] = level(levels[0]);
        for neighbour in plan["neighbours"].as_array_mut().into_iter().flatten() {
            let which = if neighbour["label"] == "b" { 1 } else { 2 };
            neighbour["ap"]["obss_pd_dbm"] = level(levels[which]);
        }
    }
    plan
}

pub(crate) fn air() -> impl Strategy<Value = (f64, [f64; 3])> {
    let level = prop_oneof![Just(0.0), Just(-62.0), -82.0..-62.0];
    (prop_oneof![Just(0.0), Just(6.0)], [level.clone(), level.clone(), level])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// BSSs that do not receive each other: each has the results that it has alone, the neighbour next to a first BSS without
    /// flows, since its name seeds its access point's streams. Its flows come first in both plans, since a flow's place gives
    /// it its transmit queues, which schemes hash.
    #[test]
    fn neighbours_out_of_reach_change_nothing(bsss in drawn(), phy in phy(), seed in 1..100_u64) {
        let [a, b] = [('a', bsss[0].clone()), ('b', bsss[1].clone())];
        let [of_a, of_b] = [flows('a', &a.1), flows('b', &b.1)];
        let apart_m = 1e5;
        let together = |flows: [&[Value]; 2]| plan(phy, &[a.clone(), b.clone()], apart_m, &flows.concat());
        let mut alone = plan(phy, std::slice::from_ref(&a), apart_m, &of_a);
        alone.as_object_mut().unwrap().remove("neighbours");
        let both = record(&together([&of_a, &of_b]), seed);
        prop_assert_eq!(about(&both, 'a', "ap"), about(&record(&alone, seed), 'a', "ap"));
        let (both, idle) = (record(&together([&of_b, &of_a]), seed), record(&together([&of_b, &[]]), seed));
        prop_assert_eq!(about(&both, 'b', "b"), about(&idle, 'b', "b"));
        prop_assert_eq!(&both.bsss[1], &idle.bsss[1]);
        prop_assert!(both.bsss.iter().all(|row| row.lost_to_others == 0 && row.busy_others_share == 0.0));
    }

    /// A network in parts has the record of the network in one piece, which is what runs with traces, on any number of threads.
    /// BSSs are in reach of each other or not, on one channel or two, and each has a wire or shares that of the first.
    #[test]
    fn parts_are_the_whole(
        bsss in drawn(),
        phy in phy(),
        apart_m in prop_oneof![5.0..200.0, 1e3..1e4],
        channels in prop::option::of(prop::collection::vec(0_usize..2, 3)),
        shares_wire in any::<bool>(),
        air in air(),
        seed in 1..100_u64,
    ) {
        let named = [0, 1, 2].map(|i| (['a', 'b', 'c'][i], bsss[i].clone()));
        let flows: Vec<Value> = named.iter().flat_map(|(name, bss)| flows(*name, bss)).collect();
        let mut plan = plan(phy, &named, apart_m, &flows);
        if let Some(channels) = channels {
            let numbers = if phy == "802.11a" { [36, 40] } else { [42, 58] };
            plan["bss_channel"] = json!(numbers[channels[0]]);
            for (neighbour, &channel) in [0, 1].into_iter().zip(&channels[1..]) {
                plan["neighbours"][neighbour]["channel"] = json!(numbers[channel]);
            }
        }
        if shares_wire {
            plan["neighbours"][1].as_object_mut().unwrap().remove("wire");
        }
        // With two queues, to which addresses are hashed.
        plan["neighbours"][1]["ap"]["tx_queue"]["scheme"] = json!({"name": "fq-codel", "queues": 2});
        let plan = common::plan(&with_air(plan, phy, air));
        let spec = TraceSpec { folder: std::env::temp_dir(), pcap: None, events: false };
        let whole = run_traced(&plan, seed, &spec, Box::new(|_| true), &mut |_| true).unwrap().unwrap();
        for threads in [1, 2, 7] {
            let parts = run_on(threads, &plan, seed, &mut |_| true).unwrap().unwrap();
            prop_assert_eq!(&parts, &whole, "{} threads", threads);
        }
    }

    /// The order of neighbours in the plan has no effect.
    #[test]
    fn the_order_of_neighbours_does_not_matter(
        bsss in drawn(), phy in phy(), apart_m in 5.0..200.0, air in air(), seed in 1..100_u64,
    ) {
        let [a, b, c] = [0, 1, 2].map(|i| (['a', 'b', 'c'][i], bsss[i].clone()));
        let flows: Vec<Value> = [&a, &b, &c].iter().flat_map(|(name, bss)| flows(*name, bss)).collect();
        let of = |bsss: &[_]| with_air(plan(phy, bsss, apart_m, &flows), phy, air);
        let one = record(&of(&[a.clone(), b.clone(), c.clone()]), seed);
        let other = record(&of(&[a, c, b]), seed);
        prop_assert_eq!([&one.bsss[0], &one.bsss[1], &one.bsss[2]], [&other.bsss[0], &other.bsss[2], &other.bsss[1]]);
        for name in ['a', 'b', 'c'] {
            let ap = if name == 'a' { "ap".to_string() } else { name.to_string() };
            prop_assert_eq!(about(&one, name, &ap), about(&other, name, &ap));
        }
    }

    /// Counters of each BSS balance, packets are conserved, and what is recorded or traced changes nothing.
    #[test]
    fn counters_balance(bsss in drawn(), phy in phy(), apart_m in 5.0..200.0, air in air()) {
        let named = [0, 1, 2].map(|i| (['a', 'b', 'c'][i], bsss[i].clone()));
        let flows: Vec<Value> = named.iter().flat_map(|(name, bss)| flows(*name, bss)).collect();
        of_fuzzing::check(with_air(plan(phy, &named, apart_m, &flows), phy, air).to_string().as_bytes());
    }
}

/// Three BSSs in a row, with an upload and a download each.
fn row(apart_m: f64) -> Value {
    let bss = Drawn { stations: vec![vec![(true, 0), (false, 0)]], scheme: 0 };
    let named = ['a', 'b', 'c'].map(|name| (name, bss.clone()));
    let flows: Vec<Value> = named.iter().flat_map(|(name, bss)| flows(*name, bss)).collect();
    plan("802.11a", &named, apart_m, &flows)
}

/// Whether there are fewer threads than replications, or more, so that several share one replication.
#[test]
fn threads_do_not_matter() {
    for (apart_m, seeds) in [(20.0, 1..=8), (1e5, 1..=2)] {
        let jobs: Vec<(String, u64)> = seeds.map(|seed| (row(apart_m).to_string(), seed)).collect();
        let records = |threads| {
            let batch = Batch::start(&jobs, threads).unwrap();
            while batch.wait(Duration::from_secs(1)) < batch.total() {}
            batch.take()
        };
        let one = records(1);
        assert_eq!(one, records(2));
        assert_eq!(one, records(7));
    }
}

/// Two BSSs of 802.11a with a saturated station each, whose frames reach the other's access point as these gains say.
fn pair(gains: Value, hidden: Value, rts: bool) -> Value {
    let station = |label: &str| json!({"label": label, "rate_mbps": 6.0});
    let flow = |label: &str| {
        json!({
            "label": format!("{label}-up"), "station": label, "direction": "up",
            "application": {"name": "udp", "rate_mbps": 20.0},
        })
    };
    json!({
        "run": {"warmup_s": 1, "duration_s": 10},
        "bss": {
            "phy": {"name": "802.11a"}, "stations": [station("left")],
            "mac": {"rts_threshold_bytes": if rts { 500 } else { 3_000 }},
            "field": {"gains": gains, "hidden": hidden},
        },
        "bss_label": "mine",
        "neighbours": [{"label": "theirs", "stations": [station("right")]}],
        "flows": [flow("left"), flow("right")],
    })
}

#[test]
fn rows_of_bsss_tell_what_was_lost_and_to_whom() {
    let equal = |a: &str, b: &str| json!({"between": [a, b], "gain_db": -60.0});
    let aps = equal("ap", "theirs");
    // Everybody hears everybody equally well: only frames that begin at one instant are lost, to others.
    let shared = record(&pair(json!([aps]), json!([]), false), 1).bsss;
    assert_eq!(shared.iter().map(|row| row.bss.as_str()).collect::<Vec<_>>(), ["mine", "theirs"]);
    assert_eq!(shared.iter().map(|row| row.ap.as_str()).collect::<Vec<_>>(), ["ap", "theirs"]);
    for row in &shared {
        assert!(row.lost_same_start > 100, "{row:?}");
        assert_eq!((row.lost_hidden, row.unanswered_rts, row.mpdus), (0, 0, 0));
        assert_eq!(row.lost_to_others, row.lost_same_start);
        assert_eq!((row.collisions, row.goodput_down_mbps), (0, 0.0));
        assert!(row.goodput_down_mbps.is_sign_positive());
        // An access point that hears all senses the medium busy while a frame of others is on the air.
        assert!(row.busy_own_share + row.busy_others_share > 0.85, "{row:?}");
    }
    let busy = |row: &wifair_sim::BssRow| [row.busy_own_share, row.busy_others_share];
    let ([own, others], [theirs, mine]) = (busy(&shared[0]), busy(&shared[1]));
    // Frames of both at once are each one's own.
    assert!(others < theirs && mine < own && theirs - others < 0.2, "{shared:?}");
    // Stations that do not hear each other, and whose frames reach both access points: nearly all is lost, hidden. RTS mends
    // that, as in one BSS.
    let apart = json!([["left", "right"]]);
    let hidden = record(&pair(json!([aps]), apart.clone(), false), 1).bsss;
    assert!(hidden.iter().all(|row| row.lost_hidden > 10 * row.lost_same_start), "{hidden:?}");
    assert!(hidden.iter().all(|row| row.lost_to_others == row.lost_hidden + row.lost_same_start));
    let rts = record(&pair(json!([aps]), apart, true), 1).bsss;
    let goodput = |rows: &[wifair_sim::BssRow]| rows.iter().map(|row| row.goodput_up_mbps).sum::<f64>();
    assert!(goodput(&rts) > 2.0 * goodput(&hidden), "{rts:?} {hidden:?}");
    // An access point that hears the CTS of the other, which its own station does not hear, does not answer.
    let exposed = json!([["left", "right"], ["left", "theirs"], ["ap", "right"]]);
    let exposed = record(&pair(json!([aps]), exposed, true), 1).bsss;
    assert!(exposed[1].unanswered_rts > 100, "{exposed:?}");
    // Out of each other's reach: nothing is lost.
    let away = json!([["left", "right"], ["left", "theirs"], ["ap", "right"], ["ap", "theirs"]]);
    for row in record(&pair(json!([]), away, false), 1).bsss {
        assert_eq!((row.lost_same_start, row.lost_hidden, row.busy_others_share), (0, 0, 0.0));
    }
}

#[test]
fn each_station_has_the_wire_of_its_bss() {
    let mut plan = row(1e5);
    plan["neighbours"][0]["wire"]["one_way_delay_ms"] = json!(100.0);
    plan["neighbours"][1].as_object_mut().unwrap().remove("wire");
    plan["wire"] = json!({"one_way_delay_ms": 50.0});
    plan["run"]["duration_s"] = json!(5.0);
    let record = record(&plan, 1);
    let shortest = |name: char| {
        let rtts = record.flows.iter().filter(|row| row.label.starts_with(name));
        rtts.map(|row| row.rtt_p50_ms.unwrap()).fold(f64::MAX, f64::min)
    };
    // Round trips of 100, 200 and 100 ms, and the queues.
    assert!((100.0..200.0).contains(&shortest('a')), "{}", shortest('a'));
    assert!((200.0..300.0).contains(&shortest('b')), "{}", shortest('b'));
    assert!((100.0..200.0).contains(&shortest('c')), "{}", shortest('c'));
}

#[test]
fn an_event_changes_the_bss_that_it_names() {
    let limits = |events: Value| {
        let mut plan = row(1e5);
        plan["events"] = events;
        let record = record(&plan, 1);
        let last = |ap: &str| {
            let mut rows =
                record.series.iter().filter(|row| row.metric == "limit_packets" && *row.entity == *ap);
            rows.next_back().unwrap().value
        };
        ["ap", "b", "c"].map(last)
    };
    let set = |packets: u32| json!({"at_s": 0.5, "ap": {"limit_packets": packets}});
    let of = |bss: &str| {
        let mut event = set(7);
        event["bss"] = json!(bss);
        json!([event])
    };
    assert_eq!(limits(json!([])), [20.0, 20.0, 20.0]);
    assert_eq!(limits(json!([set(7)])), [7.0, 20.0, 20.0]);
    assert_eq!(limits(of("ap")), [7.0, 20.0, 20.0]);
    assert_eq!(limits(of("b")), [20.0, 7.0, 20.0]);
    assert_eq!(limits(of("c")), [20.0, 20.0, 7.0]);
}

#[test]
fn a_station_of_a_neighbour_changes_its_rate() {
    let mut plan = row(1e5);
    plan["events"] = json!([{"at_s": 0.6, "station": {"label": "c-0", "rate_mbps": 6.0}}]);
    let rates: Vec<f64> =
        record(&plan, 1).stations.iter().map(|row| (row.link_rate_mbps * 1e6).round() / 1e6).collect();
    assert_eq!(rates, [24.0, 24.0, 24.0, 24.0, 15.0, 15.0]);
}

#[test]
fn what_cannot_be_is_refused_by_its_key() {
    let error = |edit: &dyn Fn(&mut Value)| {
        let mut plan = row(20.0);
        edit(&mut plan);
        Plan::from_json(&plan.to_string()).expect_err("it cannot be").key
    };
    assert_eq!(error(&|plan| plan["bss"]["field"] = Value::Null), "neighbours");
    assert_eq!(error(&|plan| plan["neighbours"][1]["label"] = json!("b")), "neighbours[1].label");
    assert_eq!(error(&|plan| plan["neighbours"][1]["label"] = json!("stations")), "neighbours[1].label");
    assert_eq!(error(&|plan| plan["neighbours"][1]["label"] = json!("b/voice")), "neighbours[1].label");
    assert_eq!(error(&|plan| plan["bss_label"] = json!("c")), "neighbours[1].label");
    assert_eq!(
        error(&|plan| plan["neighbours"][1]["stations"][0]["label"] = json!("a-0")),
        "neighbours[1].stations[0].label"
    );
    assert_eq!(
        error(&|plan| plan["neighbours"][0]["stations"][0]["rate_mbps"] = json!(7.0)),
        "neighbours[0].stations[0].rate_mbps"
    );
    assert_eq!(
        error(&|plan| plan["neighbours"][0]["ap"]["tx_queue"]["limit_packets"] = json!(0)),
        "neighbours[0].ap.tx_queue.limit_packets"
    );
    assert_eq!(
        error(&|plan| plan["neighbours"][0]["wire"]["loss_rate"] = json!(2.0)),
        "neighbours[0].wire.loss_rate"
    );
    assert_eq!(error(&|plan| plan["flows"][0]["station"] = json!("d-0")), "flows[0].station");
    let event = |event: Value| error(&|plan| plan["events"] = json!([event]));
    assert_eq!(event(json!({"at_s": 0.1, "bss": "d", "ap": {"limit_packets": 7}})), "events[0].bss");
    let station = json!({"at_s": 0.1, "bss": "b", "station": {"label": "b-0", "rate_mbps": 6.0}});
    assert_eq!(event(station), "events[0].bss");
    let alone = |plan: &mut Value| {
        plan.as_object_mut().unwrap().remove("neighbours");
        plan["flows"].as_array_mut().unwrap().truncate(2);
        plan["bss_label"] = json!("home");
    };
    assert_eq!(error(&alone), "bss_label");
    let shared = |plan: &mut Value| {
        plan["neighbours"][0].as_object_mut().unwrap().remove("wire");
        plan["events"] = json!([{"at_s": 0.1, "bss": "b", "wire": {"one_way_delay_ms": 9.0}}]);
    };
    assert_eq!(error(&shared), "events[0].bss");
}
