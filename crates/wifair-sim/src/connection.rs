use wifair_core::{Packet, StationId, Time};
use wifair_tcp::{Receiver, Sender};

use crate::application::Application;
use crate::plan::FlowDirection;
use crate::wire::Lines;

/// Both ends of a TCP connection and where they stand.
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) application: Box<dyn Application>,
    pub(crate) station: StationId,
    pub(crate) direction: FlowDirection,
    pub(crate) lines: Lines,
}

/// An end of a connection, as the event loop drives it.
pub(crate) trait EndPoint {
    /// Sender or receiver: its place among the timers of a connection.
    const INDEX: usize;
    /// This end of a connection.
    fn of(connection: &mut Connection) -> &mut Self;
    /// See [`Sender::on_segment`].
    fn on_segment(&mut self, packet: &Packet, now: Time);
    /// See [`Sender::on_timer`].
    fn on_timer(&mut self, now: Time);
    /// See [`Sender::poll_transmit`].
    fn poll_transmit(&mut self, now: Time) -> Option<Packet>;
    /// See [`Sender::deadline`].
    fn deadline(&self) -> Time;
}

macro_rules! end_point {
    ($end:ident, $field:ident, $index:literal) => {
        impl EndPoint for $end {
            const INDEX: usize = $index;

            #[inline]
            fn of(connection: &mut Connection) -> &mut $end {
                &mut connection.$field
            }

            #[inline]
            fn on_segment(&mut self, packet: &Packet, now: Time) {
                self.on_segment(packet, now);
            }

            fn on_timer(&mut self, now: Time) {
                self.on_timer(now);
            }

            #[inline]
            fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
                self.poll_transmit(now)
            }

            #[inline]
            fn deadline(&self) -> Time {
                self.deadline()
            }
        }
    };
}

end_point!(Sender, sender, 0);
end_point!(Receiver, receiver, 1);
