//! What a scenario can say of access categories: refusals, the classifier, the transmit queues.

use crate::support;

use serde_json::json;
use support::{packet, packet_down};
use wifair_core::{Ac, StationId, Time};
use wifair_queue::SchemeSpec;
use wifair_wlan::{
    Bss, BssSpec, Categories, CategorySpec, Classify, EdcaSpec, Node, Output, ShareTxQueue, StationSpec,
};

fn edca(spec: &mut BssSpec, given: EdcaSpec) {
    spec.mac.edca = Some(given);
}

#[test]
fn edca_is_refused_by_key_where_it_cannot_be() {
    let error = |change: fn(&mut BssSpec)| {
        let mut spec = BssSpec::new(vec![StationSpec::new("sta", 11.0)]);
        change(&mut spec);
        Bss::new(&spec, 1).map(|_| ()).unwrap_err()
    };
    let e = error(|spec| spec.ap.categories.voice.limit_packets = Some(5));
    assert_eq!(e.key, "ap.categories.voice");
    assert!(e.allowed.contains("mac.edca"));
    let e = error(|spec| {
        edca(spec, EdcaSpec::default());
        spec.stations[0].categories.video.limit_packets = Some(5);
    });
    assert_eq!(e.key, "stations[0].categories.video");
    assert!(e.allowed.contains("mac.edca.classify"));
    for (key, category) in [
        ("aifsn", CategorySpec { aifsn: Some(1), ..CategorySpec::default() }),
        ("cw_min", CategorySpec { cw_min: Some(8), ..CategorySpec::default() }),
        ("cw_max", CategorySpec { cw_min: Some(63), cw_max: Some(31), ..CategorySpec::default() }),
        ("txop_limit_us", CategorySpec { txop_limit_us: Some(-1.0), ..CategorySpec::default() }),
    ] {
        let mut spec = BssSpec::new(vec![StationSpec::new("sta", 11.0)]);
        let stations = Categories { voice: category, ..Categories::default() };
        edca(&mut spec, EdcaSpec { stations, ..EdcaSpec::default() });
        let e = Bss::new(&spec, 1).map(|_| ()).unwrap_err();
        assert_eq!(e.key, format!("mac.edca.stations.voice.{key}"));
    }
}

/// A scheme that would see one class of packets only, where it decides between two, is refused; where both come it is
/// not, and one that filters ACKs is allowed where they go.
#[test]
fn a_scheme_from_which_acks_are_steered_away_is_refused() {
    let scheme = |name: &str| -> SchemeSpec { serde_json::from_value(json!({ "name": name })).unwrap() };
    let acks_to_voice = || EdcaSpec { tcp_acks: Some(Ac::Voice), ..EdcaSpec::default() };
    let made = |spec: &BssSpec| Bss::new(spec, 1).map(|_| ());
    for name in ["adaptive-pushout", "ack-pushout", "ack-filtering", "spm-af", "dqm"] {
        let mut spec = BssSpec::new(vec![StationSpec::new("sta", 11.0)]);
        spec.ap.tx_queue.scheme = scheme(name);
        edca(&mut spec, EdcaSpec::default());
        assert!(made(&spec).is_ok(), "{name} sees both");
        edca(&mut spec, acks_to_voice());
        let e = made(&spec).unwrap_err();
        assert_eq!((e.key.as_str(), e.value.as_str()), ("ap.tx_queue.scheme", name));
        assert!(
            e.allowed.contains("mac.edca.tcp_acks") && e.allowed.contains("ap.categories.best_effort.scheme"),
            "{e}"
        );

        spec.ap.categories.best_effort.scheme = Some(scheme("droptail"));
        let both = ["adaptive-pushout", "spm-af", "dqm"].contains(&name);
        match made(&spec) {
            Ok(()) => assert!(!both, "{name} sees ACKs alone"),
            Err(e) => {
                assert!(both, "{e}");
                assert_eq!(e.key, "ap.tx_queue.scheme");
            }
        }
    }
}

