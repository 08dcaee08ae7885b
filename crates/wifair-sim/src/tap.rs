use wifair_core::{Packet, StationId, Time};
use wifair_wlan::{Bss, Node};

use crate::wire::Way;

/// Observes a running network. It only reads: the trajectory is the same with it and without.
///
/// A [`Network`](crate::Network) is generic over its tap, so unused callbacks cost nothing.
pub trait Tap {
    /// Whether to call [`Tap::exchange`] at present.
    fn is_watching(&self) -> bool {
        false
    }

    /// Called before the first event, once per BSS with its number.
    fn begin(&mut self, _number: usize, _bss: &mut Bss) {}

    /// A station's host, or a server (`None`), has sent a packet.
    fn sent(&mut self, _now: Time, _packet: &Packet, _station: Option<StationId>) {}

    /// A packet has crossed the medium, for the first time. At the AP it is sent on the wire at once.
    fn crossed_air(&mut self, _now: Time, _packet: &Packet, _to: Node) {}

    /// A packet has crossed the wire. At the AP it is offered to the transmit queue at once.
    fn crossed_wire(&mut self, _now: Time, _packet: &Packet, _way: Way) {}

    /// An exchange has begun in the BSS of this number, described by [`Bss::transmissions`] and [`Bss::frames`]; in a field a
    /// sender has come to know the outcome of its exchange.
    fn exchange(&mut self, _number: usize, _bss: &Bss) {}

    /// Called about every simulated second; false ends the run.
    fn wants_more(&mut self) -> bool {
        true
    }
}

/// No observer.
impl Tap for () {}

/// Two observers.
impl<A: Tap, B: Tap> Tap for (A, B) {
    fn is_watching(&self) -> bool {
        self.0.is_watching() || self.1.is_watching()
    }

    fn begin(&mut self, number: usize, bss: &mut Bss) {
        self.0.begin(number, bss);
        self.1.begin(number, bss);
    }

    fn sent(&mut self, now: Time, packet: &Packet, station: Option<StationId>) {
        self.0.sent(now, packet, station);
        self.1.sent(now, packet, station);
    }

    fn crossed_air(&mut self, now: Time, packet: &Packet, to: Node) {
        self.0.crossed_air(now, packet, to);
        self.1.crossed_air(now, packet, to);
    }

    fn crossed_wire(&mut self, now: Time, packet: &Packet, way: Way) {
        self.0.crossed_wire(now, packet, way);
        self.1.crossed_wire(now, packet, way);
    }

    fn exchange(&mut self, number: usize, bss: &Bss) {
        if self.0.is_watching() {
            self.0.exchange(number, bss);
        }
        if self.1.is_watching() {
            self.1.exchange(number, bss);
        }
    }

    fn wants_more(&mut self) -> bool {
        self.0.wants_more() && self.1.wants_more()
    }
}

/// An observer off the fast path, called through a trait object: one network is compiled for all of them.
impl Tap for &mut dyn Tap {
    fn is_watching(&self) -> bool {
        (**self).is_watching()
    }

    fn begin(&mut self, number: usize, bss: &mut Bss) {
        (**self).begin(number, bss);
    }

    fn sent(&mut self, now: Time, packet: &Packet, station: Option<StationId>) {
        (**self).sent(now, packet, station);
    }

    fn crossed_air(&mut self, now: Time, packet: &Packet, to: Node) {
        (**self).crossed_air(now, packet, to);
    }

    fn crossed_wire(&mut self, now: Time, packet: &Packet, way: Way) {
        (**self).crossed_wire(now, packet, way);
    }

    fn exchange(&mut self, number: usize, bss: &Bss) {
        (**self).exchange(number, bss);
    }

    fn wants_more(&mut self) -> bool {
        (**self).wants_more()
    }
}
