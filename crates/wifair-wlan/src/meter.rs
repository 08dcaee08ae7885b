//! Channel times of the flows of each direction: what an AP can know of them, and the engine's truth.
//!
//! Only a BSS whose AP's scheme asks for exchanges or receptions has a meter; the others pay a test.

use wifair_core::{Class, FlowId, Time};
use wifair_queue::{Direction, Port, Reception};

use crate::bss::{Bss, Sender};
use crate::exchange::OngoingExchange;
use crate::phy::BssTiming;
use crate::records::{ChannelTime, ChannelTimes};

#[derive(Debug)]
pub(crate) struct Meter {
    pub channel_times: ChannelTimes,
    slot: Time,
}

impl Meter {
    /// The meter, if the scheme of one of the AP's ports looks at channel times.
    pub fn wanted_by<'a>(mut ap: impl Iterator<Item = &'a Port>, phy: &BssTiming) -> Option<Meter> {
        let wanted = ap.any(|port| port.hooks().exchange || port.hooks().reception);
        wanted.then(|| Meter { channel_times: ChannelTimes::default(), slot: phy.slot })
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

impl Bss {
    /// A wait for access begins for the frame in service of `sender`: a DIFS or AIFS and what is left of its backoff.
    #[inline]
    pub(crate) fn meter_wait(&mut self, sender: u32, now: Time) {
        if let Some(meter) = &self.meter {
            let slots = self.contention.slots_left(sender, now);
            let overhead = self.contention.aifs(sender) + meter.slot * slots;
            self.senders[sender as usize].frame.overhead += overhead;
        }
    }

    /// `sender` is done with its frame: completes what is known of it, and counts it.
    #[cold]
    #[inline(never)]
    pub(crate) fn meter_frame(&mut self, sender: u32) {
        let is_ap = self.is_ap(sender);
        let Some(meter) = &mut self.meter else { return };
        let frame = &mut self.senders[sender as usize].frame;
        frame.overhead += meter.slot * self.contention.take_drawn_late(sender);
        let (class, time) = (frame.departure().class, frame.airtime + frame.overhead);
        let direction = if is_ap { Direction::Down } else { Direction::Up };
        add(&mut meter.channel_times.actual, class, direction, time);
        if is_ap {
            add(&mut meter.channel_times.believed, class, direction, time);
        }
    }

    /// The AP receives the data frame on the air, the first copy of it, of `flow`.
    #[cold]
    #[inline(never)]
    pub(crate) fn meter_reception(&mut self, flow: FlowId, now: Time) {
        let OngoingExchange { sender, link, end, .. } = self.single;
        let ac = self.grant(sender).ac;
        let Some(meter) = &mut self.meter else { return };
        let (ap, stations) = self.senders.split_at_mut(1 << self.category_bits);
        let packet = &stations[sender as usize - ap.len()].frame.departure().packet;
        let reception = Reception {
            packet,
            flow,
            station: link.station(),
            ac,
            airtime: end - self.phase_began,
            // A DIFS or AIFS and the mean backoff at CWmin (`dqm` III-B.1).
            overhead: self.contention.aifs(sender) + self.contention.mean_first_backoff(sender),
        };
        add(&mut meter.channel_times.believed, packet.class(), Direction::Up, reception.channel_time());
        for Sender { port, .. } in ap {
            if port.hooks().reception {
                port.receive(&reception, now, self.sides.view(true));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use wifair_core::{FiveTuple, Packet, StationId, TCP, TcpFlags};
    use wifair_queue::{Arrival, Buffer, Cx, Exchange, Hooks, Placed, PortSpec, Scheme};

    use super::*;
    use crate::bss::Output;
    use crate::node::{AP, Node};
    use crate::spec::{BssSpec, StationSpec};

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
        let mut bss = Bss::new(&BssSpec::new(vec![StationSpec::new("sta", 11.0)]), 1).unwrap();
        let told = Arc::new(Mutex::new(Told::default()));
        let ap = &mut bss.senders[AP as usize].port;
        *ap = Port::with_scheme(&PortSpec::default(), Box::new(Probe(told.clone())), 1, "ap");
        bss.meter = Meter::wanted_by(std::iter::once(&*ap), &bss.phy);
        for _ in 0..3 {
            bss.send_down(station, &data(true), Time::ZERO);
            bss.send_up(station, &data(false), Time::ZERO);
        }
        let (mut now, mut successes, mut frozen) = (Time::ZERO, 0, Time::ZERO);
        let one = bss.links[0].on_air.duration(bss.phy.psdu_bytes(1000)) + bss.mac.acknowledgement;
        while successes < 2_000 || bss.ap_port().len() != 2 {
            now = bss.next_event();
            let Some(Output::Delivery(delivery)) = bss.advance(now) else { continue };
            if delivery.to == Node::Ap {
                frozen += one + bss.phy.difs;
                bss.send_up(station, &data(false), now);
            } else {
                successes += 1;
                bss.send_down(station, &data(true), now);
            }
        }
        // To the end of the AP's last frame: it has just been delivered.
        while told.lock().unwrap().service < now {
            now = bss.next_event();
            bss.advance(now);
        }
        let told = told.lock().unwrap();
        let times = bss.snapshot(now).channel_time.unwrap();
        assert!(bss.snapshot(now).collisions > 100);
        assert_eq!(told.service, now, "the AP always had a frame in service");
        // The first frames were sent at once, without a DIFS before them.
        assert_eq!(told.own + frozen, now + bss.phy.difs);
        assert_eq!((times.believed.down, times.actual.down), (told.own, told.own));

        // What is received counts as one attempt after a DIFS and 15.5 slots. Most frames take less in truth, since
        // the two backoffs run at the same time; who collides takes much more.
        let each = one + bss.phy.difs + Time::from_us(310);
        assert_eq!(told.received, each * u64::from(told.receptions));
        assert_eq!(times.believed.up, told.received);
        assert!(times.actual.up > told.received, "collisions are beyond the AP's sight");
    }

    /// Of 0 to CW, or to CW - 1, of which there is none at a CWmin of 0.
    #[test]
    fn the_mean_first_backoff_is_that_of_the_values_drawn() {
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
            assert_eq!(bss.contention.mean_first_backoff(AP), Time::from_us(mean_us));
        }
    }
}
