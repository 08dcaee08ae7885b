//! Channel times of the flows of each direction: what an AP can know of them, and the engine's truth.
//!
//! Only a cell whose AP's scheme asks for exchanges or receptions has a meter; the others pay a test.

use wifair_core::{Class, FlowId, Time};
use wifair_queue::{Direction, Port, Reception};

use crate::cell::{AP, Cell};
use crate::mac::{BackoffRange, Mac};
use crate::phy::Phy;
use crate::records::{ChannelTime, ChannelTimes};

#[derive(Debug)]
pub(crate) struct Meter {
    pub channel_times: ChannelTimes,
    slot: Time,
    difs: Time,
    /// What the AP takes for the overhead of a frame that it receives: a DIFS and the mean backoff at CWmin
    /// (`dqm` III-B.1).
    expected_overhead: Time,
}

impl Meter {
    /// The meter, if the scheme of the AP's port looks at channel times.
    pub fn wanted_by(ap: &Port, phy: &Phy, mac: &Mac) -> Option<Meter> {
        let hooks = ap.hooks();
        let greatest = u64::from(phy.cw_min) - u64::from(mac.backoff_range == BackoffRange::Exclusive);
        (hooks.exchange || hooks.reception).then(|| Meter {
            channel_times: ChannelTimes::default(),
            slot: phy.slot,
            difs: phy.difs,
            expected_overhead: phy.difs + Time::from_ns(phy.slot.as_ns() * greatest / 2),
        })
    }
}

/// Adds to the flows that a packet of `class` belongs to when it travels in `direction`.
fn add(channel_time: &mut ChannelTime, class: Class, direction: Direction, time: Time) {
    match (class, direction) {
        (Class::Data, Direction::Up) | (Class::Ack, Direction::Down) => channel_time.up += time,
        (Class::Data, Direction::Down) | (Class::Ack, Direction::Up) => channel_time.down += time,
        (Class::Other, _) => {}
    }
}

impl Cell {
    /// A wait for access begins for the frame in service of `node`: a DIFS and what is left of its backoff.
    #[inline]
    pub(crate) fn meter_wait(&mut self, node: u32, now: Time) {
        if let Some(meter) = &self.meter {
            let slots = self.contention.slots_left(node, now);
            self.nodes[node as usize].frame.overhead += meter.difs + meter.slot * slots;
        }
    }

    /// The MAC of `node` is done with its frame: completes what is known of it, and counts it.
    #[cold]
    #[inline(never)]
    pub(crate) fn meter_frame(&mut self, node: u32) {
        let Some(meter) = &mut self.meter else { return };
        let frame = &mut self.nodes[node as usize].frame;
        frame.overhead += meter.slot * self.contention.take_drawn_late(node);
        let (class, time) = (frame.departure().class, frame.airtime + frame.overhead);
        let direction = if node == AP { Direction::Down } else { Direction::Up };
        add(&mut meter.channel_times.actual, class, direction, time);
        if node == AP {
            add(&mut meter.channel_times.believed, class, direction, time);
        }
    }