#[test]
fn packets_go_to_their_category_and_say_so_on_the_air() {
    let mut spec = BssSpec::new(vec![StationSpec::new("sta", 11.0)]);
    edca(
        &mut spec,
        EdcaSpec { classify: Classify::Dscp, tcp_acks: Some(Ac::Background), ..EdcaSpec::default() },
    );
    let mut bss = Bss::new(&spec, 1).unwrap();
    // User priorities 0 to 7, each twice (one goes into service), and an ACK that says voice.
    for up in 0..8 {
        for lower in [0, 3] {
            let mut packet = packet_down(0, 0, 1_000);
            packet.ds_field = (up << 3 | lower) << 2;
            bss.send_down(StationId(0), &packet, Time::ZERO);
        }
    }
    let mut ack = packet_down(0, 0, 40);
    ack.ds_field = 48 << 2;
    ack.payload_bytes = 0;
    ack.header_bytes = 40;
    bss.send_down(StationId(0), &ack, Time::ZERO);
    let came: Vec<_> = bss
        .ap_tx_queues()
        .map(|(ac, tx_queue)| {
            let offered: u64 = tx_queue.snapshot(Time::ZERO).classes.iter().map(|c| c.offered.packets).sum();
            (ac.unwrap(), offered)
        })
        .collect();
    assert_eq!(came, [(Ac::Voice, 4), (Ac::Video, 4), (Ac::BestEffort, 4), (Ac::Background, 5)]);

    let station = Node::Station(StationId(0));
    let all = [Ac::Voice, Ac::Video, Ac::BestEffort, Ac::Background];
    let tx_queues = [Node::Ap, station].into_iter().flat_map(|node| all.map(|ac| (node, Some(ac))));
    assert!(bss.tx_queues().eq(tx_queues));
    let first = |mut bss: Bss| {
        let mut attempted = vec![];
        let mut began = |bss: &Bss| attempted.extend(bss.transmissions().map(|ppdu| ppdu.category));
        while bss.advance_watched(Time::from_ms(100), &mut began).is_some() {}
        attempted[0]
    };
    assert_eq!(first(bss), Some(Ac::Voice));
    let mut dcf = Bss::new(&BssSpec::new(vec![StationSpec::new("sta", 11.0)]), 1).unwrap();
    dcf.send_down(StationId(0), &packet_down(0, 0, 1_000), Time::ZERO);
    assert!(dcf.tx_queues().eq([(Node::Ap, None), (station, None)]));
    assert_eq!(first(dcf), None);
}

/// Limits: the AP's applies to every category without a separate one, at the start and when it changes.
#[test]
fn the_aps_limit_is_every_categorys_without_one_of_its_own() {
    let mut spec = BssSpec::new(vec![StationSpec::new("sta", 11.0)]);
    spec.ap.tx_queue.limit_packets = 3;
    spec.ap.categories.video.limit_packets = Some(5);
    edca(&mut spec, EdcaSpec { classify: Classify::Dscp, ..EdcaSpec::default() });
    let mut bss = Bss::new(&spec, 1).unwrap();
    let fill = |bss: &mut Bss| {
        for code_point in [48, 32, 0, 8] {
            for _ in 0..20 {
                let mut packet = packet_down(0, 0, 1_000);
                packet.ds_field = code_point << 2;
                bss.send_down(StationId(0), &packet, Time::ZERO);
            }
        }
    };
    let lengths = |bss: &Bss| bss.ap_tx_queues().map(|(_, tx_queue)| tx_queue.len()).collect::<Vec<_>>();
    fill(&mut bss);
    assert_eq!(lengths(&bss), [3, 5, 3, 3]);
    bss.set_ap_limit(7, Time::ZERO);
    fill(&mut bss);
    assert_eq!(lengths(&bss), [7, 5, 7, 7]);
}

