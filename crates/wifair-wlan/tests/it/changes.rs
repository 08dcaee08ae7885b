//! A station's links change while frames are on the air (`docs/medium.md`, section 8).

use crate::support;

use std::sync::{Arc, Mutex};

use support::{Logged, cell_b, external, us};
use wifair_core::{Rate, StationId};
use wifair_queue::{Arrival, Buffer, Cx, Direction, Hooks, Placed, Scheme, SchemeSpec};
use wifair_wlan::{
    Bss, Classify, EdcaSpec, FrameErrorRate, LinkRateChange, Output, RateErrors, StationChange,
};

fn change(rate_mbps: f64) -> StationChange {
    StationChange { rate_mbps: Some(rate_mbps), ..StationChange::new("sta-0") }
}

/// 1500 bytes of IP at 11 and at 1 Mbps, and what follows: SIFS and MAC ACK.
const FAST_US: u64 = 1_310;
const SLOW_US: u64 = 12_480;
const ACK_US: u64 = 314;

#[test]
fn a_frame_on_the_air_keeps_its_rate_and_the_next_has_the_new_one() {
    let mut air = Logged::new(&cell_b(1), 1);
    air.up(0, 2, us(0));
    air.step(); // the start, at once
    air.bss.change_station(StationId(0), &change(1.0), us(700));
    let up = LinkRateChange { station: StationId(0), direction: Direction::Up, rate: Rate::from_mbps(1.0) };
    assert_eq!(air.bss.advance(us(700)), Some(Output::LinkRate(up)));
    assert_eq!(
        air.bss.advance(us(700)),
        Some(Output::LinkRate(LinkRateChange { direction: Direction::Down, ..up }))
    );
    assert_eq!(air.bss.next_event(), us(FAST_US), "the data frame ends when it would have");
    air.step();
    assert_eq!(air.bss.next_event(), us(FAST_US + ACK_US));
    air.step();
    let second = air.bss.next_event();
    air.step();
    assert_eq!(air.bss.next_event(), second + us(SLOW_US));
}

#[test]
fn a_retransmission_has_the_new_rate_and_the_new_error_rate() {
    let mut spec = cell_b(1);
    spec.stations[0].frame_error_rate = FrameErrorRate { data_up: 1.0, ..FrameErrorRate::default() };
    let mut air = Logged::new(&spec, 1);
    air.up(0, 1, us(0));
    air.step();
    let clean = StationChange { frame_error_rate: Some(FrameErrorRate::default()), ..change(1.0) };
    air.bss.change_station(StationId(0), &clean, us(1));
    for _ in 0..2 {
        assert!(matches!(air.bss.advance(us(1)), Some(Output::LinkRate(_))));
    }
    air.step(); // the first attempt fails: its fate was drawn when it began
    let again = air.bss.next_event();
    air.step();
    assert_eq!(air.bss.next_event(), again + us(SLOW_US));
    while air.bss.next_event() < wifair_core::Time::MAX {
        air.step();
    }
    let usage = air.bss.snapshot(air.bss.next_event()).stations[0].up;
    assert_eq!((usage.attempts, usage.retries, usage.delivered), (2, 1, 1));
}

#[test]
fn the_same_rate_again_is_no_news() {
    let mut bss = Bss::new(&cell_b(2), 1).unwrap();
    bss.change_station(StationId(0), &change(11.0), us(5));
    assert_eq!(bss.next_event(), wifair_core::Time::MAX);
    bss.change_station(StationId(0), &change(5.5), us(6));
    bss.change_station(StationId(0), &change(2.0), us(6));
    let mut told = vec![];
    while bss.next_event() == us(6) {
        if let Some(Output::LinkRate(news)) = bss.advance(us(6)) {
            told.push((news.direction, news.rate.as_mbps()));
        }
    }
    let (up, down) = (Direction::Up, Direction::Down);
    assert_eq!(told, [(up, 5.5), (down, 5.5), (up, 2.0), (down, 2.0)]);
}