    /// The AP receives the data frame on the air, the first copy of it, of `flow`.
    #[cold]
    #[inline(never)]
    pub(crate) fn meter_reception(&mut self, flow: FlowId, now: Time) {
        let Some(meter) = &mut self.meter else { return };
        let [ap, stations @ ..] = &mut self.nodes[..] else { return };
        let link = self.single.link;
        let packet = &stations[link.station().index()].frame.departure().packet;
        let reception = Reception {
            packet,
            flow,
            station: link.station(),
            airtime: self.single.end - self.phase_began,
            overhead: meter.expected_overhead,
        };
        add(&mut meter.channel_times.believed, packet.class(), Direction::Up, reception.channel_time());
        if ap.port.hooks().reception {
            ap.port.receive(&reception, now, self.sides.view(AP));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use wifair_core::{FiveTuple, Packet, StationId, TCP, TcpFlags};
    use wifair_queue::{Arrival, Buffer, Cx, Exchange, Hooks, Placed, PortSpec, Scheme};

    use super::*;
    use crate::cell::{Node, Output};
    use crate::spec::{CellSpec, StationSpec};

    /// Sums of what an AP's scheme is told.
    #[derive(Default)]
    struct Told {
        service: Time,
        own: Time,
        received: Time,
        receptions: u32,
    }

    struct Probe(Arc<Mutex<Told>>);

    impl Scheme for Probe {
        fn enqueue(&mut self, arrival: Arrival, buffer: &mut Buffer, _cx: &mut Cx) -> Placed {
            buffer.append(arrival)
        }

        fn hooks(&self) -> Hooks {
            Hooks { exchange: true, reception: true, ..Hooks::NONE }
        }

        fn on_exchange(&mut self, exchange: &Exchange, _buffer: &mut Buffer, _cx: &mut Cx) {
            let mut told = self.0.lock().unwrap();
            told.service += exchange.service;
            told.own += exchange.channel_time();
        }

        fn on_reception(&mut self, reception: &Reception, _buffer: &mut Buffer, _cx: &mut Cx) {
            let mut told = self.0.lock().unwrap();
            told.received += reception.channel_time();
            told.receptions += 1;
        }
    }

    fn data(down: bool) -> Packet {
        let up = FiveTuple { source: 1, destination: 2, source_port: 3, destination_port: 4, protocol: TCP };
        Packet {
            tuple: if down { up.reversed() } else { up },
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
        let mut cell = Cell::new(&CellSpec::new(vec![StationSpec::new("sta", 11.0)]), 1).unwrap();
        let told = Arc::new(Mutex::new(Told::default()));
        let ap = &mut cell.nodes[AP as usize].port;
        *ap = Port::with_scheme(&PortSpec::default(), Box::new(Probe(told.clone())), 1, "ap");
        cell.meter = Meter::wanted_by(ap, &cell.phy, &cell.mac);
        for _ in 0..3 {
            cell.send_down(station, &data(true), Time::ZERO);
            cell.send_up(station, &data(false), Time::ZERO);
        }
        let (mut now, mut successes, mut frozen) = (Time::ZERO, 0, Time::ZERO);
        let one = cell.phy.on_air(cell.phy.rate_index(11.0, "").unwrap()).duration(cell.phy.psdu_bytes(1000))
            + cell.mac.acknowledgement;
        while successes < 2_000 || cell.ap_port().len() != 2 {
            now = cell.next_event();
            let Some(Output::Delivery(delivery)) = cell.advance(now) else { continue };
            if delivery.to == Node::Ap {
                frozen += one + cell.phy.difs;
                cell.send_up(station, &data(false), now);
            } else {
                successes += 1;
                cell.send_down(station, &data(true), now);
            }
        }
        // To the end of the AP's last frame: it has just been delivered.
        while told.lock().unwrap().service < now {
            now = cell.next_event();
            cell.advance(now);
        }
        let told = told.lock().unwrap();
        let times = cell.snapshot(now).channel_time.unwrap();
        assert!(cell.snapshot(now).collisions > 100);
        assert_eq!(told.service, now, "the AP always had a frame in service");
        // The first frames were sent at once, without a DIFS before them.
        assert_eq!(told.own + frozen, now + cell.phy.difs);
        assert_eq!((times.believed.down, times.actual.down), (told.own, told.own));

        // What is received counts as one attempt after a DIFS and 15.5 slots. Most frames take less in truth, since
        // the two backoffs run at the same time; who collides takes much more.
        let each = one + cell.phy.difs + Time::from_us(310);
        assert_eq!(told.received, each * u64::from(told.receptions));
        assert_eq!(times.believed.up, told.received);
        assert!(times.actual.up > told.received, "collisions are beyond the AP's sight");
    }
}