/// The AP's categories behind one transmit queue: one limit for all, each with its own packets, every one delivered. Stations
/// have a transmit queue a category unless they are to share too.
#[test]
fn categories_may_share_a_tx_queue() {
    let mut spec = BssSpec::new(vec![StationSpec::new("sta", 11.0)]);
    spec.ap.tx_queue.limit_packets = 30;
    let shared =
        |share_tx_queue| EdcaSpec { classify: Classify::Dscp, share_tx_queue, ..EdcaSpec::default() };
    edca(&mut spec, shared(ShareTxQueue::Ap));
    let mut bss = Bss::new(&spec, 1).unwrap();
    for _ in 0..20 {
        for code_point in [48, 32, 0, 8] {
            let mut packet = packet_down(0, 0, 1_000);
            packet.ds_field = code_point << 2;
            bss.send_down(StationId(0), &packet, Time::ZERO);
        }
    }
    // One of each category is in service.
    assert_eq!(
        bss.ap_tx_queues().map(|(ac, tx_queue)| (ac, tx_queue.len())).collect::<Vec<_>>(),
        [(None, 30)]
    );
    assert_eq!(bss.station_tx_queues(StationId(0)).count(), 4);
    let mut delivered = Vec::new();
    while bss.next_event() < Time::MAX {
        if let Some(Output::Delivery(delivery)) = bss.advance(bss.next_event()) {
            delivered.push(delivery.packet.dscp());
        }
    }
    assert_eq!(delivered.len(), 34);
    assert_eq!(delivered[..8], [48; 8], "voice has been in the same queue, and goes first all the same");
    let last = |code_point| delivered.iter().rposition(|&dscp| dscp == code_point).unwrap();
    assert!(last(48) < last(32) && last(32) < last(0) && last(0) < last(8), "{delivered:?}");

    edca(&mut spec, shared(ShareTxQueue::All));
    let bss = Bss::new(&spec, 1).unwrap();
    assert_eq!(bss.station_tx_queues(StationId(0)).map(|(ac, _)| ac).collect::<Vec<_>>(), [None]);

    let refused = |spec: &BssSpec| Bss::new(spec, 1).map(|_| ()).unwrap_err();
    spec.ap.categories.video.limit_packets = Some(5);
    assert_eq!(refused(&spec).key, "ap.categories.video");
    spec.ap.categories.video.limit_packets = None;
    spec.ap.tx_queue.scheme = serde_json::from_value(json!({ "name": "las" })).unwrap();
    let e = refused(&spec);
    assert_eq!((e.key.as_str(), e.value.as_str()), ("ap.tx_queue.scheme", "las"));
}

#[test]
fn the_usual_tx_queue_is_that_of_best_effort() {
    let mut spec = BssSpec::new(vec![StationSpec::new("sta-0", 11.0), StationSpec::new("sta-1", 11.0)]);
    edca(&mut spec, EdcaSpec { classify: Classify::Dscp, ..EdcaSpec::default() });
    let mut bss = Bss::new(&spec, 1).unwrap();
    // One packet of each is in service.
    for (code_point, packets) in [(48, 2), (32, 3), (0, 5), (8, 8)] {
        for _ in 0..packets {
            let (mut up, mut down) = (packet(1, 0, 1_000), packet_down(1, 0, 1_000));
            (up.ds_field, down.ds_field) = (code_point << 2, code_point << 2);
            bss.send_up(StationId(1), &up, Time::ZERO);
            for _ in 0..2 {
                bss.send_down(StationId(1), &down, Time::ZERO);
            }
        }
    }
    assert_eq!(bss.station_tx_queue(StationId(0)).len(), 0);
    assert_eq!(bss.station_tx_queue(StationId(1)).len(), 5 - 1);
    assert_eq!(bss.ap_tx_queue().len(), 10 - 1);
}

/// Node by node, the transmit queue's scheme before those of its categories.
#[test]
fn every_scheme_that_a_cell_names_can_be_reached() {
    let scheme = |name: &str| -> SchemeSpec { serde_json::from_value(json!({ "name": name })).unwrap() };
    let mut spec = BssSpec::new(vec![StationSpec::new("sta-0", 11.0), StationSpec::new("sta-1", 11.0)]);
    spec.ap.categories.voice.scheme = Some(scheme("red"));
    spec.ap.categories.background.scheme = Some(scheme("codel"));
    spec.stations[0].tx_queue.scheme = scheme("pie");
    spec.stations[1].categories.video.scheme = Some(scheme("las"));
    let names: Vec<_> = spec.schemes_mut().map(|scheme| scheme.name()).collect();
    assert_eq!(names, ["droptail", "red", "codel", "pie", "droptail", "las"]);
    spec.schemes_mut().for_each(|named| *named = scheme("dqm"));
    assert_eq!(spec.ap.categories.voice.scheme, Some(scheme("dqm")));
    assert_eq!(spec.stations[1].tx_queue.scheme, scheme("dqm"));
}