/// Notifications of link rates: the notified scheme, the station, the rate in kbit/s.
type Told = Arc<Mutex<Vec<(&'static str, u16, u32)>>>;

/// Tail drop that looks at link rates.
struct Listener {
    name: &'static str,
    told: Told,
}

impl Scheme for Listener {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append_or_drop(arrival)
    }

    fn hooks(&self) -> Hooks {
        Hooks { link_rate: true, ..Hooks::default() }
    }

    fn on_link_rate(&mut self, station: StationId, _buffer: &mut Buffer, cx: &mut Cx) {
        let kbps = cx.links[station.index()].rate.as_kbps();
        self.told.lock().unwrap().push((self.name, station.0, kbps));
    }
}

fn listening(name: &'static str, told: &Told) -> SchemeSpec {
    let told = told.clone();
    external(move || Listener { name, told: told.clone() })
}

#[test]
fn a_scheme_hears_of_the_rates_of_its_own_links() {
    let told = Told::default();
    let mut spec = cell_b(2);
    spec.ap.tx_queue.scheme = listening("ap", &told);
    spec.stations[1].tx_queue.scheme = listening("sta-1", &told);
    let mut bss = Bss::new(&spec, 1).unwrap();
    bss.change_station(StationId(0), &change(5.5), us(5));
    assert_eq!(told.lock().unwrap().split_off(0), [("ap", 0, 5_500)], "the AP alone listens");
    bss.change_station(StationId(1), &change(5.5), us(5));
    assert_eq!(told.lock().unwrap().split_off(0), [("sta-1", 1, 5_500), ("ap", 1, 5_500)]);
    bss.change_station(StationId(1), &change(5.5), us(5));
    assert!(told.lock().unwrap().is_empty(), "the same rate again is no news");
}

#[test]
fn under_edca_the_schemes_of_all_the_nodes_categories_hear() {
    let told = Told::default();
    let mut spec = cell_b(2);
    spec.mac.edca = Some(EdcaSpec { classify: Classify::Dscp, ..EdcaSpec::default() });
    spec.ap.tx_queue.scheme = listening("ap", &told);
    for (station, name) in spec.stations.iter_mut().zip(["sta-0", "sta-1"]) {
        station.tx_queue.scheme = listening(name, &told);
    }
    let mut bss = Bss::new(&spec, 1).unwrap();
    bss.change_station(StationId(1), &change(5.5), us(5));
    let heard = [[("sta-1", 1, 5_500); 4], [("ap", 1, 5_500); 4]];
    assert_eq!(*told.lock().unwrap(), heard.concat());
}

#[test]
fn a_change_that_cannot_be_is_refused_by_its_key() {
    let bss = Bss::new(&cell_b(1), 1).unwrap();
    let none = StationChange::new("sta-0");
    let key = |change: &StationChange| bss.check_change(StationId(0), change, "station").err().map(|e| e.key);
    let refused = |change| key(&change).expect("it is refused");
    assert_eq!(refused(none.clone()), "station", "nothing changes");
    let errors = |rates| StationChange { frame_error_rate: Some(rates), ..none.clone() };
    let up = |data_up| errors(FrameErrorRate { data_up, ..FrameErrorRate::default() });
    assert_eq!(refused(up(1.5)), "station.frame_error_rate.data_up");
    let entry = RateErrors::at_rate(54.0, 0.1);
    let by_rate = errors(FrameErrorRate { by_rate: vec![entry], ..FrameErrorRate::default() });
    assert_eq!(refused(by_rate), "station.frame_error_rate.by_rate[0].rate_mbps");
    let at = |position_m| StationChange { position_m: Some(position_m), ..none.clone() };
    assert_eq!(refused(at([0.0, f64::NAN])), "station.position_m[1]");
    assert_eq!(refused(change(54.0)), "station.rate_mbps");
    let down = StationChange { rate_down_mbps: Some(54.0), ..none.clone() };
    assert_eq!(refused(down), "station.rate_down_mbps");
    for allowed in [change(5.5), up(1.0), at([1.0, 2.0])] {
        assert_eq!(key(&allowed), None, "{allowed:?}");
    }
}
