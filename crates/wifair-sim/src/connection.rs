use std::sync::Arc;

use wifair_core::{ConnectionId, Packet, StationId, Time};
use wifair_queue::Direction;
use wifair_tcp::{Receiver, Sender, SenderState, TcpSpec};

use crate::address;
use crate::application::Transport;
use crate::plan::FlowDirection;
use crate::wire::Lines;

/// Both ends of a flow's TCP connection and where they stand. One connection after the other uses the same ends, whose
/// counters go on.
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// What the receiver will have delivered, in all connections together, when this one has carried everything.
    pub(crate) goal_bytes: u64,
    /// When the flow wants to go on by itself: to open its next connections, or to send its next datagram; [`Time::MAX`] while
    /// nothing waits for its time. In a flow's first slot alone.
    pub(crate) wakes_at: Time,
    pub(crate) lines: Lines,
    /// Its name, by which packets of an earlier connection are told apart. [`ConnectionId::NONE`] where datagrams are all that
    /// comes: no connection takes them.
    pub(crate) id: ConnectionId,
    pub(crate) station: StationId,
    pub(crate) direction: FlowDirection,
    /// The way of the link whose rate the sender hears of.
    pub(crate) hears: Option<Direction>,
    /// Everything has been delivered.
    pub(crate) is_closing: bool,
}

impl Connection {
    /// Takes the ends for the connection number `generation` of the flow in `slot`.
    pub(crate) fn renew(&mut self, slot: usize, generation: u32) {
        let tuple = address::tuple(self.direction, slot as u32, self.station, generation, Transport::Tcp);
        self.sender.renew(tuple);
        self.receiver.renew(tuple);
        self.name(ConnectionId::new(slot, generation));
    }

    /// Packets of the connection carry its name.
    pub(crate) fn name(&mut self, id: ConnectionId) {
        self.id = id;
        self.sender.set_connection(id);
        self.receiver.set_connection(id);
    }

    /// As [`Connection::renew`], with other parameters of TCP from now on.
    pub(crate) fn renew_with(&mut self, spec: &Arc<TcpSpec>, slot: usize, generation: u32) {
        let tuple = address::tuple(self.direction, slot as u32, self.station, generation, Transport::Tcp);
        self.sender.renew_with(spec, tuple);
        self.receiver.renew_with(spec, tuple);
        self.renew(slot, generation);
    }

    /// Whether both ends are done with the connection; without a handshake only the sender knows.
    pub(crate) fn is_over(&self) -> bool {
        match self.sender.state() {
            SenderState::Closed => true,
            SenderState::TimeWait => self.receiver.is_closed(),
            _ => false,
        }
    }
}

/// An end of a connection, as the event loop drives it.
pub(crate) trait EndPoint {
    /// Sender or receiver: its place among the timers of a connection.
    const INDEX: usize;
    /// This end of a connection.
    fn of(connection: &mut Connection) -> &mut Self;
    /// See [`Sender::on_timer`].
    fn on_timer(&mut self, now: Time);
    /// See [`Sender::poll_transmit`].
    fn poll_transmit(&mut self, now: Time) -> Option<&Packet>;
    /// See [`Sender::deadline`].
    fn deadline(&self) -> Time;
}

macro_rules! end_point {
    ($end:ident, $field:ident, $index:literal) => {
        impl EndPoint for $end {
            const INDEX: usize = $index;

            fn of(connection: &mut Connection) -> &mut $end {
                &mut connection.$field
            }

            fn on_timer(&mut self, now: Time) {
                self.on_timer(now);
            }

            fn poll_transmit(&mut self, now: Time) -> Option<&Packet> {
                self.poll_transmit(now)
            }

            fn deadline(&self) -> Time {
                self.deadline()
            }
        }
    };
}

end_point!(Sender, sender, 0);
end_point!(Receiver, receiver, 1);
