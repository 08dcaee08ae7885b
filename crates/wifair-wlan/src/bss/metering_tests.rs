//! What the meter counts, against sums by hand.

use std::sync::{Arc, Mutex};

use wifair_core::{ConnectionId, FiveTuple, Packet, StationId, TCP, TcpFlags, Time};
use wifair_queue::{Arrival, Buffer, Cx, Exchange, Hooks, Placed, Reception, Scheme, TxQueue, TxQueueSpec};

use super::{Bss, Output};
use crate::meter::Meter;
use crate::node::{EdcafId, Node};
use crate::spec::{BssSpec, StationSpec};

/// Sums of what an AP's scheme receives.
#[derive(Default)]
struct Event {
    service: Time,
    own: Time,
    received: Time,
    receptions: u32,
}

struct Probe(Arc<Mutex<Event>>);

impl Scheme for Probe {
    fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
        buffer.append(arrival)
    }

    fn hooks(&self) -> Hooks {
        Hooks { exchange: true, reception: true, ..Hooks::default() }
    }

    fn on_exchange(&mut self, exchange: &Exchange, _buffer: &mut Buffer, _cx: &mut Cx) {
        let mut event = self.0.lock().unwrap();
        event.service += exchange.service;
        event.own += exchange.channel_time();
    }

    fn on_reception(&mut self, reception: &Reception, _buffer: &mut Buffer, _cx: &mut Cx) {
        let mut event = self.0.lock().unwrap();
        event.received += reception.channel_time();
        event.receptions += 1;
    }
}

fn data(down: bool) -> Packet {
    let up = FiveTuple { source: 1, destination: 2, source_port: 3, destination_port: 4, protocol: TCP };
    Packet {
        tuple: if down { up.reversed() } else { up },
        connection: ConnectionId::NONE,
        seq: 0,
        ack: 0,
        window_bytes: 0,
        payload_bytes: 960,
        header_bytes: 40,
        flags: TcpFlags::ACK,
        ds_field: 0,
        sack: wifair_core::SackBlocks::NONE,
    }
}

/// The AP and the station send data without end. No frame of the AP waits for a moment that is not accounted for:
/// its own channel time, collisions and retries included, and the station's successes fill the time.
#[test]
fn own_frames_are_accounted_for_to_the_nanosecond() {
    let station = StationId(0);
    let mut bss = Bss::new(&BssSpec::new(vec![StationSpec::new("sta", 11.0)]), 1).unwrap();
    let event = Arc::new(Mutex::new(Event::default()));
    *bss.exchanges.nodes.ap_tx_queue_mut() =
        TxQueue::with_scheme(&TxQueueSpec::default(), Box::new(Probe(event.clone())), 1, "ap");
    bss.exchanges.meter = Meter::wanted_by(bss.exchanges.nodes.tx_queues_of(Node::Ap));
    bss.exchanges.review();
    for _ in 0..3 {
        bss.send_down(station, &data(true), Time::ZERO);
        bss.send_up(station, &data(false), Time::ZERO);
    }
    let (mut now, mut successes, mut frozen) = (Time::ZERO, 0, Time::ZERO);
    let one = bss.exchanges.links[0].on_air.duration(bss.exchanges.phy.psdu_bytes(1000))
        + bss.exchanges.links[0].on_air.acknowledgement;
    while successes < 2_000 || bss.ap_tx_queue().len() != 2 {
        now = bss.next_event();
        let Some(Output::Delivery(delivery)) = bss.advance(now) else { continue };
        if delivery.to == Node::Ap {
            frozen += one + bss.exchanges.phy.difs;
            bss.send_up(station, &data(false), now);
        } else {
            successes += 1;
            bss.send_down(station, &data(true), now);
        }
    }
    // To the end of the AP's last frame: it has just been delivered.
    while event.lock().unwrap().service < now {
        now = bss.next_event();
        bss.advance(now);
    }
    let event = event.lock().unwrap();
    let times = bss.snapshot(now).channel_time.unwrap();
    assert!(bss.snapshot(now).collisions > 100);
    assert_eq!(event.service, now, "the AP always had a frame in service");
    // The first frames were sent at once, without a DIFS before them.
    assert_eq!(event.own + frozen, now + bss.exchanges.phy.difs);
    assert_eq!((times.believed.down, times.actual.down), (event.own, event.own));

    // What is received counts as one attempt after a DIFS and 15.5 slots. Most frames take less in truth, since
    // the two backoffs run at the same time; who collides takes much more.
    let each = one + bss.exchanges.phy.difs + Time::from_us(310);
    assert_eq!(event.received, each * u64::from(event.receptions));
    assert_eq!(times.believed.up, event.received);
    assert!(times.actual.up > event.received, "collisions are beyond the AP's sight");
}

/// Of 0 to CW, or to CW - 1, of which there is none at a CWmin of 0.
#[test]
fn the_backoff_of_the_mean_first_wait_is_that_of_the_values_drawn() {
    use crate::{BackoffRange, CategorySpec, EdcaSpec};
    let cases = [
        (31, BackoffRange::Inclusive, 310),
        (31, BackoffRange::Exclusive, 300),
        (0, BackoffRange::Inclusive, 0),
        (0, BackoffRange::Exclusive, 0),
    ];
    for (cw_min, range, mean_us) in cases {
        let mut spec = BssSpec::new(vec![StationSpec::new("sta", 11.0)]);
        let voice = CategorySpec { cw_min: Some(cw_min), ..CategorySpec::default() };
        spec.mac.edca = Some(EdcaSpec { voice, ..EdcaSpec::default() });
        spec.mac.backoff_range = range;
        let bss = Bss::new(&spec, 1).unwrap();
        let contention = bss.exchanges.medium.contention();
        assert_eq!(
            contention.mean_first_wait(EdcafId::FIRST) - contention.aifs(EdcafId::FIRST),
            Time::from_us(mean_us)
        );
    }
}
